//! Size of value name graphs on the kernels of `www/examples`: names for windows 1 to 4 beside the registers.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Program, answer, command_line, geometric_mean, number, programs};

/// Windows of the columns.
const WINDOWS: usize = 4;

/// One kernel or function.
struct Row {
    kernel: String,
    registers: f64,
    names: [f64; WINDOWS],
    splits: f64,
    /// Share of blocks in which a name changes.
    changed: f64,
}

/// Prints the table.
pub fn table() -> Result<()> {
    let program = command_line("dev")?;
    println!(
        "\nNames of values for windows 1 to 4 (the seeds are loads), names for each register, splits at window 3, and \
         the share of blocks in which names change."
    );
    let mut rows = Vec::new();
    for example in programs()? {
        let mut command = Command::new(&program);
        let reports = answer(command.arg("vng").arg(&example.file).arg("--json"))?;
        for report in reports.as_array().context("a list of reports")? {
            rows.push(row(&example, report)?);
        }
    }
    rows.retain(|row| row.names[0] > 0.0);
    print!("\n{}\n{}", text(&rows), claims(&rows));
    Ok(())
}

fn row(example: &Program, report: &Value) -> Result<Row> {
    let growth = report["growth"].as_array().context("no `growth`")?;
    let mut names = [0.0; WINDOWS];
    for (names, growth) in names.iter_mut().zip(growth) {
        *names = number(growth, "names")?;
    }
    Ok(Row {
        kernel: example.row_name(report),
        registers: number(report, "registers")?,
        names,
        splits: number(report, "splits")?,
        changed: number(report, "changed_blocks")?,
    })
}

fn text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.kernel.len()).max().unwrap_or_default();
    let mut text =
        format!("{:width$} registers       1       2       3       4  ratio 1     2     3     4 splits changed\n", "");
    for Row { kernel, registers, names, splits, changed } in rows {
        write!(text, "{kernel:width$} {registers:>9}").expect("text grows");
        names.iter().for_each(|names| write!(text, "{names:>8}").expect("text grows"));
        text.push_str("   ");
        names.iter().for_each(|names| write!(text, "{:>6.2}", names / registers.max(1.0)).expect("text grows"));
        writeln!(text, "{splits:>7}{:>7.0}%", 100.0 * changed).expect("text grows");
    }
    text
}

/// Figures for the thesis's claims: growth is near linear, and names are fewer than variables.
fn claims(rows: &[Row]) -> String {
    let ratios = |at: usize| geometric_mean(rows.iter().map(move |row| row.names[at] / row.registers.max(1.0)));
    let fewer = |at: usize| rows.iter().filter(|row| row.names[at] < row.registers).count();
    let steps = |row: &Row| [0, 1, 2].map(|at| row.names[at + 1] - row.names[at]);
    let is_linear = |row: &&Row| {
        let [first, second, third] = steps(row);
        second <= first && third <= first
    };
    let mut text = String::from("names for each register, geometric mean:");
    (0..WINDOWS).for_each(|at| write!(text, " {:.2}", ratios(at)).expect("text grows"));
    write!(text, "\nfewer names than registers:").expect("text grows");
    (0..WINDOWS).for_each(|at| write!(text, " {}", fewer(at)).expect("text grows"));
    let linear = rows.iter().filter(is_linear).count();
    writeln!(text, " of {}\nno window adds more names than window 2: {linear} of {}", rows.len(), rows.len())
        .expect("text grows");
    text
}

#[cfg(test)]
mod tests {
    use super::{Row, claims, text};

    #[test]
    fn names_are_divided_by_registers() {
        let row =
            |kernel: &str, names| Row { kernel: kernel.to_owned(), registers: 10.0, names, splits: 1.0, changed: 0.5 };
        let rows = [row("linear", [5.0, 8.0, 10.0, 12.0]), row("steep", [5.0, 6.0, 20.0, 80.0])];
        let table = text(&rows);
        let line: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        assert_eq!(line, ["linear", "10", "5", "8", "10", "12", "0.50", "0.80", "1.00", "1.20", "1", "50%"]);
        let claims = claims(&rows);
        assert!(claims.contains("fewer names than registers: 2 2 0 0 of 2"), "{claims}");
        assert!(claims.contains("than window 2: 1 of 2"), "{claims}");
    }
}

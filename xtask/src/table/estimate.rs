//! Precision of the estimators on the kernels of `www/examples` that have a launch: bounds from counts of edges and of
//! paths, beside the exact count.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Program, answer, command_line, number, programs};

/// Instructions that end the reuse of a load, from none to all.
const KILLS: [&str; 4] = ["none", "calls", "analysis", "all"];

/// The estimators, the cheapest first.
const ESTIMATORS: [&str; 5] = ["pre", "cmp1", "cmp2", "cmp3", "cmp4"];

/// Counts that are read.
const SOURCES: [&str; 2] = ["edges", "paths"];

/// One kernel or function with one kind of kills.
struct Row {
    kernel: String,
    kills: &'static str,
    users: f64,
    /// Shares of the users.
    exact: f64,
    definite: f64,
    /// (upper − lower) / upper of each estimator, from edges and from paths.
    errors: [[f64; ESTIMATORS.len()]; SOURCES.len()],
}

/// Prints the table.
pub fn table() -> Result<()> {
    let program = command_line("dev")?;
    println!(
        "\nLoads, the share that repeats a value, the share that certainly does, and (upper − lower) / upper of the \
         bounds of each estimator, from counts of edges and of paths: 0 is exact. Kills are the instructions that end \
         reuse. Functions of one block are left out."
    );
    let mut rows = Vec::new();
    for example in programs()?.iter().filter(|example| example.launch.is_some()) {
        let kills = if has_edges(&program, example)? { &KILLS[..] } else { &[] };
        for kills in kills {
            rows.extend(measured(&program, example, kills)?);
        }
    }
    print!("\n{}\n{}", text(&rows), averages(&rows));
    Ok(())
}

/// Has a function of a program several blocks? Otherwise no edge is counted, and nothing is uncertain.
fn has_edges(program: &Path, example: &Program) -> Result<bool> {
    let reports = answer(Command::new(program).arg("vng").arg(&example.file).arg("--json"))?;
    let blocks = reports.as_array().context("a list of reports")?.iter().map(|report| number(report, "blocks"));
    Ok(blocks.collect::<Result<Vec<f64>>>()?.iter().any(|&blocks| blocks > 1.0))
}

/// The rows of a program; none for functions that did not run.
fn measured(program: &Path, example: &Program, kills: &'static str) -> Result<Vec<Row>> {
    let [by_edges, by_paths] = SOURCES.map(|source| {
        let mut command = Command::new(program);
        command.arg("estimate").arg(&example.file).args(["--exact", "--json"]);
        command.args(["--knob", &format!("vng.kills={kills}"), "--knob", &format!("estimate.from={source}")]);
        if let Some(Some(launch)) = &example.launch {
            command.arg("--launch").arg(launch);
        }
        answer(&mut command)
    });
    let (by_edges, by_paths) = (by_edges?, by_paths?);
    let mut rows = Vec::new();
    for report in by_edges.as_array().context("a list of reports")? {
        let same = |other: &&Value| other["kernel"] == report["kernel"];
        let paths = by_paths.as_array().and_then(|reports| reports.iter().find(same));
        let paths = paths.with_context(|| format!("{}: no estimate from paths", report["kernel"]))?;
        let (users, exact) = (number(report, "users")?, number(report, "exact")?);
        let name = example.row_name(report);
        ensure!(number(&report["correlation"], "count")? == exact, "{name}: flags at regions count otherwise");
        if users > 0.0 {
            let errors = [errors(report, exact)?, errors(paths, exact)?];
            let definite = number(report, "definite")? / users;
            rows.push(Row { kernel: name, kills, users, exact: exact / users, definite, errors });
        }
    }
    Ok(rows)
}

/// The relative error of each estimator. That its bounds hold is asked again here.
fn errors(report: &Value, exact: f64) -> Result<[f64; ESTIMATORS.len()]> {
    let mut errors = [0.0; ESTIMATORS.len()];
    for (error, estimator) in errors.iter_mut().zip(ESTIMATORS) {
        let bounds = &report["bounds"][estimator];
        let (low, high) = (bounds[0].as_f64().context("no bounds")?, bounds[1].as_f64().context("no bounds")?);
        ensure!(low <= exact && exact <= high, "{}: {estimator} gives {low} to {high} for {exact}", report["kernel"]);
        *error = if high > 0.0 { (high - low) / high } else { 0.0 };
    }
    Ok(errors)
}

fn text(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.kernel.len()).max().unwrap_or_default();
    let mut text = format!("{:width$} kills       users  exact definite", "");
    for source in SOURCES {
        write!(text, "  {source:>6}:").expect("text grows");
        ESTIMATORS.iter().for_each(|estimator| write!(text, "{estimator:>6}").expect("text grows"));
    }
    text.push('\n');
    for Row { kernel, kills, users, exact, definite, errors } in rows {
        write!(text, "{kernel:width$} {kills:<8}{users:>9} {exact:>6.3}   {definite:>6.3}").expect("text grows");
        for errors in errors {
            write!(text, "{:9}", "").expect("text grows");
            errors.iter().for_each(|error| write!(text, "{error:>6.2}").expect("text grows"));
        }
        text.push('\n');
    }
    text
}

/// Mean errors for each kind of kills, and the estimator that pays: the cheapest one whose mean error is at most a
/// tenth of PRE's above that of CMP4.
fn averages(rows: &[Row]) -> String {
    let mut text = String::from("mean errors\n");
    for (at, source) in SOURCES.iter().enumerate() {
        for kills in KILLS.into_iter().map(Some).chain([None]) {
            let chosen: Vec<&Row> = rows.iter().filter(|row| kills.is_none_or(|kills| row.kills == kills)).collect();
            let mean = |estimator: usize| {
                chosen.iter().map(|row| row.errors[at][estimator]).sum::<f64>() / chosen.len().max(1) as f64
            };
            let means: Vec<f64> = (0..ESTIMATORS.len()).map(mean).collect();
            write!(text, "{source}, kills {:<8}", kills.unwrap_or("any")).expect("text grows");
            means.iter().for_each(|mean| write!(text, "{mean:>8.4}").expect("text grows"));
            let pays = means.iter().position(|mean| mean - means[ESTIMATORS.len() - 1] <= 0.1 * means[0]);
            writeln!(text, "   {} pays", ESTIMATORS[pays.unwrap_or(ESTIMATORS.len() - 1)]).expect("text grows");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Row, averages};

    #[test]
    fn estimator_that_pays_is_near_the_best() {
        let row = |errors| Row {
            kernel: "k".to_owned(),
            kills: "none",
            users: 100.0,
            exact: 0.5,
            definite: 0.4,
            errors: [errors, [0.0; 5]],
        };
        let text = averages(&[row([0.4, 0.3, 0.11, 0.1, 0.1]), row([0.2, 0.1, 0.0, 0.0, 0.0])]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("edges, kills none") && lines[1].ends_with("cmp2 pays"), "{text}");
        assert!(lines[10].starts_with("paths, kills any") && lines[10].ends_with("pre pays"), "{text}");
    }
}

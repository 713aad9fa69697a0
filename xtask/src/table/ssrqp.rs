//! Effect of the variants of scalar replacement on the kernels of `www/examples/ssrqp`: simulated cycles and loads.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Kernel, MACHINES, answer, command_line, geometric_mean, kernels, number, simulate};
use crate::{tools, workspace};

/// The columns; the others are measured against the first, which is nvcc's own optimisation. `ssrqp` follows the rules
/// of the paper; `machine` is `ssrqp` with `cost=machine`, for the machine that it runs on and with the profile of the
/// same launch; `auto` is `ssrqp` as it is by default, for that machine and without a profile.
const VARIANTS: [&str; 7] = ["none", "srqp", "esrqp", "ssrqp-s", "ssrqp", "machine", "auto"];

/// Cost of one run.
#[derive(Clone, Copy)]
struct Run {
    cycles: f64,
    /// Load instructions from global memory, each counted once for a warp.
    loads: f64,
}

/// One kernel, a run for each variant.
struct Row {
    kernel: String,
    runs: [Run; VARIANTS.len()],
}

/// Prints the table.
pub fn table() -> Result<()> {
    let program = command_line("dev")?;
    let kernels = kernels("ssrqp")?;
    println!("\nSimulated cycles, and warps' loads from global memory, divided by those of `none`: below 1 is better.");
    println!(
        "`ssrqp` is `ssrqp[cost=paper]`, `machine` is `ssrqp[cost=machine]` with a measured profile, and `auto` is \
         `ssrqp` without one."
    );
    for machine in MACHINES {
        let programs = optimised(&program, &kernels, machine)?;
        let rows: Vec<Row> =
            programs.iter().map(|programs| measured(&program, programs, machine)).collect::<Result<_>>()?;
        print!("\n{}", text(machine, &rows));
        for (row, programs) in rows.iter().zip(&programs) {
            print!("{}", more_loads(&program, row, programs)?);
        }
    }
    Ok(())
}

/// A kernel and what the variants made of it.
struct Programs<'a> {
    kernel: &'a Kernel,
    variants: [PathBuf; VARIANTS.len()],
}

/// Every kernel after every variant, all cleaned alike.
fn optimised<'a>(program: &Path, kernels: &'a [Kernel], machine: &str) -> Result<Vec<Programs<'a>>> {
    let folder = workspace::target().join("xtask/table");
    std::fs::create_dir_all(&folder)?;
    let of = |kernel: &'a Kernel| -> Result<Programs<'a>> {
        let mut variants = VARIANTS.map(|variant| folder.join(format!("{}.{variant}.wir", kernel.name)));
        for (variant, output) in VARIANTS.iter().zip(&mut variants) {
            let mut command = Command::new(program);
            command.arg("opt").arg(&kernel.ptx);
            let pass = match *variant {
                "none" => String::new(),
                "machine" => {
                    command.args(["--profile", "simulate", "--machine", machine, "--launch"]).arg(&kernel.launch);
                    format!("ssrqp[cost=machine,machine={machine}],")
                }
                "auto" => format!("ssrqp[machine={machine}],"),
                "ssrqp" => "ssrqp[cost=paper],".into(),
                pass => format!("{pass},"),
            };
            let passes = format!("infer-space,{pass}copy-prop,dce");
            std::fs::write(output, tools::read(command.args(["--passes", &passes]))?)?;
        }
        Ok(Programs { kernel, variants })
    };
    kernels.iter().map(of).collect()
}

/// Simulates all variants of a kernel. That they leave the same memory is asked again here.
fn measured(program: &Path, programs: &Programs<'_>, machine: &str) -> Result<Row> {
    let mut hashes = Vec::new();
    let mut runs = [Run { cycles: 0.0, loads: 0.0 }; VARIANTS.len()];
    let name = &programs.kernel.name;
    for (run, variant) in runs.iter_mut().zip(&programs.variants) {
        let answer = simulate(program, variant, &programs.kernel.launch, machine)?;
        *run = Run { cycles: number(&answer, "cycles")?, loads: number(&answer, "global_loads")? };
        hashes.push(answer["result_hash"].as_str().context("no `result_hash` in the answer")?.to_owned());
    }
    ensure!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{name}: variants leave different memory");
    Ok(Row { kernel: name.clone(), runs })
}

/// Loads that `ssrqp` moved to places that more warps reach, where warps load more than before, in words.
fn more_loads(program: &Path, row: &Row, Programs { kernel, .. }: &Programs<'_>) -> Result<String> {
    let loads = |variant: &str| VARIANTS.iter().position(|name| *name == variant).map_or(0.0, |at| row.runs[at].loads);
    if loads("ssrqp") <= loads("none") {
        return Ok(String::new());
    }
    let mut opt = Command::new(program);
    opt.arg("opt").arg(&kernel.ptx).args(["--passes", "infer-space,ssrqp[cost=paper]", "--json"]);
    let report = answer(&mut opt)?;
    let mut sim = Command::new(program);
    sim.arg("sim").arg(&kernel.ptx).arg("--launch").arg(&kernel.launch).args(["--profile", "--json"]);
    let run = answer(&mut sim)?;
    let mut text = format!("{}: `ssrqp` makes warps load {} times, not {}", row.kernel, loads("ssrqp"), loads("none"));
    let moved = report["passes"][1]["remarks"].as_array().context("no remarks")?;
    for remark in moved.iter().filter(|remark| remark["rule"] == "speculate" && remark["kind"] == "applied") {
        let executions = |block: &serde_json::Value| {
            let blocks = run["profile"][remark["function"].as_str()?]["blocks"].as_array()?;
            Some(
                blocks
                    .iter()
                    .find(|entry| entry["block"] == *block)
                    .map_or(0, |entry| entry["executions"].as_u64().unwrap_or(0)),
            )
        };
        let (to, from) = (&remark["at"], &remark["facts"]["from"]);
        let (Some(comes), Some(enters)) = (executions(to), executions(from)) else { continue };
        if enters < comes {
            let what = remark["message"].as_str().and_then(|message| message.split(" moves up").next()).unwrap_or("?");
            write!(
                text,
                "; {what} moves to where warps come {comes} times, and enter the side that it was on {enters} times"
            )?;
        }
    }
    text.push_str(".\n");
    Ok(text)
}

/// The table of one machine.
fn text(machine: &str, rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.kernel.len()).max().unwrap_or_default().max("geometric mean".len());
    let over = 8 * VARIANTS.len();
    let mut text =
        format!("{:width$} {:>over$}   {:>over$}\n{machine:width$} ", "", "cycles", "loads from global memory");
    for _ in 0..2 {
        VARIANTS.iter().for_each(|variant| write!(text, "{variant:>8}").expect("text grows"));
        text.push_str("   ");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let quantities: [fn(&Run) -> f64; 2] = [|run| run.cycles, |run| run.loads];
    for row in rows {
        write!(text, "{:width$} ", row.kernel).expect("text grows");
        for (index, of) in quantities.iter().enumerate() {
            let base = of(&row.runs[0]);
            write!(text, "{}{base:>8}", if index == 0 { "" } else { "   " }).expect("text grows");
            row.runs[1..].iter().for_each(|run| write!(text, "{:>8.3}", of(run) / base).expect("text grows"));
        }
        text.push('\n');
    }
    write!(text, "{:width$} ", "geometric mean").expect("text grows");
    for (index, of) in quantities.iter().enumerate() {
        write!(text, "{}{:>8}", if index == 0 { "" } else { "   " }, "").expect("text grows");
        for variant in 1..VARIANTS.len() {
            let ratios = rows.iter().map(|row| of(&row.runs[variant]) / of(&row.runs[0]));
            write!(text, "{:>8.3}", geometric_mean(ratios)).expect("text grows");
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{Row, Run, text};

    #[test]
    fn what_stands_in_the_table_is_divided_by_the_first_column() {
        let run = |cycles, loads| Run { cycles, loads };
        let row = |kernel: &str, last| Row {
            kernel: kernel.to_owned(),
            runs: [run(200.0, 10.0), run(200.0, 10.0), run(100.0, 15.0), run(300.0, 10.0), last, last, last],
        };
        let table = text("unit", &[row("first", run(50.0, 5.0)), row("other", run(200.0, 20.0))]);
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[2],
            [
                "first", "200", "1.000", "0.500", "1.500", "0.250", "0.250", "0.250", "10", "1.000", "1.500", "1.000",
                "0.500", "0.500", "0.500"
            ]
        );
        assert_eq!(
            lines[4],
            [
                "geometric",
                "mean",
                "1.000",
                "0.500",
                "1.500",
                "0.500",
                "0.500",
                "0.500",
                "1.000",
                "1.500",
                "1.000",
                "1.000",
                "1.000",
                "1.000"
            ]
        );
    }
}

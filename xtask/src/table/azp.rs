//! Effect of zero specialisation on the kernels of `www/examples/azp`: simulated cycles with both heuristics, the gain
//! predicted for each candidate against what specialising for it alone saves, and the time of the pass beside `ptxas`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Kernel, MACHINES, answer, command_line, geometric_mean, kernels, number, simulate};
use crate::{cuda, workspace};

/// The heuristics, by their names as knobs.
const HEURISTICS: [&str; 2] = ["default", "oracle"];

/// How often times are taken; the shortest counts.
const REPETITIONS: usize = 15;

/// Results for one kernel on one machine.
struct Row {
    kernel: String,
    /// Cycles without `azp`.
    before: f64,
    /// Cycles with each heuristic.
    after: [f64; HEURISTICS.len()],
    /// Transformations that the default makes.
    transformations: usize,
    candidates: Vec<Candidate>,
    times: Times,
}

/// A candidate that is estimated before anything is transformed.
struct Candidate {
    what: String,
    /// The gain that is foreseen, -T_δ, in cycles for each run by a warp.
    foreseen: f64,
    /// Cycles of the launch that specialising for it alone saves, for each warp.
    saved: f64,
}

/// Milliseconds.
struct Times {
    azp: f64,
    /// The other passes of the pipeline.
    others: f64,
    /// Time that `ptxas -O3` reports; none where it is not installed.
    ptxas: Option<f64>,
}

/// Prints the table.
pub fn table() -> Result<()> {
    let program = command_line("release")?;
    let kernels = kernels("azp")?;
    let assembler = cuda::install().map(|tools| tools.join("ptxas"));
    if let Err(error) = &assembler {
        println!("left out: what `ptxas` takes ({error:#})");
    }
    let assembler = assembler.ok();
    println!(
        "\nCycles without `azp`, and the speed-up with it: above 1 is better. Times are the shortest of {REPETITIONS}."
    );
    for machine in MACHINES {
        let bench = Bench { program: &program, assembler: assembler.as_deref(), machine };
        let rows: Vec<Row> = kernels.iter().map(|kernel| bench.row(kernel)).collect::<Result<_>>()?;
        print!("\n{}", text(machine, &rows));
        print!("\n{}", foreseen(&rows));
    }
    Ok(())
}

/// With what is measured.
struct Bench<'a> {
    program: &'a Path,
    assembler: Option<&'a Path>,
    machine: &'a str,
}

impl Bench<'_> {
    fn row(&self, kernel: &Kernel) -> Result<Row> {
        let run = |report: &Value| self.cycles(kernel, report);
        let plain = self.optimised(kernel, "")?;
        let before = run(&plain)?;
        let by_default = self.optimised(kernel, "heuristic=default")?;
        let mut after = [run(&by_default)?; HEURISTICS.len()];
        after[1] = run(&self.optimised(kernel, "heuristic=oracle")?)?;
        let is_applied = |remark: &&Value| remark["kind"] == "applied";
        let transformations = remarks(&by_default)?.iter().filter(is_applied).count();
        let warps = number(&self.simulated(kernel, &plain)?, "warps")?;
        let mut candidates = Vec::new();
        // With a limit of none everything is looked at once.
        for remark in remarks(&self.optimised(kernel, "xform_limit=0")?)? {
            let facts = &remark["facts"];
            let is_possible = !matches!(remark["rule"].as_str(), Some("nothing" | "convergent"));
            let (Some(id), Some(gain)) = (facts["candidate"].as_u64(), facts["gain"].as_f64()) else { continue };
            if is_possible {
                let alone = run(&self.optimised(kernel, &format!("candidate={id}"))?)?;
                let what = format!("{} {}", kernel.name, words(&facts["registers"]));
                candidates.push(Candidate { what, foreseen: gain, saved: (before - alone) / warps });
            }
        }
        let times = self.times(kernel)?;
        Ok(Row { kernel: kernel.name.clone(), before, after, transformations, candidates, times })
    }

    /// Answer of the pipeline, with `azp` under these knobs; without it where they are empty.
    fn optimised(&self, kernel: &Kernel, knobs: &str) -> Result<Value> {
        let machine = self.machine;
        let azp = if knobs.is_empty() { String::new() } else { format!("azp[machine={machine},{knobs}],") };
        let mut command = Command::new(self.program);
        command.arg("opt").arg(&kernel.ptx).args(["--passes", &format!("infer-space,{azp}copy-prop,dce")]);
        command.args(["--fast-math", "--profile", "simulate", "--machine", machine, "--json", "--launch"]);
        answer(command.arg(&kernel.launch))
    }

    fn simulated(&self, kernel: &Kernel, report: &Value) -> Result<Value> {
        let file = workspace::target().join("xtask/table").join(format!("{}.azp.wir", kernel.name));
        std::fs::create_dir_all(file.parent().context("a folder")?)?;
        std::fs::write(&file, report["text"].as_str().context("no text in the answer")?)?;
        simulate(self.program, &file, &kernel.launch, self.machine)
    }

    fn cycles(&self, kernel: &Kernel, report: &Value) -> Result<f64> {
        number(&self.simulated(kernel, report)?, "cycles")
    }

    fn times(&self, kernel: &Kernel) -> Result<Times> {
        let mut times = Times { azp: f64::INFINITY, others: f64::INFINITY, ptxas: None };
        for _ in 0..REPETITIONS {
            let report = self.optimised(kernel, "heuristic=default")?;
            let passes = report["passes"].as_array().context("no passes in the answer")?;
            let (mut azp, mut others) = (0.0, 0.0);
            for pass in passes {
                let sum = if pass["name"] == "azp" { &mut azp } else { &mut others };
                *sum += number(pass, "micros")? / 1e3;
            }
            times.azp = times.azp.min(azp);
            times.others = times.others.min(others);
            if let Some(assembler) = self.assembler {
                times.ptxas = Some(assembled(assembler, kernel)?.min(times.ptxas.unwrap_or(f64::INFINITY)));
            }
        }
        Ok(times)
    }
}

/// Milliseconds that `ptxas -O3` says it has taken, without being started.
fn assembled(assembler: &Path, kernel: &Kernel) -> Result<f64> {
    let output: PathBuf = workspace::target().join("xtask/table").join(format!("{}.cubin", kernel.name));
    let mut command = Command::new(assembler);
    command.args(["-O3", "-v", "-arch=sm_80"]).arg(&kernel.ptx).arg("-o").arg(output);
    let done = command.output().context("ptxas does not start")?;
    ensure!(done.status.success(), "ptxas refuses {}", kernel.ptx.display());
    let said = String::from_utf8_lossy(&done.stderr);
    let (_, rest) = said.split_once("Compile time = ").context("ptxas printed no compile time")?;
    Ok(rest.split_whitespace().next().unwrap_or_default().parse()?)
}

fn remarks(report: &Value) -> Result<&Vec<Value>> {
    let passes = report["passes"].as_array().context("no passes in the answer")?;
    let azp = passes.iter().find(|pass| pass["name"] == "azp").context("`azp` did not run")?;
    azp["remarks"].as_array().context("no remarks in the answer")
}

/// Names, joined.
fn words(names: &Value) -> String {
    names.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("+")
}

/// The table of one machine.
fn text(machine: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "{machine:16}{:>9}{:>9}{:>9}{:>7}{:>11}{:>11}{:>11}{:>13}\n",
        "cycles", "default", "oracle", "times", "azp ms", "ptxas ms", "azp/ptxas", "with/without"
    );
    let line = |text: &mut String, cells: [String; 9]| {
        let widths = [16, 9, 9, 9, 7, 11, 11, 11, 13];
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if index == 0 { write!(text, "{cell:width$}") } else { write!(text, "{cell:>width$}") }
                .expect("text grows");
        }
        text.push('\n');
    };
    let with_azp = |row: &Row| (row.times.others + row.times.azp) / row.times.others;
    let by_ptxas = |row: &Row| row.times.ptxas.map(|ptxas| row.times.azp / ptxas);
    for row in rows {
        let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        line(
            &mut text,
            [
                row.kernel.clone(),
                row.before.to_string(),
                format!("{:.3}", row.before / row.after[0]),
                format!("{:.3}", row.before / row.after[1]),
                row.transformations.to_string(),
                format!("{:.3}", row.times.azp),
                or_dash(row.times.ptxas),
                or_dash(by_ptxas(row)),
                format!("{:.2}", with_azp(row)),
            ],
        );
    }
    let targeted = |row: &&Row| row.transformations > 0;
    for (name, chosen) in
        [("targeted", rows.iter().filter(targeted).collect::<Vec<_>>()), ("all", rows.iter().collect())]
    {
        let speed_up = |heuristic: usize| geometric_mean(chosen.iter().map(|row| row.before / row.after[heuristic]));
        let ptxas = chosen.iter().map(|row| by_ptxas(row)).collect::<Option<Vec<f64>>>();
        line(
            &mut text,
            [
                format!("{name}, {}", chosen.len()),
                String::new(),
                format!("{:.3}", speed_up(0)),
                format!("{:.3}", speed_up(1)),
                String::new(),
                String::new(),
                String::new(),
                ptxas.map_or("-".to_owned(), |ratios| format!("{:.3}", geometric_mean(ratios.into_iter()))),
                format!("{:.2}", geometric_mean(chosen.iter().map(|row| with_azp(row)))),
            ],
        );
    }
    text
}

/// Predicted and measured gain of each candidate, and how well the orders of both agree.
fn foreseen(rows: &[Row]) -> String {
    let candidates: Vec<&Candidate> = rows.iter().flat_map(|row| &row.candidates).collect();
    let width = candidates.iter().map(|candidate| candidate.what.len()).max().unwrap_or_default();
    let mut text = format!("{:width$}{:>12}{:>12}\n", "cycles per warp", "foreseen", "saved");
    for candidate in &candidates {
        writeln!(text, "{:width$}{:>12.1}{:>12.1}", candidate.what, candidate.foreseen, candidate.saved)
            .expect("text grows");
    }
    let of = |value: fn(&Candidate) -> f64| candidates.iter().map(|candidate| value(candidate)).collect::<Vec<_>>();
    let correlation = rank_correlation(&of(|candidate| candidate.foreseen), &of(|candidate| candidate.saved));
    writeln!(text, "rank correlation of {} candidates: {correlation:.3}", candidates.len()).expect("text grows");
    text
}

/// Spearman's: the correlation of the ranks, equals sharing the middle of theirs. From -1 to 1, not
/// a number where all of one side are equal.
fn rank_correlation(first: &[f64], second: &[f64]) -> f64 {
    let (first, second) = (ranks(first), ranks(second));
    let mean = |ranks: &[f64]| ranks.iter().sum::<f64>() / ranks.len() as f64;
    let (a, b) = (mean(&first), mean(&second));
    let product = |x: &[f64], at: f64, y: &[f64], other: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - at) * (y - other)).sum()
    };
    product(&first, a, &second, b) / (product(&first, a, &first, a) * product(&second, b, &second, b)).sqrt()
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values.iter().map(|&value| below(value) + (equal(value) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Row, Times, foreseen, rank_correlation, ranks, text};

    #[test]
    fn equals_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 7.0]), [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn only_the_order_counts() {
        assert!((rank_correlation(&[1.0, 2.0, 9.0], &[0.1, 0.2, 0.3]) - 1.0).abs() < 1e-12);
        assert!((rank_correlation(&[1.0, 2.0, 9.0], &[3.0, 2.0, -5.0]) + 1.0).abs() < 1e-12);
        // By hand: ranks 1 2 3 4 and 2 1 4 3, so 1 - 6 · 4 / (4 · 15).
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[5.0, 4.0, 9.0, 8.0]) - 0.6).abs() < 1e-12);
    }

    fn row(kernel: &str, after: [f64; 2], transformations: usize) -> Row {
        let times = Times { azp: 1.0, others: 2.0, ptxas: Some(4.0) };
        let candidates = vec![Candidate { what: format!("{kernel} r"), foreseen: 2.0, saved: after[0] }];
        Row { kernel: kernel.to_owned(), before: 200.0, after, transformations, candidates, times }
    }

    #[test]
    fn only_those_that_are_transformed_are_targeted() {
        let rows = [row("first", [100.0, 100.0], 2), row("other", [200.0, 200.0], 0)];
        let table = text("unit", &rows);
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["first", "200", "2.000", "2.000", "2", "1.000", "4.000", "0.250", "1.50"]);
        assert_eq!(lines[3], ["targeted,", "1", "2.000", "2.000", "0.250", "1.50"]);
        assert_eq!(lines[4], ["all,", "2", "1.414", "1.414", "0.250", "1.50"]);
        assert!(foreseen(&rows).contains("rank correlation of 2 candidates"));
    }
}

//! Tables of what passes achieve on kernels that were written for that.
//!
//! Nothing of a table is kept: the command line is built, optimises each kernel with each variant and simulates it, and
//! what it answers is set against the run without the variant.

mod azp;
mod estimate;
mod ssrqp;
mod vng;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{bench, progress, tools, workspace};

#[derive(clap::Args)]
pub struct Options {
    /// Which table.
    #[arg(value_enum)]
    table: Table,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Table {
    /// Scalar replacement with branches that diverge: the variants on `www/examples/ssrqp`.
    Ssrqp,
    /// Zero specialisation: both heuristics on `www/examples/azp`, what was foreseen, and the time it takes.
    Azp,
    /// Value name graphs: names, registers and splits on `www/examples`.
    Vng,
    /// Estimators of reuse: their precision on the kernels of `www/examples` with a launch.
    Estimate,
}

/// The generation that the papers measured on, and the one that the PTX was made for.
const MACHINES: [&str; 2] = ["turing", "ampere"];

/// Prints the table.
pub fn table(options: &Options) -> Result<()> {
    match options.table {
        Table::Ssrqp => ssrqp::table(),
        Table::Azp => azp::table(),
        Table::Vng => vng::table(),
        Table::Estimate => estimate::table(),
    }
}

/// Builds the command line as a profile of cargo says, and says where it is.
fn command_line(profile: &str) -> Result<PathBuf> {
    progress::step("build the command line", || {
        let build = ["build", "--quiet", "--locked", "--package", "warpscope-cli", "--profile", profile];
        let messages = tools::read(tools::cargo().args(build).args(["--message-format", "json-render-diagnostics"]))?;
        bench::executable(&messages).context("cargo did not say where it put the command line")
    })
}

/// A kernel with its launch beside it.
struct Kernel {
    name: String,
    ptx: PathBuf,
    launch: PathBuf,
}

/// The kernels of a folder of the examples.
fn kernels(folder: &str) -> Result<Vec<Kernel>> {
    let folder = workspace::www().join("examples").join(folder);
    let mut kernels = Vec::new();
    for ptx in progress::files_below(&folder)?.into_iter().filter(|file| file.extension().is_some_and(|it| it == "ptx"))
    {
        let file = ptx.file_name().context("a file")?.to_string_lossy();
        let name = file.split('.').next().unwrap_or_default().to_owned();
        kernels.push(Kernel { launch: ptx.with_file_name(format!("{name}.launch.wir")), name, ptx });
    }
    ensure!(!kernels.is_empty(), "no kernels in {}", folder.display());
    Ok(kernels)
}

/// A program of the examples.
struct Program {
    /// Its file below the examples, without `.wir` or `.ptx`.
    name: String,
    file: PathBuf,
    /// The file with its launches, None inside for its own; None for a program without.
    launch: Option<Option<PathBuf>>,
}

impl Program {
    /// The program with the function that a report is of.
    fn row_name(&self, report: &Value) -> String {
        format!("{} {}", self.name, report["kernel"].as_str().unwrap_or("?"))
    }
}

/// All programs of the examples.
fn programs() -> Result<Vec<Program>> {
    let folder = workspace::www().join("examples");
    let mut programs = Vec::new();
    for file in progress::files_below(&folder)? {
        let name = file.strip_prefix(&folder)?.to_string_lossy().into_owned();
        let stem = match (name.strip_suffix(".ptx"), name.strip_suffix(".wir")) {
            (Some(stem), _) => stem,
            (None, Some(stem)) if !stem.ends_with(".launch") => stem,
            _ => continue,
        };
        let base = stem.trim_end_matches(".O0").trim_end_matches(".O3");
        let beside = folder.join(format!("{base}.launch.wir"));
        let launch = match beside.exists() {
            true => Some(Some(beside)),
            false => std::fs::read_to_string(&file)?.contains("\nlaunch ").then_some(None),
        };
        programs.push(Program { name: stem.to_owned(), file, launch });
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    ensure!(!programs.is_empty(), "no programs in {}", folder.display());
    Ok(programs)
}

/// Runs a command and parses its JSON.
fn answer(command: &mut Command) -> Result<Value> {
    Ok(serde_json::from_str(&tools::read(command)?)?)
}

/// Simulates a program.
fn simulate(program: &Path, text: &Path, launch: &Path, machine: &str) -> Result<Value> {
    let mut simulation = Command::new(program);
    answer(simulation.arg("sim").arg(text).arg("--launch").arg(launch).args(["--machine", machine, "--json"]))
}

/// A number of an answer.
fn number(answer: &Value, name: &str) -> Result<f64> {
    answer[name].as_f64().with_context(|| format!("no `{name}` in the answer"))
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    (sum / count).exp()
}

#[cfg(test)]
mod tests {
    use super::geometric_mean;

    #[test]
    fn twice_and_half_are_the_same_on_average() {
        assert!((geometric_mean([2.0, 0.5].into_iter()) - 1.0).abs() < 1e-12);
        assert!((geometric_mean([4.0, 1.0, 2.0].into_iter()) - 2.0).abs() < 1e-12);
    }
}

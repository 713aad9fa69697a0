//! Tables of what passes achieve on kernels that were written for that.
//!
//! Nothing of a table is kept: the command line is built, optimises each kernel with each variant and simulates it, and
//! what it answers is set against the run without the variant.

mod azp;
mod ssrqp;

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
}

/// The generation that the papers measured on, and the one that the PTX was made for.
const MACHINES: [&str; 2] = ["turing", "ampere"];

/// Prints the table.
pub fn table(options: &Options) -> Result<()> {
    match options.table {
        Table::Ssrqp => ssrqp::table(),
        Table::Azp => azp::table(),
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

//! The simulator beside the GPU of this machine.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{bench, progress, tools, workspace};

/// Arguments that are passed on.
#[derive(clap::Args)]
pub struct Options {
    /// `agree`, `costs` or `times`, with their options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, default_value = "--help")]
    arguments: Vec<String>,
}

/// Builds the program and runs it. It is one file that needs nothing but NVIDIA's driver: where the
/// GPU's machine cannot build, it can be copied there with `www/examples`.
pub fn gpu(options: &Options) -> Result<()> {
    let program = progress::step("build the comparison", || {
        let build = ["build", "--quiet", "--locked", "--release", "--package", "warpscope-gpu"];
        let messages = tools::read(tools::cargo().args(build).args(["--message-format", "json-render-diagnostics"]))?;
        bench::executable(&messages).context("cargo did not say where it put the comparison")
    })?;
    // Examples are looked for from here on.
    tools::run(Command::new(program).args(&options.arguments).current_dir(workspace::root()))
}

//! NVIDIA's assembler for the tests of exported PTX, from its Python wheels, in a virtual environment of our own.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{progress, tools, workspace};

/// The major release whose PTX the tests expect.
const PACKAGES: [&str; 4] =
    ["nvidia-cuda-nvcc==13.*", "nvidia-cuda-cccl==13.*", "nvidia-cuda-nvdisasm==13.*", "nvidia-cuda-cuobjdump==13.*"];

/// Tells `tests` where the assembler is, as `WARPSCOPE_PTXAS`. Where it cannot be had, the tests that need it are
/// left out, and a line says so; under continuous integration (`$CI`) that is an error.
pub fn prepare(tests: &mut Command) -> Result<()> {
    match install() {
        Ok(tools) => {
            tests.env("WARPSCOPE_PTXAS", tools.join("ptxas"));
            tests.env("WARPSCOPE_NVCC", tools.join("nvcc"));
            Ok(())
        }
        Err(error) if std::env::var_os("CI").is_some() => Err(error),
        Err(error) => {
            println!("skipped: tests that assemble exported PTX ({error:#})");
            Ok(())
        }
    }
}

/// Installs the wheels if they are not there and returns the folder of their programs.
pub fn install() -> Result<PathBuf> {
    let environment = workspace::target().join("cuda");
    progress::step_unless_current(
        "install NVIDIA's assembler with pip",
        &[],
        &PACKAGES.join(" "),
        std::slice::from_ref(&environment),
        || {
            let python = tools::find(&["python3", "python"]).context("Python is not installed")?;
            tools::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment))?;
            let scripts = if cfg!(windows) { "Scripts" } else { "bin" };
            tools::run(
                Command::new(environment.join(scripts).join("python"))
                    .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                    .args(PACKAGES),
            )
        },
    )?;
    progress::files_below(&environment)?
        .into_iter()
        .find(|file| file.file_stem().is_some_and(|name| name == "ptxas"))
        .and_then(|file| file.parent().map(PathBuf::from))
        .context("the wheels hold no ptxas")
}

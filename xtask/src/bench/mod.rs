//! Measures speed, natively and as WebAssembly under Node, and prints both side by side, each group of measurements as
//! soon as both builds have taken it.
//!
//! The benchmark is `core/benches/laboratory`, one program for both. Its WebAssembly goes the
//! page's whole way, shrinking included. The two builds run at once and measure by turns: neither
//! is in the other's way, and what stands side by side was measured within the same seconds.

mod build;
mod figures;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{progress, setup, site, tools, workspace};
use build::Build;
use figures::{HEADING, Lines};

#[derive(clap::Args)]
pub struct Options {
    /// Only measurements whose name contains this, `copy-prop, deep` for instance, or ends with it, as in `gvn-cse$`.
    filter: Option<String>,
}

/// The target with a clock and standard output; the code is the same as the page's.
const WASI: &str = "wasm32-wasip1";

const BENCHMARK: &str = "laboratory";

/// The level at which the linker optimises the engine. The benchmark has core's package and thereby core's level, at
/// which the simulator would have no vectors.
const LIKE_THE_ENGINE: &[&str] = &["--", "-C", "opt-level=3"];

/// WASI is experimental, which needs no saying. A fast call into Node's WASI may collect garbage where V8 does not
/// expect it and crash (nodejs/node#46777); with ordinary calls the benchmark, which seldom makes one, is as fast.
const NODE_OPTIONS: [&str; 2] = ["--no-warnings", "--no-turbo-fast-api-calls"];

/// Runs the benchmark in both builds and prints the table.
pub fn bench(options: &Options) -> Result<()> {
    setup::setup()?;
    let native = progress::step("compile the benchmark", || compile(&["bench", "--no-run"], &[]))?;
    let wasm = wasm()?;
    progress::step("measure natively and under Node, by turns", || {
        let filter = options.filter.as_deref();
        let native = Build::start(Command::new(native).current_dir(workspace::root()).args(filter))?;
        let node = &mut tools::node();
        let wasm = Build::start(node.args(NODE_OPTIONS).arg("xtask/src/wasi.mjs").arg(wasm).args(filter))?;
        let missed = measure(native, wasm)?;
        println!();
        for line in &missed {
            println!("missed: {line}");
        }
        println!("{}", if missed.is_empty() { "all targets are met" } else { "all other targets are met" });
        Ok(())
    })
}

/// Prints each group of measurements when both builds have taken it. Gives what is not as asked, a line each.
fn measure(mut native: Build, mut wasm: Build) -> Result<Vec<String>> {
    let mut missed = Vec::new();
    println!("\n{HEADING}");
    while let Some(group) = native.next_group() {
        let has_both = wasm.next_group() == Some(group);
        let mut lines = Lines::new(native.measure_group()?);
        // LLVM's library, for one, is there natively only.
        if has_both {
            lines.beside(wasm.measure_group()?);
        }
        print!("{}", lines.text());
        missed.extend(lines.missed());
    }
    native.end()?;
    wasm.end()?;
    Ok(missed)
}

/// Compiles the benchmark with these arguments for cargo, and these for the compiler; gives the program.
fn compile(arguments: &[&str], of_compiler: &[&str]) -> Result<PathBuf> {
    let mut cargo = tools::cargo();
    cargo.args(arguments).args(["--quiet", "--locked", "--package", "warpscope-core", "--bench", BENCHMARK]);
    let messages = tools::read(cargo.args(["--message-format", "json-render-diagnostics"]).args(of_compiler))?;
    executable(&messages).context("cargo did not say where it put the benchmark")
}

fn wasm() -> Result<PathBuf> {
    setup::compilation_target(WASI)?;
    let compiled = progress::step("compile the benchmark to WebAssembly", || {
        compile(&["rustc", "--target", WASI, "--profile", "wasm"], LIKE_THE_ENGINE)
    })?;
    let shrunk = workspace::target().join("xtask/laboratory.wasm");
    std::fs::copy(compiled, &shrunk)?;
    progress::step("shrink the benchmark", || site::shrink(&shrunk))?;
    Ok(shrunk)
}

/// The file that cargo's messages, one JSON object a line, name as the executable they built.
pub fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    })
}

//! The npm package: the engine's bindings beside the files of `pkg/`, as a tarball.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{budget, progress, setup, site, tools, workspace};

/// Files of `pkg/` that are published unchanged.
const FILES: [&str; 6] = ["package.json", "README.md", "index.js", "node.js", "api.js", "index.d.ts"];

/// Builds the package and returns the path of its tarball.
pub fn pack() -> Result<PathBuf> {
    setup::setup()?;
    site::binaries(&["engine"], false)?;
    let bindings = site::bindings("engine");
    progress::step("pack the npm package", || {
        let root = workspace::root();
        let out = workspace::target().join("package");
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        fs::create_dir_all(&out)?;
        for file in FILES {
            fs::copy(root.join("pkg").join(file), out.join(file)).with_context(|| file.to_owned())?;
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            fs::copy(root.join(licence), out.join(licence))?;
        }
        for file in ["engine.js", "engine_bg.wasm"] {
            fs::copy(bindings.join(file), out.join(file))?;
        }
        budget::check_engine("npm engine", &out.join("engine_bg.wasm"), false)?;
        let name = tools::read(tools::npm(&out).args(["pack", "--silent"]))?;
        Ok(out.join(name.trim()))
    })
}

/// Compiles the engine for this machine, with which the package's tests compare the one in WebAssembly.
pub fn native_engine() -> Result<PathBuf> {
    progress::step("compile the engine for this machine", || {
        tools::run(tools::cargo().args(["build", "--quiet", "--locked", "--workspace", "--example", "answer"]))
    })?;
    let name = if cfg!(windows) { "answer.exe" } else { "answer" };
    Ok(workspace::target().join("debug/examples").join(name))
}

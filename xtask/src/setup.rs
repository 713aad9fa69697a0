//! Parts that a fresh checkout lacks: the compilation target, the npm packages, the bundled editor,
//! and the engine's answers to what the page asks first.

use anyhow::{Context, Result, bail};

use crate::{progress, tools, workspace};

/// Compilation target of the page and its worker.
pub const WASM: &str = "wasm32-unknown-unknown";

/// A machine without an operating system: what compiles for it is no_std.
pub const BARE_METAL: &str = "thumbv7em-none-eabi";

/// The oldest Node.js with all that the tools and tests use.
const NODE: (u32, u32) = (20, 10);

/// Everything that building, serving and packing need. Cheap when nothing is missing.
pub fn setup() -> Result<()> {
    compilation_target(WASM)?;
    node_is_recent()?;
    npm_packages()?;
    bundle_editor()?;
    record_first_view()
}

/// Adds `target` to the toolchain if it is missing.
pub fn compilation_target(target: &str) -> Result<()> {
    let libraries = tools::read(
        std::process::Command::new("rustc")
            .args(["--print", "target-libdir", "--target", target])
            .current_dir(workspace::root()),
    )?;
    if std::path::Path::new(libraries.trim()).is_dir() {
        return Ok(());
    }
    progress::step(&format!("add the compilation target {target}"), || {
        tools::run(std::process::Command::new("rustup").args(["target", "add", target]).current_dir(workspace::root()))
            .with_context(|| format!("without rustup, install Rust's standard library for {target} by hand"))
    })
}

fn node_is_recent() -> Result<()> {
    let version = tools::read(tools::node().arg("--version"))
        .with_context(|| format!("Node.js {}.{} or later is needed", NODE.0, NODE.1))?;
    let mut numbers = version.trim().trim_start_matches('v').split('.').map_while(|number| number.parse::<u32>().ok());
    match numbers.next().zip(numbers.next()) {
        Some(found) if found >= NODE => Ok(()),
        _ => bail!("Node.js {}.{} or later is needed, this is {}", NODE.0, NODE.1, version.trim()),
    }
}

fn npm_packages() -> Result<()> {
    let www = workspace::www();
    progress::step_unless_current(
        "install the npm packages",
        &[www.join("package.json"), www.join("package-lock.json")],
        "",
        // What npm writes last; a folder that somebody has emptied lacks it.
        &[www.join("node_modules/.package-lock.json")],
        || tools::run(tools::npm(&www).args(["ci", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"])),
    )
}

fn bundle_editor() -> Result<()> {
    let www = workspace::www();
    let outputs = ["editor.js", "code-editor.js"].map(|name| www.join("build").join(name));
    progress::step_unless_current(
        "bundle the editor",
        &[www.join("editor"), www.join("package.json"), www.join("package-lock.json")],
        "",
        &outputs,
        || tools::run(tools::npm(&www).args(["run", "--silent", "bundle"])),
    )
}

/// Cargo knows when nothing has changed.
fn record_first_view() -> Result<()> {
    progress::step("compute what the page shows first", || {
        let mut cargo = tools::cargo();
        // All packages for one's binary: with their features the compiled crates stay those of the tests.
        cargo.args(["build", "--quiet", "--locked", "--workspace", "--bin", "first-view"]);
        tools::run(&mut cargo)?;
        let program = workspace::target().join("debug").join(format!("first-view{}", std::env::consts::EXE_SUFFIX));
        tools::run(std::process::Command::new(program).arg(workspace::www().join("build/first-view.bin")))
    })
}

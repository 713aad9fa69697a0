//! Compressed sizes: of the first view, which is everything in `dist/` that the page loads before
//! anybody clicks, and of the two engines, which every reader pays for after that.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{progress, workspace};

/// Budget of the first view, in bytes, compressed.
const BUDGET: usize = 500_000;

/// Over the budget by more than this share, the build fails.
const TOLERANCE: f64 = 0.05;

/// Compressed bytes of an engine that are wanted, and those from which the build fails.
const ENGINE_GOAL: usize = 1_200_000;
const ENGINE_LIMIT: usize = 1_700_000;

/// Files that the page loads only on demand. A browser test compares the page with this list.
const ON_DEMAND: [&str; 8] = [
    "code-editor.js",
    "examples",
    "extras.js",
    "extras_bg.wasm",
    "lessons",
    "start-worker.js",
    "worker.js",
    "worker_bg.wasm",
];

/// Compressed bytes of the extras, code and bindings, from which the build fails.
const EXTRAS_LIMIT: usize = 250_000;

/// Prints the compressed size of each file of the first view, and fails if the sum is over budget.
/// A draft is only measured.
pub fn check(draft: bool) -> Result<()> {
    let dist = workspace::dist();
    let mut total = 0;
    println!("==> size of the first view, compressed");
    for file in progress::files_below(&dist)? {
        let name = file.strip_prefix(&dist)?;
        if ON_DEMAND.iter().any(|path| name.starts_with(path)) {
            continue;
        }
        let size = compressed_size(&fs::read(&file)?)?;
        total += size;
        println!("    {:>7.1} KB  {}", size as f64 / 1000.0, name.display());
    }
    println!("    {:>7.1} KB  of {} KB", total as f64 / 1000.0, BUDGET / 1000);
    if !draft && total as f64 > BUDGET as f64 * (1.0 + TOLERANCE) {
        bail!("the first view weighs {total} bytes compressed; the budget is {BUDGET}");
    }
    Ok(())
}

/// Prints the compressed size of the extras, and fails if it is over the limit. A draft is only measured.
pub fn check_extras(draft: bool) -> Result<()> {
    let sizes = ["extras.js", "extras_bg.wasm"].map(|name| compressed_size(&fs::read(workspace::dist().join(name))?));
    let size = sizes.into_iter().sum::<Result<usize>>()?;
    println!("==> size of the extras, compressed");
    println!("    {:>7.1} KB  of {} KB", size as f64 / 1000.0, EXTRAS_LIMIT / 1000);
    if !draft && size > EXTRAS_LIMIT {
        bail!("the extras weigh {size} bytes compressed; the limit is {EXTRAS_LIMIT}");
    }
    Ok(())
}

/// Prints the compressed size of an engine, and fails if it is over the limit. A draft is only measured.
pub fn check_engine(name: &str, wasm: &Path, draft: bool) -> Result<()> {
    let size = compressed_size(&fs::read(wasm)?)?;
    println!("==> size of the {name}, compressed");
    println!("    {:>7.1} KB  of {} KB, at most {}", size as f64 / 1000.0, ENGINE_GOAL / 1000, ENGINE_LIMIT / 1000);
    if !draft && size > ENGINE_LIMIT {
        bail!("the {name} weighs {size} bytes compressed; the limit is {ENGINE_LIMIT}");
    }
    Ok(())
}

fn compressed_size(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

//! Progress lines, and steps that are left out while their inputs stay the same.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::workspace;

/// Says what is done now, does it, and says how long it took. Another step may have begun
/// meanwhile, so both lines name it.
pub fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {what}");
    let start = Instant::now();
    let result = work().with_context(|| what.to_owned())?;
    let seconds = start.elapsed().as_secs_f64();
    if seconds >= 1.0 {
        println!("    {seconds:.1} s ({what})");
    }
    Ok(result)
}

/// A [`step`] whose result depends on the contents of `inputs` and on `settings` alone: it is left out when neither
/// changed since it last succeeded and all `outputs` exist. Inputs may be folders.
pub fn step_unless_current(
    what: &str,
    inputs: &[PathBuf],
    settings: &str,
    outputs: &[PathBuf],
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = stamp_path(what);
    let fingerprint = fingerprint(inputs, settings)?;
    let current = outputs.iter().all(|output| output.exists())
        && fs::read_to_string(&stamp).is_ok_and(|written| written == fingerprint);
    if current {
        println!("==> {what} (unchanged)");
        return Ok(());
    }
    // A step that fails half-way must not look finished the next time.
    let _ = fs::remove_file(&stamp);
    step(what, work)?;
    fs::create_dir_all(stamp.parent().expect("stamps lie in a folder"))?;
    fs::write(&stamp, fingerprint)?;
    Ok(())
}

/// All files below `path`, in the order of their names; `path` itself if it is a file.
pub fn files_below(path: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    let mut pending = vec![path.to_path_buf()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            for entry in fs::read_dir(&path).with_context(|| path.display().to_string())? {
                pending.push(entry?.path());
            }
        } else if path.exists() {
            files.insert(path);
        }
    }
    Ok(files)
}

fn stamp_path(what: &str) -> PathBuf {
    let name: String = what.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    workspace::target().join("xtask").join(name)
}

fn fingerprint(inputs: &[PathBuf], settings: &str) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    settings.hash(&mut hasher);
    for input in inputs {
        for file in files_below(input)? {
            file.hash(&mut hasher);
            fs::read(&file)?.hash(&mut hasher);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

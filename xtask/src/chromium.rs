//! Finds the browser that the tests drive, or installs it where that is possible.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{progress, tools};

const NAMES: [&str; 6] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "microsoft-edge"];

const ELSEWHERE: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
];

/// The path of a Chromium: `$CHROMIUM`, else one of the usual names, else Debian's, installed now if we are root.
pub fn find_or_install() -> Result<PathBuf> {
    if let Some(path) = env::var_os("CHROMIUM").map(PathBuf::from) {
        if path.is_file() {
            return Ok(path);
        }
        bail!("$CHROMIUM is {}, which is no file", path.display());
    }
    if let Some(path) = find() {
        return Ok(path);
    }
    if may_install() {
        progress::step("install Chromium with apt-get", || {
            tools::run(Command::new("apt-get").args(["update", "-qq"]))?;
            tools::run(
                Command::new("apt-get")
                    .args(["install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"])
                    .env("DEBIAN_FRONTEND", "noninteractive"),
            )
        })?;
        if let Some(path) = find() {
            return Ok(path);
        }
    }
    bail!(
        "the browser tests need Chromium. Install it (Debian and Ubuntu: apt-get install chromium) \
         or set CHROMIUM to the path of a Chromium, Chrome or Edge"
    )
}

fn find() -> Option<PathBuf> {
    tools::find(&NAMES).or_else(|| ELSEWHERE.iter().map(PathBuf::from).find(|path| path.is_file()))
}

fn may_install() -> bool {
    let root = tools::read(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    root && tools::find(&["apt-get"]).is_some()
}

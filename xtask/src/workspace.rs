//! Paths in the checkout.

use std::env;
use std::path::PathBuf;

/// The top folder of the checkout.
pub fn root() -> PathBuf {
    // Cargo sets the variable for whatever it runs; the value compiled in serves a binary started by hand.
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().expect("xtask is a folder of the checkout").to_path_buf()
}

/// Cargo's target folder; everything that a build makes, other than the page itself, goes there.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |path| root().join(path))
}

/// The finished page.
pub fn dist() -> PathBuf {
    root().join("dist")
}

/// The folder of what is served and of its npm packages.
pub fn www() -> PathBuf {
    root().join("www")
}

//! `cargo xtask`: sets up, builds, serves, tests, measures and packs the laboratory.
fn main() {}

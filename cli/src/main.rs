//! `warpscope`: the laboratory for shells and continuous integration.
fn main() {}

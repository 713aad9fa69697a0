//! The engine of this machine, for tests that compare it with the one in WebAssembly: reads lines of
//! `[source, options]` from standard input and prints what [`warpscope_engine::api::simulate`] answers, a line each.

use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let (source, options): (String, serde_json::Value) = serde_json::from_str(&line?)?;
        writeln!(out, "{}", warpscope_engine::api::simulate(&source, &options.to_string()))?;
    }
    Ok(())
}

//! The engine of this machine, for tests that compare it with the one in WebAssembly: reads lines of
//! `[function, source, options]` from standard input and prints what that function of the package answers, a line each.

use std::io::{self, BufRead, Write};

use warpscope_engine::{analyses, api};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let (function, source, options): (String, String, serde_json::Value) = serde_json::from_str(&line?)?;
        let function = match function.as_str() {
            "simulate" => api::simulate,
            "vng" => analyses::vng,
            "estimate" => analyses::estimate,
            other => return Err(io::Error::other(format!("no function {other}"))),
        };
        writeln!(out, "{}", function(&source, &options.to_string()))?;
    }
    Ok(())
}

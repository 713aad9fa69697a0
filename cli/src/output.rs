//! Standard output. A reader that goes away (`warpscope … | head`) ends the command quietly.

use std::io::{self, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Writes a text as it is.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes a value as one JSON document.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value).map_err(|error| Failure::Program(format!("error: {error}\n")))?;
    text(&(line + "\n"))
}

/// Writes to standard error. That nobody reads it is no failure.
pub fn notice(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::NobodyListens,
        _ => Failure::Program(format!("error: standard output: {error}\n")),
    })
}

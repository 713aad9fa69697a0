//! `warpscope fmt`: the canonical text.

use warpscope_core::text;

use crate::failure::Failure;
use crate::output;
use crate::source::{Dialect, Input};

pub fn run(input: &Input) -> Result<(), Failure> {
    let source = input.read()?;
    match source.dialect {
        // Formatting needs a text that can be read, not a program that is right.
        Dialect::Wir => {
            let parsed = text::parse(&source.text);
            let report = source.render(&parsed.diagnostics);
            if parsed.has_errors() {
                return Err(Failure::Program(report));
            }
            output::notice(&report);
            output::text(&text::print(&parsed.module))
        }
        Dialect::Ptx => {
            let program = source.load()?;
            output::text(&text::print(&program.module))?;
            program.worked_on_all()
        }
    }
}

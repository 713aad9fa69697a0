//! `warpscope fmt`: the canonical text.

use warpscope_core::text;

use crate::failure::Failure;
use crate::output;
use crate::source::{Dialect, Input};

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    input: Input,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let source = options.input.read()?;
    // Formatting needs a text that can be read, not a program that is right.
    let module = match source.dialect {
        Dialect::Wir => {
            let parsed = text::parse(&source.text);
            let report = source.render(&parsed.diagnostics);
            if parsed.has_errors() {
                return Err(Failure::Program(report));
            }
            output::notice(&report);
            parsed.module
        }
        Dialect::Ptx => source.load()?,
    };
    output::text(&text::print(&module))
}

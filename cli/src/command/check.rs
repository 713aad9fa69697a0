//! `warpscope check`: what is wrong with a program.

use crate::failure::Failure;
use crate::output;
use crate::source::Input;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    input: Input,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let source = options.input.read()?;
    let program = source.program();
    let report = source.render(&program.diagnostics);
    if program.has_errors() {
        return Err(Failure::Program(report));
    }
    output::notice(&report);
    Ok(())
}

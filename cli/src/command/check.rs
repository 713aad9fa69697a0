//! `warpscope check`: what is wrong with a program.

use crate::failure::Failure;
use crate::output;
use crate::source::Input;

pub fn run(input: &Input) -> Result<(), Failure> {
    let source = input.read()?;
    let program = source.program();
    let report = source.render(&program.diagnostics);
    if program.has_errors() {
        return Err(Failure::Program(report));
    }
    output::notice(&report);
    Ok(())
}

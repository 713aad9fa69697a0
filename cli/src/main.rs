//! `warpscope`: the laboratory for shells and continuous integration.
//!
//! Each command is a file under `command/`; it gets its arguments and gives a [`failure::Failure`]
//! or nothing. Exit status 0 is good, warnings included, 1 is a program with errors or a run that
//! failed, 2 is a wrong command line.

mod command;
mod failure;
mod output;
mod source;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = command::Arguments::parse();
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

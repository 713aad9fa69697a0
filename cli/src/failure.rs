//! How a command ends badly.

use std::fmt;
use std::process::ExitCode;

use crate::output;

/// Reason why a command fails. All messages go to standard error.
#[derive(Debug)]
pub enum Failure {
    /// The program has errors or its run failed; the text has been written for people already.
    Program(String),
    /// The command line asks for something that does not exist or cannot be read.
    Usage(String),
    /// A command's answer is no, and it has been given on standard output.
    Negative,
    /// Whoever read our output has gone: nobody is left to tell.
    NobodyListens,
}

impl Failure {
    /// A wrong command line.
    pub fn usage(why: impl fmt::Display) -> Failure {
        Failure::Usage(why.to_string())
    }

    /// Tells what went wrong and gives the exit status.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Program(text) => {
                output::notice(&text);
                ExitCode::from(1)
            }
            Failure::Usage(why) => {
                output::notice(&format!("error: {why}\n"));
                ExitCode::from(2)
            }
            Failure::Negative => ExitCode::from(1),
            Failure::NobodyListens => ExitCode::SUCCESS,
        }
    }
}

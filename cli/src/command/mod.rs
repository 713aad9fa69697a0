//! The commands, and the arguments that several of them share.

mod check;
mod fmt;
mod launch;
mod link;
mod opt;
mod passes;
mod trace;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// A laboratory for path-sensitive value-flow optimisation of GPU programs.
#[derive(Parser)]
#[command(name = "warpscope", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reports what is wrong with a program.
    Check(check::Options),
    /// Prints a program in its canonical form.
    Fmt(fmt::Options),
    /// Lists the passes, their papers and their knobs.
    Passes(passes::Options),
    /// Optimises a program and prints it.
    Opt(opt::Options),
    /// Prints what passes do, event by event, as JSON lines.
    Trace(trace::Options),
    /// Writes and reads permalinks.
    #[command(subcommand)]
    Link(link::Command),
}

impl Arguments {
    /// Does what the command line asks for.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Check(options) => check::run(&options),
            Command::Fmt(options) => fmt::run(&options),
            Command::Passes(options) => passes::run(&options),
            Command::Opt(options) => opt::run(&options),
            Command::Trace(options) => trace::run(&options),
            Command::Link(command) => link::run(&command),
        }
    }
}

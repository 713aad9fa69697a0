//! The commands, and the arguments that several of them share.

mod analysis;
mod check;
mod equiv;
mod estimate;
mod fmt;
mod inspect;
mod link;
mod machines;
mod opt;
mod passes;
mod run;
mod sim;
mod trace;
mod vng;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::source::Input;

/// A laboratory for path-sensitive value-flow optimisation of GPU programs.
#[derive(Parser)]
#[command(name = "warpscope", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reports the errors and warnings of a program.
    Check(Input),
    /// Prints a program in its canonical form.
    Fmt(Input),
    /// Lists the passes, their papers and their knobs.
    Passes(passes::Options),
    /// Lists the machine models, their figures and the source of each.
    Machines(machines::Options),
    /// Optimises a program and prints it.
    Opt(Box<opt::Options>),
    /// Runs a kernel on a simulated multiprocessor.
    Sim(Box<sim::Options>),
    /// Runs two programs on many generated launches and compares what they leave in memory.
    Equiv(equiv::Options),
    /// Prints the events of passes as JSON lines.
    Trace(Box<trace::Options>),
    /// Prints the inspections of passes: tables with figures and verdicts, and timelines.
    Inspect(Box<inspect::Options>),
    /// Prints the names under which values flow, and where they are computed again.
    Vng(vng::Options),
    /// Bounds how often values are computed again, from counts of edges.
    Estimate(Box<estimate::Options>),
    /// Writes and reads permalinks.
    #[command(subcommand)]
    Link(link::Command),
}

impl Arguments {
    /// Does what the command line asks for.
    pub fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Check(input) => check::run(&input),
            Command::Fmt(input) => fmt::run(&input),
            Command::Passes(options) => passes::run(&options),
            Command::Machines(options) => machines::run(&options),
            Command::Opt(options) => opt::run(&options),
            Command::Sim(options) => sim::run(&options),
            Command::Equiv(options) => equiv::run(&options),
            Command::Trace(options) => trace::run(&options),
            Command::Inspect(options) => inspect::run(&options),
            Command::Vng(options) => vng::run(&options),
            Command::Estimate(options) => estimate::run(&options),
            Command::Link(command) => link::run(&command),
        }
    }
}

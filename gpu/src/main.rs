//! The simulator and its machine model beside a real GPU.
//!
//! ```text
//! warpscope-gpu agree     programs and forms of operations: the same memory?
//! warpscope-gpu times     what passes save, measured and simulated
//! warpscope-gpu costs     latency and issue cost of each opcode class, in cycles
//! ```
//!
//! It needs NVIDIA's driver and nothing else, so that one file can be copied to where a GPU is.

mod agreement;
mod comparison;
mod costs;
mod driver;
mod programs;
mod times;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "warpscope-gpu", about = "The simulator and its machine model beside a real GPU")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run programs on the simulator and on the GPU and compare what they leave in memory.
    Agree(agreement::Options),
    /// Time what passes save, beside the simulator.
    Times(times::Options),
    /// Measure what each opcode class costs, beside the machine model.
    Costs(costs::Options),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Agree(options) => agreement::compare(&options),
        Command::Times(options) => times::times(&options),
        Command::Costs(options) => costs::costs(&options),
    }
}

//! `cargo xtask`: sets up, builds, serves, tests, measures and packs the laboratory.
//!
//! Everything it needs beyond rustup and Node 20.10 it fetches itself, into the checkout: nothing is installed globally
//! except, where they are missing, rustup's compilation targets (and, as root, the browser that the tests drive).

mod bench;
mod budget;
mod chromium;
mod cuda;
mod gpu;
mod pack;
mod progress;
mod serve;
mod setup;
mod site;
mod table;
mod test;
mod tools;
mod workspace;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Sets up, builds, serves, tests, measures and packs the laboratory")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fetch what the other commands use: compilation target, npm packages, bundled editor.
    Setup,
    /// Build the page into `dist/` and print the size of what it loads.
    Build(site::Options),
    /// Build the page and serve it on this machine.
    Serve(serve::Options),
    /// Run everything that proves the laboratory works.
    Test(test::Options),
    /// Measure speed, natively and as WebAssembly, side by side.
    Bench(bench::Options),
    /// Print what passes achieve on kernels written for that.
    Table(table::Options),
    /// Compare the simulator and its machine model with the GPU of this machine.
    Gpu(gpu::Options),
    /// Make the npm package's tarball.
    Pack,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Setup => setup::setup(),
        Command::Build(options) => site::build(&options),
        Command::Serve(options) => serve::serve(&options),
        Command::Test(options) => test::test(&options),
        Command::Bench(options) => bench::bench(&options),
        Command::Table(options) => table::table(&options),
        Command::Gpu(options) => gpu::gpu(&options),
        Command::Pack => pack::pack().map(|tarball| println!("{}", tarball.display())),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// Clap looks at a command's definition only when that command is used, so that a mistake in
    /// one shows nowhere else.
    #[test]
    fn every_command_is_well_defined() {
        super::Arguments::command().debug_assert();
    }
}

//! How a kernel is run: the options that say it over what the program's launch says.

use warpscope_core::derive;
use warpscope_core::ir::{Func, Launch, Module};
use warpscope_core::machine::Machine;
use warpscope_core::sim::{self, Settings, SimError, parse_dim, parse_warp};
use warpscope_core::text::{self, Diagnostic};
use warpscope_core::verify;

use crate::failure::Failure;
use crate::output;
use crate::source::{Dialect, Source};

/// The heading of the options of a run.
const RUN: &str = "Run";

/// On what a kernel is run, with what. Each option stands under a heading of its own in the help.
#[derive(clap::Args)]
pub struct RunOptions {
    /// File with the launches, as for a PTX file; those of the program are ignored.
    #[arg(long, help_heading = RUN, value_name = "FILE.wir")]
    pub launch: Option<String>,
    /// The machine model; `warpscope machines` lists them.
    #[arg(long, help_heading = RUN, value_name = "NAME")]
    pub machine: Option<String>,
    /// Seed of everything random.
    #[arg(long, help_heading = RUN, value_name = "N")]
    pub seed: Option<u64>,
    /// Set a knob of the launch: `input.true=0.3`, `x.zero=0.5`, `x.coherence=1`, `n=250`,
    /// `l1=off`; `resize=off` keeps the buffers and numbers of a derived launch at other sizes.
    #[arg(long, help_heading = RUN, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Blocks along x, y and z.
    #[arg(long, help_heading = RUN, value_name = "X[,Y[,Z]]", value_parser = size)]
    pub grid: Option<[u32; 3]>,
    /// Threads per block along x, y and z.
    #[arg(long, help_heading = RUN, value_name = "X[,Y[,Z]]", value_parser = size)]
    pub block: Option<[u32; 3]>,
    /// Lanes per warp: 8, 16 or 32.
    #[arg(long, help_heading = RUN, value_name = "LANES", value_parser = lanes)]
    pub warp: Option<u32>,
    /// Warp instructions after which the run is stopped.
    #[arg(long, help_heading = RUN, value_name = "N")]
    pub fuel: Option<u64>,
}

/// `name=value`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_string(), value.trim().to_string())),
        _ => Err("expected `name=value`".to_string()),
    }
}

fn size(text: &str) -> Result<[u32; 3], String> {
    parse_dim(text).ok_or_else(|| "expected one to three sizes from 1, as in `4,2`".to_string())
}

fn lanes(text: &str) -> Result<u32, String> {
    parse_warp(text).ok_or_else(|| "expected 8, 16 or 32".to_string())
}

impl RunOptions {
    /// An option that was given and says nothing of a launch, as it is written.
    pub fn given_for_runs_only(&self) -> Option<&'static str> {
        let given = [("--machine", self.machine.is_some()), ("--fuel", self.fuel.is_some())];
        given.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// The machine model.
    pub fn machine(&self) -> Result<Machine, Failure> {
        let Some(name) = &self.machine else { return Ok(Machine::default()) };
        Machine::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Machine::ALL.iter().map(|machine| machine.name()).collect();
            Failure::usage(format!("unknown machine `{name}`: there is {}", names.join(", ")))
        })
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        for (name, value) in &self.set {
            settings.set(&format!("{name}={value}")).map_err(Failure::usage)?;
        }
        settings.seed = self.seed.or(settings.seed);
        settings.grid = self.grid.or(settings.grid);
        settings.block = self.block.or(settings.block);
        settings.warp = self.warp.or(settings.warp);
        settings.fuel = self.fuel.unwrap_or(settings.fuel);
        Ok(settings)
    }

    /// Gives each of some kernels a complete launch, whose derived parts follow the sizes that the
    /// options ask for. Returns what the options say over each launch: settings of parameters that
    /// others have are left out. That a launch cannot be so is a mistake of the command line.
    pub fn complete_launches(&self, module: &mut Module, kernels: &[Func]) -> Result<Vec<Settings>, Failure> {
        let settings = sim::settings_of(&self.settings()?, module, kernels).map_err(Failure::usage)?;
        derive::resize_launches(module, kernels, &settings);
        for (&kernel, settings) in kernels.iter().zip(&settings) {
            let func = &module.funcs[kernel];
            let launch = derive::launch_under(module, func, settings);
            sim::settled(module, func, &launch, settings).map_err(|error| Failure::usage(error.to_string()))?;
        }
        Ok(settings)
    }

    /// Lets the program have the launches that stand beside it, in place of its own.
    pub fn replace_launches(&self, module: &mut Module) -> Result<(), Failure> {
        let Some(file) = &self.launch else { return Ok(()) };
        let source = Source::read(file, Some(Dialect::Wir))?;
        let parsed = text::parse(&source.text);
        if parsed.has_errors() {
            return Err(Failure::Program(source.render(&parsed.diagnostics)));
        }
        let is_here = |launch: &Launch| module.func_by_name(&launch.kernel).is_some();
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            sim::launches_for(module, &parsed.module).into_iter().partition(is_here);
        // One file may serve several programs, but a slip in the only name must not go unnoticed.
        module.launches = if here.is_empty() { elsewhere } else { here };
        let mistakes = verify::verify_launches(module);
        if mistakes.iter().any(Diagnostic::is_error) {
            return Err(Failure::Program(source.render(&mistakes)));
        }
        output::notice(&source.render(&mistakes));
        Ok(())
    }
}

/// The report of a run, or the failure at its place in the text.
pub fn reported<T>(source: &Source, found: Result<T, SimError>) -> Result<T, Failure> {
    found.map_err(|error| Failure::Program(source.render(&[error.diagnostic()])))
}

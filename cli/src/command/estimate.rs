//! `warpscope estimate`: how often each function recomputes values.

use warpscope_core::derive;
use warpscope_core::ir::Func;
use warpscope_core::profile::{self, Profile};
use warpscope_core::report::{self, EstimateReport};

use super::analysis::{Analysed, AnalysisOptions};
use super::opt::ProfileSource;
use super::run::{RunOptions, reported};
use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    analysis: AnalysisOptions,
    /// Source of the counts.
    #[arg(long, value_enum, default_value_t = ProfileSource::Declared)]
    profile: ProfileSource,
    #[command(flatten)]
    run: RunOptions,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let mut analysed = options.analysis.open(&["vng", "estimate"])?;
    let profile = match options.profile {
        ProfileSource::Declared => "declared",
        ProfileSource::Simulate => {
            options.measure(&mut analysed)?;
            "simulated"
        }
    };
    let mut reports = Vec::new();
    let mut refusals = String::new();
    for &func in &analysed.funcs {
        match EstimateReport::new(&analysed.module, func, &analysed.settings, profile) {
            Ok(report) => reports.push(report),
            Err(message) => refusals.push_str(&format!("{}: error: {message}\n", analysed.source.name)),
        }
    }
    if reports.is_empty() && !refusals.is_empty() {
        return Err(Failure::Program(refusals));
    }
    output::notice(&refusals);
    options.analysis.print(&reports, EstimateReport::to_string)?;
    analysed.complete
}

impl Options {
    /// Runs the kernels and lets the program declare what was counted.
    fn measure(&self, analysed: &mut Analysed) -> Result<(), Failure> {
        let machine = self.run.machine()?;
        let mut launched = analysed.module.clone();
        self.run.replace_launches(&mut launched)?;
        let kernels: Vec<Func> = launched.kernels().collect();
        derive::derive_launches(&mut launched, &kernels);
        let settings = self.run.complete_launches(&mut launched, &kernels)?;
        let mut measured = Profile::new();
        for (&kernel, settings) in kernels.iter().zip(&settings) {
            let counts = reported(&analysed.source, report::measure(&launched, kernel, settings, machine))?;
            profile::add(&mut measured, &counts);
        }
        profile::declare(&mut analysed.module, &measured);
        Ok(())
    }
}

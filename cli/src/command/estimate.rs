//! `warpscope estimate`: how often each function recomputes values.

use warpscope_core::derive;
use warpscope_core::ir::{Func, Module};
use warpscope_core::machine::Machine;
use warpscope_core::profile::Profile;
use warpscope_core::report::{EstimateError, EstimateReport, EstimateRequest, ExactRuns};
use warpscope_core::sim::Settings;

use super::analysis::{Analysed, AnalysisOptions, print_events};
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
    /// Count reuse exactly in runs of the kernels. Implies `--profile simulate`.
    #[arg(long)]
    exact: bool,
    /// Add the flow networks of cmp4 to the JSON.
    #[arg(long)]
    network: bool,
    /// Print each step, a line of JSON each.
    #[arg(long, conflicts_with = "json")]
    events: bool,
    #[command(flatten)]
    run: RunOptions,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let mut analysed = options.analysis.open(&["vng", "estimate"])?;
    let is_simulated = options.exact || options.profile == ProfileSource::Simulate;
    let runs = if is_simulated { Some(options.measure(&mut analysed)?) } else { None };
    let measured = runs.as_ref().map(|(_, measured)| measured);
    let profile = if is_simulated { "simulated" } else { "declared" };
    let exact = runs.as_ref().filter(|_| options.exact).map(|(runs, _)| runs.exact());
    let request = EstimateRequest {
        settings: &analysed.settings,
        profile,
        measured,
        runs: exact.as_ref(),
        has_networks: options.network,
        has_events: options.events,
    };
    let mut reports = Vec::new();
    let (mut refusals, mut is_wrong) = (String::new(), false);
    for &func in &analysed.funcs {
        match EstimateReport::new(&analysed.module, func, &request) {
            Ok(report) => reports.push(report),
            Err(EstimateError::Run(error)) => return reported(&analysed.source, Err(error)),
            Err(EstimateError::NoProfile(message)) => {
                refusals.push_str(&format!("{}: error: {message}\n", analysed.source.name));
            }
            Err(EstimateError::Profile(message)) => {
                is_wrong = true;
                refusals.push_str(&format!("{}: error: {message}\n", analysed.source.name));
            }
        }
    }
    if reports.is_empty() && !refusals.is_empty() {
        return Err(Failure::Program(refusals));
    }
    if options.events {
        print_events(reports.into_iter().filter_map(|report| report.events))?;
    } else {
        options.analysis.print(&reports, EstimateReport::to_string)?;
    }
    // Functions without a profile, among others that have one, are no mistake.
    if is_wrong {
        return Err(Failure::Program(refusals));
    }
    output::notice(&refusals);
    analysed.complete
}

/// How the kernels have been run.
struct Runs {
    module: Module,
    kernels: Vec<(Func, Settings)>,
    machine: Machine,
}

impl Runs {
    fn exact(&self) -> ExactRuns<'_> {
        ExactRuns { module: &self.module, kernels: &self.kernels, machine: self.machine }
    }
}

impl Options {
    /// Runs the kernels, lets the program declare what was counted, and returns that.
    fn measure(&self, analysed: &mut Analysed) -> Result<(Runs, Profile), Failure> {
        let machine = self.run.machine()?;
        let mut module = analysed.module.clone();
        self.run.replace_launches(&mut module)?;
        let kernels: Vec<Func> = module.kernels().collect();
        derive::derive_launches(&mut module, &kernels);
        let settings = self.run.complete_launches(&mut module, &kernels)?;
        let kernels: Vec<(Func, Settings)> = kernels.into_iter().zip(settings).collect();
        let runs = Runs { module, kernels, machine };
        let measured = reported(&analysed.source, runs.exact().declare_profile(&mut analysed.module))?;
        Ok((runs, measured))
    }
}

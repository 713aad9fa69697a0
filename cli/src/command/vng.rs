//! `warpscope vng`: the value name graph of each function.

use warpscope_core::report::{ValueEvents, VngReport};

use super::analysis::{AnalysisOptions, print_events};
use crate::failure::Failure;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    analysis: AnalysisOptions,
    /// Print each step of the analysis, a line of JSON each.
    #[arg(long, conflicts_with = "json")]
    events: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let analysed = options.analysis.open(&["vng"])?;
    if options.events {
        let events = |&func| ValueEvents::of_graph(&analysed.module, func, &analysed.settings);
        print_events(analysed.funcs.iter().map(events))?;
        return analysed.complete;
    }
    let report = |&func| VngReport::new(&analysed.module, func, &analysed.settings);
    let reports: Vec<VngReport> = analysed.funcs.iter().map(report).collect();
    options.analysis.print(&reports, VngReport::to_string)?;
    analysed.complete
}

//! `warpscope vng`: the value name graph of each function, or the availability of one instruction's value.

use warpscope_core::report::{DemandReport, ValueEvents, VngReport};

use super::analysis::{Analysed, AnalysisOptions, print_events};
use crate::failure::Failure;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    analysis: AnalysisOptions,
    /// Print each step of the analysis, a line of JSON each.
    #[arg(long, conflicts_with = "json")]
    events: bool,
    /// Analyse on demand only the instruction at this index, counted from 0, of this block.
    #[arg(long, value_name = "LABEL.INDEX")]
    at: Option<String>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let analysed = options.analysis.open(&["vng"])?;
    if options.events {
        let events = |&func| ValueEvents::of_graph(&analysed.module, func, &analysed.settings);
        print_events(analysed.funcs.iter().map(events))?;
        return analysed.complete;
    }
    if let Some(at) = &options.at {
        options.analysis.print(&demands(&analysed, at)?, DemandReport::to_string)?;
        return analysed.complete;
    }
    let report = |&func| VngReport::new(&analysed.module, func, &analysed.settings);
    let reports: Vec<VngReport> = analysed.funcs.iter().map(report).collect();
    options.analysis.print(&reports, VngReport::to_string)?;
    analysed.complete
}

/// The reports of the functions that have such an instruction; an error if none has.
fn demands(analysed: &Analysed, at: &str) -> Result<Vec<DemandReport>, Failure> {
    let Analysed { module, settings, .. } = analysed;
    let results = analysed.funcs.iter().map(|&func| DemandReport::new(module, func, settings, at));
    let (mut reports, mut messages) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(report) => reports.push(report),
            Err(message) => messages.push(message),
        }
    }
    messages.dedup();
    if reports.is_empty() { Err(Failure::usage(messages.join("\n       "))) } else { Ok(reports) }
}

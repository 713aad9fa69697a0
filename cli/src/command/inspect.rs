//! `warpscope inspect`: inspections of passes and analyses, as text or as JSON.

use std::collections::BTreeMap;

use warpscope_core::pass::ANALYSES;
use warpscope_core::report::{InspectReport, InspectRequest};

use super::opt::{Emit, Work};
use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    work: Work,
    /// Inspect after so many rewrites. Default: at each pass's start, or its end if it shows past events.
    #[arg(long, value_name = "N")]
    stop: Option<usize>,
    /// Inspect by this analysis in place of the passes, at the stop or at the end: vng or estimate.
    #[arg(long, value_name = "NAME")]
    analysis: Option<String>,
    /// Set a choice of an inspection, by its key in the JSON; a knob of an analysis as ANALYSIS.KNOB=VALUE.
    #[arg(long, value_name = "KEY=VALUE")]
    choose: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let choices = options.choose.iter().map(|choice| match choice.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(Failure::usage(format!("invalid choice `{choice}`: expected KEY=VALUE"))),
    });
    let choices = choices.collect::<Result<BTreeMap<_, _>, _>>()?;
    if let Some(name) =
        options.analysis.as_ref().filter(|name| !ANALYSES.iter().any(|analysis| analysis.name == **name))
    {
        let names = ANALYSES.map(|analysis| analysis.name).join(", ");
        return Err(Failure::usage(format!("no analysis `{name}`; there is {names}")));
    }
    let mut bench = options.work.open(Emit::Wir)?;
    let request = InspectRequest {
        kernel: options.work.kernel(),
        stop: options.stop,
        analysis: options.analysis.as_deref(),
        choices,
        source: &bench.source.text,
        is_measured: options.work.is_measured(),
    };
    let report = InspectReport::new(&mut bench.session, request);
    if options.json {
        output::json(&report)?;
    } else {
        output::text(&report.to_string())?;
    }
    if report.is_empty() {
        output::notice("note: no pass of this pipeline has anything to show here\n");
    }
    bench.verdict()
}

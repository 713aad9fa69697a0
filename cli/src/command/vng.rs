//! `warpscope vng`: the value name graph of each function.

use warpscope_core::report::VngReport;

use super::analysis::AnalysisOptions;
use crate::failure::Failure;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    analysis: AnalysisOptions,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let analysed = options.analysis.open(&["vng"])?;
    let report = |&func| VngReport::new(&analysed.module, func, &analysed.settings);
    let reports: Vec<VngReport> = analysed.funcs.iter().map(report).collect();
    options.analysis.print(&reports, VngReport::to_string)?;
    analysed.complete
}

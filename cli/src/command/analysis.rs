//! Program, functions and knobs of the commands that run analyses.

use serde::Serialize;
use warpscope_core::ir::{Func, Module};
use warpscope_core::journal::MAX_DETAILS;
use warpscope_core::pass::AnalysisSettings;
use warpscope_core::report::ValueEvents;

use crate::failure::Failure;
use crate::output;
use crate::source::{Input, Source};

/// A program and an analysis's settings.
#[derive(clap::Args)]
pub struct AnalysisOptions {
    #[command(flatten)]
    input: Input,
    /// Analyse only this kernel or function. Default: all.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Instructions whose values are followed: loads, arithmetic, branches or all.
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Traversals across loop iterations that change a name, 1 to 8.
    #[arg(long, value_name = "N")]
    window: Option<String>,
    /// Set a knob; `warpscope passes` lists them.
    #[arg(long, value_name = "ANALYSIS.KNOB=VALUE")]
    knob: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// A program with the functions to analyse.
pub struct Analysed {
    /// The text.
    pub source: Source,
    /// The program.
    pub module: Module,
    /// The functions, in the order of the text.
    pub funcs: Vec<Func>,
    /// Whether the program could be read as a whole.
    pub complete: Result<(), Failure>,
    /// Knobs of all analyses.
    pub settings: AnalysisSettings,
}

impl AnalysisOptions {
    /// Reads the program and the knobs of these analyses.
    pub fn open(&self, analyses: &[&str]) -> Result<Analysed, Failure> {
        let mut settings = AnalysisSettings::default();
        let named = [("vng.seeds", &self.seeds), ("vng.window", &self.window)];
        let named = named.into_iter().filter_map(|(knob, value)| Some(format!("{knob}={}", value.as_ref()?)));
        for setting in named.chain(self.knob.iter().cloned()) {
            settings.set(analyses, &setting).map_err(Failure::usage)?;
        }
        let source = self.input.read()?;
        let program = source.load()?;
        let (funcs, complete) = match &self.kernel {
            Some(name) => (vec![program.function(name)?], Ok(())),
            None => (program.module.funcs.keys().collect(), program.worked_on_all()),
        };
        Ok(Analysed { source, module: program.module, funcs, complete, settings })
    }

    /// Prints reports: one document for a named function, otherwise a list of them.
    pub fn print<R: Serialize>(&self, reports: &[R], text: impl Fn(&R) -> String) -> Result<(), Failure> {
        match (self.json, &self.kernel, reports) {
            (true, Some(_), [report]) => output::json(report),
            (true, ..) => output::json(&reports),
            (false, ..) => output::text(&reports.iter().map(text).collect::<String>()),
        }
    }
}

/// Prints the events of functions as lines of JSON.
pub fn print_events(functions: impl Iterator<Item = ValueEvents>) -> Result<(), Failure> {
    for ValueEvents { events, is_cut } in functions {
        events.iter().try_for_each(output::json)?;
        if is_cut {
            output::notice(&format!("note: the first {MAX_DETAILS} steps are kept; later ones are left out\n"));
        }
    }
    Ok(())
}

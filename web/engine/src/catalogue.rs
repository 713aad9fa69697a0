//! What there is to choose from, as the core lists it.

use warpscope_core::pass::{Knob, KnobKind, PASSES};

use crate::message::{Catalogue, KnobInfo, PassInfo};

/// Passes and machines.
pub fn catalogue() -> Catalogue {
    let passes = PASSES.iter().map(|entry| PassInfo {
        name: entry.info.name.to_owned(),
        summary: entry.info.summary.to_owned(),
        paper: entry.info.paper.to_owned(),
        needs_fast_math: entry.info.needs_fast_math,
        knobs: entry.info.knobs.iter().map(knob).collect(),
    });
    Catalogue { passes: passes.collect(), machines: Vec::new() }
}

fn knob(knob: &Knob) -> KnobInfo {
    let (default, choices) = match knob.kind {
        KnobKind::Switch { default } => (default.to_string(), vec!["true".to_owned(), "false".to_owned()]),
        KnobKind::Integer { default, .. } => (default.to_string(), Vec::new()),
        KnobKind::Number { default, .. } => (default.to_string(), Vec::new()),
        KnobKind::Choice { default, words } => {
            (default.to_owned(), words.iter().map(|&word| word.to_owned()).collect())
        }
    };
    KnobInfo { name: knob.name.to_owned(), summary: format!("{} ({})", knob.help, knob.range()), default, choices }
}

//! What there is to choose from, as the core lists it.

use warpscope_core::machine::{Machine, Source};
use warpscope_core::pass::{Knob, KnobKind, PASSES};

use crate::message::{Catalogue, CostInfo, KnobInfo, MachineInfo, PassInfo};

/// Passes and machines.
pub fn catalogue() -> Catalogue {
    let passes = PASSES.iter().map(|entry| PassInfo {
        name: entry.info.name.to_owned(),
        summary: entry.info.summary.to_owned(),
        paper: entry.info.paper.to_owned(),
        needs_fast_math: entry.info.needs_fast_math,
        knobs: entry.info.knobs.iter().map(knob).collect(),
    });
    Catalogue { passes: passes.collect(), machines: Machine::ALL.map(machine).to_vec() }
}

fn machine(machine: Machine) -> MachineInfo {
    let costs = machine.table().map(|row| CostInfo {
        class: row.class.name().to_owned(),
        issue: row.issue.value,
        latency: row.latency.value,
        source: row.latency.source.text().to_owned(),
        estimated: !matches!(row.latency.source, Source::Published(_) | Source::Defined),
    });
    MachineInfo { name: machine.name().to_owned(), summary: machine.summary().to_owned(), costs: costs.collect() }
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

//! What there is to choose from, as the core lists it.

use warpscope_core::machine::{Figure as CoreFigure, Machine, Source};
use warpscope_core::pass::{Knob, KnobKind, PASSES, PIPELINES, parse_pipeline};

use crate::message::{Catalogue, CostInfo, Figure, KnobInfo, MachineInfo, PassInfo};

/// Passes and machines.
pub fn catalogue() -> Catalogue {
    let passes = PASSES.iter().map(|entry| PassInfo {
        name: entry.info.name.to_owned(),
        summary: entry.info.summary.to_owned(),
        paper: entry.info.paper.to_owned(),
        needs_fast_math: entry.info.needs_fast_math,
        knobs: entry.info.knobs.iter().map(knob).collect(),
        parts: Vec::new(),
    });
    let pipelines = PIPELINES.iter().map(|(name, passes)| {
        let parts = parse_pipeline(passes).unwrap_or_default().iter().map(|step| step.pass.to_owned()).collect();
        let summary = passes.replace(',', ", then ");
        PassInfo { name: format!("@{name}"), summary, parts, ..PassInfo::default() }
    });
    Catalogue { passes: passes.chain(pipelines).collect(), machines: Machine::ALL.map(machine).to_vec() }
}

fn machine(machine: Machine) -> MachineInfo {
    let costs = machine.table().map(|row| CostInfo {
        class: row.class.name().to_owned(),
        issue: figure(row.issue),
        latency: figure(row.latency),
    });
    let memory = machine.memory();
    let memory = [
        ("first-level cache, bytes", memory.l1_bytes),
        ("second-level cache, bytes", memory.l2_bytes),
        ("first-level hit, cycles", memory.l1_latency),
        ("second-level hit, cycles", memory.l2_latency),
        ("global memory, cycles", memory.global_latency),
        ("each further sector, cycles", memory.sector_cycles),
        ("each bank conflict, cycles", memory.bank_cycles),
    ];
    MachineInfo {
        name: machine.name().to_owned(),
        summary: machine.summary().to_owned(),
        costs: costs.collect(),
        memory: memory.into_iter().map(|(name, of)| (name.to_owned(), figure(of))).collect(),
    }
}

fn figure(figure: CoreFigure) -> Figure {
    Figure {
        value: figure.value,
        source: figure.source.text().to_owned(),
        is_filled: !matches!(figure.source, Source::Published(_) | Source::Defined),
    }
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

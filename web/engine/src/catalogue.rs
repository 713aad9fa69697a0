//! Choices that the page offers, as the core lists them.

use warpscope_core::machine::{Figure as CoreFigure, Machine, Source};
use warpscope_core::pass::{Knob, KnobKind, PASSES, PIPELINES, Phase};

use crate::message::{Catalogue, CostInfo, Figure, KnobInfo, MachineInfo, Part, PassInfo, Stage};

/// Passes and machines.
pub fn catalogue() -> Catalogue {
    let passes = PASSES.iter().map(|entry| PassInfo {
        name: entry.info.name.to_owned(),
        summary: entry.info.summary.to_owned(),
        paper: entry.info.paper.to_owned(),
        needs_fast_math: entry.info.needs_fast_math,
        shows: entry.inspector.map(|inspector| inspector.title.to_owned()),
        predicts: entry.predictor.is_some(),
        knobs: entry.info.knobs.iter().map(knob).collect(),
        parts: Vec::new(),
        off: PIPELINES.iter().flat_map(|pipeline| pipeline.phases).find_map(|phase| {
            let why = phase.off.filter(|_| phase.step().is_ok_and(|step| step.pass == entry.info.name));
            why.map(str::to_owned)
        }),
    });
    let pipelines = PIPELINES.iter().map(|pipeline| PassInfo {
        name: format!("@{}", pipeline.name),
        summary: format!("{} {}", pipeline.summary, pipeline.text().replace(',', ", then ")),
        parts: pipeline.phases.iter().filter_map(part).collect(),
        ..PassInfo::default()
    });
    Catalogue { passes: passes.chain(pipelines).collect(), machines: Machine::ALL.map(machine).to_vec() }
}

fn part(phase: &Phase) -> Option<Part> {
    let step = phase.step().ok()?;
    let stage = Stage {
        pass: step.pass.to_owned(),
        on: step.enabled,
        knobs: step.knobs.into_iter().collect(),
        phase: step.phase.unwrap_or_default().to_owned(),
    };
    Some(Part { stage, off: phase.off.map(str::to_owned) })
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
        is_filled: !matches!(figure.source, Source::Published(_) | Source::Measured(_) | Source::Defined),
    }
}

fn knob(knob: &Knob) -> KnobInfo {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let (default, choices, bounds) = match knob.kind {
        KnobKind::Switch { default } => (default.to_string(), words(&["true", "false"]), None),
        KnobKind::Integer { default, min, max } => (default.to_string(), Vec::new(), Some((min as f64, max as f64))),
        KnobKind::Number { default, min, max } => (default.to_string(), Vec::new(), Some((min, max))),
        KnobKind::Choice { default, words: all } => (default.to_owned(), words(all), None),
        KnobKind::List { default, .. } => (default.join(","), Vec::new(), None),
        KnobKind::Unavailable { .. } => Default::default(),
    };
    let unavailable = match knob.kind {
        KnobKind::Unavailable { why } => Some(why.to_owned()),
        _ => None,
    };
    KnobInfo {
        name: knob.name.to_owned(),
        label: knob.label.to_owned(),
        summary: sentence(knob.help),
        range: knob.range(),
        default,
        choices,
        bounds,
        is_whole: matches!(knob.kind, KnobKind::Integer { .. }),
        unavailable,
    }
}

/// A line of help as a sentence.
fn sentence(help: &str) -> String {
    let mut letters = help.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if help.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

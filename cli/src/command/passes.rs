//! `warpscope passes`: the one list of passes.

use std::fmt::Write;

use serde_json::{Value, json};
use warpscope_core::pass::{ANALYSES, AnalysisInfo, Knob, KnobKind, PASSES, PIPELINES, PassInfo, Phase, Pipeline};

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Options {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    if options.json {
        let passes: Vec<Value> = PASSES.iter().map(|pass| pass_json(&pass.info)).collect();
        let pipelines: Vec<Value> = PIPELINES.iter().map(pipeline_json).collect();
        let analyses: Vec<Value> = ANALYSES.iter().map(analysis_json).collect();
        return output::json(&json!({ "passes": passes, "pipelines": pipelines, "analyses": analyses }));
    }
    let mut text = String::new();
    for pass in PASSES {
        let info = &pass.info;
        let licence = if info.needs_fast_math { " (needs --fast-math)" } else { "" };
        let _ = writeln!(text, "{:<18} {}{licence}\n{:<18} {}", info.name, info.summary, "", info.paper);
        for knob in info.knobs {
            let default = default_text(knob).map(|default| format!(" = {default}")).unwrap_or_default();
            let _ = writeln!(text, "{:<20} {}{default}: {} ({})", "", knob.name, knob.help, knob.range());
        }
    }
    for info in ANALYSES {
        let _ = writeln!(text, "{:<18} {}\n{:<18} {}", info.name, info.summary, "", info.paper);
        for knob in info.knobs {
            let default = default_text(knob).map(|default| format!(" = {default}")).unwrap_or_default();
            let _ = writeln!(text, "{:<20} {}{default}: {} ({})", "", knob.name, knob.help, knob.range());
        }
    }
    for pipeline in PIPELINES {
        let _ = writeln!(text, "{:<18} {}", format!("@{}", pipeline.name), pipeline.summary);
        for phase in pipeline.phases {
            let off = phase.off.map_or(String::new(), |why| format!(" ({why})"));
            let _ = writeln!(text, "{:<20} {:>5} {}{off}", "", phase.number.unwrap_or(""), phase.entry);
        }
    }
    output::text(&text)
}

fn pass_json(info: &PassInfo) -> Value {
    let knobs: Vec<Value> = info.knobs.iter().map(knob_json).collect();
    json!({
        "name": info.name,
        "paper": info.paper,
        "summary": info.summary,
        "needs_fast_math": info.needs_fast_math,
        "knobs": knobs,
    })
}

fn analysis_json(info: &AnalysisInfo) -> Value {
    let knobs: Vec<Value> = info.knobs.iter().map(knob_json).collect();
    json!({ "name": info.name, "paper": info.paper, "summary": info.summary, "knobs": knobs })
}

fn pipeline_json(pipeline: &Pipeline) -> Value {
    let phase = |phase: &Phase| json!({ "number": phase.number, "entry": phase.entry, "off": phase.off });
    json!({
        "name": format!("@{}", pipeline.name),
        "summary": pipeline.summary,
        "passes": pipeline.text(),
        "phases": pipeline.phases.iter().map(phase).collect::<Vec<_>>(),
    })
}

fn knob_json(knob: &Knob) -> Value {
    let (kind, default) = match knob.kind {
        KnobKind::Switch { default } => ("switch", json!(default)),
        KnobKind::Integer { default, .. } => ("integer", json!(default)),
        KnobKind::Number { default, .. } => ("number", json!(default)),
        KnobKind::Choice { default, .. } => ("choice", json!(default)),
        KnobKind::List { default, .. } => ("list", json!(default)),
        KnobKind::Unavailable { .. } => ("unavailable", Value::Null),
    };
    let mut value =
        json!({ "name": knob.name, "label": knob.label, "kind": kind, "default": default, "help": knob.help });
    match knob.kind {
        KnobKind::Switch { .. } => {}
        KnobKind::Integer { min, max, .. } => (value["min"], value["max"]) = (json!(min), json!(max)),
        KnobKind::Number { min, max, .. } => (value["min"], value["max"]) = (json!(min), json!(max)),
        KnobKind::Choice { words, .. } | KnobKind::List { words, .. } => value["words"] = json!(words),
        KnobKind::Unavailable { why } => value["why"] = json!(why),
    }
    value
}

fn default_text(knob: &Knob) -> Option<String> {
    Some(match knob.kind {
        KnobKind::Switch { default } => default.to_string(),
        KnobKind::Integer { default, .. } => default.to_string(),
        KnobKind::Number { default, .. } => default.to_string(),
        KnobKind::Choice { default, .. } => default.to_string(),
        KnobKind::List { default, .. } => default.join(","),
        KnobKind::Unavailable { .. } => return None,
    })
}

//! Inspections of analyses, at any position, with their knobs as choices.
//!
//! ```text
//! request     { analysis: "estimate", vng.window: "2", value: "17" }
//! inspection  that of the analysis, with a choice of the analysis and one for each knob with few values
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::analyses::{ANALYSES, AnalysisInfo, AnalysisSettings};
use super::{Knob, KnobKind, KnobValue};
use crate::inspect::{Choice, ChoiceOption, Inspection, Look, Note, Request};
use crate::ir::{Func, Module, Profile};
use crate::profile::estimate::CountReuse;
use crate::vng::inspect::InspectedFunction;

/// The heading of these inspections.
pub const ANALYSES_TITLE: &str = "Value flow";

/// The key of the choice of an analysis.
pub const ANALYSIS: &str = "analysis";

/// Knobs with more values are set by hand.
const MOST_VALUES: i64 = 9;

/// The inspection of a function by the analysis that a request chooses; without a choice it is the last one that has
/// what it needs.
pub fn inspect_analysis(
    inspected: InspectedFunction<'_>,
    request: &Request,
    count_reuse: CountReuse<'_>,
) -> Inspection {
    let chosen = chosen(inspected.module, inspected.func, request);
    let mut settings = AnalysisSettings::default();
    let mut refused: Vec<Note> = Vec::new();
    for (key, value) in &request.choices {
        let is_knob = key.split_once('.').is_some_and(|(analysis, _)| chosen.settings.contains(&analysis));
        if let Some(Err(message)) = is_knob.then(|| settings.set(chosen.settings, &format!("{key}={value}"))) {
            let sentence = format!("{message}.");
            refused.push(Note { word: "knob".into(), look: Look::Bad, sentence, ..Note::default() });
        }
    }
    let mut inspection = (chosen.inspect)(inspected, &settings, request, count_reuse);
    inspection.title = ANALYSES_TITLE.into();
    inspection.notes.splice(0..0, refused);
    inspection.choices.extend(choices(chosen, &settings));
    inspection
}

fn chosen(module: &Module, func: Func, request: &Request) -> &'static AnalysisInfo {
    let named = request.choices.get(ANALYSIS);
    let named = named.and_then(|name| ANALYSES.iter().find(|analysis| analysis.name == name));
    let has_edges = module.funcs[func].profiles.iter().any(|profile| matches!(profile, Profile::Edge(_)));
    named
        .unwrap_or_else(|| ANALYSES.iter().rfind(|analysis| has_edges || !analysis.needs_edges).unwrap_or(&ANALYSES[0]))
}

/// The choice of an analysis, and one for each of its knobs with few values.
fn choices(chosen: &AnalysisInfo, settings: &AnalysisSettings) -> Vec<Choice> {
    let option =
        |value: &str, label: &str| ChoiceOption { value: value.into(), label: label.into(), ..ChoiceOption::default() };
    let analyses = Choice {
        key: ANALYSIS.into(),
        label: "Analysis".into(),
        options: ANALYSES.iter().map(|analysis| option(analysis.name, analysis.name)).collect(),
        value: chosen.name.into(),
        is_setting: true,
        ..Choice::default()
    };
    let knobs = chosen.settings.iter().flat_map(|&name| {
        let info = ANALYSES.iter().find(|analysis| analysis.name == name);
        let values: Vec<(&str, &KnobValue)> = settings.values(name).collect();
        info.into_iter().flat_map(|info| info.knobs).filter_map(move |knob| {
            let value = values.iter().find(|(name, _)| *name == knob.name).map(|(_, value)| word(value))?;
            Some(Choice {
                key: format!("{name}.{}", knob.name),
                label: knob.name.into(),
                options: options(knob)?.iter().map(|(value, label)| option(value, label)).collect(),
                value,
                is_setting: true,
                help: knob.help.into(),
                ..Choice::default()
            })
        })
    });
    core::iter::once(analyses).chain(knobs).collect()
}

/// The value of a knob as a choice has it.
fn word(value: &KnobValue) -> String {
    match value {
        KnobValue::Switch(value) => value.to_string(),
        KnobValue::Integer(value) => value.to_string(),
        KnobValue::Number(value) => value.to_string(),
        KnobValue::Choice(value) => value.clone(),
        KnobValue::List(values) => values.join(","),
    }
}

/// The values of a knob with their labels; None for one with many, or with a single one.
fn options(knob: &Knob) -> Option<Vec<(String, String)>> {
    let same = |value: String| (value.clone(), value);
    let options: Vec<(String, String)> = match &knob.kind {
        KnobKind::Choice { words, .. } => words.iter().map(|word| same((*word).to_string())).collect(),
        KnobKind::Switch { .. } => {
            [("true", "on"), ("false", "off")].map(|(value, label)| (value.into(), label.into())).into()
        }
        KnobKind::Integer { min, max, .. } if max - min < MOST_VALUES => {
            (*min..=*max).map(|value| same(value.to_string())).collect()
        }
        _ => return None,
    };
    (options.len() > 1).then_some(options)
}

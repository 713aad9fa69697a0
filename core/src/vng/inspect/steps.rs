//! Steps of an analysis as a timeline: names travel backward, facts spread, a region's border and flow appear.
//!
//! Limit: the first [`MOST_STEPS`] steps.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::{Above, Names, Narrated, Outcome, Vertex};
use super::{Chosen, ValueList};
use crate::inspect::{Anchor, Course, Look, Mark, Moment, Timeline, TokenKind, TokenStep};
use crate::journal::Journal;
use crate::names::Name;
use crate::trace::ValueEvent;

/// Further steps are left out.
const MOST_STEPS: usize = 1_000;

/// The kind of tokens that are names on their way.
const NAME: &str = "name";

/// The steps of a graph, or those of one value.
pub fn steps(list: &ValueList<'_, '_>, journal: &Journal, chosen: Option<Chosen>) -> Timeline {
    let of_value = chosen.map(|chosen| (chosen.value, names_of(list, chosen.value)));
    let is_wanted = |event: &&ValueEvent| of_value.as_ref().is_none_or(|value| concerns(list, event, value));
    let mut events = journal.value_events(0).filter(is_wanted);
    let told = events.by_ref().take(MOST_STEPS).enumerate();
    let moments: Vec<Moment> = told.map(|(number, event)| moment(&list.names, number, event)).collect();
    let is_cut = events.next().is_some() || !journal.has_room();
    Timeline {
        name: "Moments".into(),
        course: Course { last: moments.len(), ..Course::default() },
        at: 0,
        start: None,
        first: 0,
        cut_after: is_cut.then_some(moments.len()),
        moments,
        leads_to_change: false,
        kinds: Vec::from([TokenKind {
            key: NAME.into(),
            label: "a name carried backward".into(),
            sign: "●".into(),
            is_upward: true,
        }]),
        rules: Vec::new(),
    }
}

/// The names of a value's instructions, and all that they are above.
fn names_of(list: &ValueList<'_, '_>, value: usize) -> BTreeSet<Name> {
    let graph = list.names.graph;
    let mut found = BTreeSet::new();
    let mut work: Vec<Name> = list.seeds[value].iter().map(|&seed| graph.seeds[seed].name).collect();
    while let Some(name) = work.pop() {
        if !found.insert(name) {
            continue;
        }
        match graph.threads.of(name).map(|thread| &thread.above) {
            Some(Above::Join(_, along)) => work.extend(along.iter().filter_map(|above| above.ok())),
            Some(Above::Load(_, above) | Above::Store(_, above)) => work.push(*above),
            _ => {}
        }
    }
    found
}

/// Is an event about a value, of which these are the names?
fn concerns(list: &ValueList<'_, '_>, event: &ValueEvent, (value, names): &(usize, BTreeSet<Name>)) -> bool {
    match event {
        ValueEvent::Seed { name, .. } | ValueEvent::Name { name, .. } | ValueEvent::End { name, .. } => {
            names.contains(name)
        }
        ValueEvent::Apart { names: (first, second), .. } => names.contains(first) && names.contains(second),
        ValueEvent::Class { names: members } => members.iter().any(|name| names.contains(name)),
        ValueEvent::Fact { vertex, .. } => {
            let vertex = Vertex::from_u32(*vertex);
            let graph = &list.names.graph.graph;
            let below = || graph.vertices[vertex].outgoing.iter().map(|&edge| graph.edges[edge as usize].to);
            let values = core::iter::once(vertex).chain(below()).filter_map(|vertex| list.components.of[vertex]);
            values.into_iter().any(|of| of == *value)
        }
        ValueEvent::Entry { value: of, .. }
        | ValueEvent::Exit { value: of, .. }
        | ValueEvent::Flow { value: of, .. }
        | ValueEvent::Bound { value: of, .. } => of == value,
    }
}

/// A reason as a sentence: with a capital, and an end unless it is a question.
fn sentence(why: &str) -> String {
    let mut letters = why.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let end = if why.ends_with('?') { "" } else { "." };
    first.chain(letters).chain(end.chars()).collect()
}

fn moment(names: &Names<'_, '_>, number: usize, event: &ValueEvent) -> Moment {
    let narrated = names.narrate(event);
    let focus = anchor(&narrated);
    let place = narrated.at.map_or_else(String::new, |at| names.label(at));
    let mut moment = Moment {
        word: narrated.kind.into(),
        look: look(event),
        rule: if narrated.rule == narrated.kind { String::new() } else { narrated.rule.into() },
        sentence: sentence(&narrated.why),
        focus: focus.clone(),
        place,
        ..Moment::default()
    };
    match event {
        ValueEvent::Name { at, from, .. } => {
            moment.tokens.push(TokenStep::Clears);
            if let Outcome::Word(above) = &narrated.value {
                moment.tokens.push(TokenStep::Appears {
                    id: number as u32,
                    parent: None,
                    kind: NAME.into(),
                    text: above.clone(),
                    from: Some(at.as_u32()),
                    to: from.as_u32(),
                });
                moment.marks.extend(mark(focus, Look::New, above.clone()));
            }
        }
        ValueEvent::End { .. } => moment.marks.extend(mark(focus, Look::Closed, format!("✕ {}", narrated.rule))),
        ValueEvent::Fact { answer, .. } => {
            let sign = match *answer {
                "must" => "●",
                "may" => "◐",
                _ => "○",
            };
            moment.marks.extend(mark(focus, Look::New, format!("{sign} {}", narrated.name)));
            moment.tokens.push(TokenStep::Clears);
        }
        ValueEvent::Entry { count, is_available, .. } => {
            let sign = if *is_available { '+' } else { '−' };
            moment.marks.extend(mark(focus, Look::New, format!("En{sign} {count}")));
        }
        ValueEvent::Exit { count, is_needed, .. } => {
            let sign = if *is_needed { '+' } else { '−' };
            moment.marks.extend(mark(focus, Look::New, format!("Ex{sign} {count}")));
        }
        ValueEvent::Flow { flow, capacity, .. } => {
            moment.marks.extend(mark(focus, Look::New, format!("{flow} of {capacity}")));
        }
        ValueEvent::Seed { .. } | ValueEvent::Apart { .. } | ValueEvent::Class { .. } | ValueEvent::Bound { .. } => {}
    }
    moment
}

/// The place of an event: its instruction, its edge or its block.
fn anchor(narrated: &Narrated) -> Option<Anchor> {
    match (narrated.inst, narrated.at, narrated.from) {
        (Some(inst), ..) => Some(Anchor::Inst(inst.as_u32())),
        (None, Some(at), Some(from)) if at != from => Some(Anchor::Edge(from.as_u32(), at.as_u32())),
        (None, Some(at), _) => Some(Anchor::Start(at.as_u32())),
        (None, None, _) => None,
    }
}

fn look(event: &ValueEvent) -> Look {
    match event {
        ValueEvent::Fact { answer: "must", .. } => Look::Good,
        ValueEvent::Fact { answer: "may", .. } => Look::Partial,
        ValueEvent::Fact { .. } => Look::Faint,
        ValueEvent::End { .. } | ValueEvent::Apart { .. } => Look::Closed,
        ValueEvent::Entry { is_available, .. } => {
            if *is_available {
                Look::Good
            } else {
                Look::Bad
            }
        }
        ValueEvent::Exit { is_needed, .. } => {
            if *is_needed {
                Look::Good
            } else {
                Look::Faint
            }
        }
        ValueEvent::Class { .. } => Look::Good,
        _ => Look::New,
    }
}

fn mark(anchor: Option<Anchor>, look: Look, text: String) -> Option<Mark> {
    anchor.map(|anchor| Mark { anchor, look, text })
}

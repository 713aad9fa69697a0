//! Signs of what happens at places: the marks of each place together, as texts beside a line.

use std::collections::BTreeMap;

use warpscope_engine::message::inspect::{Anchor, Look, Mark};
use yew::{Html, html};

use super::super::shortened;
use super::strands::unit;

/// Width of a character of a label.
pub const CHARACTER: f64 = 7.3;
/// Height of a line of labels.
pub const LINE: f64 = 14.0;
/// Characters of a label beside a block.
const MOST_CHARACTERS: usize = 26;

/// Marks at a place.
#[derive(Default)]
pub struct Sign<'a> {
    /// Texts, and whether each says that something ends there.
    labels: Vec<(&'a str, bool)>,
    is_removed: bool,
    /// Predicates that become true or false there.
    causes: Vec<&'a str>,
    /// The moment of its last mark.
    at: usize,
    is_new: bool,
}

/// Signs by their places after a moment.
pub fn signs<'a>(marks: &[(usize, &'a Mark)], moment: usize) -> Vec<(&'a Anchor, Sign<'a>)> {
    let mut signs: Vec<(&Anchor, Sign<'_>)> = Vec::new();
    let mut places: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for (at, mark) in marks {
        if !matches!(mark.look, Look::New | Look::Closed | Look::Removed | Look::Cause) {
            continue;
        }
        let key = match mark.anchor {
            Anchor::Edge(from, to) => (from, to),
            Anchor::Before(inst) => (u32::MAX, inst),
            Anchor::Start(block) => (u32::MAX - 1, block),
            Anchor::End(block) => (u32::MAX - 2, block),
            _ => continue,
        };
        let place = *places.entry(key).or_insert(signs.len());
        if place == signs.len() {
            signs.push((&mark.anchor, Sign::default()));
        }
        let last = Some(signs[place].1.at).filter(|_| !signs[place].1.labels.is_empty());
        let label = (mark.text.as_str(), mark.look == Look::Closed);
        let sign = &mut signs[place].1;
        match mark.look {
            // Those of one moment are below each other.
            Look::New | Look::Closed if last == Some(*at) => sign.labels.push(label),
            Look::New | Look::Closed => sign.labels = vec![label],
            Look::Removed => sign.is_removed = true,
            _ => sign.causes.push(&mark.text),
        }
        (sign.at, sign.is_new) = (*at, *at == moment);
    }
    signs
}

impl Sign<'_> {
    /// Its texts, each with its class.
    pub fn texts(&self) -> Vec<(&'static str, String)> {
        let removed = if self.is_removed { " ×" } else { "" };
        let label = |&(label, is_end): &(&str, bool)| {
            (if is_end { "end" } else { "" }, shortened(label, MOST_CHARACTERS) + removed)
        };
        let causes = self.causes.iter().map(|text| ("sets", (*text).to_owned()));
        self.labels.iter().map(label).chain(causes).collect()
    }
}

/// A sign: its line from one end to the other at a height, and its texts on lines beside it.
pub fn drawn(
    anchor: &Anchor,
    sign: &Sign<'_>,
    texts: &[(&'static str, String)],
    ((left, right), y): ((f64, f64), f64),
    (x, lines, end): (f64, &[f64], &'static str),
) -> Html {
    let is_end = !texts.is_empty() && texts.iter().all(|(class, _)| *class == "end");
    let states = [("removed", sign.is_removed), ("ends", is_end), ("new", sign.is_new)];
    let states: String = states.iter().filter(|(_, is_so)| *is_so).map(|(state, _)| format!(" {state}")).collect();
    html! {
        <g class={format!("sign{states}")} key={format!("{anchor:?}")}>
            <line x1={unit(left)} x2={unit(right)} y1={unit(y)} y2={unit(y)} />
            { for texts.iter().zip(lines).map(|((class, text), y)| {
                let (width, top) = (width_of(text), unit(y - 11.0));
                let first = if end == "start" { x } else { x - width };
                html! {
                    <>
                        <rect class="paper" x={unit(first - 2.0)} y={top} width={unit(width + 4.0)} height={unit(LINE)} />
                        <text class={*class} x={unit(x)} y={unit(*y)} text-anchor={end}>{ text }</text>
                    </>
                }
            }) }
        </g>
    }
}

fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// Width and height of texts below each other.
pub fn size(texts: &[(&str, String)]) -> (f64, f64) {
    let characters = texts.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    (characters as f64 * CHARACTER + 4.0, LINE * texts.len() as f64 + 2.0)
}

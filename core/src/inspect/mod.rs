//! Inspections of a pass at a position of a session: plain data, without a type of its own for any pass.
//!
//! ```text
//! request     { choices: { "candidate": "3" } }
//! inspection  title "Candidates", a lead sentence
//!             tables: columns (name, unit, help), rows (cells, anchor, verdict)
//!             charts: points, lines, bars, with intervals
//!             flow networks: capacities, a flow, a cut
//!             marks on the program: a look and a text on a block, edge, instruction, range or path
//!             choices that a person may make, each answered by another inspection
//!             a trail: where a walk is, block inside block
//!             a timeline of moments: a sentence, the marks that it adds, tokens that travel
//! prediction  what the branches that a pass made are worth, for runs to confirm or refute
//! ```
//!
//! An inspection is computed when asked, from the program at the position; it is no part of the journal. The page, the
//! command line and the npm package draw it without knowing which pass it is from.
//!
//! Limits: a timeline holds a part of its moments and says which; rows that are left out of a table are counted in it.

mod bounds;
mod chart;
mod network;
mod overlay;
mod prediction;
mod print;
mod table;
mod timeline;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

pub use bounds::Bounds;
pub use chart::{Axis, AxisMark, Chart, Point, Series, SeriesKind, number_text};
pub use network::{Network, NetworkEdge, NetworkNode, NodeRole};
pub use overlay::{Anchor, Key, Look, Mark, Node, SmallGraph, Strand};
pub use prediction::Prediction;
pub use table::{Cell, Column, ColumnKind, Entry, Row, Table, Verdict};
pub use timeline::{Course, Moment, RuleText, Timeline, TokenKind, TokenStep};

/// A request for an inspection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Request {
    /// Values by the keys of what may be chosen, where a person has chosen.
    pub choices: BTreeMap<String, String>,
    /// The moment that the answer is about, or the usual one.
    pub moment: Option<usize>,
}

/// An inspection.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Inspection {
    /// A heading, one word if possible.
    pub title: String,
    /// The next step, in a sentence.
    pub lead: String,
    /// An explanation for those who see this for the first time; empty if none is needed.
    pub aside: String,
    /// Choices that a person may make.
    pub choices: Vec<Choice>,
    /// Sentences about the choice that was made.
    pub notes: Vec<Note>,
    /// Tables in the order in which they are shown.
    pub tables: Vec<Table>,
    /// Charts, shown after the tables.
    pub charts: Vec<Chart>,
    /// Flow networks, shown after the charts.
    pub networks: Vec<Network>,
    /// Looks of marks, with their meanings.
    pub legend: Vec<Key>,
    /// Marks on the program.
    pub marks: Vec<Mark>,
    /// Paths along the lines of the graph.
    pub strands: Vec<Strand>,
    /// Small graphs, drawn beside the blocks that their nodes are about.
    pub graphs: Vec<SmallGraph>,
    /// The places of the walk, outermost first; empty if nothing is open.
    pub trail: Vec<Node>,
    /// The moments, if something happens step by step.
    pub timeline: Option<Timeline>,
    /// Whether tables, trail and graphs are those of one moment, so that each moment is an inspection of its own.
    pub is_momentary: bool,
    /// Changes of the source that carry out what a person has entered.
    pub offers: Vec<Offer>,
}

impl Inspection {
    /// An empty inspection under a heading.
    pub fn new(title: &str) -> Inspection {
        Inspection { title: title.into(), ..Inspection::default() }
    }
}

/// A choice among a few options.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Choice {
    /// Its key in a [`Request`].
    pub key: String,
    /// The thing that is chosen, in a word or two.
    pub label: String,
    /// Whether the options are many, and belong into a list that opens.
    pub is_long: bool,
    /// The options.
    pub options: Vec<ChoiceOption>,
    /// The value in use; empty if none is.
    pub value: String,
    /// Options besides those.
    pub left_out: usize,
    /// The decision about the value.
    pub result: Option<Note>,
    /// Whether it is a setting: other choices stay when it changes.
    pub is_setting: bool,
    /// The meaning, in a sentence; empty if the label says it.
    pub help: String,
}

/// An option of a choice.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChoiceOption {
    /// Its value in a [`Request`].
    pub value: String,
    /// The text for people.
    pub label: String,
    /// A word beside it; empty if there is none.
    pub note: String,
    /// The part of the program that it is about: selecting that chooses this.
    pub anchor: Option<Anchor>,
}

/// A change of the source.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Offer {
    /// The change, as an imperative.
    pub label: String,
    /// The whole source after it.
    pub source: String,
}

/// A sentence.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Note {
    /// A word in front of it, such as the rule that decided; empty if there is none.
    pub word: String,
    /// Whether it is good news.
    pub look: Look,
    /// The sentence, with code between backticks.
    pub sentence: String,
    /// A remark beside it in small letters.
    pub aside: String,
    /// Terms of the sentence, each with its meaning.
    pub terms: Vec<Term>,
}

/// A term, with its meaning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Term {
    /// The term.
    pub name: String,
    /// Its meaning, without a capital.
    pub meaning: String,
}

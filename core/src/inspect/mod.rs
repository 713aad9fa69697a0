//! What a pass shows of itself at a position of a session: plain data, without a type of its own for any pass.
//!
//! ```text
//! request     { choices: { "candidate": "3" } }
//! inspection  title "Candidates", a lead sentence
//!             tables: columns (name, unit, help), rows (cells, anchor, verdict)
//!             marks on the program: a look and a text on a block, edge, instruction, range or path
//!             choices that a person may make, each answered by another inspection
//! ```
//!
//! An inspection is computed when asked, from the program at the position; it is no part of the journal. The page, the
//! command line and the npm package draw it without knowing which pass it is from.
//!
//! Limits: rows that are left out of a table are counted in it.

mod overlay;
mod print;
mod table;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

pub use overlay::{Anchor, Key, Look, Mark};
pub use table::{Cell, Column, Row, Table, Verdict};

/// A request for an inspection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Request {
    /// Values by the keys of what may be chosen, where a person has chosen.
    pub choices: BTreeMap<String, String>,
}

/// What a pass shows.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Inspection {
    /// A heading, one word if possible.
    pub title: String,
    /// What comes next, in a sentence.
    pub lead: String,
    /// What is said about the choice that was made.
    pub notes: Vec<Note>,
    /// Tables in the order in which they are shown.
    pub tables: Vec<Table>,
    /// Looks of marks, with their meanings.
    pub legend: Vec<Key>,
    /// Marks on the program.
    pub marks: Vec<Mark>,
}

impl Inspection {
    /// An empty inspection under a heading.
    pub fn new(title: &str) -> Inspection {
        Inspection { title: title.into(), ..Inspection::default() }
    }
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
    /// What is said beside it in small letters.
    pub aside: String,
}

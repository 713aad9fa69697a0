//! Moments of a pass that asks questions: every one at which a question was raised, travelled, or was answered.

use serde::{Deserialize, Serialize};

use super::{Bench, Course, Position};

/// Asks for [`Questions`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listen {
    /// The bench.
    pub bench: Bench,
    /// The position whose pass is meant.
    pub position: Position,
    /// A moment that has to be among those of the answer.
    pub moment: usize,
}

/// The questions of the pass at a position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Questions {
    /// All its moments.
    pub course: Course,
    /// How many moments come before the first one of `happened`. Of a pass that asks very many questions only those of some
    /// inquiries are sent.
    pub first: usize,
    /// Events in order: `happened[k]` is done at moment `first + k + 1`.
    pub happened: Vec<Event>,
    /// Number of kept moments of a pass that asks very many questions; none where all were kept.
    pub cut_after: Option<usize>,
}

/// Kind of the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Query {
    /// Has it been computed on every way that leads here?
    #[default]
    Availability,
    /// Will it be computed on every way that leads on?
    Anticipatability,
    /// Can it move up in front of a branch?
    Speculation,
}

/// Answer that came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No.
    #[default]
    False,
    /// Yes.
    True,
    /// Available, though no occurrence has been found: only the question itself, around a loop.
    Unreal,
    /// Available, from an occurrence.
    Real,
}

impl Verdict {
    /// Whether it is a yes.
    pub fn is_good(self) -> bool {
        self != Verdict::False
    }
}

/// Something that happened to a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Event itself.
    pub what: What,
    /// The identity of the block where.
    pub block: u32,
    /// That block's name.
    pub at: String,
    /// The number of the rule that fired, as the paper numbers it, or the rule of the pass; empty where none did.
    pub rule: String,
    /// A sentence, which leaves the rule's number to `rule`.
    pub sentence: String,
}

/// Kinds of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// An inquiry begins in a block.
    Began {
        /// Its number.
        id: u32,
        /// The question that needs to know; none for the first of an instruction.
        parent: Option<u32>,
        /// Kind of the question.
        query: Query,
        /// The question's text.
        text: String,
    },
    /// A question goes to a neighbouring block.
    Asked {
        /// Its number.
        id: u32,
        /// The question or inquiry that it came from.
        parent: u32,
        /// Its text.
        text: String,
        /// The identity of the block that it leaves.
        from: u32,
    },
    /// A question's text changes because an operand is converted.
    Converted {
        /// The question or inquiry.
        id: u32,
        /// The new text.
        text: String,
    },
    /// A question is answered.
    Answered {
        /// The question.
        id: u32,
        /// The answer.
        verdict: Verdict,
        /// The answer in words: `true, real`, `true, {n2}`.
        words: String,
        /// How the answers met that it is made of; empty if it was answered on the spot.
        meeting: String,
    },
    /// A block or edge is noted for an insertion.
    Noted {
        /// The question at whose block answers differ.
        id: u32,
        /// Expression that would be inserted.
        text: String,
        /// The identity of the block that the edge leads to, if it is one.
        onto: Option<u32>,
    },
    /// An inquiry ends.
    Ended {
        /// The inquiry.
        id: u32,
        /// Its answer.
        verdict: Verdict,
        /// These as in [`What::Answered`].
        words: String,
        /// How the answers met.
        meeting: String,
    },
    /// The program was changed.
    #[default]
    Changed,
    /// A change was considered and refused.
    Refused,
}

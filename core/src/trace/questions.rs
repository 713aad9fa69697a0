//! Events of questions: they are raised, travel, change their text and are answered.
//!
//! ```text
//! Began     1   is `A[i]` available at n8?
//! Asked     2   `A[i]?` goes from n8 to n7
//! Asked     3   `A[i]?` goes from n7 to n5, sent on by rule 7
//! Answered  3   (true, true) by rule 5
//! …
//! Ended     1   (true, true)
//! ```
//!
//! A question that travels is a token with a number of its own. Whoever raised it is its parent: another token, or the
//! inquiry with which everything began. So the events of one inquiry are a tree, in the order in which they happened.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, sections 4 and 5.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ir::{Block, Inst};

/// Kind of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Query {
    /// Has the expression been computed on every way that leads here?
    Availability,
    /// Will it be computed on every way that leads on?
    Anticipatability,
    /// Can it be moved up in front of a branch?
    Speculation,
}

impl Query {
    /// `avail`, `antic` or `spec`.
    pub const fn name(self) -> &'static str {
        match self {
            Query::Availability => "avail",
            Query::Anticipatability => "antic",
            Query::Speculation => "spec",
        }
    }
}

/// Answer of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// About availability.
    Available {
        /// Is it?
        is_available: bool,
        /// Does it come from an occurrence, not only from asking oneself?
        is_real: bool,
    },
    /// About anticipatability.
    Anticipated(bool),
    /// About speculation.
    Hoistable {
        /// Can it be moved up?
        can_hoist: bool,
        /// The ends of which blocks to.
        blocks: Vec<Block>,
    },
}

/// The number of a token or of an inquiry.
pub type QuestionId = u32;

/// One thing that happens to questions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionEvent {
    /// An inquiry begins.
    Began {
        /// Its number.
        id: QuestionId,
        /// Question that raised this one; none for the first of an instruction.
        parent: Option<QuestionId>,
        /// Kind of the question.
        query: Query,
        /// About what.
        expression: String,
        /// The block where the question begins.
        root: Block,
        /// The instruction for whose sake it is asked.
        inst: Option<Inst>,
    },
    /// A question goes to another block.
    Asked {
        /// Its number.
        id: QuestionId,
        /// Question that raised it.
        parent: QuestionId,
        /// Expression in question there.
        expression: String,
        /// The block that it comes from.
        from: Block,
        /// For a speculation question, the block from which the expression would move (the paper's m).
        mover: Option<Block>,
        /// The block that it comes to.
        at: Block,
        /// The rule by which it was sent on, none if it was just raised.
        rule: Option<&'static str>,
    },
    /// On its way through a block the question's text changes, because an operand is converted.
    Converted {
        /// The question, or the inquiry in its own block.
        id: QuestionId,
        /// The new text.
        expression: String,
        /// The definition that was substituted.
        inst: Inst,
    },
    /// A question is answered where it is.
    Answered {
        /// The question.
        id: QuestionId,
        /// The rule that gave the answer.
        rule: &'static str,
        /// The answer.
        answer: Answer,
        /// The instruction that decides it, where one does: an occurrence, or what may change the value.
        because: Option<Inst>,
        /// The first reason on the way why nothing is inserted where answers differ, as a clause.
        refusal: Option<String>,
    },
    /// A block without the expression is noted for insertion, should the inquiry succeed.
    Noted {
        /// The question whose answers met.
        id: QuestionId,
        /// Expression that would be inserted.
        expression: String,
        /// At the end of which block.
        block: Block,
        /// Or on the edge from there to this one.
        onto: Option<Block>,
    },
    /// An inquiry ends.
    Ended {
        /// Its number.
        id: QuestionId,
        /// Answer of the question.
        answer: Answer,
        /// The instruction of its own block that decides it, where one does.
        because: Option<Inst>,
        /// The first reason on the way why nothing is inserted where answers differ, as a clause.
        refusal: Option<String>,
    },
}

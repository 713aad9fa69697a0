//! A kind of question: its answers, the local effect of a block, and the meet of answers.
//!
//! ```text
//! question ──▶ local_effect(block) ──▶ Answered                       by the block itself
//!                                 └──▶ Forwarded to neighbours ──▶ meet(replies)
//! ```
//!
//! The engine that walks the graph is [`super::propagation`]. Sound answers need two properties of
//! a problem: a worse answer of a neighbour never makes the meet better, and [`Problem::holds`] is
//! false once an answer may have changed.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::Hash;

use super::log::QuestionLog;
use super::propagation::RecordId;
use super::rules::Refusal;
use super::snapshot::Changes;
use crate::ir::{Block, Function, Inst};
use crate::trace::{Answer, QuestionId};

/// A kind of question.
pub trait Problem: Sized {
    /// The question, apart from the block where it is asked.
    type Question: Copy + Eq + Hash;
    /// The answer.
    type Answer: Copy;
    /// Facts that a question finds in a block beside its answer.
    type Finding;
    /// The rule that gives the assumed answer to a question under way.
    const ASSUMPTION: &'static str;

    /// The blocks that a block sends a question on to.
    fn neighbours(&self, block: Block) -> &[Block];
    /// The answer that is assumed of a question under way.
    fn assumed() -> Self::Answer;
    /// Is the answer as good as the assumed one?
    fn is_good(answer: &Self::Answer) -> bool;
    /// Does one neighbour's answer decide the meet, so that the others are not asked? Only for
    /// questions that are never traced: a trace shows all answers.
    fn decides(_: Self::Question, _: &Self::Answer) -> bool {
        false
    }
    /// Does a good answer end its paths here, rather than lead on to the neighbours?
    fn is_path_end(_: &Self::Answer) -> bool {
        false
    }
    /// Adds to a good answer that relied on an assumption what the proved answer says beyond the
    /// assumption.
    fn improve(_answer: &mut Self::Answer, _proved: &Self::Answer) {}
    /// The current time, for answers to this question.
    fn time(&self, question: Self::Question) -> Time;
    /// Does an answer from that time still hold?
    fn holds(&self, question: Self::Question, answer: &Self::Answer, time: Time) -> bool;
    /// The effect of a block on a question that reaches it.
    fn local_effect(&mut self, log: &mut QuestionLog<'_>, at: Arrival<Self::Question>) -> LocalEffect<Self>;
    /// The meet of the neighbours' answers, with its rule. May add to the finding of the question
    /// that forwarded them.
    fn meet(
        &mut self,
        log: &mut QuestionLog<'_>,
        join: Join<Self::Question>,
        replies: &[Reply<Self::Answer>],
        finding: &mut Option<Box<Self::Finding>>,
    ) -> (&'static str, Self::Answer);
    /// The question as text, and the block from which its expression would move.
    fn describe(&self, func: &Function, question: Self::Question) -> (String, Option<Block>);
    /// The reason why answers that met on the way were not made equal.
    fn refusal(_: &Self::Answer) -> Option<Refusal> {
        None
    }
    /// The answer as an event shows it. `ends` are the blocks where the paths of the answer end.
    fn event_answer(&self, answer: &Self::Answer, ends: &mut dyn FnMut() -> Vec<Block>) -> Answer;
}

/// The effect of a block on a question.
pub enum LocalEffect<P: Problem> {
    /// The block answers by that rule, because of that instruction.
    Answered(&'static str, P::Answer, Option<Inst>, Option<Box<P::Finding>>),
    /// The block asks its neighbours this question, by that rule.
    Forwarded(&'static str, P::Question, Option<Box<P::Finding>>),
}

/// The time of an answer: its inquiry, and the number of changes before it to what it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    pub inquiry: u32,
    pub changes: Changes,
}

/// A question that reaches a block.
#[derive(Clone, Copy)]
pub struct Arrival<Q> {
    /// The block.
    pub block: Block,
    /// The question.
    pub question: Q,
    /// The number of the question in events.
    pub id: QuestionId,
}

/// A block where answers meet.
#[derive(Clone, Copy)]
pub struct Join<Q> {
    /// The block.
    pub block: Block,
    /// The question that the neighbours answered.
    pub forwarded: Q,
    /// The rule that forwarded the question; empty for the root of an inquiry.
    pub rule: &'static str,
    /// The number of the question in events.
    pub id: QuestionId,
}

/// A neighbour's answer.
#[derive(Clone, Copy)]
pub struct Reply<A> {
    /// The neighbour.
    pub block: Block,
    /// Its answer.
    pub answer: A,
    /// The record of the answer.
    pub record: RecordId,
}

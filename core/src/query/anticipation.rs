//! Anticipatability: is one of these forms computed on every path from here?
//!
//! ```text
//! n7: br n8              `A[i] or A[i + 1]?` at n7: forwarded to n8 (rule 5), which computes A[i] (rule 4): true
//! n8: x = ld A[i]
//! ```
//!
//! 1. A question about a set of forms goes to the block itself and from there to successors.
//! 2. A block that computes one of the forms answers true; a form whose operands or memory are
//!    written drops out of the set, and with the last one the answer is false. So it is at an exit,
//!    where control no longer reaches any computation of the forms, and at the end of an endless
//!    loop, which may go round for ever without a computation.
//! 3. Answers of successors meet as "and".
//!
//! A block where the answer is true is down-safe: computing the form there adds a computation to no
//! path. The set holds the forms that an availability question has taken, any of which counts, as
//! in the paper. With [`Purpose::NoFault`] the question is whether the form, computed here, faults
//! only if a later load faults as well.
//!
//! Sound for one form. For several the answer says that *one* of them will be computed, so that
//! inserting another one may add a computation to the last round of a loop; `down_safety=exact`
//! asks about one only.
//!
//! Cost: O(accesses and definitions of the forms) for each question, in steps that the snapshot
//! counts.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021,
//! section 4.2.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::forms::FormSet;
use super::log::QuestionLog;
use super::problem::{Arrival, Join, LocalEffect, Problem, Reply, Time};
use super::propagation::Propagation;
use super::snapshot::{DescentEnd, Snapshot};
use crate::ir::{Block, Function};
use crate::trace::{Answer, Query, QuestionId};

/// Which occurrences answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Purpose {
    /// Computations of whole instructions.
    DownSafety,
    /// Loads that fault for a bad address, elements of vectors included.
    NoFault,
}

/// A question asked of a block's beginning.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnticipationQuestion {
    /// The forms, any of which counts.
    pub forms: FormSet,
    /// Which occurrences answer.
    pub purpose: Purpose,
}

/// Anticipatability questions and their answers.
pub type Anticipations = Propagation<AnticipationQuestion, bool, ()>;

/// See the file's head.
pub struct Anticipation<'q, 'm> {
    /// The function that blocks are scanned in.
    pub snapshot: &'q mut Snapshot<'m>,
}

impl Anticipation<'_, '_> {
    /// May control come from the end of a block to a computation of one of these forms, which are of one kind?
    fn is_computed_after(&self, block: Block, forms: FormSet) -> bool {
        self.snapshot.forms.members(forms).first().is_some_and(|&form| self.snapshot.is_computed_after(block, form))
    }

    /// Is the answer true at all of these blocks?
    pub fn inquire(
        &mut self,
        known: &mut Anticipations,
        log: &mut QuestionLog<'_>,
        (root, asked): (Block, &[Block]),
        question: AnticipationQuestion,
        parent: Option<QuestionId>,
    ) -> bool {
        let id = log.begin(Query::Anticipatability, parent, (root, None), |func| self.describe(func, question).0);
        let answer = known.inquire(self, log, (root, asked), question, id).answer;
        log.end(id, || Answer::Anticipated(answer), (None, None));
        answer
    }
}

impl Problem for Anticipation<'_, '_> {
    type Question = AnticipationQuestion;
    type Answer = bool;
    type Finding = ();
    const ASSUMPTION: &'static str = "2";

    fn neighbours(&self, block: Block) -> &[Block] {
        self.snapshot.graph.successors(block)
    }

    fn assumed() -> bool {
        true
    }

    fn is_good(answer: &bool) -> bool {
        *answer
    }

    fn decides(question: AnticipationQuestion, answer: &bool) -> bool {
        question.purpose == Purpose::NoFault && !answer
    }

    fn time(&self, question: AnticipationQuestion) -> Time {
        let first = self.snapshot.forms.members(question.forms).first();
        Time { inquiry: 0, changes: first.map(|&form| self.snapshot.changes(form)).unwrap_or_default() }
    }

    fn holds(&self, question: AnticipationQuestion, answer: &bool, time: Time) -> bool {
        let (then, now) = (time.changes, self.time(question).changes);
        match (*answer, question.purpose) {
            (false, _) => now.inserted == then.inserted,
            (true, Purpose::DownSafety) => now.replaced == then.replaced,
            (true, Purpose::NoFault) => (now.replaced, now.marked) == (then.replaced, then.marked),
        }
    }

    fn local_effect(&mut self, log: &mut QuestionLog<'_>, at: Arrival<AnticipationQuestion>) -> LocalEffect<Self> {
        let Arrival { block, question, .. } = at;
        match self.snapshot.scan_down(log.func, block, question) {
            DescentEnd::Same => LocalEffect::Answered("4", true, None, None),
            DescentEnd::Changed => LocalEffect::Answered("3", false, None, None),
            DescentEnd::Bottom(_) if self.neighbours(block).is_empty() => LocalEffect::Answered("1", false, None, None),
            DescentEnd::Bottom(_) if self.snapshot.graph.ends_endless_loop(block) => {
                LocalEffect::Answered("endless", false, None, None)
            }
            DescentEnd::Bottom(forms) if !self.is_computed_after(block, forms) => {
                LocalEffect::Answered("6", false, None, None)
            }
            DescentEnd::Bottom(forms) => LocalEffect::Forwarded("5", AnticipationQuestion { forms, ..question }, None),
        }
    }

    fn meet(
        &mut self,
        _: &mut QuestionLog<'_>,
        _: Join<AnticipationQuestion>,
        replies: &[Reply<bool>],
        _: &mut Option<Box<()>>,
    ) -> (&'static str, bool) {
        ("5", !replies.is_empty() && replies.iter().all(|reply| reply.answer))
    }

    fn describe(&self, func: &Function, question: AnticipationQuestion) -> (String, Option<Block>) {
        (self.snapshot.forms.set_text(self.snapshot.module, func, question.forms), None)
    }

    fn event_answer(&self, answer: &bool, _: &mut dyn FnMut() -> Vec<Block>) -> Answer {
        Answer::Anticipated(*answer)
    }
}

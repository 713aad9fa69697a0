//! Anticipatability: will one of these forms be computed on every way that leads on from here?
//!
//! ```text
//! n7: br n8              `A[i] or A[i + 1]?` at n7: sent on to n8 (rule 5), which computes A[i] (rule 4): true
//! n8: x = ld A[i]
//! ```
//!
//! A block where it is true is down-safe: computing the form there adds a computation to no way. With several forms, those
//! that a question has taken on its way up, any of them counts, as the paper has it; a form whose operands are written
//! drops out, and when all have, the answer is false.
//!
//! Sound for one form. For several it says that *one* of them will be computed, so that inserting another one may add a
//! computation to the last round of a loop; `down_safety=exact` asks about one only.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, section 4.2.

use alloc::string::String;
use alloc::vec::Vec;

use super::forms::FormSet;
use super::propagation::{Arrival, Local, Meeting, Problem, Propagation, QuestionLog, Time};
use super::snapshot::{DescentEnd, Snapshot};
use crate::ir::{Block, Function};
use crate::trace::Answer;

/// Knowledge of anticipatability.
#[derive(Default)]
pub struct Anticipated {
    /// Answers of questions that are not traced.
    pub asked: Propagation<FormSet, bool>,
    /// Answers of those that are.
    pub told: Propagation<FormSet, bool>,
}

/// See the file's head.
pub struct Anticipation<'q, 'm> {
    /// Snapshot of the function.
    pub snapshot: &'q mut Snapshot<'m>,
}

impl Problem for Anticipation<'_, '_> {
    type Question = FormSet;
    type Answer = bool;
    const UNDER_WAY: &'static str = "2";

    fn onward(&self, block: Block) -> &[Block] {
        self.snapshot.ways.down(block)
    }

    fn assumed() -> bool {
        true
    }

    fn is_good(answer: &bool) -> bool {
        *answer
    }

    fn decides(&self, answer: &bool) -> bool {
        // One way on where it is not computed is enough.
        !*answer
    }

    fn holds(&self, question: FormSet, answer: &bool, time: Time) -> bool {
        let now = self.time(question).changes;
        if *answer { now.replaced == time.changes.replaced } else { now.inserted == time.changes.inserted }
    }

    fn time(&self, question: FormSet) -> Time {
        let first = self.snapshot.forms.members(question).first();
        Time { inquiry: 0, changes: first.map(|&form| self.snapshot.changes(form)).unwrap_or_default() }
    }

    fn arrive(&mut self, log: &mut QuestionLog<'_>, at: Arrival<FormSet>) -> Local<Self> {
        let Arrival { block, question: set, .. } = at;
        match self.snapshot.descend(log.func, block, set) {
            DescentEnd::Same => Local::Answered("4", true, None),
            DescentEnd::Changed => Local::Answered("3", false, None),
            DescentEnd::Bottom(_) if self.snapshot.ways.down(block).is_empty() => Local::Answered("1", false, None),
            DescentEnd::Bottom(left) => Local::Forwarded("5", left),
        }
    }

    fn meet(
        &mut self,
        _: &mut QuestionLog<'_>,
        _: Meeting<FormSet>,
        answers: &[(Block, bool)],
    ) -> (&'static str, bool) {
        ("5", !answers.is_empty() && answers.iter().all(|(_, answer)| *answer))
    }

    fn describe(&self, func: &Function, set: FormSet) -> (String, Option<Block>) {
        (self.snapshot.forms.set_text(self.snapshot.module, func, set), None)
    }

    fn answer(&self, answer: &bool, _: &mut dyn FnMut() -> Vec<Block>) -> Answer {
        Answer::Anticipated(*answer)
    }
}

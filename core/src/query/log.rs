//! The log of one inquiry: numbers for its questions, and the events that a trace keeps.
//!
//! ```text
//! begin 1    availability of `A[i]` at n8        every event is built only if the trace wants it, which is asked at
//! record     A[i]? n8 -> n7                      run time: a silent run executes the same code and builds nothing
//! end   1    (true, true)
//! ```
//!
//! Cost: O(1) an event, plus its text where the trace keeps it.

use alloc::string::String;

use super::rules::Refusal;
use crate::ir::{Block, Function, Inst};
use crate::trace::{Answer, Event, Query, QuestionEvent, QuestionId, Topic, Trace};

/// See the file's head.
pub struct QuestionLog<'s> {
    /// The function that questions are about.
    pub func: &'s Function,
    trace: &'s mut dyn Trace,
    is_traced: bool,
    last: &'s mut QuestionId,
}

impl<'s> QuestionLog<'s> {
    /// A log whose numbers follow `last`.
    pub fn new(func: &'s Function, trace: &'s mut dyn Trace, last: &'s mut QuestionId) -> Self {
        let is_traced = trace.is_on();
        QuestionLog { func, trace, is_traced, last }
    }

    /// A number that no other question has.
    pub fn number(&mut self) -> QuestionId {
        *self.last += 1;
        *self.last
    }

    /// Records an event if the trace wants it.
    pub fn record(&mut self, event: impl FnOnce(&Function) -> QuestionEvent) {
        if self.is_traced && self.trace.wants(Topic::Question) {
            self.trace.record(Event::Question(event(self.func)));
        }
    }

    /// Begins an inquiry on behalf of a question, or of an instruction.
    pub fn begin(
        &mut self,
        query: Query,
        parent: Option<QuestionId>,
        (root, inst): (Block, Option<Inst>),
        expression: impl FnOnce(&Function) -> String,
    ) -> QuestionId {
        let id = self.number();
        self.record(|func| QuestionEvent::Began { id, parent, query, expression: expression(func), root, inst });
        id
    }

    /// Ends an inquiry, which an instruction of its own block or a refusal may have decided.
    pub fn end(
        &mut self,
        id: QuestionId,
        answer: impl FnOnce() -> Answer,
        (because, refusal): (Option<Inst>, Option<Refusal>),
    ) {
        self.record(|func| {
            let because = because.filter(|&inst| func.inst_block(inst).is_some());
            let refusal = refusal.and_then(|refusal| refusal.clause(func));
            QuestionEvent::Ended { id, answer: answer(), because, refusal }
        });
    }
}

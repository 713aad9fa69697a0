//! What happened and why: the rewrites and refusals of every pass, in order, as one list.
//!
//! ```text
//! pass 0 copy-prop   event 0  rewrite  "`b` is replaced by `a` …"   edits …
//!                    event 1  missed   "`d` keeps `c`: …"
//! pass 1 dce         event 2  rewrite  …
//! ```
//!
//! Stepping is replay: the state after event k is the start state with the edits of events 0 to k applied, so going
//! forward, going back and seeking are one operation ([`Journal::advance`] and [`Journal::retreat`]).
//!
//! Between these stands what a pass tells of the value table that it works with ([`Journal::moments`]), or of the
//! questions that it asks ([`Journal::inquiries`]).
//!
//! Bounds: refusals stop being kept at [`MAX_MISSED`] events, and the journal says how many were dropped; of tables and of
//! questions as much as [`MAX_TOLD`] each is kept, and passes do not tell it more. Rewrites are always kept, since replay
//! needs them; every pass bounds its own.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::edit::{Edit, EditSink, Remark, RemarkKind, apply_all, undo_all};
use crate::ir::{Func, Function, Module};
use crate::questions::{QuestionEvent, QuestionSink};
use crate::value_table::{TableEvent, TableSink};

/// Refusals kept in one journal.
pub const MAX_MISSED: usize = 100_000;

/// What is told of value tables, and of questions, and kept in one journal.
pub const MAX_TOLD: usize = 100_000;

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The function it happened in.
    pub func: Func,
    /// Why.
    pub remark: Remark,
    /// What changed; empty for a refusal.
    pub edits: Vec<Edit>,
}

impl Event {
    /// Did it change anything?
    pub fn is_rewrite(&self) -> bool {
        self.remark.kind == RemarkKind::Applied
    }
}

/// The events of one pass.
#[derive(Clone, PartialEq, Debug)]
pub struct PassEvents {
    /// The pass's name.
    pub pass: String,
    /// Index of its first event.
    pub start: usize,
    /// One past its last event.
    pub end: usize,
}

/// What a pass told, and when.
#[derive(Clone, PartialEq, Debug)]
struct Told<T> {
    pass: usize,
    /// Events before it.
    after: usize,
    func: Func,
    event: T,
}

/// A moment of a pass that works with a value table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Moment<'a> {
    /// Something happened to the table.
    Table(&'a TableEvent),
    /// The event of that index, a rewrite or a refusal.
    Event(usize),
}

/// A moment of a pass that asks questions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Inquiry<'a> {
    /// Something happened to a question, in that function.
    Question(Func, &'a QuestionEvent),
    /// The event of that index, a rewrite or a refusal.
    Event(usize),
}

/// The list.
#[derive(Clone, Default, Debug)]
pub struct Journal {
    events: Vec<Event>,
    passes: Vec<PassEvents>,
    func: Option<Func>,
    told: Vec<Told<TableEvent>>,
    asked: Vec<Told<QuestionEvent>>,
    missed: usize,
    dropped: usize,
}

impl Journal {
    /// An empty list.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// From here on, events belong to this pass.
    pub fn begin_pass(&mut self, pass: impl Into<String>) {
        let start = self.events.len();
        self.passes.push(PassEvents { pass: pass.into(), start, end: start });
    }

    /// From here on, events belong to this function.
    pub fn enter(&mut self, func: Func) {
        self.func = Some(func);
    }

    /// All events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The passes in the order they ran.
    pub fn passes(&self) -> &[PassEvents] {
        &self.passes
    }

    /// The events of the k-th pass.
    pub fn events_of(&self, pass: usize) -> &[Event] {
        self.passes.get(pass).map_or(&[], |pass| &self.events[pass.start..pass.end])
    }

    /// What the k-th pass did in a function, moment by moment, if it works with a value table there; else nothing.
    pub fn moments(&self, pass: usize, func: Func) -> Vec<Moment<'_>> {
        let Some(&PassEvents { start, end, .. }) = self.passes.get(pass) else { return Vec::new() };
        let told: Vec<&Told<TableEvent>> =
            self.told.iter().filter(|told| told.pass == pass && told.func == func).collect();
        if told.is_empty() {
            return Vec::new();
        }
        let mut moments = Vec::with_capacity(told.len() + end - start);
        let mut events = (start..end).filter(|&event| self.events[event].func == func).peekable();
        for told in told {
            while let Some(event) = events.next_if(|&event| event < told.after) {
                moments.push(Moment::Event(event));
            }
            moments.push(Moment::Table(&told.event));
        }
        moments.extend(events.map(Moment::Event));
        moments
    }

    /// What the k-th pass did in all functions, moment by moment, with the questions that it asked.
    pub fn inquiries(&self, pass: usize) -> Vec<Inquiry<'_>> {
        let Some(&PassEvents { start, end, .. }) = self.passes.get(pass) else { return Vec::new() };
        let first = self.asked.partition_point(|asked| asked.pass < pass);
        let mut moments = Vec::with_capacity(end - start);
        let mut events = (start..end).peekable();
        for asked in self.asked[first..].iter().take_while(|asked| asked.pass == pass) {
            while let Some(event) = events.next_if(|&event| event < asked.after) {
                moments.push(Inquiry::Event(event));
            }
            moments.push(Inquiry::Question(asked.func, &asked.event));
        }
        moments.extend(events.map(Inquiry::Event));
        moments
    }

    /// Refusals that were not kept because there were more than [`MAX_MISSED`].
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Applies the events `range` to a module that is in the state before them.
    pub fn advance(&self, module: &mut Module, range: Range<usize>) {
        for event in &self.events[range] {
            apply_all(module, event.func, &event.edits);
        }
    }

    /// Takes the events `range` back from a module that is in the state after them.
    pub fn retreat(&self, module: &mut Module, range: Range<usize>) {
        for event in self.events[range].iter().rev() {
            undo_all(module, event.func, &event.edits);
        }
    }

    fn push(&mut self, remark: Remark, edits: Vec<Edit>) {
        let Some(func) = self.func else { return };
        self.events.push(Event { func, remark, edits });
        if let Some(pass) = self.passes.last_mut() {
            pass.end = self.events.len();
        }
    }
}

impl TableSink for Journal {
    fn hears_of_tables(&self) -> bool {
        self.told.len() < MAX_TOLD
    }

    fn told(&mut self, event: TableEvent) {
        let (Some(func), Some(pass)) = (self.func, self.passes.len().checked_sub(1)) else { return };
        if self.hears_of_tables() {
            self.told.push(Told { pass, after: self.events.len(), func, event });
        }
    }
}

impl QuestionSink for Journal {
    fn hears_of_questions(&self) -> bool {
        self.asked.len() < MAX_TOLD
    }

    fn told_of(&mut self, event: QuestionEvent) {
        let (Some(func), Some(pass)) = (self.func, self.passes.len().checked_sub(1)) else { return };
        if self.hears_of_questions() {
            self.asked.push(Told { pass, after: self.events.len(), func, event });
        }
    }
}

impl EditSink for Journal {
    const LISTENS: bool = true;

    fn rewritten(&mut self, _: &Function, remark: Remark, edits: Vec<Edit>) {
        self.push(remark, edits);
    }

    fn missed(&mut self, func: &Function, remark: impl FnOnce(&Function) -> Remark) {
        if self.missed < MAX_MISSED {
            self.missed += 1;
            self.push(remark(func), Vec::new());
        } else {
            self.dropped += 1;
        }
    }
}

//! Journal of changes and their reasons: the rewrites and refusals of every pass, in order, as one list.
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
//! Between these are details: steps of the value table that a pass works with
//! ([`Journal::moments`]), of the questions that it asks ([`Journal::inquiries`]), or of an
//! analysis's value name graph ([`Journal::value_events`]).
//!
//! Bounds: at most [`MAX_MISSED`] refusals are kept, and the journal says how many were dropped; at
//! most [`MAX_DETAILS`] details are kept. Rewrites are always kept, since replay needs them; every
//! pass bounds its own.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::ir::{Func, Module};
use crate::trace::{
    self, Edit, QuestionEvent, Remark, RemarkKind, TableEvent, Topic, Trace, ValueEvent, apply_all, undo_all,
};

/// Refusals kept in one journal.
pub const MAX_MISSED: usize = 100_000;

/// Steps of value tables, questions and value name graphs kept in one journal.
pub const MAX_DETAILS: usize = 100_000;

/// One thing that happened.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The function it happened in.
    pub func: Func,
    /// Why.
    pub remark: Remark,
    /// Edits of a rewrite; empty for a refusal.
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

/// A step of a table, a question or a value name graph.
#[derive(Clone, PartialEq, Debug)]
struct Detail {
    pass: usize,
    /// Number of events before it.
    after: usize,
    func: Func,
    event: trace::Event,
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
    /// In the order in which they happened.
    details: Vec<Detail>,
    missed: usize,
    dropped: usize,
}

impl Journal {
    /// An empty list.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// A list for the steps of one analysis of a function.
    pub fn of_analysis(analysis: &str, func: Func) -> Journal {
        let mut journal = Journal::new();
        journal.begin_pass(analysis);
        journal.enter(func);
        journal
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

    /// Moments of the k-th pass in a function, if it uses a value table there; else empty.
    pub fn moments(&self, pass: usize, func: Func) -> Vec<Moment<'_>> {
        let Some(&PassEvents { start, end, .. }) = self.passes.get(pass) else { return Vec::new() };
        let mut moments = Vec::new();
        let mut events = (start..end).filter(|&event| self.events[event].func == func).peekable();
        for detail in self.details_of(pass).iter().filter(|detail| detail.func == func) {
            let trace::Event::Table(table) = &detail.event else { continue };
            while let Some(event) = events.next_if(|&event| event < detail.after) {
                moments.push(Moment::Event(event));
            }
            moments.push(Moment::Table(table));
        }
        if !moments.is_empty() {
            moments.extend(events.map(Moment::Event));
        }
        moments
    }

    /// Moments of the k-th pass in all functions, with its questions.
    pub fn inquiries(&self, pass: usize) -> Vec<Inquiry<'_>> {
        let Some(&PassEvents { start, end, .. }) = self.passes.get(pass) else { return Vec::new() };
        let mut moments = Vec::with_capacity(end - start);
        let mut events = (start..end).peekable();
        for detail in self.details_of(pass) {
            let trace::Event::Question(question) = &detail.event else { continue };
            while let Some(event) = events.next_if(|&event| event < detail.after) {
                moments.push(Inquiry::Event(event));
            }
            moments.push(Inquiry::Question(detail.func, question));
        }
        moments.extend(events.map(Inquiry::Event));
        moments
    }

    /// Steps of value name graphs, of the k-th entry of the journal.
    pub fn value_events(&self, pass: usize) -> impl Iterator<Item = &ValueEvent> {
        self.details_of(pass).iter().filter_map(|detail| match &detail.event {
            trace::Event::Value(event) => Some(event),
            _ => None,
        })
    }

    /// The moments of the k-th pass in a function, in order: the index of each rewrite or refusal, and none for each
    /// detail between them. Empty for a pass without details there.
    pub fn moment_events(&self, pass: usize, func: Func) -> Vec<Option<usize>> {
        let Some(&PassEvents { start, end, .. }) = self.passes.get(pass) else { return Vec::new() };
        let mut moments = Vec::new();
        let mut events = (start..end).filter(|&event| self.events[event].func == func).peekable();
        for detail in self.details_of(pass).iter().filter(|detail| detail.func == func) {
            while let Some(event) = events.next_if(|&event| event < detail.after) {
                moments.push(Some(event));
            }
            moments.push(None);
        }
        if !moments.is_empty() {
            moments.extend(events.map(Some));
        }
        moments
    }

    fn details_of(&self, pass: usize) -> &[Detail] {
        let first = self.details.partition_point(|detail| detail.pass < pass);
        let end = self.details.partition_point(|detail| detail.pass <= pass);
        &self.details[first..end]
    }

    /// Whether steps of a table or of questions have been kept of what the k-th pass did in a function.
    pub fn has_details(&self, pass: usize, func: Func) -> bool {
        self.details_of(pass).iter().any(|detail| detail.func == func)
    }

    /// Whether the k-th pass may have done more in a function than the details that are kept: it
    /// has the last of them, and there is no room.
    pub fn is_cut(&self, pass: usize, func: Func) -> bool {
        let is_last = self.details.last().is_some_and(|detail| (detail.pass, detail.func) == (pass, func));
        is_last && !self.has_room()
    }

    /// Is there still room for details? If not, some may be missing.
    pub fn has_room(&self) -> bool {
        self.details.len() < MAX_DETAILS
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

    fn push_detail(&mut self, event: trace::Event) {
        if let (Some(func), Some(pass)) = (self.func, self.passes.len().checked_sub(1)) {
            self.details.push(Detail { pass, after: self.events.len(), func, event });
        }
    }
}

impl Trace for Journal {
    fn is_on(&self) -> bool {
        true
    }

    fn wants(&mut self, topic: Topic) -> bool {
        match topic {
            Topic::Missed => {
                let has_room = self.missed < MAX_MISSED;
                self.missed += usize::from(has_room);
                self.dropped += usize::from(!has_room);
                has_room
            }
            Topic::Table | Topic::Question | Topic::Value => self.has_room(),
        }
    }

    fn record(&mut self, event: trace::Event) {
        match event {
            trace::Event::Rewrite(remark, edits) => self.push(remark, edits),
            trace::Event::Missed(remark) => self.push(remark, Vec::new()),
            event => self.push_detail(event),
        }
    }
}

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
//! Bounds: refusals stop being kept at [`MAX_MISSED`] events, and the journal says how many were dropped. Rewrites are
//! always kept, since replay needs them; every pass bounds its own.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::edit::{Edit, EditSink, Remark, RemarkKind, apply_all, undo_all};
use crate::ir::{Func, Function, Module};

/// Refusals kept in one journal.
pub const MAX_MISSED: usize = 100_000;

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

/// The list.
#[derive(Clone, Default, Debug)]
pub struct Journal {
    events: Vec<Event>,
    passes: Vec<PassEvents>,
    func: Option<Func>,
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

    /// Refusals that were not kept because there were more than [`MAX_MISSED`].
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Applies the events `range` to a module that is in the state before them.
    pub fn advance(&self, module: &mut Module, range: Range<usize>) {
        for event in &self.events[range] {
            apply_all(&mut module.funcs[event.func], &event.edits);
        }
    }

    /// Takes the events `range` back from a module that is in the state after them.
    pub fn retreat(&self, module: &mut Module, range: Range<usize>) {
        for event in self.events[range].iter().rev() {
            undo_all(&mut module.funcs[event.func], &event.edits);
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

impl EditSink for Journal {
    const LISTENS: bool = true;

    fn rewritten(&mut self, _: &Function, remark: Remark, edits: Vec<Edit>) {
        self.push(remark, edits);
    }

    fn missed(&mut self, _: &Function, remark: Remark) {
        if self.missed < MAX_MISSED {
            self.missed += 1;
            self.push(remark, Vec::new());
        } else {
            self.dropped += 1;
        }
    }
}

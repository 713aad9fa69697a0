//! The only door through which a function changes.
//!
//! ```text
//! let mut rewrite = editor.rewrite(|func| Remark::applied("copy", block, "…"));
//! rewrite.replace(inst, data);          // as many edits as the rule needs
//! rewrite.finish();                     // the remark and its edits reach the trace together
//! ```
//!
//! An edit cannot exist without a remark, because only a [`Rewrite`] makes edits and only a remark makes a rewrite.
//! Every [`Edit`](crate::trace::Edit) carries what its inverse needs, so undoing a list of edits from its end
//! restores the function exactly, names included. Ids are handed out once: redoing a creation brings the same id back.
//!
//! A function may get a global of its own with [`Rewrite::create_global`]: the one change outside
//! of it, which is undone and redone with the rest.
//!
//! Each edit takes constant time, apart from profiles, which are gone through where a function
//! declares any, and copied whole while the trace is on. While the trace is off nothing is recorded
//! and remarks are not even built.

mod profiles;
mod rewrite;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::ir::{Block, Function, GlobalData};
use crate::trace::{Event, Remark, TableEvent, Topic, Touched, Trace};
use profiles::{is_empty, split_in_profile};
use rewrite::Recording;

pub use rewrite::Rewrite;

/// Access to one function for changing it.
pub struct Editor<'a> {
    func: &'a mut Function,
    trace: &'a mut dyn Trace,
    /// The trace's answer to [`Trace::is_on`], asked once.
    is_traced: bool,
    rewrites: u64,
    touched: Touched,
    globals: Vec<GlobalData>,
    /// Edges that have been split, with the blocks in their middles, of which declared profiles do not know yet.
    unprofiled: Vec<(Block, Block, Block)>,
}

impl Drop for Editor<'_> {
    fn drop(&mut self) {
        self.let_profiles_follow();
    }
}

impl<'a> Editor<'a> {
    /// Opens a function.
    pub fn new(func: &'a mut Function, trace: &'a mut dyn Trace) -> Self {
        let is_traced = trace.is_on();
        Editor {
            func,
            trace,
            is_traced,
            rewrites: 0,
            touched: Touched::default(),
            globals: Vec::new(),
            unprofiled: Vec::new(),
        }
    }

    /// The function as it is now.
    pub fn func(&self) -> &Function {
        self.func
    }

    /// Lets declared profiles follow all that [`Rewrite::split_edge_ahead`] has split, as is done
    /// at the latest when the editor goes.
    pub fn let_profiles_follow(&mut self) {
        if !self.unprofiled.is_empty() {
            let splits = core::mem::take(&mut self.unprofiled);
            self.func.profiles.iter_mut().for_each(|profile| split_in_profile(profile, &splits));
            self.func.profiles.retain(|profile| !is_empty(profile));
        }
    }

    /// Is anything that happens kept?
    #[inline]
    pub fn is_traced(&self) -> bool {
        self.is_traced
    }

    /// The function and the trace, for a solver that records what it does.
    pub fn func_and_trace(&mut self) -> (&Function, &mut dyn Trace) {
        (self.func, self.trace)
    }

    /// Records a step of a value table, if the trace wants it.
    pub fn record_table(&mut self, event: impl FnOnce(&Function) -> TableEvent) {
        if self.is_traced && self.trace.wants(Topic::Table) {
            self.trace.record(Event::Table(event(self.func)));
        }
    }

    /// Rewrites made so far.
    pub fn rewrites(&self) -> u64 {
        self.rewrites
    }

    /// The globals that were created since this was last asked, for whoever holds the module.
    pub fn take_globals(&mut self) -> Vec<GlobalData> {
        core::mem::take(&mut self.globals)
    }

    /// Takes the changes since the last call.
    pub fn take_touched(&mut self) -> Touched {
        core::mem::take(&mut self.touched)
    }

    /// Begins a rewrite. The reason is built before anything changes, and only if it is kept.
    pub fn rewrite(&mut self, reason: impl FnOnce(&Function) -> Remark) -> Rewrite<'_, 'a> {
        let recording = if self.is_traced { Some(record(reason, self.func)) } else { None };
        Rewrite { editor: self, recording, changed: false }
    }

    /// Records a refused opportunity.
    pub fn miss(&mut self, reason: impl FnOnce(&Function) -> Remark) {
        if self.is_traced && self.trace.wants(Topic::Missed) {
            let Recording { remark, .. } = *record(reason, self.func);
            self.trace.record(Event::Missed(remark));
        }
    }
}

/// Builds a reason. Apart from its callers, so that the sentences of remarks are not in the way of silent runs.
#[cold]
#[inline(never)]
fn record(reason: impl FnOnce(&Function) -> Remark, func: &Function) -> Box<Recording> {
    Box::new(Recording { remark: reason(func), edits: Vec::new() })
}

//! How a pass is asked what it shows.

use crate::inspect::{Inspection, Request};
use crate::ir::{Func, Function, Module};
use crate::journal::{Event, Journal};
use crate::pass::Settings;

/// What an inspection is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// What the pass considers in the program at the position, before it changes that.
    Next,
    /// What the journal has kept of how the pass came to the position.
    Last,
}

/// A pass that shows something.
#[derive(Clone, Copy)]
pub struct Inspector {
    /// The heading of its inspections.
    pub title: &'static str,
    /// What they are about.
    pub subject: Subject,
    /// Whether there is something to show with these settings.
    pub applies: fn(&Settings) -> bool,
    /// Inspects the pass at a position.
    pub inspect: fn(&InspectedPosition<'_>, &Request) -> Inspection,
}

/// A position of a session, and the pass there.
#[derive(Clone, Copy)]
pub struct InspectedPosition<'a> {
    /// The program at the position.
    pub module: &'a Module,
    /// The function that is looked at.
    pub func: Func,
    /// What happened in the whole session.
    pub journal: &'a Journal,
    /// The program before the first pass.
    pub start: &'a Module,
    /// Events done at the position.
    pub done: usize,
    /// The pass, by its number in the journal.
    pub pass: usize,
    /// The settings of the pass.
    pub settings: &'a Settings,
}

impl<'a> InspectedPosition<'a> {
    /// The function at the position.
    pub fn function(&self) -> &'a Function {
        &self.module.funcs[self.func]
    }

    /// Rewrites of the pass in the function, done and to come.
    pub fn rewrites(&self) -> (impl Iterator<Item = &'a Event>, impl Iterator<Item = &'a Event>) {
        let start = self.journal.passes().get(self.pass).map_or(0, |pass| pass.start);
        let events = self.journal.events_of(self.pass);
        let (before, after) = events.split_at(self.done.saturating_sub(start).min(events.len()));
        let func = self.func;
        let is_own = move |event: &&Event| event.func == func && event.is_rewrite();
        (before.iter().filter(is_own), after.iter().filter(is_own))
    }
}

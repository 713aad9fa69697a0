//! Inspectors of passes, and the position that they inspect.

use core::ops::Range;

use alloc::vec::Vec;

use crate::inspect::{Course, Inspection, Prediction, Request};
use crate::ir::{Func, Function, Module, WarpCounts};
use crate::journal::{Event, Journal};
use crate::pass::Settings;
use crate::profile::estimate::CountReuse;

/// The subject of an inspection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Opportunities in the program at the position, before the pass changes it.
    Next,
    /// Details that the journal has kept of how the pass came to the position. A pass without details of the function,
    /// such as steps of a table or of questions, has nothing to show.
    Last,
}

/// A pass that shows something.
#[derive(Clone, Copy)]
pub struct Inspector {
    /// The heading of its inspections.
    pub title: &'static str,
    /// The subject of its inspections.
    pub subject: Subject,
    /// Whether they have a timeline of their own; then they are shown without being asked for.
    pub has_moments: bool,
    /// Whether there is something to show with these settings.
    pub applies: fn(&Settings) -> bool,
    /// Inspects the pass at a position. None if there is nothing to show of the function.
    pub inspect: fn(&InspectedPosition<'_>, &Request) -> Option<Inspection>,
}

/// Predictions of what the branches that a pass made in a function are worth, as the program is at the position.
pub type Predictor = fn(&InspectedPosition<'_>) -> Vec<Prediction>;

/// Knowledge beside a session.
#[derive(Clone)]
pub struct Surroundings<'a> {
    /// The passes of the pipeline's entry that led to the position.
    pub passes: Range<usize>,
    /// The text that the program was read from; empty if it is not at hand.
    pub source: &'a str,
    /// Whether a run has measured the profile that the program declares.
    pub is_measured: bool,
    /// Counts what warps execute in a run of a function of a program; none if that cannot be known soon.
    pub count_warps: &'a dyn Fn(&Module, Func) -> Option<WarpCounts>,
    /// Counts reuse of values in a run of a function of a program; none if that cannot be known soon.
    pub count_reuse: CountReuse<'a>,
}

impl Surroundings<'_> {
    /// For callers that know no more than the session.
    pub fn none(passes: Range<usize>) -> Surroundings<'static> {
        Surroundings {
            passes,
            source: "",
            is_measured: false,
            count_warps: &|_, _| None,
            count_reuse: &|_, _, _, _| None,
        }
    }
}

/// A position of a session, and the pass there.
#[derive(Clone)]
pub struct InspectedPosition<'a> {
    /// The program at the position.
    pub module: &'a Module,
    /// The function that is looked at.
    pub func: Func,
    /// Events of the whole session.
    pub journal: &'a Journal,
    /// The program before the first pass.
    pub start: &'a Module,
    /// Events done at the position.
    pub done: usize,
    /// The pass, by its number in the journal.
    pub pass: usize,
    /// The settings of the pass.
    pub settings: &'a Settings,
    /// Knowledge beside the session.
    pub surroundings: Surroundings<'a>,
}

impl<'a> InspectedPosition<'a> {
    /// The function at the position.
    pub fn function(&self) -> &'a Function {
        &self.module.funcs[self.func]
    }

    /// Whether anything of the pass has happened.
    pub fn has_begun(&self) -> bool {
        self.journal.passes().get(self.pass).is_some_and(|pass| pass.start < self.done)
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

    /// The moments of the pass in the function, as the journal has kept them; none if it has kept no details.
    pub fn course(&self) -> Course {
        let events = self.journal.events();
        let is_change = |event: usize| events.get(event).is_some_and(Event::is_rewrite);
        let mut course = Course::default();
        let mut first_change = None;
        for event in self.journal.moment_events(self.pass, self.func) {
            course.last += 1;
            if let Some(event) = event.filter(|&event| is_change(event)) {
                first_change.get_or_insert(event);
                course.changes.push(course.last);
            }
        }
        let first = self.journal.passes().get(self.surroundings.passes.start).map_or(0, |pass| pass.start);
        let before = events.get(first..first_change.unwrap_or(first)).unwrap_or_default();
        course.changes_before = before.iter().filter(|event| event.is_rewrite()).count();
        course
    }

    /// The moment that an inspection is about: the requested one, or the nearest that leads to the
    /// last change done. Without a request it is the moment of that change; `usual` if no change is
    /// done.
    pub fn moment(&self, course: &Course, request: &Request, usual: impl FnOnce() -> usize) -> usize {
        let change = self.rewrites().0.count();
        let made = change.checked_sub(1).and_then(|index| course.changes.get(index).copied());
        let range = course.moments_of(change);
        let moment = request.moment.or(made).unwrap_or_else(usual);
        moment.min(*range.end()).max(*range.start())
    }
}

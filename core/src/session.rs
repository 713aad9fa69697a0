//! A laboratory bench: a program, what a pipeline did to it, and a position in between.
//!
//! ```text
//! source ──pass 0──▶ ──pass 1──▶ ──pass 2──▶
//!    0   1 2 3   4   5     6 7 8            events, counted through
//! ```
//!
//! A session runs its pipeline once, into a journal. From then on every position is a replay: [`Session::seek`] applies
//! or takes back the edits between here and there, so stepping, going back, scrubbing and opening a link at "pass 3,
//! event 41" are one operation, and everything a view shows is a function of the session's state.
//!
//! Seeking costs the edits in between; refusals are positions too, where nothing changes.

use alloc::vec::Vec;
use core::ops::Range;

use crate::inspect::{Course, Inspection, Prediction, Request};
use crate::ir::{Func, Function, Launch, Module};
use crate::journal::{Event, Journal};
use crate::pass::{
    InspectedPosition, Inspector, PassReport, Settings, Step, Subject, Surroundings, inspect_analysis, run_pipeline,
};
use crate::trace::Remark;
use crate::vng::inspect::InspectedFunction;

/// A place between two events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Position {
    /// Passes that are done. The number of all passes is the end.
    pub pass: usize,
    /// Events that are done in the pass that comes next.
    pub event: usize,
}

/// Settings of a session, besides the program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// The passes in order.
    pub steps: Vec<Step>,
    /// The licence to treat floats as real numbers.
    pub fast_math: bool,
    /// The only kernel or function to change; all of them where none is named.
    pub only: Option<alloc::string::String>,
    /// Launches for the passes, in place of the program's; the program keeps its own.
    pub launches: Option<Vec<Launch>>,
}

/// The bench.
#[derive(Clone)]
pub struct Session {
    start: Module,
    current: Module,
    journal: Journal,
    reports: Vec<PassReport>,
    steps: Vec<Step>,
    fast_math: bool,
    /// Events done.
    done: usize,
}

impl Session {
    /// Runs the pipeline over a program and stands at the end. `clock` gives microseconds for the reports.
    pub fn open(module: Module, options: &Options, clock: &mut dyn FnMut() -> u64) -> Session {
        let start = module.clone();
        let mut current = module;
        let mut journal = Journal::new();
        let selected = |func: &Function| options.only.as_ref().is_none_or(|only| *only == func.name);
        let own = options.launches.clone().map(|told| core::mem::replace(&mut current.launches, told));
        let reports = run_pipeline(&mut current, &options.steps, options.fast_math, selected, &mut journal, clock);
        if let Some(own) = own {
            current.launches = own;
        }
        let done = journal.events().len();
        let (steps, fast_math) = (options.steps.clone(), options.fast_math);
        Session { start, current, journal, reports, steps, fast_math, done }
    }

    /// The program before any pass.
    pub fn start(&self) -> &Module {
        &self.start
    }

    /// The program at the position.
    pub fn module(&self) -> &Module {
        &self.current
    }

    /// Returns the whole journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Returns the report of each step of the pipeline.
    pub fn reports(&self) -> &[PassReport] {
        &self.reports
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.journal.events().len()
    }

    /// Is there no event at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Events done at the position.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The position, as passes done and events done in the next one. After the last event of a pass it is the end of
    /// that pass, before passes that did nothing.
    pub fn position(&self) -> Position {
        self.position_of(self.done)
    }

    /// The position after so many events.
    pub fn position_of(&self, done: usize) -> Position {
        let passes = self.journal.passes();
        if done >= self.len() {
            return Position { pass: passes.len(), event: 0 };
        }
        let pass = passes.iter().take_while(|pass| pass.end <= done).count();
        Position { pass, event: done - passes[pass].start }
    }

    /// The events done at a position. One beyond the end is the end.
    pub fn events_before(&self, position: Position) -> usize {
        match self.journal.passes().get(position.pass) {
            Some(pass) => (pass.start + position.event).min(pass.end),
            None => self.len(),
        }
    }

    /// Goes to the state after so many events; beyond the end is the end.
    pub fn seek(&mut self, done: usize) {
        let done = done.min(self.len());
        if done > self.done {
            self.journal.advance(&mut self.current, self.done..done);
        } else {
            self.journal.retreat(&mut self.current, done..self.done);
        }
        self.done = done;
    }

    /// One event forward. False at the end.
    pub fn step(&mut self) -> bool {
        let before = self.done;
        self.seek(before + 1);
        self.done != before
    }

    /// One event back. False at the start.
    pub fn back(&mut self) -> bool {
        let before = self.done;
        self.seek(before.saturating_sub(1));
        self.done != before
    }

    /// The event that led to this state, if one did.
    pub fn last_event(&self) -> Option<&Event> {
        self.done.checked_sub(1).map(|last| &self.journal.events()[last])
    }

    /// The event that comes next, if one does.
    pub fn next_event(&self) -> Option<&Event> {
        self.journal.events().get(self.done)
    }

    /// The events of the k-th pass, counted through.
    pub fn events_of(&self, pass: usize) -> Range<usize> {
        self.journal.passes().get(pass).map_or(0..0, |pass| pass.start..pass.end)
    }

    /// Passes that show something of a function at the position, each with its heading. `passes`
    /// are those of the pipeline's entry that led here. What comes next is shown of those among
    /// them that are not done or were done last, and of the first pass after them that runs; what
    /// has been kept, of the pass that made the last change, or of all if none made any. Of several
    /// with one heading the first that comes next, or the last of those that came before.
    pub fn inspected_passes(&self, passes: Range<usize>, func: Func) -> Vec<(usize, &'static str)> {
        let is_next = |pass: usize| {
            let events = self.events_of(pass);
            events.start <= self.done && self.done <= events.end
        };
        let events =
            self.events_of(passes.start).start..passes.clone().last().map_or(0, |last| self.events_of(last).end);
        let mut done = events.start.min(self.done)..events.end.min(self.done);
        let last_change = done.rfind(|&event| self.journal.events()[event].is_rewrite());
        let is_last = |pass: usize| {
            passes.contains(&pass)
                && last_change.is_none_or(|event| self.events_of(pass).contains(&event))
                && self.journal.has_details(pass, func)
        };
        let next = (passes.end..self.reports.len()).find(|&pass| self.reports[pass].enabled);
        let mut found: Vec<(usize, &'static str)> = Vec::new();
        for pass in passes.clone().chain(next).filter(|&pass| self.reports[pass].enabled) {
            let Some((inspector, _)) = self.inspector(pass) else { continue };
            let is_here = match inspector.subject {
                Subject::Next => is_next(pass),
                Subject::Last => is_last(pass),
            };
            match found.iter_mut().find(|(_, title)| *title == inspector.title) {
                _ if !is_here => {}
                None => found.push((pass, inspector.title)),
                Some(earlier) if inspector.subject == Subject::Last => earlier.0 = pass,
                Some(_) => {}
            }
        }
        found
    }

    /// The inspector of a pass and its settings, if it shows something with these.
    pub(crate) fn inspector(&self, pass: usize) -> Option<(Inspector, Settings)> {
        let step = self.steps.get(pass)?;
        let settings = Settings { knobs: step.knob_values(), fast_math: self.fast_math };
        step.entry().inspector.filter(|inspector| (inspector.applies)(&settings)).map(|inspector| (inspector, settings))
    }

    /// An inspection of a function by a pass at the position. None if the pass shows nothing there.
    pub fn inspect(
        &self,
        pass: usize,
        func: Func,
        request: &Request,
        surroundings: Surroundings<'_>,
    ) -> Option<Inspection> {
        let (inspector, settings) = self.inspector(pass)?;
        (inspector.inspect)(&self.inspected_position(pass, func, &settings, surroundings), request)
    }

    /// The inspection of a function by an analysis of the program at the position.
    pub fn inspect_analysis(&self, func: Func, request: &Request, surroundings: &Surroundings<'_>) -> Inspection {
        let (module, start, source) = (&self.current, &self.start, surroundings.source);
        inspect_analysis(InspectedFunction { module, func, start, source }, request, surroundings.count_reuse)
    }

    /// The moments that the journal has kept of a pass in a function, and the changes among them. None for a pass that
    /// shows opportunities. `passes` are those of the pipeline's entry.
    pub fn course(&self, pass: usize, func: Func, passes: Range<usize>) -> Option<Course> {
        let (inspector, settings) = self.inspector(pass)?;
        let position = self.inspected_position(pass, func, &settings, Surroundings::none(passes));
        (inspector.subject == Subject::Last).then(|| position.course())
    }

    /// Predictions of a pass about the branches that it made in a function, as far as they are in the program at the
    /// position. Empty for a pass that predicts nothing.
    pub fn predictions(&self, pass: usize, func: Func) -> Vec<Prediction> {
        let Some(step) = self.steps.get(pass) else { return Vec::new() };
        let settings = Settings { knobs: step.knob_values(), fast_math: self.fast_math };
        let position = self.inspected_position(pass, func, &settings, Surroundings::none(0..0));
        step.entry().predictor.map(|predict| predict(&position)).unwrap_or_default()
    }

    fn inspected_position<'a>(
        &'a self,
        pass: usize,
        func: Func,
        settings: &'a Settings,
        surroundings: Surroundings<'a>,
    ) -> InspectedPosition<'a> {
        let (module, journal, start) = (&self.current, &self.journal, &self.start);
        InspectedPosition { module, func, journal, start, done: self.done, pass, settings, surroundings }
    }

    /// A remark's block, by its label.
    pub fn block_name(&self, func: Func, remark: &Remark) -> &str {
        &self.current.funcs[func].blocks[remark.block].name
    }
}

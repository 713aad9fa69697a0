//! The position of the transport, and the moment of an inspection that has moments.
//!
//! Moments that led to a position go along with the transport: each belongs to the change that it leads to. Moments of what
//! comes next belong to one position, and after the last of them comes the change.

use warpscope_engine::message::{Course, Look, Position, Scope};

use super::{Lab, Timeline, Travel};
use crate::tokens::inquiry_stops;

impl Lab {
    /// The question about the bench.
    pub fn look(&self) -> Look {
        Look {
            bench: self.bench.clone(),
            position: self.position,
            scope: self.diff_scope(),
            moment: self.moment_to_look_at(),
        }
    }

    /// Scope of the diff: as chosen, else the change that led to the position, and at the end all of them.
    pub fn diff_scope(&self) -> Scope {
        let is_at_end = || self.position >= self.timeline().last();
        self.scope.unwrap_or_else(|| if is_at_end() { Scope::Pipeline } else { Scope::Rewrite })
    }

    /// The moment that the engine is asked about. From one moment to the next only the page draws something else: the
    /// program is another one where the change is still to come.
    fn moment_to_look_at(&self) -> Option<usize> {
        let is_known = self.answered.as_ref().is_some_and(|look| look.bench == self.bench);
        match self.course_here().filter(|_| is_known) {
            Some(course) => {
                self.moment_at.filter(|&moment| course.is_ahead(moment)).map(|moment| course.beginning_of(moment))
            }
            // Moments that led to no change have one program.
            None if self.inspected_pass().is_some_and(|pass| pass.course.is_none()) => None,
            None => self.moment_at,
        }
    }

    /// The moments that led to the position, if the inspection that is looked at has some.
    pub(super) fn course_here(&self) -> Option<&Course> {
        self.inspected_pass()?.course.as_ref()
    }

    /// The moment that is shown, and the last one.
    pub fn moment(&self) -> Option<(usize, usize)> {
        if let Some(course) = self.course_here() {
            let at = self.moment_at.unwrap_or_else(|| self.usual_moment(course));
            return Some((at.min(course.last), course.last));
        }
        let last = self.inspection()?.timeline.as_ref()?.course.last;
        Some((self.moment_at.unwrap_or(0).min(last), last))
    }

    /// The moment of the last change, or where nothing was changed the one that the engine chose.
    fn usual_moment(&self, course: &Course) -> usize {
        let made = self.view.as_ref().and_then(|view| course.made(view.position.step));
        made.or_else(|| self.chosen_by_engine()).unwrap_or(course.last)
    }

    /// The stops of the transport.
    pub fn timeline(&self) -> Timeline {
        let pipeline = if self.lacks_program() { &[][..] } else { &self.bench.pipeline };
        Timeline::new(pipeline, self.view.as_ref().map_or(&[], |view| &view.stages))
    }

    /// The next moment at which an inquiry begins or ends, or the last one before the moment that is shown.
    pub fn inquiry(&self, is_forward: bool) -> Option<usize> {
        let (at, _) = self.moment()?;
        let stops = inquiry_stops(self.inspection()?.timeline.as_ref()?);
        match is_forward {
            true => stops.into_iter().find(|&stop| stop > at),
            false => stops.into_iter().rev().find(|&stop| stop < at),
        }
    }

    /// Moves the transport, or lets the move wait until the engine has told the stops of this bench.
    pub(super) fn travel(&mut self, travel: Travel) {
        let knows_stops = self.answered.as_ref().map_or(self.view.is_some(), |look| look.bench == self.bench);
        if knows_stops {
            self.position = self.timeline().travel(self.timeline_position(), travel);
        } else {
            self.waiting.push(travel);
        }
    }

    /// Makes the moves that have waited.
    pub(super) fn make_waiting_moves(&mut self) {
        for travel in std::mem::take(&mut self.waiting) {
            self.travel(travel);
        }
    }

    /// Goes to another moment by hand.
    pub(super) fn go_to_moment(&mut self, moment: impl FnOnce(usize) -> usize) {
        if let Some((at, _)) = self.moment() {
            self.asking = false;
            self.show_moment(moment(at));
        }
    }

    /// Goes to the next moment; the moments end with the last one, or with the change that they lead to.
    pub(super) fn play_moment(&mut self) {
        if let Some((at, _)) = self.moment() {
            self.show_moment(at + 1);
        }
    }

    fn show_moment(&mut self, moment: usize) {
        self.playing = false;
        let stage = self.view.as_ref().map_or(0, |view| view.position.stage);
        if let Some(course) = self.course_here() {
            let (moment, is_last) = (moment.min(course.last), moment >= course.last);
            self.position = Position { stage, step: course.step_of(moment) };
            self.moment_at = Some(moment);
            self.asking &= !is_last;
            return;
        }
        let Some(timeline) = self.inspection().and_then(|told| told.timeline.as_ref()) else { return };
        let (last, leads_on) = (timeline.course.last, timeline.leads_to_change);
        if moment <= last || !leads_on {
            self.moment_at = Some(moment.min(last));
            self.asking &= moment <= last;
            return;
        }
        self.position = self.timeline().travel(self.timeline_position(), Travel::Forward);
        self.moment_at = None;
    }

    /// The position as the last view clamped it, so that a step from the end starts at the end.
    pub(super) fn timeline_position(&self) -> Position {
        self.timeline().clamp(self.position)
    }
}

//! Position of the transport, and the moment of a pass that has moments: of a table of values, of questions, or of a statement
//! that sinks.

use std::rc::Rc;

use warpscope_engine::message::{Course, Listen, Look, Position, Questions};

use super::{Lab, Timeline};

impl Lab {
    /// The question about the bench.
    pub fn look(&self) -> Look {
        Look { bench: self.bench.clone(), position: self.position, scope: self.scope, moment: self.moment_to_look_at() }
    }

    /// The moment that the engine is asked about. From one question to the next only the page draws something else: what
    /// matters to the engine is whether the change is still to come.
    fn moment_to_look_at(&self) -> Option<usize> {
        let is_known = self.answered.as_ref().is_some_and(|look| look.bench == self.bench);
        if self.has_own_moments() {
            return None;
        }
        match self.view.as_ref().and_then(|view| view.questions.as_ref()).filter(|_| is_known) {
            Some(course) => {
                self.walk_at.filter(|&moment| course.is_ahead(moment)).map(|moment| course.beginning_of(moment))
            }
            None => self.walk_at,
        }
    }

    /// The moments of the pass that is shown, and the one at which it is, if it asks questions.
    pub fn questions_at(&self) -> Option<(&Course, usize)> {
        let view = self.view.as_ref().filter(|_| !self.has_mistakes())?;
        let course = view.questions.as_ref()?;
        let usual = || course.made(view.position.step).unwrap_or(course.last);
        Some((course, self.walk_at.unwrap_or_else(usual).min(course.last)))
    }

    /// The questions of the pass that is shown, once the engine has told them.
    pub fn heard(&self) -> Option<&Rc<Questions>> {
        let view = self.view.as_ref()?;
        let heard = self.heard.as_ref().filter(|heard| heard.stage == view.position.stage)?;
        let is_of_this = Some(&heard.questions.course) == view.questions.as_ref() && heard.bench == self.bench;
        is_of_this.then_some(&heard.questions)
    }

    /// The question for the questions of the pass that is shown; none if it asks none, or they are known.
    pub fn listen(&self) -> Option<Listen> {
        let (_, moment) = self.questions_at()?;
        let is_known = self.heard().is_some_and(|questions| {
            moment.saturating_sub(1) >= questions.first && moment <= questions.first + questions.happened.len()
                || moment == 0 && questions.first == 0
        });
        let position = self.view.as_ref()?.position;
        (!is_known).then(|| Listen { bench: self.bench.clone(), position, moment })
    }

    /// The stops of the transport.
    pub fn timeline(&self) -> Timeline {
        let pipeline = if self.lacks_program() { &[][..] } else { &self.bench.pipeline };
        Timeline::new(pipeline, self.view.as_ref().map_or(&[], |view| &view.stages))
    }

    /// Shows the table of values or the questions at another moment, if there are any.
    pub(super) fn walk_to(&mut self, moment: impl FnOnce(usize) -> usize) {
        if self.has_own_moments() {
            self.asking = false;
            return self.go_to_own_moment(moment);
        }
        let Some(view) = self.view.clone().filter(|_| !self.has_mistakes()) else { return };
        let (course, at) = match (&view.walk, self.questions_at()) {
            // Quick hands are ahead of the engine.
            (Some(walk), _) => (&walk.course, self.walk_at.filter(|_| self.looking).unwrap_or(walk.at)),
            (None, Some((course, at))) => (course, at),
            (None, None) => return,
        };
        let moment = moment(at).min(course.last);
        self.position = Position { stage: view.position.stage, step: course.step_of(moment) };
        self.walk_at = Some(moment);
        (self.playing, self.asking) = (false, false);
    }

    /// The position as the last view clamped it, so that a step from the end starts at the end.
    pub(super) fn timeline_position(&self) -> Position {
        self.timeline().clamp(self.position)
    }
}

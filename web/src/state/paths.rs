//! The executed paths of a program and the way of a statement, as a person looks at them.

use std::rc::Rc;

use warpscope_engine::message::{JoinRow, Sinking, Survey, Surveyed};

use super::{Lab, Selection, Sheet, Travel};

/// What a person chose, and the last answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathView {
    /// An instruction of the statement that is told; none is the one that sinks next.
    pub wanted: Option<u32>,
    /// The join that is shown, unless a join's block is selected.
    pub join: Option<u32>,
    /// The path that stands out, by its row.
    pub path: Option<usize>,
    /// Frequencies that a person gave to paths, by their blocks.
    pub frequencies: Vec<(Vec<u32>, u64)>,
    /// What was asked last, and the answer.
    pub answer: Option<(Rc<Survey>, Rc<Surveyed>)>,
}

impl PathView {
    /// Another program has its own paths. The answer stays until there is another one.
    pub fn forget(&mut self) {
        *self = PathView { answer: self.answer.take(), ..PathView::default() };
    }

    /// Gives a path another frequency; the one that the profile says takes what was given back.
    pub fn give(&mut self, blocks: Vec<u32>, frequency: u64, declared: u64) {
        self.frequencies.retain(|(path, _)| *path != blocks);
        if frequency != declared {
            self.frequencies.push((blocks, frequency));
        }
        // What is told stays the same statement.
        let told = || self.answer.as_ref()?.1.sinking.as_ref()?.insts.first().copied();
        self.wanted = self.wanted.or_else(told);
    }
}

impl Lab {
    /// Whether the executed paths are shown: where they are asked for, and where a pass that goes by them is what the position
    /// is about.
    pub fn shows_paths(&self) -> bool {
        let Some(view) = self.view.as_ref().filter(|view| view.surveys && !self.has_mistakes()) else { return false };
        let is_about_paths =
            view.remark.as_ref().is_none_or(|remark| matches!(remark.pass.as_str(), "pde" | "spec-pre"));
        match self.sheet {
            Sheet::Paths => true,
            Sheet::Walk => view.walk.is_none() && view.questions.is_none() && is_about_paths,
            Sheet::Lines | Sheet::Inspected(_) => false,
        }
    }

    /// The question for the paths in the program that is shown; none if nobody looks.
    fn survey_question(&self) -> Option<Survey> {
        let position = self.view.as_ref().filter(|_| self.shows_paths() && !self.looking)?.position;
        let PathView { wanted, frequencies, .. } = &self.paths;
        let (bench, settings) = (self.bench.clone(), self.settings.clone());
        Some(Survey { bench, position, settings, wanted: *wanted, frequencies: frequencies.clone() })
    }

    /// The same if the answer is not known.
    pub fn survey(&self) -> Option<Survey> {
        self.survey_question().filter(|question| !self.knows_survey(question))
    }

    fn knows_survey(&self, question: &Survey) -> bool {
        self.paths.answer.as_ref().is_some_and(|(asked, _)| **asked == *question)
    }

    /// The paths in the program that is shown while they are looked at, once the engine has told them; perhaps of another
    /// statement, or with other frequencies than the last ones.
    pub fn surveyed(&self) -> Option<&Rc<Surveyed>> {
        let position = self.view.as_ref().filter(|_| self.shows_paths())?.position;
        let (asked, surveyed) = self.paths.answer.as_ref()?;
        (asked.bench == self.bench && asked.position == position).then_some(surveyed)
    }

    /// How the statement that is looked at sinks.
    pub fn sinking(&self) -> Option<&Sinking> {
        self.surveyed()?.sinking.as_ref()
    }

    /// The join that is shown: the selected one, or the chosen one, or the first that was weighed.
    pub fn join_shown(&self) -> Option<&JoinRow> {
        let joins = &self.sinking()?.joins;
        let selected =
            self.selected.as_ref().and_then(|Selection { block, .. }| joins.iter().find(|join| join.name == *block));
        let chosen = || joins.iter().find(|join| Some(join.block) == self.paths.join);
        let weighed = || joins.iter().find(|join| !join.line.is_empty());
        selected.or_else(chosen).or_else(weighed).or_else(|| joins.first())
    }

    /// The moment of the statement's way that is shown, and the last one.
    pub fn sink_at(&self) -> Option<(usize, usize)> {
        let last = self.sinking()?.moments.len().checked_sub(1)?;
        Some((self.walk_at.unwrap_or(0).min(last), last))
    }

    /// Whether the next moment may come: the answer is that to the last question.
    pub fn is_surveyed(&self) -> bool {
        self.survey_question().is_some_and(|question| self.knows_survey(&question))
    }

    /// Goes to another moment of the way. Behind the last one the statement that sinks next has sunk.
    pub(super) fn sink_to(&mut self, moment: impl FnOnce(usize) -> usize) {
        let Some((at, last)) = self.sink_at() else { return };
        let moment = moment(at);
        let is_next = self.surveyed().zip(self.sinking()).is_some_and(|(surveyed, sinking)| {
            self.paths.frequencies.is_empty() && surveyed.next.is_some_and(|next| sinking.insts.contains(&next))
        });
        self.playing = false;
        if moment <= last || !is_next {
            self.walk_at = Some(moment.min(last));
            self.asking &= moment <= last;
            return;
        }
        let timeline = self.timeline();
        self.position = timeline.travel(self.timeline_position(), Travel::Forward);
        self.walk_at = None;
    }
}

//! What a pass shows, and what a person has chosen in it.

use std::rc::Rc;

use warpscope_engine::message::Inspect;
use warpscope_engine::message::inspect::Inspection;

use super::answers::Answered;
use super::{Lab, Sheet};

impl Lab {
    /// Which of the view's inspections is looked at.
    pub fn which_inspection(&self) -> Option<usize> {
        let Sheet::Inspected(which) = self.sheet else { return None };
        let count = self.view.as_ref().map_or(0, |view| view.inspected.len());
        Some(which).filter(|which| *which < count && !self.has_mistakes())
    }

    /// What the pass shows in the program that is shown, once the engine has told it; perhaps with an older choice.
    pub fn inspection(&self) -> Option<&Inspection> {
        self.answered_here().map(|answered| &*answered.inspection)
    }

    fn answered_here(&self) -> Option<&Answered> {
        let (which, position) = (self.which_inspection()?, self.view.as_ref()?.position);
        let answered = self.inspected.as_deref()?;
        let asked = &answered.asked;
        (asked.bench == self.bench && asked.position == position && asked.which == which).then_some(answered)
    }

    /// The question for what the pass shows; none if nobody looks, or the answer is known.
    pub fn inspect(&self) -> Option<Inspect> {
        let which = self.which_inspection().filter(|_| !self.looking)?;
        let position = self.view.as_ref()?.position;
        let inspect = Inspect { bench: self.bench.clone(), position, which, choices: self.choices.clone() };
        let is_known = self.inspected.as_ref().is_some_and(|answered| answered.asked == inspect);
        (!is_known).then_some(inspect)
    }

    /// The same as [`Lab::inspection`], where it is about what has been chosen: its marks belong on graph and text.
    pub fn marked(&self) -> Option<&Rc<Inspection>> {
        let answered = self.answered_here()?;
        let has_marks = !answered.inspection.marks.is_empty();
        (has_marks && answered.asked.choices == self.choices).then_some(&answered.inspection)
    }
}

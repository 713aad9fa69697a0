//! The inspection of a pass, the choices that a person has made in it, and the moment at which it is shown.

use std::rc::Rc;

use warpscope_engine::message::inspect::{Anchor, Entry, Inspection, Timeline};
use warpscope_engine::message::{Inspect, Position};

use super::answers::Answered;
use super::{Lab, Selection, Sheet, Travel};

impl Lab {
    /// Which of the view's inspections is looked at: the chosen one, or one with moments of its own where a pass like it is what
    /// the position is about.
    pub fn which_inspection(&self) -> Option<usize> {
        let view = self.view.as_ref().filter(|_| !self.has_mistakes())?;
        match self.sheet {
            Sheet::Inspected(which) => Some(which).filter(|which| *which < view.inspected.len()),
            Sheet::Walk if view.walk.is_none() && view.questions.is_none() => {
                let is_about = |title: &str| {
                    let of_pass = |pass: &str| self.titles_of(pass).any(|own| own == title);
                    view.remark.as_ref().is_none_or(|remark| of_pass(&remark.pass))
                };
                view.inspected.iter().position(|shown| shown.has_moments && is_about(&shown.title))
            }
            Sheet::Walk | Sheet::Lines => None,
        }
    }

    /// The headings of what a pass shows.
    fn titles_of<'a>(&'a self, pass: &'a str) -> impl Iterator<Item = &'a str> {
        let passes = self.catalogue.iter().flat_map(|catalogue| &catalogue.passes);
        passes.filter(move |info| info.name == pass).filter_map(|info| info.shows.as_deref())
    }

    /// The inspection of the program that is shown, once the engine has answered; perhaps with an older choice.
    pub fn inspection(&self) -> Option<&Rc<Inspection>> {
        self.answered_here().map(|answered| &answered.inspection)
    }

    fn answered_here(&self) -> Option<&Answered> {
        let (which, position) = (self.which_inspection()?, self.view.as_ref()?.position);
        let answered = self.inspected.as_deref()?;
        let asked = &answered.asked;
        (asked.bench == self.bench && asked.position == position && asked.which == which).then_some(answered)
    }

    /// The question for what the pass shows; none if nobody looks.
    fn inspect_question(&self) -> Option<Inspect> {
        let which = self.which_inspection().filter(|_| !self.looking)?;
        let position = self.view.as_ref()?.position;
        let (bench, settings) = (self.bench.clone(), self.settings.clone());
        Some(Inspect { bench, position, which, settings, choices: self.choices.clone() })
    }

    fn knows_answer(&self, question: &Inspect) -> bool {
        self.inspected.as_ref().is_some_and(|answered| answered.asked == *question)
    }

    /// The question for what the pass shows, if the answer is not known.
    pub fn inspect(&self) -> Option<Inspect> {
        self.inspect_question().filter(|question| !self.knows_answer(question))
    }

    /// Whether the answer is that to the last question.
    pub fn is_inspected(&self) -> bool {
        self.inspect_question().is_some_and(|question| self.knows_answer(&question))
    }

    /// The inspection if it is about what has been chosen: its marks belong on graph and text.
    pub fn marked(&self) -> Option<&Rc<Inspection>> {
        let answered = self.answered_here()?;
        let has_marks = !answered.inspection.marks.is_empty();
        (has_marks && answered.asked.choices == self.choices).then_some(&answered.inspection)
    }

    /// Chooses a value, or takes a choice back where the value is empty or what it is without a choice.
    pub(super) fn choose(&mut self, key: &str, value: &str) {
        let inspection = self.inspection().cloned();
        let choices = inspection.as_ref().map_or(&[][..], |inspection| &inspection.choices);
        if let Some(place) = choices.iter().position(|choice| choice.key == key) {
            // Later choices depend on it, and on the first all that happens.
            choices[place + 1..].iter().for_each(|later| _ = self.choices.remove(&later.key));
            if place == 0 {
                (self.walk_at, self.asking) = (None, false);
            }
        }
        let entry = inspection.as_ref().and_then(|inspection| entries(inspection).find(|entry| entry.key == key));
        // Another number is a question about what is shown.
        if let (Some(_), Some(first)) = (entry, choices.first().filter(|first| !first.value.is_empty())) {
            self.choices.insert(first.key.clone(), first.value.clone());
        }
        if value.is_empty() || entry.is_some_and(|entry| entry.default.to_string() == value) {
            self.choices.remove(key);
        } else {
            self.choices.insert(key.to_owned(), value.to_owned());
        }
    }

    /// Chooses what a selected instruction or block stands for in what the pass shows.
    pub(super) fn choose_selected(&mut self, selection: &Selection) {
        let Some(inspection) = self.inspection().cloned() else { return };
        let blocks = self.view.iter().flat_map(|view| &view.graph.blocks);
        let block = blocks.into_iter().find(|block| block.name == selection.block).map(|block| block.id);
        for choice in &inspection.choices {
            let anchors = || choice.options.iter().filter_map(|option| option.anchor.as_ref());
            let is_of_insts = anchors().any(|anchor| matches!(anchor, Anchor::Inst(_)));
            let chosen = match (selection.inst, block) {
                (Some(inst), _) if is_of_insts => Some(inst.to_string()),
                (_, Some(block)) => anchors().any(|anchor| *anchor == Anchor::Block(block)).then(|| block.to_string()),
                _ => None,
            };
            if let Some(value) = chosen {
                self.choose(&choice.key, &value);
            }
        }
    }

    /// Whether a person has entered other numbers.
    pub fn has_entries(&self) -> bool {
        self.inspection().is_some_and(|told| entries(told).any(|entry| self.choices.contains_key(&entry.key)))
    }

    /// Takes back the numbers that a person has entered.
    pub(super) fn forget_entries(&mut self) {
        let Some(inspection) = self.inspection().cloned() else { return };
        entries(&inspection).for_each(|entry| _ = self.choices.remove(&entry.key));
    }

    /// The strand that stands out.
    pub fn chosen_strand(&self) -> Option<usize> {
        let told = self.inspection()?;
        told.tables.iter().find_map(|table| {
            let chosen = self.choices.get(&table.choice)?;
            table.rows.iter().find(|row| row.key == *chosen)?.strand
        })
    }

    /// The moments of what is shown, where it has moments of its own.
    pub fn own_timeline(&self) -> Option<&Timeline> {
        self.inspection()?.timeline.as_ref()
    }

    /// The one of these moments that is shown, and the last one.
    pub fn own_moment(&self) -> Option<(usize, usize)> {
        let last = self.own_timeline()?.course.last;
        Some((self.walk_at.unwrap_or(0).min(last), last))
    }

    /// Whether moments belong to what is shown, and not to how the pass came here.
    pub fn has_own_moments(&self) -> bool {
        let shown = self.which_inspection().zip(self.view.as_ref());
        shown.is_some_and(|(which, view)| view.inspected[which].has_moments)
    }

    /// Goes to another of these moments. After the last one comes the change that they lead to.
    pub(super) fn go_to_own_moment(&mut self, moment: impl FnOnce(usize) -> usize) {
        let Some((at, last)) = self.own_moment() else { return };
        let moment = moment(at);
        let leads_on = self.own_timeline().is_some_and(|timeline| timeline.leads_to_change);
        self.playing = false;
        if moment <= last || !leads_on {
            self.walk_at = Some(moment.min(last));
            self.asking &= moment <= last;
            return;
        }
        self.position = self.next_position();
        self.walk_at = None;
    }

    fn next_position(&self) -> Position {
        self.timeline().travel(self.timeline_position(), Travel::Forward)
    }
}

/// The numbers that may be entered.
fn entries(inspection: &Inspection) -> impl Iterator<Item = &Entry> {
    let cells = inspection.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    cells.filter_map(|cell| cell.entry.as_ref())
}

//! The inspection of a pass, the choices that a person has made in it, and the moment at which it is shown.

use std::rc::Rc;

use warpscope_engine::message::inspect::{Anchor, Entry, Inspection, Timeline};
use warpscope_engine::message::{Inspect, InspectedPass};

use super::answers::Answered;
use super::{Lab, Selection, Sheet};

impl Lab {
    /// The inspection that is looked at, by its place in the view's list: the chosen one, or one with moments. Moments that
    /// led to the position are looked at on the graph even while the compared texts are beside it.
    pub fn which_inspection(&self) -> Option<usize> {
        let view = self.view.as_ref().filter(|_| !self.has_mistakes())?;
        let led_here = || view.inspected.iter().position(|shown| shown.course.is_some());
        // What comes next is shown where a pass like it is what the position is about.
        let comes_next = || {
            let is_about = |title: &str| {
                let of_pass = |pass: &str| self.titles_of(pass).any(|own| own == title);
                view.remark.as_ref().is_none_or(|remark| of_pass(&remark.pass))
            };
            view.inspected.iter().position(|shown| shown.has_moments && is_about(&shown.title))
        };
        let usual = || led_here().or_else(comes_next);
        match &self.sheet {
            Sheet::Inspected(title) => view.inspected.iter().position(|shown| shown.title == *title).or_else(usual),
            Sheet::Usual => usual(),
            Sheet::Lines => led_here(),
        }
    }

    /// That inspection, as the view lists it.
    pub(super) fn inspected_pass(&self) -> Option<&InspectedPass> {
        self.view.as_ref()?.inspected.get(self.which_inspection()?)
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
        let (pass, position) = (self.inspected_pass()?, self.view.as_ref()?.position);
        let Answered { asked, inspection } = self.inspected.as_deref()?;
        let is_here = match &pass.course {
            // The moments are the same at all positions that they lead to.
            Some(course) => {
                let told = inspection.timeline.as_ref().map(|timeline| &timeline.course);
                asked.position.stage == position.stage && told == Some(course)
            }
            None => asked.position == position,
        };
        let is_it = is_here && asked.bench == self.bench && asked.title == pass.title;
        self.inspected.as_deref().filter(|_| is_it)
    }

    /// The moment of the answer, if nobody asked for one.
    pub(super) fn chosen_by_engine(&self) -> Option<usize> {
        let answered = self.answered_here().filter(|answered| answered.asked.moment.is_none())?;
        answered.inspection.timeline.as_ref().map(|timeline| timeline.at)
    }

    /// The question for what the pass shows; none if nobody looks.
    fn inspect_question(&self) -> Option<Inspect> {
        let pass = self.inspected_pass().filter(|_| !self.looking)?;
        let (position, moment) = (self.view.as_ref()?.position, self.moment_at.filter(|_| pass.course.is_some()));
        let (bench, title, settings) = (self.bench.clone(), pass.title.clone(), self.settings.clone());
        Some(Inspect { bench, position, title, moment, settings, choices: self.choices.clone() })
    }

    fn knows_answer(&self, question: &Inspect) -> bool {
        self.inspected.as_ref().is_some_and(|answered| answered.asked == *question) || self.tells_of(question)
    }

    /// Whether the last answer, which was about another moment, tells of that of the question as well.
    fn tells_of(&self, question: &Inspect) -> bool {
        let Some((Answered { asked, inspection }, (at, _))) = self.answered_here().zip(self.moment()) else {
            return false;
        };
        let is_told = |timeline: &Timeline| timeline.told(at).is_some() && (at > 0 || timeline.first == 0);
        self.course_here().is_some()
            && !inspection.is_momentary
            && inspection.timeline.as_ref().is_some_and(is_told)
            && (&asked.settings, &asked.choices) == (&question.settings, &question.choices)
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
            if !choices[place].is_setting {
                // Later choices depend on it, and on the first all that happens.
                let later = choices[place + 1..].iter().filter(|later| !later.is_setting);
                later.for_each(|later| _ = self.choices.remove(&later.key));
            }
            if place == 0 || choices[place].is_setting {
                (self.moment_at, self.asking) = (None, false);
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

    /// Whether a choice of the last inspection is a setting.
    pub(super) fn is_setting(&self, key: &str) -> bool {
        let choices = self.inspected.iter().flat_map(|answered| &answered.inspection.choices);
        choices.into_iter().any(|choice| choice.is_setting && choice.key == key)
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

    /// Whether the moments of what is shown are about what comes next.
    pub fn has_own_moments(&self) -> bool {
        self.inspected_pass().is_some_and(|pass| pass.has_moments && pass.course.is_none())
    }
}

/// The numbers that may be entered.
fn entries(inspection: &Inspection) -> impl Iterator<Item = &Entry> {
    let cells = inspection.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    cells.filter_map(|cell| cell.entry.as_ref())
}

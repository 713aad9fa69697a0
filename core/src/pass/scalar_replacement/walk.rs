//! The walk of a pass over its loads or pure instructions: ask about each one, and carry out the
//! answers.
//!
//! ```text
//! available?               read it from a temporary, after insertions
//! all elements available?  put the vector together
//! available anywhere?      insert outside the region, if that pays (`cost=machine`)
//! can it move up?          move it to the ends of blocks
//! then the same for everything that was inserted, and once more for guarded loads
//! ```
//!
//! 1. Ask about an occurrence, in the order of the table.
//! 2. Ask about each inserted occurrence, at most [`MAX_FOLLOWED`] deep: from where it is now, it
//!    may be available or move further.
//! 3. Ask again about occurrences whose removal a paid bill counts on, and in the end about those
//!    with guards, which insertions for all lanes may serve.
//!
//! Sound because each change follows an answer that was given after all changes before it.
//!
//! Cost: that of the questions, which have a budget; the remark `budget` reports that it was used
//! up.

use alloc::string::String;
use alloc::vec::Vec;

use alloc::format;
use cranelift_entity::SecondaryMap;

use super::cost::{Bill, Costs, CountedOn};
use super::refusals::refusal_remark;
use super::{front, rewriting::Rewriting};
use crate::ir::{Block, Function};
use crate::query::{
    Crossing, Faulting, Form, Hoist, InsertionPoint, Occurrence, OccurrenceData, QueryEngine, Refusal, Rules, Support,
};
use crate::trace::{NoTrace, Remark};
use crate::view::View;

/// Insertions that follow each other more often than this are not asked about.
const MAX_FOLLOWED: u32 = 8;

pub(super) struct Walk<'m> {
    /// The questions and their answers.
    pub engine: QueryEngine<'m>,
    rewriting: Rewriting,
    rules: Rules,
    /// The prices that decide about moves, and about insertions outside the region.
    costs: Option<Costs>,
    /// Has the walk asked about the occurrence?
    asked: SecondaryMap<Occurrence, bool>,
    /// Occurrences whose removal a paid bill counts on.
    counted_on: Vec<Occurrence>,
    /// Occurrences with a guard that the walk has asked about.
    guarded: Vec<Occurrence>,
    /// Moved occurrences that become available by insertions on a paid bill.
    paid_for: Vec<(Occurrence, Bill)>,
    has_reported_budget: bool,
}

impl<'m> Walk<'m> {
    /// The walk before the first question.
    pub fn new(engine: QueryEngine<'m>, rules: Rules, costs: Option<Costs>) -> Walk<'m> {
        Walk {
            engine,
            rewriting: Rewriting::default(),
            rules,
            costs,
            asked: SecondaryMap::new(),
            counted_on: Vec::new(),
            guarded: Vec::new(),
            paid_for: Vec::new(),
            has_reported_budget: false,
        }
    }

    /// Asks about one occurrence, and about all that its answer makes available. An occurrence that
    /// is alone, without relatives and outside loops, has nothing to be available from.
    pub fn visit(&mut self, view: &mut View<'_>, occurrence: Occurrence, is_alone: bool) {
        self.engine.forget_old_answers();
        self.ask(view, occurrence, is_alone);
        self.asked[occurrence] = true;
        self.ask_again(view);
        self.note_guarded(occurrence);
    }

    fn ask(&mut self, view: &mut View<'_>, occurrence: Occurrence, is_alone: bool) {
        if !is_alone {
            match self.available(view, occurrence, true) {
                Ok(support) => {
                    let inserted = self.rewriting.replace(view, &mut self.engine, occurrence, &support);
                    self.follow(view, inserted);
                    return;
                }
                Err(_) if self.put_together(view, occurrence) => return,
                Err(refusal) => match self.insert_outside(view, occurrence, true) {
                    Some(inserted) => {
                        self.follow(view, inserted);
                        return;
                    }
                    None => self.report_refusal(view, occurrence, refusal),
                },
            }
        }
        if self.rules.crossing != Crossing::Nothing {
            let moved = self.move_up(view, occurrence);
            self.follow(view, moved);
        }
    }

    /// Asks again about occurrences that were asked about before a bill counted on their removal:
    /// the changes since then may have made them available.
    fn ask_again(&mut self, view: &mut View<'_>) {
        while let Some(other) = self.counted_on.pop() {
            let is_left = self.asked[other] && self.engine.snapshot.is_made(other);
            if is_left && self.engine.available(view.func(), &mut NoTrace, other).is_ok() {
                self.ask(view, other, false);
            }
        }
    }

    fn note_guarded(&mut self, occurrence: Occurrence) {
        let snapshot = &self.engine.snapshot;
        if snapshot.forms.expression(snapshot.occurrence(occurrence).form).guard.is_some() {
            self.guarded.push(occurrence);
        }
    }

    /// Asks again about occurrences with a guard: loads that were inserted later for all lanes
    /// serve theirs, too.
    pub fn ask_guarded_again(&mut self, view: &mut View<'_>) {
        for _ in 0..MAX_FOLLOWED {
            let mut is_done = true;
            for occurrence in core::mem::take(&mut self.guarded) {
                if !self.engine.snapshot.is_made(occurrence) {
                    continue;
                }
                let is_available = self.engine.available(view.func(), &mut NoTrace, occurrence).is_ok();
                if is_available {
                    self.ask(view, occurrence, false);
                } else if !self.put_together(view, occurrence) {
                    self.guarded.push(occurrence);
                    continue;
                }
                is_done = false;
            }
            if is_done {
                break;
            }
        }
    }

    /// Is an occurrence available? Where nothing but a block before the only entry is missing,
    /// creates it.
    fn available(&mut self, view: &mut View<'_>, occurrence: Occurrence, is_traced: bool) -> Result<Support, Refusal> {
        loop {
            let (func, trace) = view.func_and_trace();
            let found = match is_traced {
                true => self.engine.available(func, trace, occurrence),
                false => self.engine.available(func, &mut NoTrace, occurrence),
            };
            match found {
                Err(Refusal::NoPlace(_, first)) if view.func().entries.is_empty() => {
                    let front = front::create_before_entry(view, first);
                    self.engine.add_before_entry(front, first);
                    if let Some(costs) = &mut self.costs {
                        costs.count_again(view);
                    }
                }
                found => return found,
            }
        }
    }

    /// Puts a vector together from its elements, if all of them are available.
    fn put_together(&mut self, view: &mut View<'_>, occurrence: Occurrence) -> bool {
        let (func, trace) = view.func_and_trace();
        let Some(elements) = self.engine.available_elements(func, trace, occurrence) else { return false };
        self.rewriting.put_together(view, &mut self.engine, occurrence, &elements);
        true
    }

    /// Makes an occurrence available by insertions outside the region as well, if they cost less
    /// than they save. Returns the insertions. A success is traced on demand.
    fn insert_outside(
        &mut self,
        view: &mut View<'_>,
        occurrence: Occurrence,
        is_traced: bool,
    ) -> Option<Vec<Occurrence>> {
        let costs = self.costs.as_ref()?;
        let mut support = self.engine.available_anywhere(view.func(), &mut NoTrace, occurrence).ok()?;
        let paid = self.paid_for.iter().find(|(paid, _)| *paid == occurrence).map(|&(_, bill)| bill);
        let (bill, counted_on) = match paid {
            Some(bill) => (bill, CountedOn::default()),
            None => costs.of_insertion(view.func(), &mut self.engine, &self.rewriting, occurrence, &support)?,
        };
        if paid.is_none() && !bill.pays() {
            let &(point, form) = support.insertions.first()?;
            self.report_bill(
                view,
                occurrence,
                bill,
                |func, what| format!("did not insert `{what}` {}", point.text(func)),
                form,
            );
            return None;
        }
        if is_traced {
            let (func, trace) = view.func_and_trace();
            support = self.engine.available_anywhere(func, trace, occurrence).unwrap_or(support);
        }
        self.rewriting.bill = Some(bill);
        let inserted = self.rewriting.replace(view, &mut self.engine, occurrence, &support);
        self.rewriting.bill = None;
        self.counted_on.extend(counted_on.going);
        Some(inserted)
    }

    /// Moves an occurrence up before branches, if it can move. Returns the inserted occurrences.
    fn move_up(&mut self, view: &mut View<'_>, occurrence: Occurrence) -> Vec<Occurrence> {
        let (func, trace) = view.func_and_trace();
        let hoist = self.engine.hoist(func, trace, occurrence);
        if self.costs.is_none() {
            return hoist.map_or(Vec::new(), |hoist| self.move_to(view, occurrence, &hoist));
        }
        let boldly = self.engine.hoist_across_all_branches(view.func(), occurrence);
        let boldly = boldly.filter(|boldly| hoist.as_ref().is_none_or(|hoist| hoist.blocks != boldly.blocks));
        for hoist in hoist.into_iter().chain(boldly) {
            let Some(costs) = &self.costs else { break };
            let is_left = self.engine.snapshot.is_made(occurrence);
            if !is_left || hoist.blocks.contains(&self.engine.snapshot.occurrence(occurrence).block) {
                continue;
            }
            let offer = costs.of_hoist(view.func(), &mut self.engine, &self.rewriting, occurrence, &hoist);
            let (bill, counted_on) = offer.unzip();
            if let Some(bill) = bill.filter(|bill| !bill.pays()) {
                let block = hoist.blocks[0];
                self.report_bill(
                    view,
                    occurrence,
                    bill,
                    |func, what| format!("did not move `{what}` to the end of `{}`", func.blocks[block].name),
                    hoist.form,
                );
                continue;
            }
            self.rewriting.bill = bill;
            let moved = self.move_to(view, occurrence, &hoist);
            self.rewriting.bill = None;
            if !moved.is_empty() {
                let CountedOn { going, insertions_above } = counted_on.unwrap_or_default();
                self.counted_on.extend(going);
                for (&moved, bill) in moved.iter().zip(core::iter::repeat(bill)) {
                    let block = self.engine.snapshot.occurrence(moved).block;
                    self.paid_for.extend(bill.filter(|_| insertions_above.contains(&block)).map(|bill| (moved, bill)));
                }
                return moved;
            }
        }
        Vec::new()
    }

    /// Reports that a change would not pay.
    fn report_bill(
        &self,
        view: &mut View<'_>,
        occurrence: Occurrence,
        bill: Bill,
        refused: impl FnOnce(&Function, &str) -> String,
        form: Form,
    ) {
        let snapshot = &self.engine.snapshot;
        let &OccurrenceData { inst, block, .. } = snapshot.occurrence(occurrence);
        view.miss(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let message = format!("{}: {}", refused(func, &what), bill.text());
            let remark = bill.on(Remark::missed("cost", block, message));
            inst.map_or(remark.clone(), |inst| remark.at(inst))
        });
    }

    /// Moves an occurrence up to the ends of blocks, if every path to it comes from there. Returns
    /// the inserted occurrences.
    fn move_to(&mut self, view: &mut View<'_>, occurrence: Occurrence, hoist: &Hoist) -> Vec<Occurrence> {
        let own = self.engine.snapshot.occurrence(occurrence).block;
        let snapshot = &self.engine.snapshot;
        let is_useless = |&block: &Block| block == own || snapshot.reads_unassigned(view.func(), block, hoist.form);
        if hoist.blocks.iter().any(is_useless) {
            return Vec::new();
        }
        let mut may_fault: Option<Block> = None;
        // Several computations may prove each other's addresses, so that they are examined once all
        // are inserted.
        let is_examined_later = hoist.blocks.len() > 1 && self.rules.faulting == Faulting::Spec;
        for &block in hoist.blocks.iter().filter(|_| !is_examined_later) {
            if !self.engine.is_good_address(view.func(), InsertionPoint::End(block), hoist.form) {
                may_fault = Some(block);
            }
        }
        if let Some(block) = may_fault.filter(|_| self.rules.faulting != Faulting::Spec) {
            let is_guarded = self.rules.faulting == Faulting::Guarded
                && self.rewriting.move_up_guarded(view, &mut self.engine, occurrence, hoist);
            if !is_guarded {
                self.report_refusal(view, occurrence, Refusal::MayFault(hoist.form, InsertionPoint::End(block)));
            }
            return Vec::new();
        }
        let inserted: Vec<Occurrence> =
            hoist.blocks.iter().map(|&block| self.engine.snapshot.insert(view.func(), block, hoist.form)).collect();
        let Some(support) = self.engine.support_of_move(view.func(), occurrence, hoist) else {
            inserted.into_iter().for_each(|inserted| self.engine.withdraw(inserted));
            let &OccurrenceData { inst, block, .. } = self.engine.snapshot.occurrence(occurrence);
            view.miss(|_| {
                let message = String::from("not moved: some path to it does not pass its new place");
                let remark = Remark::missed("speculate", block, message);
                inst.map_or(remark.clone(), |inst| remark.at(inst))
            });
            return Vec::new();
        };
        // A single computation proves nothing about paths from itself: a path that returns to it
        // returns to the question as well. Several prove each other's addresses, as long as they
        // are not marked themselves.
        if let ([inserted], true) = (inserted.as_slice(), may_fault.is_some()) {
            self.engine.snapshot.mark(*inserted);
        }
        let mut is_settled = inserted.len() == 1;
        while !is_settled {
            is_settled = true;
            for &inserted in &inserted {
                let &OccurrenceData { block, form, .. } = self.engine.snapshot.occurrence(inserted);
                if !self.engine.snapshot.is_marked(inserted)
                    && !self.engine.is_good_address(view.func(), InsertionPoint::End(block), form)
                {
                    self.engine.snapshot.mark(inserted);
                    is_settled = false;
                }
            }
        }
        for &inserted in &inserted {
            self.rewriting.hoist(view, &mut self.engine, occurrence, inserted);
        }
        let on_edges = self.rewriting.replace(view, &mut self.engine, occurrence, &support);
        inserted.into_iter().chain(on_edges).collect()
    }

    /// Asks about inserted occurrences: from where they are now, they may be available, or move
    /// further up. Only changes are traced.
    fn follow(&mut self, view: &mut View<'_>, inserted: Vec<Occurrence>) {
        let mut pending: Vec<(Occurrence, u32)> = inserted.into_iter().rev().map(|inserted| (inserted, 1)).collect();
        while let Some((inserted, depth)) = pending.pop() {
            if depth > MAX_FOLLOWED {
                self.report_refusal(view, inserted, Refusal::Budget);
                return;
            }
            self.note_guarded(inserted);
            let found = self.available(view, inserted, false);
            if found.is_err() && self.put_together(view, inserted) {
                continue;
            }
            let outside = if found.is_err() { self.insert_outside(view, inserted, false) } else { None };
            if let (Err(refusal @ Refusal::Divergent(..)), None) = (&found, &outside) {
                self.report_refusal(view, inserted, *refusal);
            }
            let next = if let Ok(support) = found {
                self.rewriting.replace(view, &mut self.engine, inserted, &support)
            } else if let Some(next) = outside {
                next
            } else if self.rules.crossing == Crossing::Nothing {
                Vec::new()
            } else if self.costs.is_some() {
                self.move_up(view, inserted)
            } else if let Some(hoist) = self.engine.hoist(view.func(), &mut NoTrace, inserted) {
                if view.is_traced() {
                    let (func, trace) = view.func_and_trace();
                    self.engine.trace_hoist(func, trace, inserted);
                }
                self.move_to(view, inserted, &hoist)
            } else {
                Vec::new()
            };
            pending.extend(next.into_iter().rev().map(|inserted| (inserted, depth + 1)));
        }
    }

    fn report_refusal(&mut self, view: &mut View<'_>, occurrence: Occurrence, refusal: Refusal) {
        if refusal == Refusal::NotThere || (refusal == Refusal::Budget && self.has_reported_budget) {
            return;
        }
        self.has_reported_budget |= refusal == Refusal::Budget;
        let snapshot = &self.engine.snapshot;
        let &OccurrenceData { inst, block, form, .. } = snapshot.occurrence(occurrence);
        view.miss(|func| {
            let what = snapshot.forms.text(snapshot.module, func, refusal.form().unwrap_or(form));
            let remark = refusal_remark(func, block, &what, refusal);
            inst.map_or(remark.clone(), |inst| remark.at(inst))
        });
    }
}

//! Rewrites of a function: values are put into temporaries, and read from there.
//!
//! ```text
//! a source of others                     y = ld A[i + 1]      ──▶    t1 = ld A[i + 1];  y = t1
//! an insertion                           br n7                ──▶    t1 = ld A[i + 1];  br n7
//! a definition that converts the form    i = i + 1            ──▶    t2 = t1;  i = i + 1
//! an available occurrence                x = ld A[i]          ──▶    x = t2
//! ```
//!
//! 1. Each form has its own temporaries, one for each destination.
//! 2. An occurrence that is a source computes into them; its own registers take copies.
//! 3. At a definition that converts several forms, the temporaries take over at once: copies are
//!    ordered so that each reads its source before that is overwritten; where no such order is
//!    left, the source is saved first and copied last.
//! 4. An available occurrence is replaced by copies of the temporaries.
//!
//! Sound because a temporary, wherever it is written, gets the value that its form has there: an
//! additional write does no harm.
//!
//! Cost: O(support) for each rewrite.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use super::copies::{compute, copy, copy_after, copy_before};
use super::cost::Bill;
use super::guarded::Guarded;
use crate::compact_sort::CompactSort;
use crate::edit::Rewrite;
use crate::ir::{Block, Function, Inst, Reg};
use crate::query::{
    Conversion, Element, Form, Forms, InsertionPoint, Occurrence, OccurrenceData, QueryEngine, Snapshot, Support,
};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;

pub(super) type Regs = SmallVec<[Reg; 4]>;

/// All rewrites so far.
#[derive(Default)]
pub(super) struct Rewriting {
    /// The temporaries of each form; empty until it needs some.
    temporaries: SecondaryMap<Form, Regs>,
    /// The holder of the value of each rewritten occurrence, and the last instruction of the
    /// rewrite.
    pub holders: SecondaryMap<Occurrence, Option<(Holder, Inst)>>,
    /// Further forms whose temporaries take an occurrence's value.
    kept: HashSet<(Occurrence, Form)>,
    inserted: HashSet<(Block, Form)>,
    /// The block that was created on each edge.
    middles: HashMap<(Block, Block), Block>,
    /// Loads that have moved up under a condition.
    pub guarded: HashMap<Form, Vec<Guarded>>,
    /// The copies before each definition, in order.
    shifts: HashMap<Inst, Vec<Shift>>,
    /// Costs and savings of the current rewrite.
    pub bill: Option<Bill>,
}

/// The holder of a value.
#[derive(Clone)]
pub(super) enum Holder {
    /// The temporaries of this form.
    Form(Form),
    /// These registers.
    Regs(Box<Regs>),
}

/// Copies of one form's temporaries to another's.
struct Shift {
    writes: Regs,
    reads: Regs,
    first: Inst,
}

impl Rewriting {
    /// Has a form been inserted at that point?
    pub fn is_inserted(&self, point: InsertionPoint, form: Form) -> bool {
        let known = match point {
            InsertionPoint::End(block) => Some(block),
            InsertionPoint::Edge(from, to) => self.middles.get(&(from, to)).copied(),
            InsertionPoint::BeforeEntry(_) => None,
        };
        known.is_some_and(|block| self.inserted.contains(&(block, form)))
    }

    /// Are there copies to a form's temporaries at a definition?
    pub fn is_shifted(&self, inst: Inst, below: Form) -> bool {
        let writes = self.temporaries.get(below).filter(|writes| !writes.is_empty());
        let shifts = self.shifts.get(&inst).map_or(&[][..], |shifts| shifts);
        writes.is_some_and(|writes| shifts.iter().any(|shift| shift.writes == *writes))
    }

    /// Adds costs and savings to a remark.
    pub fn billed(&self, mut remark: Remark) -> Remark {
        let Some(bill) = self.bill else { return remark };
        remark.message = format!("{}; {}", remark.message, bill.text());
        bill.on(remark)
    }

    /// Replaces an available occurrence by copies of its form's temporaries. Returns the insertions
    /// that this needed.
    pub fn replace(
        &mut self,
        view: &mut View<'_>,
        engine: &mut QueryEngine<'_>,
        occurrence: Occurrence,
        support: &Support,
    ) -> Vec<Occurrence> {
        let &OccurrenceData { inst, block, form, .. } = engine.snapshot.occurrence(occurrence);
        let Some(inst) = inst else { return Vec::new() };
        let mut inserted = Vec::new();
        for &(point, form) in &support.insertions {
            inserted.extend(self.insert_at(view, engine, point, form));
        }
        let module = view.module();
        let shifted = support.conversions.len() as u64;
        let snapshot = &engine.snapshot;
        let forms = &snapshot.forms;
        let mut rewrite = view.rewrite(|func| {
            let insertions: Vec<Block> = support.insertions.iter().map(|(point, _)| point.block()).collect();
            let from: Vec<Block> =
                support.sources.iter().map(|&(source, _)| snapshot.occurrence(source).block).collect();
            let text = instruction_text(module, func, inst);
            let (from_where, rounds) = (listed(func, &from), rounds(shifted));
            let message = format!("replaced `{text}`: its value is available from {from_where}{rounds}");
            Remark::applied("replace", block, message)
                .at(inst)
                .with("from", Fact::Blocks(from))
                .with("insertions", Fact::Blocks(insertions))
                .with("shifts", Fact::Count(shifted))
        });
        for &(source, source_form) in &support.sources {
            if source != occurrence {
                self.keep(&mut rewrite, snapshot, source, source_form);
            }
        }
        for &step in &support.conversions {
            self.shift(&mut rewrite, forms, step);
        }
        // A source computes into the temporaries already, and copies to its own registers follow
        // it.
        let is_there = matches!(self.holders[occurrence], Some((Holder::Form(own), _)) if own == form);
        if !is_there {
            let temporaries = self.temporaries(&mut rewrite, forms, form);
            let guard = rewrite.func().insts[inst].guard;
            let dsts: Regs = rewrite.func().insts[inst].dsts.iter().copied().collect();
            let (_, last) = copy_before(&mut rewrite, inst, &dsts, &temporaries, guard);
            self.holders[occurrence] = Some((Holder::Form(form), last));
        }
        rewrite.remove(inst);
        for &(source, source_form) in &support.sources {
            if source == occurrence {
                self.keep(&mut rewrite, snapshot, source, source_form);
            }
        }
        rewrite.finish();
        engine.snapshot.replace(occurrence);
        inserted
    }

    /// Replaces a vector whose elements are available by copies of their temporaries.
    pub fn put_together(
        &mut self,
        view: &mut View<'_>,
        engine: &mut QueryEngine<'_>,
        occurrence: Occurrence,
        elements: &[(Occurrence, Support)],
    ) {
        let &OccurrenceData { inst, block, .. } = engine.snapshot.occurrence(occurrence);
        let Some(inst) = inst else { return };
        let module = view.module();
        let snapshot = &engine.snapshot;
        let forms = &snapshot.forms;
        let supports = || elements.iter().map(|(_, support)| support);
        let sources = || supports().flat_map(|support| support.sources.iter().copied());
        let shifted = supports().map(|support| support.conversions.len() as u64).sum();
        let mut rewrite = view.rewrite(|func| {
            let from: Vec<Block> = sources().map(|(source, _)| snapshot.occurrence(source).block).collect();
            let text = instruction_text(module, func, inst);
            let (from_where, rounds) = (listed(func, &from), rounds(shifted));
            let message = format!("replaced `{text}`: its elements are available from {from_where}{rounds}");
            Remark::applied("replace", block, message)
                .at(inst)
                .with("from", Fact::Blocks(from))
                .with("insertions", Fact::Blocks(Vec::new()))
                .with("shifts", Fact::Count(shifted))
        });
        let is_own = |source: Occurrence| elements.iter().any(|&(element, _)| element == source);
        for (source, form) in sources().filter(|&(source, _)| !is_own(source)) {
            self.keep(&mut rewrite, snapshot, source, form);
        }
        for &step in supports().flat_map(|support| &support.conversions) {
            self.shift(&mut rewrite, forms, step);
        }
        let (guard, dsts) = {
            let data = &rewrite.func().insts[inst];
            (data.guard, data.dsts.iter().copied().collect::<Regs>())
        };
        let mut last = inst;
        for (&(element, _), &dst) in elements.iter().zip(&dsts) {
            let form = snapshot.occurrence(element).form;
            let temporaries = self.temporaries(&mut rewrite, forms, form);
            (_, last) = copy_before(&mut rewrite, inst, &[dst], &temporaries, guard);
            self.holders[element] = Some((Holder::Form(form), last));
        }
        // A source computes into temporaries already, and copies to its own registers follow it.
        if self.holders[occurrence].is_none() {
            self.holders[occurrence] = Some((Holder::Regs(Box::new(dsts)), last));
        }
        rewrite.remove(inst);
        for (source, form) in sources().filter(|&(source, _)| is_own(source)) {
            self.keep(&mut rewrite, snapshot, source, form);
        }
        rewrite.finish();
        engine.snapshot.replace(occurrence);
    }

    /// Inserts the computation that an occurrence moves up to.
    pub fn hoist(
        &mut self,
        view: &mut View<'_>,
        engine: &mut QueryEngine<'_>,
        occurrence: Occurrence,
        inserted: Occurrence,
    ) {
        let (block, form) = {
            let data = engine.snapshot.occurrence(inserted);
            (data.block, data.form)
        };
        let from = engine.snapshot.occurrence(occurrence).block;
        let is_good = !engine.snapshot.is_marked(inserted);
        let snapshot = &engine.snapshot;
        let mut rewrite = view.rewrite(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let message = format!(
                "moved `{what}` from `{}` to the end of `{}`, before its branch{}",
                func.blocks[from].name,
                func.blocks[block].name,
                if is_good { "" } else { "; marked `.spec`, since it might fault there" }
            );
            let remark = Remark::applied("speculate", block, message)
                .with("from", Fact::Block(from))
                .with("faulting", Fact::Text(faulting(is_good).into()));
            self.billed(remark)
        });
        let temporaries = self.temporaries(&mut rewrite, &snapshot.forms, form);
        let inst = compute(&mut rewrite, &snapshot.forms, block, form, &temporaries, is_good);
        rewrite.finish();
        engine.snapshot.place(inserted, inst);
        self.holders[inserted] = Some((Holder::Form(form), inst));
        self.inserted.insert((block, form));
    }

    /// Inserts a computation of a form. Returns None if it was inserted there before.
    fn insert_at(
        &mut self,
        view: &mut View<'_>,
        engine: &mut QueryEngine<'_>,
        point: InsertionPoint,
        form: Form,
    ) -> Option<Occurrence> {
        let known = match point {
            InsertionPoint::End(block) => Some(block),
            InsertionPoint::Edge(from, to) => self.middles.get(&(from, to)).copied(),
            InsertionPoint::BeforeEntry(_) => None,
        };
        if known.is_some_and(|block| self.inserted.contains(&(block, form))) {
            return None;
        }
        let is_good = engine.is_good_address(view.func(), point, form);
        let snapshot = &engine.snapshot;
        let mut rewrite = view.rewrite(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let place = point.text(func);
            let ending = if is_good { "" } else { "; marked `.spec`, since it might fault there" };
            let message = format!("inserted `{what}` {place}: it is available on the other paths{ending}");
            let remark = Remark::applied("insert", point.block(), message);
            self.billed(remark.with("faulting", Fact::Text(faulting(is_good).into())))
        });
        let block = match (known, point) {
            (Some(block), _) | (None, InsertionPoint::End(block)) => block,
            (None, InsertionPoint::Edge(from, to)) => rewrite.split_edge(from, to),
            // Answers that need this point are refused until it has a block.
            (None, InsertionPoint::BeforeEntry(block)) => block,
        };
        let temporaries = self.temporaries(&mut rewrite, &snapshot.forms, form);
        let inst = compute(&mut rewrite, &snapshot.forms, block, form, &temporaries, is_good);
        rewrite.finish();
        if let (None, InsertionPoint::Edge(from, to)) = (known, point) {
            self.middles.insert((from, to), block);
            engine.split(block, from, to);
        }
        let occurrence = engine.snapshot.insert(view.func(), block, form);
        if !is_good {
            engine.snapshot.mark(occurrence);
        }
        engine.snapshot.place(occurrence, inst);
        self.holders[occurrence] = Some((Holder::Form(form), inst));
        self.inserted.insert((block, form));
        Some(occurrence)
    }

    /// The temporaries of a form.
    fn temporaries(&mut self, rewrite: &mut Rewrite<'_, '_>, forms: &Forms, form: Form) -> Regs {
        let known = &mut self.temporaries[form];
        if known.is_empty() {
            known.extend(forms.expression(form).types.iter().map(|&ty| rewrite.create_temporary(ty)));
        }
        Regs::from_slice(known)
    }

    /// Puts the value of an occurrence into the temporaries of a form.
    fn keep(&mut self, rewrite: &mut Rewrite<'_, '_>, snapshot: &Snapshot<'_>, occurrence: Occurrence, form: Form) {
        let (forms, data) = (&snapshot.forms, snapshot.occurrence(occurrence));
        let temporaries = self.temporaries(rewrite, forms, form);
        let known = self.holders[occurrence].clone().or_else(|| {
            let element = snapshot.as_element(occurrence)?;
            self.holder_of_element(rewrite, snapshot, element)
        });
        let Some((holder, last)) = known else {
            // The occurrence computes into the temporaries, and its own registers take copies.
            let Some(inst) = data.inst else { return };
            let guard = rewrite.func().insts[inst].guard;
            let dsts: Regs = rewrite.func().insts[inst].dsts.iter().copied().collect();
            rewrite.update(inst, |data| {
                data.dsts = temporaries.iter().copied().collect();
                true
            });
            let (_, last) = copy_after(rewrite, inst, &dsts, &temporaries, guard);
            self.holders[occurrence] = Some((Holder::Form(form), last));
            return;
        };
        // If a guarded vector has not been loaded, its registers may be unassigned.
        let is_element = matches!(holder, Holder::Regs(_)) && data.is_element;
        let guard = forms.expression(data.form).guard.filter(|_| is_element);
        let held = match holder {
            Holder::Form(own) if own == form => return,
            Holder::Form(own) => self.temporaries(rewrite, forms, own),
            Holder::Regs(regs) => *regs,
        };
        if !self.kept.insert((occurrence, form)) {
            return;
        }
        if rewrite.func().inst_block(last).is_some() {
            copy_after(rewrite, last, &temporaries, &held, guard);
        } else {
            // An insertion that was replaced at once has left nothing to insert the copies after.
            for (&to, &from) in temporaries.iter().zip(&held) {
                let copy = copy(rewrite.func(), to, from, guard);
                rewrite.append(data.block, copy);
            }
        }
    }

    /// The holder of one element of a vector: its register among those that hold the vector.
    fn holder_of_element(
        &mut self,
        rewrite: &mut Rewrite<'_, '_>,
        snapshot: &Snapshot<'_>,
        Element { whole, index }: Element,
    ) -> Option<(Holder, Inst)> {
        let (regs, last) = match self.holders[whole].clone() {
            Some((Holder::Form(form), last)) => (self.temporaries(rewrite, &snapshot.forms, form), last),
            Some((Holder::Regs(regs), last)) => (*regs, last),
            None => {
                let inst = snapshot.occurrence(whole).inst?;
                (rewrite.func().insts[inst].dsts.iter().copied().collect(), inst)
            }
        };
        Some((Holder::Regs(Box::new(Regs::from_elem(regs[usize::from(index)], 1))), last))
    }

    /// Copies the temporaries of the form before a definition to those of the form after it.
    fn shift(&mut self, rewrite: &mut Rewrite<'_, '_>, forms: &Forms, step: Conversion) {
        let writes = self.temporaries(rewrite, forms, step.below);
        let reads = self.temporaries(rewrite, forms, step.above);
        let shifts = self.shifts.entry(step.inst).or_default();
        if shifts.iter().any(|shift| shift.writes == writes) {
            return;
        }
        let reader = shifts.iter().rposition(|shift| shift.reads == writes);
        let writer = shifts.iter().position(|shift| shift.writes == reads);
        let place = reader.map_or(0, |reader| reader + 1);
        if writer.is_none_or(|writer| place <= writer) {
            let before = shifts.get(place).map_or(step.inst, |next| next.first);
            let (first, _) = copy_before(rewrite, before, &writes, &reads, None);
            shifts.insert(place, Shift { writes, reads, first });
            return;
        }
        let saved: Regs = reads
            .iter()
            .map(|&reg| {
                let ty = rewrite.func().reg_types[reg];
                rewrite.create_temporary(ty)
            })
            .collect();
        let first = shifts.first().map_or(step.inst, |shift| shift.first);
        let (first, _) = copy_before(rewrite, first, &saved, &reads, None);
        shifts.insert(0, Shift { writes: saved.clone(), reads, first });
        let (first, _) = copy_before(rewrite, step.inst, &writes, &saved, None);
        shifts.push(Shift { writes, reads: saved, first });
    }
}

fn faulting(is_good: bool) -> &'static str {
    if is_good { "proved" } else { "spec" }
}

fn rounds(shifted: u64) -> &'static str {
    if shifted > 0 { ", copied where an index changes" } else { "" }
}

/// "`a`, `b` and `c`".
fn listed(func: &Function, blocks: &[Block]) -> String {
    let mut names: Vec<String> = blocks.iter().map(|&block| format!("`{}`", func.blocks[block].name)).collect();
    names.compact_sort();
    names.dedup();
    match names.split_last() {
        None => String::from("nowhere"),
        Some((last, [])) => last.clone(),
        Some((last, others)) => {
            let others: Vec<&str> = others.iter().map(|name| name.as_str()).collect();
            format!("{} and {last}", others.join(", "))
        }
    }
}

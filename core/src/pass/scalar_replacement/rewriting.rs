//! Puts values into temporaries, and reads them from there.
//!
//! ```text
//! an occurrence that others lean on      y = ld A[i + 1]      ──▶    t1 = ld A[i + 1];  y = t1
//! a place without one                    br n7                ──▶    t1 = ld A[i + 1];  br n7
//! a definition that changes the form     i = i + 1            ──▶    t2 = t1;  i = i + 1
//! what was asked about                   x = ld A[i]          ──▶    x = t2
//! ```
//!
//! Every form has its own temporaries, one for each destination. Wherever one is written, it gets the value that its form
//! has at that place, so that it does no harm to write it once more than somebody reads it.
//!
//! Several forms may change at one definition, `A[i]` from `A[i + 1]` and that from `A[i + 2]`; they do so at once. Their
//! copies stand before the definition, each before what overwrites its source; where no such order is left, the source is
//! saved first and copied last.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::edit::Rewrite;
use crate::ir::{Address, AddressBase, Block, Flags, Function, Guard, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::query::{
    Element, Form, Forms, Hoist, Inquiries, Occurrence, OccurrenceData, Snapshot, Spot, Step, Subject, Support,
};
use crate::symbolic::{Affine, Atom, Extension, RegisterSum, own_extension};
use crate::text::instruction_text;
use crate::trace::{Fact, Place, Remark};
use crate::view::View;

use super::cost::Bill;

type Regs = SmallVec<[Reg; 4]>;

/// Blocks between a load and where it would be made under its conditions.
const MAX_CONDITIONS: u32 = 8;

/// Rewrites so far.
#[derive(Default)]
pub(super) struct Rewriting {
    /// The temporaries of each form; none where it has none yet.
    temporaries: SecondaryMap<Form, Regs>,
    /// Holder of each rewritten occurrence's value, and the last instruction that it became.
    holders: SecondaryMap<Occurrence, Option<(Holder, Inst)>>,
    /// Further forms whose temporaries take its value.
    kept: HashSet<(Occurrence, Form)>,
    inserted: HashSet<(Block, Form)>,
    /// Blocks that were put on edges.
    middles: HashMap<(Block, Block), Block>,
    /// Occurrences moved up under a condition, by their forms.
    guarded: HashMap<Form, Vec<Guarded>>,
    /// The copies before each definition, in their order.
    shifts: HashMap<Inst, Vec<Shift>>,
    /// Bill of the current rewrite.
    pub bill: Option<Bill>,
}

/// Holder of a value.
#[derive(Clone)]
enum Holder {
    /// In the temporaries of this form.
    Form(Form),
    /// In these registers. Hardly ever, so that they do not stand in every record.
    Regs(Box<Regs>),
}

/// A load at the end of a block, under the union of the conditions of those that it was made from.
struct Guarded {
    head: Block,
    inst: Inst,
    guard: Option<Guard>,
    temporaries: Regs,
    /// Those that it was made from.
    moved: Vec<Occurrence>,
}

/// Copies of one form's temporaries to another's.
struct Shift {
    writes: Regs,
    reads: Regs,
    first: Inst,
}

impl Rewriting {
    /// Has a form been inserted there?
    pub fn is_inserted(&self, spot: Spot, form: Form) -> bool {
        let known = match spot {
            Spot::End(block) => Some(block),
            Spot::Edge(from, to) => self.middles.get(&(from, to)).copied(),
            Spot::Front(_) => None,
        };
        known.is_some_and(|block| self.inserted.contains(&(block, form)))
    }

    /// Do the temporaries of a form take over from others at a definition?
    pub fn is_shifted(&self, inst: Inst, below: Form) -> bool {
        let writes = self.temporaries.get(below).filter(|writes| !writes.is_empty());
        let shifts = self.shifts.get(&inst).map_or(&[][..], |shifts| shifts);
        writes.is_some_and(|writes| shifts.iter().any(|shift| shift.writes == *writes))
    }

    /// A remark, with what it costs and saves.
    fn billed(&self, mut remark: Remark) -> Remark {
        let Some(bill) = self.bill else { return remark };
        remark.message = format!("{}; {}", remark.message, bill.text());
        bill.on(remark)
    }

    /// Lets an occurrence that is available be read from its temporary. Gives what was inserted for it.
    pub fn replace(
        &mut self,
        view: &mut View<'_>,
        inquiries: &mut Inquiries<'_>,
        occurrence: Occurrence,
        support: &Support,
    ) -> Vec<Occurrence> {
        let &OccurrenceData { inst, block, form, .. } = inquiries.snapshot.occurrence(occurrence);
        let Some(inst) = inst else { return Vec::new() };
        let mut inserted = Vec::new();
        for &(spot, form) in &support.insertions {
            inserted.extend(self.insert_at(view, inquiries, spot, form));
        }
        let module = view.module();
        let shifted = support.shifts.len() as u64;
        let snapshot = &inquiries.snapshot;
        let forms = &snapshot.forms;
        let mut rewrite = view.rewrite(|func| {
            let insertions: Vec<Block> = support.insertions.iter().map(|(spot, _)| spot.block()).collect();
            let from: Vec<Block> =
                support.sources.iter().map(|&(source, _)| snapshot.occurrence(source).block).collect();
            let text = instruction_text(module, func, inst);
            let (from_where, rounds) = (listed(func, &from), rounds(shifted));
            let message = format!("`{text}` is available: its value comes from {from_where}{rounds}");
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
        for &step in &support.shifts {
            self.shift(&mut rewrite, forms, step);
        }
        // One that others lean on computes into the temporaries already, with copies to its own registers behind it.
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
        inquiries.snapshot.replace(occurrence);
        inserted
    }

    /// Lets a vector whose elements are available be read from their temporaries.
    pub fn put_together(
        &mut self,
        view: &mut View<'_>,
        inquiries: &mut Inquiries<'_>,
        occurrence: Occurrence,
        elements: &[(Occurrence, Support)],
    ) {
        let &OccurrenceData { inst, block, .. } = inquiries.snapshot.occurrence(occurrence);
        let Some(inst) = inst else { return };
        let module = view.module();
        let snapshot = &inquiries.snapshot;
        let forms = &snapshot.forms;
        let supports = || elements.iter().map(|(_, support)| support);
        let sources = || supports().flat_map(|support| support.sources.iter().copied());
        let shifted = supports().map(|support| support.shifts.len() as u64).sum();
        let mut rewrite = view.rewrite(|func| {
            let from: Vec<Block> = sources().map(|(source, _)| snapshot.occurrence(source).block).collect();
            let text = instruction_text(module, func, inst);
            let (from_where, rounds) = (listed(func, &from), rounds(shifted));
            let message =
                format!("`{text}` is available: its elements' values come one by one from {from_where}{rounds}");
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
        for &step in supports().flat_map(|support| &support.shifts) {
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
        // One that others lean on computes into temporaries already, with copies to its own registers behind it.
        if self.holders[occurrence].is_none() {
            self.holders[occurrence] = Some((Holder::Regs(Box::new(dsts)), last));
        }
        rewrite.remove(inst);
        for (source, form) in sources().filter(|&(source, _)| is_own(source)) {
            self.keep(&mut rewrite, snapshot, source, form);
        }
        rewrite.finish();
        inquiries.snapshot.replace(occurrence);
    }

    /// Inserts what moves up from an occurrence to where `inserted` has been noted.
    pub fn hoist(
        &mut self,
        view: &mut View<'_>,
        inquiries: &mut Inquiries<'_>,
        occurrence: Occurrence,
        inserted: Occurrence,
    ) {
        let (block, form) = {
            let data = inquiries.snapshot.occurrence(inserted);
            (data.block, data.form)
        };
        let from = inquiries.snapshot.occurrence(occurrence).block;
        let is_good = !inquiries.snapshot.is_marked(inserted);
        let snapshot = &inquiries.snapshot;
        let mut rewrite = view.rewrite(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let message = format!(
                "`{what}` moves up from `{}` to the end of `{}`, in front of its branch{}",
                func.blocks[from].name,
                func.blocks[block].name,
                if is_good { "" } else { "; it may not be wanted there, so it is marked as one that does not fault" }
            );
            let remark = Remark::applied("speculate", block, message)
                .with("from", Fact::Block(from))
                .with("faulting", Fact::Text(faulting(is_good).into()));
            self.billed(remark)
        });
        let temporaries = self.temporaries(&mut rewrite, &snapshot.forms, form);
        let inst = compute(&mut rewrite, &snapshot.forms, block, form, &temporaries, is_good);
        rewrite.finish();
        inquiries.snapshot.place(inserted, inst);
        self.holders[inserted] = Some((Holder::Form(form), inst));
        self.inserted.insert((block, form));
    }

    /// Moves an occurrence up to the end of a block, under the condition that it is made on. Gives false where that is not
    /// at hand: where other ways lead to it, or a predicate is not what it will be. Then it moves up in front of the last
    /// branch that decides about it, if loads move across that. Where the same has moved before, one load serves both, under
    /// the union of their conditions.
    pub fn move_up_guarded(
        &mut self,
        view: &mut View<'_>,
        inquiries: &mut Inquiries<'_>,
        occurrence: Occurrence,
        hoist: &Hoist,
    ) -> bool {
        let &OccurrenceData { inst, block, form, .. } = inquiries.snapshot.occurrence(occurrence);
        let Some(inst) = inst else { return false };
        // Where the same has moved before is as good a place as where it would move by itself.
        let earlier = self.guarded.get(&form).map_or(&[][..], |earlier| earlier);
        let is_on_all_ways =
            |guarded: &&Guarded| inquiries.would_come_from(view.func(), occurrence, guarded.head, &guarded.moved);
        let heads: SmallVec<[Block; 2]> = earlier.iter().filter(is_on_all_ways).map(|guarded| guarded.head).collect();
        let find = |blocks: &[Block]| condition_of(view.func(), inquiries, (inst, block), blocks);
        let joined = heads.iter().find_map(|&head| find(&[head]).filter(|(found, _)| *found == head));
        let Some((head, condition)) = joined.or_else(|| find(&hoist.blocks)) else { return false };
        let known = self.guarded.entry(form).or_default();
        let before = known.iter().position(|guarded| guarded.head == head).map(|place| known.remove(place));
        let snapshot = &inquiries.snapshot;
        let mut rewrite = view.rewrite(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let conditions =
                if condition.len() > 1 { "all conditions that it is made on" } else { "the condition of its branch" };
            let others = if before.is_some() { ", or those of what has moved there before" } else { "" };
            let message = format!(
                "`{what}` moves up from `{}` to the end of `{}`, under {conditions}{others}",
                func.blocks[block].name, func.blocks[head].name
            );
            let remark = Remark::applied("speculate", head, message)
                .at(inst)
                .with("from", Fact::Block(block))
                .with("faulting", Fact::Text("guarded".into()));
            self.billed(remark)
        });
        let mut guard = combined(&mut rewrite, head, Op::And, &condition);
        let data = rewrite.func().insts[inst].clone();
        let (temporaries, mut moved): (Regs, _) = match before {
            Some(Guarded { inst: load, guard: before, temporaries, moved, .. }) => {
                // It is made again behind the predicate that it waits for now. Only loads and predicates stand between.
                rewrite.remove(load);
                guard =
                    guard.zip(before).and_then(|(own, before)| combined(&mut rewrite, head, Op::Or, &[before, own]));
                (temporaries, moved)
            }
            None => {
                let types = snapshot.forms.expression(form).types.clone();
                (types.into_iter().map(|ty| rewrite.create_temporary(ty)).collect(), Vec::new())
            }
        };
        moved.push(occurrence);
        let (own, dsts): (_, Regs) = (data.guard, data.dsts.iter().copied().collect());
        let load = rewrite.append(head, InstData { dsts: temporaries.iter().copied().collect(), guard, ..data });
        let (_, last) = copy_before(&mut rewrite, inst, &dsts, &temporaries, own);
        rewrite.remove(inst);
        rewrite.finish();
        let guarded = Guarded { head, inst: load, guard, temporaries: temporaries.clone(), moved };
        self.guarded.entry(form).or_default().push(guarded);
        self.holders[occurrence] = Some((Holder::Regs(Box::new(temporaries)), last));
        inquiries.snapshot.replace(occurrence);
        true
    }

    /// Inserts a computation of a form where it is missing. Gives nothing where it has been inserted before.
    fn insert_at(
        &mut self,
        view: &mut View<'_>,
        inquiries: &mut Inquiries<'_>,
        spot: Spot,
        form: Form,
    ) -> Option<Occurrence> {
        let known = match spot {
            Spot::End(block) => Some(block),
            Spot::Edge(from, to) => self.middles.get(&(from, to)).copied(),
            Spot::Front(_) => None,
        };
        if known.is_some_and(|block| self.inserted.contains(&(block, form))) {
            return None;
        }
        let is_good = inquiries.is_good_address(view.func(), spot, form);
        let snapshot = &inquiries.snapshot;
        let mut rewrite = view.rewrite(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let name = |block: Block| &func.blocks[block].name;
            let place = match spot {
                Spot::End(block) => format!("at the end of `{}`", name(block)),
                Spot::Edge(from, to) => format!("between `{}` and `{}`", name(from), name(to)),
                Spot::Front(block) => format!("in front of `{}`", name(block)),
            };
            let ending =
                if is_good { "" } else { "; it may not be wanted later, so it is marked as one that does not fault" };
            let message = format!("`{what}` is inserted {place}, since the other ways have it{ending}");
            let remark = Remark::applied("insert", spot.block(), message);
            self.billed(remark.with("faulting", Fact::Text(faulting(is_good).into())))
        });
        let block = match (known, spot) {
            (Some(block), _) | (None, Spot::End(block)) => block,
            (None, Spot::Edge(from, to)) => rewrite.split_edge(from, to),
            // Whatever needs that is refused until there is a block.
            (None, Spot::Front(block)) => block,
        };
        let temporaries = self.temporaries(&mut rewrite, &snapshot.forms, form);
        let inst = compute(&mut rewrite, &snapshot.forms, block, form, &temporaries, is_good);
        rewrite.finish();
        if let (None, Spot::Edge(from, to)) = (known, spot) {
            self.middles.insert((from, to), block);
            inquiries.split(block, from, to);
        }
        let occurrence = inquiries.snapshot.insert(view.func(), block, form);
        if !is_good {
            inquiries.snapshot.mark(occurrence);
        }
        inquiries.snapshot.place(occurrence, inst);
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

    /// Lets the temporaries of a form take the value of an occurrence.
    fn keep(&mut self, rewrite: &mut Rewrite<'_, '_>, snapshot: &Snapshot<'_>, occurrence: Occurrence, form: Form) {
        let (forms, data) = (&snapshot.forms, snapshot.occurrence(occurrence));
        let temporaries = self.temporaries(rewrite, forms, form);
        let known = self.holders[occurrence].clone().or_else(|| {
            let element = snapshot.as_element(occurrence)?;
            self.holder_of_element(rewrite, snapshot, element)
        });
        let Some((holder, last)) = known else {
            // The occurrence computes into the temporaries, and its own registers take copies of them.
            let Some(inst) = data.inst else { return };
            let guard = rewrite.func().insts[inst].guard;
            let dsts: Regs = rewrite.func().insts[inst].dsts.iter().copied().collect();
            rewrite.update(inst, |data| {
                data.dsts = temporaries.iter().copied().collect();
                true
            });
            let (_, last) = copy_behind(rewrite, inst, &dsts, &temporaries, guard);
            self.holders[occurrence] = Some((Holder::Form(form), last));
            return;
        };
        // Where a vector has not been loaded, its registers may never have been written.
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
            copy_behind(rewrite, last, &temporaries, &held, guard);
        } else {
            // What was inserted at the end of a block and then found to be there already has left nothing behind it.
            for (&to, &from) in temporaries.iter().zip(&held) {
                let copy = copy(rewrite.func(), to, from, guard);
                rewrite.append(data.block, copy);
            }
        }
    }

    /// Holder of one element's value, and the last instruction that the vector became: in that one of the
    /// registers that have the vector there.
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

    /// Lets the temporaries of one form take over from those of another one at a definition.
    fn shift(&mut self, rewrite: &mut Rewrite<'_, '_>, forms: &Forms, step: Step) {
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
    if shifted > 0 { ", carried on where an index changes" } else { "" }
}

/// "`a`, `b` and `c`".
fn listed(func: &Function, blocks: &[Block]) -> String {
    let mut names: Vec<String> = blocks.iter().map(|&block| format!("`{}`", func.blocks[block].name)).collect();
    names.sort();
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

/// Copies registers before an instruction. Gives the first and the last copy.
fn copy_before(
    rewrite: &mut Rewrite<'_, '_>,
    before: Inst,
    to: &[Reg],
    from: &[Reg],
    guard: Option<Guard>,
) -> (Inst, Inst) {
    let (mut first, mut last) = (before, before);
    for (index, (&to, &from)) in to.iter().zip(from).enumerate() {
        let copy = copy(rewrite.func(), to, from, guard);
        if let Some(inst) = rewrite.insert_before(before, copy) {
            first = if index == 0 { inst } else { first };
            last = inst;
        }
    }
    (first, last)
}

/// Copies registers behind an instruction. Gives the first and the last copy.
fn copy_behind(
    rewrite: &mut Rewrite<'_, '_>,
    behind: Inst,
    to: &[Reg],
    from: &[Reg],
    guard: Option<Guard>,
) -> (Inst, Inst) {
    let (mut first, mut last) = (behind, behind);
    let Some(block) = rewrite.func().inst_block(behind) else { return (first, last) };
    let before = rewrite.func().layout.next_inst(behind);
    for (index, (&to, &from)) in to.iter().zip(from).enumerate() {
        let copy = copy(rewrite.func(), to, from, guard);
        let inst = rewrite.insert(Place { block, before }, copy);
        first = if index == 0 { inst } else { first };
        last = inst;
    }
    (first, last)
}

fn copy(func: &Function, to: Reg, from: Reg, guard: Option<Guard>) -> InstData {
    InstData::new(Opcode::mov(func.reg_types[to]), [to], [Operand::Reg(from)]).guarded(guard)
}

/// The block at whose end a load can be made under its condition, and what that is, from above: predicates that all hold.
/// That is the end of the only one of `blocks`, if the one way from there to the load is decided by predicates that are
/// there already, where ways that part and meet again count as one, and failing that the last branch above the load, if loads
/// move across it.
fn condition_of(
    func: &Function,
    inquiries: &Inquiries<'_>,
    (load, block): (Inst, Block),
    blocks: &[Block],
) -> Option<(Block, SmallVec<[Guard; 2]>)> {
    let (snapshot, own) = (&inquiries.snapshot, func.insts[load].guard);
    let mut found: Option<(Block, SmallVec<[Guard; 2]>)> = None;
    // Each with the place where its value is known.
    let mut conditions: SmallVec<[(Guard, Inst); 2]> = own.map(|guard| (guard, load)).into_iter().collect();
    let mut at = block;
    for _ in 0..MAX_CONDITIONS {
        let &[from] = snapshot.ways.up(at) else {
            // Several ways, of which all come from the end of that block, and whoever comes by there comes here.
            let is_there = |block: Block| {
                conditions.iter().all(|&(guard, inst)| snapshot.holds_at_end(func, block, guard.reg, inst))
            };
            if let &[wanted] = blocks
                && inquiries.always_comes_by(wanted, at)
                && is_there(wanted)
            {
                found = Some((wanted, conditions.iter().rev().map(|&(guard, _)| guard).collect()));
            }
            break;
        };
        if from == block || snapshot.ways.is_entry(at) {
            break;
        }
        if snapshot.ways.is_branch(from) {
            let branch = func.terminator(from)?;
            let data = &func.insts[branch];
            let (Op::BrIf, 2) = (data.opcode.op, snapshot.ways.down(from).len()) else { break };
            let negates = matches!(data.args[0], Operand::NotReg(_));
            let (Some(reg), Some(&on_true)) = (data.args[0].as_reg_or_negation(), data.targets().first()) else {
                break;
            };
            conditions.push((Guard { reg, negated: negates != (on_true != at) }, branch));
            let is_there = |&(guard, inst): &(Guard, Inst)| snapshot.holds_at_end(func, from, guard.reg, inst);
            let is_wanted = blocks == [from];
            if (is_wanted || found.is_none() && inquiries.is_crossed(from)) && conditions.iter().all(is_there) {
                found = Some((from, conditions.iter().rev().map(|&(guard, _)| guard).collect()));
            }
            if is_wanted {
                break;
            }
        }
        at = from;
    }
    found
}

/// One predicate that holds where all of several do, or one of several does, as that operation says.
fn combined(rewrite: &mut Rewrite<'_, '_>, block: Block, op: Op, conditions: &[Guard]) -> Option<Guard> {
    let (&(mut all), others) = conditions.split_first()?;
    for &guard in others {
        let operands = [all, guard].map(|guard| {
            if !guard.negated {
                return Operand::Reg(guard.reg);
            }
            let reg = rewrite.create_temporary(Type::Pred);
            rewrite.append(block, InstData::new(Opcode::new(Op::Not, Type::Pred), [reg], [Operand::Reg(guard.reg)]));
            Operand::Reg(reg)
        });
        let both = rewrite.create_temporary(Type::Pred);
        rewrite.append(block, InstData::new(Opcode::new(op, Type::Pred), [both], operands));
        all = Guard { reg: both, negated: false };
    }
    Some(all)
}

/// Computes a form into registers at the end of a block.
fn compute(rewrite: &mut Rewrite<'_, '_>, forms: &Forms, block: Block, form: Form, to: &[Reg], is_good: bool) -> Inst {
    let expression = forms.expression(form);
    let data = match &expression.subject {
        Subject::Load(kind, sum) => {
            let flags = if is_good { kind.opcode.flags } else { kind.opcode.flags | Flags::SPEC };
            let address = match sum.to_address(rewrite.func()) {
                Some(address) => address,
                None => spelled_out(rewrite, block, sum),
            };
            let opcode = Opcode { flags, ..kind.opcode };
            InstData::new(opcode, to.iter().copied(), [Operand::Address(address.into())])
        }
        Subject::Pure(opcode, args) => {
            let args = forms.operands(form).unwrap_or(args);
            InstData::new(*opcode, to.iter().copied(), args.iter().cloned())
        }
    };
    rewrite.append(block, data.guarded(expression.guard))
}

/// A sum as an address, with registers of its own for what no address holds: special registers, several symbols, narrow
/// registers that are extended against their type.
fn spelled_out(rewrite: &mut Rewrite<'_, '_>, block: Block, sum: &RegisterSum) -> Address {
    let mut rest: RegisterSum = Affine::constant(sum.offset());
    let mut has_symbol = false;
    for &(atom, coefficient) in sum.terms() {
        let plain = match atom {
            Atom::Special(special) => Some((Opcode::mov(Type::U32), Operand::Special(special))),
            Atom::Symbol(symbol) if coefficient != 1 || core::mem::replace(&mut has_symbol, true) => {
                Some((Opcode::mov(Type::B64), Operand::Symbol(symbol)))
            }
            Atom::Value(reg, extension) if own_extension(rewrite.func(), reg) != extension => {
                let bits = rewrite.func().reg_types[reg].bits();
                let (to, from) = match extension {
                    Extension::Sign => (Type::S64, Type::S64.with_bits(bits)),
                    Extension::Zero => (Type::U64, Type::U64.with_bits(bits)),
                };
                from.map(|from| (Opcode { src_ty: from, ..Opcode::new(Op::Cvt, to) }, Operand::Reg(reg)))
            }
            _ => None,
        };
        let atom = match plain {
            None => atom,
            Some((opcode, operand)) => {
                let reg = rewrite.create_temporary(opcode.ty);
                rewrite.append(block, InstData::new(opcode, [reg], [operand]));
                Atom::Value(reg, own_extension(rewrite.func(), reg))
            }
        };
        // Each new register stands for one term, so there are as many as before.
        rest = rest.plus(&Affine::atom(atom).times(coefficient)).unwrap_or(rest);
    }
    let address = rest.to_address(rewrite.func());
    debug_assert!(address.is_some(), "every term is one that an address holds");
    address.unwrap_or(Address { base: AddressBase::Absolute, terms: SmallVec::new(), offset: sum.offset() })
}

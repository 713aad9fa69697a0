//! Which estimates of a round are still true after a transformation.
//!
//! ```text
//! n1: r = …              estimate of r: looked at n1, n2, the write of r and the product
//! n2: x = mul.f32 r, y
//! n3: s = …              transformed for s: n3 has two versions now, and y's write one more reader
//! n4: z = mul.f32 s, y   r's estimate is kept, unless it asked who reads y
//! ```
//!
//! An estimate is made of facts: of a block its instructions, neighbours, joins, loops and frequency; of an instruction
//! what it reads and who reads its results; of a register who reads its value on entry. While an estimate is made, what
//! it looks at is written down ([`Seen`]). After a transformation, what that has changed is compared with it, and an
//! estimate that has seen nothing of it is what it would be if it was made again.
//!
//! What has changed: blocks that were split or copied, and whose edges, joins, loops or frequency are others than before;
//! instructions in the region and whatever reads their results, since these reads see joins with the copy's now; what the
//! copy reads, since it has more readers now. That a block dominates another one has not changed where neither was copied,
//! since the copy's ways are ways of the region. Frequencies are the same to the last bit or have changed, so that what is
//! kept has the very numbers that it would have.
//!
//! Linear in blocks, joins, what was copied and what estimates have seen; the first is the smallest part of a round.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ops::Range;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, entity_impl};
use fixedbitset::FixedBitSet;

use super::Versioned;
use super::opportunity::Opportunity;
use super::scene::Scene;
use crate::flow::{Definition, Value, ValueUse, ValueUses, Values};
use crate::graph::{Cfg, Loop, Loops};
use crate::ir::{Block, Function, Inst, Reg};

/// What an estimate looks at: a block, an instruction or a register's value on entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen(u32);

impl EntityRef for Seen {
    fn new(index: usize) -> Seen {
        Seen(index as u32)
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

impl Seen {
    /// How many numbers these have in a function.
    pub fn count(func: &Function) -> usize {
        3 * func.blocks.len().max(func.insts.len()).max(func.regs.len())
    }

    /// A block.
    pub fn block(block: Block) -> Seen {
        Seen(3 * block.as_u32())
    }

    /// An instruction.
    pub fn inst(inst: Inst) -> Seen {
        Seen(3 * inst.as_u32() + 1)
    }

    fn entry(reg: Reg) -> Seen {
        Seen(3 * reg.as_u32() + 2)
    }

    /// Where a value comes from, which also stands for who reads it.
    pub fn value(values: &Values, value: Value) -> Seen {
        match values.definition(value) {
            Definition::Entry => Seen::entry(values.reg(value)),
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => Seen::inst(inst),
            Definition::Join { block } => Seen::block(block),
        }
    }
}

/// The estimates of the last round, by what they are for, and what each has seen.
#[derive(Default)]
pub(super) struct Kept {
    estimates: Vec<Estimate>,
    /// By the instruction that writes the first register: the place of its last estimate in `estimates`.
    last_of: Vec<PackedOption<Place>>,
    seen: Vec<Seen>,
}

/// The place of an estimate.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u32);
entity_impl!(Place);

struct Estimate {
    name: Versioned,
    /// None where none could be made.
    opportunity: Option<Opportunity>,
    seen: Range<u32>,
    /// The one before it with the same first instruction.
    before: PackedOption<Place>,
}

impl Kept {
    /// Writes down what an estimate has seen.
    pub fn write_down(&mut self, seen: &[Seen]) -> Range<u32> {
        let start = self.seen.len() as u32;
        self.seen.extend_from_slice(seen);
        start..self.seen.len() as u32
    }

    /// Keeps an estimate, or that none could be made.
    pub fn keep(&mut self, name: Versioned, opportunity: Option<Opportunity>, seen: Range<u32>) {
        let Some(&(first, _)) = name.first() else { return };
        if first.index() >= self.last_of.len() {
            self.last_of.resize(first.index() + 1, None.into());
        }
        let place = Place::new(self.estimates.len());
        let before = core::mem::replace(&mut self.last_of[first.index()], place.into());
        self.estimates.push(Estimate { name, opportunity, seen, before });
    }

    /// The estimate that was made for this, if all that it has seen is as it was; and what that was.
    pub fn take(&mut self, name: &Versioned, changed: &Changed) -> Option<(Option<Opportunity>, &[Seen])> {
        let mut place = self.last_of.get(name.first()?.0.index())?.expand();
        while let Some(other) = place.filter(|&other| self.estimates[other.index()].name != *name) {
            place = self.estimates[other.index()].before.expand();
        }
        let estimate = &mut self.estimates[place?.index()];
        let seen = &self.seen[estimate.seen.start as usize..estimate.seen.end as usize];
        let is_true = seen.iter().all(|seen| !changed.0.contains(seen.index()));
        is_true.then(|| (estimate.opportunity.take(), seen))
    }
}

/// What a transformation does to blocks and instructions.
#[derive(Default)]
pub(super) struct Change {
    /// The block of the check, those that are copied, and those from which something moved up.
    pub touched: Vec<Block>,
    /// What moved up to the check.
    pub hoisted: Vec<Inst>,
    /// How many instructions there were before.
    pub insts: usize,
    /// Has something been written in places that it cannot name?
    pub is_anywhere: bool,
}

impl Change {
    /// The blocks whose instructions are others than before, in a function after it. None if that cannot be told.
    pub fn blocks(&self, past: &Past, func: &Function) -> Option<Vec<Block>> {
        if self.is_anywhere {
            return None;
        }
        let blocks = self.touched.iter().copied().chain(past.new_blocks(func));
        let mut blocks: Vec<Block> = blocks.filter(|&block| func.layout.has_block(block)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Some(blocks)
    }
}

/// A function as it was before a transformation.
pub(super) struct Past {
    cfg: Rc<Cfg>,
    loops: Rc<Loops>,
    values: Rc<Values>,
    uses: Rc<ValueUses>,
    frequencies: Vec<f64>,
}

impl Past {
    /// Of a scene that is about to change.
    pub fn of(scene: &Scene<'_>) -> Past {
        let known = &scene.known;
        Past {
            cfg: known.cfg.clone(),
            loops: known.loops.clone(),
            values: known.values.clone(),
            uses: known.uses.clone(),
            frequencies: scene.frequencies().to_vec(),
        }
    }

    /// The blocks that there are now and were not then.
    fn new_blocks(&self, func: &Function) -> impl Iterator<Item = Block> + use<> {
        (self.frequencies.len()..func.blocks.len()).map(Block::new)
    }
}

/// What estimates may have seen and is not as it was.
pub(super) struct Changed(FixedBitSet);

impl Changed {
    /// By a transformation between then and now. None if that cannot be told.
    pub fn between(past: &Past, change: &Change, now: &Scene<'_>) -> Option<Changed> {
        if change.is_anywhere {
            return None;
        }
        let mut changed = Changed(FixedBitSet::with_capacity(Seen::count(now.func)));
        changed.add_blocks(past, change, now);
        changed.add_region(past, change, now);
        // What was put in reads something more, and so do its joins.
        let values = &now.known.values;
        for join in past.new_blocks(now.func).flat_map(|block| values.joins(block)) {
            values.join_args(join).iter().for_each(|arg| changed.add(Seen::value(values, arg.value)));
        }
        for inst in (change.insts..now.func.insts.len()).map(Inst::new) {
            values.used(inst).iter().for_each(|&value| changed.add(Seen::value(values, value)));
            changed.add_old(values, inst);
        }
        Some(changed)
    }

    fn add(&mut self, seen: Seen) {
        self.0.insert(seen.index());
    }

    /// What guarded results keep has them for readers.
    fn add_old(&mut self, values: &Values, inst: Inst) {
        for &result in values.defined(inst) {
            if let Definition::Guarded { old, .. } = values.definition(result) {
                self.add(Seen::value(values, old));
            }
        }
    }

    fn add_readers(&mut self, values: &Values, uses: &ValueUses, value: Value) {
        for &reader in uses.of(value) {
            self.add(match reader {
                ValueUse::Operand { inst, .. } => Seen::inst(inst),
                ValueUse::Old(result) => Seen::value(values, result),
                ValueUse::Argument(join) => Seen::value(values, join),
            });
        }
    }

    /// The blocks that are not as they were, and what their joins join.
    fn add_blocks(&mut self, past: &Past, change: &Change, now: &Scene<'_>) {
        let known = &now.known;
        let as_before = loops_as_before(past, &known.loops);
        change.touched.iter().for_each(|&block| self.add(Seen::block(block)));
        for (block, &before) in past.frequencies.iter().enumerate() {
            let block = Block::new(block);
            let after = now.frequency(block);
            let has_same_edges = past.cfg.successors(block) == known.cfg.successors(block)
                && past.cfg.predecessors(block) == known.cfg.predecessors(block)
                && past
                    .cfg
                    .in_edges(block)
                    .iter()
                    .zip(known.cfg.in_edges(block))
                    .all(|(&before, &after)| past.cfg.is_retreating(before) == known.cfg.is_retreating(after));
            let has_same_loops = match (past.loops.innermost(block), known.loops.innermost(block)) {
                (None, None) => true,
                (Some(before), Some(after)) => as_before[after.index()] == Some(before),
                _ => false,
            };
            let has_same_frequency = before.to_bits() == after.to_bits();
            let (mut joins_before, mut joins_after) = (past.values.joins(block), known.values.joins(block));
            let has_same_joins = joins_before.len() == joins_after.len()
                && joins_after.all(|after| {
                    joins_before.next().is_some_and(|before| past.values.reg(before) == known.values.reg(after))
                });
            if !(has_same_edges && has_same_loops && has_same_frequency && has_same_joins) {
                self.add(Seen::block(block));
            }
            if !self.0.contains(Seen::block(block).index()) {
                continue;
            }
            for (values, uses) in [(&past.values, &past.uses), (&known.values, &known.uses)] {
                for join in values.joins(block) {
                    values.join_args(join).iter().for_each(|arg| self.add(Seen::value(values, arg.value)));
                    if !has_same_joins {
                        self.add_readers(values, uses, join);
                    }
                }
            }
        }
    }

    /// The instructions of the region and what reads their results.
    fn add_region(&mut self, past: &Past, change: &Change, now: &Scene<'_>) {
        let Past { values, uses, .. } = past;
        let head = change.touched.first().copied();
        let copied = change.touched.iter().copied().filter(|&block| Some(block) != head);
        let of_blocks =
            copied.clone().chain(past.new_blocks(now.func)).filter(|&block| now.func.layout.has_block(block));
        let insts = of_blocks.flat_map(|block| now.func.block_insts(block)).filter(|inst| inst.index() < change.insts);
        for inst in insts.chain(change.hoisted.iter().copied()) {
            self.add(Seen::inst(inst));
            values.defined(inst).iter().for_each(|&value| self.add_readers(values, uses, value));
        }
        for join in copied.flat_map(|block| values.joins(block)) {
            self.add_readers(values, uses, join);
        }
    }
}

/// By loop as it is now: the one that it was, if that and all around it have the headers that they had.
fn loops_as_before(past: &Past, now: &Loops) -> Vec<Option<Loop>> {
    let mut as_before: Vec<Option<Loop>> = alloc::vec![None; now.len()];
    // From the outside in.
    for (id, data) in now.iter().rev() {
        let is_old = data.header.index() < past.frequencies.len();
        let before = is_old.then(|| past.loops.headed_by(data.header)).flatten();
        as_before[id.index()] = before.filter(|&before| match (past.loops[before].parent, data.parent) {
            (None, None) => true,
            (Some(before), Some(after)) => as_before[after.index()] == Some(before),
            _ => false,
        });
    }
    as_before
}

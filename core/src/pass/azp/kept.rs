//! Which estimates of a round are still true after a transformation.
//!
//! ```text
//! n1: r = …              estimate of r: looked at n1, n2, the write of r and the product
//! n2: x = mul.f32 r, y
//! n3: s = …              transformed for s: n3 has two versions now, and y's write one more reader
//! n4: z = mul.f32 s, y   r's estimate is kept, unless it asked who reads y
//! ```
//!
//! An estimate is made of facts: of a block its instructions, neighbours and loops, its frequency, which joins it has, and
//! what they join; of an instruction what it reads and who reads its results; of a register who reads its value on entry.
//! Joins that nobody reads are as if they were not there. Of a value that loses readers it is enough that others are left:
//! where these are too many to be gone through, it does not matter that there are more.
//! While an estimate is made, what it looks at is written down ([`Seen`]). After a transformation, what that has changed is
//! compared with it, and an estimate that has seen nothing of it is what it would be if it was made again.
//!
//! What has changed: blocks that were split or copied, and whose edges, loops or frequency are others than before; joins
//! that there are only before or only after, with what they join and who reads them; instructions in the region and
//! whatever reads their results, since these reads see joins with the copy's now; what the copy reads, since it has more
//! readers now. A new write of a register may bring joins to a great part of the function, of which nothing else is
//! another one: only who has asked which joins a block has, or looked at what they join, is concerned. And where a few
//! instructions write the register and a check dominates none of them, what it holds in that region comes from outside
//! whatever its name is: nothing is known of it there, and it does not go away. So of changes that are only of the names of
//! such a register an estimate is independent ([`Scene::comes_from_outside`]). That a block
//! dominates another one has not changed where neither was copied, since the copy's ways are ways of the region.
//! Frequencies are the same to the last bit or have changed, so that what is kept has the very numbers that it would have.
//!
//! Linear in blocks, joins, what was copied and what estimates have seen, with a logarithm of a block's joins and of such
//! registers; the first is the smallest part of a round.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ops::Range;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, entity_impl};
use fixedbitset::FixedBitSet;

use super::scene::Scene;
use super::{Judged, Unestimated, Versioned};
use crate::flow::{Definition, Value, ValueUse, ValueUses, Values};
use crate::graph::{Cfg, Loop, Loops};
use crate::ir::{Block, Function, Inst, Reg};

/// Item that an estimate reads: a block, a join of it, or which joins it has; an instruction; a register's value on entry. The
/// kinds have numbers of their own, so that a number stays what it is when the function grows.
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
    const KINDS: u32 = 8;

    /// How many numbers these have in a function.
    pub fn count(func: &Function) -> usize {
        Seen::KINDS as usize * func.insts.len().max(func.blocks.len()).max(func.regs.len())
    }

    /// A block: its instructions, neighbours and loops.
    pub fn block(block: Block) -> Seen {
        Seen::of_kind(block.as_u32(), 0)
    }

    /// How often a block runs.
    pub fn frequency(block: Block) -> Seen {
        Seen::of_kind(block.as_u32(), 1)
    }

    /// Which joins a block has.
    pub fn joins(block: Block) -> Seen {
        Seen::of_kind(block.as_u32(), 2)
    }

    /// Joins of a block, and their readers.
    fn join(block: Block) -> Seen {
        Seen::of_kind(block.as_u32(), 3)
    }

    /// An instruction.
    pub fn inst(inst: Inst) -> Seen {
        Seen::of_kind(inst.as_u32(), 4)
    }

    fn entry(reg: Reg) -> Seen {
        Seen::of_kind(reg.as_u32(), 5)
    }

    fn of_kind(number: u32, kind: u32) -> Seen {
        Seen(Seen::KINDS * number + kind)
    }

    /// Definition of a value, which also represents its readers.
    pub fn value(values: &Values, value: Value) -> Seen {
        match values.definition(value) {
            Definition::Entry => Seen::entry(values.reg(value)),
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => Seen::inst(inst),
            Definition::Join { block } => Seen::join(block),
        }
    }

    /// That a value which no join makes has too many readers for them to be gone through, and that some are left. That stays
    /// so when it has more.
    pub fn crowd(values: &Values, value: Value) -> Option<Seen> {
        match values.definition(value) {
            Definition::Entry => Some(Seen::of_kind(values.reg(value).as_u32(), 6)),
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => Some(Seen::of_kind(inst.as_u32(), 7)),
            Definition::Join { .. } => None,
        }
    }

    /// The instruction, if it is one.
    fn as_inst(index: usize) -> Option<Inst> {
        let kinds = Seen::KINDS as usize;
        (index % kinds == Seen::inst(Inst::new(0)).index()).then(|| Inst::new(index / kinds))
    }
}

/// The estimates that are true, by what they are for, and what each has seen.
#[derive(Default)]
pub(super) struct Kept {
    estimates: Vec<Entry>,
    /// Place of the last estimate in `estimates`, by the instruction that writes the first register.
    last_of: Vec<PackedOption<Place>>,
    /// Items that estimates have read, also those that are out of date.
    seen: Vec<Seen>,
    /// Counts the rounds.
    round: u32,
}

/// The place of an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(u32);
entity_impl!(Place);

struct Entry {
    /// None where it is not true any more.
    estimate: Option<Estimated>,
    /// How much it gains, if it passes.
    score: Option<f64>,
    /// The register, if it is for only one.
    single: PackedOption<Reg>,
    seen: Range<u32>,
    /// The one before it with the same first instruction.
    before: PackedOption<Place>,
    /// The round in which its candidate was listed last.
    listed_in: u32,
}

impl Entry {
    /// Is it the one for writes of which the first are by the same instruction?
    fn is_for(&self, name: &[(Inst, Reg)]) -> bool {
        let Some(estimate) = &self.estimate else { return false };
        match (name, self.single.expand()) {
            (&[(_, reg)], single) => single == Some(reg),
            (_, Some(_)) => false,
            _ => estimate.name()[..] == *name,
        }
    }
}

/// Result of a candidate.
pub(super) enum Estimated {
    /// An estimate.
    Judged(Box<Judged>),
    /// None could be made.
    TooLarge(Box<Unestimated>),
}

impl Estimated {
    /// Candidate of the result.
    pub fn name(&self) -> &Versioned {
        match self {
            Estimated::Judged(judged) => &judged.name,
            Estimated::TooLarge(large) => &large.name,
        }
    }
}

impl Kept {
    /// Begins a round: forgets the estimates that have seen what has changed, all where that cannot be told. `forget` is told
    /// where the first register of each was written.
    pub fn begin(&mut self, scene: &Scene<'_>, changed: Option<&Changed>, mut forget: impl FnMut(Inst)) {
        self.round += 1;
        let Some(changed) = changed else {
            *self = Kept { round: self.round, ..Kept::default() };
            return;
        };
        for entry in &mut self.estimates {
            let seen = &self.seen[entry.seen.start as usize..entry.seen.end as usize];
            let Some(estimate) = entry.estimate.take_if(|estimate| changed.concerns(scene, estimate, seen)) else {
                continue;
            };
            estimate.name().first().iter().for_each(|(inst, _)| forget(*inst));
        }
    }

    /// The estimate of a candidate that is listed in this round.
    pub fn listed(&mut self, name: &[(Inst, Reg)]) -> Option<Place> {
        let mut place = self.last_of.get(name.first()?.0.index())?.expand()?;
        while !self.estimates[place.index()].is_for(name) {
            place = self.estimates[place.index()].before.expand()?;
        }
        self.estimates[place.index()].listed_in = self.round;
        Some(place)
    }

    /// Keeps what came of a candidate that is listed in this round, with what its estimate has seen and how much it gains if
    /// it passes.
    pub fn add(&mut self, estimate: Estimated, score: Option<f64>, seen: &[Seen]) -> Place {
        let start = self.seen.len() as u32;
        self.seen.extend_from_slice(seen);
        let seen = start..self.seen.len() as u32;
        let place = Place::new(self.estimates.len());
        let (mut before, mut single) = (None.into(), None.into());
        if let Some(&(first, reg)) = estimate.name().first() {
            if first.index() >= self.last_of.len() {
                self.last_of.resize(first.index() + 1, None.into());
            }
            before = core::mem::replace(&mut self.last_of[first.index()], place.into());
            single = Some(reg).filter(|_| estimate.name().len() == 1).into();
        }
        let listed_in = self.round;
        self.estimates.push(Entry { estimate: Some(estimate), score, single, seen, before, listed_in });
        place
    }

    /// Ends a round. Of what was not listed those are still candidates that stand in blocks which nobody has looked at: these
    /// are single registers, and there are none where all blocks were looked at.
    pub fn end(&mut self, are_all_listed: bool) {
        let round = self.round;
        for entry in &mut self.estimates {
            if entry.listed_in != round && (are_all_listed || entry.single.is_none()) {
                entry.estimate = None;
            }
        }
    }

    /// All estimates, as they were made.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let places = self.estimates.iter().enumerate();
        places.filter(|(_, entry)| entry.estimate.is_some()).map(|(place, _)| Place::new(place))
    }

    /// Returns the result of a candidate.
    pub fn get(&self, place: Place) -> Option<&Estimated> {
        self.estimates[place.index()].estimate.as_ref()
    }

    /// Returns the result of a candidate, to be changed.
    pub fn get_mut(&mut self, place: Place) -> Option<&mut Estimated> {
        self.estimates[place.index()].estimate.as_mut()
    }

    /// An estimate, if one could be made.
    pub fn judged(&self, place: Place) -> Option<&Judged> {
        if let Some(Estimated::Judged(judged)) = self.get(place) { Some(judged) } else { None }
    }

    /// How much a candidate gains, if it passes.
    pub fn score(&self, place: Place) -> Option<f64> {
        self.estimates[place.index()].score
    }

    /// Removes and returns the estimate of a candidate, which then is none any more.
    pub fn remove(&mut self, place: Place) -> Option<Estimated> {
        self.estimates[place.index()].estimate.take()
    }
}

/// Changes of a transformation to blocks and instructions.
#[derive(Default)]
pub(super) struct Change {
    /// The block of the check, those that are copied, and those from which something moved up.
    pub touched: Vec<Block>,
    /// Instructions that moved up to the check.
    pub hoisted: Vec<Inst>,
    /// How many instructions and blocks there were before.
    pub insts: usize,
    pub blocks: usize,
    /// Has something been written in places that it cannot name?
    pub is_anywhere: bool,
}

impl Change {
    /// The blocks whose instructions are others than before, in a function after it. None if that cannot be told.
    pub fn changed_blocks(&self, func: &Function) -> Option<Vec<Block>> {
        if self.is_anywhere {
            return None;
        }
        let blocks = self.touched.iter().copied().chain((self.blocks..func.blocks.len()).map(Block::new));
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
    /// Records a scene that is about to change.
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
    fn new_blocks(&self, func: &Function) -> impl Iterator<Item = Block> + Clone + use<> {
        (self.frequencies.len()..func.blocks.len()).map(Block::new)
    }
}

/// Items that estimates may have read and that changed.
pub(super) struct Changed {
    all: FixedBitSet,
    /// Changes that are more than other names for the contents of registers with few writers.
    more_than_names: FixedBitSet,
    /// Those registers.
    renamed: FixedBitSet,
    /// The blocks in which they are written, by rising number in the preorder of the dominator tree.
    written_in: Vec<u32>,
}

impl Changed {
    /// Changes by a transformation between then and now. None if they cannot be determined.
    pub fn between(past: &Past, change: &Change, now: &Scene<'_>) -> Option<Changed> {
        if change.is_anywhere {
            return None;
        }
        let none = FixedBitSet::with_capacity(Seen::count(now.func));
        let mut changed = Changed {
            all: none.clone(),
            more_than_names: none,
            renamed: FixedBitSet::with_capacity(now.func.regs.len()),
            written_in: Vec::new(),
        };
        changed.add_blocks(past, change, now);
        changed.add_region(past, change, now);
        // What was put in reads something more, and so do its joins.
        let values = &now.known.values;
        let joins = past.new_blocks(now.func).flat_map(|block| values.joins(block));
        for join in joins.filter(|&join| now.known.uses.is_read(join)) {
            values.join_args(join).iter().for_each(|arg| changed.add_unless_new(past, now, arg.value));
        }
        for inst in (change.insts..now.func.insts.len()).map(Inst::new) {
            // These have more readers, and as many old ones as the rest says.
            values.used(inst).iter().for_each(|&value| {
                changed.add_name(now, values.reg(value), Seen::value(values, value));
            });
            changed.add_old(values, inst);
        }
        changed.add_what_many_write_now(past, change, now);
        let dominators = &now.known.dominators;
        let renamed = changed.renamed.ones().filter_map(|reg| now.written_in(Reg::new(reg)));
        let in_tree = renamed.flatten().filter(|&block| dominators.dominates(block, block));
        changed.written_in = in_tree.map(|block| dominators.preorder_number(block)).collect();
        changed.written_in.sort_unstable();
        changed.written_in.dedup();
        Some(changed)
    }

    /// The instructions of these.
    pub fn insts(&self) -> impl Iterator<Item = Inst> + '_ {
        self.all.ones().filter_map(Seen::as_inst)
    }

    /// May an estimate that has seen that be another one now?
    fn concerns(&self, scene: &Scene<'_>, estimate: &Estimated, seen: &[Seen]) -> bool {
        let mut sees_names = false;
        for seen in seen.iter().filter(|seen| self.all.contains(seen.index())) {
            if self.more_than_names.contains(seen.index()) {
                return true;
            }
            sees_names = true;
        }
        let head = estimate.name().first().and_then(|&(inst, _)| scene.func.inst_block(inst));
        sees_names && head.is_none_or(|head| self.is_written_below(scene, head))
    }

    /// Is one of the registers written in a block or in what it dominates? That is one piece of the preorder.
    fn is_written_below(&self, scene: &Scene<'_>, head: Block) -> bool {
        let dominators = &scene.known.dominators;
        let first = dominators.preorder_number(head);
        let end = first + dominators.subtree(head).len() as u32;
        let place = self.written_in.partition_point(|&number| number < first);
        self.written_in.get(place).is_some_and(|&number| number < end)
    }

    fn add(&mut self, seen: Seen) {
        self.all.insert(seen.index());
        self.more_than_names.insert(seen.index());
    }

    /// That is another one as far as the names of a register go.
    fn add_name(&mut self, now: &Scene<'_>, reg: Reg, seen: Seen) {
        if self.renamed.contains(reg.index()) || now.written_in(reg).is_some() {
            self.all.insert(seen.index());
            self.renamed.insert(reg.index());
        } else {
            self.add(seen);
        }
    }

    /// Adds the definition of a value, and its readers.
    fn add_value(&mut self, now: &Scene<'_>, values: &Values, value: Value) {
        let reg = values.reg(value);
        self.add_name(now, reg, Seen::value(values, value));
        if let Some(crowd) = Seen::crowd(values, value) {
            self.add_name(now, reg, crowd);
        }
    }

    /// Adds the old values of guarded results, which read them.
    fn add_old(&mut self, values: &Values, inst: Inst) {
        for &result in values.defined(inst) {
            if let Definition::Guarded { old, .. } = values.definition(result) {
                self.add(Seen::value(values, old));
            }
        }
    }

    fn add_readers(&mut self, now: &Scene<'_>, values: &Values, uses: &ValueUses, value: Value) {
        for &reader in uses.of(value) {
            let seen = match reader {
                ValueUse::Operand { inst, .. } => Seen::inst(inst),
                ValueUse::Old(result) => Seen::value(values, result),
                ValueUse::Argument(join) => Seen::value(values, join),
            };
            self.add_name(now, values.reg(value), seen);
        }
    }

    /// The values of registers that few instructions wrote and many do now: an estimate that went by these goes by the names
    /// from now on.
    fn add_what_many_write_now(&mut self, past: &Past, change: &Change, now: &Scene<'_>) {
        let mut regs = FixedBitSet::with_capacity(now.func.regs.len());
        let new = now.func.insts.iter().skip(change.insts);
        let written = new.flat_map(|(_, data)| data.dsts.iter().copied());
        regs.extend(written.filter(|&reg| now.has_many_writers_since(reg, change.insts)).map(Reg::index));
        if regs.is_clear() {
            return;
        }
        for value in past.values.iter().filter(|&value| regs.contains(past.values.reg(value).index())) {
            self.add_value(now, &past.values, value);
        }
    }

    /// The blocks that are not as they were, and what their joins join.
    fn add_blocks(&mut self, past: &Past, change: &Change, now: &Scene<'_>) {
        let known = &now.known;
        let as_before = loops_as_before(past, &known.loops);
        change.touched.iter().for_each(|&block| self.add_block(block));
        // Edges come and go with blocks whose ends are others than before.
        let mut may_have_other_edges = FixedBitSet::with_capacity(now.func.blocks.len());
        let ends_before = change.touched.iter().flat_map(|&block| past.cfg.successors(block));
        let others = change.touched.iter().copied().chain(past.new_blocks(now.func));
        let ends_after = others.clone().flat_map(|block| known.cfg.successors(block));
        may_have_other_edges.extend(ends_before.chain(ends_after).copied().chain(others).map(Block::index));
        let has_same_edges = |block: Block| {
            past.cfg.successors(block) == known.cfg.successors(block)
                && past.cfg.predecessors(block) == known.cfg.predecessors(block)
        };
        for (block, &before) in past.frequencies.iter().enumerate() {
            let block = Block::new(block);
            let after = now.frequency(block);
            debug_assert!(may_have_other_edges.contains(block.index()) || has_same_edges(block));
            let has_same_edges = (!may_have_other_edges.contains(block.index()) || has_same_edges(block))
                && retreats_as_before(&past.cfg, &known.cfg, block);
            let has_same_loops = match (past.loops.innermost(block), known.loops.innermost(block)) {
                (None, None) => true,
                (Some(before), Some(after)) => as_before[after.index()] == Some(before),
                _ => false,
            };
            let has_same_frequency = before.to_bits() == after.to_bits();
            if !(has_same_edges && has_same_loops) {
                self.add_block(block);
            } else if !has_same_frequency {
                self.add(Seen::frequency(block));
            }
            self.add_joins(block, past, now);
        }
    }

    /// A block with how often it runs and all that its joins are.
    fn add_block(&mut self, block: Block) {
        self.add(Seen::block(block));
        self.add(Seen::frequency(block));
        self.add(Seen::join(block));
        self.add(Seen::joins(block));
    }

    /// The joins of a block that are read only before or only after: what they join has other readers now, and their
    /// readers read something else. Where the block is not as it was, all its joins may join something else.
    fn add_joins(&mut self, block: Block, past: &Past, now: &Scene<'_>) {
        let joins_all_anew = self.more_than_names.contains(Seen::joins(block).index());
        let (before, after) = (&past.values, &now.known.values);
        let read_before = || before.joins(block).filter(|&join| past.uses.is_read(join));
        let read_after = || after.joins(block).filter(|&join| now.known.uses.is_read(join));
        if !joins_all_anew && read_before().map(|join| before.reg(join)).eq(read_after().map(|join| after.reg(join))) {
            return;
        }
        for join in read_before() {
            let stays = read_join(after, &now.known.uses, block, before.reg(join)).is_some();
            if !stays || joins_all_anew {
                before.join_args(join).iter().for_each(|arg| self.add_value(now, before, arg.value));
            }
            if !stays {
                self.add_name(now, before.reg(join), Seen::joins(block));
                self.add_name(now, before.reg(join), Seen::join(block));
                self.add_readers(now, before, &past.uses, join);
            }
        }
        for join in read_after() {
            let is_new = is_new(past, after, join);
            if is_new || joins_all_anew {
                after.join_args(join).iter().for_each(|arg| self.add_unless_new(past, now, arg.value));
            }
            if is_new {
                let reg = after.reg(join);
                self.add_name(now, reg, Seen::joins(block));
                for &reader in now.known.uses.of(join) {
                    match reader {
                        ValueUse::Operand { inst, .. } => self.add_name(now, reg, Seen::inst(inst)),
                        ValueUse::Old(result) | ValueUse::Argument(result) => {
                            self.add_unless_new(past, now, result);
                        }
                    }
                }
            }
        }
    }

    /// Adds the definition of a value, and its readers; new joins have no estimates.
    fn add_unless_new(&mut self, past: &Past, now: &Scene<'_>, value: Value) {
        if !is_new(past, &now.known.values, value) {
            self.add_value(now, &now.known.values, value);
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
            for &value in values.defined(inst) {
                self.add_value(now, values, value);
                self.add_readers(now, values, uses, value);
            }
        }
        for join in copied.flat_map(|block| values.joins(block)) {
            self.add_readers(now, values, uses, join);
        }
    }
}

/// Do the same edges retreat of those that enter a block, which come from where they came from? The only way into a block never
/// does.
fn retreats_as_before(past: &Cfg, now: &Cfg, block: Block) -> bool {
    let (before, after) = (past.in_edges(block), now.in_edges(block));
    let is_only_way = before.len() == 1 && !past.is_entry(block) && !now.is_entry(block);
    is_only_way
        || before.iter().zip(after).all(|(&before, &after)| past.is_retreating(before) == now.is_retreating(after))
}

/// Is a value a join that nobody read, if there was one?
fn is_new(past: &Past, values: &Values, value: Value) -> bool {
    let Definition::Join { block } = values.definition(value) else { return false };
    block.index() >= past.frequencies.len() || read_join(&past.values, &past.uses, block, values.reg(value)).is_none()
}

/// The join of a register at a block, if somebody reads it.
fn read_join(values: &Values, uses: &ValueUses, block: Block, reg: Reg) -> Option<Value> {
    values.join_of(block, reg).filter(|&join| uses.is_read(join))
}

/// Old loop of each current one, if that and all around it have the same headers.
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

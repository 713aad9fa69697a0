//! Replacement of instructions by copies of values computed earlier.
//!
//! ```text
//! x = add.u32 a, b              x = add.u32 a, b
//! y = add.u32 b, a       ──▶    y = mov.u32 x
//! ```
//!
//! Algorithm, for each block in preorder of the dominator tree:
//! 1. Close the scopes that end here, which removes their holders, and open one for the block.
//!    Enter its joins as holders of their numbers, if the mode allows.
//! 2. If every result of an eligible instruction has a holder within the scope, copy from the
//!    outermost one, the leader.
//! 3. If the leader's register has been written since, copy from the innermost holder, or else from
//!    a temporary that is written right after the leader's definition.
//! 4. Otherwise enter the results as holders, and a stored register as a holder of the stored
//!    value.
//! 5. Remove a store that repeats what is in memory, and the store before one to the same place
//!    that nothing can have read.
//!
//! Sound because a leader's definition dominates, and the value names tell whether its register
//! still holds the value. A replacement changes no value of any register, so that all numbers
//! remain right.
//!
//! Cost: O(instructions · log definitions of one register).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::expressions::Number;
use super::memory::concerns_memory;
use super::numbers::ValueNumbers;
use super::remarks;
use super::report::Report;
use super::scope::Scope;
use super::scoped::ScopedStacks;
use crate::edit::Rewrite;
use crate::flow::Value;
use crate::graph::Dominators;
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg};
use crate::pass::support::copies::{overwritten_early, replace_by_copies};
use crate::trace::Place;
use crate::view::View;

/// Replaces all repetitions within a scope. Looks up at most `limit` eligible instructions.
pub(super) fn replace_repetitions(
    view: &mut View<'_>,
    dominators: &Dominators,
    numbers: &ValueNumbers,
    scope: &Scope,
    limit: usize,
) {
    let mut walk = Walk {
        dominators,
        numbers,
        scope,
        holders: ScopedStacks::new(numbers.count()),
        works: SecondaryMap::new(),
        temporaries: BTreeMap::new(),
        unread: None,
        limit,
        lookups: 0,
        is_stopped: false,
        report: Report::new(dominators, scope),
    };
    let mut open: Vec<Block> = Vec::new();
    for (place, &block) in dominators.preorder().iter().enumerate() {
        while walk.holders.close(place) {
            open.pop().into_iter().for_each(|closed| walk.report.close(view, closed));
        }
        walk.holders.open(place + dominators.subtree(block).len());
        open.push(block);
        walk.report.open(view, block);
        walk.joins(block);
        walk.block(view, block);
    }
    open.into_iter().rev().for_each(|closed| walk.report.close(view, closed));
}

/// A register that holds a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder {
    pub value: Value,
    /// The block from which on it is known to hold the value.
    pub block: Block,
    /// The instruction after which it does: the defining one, or a store; none at the start of the
    /// block.
    pub inst: Option<Inst>,
}

/// The place that a copy reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Register(Reg),
    /// A temporary that is not created yet.
    Temporary(Holder),
}

struct Walk<'a> {
    dominators: &'a Dominators,
    numbers: &'a ValueNumbers,
    scope: &'a Scope,
    /// Registers that came to hold each number, in the blocks that dominate the open one.
    holders: ScopedStacks<Holder>,
    /// First instruction that did each work; only for remarks.
    works: SecondaryMap<Number, PackedOption<Inst>>,
    /// Temporaries that keep the values of leaders.
    temporaries: BTreeMap<Holder, Reg>,
    /// Last store of the open block and its place, while nothing can have read it.
    unread: Option<(Inst, Number)>,
    /// Eligible instructions that may be looked up, and that were.
    limit: usize,
    lookups: usize,
    /// The limit has been reached.
    is_stopped: bool,
    report: Report<'a>,
}

impl Walk<'_> {
    fn joins(&mut self, block: Block) {
        for value in self.numbers.values().joins(block).filter(|_| self.scope.has_joins()) {
            if let Some(number) = self.numbers.of_value(value) {
                self.holders.push(number, Holder { value, block, inst: None });
            }
        }
    }

    fn block(&mut self, view: &mut View<'_>, block: Block) {
        if self.is_stopped {
            return;
        }
        self.unread = None;
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            if self.numbers.stored(inst).is_some() {
                self.store(view, block, inst);
                continue;
            }
            if !self.instruction(view, block, inst) {
                return;
            }
            // A load that was replaced reads no memory any more.
            if concerns_memory(view.func().insts[inst].opcode.op) {
                self.unread = None;
            }
        }
    }

    /// Replaces an instruction, or enters its results. False if the limit is reached.
    fn instruction(&mut self, view: &mut View<'_>, block: Block, inst: Inst) -> bool {
        if self.numbers.of(inst).is_none() {
            return true;
        }
        let earlier = self.earlier_work(view, inst);
        let expression = self.report.expression(view, self.numbers, inst);
        let results = self.numbers.results(inst);
        if results.is_some() {
            if self.lookups == self.limit {
                remarks::miss_beyond_limit(view, block, inst, self.limit);
                self.is_stopped = true;
                return false;
            }
            self.lookups += 1;
        }
        let leaders: Option<SmallVec<[Holder; 2]>> =
            results.as_ref().and_then(|results| results.iter().map(|&number| self.leader(block, number)).collect());
        if let (Some(results), Some(leaders)) = (&results, leaders) {
            self.replace(view, (block, inst), results, &leaders);
        } else if let Some(constant) = self.loaded_constant(view.func(), inst) {
            replace_by_constant(view, block, inst, constant);
        } else if let Some(earlier) = earlier {
            remarks::miss_repetition(view, self.numbers, (block, inst), earlier);
        }
        let is_in = view.func().inst_block(inst).is_some();
        for (index, &value) in self.numbers.values().defined(inst).iter().enumerate() {
            let holder = Holder { value, block, inst: Some(inst) };
            let result = results.as_ref().map(|results| results[index]);
            if let Some(expression) = &expression {
                self.report.note_write(view, self.numbers, holder, result, (index, expression));
            }
            if let Some(result) = result.filter(|_| is_in) {
                self.holders.push(result, holder);
            }
        }
        true
    }

    /// Removes a store that repeats what is in memory, or else the unread store before it to the
    /// same place. The stored register holds the value, if no other one does.
    fn store(&mut self, view: &mut View<'_>, block: Block, inst: Inst) {
        let Some(stored) = self.numbers.stored(inst) else { return };
        let number = stored.value.and_then(|value| Some((value, self.numbers.of_value(value)?)));
        let unheld = number.filter(|&(_, number)| self.leader(block, number).is_none());
        if stored.is_repeated && unheld.is_none() {
            return remarks::repeated_store(view, block, inst).remove(inst);
        }
        if let Some((value, number)) = unheld {
            self.holders.push(number, Holder { value, block, inst: Some(inst) });
        }
        let before = self.unread.replace((inst, stored.place));
        if let Some((earlier, _)) = before.filter(|&(_, place)| place == stored.place) {
            remarks::overwritten_store(view, block, earlier, inst).remove(earlier);
            let value = self.numbers.stored(earlier).and_then(|stored| stored.value);
            if let Some(number) = value.and_then(|value| self.numbers.of_value(value)) {
                self.holders.remove(number, |holder| holder.inst == Some(earlier));
            }
        }
    }

    /// The outermost holder of a number within the scope.
    fn leader(&self, block: Block, number: Number) -> Option<Holder> {
        let holders = self.holders.get(number);
        let first = holders.partition_point(|holder| !self.scope.reaches(self.dominators, holder.block, block));
        holders.get(first).copied()
    }

    /// The constant that a load finds, because it was stored there.
    fn loaded_constant(&self, func: &Function, inst: Inst) -> Option<u64> {
        let number = self.numbers.of(inst).and_then(|numbered| numbered.replaceable())?;
        let data = &func.insts[inst];
        self.numbers.constant(number).filter(|_| data.opcode.op == Op::Ld && data.dsts.len() == 1)
    }

    /// The first instruction that dominates this one and does the same work. Notes this one if
    /// there is none.
    fn earlier_work(&mut self, view: &View<'_>, inst: Inst) -> Option<Inst> {
        let work = self.numbers.of(inst)?.work.expand().filter(|_| view.is_traced())?;
        let block = |inst| view.func().inst_block(inst);
        let dominates = |earlier: &Inst| Some(self.dominators.dominates(block(*earlier)?, block(inst)?));
        let earlier = self.works[work].expand().filter(|earlier| dominates(earlier) == Some(true));
        if earlier.is_none() {
            self.works[work] = inst.into();
        }
        earlier
    }

    /// Copies an instruction's results from their leaders, if copies can do its work.
    fn replace(&mut self, view: &mut View<'_>, (block, inst): (Block, Inst), results: &[Number], leaders: &[Holder]) {
        let mut sources: SmallVec<[Source; 2]> = SmallVec::new();
        for (&number, &leader) in results.iter().zip(leaders) {
            if self.numbers.of_value(leader.value) == Some(number) {
                self.report.mention(view, self.numbers, leader.value);
            }
            sources.push(self.source(view.func(), inst, number, leader));
        }
        let shown = self.report.shown(results[0]);
        if let Err(reason) = self.can_copy(view.func(), inst, &sources) {
            return remarks::miss_copy(view, block, inst, shown, reason);
        }
        let mut rewrite = remarks::repetition(view, self.numbers, (block, inst), (leaders[0], sources[0]), shown);
        let mut registers: SmallVec<[Reg; 2]> = SmallVec::new();
        for source in sources {
            registers.push(match source {
                Source::Register(reg) => reg,
                Source::Temporary(leader) => {
                    let kept = keep(&mut rewrite, self.numbers.values().reg(leader.value), leader);
                    *self.temporaries.entry(leader).or_insert(kept)
                }
            });
        }
        replace_by_copies(&mut rewrite, inst, &registers);
    }

    /// The place that a copy at an instruction reads a value from.
    fn source(&self, func: &Function, inst: Inst, number: Number, leader: Holder) -> Source {
        let values = self.numbers.values();
        let held = |reg| self.numbers.of_value(values.before(func, inst, reg)?);
        for &Holder { value, .. } in [Some(&leader), self.holders.get(number).last()].into_iter().flatten() {
            if held(values.reg(value)) == self.numbers.of_value(value) {
                return Source::Register(values.reg(value));
            }
        }
        self.temporaries.get(&leader).map_or(Source::Temporary(leader), |&kept| Source::Register(kept))
    }

    /// Whether copies from those sources, one after the other, do an instruction's work.
    fn can_copy(&self, func: &Function, inst: Inst, sources: &[Source]) -> Result<(), &'static str> {
        let data = &func.insts[inst];
        let ty = |source: &Source| match source {
            Source::Register(reg) => func.reg_types[*reg],
            Source::Temporary(leader) => func.reg_types[self.numbers.values().reg(leader.value)],
        };
        if data.dsts.iter().zip(sources).any(|(&dst, source)| !ty(source).agrees_with(func.reg_types[dst])) {
            return Err("its type differs");
        }
        let register = |source: &Source| match source {
            Source::Register(reg) => Some(*reg),
            Source::Temporary(_) => None,
        };
        let registers: SmallVec<[Option<Reg>; 2]> = sources.iter().map(register).collect();
        if overwritten_early(data, &registers).is_some() {
            return Err("a copy would overwrite the source of the next one");
        }
        Ok(())
    }
}

fn replace_by_constant(view: &mut View<'_>, block: Block, inst: Inst, constant: u64) {
    let mut rewrite = remarks::stored_constant(view, block, inst, constant);
    let data = rewrite.func().insts[inst].clone();
    let copy = InstData::new(Opcode::mov(data.opcode.ty), data.dst(), [Operand::Const(constant)]);
    rewrite.replace(inst, copy.guarded(data.guard));
}

/// Keeps the value of a register in a new temporary, from the place on where the leader holds it.
fn keep(rewrite: &mut Rewrite<'_, '_>, reg: Reg, leader: Holder) -> Reg {
    let ty = rewrite.func().reg_types[reg];
    let kept = rewrite.create_temporary(ty);
    let layout = &rewrite.func().layout;
    let before = leader.inst.map_or(layout.first_inst(leader.block), |inst| layout.next_inst(inst));
    let copy = InstData::new(Opcode::mov(ty), [kept], [Operand::Reg(reg)]);
    rewrite.insert(Place { block: leader.block, before }, copy);
    kept
}

//! The fixpoint: one sweep down the dominator tree, and after it what becomes divergent is queued
//! once and makes its users divergent.
//!
//! ```text
//! a: i = %tid; p = i < n; br p, b, c       the sweep: i and p are divergent, and the branch
//! b: j = i + 1; k = join of k, m           j gets what i is; k comes before m is known: k is visited again
//! c: …                                     then lanes part at a: what that makes divergent tells those who read it
//! ```
//!
//! The sweep comes to a definition before it comes to what reads it, but for joins that control
//! comes back to, which are looked at again behind it. Most of what is divergent is found like
//! that, in the order in which it stands in memory; the queue takes values as they come.

use alloc::vec;
use alloc::vec::Vec;
use bitflags::bitflags;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use fixedbitset::FixedBitSet;

use super::parting::Parting;
use super::sources::{Behaviour, behaviour};
use super::{Cause, Divergence, DivergenceInput, Source};
use crate::compact_sort::CompactSort;
use crate::flow::uses::ValueUse;
use crate::flow::values::{Definition, Value};
use crate::ir::{Block, FuncKind, Inst, Op, Operand};

bitflags! {
    /// Role of an instruction in divergence.
    #[derive(Clone, Copy, Default)]
    struct Deeds: u8 {
        /// Control may come to it.
        const REACHABLE = 1 << 0;
        /// It has a guard.
        const GUARDED = 1 << 1;
        /// Its results are the same for all lanes whatever operand 0 is.
        const EVENS = 1 << 2;
        /// Its operand decides where lanes go.
        const BRANCHES = 1 << 3;
        /// It draws from an input.
        const DRAWS = 1 << 4;
        /// It has passed divergence on.
        const DIVERGED = 1 << 5;
        /// It has several results.
        const MAKES_SEVERAL = 1 << 6;
    }
}

/// Facts about an instruction that the fixpoint needs, in one place: divergence meets instructions in no order.
#[derive(Clone, Copy, Default)]
struct InstFacts {
    deeds: Deeds,
    /// Its result, if it has one only.
    made: PackedOption<Value>,
    /// Block of the instruction.
    block: PackedOption<Block>,
}

pub(super) struct Propagation<'a> {
    pub(super) input: DivergenceInput<'a>,
    moments: &'a FixedBitSet,
    pub(super) result: Divergence,
    insts: Vec<InstFacts>,
    /// The divergent values. Small enough to stay in a cache where their causes are not.
    divergent: FixedBitSet,
    /// Divergent values whose readers have all been told.
    pub(super) told: FixedBitSet,
    /// Is the sweep under way? It comes to all who read what it finds.
    is_sweeping: bool,
    /// Draws that the sweep found to be made by a part of the lanes; others of the same inputs may come behind them.
    found_apart: Vec<(Inst, Cause)>,
    /// Values and branches whose effects are still to be looked at.
    values: Vec<Value>,
    branches: Vec<Block>,
    /// Inputs of which all draws are divergent.
    drawn_apart: FixedBitSet,
    /// Instructions that draw from inputs, and their blocks.
    draws: Vec<Inst>,
    drawing: FixedBitSet,
}

impl<'a> Propagation<'a> {
    /// `moments`: the blocks that lanes may run at different moments, by index.
    pub(super) fn new(input: DivergenceInput<'a>, moments: &'a FixedBitSet) -> Propagation<'a> {
        let mut values = SecondaryMap::new();
        values.resize(input.values.len());
        let mut branches = SecondaryMap::new();
        branches.resize(input.cfg.block_count());
        let result =
            Divergence { values, branches, temporal_uses: Vec::new(), apart: vec![None; input.cfg.block_count()] };
        let drawn_apart = FixedBitSet::with_capacity(input.func.inputs.len());
        let drawing = FixedBitSet::with_capacity(input.cfg.block_count());
        Propagation {
            input,
            moments,
            result,
            insts: vec![InstFacts::default(); input.func.insts.len()],
            divergent: FixedBitSet::with_capacity(input.values.len()),
            told: FixedBitSet::with_capacity(input.values.len()),
            is_sweeping: false,
            found_apart: Vec::new(),
            values: Vec::new(),
            branches: Vec::new(),
            drawn_apart,
            draws: Vec::new(),
            drawing,
        }
    }

    pub(super) fn run(mut self) -> Divergence {
        self.sweep();
        let mut parting = None;
        loop {
            if let Some(value) = self.values.pop() {
                let uses = self.input.uses;
                uses.of(value).iter().for_each(|&reader| self.diverge_use(reader, value, None));
                self.told.insert(value.index());
            } else if let Some(branch) = self.branches.pop() {
                let tables = parting.get_or_insert_with(|| Parting::new(self.input));
                self.part_lanes(branch, tables);
            } else {
                // The first cause that was found of each use.
                self.result.temporal_uses.compact_sort_by_key(|&(place, _)| place);
                self.result.temporal_uses.dedup_by_key(|&mut (place, _)| place);
                return self.result;
            }
        }
    }

    /// Comes to everything once, definitions first.
    fn sweep(&mut self) {
        let DivergenceInput { func, dominators, values, .. } = self.input;
        self.is_sweeping = true;
        if func.kind == FuncKind::Func {
            for value in values.iter().filter(|&value| values.definition(value) == Definition::Entry) {
                if func.param_of(values.reg(value)).is_some() {
                    self.mark(value, Cause::Source(Source::Argument));
                }
            }
        }
        for &block in dominators.preorder() {
            values.joins(block).for_each(|join| self.follow_args(join));
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                let behaviour = behaviour(func, data, self.moments.contains(block.index()));
                let (used, defined) = values.used_and_defined(inst);
                let mut deeds = Deeds::REACHABLE;
                deeds.set(Deeds::GUARDED, data.guard.is_some());
                deeds.set(Deeds::EVENS, behaviour == Behaviour::Evens);
                deeds.set(Deeds::BRANCHES, matches!(data.opcode.op, Op::BrIf | Op::Switch));
                deeds.set(Deeds::DRAWS, data.opcode.op == Op::In);
                deeds.set(Deeds::MAKES_SEVERAL, defined.len() > 1);
                let made = if let &[made] = defined { Some(made) } else { None };
                self.insts[inst.index()] = InstFacts { deeds, made: made.into(), block: block.into() };
                if deeds.contains(Deeds::DRAWS) {
                    self.draws.push(inst);
                    self.drawing.insert(block.index());
                }
                if let Behaviour::Differs(source) = behaviour {
                    defined.iter().for_each(|&value| self.mark(value, Cause::Source(source)));
                    if matches!(data.opcode.op, Op::CallTo | Op::Switch) {
                        self.mark_branch(block, Cause::Source(source));
                    }
                }
                for (&value, index) in used.iter().zip(0..) {
                    if self.is_divergent(value) {
                        self.diverge_use(ValueUse::Operand { inst, index }, value, None);
                    }
                }
                if data.guard.is_some() {
                    for &value in defined {
                        if let Definition::Guarded { old, .. } = values.definition(value)
                            && self.is_divergent(old)
                        {
                            self.mark(value, Cause::Value(old));
                        }
                    }
                }
            }
        }
        self.is_sweeping = false;
        self.told.clone_from(&self.divergent);
        for (inst, cause) in core::mem::take(&mut self.found_apart) {
            self.draw_apart(inst, cause);
        }
        values.all_joins().for_each(|join| self.follow_args(join));
    }

    /// A join is divergent if something that it takes is.
    fn follow_args(&mut self, join: Value) {
        if !self.is_divergent(join)
            && let Some(arg) = self.input.values.join_args(join).iter().find(|arg| self.is_divergent(arg.value))
        {
            self.mark(join, Cause::Value(arg.value));
        }
    }

    pub(super) fn mark(&mut self, value: Value, cause: Cause) {
        if !self.divergent.put(value.index()) {
            self.result.values[value] = Some(cause);
            if !self.is_sweeping {
                self.values.push(value);
            }
        }
    }

    fn mark_branch(&mut self, block: Block, cause: Cause) {
        let successors = self.input.cfg.successors(block);
        let is_choice = successors.iter().any(|&next| next != successors[0]);
        if is_choice && self.result.branches[block].is_none() {
            self.result.branches[block] = Some(cause);
            self.branches.push(block);
        }
    }

    /// A reader sees different numbers in `value`: because the value is divergent, or for a cause of its own.
    pub(super) fn diverge_use(&mut self, reader: ValueUse, value: Value, cause: Option<Cause>) {
        match reader {
            ValueUse::Old(made) | ValueUse::Argument(made) => self.mark(made, cause.unwrap_or(Cause::Value(value))),
            ValueUse::Operand { inst, index } => {
                let InstFacts { deeds, made, block } = self.insts[inst.index()];
                if !deeds.contains(Deeds::REACHABLE) {
                    return;
                }
                let is_guarded = deeds.contains(Deeds::GUARDED);
                let is_guard = index == 0 && is_guarded;
                let operand = index - u32::from(is_guarded && !is_guard);
                let passes_on = is_guard || operand > 0 || !deeds.contains(Deeds::EVENS);
                if passes_on && !deeds.contains(Deeds::DIVERGED) {
                    self.insts[inst.index()].deeds.insert(Deeds::DIVERGED);
                    let of_guard = Cause::Guard(value);
                    let cause = cause.unwrap_or(if is_guard { of_guard } else { Cause::Value(value) });
                    let values = self.input.values;
                    if let Some(made) = made.expand() {
                        self.mark(made, cause);
                    } else if deeds.contains(Deeds::MAKES_SEVERAL) {
                        values.defined(inst).iter().for_each(|&made| self.mark(made, cause));
                    }
                    if deeds.contains(Deeds::BRANCHES)
                        && let Some(block) = block.expand()
                    {
                        self.mark_branch(block, cause);
                    }
                }
                if is_guard && deeds.contains(Deeds::DRAWS) {
                    self.draw_apart(inst, cause.unwrap_or(Cause::DrawnUnder(value)));
                }
            }
        }
    }

    /// Is the value known to be divergent?
    pub(super) fn is_divergent(&self, value: Value) -> bool {
        self.divergent.contains(value.index())
    }

    /// The block of an instruction that control may come to.
    pub(super) fn block_of(&self, inst: Inst) -> Option<Block> {
        self.insts[inst.index()].block.expand()
    }

    /// Only a part of the lanes runs the block, because they parted at a branch.
    pub(super) fn run_apart(&mut self, block: Block, branch: Block) {
        self.result.apart[block.index()] = Some(branch);
        if self.drawing.contains(block.index()) {
            for inst in self.input.func.block_insts(block) {
                self.draw_apart(inst, Cause::DrawnApart(branch));
            }
        }
    }

    /// Some lanes make this draw and others do not: from now on they may stand at different draws of its input.
    fn draw_apart(&mut self, inst: Inst, cause: Cause) {
        if self.is_sweeping {
            self.found_apart.push((inst, cause));
            return;
        }
        let DivergenceInput { func, values, .. } = self.input;
        let input_of = |inst: Inst| match func.insts[inst].args.first() {
            Some(Operand::Input(input)) if func.insts[inst].opcode.op == Op::In => Some(*input),
            _ => None,
        };
        let Some(input) = input_of(inst) else { return };
        if self.drawn_apart.put(input.index()) {
            return;
        }
        for index in 0..self.draws.len() {
            let other = self.draws[index];
            if input_of(other) == Some(input) {
                values.defined(other).iter().for_each(|&value| self.mark(value, cause));
            }
        }
    }
}

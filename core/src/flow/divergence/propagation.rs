//! The fixpoint: what becomes divergent is queued once and makes its users divergent.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::region::Regions;
use super::sources::{Behaviour, behaviour};
use super::{Cause, Divergence, DivergenceInput, Source};
use crate::flow::uses::ValueUse;
use crate::flow::values::{Definition, Value};
use crate::graph::Loops;
use crate::ir::{Block, FuncKind, Inst, Op, Operand};

pub(super) struct Propagation<'a> {
    input: DivergenceInput<'a>,
    result: Divergence,
    /// Values and branches whose effects are still to be looked at.
    values: Vec<Value>,
    branches: Vec<Block>,
    /// Inputs of which all draws are divergent.
    drawn_apart: FixedBitSet,
    /// Computed when a branch needs them.
    loops: Option<Loops>,
}

impl<'a> Propagation<'a> {
    pub(super) fn new(input: DivergenceInput<'a>) -> Propagation<'a> {
        let result = Divergence {
            values: Default::default(),
            branches: Default::default(),
            temporal_uses: Default::default(),
            apart: vec![None; input.cfg.block_count()],
        };
        let drawn_apart = FixedBitSet::with_capacity(input.func.inputs.len());
        Propagation { input, result, values: Vec::new(), branches: Vec::new(), drawn_apart, loops: None }
    }

    pub(super) fn run(mut self) -> Divergence {
        self.mark_sources();
        let mut regions = Regions::new(self.input.cfg, self.input.post_dominators);
        loop {
            if let Some(value) = self.values.pop() {
                let uses = self.input.uses;
                uses.of(value).iter().for_each(|&reader| self.diverge_use(reader, value, None));
            } else if let Some(branch) = self.branches.pop() {
                self.part_lanes(branch, &mut regions);
            } else {
                return self.result;
            }
        }
    }

    fn mark_sources(&mut self) {
        let DivergenceInput { func, cfg, values, .. } = self.input;
        if func.kind == FuncKind::Func {
            for value in values.iter().filter(|&value| values.definition(value) == Definition::Entry) {
                if func.param_of(values.reg(value)).is_some() {
                    self.mark(value, Cause::Source(Source::Argument));
                }
            }
        }
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                if let Behaviour::Differs(source) = behaviour(func, data) {
                    values.defined(inst).iter().for_each(|&value| self.mark(value, Cause::Source(source)));
                    if matches!(data.opcode.op, Op::CallTo | Op::Switch) {
                        self.mark_branch(block, Cause::Source(source));
                    }
                }
            }
        }
    }

    fn mark(&mut self, value: Value, cause: Cause) {
        let known = &mut self.result.values[value];
        if known.is_none() {
            *known = Some(cause);
            self.values.push(value);
        }
    }

    fn mark_branch(&mut self, block: Block, cause: Cause) {
        let successors = self.input.cfg.successors(block);
        let is_choice = successors.iter().any(|&next| next != successors[0]);
        if is_choice && !self.result.branches.contains_key(&block) {
            self.result.branches.insert(block, cause);
            self.branches.push(block);
        }
    }

    /// A reader sees different numbers in `value`: because the value is divergent, or for a cause of its own.
    fn diverge_use(&mut self, reader: ValueUse, value: Value, cause: Option<Cause>) {
        let DivergenceInput { func, cfg, values, .. } = self.input;
        match reader {
            ValueUse::Old(made) | ValueUse::Argument(made) => self.mark(made, cause.unwrap_or(Cause::Value(value))),
            ValueUse::Operand { inst, index } => {
                let data = &func.insts[inst];
                let Some(block) = func.inst_block(inst).filter(|&block| cfg.is_reachable(block)) else { return };
                let is_guard = index == 0 && data.guard.is_some();
                let operand = index - u32::from(data.guard.is_some() && !is_guard);
                let passes_on = is_guard || operand > 0 || behaviour(func, data) != Behaviour::Evens;
                let of_guard = Cause::Guard(value);
                let cause = cause.unwrap_or(if is_guard { of_guard } else { Cause::Value(value) });
                if passes_on {
                    values.defined(inst).iter().for_each(|&made| self.mark(made, cause));
                    if matches!(data.opcode.op, Op::BrIf | Op::Switch) {
                        self.mark_branch(block, cause);
                    }
                }
                if is_guard {
                    self.draw_apart(inst, Cause::DrawnUnder(value));
                }
            }
        }
    }

    /// Some lanes make this draw and others do not: from now on they may stand at different draws of its input.
    fn draw_apart(&mut self, inst: Inst, cause: Cause) {
        let DivergenceInput { func, cfg, values, .. } = self.input;
        let input_of = |inst: Inst| match func.insts[inst].args.first() {
            Some(Operand::Input(input)) if func.insts[inst].opcode.op == Op::In => Some(*input),
            _ => None,
        };
        let Some(input) = input_of(inst) else { return };
        if self.drawn_apart.put(input.index()) {
            return;
        }
        for &block in cfg.reverse_postorder() {
            for other in func.block_insts(block).filter(|&other| input_of(other) == Some(input)) {
                values.defined(other).iter().for_each(|&value| self.mark(value, cause));
            }
        }
    }

    /// Lanes part at a branch: joins on their ways and uses behind them may see different values.
    fn part_lanes(&mut self, branch: Block, regions: &mut Regions<'_>) {
        let DivergenceInput { func, cfg, dominators, values, uses, .. } = self.input;
        regions.walk(branch);
        for &block in regions.joins() {
            for join in values.joins(block) {
                let on_the_way = |source: Block| source == branch || regions.contains(source);
                let mut args = values
                    .join_args(join)
                    .iter()
                    .filter(|arg| arg.edge.expand().is_some_and(|edge| on_the_way(cfg.source(edge))));
                let first = args.next();
                if args.any(|arg| Some(arg.value) != first.map(|first| first.value)) {
                    self.mark(join, Cause::Parted(branch));
                }
            }
        }
        for &block in regions.blocks() {
            self.result.apart[block.index()].get_or_insert(branch);
            for inst in func.block_insts(block) {
                self.draw_apart(inst, Cause::DrawnApart(branch));
            }
        }
        // Values that the region may write again before the lanes meet. They are visible behind the meeting point if their
        // block dominates it, and otherwise as far as a join there takes them.
        let Some(meeting) = self.input.post_dominators.immediate_post_dominator(branch) else { return };
        let writes_again = |&&block: &&Block| dominators.dominates(block, branch);
        let writers: Vec<Block> = regions.blocks().iter().filter(writes_again).copied().collect();
        let visible = writers.iter().copied().filter(|&block| dominators.dominates(block, meeting));
        let behind = match visible.min_by_key(|&block| dominators.depth(block)) {
            Some(top) => self.reached_behind(meeting, branch, top),
            None => BTreeSet::new(),
        };
        for &block in &writers {
            let is_visible = dominators.dominates(block, meeting);
            let is_behind = |at: Block| is_visible && (!regions.contains(at) || behind.contains(&at));
            let made_here = func.block_insts(block).flat_map(|inst| values.defined(inst)).copied();
            for value in values.joins(block).chain(made_here) {
                for &reader in uses.of(value) {
                    let is_left = match reader {
                        ValueUse::Operand { inst, .. } => func.inst_block(inst).is_some_and(is_behind),
                        ValueUse::Old(made) => values.block(func, made).is_some_and(is_behind),
                        // A join reads at the ends of the blocks before it, on the way into its own.
                        ValueUse::Argument(join) => values.join_args(join).iter().any(|arg| {
                            let edge = arg.edge.expand().filter(|_| arg.value == value);
                            edge.is_some_and(|edge| {
                                !regions.contains(cfg.target(edge)) || behind.contains(&cfg.source(edge))
                            })
                        }),
                    };
                    if is_left {
                        let cause = Cause::Left(value, branch);
                        if let ValueUse::Operand { inst, index } = reader {
                            self.result.temporal_uses.entry((inst, index)).or_insert(cause);
                        }
                        self.diverge_use(reader, value, Some(cause));
                    }
                }
            }
        }
    }

    /// Blocks of a region that control also reaches behind its meeting point, before `top` runs again. There must be a
    /// cycle through both; in a reducible graph it is an outer loop, and its way back into the region passes `top`.
    ///
    /// Among the blocks that dominate the branch, only the uppermost needs to be avoided: from there, control gets to what
    /// a lower one dominates through the lower one only.
    fn reached_behind(&mut self, meeting: Block, branch: Block, top: Block) -> BTreeSet<Block> {
        let cfg = self.input.cfg;
        let loops = self.loops.get_or_insert_with(|| Loops::compute(cfg));
        let outermost = |block| core::iter::successors(loops.innermost(block), |&inner| loops[inner].parent).last();
        let mut reached = BTreeSet::new();
        let Some(cycle) = outermost(meeting).filter(|&cycle| loops.contains(cycle, branch)) else { return reached };
        let mut stack = vec![meeting];
        while let Some(block) = stack.pop() {
            if block != top && loops.contains(cycle, block) && reached.insert(block) {
                stack.extend_from_slice(cfg.successors(block));
            }
        }
        reached
    }
}

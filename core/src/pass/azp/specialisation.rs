//! Specialisation of a region for zero values: constants forward, dead code backward, nothing
//! changed.
//!
//! ```text
//! check of r0                      r0 = 0
//! x = work.f32 50, a               dead: only r4 reads it, which is a constant
//! r4 = mul.f32 r0, x        ──▶    0
//! r5 = fma.f32 r4, y, z            z, and y is not read
//! br p, n2, n3                     p = r4 > 1 is false: n2 is not entered
//! ```
//!
//! 1. The candidate's values are zero. A worklist visits the readers of every constant that lie in
//!    the region.
//! 2. A reader is simplified with the constants that it reads. A result that becomes constant is
//!    put on the list.
//! 3. A join is constant if all values along edges that control can take are the same constant.
//!    Values from outside the region are not constant. Around a loop, what comes back is assumed to
//!    be that constant too.
//! 4. A branch on a constant closes its other edges; a block without an open edge from before it is
//!    dead.
//! 5. If an assumption of step 3 did not hold, everything is computed again without it,
//!    [`MOST_RESTARTS`] times; after that nothing is assumed.
//! 6. Dead code is found by the readers that are left ([`super::dead_code`]).
//!
//! Sound: an instruction becomes constant only if what it reads is constant along all open edges,
//! and assumptions that are left at the end hold among themselves.
//!
//! Cost: the names of values lead from one instruction to the next, so a candidate costs as much as
//! it changes, and all candidates together as much as their slices. Each block to which a branch
//! closes edges is visited once for it. A candidate may make [`MOST_CHANGED`] instructions
//! constant, simpler or unreachable, in [`MOST_CHANGED_BLOCKS`] blocks; beyond that it gets no
//! estimate, and the remark `too-large` says so.
//!
//! Source: AZP, section 3.3.2, steps 3 and 4; M. Wegman and F. Zadeck, Constant propagation with
//! conditional branches, TOPLAS 1991.

use alloc::vec::Vec;

use super::check::Check;
use super::facts::Facts;
use super::simplification::{Simplified, simplified};
use super::table::Table;
use crate::compact_sort::CompactSort;
use crate::flow::{Definition, Value, ValueUse};
use crate::graph::Edge;
use crate::ir::{Block, Inst, InstData, Op, Operand, Reg};

/// Restarts after which no value is assumed to come around a loop.
const MOST_RESTARTS: usize = 8;
/// A candidate that makes more instructions constant, simpler or unreachable gets no estimate.
pub(super) const MOST_CHANGED: usize = 4096;
/// A candidate that changes instructions of more blocks gets no estimate.
pub(super) const MOST_CHANGED_BLOCKS: usize = 512;

/// Result for an instruction of the region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It is removed.
    Dead,
    /// It gives a constant that is read where the operand cannot be a constant.
    Constant(u64),
    /// Its guard never holds.
    Never,
    /// The branch goes to the target of that number.
    Goes(usize),
    /// It becomes the instruction of that number.
    Simpler(usize),
}

/// Tables of constants, outcomes and dead code, for one candidate after the other.
pub(super) struct Specialisation<'a> {
    pub facts: &'a Facts<'a>,
    pub check: Check<'a>,
    pub constants: Table<Value, u64>,
    pub outcomes: Table<Inst, Outcome>,
    pub dead_blocks: Table<Block, ()>,
    pub closed: Table<Edge, ()>,
    /// Remaining readers of each value that has lost some.
    pub readers: Table<Value, u32>,
    /// Number of times that each value was suspected to be part of a ring.
    pub suspicions: Table<Value, u8>,
    /// Constants that are written because an instruction outside the copy reads them.
    pub demanded: Table<Value, ()>,
    /// Joins that nothing reads any more, whose arguments have lost a reader.
    pub removed_joins: Table<Value, ()>,
    /// Steps of all candidates so far: visited instructions, arguments of joins, edges and blocks.
    pub steps: usize,
    simpler: Vec<InstData>,
    values_to_visit: Vec<Value>,
    /// Blocks to which an edge was closed.
    blocks_to_visit: Vec<Block>,
    /// Instructions of dead blocks.
    unreachable: usize,
    /// Joins that are constant if what comes around their loops is.
    assumed: Vec<Value>,
    /// Joins of which that was not so.
    refuted: Vec<Value>,
    changed_blocks: Table<Block, ()>,
}

impl<'a> Specialisation<'a> {
    /// Tables for the candidates of a function.
    pub fn new(facts: &'a Facts<'a>) -> Specialisation<'a> {
        Specialisation {
            facts,
            check: Check::new(facts),
            constants: Table::new(),
            outcomes: Table::new(),
            dead_blocks: Table::new(),
            closed: Table::new(),
            readers: Table::new(),
            suspicions: Table::new(),
            demanded: Table::new(),
            removed_joins: Table::new(),
            steps: 0,
            simpler: Vec::new(),
            values_to_visit: Vec::new(),
            blocks_to_visit: Vec::new(),
            unreachable: 0,
            assumed: Vec::new(),
            refuted: Vec::new(),
            changed_blocks: Table::new(),
        }
    }

    /// Finds the constants of the region below the check, where these values are zero. False if
    /// that changes too much.
    pub fn assume_zero(&mut self, zeros: &[Value]) -> bool {
        self.refuted.clear();
        let mut restarts = 0;
        loop {
            self.find_constants(zeros, restarts < MOST_RESTARTS);
            if self.changes_too_much() {
                return false;
            }
            if self.do_assumptions_hold() {
                return true;
            }
            restarts += 1;
        }
    }

    /// The form that a simplified instruction takes.
    pub fn simpler(&self, outcome: Outcome) -> Option<&InstData> {
        if let Outcome::Simpler(number) = outcome { self.simpler.get(number) } else { None }
    }

    /// Is the instruction in a dead block, or in none?
    pub fn is_in_dead_block(&self, inst: Inst) -> bool {
        self.facts.func.inst_block(inst).is_none_or(|block| self.dead_blocks.contains(block))
    }

    /// Can control still take the edge?
    pub fn is_open(&self, edge: Edge) -> bool {
        !self.closed.contains(edge) && !self.dead_blocks.contains(self.facts.cfg.source(edge))
    }

    /// The bits that a value has in the region, if they are known.
    pub fn constant(&self, value: Value) -> Option<u64> {
        if let Some(bits) = self.constants.get(value) {
            return Some(bits);
        }
        let Definition::Inst { inst, .. } = self.facts.values.definition(value) else { return None };
        let data = &self.facts.func.insts[inst];
        match (data.opcode.op, data.args.as_slice()) {
            (Op::Mov, [Operand::Const(bits)]) if data.dsts.len() == 1 && self.check.has_in_region(inst) => Some(*bits),
            _ => None,
        }
    }

    fn find_constants(&mut self, zeros: &[Value], may_assume: bool) {
        self.constants.clear();
        self.outcomes.clear();
        self.changed_blocks.clear();
        self.dead_blocks.clear();
        self.closed.clear();
        self.simpler.clear();
        self.assumed.clear();
        self.values_to_visit.clear();
        self.blocks_to_visit.clear();
        self.unreachable = 0;
        zeros.iter().for_each(|&value| self.set_constant(value, 0));
        let facts = self.facts;
        loop {
            if self.changes_too_much() {
                return;
            }
            if let Some(block) = self.blocks_to_visit.pop() {
                self.visit_block(block, may_assume);
                continue;
            }
            let Some(value) = self.values_to_visit.pop() else { break };
            for &reader in facts.uses.of(value) {
                if self.changes_too_much() {
                    return;
                }
                match reader {
                    ValueUse::Operand { inst, .. } => self.visit(inst, may_assume),
                    ValueUse::Old(result) => {
                        if let Some(inst) = facts.values.definition(result).inst() {
                            self.visit(inst, may_assume);
                        }
                    }
                    ValueUse::Argument(join) => self.visit_join(join, may_assume),
                }
            }
        }
    }

    fn changes_too_much(&self) -> bool {
        self.outcomes.len() + self.unreachable > MOST_CHANGED || self.changed_blocks.len() > MOST_CHANGED_BLOCKS
    }

    fn set_constant(&mut self, value: Value, bits: u64) {
        if !self.constants.contains(value) {
            self.constants.set(value, bits);
            self.values_to_visit.push(value);
        }
    }

    fn visit(&mut self, inst: Inst, may_assume: bool) {
        let Facts { func, values, fast_math, .. } = self.facts;
        let Some(block) = func.inst_block(inst) else { return };
        self.steps += 1;
        if self.dead_blocks.contains(block) || !self.check.has_in_region(inst) {
            return;
        }
        let (used, defined) = values.used_and_defined(inst);
        let form = simplified(func, inst, *fast_math, |number| self.constant(*used.get(number)?));
        if form != Simplified::Same {
            self.changed_blocks.set(block, ());
        }
        match form {
            Simplified::Same => {}
            Simplified::Constant(bits) => {
                self.outcomes.set(inst, Outcome::Constant(bits));
                defined.iter().for_each(|&result| self.set_constant(result, bits));
            }
            Simplified::Never => {
                self.outcomes.set(inst, Outcome::Never);
                for &result in defined {
                    if let Some(bits) = self.old_constant(result) {
                        self.set_constant(result, bits);
                    }
                }
            }
            Simplified::Goes(target) => {
                self.outcomes.set(inst, Outcome::Goes(target));
                self.close_edges(block, Some(func.insts[inst].targets()[target]));
            }
            Simplified::Simpler(data) => {
                if let (Op::Mov, [Operand::Const(bits)], &[result]) = (data.opcode.op, data.args.as_slice(), defined)
                    && self.old_constant(result) == Some(*bits)
                {
                    self.set_constant(result, *bits);
                }
                // A `mov` of a constant is never on the list, so that a join of one with a copy of
                // itself is visited from the copy.
                let is_copied = |(_, reg): &(&Value, Reg)| copied_register(&data) == Some(*reg);
                let copied = used.iter().zip(func.insts[inst].uses()).find(is_copied);
                self.outcomes.set(inst, Outcome::Simpler(self.simpler.len()));
                self.simpler.push(data);
                if let Some((&source, _)) = copied {
                    self.visit_join(source, may_assume);
                }
            }
        }
    }

    /// The constant that a guarded result holds where the guard fails, if it is one.
    fn old_constant(&self, result: Value) -> Option<u64> {
        match self.facts.values.definition(result) {
            Definition::Guarded { old, .. } => self.constant(old),
            _ => None,
        }
    }

    fn visit_join(&mut self, join: Value, may_assume: bool) {
        let Facts { values, cfg, .. } = self.facts;
        let Definition::Join { block } = values.definition(join) else { return };
        if !self.check.is_below(block) || self.dead_blocks.contains(block) || self.constants.contains(join) {
            return;
        }
        let may_assume = may_assume && !self.refuted.contains(&join);
        let (mut bits, mut assumes) = (None, false);
        self.steps += values.join_args(join).len();
        for arg in values.join_args(join) {
            let Some(edge) = arg.edge.expand() else { return };
            if !self.is_open(edge) {
                continue;
            }
            match self.constant(arg.value) {
                Some(other) if bits.is_none_or(|bits| bits == other) => bits = Some(other),
                None if may_assume && cfg.is_retreating(edge) => assumes = true,
                _ => return,
            }
        }
        if let Some(bits) = bits {
            if assumes {
                self.assumed.push(join);
            }
            self.set_constant(join, bits);
        }
    }

    /// Closes the edges from a block to other targets than `goal`, which control does not take any
    /// more.
    fn close_edges(&mut self, block: Block, goal: Option<Block>) {
        let cfg = &self.facts.cfg;
        let mut targets: Vec<Block> = Vec::new();
        for edge in cfg.out_edges(block).filter(|&edge| Some(cfg.target(edge)) != goal) {
            if self.closed.set(edge, ()) {
                targets.push(cfg.target(edge));
            }
        }
        targets.compact_sort();
        targets.dedup();
        self.blocks_to_visit.extend(targets);
    }

    /// Visits a block to which an edge was closed: it is dead, or its joins may be constants.
    fn visit_block(&mut self, target: Block, may_assume: bool) {
        let Facts { func, cfg, dominators, values, uses, .. } = self.facts;
        if !self.check.is_below(target) || self.dead_blocks.contains(target) {
            return;
        }
        self.steps += cfg.in_edges(target).len();
        let comes_first =
            |&edge: &Edge| cfg.is_reachable(cfg.source(edge)) && !dominators.dominates(target, cfg.source(edge));
        if cfg.in_edges(target).iter().filter(|edge| comes_first(edge)).all(|&edge| !self.is_open(edge)) {
            self.dead_blocks.set(target, ());
            self.changed_blocks.set(target, ());
            self.unreachable += func.block_insts(target).count();
            self.close_edges(target, None);
        } else {
            let joins = values.joins(target).filter(|&join| uses.is_read(join));
            joins.for_each(|join| self.visit_join(join, may_assume));
        }
    }

    /// Did all assumptions about loops hold? One that did not is not made again.
    fn do_assumptions_hold(&mut self) -> bool {
        let before = self.refuted.len();
        for join in core::mem::take(&mut self.assumed) {
            let bits = self.constants.get(join);
            let is_open = |edge: Option<Edge>| edge.is_none_or(|edge| self.is_open(edge));
            let mut args = self.facts.values.join_args(join).iter();
            if args.any(|arg| is_open(arg.edge.expand()) && self.constant(arg.value) != bits) {
                self.refuted.push(join);
            }
        }
        self.refuted.len() == before
    }
}

/// The register that an instruction copies, if that is all it does.
fn copied_register(data: &InstData) -> Option<Reg> {
    match (data.opcode.op, data.dsts.len(), data.args.as_slice()) {
        (Op::Mov, 1, &[Operand::Reg(reg)]) => Some(reg),
        _ => None,
    }
}

/// Does the instruction change nothing?
pub(super) fn copies_itself(data: &InstData) -> bool {
    copied_register(data).is_some_and(|reg| data.dst() == Some(reg))
}

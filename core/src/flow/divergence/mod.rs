//! Divergence: which values and branches may differ between the lanes of a warp that run together, and why.
//!
//! ```text
//! a: p = setp.lt.u32 %tid, n       p is divergent: it reads %tid
//!    br p, b, c                    the branch is divergent: it reads p
//! b: x = 1   br d    c: x = 2   br d
//! d: … x …                         x is divergent: lanes that part at a's branch meet here with different values
//! ```
//!
//! A value is *uniform* when all lanes that execute an instruction together see the same number there. What is not
//! proved uniform is divergent, for one of these reasons, which is kept so that it can be told:
//!
//! - **source**: what makes it differs by lane ([`Source`]);
//! - **data**: an instruction reads a divergent value, a join takes one, or a guarded instruction keeps one; a guard is
//!   read like an operand;
//! - **sync dependence**: a join gets different values along ways that lanes take apart;
//! - **temporal divergence**: lanes leave a loop in different iterations. Inside the loop a value is what it is in the
//!   current iteration, the same for all lanes still there; outside it is what it was when the lane left. So it is a
//!   *use* that is divergent here ([`Divergence::is_divergent_use`]), not the value.
//!
//! Sound for lanes that part at a divergent branch `b` and meet again at its immediate
//! post-dominator `m`. Let the region be what can be reached from `b` before `m`. At `m` a register
//! holds what it held at `b`, unless the region wrote it; then either a join at `m` says so, or the
//! value's definition dominates `m` from inside the region. Such a definition dominates `b` too
//! (otherwise it would post-dominate `b` sooner than `m`), which means a cycle, and its uses that
//! are reached from `m` before it runs again are the temporal ones: all outside the region, and
//! where `m` is in a cycle with the region some inside. Lanes in the region part no further than
//! other divergent branches make them. Joins inside the region which two ways from `b` reach are
//! counted as divergent as well, for machines that let lanes meet earlier.
//!
//! Lanes may leave `m` without others that wait or spin ([`waiting`]). Behind it they compute the same from the same
//! operands, but what they load or vote is a source of divergence there.
//!
//! Bounds: each value and branch becomes divergent at most once. The regions together cost what their union is large
//! (`cover`); joins are looked for until no more can follow (`region`), values of a loop that all its exits leave for
//! one block are looked at once (`leaving`). What else must be walked is paid from an allowance that is linear in the
//! graph (`parting`). Where that is used up, which takes a large tangle of gotos, all joins of a region count as
//! divergent, and so do uses of what is written in its cycles. So the whole is linear, up to a logarithm, in
//! instructions, value names and the levels of loops that edges leave.
//!
//! Source: B. Coutinho, D. Sampaio, F. Pereira, W. Meira, Divergence analysis and optimizations, PACT 2011; the region
//! walk follows J. Rosemann, S. Moll, S. Hack, An abstract interpretation for SPMD divergence on reducible control flow
//! graphs, POPL 2021.

mod cover;
mod explanation;
mod leaving;
mod parting;
mod propagation;
mod region;
mod sources;
mod waiting;

use alloc::vec::Vec;
use cranelift_entity::{EntityRef, SecondaryMap};
use fixedbitset::FixedBitSet;

use super::uses::ValueUses;
use super::values::{Value, Values};
use crate::graph::{Cfg, Dominators, Loops, PostDominators};
use crate::ir::{Block, Function, Inst, Op, Operand, Special};

pub use explanation::{Explanation, Subject};

/// Reason for a value to differ by lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A special register that differs by lane.
    Special(Special),
    /// The argument of a function (not of a kernel): the caller's lanes may pass different ones.
    Argument,
    /// Return value of a call, or the exit that it takes.
    Call,
    /// A draw of an `input` that is not `uniform`, or in a function: callers may have drawn different numbers of times.
    Input,
    /// Old value that an atomic operation returns.
    Atomic,
    /// A lane exchange.
    Exchange,
    /// A load from memory of the thread's own, or possibly so: local or generic.
    ThreadMemory,
    /// A load that is made anew each time, as a volatile one is: each lane may see another moment.
    Volatile,
    /// A load, or a vote of the lanes that are here, behind a point that lanes leave without others that wait.
    Moment,
    /// An opaque instruction.
    Opaque,
}

/// Why something is divergent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It differs by lane from the start.
    Source(Source),
    /// It reads, takes or keeps this divergent value.
    Value(Value),
    /// Its guard, this value, is divergent.
    Guard(Value),
    /// Lanes that part at the end of this block meet with different values.
    Parted(Block),
    /// It uses this value outside a loop that lanes leave in different iterations, by the branch at
    /// the end of this block.
    Left(Value, Block),
    /// It draws from a `uniform` input of which some draw is made by a part of the lanes only,
    /// because they parted at the end of this block: lanes then stand at different draws.
    DrawnApart(Block),
    /// Draw that differs because of this guard.
    DrawnUnder(Value),
}

/// The divergence of a function's values and branches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    values: SecondaryMap<Value, Option<Cause>>,
    branches: SecondaryMap<Block, Option<Cause>>,
    /// Uses that are divergent although their value is not: instruction, index of the use. Rising.
    temporal_uses: Vec<((Inst, u32), Cause)>,
    /// Divergent branch after which each block may run with a part of the lanes.
    apart: Vec<Option<Block>>,
}

/// Input of the analysis.
#[derive(Clone, Copy)]
pub struct DivergenceInput<'a> {
    /// The function.
    pub func: &'a Function,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its dominators.
    pub dominators: &'a Dominators,
    /// Its post-dominators.
    pub post_dominators: &'a PostDominators,
    /// Its loops.
    pub loops: &'a Loops,
    /// Its value names.
    pub values: &'a Values,
    /// Their uses.
    pub uses: &'a ValueUses,
}

impl Divergence {
    /// The divergence of a function.
    pub fn compute(input: DivergenceInput<'_>) -> Divergence {
        let mut moments = FixedBitSet::with_capacity(input.cfg.block_count());
        loop {
            let divergence = propagation::Propagation::new(input, &moments).run();
            let found = waiting::run_at_different_moments(input, &divergence);
            if found.is_subset(&moments) {
                return divergence;
            }
            moments.union_with(&found);
        }
    }

    /// May lanes that run together see different numbers in this value, while it is in its loop?
    /// Joins that no instruction reads are not asked about.
    pub fn is_divergent(&self, value: Value) -> bool {
        self.values[value].is_some()
    }

    /// May the lanes that run the instruction see different numbers in its `index`-th use, counted as by
    /// [`crate::ir::InstData::uses`]?
    pub fn is_divergent_use(&self, values: &Values, inst: Inst, index: usize) -> bool {
        values.used(inst).get(index).is_none_or(|&value| self.is_divergent(value))
            || self.temporal_cause(inst, index).is_some()
    }

    /// May lanes part at the end of this block?
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.branches[block].is_some()
    }

    /// The blocks at whose end lanes may part, rising.
    pub fn divergent_branches(&self) -> impl Iterator<Item = Block> + '_ {
        self.branches.iter().filter(|(_, cause)| cause.is_some()).map(|(block, _)| block)
    }

    /// True if some lanes of a group may wait at an instruction while others of it go on: its guard, mask or barrier
    /// number differs by lane.
    pub fn may_part_at(&self, func: &Function, values: &Values, inst: Inst) -> bool {
        let data = &func.insts[inst];
        let op = data.opcode.op;
        if !op.is_block_barrier() && data.member_mask().is_none() {
            return false;
        }
        let used = values.used(inst).len();
        let differs = |index: usize| self.is_divergent_use(values, inst, index);
        let by_mask = || matches!(data.member_mask(), Some(Operand::Reg(_))) && differs(used - 1);
        // A guard comes first among the uses, a mask last; operands of `bar.red` come before the barrier's number.
        let guarded = usize::from(data.guard.is_some());
        let number = guarded + usize::from(op != Op::BarSync);
        guarded > 0 && differs(0) || by_mask() || op.is_block_barrier() && (number..used).any(differs)
    }

    /// A divergent branch because of which a block may run with a part of the lanes that reach it in its function; the
    /// first that was found.
    pub fn runs_apart(&self, block: Block) -> Option<Block> {
        self.apart[block.index()]
    }

    /// Why a value is divergent. None if it is uniform.
    pub fn cause(&self, value: Value) -> Option<Cause> {
        self.values[value]
    }

    /// Why a branch is divergent. None if it is uniform.
    pub fn branch_cause(&self, block: Block) -> Option<Cause> {
        self.branches[block]
    }

    /// Why a use is divergent. None if it is uniform.
    pub fn use_cause(&self, values: &Values, inst: Inst, index: usize) -> Option<Cause> {
        let value = *values.used(inst).get(index)?;
        match self.cause(value) {
            Some(_) => Some(Cause::Value(value)),
            None => self.temporal_cause(inst, index),
        }
    }

    fn temporal_cause(&self, inst: Inst, index: usize) -> Option<Cause> {
        let found = self.temporal_uses.binary_search_by_key(&(inst, index as u32), |&(place, _)| place);
        found.ok().map(|found| self.temporal_uses[found].1)
    }
}

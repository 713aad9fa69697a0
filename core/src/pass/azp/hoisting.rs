//! Highest place for a check above its block, to which what computes its registers moves with it.
//!
//! ```text
//! n1: a = …; b = …                   n1: a = …; b = …; s = mul.sat.f32 a, b       check of s
//!     br p, n2, n3                       br p, n2, n3
//! n2: t = tex …                      n2: t = tex …
//! n3: t = tex …               ──▶    n3: t = tex …
//! n4: s = mul.sat.f32 a, b           n4: x = mul.f32 t, s        zero, and t is read on no path
//!     x = mul.f32 t, s
//! ```
//!
//! 1. Visit the dominators of the candidate's block upward.
//! 2. Collect the instructions that the candidate's registers need and that are not computed there
//!    yet. Stop at the first block to which one of them cannot move.
//! 3. Take the highest block that runs no more often than the candidate's, in the same loop or
//!    around it.
//!
//! Sound: only pure instructions without a guard move, which touch no memory and cannot fail, and
//! only if their registers are read nowhere but where they have been written there. So no
//! instruction reads the registers between the two places. More lanes than before may compute them,
//! and all of these take part in the vote.
//!
//! A path that leaves in between pays for the moved instructions; both versions do, and the
//! region's time is counted without them. How often the register is zero at the new place is not
//! known, and taken to be as often as before.
//!
//! Cost: [`MOST_MOVED`] instructions move, up [`MOST_DOMINATORS`] dominators, so a candidate takes
//! constant time.
//!
//! Source: AZP, section 3.3.2, step 1, and the end of 3.3.3: inter-block motion, which is left to
//! future work there.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::costs::ROUNDING;
use super::facts::Facts;
use crate::compact_sort::CompactSort;
use crate::flow::{Definition, Value};
use crate::ir::{Block, Inst, Op, Reg};

/// A candidate that needs more instructions to move is not hoisted further up.
const MOST_MOVED: usize = 16;
/// Dominators of the candidate's block that are tried at most.
const MOST_DOMINATORS: usize = 32;

/// Place of a check above its block, and the instructions that move there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct HoistedPlace {
    pub block: Block,
    /// Instructions that move there, in their order there.
    pub insts: Vec<Inst>,
    /// The instructions of the block that these need.
    pub needs: Vec<Inst>,
}

/// Search for such places.
pub(super) struct Hoisting<'a> {
    facts: &'a Facts<'a>,
    /// Registers of which a join or an entry value is read.
    ambiguous: FixedBitSet,
}

impl<'a> Hoisting<'a> {
    /// Prepares the search for all candidates of a function.
    pub fn new(facts: &'a Facts<'a>) -> Hoisting<'a> {
        let values = &facts.values;
        let mut ambiguous = FixedBitSet::with_capacity(facts.func.regs.len());
        for value in values.iter() {
            if matches!(values.definition(value), Definition::Entry | Definition::Join { .. }) {
                ambiguous.insert(values.reg(value).index());
            }
        }
        Hoisting { facts, ambiguous }
    }

    /// The highest place for a check of values that are written in one block, if there is one above
    /// it.
    pub fn hoist(&self, zeros: &[Value]) -> Option<HoistedPlace> {
        let Facts { func, values, dominators, loops, .. } = self.facts;
        let writer = |&value: &Value| values.definition(value).inst();
        let home = func.inst_block(zeros.iter().find_map(writer)?)?;
        let next = |&block: &Block| dominators.immediate_dominator(block);
        let mut highest = None;
        for block in core::iter::successors(next(&home), next).take(MOST_DOMINATORS) {
            let Some(found) = self.moved_to(zeros, block) else { break };
            let is_around = loops.innermost(block).is_none_or(|around| loops.contains(around, home));
            if is_around && self.facts.frequency(block) <= self.facts.frequency(home) * (1.0 + ROUNDING) {
                highest = Some(found);
            }
        }
        highest
    }

    /// Instructions that have to move so that values can be checked at the end of a block. None
    /// where one cannot.
    fn moved_to(&self, zeros: &[Value], block: Block) -> Option<HoistedPlace> {
        let Facts { func, values, dominators, cfg, .. } = self.facts;
        let ends_plainly = matches!(func.insts[func.terminator(block)?].opcode.op, Op::Br | Op::BrIf | Op::Switch);
        let (mut insts, mut needs): (Vec<Inst>, Vec<Inst>) = (Vec::new(), Vec::new());
        let mut open: Vec<Inst> = zeros.iter().map(|&zero| values.definition(zero).inst()).collect::<Option<_>>()?;
        while let Some(inst) = open.pop() {
            if insts.contains(&inst) {
                continue;
            }
            let is_below = func.inst_block(inst).is_some_and(|from| dominators.strictly_dominates(block, from));
            if !ends_plainly || !is_below || !self.can_move(inst) || insts.len() == MOST_MOVED {
                return None;
            }
            insts.push(inst);
            for &value in values.used(inst) {
                let writer = values.definition(value).inst();
                if values.at_end(block, values.reg(value)) == Some(value) {
                    needs.extend(writer.filter(|&writer| func.inst_block(writer) == Some(block)));
                } else {
                    open.push(writer?);
                }
            }
        }
        insts.compact_sort_by_key(|&inst| {
            let block = func.inst_block(inst);
            (block.map(|block| cfg.position(block)), self.facts.place(inst))
        });
        Some(HoistedPlace { block, insts, needs })
    }

    /// May an instruction be elsewhere, as long as it reads the same values and comes before all
    /// readers of its own?
    fn can_move(&self, inst: Inst) -> bool {
        let func = self.facts.func;
        let data = &func.insts[inst];
        let is_its_own = |reg: Reg| func.definition_count(reg) == 1 && !self.ambiguous.contains(reg.index());
        data.opcode.is_pure() && data.guard.is_none() && data.dsts.iter().all(|&reg| is_its_own(reg))
    }
}

//! How far above its block a check can stand, if what computes its registers moves up with it.
//!
//! ```text
//! n1: a = …; b = …                   n1: a = …; b = …; s = mul.sat.f32 a, b       check of s
//!     br p, n2, n3                       br p, n2, n3
//! n2: t = tex …                      n2: t = tex …
//! n3: t = tex …               ──▶    n3: t = tex …
//! n4: s = mul.sat.f32 a, b           n4: x = mul.f32 t, s        zero, and no way needs t any more
//!     x = mul.f32 t, s
//! ```
//!
//! From the candidate's block one goes up its dominators, as far as everything that its registers need can be computed
//! there: what is not there yet is moved along. So the region holds what lies between, which the check in its own block
//! comes too late for.
//!
//! Sound: only pure instructions without a guard move, which touch no memory and cannot fail, and only such whose registers
//! are read nowhere but where they have been written there. So nobody sees the registers between the two places, and what is
//! read behind them is what was read before. More lanes may compute it than before, and the vote asks all of these.
//!
//! A block to which they move runs no more often than the candidate's own, so that moving costs nothing on the whole,
//! though a way that leaves in between pays for it; both versions do, and the region's time is counted without it. How often the register is zero there is not known, and taken to be what it
//! was where it stood.
//!
//! Bounds: [`MOST_MOVED`] instructions move, up [`MOST_DOMINATORS`] dominators, so a candidate takes constant time.
//!
//! Source: AZP, section 3.3.2, step 1, and the end of 3.3.3: inter-block motion, which is left to future work there.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::scene::Scene;
use crate::flow::{Definition, Value};
use crate::ir::{Block, Inst, Op, Reg};

/// Instructions that may move for a candidate.
const MOST_MOVED: usize = 16;
/// Dominators that are tried.
const MOST_DOMINATORS: usize = 32;
/// How much more often, relatively, a block may seem to run for reasons of rounding.
const ROUNDING: f64 = 1e-9;

/// Place above its block for a check, and the instructions that move there.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Hoist {
    /// The block.
    pub block: Block,
    /// Instructions that move there, in their order there.
    pub insts: Vec<Inst>,
    /// The instructions of the block that these need.
    pub needs: Vec<Inst>,
}

/// Finds such places.
pub(super) struct Hoisting<'s, 'a> {
    scene: &'s Scene<'a>,
    /// Registers of which something else is read than what an instruction writes.
    ambiguous: FixedBitSet,
}

impl<'s, 'a> Hoisting<'s, 'a> {
    /// For the candidates of a scene.
    pub fn new(scene: &'s Scene<'a>) -> Hoisting<'s, 'a> {
        let values = &scene.known.values;
        let mut ambiguous = FixedBitSet::with_capacity(scene.func.regs.len());
        for value in values.iter() {
            if matches!(values.definition(value), Definition::Entry | Definition::Join { .. }) {
                ambiguous.insert(values.reg(value).index());
            }
        }
        Hoisting { scene, ambiguous }
    }

    /// The highest place for a check of values that are written in one block, if there is one above it.
    pub fn hoist(&self, zeros: &[Value]) -> Option<Hoist> {
        let scene = self.scene;
        let writer = |&value: &Value| scene.known.values.definition(value).inst();
        let home = scene.func.inst_block(zeros.iter().find_map(writer)?)?;
        let (dominators, loops) = (&scene.known.dominators, &scene.known.loops);
        let next = |&block: &Block| dominators.immediate_dominator(block);
        let mut highest = None;
        for block in core::iter::successors(next(&home), next).take(MOST_DOMINATORS) {
            let Some(found) = self.moved_to(zeros, block) else { break };
            let is_around = loops.innermost(block).is_none_or(|around| loops.contains(around, home));
            if is_around && scene.frequency(block) <= scene.frequency(home) * (1.0 + ROUNDING) {
                highest = Some(found);
            }
        }
        highest
    }

    /// Instructions that have to move so that values can be checked at the end of a block. None where one cannot.
    fn moved_to(&self, zeros: &[Value], block: Block) -> Option<Hoist> {
        let (scene, func, values) = (self.scene, self.scene.func, &self.scene.known.values);
        let ends_plainly = matches!(func.insts[func.terminator(block)?].opcode.op, Op::Br | Op::BrIf | Op::Switch);
        let (mut insts, mut needs): (Vec<Inst>, Vec<Inst>) = (Vec::new(), Vec::new());
        let mut open: Vec<Inst> = zeros.iter().map(|&zero| values.definition(zero).inst()).collect::<Option<_>>()?;
        while let Some(inst) = open.pop() {
            if insts.contains(&inst) {
                continue;
            }
            let is_below =
                func.inst_block(inst).is_some_and(|from| scene.known.dominators.strictly_dominates(block, from));
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
        insts.sort_by_key(|&inst| {
            let block = func.inst_block(inst);
            (block.map(|block| scene.known.cfg.position(block)), scene.place(inst))
        });
        Some(Hoist { block, insts, needs })
    }

    /// May an instruction stand elsewhere, as long as it reads the same values and comes before whoever reads its own?
    fn can_move(&self, inst: Inst) -> bool {
        let func = self.scene.func;
        let data = &func.insts[inst];
        let is_its_own = |reg: Reg| func.definition_count(reg) == 1 && !self.ambiguous.contains(reg.index());
        data.opcode.is_pure() && data.guard.is_none() && data.dsts.iter().all(|&reg| is_its_own(reg))
    }
}

//! The blocks that lanes may run at different moments although they have met: behind a meeting
//! point that some lanes leave without others, because those wait or spin.
//!
//! ```text
//! a: br p, b, m     p is divergent
//! b: bar.sync       lanes wait here, and those at m go on without them
//! m: x = ld y[0]    two groups load at two moments: where they meet again, x may differ
//! ```
//!
//! 1. An instruction *waits* where a part of the lanes may come to it: a barrier, an operation with
//!    a member mask, a call, or an access in a loop by which lanes may spin. In a function every
//!    one waits, since its callers may be apart.
//! 2. Lanes may leave the meeting point of each divergent branch whose region holds such an instruction. Behind it they
//!    meet again only where lanes meet further out, so only in blocks that run apart.
//! 3. Lanes of one group may also part at the instruction itself, if its guard, mask or barrier number differs by lane;
//!    they meet at the immediate post-dominator of its block. Lanes that return early from a call go on behind it.
//!
//! Sound: rule 4 of [`crate::sim::Groups`] is the only way past a meeting point. Lanes that run a
//! block at different moments compute the same from the same operands; only what they load, or
//! learn of the lanes that run with them, differs.
//!
//! Cost: O(divergent branches × blocks), and nothing where no instruction waits.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::{Divergence, DivergenceInput};
use crate::ir::{Block, FuncKind, Inst, Op};

/// The blocks that lanes may run at different moments, by index.
pub(super) fn run_at_different_moments(input: DivergenceInput<'_>, divergence: &Divergence) -> FixedBitSet {
    let DivergenceInput { func, cfg, post_dominators, .. } = input;
    let waits = Waits { input, divergence };
    let mut moments = FixedBitSet::with_capacity(cfg.block_count());
    let mut waiting = FixedBitSet::with_capacity(cfg.block_count());
    // What lanes that have left a meeting point may reach.
    let mut left = FixedBitSet::with_capacity(cfg.block_count());
    for block in func.block_order().filter(|&block| cfg.is_reachable(block)) {
        for inst in func.block_insts(block) {
            let parts = divergence.may_part_at(func, input.values, inst);
            if parts {
                let meeting = post_dominators.immediate_post_dominator(block);
                reach(input, &[block], meeting, &mut moments);
                reach(input, meeting.as_slice(), None, &mut left);
            }
            if parts || waits.as_one_group(block, inst) {
                waiting.insert(block.index());
                if func.insts[inst].opcode.op.is_call() {
                    reach(input, &[block], None, &mut left);
                }
            }
        }
    }
    if waiting.is_clear() {
        return moments;
    }
    for branch in divergence.divergent_branches() {
        let meeting = post_dominators.immediate_post_dominator(branch);
        let Some(meeting) = meeting.filter(|meeting| !left.contains(meeting.index())) else { continue };
        let mut region = FixedBitSet::with_capacity(cfg.block_count());
        reach(input, cfg.successors(branch), Some(meeting), &mut region);
        if !region.is_disjoint(&waiting) {
            reach(input, &[meeting], None, &mut left);
        }
    }
    moments.extend(left.ones().filter(|&block| divergence.runs_apart(Block::new(block)).is_some()));
    moments
}

/// Adds all blocks that can be reached from some, not going through `end`.
fn reach(input: DivergenceInput<'_>, starts: &[Block], end: Option<Block>, reached: &mut FixedBitSet) {
    let mut stack: Vec<Block> = starts.to_vec();
    while let Some(block) = stack.pop() {
        if Some(block) != end && !reached.put(block.index()) {
            stack.extend_from_slice(input.cfg.successors(block));
        }
    }
}

/// Which instructions wait for other lanes.
struct Waits<'a> {
    input: DivergenceInput<'a>,
    divergence: &'a Divergence,
}

impl Waits<'_> {
    /// May a group of lanes wait here as a whole while others of its warp have not come?
    fn as_one_group(&self, block: Block, inst: Inst) -> bool {
        let DivergenceInput { func, loops, .. } = self.input;
        let data = &func.insts[inst];
        let op = data.opcode.op;
        let is_apart = |block: Block| func.kind == FuncKind::Func || self.divergence.runs_apart(block).is_some();
        if data.may_wait() {
            return is_apart(block);
        }
        let may_spin = op == Op::Nanosleep || data.opcode.may_spin();
        may_spin
            && core::iter::successors(loops.innermost(block), |&inner| loops[inner].parent)
                .any(|inner| is_apart(loops[inner].header))
    }
}

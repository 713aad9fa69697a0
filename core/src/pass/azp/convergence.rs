//! Instructions that depend on which lanes execute them together, and whether a copy would change
//! that.
//!
//! ```text
//! n1: check of s; br p, n2, n3       lanes with p meet at n4, where activemask sees all of them.
//! n2: v = mul.u32 w, s; br n4        If each lane branches for itself, those with s = 0 come to n4
//! n4: m = activemask; br n5          from the copy of n2, the others from n2, and all meet at n5.
//! n3: br n5
//! ```
//!
//! 1. With a vote, lanes part nowhere anew, and meet where they did unless the copy leaves out an
//!    edge of one branch while lanes part at another: then they may meet earlier. Without a vote
//!    they part at the check.
//! 2. In these cases a convergent instruction must be neither in the region nor on a path from the
//!    copy's ends to the first block that every path from the check passes: there all lanes meet.
//!
//! Cost: linear in the region and the blocks up to the meeting point.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::opportunity::Opportunity;
use super::specialisation::{Outcome, Specialisation};
use crate::ir::{Block, Inst};

/// Would a convergent instruction execute with fewer lanes than before, or with more? `is_copied`
/// are the instructions of the copy, `is_divergent` says that each lane branches for itself.
pub(super) fn would_part_lanes(
    specialisation: &Specialisation<'_>,
    opportunity: &Opportunity,
    is_copied: impl Fn(Inst) -> bool,
    is_divergent: bool,
) -> bool {
    let func = specialisation.facts.func;
    let is_convergent = |inst: Inst| func.insts[inst].opcode.op.is_convergent();
    let blocks = || opportunity.blocks_of_region().chain(specialisation.dead_blocks.keys());
    let mut convergent = blocks().flat_map(|block| func.block_insts(block)).filter(|&inst| is_convergent(inst));
    (is_divergent || may_meet_earlier(specialisation, opportunity))
        && (convergent.any(|inst| specialisation.is_in_dead_block(inst) || is_copied(inst))
            || is_any_before_meeting(specialisation, opportunity, is_convergent))
}

/// May lanes meet earlier, since one branch of the copy has a single target while they part at
/// another?
fn may_meet_earlier(specialisation: &Specialisation<'_>, opportunity: &Opportunity) -> bool {
    let func = specialisation.facts.func;
    let branches = opportunity.blocks_of_region().filter(|&block| func.successors(block).len() > 1);
    let (mut is_any_settled, mut is_any_open) = (false, false);
    for branch in branches.filter_map(|block| func.terminator(block)) {
        let is_settled = matches!(specialisation.outcomes.get(branch), Some(Outcome::Goes(_)));
        is_any_settled |= is_settled;
        is_any_open |= !is_settled;
    }
    is_any_settled && is_any_open
}

/// Is any such instruction between the copy's ends and the point where all lanes meet?
fn is_any_before_meeting(
    specialisation: &Specialisation<'_>,
    opportunity: &Opportunity,
    is_such: impl Fn(Inst) -> bool,
) -> bool {
    let (func, head) = (specialisation.facts.func, opportunity.head);
    let meets = |block: Block| block != head && specialisation.facts.post_dominators.post_dominates(block, head);
    let mut seen = FixedBitSet::with_capacity(func.blocks.len());
    let mut open = Vec::new();
    for block in opportunity.blocks_of_region() {
        match opportunity.tail_of(block) {
            // All lanes meet at the tail.
            Some(_) if block == head || meets(block) => {}
            Some(first) => {
                if func.block_insts(block).skip_while(|&inst| inst != first).any(&is_such) {
                    return true;
                }
                open.extend(func.successors(block));
            }
            None => {
                let next = func.successors(block).iter().copied();
                open.extend(next.filter(|next| !opportunity.copied.contains(next)));
            }
        }
    }
    while let Some(block) = open.pop() {
        specialisation.check.note(block);
        if seen.put(block.index()) || meets(block) {
            continue;
        }
        if func.block_insts(block).any(&is_such) {
            return true;
        }
        open.extend(func.successors(block));
    }
    false
}

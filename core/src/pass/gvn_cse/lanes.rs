//! Regions of blocks in which the same lanes are certain to be active.
//!
//! ```text
//! a: vote …              region 0
//!    br u, b, c          u is uniform
//! b: vote …   c: …       regions 1, 2
//! d: vote …              region 0: all lanes of a come to d together
//! ```
//!
//! Algorithm:
//! 1. Mark the instructions after which other lanes may be active: calls, in which lanes may end, and
//!    waits at which lanes of one group part, because guard, mask or barrier number differs by lane.
//!    Mark the blocks that hold one or end with a divergent branch.
//! 2. Count the marked blocks along the preorder of the dominator tree. The blocks between a block
//!    and its immediate dominator are those of the dominator's subtree without the block's own.
//! 3. A block is in the region of its immediate dominator if it post-dominates the dominator, both
//!    are in the same loops, and no block between them is marked.
//!
//! Sound because the lanes that leave the dominator then enter the block together, as often as the
//! dominator runs.
//!
//! Cost: O(instructions).
//!
//! Source: ptxas page, GPU-Specific CSE Constraints; divergence after B. Coutinho and others, PACT
//! 2011.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::{EntityRef, EntitySet};

use super::eligibility::Class;
use crate::ir::{Block, Inst};
use crate::view::View;

/// The regions of all blocks.
#[derive(Default)]
pub(super) struct Regions {
    of_block: Vec<u32>,
    /// Instructions after which other lanes may be active.
    losing: EntitySet<Inst>,
}

impl Regions {
    /// The regions of a function. Without several operations across lanes there is nothing to
    /// compare, and one region.
    pub fn compute(view: &mut View<'_>) -> Regions {
        let insts = view.func().block_order().flat_map(|block| view.func().block_insts(block));
        let classes = insts.map(|inst| Class::of(&view.func().insts[inst]));
        if classes.filter(|class| matches!(class, Class::Convergent | Class::Shuffle)).nth(1).is_none() {
            return Regions::default();
        }
        let (dominators, post_dominators, loops) = (view.dominators(), view.post_dominators(), view.loops());
        let (divergence, values) = (view.divergence(), view.values());
        let func = view.func();
        let may_lose_lanes = |&inst: &Inst| {
            let data = &func.insts[inst];
            let is_guarded_wait = data.guard.is_some() && data.may_wait();
            data.opcode.op.is_call() || is_guarded_wait || divergence.may_part_at(func, &values, inst)
        };
        let insts = func.block_order().flat_map(|block| func.block_insts(block));
        let mut losing = EntitySet::new();
        insts.filter(may_lose_lanes).for_each(|inst| _ = losing.insert(inst));
        let parts_lanes = |block: Block| {
            divergence.is_divergent_branch(block) || func.block_insts(block).any(|inst| losing.contains(inst))
        };
        let order = dominators.preorder();
        let mut parting = Vec::with_capacity(order.len() + 1);
        parting.push(0_u32);
        for &block in order {
            parting.push(parting[parting.len() - 1] + u32::from(parts_lanes(block)));
        }
        let inside = |block: Block| {
            let start = dominators.preorder_number(block) as usize;
            parting[start + dominators.subtree(block).len()] - parting[start]
        };
        let mut of_block = vec![0; func.blocks.len()];
        for (place, &block) in order.iter().enumerate() {
            let above = dominators.parent(block).filter(|&above| {
                post_dominators.post_dominates(block, above)
                    && loops.innermost(block) == loops.innermost(above)
                    && inside(above) == inside(block)
            });
            of_block[block.index()] = above.map_or(place as u32, |above| of_block[above.index()]);
        }
        Regions { of_block, losing }
    }

    /// True if other lanes may be active after an instruction. Not answered where one region is all there is.
    pub fn may_lose_lanes(&self, inst: Inst) -> bool {
        self.losing.contains(inst)
    }

    /// The region of a block.
    pub fn of(&self, block: Block) -> u32 {
        self.of_block.get(block.index()).copied().unwrap_or(0)
    }
}

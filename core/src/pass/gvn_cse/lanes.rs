//! Places with the same active lanes.
//!
//! ```text
//! a: vote …              region 0
//!    br u, b, c          u is uniform
//! b: vote …   c: …       regions 1, 2
//! d: vote …              region 0: whoever was in a comes to d, all together
//! ```
//!
//! A block belongs to the region of its immediate dominator if it post-dominates it, both are in the same loops, and no
//! branch between them can part lanes. Then the lanes that leave the dominator together enter the block together, as
//! often as the dominator ran. A lane may also end its thread inside a call, and under a guard lanes may wait
//! that others do not wait for, so both end a region.
//!
//! Between a block and its immediate dominator lies what the dominator's subtree holds and the block's does not, so
//! counting branches along the preorder answers for all blocks in linear time.
//!
//! Source: ptxas page, GPU-Specific CSE Constraints; divergence after B. Coutinho and others, PACT 2011.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::ir::{Block, InstData};
use crate::view::View;

/// The regions of all blocks.
#[derive(Default)]
pub(in crate::pass) struct Regions {
    of_block: Vec<u32>,
}

impl Regions {
    /// The regions of a function.
    pub fn compute(view: &mut View<'_>) -> Regions {
        let (dominators, post_dominators, loops) = (view.dominators(), view.post_dominators(), view.loops());
        let divergence = view.divergence();
        let func = view.func();
        let parts_lanes = |block: Block| {
            let mut insts = func.block_insts(block).map(|inst| &func.insts[inst]);
            divergence.is_divergent_branch(block) || insts.any(may_lose_lanes)
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
        Regions { of_block }
    }

    /// The region of a block.
    pub fn of(&self, block: Block) -> u32 {
        self.of_block.get(block.index()).copied().unwrap_or(0)
    }
}

/// True if other lanes may run what follows: those that have not ended in a call, or that a guard spared from waiting?
pub(in crate::pass) fn may_lose_lanes(data: &InstData) -> bool {
    data.opcode.op.is_call() || (data.guard.is_some() && data.may_wait())
}

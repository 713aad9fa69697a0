//! The union of many branches' regions, without walking through what is known.
//!
//! A block that was reached before is *covered* up to some block that post-dominates it: all that
//! can be reached from it before that one is in the union. A later branch goes on from there at
//! once. All meeting points that lie ahead of one block stand in one line, because each
//! post-dominates it, so that one is enough to remember; and each time a block is stepped over it
//! remembers a later one (path compression). So the blocks of all regions together cost what their
//! union is large, times a logarithm at worst.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use fixedbitset::FixedBitSet;

use crate::graph::{Cfg, PostDominators};
use crate::ir::Block;

/// A union of regions.
pub(super) struct Cover<'a> {
    cfg: &'a Cfg,
    post_dominators: &'a PostDominators,
    covered: FixedBitSet,
    /// Closest block that ends the cover; none is the function's end.
    until: Vec<PackedOption<Block>>,
    stack: Vec<Block>,
}

impl<'a> Cover<'a> {
    pub(super) fn new(cfg: &'a Cfg, post_dominators: &'a PostDominators) -> Cover<'a> {
        let covered = FixedBitSet::with_capacity(cfg.block_count());
        Cover { cfg, post_dominators, covered, until: vec![None.into(); cfg.block_count()], stack: Vec::new() }
    }

    /// Adds the region of a branch, and hands out the blocks that are new.
    pub(super) fn add(&mut self, branch: Block, mut visit: impl FnMut(Block)) {
        let (cfg, post_dominators) = (self.cfg, self.post_dominators);
        let meeting = post_dominators.immediate_post_dominator(branch);
        let depth = |until: Option<Block>| until.map_or(0, |until| post_dominators.depth(until) + 1);
        let next_first = |block: Block| cfg.successors(block).iter().rev();
        self.stack.extend(next_first(branch));
        while let Some(block) = self.stack.pop() {
            if Some(block) == meeting {
                continue;
            }
            if !self.covered.put(block.index()) {
                self.until[block.index()] = meeting.into();
                visit(block);
                self.stack.extend(next_first(block));
                continue;
            }
            let until = self.until[block.index()].expand();
            if depth(until) > depth(meeting) {
                self.until[block.index()] = meeting.into();
                self.stack.extend(until);
            }
        }
    }
}

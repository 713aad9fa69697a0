//! Jumps up the dominator tree.
//!
//! ```text
//! a -> b -> c -> d -> e       above e: d, then a        the highest block above e for which a property holds that, once
//!                                                       lost on the way up, stays lost
//! ```
//!
//! Each block has its parent and one block further up, chosen so that any climb takes a number of steps that is
//! logarithmic in the depth. One word a block, made in one pass down the tree.
//!
//! Source: E. Myers, An applicative random-access stack, Information Processing Letters 1983.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::dominators::Dominators;
use crate::ir::Block;

/// A dominator tree with jumps.
pub struct Ancestors {
    dominators: Rc<Dominators>,
    /// By block: some ancestor, the parent at the nearest; a root's is itself.
    jumps: Vec<Block>,
}

impl Ancestors {
    /// The jumps of a tree over blocks below `block_count`.
    pub fn new(dominators: Rc<Dominators>, block_count: usize) -> Ancestors {
        let mut jumps = vec![Block::new(0); block_count];
        for &block in dominators.preorder() {
            let Some(parent) = dominators.parent(block) else {
                jumps[block.index()] = block;
                continue;
            };
            // Two jumps of one length are followed by one of twice the length and a step.
            let (first, depth) = (jumps[parent.index()], |block| dominators.depth(block));
            let second = jumps[first.index()];
            let are_equal = depth(parent) - depth(first) == depth(first) - depth(second);
            jumps[block.index()] = if are_equal { second } else { parent };
        }
        Ancestors { dominators, jumps }
    }

    /// The tree.
    pub fn dominators(&self) -> &Dominators {
        &self.dominators
    }

    /// The highest of the block and those above it for which `holds`, which must hold for all below the highest. None
    /// if it does not hold for the block itself.
    pub fn highest(&self, block: Block, holds: impl Fn(Block) -> bool) -> Option<Block> {
        if !holds(block) {
            return None;
        }
        let mut highest = block;
        loop {
            let jump = self.jumps[highest.index()];
            if jump != highest && holds(jump) {
                highest = jump;
                continue;
            }
            match self.dominators.parent(highest) {
                Some(parent) if holds(parent) => highest = parent,
                _ => return Some(highest),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Cfg;

    #[test]
    fn every_height_is_found_in_a_line_of_blocks() {
        const COUNT: usize = 100;
        let lists: Vec<Vec<Block>> =
            (1..=COUNT).map(|next| if next < COUNT { vec![Block::new(next)] } else { vec![] }).collect();
        let cfg = Cfg::from_successors(COUNT, &[Block::new(0)], |block| &lists[block.index()]);
        let ancestors = Ancestors::new(Rc::new(Dominators::compute(&cfg)), COUNT);
        for block in 0..COUNT {
            for height in 0..=block {
                let found = ancestors.highest(Block::new(block), |above| above.index() >= height);
                assert_eq!(found, Some(Block::new(height)));
            }
            assert_eq!(ancestors.highest(Block::new(block), |above| above.index() > block), None);
        }
    }
}

//! Blocks where a walk over the dominator tree can learn more than the last one, after edges were removed.
//!
//! ```text
//!     a            a          The edge c → d has gone, so d comes to stand below b, and b is its only predecessor.
//!    / \          / \         What is known at d now includes what b did and what the branch to d saw; at c nothing
//!   b   c   ──▶  b   c        is new. A walk needs to enter a and b, and to look at d and what d dominates.
//!    \ / \       |    \
//!     d   e      d     e
//! ```
//!
//! What a walk knows in a block comes from the blocks that dominate it, from the branch to it if that is the only way
//! in, and from how many definitions a register has. Taking edges away leaves the third alone, so new knowledge begins
//! at blocks whose immediate dominator changed, or that now have only one predecessor. Sound because nothing is known
//! below any other block that was not known before: walking there again would find nothing.
//!
//! Linear in the blocks.

use alloc::rc::Rc;

use fixedbitset::FixedBitSet;

use crate::graph::{Cfg, Dominators};
use crate::ir::Block;

/// The graph that a walk saw.
pub(in crate::pass) struct Seen {
    cfg: Rc<Cfg>,
    dominators: Rc<Dominators>,
}

impl Seen {
    /// A graph on which a walk was done.
    pub fn new(cfg: Rc<Cfg>, dominators: Rc<Dominators>) -> Seen {
        Seen { cfg, dominators }
    }

    /// The blocks that another walk has to enter, by their places in the preorder: those in which something new may be
    /// known, all that they dominate, and all that dominate them.
    pub fn blocks_to_walk(&self, cfg: &Cfg, dominators: &Dominators) -> FixedBitSet {
        let mut found = FixedBitSet::with_capacity(dominators.preorder().len());
        let mut place = 0;
        while let Some(&block) = dominators.preorder().get(place) {
            if !self.is_new(block, cfg, dominators) {
                place += 1;
                continue;
            }
            let end = place + dominators.subtree(block).len();
            found.insert_range(place..end);
            let mut above = dominators.parent(block);
            while let Some(block) = above
                && !found.put(dominators.preorder_number(block) as usize)
            {
                above = dominators.parent(block);
            }
            place = end;
        }
        found
    }

    /// May more be known at the beginning of a block than before, of what is known at the end of
    /// its immediate dominator?
    fn is_new(&self, block: Block, cfg: &Cfg, dominators: &Dominators) -> bool {
        self.dominators.parent(block) != dominators.parent(block)
            || has_only_predecessor(cfg, block) && !has_only_predecessor(&self.cfg, block)
    }
}

fn has_only_predecessor(cfg: &Cfg, block: Block) -> bool {
    cfg.predecessors(block).len() == 1
}

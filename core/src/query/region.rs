//! The control dependence region of non-divergence (CDRND): where an insertion makes no warp run both sides of a branch
//! that it did not run for it anyway.
//!
//! ```text
//! n1: br p, n2, n3       p differs between lanes      n2 and n3 depend on n1: not in the region
//! n2: br q, n4, n5       q does not                   n4 depends on n2, and through it on n1: not in it either,
//! …                                                   unless only direct dependences count
//! ```
//!
//! A block is in the region if no branch that it is control-dependent on, directly or through others, diverges. For each
//! other block the divergent branch that keeps it out is known.
//!
//! Near-linear: blocks that depend on an edge are a way up the post-dominator tree, and a way skips what is marked.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, section 5.1.

use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use crate::graph::{Cfg, PostDominators};
use crate::ir::Block;

/// Which dependences count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// On the branch itself.
    Direct,
    /// Also through other branches.
    Transitive,
}

/// See the file's head.
pub struct Region {
    kept_out: SecondaryMap<Block, Option<Block>>,
    is_divergent: SecondaryMap<Block, bool>,
    reach: Reach,
}

impl Region {
    /// The region of a graph whose divergent branches are at the ends of these blocks.
    pub fn new(
        cfg: &Cfg,
        post_dominators: &PostDominators,
        divergent: impl Iterator<Item = Block>,
        reach: Reach,
    ) -> Region {
        let mut region = Region { kept_out: SecondaryMap::new(), is_divergent: SecondaryMap::new(), reach };
        // The next block up the tree that is not marked, or itself.
        let mut next: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
        let mut pending: Vec<(Block, Block)> = divergent.map(|branch| (branch, branch)).collect();
        pending.iter().for_each(|&(branch, _)| region.is_divergent[branch] = true);
        pending.reverse();
        while let Some((branch, cause)) = pending.pop() {
            if cfg.successors(branch).len() < 2 {
                continue;
            }
            let end = post_dominators.immediate_post_dominator(branch);
            let floor = end.map(|end| post_dominators.depth(end));
            for &target in cfg.successors(branch) {
                let mut at = Some(target);
                while let Some(block) = at {
                    if floor.is_some_and(|floor| post_dominators.depth(block) <= floor) {
                        break;
                    }
                    if region.kept_out[block].is_none() {
                        region.kept_out[block] = Some(cause);
                        next[block] = post_dominators.parent(block);
                        if reach == Reach::Transitive && !region.is_divergent[block] {
                            pending.push((block, cause));
                        }
                    }
                    at = skip(&mut next, &region.kept_out, block);
                }
            }
        }
        region
    }

    /// The divergent branch that keeps a block out of the region.
    pub fn kept_out_by(&self, block: Block) -> Option<Block> {
        self.kept_out[block]
    }

    /// The divergent branch that keeps what is put on an edge of that block out of the region.
    pub fn edge_kept_out_by(&self, from: Block) -> Option<Block> {
        match self.reach {
            _ if self.is_divergent[from] => Some(from),
            Reach::Transitive => self.kept_out[from],
            Reach::Direct => None,
        }
    }

    /// A block has been put on an edge of that block.
    pub fn split(&mut self, middle: Block, from: Block) {
        self.kept_out[middle] = self.edge_kept_out_by(from);
    }
}

/// The next block above a marked one that is not marked. Ways that have been walked are made short.
fn skip(
    next: &mut SecondaryMap<Block, Option<Block>>,
    marked: &SecondaryMap<Block, Option<Block>>,
    from: Block,
) -> Option<Block> {
    let mut at = next[from];
    while let Some(block) = at.filter(|&block| marked[block].is_some()) {
        at = next[block];
    }
    let end = at;
    let mut behind = from;
    while let Some(block) = next[behind].filter(|&block| Some(block) != end) {
        next[behind] = end;
        behind = block;
    }
    end
}

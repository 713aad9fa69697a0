//! Dominators: block `a` dominates `b` when control cannot get from an entry to `b` without passing `a`.
//!
//! The tree and its bounds are those of [`DominatorTree`]. With several entries, a block that two of them reach
//! separately has no immediate dominator, just as an entry has none.

use alloc::borrow::Cow;
use core::ops::Deref;

use super::cfg::Cfg;
use super::dominator_tree::{Digraph, DominatorTree, Search};
use crate::ir::Block;

/// The dominator tree over the reachable blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dominators {
    tree: DominatorTree,
}

impl Dominators {
    /// The dominators of a graph.
    pub fn compute(cfg: &Cfg) -> Dominators {
        Dominators { tree: DominatorTree::compute(cfg) }
    }

    /// The nearest block that strictly dominates this one.
    pub fn immediate_dominator(&self, block: Block) -> Option<Block> {
        self.tree.parent(block)
    }
}

impl Deref for Dominators {
    type Target = DominatorTree;

    fn deref(&self) -> &DominatorTree {
        &self.tree
    }
}

impl Digraph for Cfg {
    fn node_count(&self) -> usize {
        self.block_count()
    }

    fn roots(&self) -> &[Block] {
        self.entries()
    }

    fn successors(&self, node: Block) -> &[Block] {
        self.successors(node)
    }

    fn predecessors(&self, node: Block) -> &[Block] {
        self.predecessors(node)
    }

    fn search(&self) -> Cow<'_, Search> {
        Cow::Borrowed(Cfg::search(self))
    }
}

//! The graph that questions travel, and the points where code can be inserted for one edge alone.
//!
//! ```text
//! a: br p, b, j        a -> j is critical: `a` has other successors, `j` other predecessors. Code for this edge
//! b: br j              needs a block of its own, `a_j`, which is created only when something is inserted
//! ```
//!
//! 1. Collect predecessors and successors of reachable blocks, each neighbour once, in text order.
//! 2. Questions cross a critical edge as if its block were there and empty.
//! 3. A block that is created on an edge replaces the neighbour at both ends of the edge
//!    ([`SplitGraph::split`]); registers there hold what they hold at the end of the edge's source.
//!
//! Sound because a split edge carries the same executions as before.
//!
//! Cost: O(blocks + edges).

use alloc::format;
use alloc::string::String;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::{SmallVec, smallvec};

use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::ir::{Block, Function, filled};

/// A point where inserted code runs whenever control takes one edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InsertionPoint {
    /// The end of this block, before its terminator.
    End(Block),
    /// The edge between these two blocks.
    Edge(Block, Block),
    /// Before this block, the function's only entry. There is no block for it yet.
    BeforeEntry(Block),
}

impl InsertionPoint {
    /// The block at whose end the code is, from which the edge leads, or which the code precedes.
    pub fn block(self) -> Block {
        match self {
            InsertionPoint::End(block) | InsertionPoint::Edge(block, _) | InsertionPoint::BeforeEntry(block) => block,
        }
    }

    /// Does the code run on the edge from this block?
    pub fn is_for_edge_from(self, from: Block) -> bool {
        matches!(self, InsertionPoint::End(block) | InsertionPoint::Edge(block, _) if block == from)
    }

    /// The point in words.
    pub fn text(self, func: &Function) -> String {
        let name = |block: Block| &func.blocks[block].name;
        match self {
            InsertionPoint::End(block) => format!("at the end of `{}`", name(block)),
            InsertionPoint::Edge(from, to) => format!("on the edge from `{}` to `{}`", name(from), name(to)),
            InsertionPoint::BeforeEntry(block) => format!("before `{}`", name(block)),
        }
    }

    /// The target of the edge.
    pub fn target(self) -> Option<Block> {
        match self {
            InsertionPoint::Edge(_, target) => Some(target),
            InsertionPoint::End(_) | InsertionPoint::BeforeEntry(_) => None,
        }
    }
}

/// The neighbours and properties of one block.
#[derive(Clone, Default)]
struct Node {
    predecessors: SmallVec<[Block; 2]>,
    successors: SmallVec<[Block; 2]>,
    /// The edge's source, for a block that was created on an edge.
    source: PackedOption<Block>,
    rank: u32,
    /// Position in reverse postorder, and the first one that control can reach from here.
    position: u32,
    first_after: u32,
    is_entry: bool,
    is_before_entry: bool,
    ends_in_call: bool,
    ends_endless_loop: bool,
}

/// See the file's head.
pub struct SplitGraph {
    nodes: SecondaryMap<Block, Node>,
}

impl SplitGraph {
    /// The graph of a function. `calls` are the blocks that end in a call which returns to other
    /// blocks, and `endless` those of [`crate::graph::PostDominators::endless_loop_ends`].
    pub fn new(func: &Function, cfg: &Cfg, calls: &[Block], endless: &[Block]) -> SplitGraph {
        let mut nodes: SecondaryMap<Block, Node> = filled(func.blocks.len());
        for ((position, &block), first) in (0..).zip(cfg.reverse_postorder()).zip(cfg.points_of_no_return()) {
            (nodes[block].position, nodes[block].first_after) = (position, first);
        }
        for (rank, block) in (0..).zip(func.block_order()) {
            (nodes[block].rank, nodes[block].is_entry) = (rank, cfg.is_entry(block));
        }
        for &block in calls {
            nodes[block].ends_in_call = true;
        }
        for &block in endless {
            nodes[block].ends_endless_loop = true;
        }
        for block in func.block_order().filter(|&block| cfg.is_reachable(block)) {
            // A branch may name a block more than once.
            let mut targets: SmallVec<[Block; 2]> = cfg.successors(block).into();
            targets.compact_sort_by_key(|&target| nodes[target].rank);
            targets.dedup();
            targets.iter().for_each(|&target| nodes[target].predecessors.push(block));
            nodes[block].successors = targets;
        }
        SplitGraph { nodes }
    }

    /// The predecessors of a block.
    pub fn predecessors(&self, block: Block) -> &[Block] {
        &self.nodes[block].predecessors
    }

    /// The successors of a block.
    pub fn successors(&self, block: Block) -> &[Block] {
        &self.nodes[block].successors
    }

    /// Can control enter the function at this block?
    pub fn is_entry(&self, block: Block) -> bool {
        self.nodes[block].is_entry
    }

    /// Does an endless loop count as left after the block?
    pub fn ends_endless_loop(&self, block: Block) -> bool {
        self.nodes[block].ends_endless_loop
    }

    /// Does a branch end the block? A call that returns to several blocks is none: nothing can be
    /// inserted after the call.
    pub fn is_branch(&self, block: Block) -> bool {
        self.nodes[block].successors.len() > 1 && !self.nodes[block].ends_in_call
    }

    /// The block whose end registers have the same values: the block itself, or the source of the
    /// edge that it is on.
    pub fn value_block(&self, block: Block) -> Block {
        self.nodes[block].source.expand().unwrap_or(block)
    }

    /// Was the block created on an edge, or before the entry?
    pub fn is_on_edge(&self, block: Block) -> bool {
        self.nodes[block].source.is_some() || self.nodes[block].is_before_entry
    }

    /// The former entry that this block was created before.
    pub fn entry_after(&self, block: Block) -> Option<Block> {
        if self.nodes[block].is_before_entry { self.successors(block).first().copied() } else { None }
    }

    /// The position of a block in the text.
    pub fn rank(&self, block: Block) -> u32 {
        self.nodes[block].rank
    }

    /// The position of a block in reverse postorder; of a block on an edge that of the edge's source.
    pub fn position(&self, block: Block) -> u32 {
        self.nodes[block].position
    }

    /// The position before which control reaches no block from this one.
    pub fn first_after(&self, block: Block) -> u32 {
        self.nodes[block].first_after
    }

    /// The point where code for one edge is inserted: the end of the edge's source if that has no
    /// other successor and does not end in a call, and the edge otherwise.
    pub fn insertion_point(&self, from: Block, to: Block) -> InsertionPoint {
        if self.ends_in_jump(from) { InsertionPoint::End(from) } else { InsertionPoint::Edge(from, to) }
    }

    /// Has the block one successor, and no call before it?
    pub fn ends_in_jump(&self, block: Block) -> bool {
        self.nodes[block].successors.len() == 1 && !self.nodes[block].ends_in_call
    }

    /// Adds a block that was created before the only entry.
    pub fn add_before_entry(&mut self, block: Block, entry: Block) {
        self.nodes[entry].predecessors.insert(0, block);
        self.nodes[entry].is_entry = false;
        let rank = self.rank(entry);
        self.nodes[block] =
            Node { successors: smallvec![entry], rank, is_entry: true, is_before_entry: true, ..Node::default() };
    }

    /// Adds a block that was created on an edge.
    pub fn split(&mut self, middle: Block, from: Block, to: Block) {
        let replace = |list: &mut SmallVec<[Block; 2]>, old: Block| {
            list.iter_mut().filter(|block| **block == old).for_each(|block| *block = middle);
        };
        replace(&mut self.nodes[to].predecessors, from);
        replace(&mut self.nodes[from].successors, to);
        self.nodes[middle] = Node {
            predecessors: smallvec![from],
            successors: smallvec![to],
            source: self.value_block(from).into(),
            rank: self.rank(to),
            position: self.position(from),
            first_after: self.first_after(from),
            ..Node::default()
        };
    }
}

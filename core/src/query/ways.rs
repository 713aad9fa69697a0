//! The graph that questions travel: for each block the blocks before and behind it, in the order of the text, and where
//! something can be inserted for one edge alone.
//!
//! ```text
//! a: br p, b, j        the edge a -> j leads from a block with other ways out to one with other ways in: what is inserted
//! b: br j              for it needs a block of its own, `a_j`, which is made only when something is inserted
//! ```
//!
//! Questions cross such critical edges as if the block were there, empty as it is. One that has been made takes its place
//! in the graph ([`Ways::split`]); it ends with what its source ends with.
//!
//! Unreachable blocks are left out. Linear in blocks and edges.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::graph::Cfg;
use crate::ir::{Block, Function, Op, filled};

/// Where something can be inserted so that it is computed whenever control goes from one block to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Spot {
    /// At the end of this block, before its terminator.
    End(Block),
    /// On the edge between these two.
    Edge(Block, Block),
}

impl Spot {
    /// The block at whose end it is, or from whose end the edge leads.
    pub fn block(self) -> Block {
        match self {
            Spot::End(block) | Spot::Edge(block, _) => block,
        }
    }

    /// The block that the edge leads to.
    pub fn target(self) -> Option<Block> {
        match self {
            Spot::End(_) => None,
            Spot::Edge(_, target) => Some(target),
        }
    }
}

type Blocks = SmallVec<[Block; 4]>;

/// See the file's head.
pub struct Ways {
    up: SecondaryMap<Block, Blocks>,
    down: SecondaryMap<Block, Blocks>,
    is_entry: SecondaryMap<Block, bool>,
    ends_in_call: SecondaryMap<Block, bool>,
    /// For a block that was put on an edge, the edge's source.
    source: SecondaryMap<Block, Option<Block>>,
    rank: SecondaryMap<Block, u32>,
}

impl Ways {
    /// The ways of a function.
    pub fn new(func: &Function, cfg: &Cfg) -> Ways {
        let blocks = func.blocks.len();
        let mut ways = Ways {
            up: filled(blocks),
            down: filled(blocks),
            is_entry: filled(blocks),
            ends_in_call: filled(blocks),
            source: filled(blocks),
            rank: filled(blocks),
        };
        // In this order every list comes out in the order of the text.
        for (rank, block) in (0..).zip(func.block_order()) {
            ways.rank[block] = rank;
            ways.is_entry[block] = cfg.is_entry(block);
            ways.ends_in_call[block] =
                func.terminator(block).is_some_and(|inst| func.insts[inst].opcode.op == Op::CallTo);
            if !cfg.is_reachable(block) {
                continue;
            }
            for &target in cfg.successors(block) {
                if ways.up[target].last() != Some(&block) {
                    ways.up[target].push(block);
                }
            }
        }
        for block in func.block_order() {
            for index in 0..ways.up[block].len() {
                let before = ways.up[block][index];
                ways.down[before].push(block);
            }
        }
        ways
    }

    /// The blocks that control comes from.
    pub fn up(&self, block: Block) -> &Blocks {
        &self.up[block]
    }

    /// The blocks that control goes to.
    pub fn down(&self, block: Block) -> &Blocks {
        &self.down[block]
    }

    /// Does control come from outside?
    pub fn is_entry(&self, block: Block) -> bool {
        self.is_entry[block]
    }

    /// Does a branch end it? A call that may come back to several blocks is none: there is no place behind the call.
    pub fn is_branch(&self, block: Block) -> bool {
        self.down[block].len() > 1 && !self.ends_in_call[block]
    }

    /// The block in which values at the end of this one are named: itself, or the source of the edge that it is on.
    pub fn named_as(&self, block: Block) -> Block {
        self.source[block].unwrap_or(block)
    }

    /// Was it put on an edge?
    pub fn is_on_edge(&self, block: Block) -> bool {
        self.source[block].is_some()
    }

    /// Where the block stands in the text.
    pub fn rank(&self, block: Block) -> u32 {
        self.rank[block]
    }

    /// Where something is inserted for an edge: at the end of its source, if nothing else leads on from there and no call
    /// stands there, else on the edge.
    pub fn spot(&self, from: Block, to: Block) -> Spot {
        let is_its_own = self.down[from].len() == 1 && !self.ends_in_call[from];
        if is_its_own { Spot::End(from) } else { Spot::Edge(from, to) }
    }

    /// A block has been put on an edge.
    pub fn split(&mut self, middle: Block, from: Block, to: Block) {
        let replace = |list: &mut Blocks, old: Block| {
            list.iter_mut().filter(|block| **block == old).for_each(|block| *block = middle);
        };
        replace(&mut self.up[to], from);
        replace(&mut self.down[from], to);
        self.up[middle].push(from);
        self.down[middle].push(to);
        self.source[middle] = Some(self.named_as(from));
        self.rank[middle] = self.rank[to];
    }
}

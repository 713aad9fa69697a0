//! Dominance frontiers: where a block's dominance ends, which is where values from it meet values from elsewhere.
//!
//! ```text
//! a -> b, a -> c, b -> d, c -> d        the frontier of b is { d }; iterated, from { a, b }, it is { d } too
//! ```
//!
//! All frontiers together are mostly about as large as the graph, but quadratic for a deep nest of
//! loops. An [`IteratedFrontier`] stores them while they stay within
//! [`IteratedFrontier::STORED_PER_BLOCK`] entries a block, so that a set costs what its answer is
//! large. Beyond that it walks the tree for each set: every block and edge at most once, deepest
//! sources first, because an edge out of a subtree matters only where it goes no deeper than the
//! subtree's root. Where only joins below some block are asked for, it climbs from the definitions
//! to that block instead: a join is in the frontier of what is between its own parent in the tree
//! and its predecessor.
//!
//! Source: R. Cytron and others, Efficiently computing static single assignment form and the control dependence graph,
//! TOPLAS 1991; V. Sreedhar and G. Gao, A linear time algorithm for placing phi-nodes, POPL 1995.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;

use super::cfg::Cfg;
use super::dominators::Dominators;
use crate::compact_sort::CompactSort;
use crate::ir::Block;

/// The blocks that have a predecessor which `block` dominates and that it does not strictly dominate themselves, in
/// reverse postorder.
pub fn dominance_frontier(cfg: &Cfg, dominators: &Dominators, block: Block) -> Vec<Block> {
    let subtree = dominators.subtree(block).iter();
    let mut frontier: Vec<Block> = subtree
        .flat_map(|&inner| cfg.successors(inner))
        .copied()
        .filter(|&next| !dominators.strictly_dominates(block, next))
        .collect();
    frontier.compact_sort_by_key(|&next| cfg.position(next));
    frontier.dedup();
    frontier
}

/// Computes iterated dominance frontiers of many sets over one graph; keeps its tables from one to the next.
pub struct IteratedFrontier<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    stored: Option<StoredFrontiers>,
    /// The joins under each block, made when they are first asked for and no frontiers are stored.
    climbs: Option<Climbs>,
    /// The last set for which the block was found to be in the frontier, or its subtree walked.
    found: Vec<u32>,
    walked: Vec<u32>,
    current: u32,
}

impl<'a> IteratedFrontier<'a> {
    /// Frontiers are stored while they have at most this many entries a block on average.
    pub const STORED_PER_BLOCK: usize = 16;

    /// Tables for a graph.
    pub fn new(cfg: &'a Cfg, dominators: &'a Dominators) -> IteratedFrontier<'a> {
        let limit = IteratedFrontier::STORED_PER_BLOCK * cfg.block_count();
        let stored = StoredFrontiers::compute(cfg, dominators, limit);
        IteratedFrontier { stored, ..Self::walking(cfg, dominators) }
    }

    /// Chooses for a single set, without stored frontiers.
    pub fn walking(cfg: &'a Cfg, dominators: &'a Dominators) -> IteratedFrontier<'a> {
        let blocks = cfg.block_count();
        let (found, walked) = (vec![0; blocks], vec![0; blocks]);
        IteratedFrontier { cfg, dominators, stored: None, climbs: None, found, walked, current: 0 }
    }

    /// The least set that holds the frontiers of `definitions` and of its own members, in reverse postorder. An
    /// unreachable definition has no frontier.
    pub fn of(&mut self, definitions: &[Block]) -> Vec<Block> {
        let mut frontier = self.in_any_order(definitions);
        frontier.compact_sort_by_key(|&block| self.cfg.position(block));
        frontier
    }

    /// Returns the set in any order.
    pub fn in_any_order(&mut self, definitions: &[Block]) -> Vec<Block> {
        let Some(stored) = &self.stored else { return self.walk(definitions) };
        self.current += 1;
        let mut frontier: Vec<Block> = Vec::new();
        let mut seen = 0;
        let mut starts = definitions.iter().copied();
        loop {
            let source = match starts.next() {
                Some(start) => start,
                None if seen < frontier.len() => {
                    seen += 1;
                    frontier[seen - 1]
                }
                None => return frontier,
            };
            for &next in stored.of(source) {
                if core::mem::replace(&mut self.found[next.index()], self.current) != self.current {
                    frontier.push(next);
                }
            }
        }
    }

    /// Appends those members of that set to `frontier` that `top` strictly dominates, in any order. `top` dominates the
    /// definitions.
    pub fn add_below(&mut self, frontier: &mut Vec<Block>, definitions: &[Block], top: Block) {
        self.current += 1;
        let (current, dominators) = (self.current, self.dominators);
        let mut seen = frontier.len();
        let mut starts = definitions.iter().copied();
        loop {
            let source = match starts.next() {
                Some(start) => start,
                None if seen < frontier.len() => {
                    seen += 1;
                    frontier[seen - 1]
                }
                None => return,
            };
            if source == top || core::mem::replace(&mut self.walked[source.index()], current) == current {
                continue;
            }
            if let Some(stored) = &self.stored {
                for &next in stored.of(source) {
                    if self.found[next.index()] != current && dominators.strictly_dominates(top, next) {
                        self.found[next.index()] = current;
                        frontier.push(next);
                    }
                }
                continue;
            }
            let climbs = self.climbs.get_or_insert_with(|| Climbs::new(self.cfg, dominators));
            let mut above = climbs.next_above(source).filter(|&parent| dominators.dominates(top, parent));
            while let Some(parent) = above {
                for next in climbs.joins(dominators, parent, source) {
                    if core::mem::replace(&mut self.found[next.index()], current) != current {
                        frontier.push(next);
                    }
                }
                // What is above a source has been climbed to from there.
                let is_done = self.walked[parent.index()] == current;
                above = climbs.next_above(parent).filter(|&parent| !is_done && dominators.dominates(top, parent));
            }
        }
    }

    fn walk(&mut self, definitions: &[Block]) -> Vec<Block> {
        self.current += 1;
        let (cfg, dominators) = (self.cfg, self.dominators);
        let key = |block: Block| (dominators.depth(block), dominators.preorder_number(block));
        let reachable = definitions.iter().filter(|&&block| cfg.is_reachable(block));
        let mut sources: BinaryHeap<((u32, u32), Block)> = reachable.map(|&block| (key(block), block)).collect();
        let mut frontier = Vec::new();
        let mut stack = Vec::new();
        while let Some(((depth, _), source)) = sources.pop() {
            if core::mem::replace(&mut self.walked[source.index()], self.current) == self.current {
                continue;
            }
            stack.push(source);
            while let Some(block) = stack.pop() {
                for &next in cfg.successors(block) {
                    let leaves = dominators.parent(next) != Some(block) && dominators.depth(next) <= depth;
                    if leaves && core::mem::replace(&mut self.found[next.index()], self.current) != self.current {
                        frontier.push(next);
                        sources.push((key(next), next));
                    }
                }
                for child in dominators.children(block) {
                    if core::mem::replace(&mut self.walked[child.index()], self.current) != self.current {
                        stack.push(child);
                    }
                }
            }
        }
        frontier
    }
}

/// The frontier of every block `b`, `joins[first[b]..first[b + 1]]`.
struct StoredFrontiers {
    first: Vec<u32>,
    joins: Vec<Block>,
}

impl StoredFrontiers {
    /// None where there are more than `limit` entries.
    fn compute(cfg: &Cfg, dominators: &Dominators, limit: usize) -> Option<StoredFrontiers> {
        // A join is in the frontiers of its predecessors and of the blocks above them, up to what dominates the join.
        let mut pairs: Vec<(Block, Block)> = Vec::with_capacity(cfg.edge_count());
        let mut last_join: Vec<PackedOption<Block>> = vec![None.into(); cfg.block_count()];
        // By number, because what belongs to neighbours lies side by side.
        for join in (0..cfg.block_count()).map(Block::new) {
            let end = dominators.parent(join);
            // Most blocks have one predecessor, which is their parent.
            let predecessors = cfg.predecessors(join).iter().copied().filter(|&predecessor| Some(predecessor) != end);
            for predecessor in predecessors {
                let mut above = Some(predecessor).filter(|&block| cfg.is_reachable(block) && cfg.is_reachable(join));
                while let Some(block) = above.filter(|&block| Some(block) != end) {
                    if core::mem::replace(&mut last_join[block.index()], join.into()) == join.into() {
                        break;
                    }
                    pairs.push((block, join));
                    above = dominators.parent(block);
                }
            }
            if pairs.len() > limit {
                return None;
            }
        }
        let mut first = vec![0; cfg.block_count() + 1];
        pairs.iter().for_each(|(block, _)| first[block.index()] += 1);
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut joins = vec![Block::new(0); pairs.len()];
        for (block, join) in pairs.into_iter().rev() {
            first[block.index()] -= 1;
            joins[first[block.index()] as usize] = join;
        }
        Some(StoredFrontiers { first, joins })
    }

    fn of(&self, block: Block) -> &[Block] {
        &self.joins[self.first[block.index()] as usize..self.first[block.index() + 1] as usize]
    }
}

/// The joins by their parents in the dominator tree, and links from each block to those above it that have any.
struct Climbs {
    /// Predecessors of joins under a block `b`, by their places in the preorder, which rise, and those joins:
    /// `edges[first[b]..first[b + 1]]`.
    first: Vec<u32>,
    edges: Vec<(u32, Block)>,
    /// Nearest strict dominator of each block that has joins under it.
    above: Vec<PackedOption<Block>>,
}

impl Climbs {
    /// Linear in blocks and edges.
    fn new(cfg: &Cfg, dominators: &Dominators) -> Climbs {
        let mut first = vec![0; cfg.block_count() + 1];
        // Joins without a parent are below nothing.
        let joins = |block: Block| {
            let joins = cfg.successors(block).iter().copied();
            joins.filter_map(move |next| Some((dominators.parent(next).filter(|&parent| parent != block)?, next)))
        };
        for &block in dominators.preorder() {
            joins(block).for_each(|(parent, _)| first[parent.index()] += 1);
        }
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut edges = vec![(0, Block::new(0)); end as usize];
        for &block in dominators.preorder().iter().rev() {
            for (parent, next) in joins(block) {
                first[parent.index()] -= 1;
                edges[first[parent.index()] as usize] = (dominators.preorder_number(block), next);
            }
        }
        let mut above: Vec<PackedOption<Block>> = vec![None.into(); cfg.block_count()];
        for &block in dominators.preorder() {
            let parent = dominators.parent(block);
            let has_joins = |parent: &Block| first[parent.index()] < first[parent.index() + 1];
            above[block.index()] =
                parent.filter(has_joins).or_else(|| parent.and_then(|parent| above[parent.index()].expand())).into();
        }
        Climbs { first, edges, above }
    }

    fn next_above(&self, block: Block) -> Option<Block> {
        self.above[block.index()].expand()
    }

    /// The joins under `parent` with a predecessor that `source` dominates.
    fn joins(&self, dominators: &Dominators, parent: Block, source: Block) -> impl Iterator<Item = Block> + '_ {
        let edges = &self.edges[self.first[parent.index()] as usize..self.first[parent.index() + 1] as usize];
        let start = dominators.preorder_number(source);
        let end = start + dominators.subtree(source).len() as u32;
        let from = edges.partition_point(|&(place, _)| place < start);
        edges[from..].iter().take_while(move |&&(place, _)| place < end).map(|&(_, join)| join)
    }
}

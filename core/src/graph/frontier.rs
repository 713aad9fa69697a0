//! Dominance frontiers: where a block's dominance ends, which is where values from it meet values from elsewhere.
//!
//! ```text
//! a -> b, a -> c, b -> d, c -> d        the frontier of b is { d }; iterated, from { a, b }, it is { d } too
//! ```
//!
//! Frontiers are not stored: together they can be quadratic in the graph. One frontier takes a walk over the block's
//! subtree. The iterated frontier of a set visits each block and edge at most once, deepest sources first, because an
//! edge out of a subtree matters only where it goes no deeper than the subtree's root.
//!
//! Source: V. Sreedhar and G. Gao, A linear time algorithm for placing phi-nodes, POPL 1995.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::dominators::Dominators;
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
    frontier.sort_unstable_by_key(|&next| cfg.position(next));
    frontier.dedup();
    frontier
}

/// Computes iterated dominance frontiers of many sets over one graph; keeps its tables from one to the next.
pub struct IteratedFrontier<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    /// The last set for which the block was found to be in the frontier, or its subtree walked.
    found: Vec<u32>,
    walked: Vec<u32>,
    current: u32,
}

impl<'a> IteratedFrontier<'a> {
    /// Tables for a graph.
    pub fn new(cfg: &'a Cfg, dominators: &'a Dominators) -> IteratedFrontier<'a> {
        let blocks = cfg.block_count();
        IteratedFrontier { cfg, dominators, found: vec![0; blocks], walked: vec![0; blocks], current: 0 }
    }

    /// The least set that holds the frontiers of `definitions` and of its own members, among the blocks where
    /// `is_live_in` holds; in reverse postorder.
    ///
    /// The walk stops at blocks where `is_live_in` does not hold. That loses nothing when it is the liveness on entry
    /// of the variable that the set defines, since a definition that reaches an edge lives in every block that lies
    /// between them in the tree. Pass `|_| true` for the frontier itself.
    pub fn of(&mut self, definitions: &[Block], is_live_in: impl Fn(Block) -> bool) -> Vec<Block> {
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
                    if !leaves || self.found[next.index()] == self.current || !is_live_in(next) {
                        continue;
                    }
                    self.found[next.index()] = self.current;
                    frontier.push(next);
                    sources.push((key(next), next));
                }
                for child in dominators.children(block) {
                    if self.walked[child.index()] != self.current && is_live_in(child) {
                        self.walked[child.index()] = self.current;
                        stack.push(child);
                    }
                }
            }
        }
        frontier.sort_unstable_by_key(|&block| cfg.position(block));
        frontier
    }
}

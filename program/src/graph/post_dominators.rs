//! Post-dominators: block `a` post-dominates `b` when control cannot get from `b` to the end without passing `a`. The
//! immediate post-dominator is where a divergent branch's lanes meet again.
//!
//! ```text
//! a -> b, a -> c, b -> d, c -> d, d: ret        tree  d( a b c )      lanes that part at a meet at d
//! ```
//!
//! The end is a virtual block after every `ret` and `exit`; a block that only the end post-dominates has no immediate
//! post-dominator. A block from which no end can be reached lies before or in a loop that nothing leaves. Each such
//! loop (a strongly connected component without edges out) counts as if its last block in the reverse postorder could
//! go to the end: the last block is the source of a back edge, so that lanes which part inside the loop still meet
//! before its next iteration, as they would in a loop that ends. Unreachable blocks are treated like all others.
//!
//! The tree and its bounds are those of [`DominatorTree`]; finding the endless loops is linear.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Deref;
use cranelift_entity::EntityRef;

use super::cfg::Cfg;
use super::dominator_tree::{Digraph, DominatorTree, Search};
use crate::ir::Block;

/// The post-dominator tree over all blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PostDominators {
    tree: DominatorTree,
    endless: Vec<Block>,
}

impl PostDominators {
    /// The post-dominators of a graph.
    pub fn compute(cfg: &Cfg) -> PostDominators {
        let has_end = |block: &Block| cfg.successors(*block).is_empty();
        let ends = (0..cfg.block_count()).map(Block::new).filter(has_end).collect();
        let mut reversed = Reversed { cfg, ends, search: None };
        let search = Search::run(&reversed);
        if search.reached_count() == cfg.block_count() {
            reversed.search = Some(search);
            return PostDominators { tree: DominatorTree::compute(&reversed), endless: Vec::new() };
        }
        let mut reaches_end: Vec<bool> = search.numbers.iter().map(|&number| number != 0).collect();
        let endless = endless_loop_ends(cfg, &mut reaches_end);
        reversed.ends.extend_from_slice(&endless);
        PostDominators { tree: DominatorTree::compute(&reversed), endless }
    }

    /// The nearest block that strictly post-dominates this one. None where only the virtual end does.
    pub fn immediate_post_dominator(&self, block: Block) -> Option<Block> {
        self.tree.parent(block)
    }

    /// Must control that leaves `b` pass `a` (or is it there already)? Constant time.
    pub fn post_dominates(&self, a: Block, b: Block) -> bool {
        self.tree.dominates(a, b)
    }

    /// [`PostDominators::post_dominates`] for two different blocks.
    pub fn strictly_post_dominates(&self, a: Block, b: Block) -> bool {
        self.tree.strictly_dominates(a, b)
    }

    /// The blocks of endless loops that count as if they could go to the end, one for each such loop.
    pub fn endless_loop_ends(&self) -> &[Block] {
        &self.endless
    }
}

impl Deref for PostDominators {
    type Target = DominatorTree;

    fn deref(&self) -> &DominatorTree {
        &self.tree
    }
}

/// The graph turned around, rooted at its ends.
struct Reversed<'a> {
    cfg: &'a Cfg,
    ends: Vec<Block>,
    /// A search from these ends, where there was one.
    search: Option<Search>,
}

impl Digraph for Reversed<'_> {
    fn node_count(&self) -> usize {
        self.cfg.block_count()
    }

    fn roots(&self) -> &[Block] {
        &self.ends
    }

    fn successors(&self, node: Block) -> &[Block] {
        self.cfg.predecessors(node)
    }

    fn predecessors(&self, node: Block) -> &[Block] {
        self.cfg.successors(node)
    }

    fn search(&self) -> Cow<'_, Search> {
        self.search.as_ref().map_or_else(|| Cow::Owned(Search::run(self)), Cow::Borrowed)
    }
}

/// Marks the block and everything that can reach it.
fn mark_predecessors(cfg: &Cfg, block: Block, marks: &mut [bool]) {
    let mut stack = Vec::new();
    if !core::mem::replace(&mut marks[block.index()], true) {
        stack.push(block);
    }
    while let Some(block) = stack.pop() {
        for &predecessor in cfg.predecessors(block) {
            if !core::mem::replace(&mut marks[predecessor.index()], true) {
                stack.push(predecessor);
            }
        }
    }
}

/// For each endless loop its last block. Among blocks that cannot reach an end, one that finishes last in a search
/// against the edges lies in a component without edges out (Kosaraju's argument); what reaches it is then settled.
fn endless_loop_ends(cfg: &Cfg, settled: &mut [bool]) -> Vec<Block> {
    let mut finished: Vec<Block> = Vec::new();
    let mut visited = settled.to_vec();
    let mut stack: Vec<(Block, usize)> = Vec::new();
    for root in (0..cfg.block_count()).map(Block::new) {
        if !core::mem::replace(&mut visited[root.index()], true) {
            stack.push((root, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            match cfg.predecessors(*block).get(*next) {
                Some(&predecessor) => {
                    *next += 1;
                    if !core::mem::replace(&mut visited[predecessor.index()], true) {
                        stack.push((predecessor, 0));
                    }
                }
                None => {
                    finished.push(*block);
                    stack.pop();
                }
            }
        }
    }
    let mut ends = Vec::new();
    for &block in finished.iter().rev() {
        if settled[block.index()] {
            continue;
        }
        // Nothing leads out of the component, so it is what can be reached from here.
        let mut component = vec![block];
        let mut seen = 0;
        settled[block.index()] = true;
        while let Some(&member) = component.get(seen) {
            seen += 1;
            for &next in cfg.successors(member) {
                if !core::mem::replace(&mut settled[next.index()], true) {
                    component.push(next);
                }
            }
        }
        ends.extend(component.iter().copied().max_by_key(|&member| (cfg.position(member), member)));
        // Marking again, from unmarked members, settles whatever leads here.
        for &member in &component {
            settled[member.index()] = false;
        }
        mark_predecessors(cfg, block, settled);
    }
    ends
}

//! Control dependence: which decisions say whether a block runs.
//!
//! ```text
//! a: br p, b, c        b depends on the edge a -> b, c on a -> c; d on nothing
//! b: br d    c: br d
//! ```
//!
//! A block depends on the edge `a -> b` when it post-dominates `b` but does not strictly post-dominate `a`: taking the
//! edge means that the block will run, and `a` could have avoided it. So the blocks that depend on an edge are those
//! on the way in the post-dominator tree from `b` up to, but without, `a`'s immediate post-dominator. A loop's header
//! depends on the edge that stays in the loop. Edges of a block with one way out decide nothing and are left out.
//! What depends on what inside an endless loop follows from where [`PostDominators`] takes its end to be.
//!
//! All dependences together can be quadratic in the graph, so only these ways are stored, in an augmented
//! post-dominator tree: some blocks keep the whole list of the edges they depend on, chosen such that a query from any
//! other block meets a kept list before it has walked over more blocks than it will find edges (and one). Space
//! and building are linear, a query in the size of its answer, up to sorting.
//!
//! Source: J. Ferrante, K. Ottenstein, J. Warren, The program dependence graph and its use in optimization, TOPLAS
//! 1987; K. Pingali and G. Bilardi, Optimal control dependence computation and the Roman chariots problem, TOPLAS 1997.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;

use super::cfg::{Cfg, Edge};
use super::post_dominators::PostDominators;
use crate::compact_sort::CompactSort;
use crate::ir::Block;

/// The control dependences of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlDependence {
    /// Edges that something depends on, in the order of block `b`'s list `lists[first[b]..first[b + 1]]`: ways that
    /// start at `b`, or for a boundary block all that pass through it; those that go highest first.
    first: Vec<u32>,
    lists: Vec<Way>,
    is_boundary: Vec<bool>,
}

/// An edge and how high in the post-dominator tree its dependants go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    edge: Edge,
    /// Depth of the highest block that depends on the edge.
    top: u32,
}

impl ControlDependence {
    /// The control dependences of a graph.
    pub fn compute(cfg: &Cfg, post_dominators: &PostDominators) -> ControlDependence {
        let blocks = cfg.block_count();
        let mut ways: Vec<(Block, Way)> = Vec::new();
        // How many ways pass through a block: those of its children, less those that end below it, plus its own.
        let mut passing = vec![0i64; blocks];
        for edge in cfg.edges() {
            let (source, target) = (cfg.source(edge), cfg.target(edge));
            let end = post_dominators.immediate_post_dominator(source);
            if cfg.successors(source).len() < 2 || end == Some(target) {
                continue;
            }
            let top = end.map_or(0, |end| post_dominators.depth(end) + 1);
            ways.push((target, Way { edge, top }));
            passing[target.index()] += 1;
            if let Some(end) = end {
                passing[end.index()] -= 1;
            }
        }
        // Stable: edges of the same height stay in order.
        ways.compact_sort_by_key(|(_, way)| way.top);

        let mut is_boundary = vec![false; blocks];
        let mut zone = vec![1i64; blocks];
        let mut is_leaf = vec![true; blocks];
        for &block in post_dominators.preorder().iter().rev() {
            let index = block.index();
            if is_leaf[index] || zone[index] > passing[index] + 1 {
                is_boundary[index] = true;
                zone[index] = 1;
            }
            if let Some(parent) = post_dominators.parent(block) {
                is_leaf[parent.index()] = false;
                passing[parent.index()] += passing[index];
                // A boundary block is where queries from above stop: it is a step of theirs like any other.
                zone[parent.index()] += zone[index];
            }
        }
        let mut next_boundary: Vec<PackedOption<Block>> = vec![None.into(); blocks];
        for &block in post_dominators.preorder() {
            if let Some(parent) = post_dominators.parent(block) {
                next_boundary[block.index()] =
                    if is_boundary[parent.index()] { parent.into() } else { next_boundary[parent.index()] };
            }
        }

        let keepers = |target: Block, way: Way| {
            let above = core::iter::successors(next_boundary[target.index()].expand(), |&block| {
                next_boundary[block.index()].expand()
            });
            core::iter::once(target).chain(above.take_while(move |&block| post_dominators.depth(block) >= way.top))
        };
        let mut first = vec![0u32; blocks + 1];
        for &(target, way) in &ways {
            keepers(target, way).for_each(|block| first[block.index()] += 1);
        }
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut lists = vec![Way { edge: Edge::new(0), top: 0 }; end as usize];
        for &(target, way) in ways.iter().rev() {
            for block in keepers(target, way) {
                first[block.index()] -= 1;
                lists[first[block.index()] as usize] = way;
            }
        }
        ControlDependence { first, lists, is_boundary }
    }

    /// The edges that a block depends on, in the graph's order. (The edge tells the branch, [`Cfg::source`], and the
    /// side, [`Cfg::slot`].) Empty for a block that runs whenever its function does.
    pub fn dependences(&self, post_dominators: &PostDominators, block: Block) -> Vec<Edge> {
        let depth = post_dominators.depth(block);
        let mut edges = Vec::new();
        let mut stack = vec![block];
        while let Some(below) = stack.pop() {
            let list = &self.lists[self.first[below.index()] as usize..self.first[below.index() + 1] as usize];
            edges.extend(list.iter().take_while(|way| way.top <= depth).map(|way| way.edge));
            if !self.is_boundary[below.index()] {
                stack.extend(post_dominators.children(below));
            }
        }
        edges.compact_sort();
        edges
    }

    /// The blocks that depend on an edge, from the edge's target up the post-dominator tree.
    pub fn dependants<'a>(
        cfg: &Cfg,
        post_dominators: &'a PostDominators,
        edge: Edge,
    ) -> impl Iterator<Item = Block> + use<'a> {
        let source = cfg.source(edge);
        let end = post_dominators.immediate_post_dominator(source);
        let first = (cfg.successors(source).len() > 1).then(|| cfg.target(edge));
        core::iter::successors(first, |&block| post_dominators.parent(block))
            .take_while(move |&block| Some(block) != end)
    }
}

//! The control-flow graph: blocks, edges in both directions, and the orders in which analyses visit them.
//!
//! ```text
//! a: br p, b, c        edges   0: a -> b    1: a -> c    2: b -> c
//! b: br c              order   a b c
//! c: ret
//! ```
//!
//! An edge is a terminator's target, so `br p, x, x` has two edges to `x`, and edges of a block stand in the
//! terminator's order. Lists are slices of two arrays each way (compressed rows): no allocation a block.
//!
//! Orders come from one depth-first search that starts at every entry block, without recursion, and takes the last
//! successor first: in the reverse postorder the first successor's blocks precede the second's wherever both orders are
//! possible. Time and space are linear in blocks and edges.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use cranelift_entity::{EntityRef, entity_impl};

use super::dominator_tree::Search;
use crate::ir::{Block, Function};

/// An edge of one [`Cfg`]: one target of one terminator. The number means nothing to another `Cfg`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge(u32);
entity_impl!(Edge, "edge");

/// Blocks and edges of a function. Blocks that stand nowhere in the text have no edges and are unreachable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cfg {
    entries: Vec<Block>,
    /// Out-edges of block `b` are `first_out[b]..first_out[b + 1]`.
    first_out: Vec<u32>,
    targets: Vec<Block>,
    sources: Vec<Block>,
    /// In-edges of block `b` are `in_edges[first_in[b]..first_in[b + 1]]`, and so are its predecessors.
    first_in: Vec<u32>,
    in_edges: Vec<Edge>,
    predecessors: Vec<Block>,
    reverse_postorder: Vec<Block>,
    /// Place in the reverse postorder, `UNREACHED` where there is none.
    position: Vec<u32>,
    search: Search,
}

const UNREACHED: u32 = u32::MAX;

/// A block that the search has come to and not left.
struct Visit {
    block: Block,
    /// The search's number of it.
    number: u32,
    first: u32,
    /// The out-edges from `first` up to this one are still to be taken, the last one first.
    next: u32,
}

impl Cfg {
    /// The graph of a function.
    pub fn compute(func: &Function) -> Cfg {
        Cfg::from_successors(func.blocks.len(), &func.entry_blocks(), |block| {
            if func.layout.has_block(block) { func.successors(block) } else { &[] }
        })
    }

    /// The graph over `block_count` blocks with those entries, where `successors` gives a block's list.
    pub fn from_successors<'a>(
        block_count: usize,
        entries: &[Block],
        successors: impl Fn(Block) -> &'a [Block],
    ) -> Cfg {
        // Tables that grow would be copied again and again; most blocks go to two others at most.
        let mut first_out = Vec::with_capacity(block_count + 1);
        let (mut targets, mut sources) = (Vec::with_capacity(2 * block_count), Vec::with_capacity(2 * block_count));
        let mut first_in = vec![0; block_count + 1];
        for block in (0..block_count).map(Block::new) {
            first_out.push(targets.len() as u32);
            for &target in successors(block) {
                targets.push(target);
                sources.push(block);
                first_in[target.index()] += 1;
            }
        }
        first_out.push(targets.len() as u32);

        // Counts become ends, and filling from the back turns the ends into starts.
        let mut end = 0;
        for count in &mut first_in {
            end += *count;
            *count = end;
        }
        let mut in_edges = vec![Edge(0); targets.len()];
        let mut predecessors = vec![Block::new(0); targets.len()];
        for (index, target) in targets.iter().enumerate().rev() {
            let place = &mut first_in[target.index()];
            *place -= 1;
            in_edges[*place as usize] = Edge(index as u32);
            predecessors[*place as usize] = sources[index];
        }

        let mut cfg = Cfg {
            entries: entries.to_vec(),
            first_out,
            targets,
            sources,
            first_in,
            in_edges,
            predecessors,
            reverse_postorder: Vec::new(),
            position: vec![UNREACHED; block_count],
            search: Search::with_capacity(block_count),
        };
        cfg.order_blocks();
        cfg
    }

    /// The graph in which these blocks go elsewhere.
    pub fn with_targets(&self, changed: &BTreeMap<Block, Vec<Block>>) -> Cfg {
        Cfg::from_successors(self.block_count(), &self.entries, |block| {
            changed.get(&block).map_or_else(|| self.successors(block), Vec::as_slice)
        })
    }

    fn order_blocks(&mut self) {
        let mut finished = Vec::with_capacity(self.block_count());
        let mut stack: Vec<Visit> = Vec::new();
        for index in (0..self.entries.len()).rev() {
            stack.extend(self.visit(self.entries[index], 0));
            while let Some(visit) = stack.last_mut() {
                if visit.next == visit.first {
                    finished.push(visit.block);
                    stack.pop();
                } else {
                    visit.next -= 1;
                    let (target, number) = (self.targets[visit.next as usize], visit.number);
                    if let Some(visit) = self.visit(target, number) {
                        stack.push(visit);
                    }
                }
            }
        }
        finished.reverse();
        for (place, block) in finished.iter().enumerate() {
            self.position[block.index()] = place as u32;
        }
        self.reverse_postorder = finished;
    }

    /// Begins the visit of a block that the search comes to from the one with the number `parent`, if it is new.
    fn visit(&mut self, block: Block, parent: u32) -> Option<Visit> {
        let number = self.search.discover(block, parent)?;
        let Range { start, end } = self.out_range(block);
        Some(Visit { block, number, first: start as u32, next: end as u32 })
    }

    /// One more than the largest block number; for sizing tables. Blocks that left the text count.
    pub fn block_count(&self) -> usize {
        self.position.len()
    }

    /// Number of edges, those of unreachable blocks included.
    pub fn edge_count(&self) -> usize {
        self.targets.len()
    }

    /// Entry blocks, in the order of the function's `entries`.
    pub fn entries(&self) -> &[Block] {
        &self.entries
    }

    /// Does control come in here from outside?
    pub fn is_entry(&self, block: Block) -> bool {
        self.entries.contains(&block)
    }

    /// Successors of a block, in the terminator's order, repetitions kept.
    pub fn successors(&self, block: Block) -> &[Block] {
        &self.targets[self.out_range(block)]
    }

    /// Predecessors of a block, by rising block number, repetitions kept, unreachable blocks included.
    pub fn predecessors(&self, block: Block) -> &[Block] {
        &self.predecessors[self.in_range(block)]
    }

    /// The edges that leave a block, in the terminator's order.
    pub fn out_edges(&self, block: Block) -> impl DoubleEndedIterator<Item = Edge> + ExactSizeIterator + use<> {
        self.out_range(block).map(Edge::new)
    }

    /// The edges that enter a block, parallel to [`Cfg::predecessors`].
    pub fn in_edges(&self, block: Block) -> &[Edge] {
        &self.in_edges[self.in_range(block)]
    }

    /// All edges, by rising source.
    pub fn edges(&self) -> impl DoubleEndedIterator<Item = Edge> + ExactSizeIterator + use<> {
        (0..self.edge_count()).map(Edge::new)
    }

    /// The `slot`-th edge that leaves a block: for a conditional branch 0 is the true side, 1 the false side.
    pub fn out_edge(&self, block: Block, slot: usize) -> Option<Edge> {
        self.out_range(block).nth(slot).map(Edge::new)
    }

    /// The block that an edge leaves.
    pub fn source(&self, edge: Edge) -> Block {
        self.sources[edge.index()]
    }

    /// The block that an edge enters.
    pub fn target(&self, edge: Edge) -> Block {
        self.targets[edge.index()]
    }

    /// Which of its source's targets an edge is, from 0.
    pub fn slot(&self, edge: Edge) -> usize {
        edge.index() - self.first_out[self.source(edge).index()] as usize
    }

    /// Reachable blocks so that each precedes its successors, except along retreating edges.
    pub fn reverse_postorder(&self) -> &[Block] {
        &self.reverse_postorder
    }

    /// Reachable blocks so that each follows its successors, except along retreating edges.
    pub fn postorder(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator + '_ {
        self.reverse_postorder.iter().rev().copied()
    }

    /// The block's place in the reverse postorder, from 0. None for an unreachable block.
    pub fn position(&self, block: Block) -> Option<usize> {
        match self.position[block.index()] {
            UNREACHED => None,
            place => Some(place as usize),
        }
    }

    /// Can control get here from an entry?
    pub fn is_reachable(&self, block: Block) -> bool {
        self.position[block.index()] != UNREACHED
    }

    /// Is `a` an ancestor of `b` (or `b` itself) in the tree of the depth-first search that gave the orders? If it is,
    /// control can get from `a` to `b`.
    pub fn is_search_ancestor(&self, a: Block, b: Block) -> bool {
        self.is_reachable(b)
            && self.search.numbers[a.index()] <= self.search.numbers[b.index()]
            && self.position[a.index()] <= self.position[b.index()]
    }

    /// The depth-first search that gave the orders.
    pub(super) fn search(&self) -> &Search {
        &self.search
    }

    /// Does the edge go back in the reverse postorder (or to its own source)? Without these edges the reachable graph
    /// is acyclic. In a reducible graph they are exactly the edges to a block that dominates their source.
    pub fn is_retreating(&self, edge: Edge) -> bool {
        let (from, to) = (self.position[self.source(edge).index()], self.position[self.target(edge).index()]);
        to <= from && from != UNREACHED
    }

    /// The last position up to each one, in the reverse postorder, that no retreating edge passes over. From there
    /// on control never returns to an earlier position.
    pub fn points_of_no_return(&self) -> Vec<u32> {
        let count = self.reverse_postorder.len();
        // How many edges more, or fewer, go back over a position than over the one before it.
        let mut changes = vec![0_i32; count + 1];
        for edge in self.edges().filter(|&edge| self.is_retreating(edge)) {
            changes[self.position[self.target(edge).index()] as usize + 1] += 1;
            changes[self.position[self.source(edge).index()] as usize + 1] -= 1;
        }
        let (mut going_back, mut last) = (0, 0);
        let mut all = Vec::with_capacity(count);
        for (position, change) in (0..count as u32).zip(changes) {
            going_back += change;
            if going_back == 0 {
                last = position;
            }
            all.push(last);
        }
        all
    }

    /// Does its source have other edges out, and its target other ways in? Code that belongs to such an edge needs a
    /// block of its own. Control that comes from outside is a way in.
    pub fn is_critical(&self, edge: Edge) -> bool {
        let (from, to) = (self.source(edge), self.target(edge));
        self.out_range(from).len() > 1 && self.in_range(to).len() + usize::from(self.is_entry(to)) > 1
    }

    /// The critical edges whose source is reachable.
    pub fn critical_edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.edges().filter(|&edge| self.is_reachable(self.source(edge)) && self.is_critical(edge))
    }

    fn out_range(&self, block: Block) -> Range<usize> {
        self.first_out[block.index()] as usize..self.first_out[block.index() + 1] as usize
    }

    fn in_range(&self, block: Block) -> Range<usize> {
        self.first_in[block.index()] as usize..self.first_in[block.index() + 1] as usize
    }
}

//! The graph along whose edges statements move.
//!
//! ```text
//! a ─▶ b, c;  d ─▶ c        a ─▶ (a→c) ─▶ c, as (a→c) leaves a branch for a join: a place of its own
//! ```
//!
//! Nodes are the blocks and the critical edges: whatever leaves a branch for a join has a place of its own, so that what is
//! put at the end of a node with several successors never has to be. A critical edge that is split becomes the block in its
//! middle, and the graph stays as it is. Nodes are numbered in an order in which only edges that go back lead to an equal or
//! a smaller number.
//!
//! Linear in the graph.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::ops::Range;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use super::stretches::Stretches;
use crate::graph::{Cfg, Dominators, Loops};
use crate::ir::{Block, Function, WarpCounts};

/// A block or a critical edge, as a number.
pub(in crate::pass) type Node = usize;

/// Origin of a node in the graph that the pass began with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Block(Block),
    Edge(Block, Block),
}

/// No node.
const NONE: u32 = u32::MAX;

/// See the file's head.
pub(in crate::pass) struct Nodes {
    origins: Vec<Origin>,
    /// The block that a node is; an edge's when it has been split.
    blocks: Vec<Option<Block>>,
    /// Node of each block.
    of_block: Vec<u32>,
    entries: Vec<Node>,
    successors: Lists,
    predecessors: Lists,
    /// Whether each node is a join without a back edge.
    joins: Vec<bool>,
    /// Whether each node has one predecessor, and control does not begin there.
    one_way: Vec<bool>,
    /// Last node up to each one over which no edge goes back.
    least_behind: Vec<u32>,
    /// Graph of the nodes as a control-flow graph: its blocks are the nodes in the order in which they were found.
    cfg: Cfg,
    dominators: OnceCell<Dominators>,
    loops: OnceCell<Loops>,
    stretches: OnceCell<Stretches>,
}

/// A list of nodes for each node.
struct Lists {
    /// Begin and end of each node's list in that of all.
    ranges: Vec<[u32; 2]>,
    all: Vec<Node>,
}

impl Lists {
    #[inline]
    fn of(&self, node: Node) -> &[Node] {
        &self.all[self.range(node)]
    }

    #[inline]
    fn range(&self, node: Node) -> Range<usize> {
        let [start, end] = self.ranges[node];
        start as usize..end as usize
    }
}

impl Nodes {
    /// The nodes of the part of a function's graph that control reaches.
    pub fn of(cfg: &Cfg, func: &Function) -> Nodes {
        let order = cfg.reverse_postorder();
        // First in any order: the blocks, then the critical edges.
        let first_number = |block: Block| cfg.position(block).unwrap_or(0);
        let mut origins: Vec<Origin> = order.iter().map(|&block| Origin::Block(block)).collect();
        let mut pairs: Vec<(Node, Node)> = Vec::with_capacity(2 * origins.len());
        for_each_edge(cfg, |from, to, is_critical| {
            let (source, target) = (first_number(from), first_number(to));
            if is_critical {
                pairs.extend([(source, origins.len()), (origins.len(), target)]);
                origins.push(Origin::Edge(from, to));
            } else {
                pairs.push((source, target));
            }
        });
        // Then as a search finds them that takes critical edges for places, so that the order is the same when one is split.
        let successors = lists(origins.len(), pairs.iter().copied());
        let entries: Vec<Node> = cfg.entries().iter().map(|&entry| first_number(entry)).collect();
        let by_search = as_cfg(&successors, &entries);
        let number = |node: Node| by_search.position(Block::new(node)).unwrap_or(0);
        let entries: Vec<Node> = entries.into_iter().map(number).collect();
        pairs.clear();
        let mut of_block = vec![NONE; func.blocks.len()];
        let (mut in_order, mut blocks) = (Vec::with_capacity(origins.len()), Vec::with_capacity(origins.len()));
        for (node, &before) in by_search.reverse_postorder().iter().enumerate() {
            let origin = origins[before.index()];
            in_order.push(origin);
            blocks.push(if let Origin::Block(block) = origin { Some(block) } else { None });
            if let Origin::Block(block) = origin {
                of_block[block.index()] = node as u32;
            }
            pairs.extend(successors.of(before.index()).iter().map(|&next| (node, number(next))));
        }
        let origins = in_order;
        let successors = lists(origins.len(), pairs.iter().copied());
        let predecessors = lists(origins.len(), pairs.iter().map(|&(from, to)| (to, from)));
        let is_join = |node: Node| {
            let ways = predecessors.of(node);
            ways.len() > 1 && !entries.contains(&node) && !ways.iter().any(|&before| Nodes::goes_back(before, node))
        };
        let has_one_way = |node: Node| predecessors.of(node).len() == 1 && !entries.contains(&node);
        let one_way = (0..origins.len()).map(has_one_way).collect();
        let joins = (0..origins.len()).map(is_join).collect();
        let least_behind = least_behind(origins.len(), pairs.iter().copied());
        Nodes {
            origins,
            blocks,
            of_block,
            entries,
            successors,
            predecessors,
            joins,
            one_way,
            least_behind,
            cfg: by_search,
            dominators: OnceCell::new(),
            loops: OnceCell::new(),
            stretches: OnceCell::new(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// The node that a block is, if control reaches it.
    pub fn of_block(&self, block: Block) -> Option<Node> {
        self.of_block.get(block.index()).copied().filter(|&node| node != NONE).map(|node| node as Node)
    }

    /// The block that a node is. None for a critical edge that is not split.
    pub fn block(&self, node: Node) -> Option<Block> {
        self.blocks[node]
    }

    /// The critical edge that a node is, while it is not split.
    pub fn edge(&self, node: Node) -> Option<(Block, Block)> {
        match (self.origins[node], self.blocks[node]) {
            (Origin::Edge(from, to), None) => Some((from, to)),
            _ => None,
        }
    }

    /// The block that a node is, or that the edge leads to.
    pub fn block_or_target(&self, node: Node) -> Block {
        match (self.blocks[node], self.origins[node]) {
            (Some(block), _) => block,
            (None, Origin::Edge(_, block) | Origin::Block(block)) => block,
        }
    }

    /// Makes the block in the middle of a critical edge its node.
    pub fn has_been_split(&mut self, node: Node, middle: Block) {
        self.blocks[node] = Some(middle);
        self.of_block.resize(self.of_block.len().max(middle.index() + 1), NONE);
        self.of_block[middle.index()] = node as u32;
    }

    /// How often warps execute each node, by what was counted in the graph that the pass began with.
    pub fn executions(&self, counts: &WarpCounts) -> Vec<f64> {
        let counted = |origin: &Origin| match *origin {
            Origin::Block(block) => counts.executions(block),
            Origin::Edge(from, to) => counts.taken(from, to),
        };
        self.origins.iter().map(|origin| counted(origin).unwrap_or(0) as f64).collect()
    }

    /// Successors, each node once.
    #[inline]
    pub fn successors(&self, node: Node) -> &[Node] {
        self.successors.of(node)
    }

    /// Predecessors, each node once.
    #[inline]
    pub fn predecessors(&self, node: Node) -> &[Node] {
        self.predecessors.of(node)
    }

    /// Entries.
    pub fn entries(&self) -> &[Node] {
        &self.entries
    }

    /// Does control begin here?
    pub fn is_entry(&self, node: Node) -> bool {
        // Mostly it is known.
        let may_be = !self.one_way[node] && !self.joins[node];
        may_be && self.entries.contains(&node)
    }

    /// Is a node a join that nothing goes back to?
    pub fn is_join(&self, node: Node) -> bool {
        self.joins[node]
    }

    /// Does control come to a node from one other only, and begin elsewhere? That one lies in front of it.
    #[inline]
    pub fn has_one_way(&self, node: Node) -> bool {
        self.one_way[node]
    }

    /// Does control go back to a node?
    #[inline]
    pub fn is_head(&self, node: Node) -> bool {
        // Mostly it is known.
        let may_be = !self.one_way[node] && !self.joins[node];
        may_be && self.predecessors(node).iter().any(|&before| Nodes::goes_back(before, node))
    }

    /// Does control go back from one node to the next?
    pub fn goes_back(from: Node, to: Node) -> bool {
        to <= from
    }

    /// The first node on the way from one block to a successor.
    pub fn between(&self, from: Block, to: Block) -> Option<Node> {
        self.first_between(self.of_block(from)?, self.of_block(to)?)
    }

    /// Returns the first node between those of two blocks.
    #[inline]
    pub fn first_between(&self, from: Node, to: Node) -> Option<Node> {
        let next = self.successors(from);
        let leads_there = |&&node: &&Node| self.successors(node) == [to] && self.edge(node).is_some();
        if next.contains(&to) { Some(to) } else { next.iter().find(leads_there).copied() }
    }

    /// The node that a critical edge is, or was before it was split.
    pub fn middle(&self, from: Block, to: Block) -> Option<Node> {
        let successors = self.successors(self.of_block(from)?);
        successors.iter().copied().find(|&node| self.origins[node] == Origin::Edge(from, to))
    }

    /// The node that dominates a node and is nearest to it.
    pub fn immediate_dominator(&self, node: Node) -> Option<Node> {
        self.dominators().immediate_dominator(self.in_cfg(node)).and_then(|block| self.cfg.position(block))
    }

    /// Is every way to `below` through `above`?
    pub fn dominates(&self, above: Node, below: Node) -> bool {
        self.dominators().dominates(self.in_cfg(above), self.in_cfg(below))
    }

    /// Does control go back from a node or a later one to an earlier one? If not, earlier ones lie behind it for good.
    pub fn is_passed_back(&self, node: Node) -> bool {
        self.least_behind(node) < node
    }

    /// The last node up to this one over which no edge goes back: to those in front of it control does not come from here on.
    pub fn least_behind(&self, node: Node) -> Node {
        self.least_behind[node] as Node
    }

    /// Does control go back to a node, and only from where it has come through it?
    pub fn is_loop(&self, node: Node) -> bool {
        let mut back = self.predecessors(node).iter().filter(|&&before| Nodes::goes_back(before, node)).peekable();
        back.peek().is_some() && !self.is_entry(node) && back.all(|&before| self.dominates(node, before))
    }

    /// Is a node outside of the smallest loop that another one is in?
    pub fn is_out_of_loop(&self, node: Node, inside: Node) -> bool {
        let loops = self.loops.get_or_init(|| Loops::compute(&self.cfg));
        loops.innermost(self.in_cfg(inside)).is_some_and(|of| !loops.contains(of, self.in_cfg(node)))
    }

    /// Parts that control enters in one place, and leaves for one place.
    pub fn stretches(&self) -> &Stretches {
        self.stretches.get_or_init(|| Stretches::of(self.len(), &self.entries, |node| self.successors(node)))
    }

    /// The block that stands for a node in the graph for others.
    fn in_cfg(&self, node: Node) -> Block {
        self.cfg.reverse_postorder()[node]
    }

    fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::compute(&self.cfg))
    }
}

/// A graph of nodes, whose numbers stand for blocks.
fn as_cfg(successors: &Lists, entries: &[Node]) -> Cfg {
    let targets: Vec<Block> = successors.all.iter().map(|&node| Block::new(node)).collect();
    let entries: Vec<Block> = entries.iter().map(|&node| Block::new(node)).collect();
    Cfg::from_successors(successors.ranges.len(), &entries, |node| &targets[successors.range(node.index())])
}

/// Calls `visit` with the edges of the part that control reaches, by source, each pair of blocks once, and whether there are
/// other ways to leave its source and to come to its target.
fn for_each_edge(cfg: &Cfg, mut visit: impl FnMut(Block, Block, bool)) {
    for &from in cfg.reverse_postorder() {
        let targets = distinct(cfg.successors(from));
        targets.iter().for_each(|&to| visit(from, to, targets.len() > 1 && is_join(cfg, to)));
    }
}

/// Do several ways lead to a block?
fn is_join(cfg: &Cfg, block: Block) -> bool {
    let ways = cfg.predecessors(block);
    ways.first().is_some_and(|first| cfg.is_entry(block) || ways.iter().any(|way| way != first))
}

fn distinct(blocks: &[Block]) -> SmallVec<[Block; 4]> {
    let mut found: SmallVec<[Block; 4]> = SmallVec::new();
    for &block in blocks {
        if !found.contains(&block) {
            found.push(block);
        }
    }
    found
}

/// For each node the last one up to it to which no edge leads back over it, so that earlier ones lie behind for good.
fn least_behind(count: usize, edges: impl Iterator<Item = (Node, Node)>) -> Vec<u32> {
    // How many edges more, or fewer, go back over a node than over the one before it.
    let mut changes = vec![0i32; count + 1];
    for (from, to) in edges.filter(|&(from, to)| to < from) {
        changes[to + 1] += 1;
        changes[from + 1] -= 1;
    }
    let (mut going_back, mut least) = (0, 0);
    let mut all = Vec::with_capacity(count);
    for (node, change) in changes.into_iter().take(count).enumerate() {
        going_back += change;
        if going_back == 0 {
            least = node as u32;
        }
        all.push(least);
    }
    all
}

/// For each node what stands beside it in `pairs`, in their order.
fn lists(count: usize, pairs: impl Iterator<Item = (Node, Node)> + Clone) -> Lists {
    // How many there are in each, and then where it ends so far.
    let mut ranges = vec![[0, 0]; count];
    pairs.clone().for_each(|(node, _)| ranges[node][1] += 1);
    let mut sum = 0;
    for range in &mut ranges {
        (*range, sum) = ([sum, sum], sum + range[1]);
    }
    let mut all = vec![0; sum as usize];
    for (node, other) in pairs {
        let [_, end] = &mut ranges[node];
        all[*end as usize] = other;
        *end += 1;
    }
    Lists { ranges, all }
}

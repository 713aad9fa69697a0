//! Graph of blocks and critical edges, along which statements move.
//!
//! ```text
//! a ─▶ b, c;  d ─▶ c        a ─▶ (a→c) ─▶ c: the edge from a branch to a join is a node of its own
//! ```
//!
//! A node with several successors never leads to a join, so nothing ever has to be placed at its
//! end. A critical edge that is split becomes the block in its middle, and the graph stays as it
//! is. Nodes are numbered in an order in which only back edges lead to an equal or smaller number.
//!
//! Cost: O(nodes + edges).

use alloc::vec;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::ops::Range;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use crate::graph::{Cfg, Dominators, Loops};
use crate::ir::{Block, Function, WarpCounts};

/// A block or a critical edge, as a number.
pub(in crate::pass) type Node = usize;

/// Block or critical edge of the graph at the start of the pass.
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
    /// The block of each node; of an edge once it is split.
    blocks: Vec<Option<Block>>,
    /// Node of each block.
    of_block: Vec<u32>,
    entries: Vec<Node>,
    successors: Lists,
    predecessors: Lists,
    /// Whether each node is a join without back edges.
    joins: Vec<bool>,
    /// Whether each node has one predecessor and is no entry.
    one_way: Vec<bool>,
    /// Last node up to each one that no back edge passes over.
    least_behind: Vec<u32>,
    /// The graph as a `Cfg`; its blocks are the nodes in reverse postorder.
    cfg: Cfg,
    dominators: OnceCell<Dominators>,
    loops: OnceCell<Loops>,
}

/// A list of nodes for each node.
struct Lists {
    /// Start and end of each node's list.
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
    /// The nodes that control reaches.
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
        // Then as a search finds them that takes critical edges for places, so that the order is
        // the same when one is split.
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
        Nodes {
            origins,
            blocks,
            of_block,
            entries,
            successors,
            predecessors,
            joins,
            one_way,
            least_behind: by_search.points_of_no_return(),
            cfg: by_search,
            dominators: OnceCell::new(),
            loops: OnceCell::new(),
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// The node of a block, if control reaches it.
    pub fn of_block(&self, block: Block) -> Option<Node> {
        self.of_block.get(block.index()).copied().filter(|&node| node != NONE).map(|node| node as Node)
    }

    /// The block of a node. None for a critical edge that is not split.
    pub fn block(&self, node: Node) -> Option<Block> {
        self.blocks[node]
    }

    /// The critical edge of a node, until it is split.
    pub fn edge(&self, node: Node) -> Option<(Block, Block)> {
        match (self.origins[node], self.blocks[node]) {
            (Origin::Edge(from, to), None) => Some((from, to)),
            _ => None,
        }
    }

    /// The block of a node, or the target of the edge.
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

    /// Executions of each node by warps, counted in the graph at the start of the pass.
    pub fn executions(&self, counts: &WarpCounts) -> Vec<f64> {
        let counted = |origin: &Origin| match *origin {
            Origin::Block(block) => counts.executions(block),
            Origin::Edge(from, to) => counts.taken(from, to),
        };
        self.origins.iter().map(|origin| counted(origin).unwrap_or(0) as f64).collect()
    }

    /// Successors of a node, each once.
    #[inline]
    pub fn successors(&self, node: Node) -> &[Node] {
        self.successors.of(node)
    }

    /// Predecessors of a node, each once.
    #[inline]
    pub fn predecessors(&self, node: Node) -> &[Node] {
        self.predecessors.of(node)
    }

    /// Entries of the function.
    pub fn entries(&self) -> &[Node] {
        &self.entries
    }

    /// Whether control begins at a node.
    pub fn is_entry(&self, node: Node) -> bool {
        let may_be = !self.one_way[node] && !self.joins[node];
        may_be && self.entries.contains(&node)
    }

    /// Whether a node is a join without back edges.
    pub fn is_join(&self, node: Node) -> bool {
        self.joins[node]
    }

    /// Whether a node has one predecessor and is no entry. The predecessor has a smaller number.
    #[inline]
    pub fn has_one_way(&self, node: Node) -> bool {
        self.one_way[node]
    }

    /// Whether an edge is a back edge.
    pub fn goes_back(from: Node, to: Node) -> bool {
        to <= from
    }

    /// First node after one block on the edge to another.
    pub fn between(&self, from: Block, to: Block) -> Option<Node> {
        self.first_between(self.of_block(from)?, self.of_block(to)?)
    }

    /// First node after one block on the edge to another, by their nodes.
    #[inline]
    pub fn first_between(&self, from: Node, to: Node) -> Option<Node> {
        let next = self.successors(from);
        let leads_there = |&&node: &&Node| self.successors(node) == [to] && self.edge(node).is_some();
        if next.contains(&to) { Some(to) } else { next.iter().find(leads_there).copied() }
    }

    /// The node of a critical edge, split or not.
    pub fn middle(&self, from: Block, to: Block) -> Option<Node> {
        let successors = self.successors(self.of_block(from)?);
        successors.iter().copied().find(|&node| self.origins[node] == Origin::Edge(from, to))
    }

    /// The immediate dominator of a node.
    pub fn immediate_dominator(&self, node: Node) -> Option<Node> {
        self.dominators().immediate_dominator(self.in_cfg(node)).and_then(|block| self.cfg.position(block))
    }

    /// Whether `above` dominates `below`.
    pub fn dominates(&self, above: Node, below: Node) -> bool {
        self.dominators().dominates(self.in_cfg(above), self.in_cfg(below))
    }

    /// The last node up to this one that no back edge passes over. Control never returns to the
    /// nodes before it.
    pub fn least_behind(&self, node: Node) -> Node {
        self.least_behind[node] as Node
    }

    /// Whether a back edge passes over a node, so that control may come to it again.
    pub fn may_come_again(&self, node: Node) -> bool {
        let has_same = |next: &u32| *next as Node <= node;
        self.least_behind(node) < node || self.least_behind.get(node + 1).is_some_and(has_same)
    }

    /// Whether a node is outside of the innermost loop of another one.
    pub fn is_out_of_loop(&self, node: Node, inside: Node) -> bool {
        let loops = self.loops.get_or_init(|| Loops::compute(&self.cfg));
        loops.innermost(self.in_cfg(inside)).is_some_and(|of| !loops.contains(of, self.in_cfg(node)))
    }

    /// The block of a node in the `Cfg`.
    fn in_cfg(&self, node: Node) -> Block {
        self.cfg.reverse_postorder()[node]
    }

    fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::compute(&self.cfg))
    }
}

/// The nodes as blocks of a `Cfg`.
fn as_cfg(successors: &Lists, entries: &[Node]) -> Cfg {
    let targets: Vec<Block> = successors.all.iter().map(|&node| Block::new(node)).collect();
    let entries: Vec<Block> = entries.iter().map(|&node| Block::new(node)).collect();
    Cfg::from_successors(successors.ranges.len(), &entries, |node| &targets[successors.range(node.index())])
}

/// Calls `visit` with each pair of blocks that control passes between, by source, and whether the
/// edge is critical.
fn for_each_edge(cfg: &Cfg, mut visit: impl FnMut(Block, Block, bool)) {
    for &from in cfg.reverse_postorder() {
        let targets = distinct(cfg.successors(from));
        targets.iter().for_each(|&to| visit(from, to, targets.len() > 1 && is_join(cfg, to)));
    }
}

/// Whether several edges lead to a block.
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

/// Partners of each node in `pairs`, in their order.
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

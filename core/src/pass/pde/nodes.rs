//! The graph that statements sink through, and the executed paths over it.
//!
//! ```text
//! a ─▶ b, c;  d ─▶ c        a ─▶ (a→c) ─▶ c, as (a→c) leaves a branch for a join: a place of its own
//! a b: 10   a c: 5          paths 0 and 1;  on(a) = {0, 1}, on(a→c) = {1}, starts(a) = {0, 1}
//! ```
//!
//! Nodes are the blocks and the critical edges: whatever leaves a branch for a join has a place of its own, so that what is
//! put at the end of a node with several successors never has to be. A path is acyclic (Ball and Larus): it begins at an
//! entry or where an edge goes back to, and ends where control leaves or goes back.
//!
//! Linear in the graph and in the paths' lengths; sets of paths are bit vectors, one for each node.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use crate::graph::Cfg;
use crate::ir::{Block, Function, Profile};

/// A block or a critical edge, as a number: blocks come first.
pub(super) type Node = usize;

/// Bits that sets of paths take in all; the rarest paths are left out where it would be more.
const MOST_BITS: usize = 1 << 28;

/// See the file's head.
pub(super) struct Nodes {
    cfg: Rc<Cfg>,
    blocks: usize,
    edges: Vec<(Block, Block)>,
    numbers: BTreeMap<(Block, Block), Node>,
}

impl Nodes {
    /// The nodes of a function's graph.
    pub fn of(cfg: Rc<Cfg>, func: &Function) -> Nodes {
        let blocks = func.blocks.len();
        let mut nodes = Nodes { cfg, blocks, edges: Vec::new(), numbers: BTreeMap::new() };
        for &from in nodes.cfg.clone().reverse_postorder() {
            let targets = distinct(nodes.cfg.successors(from));
            for &to in targets.iter().filter(|_| targets.len() > 1) {
                if nodes.is_join(to) && !nodes.numbers.contains_key(&(from, to)) {
                    nodes.numbers.insert((from, to), blocks + nodes.edges.len());
                    nodes.edges.push((from, to));
                }
            }
        }
        nodes
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.blocks + self.edges.len()
    }

    /// A block's node.
    pub fn of_block(block: Block) -> Node {
        block.index()
    }

    /// The block that a node is.
    pub fn block(&self, node: Node) -> Option<Block> {
        (node < self.blocks).then(|| Block::new(node))
    }

    /// The critical edge that a node is.
    pub fn edge(&self, node: Node) -> Option<(Block, Block)> {
        self.edges.get(node.checked_sub(self.blocks)?).copied()
    }

    /// Where control goes next, each node once.
    pub fn successors(&self, node: Node) -> SmallVec<[Node; 4]> {
        match (self.edge(node), self.block(node)) {
            (Some((_, to)), _) => [Nodes::of_block(to)].into_iter().collect(),
            (None, Some(block)) => {
                distinct(self.cfg.successors(block)).into_iter().map(|to| self.between(block, to)).collect()
            }
            (None, None) => SmallVec::new(),
        }
    }

    /// Where control comes from, each node once.
    pub fn predecessors(&self, node: Node) -> SmallVec<[Node; 4]> {
        match (self.edge(node), self.block(node)) {
            (Some((from, _)), _) => [Nodes::of_block(from)].into_iter().collect(),
            (None, Some(block)) => {
                let between = |from: Block| self.numbers.get(&(from, block)).copied().unwrap_or(Nodes::of_block(from));
                distinct(self.cfg.predecessors(block)).into_iter().map(between).collect()
            }
            (None, None) => SmallVec::new(),
        }
    }

    /// Does control begin here?
    pub fn is_entry(&self, node: Node) -> bool {
        self.block(node).is_some_and(|block| self.cfg.is_entry(block))
    }

    /// Does control go back from one node to the next?
    pub fn goes_back(&self, from: Node, to: Node) -> bool {
        self.key(to) <= self.key(from)
    }

    /// By what nodes are put in an order in which only edges that go back lead to an earlier one.
    pub fn key(&self, node: Node) -> (usize, u8) {
        let position = |block: Block| self.cfg.position(block).unwrap_or(usize::MAX);
        match (self.edge(node), self.block(node)) {
            (Some((from, to)), _) if position(to) > position(from) => (position(to), 0),
            (Some((from, _)), _) => (position(from), 2),
            (None, Some(block)) => (position(block), 1),
            (None, None) => (usize::MAX, 3),
        }
    }

    /// Do several ways lead to a block?
    fn is_join(&self, block: Block) -> bool {
        distinct(self.cfg.predecessors(block)).len() + usize::from(self.cfg.is_entry(block)) > 1
    }

    /// The first node on the way from one block to the next.
    pub fn between(&self, from: Block, to: Block) -> Node {
        self.numbers.get(&(from, to)).copied().unwrap_or(Nodes::of_block(to))
    }
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

/// The paths that a function's profile says were executed, the most frequent first, with how often in lanes.
pub(super) fn executed(func: &Function) -> Vec<(&[Block], u64)> {
    let mut executed: BTreeMap<&[Block], u64> = BTreeMap::new();
    for profile in &func.profiles {
        let Profile::Path(paths) = profile else { continue };
        for (path, count) in paths.iter().filter(|(path, count)| *count > 0 && !path.is_empty()) {
            let sum = executed.entry(path).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    let mut executed: Vec<(&[Block], u64)> = executed.into_iter().collect();
    // What is equally frequent keeps the order of its blocks.
    executed.sort_by_key(|&(_, count)| core::cmp::Reverse(count));
    executed
}

/// The paths that were executed, the most frequent first.
pub(super) struct Paths {
    /// Executions of each, in lanes.
    pub frequencies: Vec<u64>,
    /// How many of the first ones are frequent.
    pub frequent: usize,
    on: Vec<FixedBitSet>,
    starts: Vec<FixedBitSet>,
    ends: Vec<FixedBitSet>,
}

impl Paths {
    /// What a function's profile says of paths. `share` (0–1) of all executions are frequent ones. None where it says
    /// nothing.
    pub fn of(func: &Function, nodes: &Nodes, share: f64) -> Option<Paths> {
        let mut executed = executed(func);
        executed.truncate(MOST_BITS / nodes.len().max(1) / 3);
        if executed.is_empty() {
            return None;
        }
        let total: f64 = executed.iter().map(|&(_, count)| count as f64).sum();
        let mut covered = 0.0;
        let frequent = executed.iter().take_while(|&&(_, count)| {
            let is_wanted = covered < share * total;
            covered += count as f64;
            is_wanted
        });
        let frequent = frequent.count();
        let none = vec![FixedBitSet::with_capacity(executed.len()); nodes.len()];
        let (mut on, mut starts, mut ends) = (none.clone(), none.clone(), none);
        for (number, (path, _)) in executed.iter().enumerate() {
            for (place, &block) in path.iter().enumerate() {
                on[Nodes::of_block(block)].insert(number);
                let next = path.get(place + 1);
                if let Some(edge) = next.and_then(|&next| nodes.numbers.get(&(block, next))) {
                    on[*edge].insert(number);
                }
            }
            let (first, last) = (path[0], path[path.len() - 1]);
            starts[Nodes::of_block(first)].insert(number);
            ends[Nodes::of_block(last)].insert(number);
            // A path that ends in front of an edge back has taken it.
            for node in nodes.successors(Nodes::of_block(last)) {
                if nodes.edge(node).is_some() && nodes.successors(node).iter().any(|&to| nodes.goes_back(node, to)) {
                    on[node].insert(number);
                    ends[node].insert(number);
                }
            }
        }
        let frequencies = executed.iter().map(|&(_, count)| count).collect();
        Some(Paths { frequencies, frequent, on, starts, ends })
    }

    /// The paths through a node.
    pub fn on(&self, node: Node) -> &FixedBitSet {
        &self.on[node]
    }

    /// The paths that begin in a node.
    pub fn starts(&self, node: Node) -> &FixedBitSet {
        &self.starts[node]
    }

    /// The paths that end in a node.
    pub fn ends(&self, node: Node) -> &FixedBitSet {
        &self.ends[node]
    }

    /// No path.
    pub fn none(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.frequencies.len())
    }

    /// Executions of a set of paths, of the frequent ones or of all.
    pub fn frequency(&self, set: &FixedBitSet, only_frequent: bool) -> f64 {
        let counted = set.ones().filter(|&path| !only_frequent || path < self.frequent);
        counted.map(|path| self.frequencies[path] as f64).sum()
    }
}

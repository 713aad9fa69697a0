//! Immediate dominators of any rooted graph, and the tree that they make.
//!
//! ```text
//! a -> b, a -> c, b -> d, c -> d        tree  a( b c d )     a dominates d, neither b nor c does
//! ```
//!
//! Several roots hang under a virtual one that is never shown: the immediate dominator of a root is none.
//!
//! The algorithm is Semi-NCA: semidominators by path compression as Lengauer and Tarjan do it, then the immediate
//! dominator of each node as the nearest ancestor in the tree so far whose number does not exceed the node's
//! semidominator. Ids of the search are dense numbers, all tables are flat, and nothing recurses. The first part takes
//! O(m log n) time; the second is quadratic on contrived graphs and linear on those that occur. Whether one node
//! dominates another is two comparisons: a node's descendants are one interval of the tree's preorder.
//!
//! Source: L. Georgiadis, Linear-Time Algorithms for Dominators and Related Problems, Princeton 2005, section 2.3;
//! T. Lengauer and R. Tarjan, A fast algorithm for finding dominators in a flowgraph, TOPLAS 1979.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;

use crate::ir::Block;

/// A graph that can be searched from its roots. The control-flow graph is one, turned around it is another.
pub(super) trait Digraph {
    /// One more than the largest node number.
    fn node_count(&self) -> usize;
    /// Roots of the searches.
    fn roots(&self) -> &[Block];
    /// Targets of the edges from a node.
    fn successors(&self, node: Block) -> &[Block];
    /// Sources of the edges to a node; some may be unreachable.
    fn predecessors(&self, node: Block) -> &[Block];
    /// A depth-first search from the roots.
    fn search(&self) -> Cow<'_, Search> {
        Cow::Owned(Search::run(self))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    idom: PackedOption<Block>,
    /// The node and its descendants are `preorder[start..end]`; an empty interval marks an unreachable node.
    start: u32,
    end: u32,
    depth: u32,
}

/// A dominator tree or post-dominator tree, with dominance queries in constant time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DominatorTree {
    nodes: Vec<Node>,
    preorder: Vec<Block>,
}

impl DominatorTree {
    pub(super) fn compute(graph: &impl Digraph) -> DominatorTree {
        let search = graph.search();
        let Ancestry { idoms, forest: mut places, semi: mut depths } = search.ancestry(graph);
        let count = idoms.len();

        // An immediate dominator's number is smaller than its node's, so one pass up gives the sizes of subtrees, and
        // one pass down gives each subtree its interval. In between, siblings are lined up: by their ids, because that
        // mostly is how they stand in the text and in memory. Tables that have served are used again: on large graphs
        // fresh memory costs more than the computation.
        places.fill(Tree { above: 0, value: 1 });
        for number in (1..count).rev() {
            places[idoms[number] as usize].value += places[number].value;
        }
        for &number in search.numbers.iter().filter(|&&number| number != 0) {
            let size = places[number as usize].value;
            let siblings = &mut places[idoms[number as usize] as usize].above;
            depths[number as usize] = *siblings;
            *siblings += size;
        }
        let mut nodes = vec![Node { idom: None.into(), start: 0, end: 0, depth: 0 }; graph.node_count()];
        let mut preorder = vec![Block::new(0); count - 1];
        // The virtual root's interval begins before all others, and it is not in it.
        places[0].above = 0;
        for number in 1..count {
            let parent = idoms[number] as usize;
            let Tree { above: after_parent, .. } = places[parent];
            let start = after_parent + depths[number];
            let end = start + places[number].value;
            places[number].above = start + 1;
            let block = search.nodes[number];
            preorder[start as usize] = block;
            let (idom, depth) = match parent {
                0 => (None, 0),
                _ => (Some(search.nodes[parent]), depths[parent] + 1),
            };
            depths[number] = depth;
            nodes[block.index()] = Node { idom: idom.into(), start, end, depth };
        }
        DominatorTree { nodes, preorder }
    }

    /// Is the node in the tree at all? Unreachable ones are not.
    pub fn contains(&self, node: Block) -> bool {
        self.nodes[node.index()].end != 0
    }

    /// The parent: the nearest node that strictly dominates this one. None for a root and for what is not in the tree.
    pub fn parent(&self, node: Block) -> Option<Block> {
        self.nodes[node.index()].idom.expand()
    }

    /// Does every path from the roots to `b` go through `a`? A node dominates itself. What is not in the tree
    /// dominates nothing and is dominated by nothing. Constant time.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, b) = (self.nodes[a.index()], self.nodes[b.index()]);
        a.start <= b.start && b.end <= a.end && b.end != 0
    }

    /// [`DominatorTree::dominates`] for two different nodes.
    pub fn strictly_dominates(&self, a: Block, b: Block) -> bool {
        a != b && self.dominates(a, b)
    }

    /// The node's distance from its root, 0 for a root.
    pub fn depth(&self, node: Block) -> u32 {
        self.nodes[node.index()].depth
    }

    /// The nearest node that dominates both. None where only the virtual root does, or one is not in the tree. Takes
    /// as many steps as the result is away from the deeper node.
    pub fn common(&self, a: Block, b: Block) -> Option<Block> {
        if !self.contains(b) || !self.contains(a) {
            return None;
        }
        let mut candidate = Some(a);
        while let Some(node) = candidate {
            if self.dominates(node, b) {
                return Some(node);
            }
            candidate = self.parent(node);
        }
        None
    }

    /// All nodes, parents before their children, a subtree in one piece, siblings by their ids.
    pub fn preorder(&self) -> &[Block] {
        &self.preorder
    }

    /// The node and everything it dominates, in preorder.
    pub fn subtree(&self, node: Block) -> &[Block] {
        let node = self.nodes[node.index()];
        &self.preorder[node.start as usize..node.end as usize]
    }

    /// The node's place in [`DominatorTree::preorder`]. Meaningless for what is not in the tree.
    pub fn preorder_number(&self, node: Block) -> u32 {
        self.nodes[node.index()].start
    }

    /// The nodes whose parent this is.
    pub fn children(&self, node: Block) -> impl Iterator<Item = Block> + '_ {
        let node = self.nodes[node.index()];
        self.siblings(node.start + 1, node.end)
    }

    /// The nodes without a parent.
    pub fn roots(&self) -> impl Iterator<Item = Block> + '_ {
        self.siblings(0, self.preorder.len() as u32)
    }

    fn siblings(&self, mut next: u32, end: u32) -> impl Iterator<Item = Block> + '_ {
        core::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let child = self.preorder[next as usize];
            next = self.nodes[child.index()].end;
            Some(child)
        })
    }
}

/// A depth-first search from the roots. Numbers are given in preorder from 1; 0 is the virtual root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Search {
    /// Number to node; the first element stands for the virtual root and means nothing.
    nodes: Vec<Block>,
    /// Node to number, 0 where the search never came.
    pub(super) numbers: Vec<u32>,
    /// Number to the parent's number.
    parents: Vec<u32>,
}

impl Search {
    /// A search that has not begun, of nodes below `node_count`.
    pub(super) fn with_capacity(node_count: usize) -> Search {
        let mut search = Search {
            nodes: Vec::with_capacity(node_count + 1),
            numbers: vec![0; node_count],
            parents: Vec::with_capacity(node_count + 1),
        };
        search.nodes.push(Block::new(0));
        search.parents.push(0);
        search
    }

    /// Comes to a node from the one with the number `parent`. Gives its number if it is new.
    #[inline]
    pub(super) fn discover(&mut self, node: Block, parent: u32) -> Option<u32> {
        let number = &mut self.numbers[node.index()];
        if *number != 0 {
            return None;
        }
        *number = self.nodes.len() as u32;
        self.nodes.push(node);
        self.parents.push(parent);
        Some(*number)
    }

    /// How many nodes the search came to.
    pub(super) fn reached_count(&self) -> usize {
        self.nodes.len() - 1
    }

    /// A search of a whole graph.
    pub(super) fn run<G: Digraph + ?Sized>(graph: &G) -> Search {
        let mut search = Search::with_capacity(graph.node_count());
        // What is to be visited, and from where; a node counts as visited when it is taken off.
        let mut stack: Vec<(Block, u32)> = graph.roots().iter().rev().map(|&root| (root, 0)).collect();
        while let Some((node, parent)) = stack.pop() {
            if let Some(number) = search.discover(node, parent) {
                let next = graph.successors(node).iter().rev();
                stack.extend(next.filter(|next| search.numbers[next.index()] == 0).map(|&next| (next, number)));
            }
        }
        search
    }

    fn ancestry(&self, graph: &impl Digraph) -> Ancestry {
        let count = self.nodes.len();
        let mut idoms = self.parents.clone();
        let trees = self.parents.iter().zip(0..).map(|(&above, value)| Tree { above, value }).collect();
        let mut forest = Forest { trees, path: Vec::new() };
        // The virtual root is a predecessor of every root, also of one that the search met on its way from another.
        let mut semi = vec![u32::MAX; count];
        graph.roots().iter().for_each(|root| semi[self.numbers[root.index()] as usize] = 0);
        for number in (1..count).rev() {
            let mut least = semi[number].min(idoms[number]);
            for &predecessor in graph.predecessors(self.nodes[number]) {
                let predecessor = self.numbers[predecessor.index()];
                if predecessor != 0 {
                    least = least.min(forest.least_semidominator(predecessor, number as u32 + 1));
                }
            }
            semi[number] = least;
            forest.trees[number].value = least;
        }
        for number in 1..count {
            let mut idom = idoms[number];
            while idom > semi[number] {
                idom = idoms[idom as usize];
            }
            idoms[number] = idom;
        }
        Ancestry { idoms, forest: forest.trees, semi }
    }
}

/// Number to the immediate dominator's number, and tables that are free again.
struct Ancestry {
    idoms: Vec<u32>,
    forest: Vec<Tree>,
    semi: Vec<u32>,
}

/// The part of the search tree whose semidominators are known, with compressed paths.
struct Forest {
    trees: Vec<Tree>,
    path: Vec<u32>,
}

/// A node of the forest. Who looks at one number looks at the other.
#[derive(Clone, Copy)]
struct Tree {
    /// An ancestor: the parent at first, further up after compression.
    above: u32,
    /// The least semidominator from the node up to, but without, that ancestor; the node's own number while it is not
    /// linked.
    value: u32,
}

impl Forest {
    /// The least semidominator among the node's ancestors from `linked` on, itself included.
    #[inline(always)]
    fn least_semidominator(&mut self, node: u32, linked: u32) -> u32 {
        let tree = self.trees[node as usize];
        // Not linked, or just below what is not: nothing to compress.
        if tree.above < linked || self.trees[tree.above as usize].above < linked {
            return if tree.above < linked { tree.value } else { self.one_step(node, tree) };
        }
        self.compress(node, linked)
    }

    #[inline(always)]
    fn one_step(&mut self, node: u32, tree: Tree) -> u32 {
        let top = self.trees[tree.above as usize];
        let value = tree.value.min(top.value);
        self.trees[node as usize] = Tree { above: top.above, value };
        value
    }

    fn compress(&mut self, node: u32, linked: u32) -> u32 {
        let mut number = node;
        let mut top = self.trees[node as usize];
        while top.above >= linked {
            self.path.push(number);
            number = top.above;
            top = self.trees[number as usize];
        }
        let mut least = top.value;
        while let Some(below) = self.path.pop() {
            let tree = &mut self.trees[below as usize];
            least = least.min(tree.value);
            *tree = Tree { above: top.above, value: least };
        }
        least
    }
}

//! Phase 1: the nest of loops, as regions inside regions.
//!
//! The strongly connected components of a region, its head left out, are the loops inside it; each is a region of its
//! own, with the block that the search reached first as its head. On a reducible graph these are the natural loops; on
//! an irreducible one, one of the entries becomes the head and the other ways in are ordinary edges into the box.
//! Without the edges to its head, what a region contains is acyclic once its inner loops are single items.
//!
//! Source: Bourdoncle 1993, section 4 (weak topological orders); Tarjan 1972 for the components.

use super::Graph;

/// A function (the first region) or a loop.
pub struct Region {
    /// The block that back edges return to; none for the function.
    pub head: Option<usize>,
    /// The region around this one.
    pub parent: Option<usize>,
    /// 0 for the function.
    pub depth: usize,
    /// Items of the region, in a topological order without the edges to the head; the head comes first.
    pub items: Vec<Item>,
}

/// A block or an inner loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Index of a block.
    Block(usize),
    /// Index of a region.
    Loop(usize),
}

/// All regions and where the blocks are in them.
pub struct Nest {
    /// The function first; a region comes before those inside it.
    pub regions: Vec<Region>,
    /// For each block the innermost region that contains it.
    pub home: Vec<usize>,
    /// For each block the indices of its outgoing edges.
    pub leaving: Vec<Vec<usize>>,
}

impl Nest {
    /// Whether `region` contains `block`, directly or inside a loop.
    pub fn contains(&self, region: usize, block: usize) -> bool {
        let mut at = self.home[block];
        while self.regions[at].depth > self.regions[region].depth {
            at = self.regions[at].parent.expect("a region deeper than another has one around it");
        }
        at == region
    }

    /// The item of `region` that is or contains `block`.
    pub fn item_with(&self, region: usize, block: usize) -> Option<Item> {
        let mut at = self.home[block];
        if at == region {
            return Some(Item::Block(block));
        }
        while let Some(parent) = self.regions[at].parent {
            if parent == region {
                return Some(Item::Loop(at));
            }
            at = parent;
        }
        None
    }
}

/// Finds the nest of loops of `graph`.
pub fn find_loops(graph: &Graph) -> Nest {
    let mut leaving = vec![Vec::new(); graph.nodes.len()];
    for (index, edge) in graph.edges.iter().enumerate() {
        leaving[edge.from].push(index);
    }
    let mut nest = Nest {
        regions: vec![Region { head: None, parent: None, depth: 0, items: Vec::new() }],
        home: vec![0; graph.nodes.len()],
        leaving,
    };
    let mut search = Search::new(graph.nodes.len());
    let mut todo = vec![(0, (0..graph.nodes.len()).collect::<Vec<_>>())];
    while let Some((region, members)) = todo.pop() {
        let depth = nest.regions[region].depth + 1;
        let mut items = Vec::from_iter(nest.regions[region].head.map(Item::Block));
        for component in search.components(graph, &nest, region, &members) {
            let head = component[0];
            let cyclic = component.len() > 1 || nest.leaving[head].iter().any(|&e| graph.edges[e].to == head);
            if !cyclic {
                items.push(Item::Block(head));
                continue;
            }
            let inner = nest.regions.len();
            nest.regions.push(Region { head: Some(head), parent: Some(region), depth, items: Vec::new() });
            for &block in &component {
                nest.home[block] = inner;
            }
            items.push(Item::Loop(inner));
            todo.push((inner, component[1..].to_vec()));
        }
        nest.regions[region].items = items;
    }
    nest
}

/// The state of Tarjan's algorithm, kept between regions so that each costs only what it contains.
struct Search {
    /// Order of discovery, from 1; 0 is not reached.
    found: Vec<usize>,
    /// The smallest order of discovery that is known to be reachable.
    low: Vec<usize>,
    open: Vec<bool>,
    stack: Vec<usize>,
    clock: usize,
}

impl Search {
    fn new(blocks: usize) -> Self {
        Search { found: vec![0; blocks], low: vec![0; blocks], open: vec![false; blocks], stack: Vec::new(), clock: 0 }
    }

    /// The components among `members`, in topological order, each with the block that was reached first in front.
    fn components(&mut self, graph: &Graph, nest: &Nest, region: usize, members: &[usize]) -> Vec<Vec<usize>> {
        for &block in members {
            self.found[block] = 0;
        }
        // Following the head's edges first makes a loop's first step the head of what is inside.
        let after_head = nest.regions[region].head.into_iter().flat_map(|head| nest.leaving[head].iter().rev());
        let roots: Vec<usize> = after_head.map(|&e| graph.edges[e].to).chain(members.iter().copied()).collect();
        let inside = |block: usize| nest.home[block] == region && nest.regions[region].head != Some(block);
        let mut components = Vec::new();
        // Components come out last first, and so do the roots: the true side of a branch shall come before the false one.
        let mut forest = Vec::new();
        for root in roots {
            if inside(root) && self.found[root] == 0 {
                self.tree(graph, nest, root, &inside, &mut components);
                forest.push(std::mem::take(&mut components));
            }
        }
        forest.into_iter().rev().for_each(|mut tree| {
            tree.reverse();
            components.append(&mut tree);
        });
        components
    }

    /// Searches from `root`, with an explicit stack because a hostile program is deeper than ours.
    fn tree(
        &mut self,
        graph: &Graph,
        nest: &Nest,
        root: usize,
        inside: &impl Fn(usize) -> bool,
        components: &mut Vec<Vec<usize>>,
    ) {
        let mut path = vec![(root, 0)];
        self.discover(root);
        while let Some((block, step)) = path.last_mut() {
            let block = *block;
            let leaving = &nest.leaving[block];
            if *step < leaving.len() {
                // Later edges first: what is finished last comes first in the topological order.
                let next = graph.edges[leaving[leaving.len() - 1 - *step]].to;
                *step += 1;
                if !inside(next) {
                    continue;
                }
                if self.found[next] == 0 {
                    self.discover(next);
                    path.push((next, 0));
                } else if self.open[next] {
                    self.low[block] = self.low[block].min(self.found[next]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low[parent] = self.low[parent].min(self.low[block]);
            }
            if self.low[block] == self.found[block] {
                let start = self.stack.iter().rposition(|&b| b == block).expect("an open block is on the stack");
                let component = self.stack.split_off(start);
                component.iter().for_each(|&b| self.open[b] = false);
                components.push(component);
            }
        }
    }

    fn discover(&mut self, block: usize) {
        self.clock += 1;
        self.found[block] = self.clock;
        self.low[block] = self.clock;
        self.open[block] = true;
        self.stack.push(block);
    }
}

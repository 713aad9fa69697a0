//! Small random graphs, and reachability by the definition.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use warpscope_core::graph::Cfg;
use warpscope_core::ir::Block;

/// A graph as lists of successors.
#[derive(Clone, Debug)]
pub struct Graph {
    pub entries: Vec<usize>,
    pub successors: Vec<Vec<usize>>,
}

impl Graph {
    pub fn new<const N: usize>(successors: [&[usize]; N]) -> Graph {
        Graph { entries: vec![0], successors: successors.iter().map(|list| list.to_vec()).collect() }
    }

    pub fn cfg(&self) -> Cfg {
        let lists: Vec<Vec<Block>> =
            self.successors.iter().map(|list| list.iter().map(|&target| Block::new(target)).collect()).collect();
        let entries: Vec<Block> = self.entries.iter().map(|&entry| Block::new(entry)).collect();
        Cfg::from_successors(self.len(), &entries, |block| &lists[block.index()])
    }

    pub fn len(&self) -> usize {
        self.successors.len()
    }

    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        (0..self.len()).map(Block::new)
    }

    /// Nodes reachable from `from` through nodes where `allowed` holds, `from` included if it is allowed.
    pub fn reach(&self, from: &[usize], allowed: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.len()];
        let mut stack = from.to_vec();
        while let Some(node) = stack.pop() {
            if allowed(node) && !std::mem::replace(&mut reached[node], true) {
                stack.extend(&self.successors[node]);
            }
        }
        reached
    }
}

/// Graphs of up to `max` blocks with up to three ways out each and one or two entries.
pub fn graphs(max: usize) -> impl Strategy<Value = Graph> {
    (1..=max).prop_flat_map(|count| {
        let list = prop::collection::vec(0..count, 0..=3);
        let entries = prop_oneof![4 => Just(vec![0]), 1 => (0..count).prop_map(|other| vec![0, other])];
        (entries, prop::collection::vec(list, count)).prop_map(|(mut entries, successors)| {
            entries.dedup();
            Graph { entries, successors }
        })
    })
}

//! The paths that were executed, as sets over the nodes.
//!
//! ```text
//! a b: 10   a c: 5          paths 0 and 1;  on(a) = {0, 1}, on(a→c) = {1}, starts(a) = {0, 1}
//! ```
//!
//! A path is acyclic (Ball and Larus): it begins at an entry or where an edge goes back to, and ends where control leaves or
//! goes back.
//!
//! Linear in the paths' lengths; sets of paths are bit vectors, one for each node.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use super::nodes::{Node, Nodes};
use crate::ir::{Block, Function, Profile};

/// Bits that sets of paths take in all; the rarest paths are left out where it would be more.
const MOST_BITS: usize = 1 << 28;

/// The paths that a function's profile says were executed, the most frequent first, with how often in lanes.
pub(in crate::pass) fn executed(func: &Function) -> Vec<(&[Block], u64)> {
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
pub(in crate::pass) struct Paths {
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
            let mut last: Option<Node> = None;
            for (place, &block) in path.iter().enumerate() {
                let Some(node) = nodes.of_block(block) else { continue };
                if place > 0
                    && let Some(between) = nodes.between(path[place - 1], block)
                {
                    on[between].insert(number);
                }
                on[node].insert(number);
                if last.is_none() {
                    starts[node].insert(number);
                }
                last = Some(node);
            }
            if let Some(last) = last {
                ends[last].insert(number);
            }
        }
        // A path that ends in front of an edge back has taken it, and a block on it that stands there since the profile.
        for last in 0..nodes.len() {
            for &node in nodes.successors(last) {
                let is_between = nodes.predecessors(node).len() == 1 && nodes.successors(node).len() == 1;
                if is_between
                    && on[node].is_clear()
                    && nodes.successors(node).iter().any(|&to| Nodes::goes_back(node, to))
                {
                    on[node] = ends[last].clone();
                    ends[node] = ends[last].clone();
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

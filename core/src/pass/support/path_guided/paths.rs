//! Executed paths, as sets over the nodes.
//!
//! ```text
//! a b: 10   a c: 5          paths 0 and 1;  on(a) = {0, 1}, on(a→c) = {1}, starts(a) = {0, 1}
//! ```
//!
//! A path is acyclic (Ball and Larus): it begins at an entry or at the target of a back edge, and
//! ends where control leaves the function or goes back. Paths come from a `profile path`; without
//! one they are [estimated](super::estimate) from a `profile edge`.
//!
//! Cost: O(length of all paths).

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use super::estimate::Estimate;
use super::nodes::{Node, Nodes};
use super::path_sets::{PathSets, are_disjoint, is_none};
use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::ir::{Block, Function, Profile};
use crate::profile::declared_paths;
use crate::trace::{Fact, Remark};

/// No node.
const NONE: u32 = u32::MAX;

/// Bits of all sets together; beyond them the rarest paths are left out.
const MOST_BITS: usize = 1 << 28;

/// An executed path.
pub(in crate::pass) struct Executed<'f> {
    /// The blocks, as a profile declares them.
    pub blocks: Cow<'f, [Block]>,
    nodes: Vec<Node>,
    /// Executions, in lanes.
    pub frequency: u64,
}

/// An executed path, for inspection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// Its blocks in order.
    pub blocks: Vec<Block>,
    /// Executions, in lanes.
    pub frequency: u64,
    /// Whether it is frequent, so that it may benefit.
    pub is_frequent: bool,
}

/// Quality of an estimate from counted edges.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimated {
    /// The number of paths.
    pub paths: usize,
    /// Executions of edges that the paths explain.
    pub explained: f64,
    /// Executions of edges that were counted.
    pub counted: f64,
}

impl Estimated {
    /// The remark that paths are estimated, given once for a function.
    pub fn remark(self, func: &Function) -> Remark {
        let entry = func.entry_block().unwrap_or(Block::from_u32(0));
        let Estimated { paths, explained, counted } = self;
        let message = format!(
            "{paths} executed paths are estimated from `profile edge`, with each branch as independent: they explain \
             {explained} of {counted} counted executions of edges; measure paths with --profile simulate"
        );
        Remark::missed("estimated-paths", entry, message)
            .with("paths", Fact::Count(paths as u64))
            .with("explained", Fact::Number(explained))
            .with("counted", Fact::Number(counted))
    }
}

/// Executed paths of a function's profile.
pub(in crate::pass) struct Profiled<'f> {
    /// The paths, the most frequent first.
    pub paths: Vec<Executed<'f>>,
    /// Quality of the estimate, if edges were counted.
    pub estimated: Option<Estimated>,
    /// Executed nodes on none of these paths.
    left_out: Vec<Node>,
}

/// Executed paths of a function's profile, declared or estimated.
pub(in crate::pass) fn executed<'f>(func: &'f Function, nodes: &Nodes) -> Profiled<'f> {
    let is_declared = func.profiles.iter().any(|profile| matches!(profile, Profile::Path(_)));
    let Some(estimate) = (if is_declared { None } else { Estimate::of(func, nodes) }) else {
        return Profiled { paths: declared(func, nodes), estimated: None, left_out: Vec::new() };
    };
    let Estimate { paths, explained, counted, left_out } = estimate;
    let estimated = Estimated { paths: paths.len(), explained: explained as f64, counted: counted as f64 };
    let path = |(path, frequency): (Vec<Node>, u64)| {
        let blocks = path.iter().filter_map(|&node| nodes.block(node)).collect();
        Executed { blocks: Cow::Owned(blocks), nodes: path, frequency }
    };
    Profiled { paths: paths.into_iter().map(path).collect(), estimated: Some(estimated), left_out }
}

/// Executed paths for inspection, of which the first are frequent.
pub(in crate::pass) fn inspected_paths(
    func: &Function,
    nodes: &Nodes,
    frequent: usize,
) -> (Vec<Path>, Option<Estimated>) {
    let Profiled { paths, estimated, .. } = executed(func, nodes);
    let path = |(place, path): (usize, Executed<'_>)| {
        let Executed { blocks, frequency, .. } = path;
        Path { blocks: blocks.into_owned(), frequency, is_frequent: place < frequent }
    };
    (paths.into_iter().enumerate().map(path).collect(), estimated)
}

/// Executed paths of a function's profile, declared or estimated, the most frequent first, with
/// their executions in lanes.
pub fn executed_paths(func: &Function) -> Vec<(Vec<Block>, u64)> {
    let nodes = Nodes::of(&Cfg::compute(func), func);
    executed(func, &nodes).paths.into_iter().map(|path| (path.blocks.into_owned(), path.frequency)).collect()
}

/// Gives paths other frequencies.
pub(in crate::pass) fn change_frequencies(func: &mut Function, frequencies: &[(Vec<Block>, u64)]) {
    let is_declared = func.profiles.iter().any(|profile| matches!(profile, Profile::Path(_)));
    if !is_declared && !frequencies.is_empty() {
        // Whoever changes what is estimated declares the rest.
        let estimated = executed_paths(func);
        func.profiles.push(Profile::Path(estimated));
    }
    for (blocks, frequency) in frequencies {
        let mut left = *frequency;
        for profile in &mut func.profiles {
            let Profile::Path(paths) = profile else { continue };
            // Of a path that is declared several times the first declaration says it all.
            for (_, count) in paths.iter_mut().filter(|(path, _)| path == blocks) {
                *count = core::mem::take(&mut left);
            }
        }
    }
}

fn declared<'f>(func: &'f Function, nodes: &Nodes) -> Vec<Executed<'f>> {
    // By node: the last one to which it was asked for the way, and the node between them, or that
    // one. Most ask the same.
    let mut asked: Vec<[u32; 2]> = vec![[NONE; 2]; nodes.len()];
    let mut between = |from: Node, to: Node| {
        let [known, between] = &mut asked[from];
        if core::mem::replace(known, to as u32) != to as u32 {
            *between = nodes.first_between(from, to).unwrap_or(to) as u32;
        }
        *between as Node
    };
    let path = |(blocks, frequency): (&'f [Block], u64)| {
        let mut path: Vec<Node> = Vec::with_capacity(2 * blocks.len());
        let mut before: Option<Node> = None;
        for &block in blocks {
            let here = nodes.of_block(block);
            if let Some(node) = here {
                let between = before.map_or(node, |before| between(before, node));
                if between != node {
                    path.push(between);
                }
                path.push(node);
            }
            before = here;
        }
        Executed { blocks: Cow::Borrowed(blocks), nodes: path, frequency }
    };
    let mut executed: Vec<Executed<'f>> = declared_paths(func).into_iter().map(path).collect();
    // What is equally frequent has the order of its nodes, which is the same when an edge is split,
    // as that of blocks is not: or else other paths would be frequent then, and what was refused
    // would gain.
    executed.compact_sort_by(|a, b| b.frequency.cmp(&a.frequency).then_with(|| a.nodes.cmp(&b.nodes)));
    executed
}

/// Executed paths, the most frequent first.
pub(in crate::pass) struct Paths {
    /// Executions of each, in lanes.
    pub frequencies: Vec<u64>,
    /// The number of frequent paths, which come first.
    pub frequent: usize,
    /// Quality of the estimate, if they are estimated.
    pub estimated: Option<Estimated>,
    on: PathSets,
    starts: PathSets,
    ends: PathSets,
    frequent_nodes: FixedBitSet,
}

impl Paths {
    /// Executed paths of a function's profile, if it has any. Frequent ones cover `share` (0–1) of
    /// all executions.
    pub fn of(func: &Function, nodes: &Nodes, share: f64) -> Option<Paths> {
        let Profiled { paths: mut executed, estimated, mut left_out } = executed(func, nodes);
        let kept = executed.len().min(MOST_BITS / nodes.len().max(1) / 3);
        left_out.extend(executed.drain(kept..).flat_map(|path| path.nodes));
        if executed.is_empty() {
            return None;
        }
        let total: f64 = executed.iter().map(|path| path.frequency as f64).sum();
        let mut covered = 0.0;
        let frequent = executed.iter().take_while(|path| {
            let is_wanted = covered < share * total;
            covered += path.frequency as f64;
            is_wanted
        });
        let frequent = frequent.count();
        let none = PathSets::none(executed.len(), nodes.len());
        let (mut on, mut starts, mut ends) = (none.clone(), none.clone(), none);
        let mut starting = FixedBitSet::with_capacity(nodes.len());
        for (number, Executed { nodes: path, .. }) in executed.iter().enumerate() {
            path.iter().for_each(|&node| on.insert(node, number));
            if let (Some(&first), Some(&last)) = (path.first(), path.last()) {
                starts.insert(first, number);
                starting.insert(first);
                ends.insert(last, number);
            }
        }
        // A path that ends before a back edge has taken it, and a block on it that has been
        // inserted since the profile was measured.
        for last in 0..nodes.len() {
            if is_none(ends.at(last)) {
                continue;
            }
            for &node in nodes.successors(last) {
                let is_between = nodes.predecessors(node).len() == 1 && nodes.successors(node).len() == 1;
                if is_between
                    && is_none(on.at(node))
                    && nodes.successors(node).iter().any(|&to| Nodes::goes_back(node, to))
                {
                    on.at_mut(node).copy_from_slice(ends.at(last));
                    let of_last = ends.at(last).to_vec();
                    ends.at_mut(node).copy_from_slice(&of_last);
                }
            }
        }
        let frequencies: Vec<u64> = executed.iter().map(|path| path.frequency).collect();
        let mut frequent_ones = FixedBitSet::with_capacity(frequencies.len());
        frequent_ones.insert_range(..frequent);
        let mut frequent_nodes = FixedBitSet::with_capacity(nodes.len());
        frequent_nodes.extend((0..nodes.len()).filter(|&node| !are_disjoint(on.at(node), frequent_ones.as_slice())));
        // What begins where control comes from one node only has come from there, whether it is
        // declared or not.
        for begun in starting.ones().filter(|&node| !are_disjoint(starts.at(node), frequent_ones.as_slice())) {
            let before = |&node: &Node| nodes.has_one_way(node).then(|| nodes.predecessors(node)[0]);
            let in_front = core::iter::successors(before(&begun), before);
            in_front.take_while(|&node| !frequent_nodes.put(node)).for_each(drop);
        }
        // Of what no path tells nobody can say that it is rare.
        frequent_nodes.extend(left_out.into_iter().filter(|&node| is_none(on.at(node))));
        Some(Paths { frequencies, frequent, estimated, on, starts, ends, frequent_nodes })
    }

    /// The number of paths.
    pub fn count(&self) -> usize {
        self.frequencies.len()
    }

    /// The paths through a node.
    #[inline]
    pub fn on(&self, node: Node) -> &[fixedbitset::Block] {
        self.on.at(node)
    }

    /// Nodes on frequent paths, nodes from which these must have come, and executed nodes on no
    /// known path.
    pub fn frequent_nodes(&self) -> &FixedBitSet {
        &self.frequent_nodes
    }

    /// A copy of the set of paths through a node.
    pub fn set_on(&self, node: Node) -> FixedBitSet {
        self.on.set(node)
    }

    /// The paths that begin in a node.
    pub fn starts(&self, node: Node) -> &[fixedbitset::Block] {
        self.starts.at(node)
    }

    /// The paths that end in a node.
    pub fn ends(&self, node: Node) -> &[fixedbitset::Block] {
        self.ends.at(node)
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

    /// Executions that frequent paths lose and gain, if each path makes so many before and after.
    pub fn changes(&self, before: &[u32], after: &[u32]) -> (f64, f64) {
        let (mut lost, mut gained) = (0.0, 0.0);
        for path in 0..self.frequent {
            let times = self.frequencies[path] as f64;
            lost += times * f64::from(before[path].saturating_sub(after[path]));
            gained += times * f64::from(after[path].saturating_sub(before[path]));
        }
        (lost, gained)
    }
}

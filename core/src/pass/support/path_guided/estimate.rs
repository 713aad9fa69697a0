//! Estimate of executed paths from counted edges.
//!
//! ```text
//! a ─▶ b, c    b ─▶ d    c ─▶ d    d ─▶ e, f          a b d e   36     a b d f   24
//! a→b 60   a→c 40   d→e 60   d→f 40                   a c d e   24     a c d f   16
//! ```
//!
//! Many path profiles have the same edge counts. This one takes each branch as independent of the
//! others, which is the assignment of greatest entropy. Pairing the most frequent edges would give
//! fewer paths, but would correlate branches without evidence, and a pass would see benefits that
//! cost nothing.
//!
//! 1. Visit the nodes in order. As many executions begin at an entry or at the target of a back
//!    edge as leave the node and did not arrive.
//! 2. At a branch, divide each arriving path among the successors in proportion to their counts, in
//!    whole executions, the greatest path first. A shortfall of earlier paths is made up by the
//!    next.
//! 3. Do not split off parts below a [`MOST_PARTS`]th of a path's executions at its beginning,
//!    unless a count requires it; smaller paths go on whole, in an order that does not depend on
//!    how they arrived.
//! 4. End a path where control leaves the function or goes back.
//!
//! A single successor takes everything, counted or not. Contradicting counts are used as
//! proportions; what arrives at a branch without counts is left out.
//!
//! Cost: O(length of all paths), times a logarithm, and O(paths · successors) at each branch.
//! Limits: counts up to [`MOST_COUNT`]; [`MOST_NODES`] nodes of all paths together, beyond which
//! the rarest are dropped, which [`Estimate::explained`] shows.
//!
//! Source: G. Ramalingam, Data flow frequency analysis, PLDI 1996, which takes branches as
//! independent; T. Ball, P. Mataga and M. Sagiv, Edge profiling versus path profiling: the
//! showdown, POPL 1998, for definite flow.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::nodes::{Node, Nodes};
use crate::compact_sort::CompactSort;
use crate::ir::{Block, Function, Profile};

/// A path is divided into at most so many parts, if counts allow.
const MOST_PARTS: u64 = 256;
/// Higher counts of an edge are cut.
const MOST_COUNT: u64 = 1 << 48;
/// More executions that begin at one node are cut.
const MOST_BEGINNING: u128 = 1 << 50;
/// Nodes of all paths together; beyond them rare paths are dropped.
const MOST_NODES: usize = 1 << 21;
/// Further paths at one node are dropped, but never below [`FEWEST_FOLLOWED`].
const MOST_FOLLOWED: usize = 1 << 12;
const FEWEST_FOLLOWED: usize = 16;

/// See the file's head.
pub(in crate::pass) struct Estimate {
    /// The paths, the most frequent first, with their executions.
    pub paths: Vec<(Vec<Node>, u64)>,
    /// Counted executions of edges that these paths explain.
    pub explained: u128,
    /// Counted executions of edges.
    pub counted: u128,
    /// Nodes with counted executions and without a path.
    pub left_out: Vec<Node>,
}

impl Estimate {
    /// The estimate from a function's counted edges, if it has any.
    pub fn of(func: &Function, nodes: &Nodes) -> Option<Estimate> {
        let counts = Counts::of(func);
        let counted = counts.edges.values().map(|&count| u128::from(count)).sum();
        if counted == 0 {
            return None;
        }
        let graph = Graph::of(nodes, &counts);
        let mut dealer = Dealer::new(nodes.len());
        for node in 0..nodes.len() {
            dealer.visit(nodes, &graph, node);
        }
        let paths = dealer.paths();
        let mut through: Vec<u128> = vec![0; nodes.len()];
        for (path, frequency) in &paths {
            path.iter().for_each(|&node| through[node] += u128::from(*frequency));
        }
        let explained = graph.explained(nodes, &through);
        let left_out = (0..nodes.len()).filter(|&node| graph.leaving[node] > 0 && through[node] == 0).collect();
        Some(Estimate { paths, explained, counted, left_out })
    }
}

/// Counts of edges.
struct Counts {
    edges: BTreeMap<(Block, Block), u64>,
}

impl Counts {
    fn of(func: &Function) -> Counts {
        let mut edges: BTreeMap<(Block, Block), u64> = BTreeMap::new();
        for profile in &func.profiles {
            let Profile::Edge(counts) = profile else { continue };
            for &(from, to, count) in counts {
                let sum = edges.entry((from, to)).or_default();
                *sum = sum.saturating_add(count).min(MOST_COUNT);
            }
        }
        Counts { edges }
    }

    /// The count between two neighbouring nodes.
    fn on(&self, nodes: &Nodes, from: Node, to: Node) -> u64 {
        let edge = match (nodes.edge(from), nodes.edge(to)) {
            (Some(edge), _) | (None, Some(edge)) => Some(edge),
            (None, None) => nodes.block(from).zip(nodes.block(to)),
        };
        edge.and_then(|edge| self.edges.get(&edge)).copied().unwrap_or(0)
    }
}

/// The counts by node.
struct Graph {
    /// Counts of each node's outgoing edges, in the order of its successors.
    ways: Vec<Vec<u64>>,
    /// Executions that leave each node.
    leaving: Vec<u128>,
}

impl Graph {
    fn of(nodes: &Nodes, counts: &Counts) -> Graph {
        let ways = |node: Node| nodes.successors(node).iter().map(|&next| counts.on(nodes, node, next)).collect();
        let ways: Vec<Vec<u64>> = (0..nodes.len()).map(ways).collect();
        let mut leaving: Vec<u128> = vec![0; nodes.len()];
        for node in (0..nodes.len()).rev() {
            let sum = ways[node].iter().map(|&count| u128::from(count)).sum();
            leaving[node] = match nodes.successors(node) {
                // What has one way on may be left uncounted, as what leaves its end says the same.
                &[next] if sum == 0 && nodes.predecessors(next) == [node] && !nodes.is_entry(next) => leaving[next],
                _ => sum,
            };
        }
        Graph { ways, leaving }
    }

    /// Counted executions that paths explain, if so many of them pass each node.
    fn explained(&self, nodes: &Nodes, through: &[u128]) -> u128 {
        let mut explained = 0;
        // What leaves a branch for a join has a node of its own, so that what goes to the next node
        // is what comes through the one or through the other.
        for node in (0..nodes.len()).filter(|&node| nodes.block(node).is_some()) {
            let successors = nodes.successors(node);
            for (&next, &count) in successors.iter().zip(&self.ways[node]) {
                let made = if successors.len() == 1 { through[node] } else { through[next] };
                explained += made.min(u128::from(count));
            }
        }
        explained
    }
}

/// A path in progress.
#[derive(Clone, Copy)]
struct Bundle {
    /// The number of bundles before it.
    number: u64,
    executions: u64,
    /// Smaller parts are not split off, if that can be avoided.
    least: u64,
    /// The last step.
    last: u32,
    length: u32,
}

/// A node of a path, and the step before.
struct Step {
    node: Node,
    before: u32,
}

/// No step.
const NONE: u32 = u32::MAX;

/// Follows paths from node to node.
struct Dealer {
    steps: Vec<Step>,
    /// Bundles that have arrived at each node.
    waiting: Vec<Vec<Bundle>>,
    ended: Vec<Bundle>,
    bundles: u64,
    most_followed: usize,
}

impl Dealer {
    fn new(count: usize) -> Dealer {
        let most_followed = (MOST_NODES / count.max(1)).clamp(FEWEST_FOLLOWED, MOST_FOLLOWED);
        Dealer { steps: Vec::new(), waiting: vec![Vec::new(); count], ended: Vec::new(), bundles: 0, most_followed }
    }

    fn visit(&mut self, nodes: &Nodes, graph: &Graph, node: Node) {
        let mut here = core::mem::take(&mut self.waiting[node]);
        let has_come: u128 = here.iter().map(|bundle| u128::from(bundle.executions)).sum();
        let may_begin =
            nodes.is_entry(node) || nodes.predecessors(node).iter().any(|&before| Nodes::goes_back(before, node));
        let beginning = graph.leaving[node].saturating_sub(has_come).min(MOST_BEGINNING) as u64;
        if may_begin && beginning > 0 {
            let least = beginning.div_ceil(MOST_PARTS);
            here.push(Bundle { number: self.number(), executions: beginning, least, last: NONE, length: 0 });
        }
        // The greatest first; what is equal in an order that does not know how it came.
        here.compact_sort_by_key(|bundle| (Reverse(bundle.executions), mixed(bundle.number, node)));
        here.truncate(self.most_followed);
        for bundle in &mut here {
            bundle.length += 1;
            let before = core::mem::replace(&mut bundle.last, self.steps.len() as u32);
            self.steps.push(Step { node, before });
        }
        match nodes.successors(node) {
            [] => self.ended.append(&mut here),
            &[next] if Nodes::goes_back(node, next) => self.ended.append(&mut here),
            &[next] => self.waiting[next].append(&mut here),
            ways => self.deal(&here, ways, &graph.ways[node], graph.leaving[node]),
        }
    }

    /// Divides the bundles at a branch among its successors. `counted` is the sum of `counts`.
    fn deal(&mut self, here: &[Bundle], ways: &[Node], counts: &[u64], counted: u128) {
        let come: u128 = here.iter().map(|bundle| u128::from(bundle.executions)).sum();
        if come == 0 || counted == 0 {
            return;
        }
        let wanted = in_proportion(come, counts, counted);
        let mut given: Vec<u128> = vec![0; ways.len()];
        let mut parts: Vec<u128> = vec![0; ways.len()];
        let mut order: Vec<usize> = (0..ways.len()).collect();
        let mut dealt = 0;
        for bundle in here {
            dealt += u128::from(bundle.executions);
            let mut left = u128::from(bundle.executions);
            let due = |way: usize, given: u128| (dealt * wanted[way] / come).saturating_sub(given);
            parts.fill(0);
            order.compact_sort_by_key(|&way| (Reverse(due(way, given[way])), way));
            for &way in &order {
                let part = due(way, given[way]).min(left);
                if part < u128::from(bundle.least) {
                    break;
                }
                (parts[way], left) = (part, left - part);
            }
            while left > 0 {
                // To a way that it goes already, or else to the one that has got too little by
                // most.
                let missing = |way: usize| (dealt * wanted[way]) as i128 - ((given[way] + parts[way]) * come) as i128;
                let room = |way: usize| wanted[way] - given[way] - parts[way];
                let open = (0..ways.len()).filter(|&way| room(way) > 0);
                let Some(way) = open.max_by_key(|&way| (parts[way] > 0, missing(way), Reverse(way))) else { break };
                let part = left.min(room(way));
                (parts[way], left) = (parts[way] + part, left - part);
            }
            let mut is_first = true;
            for (way, &part) in parts.iter().enumerate().filter(|(_, part)| **part > 0) {
                given[way] += part;
                let number = if core::mem::take(&mut is_first) { bundle.number } else { self.number() };
                self.waiting[ways[way]].push(Bundle { number, executions: part as u64, ..*bundle });
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.bundles += 1;
        self.bundles
    }

    /// The paths that have come to an end.
    fn paths(mut self) -> Vec<(Vec<Node>, u64)> {
        self.ended.compact_sort_by_key(|bundle| Reverse(bundle.executions));
        let mut length = 0;
        let kept = self.ended.iter().take_while(|bundle| {
            length += bundle.length as usize;
            length <= MOST_NODES
        });
        let nodes_of = |bundle: &Bundle| {
            let mut path = Vec::with_capacity(bundle.length as usize);
            let mut step = bundle.last;
            while let Some(&Step { node, before }) = self.steps.get(step as usize) {
                path.push(node);
                step = before;
            }
            path.reverse();
            (path, bundle.executions)
        };
        let mut paths: Vec<(Vec<Node>, u64)> = kept.map(nodes_of).collect();
        paths.compact_sort_by(|(a, many), (b, others)| others.cmp(many).then_with(|| a.cmp(b)));
        paths
    }
}

/// A number in proportion to counts, in whole parts: rounded down, and one more for those that lose
/// most by it.
fn in_proportion(number: u128, counts: &[u64], sum: u128) -> Vec<u128> {
    let exact = |way: usize| number * u128::from(counts[way]);
    let mut parts: Vec<u128> = (0..counts.len()).map(|way| exact(way) / sum).collect();
    let missing = number - parts.iter().sum::<u128>();
    if missing > 0 {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.compact_sort_by_key(|&way| (Reverse(exact(way) % sum), way));
        order.into_iter().take(missing as usize).for_each(|way| parts[way] += 1);
    }
    parts
}

/// A hash of a number: the last step of the generator splitmix64.
fn mixed(number: u64, node: Node) -> u64 {
    let state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (node as u64).wrapping_mul(0xd134_2543_de82_ef95);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

//! Bounds from the regions in which an edge profile cannot tell: four estimators, each at least as
//! tight as the one before.
//!
//! | | upper | lower |
//! |---|---|---|
//! | CMP1 | min(En+ + D+, Ex+), for the whole region | Ex+ − En− − D− |
//! | CMP2 | the same for each subregion | the same |
//! | CMP3 | maximum flow from entries to the exits that they reach | Ex+ − the flow without the value |
//! | CMP4 | maximum flow over the inner edges with their counts | the same |
//!
//! All are added to the definite reuse. D+ and D− are lanes that splits duplicate: CMP3 gives them
//! to all exits of a subregion; CMP4 lets them enter behind their vertices, at most as many as can
//! come there.
//!
//! Cost: CMP1 and CMP2 O(region), CMP3 one and CMP4 one maximum flow for each subregion, with one
//! more for each split.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, sections 4.5 and 4.6.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::Interval;
use super::network::{inner_network, narrow};
use super::region::{Crossing, Subregion, Value, Weighted};
use crate::graph::FlowNetwork;
use crate::vng::{ThreadGraph, Vertex};

/// Bounds by the entries and exits of the whole region.
pub(super) fn whole(value: &Value) -> Interval {
    let sum = |count: &dyn Fn(&Subregion) -> u64| value.subregions.iter().map(count).fold(0, u64::saturating_add);
    let entered = |with_value: bool| {
        sum(&|part| part.entered(with_value)).saturating_add(sum(&|part| part.duplicated(with_value)))
    };
    let needed = sum(&Subregion::needed);
    Interval { low: needed.saturating_sub(entered(false)), high: needed.min(entered(true)) }
        .plus(Interval::exactly(value.definite))
}

/// Bounds by the entries and exits of each subregion.
pub(super) fn by_subregion(value: &Value) -> Interval {
    sum(value, |part| {
        let entered = |with_value: bool| part.entered(with_value).saturating_add(part.duplicated(with_value));
        let needed = part.needed();
        Interval { low: needed.saturating_sub(entered(false)), high: needed.min(entered(true)) }
    })
}

/// Bounds by which entries reach which exits.
pub(super) fn by_reachability(weighted: Weighted<'_>, value: &Value) -> Interval {
    sum(value, |part| flow_bounds(part, |with_value| reachability_flow(weighted, part, with_value)))
}

/// Bounds by the counts of inner edges.
pub(super) fn by_inner_edges(weighted: Weighted<'_>, value: &Value) -> Interval {
    sum(value, |part| flow_bounds(part, |with_value| inner_network(weighted, part, with_value).flow()))
}

fn sum(value: &Value, bounds: impl Fn(&Subregion) -> Interval) -> Interval {
    let parts = value.subregions.iter().map(bounds);
    parts.fold(Interval::exactly(value.definite), Interval::plus)
}

/// The bounds of a subregion by the flow with the value and without it. Without entries and exits of a kind that run,
/// nothing flows.
fn flow_bounds(part: &Subregion, flow: impl Fn(bool) -> u64) -> Interval {
    let needed = part.needed();
    let flow = |with_value: bool| match needed > 0 && part.entered(with_value) > 0 {
        true => flow(with_value),
        false => 0,
    };
    Interval { low: needed.saturating_sub(flow(false)), high: flow(true) }
}

/// The maximum flow from entries of a kind to the exits that each reaches inside, and over a channel for
/// duplicates to all exits. Entries to one vertex are one node, and so are exits from one.
fn reachability_flow(weighted: Weighted<'_>, part: &Subregion, with_value: bool) -> u64 {
    let (mut network, source, sink) = (FlowNetwork::new(2), 0, 1);
    let sums = |crossings: &[Crossing], is_positive: bool| {
        let mut sums: BTreeMap<Vertex, u64> = BTreeMap::new();
        for crossing in crossings.iter().filter(|crossing| crossing.is_positive == is_positive) {
            let sum = sums.entry(crossing.inside).or_default();
            *sum = sum.saturating_add(crossing.count);
        }
        sums
    };
    let exits = sums(&part.exits, true).into_iter().map(|(inside, count)| {
        let node = network.add_node();
        network.add_edge(node, sink, count);
        (node, inside)
    });
    let exits: Vec<(usize, Vertex)> = exits.collect();
    let mut search = InnerSearch::new(part);
    for (inside, count) in sums(&part.entries, with_value) {
        let node = network.add_node();
        network.add_edge(source, node, count);
        search.start(weighted.graph, inside);
        for &(exit, _) in exits.iter().filter(|&&(_, inside)| search.has_reached(inside)) {
            network.add_edge(node, exit, u64::MAX);
        }
    }
    let duplicated = part.duplicated(with_value);
    if duplicated > 0 {
        let channel = network.add_node();
        network.add_edge(source, channel, duplicated);
        exits.iter().for_each(|&(exit, _)| _ = network.add_edge(channel, exit, u64::MAX));
    }
    narrow(&network.max_flow(source, sink))
}

/// Searches in a subregion, one after the other.
struct InnerSearch<'p> {
    part: &'p Subregion,
    /// The last search that reached each vertex, in the order of the subregion's vertices.
    reached: Vec<u32>,
    searches: u32,
}

impl<'p> InnerSearch<'p> {
    fn new(part: &'p Subregion) -> InnerSearch<'p> {
        InnerSearch { part, reached: vec![0; part.vertices.len()], searches: 0 }
    }

    /// Goes from a vertex to all that it reaches inside.
    fn start(&mut self, graph: &ThreadGraph, start: Vertex) {
        self.searches += 1;
        let mut work = Vec::from([start]);
        while let Some(vertex) = work.pop() {
            let Some(place) = self.place(vertex) else { continue };
            if core::mem::replace(&mut self.reached[place], self.searches) != self.searches {
                work.extend(graph.vertices[vertex].outgoing.iter().map(|&edge| graph.edges[edge as usize].to));
            }
        }
    }

    /// Whether the last search has come to a vertex.
    fn has_reached(&self, vertex: Vertex) -> bool {
        self.place(vertex).is_some_and(|place| self.reached[place] == self.searches)
    }

    /// The place of a vertex, which are in ascending order.
    fn place(&self, vertex: Vertex) -> Option<usize> {
        self.part.vertices.binary_search(&vertex).ok()
    }
}

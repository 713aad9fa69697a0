//! The flow networks of CMP4: inner edges of subregions with their counts.
//!
//! ```text
//! source ──En+──▶ gap ──inner edge──▶ gap ──Ex+──▶ sink        a split passes a node of its own:
//!                  └──split──▶ node ◀──duplicates── source      duplicates enter after it
//! ```
//!
//! 1. Each gap of the subregion is a node, and each inner edge has the capacity of its count.
//! 2. The source leads to the entries that have the value, or to those that do not, with their
//!    counts; the exits that need the value lead to the sink.
//! 3. A split duplicates at most the flow of that kind that can come to its gap, found with the
//!    duplicates of all splits entering without that limit.
//!
//! Cost: one maximum flow, and one for each split. Limit: in a subregion with more than
//! [`MAX_SPLITS`] splits the flow into them is not computed, with the remark `splits`.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, sections 4.5.4 and
//! 4.6.2; the limit of step 3 is our own.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::region::{Subregion, Value, Weighted};
use crate::graph::{FlowNetwork, MaxFlow};
use crate::vng::{Flow, Vertex};

/// Splits of a subregion up to which the flow that can come into each is computed.
pub const MAX_SPLITS: usize = 64;

/// Meaning of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkNode {
    /// Flow of a kind comes from here.
    Source,
    /// Flow that is needed goes here.
    Sink,
    /// A gap of the subregion.
    Gap(Vertex),
    /// The classes that continue from a gap along one edge.
    Split(Vertex),
}

/// An edge with a maximum flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkEdge {
    /// The node that it leaves.
    pub from: usize,
    /// The node that it enters.
    pub to: usize,
    /// The most that can flow.
    pub capacity: u64,
    /// The flow.
    pub flow: u64,
    /// Whether it is in the minimum cut nearest the sink.
    pub is_cut: bool,
}

/// The network of a subregion for one kind of entries, with a maximum flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionNetwork {
    /// The number of the subregion.
    pub subregion: usize,
    /// Whether it begins at the entries that have the value, or at those that do not.
    pub with_value: bool,
    /// The nodes.
    pub nodes: Vec<NetworkNode>,
    /// The edges.
    pub edges: Vec<NetworkEdge>,
    /// The flow into the sink.
    pub flow: u64,
}

/// The networks of a value: for each of its subregions the one with the value, and the one without it.
pub fn networks(weighted: Weighted<'_>, value: &Value) -> Vec<RegionNetwork> {
    let parts = value.subregions.iter().enumerate().flat_map(|part| [(part, true), (part, false)]);
    parts.map(|((number, part), with_value)| inner_network(weighted, part, with_value).solved(number)).collect()
}

/// A network with its terminals.
pub(super) struct InnerNetwork {
    network: FlowNetwork,
    nodes: Vec<NetworkNode>,
    with_value: bool,
}

impl InnerNetwork {
    const SOURCE: usize = 0;
    const SINK: usize = 1;

    fn new(with_value: bool) -> InnerNetwork {
        let nodes = Vec::from([NetworkNode::Source, NetworkNode::Sink]);
        InnerNetwork { network: FlowNetwork::new(nodes.len()), nodes, with_value }
    }

    fn add_node(&mut self, node: NetworkNode) -> usize {
        self.nodes.push(node);
        self.network.add_node()
    }

    /// The maximum flow.
    pub fn flow(&self) -> u64 {
        narrow(&self.network.max_flow(Self::SOURCE, Self::SINK))
    }

    fn solved(self, subregion: usize) -> RegionNetwork {
        let max_flow = self.network.max_flow(Self::SOURCE, Self::SINK);
        let is_before_cut = max_flow.cut_near_sink();
        let edges = (0..self.network.edge_count()).map(|number| {
            let (from, to, capacity) = self.network.edge(number);
            let is_cut = is_before_cut[from] && !is_before_cut[to];
            NetworkEdge { from, to, capacity, flow: max_flow.flow(number), is_cut }
        });
        let edges = edges.collect();
        let InnerNetwork { nodes, with_value, .. } = self;
        RegionNetwork { subregion, with_value, nodes, edges, flow: narrow(&max_flow) }
    }
}

/// The value of a flow. Counts of one profile bound it to 64 bits.
pub(super) fn narrow(max_flow: &MaxFlow) -> u64 {
    u64::try_from(max_flow.value()).unwrap_or(u64::MAX)
}

/// The inner edges with their counts, and a source for the duplicates of each split.
pub(super) fn inner_network(weighted: Weighted<'_>, part: &Subregion, with_value: bool) -> InnerNetwork {
    let plain: Vec<u64> = part.splits.iter().map(|split| split.duplicates(with_value, u64::MAX)).collect();
    if part.splits.len() > MAX_SPLITS {
        return edges_inside(weighted, part, with_value, &plain, None);
    }
    let limited = part.splits.iter().map(|split| {
        let into = || edges_inside(weighted, part, with_value, &plain, Some(split.vertex)).flow();
        split.duplicates(with_value, if split.is_reached[usize::from(!with_value)] { into() } else { 0 })
    });
    let limited: Vec<u64> = limited.collect();
    edges_inside(weighted, part, with_value, &limited, None)
}

/// The network of a subregion with these duplicates of its splits, up to its exits or into one of its vertices.
fn edges_inside(
    weighted: Weighted<'_>,
    part: &Subregion,
    with_value: bool,
    duplicates: &[u64],
    into: Option<Vertex>,
) -> InnerNetwork {
    let Weighted { graph, counts, .. } = weighted;
    let mut result = InnerNetwork::new(with_value);
    let mut nodes: BTreeMap<Vertex, usize> = BTreeMap::new();
    for &vertex in &part.vertices {
        nodes.insert(vertex, result.add_node(NetworkNode::Gap(vertex)));
    }
    for entry in part.entries.iter().filter(|entry| entry.is_positive == with_value) {
        result.network.add_edge(InnerNetwork::SOURCE, nodes[&entry.inside], entry.count);
    }
    // The edge of a split passes a node of its own, after which the duplicates enter.
    let mut splits: BTreeMap<(Vertex, Flow), usize> = BTreeMap::new();
    for (split, &duplicates) in part.splits.iter().zip(duplicates) {
        let node = result.add_node(NetworkNode::Split(split.vertex));
        result.network.add_edge(nodes[&split.vertex], node, split.count);
        result.network.add_edge(InnerNetwork::SOURCE, node, duplicates);
        splits.insert((split.vertex, split.flow), node);
    }
    let tail = |vertex: Vertex, flow: Flow| splits.get(&(vertex, flow)).copied().unwrap_or(nodes[&vertex]);
    for &edge in &part.inner {
        let edge = &graph.edges[edge as usize];
        if let Ok(from) = edge.from {
            result.network.add_edge(tail(from, edge.flow), nodes[&edge.to], counts.of(edge.flow));
        }
    }
    match into {
        Some(vertex) => _ = result.network.add_edge(nodes[&vertex], InnerNetwork::SINK, u64::MAX),
        None => {
            for exit in part.exits.iter().filter(|exit| exit.is_positive) {
                result.network.add_edge(tail(exit.inside, exit.flow), InnerNetwork::SINK, exit.count);
            }
        }
    }
    result
}

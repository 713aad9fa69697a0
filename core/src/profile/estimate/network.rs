//! The flow networks of CMP4 with their flows and cuts.

use alloc::vec::Vec;

use super::cmp::inner_network;
use super::region::{Value, Weighted};
use crate::vng::Vertex;

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
    let networks = parts.map(|((subregion, part), with_value)| {
        let inner = inner_network(weighted, part, with_value);
        let max_flow = inner.network.max_flow(inner.source, inner.sink);
        let is_before_cut = max_flow.cut_near_sink();
        let edges = (0..inner.network.edge_count()).map(|number| {
            let (from, to, capacity) = inner.network.edge(number);
            let is_cut = is_before_cut[from] && !is_before_cut[to];
            NetworkEdge { from, to, capacity, flow: max_flow.flow(number), is_cut }
        });
        let gaps = part.vertices.iter().map(|&vertex| NetworkNode::Gap(vertex));
        let splits = part.splits.iter().map(|split| NetworkNode::Split(split.vertex));
        RegionNetwork {
            subregion,
            with_value,
            nodes: [NetworkNode::Source, NetworkNode::Sink].into_iter().chain(gaps).chain(splits).collect(),
            edges: edges.collect(),
            flow: u64::try_from(max_flow.value()).unwrap_or(u64::MAX),
        }
    });
    networks.collect()
}

//! Reports of flow networks.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::profile::estimate::{NetworkNode, RegionNetwork, Value, Weighted, networks};
use crate::vng::Names;
use crate::vng::Vertex;

/// The flow network of a subregion for one kind of entries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NetworkReport {
    /// The number of the subregion.
    pub subregion: usize,
    /// Whether it begins at the entries that have the value, or at those that do not.
    pub available: bool,
    /// The flow into the sink.
    pub flow: u64,
    /// The nodes; edges give their places here.
    pub nodes: Vec<NodeReport>,
    /// The edges.
    pub edges: Vec<FlowReport>,
    /// Places of the edges in the minimum cut nearest the sink.
    pub cut: Vec<usize>,
}

/// A node of a network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NodeReport {
    /// `source`, `sink`, `name` or `split`.
    pub kind: &'static str,
    /// Label of its block; None for source and sink.
    pub block: Option<String>,
    /// Its name; None for source and sink.
    pub name: Option<String>,
}

/// An edge of a network with a maximum flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FlowReport {
    /// The node that it leaves.
    pub from: usize,
    /// The node that it enters.
    pub to: usize,
    /// The most that can flow.
    pub capacity: u64,
    /// The flow.
    pub flow: u64,
}

impl Names<'_, '_> {
    /// The networks of a value in a graph whose vertices stand for those of the function.
    pub(super) fn networks(
        &self,
        weighted: Weighted<'_>,
        value: &Value,
        original: &dyn Fn(Vertex) -> Vertex,
    ) -> Vec<NetworkReport> {
        let node = |node: &NetworkNode| {
            let (kind, vertex) = match *node {
                NetworkNode::Source => ("source", None),
                NetworkNode::Sink => ("sink", None),
                NetworkNode::Gap(vertex) => ("name", Some(original(vertex))),
                NetworkNode::Split(vertex) => ("split", Some(original(vertex))),
            };
            let block = vertex.map(|vertex| self.label(self.graph.graph.vertices[vertex].block));
            NodeReport { kind, block, name: vertex.map(|vertex| self.of_vertex(vertex)) }
        };
        let report = |network: RegionNetwork| {
            let edges = network.edges.iter();
            NetworkReport {
                subregion: network.subregion,
                available: network.with_value,
                flow: network.flow,
                nodes: network.nodes.iter().map(node).collect(),
                cut: edges.clone().enumerate().filter(|(_, edge)| edge.is_cut).map(|(place, _)| place).collect(),
                edges: edges
                    .map(|edge| FlowReport { from: edge.from, to: edge.to, capacity: edge.capacity, flow: edge.flow })
                    .collect(),
            }
        };
        networks(weighted, value).into_iter().map(report).collect()
    }
}

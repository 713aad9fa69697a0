//! Flow networks: edges with capacities, a maximum flow, and a minimum cut.
//!
//! ```text
//!  En+ ══45/45══▶ r1 ──30/35──▶ r1b ══10/10══▶ Ex+      saturated edges are doubled
//!            cut ┆
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::Anchor;

/// A network with a flow.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Network {
    /// A heading.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<NetworkNode>,
    /// Its edges.
    pub edges: Vec<NetworkEdge>,
    /// The value of the flow.
    pub value: u64,
}

/// A node of a network.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NetworkNode {
    /// Its name.
    pub label: String,
    /// Its role.
    pub role: NodeRole,
    /// Whether it is on the source's side of the cut.
    pub is_before_cut: bool,
    /// The part of the program that it is about.
    pub anchor: Option<Anchor>,
}

/// A role in a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum NodeRole {
    /// As much flows out as flows in.
    #[default]
    Plain,
    /// The flow begins here.
    Source,
    /// The flow ends here.
    Sink,
}

/// An edge of a network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NetworkEdge {
    /// The place of the node before it.
    pub from: usize,
    /// The place of the node after it.
    pub to: usize,
    /// The greatest flow over it; None for one without a limit.
    pub capacity: Option<u64>,
    /// The flow over it.
    pub flow: u64,
    /// Whether it leads over the cut.
    pub is_cut: bool,
}

impl NetworkEdge {
    /// Whether no more can flow over it.
    pub fn is_saturated(&self) -> bool {
        self.capacity.is_some_and(|capacity| capacity > 0 && capacity == self.flow)
    }
}

impl Network {
    /// The name of a node; empty for one that the network does not have.
    pub fn label(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("", |node| node.label.as_str())
    }
}

//! Events of estimates: the border of each region, the flow through it, and the bounds.

use super::network::{NetworkNode, networks};
use super::region::{Crossing, Weighted};
use super::{Estimate, Estimator};
use crate::graph::Cfg;
use crate::ir::Block;
use crate::trace::{Trace, ValueEvent, record_value_event as record};
use crate::vng::{Flow, ThreadGraph};

/// Records the estimates of all values of a function's graph. The flows are those of its counts of edges;
/// estimates from executed paths have none.
pub fn record_estimates(
    weighted: Weighted<'_>,
    estimators: &[Estimator],
    estimates: &[Estimate],
    has_flows: bool,
    trace: &mut dyn Trace,
) {
    if !trace.is_on() {
        return;
    }
    for (value, estimate) in estimates.iter().enumerate() {
        for entry in &estimate.region.entries {
            record(trace, || ValueEvent::Entry {
                value,
                from: entry.outside.map(|outside| weighted.graph.vertices[outside].block),
                vertex: entry.inside.as_u32(),
                count: entry.count,
                is_available: entry.is_positive,
            });
        }
        for exit in &estimate.region.exits {
            record(trace, || ValueEvent::Exit {
                value,
                vertex: exit.inside.as_u32(),
                to: exit_block(weighted.cfg, weighted.graph, exit),
                count: exit.count,
                is_needed: exit.is_positive,
            });
        }
        if has_flows && estimators.contains(&Estimator::Cmp4) {
            record_flows(weighted, value, estimate, trace);
        }
        for (estimator, bounds) in estimators.iter().zip(&estimate.bounds) {
            let (estimator, low, high) = (estimator.name(), bounds.low, bounds.high);
            record(trace, || ValueEvent::Bound { value, estimator, low, high });
        }
    }
}

/// The block that an edge out of a region leads to; None where lanes end in a callee.
pub fn exit_block(cfg: &Cfg, graph: &ThreadGraph, exit: &Crossing) -> Option<Block> {
    match (exit.outside, exit.flow) {
        (Some(outside), _) => Some(graph.vertices[outside].block),
        (None, Flow::Edge(edge)) => Some(cfg.target(edge)),
        (None, Flow::Ended(..)) => None,
        (None, _) => Some(graph.vertices[exit.inside].block),
    }
}

/// Records the flow along each inner edge that runs, with the value and without it.
fn record_flows(weighted: Weighted<'_>, value: usize, estimate: &Estimate, trace: &mut dyn Trace) {
    for network in networks(weighted, &estimate.value) {
        for edge in network.edges.iter().filter(|edge| edge.capacity > 0) {
            let from = match network.nodes[edge.from] {
                NetworkNode::Gap(vertex) | NetworkNode::Split(vertex) => vertex,
                NetworkNode::Source | NetworkNode::Sink => continue,
            };
            let NetworkNode::Gap(to) = network.nodes[edge.to] else { continue };
            record(trace, || ValueEvent::Flow {
                value,
                is_available: network.with_value,
                vertex: from.as_u32(),
                to: weighted.graph.vertices[to].block,
                flow: edge.flow,
                capacity: edge.capacity,
            });
        }
    }
}

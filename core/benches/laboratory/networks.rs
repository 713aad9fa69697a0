//! Maximum flow, building included, against the crate `ac-library-rs` on the same networks.

use ac_library::MfGraph;
use warpscope_core::graph::FlowNetwork;
use warpscope_core::ir::Block;

use crate::inputs::{self, GRAPHS, Random, SIZES};
use crate::report::{self, Asked};

/// Share of the other library's time.
const ASKED: Asked = Asked::AtMost(1.0);

/// One block in so many is a source, and one a sink.
const BLOCKS_A_TERMINAL: usize = 20;

/// Capacities are 1 to this number.
const LARGEST_CAPACITY: usize = 1_000;

/// Nodes, the last two of which are source and sink, and edges with capacities.
struct Network {
    nodes: usize,
    edges: Vec<(usize, usize, u64)>,
}

/// Prints the time of a maximum flow, in nanoseconds an edge, and its share of the other library's.
pub fn measure() {
    for (kind, graph) in GRAPHS {
        let name = format!("max flow, {kind}");
        if !report::turn(&name) {
            continue;
        }
        for size in SIZES {
            // A graph has about three edges for two blocks.
            let graphs = inputs::graphs(graph, size * 2 / 3);
            let networks: Vec<Network> = graphs.iter().zip(1..).map(|(lists, seed)| network(lists, seed)).collect();
            let edges = networks.iter().map(|network| network.edges.len()).sum();
            let time = |name: &str, flow: fn(&Network) -> u64| {
                let work = || networks.iter().map(flow).sum::<u64>();
                report::time(name, Some(size), "ns/edge", edges, None, work)
            };
            let (ours, theirs) = (time(&name, ours), time(&format!("{name}, ac-library-rs"), theirs));
            let share = format!("{name}, share of ac-library-rs");
            report::print(&share, Some(size), ours / theirs, "of the time", Some(ASKED));
            assert!(
                networks.iter().all(|network| self::ours(network) == self::theirs(network)),
                "both flows are maximal"
            );
        }
    }
}

/// A graph whose edges have capacities, with sources and sinks among its blocks.
fn network(lists: &[Vec<Block>], seed: u64) -> Network {
    let mut random = Random(seed);
    let (source, sink) = (lists.len(), lists.len() + 1);
    let mut capacity = || random.below(LARGEST_CAPACITY) as u64 + 1;
    let mut edges = Vec::new();
    for (block, targets) in lists.iter().enumerate() {
        edges.extend(targets.iter().map(|target| (block, target.as_u32() as usize, capacity())));
    }
    let mut random = Random(seed + 1);
    for block in 0..lists.len() {
        let capacity = random.below(LARGEST_CAPACITY) as u64 + 1;
        match random.below(BLOCKS_A_TERMINAL) {
            0 => edges.push((source, block, capacity)),
            1 => edges.push((block, sink, capacity)),
            _ => {}
        }
    }
    Network { nodes: lists.len() + 2, edges }
}

fn ours(Network { nodes, edges }: &Network) -> u64 {
    let mut network = FlowNetwork::new(*nodes);
    edges.iter().for_each(|&(from, to, capacity)| _ = network.add_edge(from, to, capacity));
    network.max_flow(nodes - 2, nodes - 1).value() as u64
}

fn theirs(Network { nodes, edges }: &Network) -> u64 {
    let mut network = MfGraph::new(*nodes);
    edges.iter().for_each(|&(from, to, capacity)| _ = network.add_edge(from, to, capacity));
    network.flow(nodes - 2, nodes - 1)
}

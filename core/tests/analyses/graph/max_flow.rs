//! Maximum flows against augmentation along one shortest path at a time, in a matrix.

use proptest::prelude::*;
use warpscope_core::graph::FlowNetwork;

/// Number of nodes, and edges.
type Edges = (usize, Vec<(usize, usize, u64)>);

/// Networks with loops, parallel edges, and capacities of 0 and of almost 2^64.
fn networks(nodes: usize, edges: usize) -> impl Strategy<Value = Edges> {
    let capacity = prop_oneof![2 => Just(0), 8 => 1..10u64, 2 => 1..1000u64, 1 => (u64::MAX - 3)..=u64::MAX];
    (2..nodes).prop_flat_map(move |nodes| {
        (Just(nodes), prop::collection::vec((0..nodes, 0..nodes, capacity.clone()), 0..edges))
    })
}

fn network((nodes, edges): &Edges) -> FlowNetwork {
    let mut network = FlowNetwork::new(*nodes);
    edges.iter().for_each(|&(from, to, capacity)| _ = network.add_edge(from, to, capacity));
    network
}

/// The value of a maximum flow, by augmentation along paths that a breadth-first search finds.
fn slow_value((nodes, edges): &Edges, source: usize, sink: usize) -> u128 {
    let mut residue = vec![vec![0u128; *nodes]; *nodes];
    for &(from, to, capacity) in edges {
        residue[from][to] += u128::from(capacity);
    }
    let mut value = 0;
    loop {
        let mut before = vec![None; *nodes];
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(node) = queue.pop_front() {
            for next in 0..*nodes {
                if residue[node][next] > 0 && next != source && before[next].is_none() {
                    before[next] = Some(node);
                    queue.push_back(next);
                }
            }
        }
        let steps = |mut node: usize| {
            let mut steps = Vec::new();
            while let Some(from) = before[node] {
                steps.push((from, node));
                node = from;
            }
            steps
        };
        let steps = steps(sink);
        let Some(amount) = steps.iter().map(|&(from, to)| residue[from][to]).min() else { return value };
        value += amount;
        for (from, to) in steps {
            residue[from][to] -= amount;
            residue[to][from] += amount;
        }
    }
}

/// The capacity of the edges out of a side.
fn capacity_of((_, edges): &Edges, side: &[bool]) -> u128 {
    edges.iter().filter(|&&(from, to, _)| side[from] && !side[to]).map(|&(.., capacity)| u128::from(capacity)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn flow_is_maximal_and_keeps_capacities(edges in networks(9, 30)) {
        let (source, sink) = (0, 1);
        let flow = network(&edges).max_flow(source, sink);
        prop_assert_eq!(flow.value(), slow_value(&edges, source, sink));
        let mut excess = vec![0i128; edges.0];
        for (edge, &(from, to, capacity)) in edges.1.iter().enumerate() {
            prop_assert!(flow.flow(edge) <= capacity);
            excess[from] -= i128::from(flow.flow(edge));
            excess[to] += i128::from(flow.flow(edge));
        }
        for (node, &excess) in excess.iter().enumerate() {
            let value = flow.value() as i128;
            prop_assert_eq!(excess, if node == source { -value } else if node == sink { value } else { 0 });
        }
    }

    #[test]
    fn cuts_are_the_least_and_the_greatest_minimum_cut(edges in networks(8, 24)) {
        let (source, sink) = (0, 1);
        let flow = network(&edges).max_flow(source, sink);
        let side = |set: u32| -> Vec<bool> { (0..edges.0).map(|node| set >> node & 1 == 1).collect() };
        let sides = (0..1u32 << edges.0).map(side);
        let is_cut = |side: &Vec<bool>| side[source] && !side[sink];
        let is_minimal = |side: &Vec<bool>| capacity_of(&edges, side) == flow.value();
        let minimal: Vec<Vec<bool>> = sides.filter(is_cut).filter(is_minimal).collect();
        let common = |node: usize| minimal.iter().all(|side| side[node]);
        let any = |node: usize| minimal.iter().any(|side| side[node]);
        prop_assert_eq!(flow.cut_near_source(), (0..edges.0).map(common).collect::<Vec<bool>>());
        prop_assert_eq!(flow.cut_near_sink(), (0..edges.0).map(any).collect::<Vec<bool>>());
    }
}

#[test]
fn nothing_flows_from_a_node_to_itself() {
    let flow = network(&(2, vec![(0, 0, 7), (0, 1, 3)])).max_flow(0, 0);
    assert_eq!((flow.value(), flow.flow(0), flow.flow(1)), (0, 0, 0));
}

#[test]
fn long_chain_needs_no_recursion() {
    let mut network = FlowNetwork::new(200_001);
    (0..200_000).for_each(|node| _ = network.add_edge(node, node + 1, 5));
    assert_eq!(network.max_flow(0, 200_000).value(), 5);
}

//! Maximum flow through a network of capacities, and its two extreme minimum cuts.
//!
//! ```text
//!  s ──3──▶ a ──2──▶ t        maximum flow 4: 2 over a, 2 over b
//!  s ──2──▶ b ──5──▶ t        cuts: {s, a} | {b, t} near the source is also the one near the sink
//! ```
//!
//! 1. Each edge becomes two arcs, one for what can still be added and one for what can be taken
//!    back, in the rows of their tails.
//! 2. Levels are distances to the sink over arcs with a residue, found backwards from it.
//! 3. A walk from the source follows arcs that lead one level down. At the sink the least residue
//!    on the way is pushed, and the walk continues at the tail of the first arc that is full.
//! 4. A node without such an arc is left for good until the levels are computed again.
//! 5. When the source has no level, the flow is maximal.
//!
//! Maximal because a flow without an augmenting path is. The nodes that the source still reaches
//! are in the source's part of every minimum cut; so is every node that cannot reach the sink, in
//! the largest such part.
//!
//! Cost: O(nodes² · edges) at worst; on control-flow graphs about edges^1.5 is measured. Sums do
//! not overflow: capacities have 64 bits, the value of the flow 128.
//!
//! Source: E. Dinic 1970, in the form of S. Even, Graph Algorithms 1979, section 5.3.

use alloc::vec;
use alloc::vec::Vec;

/// The number of an edge, in the order of [`FlowNetwork::add_edge`].
pub type FlowEdge = usize;

/// Nodes 0 to n − 1, and edges with capacities.
#[derive(Clone, Default, Debug)]
pub struct FlowNetwork {
    nodes: usize,
    edges: Vec<Capacity>,
}

/// An edge of a network.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    from: u32,
    to: u32,
    capacity: u64,
}

/// A maximum flow.
#[derive(Clone, Debug)]
pub struct MaxFlow {
    value: u128,
    source: usize,
    sink: usize,
    residual: Residual,
    /// The arc of each edge.
    arcs: Vec<u32>,
}

/// Arcs in the rows of their tails.
#[derive(Clone, Debug)]
struct Residual {
    /// The arcs of node `n` are `first[n]..first[n + 1]`.
    first: Vec<u32>,
    heads: Vec<u32>,
    /// The arc in the other direction.
    opposite: Vec<u32>,
    /// Amount that can still be pushed over each arc.
    residue: Vec<u64>,
}

/// The level of nodes that do not reach the sink.
const NO_LEVEL: u32 = u32::MAX;

impl FlowNetwork {
    /// A network without edges.
    pub fn new(nodes: usize) -> FlowNetwork {
        FlowNetwork { nodes, edges: Vec::new() }
    }

    /// Adds a node, and returns its number.
    pub fn add_node(&mut self) -> usize {
        self.nodes += 1;
        self.nodes - 1
    }

    /// Adds an edge, and returns its number. Parallel edges and loops are allowed.
    ///
    /// # Panics
    ///
    /// If a node is not in the network.
    pub fn add_edge(&mut self, from: usize, to: usize, capacity: u64) -> FlowEdge {
        assert!(from < self.nodes && to < self.nodes, "an edge joins nodes of the network");
        self.edges.push(Capacity { from: from as u32, to: to as u32, capacity });
        self.edges.len() - 1
    }

    /// The source, the target and the capacity of an edge.
    pub fn edge(&self, edge: FlowEdge) -> (usize, usize, u64) {
        let Capacity { from, to, capacity } = self.edges[edge];
        (from as usize, to as usize, capacity)
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// A maximum flow from one node to another; nothing flows from a node to itself. The same network
    /// gives the same flow.
    pub fn max_flow(&self, source: usize, sink: usize) -> MaxFlow {
        let (mut residual, arcs) = self.residual();
        let mut value = 0;
        if source != sink {
            let mut levels = vec![NO_LEVEL; self.nodes];
            while residual.find_levels(source, sink, &mut levels) {
                value += residual.push(source, sink, &mut levels);
            }
        }
        MaxFlow { value, source, sink, residual, arcs }
    }

    /// Arcs of the network without a flow, and the arc of each edge.
    fn residual(&self) -> (Residual, Vec<u32>) {
        let mut first = vec![0u32; self.nodes + 1];
        for edge in &self.edges {
            first[edge.from as usize] += 1;
            first[edge.to as usize] += 1;
        }
        let mut end = 0;
        for start in &mut first {
            end += *start;
            *start = end;
        }
        // Rows are filled from their ends, so that they begin at `first` in the end.
        let count = 2 * self.edges.len();
        let (mut heads, mut opposite, mut residue) = (vec![0u32; count], vec![0u32; count], vec![0u64; count]);
        let mut arcs = vec![0u32; self.edges.len()];
        for (edge, arc) in self.edges.iter().zip(&mut arcs).rev() {
            let mut take = |node: u32| {
                first[node as usize] -= 1;
                first[node as usize]
            };
            let back = take(edge.to);
            *arc = take(edge.from);
            (heads[*arc as usize], heads[back as usize]) = (edge.to, edge.from);
            (opposite[*arc as usize], opposite[back as usize]) = (back, *arc);
            residue[*arc as usize] = edge.capacity;
        }
        (Residual { first, heads, opposite, residue }, arcs)
    }
}

impl MaxFlow {
    /// The amount that flows.
    pub fn value(&self) -> u128 {
        self.value
    }

    /// The flow over an edge, at most its capacity.
    pub fn flow(&self, edge: FlowEdge) -> u64 {
        let arc = self.arcs[edge] as usize;
        self.residual.residue[self.residual.opposite[arc] as usize]
    }

    /// For each node, whether it is on the source's side of the minimum cut that is nearest the source.
    pub fn cut_near_source(&self) -> Vec<bool> {
        self.residual.closure(self.source, |residual, arc| residual.residue[arc] > 0)
    }

    /// For each node, whether it is on the source's side of the minimum cut that is nearest the sink.
    pub fn cut_near_sink(&self) -> Vec<bool> {
        let leads_here = |residual: &Residual, arc: usize| residual.residue[residual.opposite[arc] as usize] > 0;
        let sinks_side = self.residual.closure(self.sink, leads_here);
        sinks_side.into_iter().map(|is_there| !is_there).collect()
    }
}

impl Residual {
    fn row(&self, node: usize) -> core::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// For each node, whether arcs of a kind lead there from `node`.
    fn closure(&self, node: usize, is_followed: impl Fn(&Residual, usize) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.first.len() - 1];
        reached[node] = true;
        let mut work = Vec::from([node]);
        while let Some(node) = work.pop() {
            for arc in self.row(node) {
                let next = self.heads[arc] as usize;
                if !reached[next] && is_followed(self, arc) {
                    reached[next] = true;
                    work.push(next);
                }
            }
        }
        reached
    }

    /// Sets the distance of each node to the sink, as far as they are not farther than the source. Returns whether the
    /// source reaches the sink.
    fn find_levels(&self, source: usize, sink: usize, levels: &mut [u32]) -> bool {
        levels.fill(NO_LEVEL);
        levels[sink] = 0;
        let mut queue = Vec::from([sink as u32]);
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            let level = levels[node as usize] + 1;
            for arc in self.row(node as usize) {
                let from = self.heads[arc] as usize;
                if levels[from] == NO_LEVEL && self.residue[self.opposite[arc] as usize] > 0 {
                    levels[from] = level;
                    if from == source {
                        return true;
                    }
                    queue.push(from as u32);
                }
            }
        }
        false
    }

    /// Pushes over arcs that lead one level down until no way from the source is left, and returns the amount.
    fn push(&mut self, source: usize, sink: usize, levels: &mut [u32]) -> u128 {
        let mut current: Vec<u32> = self.first[..levels.len()].to_vec();
        let mut way: Vec<u32> = Vec::new();
        let mut pushed = 0;
        let mut node = source;
        loop {
            if node == sink {
                let amount = way.iter().map(|&arc| self.residue[arc as usize]).min().unwrap_or(0);
                pushed += u128::from(amount);
                for &arc in &way {
                    self.residue[arc as usize] -= amount;
                    self.residue[self.opposite[arc as usize] as usize] += amount;
                }
                let full = way.iter().position(|&arc| self.residue[arc as usize] == 0).unwrap_or(0);
                node = self.tail(way[full]);
                way.truncate(full);
                continue;
            }
            let end = self.first[node + 1];
            let leads_down = |&arc: &u32| {
                let arc = arc as usize;
                self.residue[arc] > 0 && levels[self.heads[arc] as usize] == levels[node].wrapping_sub(1)
            };
            match (current[node]..end).find(leads_down) {
                Some(arc) => {
                    current[node] = arc;
                    way.push(arc);
                    node = self.heads[arc as usize] as usize;
                }
                None => {
                    levels[node] = NO_LEVEL;
                    let Some(arc) = way.pop() else { return pushed };
                    node = self.tail(arc);
                    current[node] = arc + 1;
                }
            }
        }
    }

    /// The node that an arc leaves.
    fn tail(&self, arc: u32) -> usize {
        self.heads[self.opposite[arc as usize] as usize] as usize
    }
}

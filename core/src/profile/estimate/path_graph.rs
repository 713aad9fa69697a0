//! The graph of executed paths, in which the value name graph and its facts are those of what ran.
//!
//! ```text
//! paths  a b d: 6   a c d: 4   d ↻ a         a ┬─▶ a b d ─┬▶ d ─▶ a …
//!                                              └─▶ a c d ─┘
//! ```
//!
//! 1. Each path is a chain of copies of its blocks. A node before all chains that begin at a block,
//!    and one after all that end there, join them: between these are the edges to next paths. Nothing is after a
//!    path that ends in a call.
//! 2. Each user has a copy in each chain that executes it. From these the value name graph is
//!    followed backward, with its names and classes, along the edges of chains and joins.
//! 3. Facts, regions and bounds are those of this graph, whose edges have the counts of their paths.
//! 4. Results of copies are added for the vertices that they are copies of.
//!
//! Every run is one through this graph, so that its reuse is within the bounds.
//!
//! Cost: O(blocks on all paths · live vertices of a block). Limit: [`MAX_COPIES`] copies of vertices.
//!
//! Source: T. Ball and J. Larus, Efficient path profiling, MICRO 1996; the joins are our own.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::{EntityRef, SecondaryMap};
use hashbrown::HashMap;

use super::counts::{CountsError, EdgeCounts, EndedLanes};
use super::executed_paths::{EndedPath, ExecutedPaths, edge_between};
use super::region::{Crossing, Weighted};
use super::{Estimate, Estimator, estimate};
use crate::graph::{Cfg, Edge};
use crate::ir::Block;
use crate::vng::{Components, Facts, Flow, ThreadEdge, ThreadGraph, Vertex, VertexData, VertexKind};

/// Profiles with more copies of vertices are refused.
pub const MAX_COPIES: usize = 1 << 21;

/// A node of the graph of executed paths.
#[derive(Clone, Copy, Debug)]
enum Node {
    /// Before all chains that begin at a block.
    Begin(Block),
    /// A copy of a block.
    Copy(Block),
    /// After all chains that end at a block.
    End(Block),
}

impl Node {
    fn block(self) -> Block {
        match self {
            Node::Begin(block) | Node::Copy(block) | Node::End(block) => block,
        }
    }
}

/// The graph of executed paths.
pub struct PathGraph {
    cfg: Cfg,
    graph: ThreadGraph,
    facts: Facts,
    counts: EdgeCounts,
    nodes: Vec<Node>,
    /// The function's edge of each edge; None within a block.
    edges: Vec<Option<Edge>>,
    /// The vertex that each vertex is a copy of.
    originals: SecondaryMap<Vertex, Option<Vertex>>,
}

impl PathGraph {
    /// The graph of the executed paths of a function.
    ///
    /// # Errors
    ///
    /// If it has too many vertices, or if the paths are not those of whole runs.
    pub fn build(paths: &ExecutedPaths, cfg: &Cfg, original: &ThreadGraph) -> Result<PathGraph, CountsError> {
        let shape = Shape::of(paths, cfg)?;
        let mut builder = Builder {
            shape: &shape,
            original,
            graph: ThreadGraph::default(),
            originals: SecondaryMap::new(),
            numbers: HashMap::new(),
            work: Vec::new(),
        };
        builder.add_users()?;
        let Builder { graph, originals, .. } = builder;
        let facts = Facts::compute(&shape.cfg, &graph, &mut crate::trace::NoTrace);
        let Shape { cfg, nodes, edges, counts } = shape;
        Ok(PathGraph { cfg, graph, facts, counts, nodes, edges, originals })
    }

    /// The graph for estimators, whose values are those of the function, and parts of them.
    pub fn weighted(&self) -> Weighted<'_> {
        Weighted { cfg: &self.cfg, graph: &self.graph, facts: &self.facts, counts: &self.counts }
    }

    /// The vertex of the function that a vertex is a copy of.
    pub fn original(&self, vertex: Vertex) -> Vertex {
        self.originals[vertex].unwrap_or(vertex)
    }

    /// The estimates of a function's values: those of their copies, added. The best bounds are within those by edges.
    pub fn estimate(&self, estimators: &[Estimator], by_edges: &[Estimate], values: &Components) -> Vec<Estimate> {
        let mut sums: Vec<Estimate> = by_edges.iter().map(|value| value.without_counts(estimators.len())).collect();
        let mut places: SecondaryMap<Vertex, usize> = SecondaryMap::new();
        for users in by_edges.iter().map(|value| &value.users) {
            users.iter().enumerate().for_each(|(place, user)| places[user.vertex] = place);
        }
        let mut crossings: Vec<[BTreeMap<Crossing, u64>; 2]> = vec![Default::default(); sums.len()];
        for part in estimate(self.weighted(), estimators) {
            let user = part.value.users.first().map(|&user| self.original(user));
            let Some(value) = user.and_then(|user| values.of[user]) else { continue };
            let sum = &mut sums[value];
            sum.value.definite = sum.value.definite.saturating_add(part.value.definite);
            sum.expected += part.expected;
            sum.bounds.iter_mut().zip(&part.bounds).for_each(|(sum, &bounds)| *sum = sum.plus(bounds));
            sum.best = sum.best.plus(part.best);
            for user in &part.users {
                let sum = &mut sum.users[places[self.original(user.vertex)]];
                sum.reuse = sum.reuse.plus(user.reuse);
                sum.expected += user.expected;
            }
            let region = &mut sum.region;
            region.subregions += part.region.subregions;
            region.unlimited += part.region.unlimited;
            for (sum, more) in region.duplicated.iter_mut().zip(part.region.duplicated) {
                *sum = sum.saturating_add(more);
            }
            region.vertices.extend(part.region.vertices.iter().map(|&vertex| self.original(vertex)));
            for (sums, crossings) in crossings[value].iter_mut().zip([&part.region.entries, &part.region.exits]) {
                for crossing in crossings {
                    let sum = sums.entry(self.original_crossing(crossing)).or_default();
                    *sum = sum.saturating_add(crossing.count);
                }
            }
            sum.value.subregions.extend(part.value.subregions);
        }
        for ((sum, [entries, exits]), by_edges) in sums.iter_mut().zip(crossings).zip(by_edges) {
            let counted = |crossings: BTreeMap<Crossing, u64>| {
                crossings.into_iter().map(|(crossing, count)| Crossing { count, ..crossing }).collect()
            };
            (sum.region.entries, sum.region.exits) = (counted(entries), counted(exits));
            sum.best = sum.best.intersection(by_edges.best);
        }
        sums
    }

    /// An edge into a region or out of it between the vertices that its ends are copies of, without its count.
    fn original_crossing(&self, crossing: &Crossing) -> Crossing {
        let block = |block: Block| self.nodes[block.index()].block();
        let flow = match crossing.flow {
            Flow::Block(at, part) => Flow::Block(block(at), part),
            Flow::Ended(at, part) => Flow::Ended(block(at), part),
            Flow::Entry(at) => Flow::Entry(block(at)),
            Flow::Edge(edge) => match self.edges[edge.index()] {
                Some(edge) => Flow::Edge(edge),
                None => Flow::Block(block(self.cfg.source(edge)), 0),
            },
        };
        let outside = crossing.outside.map(|vertex| self.original(vertex));
        Crossing { inside: self.original(crossing.inside), outside, flow, count: 0, ..*crossing }
    }
}

/// Nodes and edges with their counts.
struct Shape {
    cfg: Cfg,
    nodes: Vec<Node>,
    edges: Vec<Option<Edge>>,
    counts: EdgeCounts,
}

impl Shape {
    fn of(paths: &ExecutedPaths, function: &Cfg) -> Result<Shape, CountsError> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut ways: Vec<Vec<(Block, Option<Edge>, u64)>> = Vec::new();
        let mut add = |node: Node| {
            nodes.push(node);
            Block::new(nodes.len() - 1)
        };
        let (mut begins, mut ends): (BTreeMap<Block, Block>, BTreeMap<Block, Block>) = Default::default();
        for first in paths.ended.iter().filter_map(|path| path.blocks.first()) {
            begins.entry(*first).or_insert_with(|| add(Node::Begin(*first)));
        }
        for (path, _) in &paths.paths {
            if let (Some(&first), Some(&last)) = (path.first(), path.last()) {
                begins.entry(first).or_insert_with(|| add(Node::Begin(first)));
                if function.out_edges(last).len() > 0 {
                    ends.entry(last).or_insert_with(|| add(Node::End(last)));
                }
            }
        }
        let mut link = |from: Block, to: Block, edge: Option<Edge>, count: u64| {
            ways.resize(ways.len().max(from.index() + 1), Vec::new());
            ways[from.index()].push((to, edge, count));
        };
        for &edge in &paths.joins {
            let (end, begin) = (ends.get(&function.source(edge)), begins.get(&function.target(edge)));
            if let (Some(&end), Some(&begin)) = (end, begin) {
                link(end, begin, Some(edge), paths.edges.edge(edge));
            }
        }
        let mut ended = EndedLanes::new();
        let whole = paths.paths.iter().map(|(path, count)| (path, *count, None));
        let in_calls = paths.ended.iter().map(|EndedPath { blocks, call, count }| (blocks, *count, Some(*call)));
        for (path, count, call) in whole.chain(in_calls) {
            let mut before: Option<(Block, Block)> = None;
            for &block in path {
                let copy = add(Node::Copy(block));
                match before {
                    Some((node, before)) => link(node, copy, edge_between(function, before, block), count),
                    None => begins.get(&block).into_iter().for_each(|&begin| link(begin, copy, None, count)),
                }
                before = Some((copy, block));
            }
            let Some((node, last)) = before else { continue };
            if let Some(call) = call {
                let mut lanes = vec![0; call];
                lanes.push(count);
                ended.insert(node, lanes);
            } else if let Some(&end) = ends.get(&last) {
                link(node, end, None, count);
            }
        }
        ways.resize(nodes.len(), Vec::new());
        let targets: Vec<Vec<Block>> = ways.iter().map(|ways| ways.iter().map(|&(to, ..)| to).collect()).collect();
        let mut runs = vec![0; nodes.len()];
        begins.iter().for_each(|(&block, begin)| runs[begin.index()] = paths.edges.of(Flow::Entry(block)));
        let entries: Vec<Block> = begins.values().copied().filter(|begin| runs[begin.index()] > 0).collect();
        let cfg = Cfg::from_successors(nodes.len(), &entries, |node| &targets[node.index()]);
        let edges = ways.iter().flatten().map(|&(_, edge, _)| edge).collect();
        let counts = ways.iter().flatten().map(|&(.., count)| count).collect();
        let counts = EdgeCounts::with_runs(&cfg, counts, runs, ended)?;
        Ok(Shape { cfg, nodes, edges, counts })
    }
}

/// The vertices, found backward from the users.
struct Builder<'g> {
    shape: &'g Shape,
    original: &'g ThreadGraph,
    graph: ThreadGraph,
    originals: SecondaryMap<Vertex, Option<Vertex>>,
    /// The copy of each vertex in each node.
    numbers: HashMap<(Block, Vertex), Vertex>,
    work: Vec<Vertex>,
}

impl Builder<'_> {
    fn add_users(&mut self) -> Result<(), CountsError> {
        let mut users: BTreeMap<Block, Vec<Vertex>> = BTreeMap::new();
        for &vertex in self.original.seeds.iter().flatten() {
            let data = &self.original.vertices[vertex];
            if let VertexKind::User(_) = data.kind {
                users.entry(data.block).or_default().push(vertex);
            }
        }
        for (node, number) in self.shape.nodes.iter().zip(0..) {
            if let Node::Copy(block) = node {
                for &user in users.get(block).into_iter().flatten() {
                    let copy = self.copy(Block::from_u32(number), user)?;
                    self.graph.seeds.push(Some(copy));
                }
            }
        }
        while let Some(vertex) = self.work.pop() {
            self.connect(vertex)?;
        }
        for (edge, number) in self.graph.edges.iter().zip(0..) {
            self.graph.vertices[edge.to].incoming.push(number);
            if let Ok(from) = edge.from {
                self.graph.vertices[from].outgoing.push(number);
            }
        }
        Ok(())
    }

    /// The copy of a vertex in a node, new ones to be connected later.
    fn copy(&mut self, node: Block, original: Vertex) -> Result<Vertex, CountsError> {
        if let Some(&known) = self.numbers.get(&(node, original)) {
            return Ok(known);
        }
        if self.graph.vertices.len() >= MAX_COPIES {
            return Err(CountsError::TooManyNodes);
        }
        let VertexData { kind, place, part, class, .. } = self.original.vertices[original];
        let data = VertexData { kind, block: node, place, part, class, incoming: Vec::new(), outgoing: Vec::new() };
        let copy = self.graph.vertices.push(data);
        self.originals[copy] = Some(original);
        self.numbers.insert((node, original), copy);
        if matches!(kind, VertexKind::Pass | VertexKind::User(_)) {
            self.work.push(copy);
        }
        Ok(copy)
    }

    fn edge(&mut self, node: Block, edge: &ThreadEdge, to: Vertex, flow: Flow) -> Result<(), CountsError> {
        let from = match edge.from {
            Ok(from) => Ok(self.copy(node, from)?),
            Err(reason) => Err(reason),
        };
        self.graph.edges.push(ThreadEdge { from, to, flow });
        Ok(())
    }

    /// Adds the edges into a copy.
    fn connect(&mut self, to: Vertex) -> Result<(), CountsError> {
        let Shape { cfg, nodes, edges, counts } = self.shape;
        let node = self.graph.vertices[to].block;
        let original = self.originals[to].unwrap_or(to);
        let incoming = &self.original.vertices[original].incoming;
        let into = cfg.in_edges(node);
        let is_inside = incoming.iter().any(|&edge| matches!(self.original.edges[edge as usize].flow, Flow::Block(..)));
        let is_end = matches!(nodes[node.index()], Node::End(_));
        // The same vertex is before all chains, and at their ends.
        let same = into.iter().filter(|edge| (is_end || !is_inside) && edges[edge.index()].is_none());
        for &edge in same {
            let from = Ok(self.copy(cfg.source(edge), original)?);
            self.graph.edges.push(ThreadEdge { from, to, flow: Flow::Edge(edge) });
        }
        if is_end {
            return Ok(());
        }
        for &number in incoming {
            let threaded = self.original.edges[number as usize];
            match threaded.flow {
                Flow::Block(_, part) => self.edge(node, &threaded, to, Flow::Block(node, part))?,
                Flow::Edge(of_function) => {
                    for &edge in into.iter().filter(|edge| edges[edge.index()] == Some(of_function)) {
                        self.edge(cfg.source(edge), &threaded, to, Flow::Edge(edge))?;
                    }
                }
                Flow::Entry(_) if counts.of(Flow::Entry(node)) > 0 => {
                    self.edge(node, &threaded, to, Flow::Entry(node))?;
                }
                Flow::Entry(_) | Flow::Ended(..) => {}
            }
        }
        Ok(())
    }
}

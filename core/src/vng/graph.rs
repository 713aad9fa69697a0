//! The graph of live vertices: where classes of names are passed on to users.
//!
//! ```text
//! l: ld A[i]      r: …                user in m ◀── gap of A[i] at the start of m ◀─┬─ generator in l
//! m: ld A[i]                                                                       └─ gap in r ◀── …
//! ```
//!
//! 1. Each user reads from the gap above it: the points of a block between two instructions that
//!    concern its class, or between one and an end of the block.
//! 2. Above a gap is the last instruction before it that uses or generates the class, may change
//!    the memory of all its names, or defines an atom of all its names; else the start of the block
//!    and the gaps at the ends of its predecessors.
//! 3. At a definition, and along each edge into a block whose joins occur in all names, the class
//!    is another one. Two classes may be one above: one gap then has two successors there.
//! 4. A call that lanes may not come back from divides a gap: fewer lanes may be in the lower one.
//! 5. Nothing is above generators and kills, nor above the first user: it generates.
//!
//! Cost: O(live vertices · (edges + changes of memory in their blocks)). Limit: vertices; above the
//! last ones nothing is available.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, sections 2.3.4 and
//! 3.1.

use alloc::vec::Vec;

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use hashbrown::HashMap;

use super::class_events::{ClassEvent, ClassEvents};
use super::memory::Memory;
use super::seeds::{Role, Seed};
use super::synonyms::{Class, Classes};
use super::threads::{Above, EndReason, Shape, Threads};
use crate::flow::EndingCalls;
use crate::graph::{Cfg, Edge};
use crate::ir::{Block, Inst};
use crate::names::NameTable;

/// A vertex of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(u32);
entity_impl!(Vertex, "vertex");

/// Meaning of a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VertexKind {
    /// The value is passed on.
    Pass,
    /// A seed computes it.
    User(Inst),
    /// A store, or a definition of the value itself, makes it known.
    Generator(Inst),
    /// The value is the join or parameter, or the constant, that it is from here on.
    AtHand,
    /// The memory may change.
    Kill(Inst),
}

/// Place of an edge, which has a count of lanes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Flow {
    /// Inside the part of a block after so many calls that lanes may not come back from.
    Block(Block, u32),
    /// Along an edge of the function's graph.
    Edge(Edge),
    /// Into the function, at this block.
    Entry(Block),
    /// Into the call at the end of that part of a block, not to come back.
    Ended(Block, u32),
}

impl Flow {
    /// The block that lanes leave, begin at, or stay in.
    pub fn block(self, cfg: &Cfg) -> Block {
        match self {
            Flow::Edge(edge) => cfg.source(edge),
            Flow::Block(block, _) | Flow::Ended(block, _) | Flow::Entry(block) => block,
        }
    }
}

/// An edge between vertices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadEdge {
    /// The vertex that the value comes from, or the reason why there is none.
    pub from: Result<Vertex, EndReason>,
    /// The vertex that it goes to.
    pub to: Vertex,
    /// Its place.
    pub flow: Flow,
}

/// A class at a part of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VertexData {
    /// Its meaning.
    pub kind: VertexKind,
    /// Its block.
    pub block: Block,
    /// The place of the instruction, or the first place of a gap.
    pub place: u32,
    /// The part of its block: the number of calls before it that lanes may not come back from.
    pub part: u32,
    /// Its class.
    pub class: Class,
    /// Edges into it.
    pub incoming: Vec<u32>,
    /// Edges out of it, in the order of their discovery.
    pub outgoing: Vec<u32>,
}

/// The live vertices of a function and the edges between them.
#[derive(Default)]
pub struct ThreadGraph {
    /// The vertices.
    pub vertices: PrimaryMap<Vertex, VertexData>,
    /// The edges.
    pub edges: Vec<ThreadEdge>,
    /// The vertex of each seed; None for generators that no user reads from.
    pub seeds: Vec<Option<Vertex>>,
    /// Whether the limit of vertices was reached.
    pub is_limited: bool,
}

/// The inputs of a graph.
#[derive(Clone, Copy)]
pub struct GraphInput<'g, 'a> {
    /// The function.
    pub shape: Shape<'a>,
    /// Its names.
    pub table: &'g NameTable<'a>,
    /// Its seeds.
    pub seeds: &'g [Seed],
    /// Their threads.
    pub threads: &'g Threads,
    /// Their synonyms.
    pub classes: &'g Classes,
    /// The changes of memory.
    pub memory: &'g Memory<'a>,
    /// The calls that lanes may not come back from.
    pub ending_calls: &'g EndingCalls,
    /// Limit of vertices.
    pub vertices: usize,
}

impl ThreadGraph {
    /// The graph of all users.
    pub fn build(input: GraphInput<'_, '_>) -> ThreadGraph {
        let mut builder = Builder::new(input);
        let key = |seed: &Seed| Some((seed.block, seed.index, input.classes.of(seed.name)?, true));
        for seed in input.seeds.iter().filter(|seed| seed.role == Role::User) {
            if let Some(key) = key(seed) {
                builder.vertex(key, VertexKind::User(seed.inst));
            }
        }
        while let Some(vertex) = builder.work.pop() {
            builder.connect(vertex);
        }
        // A vector store may be read by elements alone.
        let vertex = |seed: &Seed| {
            let names = core::iter::once(seed.name).chain(seed.elements.iter().copied());
            let mut keys = names.filter_map(|name| Some((seed.block, seed.index, input.classes.of(name)?, true)));
            keys.find_map(|key| builder.numbers.get(&key).copied())
        };
        let seeds = input.seeds.iter().map(vertex).collect();
        builder.graph.seeds = seeds;
        builder.into_graph()
    }
}

impl ThreadGraph {
    /// Number of users above which a way is cut at the limit of vertices.
    pub fn cut_users(&self) -> usize {
        let cut = self.edges.iter().filter(|edge| edge.from == Err(EndReason::Limit)).map(|edge| edge.to);
        let mut work: Vec<Vertex> = cut.collect();
        let mut is_reached: SecondaryMap<Vertex, bool> = SecondaryMap::new();
        let mut users = 0;
        while let Some(vertex) = work.pop() {
            if core::mem::replace(&mut is_reached[vertex], true) {
                continue;
            }
            match self.vertices[vertex].kind {
                VertexKind::User(_) => users += 1,
                _ => work.extend(self.vertices[vertex].outgoing.iter().map(|&edge| self.edges[edge as usize].to)),
            }
        }
        users
    }
}

/// The key of a vertex: block, place, class, and whether it is an instruction.
type Key = (Block, u32, Class, bool);

/// Finds vertices backward, and the edges into them.
pub(super) struct Builder<'g, 'a> {
    input: GraphInput<'g, 'a>,
    graph: ThreadGraph,
    numbers: HashMap<Key, Vertex>,
    /// At-hand constants on edges.
    constants: HashMap<(Edge, Class), Vertex>,
    events: ClassEvents<'g, 'a>,
    work: Vec<Vertex>,
}

impl<'g, 'a> Builder<'g, 'a> {
    /// A graph without vertices.
    pub(super) fn new(input: GraphInput<'g, 'a>) -> Builder<'g, 'a> {
        Builder {
            input,
            graph: ThreadGraph::default(),
            numbers: HashMap::new(),
            constants: HashMap::new(),
            events: ClassEvents::new(input),
            work: Vec::new(),
        }
    }

    /// The vertices that are known, with the edges between them.
    pub(super) fn into_graph(mut self) -> ThreadGraph {
        for (index, edge) in self.graph.edges.iter().enumerate() {
            self.graph.vertices[edge.to].incoming.push(index as u32);
            if let Ok(from) = edge.from {
                self.graph.vertices[from].outgoing.push(index as u32);
            }
        }
        self.graph
    }

    /// Adds the edges into a vertex, and gives the kinds of the vertices that they come from.
    pub(super) fn follow(&mut self, vertex: Vertex) -> impl Iterator<Item = Option<VertexKind>> {
        let known = self.graph.edges.len();
        self.connect(vertex);
        self.graph.edges[known..].iter().map(|edge| edge.from.ok().map(|from| self.graph.vertices[from].kind))
    }

    /// Vertices that were found since the last call and are not connected.
    pub(super) fn take_work(&mut self) -> Vec<Vertex> {
        core::mem::take(&mut self.work)
    }

    /// Is a vertex a gap?
    pub(super) fn is_gap(&self, vertex: Vertex) -> bool {
        self.graph.vertices[vertex].kind == VertexKind::Pass
    }

    /// The vertex with a key, new ones to be connected later.
    pub(super) fn vertex(&mut self, key: Key, kind: VertexKind) -> Vertex {
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let vertex = self.add(key, kind);
        self.numbers.insert(key, vertex);
        vertex
    }

    fn add(&mut self, (block, place, class, _): Key, kind: VertexKind) -> Vertex {
        let part = self.input.ending_calls.part(block, place);
        let data = VertexData { kind, block, place, part, class, incoming: Vec::new(), outgoing: Vec::new() };
        let vertex = self.graph.vertices.push(data);
        if matches!(kind, VertexKind::Pass | VertexKind::User(_)) {
            self.work.push(vertex);
        }
        vertex
    }

    fn edge(&mut self, from: Result<Vertex, EndReason>, to: Vertex, flow: Flow) {
        self.graph.edges.push(ThreadEdge { from, to, flow });
    }

    /// Adds the edges into a vertex.
    fn connect(&mut self, vertex: Vertex) {
        let VertexData { kind, block, place, part, class, .. } = self.graph.vertices[vertex];
        let inside = Flow::Block(block, part);
        if let VertexKind::User(_) = kind {
            let from = self.gap(block, place, class);
            return self.edge(from, vertex, inside);
        }
        let Some(instruction) = place.checked_sub(1) else { return self.connect_start(vertex, block, class) };
        match self.events.just_before(block, place, class) {
            Some(ClassEvent::Occurrence(VertexKind::Pass)) => {
                let from = self.gap(block, instruction, class);
                self.edge(from, vertex, inside);
            }
            Some(ClassEvent::Occurrence(kind)) => {
                let from = self.vertex((block, instruction, class, true), kind);
                self.edge(Ok(from), vertex, inside);
            }
            Some(ClassEvent::Definition(name)) => {
                let from = match self.input.threads.of(name).map(|thread| &thread.above) {
                    Some(&(Above::Load(_, before) | Above::Store(_, before))) => match self.input.classes.of(before) {
                        Some(class) => self.gap(block, instruction, class),
                        None => Err(EndReason::Limit),
                    },
                    Some(&Above::End(reason)) => Err(reason),
                    Some(&Above::Value(value)) => {
                        let inst = self.input.shape.values.definition(value).inst();
                        let kind = inst.map_or(VertexKind::AtHand, VertexKind::Generator);
                        Ok(self.vertex((block, instruction, class, true), kind))
                    }
                    _ => Err(EndReason::Limit),
                };
                self.edge(from, vertex, inside);
            }
            None => {}
        }
    }

    /// The gap above a place.
    fn gap(&mut self, block: Block, place: u32, class: Class) -> Result<Vertex, EndReason> {
        if self.graph.vertices.len() >= self.input.vertices {
            self.graph.is_limited = true;
            return Err(EndReason::Limit);
        }
        let start = self.events.before(block, place, class).map_or(0, |(place, _)| place + 1);
        Ok(self.vertex((block, start, class, false), VertexKind::Pass))
    }

    /// Adds the edges into a gap at the start of a block.
    fn connect_start(&mut self, vertex: Vertex, block: Block, class: Class) {
        let Some((name, latest)) =
            self.input.classes.first_name(self.input.shape, self.input.threads, class, (block, u32::MAX))
        else {
            return;
        };
        let is_here = latest.is_some_and(|latest| latest.block == block && latest.place == 0);
        let threads = self.input.threads;
        let above = threads.of(name).map(|thread| &thread.above);
        let cfg = self.input.shape.cfg;
        if is_here && let Some(Above::Value(_)) = above {
            // The join itself.
            let from = self.vertex((block, u32::MAX, class, true), VertexKind::AtHand);
            return self.edge(Ok(from), vertex, Flow::Block(block, 0));
        }
        for (at, edge) in self.input.shape.edges_into(block).enumerate() {
            let source = cfg.source(edge);
            let from = match above {
                Some(Above::Join(_, along)) if is_here => along[at].and_then(|name| {
                    let class = self.input.classes.of(name).ok_or(EndReason::Limit)?;
                    let is_constant = threads.of(name).is_some_and(|thread| thread.above == Above::Constant);
                    if is_constant { Ok(self.constant(edge, source, class)) } else { self.gap(source, u32::MAX, class) }
                }),
                Some(&Above::End(reason)) if is_here => Err(reason),
                _ => self.gap(source, u32::MAX, class),
            };
            self.edge(from, vertex, Flow::Edge(edge));
        }
        if cfg.is_entry(block) {
            let is_given = matches!(above, Some(Above::Value(_) | Above::Given));
            let from = match is_given {
                true => Ok(self.vertex((block, u32::MAX, class, true), VertexKind::AtHand)),
                false => Err(EndReason::Entry),
            };
            self.edge(from, vertex, Flow::Entry(block));
        }
    }

    /// The constant that a class has become along an edge.
    fn constant(&mut self, edge: Edge, source: Block, class: Class) -> Vertex {
        if let Some(&known) = self.constants.get(&(edge, class)) {
            return known;
        }
        let vertex = self.add((source, u32::MAX, class, true), VertexKind::AtHand);
        self.constants.insert((edge, class), vertex);
        vertex
    }
}

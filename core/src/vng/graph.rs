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
//!    the memory of all its names or an address of one, or defines an atom of all its names; else
//!    the start of the block and the gaps at the ends of its predecessors.
//! 3. At a definition, and along each edge into a block whose joins occur in all names, the class
//!    is another one. Two classes may be one above: one gap then has two successors there.
//! 4. Nothing is above generators and kills, nor above the first user: it generates.
//!
//! Cost: O(live vertices · (edges + changes of memory in their blocks)). Limit: vertices; above the
//! last ones nothing is available.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, sections 2.3.4 and
//! 3.1.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cranelift_entity::{PrimaryMap, entity_impl};
use hashbrown::HashMap;

use super::memory::Memory;
use super::seeds::{Role, Seed};
use super::synonyms::{Class, Classes};
use super::threads::{Above, EndReason, Shape, Threads};
use crate::compact_sort::CompactSort;
use crate::graph::Edge;
use crate::ir::{Block, Inst};
use crate::names::{Name, NameTable};

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
    /// Inside a block.
    Block(Block),
    /// Along an edge of the function's graph.
    Edge(Edge),
    /// Into the function, at this block.
    Entry(Block),
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

/// An instruction that concerns a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Occurrence {
    place: u32,
    kind: VertexKind,
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
        builder.connect_all();
        let vertex = |seed: &Seed| key(seed).and_then(|key| builder.numbers.get(&key).copied());
        let seeds = input.seeds.iter().map(vertex).collect();
        builder.graph.seeds = seeds;
        builder.graph
    }
}

/// The key of a vertex: block, place, class, and whether it is an instruction.
type Key = (Block, u32, Class, bool);

struct Builder<'g, 'a> {
    input: GraphInput<'g, 'a>,
    graph: ThreadGraph,
    numbers: HashMap<Key, Vertex>,
    /// At-hand constants on edges.
    constants: HashMap<(Edge, Class), Vertex>,
    /// Uses, generations and splits of each class in each block, in order.
    occurrences: BTreeMap<(Class, Block), Vec<Occurrence>>,
    work: Vec<Vertex>,
}

impl<'g, 'a> Builder<'g, 'a> {
    fn new(input: GraphInput<'g, 'a>) -> Builder<'g, 'a> {
        let mut occurrences: BTreeMap<(Class, Block), Vec<Occurrence>> = BTreeMap::new();
        for seed in input.seeds {
            let kind = match seed.role {
                Role::User => VertexKind::User(seed.inst),
                Role::Generator => VertexKind::Generator(seed.inst),
            };
            let elements = seed.elements.iter().map(|&name| (name, VertexKind::Generator(seed.inst)));
            for (name, kind) in core::iter::once((seed.name, kind)).chain(elements) {
                if let Some(class) = input.classes.of(name) {
                    let found = occurrences.entry((class, seed.block)).or_default();
                    if found.last().is_none_or(|last| last.place != seed.index) {
                        found.push(Occurrence { place: seed.index, kind });
                    }
                }
            }
        }
        // Where another class begins as this one, both continue from one gap.
        for &name in input.threads.names() {
            let Some(thread) = input.threads.of(name) else { continue };
            if let (Above::Load(_, before), Some(latest)) = (&thread.above, thread.latest)
                && let Some(class) = input.classes.of(*before)
            {
                let place = latest.place - 1;
                let found = occurrences.entry((class, latest.block)).or_default();
                if !found.iter().any(|occurrence| occurrence.place == place) {
                    found.push(Occurrence { place, kind: VertexKind::Pass });
                }
            }
        }
        for found in occurrences.values_mut() {
            found.compact_sort_by_key(|occurrence| occurrence.place);
        }
        Builder {
            input,
            graph: ThreadGraph::default(),
            numbers: HashMap::new(),
            constants: HashMap::new(),
            occurrences,
            work: Vec::new(),
        }
    }

    /// Connects all vertices that are reached backward.
    fn connect_all(&mut self) {
        while let Some(vertex) = self.work.pop() {
            self.connect(vertex);
        }
        for (index, edge) in self.graph.edges.iter().enumerate() {
            self.graph.vertices[edge.to].incoming.push(index as u32);
            if let Ok(from) = edge.from {
                self.graph.vertices[from].outgoing.push(index as u32);
            }
        }
    }

    /// The vertex with a key, new ones to be connected later.
    fn vertex(&mut self, key: Key, kind: VertexKind) -> Vertex {
        if let Some(&known) = self.numbers.get(&key) {
            return known;
        }
        let vertex = self.add(key, kind);
        self.numbers.insert(key, vertex);
        vertex
    }

    fn add(&mut self, (block, place, class, _): Key, kind: VertexKind) -> Vertex {
        let data = VertexData { kind, block, place, class, incoming: Vec::new(), outgoing: Vec::new() };
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
        let VertexData { kind, block, place, class, .. } = self.graph.vertices[vertex];
        if let VertexKind::User(_) = kind {
            let from = self.gap(block, place, class);
            return self.edge(from, vertex, Flow::Block(block));
        }
        let Some(instruction) = place.checked_sub(1) else { return self.connect_start(vertex, block, class) };
        match self.last_event(block, place, class) {
            Some(Event::Occurrence(VertexKind::Pass)) => {
                let from = self.gap(block, instruction, class);
                self.edge(from, vertex, Flow::Block(block));
            }
            Some(Event::Occurrence(kind)) => {
                let from = self.vertex((block, instruction, class, true), kind);
                self.edge(Ok(from), vertex, Flow::Block(block));
            }
            Some(Event::Definition(name)) => {
                let from = match self.input.threads.of(name).map(|thread| &thread.above) {
                    Some(&Above::Load(_, before)) => match self.input.classes.of(before) {
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
                self.edge(from, vertex, Flow::Block(block));
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
        let start = self.event_before(block, place, class).map_or(0, |(place, _)| place + 1);
        Ok(self.vertex((block, start, class, false), VertexKind::Pass))
    }

    /// The event just above a gap.
    fn last_event(&self, block: Block, start: u32, class: Class) -> Option<Event> {
        self.event_before(block, start, class).filter(|&(place, _)| place + 1 == start).map(|(_, event)| event)
    }

    /// The last instruction before a place that concerns a class.
    fn event_before(&self, block: Block, place: u32, class: Class) -> Option<(u32, Event)> {
        let occurrences = self.occurrences.get(&(class, block)).map_or(&[][..], Vec::as_slice);
        let last = occurrences.partition_point(|occurrence| occurrence.place < place).checked_sub(1);
        let occurrence = last.map(|last| (occurrences[last].place, Event::Occurrence(occurrences[last].kind)));
        let definition =
            self.input.classes.first_name(self.input.shape, self.input.threads, class, (block, place)).and_then(
                |(name, latest)| {
                    let place = latest.filter(|latest| latest.block == block)?.place.checked_sub(1)?;
                    Some((place, Event::Definition(name)))
                },
            );
        let known = occurrence.into_iter().chain(definition).max_by_key(|&(place, _)| place);
        let after = known.map_or(0, |(place, _)| place + 1);
        let mut changes = self.input.memory.before(block, place).take_while(|change| change.place >= after);
        let kill = changes.find(|change| self.is_killed(block, place, class, change));
        kill.map(|change| (change.place, Event::Occurrence(VertexKind::Kill(change.inst)))).or(known)
    }

    /// May a change give all names of a class that hold there another value, or one of them another address? Then names
    /// that were one value before it are not after it.
    fn is_killed(&self, block: Block, place: u32, class: Class, change: &super::memory::Change) -> bool {
        let GraphInput { shape, table, threads, classes, memory, .. } = self.input;
        let holds = |name: Name| threads.of(name).is_some_and(|thread| thread.holds_at(shape, block, place));
        let mut holding = classes.members(class).iter().copied().filter(|&name| holds(name)).peekable();
        let has_names = holding.peek().is_some();
        let mut all_changed = true;
        for name in holding {
            if memory.may_change_address(table, change, name) {
                return true;
            }
            all_changed &= memory.may_change(table, change, name);
        }
        has_names && all_changed
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
            return self.edge(Ok(from), vertex, Flow::Block(block));
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
            let is_given = matches!(above, Some(Above::Value(_)));
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

/// The upper end of a gap inside a block.
#[derive(Clone, Copy)]
enum Event {
    /// A use, generation or kill.
    Occurrence(VertexKind),
    /// The definition of the latest atom of this name.
    Definition(Name),
}

//! Values, and the regions in which an edge profile cannot tell which users are reached.
//!
//! ```text
//! En+ ──▶ ┌────────┐ ──▶ Ex+      available on all ways in, or on none;
//! En− ──▶ │ region │ ──▶ Ex−      one user on all ways out, or none
//!         └────────┘
//! ```
//!
//! 1. A value is a connected component of live vertices.
//! 2. Its region is the gaps in which availability is `may` and the number of users is mixed.
//! 3. Outside of it an edge is counted once where a value that is available on all ways begins to
//!    be needed once: the definite reuse.
//! 4. Subregions are the parts of the region that edges connect.
//! 5. A split, where several classes continue along one edge, duplicates what comes to it.
//!
//! Cost: O(vertices + edges).
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, sections 4.4 and 4.6.

use alloc::vec;
use alloc::vec::Vec;

use hashbrown::HashSet;

use super::counts::EdgeCounts;
use super::network::MAX_SPLITS;
use crate::graph::Cfg;
use crate::vng::{Components, Fact, Facts, Flow, ThreadGraph, Users, Vertex, VertexKind};

/// A value graph with its facts and counts.
#[derive(Clone, Copy)]
pub struct Weighted<'a> {
    /// The function's graph.
    pub cfg: &'a Cfg,
    /// The vertices.
    pub graph: &'a ThreadGraph,
    /// Their facts.
    pub facts: &'a Facts,
    /// Counts of edges.
    pub counts: &'a EdgeCounts,
}

/// An edge into a region or out of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Crossing {
    /// The vertex inside.
    pub inside: Vertex,
    /// The vertex outside; None for nowhere.
    pub outside: Option<Vertex>,
    /// Its place.
    pub flow: Flow,
    /// Lanes.
    pub count: u64,
    /// For an entry, whether the value is available; for an exit, whether it is needed.
    pub is_positive: bool,
}

/// Several classes that continue from a vertex along one edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    /// The vertex, which is inside.
    pub vertex: Vertex,
    /// The edge's place.
    pub flow: Flow,
    /// Lanes.
    pub count: u64,
    /// The vertices that continue, inside or outside.
    pub targets: Vec<Vertex>,
    /// Whether executed edges lead here from an entry that has the value, and from one that has not.
    pub is_reached: [bool; 2],
}

impl Split {
    /// Lanes that are duplicated if so many come with the value, or without it.
    pub fn duplicates(&self, with_value: bool, coming: u64) -> u64 {
        let is_reached = self.is_reached[usize::from(!with_value)];
        if is_reached { (self.targets.len() as u64 - 1).saturating_mul(self.count.min(coming)) } else { 0 }
    }
}

/// A connected part of a region.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Subregion {
    /// Its vertices.
    pub vertices: Vec<Vertex>,
    /// Edges into it.
    pub entries: Vec<Crossing>,
    /// Edges out of it.
    pub exits: Vec<Crossing>,
    /// Inner edges, by their numbers.
    pub inner: Vec<u32>,
    /// Splits inside it and out of it.
    pub splits: Vec<Split>,
}

/// A value.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Value {
    /// Its users.
    pub users: Vec<Vertex>,
    /// Lanes of its users.
    pub executions: u64,
    /// Lanes that certainly reuse it.
    pub definite: u64,
    /// The parts of its region.
    pub subregions: Vec<Subregion>,
}

/// The region of a value as a whole.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Region {
    /// Its vertices.
    pub vertices: Vec<Vertex>,
    /// Number of its parts.
    pub subregions: usize,
    /// Parts with more splits than are limited by the flow into them.
    pub unlimited: usize,
    /// Lanes that splits duplicate with the value, and without it.
    pub duplicated: [u64; 2],
    /// Edges into it.
    pub entries: Vec<Crossing>,
    /// Edges out of it.
    pub exits: Vec<Crossing>,
}

impl Value {
    /// Its region as a whole.
    pub(super) fn region(&self) -> Region {
        let parts = &self.subregions;
        let duplicated =
            |with_value: bool| parts.iter().map(|part| part.duplicated(with_value)).fold(0, u64::saturating_add);
        Region {
            vertices: parts.iter().flat_map(|part| &part.vertices).copied().collect(),
            subregions: parts.len(),
            unlimited: parts.iter().filter(|part| part.splits.len() > MAX_SPLITS).count(),
            duplicated: [duplicated(true), duplicated(false)],
            entries: parts.iter().flat_map(|part| &part.entries).copied().collect(),
            exits: parts.iter().flat_map(|part| &part.exits).copied().collect(),
        }
    }
}

impl Subregion {
    /// Lanes that splits may duplicate, of those that come with the value or without it.
    pub fn duplicated(&self, with_value: bool) -> u64 {
        self.splits.iter().map(|split| split.duplicates(with_value, u64::MAX)).fold(0, u64::saturating_add)
    }

    /// Lanes over the entries that have the value, or that do not.
    pub fn entered(&self, with_value: bool) -> u64 {
        self.entries
            .iter()
            .filter(|entry| entry.is_positive == with_value)
            .map(|entry| entry.count)
            .fold(0, u64::saturating_add)
    }

    /// Lanes over the exits that need the value.
    pub fn needed(&self) -> u64 {
        self.exits.iter().filter(|exit| exit.is_positive).map(|exit| exit.count).fold(0, u64::saturating_add)
    }
}

impl Weighted<'_> {
    /// Lanes that execute the instruction of a vertex.
    pub fn executions(&self, vertex: Vertex) -> u64 {
        let data = &self.graph.vertices[vertex];
        self.counts.part(data.block, data.part)
    }

    /// The values of the graph, by their first vertices.
    pub fn values(&self) -> Vec<Value> {
        let Weighted { graph, facts, counts, .. } = *self;
        let Components { of: of_value, count: value_count } = graph.values();
        let Components { of: of_part, count: part_count } = graph.components(&|vertex| self.is_inside(vertex));
        let mut values = vec![Value::default(); value_count];
        let mut parts = vec![(0, Subregion::default()); part_count];
        for (vertex, data) in graph.vertices.iter() {
            let Some(value) = of_value[vertex] else { continue };
            if let VertexKind::User(_) = data.kind {
                values[value].users.push(vertex);
                let sum = &mut values[value].executions;
                *sum = sum.saturating_add(self.executions(vertex));
            }
            if let Some(part) = of_part[vertex] {
                parts[part].0 = value;
                parts[part].1.vertices.push(vertex);
                self.add_ways_out(vertex, &mut parts[part].1);
            }
        }
        for (number, edge) in graph.edges.iter().enumerate() {
            let count = counts.of(edge.flow);
            if self.is_definite(number as u32)
                && let Some(value) = of_value[edge.to]
            {
                values[value].definite = values[value].definite.saturating_add(count);
            }
            match (edge.from.ok().and_then(|from| of_part[from]), of_part[edge.to]) {
                (Some(_), Some(part)) => parts[part].1.inner.push(number as u32),
                (None, Some(part)) => {
                    let is_positive = facts.available_from(graph, number as u32) == Fact::MUST;
                    let outside = edge.from.ok();
                    parts[part].1.entries.push(Crossing {
                        inside: edge.to,
                        outside,
                        flow: edge.flow,
                        count,
                        is_positive,
                    });
                }
                _ => {}
            }
        }
        for (value, mut part) in parts {
            self.mark_reached_splits(&mut part);
            values[value].subregions.push(part);
        }
        values
    }

    /// Is it a gap where neither the ways in nor the ways out agree?
    fn is_inside(&self, vertex: Vertex) -> bool {
        let Weighted { graph, facts, .. } = self;
        graph.vertices[vertex].kind == VertexKind::Pass
            && facts.available[vertex] == Fact::MAY
            && facts.users[vertex] == Users::Mixed
    }

    /// Does an edge lead from where the value is certain to the first gap where it is needed once?
    fn is_definite(&self, edge: u32) -> bool {
        let Weighted { graph, facts, .. } = self;
        let data = &graph.edges[edge as usize];
        let is_later = data
            .from
            .is_ok_and(|from| graph.vertices[from].kind == VertexKind::Pass && facts.users[from] == Users::One);
        facts.available_from(graph, edge) == Fact::MUST && facts.users[data.to] == Users::One && !is_later
    }

    /// Adds the exits and splits of a vertex to its part.
    fn add_ways_out(&self, vertex: Vertex, part: &mut Subregion) {
        for (flow, targets) in crate::vng::ways_out(self.cfg, self.graph, vertex) {
            let count = self.counts.of(flow);
            let outside = targets.iter().copied().filter(|&target| !self.is_inside(target));
            part.exits.extend(outside.map(|target| Crossing {
                inside: vertex,
                outside: Some(target),
                flow,
                count,
                is_positive: self.facts.users[target] == Users::One,
            }));
            if targets.is_empty() {
                part.exits.push(Crossing { inside: vertex, outside: None, flow, count, is_positive: false });
            }
            if targets.len() > 1 {
                part.splits.push(Split { vertex, flow, count, targets: targets.into_vec(), is_reached: [false; 2] });
            }
        }
    }

    /// Marks the splits to which executed edges lead, from each kind of entry.
    fn mark_reached_splits(&self, part: &mut Subregion) {
        if part.splits.is_empty() {
            return;
        }
        for (at, with_value) in [true, false].into_iter().enumerate() {
            let mut reached: HashSet<Vertex> = HashSet::new();
            let entries = part.entries.iter().filter(|entry| entry.is_positive == with_value && entry.count > 0);
            let mut work: Vec<Vertex> = entries.map(|entry| entry.inside).collect();
            while let Some(vertex) = work.pop() {
                if !reached.insert(vertex) {
                    continue;
                }
                let edges = self.graph.vertices[vertex].outgoing.iter().map(|&edge| self.graph.edges[edge as usize]);
                let executed = edges.filter(|edge| self.counts.of(edge.flow) > 0).map(|edge| edge.to);
                work.extend(executed.filter(|&to| self.is_inside(to)));
            }
            part.splits.iter_mut().for_each(|split| split.is_reached[at] = reached.contains(&split.vertex));
        }
    }
}

//! Path-sensitive facts of live vertices: where values are available, and where users are reached.
//!
//! ```text
//! available    must on all ways in, no on none, may on some
//! anticipated  must on all ways out, no on none, may on some
//! users        one on all ways out, none on all, or mixed
//! ```
//!
//! 1. A fact is two bits, "on some way yes" and "on some way no". At control they are joined.
//! 2. Availability is pushed forward: `must` after users and generators, `no` after kills, from
//!    nowhere and into the function.
//! 3. Anticipation and numbers of users are pushed backward: one at a user, none at generators,
//!    kills, exits, where lanes may end in a callee, and along edges where no class continues.
//! 4. Where several classes continue along one edge, anticipation is `must` if one of them is, and
//!    numbers of users are added.
//!
//! Cost: O(edges), each fact growing at most twice.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, chapter 3.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::graph::{Flow, ThreadGraph, Vertex, VertexKind};
use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::trace::{FactKind, Trace, ValueEvent, record_value_event};

/// A fact about all ways to or from a point. Two bits, "on some way yes" and "on some way no".
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fact(u8);

impl Fact {
    /// Not known yet.
    pub const UNKNOWN: Fact = Fact(0);
    /// On all ways.
    pub const MUST: Fact = Fact(1);
    /// On no way.
    pub const NO: Fact = Fact(2);
    /// On some ways.
    pub const MAY: Fact = Fact(3);

    /// The fact about ways of both kinds.
    pub const fn meet(self, other: Fact) -> Fact {
        Fact(self.0 | other.0)
    }

    /// Does it hold on some way?
    pub const fn holds_somewhere(self) -> bool {
        self.0 & 1 != 0
    }

    /// The word: `must`, `may` or `no`.
    pub const fn word(self) -> &'static str {
        match self.0 {
            1 => "must",
            3 => "may",
            _ => "no",
        }
    }
}

/// Number of users that ways out of a point reach.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Users {
    /// Not known yet.
    #[default]
    Unknown,
    /// None on all ways.
    None,
    /// One on all ways.
    One,
    /// More, or not the same number on all ways.
    Mixed,
}

impl Users {
    /// The number over ways of both kinds.
    fn meet(self, other: Users) -> Users {
        match (self, other) {
            (Users::Unknown, known) | (known, Users::Unknown) => known,
            (a, b) if a == b => a,
            _ => Users::Mixed,
        }
    }

    /// The number over two ways that are taken together.
    fn plus(self, other: Users) -> Users {
        match (self, other) {
            (Users::Unknown, _) | (_, Users::Unknown) => Users::Unknown,
            (Users::None, known) | (known, Users::None) => known,
            _ => Users::Mixed,
        }
    }
}

/// The facts of all vertices.
#[derive(Default)]
pub struct Facts {
    /// Availability at the point before each vertex: before the instruction, and inside a gap.
    pub available: SecondaryMap<Vertex, Fact>,
    /// Anticipation at the point of each vertex.
    pub anticipated: SecondaryMap<Vertex, Fact>,
    /// Users that are reached from each vertex.
    pub users: SecondaryMap<Vertex, Users>,
}

impl Facts {
    /// The facts of a graph, with an event for each change of one.
    pub fn compute(cfg: &Cfg, graph: &ThreadGraph, trace: &mut dyn Trace) -> Facts {
        let available = available(graph, trace);
        let (anticipated, users) = backward(cfg, graph, trace);
        Facts { available, anticipated, users }
    }

    /// Availability at the source of an edge.
    pub fn available_from(&self, graph: &ThreadGraph, edge: u32) -> Fact {
        match graph.edges[edge as usize].from {
            Err(_) => Fact::NO,
            Ok(from) => output(graph, &self.available, from),
        }
    }
}

/// Availability after a vertex.
fn output(graph: &ThreadGraph, available: &SecondaryMap<Vertex, Fact>, vertex: Vertex) -> Fact {
    match graph.vertices[vertex].kind {
        VertexKind::Pass => available[vertex],
        VertexKind::User(_) | VertexKind::Generator(_) | VertexKind::AtHand => Fact::MUST,
        VertexKind::Kill(_) => Fact::NO,
    }
}

fn available(graph: &ThreadGraph, trace: &mut dyn Trace) -> SecondaryMap<Vertex, Fact> {
    let mut available: SecondaryMap<Vertex, Fact> = SecondaryMap::new();
    let mut work: Vec<Vertex> = Vec::new();
    for edge in &graph.edges {
        let fact = match edge.from {
            Err(_) => Fact::NO,
            Ok(from) => output(graph, &available, from),
        };
        if fact != Fact::UNKNOWN && available[edge.to].meet(fact) != available[edge.to] {
            available[edge.to] = available[edge.to].meet(fact);
            record_fact(trace, FactKind::Available, edge.to, available[edge.to]);
            work.push(edge.to);
        }
    }
    while let Some(vertex) = work.pop() {
        if graph.vertices[vertex].kind != VertexKind::Pass {
            continue;
        }
        let fact = available[vertex];
        for &edge in &graph.vertices[vertex].outgoing {
            let to = graph.edges[edge as usize].to;
            if available[to].meet(fact) != available[to] {
                available[to] = available[to].meet(fact);
                record_fact(trace, FactKind::Available, to, available[to]);
                work.push(to);
            }
        }
    }
    available
}

/// The ways out of a gap: the place of each, and the vertices that continue along it. Along a call that lanes may not
/// come back from there are two.
pub fn ways_out(cfg: &Cfg, graph: &ThreadGraph, vertex: Vertex) -> Vec<(Flow, SmallVec<[Vertex; 2]>)> {
    let data = &graph.vertices[vertex];
    let edges = data.outgoing.iter().map(|&edge| graph.edges[edge as usize]);
    let mut targets: SmallVec<[(Flow, Vertex); 4]> = edges.map(|edge| (edge.flow, edge.to)).collect();
    targets.compact_sort_by_key(|&(flow, _)| flow);
    let along = |flow: Flow| {
        let first = targets.partition_point(|&(other, _)| other < flow);
        let targets = targets[first..].iter().take_while(|&&(other, _)| other == flow);
        (flow, targets.map(|&(_, to)| to).collect())
    };
    match targets.last() {
        Some((Flow::Edge(_), _)) => cfg.out_edges(data.block).map(Flow::Edge).map(along).collect(),
        Some(&(flow @ Flow::Block(block, part), _)) if part > data.part => {
            Vec::from([along(flow), along(Flow::Ended(block, data.part))])
        }
        _ => Vec::from([along(Flow::Block(data.block, data.part))]),
    }
}

/// Records that a fact about a vertex has changed.
fn record_fact(trace: &mut dyn Trace, kind: FactKind, vertex: Vertex, fact: Fact) {
    record_value_event(trace, || ValueEvent::Fact { vertex: vertex.as_u32(), kind, answer: fact.word() });
}

/// Anticipation, and numbers of users.
fn backward(
    cfg: &Cfg,
    graph: &ThreadGraph,
    trace: &mut dyn Trace,
) -> (SecondaryMap<Vertex, Fact>, SecondaryMap<Vertex, Users>) {
    let mut anticipated: SecondaryMap<Vertex, Fact> = SecondaryMap::new();
    let mut users: SecondaryMap<Vertex, Users> = SecondaryMap::new();
    let mut work: VecDeque<Vertex> = VecDeque::new();
    for (vertex, data) in graph.vertices.iter().rev() {
        match data.kind {
            VertexKind::User(_) => (anticipated[vertex], users[vertex]) = (Fact::MUST, Users::One),
            VertexKind::Pass => work.push_back(vertex),
            _ => (anticipated[vertex], users[vertex]) = (Fact::NO, Users::None),
        }
    }
    let passes = work.clone();
    let mut is_queued: SecondaryMap<Vertex, bool> = SecondaryMap::new();
    passes.iter().for_each(|&vertex| is_queued[vertex] = true);
    // What is still unknown when nothing changes any more waits for itself: round and round it is used again.
    for is_last in [false, true] {
        if is_last {
            work = passes
                .iter()
                .copied()
                .filter(|&vertex| users[vertex] == Users::Unknown || anticipated[vertex] == Fact::UNKNOWN)
                .collect();
            work.iter().for_each(|&vertex| is_queued[vertex] = true);
        }
        while let Some(vertex) = work.pop_front() {
            is_queued[vertex] = false;
            let (mut fact, mut number) = (Fact::UNKNOWN, Users::Unknown);
            for (_, way) in ways_out(cfg, graph, vertex) {
                fact = fact.meet(union(way.iter().map(|&next| anticipated[next]), is_last));
                let sum = way.iter().fold(Users::None, |sum, &next| sum.plus(users[next]));
                number = number.meet(if is_last && sum == Users::Unknown { Users::Mixed } else { sum });
            }
            let (fact, number) = (fact.meet(anticipated[vertex]), number.meet(users[vertex]));
            if (fact, number) != (anticipated[vertex], users[vertex]) {
                if fact != anticipated[vertex] {
                    record_fact(trace, FactKind::Anticipated, vertex, fact);
                }
                (anticipated[vertex], users[vertex]) = (fact, number);
                let before =
                    graph.vertices[vertex].incoming.iter().filter_map(|&edge| graph.edges[edge as usize].from.ok());
                let gaps = before.filter(|&before| graph.vertices[before].kind == VertexKind::Pass);
                work.extend(gaps.filter(|&gap| !core::mem::replace(&mut is_queued[gap], true)));
            }
        }
    }
    (anticipated, users)
}

/// Anticipation along an edge on which these classes continue.
fn union(classes: impl Iterator<Item = Fact>, is_last: bool) -> Fact {
    let mut all_no = true;
    let mut is_known = true;
    for fact in classes {
        match fact {
            Fact::MUST => return Fact::MUST,
            Fact::UNKNOWN => is_known = is_last && is_known,
            _ => all_no &= fact == Fact::NO,
        }
    }
    match (is_known, all_no) {
        (false, _) => Fact::UNKNOWN,
        (true, true) => Fact::NO,
        (true, false) => Fact::MAY,
    }
}

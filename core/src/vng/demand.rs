//! Availability of one seed on demand: only vertices above it are visited.
//!
//! ```text
//! m: ld A[i]  ◀── gap of m ◀─┬─ generator in l               must? no: r knows nothing
//!                            └─ gap of r ◀── the entry       may? yes: l knows it
//! ```
//!
//! 1. The edges into a vertex are found when it is visited, the nearest vertices first.
//! 2. `must` is taken for true while vertices are open, until a way ends without the value; `may`
//!    for false, until a way begins with it. Both continue one search, which visits no vertex twice.
//! 3. With a budget, ways that are still open when it is spent count as `no`.
//!
//! Over the classes of all names the answer is that of the exhaustive analysis: both follow the
//! edges of one graph, and what a search does not visit cannot change its answer.
//!
//! Cost: O(vertices visited · (edges + changes of memory in their blocks)). Shared with the
//! exhaustive analysis: seeds, and for synonyms the threads and classes of all names, since names of
//! other seeds may be members. Without synonyms only the seed's own thread is placed; then names
//! match as words, which may find less.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, section 5.1, as far
//! as it concerns one procedure.

use alloc::collections::VecDeque;

use super::analysis::Fact;
use super::graph::{Builder, GraphInput, ThreadGraph, Vertex, VertexKind};
use super::seeds::{Role, Seed};

/// A search above one seed.
pub struct Demand<'d, 'a> {
    builder: Builder<'d, 'a>,
    /// Vertices that are to be visited, the nearest first.
    open: VecDeque<Vertex>,
    /// Vertices that may be visited; 0 for all.
    budget: usize,
    visited: usize,
    /// Whether a way begins with the value.
    is_found: bool,
    /// Whether a way ends without it.
    is_missed: bool,
    is_cut: bool,
}

impl<'d, 'a> Demand<'d, 'a> {
    /// A search that has not begun. None for seeds that only generate, and for those without a thread.
    pub fn new(input: GraphInput<'d, 'a>, seed: &Seed, budget: usize) -> Option<Demand<'d, 'a>> {
        let class = input.classes.of(seed.name).filter(|_| seed.role == Role::User)?;
        let mut builder = Builder::new(input);
        let user = builder.vertex((seed.block, seed.index, class, true), VertexKind::User(seed.inst));
        builder.take_work();
        let open = VecDeque::from([user]);
        Some(Demand { builder, open, budget, visited: 0, is_found: false, is_missed: false, is_cut: false })
    }

    /// Is the value available on all ways?
    pub fn must(&mut self) -> bool {
        while !self.is_missed && self.visit_next() {}
        !self.is_missed
    }

    /// Is the value available on some way?
    pub fn may(&mut self) -> bool {
        while !self.is_found && self.visit_next() {}
        self.is_found
    }

    /// The answer to both questions.
    pub fn availability(&mut self) -> Fact {
        match (self.must(), self.may()) {
            (true, true) => Fact::MUST,
            (false, true) => Fact::MAY,
            _ => Fact::NO,
        }
    }

    /// Number of vertices that have been visited.
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// Was the budget spent before the search ended?
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The vertices that were found, and the edges into those that were visited.
    pub fn into_graph(self) -> ThreadGraph {
        self.builder.into_graph()
    }

    /// Visits the nearest open vertex. Returns false if there is none.
    fn visit_next(&mut self) -> bool {
        if self.budget != 0 && self.visited >= self.budget && !self.open.is_empty() {
            self.open.clear();
            (self.is_missed, self.is_cut) = (true, true);
        }
        let Some(vertex) = self.open.pop_front() else { return false };
        self.visited += 1;
        for kind in self.builder.follow(vertex) {
            match kind {
                Some(VertexKind::User(_) | VertexKind::Generator(_) | VertexKind::AtHand) => self.is_found = true,
                Some(VertexKind::Kill(_)) | None => self.is_missed = true,
                Some(VertexKind::Pass) => {}
            }
        }
        let found = self.builder.take_work();
        self.open.extend(found.into_iter().filter(|&vertex| self.builder.is_gap(vertex)));
        true
    }
}

//! Plans that count reuse along runs with flags: bits that each lane carries.
//!
//! ```text
//! every gap   l: ld A[i] ─▶ gap 1 := 1     r: … ─▶ gap 2 := 0     m: gap 3 := gap 1 or gap 2, user += gap 3
//! regions     edge into the region from l: flag := 1, from r: flag := 0     edge out of it to m: counter += flag
//! ```
//!
//! 1. The full plan has a flag for each gap, which says whether the lane has the value there. An
//!    edge sets the flag of its target; a user counts the lanes whose flag is set above it.
//! 2. The plan of regions counts what an edge profile cannot tell: flags are set on the entries of
//!    regions and counted on their positive exits, where one user is certain. All other reuse is
//!    definite.
//! 3. Gaps of a subregion that edges connect share a flag as long as no block has two of them.
//!    Where a flag passes to another one inside, it is copied.
//!
//! Sound: each reused value leaves its generator by a definite edge, or enters a region from where
//! it is available and leaves it once to where it is used once.
//!
//! Cost: O(edges · logarithm).
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, section 4.8.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::region::{Subregion, Value, Weighted};
use crate::graph::{Cfg, Edge};
use crate::ir::Block;
use crate::vng::{Flow, ThreadEdge, ThreadGraph, Vertex, VertexKind};

/// A point of a run at which flags change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Moment {
    /// Before the instruction at a place of a block.
    Before(Block, u32),
    /// After the instruction at a place of a block, from which lanes have come back if it is a call.
    After(Block, u32),
    /// The move along an edge.
    Edge(Edge),
    /// The beginning of a run at a block.
    Entry(Block),
}

/// Lanes that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    None,
    All,
    Flag(usize),
}

/// Changes at one moment, all of which read flags before any is set.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Actions {
    counted: Vec<(usize, Source)>,
    set: Vec<(usize, Source)>,
}

impl Actions {
    /// Carries the actions out for some lanes of a warp.
    pub fn apply(&self, mask: u32, flags: &mut [u32], counts: &mut [u64]) {
        let read = |source: Source, flags: &[u32]| match source {
            Source::None => 0,
            Source::All => !0,
            Source::Flag(flag) => flags[flag],
        };
        for &(counter, source) in &self.counted {
            counts[counter] += u64::from((read(source, flags) & mask).count_ones());
        }
        let new: Vec<u32> = self.set.iter().map(|&(_, source)| read(source, flags)).collect();
        for (&(flag, _), new) in self.set.iter().zip(new) {
            flags[flag] = flags[flag] & !mask | new & mask;
        }
    }
}

/// Flags and counters of a function, and where they change.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FlagPlan {
    /// Number of flags.
    pub flags: usize,
    /// Number of counters.
    pub counters: usize,
    actions: BTreeMap<Moment, Actions>,
}

impl FlagPlan {
    /// The full plan, and the user of each counter.
    pub fn of_gaps(cfg: &Cfg, graph: &ThreadGraph) -> (FlagPlan, Vec<Vertex>) {
        let mut plan = FlagPlan::default();
        let mut flags: SecondaryMap<Vertex, Option<usize>> = SecondaryMap::new();
        let mut users = Vec::new();
        for (vertex, data) in graph.vertices.iter() {
            match data.kind {
                VertexKind::Pass => flags[vertex] = Some(next(&mut plan.flags)),
                VertexKind::User(_) => users.push(vertex),
                _ => {}
            }
        }
        plan.counters = users.len();
        let source = |edge: &ThreadEdge| match edge.from.map(|from| (flags[from], graph.vertices[from].kind)) {
            Ok((Some(flag), _)) => Source::Flag(flag),
            Ok((None, VertexKind::Kill(_))) | Err(_) => Source::None,
            Ok((None, _)) => Source::All,
        };
        for edge in &graph.edges {
            for moment in moments(cfg, graph, edge.to, edge.flow) {
                let actions = plan.actions.entry(moment).or_default();
                match (flags[edge.to], users.binary_search(&edge.to)) {
                    (Some(flag), _) => actions.set.push((flag, source(edge))),
                    (None, Ok(counter)) => actions.counted.push((counter, source(edge))),
                    (None, Err(_)) => {}
                }
            }
        }
        (plan, users)
    }

    /// The plan of the regions of some values: what it counts and the definite reuse are all reuse.
    pub fn of_regions<'v>(weighted: Weighted<'_>, values: impl Iterator<Item = &'v Value>) -> FlagPlan {
        let Weighted { cfg, graph, .. } = weighted;
        let mut plan = FlagPlan::default();
        for part in values.flat_map(|value| &value.subregions) {
            let flags = shared_flags(graph, part, &mut plan.flags);
            for entry in &part.entries {
                let source = if entry.is_positive { Source::All } else { Source::None };
                for moment in moments(cfg, graph, entry.inside, entry.flow) {
                    plan.actions.entry(moment).or_default().set.push((flags[&entry.inside], source));
                }
            }
            for &edge in &part.inner {
                let edge = &graph.edges[edge as usize];
                let Some(from) = edge.from.ok().map(|from| flags[&from]).filter(|&from| from != flags[&edge.to]) else {
                    continue;
                };
                for moment in moments(cfg, graph, edge.to, edge.flow) {
                    plan.actions.entry(moment).or_default().set.push((flags[&edge.to], Source::Flag(from)));
                }
            }
            for exit in part.exits.iter().filter(|exit| exit.is_positive) {
                let counter = next(&mut plan.counters);
                for moment in exit.outside.into_iter().flat_map(|to| moments(cfg, graph, to, exit.flow)) {
                    let source = Source::Flag(flags[&exit.inside]);
                    plan.actions.entry(moment).or_default().counted.push((counter, source));
                }
            }
        }
        plan
    }

    /// Both plans, whose flags and counters come after those of the first one.
    pub fn beside(mut self, other: &FlagPlan) -> FlagPlan {
        let moved = |source: Source| match source {
            Source::Flag(flag) => Source::Flag(self.flags + flag),
            source => source,
        };
        for (&moment, actions) in &other.actions {
            let sum = self.actions.entry(moment).or_default();
            sum.counted.extend(actions.counted.iter().map(|&(at, source)| (self.counters + at, moved(source))));
            sum.set.extend(actions.set.iter().map(|&(flag, source)| (self.flags + flag, moved(source))));
        }
        self.flags += other.flags;
        self.counters += other.counters;
        self
    }

    /// The actions at a moment.
    pub fn at(&self, moment: Moment) -> Option<&Actions> {
        self.actions.get(&moment)
    }
}

/// Takes the next number.
fn next(count: &mut usize) -> usize {
    *count += 1;
    *count - 1
}

/// The moments at which lanes come to a vertex over an edge.
fn moments(cfg: &Cfg, graph: &ThreadGraph, to: Vertex, flow: Flow) -> Vec<Moment> {
    let data = &graph.vertices[to];
    match (flow, data.kind) {
        (Flow::Edge(edge), _) => Vec::from([Moment::Edge(edge)]),
        (Flow::Entry(block), _) => Vec::from([Moment::Entry(block)]),
        (Flow::Block(block, _), VertexKind::Pass) => match data.place.checked_sub(1) {
            Some(place) => Vec::from([Moment::After(block, place)]),
            // A join is there from the start of its block on.
            None => {
                let edges = cfg.in_edges(block).iter().map(|&edge| Moment::Edge(edge));
                edges.chain([Moment::Entry(block)]).collect()
            }
        },
        (Flow::Block(block, _), _) => Vec::from([Moment::Before(block, data.place)]),
        (Flow::Ended(..), _) => Vec::new(),
    }
}

/// The flag of each vertex of a subregion, numbered on.
fn shared_flags(graph: &ThreadGraph, part: &Subregion, flags: &mut usize) -> BTreeMap<Vertex, usize> {
    let mut group: BTreeMap<Vertex, usize> = part.vertices.iter().copied().zip(0..).collect();
    let mut members: Vec<Vec<Vertex>> = part.vertices.iter().map(|&vertex| Vec::from([vertex])).collect();
    let block = |vertex: &Vertex| graph.vertices[*vertex].block;
    let mut blocks: Vec<BTreeSet<Block>> = part.vertices.iter().map(|vertex| BTreeSet::from([block(vertex)])).collect();
    for &edge in &part.inner {
        let edge = &graph.edges[edge as usize];
        let Ok(from) = edge.from else { continue };
        let (one, other) = (group[&from], group[&edge.to]);
        if one != other && blocks[one].is_disjoint(&blocks[other]) {
            let (kept, gone) = if members[one].len() < members[other].len() { (other, one) } else { (one, other) };
            for vertex in core::mem::take(&mut members[gone]) {
                blocks[kept].insert(block(&vertex));
                group.insert(vertex, kept);
                members[kept].push(vertex);
            }
            blocks[gone].clear();
        }
    }
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for number in group.values_mut() {
        *number = *numbers.entry(*number).or_insert_with(|| next(flags));
    }
    group
}

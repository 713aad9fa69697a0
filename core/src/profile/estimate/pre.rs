//! Bounds for each user by itself, as partial redundancy elimination would count.
//!
//! 1. Go backward from a user over gaps in which the value is available on some way.
//! 2. Edges out of users and generators bring the value; edges from kills, from nowhere and from
//!    where it is available on no way do not.
//! 3. A split on the way duplicates what passes it, once for each further class that reaches the
//!    user.
//!
//! Cost: O(users · live vertices).
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, section 4.4.1.

use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::Interval;
use super::region::Weighted;
use crate::vng::{Fact, Vertex, VertexKind, ways_out};

/// Searches above users, one after the other.
pub(super) struct UserBounds<'w> {
    weighted: Weighted<'w>,
    /// The splits of each vertex.
    splits: SecondaryMap<Vertex, Vec<SplitWay>>,
    /// The last search that reached each vertex.
    reached: SecondaryMap<Vertex, u32>,
    /// Searches so far.
    searches: u32,
}

/// A way out of a vertex along which several vertices continue.
#[derive(Clone)]
struct SplitWay {
    /// Lanes.
    count: u64,
    targets: SmallVec<[Vertex; 2]>,
}

/// Lanes over the edges into the gaps above users.
struct Sources {
    /// With the value.
    with: u64,
    /// Without it.
    without: u64,
    /// Duplicates at splits.
    duplicated: u64,
}

impl<'w> UserBounds<'w> {
    /// Searches in a graph, of which none is done.
    pub fn new(weighted: Weighted<'w>) -> UserBounds<'w> {
        let Weighted { graph, counts, cfg, .. } = weighted;
        let mut splits: SecondaryMap<Vertex, Vec<SplitWay>> = SecondaryMap::new();
        for (vertex, data) in graph.vertices.iter().filter(|(_, data)| data.outgoing.len() > 1) {
            if data.kind == VertexKind::Pass {
                let ways = ways_out(cfg, graph, vertex).into_iter().filter(|(_, targets)| targets.len() > 1);
                splits[vertex].extend(ways.map(|(flow, targets)| SplitWay { count: counts.of(flow), targets }));
            }
        }
        UserBounds { weighted, splits, reached: SecondaryMap::new(), searches: 0 }
    }

    /// The bounds of the reuse of users that are copies of one.
    pub fn of(&mut self, users: &[Vertex]) -> Interval {
        let Weighted { facts, .. } = self.weighted;
        let with_fact = |fact: Fact| users.iter().copied().filter(move |&user| facts.available[user] == fact);
        let executions =
            |fact: Fact| with_fact(fact).map(|user| self.weighted.executions(user)).fold(0, u64::saturating_add);
        let (certain, uncertain) = (executions(Fact::MUST), executions(Fact::MAY));
        let into_uncertain = self.sources_above(with_fact(Fact::MAY).collect());
        let bounds = Interval {
            low: uncertain.saturating_sub(into_uncertain.without.saturating_add(into_uncertain.duplicated)),
            high: uncertain.min(into_uncertain.with.saturating_add(into_uncertain.duplicated)),
        };
        let bounds = bounds.plus(Interval::exactly(certain));
        if certain == 0 || uncertain == 0 {
            return bounds;
        }
        // Lanes with the value that go to copies of both kinds reuse it once.
        let both = with_fact(Fact::MUST).chain(with_fact(Fact::MAY)).collect();
        let Sources { with, duplicated, .. } = self.sources_above(both);
        Interval { high: bounds.high.min(with.saturating_add(duplicated)), ..bounds }
    }

    fn sources_above(&mut self, users: Vec<Vertex>) -> Sources {
        let UserBounds { weighted: Weighted { graph, facts, counts, .. }, splits, reached, searches } = self;
        *searches += 1;
        let (mut with, mut without, mut duplicated) = (0u64, 0u64, 0u64);
        users.iter().for_each(|&user| reached[user] = *searches);
        let gaps = users.len();
        let mut visited = users;
        let mut next = 0;
        while let Some(&vertex) = visited.get(next) {
            next += 1;
            for &edge in &graph.vertices[vertex].incoming {
                let count = counts.of(graph.edges[edge as usize].flow);
                let from = graph.edges[edge as usize].from.ok();
                let gap = from.filter(|&from| graph.vertices[from].kind == VertexKind::Pass);
                match (facts.available_from(graph, edge), gap) {
                    (Fact::NO, _) => without = without.saturating_add(count),
                    (_, None) => with = with.saturating_add(count),
                    (_, Some(gap)) if reached[gap] != *searches => {
                        reached[gap] = *searches;
                        visited.push(gap);
                    }
                    _ => {}
                }
            }
        }
        for split in visited[gaps..].iter().flat_map(|&vertex| &splits[vertex]) {
            let reaching = split.targets.iter().filter(|&&target| reached[target] == *searches).count() as u64;
            duplicated = duplicated.saturating_add(reaching.saturating_sub(1).saturating_mul(split.count));
        }
        Sources { with, without, duplicated }
    }
}

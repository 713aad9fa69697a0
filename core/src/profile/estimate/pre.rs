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

use hashbrown::HashSet;

use super::Interval;
use super::region::Weighted;
use crate::vng::{Fact, Vertex, VertexKind};

/// The bounds of the reuse of users that are copies of one.
pub(super) fn bounds(weighted: Weighted<'_>, users: &[Vertex]) -> Interval {
    let facts = weighted.facts;
    let with_fact = |fact: Fact| users.iter().copied().filter(move |&user| facts.available[user] == fact);
    let executions = |fact: Fact| with_fact(fact).map(|user| weighted.executions(user)).fold(0, u64::saturating_add);
    let (certain, uncertain) = (executions(Fact::MUST), executions(Fact::MAY));
    let into_uncertain = Sources::above(weighted, with_fact(Fact::MAY).collect());
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
    let Sources { with, duplicated, .. } = Sources::above(weighted, both);
    Interval { high: bounds.high.min(with.saturating_add(duplicated)), ..bounds }
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

impl Sources {
    fn above(weighted: Weighted<'_>, users: Vec<Vertex>) -> Sources {
        let Weighted { graph, facts, counts, cfg } = weighted;
        let (mut with, mut without, mut duplicated) = (0u64, 0u64, 0u64);
        let mut reached: HashSet<Vertex> = users.iter().copied().collect();
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
                    (_, Some(gap)) if reached.insert(gap) => visited.push(gap),
                    _ => {}
                }
            }
        }
        for &vertex in &visited[gaps..] {
            for (flow, targets) in crate::vng::ways_out(cfg, graph, vertex) {
                let reaching = targets.iter().filter(|target| reached.contains(*target)).count() as u64;
                duplicated = duplicated.saturating_add(reaching.saturating_sub(1).saturating_mul(counts.of(flow)));
            }
        }
        Sources { with, without, duplicated }
    }
}

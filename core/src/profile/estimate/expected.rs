//! The expected reuse, if every branch is decided by itself.
//!
//! The probability that a value is available at a vertex is the mean over the edges into it,
//! weighted by their counts. It is computed by sweeps until no probability changes by more than
//! [`ACCURACY`] of itself, at most [`MAX_SWEEPS`] times. A sweep visits the vertices after those
//! whose probability has changed.
//!
//! Cost: O(edges) for each round of a loop until its probabilities are settled.
//!
//! Source: G. Ramalingam, Data flow frequency analysis, PLDI 1996.

use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::region::Weighted;
use crate::vng::{Vertex, VertexKind};

/// Relative change at which the sweeps end.
const ACCURACY: f64 = 1e-12;

/// Sweeps after which the probabilities are taken as they are.
const MAX_SWEEPS: u32 = 10_000;

/// The probability (0–1) that the value is available before each vertex.
pub(super) fn probabilities(weighted: Weighted<'_>) -> SecondaryMap<Vertex, f64> {
    let Weighted { graph, counts, .. } = weighted;
    let mut probability: SecondaryMap<Vertex, f64> = SecondaryMap::new();
    let mut is_due: SecondaryMap<Vertex, bool> = SecondaryMap::with_default(true);
    // Vertices were found backward, so that most come after those that they depend on in reverse.
    let mut work: Vec<Vertex> = graph.vertices.keys().rev().collect();
    for _ in 0..MAX_SWEEPS {
        let mut next = Vec::new();
        for vertex in work {
            // The vertex may have been visited in this sweep since it was put on the list.
            if !core::mem::replace(&mut is_due[vertex], false) {
                continue;
            }
            let (mut available, mut all) = (0.0, 0.0);
            for &edge in &graph.vertices[vertex].incoming {
                let edge = &graph.edges[edge as usize];
                let count = counts.of(edge.flow) as f64;
                all += count;
                available += count
                    * edge.from.map_or(0.0, |from| match graph.vertices[from].kind {
                        VertexKind::Pass => probability[from],
                        VertexKind::Kill(_) => 0.0,
                        VertexKind::User(_) | VertexKind::Generator(_) | VertexKind::AtHand => 1.0,
                    });
            }
            let new = if all > 0.0 { available / all } else { 0.0 };
            if (new - probability[vertex]).abs() > ACCURACY * new {
                let after = graph.vertices[vertex].outgoing.iter().map(|&edge| graph.edges[edge as usize].to);
                next.extend(after.filter(|&after| !core::mem::replace(&mut is_due[after], true)));
            }
            probability[vertex] = new;
        }
        if next.is_empty() {
            break;
        }
        work = next;
    }
    probability
}

//! The expected reuse, if every branch is decided by itself.
//!
//! The probability that a value is available at a vertex is the mean over the edges into it,
//! weighted by their counts. It is computed by sweeps until no probability changes by more than
//! [`ACCURACY`] of itself, at most [`MAX_SWEEPS`] times.
//!
//! Cost: O(sweeps · edges).
//!
//! Source: G. Ramalingam, Data flow frequency analysis, PLDI 1996.

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
    for _ in 0..MAX_SWEEPS {
        let mut has_changed = false;
        // Vertices were found backward, so that most come after those that they depend on in reverse.
        for (vertex, data) in graph.vertices.iter().rev() {
            let (mut available, mut all) = (0.0, 0.0);
            for &edge in &data.incoming {
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
            has_changed |= (new - probability[vertex]).abs() > ACCURACY * new;
            probability[vertex] = new;
        }
        if !has_changed {
            break;
        }
    }
    probability
}

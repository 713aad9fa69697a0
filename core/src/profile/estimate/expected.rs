//! The expected reuse, if every branch is decided by itself.
//!
//! ```text
//! head ◀── entry: 1, with the value       P(head) = (1 · 1 + 9 · P(latch)) / 10
//!      ◀── latch: 9                       P(latch) = P(head), so both are 1
//! ```
//!
//! 1. The probability that a value is available at a vertex is the mean over the edges into it, weighted by their
//!    counts. It is 1 or 0 where the value is available on all ways or on none.
//! 2. These equations are solved by elimination, cheapest vertices first: the mean of a vertex takes its place in the
//!    means of the others. Weights are only added, multiplied and divided, so that nothing cancels out.
//! 3. Vertices that many others depend on, and that depend on many, are left, as irreducible loops have them. They are
//!    computed by sweeps, until no probability changes by more than [`ACCURACY`] of itself.
//! 4. The eliminated vertices follow, the last ones first.
//!
//! Cost: O(edges · [`MOST_REPLACEMENTS`]), and O(edges) for each sweep over the vertices that are left, at most
//! [`MAX_SWEEPS`].
//!
//! Sources: G. Ramalingam, Data flow frequency analysis, PLDI 1996; W. Grassmann, M. Taksar and D. Heyman, Regenerative
//! analysis and steady state distributions for Markov chains, Operations Research 33, 1985.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::region::Weighted;
use crate::vng::{Fact, Vertex};

/// Relative change at which the sweeps end.
const ACCURACY: f64 = 1e-13;

/// Sweeps after which the probabilities are taken as they are.
const MAX_SWEEPS: u32 = 10_000;

/// Vertices are eliminated as long as that replaces at most this many weights.
const MOST_REPLACEMENTS: usize = 64;

/// The probability (0–1) that the value is available before each vertex.
pub(super) fn probabilities(weighted: Weighted<'_>) -> SecondaryMap<Vertex, f64> {
    let Weighted { graph, facts, counts, .. } = weighted;
    let mut probability: SecondaryMap<Vertex, f64> = SecondaryMap::new();
    let mut unknown: Vec<Vertex> = Vec::new();
    let mut numbers: SecondaryMap<Vertex, Option<u32>> = SecondaryMap::new();
    for vertex in graph.vertices.keys() {
        match facts.available[vertex] {
            Fact::MUST => probability[vertex] = 1.0,
            Fact::MAY => {
                numbers[vertex] = Some(unknown.len() as u32);
                unknown.push(vertex);
            }
            _ => {}
        }
    }
    let mut means = Means::default();
    for &vertex in &unknown {
        let mut mean = Mean::default();
        for &edge in &graph.vertices[vertex].incoming {
            let count = counts.of(graph.edges[edge as usize].flow) as f64;
            let source = graph.edges[edge as usize].from.ok().and_then(|from| numbers[from]);
            match (facts.available_from(graph, edge), source) {
                (Fact::MUST, _) => mean.one += count,
                (Fact::MAY, Some(source)) if count > 0.0 => _ = mean.add(source, count),
                (Fact::MAY, Some(_)) => {}
                _ => mean.zero += count,
            }
        }
        means.add(mean);
    }
    for (&vertex, solved) in unknown.iter().zip(means.solved()) {
        probability[vertex] = solved;
    }
    probability
}

/// The probability of a vertex as a weighted mean.
#[derive(Clone, Default)]
struct Mean {
    /// Weight of 1.
    one: f64,
    /// Weight of 0.
    zero: f64,
    /// Weights of the probabilities of other vertices, each once.
    others: SmallVec<[(u32, f64); 4]>,
}

impl Mean {
    /// Adds a weight of a vertex. Returns true if the vertex had none before.
    fn add(&mut self, vertex: u32, weight: f64) -> bool {
        match self.others.iter_mut().find(|(other, _)| *other == vertex) {
            Some((_, sum)) => {
                *sum += weight;
                false
            }
            None => {
                self.others.push((vertex, weight));
                true
            }
        }
    }

    /// Takes the weight of a vertex away.
    fn take(&mut self, vertex: u32) -> Option<f64> {
        let place = self.others.iter().position(|(other, _)| *other == vertex)?;
        Some(self.others.swap_remove(place).1)
    }

    /// Leaves the vertex itself out of its mean, and makes the sum of all weights 1. A vertex to which nothing leads
    /// has 0.
    fn normalise(&mut self, own: u32) {
        self.take(own);
        let sum = self.one + self.zero + self.others.iter().map(|(_, weight)| weight).sum::<f64>();
        if sum > 0.0 {
            self.one /= sum;
            self.zero /= sum;
            self.others.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
    }

    /// The mean with the probabilities of others.
    fn value(&self, probability: &[f64]) -> f64 {
        self.one + self.others.iter().map(|&(other, weight)| weight * probability[other as usize]).sum::<f64>()
    }
}

/// The means of all vertices whose probability is not known.
#[derive(Default)]
struct Means {
    means: Vec<Mean>,
    /// Vertices whose means had a weight of each vertex at some time.
    dependents: Vec<SmallVec<[u32; 4]>>,
    /// Number of means that have a weight of each vertex.
    uses: Vec<usize>,
    is_eliminated: Vec<bool>,
    /// Vertices by the weights that their elimination replaced when they were put here.
    queues: Vec<Vec<u32>>,
}

impl Means {
    fn add(&mut self, mean: Mean) {
        self.means.push(mean);
    }

    /// The probabilities.
    fn solved(mut self) -> Vec<f64> {
        let count = self.means.len();
        self.dependents = vec![SmallVec::new(); count];
        self.uses = vec![0; count];
        self.is_eliminated = vec![false; count];
        self.queues = vec![Vec::new(); MOST_REPLACEMENTS + 1];
        for vertex in 0..count as u32 {
            self.means[vertex as usize].normalise(vertex);
            for &(other, _) in &self.means[vertex as usize].others {
                self.dependents[other as usize].push(vertex);
                self.uses[other as usize] += 1;
            }
        }
        (0..count as u32).for_each(|vertex| self.enqueue(vertex));
        let mut order = Vec::new();
        while let Some(vertex) = self.cheapest() {
            self.eliminate(vertex);
            order.push(vertex);
        }
        let mut probability = vec![0.0; count];
        let left: Vec<usize> = (0..count).filter(|&vertex| !self.is_eliminated[vertex]).collect();
        for _ in 0..MAX_SWEEPS {
            let mut has_changed = false;
            for &vertex in &left {
                let new = self.means[vertex].value(&probability);
                has_changed |= (new - probability[vertex]).abs() > ACCURACY * new;
                probability[vertex] = new;
            }
            if !has_changed {
                break;
            }
        }
        for &vertex in order.iter().rev() {
            probability[vertex as usize] = self.means[vertex as usize].value(&probability);
        }
        probability
    }

    /// Weights that the elimination of a vertex replaces.
    fn cost(&self, vertex: u32) -> usize {
        self.uses[vertex as usize] * self.means[vertex as usize].others.len()
    }

    fn enqueue(&mut self, vertex: u32) {
        let cost = self.cost(vertex);
        if let Some(queue) = self.queues.get_mut(cost) {
            queue.push(vertex);
        }
    }

    /// Takes the vertex whose elimination costs least.
    fn cheapest(&mut self) -> Option<u32> {
        loop {
            let cost = self.queues.iter().position(|queue| !queue.is_empty())?;
            let vertex = self.queues[cost].pop()?;
            // A vertex is put into a queue anew when its cost changes.
            if !self.is_eliminated[vertex as usize] && self.cost(vertex) == cost {
                return Some(vertex);
            }
        }
    }

    /// Puts the mean of a vertex in its place in the means of others.
    fn eliminate(&mut self, vertex: u32) {
        self.is_eliminated[vertex as usize] = true;
        let Mean { one, zero, others } = self.means[vertex as usize].clone();
        others.iter().for_each(|&(other, _)| self.uses[other as usize] -= 1);
        for dependent in core::mem::take(&mut self.dependents[vertex as usize]) {
            let mean = &mut self.means[dependent as usize];
            let Some(weight) = mean.take(vertex) else { continue };
            mean.one += weight * one;
            mean.zero += weight * zero;
            for &(other, inner) in others.iter().filter(|(other, _)| *other != dependent) {
                if mean.add(other, weight * inner) {
                    self.dependents[other as usize].push(dependent);
                    self.uses[other as usize] += 1;
                }
            }
            mean.normalise(dependent);
            self.enqueue(dependent);
        }
        others.iter().for_each(|&(other, _)| self.enqueue(other));
    }
}

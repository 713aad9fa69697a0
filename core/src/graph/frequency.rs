//! How often blocks run, guessed from the shape alone: a block of a loop runs more often than one outside, and a branch
//! goes each way equally often.
//!
//! ```text
//! a -> h, h -> b | c, b -> h        a 1    h 8    b 7    c 1
//! ```
//!
//! Control that comes in is 1, shared out among the entries. It flows along the edges that do not retreat. What enters a
//! loop's header is multiplied by [`Frequencies::ITERATIONS`], as if the loop ran that often; an edge that leaves loops
//! is taken that much less often than one that stays, once for each loop left. Frequencies are guesses: they compare
//! places, they count nothing. Linear in edges times the depth of loops that an edge leaves.
//!
//! Source: the loop heuristic of T. Ball and J. Larus, Branch prediction for free, PLDI 1993.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::cfg::{Cfg, Edge};
use super::loops::Loops;
use crate::ir::Block;

/// Expected executions of each block and edge, for one execution of the function.
#[derive(Clone, PartialEq, Debug)]
pub struct Frequencies {
    blocks: Vec<f64>,
    /// By edge: the probability (0–1) that its source goes on along it.
    probabilities: Vec<f64>,
}

impl Frequencies {
    /// How often a loop is taken to run each time it is entered.
    pub const ITERATIONS: f64 = 8.0;
    /// Frequencies stop growing here, so that no nest of loops is infinitely frequent: more than 300 loops deep.
    pub const MAX: f64 = 1e300;
    /// What control can reach is never less frequent: behind a nest that was too deep, nothing would seem to run.
    pub const MIN: f64 = 1e-300;

    /// The frequencies of a graph.
    pub fn compute(cfg: &Cfg, loops: &Loops) -> Frequencies {
        Frequencies::compute_with(cfg, loops, |_| None)
    }

    /// The same where something is known of branches: the probability (0–1) of each edge of a block, or of none of them.
    pub fn compute_with(cfg: &Cfg, loops: &Loops, known: impl Fn(Edge) -> Option<f64>) -> Frequencies {
        let mut probabilities = vec![0.0; cfg.edge_count()];
        let mut weights: Vec<f64> = Vec::new();
        let mut blocks = vec![0.0; cfg.block_count()];
        let share = 1.0 / cfg.entries().len().max(1) as f64;
        cfg.entries().iter().for_each(|entry| blocks[entry.index()] += share);
        for &block in cfg.reverse_postorder() {
            let around = loops.innermost(block);
            let weight = |edge: Edge| {
                let target = cfg.target(edge);
                let mut weight: f64 = 1.0;
                let mut inner = around;
                if loops.innermost(target) != around {
                    while let Some(left) = inner.filter(|&left| !loops.contains(left, target)) {
                        weight /= Frequencies::ITERATIONS - 1.0;
                        inner = loops[left].parent;
                    }
                }
                weight.max(Frequencies::MIN)
            };
            weights.clear();
            // What is alone has all, whatever its weight.
            match cfg.out_edges(block).len() {
                1 => weights.push(1.0),
                _ => weights.extend(cfg.out_edges(block).map(weight)),
            }
            let total: f64 = weights.iter().sum();
            let mut leaving: f64 = blocks[block.index()];
            if loops.headed_by(block).is_some() {
                leaving = (leaving * Frequencies::ITERATIONS).min(Frequencies::MAX);
            }
            leaving = leaving.max(Frequencies::MIN);
            blocks[block.index()] = leaving;
            for (edge, weight) in cfg.out_edges(block).zip(&weights) {
                let probability = known(edge).unwrap_or(weight / total);
                probabilities[edge.index()] = probability;
                if !cfg.is_retreating(edge) {
                    blocks[cfg.target(edge).index()] += leaving * probability;
                }
            }
        }
        Frequencies { blocks, probabilities }
    }

    /// How often a block runs for each time that its function is entered. 0 for an unreachable block.
    pub fn block(&self, block: Block) -> f64 {
        self.blocks[block.index()]
    }

    /// The probability (0–1) that control leaves the edge's source along it. 0 for an unreachable source.
    pub fn probability(&self, edge: Edge) -> f64 {
        self.probabilities[edge.index()]
    }

    /// How often an edge is taken for each time that its function is entered.
    pub fn edge(&self, cfg: &Cfg, edge: Edge) -> f64 {
        self.block(cfg.source(edge)) * self.probability(edge)
    }
}

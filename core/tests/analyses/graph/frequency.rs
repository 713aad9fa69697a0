//! Guessed frequencies: what must hold of any guess, and the picture of the header.

use proptest::prelude::*;
use warpscope_core::graph::{Frequencies, Loops};
use warpscope_core::ir::Block;

use super::random_graph::{Graph, graphs};

proptest! {
    #[test]
    fn probabilities_share_out_and_reachable_blocks_run(graph in graphs(9)) {
        let cfg = graph.cfg();
        let frequencies = Frequencies::compute(&cfg, &Loops::compute(&cfg));
        for block in graph.blocks() {
            let frequency = frequencies.block(block);
            prop_assert_eq!(frequency > 0.0, cfg.is_reachable(block));
            prop_assert!(frequency.is_finite());
            let total: f64 = cfg.out_edges(block).map(|edge| frequencies.probability(edge)).sum();
            let expected = if cfg.is_reachable(block) && !cfg.successors(block).is_empty() { 1.0 } else { 0.0 };
            prop_assert!((total - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn a_loop_runs_eight_times_and_is_left_once() {
    let cfg = Graph::new([&[1], &[2, 3], &[1], &[]]).cfg();
    let frequencies = Frequencies::compute(&cfg, &Loops::compute(&cfg));
    let found: Vec<f64> = (0..4).map(|block| frequencies.block(Block::from_u32(block)).round()).collect();
    assert_eq!(found, [1.0, 8.0, 7.0, 1.0]);
}

/// Loops in loops: headers 0 to d - 1, then the ends of the loops from the innermost on, then what comes behind.
fn nest(depth: usize) -> (Graph, usize) {
    let mut successors: Vec<Vec<usize>> = (0..depth).map(|header| vec![header + 1]).collect();
    successors.extend((0..depth).map(|end| vec![depth - 1 - end, depth + end + 1]));
    successors.push(Vec::new());
    (Graph { entries: vec![0], successors }, 2 * depth)
}

#[test]
fn deep_nests_neither_overflow_nor_vanish() {
    for depth in [1, 20, 100, 300] {
        let (graph, behind) = nest(depth);
        let cfg = graph.cfg();
        let frequencies = Frequencies::compute(&cfg, &Loops::compute(&cfg));
        let after = frequencies.block(Block::from_u32(behind as u32));
        assert!((after - 1.0).abs() < 1e-6, "{after} behind {depth} loops");
    }
    let (graph, behind) = nest(2000);
    let cfg = graph.cfg();
    let frequencies = Frequencies::compute(&cfg, &Loops::compute(&cfg));
    for block in 0..=behind {
        let frequency = frequencies.block(Block::from_u32(block as u32));
        assert!(frequency > 0.0 && frequency.is_finite(), "{frequency} in block {block}");
    }
}

//! Guessed frequencies: what must hold of any guess, and the picture of the header.

use proptest::prelude::*;
use warpscope_core::graph::{Cfg, Frequencies, Loops};
use warpscope_core::ir::Block;

use super::random_graph::{Graph, graphs};

/// Has every loop one way in, and some out?
fn are_entered_once_and_left(cfg: &Cfg, loops: &Loops) -> bool {
    let leaves = |of, block| cfg.successors(block).iter().any(|&target| !loops.contains(of, target));
    loops.iter().all(|(of, data)| !data.is_irreducible() && loops.blocks(of).iter().any(|&block| leaves(of, block)))
}

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

    #[test]
    fn what_comes_to_a_block_runs_it(graph in graphs(9)) {
        let cfg = graph.cfg();
        let loops = Loops::compute(&cfg);
        if !are_entered_once_and_left(&cfg, &loops) {
            return Ok(());
        }
        let frequencies = Frequencies::compute(&cfg, &loops);
        for &block in cfg.reverse_postorder() {
            let from_outside = cfg.entries().iter().filter(|&&entry| entry == block).count() as f64;
            let comes = cfg.in_edges(block).iter().map(|&edge| frequencies.edge(&cfg, edge)).sum::<f64>()
                + from_outside / cfg.entries().len() as f64;
            let runs = frequencies.block(block);
            prop_assert!((comes - runs).abs() <= 1e-6 * runs, "{} comes to {}, which runs {}", comes, block, runs);
        }
    }

    #[test]
    fn what_enters_loops_leaves_them(graph in graphs(9), shares in prop::collection::vec(0.05..0.95_f64, 9)) {
        let cfg = graph.cfg();
        let loops = Loops::compute(&cfg);
        if !are_entered_once_and_left(&cfg, &loops) {
            return Ok(());
        }
        let frequencies = Frequencies::compute_with(&cfg, &loops, |edge| {
            let (source, share) = (cfg.source(edge), shares[cfg.source(edge).as_u32() as usize % shares.len()]);
            (cfg.out_edges(source).len() == 2).then(|| if cfg.slot(edge) == 0 { share } else { 1.0 - share })
        });
        let ends = cfg.reverse_postorder().iter().filter(|&&block| cfg.successors(block).is_empty());
        let out: f64 = ends.map(|&block| frequencies.block(block)).sum();
        prop_assert!((out - 1.0).abs() < 1e-6, "{} comes out", out);
    }
}

#[test]
fn a_loop_that_is_left_every_other_time_runs_twice() {
    let cfg = Graph::new([&[1], &[2, 3], &[1], &[]]).cfg();
    let known = |edge| (cfg.out_edges(cfg.source(edge)).len() == 2).then_some(0.5);
    let frequencies = Frequencies::compute_with(&cfg, &Loops::compute(&cfg), known);
    let found: Vec<f64> = (0..4).map(|block| frequencies.block(Block::from_u32(block))).collect();
    assert_eq!(found, [1.0, 2.0, 1.0, 1.0]);
}

#[test]
fn behind_a_loop_with_several_ways_out_code_runs_once() {
    // 1 -> 2 -> 1, and both leave to 3.
    let cfg = Graph::new([&[1], &[2, 3], &[1, 3], &[]]).cfg();
    let frequencies = Frequencies::compute(&cfg, &Loops::compute(&cfg));
    assert!((frequencies.block(Block::from_u32(3)) - 1.0).abs() < 1e-12);
    // An eighth leaves at either: 1 / (1 - 7/8 * 7/8).
    assert!((frequencies.block(Block::from_u32(1)) - 64.0 / 15.0).abs() < 1e-12);
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

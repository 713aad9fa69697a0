//! Path numbers against an enumeration of all paths.

use proptest::prelude::*;
use std::collections::BTreeSet;
use warpscope_core::graph::{Cfg, PathNumbering, PathStep};
use warpscope_core::ir::Block;

use super::random_graph::{Graph, graphs};

/// All paths by the definition; `is_cut` adds ends.
fn enumerate(cfg: &Cfg, is_cut: impl Fn(Block) -> bool) -> BTreeSet<Vec<Block>> {
    let restarts = |edge| cfg.is_retreating(edge) || is_cut(cfg.source(edge));
    let reachable = |&block: &Block| cfg.is_reachable(block);
    let mut stack: Vec<Vec<Block>> = cfg.entries().iter().map(|&entry| vec![entry]).collect();
    let edges = cfg.edges().filter(|&edge| reachable(&cfg.source(edge)) && restarts(edge));
    stack.extend(edges.map(|edge| vec![cfg.target(edge)]));
    let mut paths = BTreeSet::new();
    while let Some(path) = stack.pop() {
        let last = *path.last().unwrap();
        for edge in cfg.out_edges(last).filter(|&edge| !restarts(edge)) {
            stack.push([&path[..], &[cfg.target(edge)]].concat());
        }
        if cfg.successors(last).is_empty() || cfg.out_edges(last).any(restarts) {
            paths.insert(path);
        }
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn numbers_and_paths_correspond_one_to_one(
        graph in graphs(7),
        max_paths in prop_oneof![Just(u64::MAX >> 20), 1u64..8],
    ) {
        let cfg = graph.cfg();
        let numbering = PathNumbering::compute_within(&cfg, max_paths);
        let expected = enumerate(&cfg, |block| numbering.cut_blocks().contains(&block));
        prop_assert_eq!(numbering.path_count(), expected.len() as u64);
        let decoded: BTreeSet<Vec<Block>> =
            (0..numbering.path_count()).map(|number| numbering.path(&cfg, number).unwrap()).collect();
        prop_assert_eq!(&decoded, &expected);
        for number in 0..numbering.path_count() {
            let path = numbering.path(&cfg, number).unwrap();
            prop_assert_eq!(numbering.number(&cfg, &path), Some(number));
        }
        prop_assert_eq!(numbering.path(&cfg, numbering.path_count()), None);
        if max_paths > 8 {
            prop_assert!(numbering.cut_blocks().is_empty());
        }
    }

    #[test]
    fn a_walk_counts_the_paths_it_takes(graph in graphs(7), choices in prop::collection::vec(0usize..3, 0..40)) {
        let cfg = graph.cfg();
        let numbering = PathNumbering::compute(&cfg);
        let mut block = cfg.entries()[0];
        let mut number = numbering.start(block).unwrap();
        let mut path = vec![block];
        for choice in choices {
            let outs = cfg.successors(block).len();
            if outs == 0 {
                break;
            }
            let edge = cfg.out_edge(block, choice % outs).unwrap();
            block = cfg.target(edge);
            match numbering.step(edge) {
                PathStep::Add(increment) => {
                    number += increment;
                    path.push(block);
                }
                PathStep::Restart(start) => {
                    prop_assert_eq!(numbering.number(&cfg, &path), Some(number));
                    path = vec![block];
                    number = start;
                }
            }
        }
        if cfg.successors(block).is_empty() {
            prop_assert_eq!(numbering.number(&cfg, &path), Some(number));
        }
    }
}

#[test]
fn a_hundred_diamonds_are_cut_instead_of_overflowing() {
    let mut successors = Vec::new();
    for at in 0..100 {
        let first = 3 * at;
        successors.extend([vec![first + 1, first + 2], vec![first + 3], vec![first + 3]]);
    }
    successors.push(vec![]);
    let cfg = Graph { entries: vec![0], successors }.cfg();
    let numbering = PathNumbering::compute(&cfg);
    assert!(!numbering.cut_blocks().is_empty());
    let last = numbering.path_count() - 1;
    let path = numbering.path(&cfg, last).unwrap();
    assert_eq!(numbering.number(&cfg, &path), Some(last));
}

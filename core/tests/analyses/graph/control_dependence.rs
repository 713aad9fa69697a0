//! Control dependence by its definition.

use proptest::prelude::*;
use warpscope_core::graph::{ControlDependence, Edge, PostDominators};
use warpscope_core::ir::Block;

use super::random_graph::{Graph, graphs};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_block_depends_on_the_edges_that_lead_to_it_for_certain_from_where_it_could_be_avoided(graph in graphs(12)) {
        let cfg = graph.cfg();
        let post_dominators = PostDominators::compute(&cfg);
        let dependence = ControlDependence::compute(&cfg, &post_dominators);
        for block in graph.blocks() {
            let expected: Vec<Edge> = cfg
                .edges()
                .filter(|&edge| {
                    cfg.successors(cfg.source(edge)).len() > 1
                        && post_dominators.post_dominates(block, cfg.target(edge))
                        && !post_dominators.strictly_post_dominates(block, cfg.source(edge))
                })
                .collect();
            prop_assert_eq!(dependence.dependences(&post_dominators, block), expected);
        }
        for edge in cfg.edges() {
            let mut found: Vec<Block> = ControlDependence::dependants(&cfg, &post_dominators, edge).collect();
            found.sort_unstable();
            let depends = |&block: &Block| dependence.dependences(&post_dominators, block).contains(&edge);
            prop_assert_eq!(found, graph.blocks().filter(depends).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_header_depends_on_the_edge_that_stays_in_the_loop() {
    // 0 -> 1; 1: br body 2, done 3; 2 -> 1.
    let cfg = Graph::new([&[1], &[2, 3], &[1], &[]]).cfg();
    let post_dominators = PostDominators::compute(&cfg);
    let dependence = ControlDependence::compute(&cfg, &post_dominators);
    let [header, body, done] = [1, 2, 3].map(|block| dependence.dependences(&post_dominators, Block::from_u32(block)));
    let stays = cfg.out_edge(Block::from_u32(1), 0).unwrap();
    assert_eq!((header, body, done), (vec![stays], vec![stays], vec![]));
}

#[test]
fn a_deep_nest_of_loops_is_stored_in_linear_space() {
    // Blocks 0..n fall through; blocks n..2n each go back to their partner or on: n loops, one in the other.
    let depth = 20_000;
    let successors = (0..depth)
        .map(|at| vec![at + 1])
        .chain(
            (0..depth).map(|at| if at + 1 < depth { vec![depth - 1 - at, depth + at + 1] } else { vec![0, 2 * depth] }),
        )
        .chain([vec![]])
        .collect();
    let cfg = Graph { entries: vec![0], successors }.cfg();
    let post_dominators = PostDominators::compute(&cfg);
    let dependence = ControlDependence::compute(&cfg, &post_dominators);
    // The innermost block runs again whenever any of the loops goes round.
    let innermost = Block::from_u32(depth as u32 - 1);
    assert_eq!(dependence.dependences(&post_dominators, innermost).len(), depth);
}

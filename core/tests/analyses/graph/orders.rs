//! Edges, orders and reachability.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use warpscope_core::graph::Cfg;
use warpscope_core::ir::Block;

use super::random_graph::{Graph, graphs};

proptest! {
    #[test]
    fn edges_in_both_directions_are_the_lists(graph in graphs(8)) {
        let cfg = graph.cfg();
        for block in graph.blocks() {
            let expected: Vec<Block> = graph.successors[block.index()].iter().map(|&b| Block::new(b)).collect();
            prop_assert_eq!(cfg.successors(block), &expected[..]);
            for (slot, edge) in cfg.out_edges(block).enumerate() {
                prop_assert_eq!((cfg.source(edge), cfg.target(edge), cfg.slot(edge)), (block, expected[slot], slot));
                prop_assert_eq!(cfg.out_edge(block, slot), Some(edge));
            }
            let into: Vec<_> = cfg.edges().filter(|&edge| cfg.target(edge) == block).collect();
            prop_assert_eq!(cfg.in_edges(block), &into[..]);
            let sources: Vec<_> = into.iter().map(|&edge| cfg.source(edge)).collect();
            prop_assert_eq!(cfg.predecessors(block), &sources[..]);
        }
    }

    #[test]
    fn reverse_postorder_holds_the_reachable_blocks_and_breaks_every_cycle(graph in graphs(8)) {
        let cfg = graph.cfg();
        let reachable = graph.reach(&graph.entries, |_| true);
        let mut order: Vec<usize> = cfg.reverse_postorder().iter().map(|block| block.index()).collect();
        for (place, &block) in order.iter().enumerate() {
            prop_assert_eq!(cfg.position(Block::new(block)), Some(place));
        }
        order.sort_unstable();
        prop_assert_eq!(order, (0..graph.len()).filter(|&block| reachable[block]).collect::<Vec<_>>());
        for edge in cfg.edges().filter(|&edge| cfg.is_reachable(cfg.source(edge))) {
            let forward = cfg.position(cfg.source(edge)) < cfg.position(cfg.target(edge));
            prop_assert_eq!(cfg.is_retreating(edge), !forward);
            if !forward {
                // A retreating edge closes a cycle.
                let (source, target) = (cfg.source(edge).index(), cfg.target(edge).index());
                prop_assert!(graph.reach(&[target], |_| true)[source]);
            }
        }
    }

    #[test]
    fn critical_edges_have_company_on_both_sides(graph in graphs(8)) {
        let cfg = graph.cfg();
        for edge in cfg.edges() {
            let outs = graph.successors[cfg.source(edge).index()].len();
            let target = cfg.target(edge).index();
            let ins = graph.successors.iter().flatten().filter(|&&to| to == target).count();
            let from_outside = usize::from(graph.entries.contains(&target));
            prop_assert_eq!(cfg.is_critical(edge), outs > 1 && ins + from_outside > 1);
        }
    }
}

#[test]
fn the_true_side_precedes_the_false_side() {
    let cfg = Graph::new([&[1, 2], &[0], &[]]).cfg();
    assert_eq!(cfg.reverse_postorder(), &[Block::new(0), Block::new(1), Block::new(2)]);
    let cfg = Graph::new([&[2, 1], &[3], &[3], &[]]).cfg();
    assert_eq!(cfg.reverse_postorder(), &[0, 2, 1, 3].map(Block::new));
}

#[test]
fn a_chain_of_a_million_blocks_does_not_exhaust_the_stack() {
    let lists: Vec<Vec<Block>> =
        (0..1_000_000).map(|at| if at < 999_999 { vec![Block::new(at + 1)] } else { vec![] }).collect();
    let cfg = Cfg::from_successors(lists.len(), &[Block::new(0)], |block| &lists[block.index()]);
    assert_eq!(cfg.reverse_postorder().len(), 1_000_000);
    let dominators = warpscope_core::graph::Dominators::compute(&cfg);
    assert!(dominators.dominates(Block::new(17), Block::new(999_999)));
    let post_dominators = warpscope_core::graph::PostDominators::compute(&cfg);
    assert!(post_dominators.post_dominates(Block::new(999_999), Block::new(17)));
}

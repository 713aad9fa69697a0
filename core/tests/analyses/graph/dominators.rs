//! Dominators and post-dominators by removing a block and looking what can still be reached.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use warpscope_core::graph::{Dominators, IteratedFrontier, PostDominators, dominance_frontier};
use warpscope_core::ir::Block;

use super::random_graph::{Graph, graphs};

/// `dominates[a][b]`: `b` is reachable from the roots, and without `a` it is not.
fn dominates_by_removal(graph: &Graph, roots: &[usize]) -> Vec<Vec<bool>> {
    let reachable = graph.reach(roots, |_| true);
    (0..graph.len())
        .map(|a| {
            let without = graph.reach(roots, |node| node != a);
            (0..graph.len()).map(|b| reachable[b] && !without[b]).collect()
        })
        .collect()
}

fn reversed(graph: &Graph) -> Graph {
    let mut successors = vec![Vec::new(); graph.len()];
    for (source, list) in graph.successors.iter().enumerate() {
        list.iter().for_each(|&target| successors[target].push(source));
    }
    Graph { entries: Vec::new(), successors }
}

/// Strictly dominates, and is dominated by everything else that does.
fn immediate(dominates: &[Vec<bool>], block: usize) -> Option<usize> {
    let strict: Vec<usize> = (0..dominates.len()).filter(|&a| a != block && dominates[a][block]).collect();
    strict.iter().copied().find(|&a| strict.iter().all(|&other| dominates[other][a]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn dominators_are_what_cannot_be_avoided(graph in graphs(9)) {
        let cfg = graph.cfg();
        let dominators = Dominators::compute(&cfg);
        let expected = dominates_by_removal(&graph, &graph.entries);
        for b in graph.blocks() {
            for a in graph.blocks() {
                prop_assert_eq!(dominators.dominates(a, b), expected[a.index()][b.index()], "{:?} over {:?}", a, b);
            }
            let idom = immediate(&expected, b.index()).map(Block::new);
            prop_assert_eq!(dominators.immediate_dominator(b), idom);
            prop_assert_eq!(dominators.contains(b), cfg.is_reachable(b));
            if cfg.is_reachable(b) {
                let above = (0..graph.len()).filter(|&a| expected[a][b.index()]).count();
                prop_assert_eq!(dominators.depth(b) as usize + 1, above);
                prop_assert_eq!(dominators.preorder()[dominators.preorder_number(b) as usize], b);
            }
            let mut children: Vec<Block> = dominators.children(b).collect();
            children.sort_unstable();
            let has_parent = |&child: &Block| dominators.immediate_dominator(child) == Some(b);
            prop_assert_eq!(children, graph.blocks().filter(has_parent).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_common_dominator_is_the_lowest_that_dominates_both(graph in graphs(9)) {
        let dominators = Dominators::compute(&graph.cfg());
        for a in graph.blocks() {
            for b in graph.blocks() {
                let both = graph.blocks().filter(|&c| dominators.dominates(c, a) && dominators.dominates(c, b));
                let lowest = both.max_by_key(|&c| dominators.depth(c));
                prop_assert_eq!(dominators.common(a, b), lowest);
            }
        }
    }

    #[test]
    fn post_dominators_cannot_be_avoided_on_the_way_to_the_end(graph in graphs(9)) {
        let cfg = graph.cfg();
        let post_dominators = PostDominators::compute(&cfg);
        let mut ends: Vec<usize> = (0..graph.len()).filter(|&b| graph.successors[b].is_empty()).collect();
        ends.extend(post_dominators.endless_loop_ends().iter().map(|block| block.index()));
        let expected = dominates_by_removal(&reversed(&graph), &ends);
        for b in graph.blocks() {
            for a in graph.blocks() {
                prop_assert_eq!(post_dominators.post_dominates(a, b), expected[a.index()][b.index()]);
            }
            let immediate = immediate(&expected, b.index()).map(Block::new);
            prop_assert_eq!(post_dominators.immediate_post_dominator(b), immediate);
            // Every block is before an end of one kind or the other.
            prop_assert!(post_dominators.contains(b));
        }
    }

    #[test]
    fn an_endless_loop_has_one_end_and_it_is_its_last_block(graph in graphs(9)) {
        let cfg = graph.cfg();
        let post_dominators = PostDominators::compute(&cfg);
        let reach: Vec<Vec<bool>> = (0..graph.len()).map(|b| graph.reach(&[b], |_| true)).collect();
        // Members of components that nothing leaves, ends apart.
        let endless =
            |b: usize| !graph.successors[b].is_empty() && (0..graph.len()).all(|c| !reach[b][c] || reach[c][b]);
        let mut expected: Vec<Block> = (0..graph.len())
            .filter(|&b| endless(b))
            .map(|b| {
                let reached = (0..graph.len()).filter(|&c| reach[b][c]).map(Block::new);
                reached.max_by_key(|&c| (cfg.position(c), c)).unwrap()
            })
            .collect();
        expected.sort_unstable();
        expected.dedup();
        let mut ends = post_dominators.endless_loop_ends().to_vec();
        ends.sort_unstable();
        prop_assert_eq!(ends, expected);
    }

    #[test]
    fn frontiers_are_where_dominance_ends(graph in graphs(9), picks in prop::collection::vec(0usize..9, 0..4)) {
        let cfg = graph.cfg();
        let dominators = Dominators::compute(&cfg);
        let frontier = |block: Block| -> Vec<Block> {
            let in_frontier = |&join: &Block| {
                cfg.predecessors(join).iter().any(|&p| dominators.dominates(block, p))
                    && !dominators.strictly_dominates(block, join)
            };
            graph.blocks().filter(in_frontier).collect()
        };
        for block in graph.blocks() {
            let mut found = dominance_frontier(&cfg, &dominators, block);
            found.sort_unstable();
            prop_assert_eq!(found, frontier(block));
        }
        for mut iterated in
            [IteratedFrontier::new(&cfg, &dominators), IteratedFrontier::walking(&cfg, &dominators)]
        {
            iterated.of(&[Block::new(0)]);
            let start: Vec<Block> = picks.iter().map(|pick| Block::new(pick % graph.len())).collect();
            let mut expected: Vec<Block> = Vec::new();
            loop {
                let sources = start.iter().chain(&expected).copied().collect::<Vec<_>>();
                let next = sources.into_iter().flat_map(frontier).find(|block| !expected.contains(block));
                let Some(next) = next else { break };
                expected.push(next);
            }
            expected.sort_unstable();
            let mut found = iterated.of(&start);
            prop_assert!(found.is_sorted_by_key(|&block| cfg.position(block)));
            found.sort_unstable();
            prop_assert_eq!(&found, &expected);
            for top in graph.blocks().filter(|&top| start.iter().all(|&block| dominators.dominates(top, block))) {
                let mut below = Vec::new();
                iterated.add_below(&mut below, &start, top);
                below.sort_unstable();
                let is_below = |join: &Block| dominators.strictly_dominates(top, *join);
                let expected_below: Vec<Block> = expected.iter().copied().filter(is_below).collect();
                prop_assert_eq!(below, expected_below);
            }
        }
    }
}

#[test]
fn lanes_that_part_in_an_endless_loop_meet_before_its_next_iteration() {
    let cfg = Graph::new([&[1], &[2, 3], &[4], &[4], &[1]]).cfg();
    let post_dominators = PostDominators::compute(&cfg);
    assert_eq!(post_dominators.immediate_post_dominator(Block::new(1)), Some(Block::new(4)));
    assert_eq!(post_dominators.endless_loop_ends(), &[Block::new(4)]);
}

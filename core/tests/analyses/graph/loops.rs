//! Loops: what must hold for any nest, and exact answers for reducible graphs.

use proptest::prelude::*;
use warpscope_core::graph::{Dominators, Edge, Loop, Loops};
use warpscope_core::ir::Block;

use super::random_graph::{Graph, graphs};

fn blocks_of(loops: &Loops, of: Loop) -> Vec<Block> {
    let mut blocks = loops.blocks(of).to_vec();
    blocks.sort_unstable();
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn outermost_loops_are_the_strongly_connected_components(graph in graphs(9)) {
        let cfg = graph.cfg();
        let loops = Loops::compute(&cfg);
        let after: Vec<Vec<bool>> = (0..graph.len()).map(|b| graph.reach(&graph.successors[b], |_| true)).collect();
        for a in graph.blocks().filter(|&a| cfg.is_reachable(a)) {
            let (i, cyclic) = (a.as_u32() as usize, after[a.as_u32() as usize][a.as_u32() as usize]);
            prop_assert_eq!(loops.depth(a) > 0, cyclic);
            let outermost = std::iter::successors(loops.innermost(a), |&inner| loops[inner].parent).last();
            if let Some(outermost) = outermost {
                let component: Vec<Block> =
                    graph.blocks().filter(|b| after[i][b.as_u32() as usize] && after[b.as_u32() as usize][i]).collect();
                prop_assert_eq!(blocks_of(&loops, outermost), component);
            }
        }
    }

    #[test]
    fn inner_loops_are_what_stays_connected_without_the_header(graph in graphs(9)) {
        let cfg = graph.cfg();
        let loops = Loops::compute(&cfg);
        for (outer, data) in loops.iter() {
            // Take the edges to the header away: inside, components with a cycle are the loops one level in.
            let header = data.header.as_u32() as usize;
            let inside = |node: usize| loops.contains(outer, Block::from_u32(node as u32)) && node != header;
            for a in (0..graph.len()).filter(|&a| inside(a)) {
                let after = graph.reach(&graph.successors[a], inside);
                let mut component: Vec<Block> = (0..graph.len())
                    .filter(|&b| after[b] && graph.reach(&graph.successors[b], inside)[a])
                    .map(|b| Block::from_u32(b as u32))
                    .collect();
                component.sort_unstable();
                let mut child = loops.innermost(Block::from_u32(a as u32));
                while let Some(inner) = child.filter(|&inner| inner != outer && loops[inner].parent != Some(outer)) {
                    child = loops[inner].parent;
                }
                match child.filter(|&inner| inner != outer) {
                    Some(inner) => prop_assert_eq!(blocks_of(&loops, inner), component),
                    None => prop_assert!(component.is_empty()),
                }
            }
        }
    }

    #[test]
    fn headers_entries_and_edges_agree_with_the_blocks(graph in graphs(9)) {
        let cfg = graph.cfg();
        let loops = Loops::compute(&cfg);
        let dominators = Dominators::compute(&cfg);
        let mut back_edges: Vec<Edge> = Vec::new();
        for (of, data) in loops.iter() {
            prop_assert_eq!(loops.blocks(of)[0], data.header);
            prop_assert_eq!(loops.headed_by(data.header), Some(of));
            back_edges.extend(&data.back_edges);
            prop_assert!(data.back_edges.iter().all(|&edge| loops.contains(of, cfg.source(edge))));
            let depth = std::iter::successors(Some(of), |&inner| loops[inner].parent).count();
            prop_assert_eq!(data.depth as usize, depth);
            let entered = |&block: &Block| {
                let outside = |&p: &Block| cfg.is_reachable(p) && !loops.contains(of, p);
                cfg.is_entry(block) || cfg.predecessors(block).iter().any(outside)
            };
            let mut entries: Vec<Block> = loops.blocks(of).iter().copied().filter(entered).collect();
            entries.sort_unstable();
            let mut found = data.entries.clone();
            prop_assert_eq!(found[0], data.header);
            found.sort_unstable();
            prop_assert_eq!(found, entries);
            let header_dominates = loops.blocks(of).iter().all(|&block| dominators.dominates(data.header, block));
            prop_assert_eq!(data.is_irreducible(), !header_dominates);
            for edge in cfg.edges().filter(|&edge| cfg.is_reachable(cfg.source(edge))) {
                let [from, to] = [cfg.source(edge), cfg.target(edge)].map(|block| loops.contains(of, block));
                prop_assert_eq!(loops.exit_edges(&cfg, of).any(|exit| exit == edge), from && !to);
                prop_assert_eq!(loops.entering_edges(&cfg, of).any(|enter| enter == edge), !from && to);
            }
        }
        back_edges.sort_unstable();
        let retreating: Vec<_> = cfg.edges().filter(|&edge| cfg.is_retreating(edge)).collect();
        prop_assert_eq!(back_edges, retreating);
        let mut order = loops.contiguous_order().to_vec();
        order.sort_unstable();
        let mut reachable = cfg.reverse_postorder().to_vec();
        reachable.sort_unstable();
        prop_assert_eq!(order, reachable);
    }
}

#[test]
fn a_loop_in_a_loop() {
    // 0 -> 1 -> 2 -> 2 | 3; 3 -> 1 | 4.
    let cfg = Graph::new([&[1], &[2], &[2, 3], &[1, 4], &[]]).cfg();
    let loops = Loops::compute(&cfg);
    let inner = loops.headed_by(Block::from_u32(2)).unwrap();
    let outer = loops.headed_by(Block::from_u32(1)).unwrap();
    assert_eq!((loops[inner].depth, loops[outer].depth, loops[inner].parent), (2, 1, Some(outer)));
    assert_eq!(blocks_of(&loops, outer), [1, 2, 3].map(Block::from_u32));
    assert_eq!(loops.depth(Block::from_u32(4)), 0);
}

//! Laws of every placement, on generated graphs: any shape, irreducible and unreachable parts included.

use proptest::prelude::*;

use super::*;

fn graph() -> impl Strategy<Value = Graph> {
    (1usize..24).prop_flat_map(|count| {
        let sizes = prop::collection::vec((20.0..220.0f64, 18.0..140.0f64), count);
        let terminators = prop::collection::vec(prop::collection::vec(0..count, 0..4), count);
        let room = prop_oneof![Just(0.0), 0.0..30.0f64];
        (sizes, terminators, room).prop_map(|(sizes, terminators, room)| {
            let nodes = (0..).zip(sizes).map(|(id, (width, height))| Node { id: id * 3, width, height }).collect();
            let mut edges = Vec::new();
            for (from, targets) in terminators.iter().enumerate() {
                for (case, &to) in targets.iter().enumerate() {
                    let kind = match (targets.len(), case) {
                        (1, _) => EdgeKind::Jump,
                        (2, 0) => EdgeKind::True,
                        (2, _) => EdgeKind::False,
                        (_, case) => EdgeKind::Case(case as u16),
                    };
                    edges.push(Edge { from, to, kind });
                }
            }
            Graph { nodes, edges, room }
        })
    })
}

/// The block's box without its rim, so that lines may touch its sides.
fn inside(rect: &Rect) -> Rect {
    Rect { x: rect.x + 0.01, y: rect.y + 0.01, width: rect.width - 0.02, height: rect.height - 0.02 }
}

proptest! {
    #[test]
    fn blocks_and_loops_do_not_overlap(graph in graph()) {
        let placement = lay_out(&graph, None);
        prop_assert_eq!(placement.blocks.len(), graph.nodes.len());
        let rects: Vec<(u32, Rect)> = placement.blocks.iter().map(|(&id, &rect)| (id, rect)).collect();
        for (index, (a, first)) in rects.iter().enumerate() {
            prop_assert!(first.x >= 0.0 && first.y >= 0.0);
            prop_assert!(first.x + first.width <= placement.width + 0.01 && first.y + first.height <= placement.height + 0.01);
            for (b, second) in &rects[index + 1..] {
                prop_assert!(!inside(first).overlaps(&inside(second)), "blocks {a} and {b} overlap");
            }
        }
        let nest = nest::find_loops(&graph);
        for (laid, region) in placement.loops.iter().zip(&nest.regions[1..]) {
            prop_assert_eq!(laid.head, graph.nodes[region.head.unwrap()].id);
            let index = nest.regions.iter().position(|r| std::ptr::eq(r, region)).unwrap();
            for (block, node) in graph.nodes.iter().enumerate() {
                let overlaps = inside(&laid.rect).overlaps(&placement.blocks[&node.id]);
                prop_assert_eq!(overlaps, nest.contains(index, block), "block {} and loop {}", node.id, laid.head);
            }
        }
    }

    #[test]
    fn routes_connect_their_blocks_and_cross_none(graph in graph()) {
        let placement = lay_out(&graph, None);
        prop_assert_eq!(placement.routes.len(), graph.edges.len());
        for (index, (route, edge)) in placement.routes.iter().zip(&graph.edges).enumerate() {
            prop_assert_eq!(route.edge, index);
            let from = placement.blocks[&graph.nodes[edge.from].id];
            let to = placement.blocks[&graph.nodes[edge.to].id];
            let (first, last) = (route.points[0], route.points[route.points.len() - 1]);
            prop_assert!((first.y - from.y - from.height).abs() < 0.01 && first.x >= from.x && first.x <= from.x + from.width);
            prop_assert!((last.y - to.y).abs() < 0.01 && last.x >= to.x && last.x <= to.x + to.width);
            prop_assert_eq!(route.back, to.y <= from.y, "an edge goes up exactly if it goes back to a loop's head");
            for pair in route.points.windows(2) {
                let horizontal = (pair[0].y - pair[1].y).abs() < 0.01;
                prop_assert!(horizontal || (pair[0].x - pair[1].x).abs() < 0.51, "{:?} is not orthogonal", route.points);
                let line = Rect {
                    x: pair[0].x.min(pair[1].x),
                    y: pair[0].y.min(pair[1].y),
                    width: (pair[0].x - pair[1].x).abs(),
                    height: (pair[0].y - pair[1].y).abs(),
                };
                for (id, rect) in &placement.blocks {
                    prop_assert!(!inside(rect).overlaps(&line), "edge {index} crosses block {id}: {:?}", route.points);
                }
            }
        }
    }

    #[test]
    fn level_parts_of_lines_keep_their_room_or_are_one(graph in graph()) {
        let placement = lay_out(&graph, None);
        let level = |route: &Route| -> Vec<(f64, f64, f64)> {
            let parts = route.points.windows(2).filter(|pair| (pair[0].y - pair[1].y).abs() < 0.01);
            parts.map(|pair| (pair[0].y, pair[0].x.min(pair[1].x), pair[0].x.max(pair[1].x))).collect()
        };
        for (index, a) in placement.routes.iter().enumerate() {
            for b in &placement.routes[index + 1..] {
                for (y, left, right) in level(a) {
                    for (other, other_left, other_right) in level(b) {
                        let between = (y - other).abs();
                        let is_beside = left < other_right && other_left < right;
                        prop_assert!(!is_beside || between < 0.01 || between >= graph.room - 0.01, "{:?} {:?}", a.points, b.points);
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_back_to_a_head_keep_their_room_or_are_one(graph in graph()) {
        let placement = lay_out(&graph, None);
        let upright = |route: &Route| -> Vec<(Point, Point)> {
            route.points.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| (a.x - b.x).abs() < 0.01).collect()
        };
        for (index, a) in placement.routes.iter().enumerate() {
            // Only there a line goes up.
            for (low, high) in upright(a).into_iter().filter(|(from, to)| to.y < from.y) {
                for b in placement.routes.iter().enumerate().filter(|&(other, _)| other != index).map(|(_, route)| route) {
                    for (from, to) in upright(b) {
                        let is_beside = from.y.min(to.y) < low.y && high.y < from.y.max(to.y);
                        let between = (low.x - from.x).abs();
                        prop_assert!(!is_beside || between < 0.01 || between >= graph.room - 0.01, "{:?} {:?}", a.points, b.points);
                    }
                }
            }
        }
    }

    #[test]
    fn the_true_edge_leaves_on_the_left(graph in graph()) {
        let placement = lay_out(&graph, None);
        for (index, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.kind == EdgeKind::True) {
            let start = |edge: usize| placement.routes[edge].points[0].x;
            prop_assert!(start(index) < start(index + 1), "block {}", graph.nodes[edge.from].id);
        }
    }

    #[test]
    fn the_same_graph_stays_where_it_is(graph in graph()) {
        let first = lay_out(&graph, None);
        prop_assert_eq!(&first, &lay_out(&graph, None));
        let again = lay_out(&graph, Some(&first));
        for (id, rect) in &first.blocks {
            prop_assert!((rect.x - again.blocks[id].x).abs() < 0.01 && (rect.y - again.blocks[id].y).abs() < 0.01, "block {id} moved");
        }
    }
}

/// The natural loops of a reducible nest are found, with their headers as heads.
#[test]
fn nested_loops_have_their_headers_as_heads() {
    // 0 → 1 → 2 → 3 → 2 | 1 | 4
    let graph = chain(5, &[(3, 2), (3, 1), (3, 4)]);
    let nest = nest::find_loops(&graph);
    let heads: Vec<Option<usize>> = nest.regions.iter().map(|region| region.head).collect();
    assert_eq!(heads, [None, Some(1), Some(2)]);
    assert_eq!(nest.home, [0, 1, 2, 2, 0]);
}

/// Both ways into an irreducible loop end at their own block; the head is one of the two.
#[test]
fn an_irreducible_loop_has_two_ways_in() {
    let graph = Graph {
        nodes: (0..3).map(|id| Node { id, width: 60.0, height: 30.0 }).collect(),
        edges: vec![
            Edge { from: 0, to: 1, kind: EdgeKind::True },
            Edge { from: 0, to: 2, kind: EdgeKind::False },
            Edge { from: 1, to: 2, kind: EdgeKind::Jump },
            Edge { from: 2, to: 1, kind: EdgeKind::Jump },
        ],
        room: 0.0,
    };
    let placement = lay_out(&graph, None);
    assert_eq!(placement.loops.len(), 1);
    assert_eq!(placement.routes.iter().filter(|route| route.back).count(), 1);
}

/// A block that disappears leaves the order of the others as it was.
#[test]
fn the_others_keep_their_order_when_a_block_goes() {
    let fan = |ids: &[u32]| Graph {
        nodes: ids.iter().map(|&id| Node { id, width: 80.0, height: 30.0 }).collect(),
        edges: (1..ids.len() as u16)
            .map(|case| Edge { from: 0, to: case.into(), kind: EdgeKind::Case(case - 1) })
            .collect(),
        room: 0.0,
    };
    let before = lay_out(&fan(&[0, 5, 3, 9, 7]), None);
    let after = lay_out(&fan(&[0, 5, 9, 7]), Some(&before));
    let order = |placement: &Placement| {
        let mut ids: Vec<u32> = placement.blocks.keys().copied().filter(|&id| id != 0 && id != 3).collect();
        ids.sort_by(|a, b| placement.blocks[a].x.total_cmp(&placement.blocks[b].x));
        ids
    };
    assert_eq!(order(&before), order(&after));
}

/// Deep nests and very long edges take neither the stack nor quadratic space.
#[test]
fn ladders_of_thousands_of_blocks_are_laid_out() {
    let count = 3000;
    let exits: Vec<(usize, usize)> = (0..count / 2).map(|block| (block, count - 1 - block)).collect();
    let placement = lay_out(&chain(count, &exits), None);
    assert_eq!(placement.blocks.len(), count);
}

/// Blocks 0 → 1 → … and these edges besides.
fn chain(count: usize, more: &[(usize, usize)]) -> Graph {
    let nodes = (0..count).map(|id| Node { id: id as u32, width: 60.0, height: 30.0 }).collect();
    let steps = (1..count).filter(|to| !more.iter().any(|&(from, _)| from + 1 == *to && more.contains(&(from, *to))));
    let edges = steps.map(|to| (to - 1, to)).chain(more.iter().copied());
    let mut edges: Vec<Edge> = edges.map(|(from, to)| Edge { from, to, kind: EdgeKind::Jump }).collect();
    edges.sort_by_key(|edge| edge.from);
    Graph { nodes, edges, room: 0.0 }
}

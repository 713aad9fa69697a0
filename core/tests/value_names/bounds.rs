//! Estimators on random graphs and random runs: the count of reuse along the runs lies within all bounds, and each
//! estimator is at least as tight as the one before.

use warpscope_core::graph::{Cfg, Edge};
use warpscope_core::ir::{Block, Module};
use warpscope_core::profile::estimate::{EdgeCounts, Estimator, Weighted, estimate};
use warpscope_core::text;
use warpscope_core::vng::{Flow, Foundation, ThreadGraph, ValueNameGraph, VertexKind, VngOptions};

/// Graphs that an everyday run checks.
const GRAPHS: u64 = 20_000;

/// Numbers that look random and are always the same.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A program of a few blocks that load, store, and give `j` another value.
pub(super) fn program(random: &mut Random, has_names: bool) -> (String, usize) {
    let blocks = 3 + random.below(8);
    let mut text =
        String::from("kernel q(c: pred, i: s32, k: s32, A: ptr.global) {\nstart:\n    j = mov.s32 i\n    br b0\n");
    for block in 0..blocks {
        text.push_str(&format!("b{block}:\n"));
        let kinds = if has_names { 9 } else { 6 };
        text.push_str(match random.below(kinds) {
            0 | 1 => "    x = ld.global.s32 A[i]\n",
            2 => "    st.global.s32 A[k], 1\n",
            3 => "    st.global.s32 A[i], 1\n",
            6 => "    y = ld.global.s32 A[j]\n",
            7 => "    j = mov.s32 i\n",
            8 => "    j = mov.s32 k\n",
            _ => "",
        });
        if block + 1 == blocks {
            text.push_str("    ret\n");
            continue;
        }
        // Mostly forward, sometimes back or beyond: loops with several entries occur.
        let mut target = || match random.below(5) {
            0 => random.below(blocks),
            _ => (block + 1 + random.below(3)).min(blocks - 1),
        };
        let (first, second) = (target(), target());
        match first == second {
            true => text.push_str(&format!("    br b{first}\n")),
            false => text.push_str(&format!("    br c, b{first}, b{second}\n")),
        }
    }
    text.push_str("}\n");
    (text, blocks)
}

/// Edges of a random run; None if it does not end soon.
pub(super) fn run(cfg: &Cfg, entry: Block, random: &mut Random) -> Option<Vec<Edge>> {
    let (mut edges, mut at) = (Vec::new(), entry);
    while edges.len() < 60 {
        let out: Vec<Edge> = cfg.out_edges(at).collect();
        if out.is_empty() {
            return Some(edges);
        }
        let edge = out[random.below(out.len())];
        edges.push(edge);
        at = cfg.target(edge);
    }
    None
}

/// Reuse along a run: one bit for each vertex is carried along the threads.
pub(super) fn reuse(graph: &ThreadGraph, cfg: &Cfg, entry: Block, run: &[Edge]) -> u64 {
    let mut order: Vec<_> = graph.vertices.keys().collect();
    let is_gap = |vertex| graph.vertices[vertex].kind == VertexKind::Pass;
    // A gap begins where the instruction before it ends.
    order.sort_by_key(|&vertex| (graph.vertices[vertex].place, !is_gap(vertex)));
    let mut bits = vec![false; graph.vertices.len()];
    let mut count = 0;
    let mut block = entry;
    for step in 0..=run.len() {
        let came = if step == 0 { Flow::Entry(entry) } else { Flow::Edge(run[step - 1]) };
        let before = bits.clone();
        for &vertex in order.iter().filter(|&&vertex| graph.vertices[vertex].block == block) {
            let data = &graph.vertices[vertex];
            let at = vertex.as_u32() as usize;
            let edges = data.incoming.iter().map(|&edge| graph.edges[edge as usize]);
            let value = |from: usize, kind: VertexKind, bits: &[bool]| match kind {
                VertexKind::Pass => bits[from],
                VertexKind::Kill(_) => false,
                _ => true,
            };
            for edge in edges {
                let is_taken = edge.flow == came || edge.flow == Flow::Block(block);
                if is_taken {
                    let source = if edge.flow == came { &before } else { &bits };
                    bits[at] =
                        edge.from.is_ok_and(|from| value(from.as_u32() as usize, graph.vertices[from].kind, source));
                }
            }
            count += u64::from(matches!(data.kind, VertexKind::User(_)) && bits[at]);
        }
        if let Some(&edge) = run.get(step) {
            block = cfg.target(edge);
        }
    }
    count
}

fn check(source: &str, module: &Module, random: &mut Random) -> bool {
    let func = module.funcs.values().next().expect("one kernel");
    let foundation = Foundation::compute(module, func, VngOptions::default());
    let cfg = foundation.cfg();
    let entry = cfg.entries()[0];
    let built = ValueNameGraph::build(&foundation);
    let mut edges = vec![0u64; cfg.edge_count()];
    let mut exact = 0;
    let wanted = 1 + random.below(6);
    for _ in 0..wanted {
        let Some(run) = run(cfg, entry, random) else { continue };
        let lanes = 1 + random.below(9) as u64;
        run.iter().for_each(|edge| edges[edge.as_u32() as usize] += lanes);
        exact += lanes * reuse(&built.graph, cfg, entry, &run);
    }
    if edges.iter().all(|&count| count == 0) {
        return false;
    }
    let counts = EdgeCounts::of_runs(cfg, edges.clone()).expect("whole runs");
    let weighted = Weighted { cfg, graph: &built.graph, facts: &built.facts, counts: &counts };
    let estimates = estimate(weighted, &Estimator::ALL);
    let low = |at: usize| estimates.iter().map(|estimate| estimate.bounds[at].low).sum::<u64>();
    let high = |at: usize| estimates.iter().map(|estimate| estimate.bounds[at].high).sum::<u64>();
    let expected: f64 = estimates.iter().map(|estimate| estimate.expected).sum();
    let definite: u64 = estimates.iter().map(|estimate| estimate.value.definite).sum();
    let bounds: Vec<(u64, u64)> = (0..5).map(|at| (low(at), high(at))).collect();
    let context = || {
        format!("exact {exact}, expected {expected}, definite {definite}, bounds {bounds:?}, edges {edges:?}\n{source}")
    };
    for (at, &(low, high)) in bounds.iter().enumerate() {
        assert!(low <= exact && exact <= high, "estimator {at} does not hold: {}", context());
        let slack = 1e-6 * high as f64 + 1e-6;
        assert!(low as f64 - slack <= expected && expected <= high as f64 + slack, "expected reuse: {}", context());
    }
    for at in 1..4 {
        let (wide, tight) = (bounds[at], bounds[at + 1]);
        assert!(wide.0 <= tight.0 && tight.1 <= wide.1, "estimator {} is wider: {}", at + 1, context());
    }
    assert!(definite <= exact, "{}", context());
    true
}

fn check_graphs(has_names: bool) {
    let graphs = std::env::var("GRAPHS").ok().and_then(|count| count.parse().ok()).unwrap_or(GRAPHS);
    let mut checked = 0;
    for seed in 0..graphs {
        let mut random = Random(seed);
        let (source, _) = program(&mut random, has_names);
        let parsed = text::parse(&source);
        checked += u64::from(check(&source, &parsed.module, &mut random));
    }
    assert!(checked > graphs / 2, "only {checked} of {graphs} graphs have runs");
}

#[test]
fn bounds_hold_for_one_name() {
    check_graphs(false);
}

#[test]
fn bounds_hold_for_several_names() {
    check_graphs(true);
}

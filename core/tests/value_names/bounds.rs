//! Estimators on random graphs and random runs: the count of reuse along the runs lies within all bounds, and each
//! estimator is at least as tight as the one before. Bounds by executed paths hold as well, and are as tight as
//! those by edges where each value has one name.

use std::collections::BTreeMap;

use warpscope_core::graph::{Cfg, Edge, PathNumbering, PathStep};
use warpscope_core::ir::{Block, Function, Module};
use warpscope_core::profile::estimate::{
    CountsError, EdgeCounts, Estimate, Estimator, ExecutedPaths, FlagPlan, Moment, PathGraph, Weighted, estimate,
};
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

/// Adds the acyclic paths of a run.
fn add_paths(cfg: &Cfg, entry: Block, run: &[Edge], lanes: u64, paths: &mut BTreeMap<Vec<Block>, u64>) {
    let numbering = PathNumbering::compute(cfg);
    let mut path = vec![entry];
    for &edge in run {
        if let PathStep::Restart(_) = numbering.step(edge) {
            *paths.entry(std::mem::take(&mut path)).or_default() += lanes;
        }
        path.push(cfg.target(edge));
    }
    *paths.entry(path).or_default() += lanes;
}

/// Sums of estimates.
struct Sums {
    /// Bounds of each estimator.
    bounds: Vec<(u64, u64)>,
    best: (u64, u64),
    expected: f64,
    definite: u64,
}

impl Sums {
    fn of(estimates: &[Estimate]) -> Sums {
        let pair = |bounds: &dyn Fn(&Estimate) -> (u64, u64)| {
            estimates.iter().map(bounds).fold((0, 0), |sum, (low, high)| (sum.0 + low, sum.1 + high))
        };
        let of = |at: usize| pair(&|estimate| (estimate.bounds[at].low, estimate.bounds[at].high));
        Sums {
            bounds: (0..Estimator::ALL.len()).map(of).collect(),
            best: pair(&|estimate| (estimate.best.low, estimate.best.high)),
            expected: estimates.iter().map(|estimate| estimate.expected).sum(),
            definite: estimates.iter().map(|estimate| estimate.value.definite).sum(),
        }
    }

    /// Checks that the exact count and the expected one are within all bounds, and that these tighten.
    fn check(&self, exact: u64, context: &dyn Fn() -> String) {
        let Sums { bounds, best, expected, definite } = self;
        for (at, &(low, high)) in bounds.iter().chain([best]).enumerate() {
            assert!(low <= exact && exact <= high, "estimator {at} does not hold: {bounds:?}, {}", context());
        }
        for &(low, high) in bounds {
            let slack = 1e-6 * high as f64 + 1e-6;
            let is_within = low as f64 - slack <= *expected && *expected <= high as f64 + slack;
            assert!(is_within, "expected reuse {expected}: {bounds:?}, {}", context());
        }
        for at in 1..4 {
            let (wide, tight) = (bounds[at], bounds[at + 1]);
            assert!(wide.0 <= tight.0 && tight.1 <= wide.1, "estimator {} is wider: {bounds:?}, {}", at + 1, context());
        }
        assert!(*definite <= exact, "definite {definite}: {}", context());
    }
}

/// The counters of a plan, added, after a run.
fn counted(plan: &FlagPlan, func: &Function, cfg: &Cfg, entry: Block, run: &[Edge]) -> u64 {
    let (mut flags, mut counts) = (vec![0; plan.flags], vec![0; plan.counters]);
    let mut apply = |moment: Moment| {
        if let Some(actions) = plan.at(moment) {
            actions.apply(1, &mut flags, &mut counts);
        }
    };
    apply(Moment::Entry(entry));
    let mut block = entry;
    for step in 0..=run.len() {
        (0..func.block_insts(block).count()).for_each(|place| apply(Moment::Inst(block, place as u32)));
        if let Some(&edge) = run.get(step) {
            apply(Moment::Edge(edge));
            block = cfg.target(edge);
        }
    }
    counts.iter().sum()
}

fn check(source: &str, module: &Module, random: &mut Random, has_names: bool) -> bool {
    let func = module.funcs.values().next().expect("one kernel");
    let foundation = Foundation::compute(module, func, VngOptions::default());
    let cfg = foundation.cfg();
    let entry = cfg.entries()[0];
    let built = ValueNameGraph::build(&foundation);
    let mut edges = vec![0u64; cfg.edge_count()];
    let mut paths: BTreeMap<Vec<Block>, u64> = BTreeMap::new();
    let mut exact = 0;
    let mut runs: Vec<(Vec<Edge>, u64)> = Vec::new();
    let wanted = 1 + random.below(6);
    for _ in 0..wanted {
        let Some(run) = run(cfg, entry, random) else { continue };
        let lanes = 1 + random.below(9) as u64;
        run.iter().for_each(|edge| edges[edge.as_u32() as usize] += lanes);
        add_paths(cfg, entry, &run, lanes, &mut paths);
        exact += lanes * reuse(&built.graph, cfg, entry, &run);
        runs.push((run, lanes));
    }
    if edges.iter().all(|&count| count == 0) {
        return false;
    }
    let counts = EdgeCounts::of_runs(cfg, edges.clone()).expect("whole runs");
    let weighted = Weighted { cfg, graph: &built.graph, facts: &built.facts, counts: &counts };
    let by_edges = estimate(weighted, &Estimator::ALL);
    let context = || format!("exact {exact}, edges {edges:?}, paths {paths:?}\n{source}");
    let of_edges = Sums::of(&by_edges);
    of_edges.check(exact, &context);

    let (full, _) = FlagPlan::of_gaps(cfg, &built.graph);
    let regions = FlagPlan::of_regions(weighted, by_edges.iter().map(|estimate| &estimate.value));
    let count =
        |plan: &FlagPlan| runs.iter().map(|(run, lanes)| lanes * counted(plan, func, cfg, entry, run)).sum::<u64>();
    assert_eq!(count(&full), exact, "flags at all gaps: {}", context());
    assert_eq!(of_edges.definite + count(&regions), exact, "flags at regions: {}", context());

    let list: Vec<(Vec<Block>, u64)> = paths.iter().map(|(path, &count)| (path.clone(), count)).collect();
    let executed = ExecutedPaths::of_runs(cfg, list.clone(), Some(edges.clone())).expect("whole paths");
    let graph = PathGraph::build(&executed, cfg, &built.graph).expect("a small graph");
    let of_paths = Sums::of(&graph.estimate(&Estimator::ALL, &by_edges, &built.graph.values()));
    of_paths.check(exact, &context);
    assert!(of_edges.best.0 <= of_paths.best.0 && of_paths.best.1 <= of_edges.best.1, "{}", context());
    if !has_names {
        assert!(of_edges.definite <= of_paths.definite, "{}", context());
        for (at, (wide, tight)) in of_edges.bounds.iter().zip(&of_paths.bounds).enumerate() {
            let is_within = wide.0 <= tight.0 && tight.1 <= wide.1;
            assert!(is_within, "estimator {at}: {wide:?} by edges, {tight:?} by paths, {}", context());
        }
    }
    // Without counts of edges they are the same, or the paths leave them open.
    match ExecutedPaths::of_runs(cfg, list, None) {
        Ok(reconstructed) => assert_eq!(reconstructed.edges, executed.edges, "{}", context()),
        Err(error) => assert!(matches!(error, CountsError::SeveralWaysOn(_)), "{error:?}, {}", context()),
    }
    true
}

fn check_graphs(has_names: bool) {
    let graphs = std::env::var("GRAPHS").ok().and_then(|count| count.parse().ok()).unwrap_or(GRAPHS);
    let mut checked = 0;
    for seed in 0..graphs {
        let mut random = Random(seed);
        let (source, _) = program(&mut random, has_names);
        let parsed = text::parse(&source);
        checked += u64::from(check(&source, &parsed.module, &mut random, has_names));
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

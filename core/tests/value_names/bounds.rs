//! Estimators on random graphs and random runs: the count of reuse along the runs lies within all bounds, and each
//! estimator is at least as tight as the one before. Bounds by executed paths hold as well, and are as tight as
//! those by edges where each value has one name. In half of the graphs runs may end in calls.

use std::collections::BTreeMap;

use warpscope_core::flow::EndingCalls;
use warpscope_core::graph::{Cfg, Edge, PathNumbering, PathStep};
use warpscope_core::ir::{Block, Function, Inst, Module};
use warpscope_core::profile::estimate::{
    CountsError, EdgeCounts, EndedPath, Endings, Estimate, Estimator, ExecutedPaths, FlagPlan, Moment, PathGraph,
    Weighted, estimate,
};
use warpscope_core::profile::{Count, FunctionProfile};
use warpscope_core::text;
use warpscope_core::vng::{Flow, Foundation, Kills, ThreadGraph, ValueNameGraph, VertexKind, VngOptions};

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

/// A function in which lanes may end.
const CALLEE: &str = "func f(c: pred) {\nf0:\n    br c, f1, f2\nf1:\n    exit\nf2:\n    ret\n}\n";

/// A program of a few blocks that load, store, give `j` another value, and perhaps call a function in which lanes may
/// end.
pub(super) fn program(random: &mut Random, has_names: bool, has_calls: bool) -> (String, usize) {
    let blocks = 3 + random.below(8);
    let mut text =
        String::from("kernel q(c: pred, i: s32, k: s32, A: ptr.global) {\nstart:\n    j = mov.s32 i\n    br b0\n");
    for block in 0..blocks {
        text.push_str(&format!("b{block}:\n"));
        let call = |random: &mut Random| match has_calls.then(|| random.below(8)) {
            Some(0) => "    call f(c)\n",
            Some(1) => "    @c call f(c)\n",
            _ => "",
        };
        text.push_str(call(random));
        text.push_str(call(random));
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
        text.push_str(call(random));
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
    if has_calls {
        text.push_str(CALLEE);
    }
    (text, blocks)
}

/// The options for such a program. Calls kill nothing, so that values live across them.
pub(super) fn options(has_calls: bool) -> VngOptions {
    VngOptions { kills: if has_calls { Kills::None } else { Kills::Analysis }, ..VngOptions::default() }
}

/// A run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Run {
    pub(super) edges: Vec<Edge>,
    /// The number of the call in its last block that it ends in, if it does.
    pub(super) ended: Option<u32>,
}

/// A random run; None if it does not end soon.
pub(super) fn run(cfg: &Cfg, calls: &EndingCalls, entry: Block, random: &mut Random) -> Option<Run> {
    let (mut edges, mut at) = (Vec::new(), entry);
    while edges.len() < 60 {
        let ended = (0..calls.of_block(at).len() as u32).find(|_| random.below(5) == 0);
        let out: Vec<Edge> = cfg.out_edges(at).collect();
        if out.is_empty() || ended.is_some() {
            return Some(Run { edges, ended });
        }
        let edge = out[random.below(out.len())];
        edges.push(edge);
        at = cfg.target(edge);
    }
    None
}

/// Reuse along a run: one bit for each vertex is carried along the threads.
pub(super) fn reuse(graph: &ThreadGraph, cfg: &Cfg, entry: Block, Run { edges: run, ended }: &Run) -> u64 {
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
        let is_last = step == run.len();
        for &vertex in order.iter().filter(|&&vertex| graph.vertices[vertex].block == block) {
            let data = &graph.vertices[vertex];
            if is_last && ended.is_some_and(|call| data.part > call) {
                continue;
            }
            let at = vertex.as_u32() as usize;
            let edges = data.incoming.iter().map(|&edge| graph.edges[edge as usize]);
            let value = |from: usize, kind: VertexKind, bits: &[bool]| match kind {
                VertexKind::Pass => bits[from],
                VertexKind::Kill(_) => false,
                _ => true,
            };
            for edge in edges {
                let is_taken = edge.flow == came || matches!(edge.flow, Flow::Block(at, _) if at == block);
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

/// Acyclic paths of runs.
#[derive(Default, Debug)]
struct Paths {
    whole: BTreeMap<Vec<Block>, u64>,
    /// Those that end in calls, with the numbers of these.
    ended: BTreeMap<(Vec<Block>, u32), u64>,
}

impl Paths {
    /// Adds the paths of a run.
    fn add(&mut self, cfg: &Cfg, entry: Block, run: &Run, lanes: u64) {
        let numbering = PathNumbering::compute(cfg);
        let mut path = vec![entry];
        for &edge in &run.edges {
            if let PathStep::Restart(_) = numbering.step(edge) {
                *self.whole.entry(std::mem::take(&mut path)).or_default() += lanes;
            }
            path.push(cfg.target(edge));
        }
        match run.ended {
            Some(call) => *self.ended.entry((path, call)).or_default() += lanes,
            None => *self.whole.entry(path).or_default() += lanes,
        }
    }

    fn whole(&self) -> Vec<(Vec<Block>, u64)> {
        self.whole.iter().map(|(path, &count)| (path.clone(), count)).collect()
    }

    fn ended(&self) -> Vec<EndedPath> {
        let path = |((blocks, call), &count): (&(Vec<Block>, u32), &u64)| EndedPath {
            blocks: blocks.clone(),
            call: *call as usize,
            count,
        };
        self.ended.iter().map(path).collect()
    }

    /// The profile that runs would measure, as far as it is about paths that end in calls.
    fn profile(&self, calls: &EndingCalls) -> FunctionProfile {
        let inst =
            |path: &[Block], call: u32| -> Inst { calls.of_block(*path.last().expect("a block"))[call as usize].inst };
        let ended = self
            .ended
            .iter()
            .map(|((path, call), &lanes)| ((path.clone(), inst(path, *call)), Count { lanes, warps: lanes }));
        FunctionProfile { ended: ended.collect(), ..FunctionProfile::default() }
    }
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
fn counted(plan: &FlagPlan, func: &Function, foundation: &Foundation<'_>, entry: Block, run: &Run) -> u64 {
    let cfg = foundation.cfg();
    let (mut flags, mut counts) = (vec![0; plan.flags], vec![0; plan.counters]);
    let mut apply = |moment: Moment| {
        if let Some(actions) = plan.at(moment) {
            actions.apply(1, &mut flags, &mut counts);
        }
    };
    apply(Moment::Entry(entry));
    let mut block = entry;
    for &edge in &run.edges {
        for place in 0..func.block_insts(block).count() as u32 {
            apply(Moment::Before(block, place));
            apply(Moment::After(block, place));
        }
        apply(Moment::Edge(edge));
        block = cfg.target(edge);
    }
    let last = run.ended.map(|call| foundation.ending_calls().of_block(block)[call as usize].place);
    for place in 0..last.map_or(func.block_insts(block).count() as u32, |call| call + 1) {
        apply(Moment::Before(block, place));
        if Some(place) != last {
            apply(Moment::After(block, place));
        }
    }
    counts.iter().sum()
}

fn check(source: &str, module: &Module, random: &mut Random, (has_names, has_calls): (bool, bool)) -> bool {
    let func = module.funcs.values().next().expect("one kernel");
    let foundation = Foundation::compute(module, func, options(has_calls));
    let (cfg, calls) = (foundation.cfg(), foundation.ending_calls());
    let entry = cfg.entries()[0];
    let built = ValueNameGraph::build(&foundation);
    let mut edges = vec![0u64; cfg.edge_count()];
    let mut paths = Paths::default();
    let mut exact = 0;
    let mut runs: Vec<(Run, u64)> = Vec::new();
    let wanted = 1 + random.below(6);
    for _ in 0..wanted {
        let Some(run) = run(cfg, calls, entry, random) else { continue };
        let lanes = 1 + random.below(9) as u64;
        run.edges.iter().for_each(|edge| edges[edge.as_u32() as usize] += lanes);
        paths.add(cfg, entry, &run, lanes);
        exact += lanes * reuse(&built.graph, cfg, entry, &run);
        runs.push((run, lanes));
    }
    if edges.iter().all(|&count| count == 0) {
        return false;
    }
    let measured = paths.profile(calls);
    let endings = Endings { calls, measured: Some(&measured) };
    let counts = EdgeCounts::of_runs(cfg, edges.clone(), endings).expect("whole runs");
    // Counts of edges alone say the same, or they leave open where lanes end.
    match EdgeCounts::of_runs(cfg, edges.clone(), Endings { calls, measured: None }) {
        Ok(of_edges) => assert_eq!(of_edges, counts, "{source}"),
        Err(error) => assert!(matches!(error, CountsError::UnknownEnds(_)), "{error:?}\n{source}"),
    }
    let weighted = Weighted { cfg, graph: &built.graph, facts: &built.facts, counts: &counts };
    let by_edges = estimate(weighted, &Estimator::ALL);
    let context = || format!("exact {exact}, edges {edges:?}, paths {paths:?}\n{source}");
    let of_edges = Sums::of(&by_edges);
    of_edges.check(exact, &context);

    let (full, _) = FlagPlan::of_gaps(cfg, &built.graph);
    let regions = FlagPlan::of_regions(weighted, by_edges.iter().map(|estimate| &estimate.value));
    let count = |plan: &FlagPlan| {
        runs.iter().map(|(run, lanes)| lanes * counted(plan, func, &foundation, entry, run)).sum::<u64>()
    };
    assert_eq!(count(&full), exact, "flags at all gaps: {}", context());
    assert_eq!(of_edges.definite + count(&regions), exact, "flags at regions: {}", context());

    let executed = ExecutedPaths::of_runs(cfg, paths.whole(), paths.ended(), Some(edges.clone())).expect("whole paths");
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
    match ExecutedPaths::of_runs(cfg, paths.whole(), paths.ended(), None) {
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
        let has_calls = seed % 2 == 1;
        let (source, _) = program(&mut random, has_names, has_calls);
        let parsed = text::parse(&source);
        checked += u64::from(check(&source, &parsed.module, &mut random, (has_names, has_calls)));
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

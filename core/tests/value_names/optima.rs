//! Estimators against all possibilities on small graphs: every set of runs with the same counts of edges, and every
//! set of insertions.
//!
//! For one name without loops both ends of CMP4 are reuse that runs attain, and the lower one is what the cheapest
//! insertion saves. In loops an end may need a round that belongs to no run; with splits insertion saves more than is
//! reused. There the gap is measured.

use std::collections::BTreeMap;

use warpscope_core::flow::EndingCalls;
use warpscope_core::graph::{Cfg, Edge, FlowNetwork};
use warpscope_core::ir::Block;
use warpscope_core::profile::estimate::{EdgeCounts, Endings, Estimator, Interval, Weighted, estimate};
use warpscope_core::profile::{Count, FunctionProfile};
use warpscope_core::text;
use warpscope_core::vng::{Foundation, ThreadGraph, ValueNameGraph, Vertex, VertexKind, VngOptions};

use super::bounds::{Random, Run, options, program, reuse, run};

/// Runs of a profile; the sets of runs with the same counts are all enumerated.
const MAX_RUNS: usize = 4;

/// Steps of an enumeration, after which the profile is left out.
const MAX_STEPS: usize = 20_000;

/// Edges up to which all sets of insertions are enumerated.
const MAX_INSERTIONS: usize = 12;

/// All sets of runs that together pass each edge, and end in each call, a given number of times.
struct Decompositions<'a> {
    graph: &'a ThreadGraph,
    cfg: &'a Cfg,
    entry: Block,
    left: Vec<u64>,
    left_to_end: Ended,
    steps: usize,
    least: u64,
    most: u64,
}

impl Decompositions<'_> {
    /// The least and the most reuse; None if there are too many sets.
    fn range(graph: &ThreadGraph, cfg: &Cfg, case: &Case) -> Option<(u64, u64)> {
        let (entry, left, left_to_end) = (cfg.entries()[0], case.counts.clone(), case.ended.clone());
        let mut all = Decompositions { graph, cfg, entry, left, left_to_end, steps: 0, least: u64::MAX, most: 0 };
        all.add_run(case.runs, &Run::default(), 0);
        (all.steps < MAX_STEPS).then_some((all.least, all.most))
    }

    /// Adds a run that is not before the last one, in the order of edges.
    fn add_run(&mut self, runs: usize, last: &Run, reused: u64) {
        if runs == 0 {
            if self.left.iter().chain(self.left_to_end.values()).all(|&count| count == 0) {
                (self.least, self.most) = (self.least.min(reused), self.most.max(reused));
            }
            return;
        }
        self.extend(runs, &mut Run::default(), last, reused);
    }

    /// A run is complete.
    fn finish(&mut self, runs: usize, path: &Run, last: &Run, reused: u64) {
        if path >= last {
            let more = reuse(self.graph, self.cfg, self.entry, path);
            self.add_run(runs - 1, path, reused + more);
        }
    }

    fn extend(&mut self, runs: usize, path: &mut Run, last: &Run, reused: u64) {
        self.steps += 1;
        if self.steps >= MAX_STEPS {
            return;
        }
        let at = path.edges.last().map_or(self.entry, |&edge| self.cfg.target(edge));
        let ends: Vec<(Block, u32)> = self.left_to_end.range((at, 0)..=(at, u32::MAX)).map(|(&end, _)| end).collect();
        for end in ends {
            if self.left_to_end[&end] > 0 {
                *self.left_to_end.entry(end).or_default() -= 1;
                path.ended = Some(end.1);
                self.finish(runs, path, last, reused);
                path.ended = None;
                *self.left_to_end.entry(end).or_default() += 1;
            }
        }
        let out: Vec<Edge> = self.cfg.out_edges(at).collect();
        if out.is_empty() {
            self.finish(runs, path, last, reused);
        }
        for edge in out {
            let index = edge.as_u32() as usize;
            if self.left[index] > 0 {
                self.left[index] -= 1;
                path.edges.push(edge);
                self.extend(runs, path, last, reused);
                path.edges.pop();
                self.left[index] += 1;
            }
        }
    }
}

/// Runs that end in each call, by its block and number there.
type Ended = BTreeMap<(Block, u32), u64>;

/// A random program with a profile of few runs.
struct Case {
    source: String,
    options: VngOptions,
    counts: Vec<u64>,
    ended: Ended,
    runs: usize,
}

impl Case {
    fn random(seed: u64, has_names: bool, is_wanted: impl Fn(&Cfg) -> bool) -> Option<Case> {
        let mut random = Random(seed);
        let has_calls = seed.is_multiple_of(3);
        let (source, _) = program(&mut random, has_names, has_calls);
        let parsed = text::parse(&source);
        let func = parsed.module.funcs.values().next()?;
        let calls = EndingCalls::compute(&parsed.module, func);
        let cfg = Cfg::compute(func);
        if !is_wanted(&cfg) {
            return None;
        }
        let mut counts = vec![0; cfg.edge_count()];
        let mut ended = Ended::new();
        let mut runs = 0;
        for _ in 0..1 + random.below(MAX_RUNS) {
            let Some(run) = run(&cfg, &calls, cfg.entries()[0], &mut random) else { continue };
            run.edges.iter().for_each(|edge| counts[edge.as_u32() as usize] += 1);
            if let (Some(call), Some(&edge)) = (run.ended, run.edges.last()) {
                *ended.entry((cfg.target(edge), call)).or_default() += 1;
            }
            runs += 1;
        }
        (runs > 0).then_some(Case { source, options: options(has_calls), counts, ended, runs })
    }

    /// Calls `check` with the graph, its counts and the bounds of CMP4.
    fn with_graph<R>(&self, check: impl FnOnce(Weighted<'_>, Interval) -> R) -> R {
        let parsed = text::parse(&self.source);
        let func = parsed.module.funcs.values().next().expect("one kernel");
        let foundation = Foundation::compute(&parsed.module, func, self.options);
        let built = ValueNameGraph::build(&foundation);
        let calls = foundation.ending_calls();
        let ended = self.ended.iter().map(|(&(block, call), &lanes)| {
            let inst = calls.of_block(block)[call as usize].inst;
            ((vec![block], inst), Count { lanes, warps: lanes })
        });
        let measured = FunctionProfile { ended: ended.collect(), ..FunctionProfile::default() };
        let endings = Endings { calls, measured: Some(&measured) };
        let counts = EdgeCounts::of_runs(foundation.cfg(), self.counts.clone(), endings).expect("whole runs");
        let weighted = Weighted { cfg: foundation.cfg(), graph: &built.graph, facts: &built.facts, counts: &counts };
        let bounds = estimate(weighted, &[Estimator::Cmp4]).iter().fold(Interval::default(), |sum, estimate| {
            Interval { low: sum.low + estimate.bounds[0].low, high: sum.high + estimate.bounds[0].high }
        });
        check(weighted, bounds)
    }

    /// Reuse that some runs attain below the upper bound and above the lower one; None if there are too many runs.
    fn gaps(&self) -> Option<(u64, u64)> {
        self.with_graph(|weighted, bounds| {
            let Weighted { cfg, graph, .. } = weighted;
            let (least, most) = Decompositions::range(graph, cfg, self)?;
            assert!(bounds.low <= least && most <= bounds.high, "{bounds:?}, {least} to {most}\n{}", self.source);
            Some((least - bounds.low, bounds.high - most))
        })
    }
}

fn is_acyclic(cfg: &Cfg) -> bool {
    (0..cfg.edge_count()).all(|edge| !cfg.is_retreating(Edge::from_u32(edge as u32)))
}

fn graphs() -> u64 {
    std::env::var("GRAPHS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000)
}

#[test]
fn runs_attain_both_ends_for_one_name_without_loops() {
    let mut checked = 0;
    for case in (0..graphs()).filter_map(|seed| Case::random(seed, false, is_acyclic)) {
        let Some(gaps) = case.gaps() else { continue };
        assert_eq!(gaps, (0, 0), "edges {:?}\n{}", case.counts, case.source);
        checked += 1;
    }
    assert!(checked > graphs() / 10, "only {checked} graphs were checked");
}

#[test]
fn gap_for_one_name_is_at_most_the_executed_retreating_edges() {
    let mut checked = 0;
    for case in (0..graphs()).filter_map(|seed| Case::random(seed, false, |cfg| !is_acyclic(cfg))) {
        let Some((below, above)) = case.gaps() else { continue };
        let executed = case.with_graph(|weighted, _| {
            let edges = (0..weighted.cfg.edge_count() as u32).map(Edge::from_u32);
            edges.filter(|edge| weighted.cfg.is_retreating(*edge) && case.counts[edge.as_u32() as usize] > 0).count()
                as u64
        });
        assert!(below.max(above) <= executed, "{below} and {above}, edges {:?}\n{}", case.counts, case.source);
        checked += 1;
    }
    assert!(checked > graphs() / 20, "only {checked} graphs were checked");
}

/// The distribution is printed by `--nocapture`; that all runs are within the bounds is checked.
#[test]
fn bounds_hold_all_runs_for_several_names() {
    let mut gaps: BTreeMap<u64, usize> = BTreeMap::new();
    for case in (0..graphs()).filter_map(|seed| Case::random(seed, true, is_acyclic)) {
        if let Some((below, above)) = case.gaps() {
            *gaps.entry(below.max(above)).or_default() += 1;
        }
    }
    println!("widest gap of a graph: graphs {gaps:?}");
    assert!(gaps.contains_key(&0));
}

/// The edges on which an insertion is paid, and whether it makes each executed user available.
struct Insertions<'a> {
    weighted: Weighted<'a>,
    paid: Vec<usize>,
}

impl<'a> Insertions<'a> {
    fn new(weighted: Weighted<'a>) -> Insertions<'a> {
        let paid = (0..weighted.graph.edges.len())
            .filter(|&edge| {
                let edge = &weighted.graph.edges[edge];
                weighted.counts.of(edge.flow) > 0 && !is_generated(weighted.graph, edge.from.ok())
            })
            .collect();
        Insertions { weighted, paid }
    }

    /// Is every user that runs available on all executed ways, with insertions on these edges?
    fn suffice(&self, inserted: impl Fn(usize) -> bool) -> bool {
        let Weighted { graph, counts, .. } = self.weighted;
        let is_gap = |vertex: Vertex| graph.vertices[vertex].kind == VertexKind::Pass;
        // Vertices that something is missing at.
        let mut missing: Vec<bool> = vec![false; graph.vertices.len()];
        loop {
            let before = missing.clone();
            for (at, edge) in self.paid.iter().map(|&edge| (edge, &graph.edges[edge])) {
                let comes_missing = match edge.from {
                    Ok(from) if is_gap(from) => missing[from.as_u32() as usize],
                    _ => true,
                };
                missing[edge.to.as_u32() as usize] |= comes_missing && !inserted(at);
            }
            if missing == before {
                let users = graph.vertices.iter().filter(|(_, data)| matches!(data.kind, VertexKind::User(_)));
                let executed = users.filter(|(_, data)| counts.part(data.block, data.part) > 0);
                return executed.into_iter().all(|(user, _)| !missing[user.as_u32() as usize]);
            }
        }
    }

    fn cheapest(&self) -> u64 {
        let count = |edge: usize| self.weighted.counts.of(self.weighted.graph.edges[edge].flow);
        let sets = 0u32..1 << self.paid.len();
        let costs = sets.filter_map(|set| {
            let is_in =
                |edge: usize| self.paid.iter().position(|&paid| paid == edge).is_some_and(|at| set >> at & 1 == 1);
            self.suffice(is_in).then(|| self.paid.iter().filter(|&&edge| is_in(edge)).map(|&edge| count(edge)).sum())
        });
        costs.min().expect("insertions on all edges suffice")
    }

    /// That cost by one minimum cut through the whole graph.
    fn least_cut(&self) -> u64 {
        let Weighted { graph, counts, .. } = self.weighted;
        let count = graph.vertices.len();
        let mut network = FlowNetwork::new(count + 2);
        for edge in &graph.edges {
            let from = match edge.from {
                Ok(from) if graph.vertices[from].kind == VertexKind::Pass => from.as_u32() as usize,
                from if is_generated(graph, from.ok()) => continue,
                _ => count,
            };
            network.add_edge(from, edge.to.as_u32() as usize, counts.of(edge.flow));
        }
        let users = graph.vertices.iter().filter(|(_, data)| matches!(data.kind, VertexKind::User(_)));
        for (user, _) in users {
            network.add_edge(user.as_u32() as usize, count + 1, u64::MAX);
        }
        network.max_flow(count, count + 1).value() as u64
    }
}

/// Is the value made known at this source of an edge?
fn is_generated(graph: &ThreadGraph, from: Option<Vertex>) -> bool {
    from.is_some_and(|from| !matches!(graph.vertices[from].kind, VertexKind::Pass | VertexKind::Kill(_)))
}

#[test]
fn cheapest_insertion_saves_the_lower_bound() {
    let mut checked = 0;
    for case in (0..graphs()).filter_map(|seed| Case::random(seed, false, |_| true)) {
        checked += case.with_graph(|weighted, bounds| {
            let insertions = Insertions::new(weighted);
            if insertions.paid.len() > MAX_INSERTIONS {
                return 0;
            }
            let users: u64 = estimate(weighted, &[]).iter().map(|estimate| estimate.value.executions).sum();
            let saved = users - insertions.cheapest();
            assert_eq!(saved, users - insertions.least_cut(), "edges {:?}\n{}", case.counts, case.source);
            assert_eq!(saved, bounds.low, "edges {:?}\n{}", case.counts, case.source);
            1
        });
    }
    assert!(checked > graphs() / 10, "only {checked} graphs were checked");
}

//! Value name graphs and estimates of the programs that passes are measured on.

use warpscope_core::graph::{Cfg, Edge};
use warpscope_core::ir::{Function, Module};
use warpscope_core::profile::estimate::{EdgeCounts, Endings, Estimator, Weighted, estimate};
use warpscope_core::vng::{Foundation, ValueNameGraph, VngOptions};

use crate::inputs::{Inputs, Random};
use crate::programs::{self, for_each_pass_input};
use crate::report::{self, Asked};

/// Share of the time of `ssrqp` on the same programs.
const ASKED_OF_VNG: Asked = Asked::AtMost(1.5);

/// Share of the time of the graph that estimates are made of.
const ASKED_OF_ESTIMATE: Asked = Asked::AtMost(0.5);

/// Walks through a function that its counts are made of.
const WALKS: usize = 100;

/// Blocks of a walk, after which it goes to the exit as fast as it can.
const WANDERING: usize = 200;

/// Measures what the command line selects.
pub fn measure() {
    for_each_pass_input("vng", |name, inputs| {
        let build = |module: &Module, func: &Function| {
            let foundation = Foundation::compute(module, func, VngOptions::default());
            ValueNameGraph::build(&foundation).graph.vertices.len()
        };
        let work = || bodies(inputs).map(|(module, func)| build(module, func)).sum::<usize>();
        let ours = report::time(name, Some(inputs.size), "ns/instruction", inputs.instructions(), None, work);
        let theirs = programs::time_of("ssrqp", &format!("{name}, ssrqp beside"), inputs);
        report::print(
            &format!("{name}, share of ssrqp"),
            Some(inputs.size),
            ours / theirs,
            "of the time",
            Some(ASKED_OF_VNG),
        );
        ours
    });
    for_each_pass_input("estimate", |name, inputs| {
        let foundations: Vec<Foundation<'_>> =
            bodies(inputs).map(|(module, func)| Foundation::compute(module, func, VngOptions::default())).collect();
        let counts: Vec<EdgeCounts> = foundations.iter().map(counts).collect();
        let graphs: Vec<ValueNameGraph<'_>> = foundations.iter().map(ValueNameGraph::build).collect();
        let (size, count) = (Some(inputs.size), inputs.instructions());
        let graph = report::time(&format!("{name}, graphs beside"), size, "ns/instruction", count, None, || {
            let build = |(module, func)| {
                let foundation = Foundation::compute(module, func, VngOptions::default());
                ValueNameGraph::build(&foundation).graph.vertices.len()
            };
            bodies(inputs).map(build).sum::<usize>()
        });
        let time = report::time(name, size, "ns/instruction", count, None, || {
            let all = foundations.iter().zip(&graphs).zip(&counts);
            let work = all.map(|((foundation, graph), counts)| {
                let weighted = Weighted { cfg: foundation.cfg(), graph: &graph.graph, facts: &graph.facts, counts };
                estimate(weighted, &Estimator::ALL).len()
            });
            work.sum::<usize>()
        });
        report::print(&format!("{name}, share of vng"), size, time / graph, "of the time", Some(ASKED_OF_ESTIMATE));
        time
    });
}

/// The programs with the functions that are measured.
fn bodies(inputs: &Inputs) -> impl Iterator<Item = (&Module, &Function)> {
    inputs.programs.iter().map(|program| (&program.module, &program.module.funcs[program.func]))
}

/// Counts of random walks through a function.
fn counts(foundation: &Foundation<'_>) -> EdgeCounts {
    let cfg = foundation.cfg();
    let mut random = Random(1);
    let mut edges = vec![0; cfg.edge_count()];
    let distance = distances(cfg);
    for _ in 0..WALKS {
        let mut at = cfg.entries()[0];
        for step in 0.. {
            let out: Vec<Edge> = cfg.out_edges(at).collect();
            let Some(&first) = out.first() else { break };
            let edge = match step < WANDERING {
                true => out[random.below(out.len())],
                false => {
                    out.into_iter().min_by_key(|&edge| distance[cfg.target(edge).as_u32() as usize]).unwrap_or(first)
                }
            };
            if distance[cfg.target(edge).as_u32() as usize] == usize::MAX {
                break;
            }
            edges[edge.as_u32() as usize] += 1;
            at = cfg.target(edge);
        }
    }
    let endings = Endings { calls: foundation.ending_calls(), measured: None };
    EdgeCounts::of_runs(cfg, edges, endings).expect("walks are whole runs")
}

/// Edges from each block to the nearest exit.
fn distances(cfg: &Cfg) -> Vec<usize> {
    let mut distance = vec![usize::MAX; cfg.block_count()];
    let mut queue: Vec<_> =
        cfg.reverse_postorder().iter().copied().filter(|&block| cfg.out_edges(block).len() == 0).collect();
    queue.iter().for_each(|block| distance[block.as_u32() as usize] = 0);
    let mut next = 0;
    while let Some(&block) = queue.get(next) {
        next += 1;
        for &before in cfg.predecessors(block) {
            if distance[before.as_u32() as usize] == usize::MAX {
                distance[before.as_u32() as usize] = distance[block.as_u32() as usize] + 1;
                queue.push(before);
            }
        }
    }
    distance
}

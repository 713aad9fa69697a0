//! Graph analyses on graphs of three kinds, and dataflow on the programs over them.

use warpscope_core::flow::{Divergence, DivergenceInput, Liveness, ValueUses, Values};
use warpscope_core::graph::{Cfg, ControlDependence, Dominators, Loops, PathNumbering, PostDominators};
use warpscope_core::ir::Block;

use crate::inputs::{GRAPHS, Input, PROGRAMS, SIZES, cfg};
use crate::report::{self, Asked};

/// Nanoseconds a block that are asked of the dominators.
const ASKED_OF_DOMINATORS: Asked = Asked::AtMost(60.0);

/// What is measured in graphs.
const GRAPH_ANALYSES: [&str; 6] =
    ["cfg", "dominators", "post-dominators", "loops", "control dependence", "path numbering"];

/// What is measured in programs.
const DATAFLOW: [&str; 4] = ["value names", "value uses", "liveness", "divergence"];

/// Prints what the analyses cost that the command line asks for: of graphs a block, of programs an instruction.
pub fn measure() {
    for analysis in GRAPH_ANALYSES {
        for (kind, graph) in GRAPHS {
            let name = format!("{analysis}, {kind}");
            if report::chosen(&name) {
                SIZES.into_iter().for_each(|size| self::graph(analysis, &name, size, &graph(size)));
            }
        }
    }
    let name = "dominators, generated";
    if report::chosen(name) {
        for size in SIZES {
            let input = Input::new("generated", size);
            let cfg = Cfg::compute(&input.module.funcs[input.func]);
            let asked = Some(ASKED_OF_DOMINATORS);
            report::time(name, Some(size), "ns/block", cfg.block_count(), asked, || Dominators::compute(&cfg));
        }
    }
    for analysis in DATAFLOW {
        for kind in PROGRAMS {
            let name = format!("{analysis}, {kind}");
            if report::chosen(&name) {
                SIZES.into_iter().for_each(|size| dataflow(analysis, &name, &Input::new(kind, size)));
            }
        }
    }
}

fn graph(analysis: &str, name: &str, size: usize, lists: &[Vec<Block>]) {
    let cfg = cfg(lists);
    let time = |asked: Option<Asked>, work: &mut dyn FnMut()| {
        report::time(name, Some(size), "ns/block", size, asked, work);
    };
    match analysis {
        "cfg" => time(None, &mut || drop(crate::inputs::cfg(lists))),
        "dominators" => time(Some(ASKED_OF_DOMINATORS), &mut || drop(Dominators::compute(&cfg))),
        "post-dominators" => time(None, &mut || drop(PostDominators::compute(&cfg))),
        "loops" => time(None, &mut || drop(Loops::compute(&cfg))),
        "control dependence" => {
            let post_dominators = PostDominators::compute(&cfg);
            time(None, &mut || drop(ControlDependence::compute(&cfg, &post_dominators)));
        }
        _ => time(None, &mut || drop(PathNumbering::compute(&cfg))),
    }
}

fn dataflow(analysis: &str, name: &str, input: &Input) {
    let func = &input.module.funcs[input.func];
    let cfg = Cfg::compute(func);
    let dominators = Dominators::compute(&cfg);
    let post_dominators = PostDominators::compute(&cfg);
    let values = Values::compute(func, &cfg, &dominators);
    let uses = ValueUses::compute(func, &values);
    let time = |work: &mut dyn FnMut()| {
        report::time(name, Some(input.size), "ns/instruction", func.inst_count(), None, work);
    };
    match analysis {
        "value names" => time(&mut || drop(Values::compute(func, &cfg, &dominators))),
        "value uses" => time(&mut || drop(ValueUses::compute(func, &values))),
        "liveness" => time(&mut || drop(Liveness::compute(func, &cfg))),
        _ => time(&mut || {
            drop(Divergence::compute(DivergenceInput {
                func,
                cfg: &cfg,
                dominators: &dominators,
                post_dominators: &post_dominators,
                values: &values,
                uses: &uses,
            }));
        }),
    }
}

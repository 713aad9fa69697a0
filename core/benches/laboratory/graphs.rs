//! Graph analyses on graphs of three kinds, and dataflow on the programs over them.

use warpscope_core::flow::{Divergence, DivergenceInput, Liveness, ValueUses, Values};
use warpscope_core::graph::{Cfg, ControlDependence, Dominators, Loops, PathNumbering, PostDominators};
use warpscope_core::ir::{Block, Function};

use crate::inputs::{self, GRAPHS, Inputs, PROGRAMS, SIZES};
use crate::report::{self, Asked};

/// Nanoseconds a block that are asked of the dominators.
const ASKED_OF_DOMINATORS: Asked = Asked::AtMost(60.0);

/// Measurements on graphs.
const GRAPH_ANALYSES: [&str; 6] =
    ["cfg", "dominators", "post-dominators", "loops", "control dependence", "path numbering"];

/// Measurements on programs.
const DATAFLOW: [&str; 4] = ["value names", "value uses", "liveness", "divergence"];

/// Prints the cost of the analyses that the command line selects: nanoseconds a block of graphs, and an instruction of
/// programs.
pub fn measure() {
    for analysis in GRAPH_ANALYSES {
        for (kind, graph) in GRAPHS {
            let name = format!("{analysis}, {kind}");
            if report::turn(&name) {
                SIZES.into_iter().for_each(|size| self::graphs(analysis, &name, size, &inputs::graphs(graph, size)));
            }
        }
    }
    let name = "dominators, generated";
    if report::turn(name) {
        for size in SIZES {
            let inputs = Inputs::new("generated", size);
            let cfgs: Vec<Cfg> = inputs.kernels().map(Cfg::compute).collect();
            let blocks = cfgs.iter().map(Cfg::block_count).sum();
            let work = || cfgs.iter().for_each(|cfg| drop(Dominators::compute(cfg)));
            report::time(name, Some(size), "ns/block", blocks, Some(ASKED_OF_DOMINATORS), work);
        }
    }
    for analysis in DATAFLOW {
        for kind in PROGRAMS {
            let name = format!("{analysis}, {kind}");
            if report::turn(&name) {
                SIZES.into_iter().for_each(|size| dataflow(analysis, &name, &Inputs::new(kind, size)));
            }
        }
    }
}

fn graphs(analysis: &str, name: &str, size: usize, lists: &[Vec<Vec<Block>>]) {
    let cfgs: Vec<Cfg> = lists.iter().map(|lists| inputs::cfg(lists)).collect();
    let blocks = cfgs.iter().map(Cfg::block_count).sum();
    let time = |asked: Option<Asked>, work: &mut dyn FnMut()| {
        report::time(name, Some(size), "ns/block", blocks, asked, work);
    };
    let for_each = |asked: Option<Asked>, work: fn(&Cfg)| time(asked, &mut || cfgs.iter().for_each(work));
    match analysis {
        "cfg" => time(None, &mut || lists.iter().for_each(|lists| drop(inputs::cfg(lists)))),
        "dominators" => for_each(Some(ASKED_OF_DOMINATORS), |cfg| drop(Dominators::compute(cfg))),
        "post-dominators" => for_each(None, |cfg| drop(PostDominators::compute(cfg))),
        "loops" => for_each(None, |cfg| drop(Loops::compute(cfg))),
        "control dependence" => {
            let known: Vec<_> = cfgs.iter().map(|cfg| (cfg, PostDominators::compute(cfg))).collect();
            let work = |(cfg, post_dominators): &(&Cfg, _)| drop(ControlDependence::compute(cfg, post_dominators));
            time(None, &mut || known.iter().for_each(work));
        }
        _ => for_each(None, |cfg| drop(PathNumbering::compute(cfg))),
    }
}

/// A function, and the inputs of its dataflow analyses.
struct Known<'a> {
    func: &'a Function,
    cfg: Cfg,
    dominators: Dominators,
    post_dominators: PostDominators,
    values: Values,
    uses: ValueUses,
}

impl Known<'_> {
    fn new(func: &Function) -> Known<'_> {
        let cfg = Cfg::compute(func);
        let dominators = Dominators::compute(&cfg);
        let post_dominators = PostDominators::compute(&cfg);
        let values = Values::compute(func, &cfg, &dominators);
        let uses = ValueUses::compute(func, &values);
        Known { func, cfg, dominators, post_dominators, values, uses }
    }
}

fn dataflow(analysis: &str, name: &str, inputs: &Inputs) {
    let all: Vec<Known> = inputs.kernels().map(Known::new).collect();
    let count = all.iter().map(|known| known.func.inst_count()).sum();
    let for_each = |work: fn(&Known)| {
        report::time(name, Some(inputs.size), "ns/instruction", count, None, || all.iter().for_each(work));
    };
    match analysis {
        "value names" => for_each(|known| drop(Values::compute(known.func, &known.cfg, &known.dominators))),
        "value uses" => for_each(|known| drop(ValueUses::compute(known.func, &known.values))),
        "liveness" => for_each(|known| drop(Liveness::compute(known.func, &known.cfg))),
        _ => for_each(|known| {
            drop(Divergence::compute(DivergenceInput {
                func: known.func,
                cfg: &known.cfg,
                dominators: &known.dominators,
                post_dominators: &known.post_dominators,
                loops: &Loops::compute(&known.cfg),
                values: &known.values,
                uses: &known.uses,
            }));
        }),
    }
}

//! A function as the boxes and arrows of a control-flow graph.

use std::collections::BTreeMap;
use std::rc::Rc;

use cranelift_entity::EntityRef;
use warpscope_core::compact_sort::CompactSort;
use warpscope_core::flow::{Divergence, DivergenceInput, Subject, ValueUses, Values};
use warpscope_core::graph::{Cfg, ControlDependence, Dominators, Loops, PostDominators};
use warpscope_core::ir::{Block, Func, Function, Inst, Module, Op};
use warpscope_core::query::{Reach, Region, Shape};
use warpscope_core::text::Printed;

use crate::message::{EdgeKind, Graph, GraphBlock, GraphEdge, GraphLine};

/// Draws `func` of a module that was printed. `is_new` says which lines of the text, from 1, the change made.
pub fn draw(module: &Module, func: Func, printed: &Printed, is_new: impl Fn(usize) -> bool) -> Graph {
    let body = &module.funcs[func];
    let cfg = Cfg::compute(body);
    let lanes = Lanes::of(body, &cfg);
    let text: Vec<&str> = printed.text.lines().collect();
    let mut graph = Graph::default();
    let index: BTreeMap<usize, usize> = body.block_order().enumerate().map(|(at, block)| (block.index(), at)).collect();
    for (from, block) in body.block_order().enumerate() {
        let line_of = |inst: Inst| {
            let line = printed.lines.inst_line(func, inst)? as usize;
            let text = without_comment(text.get(line - 1)?).to_owned();
            let divergent = lanes.values.defined(inst).iter().find_map(|&value| lanes.why(body, Subject::Value(value)));
            Some(GraphLine { inst: inst.as_u32(), text, line, changed: is_new(line), is_current: false, divergent })
        };
        graph.blocks.push(GraphBlock {
            id: block.index() as u32,
            name: body.blocks[block].name.clone(),
            lines: body.block_insts(block).filter_map(line_of).collect(),
            divergent: lanes.why(body, Subject::Branch(block)),
            reachable: cfg.is_reachable(block),
            is_current: false,
            depends_on: lanes.depends_on(block).filter_map(|branch| index.get(&branch.index()).copied()).collect(),
            kept_out_by: lanes.region.kept_out_by(block).and_then(|branch| index.get(&branch.index()).copied()),
        });
        let terminator = body.terminator(block).map(|inst| body.insts[inst].opcode.op);
        for (slot, target) in body.successors(block).iter().enumerate() {
            let kind = match (terminator, slot) {
                (Some(Op::BrIf), 0) => EdgeKind::True,
                (Some(Op::BrIf), _) => EdgeKind::False,
                (Some(Op::Switch | Op::CallTo), slot) => EdgeKind::Case(u16::try_from(slot).unwrap_or(u16::MAX)),
                _ => EdgeKind::Jump,
            };
            // A target that stands nowhere in the text has no box to lead to.
            if let Some(&to) = index.get(&target.index()) {
                graph.edges.push(GraphEdge { from, to, kind });
            }
        }
    }
    graph
}

/// Links of a chain of causes that are told. Where everything depends on what came before, each of many thousand lines
/// has a chain of hundreds.
const MOST_CAUSES: usize = 8;

/// Blocks whose branches decide about one block, of which more are not told.
const MOST_DECIDING: usize = 8;

/// Divergent values of a warp, and the branches that decide what runs.
struct Lanes {
    values: Values,
    divergence: Divergence,
    shape: Shape,
    region: Region,
}

impl Lanes {
    fn of(func: &Function, cfg: &Cfg) -> Lanes {
        let dominators = Dominators::compute(cfg);
        let post_dominators = PostDominators::compute(cfg);
        let values = Values::compute(func, cfg, &dominators);
        let uses = ValueUses::compute(func, &values);
        let divergence = Divergence::compute(DivergenceInput {
            func,
            cfg,
            dominators: &dominators,
            post_dominators: &post_dominators,
            loops: &Loops::compute(cfg),
            values: &values,
            uses: &uses,
        });
        let control_dependence = Rc::new(ControlDependence::compute(cfg, &post_dominators));
        let shape = Shape { cfg: Rc::new(cfg.clone()), post_dominators: Rc::new(post_dominators), control_dependence };
        let region = Region::new(Some(shape.clone()), divergence.divergent_branches(), Reach::Transitive);
        Lanes { values, divergence, shape, region }
    }

    /// The blocks whose branches decide whether a block runs, each once.
    fn depends_on(&self, block: Block) -> impl Iterator<Item = Block> {
        let mut branches: Vec<Block> = self.shape.branches(block).collect();
        branches.compact_sort();
        branches.dedup();
        branches.into_iter().take(MOST_DECIDING)
    }

    /// The chain of causes, in sentences; none for something uniform.
    fn why(&self, func: &Function, subject: Subject) -> Option<String> {
        let chain = self.divergence.explain(subject);
        let told = chain.iter().take(MOST_CAUSES).map(|link| format!("{}.", link.sentence(func, &self.values)));
        let mut sentences: Vec<String> = told.collect();
        if chain.len() > MOST_CAUSES {
            sentences.push(format!("And so on, over {} more.", chain.len() - MOST_CAUSES));
        }
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(text, _)| text).trim()
}

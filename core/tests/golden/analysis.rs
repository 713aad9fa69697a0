//! Analyses printed block by block, so that a person can check them against the program.

use std::fmt::Write;

use libtest_mimic::Failed;
use warpscope_core::alias::{AliasAnalysis, Moment, Relation};
use warpscope_core::flow::{
    Divergence, DivergenceInput, Liveness, ReachingDefinition, ReachingDefinitions, Subject, ValueUses, Values,
};
use warpscope_core::graph::{Cfg, ControlDependence, Dominators, Loops, PostDominators, dominance_frontier};
use warpscope_core::ir::{Block, Function, Module, Reg};
use warpscope_core::symbolic::{AffineNames, Overflow};
use warpscope_core::text::instruction_text;

/// Runs the analysis of that name on each function.
pub fn run(name: &str, module: &Module) -> Result<String, Failed> {
    let analyse: fn(&Module, &Function) -> String = match name {
        "orders" => |_, func| orders(func),
        "dominators" => |_, func| dominators(func),
        "post-dominators" => |_, func| post_dominators(func),
        "loops" => |_, func| loops(func),
        "control-dependence" => |_, func| control_dependence(func),
        "liveness" => |_, func| liveness(func),
        "reaching-definitions" => reaching_definitions,
        "values" => value_names,
        "divergence" => divergence,
        "alias" => alias,
        _ => return Err(format!("there is no analysis `{name}`").into()),
    };
    let mut text = String::new();
    for func in module.funcs.values() {
        let _ = write!(text, "{}:\n{}", func.name, analyse(module, func));
    }
    Ok(text)
}

fn label(func: &Function, block: Block) -> &str {
    &func.blocks[block].name
}

fn labels(func: &Function, blocks: impl IntoIterator<Item = Block>) -> String {
    let labels: Vec<&str> = blocks.into_iter().map(|block| label(func, block)).collect();
    if labels.is_empty() { "-".to_string() } else { labels.join(" ") }
}

/// One line a block, in text order.
fn each_block(func: &Function, mut line: impl FnMut(Block) -> String) -> String {
    func.block_order().map(|block| format!("    {}: {}\n", label(func, block), line(block))).collect()
}

fn orders(func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let critical: Vec<String> = cfg
        .critical_edges()
        .map(|edge| format!("{}->{}", label(func, cfg.source(edge)), label(func, cfg.target(edge))))
        .collect();
    format!(
        "    reverse postorder: {}\n    critical edges: {}\n",
        labels(func, cfg.reverse_postorder().iter().copied()),
        if critical.is_empty() { "-".to_string() } else { critical.join(" ") }
    )
}

fn dominators(func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let dominators = Dominators::compute(&cfg);
    each_block(func, |block| {
        if !cfg.is_reachable(block) {
            return "unreachable".to_string();
        }
        format!(
            "immediate {}, frontier {}",
            labels(func, dominators.immediate_dominator(block)),
            labels(func, dominance_frontier(&cfg, &dominators, block))
        )
    })
}

fn post_dominators(func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let post_dominators = PostDominators::compute(&cfg);
    each_block(func, |block| format!("immediate {}", labels(func, post_dominators.immediate_post_dominator(block))))
}

fn loops(func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let loops = Loops::compute(&cfg);
    let mut text = String::new();
    for (id, data) in loops.iter() {
        let back: Vec<Block> = data.back_edges.iter().map(|&edge| cfg.source(edge)).collect();
        let _ = writeln!(
            text,
            "    {}: depth {}{}, blocks {}, back edges from {}, entries {}",
            label(func, data.header),
            data.depth,
            if data.is_irreducible() { ", irreducible" } else { "" },
            labels(func, loops.blocks(id).iter().copied()),
            labels(func, back),
            labels(func, data.entries.iter().copied()),
        );
    }
    if text.is_empty() { "    no loops\n".to_string() } else { text }
}

fn control_dependence(func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let post_dominators = PostDominators::compute(&cfg);
    let dependence = ControlDependence::compute(&cfg, &post_dominators);
    each_block(func, |block| {
        let edges: Vec<String> = dependence
            .dependences(&post_dominators, block)
            .into_iter()
            .map(|edge| format!("{}->{}", label(func, cfg.source(edge)), label(func, cfg.target(edge))))
            .collect();
        if edges.is_empty() { "-".to_string() } else { edges.join(" ") }
    })
}

fn registers(func: &Function, regs: impl IntoIterator<Item = Reg>) -> String {
    let mut names: Vec<&str> = regs.into_iter().map(|reg| func.regs[reg].name.as_str()).collect();
    names.sort_unstable();
    if names.is_empty() { "-".to_string() } else { names.join(" ") }
}

fn liveness(func: &Function) -> String {
    let liveness = Liveness::compute(func, &Cfg::compute(func));
    each_block(func, |block| {
        let (live_in, live_out) = (liveness.live_in(block), liveness.live_out(block));
        format!("in {}, out {}", registers(func, live_in), registers(func, live_out))
    })
}

/// One line an instruction that has something to say, under a line a block.
fn each_inst(
    module: &Module,
    func: &Function,
    mut line: impl FnMut(warpscope_core::ir::Inst) -> Option<String>,
) -> String {
    let mut text = String::new();
    for block in func.block_order() {
        let _ = writeln!(text, "    {}:", label(func, block));
        for inst in func.block_insts(block) {
            if let Some(said) = line(inst) {
                let _ = writeln!(text, "        {}: {said}", instruction_text(module, func, inst));
            }
        }
    }
    text
}

fn reaching_definitions(module: &Module, func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let values = Values::compute(func, &cfg, &Dominators::compute(&cfg));
    let reaching = ReachingDefinitions::new(&values);
    let place = |definition: &ReachingDefinition| match definition {
        ReachingDefinition::Entry => "entry".to_string(),
        ReachingDefinition::Inst { inst, .. } => format!("`{}`", instruction_text(module, func, *inst)),
    };
    each_inst(module, func, |inst| {
        let uses = func.insts[inst].uses();
        let said: Vec<String> = uses
            .iter()
            .enumerate()
            .map(|(index, &reg)| {
                let definitions: Vec<String> = reaching.of_use(inst, index).iter().map(place).collect();
                format!("{} from {}", func.regs[reg].name, definitions.join(", "))
            })
            .collect();
        (!said.is_empty()).then(|| said.join("; "))
    })
}

fn value_names(module: &Module, func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let values = Values::compute(func, &cfg, &Dominators::compute(&cfg));
    let mut text = String::new();
    for block in func.block_order() {
        for join in values.joins(block) {
            let args: Vec<String> = values.join_args(join).iter().map(|arg| arg.value.to_string()).collect();
            let reg = &func.regs[values.reg(join)].name;
            let _ = writeln!(text, "    {}: {join} of {reg} joins {}", label(func, block), args.join(", "));
        }
    }
    let names = |list: &[warpscope_core::flow::Value]| -> String {
        list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    text + &each_inst(module, func, |inst| {
        let (used, defined) = (names(values.used(inst)), names(values.defined(inst)));
        Some(format!("reads [{used}], writes [{defined}]"))
    })
}

fn divergence(module: &Module, func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let (dominators, post_dominators) = (Dominators::compute(&cfg), PostDominators::compute(&cfg));
    let values = Values::compute(func, &cfg, &dominators);
    let uses = ValueUses::compute(func, &values);
    let divergence = Divergence::compute(DivergenceInput {
        func,
        cfg: &cfg,
        dominators: &dominators,
        post_dominators: &post_dominators,
        loops: &Loops::compute(&cfg),
        values: &values,
        uses: &uses,
    });
    let why = |subject: Subject| -> String {
        let chain = divergence.explain(subject);
        chain.iter().map(|link| link.sentence(func, &values)).collect::<Vec<_>>().join("; ")
    };
    let mut text = String::new();
    for block in func.block_order() {
        let branch =
            if divergence.is_divergent_branch(block) { why(Subject::Branch(block)) } else { "uniform".to_string() };
        let _ = writeln!(text, "    {}: {branch}", label(func, block));
        for inst in func.block_insts(block) {
            for &value in values.defined(inst) {
                let said =
                    if divergence.is_divergent(value) { why(Subject::Value(value)) } else { "uniform".to_string() };
                let _ = writeln!(text, "        {}: {said}", instruction_text(module, func, inst));
            }
        }
    }
    text
}

/// Each pair of accesses that may meet: in one iteration, and in any two.
fn alias(module: &Module, func: &Function) -> String {
    let cfg = Cfg::compute(func);
    let values = Values::compute(func, &cfg, &Dominators::compute(&cfg));
    let names = AffineNames::new(func, &values, Overflow::Assume);
    let alias = AliasAnalysis::new(module, func, &values, names);
    let insts = func.block_order().flat_map(|block| func.block_insts(block));
    let accesses: Vec<_> = insts.filter_map(|inst| Some((inst, alias.access(inst)?))).collect();
    let word = |relation: Relation| match relation {
        Relation::No => "no",
        Relation::May => "may",
        Relation::Must => "must",
    };
    let mut text = String::new();
    for (index, (first, a)) in accesses.iter().enumerate() {
        let _ = writeln!(text, "    {}", instruction_text(module, func, *first));
        for (second, b) in &accesses[index + 1..] {
            let relations = [Moment::Same, Moment::Any].map(|moment| word(alias.relation(a, b, moment)));
            let _ = writeln!(
                text,
                "        {:<6}{:<6}{}",
                relations[0],
                relations[1],
                instruction_text(module, func, *second)
            );
        }
    }
    text
}

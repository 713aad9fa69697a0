//! Plan for one region: the decision, and how it is carried out.
//!
//! ```text
//! 2: a = add x, y      an evaluation whose value is read elsewhere      t = add x, y;  a = mov t
//! 3                    inserted                                         t = add x, y
//! 7: b = add x, y      redundant                                        b = mov t
//! ```
//!
//! Every expression has temporaries of its own, one for each result, so that nothing else ever writes them. Copies
//! are left to copy propagation, and so are counted as nothing.
//!
//! A load that is inserted where it would not be executed on all ways is a non-faulting one.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::benefit::{Decision, decide};
use super::expressions::Expression;
use super::hoisting::{Placement, Region};
use super::survey::Seen;
use crate::edit::Rewrite;
use crate::ir::{Block, Flags, Function, Inst, InstData, Op, Opcode, Operand, Reg, Space};
use crate::machine::Machine;
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::paths::Paths;
use crate::trace::{Fact, Place, Remark};

/// Cycles below which a difference is one of rounding.
const NOTHING: f64 = 1e-9;

/// See the file's head.
pub(super) struct Plan {
    pub placement: Placement,
    /// Whether each inserted evaluation is new on some path.
    is_speculative: Vec<bool>,
    /// The evaluations that go.
    pub replaced: Vec<(Node, Inst)>,
    /// The evaluations whose values are read.
    pub sources: Vec<(Node, Inst)>,
    /// The branches ahead of which it is evaluated by speculation.
    splits: Vec<Block>,
    favour: Favour,
    /// Cycles of all warps, before and after, where they are counted.
    pub warp_cycles: Option<(f64, f64)>,
}

/// Benefit of the branches that are passed: executions of frequent paths that lose an evaluation and of paths that
/// gain one, and their cycles.
#[derive(Clone, Copy, Default)]
struct Favour {
    benefit_paths: f64,
    cost_paths: f64,
    benefit: f64,
    cost: f64,
}

/// Why an evaluation stays, or is not brought ahead of a branch.
pub(super) enum Refused {
    /// Passing the branch costs more.
    Cost { split: Block, decision: Decision },
    /// Warps would execute more.
    Warps { at: Block, before: f64, after: f64 },
    /// There is too much to look at.
    TooLarge { at: Block },
}

impl Refused {
    /// As a remark about an instruction of that text.
    pub fn remark(&self, func: &Function, text: &str) -> Remark {
        match *self {
            Refused::Cost { split, ref decision } => {
                let Decision { benefit_paths, cost_paths, benefit, cost, .. } = *decision;
                let message = format!(
                    "`{text}` is not evaluated ahead of `{}`: {benefit_paths} executions that lose an evaluation would save \
                     {benefit:.0} cycles, and {cost_paths} that gain one cost {cost:.0}",
                    func.blocks[split].name
                );
                let remark = Remark::missed("cost", split, message);
                remark.with("benefit", Fact::Number(benefit)).with("cost", Fact::Number(cost))
            }
            Refused::Warps { at, before, after } => {
                let message =
                    format!("`{text}` stays: warps evaluate it for {before:.0} cycles, and would for {after:.0}");
                Remark::missed("warps", at, message)
                    .with("warp_cycles_before", Fact::Number(before))
                    .with("warp_cycles_after", Fact::Number(after))
            }
            Refused::TooLarge { at } => {
                Remark::missed("too-large", at, format!("too much lies around `{text}` to look at"))
            }
        }
    }
}

/// Details recorded while a plan is made.
#[derive(Default)]
pub(super) struct Told {
    /// Why evaluations stay, or are not brought ahead of a branch.
    pub refused: Vec<Refused>,
    /// Were jumps counted that are not there yet?
    pub counts_jumps: bool,
}

/// Inputs of plans.
pub(super) struct Planner<'a> {
    pub nodes: &'a Nodes,
    pub paths: Option<&'a Paths>,
    /// How often warps execute each node, where warps pay.
    pub warps: Option<&'a [f64]>,
    pub machine: Machine,
}

impl Planner<'_> {
    /// Plans for an expression in a region, if anything is gained. `can_insert` says at which nodes' ends operands are
    /// there. `look` sees what is weighed and decided.
    pub fn plan(
        &self,
        expression: &Expression,
        mut region: Region,
        can_insert: impl Fn(Node) -> bool,
        told: &mut Told,
        look: &mut dyn FnMut(Seen<'_>),
    ) -> Option<Plan> {
        loop {
            let mut told_here = Told::default();
            let plan = self.plan_within(expression, &region, &mut told_here, look);
            let inserted = plan.iter().flat_map(|plan| plan.placement.inserted.iter().copied());
            let closed: Vec<Node> = inserted.filter(|&node| !can_insert(node)).collect();
            if closed.is_empty() {
                told.refused.append(&mut told_here.refused);
                told.counts_jumps |= told_here.counts_jumps;
                return plan;
            }
            closed.into_iter().for_each(|node| region.close_behind(node));
        }
    }

    fn plan_within(
        &self,
        expression: &Expression,
        region: &Region,
        told: &mut Told,
        look: &mut dyn FnMut(Seen<'_>),
    ) -> Option<Plan> {
        let cycles = f64::from(self.machine.issue_cycles(&expression.data));
        let always = region.hoisted(&vec![false; region.members.len()]);
        let counts_jumps = &mut told.counts_jumps;
        let standing = self.warps.map(|_| region.placement(&always));
        let mut least = standing.and_then(|standing| self.warp_cycles(region, &standing, cycles, counts_jumps));
        let (enabled, decisions) = match self.paths {
            Some(paths) => {
                let mut is_worth_it = |decision: &Decision, placement: &Placement| match &mut least {
                    None => decision.is_worth_it(),
                    Some(least) => {
                        // Every warp pays that comes by, so that this is what counts.
                        let then = self.warp_cycles(region, placement, cycles, counts_jumps).unwrap_or(*least);
                        let is_less = then < *least - NOTHING;
                        if is_less {
                            *least = then;
                        }
                        is_less
                    }
                };
                decide(region, paths, cycles, &mut is_worth_it, &mut |weighing| look(Seen::Branch(weighing)))
            }
            None => (vec![false; region.members.len()], Vec::new()),
        };
        look(Seen::Decided { region, enabled: &enabled, always: &always });
        let hoisted = if enabled.contains(&true) { region.hoisted(&enabled) } else { always.clone() };
        let placement = region.placement(&hoisted);
        let is_taken = |decision: &&Decision| enabled[decision.split];
        for decision in decisions.iter().filter(|decision| !is_taken(decision) && decision.benefit_paths > 0.0) {
            if let Some(split) = self.nodes.block(region.members[decision.split].node) {
                told.refused.push(Refused::Cost { split, decision: decision.clone() });
            }
        }
        let &first = placement.replaced.first()?;
        let warp_cycles = least.map(|after| (self.warp_cycles_before(region, cycles), after));
        if let Some((before, after)) = warp_cycles.filter(|(before, after)| *after > before + NOTHING) {
            let at = self.nodes.block_or_target(region.members[first].node);
            told.refused.push(Refused::Warps { at, before, after });
            return None;
        }
        let of = |places: &[usize], which: fn(&super::hoisting::Member) -> Option<Inst>| {
            let member = |&place: &usize| Some((region.members[place].node, which(&region.members[place])?));
            places.iter().filter_map(member).collect()
        };
        let favour = decisions.iter().filter(is_taken).fold(Favour::default(), |sum, decision| Favour {
            benefit_paths: sum.benefit_paths + decision.benefit_paths,
            cost_paths: sum.cost_paths + decision.cost_paths,
            benefit: sum.benefit + decision.benefit,
            cost: sum.cost + decision.cost,
        });
        let passed = (0..enabled.len()).filter(|&place| enabled[place] && hoisted.exit[place] && !always.exit[place]);
        Some(Plan {
            is_speculative: placement.inserted.iter().map(|&node| !region.needs_behind(&always, node)).collect(),
            replaced: of(&placement.replaced, |member| member.first),
            sources: of(&placement.sources, |member| member.last),
            splits: passed.filter_map(|place| self.nodes.block(region.members[place].node)).collect(),
            placement,
            favour,
            warp_cycles,
        })
    }

    /// Cycles that warps take for the evaluations of a placement; what is put on a critical edge also takes a jump.
    fn warp_cycles(&self, region: &Region, placement: &Placement, cycles: f64, counts_jumps: &mut bool) -> Option<f64> {
        let warps = self.warps?;
        let jump = f64::from(self.machine.issue_cycles(&InstData::branch(Block::from_u32(0))));
        let jump_of = |node: Node| if self.nodes.edge(node).is_some() { jump } else { 0.0 };
        *counts_jumps |= placement.inserted.iter().any(|&node| self.nodes.edge(node).is_some());
        let inserted = placement.inserted.iter().map(|&node| warps[node] * (cycles + jump_of(node)));
        let staying = placement.staying.iter().map(|&place| warps[region.members[place].node] * cycles);
        Some(
            inserted.chain(staying).sum::<f64>()
                + cycles * region.kept_evaluations().map(|node| warps[node]).sum::<f64>(),
        )
    }

    /// Cycles that they take as it is.
    fn warp_cycles_before(&self, region: &Region, cycles: f64) -> f64 {
        let Some(warps) = self.warps else { return 0.0 };
        let evaluating = region.redundant_evaluations().chain(region.kept_evaluations());
        cycles * evaluating.map(|node| warps[node]).sum::<f64>()
    }
}

impl Plan {
    /// Are critical edges split?
    pub fn splits_edges(&self, nodes: &Nodes) -> bool {
        self.placement.inserted.iter().any(|&node| nodes.edge(node).is_some())
    }

    /// The first evaluation that goes.
    pub fn first(&self) -> Inst {
        self.replaced[0].1
    }

    /// As a remark about an instruction of that text, which is the first evaluation that goes.
    pub fn remark(&self, func: &Function, nodes: &Nodes, text: &str) -> Remark {
        let blocks =
            |list: &[(Node, Inst)]| -> Vec<Block> { list.iter().filter_map(|&(node, _)| nodes.block(node)).collect() };
        let (to, from) = (blocks(&self.replaced), blocks(&self.sources));
        let name = |block: Block| format!("`{}`", func.blocks[block].name);
        let names = |list: &[Block]| list.iter().copied().map(name).collect::<Vec<String>>().join(", ");
        let inserted: Vec<String> = self
            .placement
            .inserted
            .iter()
            .map(|&node| match (nodes.edge(node), nodes.block_or_target(node)) {
                (Some((from, to)), _) => format!("the edge from {} to {}", name(from), name(to)),
                (None, block) => name(block),
            })
            .collect();
        let and = if from.is_empty() { "" } else { ", and from " };
        let new = match inserted.len() {
            0 => String::new(),
            _ => format!("{and}{}, where it is evaluated now", inserted.join(", ")),
        };
        let Favour { benefit_paths, cost_paths, benefit, cost } = self.favour;
        let paths = match self.splits.as_slice() {
            [] => String::new(),
            splits => format!(
                "; ahead of {}, {benefit_paths} executions that lose an evaluation save {benefit:.0} cycles, and {cost_paths} that \
                 gain one cost {cost:.0}",
                names(splits)
            ),
        };
        let message = format!("`{text}` in {} has its value from {}{new}{paths}", names(&to), names(&from));
        let insertions = self.placement.inserted.iter().map(|&node| nodes.block_or_target(node)).collect();
        let mut remark = Remark::applied("replace", to.first().copied().unwrap_or(Block::from_u32(0)), message)
            .at(self.first())
            .with("replaced", Fact::Blocks(to))
            .with("from", Fact::Blocks(from))
            .with("insertions", Fact::Blocks(insertions));
        if !self.splits.is_empty() {
            remark = remark
                .with("splits", Fact::Blocks(self.splits.clone()))
                .with("executions_lost", Fact::Number(benefit_paths))
                .with("executions_gained", Fact::Number(cost_paths))
                .with("benefit", Fact::Number(benefit))
                .with("cost", Fact::Number(cost));
        }
        if let Some((before, after)) = self.warp_cycles {
            remark =
                remark.with("warp_cycles_before", Fact::Number(before)).with("warp_cycles_after", Fact::Number(after));
        }
        remark
    }

    /// Rewrites, and notes where the expression is evaluated now. `nodes` hears which critical edges are split.
    pub fn carry_out(
        &self,
        rewrite: &mut Rewrite<'_, '_>,
        nodes: &mut Nodes,
        expression: &mut Expression,
        is_transparent: impl Fn(&Expression, Node) -> bool,
    ) {
        make_temporaries(rewrite, expression);
        // One load that faults nowhere stands for all where one of them does.
        let is_spec = |inst: &Inst| rewrite.func().insts[*inst].opcode.has(Flags::SPEC);
        let is_any_spec = self.replaced.iter().chain(&self.sources).any(|(_, inst)| is_spec(inst));
        for (&node, &is_speculative) in self.placement.inserted.iter().zip(&self.is_speculative) {
            let block = block_of(rewrite, nodes, node);
            let mut data = InstData { dsts: expression.temporaries.clone(), ..expression.data.clone() };
            if may_fault(&data) && (is_speculative || is_any_spec) {
                data.opcode.flags |= Flags::SPEC;
            }
            let before = rewrite.func().terminator(block);
            let inst = rewrite.insert(Place { block, before }, data);
            let is_transparent = is_transparent(expression, node);
            let site = expression.site_mut(node);
            if is_transparent {
                site.first = Some(inst);
            }
            site.last = Some(inst);
        }
        for &(node, inst) in &self.sources {
            keep(rewrite, expression, node, inst);
        }
        for &(node, inst) in &self.replaced {
            read(rewrite, &expression.temporaries, inst);
            let site = expression.site_mut(node);
            if site.last == Some(inst) {
                site.last = None;
            }
            site.first = None;
        }
        expression.sites.retain(|site| site.first.is_some() || site.last.is_some());
    }
}

/// A load from memory that has an end. Parameters are read where they are.
pub(super) fn may_fault(data: &InstData) -> bool {
    data.opcode.op == Op::Ld && data.opcode.space != Some(Space::Param)
}

/// Registers for the value of an expression.
pub(super) fn make_temporaries(rewrite: &mut Rewrite<'_, '_>, expression: &mut Expression) {
    if expression.temporaries.is_empty() {
        expression.temporaries = expression.types.iter().map(|&ty| rewrite.create_temporary(ty)).collect();
    }
}

/// Has an evaluation put its value into the temporaries as well.
pub(super) fn keep(rewrite: &mut Rewrite<'_, '_>, expression: &mut Expression, node: Node, inst: Inst) {
    let data = &rewrite.func().insts[inst];
    if data.dsts == expression.temporaries {
        return;
    }
    let data = InstData { dsts: expression.temporaries.clone(), ..data.clone() };
    let Some(kept) = rewrite.insert_before(inst, data) else { return };
    read(rewrite, &expression.temporaries, inst);
    let site = expression.site_mut(node);
    for evaluation in [&mut site.first, &mut site.last] {
        if *evaluation == Some(inst) {
            *evaluation = Some(kept);
        }
    }
}

/// Has an evaluation read the temporaries instead.
pub(super) fn read(rewrite: &mut Rewrite<'_, '_>, temporaries: &[Reg], inst: Inst) {
    let dsts = rewrite.func().insts[inst].dsts.clone();
    if *dsts == *temporaries {
        rewrite.remove(inst);
        return;
    }
    let copy = |rewrite: &Rewrite<'_, '_>, (dst, from): (Reg, Reg)| {
        InstData::new(Opcode::mov(rewrite.func().reg_types[dst]), [dst], [Operand::Reg(from)])
    };
    let pairs: Vec<(Reg, Reg)> = dsts.iter().copied().zip(temporaries.iter().copied()).collect();
    let Some((&last, others)) = pairs.split_last() else { return };
    for &pair in others {
        let data = copy(rewrite, pair);
        rewrite.insert_before(inst, data);
    }
    let data = copy(rewrite, last);
    rewrite.replace(inst, data);
}

/// The block that a node is, made on a critical edge where there is none.
fn block_of(rewrite: &mut Rewrite<'_, '_>, nodes: &mut Nodes, node: Node) -> Block {
    match (nodes.block(node), nodes.edge(node)) {
        (None, Some((from, to))) => {
            let middle = rewrite.split_edge(from, to);
            nodes.has_been_split(node, middle);
            middle
        }
        _ => nodes.block_or_target(node),
    }
}

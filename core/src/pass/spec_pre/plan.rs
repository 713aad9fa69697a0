//! Plans: the decision about a region, and the rewrite that carries it out.
//!
//! ```text
//! 2: a = add x, y      an evaluation whose value is read elsewhere      t = add x, y;  a = mov t
//! 3                    inserted                                         t = add x, y
//! 7: b = add x, y      redundant                                        b = mov t
//! ```
//!
//! Every expression has temporaries of its own, one for each result, so that nothing else ever
//! writes them. Copies are left to copy propagation, and cost nothing. An inserted load that is not
//! executed on all paths is a non-faulting one.

use alloc::vec::Vec;

use super::benefit::{Decision, Guided, Weighing};
use super::expressions::{Expression, Site};
use super::region::{Hoisted, Lanes, Placement, Region};
use super::remarks::Refused;
use crate::edit::Rewrite;
use crate::ir::{Block, Flags, Inst, InstData, Op, Opcode, Operand, Reg, Space};
use crate::machine::Machine;
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::paths::Paths;
use crate::trace::Place;

/// Cycles below which a difference is one of rounding.
const NOTHING: f64 = 1e-9;

/// See the file's head.
pub(super) struct Plan {
    /// Nodes at whose ends an evaluation is inserted, each with whether it is new on some path.
    pub inserted: Vec<(Node, bool)>,
    /// Evaluations that read the value instead.
    pub replaced: Vec<(Node, Inst)>,
    /// Evaluations whose values are read.
    pub sources: Vec<(Node, Inst)>,
    /// Branches ahead of which it is evaluated by speculation.
    pub splits: Vec<Block>,
    pub balance: SplitBalance,
    /// Cycles of all warps, before and after, where they are counted.
    pub warp_cycles: Option<(f64, f64)>,
}

/// Benefit and cost of the branches that are passed: evaluations that frequent paths lose and that
/// paths gain, and their cycles.
#[derive(Clone, Copy, Default)]
pub(super) struct SplitBalance {
    pub benefit_paths: f64,
    pub cost_paths: f64,
    pub benefit: f64,
    pub cost: f64,
}

/// Findings besides a plan.
#[derive(Default)]
pub(super) struct PlanNotes {
    /// Why evaluations stay, or are not made ahead of a branch.
    pub refused: Vec<(Inst, Refused)>,
    /// Whether jumps were counted that a split edge would have already.
    pub counts_jumps: bool,
}

/// Event of planning, for inspection. If a region is planned again with less room, the last ones
/// hold.
pub(super) enum Step<'a> {
    /// A branch is weighed.
    Branch(&'a Weighing<'a>),
    /// All are decided.
    Decided { region: &'a Region, enabled: &'a [Lanes], always: &'a Hoisted },
}

/// Listener to the steps of planning.
pub(super) type Observer<'a> = &'a mut dyn FnMut(Step<'_>);

/// Inputs of plans.
pub(super) struct Planner<'a> {
    pub nodes: &'a Nodes,
    pub paths: Option<&'a Paths>,
    /// Executions of each node by warps, where warps pay.
    pub warps: Option<&'a [f64]>,
    pub machine: Machine,
}

impl Planner<'_> {
    /// The plan for an expression in a region, if anything is gained. `can_insert` says at which
    /// nodes' ends operands are assigned.
    pub fn plan(
        &self,
        expression: &Expression,
        mut region: Region,
        can_insert: impl Fn(Node) -> bool,
        observe: &mut Option<Observer<'_>>,
    ) -> (Option<Plan>, PlanNotes) {
        loop {
            let mut notes = PlanNotes::default();
            let plan = self.plan_within(expression, &region, &mut notes, observe);
            let inserted = plan.iter().flat_map(|plan| plan.inserted.iter().map(|&(node, _)| node));
            let closed: Vec<Node> = inserted.filter(|&node| !can_insert(node)).collect();
            if closed.is_empty() {
                return (plan, notes);
            }
            closed.into_iter().for_each(|node| region.close_after(node));
        }
    }

    fn plan_within(
        &self,
        expression: &Expression,
        region: &Region,
        notes: &mut PlanNotes,
        observe: &mut Option<Observer<'_>>,
    ) -> Option<Plan> {
        let cycles = f64::from(self.machine.issue_cycles(&expression.data));
        let always = region.hoisted(&region.none());
        let mut warp_cycles =
            |placement: &Placement| self.warp_cycles(region, placement, cycles, &mut notes.counts_jumps);
        let mut least = self.warps.and_then(|_| warp_cycles(&region.placement(&always)));
        let (enabled, decisions) = match self.paths {
            Some(paths) => {
                let mut is_worth_it = |decision: &Decision, placement: &Placement| match &mut least {
                    None => decision.is_worth_it(),
                    Some(least) => {
                        // Every warp that executes it pays, so that this is what counts.
                        let after = warp_cycles(placement).unwrap_or(*least);
                        let is_less = after < *least - NOTHING;
                        *least = if is_less { after } else { *least };
                        is_less
                    }
                };
                let (is_by_warp, is_complete) = (self.warps.is_some(), observe.is_some());
                let guided = Guided { region, paths, cycles, always: &always, is_by_warp, is_complete };
                guided.decide(&mut is_worth_it, &mut |weighing| {
                    observe.iter_mut().for_each(|observe| observe(Step::Branch(weighing)));
                })
            }
            None => (region.none(), Vec::new()),
        };
        observe.iter_mut().for_each(|observe| {
            observe(Step::Decided { region, enabled: &enabled, always: &always });
        });
        let is_speculating = enabled.iter().any(|&lanes| lanes != 0);
        let hoisted = if is_speculating { region.hoisted(&enabled) } else { always.clone() };
        let placement = region.placement(&hoisted);
        let is_taken = |decision: &&Decision| enabled[decision.split] != 0;
        // The first evaluation that may be redundant.
        let wanting = region.members.iter().find(|member| member.reached & member.first != 0);
        let wanting = wanting.and_then(|member| expression.site(member.node)?.first)?;
        for decision in decisions.iter().filter(|decision| !is_taken(decision) && decision.benefit_paths > 0.0) {
            if let Some(split) = self.nodes.block(region.members[decision.split].node) {
                notes.refused.push((wanting, Refused::Cost { split, decision: decision.clone() }));
            }
        }
        let plan = Plan::of(expression, region, &placement, 0);
        let &(first, _) = plan.replaced.first()?;
        let warp_cycles = least.map(|after| (self.warp_cycles_before(region, cycles), after));
        if let Some((before, after)) = warp_cycles.filter(|(before, after)| *after > before + NOTHING) {
            let at = self.nodes.block_or_target(first);
            notes.refused.push((wanting, Refused::Warps { at, before, after }));
            return None;
        }
        let balance = decisions.iter().filter(is_taken).fold(SplitBalance::default(), |sum, decision| SplitBalance {
            benefit_paths: sum.benefit_paths + decision.benefit_paths,
            cost_paths: sum.cost_paths + decision.cost_paths,
            benefit: sum.benefit + decision.benefit,
            cost: sum.cost + decision.cost,
        });
        let is_passed = |&place: &usize| enabled[place] & hoisted.exit[place] & !always.exit[place] != 0;
        let passed = (0..enabled.len()).filter(is_passed);
        let is_new = |node: Node| !region.is_needed_after(self.nodes, &always, node);
        Some(Plan {
            inserted: plan.inserted.into_iter().map(|(node, _)| (node, is_new(node))).collect(),
            splits: passed.filter_map(|place| self.nodes.block(region.members[place].node)).collect(),
            balance,
            warp_cycles,
            ..plan
        })
    }

    /// Cycles that warps take for the evaluations of a placement; one on a critical edge also takes
    /// a jump.
    fn warp_cycles(&self, region: &Region, placement: &Placement, cycles: f64, counts_jumps: &mut bool) -> Option<f64> {
        let warps = self.warps?;
        let jump = f64::from(self.machine.issue_cycles(&InstData::branch(Block::from_u32(0))));
        let is_edge = |node: Node| self.nodes.edge(node).is_some();
        *counts_jumps |= placement.inserted.iter().any(|&(node, _)| is_edge(node));
        let inserted =
            placement.inserted.iter().map(|&(node, _)| warps[node] * (cycles + if is_edge(node) { jump } else { 0.0 }));
        let staying = region.members.iter().zip(&placement.staying).filter(|(_, lanes)| **lanes != 0);
        let staying = staying.map(|(member, _)| warps[member.node] * cycles);
        let kept = region.kept_evaluations().map(|node| warps[node]).sum::<f64>();
        Some(inserted.chain(staying).sum::<f64>() + cycles * kept)
    }

    /// Cycles that they take for the evaluations as they are.
    fn warp_cycles_before(&self, region: &Region, cycles: f64) -> f64 {
        let Some(warps) = self.warps else { return 0.0 };
        let evaluating = region.redundant_evaluations().chain(region.kept_evaluations());
        cycles * evaluating.map(|node| warps[node]).sum::<f64>()
    }
}

impl Plan {
    /// The plan without speculation for an expression of a region.
    pub fn of(expression: &Expression, region: &Region, placement: &Placement, lane: usize) -> Plan {
        let has = |lanes: Lanes| lanes >> lane & 1 == 1;
        let those = |lanes: &[Lanes], inst: fn(&Site) -> Option<Inst>| {
            let sites = expression.sites.iter().filter(|site| region.place(site.node).is_some_and(|it| has(lanes[it])));
            sites.filter_map(|site| Some((site.node, inst(site)?))).collect()
        };
        let inserted = placement.inserted.iter().filter(|(_, lanes)| has(*lanes));
        Plan {
            inserted: inserted.map(|&(node, _)| (node, false)).collect(),
            replaced: those(&placement.replaced, |site| site.first),
            sources: those(&placement.sources, |site| site.last),
            splits: Vec::new(),
            balance: SplitBalance::default(),
            warp_cycles: None,
        }
    }

    /// Whether critical edges are split.
    pub fn splits_edges(&self, nodes: &Nodes) -> bool {
        self.inserted.iter().any(|&(node, _)| nodes.edge(node).is_some())
    }

    /// The first evaluation that is replaced.
    pub fn first(&self) -> Inst {
        self.replaced[0].1
    }

    /// Carries the plan out in the function, in the nodes and in the expression's sites.
    /// `are_transparent` says which nodes of insertions do not change the value.
    pub fn carry_out(
        &self,
        rewrite: &mut Rewrite<'_, '_>,
        nodes: &mut Nodes,
        expression: &mut Expression,
        are_transparent: &[bool],
    ) {
        make_temporaries(rewrite, expression);
        // All loads become non-faulting ones if one of them is.
        let is_spec = |inst: &Inst| rewrite.func().insts[*inst].opcode.has(Flags::SPEC);
        let is_any_spec = self.replaced.iter().chain(&self.sources).any(|(_, inst)| is_spec(inst));
        for (&(node, is_speculative), &is_transparent) in self.inserted.iter().zip(are_transparent) {
            let block = block_of(rewrite, nodes, node);
            let mut data = InstData { dsts: expression.temporaries.clone(), ..expression.data.clone() };
            if may_fault(&data) && (is_speculative || is_any_spec) {
                data.opcode.flags |= Flags::SPEC;
            }
            let before = rewrite.func().terminator(block);
            let inst = rewrite.insert(Place { block, before }, data);
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

/// Whether it is a load that may fault: one of memory that has an end.
pub(super) fn may_fault(data: &InstData) -> bool {
    data.opcode.op == Op::Ld && data.opcode.space != Some(Space::Param)
}

/// Registers for the value of an expression.
pub(super) fn make_temporaries(rewrite: &mut Rewrite<'_, '_>, expression: &mut Expression) {
    if expression.temporaries.is_empty() {
        expression.temporaries = expression.types.iter().map(|&ty| rewrite.create_temporary(ty)).collect();
    }
}

/// Makes an evaluation write the temporaries as well.
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

/// Replaces an evaluation by copies of the temporaries.
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

/// The block of a node; a new one for a critical edge that is not split.
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

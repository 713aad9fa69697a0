//! Partial redundancy elimination with speculation: evaluates once what some paths evaluate twice,
//! ahead of branches that do not always need it where executed paths gain by that.
//!
//! ```text
//! n1: br p, n2, n3                       n1: br p, n2, n3
//! n2: a = add.u32 x, y                   n2: t1 = add.u32 x, y
//!     br n6                                  a = mov.u32 t1
//! n3: br n6                                  br n6
//! n6: br q, n7, n8                ──▶    n3: t1 = add.u32 x, y
//! n7: b = add.u32 x, y                       br n6
//!     br n9                              n6: br q, n7, n8
//! n8: br n9                              n7: b = mov.u32 t1
//!                                            br n9
//!                                        n8: br n9
//! ```
//!
//! 1. Collect [expressions] with their first and last evaluations in each block, and the
//!    instructions that change their values. A repetition in a block reads the earlier value.
//! 2. [Search](search) the [region] of 64 expressions at a time: the nodes that a value
//!    reaches and from which an evaluation is reached. Solve there which values are available, how
//!    far evaluations are hoisted without speculation, and how far they can be delayed again.
//! 3. Go on with each expression that gains by this, or could by speculation.
//! 4. With executed paths, of a `profile path` or estimated from a `profile edge`, enable
//!    speculation at branches where the [benefit] exceeds the cost. With `cost=warp`, the default
//!    where a `profile warp` counts executions, warps decide: an evaluation on each side of a
//!    branch whose lanes part is paid twice, and one ahead of it once.
//! 5. Make the [plan]: evaluations are inserted where hoisted ones cannot be delayed any further,
//!    and others read their value from temporaries.
//! 6. Look again at expressions that changed, as speculation may now pay elsewhere, and, after
//!    edges were split, at those for which a jump was counted.
//!
//! Sound: a value is read only where it has been evaluated on all paths since a source was last
//! written, and it is in registers of its own. Without speculation no path evaluates more than
//! before. Arithmetic does not trap; a load that is inserted where not all paths have it is a
//! non-faulting one, or with `faulting=never` not inserted. No operand is written elsewhere than
//! before, so that no expression changes what another one gains.
//!
//! Cost: O(instructions + expressions / 64 · nodes of their regions); with paths, that of
//! [`benefit`] for each expression that could be speculated on. Limits: nodes of a region, branches
//! of a region, and [`MOST_ROUNDS`] rounds; the remarks `too-large` and `max-rounds` say so.
//!
//! Source: R. Gupta, D. Berson and J. Z. Fang, Path profile guided partial dead code elimination
//! using predication, 1997, section 3 and figure 11; J. Knoop, O. Rüthing and B. Steffen, Lazy code
//! motion, 1992.

mod benefit;
mod expressions;
mod inspect;
mod plan;
mod region;
mod remarks;
mod search;

pub use inspect::survey;

use alloc::vec::Vec;

use super::{FAULTING_KNOB, Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::compact_sort::CompactSort;
use crate::ir::{Function, Inst, WarpCounts};
use crate::machine::Machine;
use crate::pass::support::last_assignment::has_doubtful_reads;
use crate::pass::support::path_guided::memory::Memory;
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::paths::Paths;
use crate::pass::support::path_guided::rules::{COST, FP, MACHINE, Rules};
use crate::text::instruction_text;
use crate::view::View;
use expressions::{Expressions, Repetition};
use plan::{Observer, Plan, PlanNotes, Planner, keep, make_temporaries, may_fault, read};
use region::{Hoisted, LANES, Lanes, Region};
use remarks::{Refused, more_rounds, no_profile, repeat};
use search::{Search, Shape};

/// Expressions that still gain in the last round are left.
const MOST_ROUNDS: usize = 32;

/// See the file's head.
pub struct SpecPre;

impl Pass for SpecPre {
    const INFO: PassInfo = PassInfo {
        name: "spec-pre",
        paper: "Gupta, Berson and Fang 1997; Knoop, Rüthing and Steffen 1992",
        summary: "Evaluates once what some paths evaluate twice, ahead of branches that do not always need it \
               where executed paths gain by it.",
        knobs: &[
            Knob {
                name: "speculation",
                label: "Speculation",
                kind: KnobKind::Switch { default: true },
                help: "evaluate ahead of branches not all of whose paths need it; without it no path ever \
                       evaluates more",
            },
            Knob {
                name: FAULTING_KNOB,
                label: "Loads that might fault",
                kind: KnobKind::Choice { default: "auto", words: &["auto", "spec", "never"] },
                help: "Treatment of a load that might fault where speculation puts it: mark it as one that does \
                       not, or do not put it there; auto: do not if the result is to be PTX, otherwise mark it.",
            },
            FP,
            COST,
            MACHINE,
        ],
        needs_fast_math: false,
    };

    const INSPECTOR: Option<Inspector> = inspect::INSPECTOR;

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        Elimination::of(view, settings)?.run(view);
        Ok(())
    }
}

/// State of the pass.
struct Elimination {
    nodes: Nodes,
    search: Search,
    expressions: Expressions,
    paths: Option<Paths>,
    /// Executions of each node by warps, where warps pay.
    warps: Option<Vec<f64>>,
    machine: Machine,
    is_speculating: bool,
    /// Whether a load may be inserted where it might fault.
    marks_loads: bool,
    /// Whether something would become redundant by speculation.
    could_speculate: bool,
    /// Refusals of each expression.
    refused: Vec<Vec<(Inst, Refused)>>,
}

/// A round of the pass.
#[derive(Default)]
struct Round {
    is_last: bool,
    /// Expressions that changed.
    changed: Vec<usize>,
    /// Expressions for which jumps were counted that a split edge would have.
    counting_jumps: Vec<usize>,
    has_split: bool,
}

impl Elimination {
    /// The state for a function as it is.
    fn of(view: &mut View<'_>, settings: &Settings) -> Result<Elimination, PassError> {
        let knobs = &settings.knobs;
        let Rules { share, is_by_warp, machine } = Rules::of(view.func(), knobs, SpecPre::INFO.name)?;
        let (cfg, dominators) = (view.cfg(), view.dominators());
        let (module, func) = (view.module(), view.func());
        let nodes = Nodes::of(&cfg, func);
        let is_speculating = knobs.switch("speculation");
        let memory = Memory::of(module, func, &nodes);
        let expressions = Expressions::of(func, &nodes, &memory, has_doubtful_reads(func, &dominators));
        let shape = Shape::of(&nodes, |node| {
            // The results of a call are written after everything that can be inserted in its block.
            let terminator = nodes.block(node).and_then(|block| func.terminator(block));
            terminator.is_none_or(|inst| func.insts[inst].dsts.is_empty() && !func.insts[inst].opcode.op.is_call())
        });
        Ok(Elimination {
            refused: expressions.all.iter().map(|_| Vec::new()).collect(),
            expressions,
            could_speculate: false,
            paths: if is_speculating { Paths::of(func, &nodes, share) } else { None },
            warps: is_by_warp.then(|| nodes.executions(&WarpCounts::of(func))),
            search: Search::new(&nodes, shape),
            nodes,
            is_speculating,
            marks_loads: knobs.choice(FAULTING_KNOB) != "never",
            machine,
        })
    }

    fn run(mut self, view: &mut View<'_>) {
        for number in 0..self.expressions.all.len() {
            self.replace_repetitions(view, number);
        }
        let mut waiting: Vec<usize> = (0..self.expressions.all.len()).collect();
        for number in 1..=MOST_ROUNDS {
            let is_last = number == MOST_ROUNDS;
            let mut round = Round { is_last, ..Round::default() };
            waiting.retain(|&number| self.expressions.all[number].may_be_redundant(&self.nodes));
            waiting.chunks(LANES).for_each(|batch| self.replace(view, batch, &mut round));
            // Without speculation a second round finds nothing, and where an edge has been split, a
            // jump is there.
            waiting.clear();
            waiting.extend(round.changed.iter().filter(|_| self.paths.is_some()));
            waiting.extend(round.counting_jumps.iter().filter(|_| round.has_split));
            waiting.compact_sort();
            waiting.dedup();
        }
        match &self.paths {
            None if self.could_speculate => view.miss(no_profile),
            Some(Paths { estimated: Some(estimated), .. }) if self.could_speculate => {
                view.miss(|func| estimated.remark(func));
            }
            _ => {}
        }
        let module = view.module();
        for (inst, why) in self.refused.into_iter().flatten() {
            view.miss(|func| why.remark(func, &instruction_text(module, func, inst)));
        }
    }

    /// Plans for a batch of expressions, and carries the plans out.
    fn replace(&mut self, view: &mut View<'_>, batch: &[usize], round: &mut Round) {
        let (region, too_large) = self.search.region(&self.nodes, &self.expressions, batch);
        let has = |lanes: Lanes, lane: usize| lanes >> lane & 1 == 1;
        for (lane, &number) in batch.iter().enumerate() {
            self.refused[number] =
                if has(too_large, lane) { Vec::from_iter(self.too_large(number)) } else { Vec::new() };
        }
        let always = region.hoisted(&region.none());
        let placement = region.placement(&always);
        let speculating = self.speculating(&region, &always);
        let (mut once, mut again) = (0, 0);
        for &lanes in &placement.replaced {
            (once, again) = (once | lanes, again | once & lanes);
        }
        // The solution is the plan where one evaluation is replaced and nothing has to be weighed.
        let is_weighed = self.warps.is_some() || self.expressions.has_doubtful_operands();
        let planned = if is_weighed { 0 } else { once & !again & !speculating };
        for (lane, &number) in batch.iter().enumerate().filter(|&(lane, _)| has(once | speculating, lane)) {
            if has(planned, lane) {
                let plan = Plan::of(&self.expressions.all[number], &region, &placement, lane);
                self.carry_out(view, number, &plan, round);
                continue;
            }
            for part in self.search.parts(&self.nodes, &region, lane) {
                let (plan, notes) = self.plan(number, part, &mut None);
                self.refused[number].extend(notes.refused);
                if notes.counts_jumps {
                    round.counting_jumps.push(number);
                }
                plan.into_iter().for_each(|plan| self.carry_out(view, number, &plan, round));
            }
        }
    }

    /// Expressions of a region that may gain by speculation, if paths can be weighed.
    fn speculating(&mut self, region: &Region, always: &Hoisted) -> Lanes {
        if !self.is_speculating || self.paths.is_none() && self.could_speculate {
            return 0;
        }
        let speculating = region.could_speculate(always);
        self.could_speculate |= speculating != 0;
        if self.paths.is_some() { speculating } else { 0 }
    }

    /// Regions in which an expression may be redundant; the refusal if there are too many nodes.
    fn regions(&mut self, number: usize) -> Result<Vec<Region>, Option<(Inst, Refused)>> {
        if !self.expressions.all[number].may_be_redundant(&self.nodes) {
            return Ok(Vec::new());
        }
        match self.search.region(&self.nodes, &self.expressions, &[number]) {
            (region, 0) => Ok(self.search.parts(&self.nodes, &region, 0)),
            _ => Err(self.too_large(number)),
        }
    }

    fn too_large(&self, number: usize) -> Option<(Inst, Refused)> {
        let site = self.expressions.all[number].sites.first()?;
        Some((site.first.or(site.last)?, Refused::TooLarge { at: self.nodes.block_or_target(site.node) }))
    }

    /// The plan for an expression in a region.
    fn plan(&self, number: usize, region: Region, observe: &mut Option<Observer<'_>>) -> (Option<Plan>, PlanNotes) {
        let expression = &self.expressions.all[number];
        let planner = Planner {
            nodes: &self.nodes,
            // Without paths nothing is put where it was not evaluated anyway.
            paths: self.paths.as_ref().filter(|_| self.marks_loads || !may_fault(&expression.data)),
            warps: self.warps.as_deref(),
            machine: self.machine,
        };
        let can_insert = |node: Node| self.expressions.can_be_evaluated(&self.nodes, expression, node);
        planner.plan(expression, region, can_insert, observe)
    }

    fn carry_out(&mut self, view: &mut View<'_>, number: usize, plan: &Plan, round: &mut Round) {
        if round.is_last {
            view.miss(more_rounds);
            return;
        }
        round.changed.push(number);
        round.has_split |= plan.splits_edges(&self.nodes);
        let (module, nodes) = (view.module(), &self.nodes);
        let text = |func: &Function| instruction_text(module, func, plan.first());
        let mut rewrite = view.rewrite(|func| plan.remark(func, nodes, &text(func)));
        let expression = &self.expressions.all[number];
        let inserted = plan.inserted.iter().map(|&(node, _)| self.expressions.is_transparent(expression, node));
        let are_transparent: Vec<bool> = inserted.collect();
        plan.carry_out(&mut rewrite, &mut self.nodes, &mut self.expressions.all[number], &are_transparent);
    }

    /// Repetitions of an expression within blocks, by the earlier evaluation.
    fn groups(&self, number: usize) -> impl Iterator<Item = &[Repetition]> {
        self.expressions.all[number].repetitions.chunk_by(|one, other| one.earlier == other.earlier)
    }

    /// Replaces repeated evaluations in a block, with no change between them.
    fn replace_repetitions(&mut self, view: &mut View<'_>, number: usize) {
        let module = view.module();
        let repetitions = core::mem::take(&mut self.expressions.all[number].repetitions);
        let expression = &mut self.expressions.all[number];
        for group in repetitions.chunk_by(|one, other| one.earlier == other.earlier) {
            let &Repetition { node, earlier, .. } = &group[0];
            let Some(block) = self.nodes.block(node) else { continue };
            let mut rewrite = view.rewrite(|func| repeat(module, func, block, group));
            make_temporaries(&mut rewrite, expression);
            keep(&mut rewrite, expression, node, earlier);
            group.iter().for_each(|repetition| read(&mut rewrite, &expression.temporaries, repetition.inst));
        }
    }
}

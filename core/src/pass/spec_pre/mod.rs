//! Partial redundancy elimination: what has been evaluated on some ways is evaluated on the others too, and not again
//! behind them; by speculation also where not all ways need it, if executed paths gain by that.
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
//! Each [expression](expressions) is looked at where its value comes to on some ways and is needed on some
//! ([`hoisting`]). Without speculation an evaluation is brought forward only past branches all of whose ways need it,
//! so that no path evaluates more than before. With executed paths, of a `profile path` or
//! estimated from a `profile edge`, other branches are weighed ([`benefit`]): executed paths that
//! evaluate once instead of twice, against others that evaluate for nothing. What pays is enabled, together with the
//! branches ahead that the benefit needs. From there evaluations are delayed again as far as that costs nothing, so
//! that invariants leave loops, and what gains nothing stays.
//!
//! On a machine with warps a path is taken by lanes, but an instruction is paid by the warp. With `cost=warp`, which
//! is the default where a `profile warp` counts executions, evaluations move where warps execute fewer cycles for
//! them: an evaluation on each side of a branch whose lanes part is paid twice, and one ahead of it once.
//!
//! Sound: a value is read only where it has been evaluated on every way since an operand was last written, and it is
//! kept in registers of its own. Arithmetic does not trap; a load that is inserted where not all ways have it is a
//! non-faulting one, or with `faulting=never` not inserted. Loads are changed by what [may
//! write](crate::pass::support::path_guided::memory) where they read. What a guard may skip is not taken for an evaluation.
//!
//! Bounds: for one expression at most 4096 nodes are looked at, in at most [`MOST_ROUNDS`] rounds, and 64 branches of
//! a region are decided on.
//! Running the pass again finds nothing more, but for that.
//!
//! Source: R. Gupta, D. Berson and J. Z. Fang, Path profile guided partial dead code elimination using predication,
//! 1997, section 3 and figure 11; J. Knoop, O. Rüthing and B. Steffen, Lazy code motion, 1992.

mod benefit;
mod expressions;
mod hoisting;
mod inspect;
mod plan;
mod spans;
pub mod survey;

use alloc::format;
use alloc::vec::Vec;

use super::{FAULTING_KNOB, Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::ir::{Block, Function, Inst, Module, WarpCounts};
use crate::machine::Machine;
use crate::pass::support::last_assignment::has_doubtful_reads;
use crate::pass::support::path_guided::memory::Memory;
use crate::pass::support::path_guided::nodes::Nodes;
use crate::pass::support::path_guided::paths::Paths;
use crate::pass::support::path_guided::rules::{COST, FP, MACHINE, Rules};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;
use expressions::{Expressions, Repetition};
use hoisting::{Around, Places, Region, Shape};
use plan::{Plan, Planner, Refused, Told, keep, make_temporaries, may_fault, read};
use survey::Seen;

/// Rounds that are made for one expression at most.
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
                kind: KnobKind::Switch { default: true },
                help: "evaluate ahead of branches not all of whose ways need it; without it no path ever \
                       evaluates more",
            },
            Knob {
                name: FAULTING_KNOB,
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
    shape: Shape,
    expressions: Expressions,
    memory: Memory,
    paths: Option<Paths>,
    /// How often warps execute each node, where warps pay.
    warps: Option<Vec<f64>>,
    machine: Machine,
    is_speculating: bool,
    /// May a load be put where it might fault?
    marks_loads: bool,
    /// Is there a branch ahead of which something would become redundant?
    could_speculate: bool,
    /// Refusals of each expression.
    refused: Vec<Vec<(Inst, Refused)>>,
    places: Places,
}

/// Details recorded for an expression.
#[derive(Default)]
struct Heard {
    refused: Vec<(Inst, Refused)>,
    counts_jumps: bool,
}

impl Elimination {
    /// For a function as it is.
    fn of(view: &mut View<'_>, settings: &Settings) -> Result<Elimination, PassError> {
        let knobs = &settings.knobs;
        let Rules { share, is_by_warp, machine } = Rules::of(view.func(), knobs, SpecPre::INFO.name)?;
        let (cfg, dominators) = (view.cfg(), view.dominators());
        let (module, func) = (view.module(), view.func());
        let nodes = Nodes::of(&cfg, func);
        let is_speculating = knobs.switch("speculation");
        let memory = Memory::of(module, func, &nodes);
        let expressions = Expressions::of(func, &nodes, &memory, has_doubtful_reads(func, &dominators));
        Ok(Elimination {
            refused: expressions.all.iter().map(|_| Vec::new()).collect(),
            expressions,
            memory,
            could_speculate: false,
            paths: if is_speculating { Paths::of(func, &nodes, share) } else { None },
            warps: is_by_warp.then(|| nodes.executions(&WarpCounts::of(func))),
            shape: Shape::of(&nodes, |node| {
                // What a call gives stands behind everything that can be put in its block.
                let terminator = nodes.block(node).and_then(|block| func.terminator(block));
                terminator.is_none_or(|inst| func.insts[inst].dsts.is_empty() && !func.insts[inst].opcode.op.is_call())
            }),
            places: Places::new(&nodes),
            nodes,
            is_speculating,
            marks_loads: knobs.choice(FAULTING_KNOB) != "never",
            machine,
        })
    }

    /// Looks at every expression until nothing more is gained by it. What one gains another does not lose, as no
    /// operand is written at another place than before.
    fn run(mut self, view: &mut View<'_>) {
        for number in 0..self.expressions.all.len() {
            self.replace_repetitions(view, number);
        }
        let mut waiting: Vec<usize> = (0..self.expressions.all.len()).collect();
        while !waiting.is_empty() {
            let mut counting_jumps = Vec::new();
            let mut has_split = false;
            for number in waiting {
                let heard = self.replace(view, number, &mut has_split);
                if heard.counts_jumps {
                    counting_jumps.push(number);
                }
                self.refused[number] = heard.refused;
            }
            // Where an edge has been split, a jump is there already.
            waiting = if has_split { counting_jumps } else { Vec::new() };
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

    /// Does what is gained by an expression. Gives what was heard when nothing more was.
    fn replace(&mut self, view: &mut View<'_>, number: usize, has_split: &mut bool) -> Heard {
        for round in 1..=MOST_ROUNDS {
            let (plans, heard) = self.plans(number);
            if plans.is_empty() {
                return heard;
            }
            if round == MOST_ROUNDS {
                view.miss(more_rounds);
                break;
            }
            for plan in plans {
                *has_split |= plan.splits_edges(&self.nodes);
                self.carry_out(view, number, &plan);
            }
        }
        Heard::default()
    }

    /// Plans for an expression, and the recorded details.
    fn plans(&mut self, number: usize) -> (Vec<Plan>, Heard) {
        let mut heard = Heard::default();
        let mut plans = Vec::new();
        for region in self.regions(number, &mut heard) {
            self.could_speculate |= self.is_speculating && !self.could_speculate && region.could_speculate();
            plans.extend(self.plan(number, region, &mut heard, &mut |_| {}));
        }
        (plans, heard)
    }

    /// Regions in which an expression may be redundant.
    fn regions(&mut self, number: usize, heard: &mut Heard) -> Vec<Region> {
        let expression = &self.expressions.all[number];
        let around =
            Around::of(&self.nodes, &self.shape, (&self.expressions, &self.memory), expression, &mut self.places);
        match around {
            Around::Nothing => Vec::new(),
            Around::TooMuch => {
                let site = expression.sites.iter().find_map(|site| Some((site.node, site.first.or(site.last)?)));
                let refused = |(node, inst)| (inst, Refused::TooLarge { at: self.nodes.block_or_target(node) });
                heard.refused.extend(site.map(refused));
                Vec::new()
            }
            Around::Regions(regions) => regions,
        }
    }

    /// Plan for an expression in a region. `look` gets the weights and decisions.
    fn plan(&self, number: usize, region: Region, heard: &mut Heard, look: &mut dyn FnMut(Seen<'_>)) -> Option<Plan> {
        let expression = &self.expressions.all[number];
        let planner = Planner {
            nodes: &self.nodes,
            // Without paths nothing is put where it was not evaluated anyway.
            paths: self.paths.as_ref().filter(|_| self.marks_loads || !may_fault(&expression.data)),
            warps: self.warps.as_deref(),
            machine: self.machine,
        };
        let can_insert = |node| self.expressions.can_be_evaluated(&self.nodes, expression, node);
        let mut told = Told::default();
        let wanting = region.members.iter().find_map(|member| member.first.filter(|_| member.is_reached));
        let plan = planner.plan(expression, region, can_insert, &mut told, look);
        heard.counts_jumps |= told.counts_jumps;
        if let Some(inst) = wanting {
            heard.refused.extend(told.refused.into_iter().map(|why| (inst, why)));
        }
        plan
    }

    fn carry_out(&mut self, view: &mut View<'_>, number: usize, plan: &Plan) {
        let (module, nodes) = (view.module(), &self.nodes);
        let mut rewrite = view.rewrite(|func| plan.remark(func, nodes, &instruction_text(module, func, plan.first())));
        let mut expression = self.expressions.all[number].clone();
        let is_transparent = |expression: &_, node| self.expressions.is_transparent(&self.memory, expression, node);
        plan.carry_out(&mut rewrite, &mut self.nodes, &mut expression, is_transparent);
        self.expressions.all[number] = expression;
    }

    /// Repetitions of an expression within blocks, by the earlier evaluation.
    fn groups(&self, number: usize) -> impl Iterator<Item = &[Repetition]> {
        self.expressions.repetitions[number].chunk_by(|one, other| one.earlier == other.earlier)
    }

    /// Replaces repeated evaluations in a block, with no change between them.
    fn replace_repetitions(&mut self, view: &mut View<'_>, number: usize) {
        let module = view.module();
        let repetitions = core::mem::take(&mut self.expressions.repetitions[number]);
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

fn repeat(module: &Module, func: &Function, block: Block, group: &[Repetition]) -> Remark {
    let [text, earlier] = [group[0].inst, group[0].earlier].map(|inst| instruction_text(module, func, inst));
    let message = format!("`{text}` is what `{earlier}` has evaluated in the same block");
    Remark::applied("repeat", block, message).at(group[0].inst).with("replaced", Fact::Count(group.len() as u64))
}

fn no_profile(func: &Function) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    let message = "there is no `profile path` and no `profile edge`, so nothing is evaluated by speculation: measure them with \
                   --profile simulate, or declare one";
    Remark::missed("no-profile", entry, message)
}

fn more_rounds(func: &Function) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    Remark::missed("max-rounds", entry, format!("after {MOST_ROUNDS} rounds more could be gained"))
}

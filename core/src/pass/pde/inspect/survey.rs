//! Survey of a program before the pass: executed paths, statements with verdicts, and the way of
//! one of them.
//!
//! ```text
//! paths        freq   x = s at n5:  available  removable  benefit  cost       joins   n5   150 · T[s] > 100 · T[p?s]
//! n1 n2 n5 n7   125                 1          1          1        0                  n9   enabled with n5
//! n1 n3 n5 n8    50                 0          0          0        1          flood   n2 ▸ n5 ▸ n8 ▸ n9    lands in
//! n11
//! ```
//!
//! Regions, sets, decisions and sentences are those of the pass itself. [`carried_out`] is the
//! program after the statement has sunk.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use fixedbitset::FixedBitSet;

use super::super::Rules;
use super::super::accesses::{Accesses, NOWHERE};
use super::super::benefit::{Decision, DecisionRules, Weighing};
use super::super::plan::{Notes, Plan, Planner, Scratch, Step};
use super::super::predicate::Sinking;
use super::super::region::{Delayed, Flags, Landing, Region, SearchResult};
use super::super::remarks::applied;
use super::super::rounds::Claims;
use super::super::sets::Sets;
use super::super::statements::{Catalogue, FrequentNodes, Statement, may_sink};
use crate::graph::Cfg;
use crate::ir::{Block, Func, Function, Guard, Inst, Module, WarpCounts};
use crate::pass::Settings;
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::paths::{Paths, change_frequencies, told};
use crate::text::instruction_text;
use crate::trace::{NoTrace, Remark};
use crate::view::{Analyses, View};

pub use super::super::benefit::Times;
pub use super::super::plan::Spot;
pub use crate::pass::support::path_guided::paths::{Estimated, Path, executed_paths};

/// Subject of a survey.
#[derive(Clone, Copy, Default, Debug)]
pub struct Question<'a> {
    /// An instruction of the statement whose way is wanted; None for the one that sinks next.
    pub wanted: Option<Inst>,
    /// Frequencies of paths that replace those of the profile.
    pub frequencies: &'a [(Vec<Block>, u64)],
    /// Counted executions of warps, to show their cycles when paths pay, too.
    pub warps: Option<&'a WarpCounts>,
}

/// A round of the pass.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// The executed paths, the most frequent first.
    pub paths: Vec<Path>,
    /// Quality of the estimate, if paths are estimated.
    pub estimated: Option<Estimated>,
    /// Whether warps pay instead of paths.
    pub is_by_warp: bool,
    /// Statements that may sink, in the order in which the pass considers them.
    pub statements: Vec<Surveyed>,
    /// Statements that sink in this round, as indices of that list.
    pub round: Vec<usize>,
    /// The way of the wanted statement.
    pub detail: Option<Detail>,
    /// Why the pass cannot run.
    pub refused: Option<String>,
}

/// A statement, with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Surveyed {
    /// Equal instructions, which sink together.
    pub occurrences: Vec<Inst>,
    /// Whether it sinks.
    pub passes: bool,
    /// The rule that decided, as the pass's remarks call it.
    pub rule: &'static str,
    /// A sentence without the final stop.
    pub verdict: String,
}

/// The way of a statement.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Detail {
    /// The index in [`Survey::statements`]; None for an instruction that cannot sink.
    pub statement: Option<usize>,
    /// Why it cannot sink.
    pub why_none: String,
    /// `T[s]`, `T[p?s]` and `T[p]`.
    pub times: Times,
    /// Joins of the region, in the order of the decisions.
    pub joins: Vec<Join>,
    /// Positions at which it is delayed, in the order of the spread.
    pub flood: Vec<Flooded>,
    /// Landings.
    pub landings: Vec<Landed>,
    /// The predicate of partial landings.
    pub predicate: Option<Predicate>,
    /// Cycles of all warps, before and after.
    pub warp_cycles: Option<(f64, f64)>,
}

/// A join on the way of a statement. Sets hold ascending indices of [`Survey::paths`].
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// The block.
    pub block: Block,
    /// The decision.
    pub verdict: JoinVerdict,
    /// The join and those that are enabled with it: J(n).
    pub together: Vec<Block>,
    /// The paths through it.
    pub on: Vec<usize>,
    /// X-APATHS.
    pub available: Vec<usize>,
    /// X-RPATHS.
    pub removable: Vec<usize>,
    /// Paths that lose an execution if all of J(n) are passed.
    pub benefits: Vec<usize>,
    /// Paths that gain an execution.
    pub costs: Vec<usize>,
    /// The figures, if it was weighed.
    pub weighed: Option<Weighed>,
    /// The benefit as the paper counts it.
    pub printed: Option<Printed>,
}

/// Benefit of a join if no last trip of a loop needed the statement after the loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Printed {
    /// Executions that frequent paths would lose.
    pub benefit_paths: f64,
    /// Their cycles.
    pub benefit: f64,
}

/// Decision about a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinVerdict {
    /// Passed without a predicate: the statement arrives on all edges.
    Plain,
    /// Passed with a predicate: it pays.
    Enabled,
    /// Passed, as an earlier one needs it.
    EnabledWith(Block),
    /// Passed, since the statement arrives on all edges once it passes others.
    PastOthers,
    /// Refused: it costs more.
    Cost,
    /// Refused: paths would gain, warps would not.
    Warps,
    /// Refused: no frequent path would benefit.
    NoBenefit,
    /// Not reached by the statement.
    NotReached,
    /// End of the way: the block stops the statement, or its result is dead there.
    Ends,
    /// Target of a back edge.
    LoopHead,
    /// Refused without a profile, or without predicates.
    NoProfile,
}

/// The figures of a join. Paths are in executions, the others in cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighed {
    /// Executions that frequent paths lose.
    pub benefit_paths: f64,
    /// Executions that paths gain.
    pub cost_paths: f64,
    /// Cycles of the lost executions.
    pub benefit: f64,
    /// Cycles of the gained executions.
    pub cost: f64,
    /// Cycles of one execution.
    pub times: Times,
}

/// A block or a critical edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// A block.
    Block(Block),
    /// A critical edge.
    Edge(Block, Block),
}

/// A position at which a statement is delayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flooded {
    /// The position.
    pub position: Position,
    /// The wave of its arrival, from 0.
    pub wave: usize,
    /// The instruction, if the statement is in this block.
    pub occurrence: Option<Inst>,
    /// The instruction that stops it.
    pub stop: Option<Inst>,
    /// Whether it arrives on some paths only.
    pub is_partial: bool,
    /// Whether it ends at the entry, because its result is dead there.
    pub is_dead: bool,
}

/// A landing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landed {
    /// The point.
    pub spot: Spot,
    /// Whether the result is needed there; else the statement is dropped.
    pub is_live: bool,
    /// Whether it is under the predicate.
    pub is_partial: bool,
}

/// The predicate of a statement that lands.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
    /// A predicate of the program.
    Known(Guard),
    /// A new predicate, true where the statement was.
    New {
        /// Blocks at whose beginning it becomes false.
        begins: Vec<Block>,
        /// Points at which it becomes false again.
        clears: Vec<Spot>,
    },
}

/// Surveys a function as it is.
pub fn survey(module: &Module, func: Func, settings: &Settings, question: Question<'_>) -> Survey {
    with_planner(module, func, settings, question, |surveyor| surveyor.survey())
        .unwrap_or_else(|refused| Survey { refused: Some(refused), ..Survey::default() })
}

/// The function after the statement of an instruction has sunk; None if it stays.
pub fn carried_out(module: &Module, func: Func, settings: &Settings, inst: Inst) -> Option<Function> {
    let found = with_planner(module, func, settings, Question::default(), |surveyor| {
        let statement = surveyor.statements.iter().find(|statement| statement.contains(inst))?;
        surveyor.plan(statement, &mut Notes::default(), &mut |_| {})
    });
    let plan = found.ok().flatten()?;
    let mut body = module.funcs[func].clone();
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    let mut nodes = Nodes::of(&Cfg::compute(&module.funcs[func]), &module.funcs[func]);
    let mut rewrite = view.rewrite(|func| applied(func, &nodes, &plan, ""));
    plan.carry_out(&mut rewrite, &mut nodes);
    rewrite.finish();
    view.close();
    Some(body)
}

fn listed(set: &FixedBitSet) -> Vec<usize> {
    set.ones().collect()
}

/// Start of a round.
struct Surveyor<'a> {
    module: &'a Module,
    func: &'a Function,
    rules: &'a Rules,
    planner: Planner<'a>,
    scratch: RefCell<Scratch>,
    statements: Vec<Statement>,
    /// Nodes whose statements the pass plans.
    frequent: FrequentNodes,
    question: Question<'a>,
}

fn with_planner<T>(
    module: &Module,
    func: Func,
    settings: &Settings,
    question: Question<'_>,
    answer: impl FnOnce(&Surveyor<'_>) -> T,
) -> Result<T, String> {
    let mut body = module.funcs[func].clone();
    change_frequencies(&mut body, question.frequencies);
    let rules = Rules::of(&body, settings).map_err(|error| error.message)?;
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    let cfg = view.cfg();
    let func = view.func();
    let nodes = Nodes::of(&cfg, func);
    let accesses = Accesses::of(module, func, &nodes);
    let mut statements = Catalogue::of(func, &accesses, nodes.len(), true).into_statements();
    statements.sort_by_key(Statement::order);
    let paths = if rules.with_predicates { Paths::of(func, &nodes, rules.share) } else { None };
    let warps = rules.is_by_warp.then(|| nodes.executions(&WarpCounts::of(func)));
    let frequent = rules.frequent(paths.as_ref(), warps.as_deref());
    let planner = Planner {
        func,
        nodes: &nodes,
        accesses: &accesses,
        paths: paths.as_ref(),
        warps: warps.as_deref(),
        rules: DecisionRules { is_printed: rules.is_printed, is_complete: true },
        machine: rules.machine,
    };
    let scratch = RefCell::new(Scratch::new(&nodes));
    Ok(answer(&Surveyor { module, func, rules: &rules, planner, scratch, statements, frequent, question }))
}

impl Surveyor<'_> {
    fn survey(&self) -> Survey {
        let statements: Vec<Surveyed> = self.statements.iter().map(|statement| self.verdict(statement)).collect();
        let round = self.round(&statements);
        let wanted = match self.question.wanted {
            Some(inst) => self.statements.iter().position(|statement| statement.contains(inst)).ok_or(inst),
            None => round.first().copied().ok_or(Inst::from_u32(0)),
        };
        let detail = match (wanted, self.question.wanted) {
            (Ok(statement), _) => Some(self.detail(statement)),
            (Err(inst), Some(_)) => Some(Detail { why_none: self.why_none(inst), ..Detail::default() }),
            (Err(_), None) => None,
        };
        let frequent = self.planner.paths.map_or(0, |paths| paths.frequent);
        let (paths, estimated) = told(self.func, self.planner.nodes, frequent);
        Survey { paths, estimated, is_by_warp: self.rules.is_by_warp, statements, round, detail, refused: None }
    }

    /// Statements that the pass would sink next: those of the last window that has any.
    fn round(&self, surveyed: &[Surveyed]) -> Vec<usize> {
        let numbers: Vec<usize> = (0..surveyed.len()).filter(|&number| surveyed[number].passes).collect();
        let window = |number: usize| self.statements[number].order().0 / self.rules.window;
        let windows = numbers.chunk_by(|&number, &next| window(number) == window(next));
        let taken = |numbers: &[usize]| -> Vec<usize> {
            let mut claims = Claims::new(self.planner.accesses.registers(), self.planner.nodes.len());
            numbers.iter().copied().filter(|&number| self.is_taken(&self.statements[number], &mut claims)).collect()
        };
        windows.rev().map(taken).find(|round| !round.is_empty()).unwrap_or_default()
    }

    /// Whether the pass takes a statement's plan into the round.
    fn is_taken(&self, statement: &Statement, claims: &mut Claims) -> bool {
        let plan = self.plan(statement, &mut Notes::default(), &mut |_| {});
        let scratch = self.scratch.borrow();
        plan.is_some_and(|plan| {
            claims.take(&self.planner, statement, &plan, scratch.consulted(self.planner.nodes, statement))
        })
    }

    fn plan(&self, statement: &Statement, notes: &mut Notes, observe: &mut dyn FnMut(Step<'_>)) -> Option<Plan> {
        let is_planned = self.frequent.execute(statement);
        is_planned.then(|| self.planner.plan(statement, &mut self.scratch.borrow_mut(), notes, observe))?
    }

    fn verdict(&self, statement: &Statement) -> Surveyed {
        let text = instruction_text(self.module, self.func, statement.occurrences[0].inst);
        let mut notes = Notes::default();
        let plan = self.plan(statement, &mut notes, &mut |_| {});
        let remark = match (&plan, notes.refusals.first()) {
            (Some(plan), _) => applied(self.func, self.planner.nodes, plan, &text),
            (None, Some(refusal)) => refusal.remark(self.func, &text),
            (None, None) => self.silence(statement, &text),
        };
        let Remark { rule, message: verdict, .. } = remark;
        let occurrences = statement.occurrences.iter().map(|occurrence| occurrence.inst).collect();
        Surveyed { occurrences, passes: plan.is_some(), rule, verdict }
    }

    /// Why a statement stays without a remark of the pass.
    fn silence(&self, statement: &Statement, text: &str) -> Remark {
        let from = self.planner.nodes.block_or_target(statement.occurrences[0].node);
        let said = |rule, why: &str| Remark::missed(rule, from, format!("`{text}` stays: {why}"));
        if !self.frequent.execute(statement) {
            return said("infrequent", "no frequent path executes it; `pde.statements=all` plans it as well");
        }
        let scratch = &mut *self.scratch.borrow_mut();
        if !self.planner.is_needed(statement, scratch) {
            return said("dead", "no successor needs its result, which is for `dce` to remove");
        }
        match self.planner.search(statement, scratch) {
            SearchResult::NothingDead => return said("needed", "every path on which it could sink needs its result"),
            SearchResult::TooLarge => return said("too-large", "its region is too large"),
            SearchResult::Found => {}
        }
        let has_partial_join = scratch.region.has_partial_join;
        match (self.planner.paths.is_none(), has_partial_join) {
            (true, true) if self.rules.with_predicates => said(
                "no-profile",
                "it could pass a join under a predicate only, and no profile of paths or edges tells whether that pays",
            ),
            (true, true) => said("no-predicates", "it could pass a join under a predicate only"),
            (_, true) => said("no-benefit", "no executed path would lose it past the joins that it could pass"),
            (_, false) => said("no-gain", "it is needed or stopped wherever it could sink"),
        }
    }

    /// Why an instruction is no statement.
    fn why_none(&self, inst: Inst) -> String {
        let Some(data) = self.func.insts.get(inst) else { return String::from("It is not in the program.") };
        let why = match data.guard {
            Some(_) => "it has a guard",
            None if !may_sink(data) => "only loads and pure instructions with one result sink",
            None => {
                "a later instruction of the block reads or writes its result, writes an operand, or may change \
                 its memory"
            }
        };
        format!("`{}` cannot leave its block: {why}", instruction_text(self.module, self.func, inst))
    }

    fn detail(&self, number: usize) -> Detail {
        let statement = &self.statements[number];
        let mut detail = Detail { statement: Some(number), times: self.planner.times(statement), ..Detail::default() };
        let mut weighed: Vec<WeighedJoin> = Vec::new();
        let mut sunk: Option<Flags> = None;
        let plan = self.plan(statement, &mut Notes::default(), &mut |step| match step {
            Step::Join(weighing) => weighed.push(self.record_join(weighing)),
            Step::Sunk { region, enabled, sinking: Sinking { always, delayed, landings, .. } } => {
                detail.flood = self.flood(region, always, delayed);
                detail.landings = landings.iter().filter_map(|landing| self.landed(region, landing)).collect();
                sunk = Some(Flags::from_slice(enabled));
            }
        });
        let scratch = &mut *self.scratch.borrow_mut();
        if !self.planner.is_needed(statement, scratch) {
            return detail;
        }
        if self.planner.search(statement, scratch) != SearchResult::Found {
            return detail;
        }
        let region = &scratch.region;
        let always = region.delayed(&region.no_flags());
        let delayed = sunk.as_ref().map_or_else(|| always.clone(), |enabled| region.delayed(enabled));
        let sets = self.planner.paths.map(|paths| Sets::of(region, paths, &delayed, &always));
        let passing = Passing { enabled: sunk.as_deref(), delayed: &delayed, sets: sets.as_ref() };
        let joins = (0..region.members.len()).filter_map(|place| self.join(region, &always, place, &weighed, &passing));
        detail.joins = joins.collect();
        let enabled = sunk.unwrap_or_else(|| region.no_flags());
        let counted = self.question.warps.map(|counts| self.planner.nodes.executions(counts));
        let warps = self.planner.warps.or(counted.as_deref());
        detail.warp_cycles = plan.as_ref().and_then(|plan| plan.warp_cycles).or_else(|| {
            let (warps, times) = (warps?, self.planner.times(statement));
            let before = self.planner.warp_cycles_before(region, warps, times);
            let notes = &mut Notes::default();
            Some((before, self.planner.warp_cycles(region, &enabled, &always, warps, times, notes)))
        });
        if let Some(plan) = plan.filter(|plan| plan.is_predicated) {
            let Plan { begins, clears, guard, .. } = plan;
            detail.predicate = Some(guard.map_or(Predicate::New { begins, clears }, Predicate::Known));
        }
        detail
    }

    /// Records a weighed join.
    fn record_join(&self, weighing: &Weighing<'_>) -> WeighedJoin {
        let Weighing { decision, times, executions: (before, after), rare, sets } = *weighing;
        let none = || self.planner.paths.map(Paths::none).unwrap_or_default();
        let frequent = self.planner.paths.map_or(0, |paths| paths.frequent);
        let (mut benefits, mut costs) = (none(), none());
        for (path, (before, after)) in before.iter().zip(after).enumerate().take(frequent) {
            benefits.set(path, after < before);
            costs.set(path, after > before);
        }
        costs.extend(rare.ones().filter(|&path| path >= frequent));
        // The printed rule enables later ones, whatever that costs.
        let later = if self.rules.is_printed { decision.join + 1..sets.exit_available.places() } else { 0..0 };
        let told = decision.together.iter().copied().chain(later);
        let sets_of = told.map(|place| (place, sets.exit_available.set(place), sets.exit_removable.set(place)));
        WeighedJoin {
            decision: decision.clone(),
            times,
            sets: sets_of.collect(),
            changes: (!before.is_empty()).then_some((benefits, costs)),
        }
    }

    fn join(
        &self,
        region: &Region,
        always: &Delayed,
        place: usize,
        weighed: &[WeighedJoin],
        passing: &Passing<'_>,
    ) -> Option<Join> {
        let Passing { enabled, delayed, sets } = *passing;
        let (member, nodes) = (&region.members[place], self.planner.nodes);
        let block = nodes.block(member.node).filter(|_| region.has_several_ways(place) && member.is_reached)?;
        let none = || self.planner.paths.map(Paths::none).unwrap_or_default();
        let own = weighed.iter().find(|seat| seat.decision.join == place);
        let is_enabled = enabled.is_some_and(|enabled| enabled[place]);
        let needs = |decision: &Decision| {
            decision.together.contains(&place) || self.rules.is_printed && is_enabled && decision.join < place
        };
        let with = weighed.iter().find(|seat| seat.decision.is_worth_it() && needs(&seat.decision));
        let verdict = match (own, with) {
            _ if !member.is_free() => JoinVerdict::Ends,
            _ if !nodes.is_join(member.node) => JoinVerdict::LoopHead,
            _ if always.entry[place] => JoinVerdict::Plain,
            _ if self.planner.paths.is_none() => JoinVerdict::NoProfile,
            _ if member.is_end => JoinVerdict::NoBenefit,
            (Some(own), _) if own.decision.is_worth_it() && is_enabled => JoinVerdict::Enabled,
            (Some(own), _) if own.decision.is_worth_it() => JoinVerdict::Warps,
            (None, Some(with)) if is_enabled => match nodes.block(region.members[with.decision.join].node) {
                Some(earlier) => JoinVerdict::EnabledWith(earlier),
                None => JoinVerdict::Enabled,
            },
            (None, Some(_)) => JoinVerdict::Warps,
            (Some(own), _) if own.decision.benefit_paths > 0.0 => JoinVerdict::Cost,
            (Some(_), _) => JoinVerdict::NoBenefit,
            (None, None) if is_enabled => JoinVerdict::Enabled,
            (None, None) if delayed.entry[place] => JoinVerdict::PastOthers,
            (None, None) => JoinVerdict::NotReached,
        };
        let seat = own.or(with);
        // Where nothing had to be weighed, what holds in the end.
        let in_the_end = || match sets.filter(|_| seat.is_none() && delayed.entry[place]) {
            Some(sets) => (sets.exit_available.set(place), sets.exit_removable.set(place)),
            None => (none(), none()),
        };
        let (available, removable) = seat
            .and_then(|seat| seat.sets.iter().find(|(at, ..)| *at == place))
            .map_or_else(in_the_end, |(_, available, removable)| (available.clone(), removable.clone()));
        let on = self.planner.paths.map_or_else(none, |paths| paths.set_on(member.node));
        // By the printed rule, and of a join that an earlier one needs, the sets of this one say
        // it.
        let by_sets = || {
            let (mut benefits, mut costs) = (available.clone(), on.clone());
            benefits.intersect_with(&removable);
            costs.difference_with(&available);
            costs.difference_with(&removable);
            (benefits, costs)
        };
        let (benefits, costs) = match (seat, own.and_then(|own| own.changes.clone())) {
            (None, _) => (none(), none()),
            (Some(_), changes) => changes.unwrap_or_else(by_sets),
        };
        let together = own.map_or(&[][..], |own| &own.decision.together);
        Some(Join {
            block,
            verdict,
            together: together.iter().filter_map(|&place| nodes.block(region.members[place].node)).collect(),
            on: listed(&on),
            available: listed(&available),
            removable: listed(&removable),
            benefits: listed(&benefits),
            costs: listed(&costs),
            weighed: own.map(|WeighedJoin { decision, times, .. }| Weighed {
                benefit_paths: decision.benefit_paths,
                cost_paths: decision.cost_paths,
                benefit: decision.benefit,
                cost: decision.cost,
                times: *times,
            }),
            printed: own.map(|WeighedJoin { decision, .. }| Printed {
                benefit_paths: decision.printed_paths,
                benefit: decision.printed_benefit,
            }),
        })
    }

    /// Positions at which the statement is delayed; each comes in a wave after its forward
    /// predecessors.
    fn flood(&self, region: &Region, always: &Delayed, delayed: &Delayed) -> Vec<Flooded> {
        let members = &region.members;
        let mut waves: Vec<Option<usize>> =
            members.iter().map(|member| member.occurrence.is_some().then_some(0)).collect();
        loop {
            let mut is_stable = true;
            for place in 0..members.len() {
                if waves[place].is_some() || !delayed.entry[place] {
                    continue;
                }
                let comes = || region.before(place).filter(|&before| delayed.exit[before]);
                let forward = || comes().filter(|&before| before < place);
                let latest = if forward().next().is_some() {
                    forward()
                        .map(|before| waves[before])
                        .collect::<Option<Vec<_>>>()
                        .and_then(|all| all.into_iter().max())
                } else {
                    comes().filter_map(|before| waves[before]).min()
                };
                waves[place] = latest.map(|wave| wave + 1);
                is_stable &= waves[place].is_none();
            }
            if is_stable {
                break;
            }
        }
        let mut flood: Vec<Flooded> = Vec::new();
        for (place, member) in members.iter().enumerate() {
            let (Some(wave), Some(position)) = (waves[place], self.position(member.node)) else { continue };
            let occurrence = member.occurrence.filter(|_| delayed.exit[place]);
            flood.push(Flooded {
                position,
                wave,
                occurrence,
                stop: self.stop(region, place).filter(|_| occurrence.is_none()),
                is_partial: occurrence.is_none() && !always.entry[place],
                is_dead: occurrence.is_none() && member.is_dead,
            });
        }
        flood.sort_by_key(|flooded| flooded.wave);
        flood
    }

    fn position(&self, node: Node) -> Option<Position> {
        let nodes = self.planner.nodes;
        let edge = || nodes.edge(node).map(|(from, to)| Position::Edge(from, to));
        nodes.block(node).map(Position::Block).or_else(edge)
    }

    fn stop(&self, region: &Region, place: usize) -> Option<Inst> {
        let member = &region.members[place];
        let block = self.planner.nodes.block(member.node).filter(|_| member.stop != NOWHERE)?;
        self.planner.accesses.at(self.func, block, member.stop)
    }

    /// A landing; None where an occurrence stays.
    fn landed(&self, region: &Region, landing: &Landing) -> Option<Landed> {
        if region.stays(landing, landing.place) {
            return None;
        }
        let spot = self.planner.spot_after(landing)?;
        Some(Landed { spot, is_live: landing.is_live, is_partial: landing.is_partial })
    }
}

/// Joins that a statement passes in the end.
struct Passing<'a> {
    /// The enabled joins, if anything was decided.
    enabled: Option<&'a [bool]>,
    /// The solution with these joins enabled.
    delayed: &'a Delayed,
    /// The sets of the solution, if there are paths.
    sets: Option<&'a Sets>,
}

/// A weighed join. Members are those of the region, which each search finds again.
struct WeighedJoin {
    decision: Decision,
    times: Times,
    /// X-APATHS and X-RPATHS of the joins that are enabled together; by the printed rule of all
    /// later ones.
    sets: Vec<(usize, FixedBitSet, FixedBitSet)>,
    /// Paths that lose and that gain an execution, if they are counted.
    changes: Option<(FixedBitSet, FixedBitSet)>,
}

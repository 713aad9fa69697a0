//! Questions to the pass for its [survey]: what it would do with each statement, and how it comes
//! to that.
//!
//! 1. All statements are planned for as in a round; what a plan or a refusal says is the verdict.
//! 2. The wanted statement is planned for once more, with a listener to the weighed joins and to
//!    where it is delayed.
//! 3. Each join of its region gets its sets and its verdict from the weighing, or from the final
//!    solution.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::super::Rules;
use super::super::accesses::{Accesses, NOWHERE};
use super::super::benefit::{Decision, DecisionRules, Times, Weighing};
use super::super::plan::{Notes, Plan, Planner, Scratch, Step};
use super::super::predicate::Sinking;
use super::super::region::{Delayed, Flags, Landing, Region, SearchResult};
use super::super::remarks::applied;
use super::super::rounds::Claims;
use super::super::sets::Sets;
use super::super::statements::{Catalogue, FrequentNodes, Statement, may_sink};
use super::survey::{
    Detail, Flooded, Join, JoinVerdict, Landed, Position, Predicate, Printed, Question, Survey, Surveyed, Weighed,
};
use crate::compact_sort::CompactSort;
use crate::ir::{Func, Function, Inst, Module, WarpCounts};
use crate::pass::Settings;
use crate::pass::support::path_guided::inspect::points::{WeighedPoint, changed_paths, sets_at};
use crate::pass::support::path_guided::nodes::Nodes;
use crate::pass::support::path_guided::paths::{Paths, change_frequencies, inspected_paths};
use crate::text::instruction_text;
use crate::trace::{NoTrace, Remark};
use crate::view::{Analyses, View};

/// Start of a round.
pub(super) struct Surveyor<'a> {
    module: &'a Module,
    func: &'a Function,
    rules: &'a Rules,
    planner: Planner<'a>,
    scratch: RefCell<Scratch>,
    pub statements: Vec<Statement>,
    /// Nodes whose statements the pass plans.
    frequent: FrequentNodes,
    question: Question<'a>,
}

/// Lets a surveyor answer about a function; the message if the pass cannot run.
pub(super) fn with_planner<T>(
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
    statements.compact_sort_by_key(Statement::order);
    let paths = if rules.with_predicates { Paths::of(func, &nodes, rules.share) } else { None };
    let warps = rules.is_by_warp.then(|| nodes.executions(&WarpCounts::of(func)));
    let frequent = rules.frequent(paths.as_ref(), warps.as_deref());
    let stalls = rules.stalls(&mut view, &nodes, paths.is_some());
    let func = view.func();
    let planner = Planner {
        func,
        nodes: &nodes,
        accesses: &accesses,
        paths: paths.as_ref(),
        warps: warps.as_deref(),
        stalls: stalls.as_ref(),
        rules: DecisionRules { is_printed: rules.is_printed, is_complete: true },
        machine: rules.machine,
    };
    let scratch = RefCell::new(Scratch::new(&nodes));
    Ok(answer(&Surveyor { module, func, rules: &rules, planner, scratch, statements, frequent, question }))
}

impl Surveyor<'_> {
    pub fn survey(&self) -> Survey {
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
        let (paths, estimated) = inspected_paths(self.func, self.planner.nodes, frequent);
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

    pub fn plan(&self, statement: &Statement, notes: &mut Notes, observe: &mut dyn FnMut(Step<'_>)) -> Option<Plan> {
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
        let said = |rule, why: &str| Remark::missed(rule, from, format!("kept `{text}`: {why}"));
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
            (_, true) => said("no-benefit", "no executed path would save it past the joins that it could pass"),
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
        let mut weighed: Vec<WeighedPoint<TimedDecision>> = Vec::new();
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
    fn record_join(&self, weighing: &Weighing<'_>) -> WeighedPoint<TimedDecision> {
        let Weighing { decision, times, executions, rare, sets } = *weighing;
        // The printed rule enables later ones, whatever that costs, and counts no executions.
        let later = if self.rules.is_printed { decision.join + 1..sets.exit_available.places() } else { 0..0 };
        let places = decision.together.iter().copied().chain(later);
        let of = |place| (place, (sets.exit_available.set(place), sets.exit_removable.set(place)));
        let changes = |paths| (!executions.0.is_empty()).then(|| changed_paths(paths, executions, rare));
        WeighedPoint {
            decision: TimedDecision { decision: decision.clone(), times },
            sets: places.map(of).collect(),
            changes: self.planner.paths.and_then(changes),
        }
    }

    fn join(
        &self,
        region: &Region,
        always: &Delayed,
        place: usize,
        weighed: &[WeighedPoint<TimedDecision>],
        passing: &Passing<'_>,
    ) -> Option<Join> {
        let Passing { enabled, delayed, sets } = *passing;
        let (member, nodes) = (&region.members[place], self.planner.nodes);
        let block = nodes.block(member.node).filter(|_| region.has_several_ways(place) && member.is_reached)?;
        let own = weighed.iter().find(|point| point.decision.decision.join == place);
        let is_enabled = enabled.is_some_and(|enabled| enabled[place]);
        let needs = |decision: &Decision| {
            decision.together.contains(&place) || self.rules.is_printed && is_enabled && decision.join < place
        };
        let is_needed_by = |point: &&WeighedPoint<TimedDecision>| {
            point.decision.decision.is_worth_it() && needs(&point.decision.decision)
        };
        let with = weighed.iter().find(is_needed_by);
        let decisions = [own, with].map(|point| point.map(|point| &point.decision.decision));
        let verdict = match decisions {
            _ if !member.is_free() => JoinVerdict::Ends,
            _ if !nodes.is_join(member.node) => JoinVerdict::LoopHead,
            _ if always.entry[place] => JoinVerdict::Plain,
            _ if self.planner.paths.is_none() => JoinVerdict::NoProfile,
            _ if member.is_end => JoinVerdict::NoBenefit,
            [Some(own), _] if own.is_worth_it() && is_enabled => JoinVerdict::Enabled,
            [Some(own), _] if own.is_worth_it() => JoinVerdict::Warps,
            [None, Some(with)] if is_enabled => match nodes.block(region.members[with.join].node) {
                Some(earlier) => JoinVerdict::EnabledWith(earlier),
                None => JoinVerdict::Enabled,
            },
            [None, Some(_)] => JoinVerdict::Warps,
            [Some(own), _] if own.benefit_paths > 0.0 => JoinVerdict::Cost,
            [Some(_), _] => JoinVerdict::NoBenefit,
            [None, None] if is_enabled => JoinVerdict::Enabled,
            [None, None] if delayed.entry[place] => JoinVerdict::PastOthers,
            [None, None] => JoinVerdict::NotReached,
        };
        // Where nothing had to be weighed, the final solution shows its sets.
        let in_the_end = sets.filter(|_| delayed.entry[place]);
        let in_the_end = in_the_end.map(|sets| (sets.exit_available.set(place), sets.exit_removable.set(place)));
        let sets = self.planner.paths.map(|paths| sets_at(paths, (place, member.node), own, with, in_the_end));
        let together = own.map_or(&[][..], |own| &own.decision.decision.together);
        Some(Join {
            block,
            verdict,
            together: together.iter().filter_map(|&place| nodes.block(region.members[place].node)).collect(),
            sets: sets.unwrap_or_default(),
            weighed: own.map(|own| own.decision.weighed()),
            times: own.map(|own| own.decision.times).unwrap_or_default(),
            printed: own.map(|own| own.decision.printed()),
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
            let position = Position::of(self.planner.nodes, member.node);
            let (Some(wave), Some(position)) = (waves[place], position) else { continue };
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
        flood.compact_sort_by_key(|flooded| flooded.wave);
        flood
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

/// A decision about a join, by member, with the cycles that it goes by.
struct TimedDecision {
    decision: Decision,
    times: Times,
}

impl TimedDecision {
    fn weighed(&self) -> Weighed {
        let Decision { benefit_paths, cost_paths, benefit, cost, .. } = self.decision;
        Weighed { benefit_paths, cost_paths, benefit, cost }
    }

    fn printed(&self) -> Printed {
        let Decision { printed_paths: benefit_paths, printed_benefit: benefit, .. } = self.decision;
        Printed { benefit_paths, benefit }
    }
}

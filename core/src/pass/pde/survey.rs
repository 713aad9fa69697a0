//! The executed paths of a program as it is, its statements with their verdicts, and how one of them would sink: for people
//! who look before the pass does anything.
//!
//! ```text
//! paths        freq   x = s at n5:  available  removable  benefit  cost       joins   n5   150 · T[s] > 100 · T[p?s]
//! n1 n2 n5 n7   125                 1          1          1        0                  n9   enabled with n5
//! n1 n3 n5 n8    50                 0          0          0        1          flood   n2 ▸ n5 ▸ n8 ▸ n9    lands in n11
//! ```
//!
//! It looks with the pass's own eyes: the same region, the same sets, the same decisions, the same sentences. Nothing is
//! computed a second way, so that what is told here is what the pass does next; [`carried_out`] is what the program
//! is then.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use fixedbitset::FixedBitSet;

use super::accesses::Accesses;
use super::benefit::{Decision, Manner, Sets, Weighing};
use super::course::Course;
use super::frequent::Frequent;
use super::plan::{Plan, Planner, Refused, Scratch, Seen, Terms, Told};
use super::region::{Delayed, Landing, Region};
use super::rounds::{Claims, Marks};
use super::sinking::Behind;
use super::statements::{Catalogue, Statement, may_sink};
use super::{Rules, applied};
use crate::graph::Cfg;
use crate::ir::{Block, Func, Function, Guard, Inst, Module, Reg, WarpCounts};
use crate::pass::Settings;
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::paths::{Paths, change_frequencies, told};
use crate::text::instruction_text;
use crate::trace::{NoTrace, Remark};
use crate::view::{Analyses, View};

pub use super::benefit::Times;
pub use super::plan::Spot;
pub use crate::pass::path_guided::paths::{Estimated, Path, executed_paths};

/// Request of a survey.
#[derive(Clone, Copy, Default, Debug)]
pub struct Question<'a> {
    /// An instruction of the statement whose way is told; none is the one that sinks next.
    pub wanted: Option<Inst>,
    /// Frequencies of paths that are other than the profile says.
    pub frequencies: &'a [(Vec<Block>, u64)],
    /// Warp counts from elsewhere: their cycles are reported where paths decide, too.
    pub warps: Option<&'a WarpCounts>,
}

/// A round of the pass, looked at.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// The executed paths, the most frequent first.
    pub paths: Vec<Path>,
    /// Are they estimated from edges that were counted, and how well?
    pub estimated: Option<Estimated>,
    /// Do warps pay rather than paths?
    pub is_by_warp: bool,
    /// Statements that may sink, in the order in which the pass considers them.
    pub statements: Vec<Surveyed>,
    /// The statements that the pass would sink in this round, by their places in that list.
    pub round: Vec<usize>,
    /// How the statement that was asked for sinks, or why it does not.
    pub detail: Option<Detail>,
    /// Why the pass cannot run.
    pub refused: Option<String>,
}

/// A statement, with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Surveyed {
    /// Equal instructions, which sink together.
    pub occurrences: Vec<Inst>,
    /// Does it sink?
    pub passes: bool,
    /// The rule that decided, as the pass's remarks call it.
    pub rule: &'static str,
    /// A sentence without the final stop.
    pub verdict: String,
}

/// How a statement sinks.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Detail {
    /// The statement, by its place in [`Survey::statements`]; none for an instruction that is none.
    pub statement: Option<usize>,
    /// Why it is none.
    pub why_none: String,
    /// T[s], T[p?s] and T[p].
    pub times: Times,
    /// The joins that it could come to, in the order in which they are decided.
    pub joins: Vec<Join>,
    /// Places where it is delayed, in the order in which that spreads.
    pub flood: Vec<Flooded>,
    /// Landings.
    pub landings: Vec<Landed>,
    /// The predicate under which it lands somewhere.
    pub predicate: Option<Predicate>,
    /// Cycles of all warps, before and after.
    pub warp_cycles: Option<(f64, f64)>,
}

/// A join on the way of a statement. Sets are of paths, by their places in [`Survey::paths`], in ascending order.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// The block.
    pub block: Block,
    /// Verdict of the join.
    pub verdict: JoinVerdict,
    /// It and the joins that are enabled with it: J(n).
    pub together: Vec<Block>,
    /// The paths through it.
    pub on: Vec<usize>,
    /// X-APATHS.
    pub available: Vec<usize>,
    /// X-RPATHS.
    pub removable: Vec<usize>,
    /// Paths that lose an execution if all of J(n) are passed.
    pub benefits: Vec<usize>,
    /// Paths that gain one.
    pub costs: Vec<usize>,
    /// The figures, where it was weighed.
    pub weighed: Option<Weighed>,
    /// Benefit as the paper counts it.
    pub printed: Option<Printed>,
}

/// The benefit of a join if no last trip of a loop needed the statement behind the loop: more than the true one where some
/// do, or where paths do not tell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Printed {
    /// Executions that frequent paths would lose.
    pub benefit_paths: f64,
    /// Their cycles.
    pub benefit: f64,
}

/// Verdict about a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinVerdict {
    /// The statement comes on all ways: it passes without a predicate.
    Plain,
    /// Passed with a predicate: it pays.
    Enabled,
    /// Passed, as an earlier one needs it.
    EnabledWith(Block),
    /// Passed, as the statement comes on all ways once it passes others with a predicate.
    PastOthers,
    /// It costs more.
    Cost,
    /// Paths would gain by it, warps would not.
    Warps,
    /// No path that may benefit would.
    NoBenefit,
    /// The statement does not come here.
    NotReached,
    /// Obstacle in the block, or a result that is dead there.
    Ends,
    /// Control comes back here.
    LoopHead,
    /// There is no profile, or predicates are not wanted.
    NoProfile,
}

/// The figures of a join. Paths are in executions, the others in cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighed {
    /// Executions that frequent paths lose.
    pub benefit_paths: f64,
    /// Executions that paths gain.
    pub cost_paths: f64,
    /// The former's cycles.
    pub benefit: f64,
    /// The latter's.
    pub cost: f64,
    /// Times of one execution.
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

/// A place where a statement is delayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flooded {
    /// Position of the place.
    pub position: Position,
    /// In which wave it comes there, from 0.
    pub wave: usize,
    /// The instruction from which it comes, if it stands there.
    pub occurrence: Option<Inst>,
    /// The instruction that stops it.
    pub stop: Option<Inst>,
    /// Does it come on some ways only?
    pub is_partial: bool,
    /// Does it end at the entry, as its result is dead there?
    pub is_dead: bool,
}

/// Landing of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landed {
    /// Place of the landing.
    pub spot: Spot,
    /// Is it needed there? Else it is dropped.
    pub is_live: bool,
    /// Does it need the predicate?
    pub is_partial: bool,
}

/// The predicate of a statement that lands.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
    /// The program's own.
    Known(Guard),
    /// A new one: false at the beginning of these blocks, true where the statement stands, false again at these places.
    New {
        /// False in front of everything.
        begins: Vec<Block>,
        /// False again.
        clears: Vec<Spot>,
    },
}

/// Surveys a function as it is.
pub fn survey(module: &Module, func: Func, settings: &Settings, question: Question<'_>) -> Survey {
    with_planner(module, func, settings, question, |scene| scene.survey())
        .unwrap_or_else(|refused| Survey { refused: Some(refused), ..Survey::default() })
}

/// The function as it is when a statement, by one of its instructions, has sunk; none if it does not.
pub fn carried_out(module: &Module, func: Func, settings: &Settings, inst: Inst) -> Option<Function> {
    let found = with_planner(module, func, settings, Question::default(), |scene| {
        let statement = scene.statements.iter().find(|statement| statement.contains(inst))?;
        scene.plan(statement, &mut |_| {}, &mut |_| {})
    });
    let mut plan = found.ok().flatten()?;
    let mut body = module.funcs[func].clone();
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    let mut rewrite = view.rewrite(|func| applied(func, &plan, ""));
    let mut nodes = Nodes::of(&Cfg::compute(&module.funcs[func]), &module.funcs[func]);
    plan.carry_out(&mut rewrite, &mut nodes);
    rewrite.finish();
    view.close();
    Some(body)
}

fn listed(set: &FixedBitSet) -> Vec<usize> {
    set.ones().collect()
}

/// State at the begin of a round of the pass.
struct Scene<'a> {
    module: &'a Module,
    func: &'a Function,
    rules: &'a Rules,
    planner: Planner<'a>,
    scratch: RefCell<Scratch>,
    statements: Vec<Statement>,
    /// Which of them the pass looks at.
    frequent: Frequent,
    question: Question<'a>,
}

fn with_planner<T>(
    module: &Module,
    func: Func,
    settings: &Settings,
    question: Question<'_>,
    answer: impl FnOnce(&Scene<'_>) -> T,
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
    let mut statements = Catalogue::of(func, &accesses, &Frequent::default(), |_| true).into_statements();
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
        manner: Manner { is_printed_rule: rules.is_printed, is_brief: false, is_heard: true },
        machine: rules.machine,
    };
    let scratch = RefCell::new(Scratch::new(&nodes, paths.as_ref(), None));
    Ok(answer(&Scene { module, func, rules: &rules, planner, scratch, statements, frequent, question }))
}

impl Scene<'_> {
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

    /// The statements that the pass would sink next: of those in the last window of the function in which any does.
    fn round(&self, surveyed: &[Surveyed]) -> Vec<usize> {
        let numbers: Vec<usize> = (0..surveyed.len()).filter(|&number| surveyed[number].passes).collect();
        let window = |number: usize| self.statements[number].order().0 / self.rules.window;
        let windows = numbers.chunk_by(|&number, &next| window(number) == window(next));
        let taken = |numbers: &[usize]| -> Vec<usize> {
            let mut claims = Claims::new(self.planner.func, self.planner.accesses, Marks::default());
            numbers.iter().copied().filter(|&number| self.is_taken(&self.statements[number], &mut claims)).collect()
        };
        windows.rev().map(taken).find(|round| !round.is_empty()).unwrap_or_default()
    }

    /// Does the pass take a statement's plan into the round that it is making? It looks no further than it must, and whether
    /// a plan gets in another one's way is a question of what was looked at.
    fn is_taken<'s>(&self, statement: &'s Statement, claims: &mut Claims<'s>) -> bool {
        let manner = Manner { is_brief: true, ..self.planner.manner };
        let scratch = &mut self.scratch.borrow_mut();
        let planner = Planner { manner, ..self.planner };
        let plan = planner.plan(statement, None, scratch, &mut Refusals(&mut |_| {}), &mut |_| {});
        plan.is_some_and(|plan| claims.take(statement, &plan, self.planner.nodes, scratch))
    }

    fn plan(
        &self,
        statement: &Statement,
        tell: &mut dyn FnMut(Refused),
        look: &mut dyn FnMut(Seen<'_>),
    ) -> Option<Plan> {
        let is_looked_at = self.frequent.executes(statement);
        is_looked_at
            .then(|| self.planner.plan(statement, None, &mut self.scratch.borrow_mut(), &mut Refusals(tell), look))?
    }

    fn verdict(&self, statement: &Statement) -> Surveyed {
        let text = instruction_text(self.module, self.func, statement.occurrences[0].inst);
        let mut refused = None;
        let mut tell = |why: Refused| {
            refused.get_or_insert_with(|| why.remark(self.func, &text));
        };
        let plan = self.plan(statement, &mut tell, &mut |_| {});
        let remark = match (&plan, refused) {
            (Some(plan), _) => applied(self.func, plan, &text),
            (None, Some(remark)) => remark,
            (None, None) => self.silence(statement, &text),
        };
        let Remark { rule, message: verdict, .. } = remark;
        let occurrences = statement.occurrences.iter().map(|occurrence| occurrence.inst).collect();
        Surveyed { occurrences, passes: plan.is_some(), rule, verdict }
    }

    /// Why a statement stays of which the pass says nothing.
    fn silence(&self, statement: &Statement, text: &str) -> Remark {
        let from = self.planner.nodes.block_or_target(statement.occurrences[0].node());
        let said = |rule, why: &str| Remark::missed(rule, from, format!("`{text}` stays: {why}"));
        if !self.frequent.executes(statement) {
            return said(
                "infrequent",
                "no frequent path executes it, and so it is not looked at without `pde.statements=all`",
            );
        }
        let scratch = &mut *self.scratch.borrow_mut();
        if !self.planner.is_needed(statement, scratch) {
            return said("dead", "its result is needed nowhere behind its block, which is for `dce` to find");
        }
        match self.planner.behind(statement, scratch) {
            Err(Behind::NothingDead) => return said("needed", "its result is needed on every way that it could go"),
            Err(Behind::TooMuch) => return said("too-large", "too much lies behind it"),
            Err(Behind::Claimed) | Ok(_) => {}
        }
        let has_partial_join = scratch.places.has_partial_join;
        match (self.planner.paths.is_none(), has_partial_join) {
            (true, true) if self.rules.with_predicates => said(
                "no-profile",
                "only with a predicate it could pass a join, and no profile of paths or edges says whether that pays",
            ),
            (true, true) => said("no-predicates", "only with a predicate it could pass a join"),
            (_, true) => said("no-benefit", "no executed path would lose it behind the joins that it could pass"),
            (_, false) => said("no-gain", "where it could go it is needed, or something stops it"),
        }
    }

    /// Why an instruction is no statement that could sink.
    fn why_none(&self, inst: Inst) -> String {
        let Some(data) = self.func.insts.get(inst) else { return String::from("It is not in the program.") };
        let why = match data.guard {
            Some(_) => "it has a predicate already",
            None if !may_sink(data) => "it does more than to give one result: only pure instructions and loads sink",
            None => {
                "something behind it in its block reads or writes its result, writes what it reads, or may write memory"
            }
        };
        format!("`{}` cannot leave its block: {why}", instruction_text(self.module, self.func, inst))
    }

    fn detail(&self, number: usize) -> Detail {
        let statement = &self.statements[number];
        let mut detail = Detail { statement: Some(number), times: self.planner.times(statement), ..Detail::default() };
        let mut weighed: Vec<Seat> = Vec::new();
        let mut sunk: Option<Vec<bool>> = None;
        let plan = self.plan(statement, &mut |_| {}, &mut |seen| match seen {
            Seen::Join(weighing) => weighed.push(self.seat(weighing)),
            Seen::Sunk { region, enabled, always, delayed, landings } => {
                detail.flood = self.flood(region, always, delayed);
                detail.landings = landings.iter().filter_map(|landing| self.landed(region, landing)).collect();
                sunk = Some(enabled.to_vec());
            }
        });
        let scratch = &mut *self.scratch.borrow_mut();
        if !self.planner.is_needed(statement, scratch) {
            return detail;
        }
        let Ok(region) = self.planner.behind(statement, scratch) else { return detail };
        let always = region.delayed(&region.no_flags());
        let delayed = sunk.as_ref().map_or_else(|| always.clone(), |enabled| region.delayed(enabled));
        let sets = self.planner.paths.map(|paths| Sets::of((&region, paths), &delayed, &always, &mut Vec::new()));
        let passing = Passing { enabled: sunk.as_deref(), delayed: &delayed, sets: sets.as_ref() };
        let joins =
            (0..region.members.len()).filter_map(|place| self.join(&region, &always, place, &weighed, &passing));
        detail.joins = joins.collect();
        let enabled = sunk.unwrap_or_else(|| region.no_flags().into_vec());
        let counted = self.question.warps.map(|counts| self.planner.nodes.executions(counts));
        let warps = self.planner.warps.or(counted.as_deref());
        detail.warp_cycles = plan.as_ref().and_then(|plan| plan.terms.as_ref()?.warp_cycles).or_else(|| {
            let (warps, times) = (warps?, self.planner.times(statement));
            let before = self.planner.warp_cycles_before(&region, warps, times);
            Some((
                before,
                self.planner.warp_cycles(&region, &enabled, &always, warps, times, &mut Refusals(&mut |_| {})),
            ))
        });
        if let Some(plan) = plan.filter(|plan| plan.is_predicated) {
            let Terms { begins, clears, .. } = plan.terms.map(|terms| *terms).unwrap_or_default();
            detail.predicate = Some(plan.guard.map_or(Predicate::New { begins, clears }, Predicate::Known));
        }
        detail
    }

    /// Keeps what was seen of a join.
    fn seat(&self, weighing: &Weighing<'_>) -> Seat {
        let Weighing { decision, times, executions: (before, after), rare, .. } = *weighing;
        let none = || self.planner.paths.map(Paths::none).unwrap_or_default();
        let frequent = self.planner.paths.map_or(0, |paths| paths.frequent);
        let (mut benefits, mut costs) = (none(), none());
        for (path, (before, after)) in before.iter().zip(after).enumerate().take(frequent) {
            benefits.set(path, after < before);
            costs.set(path, after > before);
        }
        costs.extend(rare.ones().filter(|&path| path >= frequent));
        // The printed rule enables others behind it, whatever that costs.
        let sets = weighing.sets();
        let behind = if self.rules.is_printed { decision.join + 1..sets.exit_available.places() } else { 0..0 };
        let told = decision.together.iter().copied().chain(behind);
        let sets = told.map(|place| (place, sets.exit_available.set(place), sets.exit_removable.set(place)));
        Seat {
            decision: decision.clone(),
            times,
            sets: sets.collect(),
            changes: (!before.is_empty()).then_some((benefits, costs)),
        }
    }

    fn join(
        &self,
        region: &Region,
        always: &Delayed,
        place: usize,
        weighed: &[Seat],
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
            _ if member.is_dead || member.stop.is_some() || member.occurrence.is_some() => JoinVerdict::Ends,
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
        // By the printed rule, and of a join that an earlier one needs, the sets of this one say it.
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
            weighed: own.map(|Seat { decision, times, .. }| Weighed {
                benefit_paths: decision.benefit_paths,
                cost_paths: decision.cost_paths,
                benefit: decision.benefit,
                cost: decision.cost,
                times: *times,
            }),
            printed: own.map(|Seat { decision, .. }| Printed {
                benefit_paths: decision.printed_paths,
                benefit: decision.printed_benefit,
            }),
        })
    }

    /// Places where the statement is delayed, wave by wave: each after all from which it is reached on forward paths.
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
        let block = self.planner.nodes.block(member.node)?;
        self.planner.accesses.at(self.func, block, member.stop?)
    }

    /// Landing of it; none where the statement stays in place.
    fn landed(&self, region: &Region, landing: &Landing) -> Option<Landed> {
        if Course::stays(&region.standing(), landing) {
            return None;
        }
        let spot = self.planner.spot_behind(landing)?;
        Some(Landed { spot, is_live: landing.is_live, is_partial: landing.is_partial })
    }
}

/// Joins that a statement passes in the end.
struct Passing<'a> {
    /// Which are enabled, if anything was decided.
    enabled: Option<&'a [bool]>,
    /// Places where it is delayed with these.
    delayed: &'a Delayed,
    /// The sets of that, where there are paths.
    sets: Option<&'a Sets>,
}

/// Facts about a join. Members are places in the region, which is the same whenever it is computed.
struct Seat {
    decision: Decision,
    times: Times,
    /// X-APATHS and X-RPATHS of the joins that are enabled together, by the printed rule of all that come behind.
    sets: Vec<(usize, FixedBitSet, FixedBitSet)>,
    /// Paths that lose and that gain an execution, where they are counted.
    changes: Option<(FixedBitSet, FixedBitSet)>,
}

/// Hears why statements stay.
struct Refusals<'a>(&'a mut dyn FnMut(Refused));

impl Told for Refusals<'_> {
    fn refused(&mut self, why: Refused) {
        (self.0)(why);
    }

    fn has_partial_join(&mut self) {}

    fn counts_jumps(&mut self) {}

    fn asks(&mut self, _: Reg) {}

    fn is_claimed(&mut self) {}

    fn pays_too_much(&mut self) {}
}

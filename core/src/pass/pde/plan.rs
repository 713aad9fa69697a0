//! The plan for one statement: joins that it passes, landings, predicate, and the nodes that
//! change.
//!
//! ```text
//! landings of x = s     n5, before the use of x, on some paths: @p x = s
//!                       a→c, a critical edge: split, and x = s put on it
//!                       n6, where x is dead: dropped
//! ```
//!
//! 1. A statement whose result no successor needs is left to `dce`.
//! 2. The [region](super::region) is searched; without a node in which the result is dead nothing
//!    is gained.
//! 3. With a profile of paths the joins of the region are [decided on](super::benefit).
//! 4. If warps pay, those decisions are kept, one after the other, that save cycles of warps.
//! 5. The statement moves if it lands somewhere where it is dropped.
//! 6. A partial landing gets a [predicate](super::predicate) of the program, or a new one.
//!
//! Cost: that of the region, and of the decisions.

use alloc::vec::Vec;
use smallvec::SmallVec;

use super::accesses::{Accesses, NOWHERE};
use super::benefit::{Decision, DecisionRules, Guided, Times, Weighing};
use super::liveness::Liveness;
use super::predicate::{PredicateSearch, Sinking};
use super::region::{Delayed, Flags, Landing, Landings, Region, SearchResult, Surroundings};
use super::remarks::Refusal;
use super::stalls::Stalls;
use super::statements::Statement;
use crate::ir::{Block, Function, Guard, Inst, InstData, Opcode, Reg, Type};
use crate::machine::{Machine, OpClass};
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::paths::Paths;

/// Cycles of an instruction with a false predicate: the paper's machine aborts it.
pub(super) const ABORTED: f64 = 1.0;
/// Smaller differences of cycles come from rounding.
const NOTHING: f64 = 1e-9;

/// A point of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// A point before an instruction.
    Before(Inst),
    /// The beginning of a block.
    Start(Block),
    /// The end of a block, before its terminator.
    End(Block),
    /// A critical edge.
    Edge(Block, Block),
}

/// See the file's head.
pub(super) struct Plan {
    pub data: InstData,
    pub dst: Reg,
    /// Registers that it reads, its guard among them if the program has the predicate.
    pub reads: SmallVec<[Reg; 4]>,
    /// The instructions that move, and their nodes.
    pub occurrences: SmallVec<[Inst; 2]>,
    pub from: SmallVec<[Node; 2]>,
    /// Landings where the result is needed: point, node, and whether under the predicate.
    pub lands: SmallVec<[(Spot, Node, bool); 2]>,
    /// Blocks of the landings, or to which the edges lead.
    pub to: Vec<Block>,
    /// Blocks in which it is dropped, or to which the edges lead.
    pub dropped: Vec<Block>,
    pub is_predicated: bool,
    /// A predicate of the program.
    pub guard: Option<Guard>,
    /// Points at which a new predicate becomes false again.
    pub clears: Vec<Spot>,
    /// Blocks in which a new predicate begins.
    pub begins: Vec<Block>,
    /// Joins that are passed under the predicate.
    pub joins: Vec<Block>,
    /// Sum of the decisions in favour.
    pub favour: Favour,
    /// Cycles of all warps before and after, if they are counted.
    pub warp_cycles: Option<(f64, f64)>,
    /// Nodes whose instructions change.
    pub touched: SmallVec<[Node; 4]>,
    /// Nodes at whose entries the statement is delayed: there the liveness of its registers
    /// changes.
    pub delayed_at: SmallVec<[Node; 8]>,
    /// Those of them from which it reaches a landing where the result is needed.
    pub needed_at: SmallVec<[Node; 8]>,
    /// Whether the liveness of its registers may change at other nodes as well.
    pub changes_liveness_outside: bool,
    /// Whether it splits a critical edge.
    pub splits: bool,
}

/// Executions that frequent paths lose and paths gain by passed joins, and their cycles.
#[derive(Clone, Copy, Default)]
pub(super) struct Favour {
    pub benefit_paths: f64,
    pub cost_paths: f64,
    pub benefit: f64,
    pub cost: f64,
    /// Benefit if no last trip of a loop needed the statement.
    pub printed_paths: f64,
    pub printed_benefit: f64,
}

impl Favour {
    fn and(self, decision: &Decision) -> Favour {
        Favour {
            benefit_paths: self.benefit_paths + decision.benefit_paths,
            cost_paths: self.cost_paths + decision.cost_paths,
            benefit: self.benefit + decision.benefit,
            cost: self.cost + decision.cost,
            printed_paths: self.printed_paths + decision.printed_paths,
            printed_benefit: self.printed_benefit + decision.printed_benefit,
        }
    }
}

/// A step of planning, for inspection.
pub(super) enum Step<'a> {
    /// A join was weighed.
    Join(&'a Weighing<'a>),
    /// The solution with the joins that are enabled in the end.
    Sunk { region: &'a Region, enabled: &'a [bool], sinking: Sinking<'a> },
}

/// Results of planning besides the plan.
#[derive(Default)]
pub(super) struct Notes {
    /// Reasons why the statement stays, or does not pass a join.
    pub refusals: Vec<Refusal>,
    /// Whether it arrives at a join on some edges only.
    pub has_partial_join: bool,
    /// Whether jumps on edges that are not split yet were counted.
    pub counts_jumps: bool,
    /// Whether a predicate of the program was searched.
    pub seeks_predicate: bool,
}

/// Memory of the searches, and live ranges.
pub(super) struct Scratch {
    pub liveness: Liveness,
    pub region: Region,
}

impl Scratch {
    pub fn new(nodes: &Nodes) -> Scratch {
        Scratch { liveness: Liveness::default(), region: Region::new(nodes) }
    }

    /// The nodes on which the last plan depends: its region, or where it was seen that no successor
    /// needs the result.
    pub fn consulted<'a>(&'a self, nodes: &'a Nodes, statement: &'a Statement) -> impl Iterator<Item = Node> + 'a {
        let members = &self.region.members;
        let unsearched = if members.is_empty() { &statement.occurrences[..] } else { &[] };
        let own = unsearched.iter().map(|occurrence| occurrence.node);
        let next = own.clone().flat_map(|node| nodes.successors(node).iter().copied());
        members.iter().map(|member| member.node).chain(own).chain(next)
    }
}

/// Makes plans for the program as it is.
#[derive(Clone, Copy)]
pub(super) struct Planner<'a> {
    pub func: &'a Function,
    pub nodes: &'a Nodes,
    pub accesses: &'a Accesses,
    pub paths: Option<&'a Paths>,
    /// Executions of each node by warps, if warps pay.
    pub warps: Option<&'a [f64]>,
    /// Prices of waiting, if it is counted.
    pub stalls: Option<&'a Stalls>,
    pub rules: DecisionRules,
    pub machine: Machine,
}

/// Decisions in a region.
#[derive(Clone, Copy)]
struct Decided<'a> {
    enabled: &'a Flags,
    decisions: &'a [Decision],
    warp_cycles: Option<(f64, f64)>,
}

impl Planner<'_> {
    /// The plan for a statement, if something is gained. `observe` gets the steps.
    pub fn plan(
        &self,
        statement: &Statement,
        scratch: &mut Scratch,
        notes: &mut Notes,
        observe: &mut dyn FnMut(Step<'_>),
    ) -> Option<Plan> {
        scratch.region.clear();
        if !self.is_needed(statement, scratch) {
            return None;
        }
        let from = self.nodes.block_or_target(statement.occurrences[0].node);
        match self.search(statement, scratch) {
            SearchResult::NothingDead => return None,
            SearchResult::TooLarge => {
                notes.refusals.push(Refusal::TooLarge { from });
                return None;
            }
            SearchResult::Found => {}
        }
        let region = &scratch.region;
        notes.has_partial_join |= region.has_partial_join;
        let always = region.delayed(&region.no_flags());
        let (enabled, decisions) = self.decide(region, &always, statement, notes, observe);
        for decision in decisions.iter().filter(|decision| !decision.is_worth_it()) {
            if let Some(join) = self.nodes.block(region.members[decision.join].node) {
                notes.refusals.push(Refusal::Cost { join, decision: decision.clone() });
            }
        }
        let Some(warps) = self.warps else {
            let decided = Decided { enabled: &enabled, decisions: &decisions, warp_cycles: None };
            return self.plan_unless_slower(statement, region, &always, decided, notes, observe);
        };
        let times = self.times(statement);
        let before = self.warp_cycles_before(region, warps, times);
        let mut kept = region.no_flags();
        let mut least = self.warp_cycles(region, &kept, &always, warps, times, notes);
        let plain = least;
        for decision in decisions.iter().filter(|decision| decision.is_worth_it()) {
            let mut more = kept.clone();
            decision.together.iter().for_each(|&place| more[place] = true);
            let cycles = self.warp_cycles(region, &more, &always, warps, times, notes);
            if cycles < least - NOTHING {
                (kept, least) = (more, cycles);
            }
        }
        let is_plain = !kept.contains(&true);
        if least > before + NOTHING || !is_plain && least > before - NOTHING {
            notes.refusals.push(Refusal::Warps { from, before, after: plain.min(least) });
            return None;
        }
        let decided = Decided { enabled: &kept, decisions: &decisions, warp_cycles: Some((before, least)) };
        self.plan_unless_slower(statement, region, &always, decided, notes, observe)
    }

    /// The plan with these joins enabled, or without any if it would make warps wait for longer than it saves.
    fn plan_unless_slower(
        &self,
        statement: &Statement,
        region: &Region,
        always: &Delayed,
        decided: Decided<'_>,
        notes: &mut Notes,
        observe: &mut dyn FnMut(Step<'_>),
    ) -> Option<Plan> {
        let none = region.no_flags();
        let plain = Decided { enabled: &none, ..decided };
        for decided in core::iter::once(decided).chain(decided.enabled.contains(&true).then_some(plain)) {
            let landings = region.landings(&region.delayed(decided.enabled), always);
            let stalls = self.stalls.map(|stalls| self.stall_cycles(stalls, statement, region, &landings));
            match stalls {
                Some((before, after)) if after > before + NOTHING => {
                    let from = self.nodes.block_or_target(statement.occurrences[0].node);
                    notes.refusals.push(Refusal::Stalls { from, before, after });
                }
                _ => return self.plan_in(statement, region, always, decided, observe),
            }
        }
        None
    }

    /// Whether a successor of the statement's nodes needs its result.
    pub fn is_needed(&self, statement: &Statement, scratch: &mut Scratch) -> bool {
        let live = scratch.liveness.range(self.nodes, self.accesses, statement.dst);
        statement.occurrences.iter().any(|occurrence| live.contains_end(self.nodes, self.accesses, occurrence.node))
    }

    /// Finds the region of a statement.
    pub fn search(&self, statement: &Statement, scratch: &mut Scratch) -> SearchResult {
        let Planner { nodes, accesses, paths, .. } = *self;
        let live = scratch.liveness.range(nodes, accesses, statement.dst);
        scratch.region.search(Surroundings { nodes, accesses, paths, live }, statement)
    }

    fn decide(
        &self,
        region: &Region,
        always: &Delayed,
        statement: &Statement,
        notes: &mut Notes,
        observe: &mut dyn FnMut(Step<'_>),
    ) -> (Flags, Vec<Decision>) {
        let Some(paths) = self.paths else { return (region.no_flags(), Vec::new()) };
        let times = |delayed: &Delayed, landings: &[Landing]| {
            let times = self.times(statement);
            let needs_new = self.needs_new_predicate(Sinking { region, delayed, always, landings }, notes);
            Times { predicate: if needs_new { times.predicate } else { 0.0 }, ..times }
        };
        let guided = Guided { region, nodes: self.nodes, paths, always };
        guided.decide(self.rules, times, &mut |weighing| observe(Step::Join(weighing)))
    }

    pub fn predicates(&self) -> PredicateSearch<'_> {
        let Planner { func, nodes, accesses, .. } = *self;
        PredicateSearch { func, nodes, accesses }
    }

    pub fn needs_new_predicate(&self, sinking: Sinking<'_>, notes: &mut Notes) -> bool {
        let is_partial = sinking.needs_predicate();
        notes.seeks_predicate |= is_partial;
        is_partial && self.predicates().find(sinking).is_none()
    }

    /// Cycles for which one execution occupies the scheduler.
    pub fn times(&self, statement: &Statement) -> Times {
        let setting = OpClass::of(Opcode::mov(Type::Pred));
        Times {
            statement: f64::from(self.machine.issue_cycles(&statement.data)),
            predicated: ABORTED,
            predicate: f64::from(self.machine.cost(setting).issue.value),
        }
    }

    /// The plan with these joins enabled, if the statement is dropped anywhere.
    fn plan_in(
        &self,
        statement: &Statement,
        region: &Region,
        always: &Delayed,
        decided: Decided<'_>,
        observe: &mut dyn FnMut(Step<'_>),
    ) -> Option<Plan> {
        let Decided { enabled, decisions, warp_cycles } = decided;
        let delayed = &region.delayed(enabled);
        let landings = region.landings(delayed, always);
        let sinking = Sinking { region, delayed, always, landings: &landings };
        observe(Step::Sunk { region, enabled, sinking });
        if landings.iter().all(|landing| landing.is_live) || region.moved(&landings).next().is_none() {
            return None;
        }
        let is_predicated = sinking.needs_predicate();
        let guard = if is_predicated { self.predicates().find(sinking) } else { None };
        let needs_new = is_predicated && guard.is_none();
        let cleared = if needs_new { self.predicates().cleared(region, &landings) } else { Landings::new() };
        let begins = if needs_new { self.nodes.entries() } else { &[] };
        let node = |place: usize| region.members[place].node;
        let leads = region.leading_to_live(delayed, &landings);
        let all_land = region.moved(&landings).all(|(place, _)| leads[place]);
        let delayed_at = || (0..region.members.len()).filter(|&place| delayed.entry[place]);
        let is_needed_at = |&place: &usize| {
            let member = &region.members[place];
            if member.is_free() { leads[place] } else { !member.is_dead && member.stop != NOWHERE }
        };
        let mut plan = Plan {
            data: statement.data.clone(),
            dst: statement.dst,
            reads: statement.uses.iter().copied().chain(guard.map(|guard| guard.reg)).collect(),
            occurrences: region.moved(&landings).map(|(_, inst)| inst).collect(),
            from: region.moved(&landings).map(|(place, _)| node(place)).collect(),
            lands: SmallVec::new(),
            to: Vec::new(),
            dropped: Vec::new(),
            is_predicated,
            guard,
            clears: cleared.iter().map(|landing| self.spot_after(landing)).collect::<Option<_>>()?,
            begins: begins.iter().filter_map(|&node| self.nodes.block(node)).collect(),
            joins: self.passed_joins(region, enabled, delayed, always),
            favour: Favour::default(),
            warp_cycles,
            touched: SmallVec::new(),
            delayed_at: delayed_at().map(node).collect(),
            needed_at: delayed_at().filter(is_needed_at).map(node).collect(),
            // Under a predicate the result keeps its old value and operands are read where they
            // were not; a statement that is dropped on all paths lets its operands die earlier.
            changes_liveness_outside: is_predicated || !all_land,
            splits: false,
        };
        for landing in landings.iter().filter(|landing| !region.stays(landing, landing.place)) {
            let block = self.nodes.block_or_target(landing.node);
            let blocks = if landing.is_live { &mut plan.to } else { &mut plan.dropped };
            if !blocks.contains(&block) {
                blocks.push(block);
            }
            if landing.is_live {
                plan.lands.push((self.spot(landing)?, landing.node, landing.is_partial));
            }
        }
        let in_favour = decisions.iter().filter(|it| it.is_worth_it() && enabled[it.join]);
        plan.favour = in_favour.fold(Favour::default(), Favour::and);
        plan.touched.extend(plan.from.iter().copied());
        plan.touched.extend(landings.iter().filter(|landing| landing.is_live).map(|landing| landing.node));
        plan.touched.extend(cleared.iter().map(|landing| landing.node).chain(begins.iter().copied()));
        plan.splits = plan.touched.iter().any(|&node| self.nodes.edge(node).is_some());
        Some(plan)
    }

    /// Enabled joins at which the statement does not arrive on all edges.
    fn passed_joins(&self, region: &Region, enabled: &Flags, delayed: &Delayed, always: &Delayed) -> Vec<Block> {
        let is_passed = |&place: &usize| enabled[place] && !always.entry[place] && delayed.entry[place];
        let passed = (0..enabled.len()).filter(is_passed);
        passed.filter_map(|place| self.nodes.block(region.members[place].node)).collect()
    }

    /// The point of a landing where the result is needed.
    fn spot(&self, landing: &Landing) -> Option<Spot> {
        match (self.nodes.edge(landing.node), self.nodes.block(landing.node), landing.at_exit) {
            (Some((from, to)), ..) => Some(Spot::Edge(from, to)),
            (None, Some(block), true) => Some(Spot::End(block)),
            (None, Some(block), false) => self.accesses.at(self.func, block, landing.stop).map(Spot::Before),
            (None, None, _) => None,
        }
    }

    /// The point of a landing, or that at which the statement is dropped.
    pub fn spot_after(&self, landing: &Landing) -> Option<Spot> {
        match (landing.is_live, landing.at_exit, self.nodes.block(landing.node)) {
            (false, false, Some(block)) => Some(Spot::Start(block)),
            _ => self.spot(landing),
        }
    }
}

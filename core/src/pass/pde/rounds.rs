//! Rounds of plans, until nothing more is gained.
//!
//! ```text
//! round 1: all statements of the last window       y = x + 1 sinks to its use, x = a * b is free to follow
//! round 2: statements near what round 1 changed    x = a * b sinks
//! ```
//!
//! 1. Put all statements that may be needed in another node into a queue, by their first node.
//! 2. Take those of the last *window* of nodes in which any waits, in program order, and plan each
//!    for the program as it is. Later nodes come first, so that a statement finds what has sunk
//!    before it, and rounds stay local.
//! 3. Take a plan into the round unless it shares a register and a node with one before it; else
//!    queue its statement.
//! 4. Carry the plans out. Scan the changed nodes again; statements that occur there in other
//!    places are queued.
//! 5. Let live ranges follow the plans. Queue the statements that consulted a changed node and
//!    share a register with its plan, and all that write a register whose liveness may have changed
//!    elsewhere.
//! 6. Repeat from 2. Then give the remarks about statements that stay.
//!
//! Sound: a plan depends on accesses to its registers and on the liveness of its result in the
//! nodes that it consulted. A plan changes accesses in the nodes that it touches, liveness where
//! its statement is delayed, and both only for its own registers; where liveness may change
//! elsewhere it shares no register with others of the round. A plan depends on the occurrences of its
//! statement, too: a plan before it must not free another one.
//!
//! Cost: O(region) for each statement and each change near it. Bound: [`MOST_ROUNDS`] for each
//! window, beyond which the remark `max-rounds` is given.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::Rules;
use super::accesses::Accesses;
use super::benefit::DecisionRules;
use super::plan::{Notes, Plan, Planner, Scratch};
use super::remarks::{Refusal, applied, infrequent, more_rounds, no_profile};
use super::stalls::Stalls;
use super::statements::{Catalogue, FrequentNodes, Statement};
use crate::compact_sort::CompactSort;
use crate::ir::{Function, Inst, Type, WarpCounts};
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::paths::Paths;
use crate::text::instruction_text;
use crate::view::View;

/// A window stops after that many rounds, until an earlier one is begun.
pub(super) const MOST_ROUNDS: usize = 32;

/// See the file's head.
pub(super) struct Rounds {
    rules: Rules,
    nodes: Nodes,
    accesses: Accesses,
    paths: Option<Paths>,
    /// Executions of each node by warps, if warps pay.
    warps: Option<Vec<f64>>,
    /// Prices of waiting, if it is counted.
    stalls: Option<Stalls>,
    frequent: FrequentNodes,
    catalogue: Catalogue,
    scratch: Scratch,
    queue: Queue,
    /// Statements whose last plan consulted a node.
    consulting: Vec<Vec<u32>>,
    /// Refusals of each statement's last plan.
    refusals: Vec<Vec<Refusal>>,
    /// Statements whose cost counted jumps that are not there yet.
    counting_jumps: Vec<u32>,
    /// Statements that searched a predicate of the program.
    seeking_predicate: Vec<u32>,
    has_partial_join: bool,
    has_reported_profile: bool,
}

impl Rounds {
    /// Queues all statements.
    pub fn of(view: &mut View<'_>, rules: Rules) -> Rounds {
        let cfg = view.cfg();
        let func = view.func();
        let nodes = Nodes::of(&cfg, func);
        let accesses = Accesses::of(view.module(), func, &nodes);
        let paths = if rules.with_predicates { Paths::of(func, &nodes, rules.share) } else { None };
        let warps = rules.is_by_warp.then(|| nodes.executions(&WarpCounts::of(func)));
        let stalls = rules.stalls(view, &nodes, paths.is_some());
        let func = view.func();
        Rounds {
            frequent: rules.frequent(paths.as_ref(), warps.as_deref()),
            catalogue: Catalogue::of(func, &accesses, nodes.len(), false),
            scratch: Scratch::new(&nodes),
            queue: Queue::new(nodes.len(), rules.window),
            consulting: vec![Vec::new(); nodes.len()],
            refusals: Vec::new(),
            counting_jumps: Vec::new(),
            seeking_predicate: Vec::new(),
            has_partial_join: false,
            has_reported_profile: false,
            rules,
            nodes,
            accesses,
            paths,
            warps,
            stalls,
        }
    }

    /// Makes rounds until nothing more is gained.
    pub fn sink(mut self, view: &mut View<'_>) {
        self.report_infrequent(view);
        let mut is_complete = true;
        while let Some(taken) = self.take() {
            let (is_new, is_last) = (taken.is_new, taken.is_last);
            let plans = self.plans(view.func(), taken);
            if is_new {
                self.report_profile(view);
            }
            if is_last {
                is_complete &= plans.is_empty();
            } else if !plans.is_empty() {
                self.carry_out(view, &plans);
            }
        }
        if !is_complete {
            view.miss(more_rounds);
            return;
        }
        debug_assert!(
            Rounds::of(view, self.rules.clone()).finds_nothing(view.func()),
            "a last look finds nothing more"
        );
        self.report_refusals(view);
    }

    fn finds_nothing(mut self, func: &Function) -> bool {
        while let Some(taken) = self.take() {
            if !self.plans(func, taken).is_empty() {
                return false;
            }
        }
        true
    }

    fn report_infrequent(&self, view: &mut View<'_>) {
        let statements = self.catalogue.statements();
        let count = statements.iter().filter(|statement| !self.frequent.execute(statement)).count();
        if count > 0 {
            view.miss(|func| infrequent(func, count));
        }
    }

    /// Reports once that profiles are missing or estimated, if a join could be passed under a
    /// predicate.
    fn report_profile(&mut self, view: &mut View<'_>) {
        if self.has_partial_join && !core::mem::replace(&mut self.has_reported_profile, true) {
            match self.paths.as_ref().map(|paths| paths.estimated) {
                None if self.rules.with_predicates => view.miss(no_profile),
                Some(Some(estimated)) => view.miss(|func| estimated.remark(func)),
                _ => {}
            }
        }
    }

    fn report_refusals(&self, view: &mut View<'_>) {
        if !view.is_traced() {
            return;
        }
        let module = view.module();
        let mut refused: Vec<((Node, u32), Inst, &Refusal)> = Vec::new();
        for (statement, refusals) in self.catalogue.statements().iter().zip(&self.refusals) {
            if let Some(first) = statement.occurrences.first() {
                refused.extend(refusals.iter().map(|refusal| (statement.order(), first.inst, refusal)));
            }
        }
        refused.compact_sort_by_key(|&(order, ..)| order);
        for (_, inst, refusal) in refused {
            view.miss(|func| refusal.remark(func, &instruction_text(module, func, inst)));
        }
    }

    /// Queues statements whose occurrences have changed, and takes those of the last window.
    fn take(&mut self) -> Option<Taken> {
        for number in self.catalogue.take_changed() {
            self.look_again(number);
        }
        self.queue.take()
    }

    /// Queues a statement, if it occurs in a frequent node.
    fn look_again(&mut self, number: u32) {
        let statement = &self.catalogue.statements()[number as usize];
        let is_frequent = self.frequent.execute(statement);
        let node = statement.occurrences.first().map(|first| first.node).filter(|_| is_frequent);
        self.queue.put(number, node);
    }

    /// Plans for the taken statements that do not conflict, in program order.
    fn plans(&mut self, func: &Function, taken: Taken) -> Vec<Plan> {
        let Rounds { nodes, accesses, catalogue, scratch, consulting, refusals, .. } = self;
        let rules = DecisionRules { is_printed: self.rules.is_printed, is_complete: false };
        let (paths, warps, stalls) = (self.paths.as_ref(), self.warps.as_deref(), self.stalls.as_ref());
        let planner = Planner { func, nodes, accesses, paths, warps, stalls, rules, machine: self.rules.machine };
        let statements = catalogue.statements();
        refusals.resize_with(statements.len(), Vec::new);
        let mut plans: Vec<Plan> = Vec::new();
        let mut claims = Claims::new(accesses.registers(), nodes.len());
        let mut conflicting: Vec<u32> = Vec::new();
        let mut numbers = taken.numbers;
        numbers.compact_sort_by_key(|&number| statements[number as usize].order());
        for number in numbers {
            let statement = &statements[number as usize];
            let mut notes = Notes::default();
            let plan = planner.plan(statement, scratch, &mut notes, &mut |_| {});
            self.has_partial_join |= notes.has_partial_join;
            match plan {
                Some(plan) if claims.take(&planner, statement, &plan, scratch.consulted(nodes, statement)) => {
                    plans.push(plan)
                }
                Some(_) => conflicting.push(number),
                None => {
                    for node in scratch.consulted(nodes, statement) {
                        if consulting[node].last() != Some(&number) {
                            consulting[node].push(number);
                        }
                    }
                    self.counting_jumps.extend(notes.counts_jumps.then_some(number));
                    self.seeking_predicate.extend(notes.seeks_predicate.then_some(number));
                }
            }
            refusals[number as usize] = notes.refusals;
        }
        conflicting.into_iter().for_each(|number| self.look_again(number));
        plans
    }

    /// Carries plans out, and queues the statements that they concern.
    fn carry_out(&mut self, view: &mut View<'_>, plans: &[Plan]) {
        let module = view.module();
        for plan in plans {
            let mut rewrite = view.rewrite(|func| {
                let text = instruction_text(module, func, plan.occurrences[0]);
                applied(func, &self.nodes, plan, &text)
            });
            let copies = plan.carry_out(&mut rewrite, &mut self.nodes);
            copies.into_iter().for_each(|copy| self.accesses.copies(copy, plan.occurrences[0]));
        }
        view.let_profiles_follow();
        let func = view.func();
        let mut scanned: Vec<Node> = plans.iter().flat_map(|plan| plan.touched.iter().copied()).collect();
        scanned.compact_sort();
        scanned.dedup();
        // A register that is live between nodes for the first time may have statements in other
        // nodes.
        for reg in self.accesses.update(func, &self.nodes, &scanned) {
            scanned.extend(self.accesses.writers(reg).map(|(node, _)| node));
        }
        scanned.compact_sort();
        scanned.dedup();
        scanned.into_iter().for_each(|node| self.catalogue.renew(func, &self.accesses, node));
        for plan in plans {
            self.update_liveness(plan);
            self.look_near(plan);
        }
        if plans.iter().any(|plan| plan.splits) {
            core::mem::take(&mut self.counting_jumps).into_iter().for_each(|number| self.look_again(number));
        }
        if plans.iter().any(|plan| func.reg_types[plan.dst] == Type::Pred) {
            core::mem::take(&mut self.seeking_predicate).into_iter().for_each(|number| self.look_again(number));
        }
    }

    /// Makes live ranges follow a plan. If they may change anywhere, queues all statements that ask
    /// for them.
    fn update_liveness(&mut self, plan: &Plan) {
        let liveness = &mut self.scratch.liveness;
        if !plan.changes_liveness_outside {
            liveness.set(plan.dst, plan.delayed_at.iter().copied(), false);
            plan.reads.iter().for_each(|&reg| liveness.set(reg, plan.needed_at.iter().copied(), true));
            return;
        }
        for &reg in plan.reads.iter().chain([&plan.dst]) {
            self.scratch.liveness.forget(reg);
            let writing = self.catalogue.writing(reg).to_vec();
            writing.into_iter().for_each(|number| self.look_again(number));
        }
    }

    /// Queues statements that consulted a node of a plan, if accesses to their registers or the
    /// liveness of their result changed there, and those that stay for what hides their latency there.
    fn look_near(&mut self, plan: &Plan) {
        let mut again: Vec<u32> = Vec::new();
        let statements = self.catalogue.statements();
        let touched = plan.touched.iter().map(|&node| (node, true));
        for (node, is_touched) in touched.chain(plan.delayed_at.iter().map(|&node| (node, false))) {
            self.consulting[node].retain(|&number| {
                let Statement { dst, uses, occurrences, .. } = &statements[number as usize];
                let is_stalled = self.refusals[number as usize].iter().any(|it| matches!(it, Refusal::Stalls { .. }));
                let is_here = || occurrences.iter().any(|occurrence| occurrence.node == node);
                let is_concerned = *dst == plan.dst
                    || plan.reads.contains(dst)
                    || is_touched && (uses.contains(&plan.dst) || is_stalled && is_here());
                if is_concerned {
                    again.push(number);
                }
                !is_concerned && !self.queue.contains(number)
            });
        }
        again.into_iter().for_each(|number| self.look_again(number));
    }
}

/// Statements to be planned, by their first node.
struct Queue {
    /// Nodes of a window.
    window: usize,
    waiting: BTreeSet<(Node, u32)>,
    /// Node under which each statement waits.
    node_of: Vec<Option<Node>>,
    /// The first window that has been taken from.
    front: usize,
    /// Rounds of each window since an earlier one was begun, and the first window then.
    made: Vec<(usize, usize)>,
}

/// The statements of a round.
struct Taken {
    numbers: Vec<u32>,
    /// Whether no statement of the window was planned before.
    is_new: bool,
    /// Whether the window has reached its limit of rounds.
    is_last: bool,
}

impl Queue {
    fn new(nodes: usize, window: usize) -> Queue {
        let count = nodes.div_ceil(window);
        Queue { window, waiting: BTreeSet::new(), node_of: Vec::new(), front: count, made: vec![(0, count); count] }
    }

    /// Whether a statement waits.
    fn contains(&self, number: u32) -> bool {
        self.node_of.get(number as usize).is_some_and(Option::is_some)
    }

    /// Puts a statement in at a node, or takes it out.
    fn put(&mut self, number: u32, node: Option<Node>) {
        let index = number as usize;
        self.node_of.resize(self.node_of.len().max(index + 1), None);
        if self.node_of[index] != node {
            if let Some(before) = core::mem::replace(&mut self.node_of[index], node) {
                self.waiting.remove(&(before, number));
            }
            self.waiting.extend(node.map(|node| (node, number)));
        }
    }

    /// Takes the statements of the last window that has any.
    fn take(&mut self) -> Option<Taken> {
        let window = self.waiting.last()?.0 / self.window;
        let taken = self.waiting.split_off(&(window * self.window, 0));
        let numbers: Vec<u32> = taken.into_iter().map(|(_, number)| number).collect();
        numbers.iter().for_each(|&number| self.node_of[number as usize] = None);
        let is_new = window < self.front;
        self.front = self.front.min(window);
        let (made, front) = &mut self.made[window];
        if core::mem::replace(front, self.front) != self.front {
            *made = 0;
        }
        *made += 1;
        Some(Taken { numbers, is_new, is_last: *made > MOST_ROUNDS })
    }
}

/// Registers and nodes of the plans of one round.
pub(super) struct Claims {
    written: FixedBitSet,
    read: FixedBitSet,
    /// Registers whose liveness may change outside of the nodes.
    elsewhere: FixedBitSet,
    nodes: FixedBitSet,
}

impl Claims {
    /// Claims without plans.
    pub fn new(registers: usize, nodes: usize) -> Claims {
        let none = FixedBitSet::with_capacity(registers);
        let (written, read, elsewhere) = (none.clone(), none.clone(), none);
        Claims { written, read, elsewhere, nodes: FixedBitSet::with_capacity(nodes) }
    }

    /// Takes a statement's plan into the round, unless it conflicts with one before it. The plan
    /// depends on `consulted`.
    pub fn take(
        &mut self,
        planner: &Planner<'_>,
        statement: &Statement,
        plan: &Plan,
        mut consulted: impl Iterator<Item = Node>,
    ) -> bool {
        let reads = || plan.reads.iter().map(|reg| reg.index());
        let dst = statement.dst.index();
        let shares_register =
            self.written.contains(dst) || self.read.contains(dst) || reads().any(|reg| self.written.contains(reg));
        // A predicate may become unnecessary when a plan before frees another occurrence.
        let mut is_apart = || {
            !plan.is_predicated
                && !reads().chain([dst]).any(|reg| self.elsewhere.contains(reg))
                && !consulted.any(|node| self.nodes.contains(node))
        };
        if shares_register && (!is_apart() || self.may_free(planner, statement)) {
            return false;
        }
        self.written.insert(dst);
        self.read.extend(reads());
        if plan.changes_liveness_outside {
            self.elsewhere.extend(reads().chain([dst]));
        }
        self.nodes.extend(plan.touched.iter().chain(&plan.delayed_at).copied());
        true
    }

    /// Whether a plan of the round may let another instruction become an occurrence of a statement:
    /// one that does the same, in a node that the plan touches.
    fn may_free(&self, planner: &Planner<'_>, statement: &Statement) -> bool {
        let Planner { func, nodes, accesses, .. } = *planner;
        let is_other = |inst: Inst| func.insts[inst] == statement.data && !statement.contains(inst);
        let claimed = accesses.writers(statement.dst).filter(|&(node, _)| self.nodes.contains(node));
        claimed.filter_map(|(node, _)| nodes.block(node)).any(|block| func.block_insts(block).any(is_other))
    }
}

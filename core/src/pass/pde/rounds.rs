//! Plans are made for statements and carried out, until nothing more is gained.
//!
//! ```text
//! first round: all statements      x sinks in front of its use, a is free to follow
//! later ones: what is written to a register that a plan has touched, or reads what one has moved
//! ```
//!
//! What stands in the last nodes comes first: the nodes are cut into *windows*, and a round is made for the last one in which
//! a statement is to be looked at. So a statement finds behind its window what has sunk already, and does not follow it step
//! by step; and in a large function all that rounds look at again and again is near.
//!
//! A round makes plans for statements as the function is, and carries out those that do not get in each other's way:
//! none writes a register that another writes or reads, unless nothing that it has looked at is changed by plans before
//! it (see [`Claims`]). So a register that is written all over the function does not take a round for each of its
//! statements. What shares registers with plans before it is not weighed any more once it has come to a node that they
//! change: it waits for the next round, which looks at it in any case. Then only what these touched is looked at again:
//! the blocks; statements that write a register that a plan wrote or read, if they have looked at a node that this plan
//! changed or that its statement passed; and those that read a register that a plan wrote, if they have looked at a node
//! in which this plan took the write away or put it. Outside of these nodes such a register is live where it was; where
//! that may not be so ([`Plan::is_felt_outside`]), its liveness is compared. Looked at are also statements whose plans
//! got in another one's way, those that were told of the cycles of jumps after an edge was split, as that jump is there
//! then, and those that asked a branch for its predicate after that is written elsewhere. So rounds find what they would if
//! everything was new to them, which is asserted of the last one.
//!
//! Bounds: [`MOST_ROUNDS`] for each window; a round takes time for what has changed.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut, Range};
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::benefit::Manner;
use super::course::Entry;
use super::frequent::Frequent;
use super::memory::is_changing_load;
use super::moves::Moves;
use super::plan::{Claimed, Plan, Planner, Refused, Scratch, Told};
use super::statements::{Catalogue, Look, Occurrence, Statement, may_sink};
use super::{Rules, applied};
use crate::ir::{Block, Function, Inst, Module, Reg, Type, WarpCounts};
use crate::pass::fetch::{TOGETHER, fetch};
use crate::pass::path_guided::ascending::Ascending;
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::paths::Paths;
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Instructions in front of one that goes that are looked at.
const MOST_AHEAD: usize = 256;

/// Rounds that are made at most for one window, until one in front of all is looked at.
pub(super) const MOST_ROUNDS: usize = 32;

/// See the file's head.
pub(super) struct Rounds {
    rules: Rules,
    /// Does anybody hear what is said?
    is_heard: bool,
    nodes: Nodes,
    accesses: Accesses,
    catalogue: Catalogue,
    /// The statements that are looked at.
    frequent: Frequent,
    scratch: Scratch,
    paths: Option<Paths>,
    /// How often warps execute each node, where warps pay.
    warps: Option<Vec<f64>>,
    /// Registers whose statements may have to be looked at, as the last round has touched them.
    waiting: Waiting,
    /// Registers that statements wrote which the last round has moved, so that what reads them may have to be looked at.
    moved: Vec<Reg>,
    /// Statements that are to be looked at, or some of them: others are known to be new, or have to be asked.
    queue: Queue,
    /// Room for what plans of a round claim.
    marks: Marks,
    /// Nodes at which each register's liveness changed although nothing touches it there; in order.
    felt: HashMap<Reg, Vec<u32>>,
    /// Nodes of statements that stayed as they were.
    settled: Vec<Range<u32>>,
    /// The nodes that they looked at, one behind the other.
    looked_at: Vec<u32>,
    /// Why they stay, in their order: the statement by its number, and under what it was settled.
    refused: Vec<([u32; 2], Refused)>,
    /// Those of which it is known that others pay too much for what paths would save, and not yet how much, in the same way.
    unweighed: Vec<[u32; 2]>,
    /// Last round that applied a plan starting at each node.
    changed: Vec<u32>,
    /// The nodes of the last round, in order.
    changed_last: Vec<u32>,
    /// The plans of the last round, whose nodes are in order.
    last: Plans,
    /// Room for those of the next one.
    spare: Plans,
    /// Last statements that read or write each register.
    last_on: ByRegister,
    /// Plans of the last round that may have changed the liveness of cached registers.
    living: ByRegister,
    /// None, but while nodes are brought into order.
    in_order: Ascending,
    round: u32,
    /// Statements whose cost counted jumps that are not there yet.
    counting_jumps: Vec<u32>,
    /// Statements that requested each predicate.
    asking: HashMap<Reg, Asking>,
    has_partial_join: bool,
    has_spoken_of_profiles: bool,
}

impl Rounds {
    /// Before the first.
    pub fn of(view: &mut View<'_>, rules: Rules) -> Rounds {
        let cfg = view.cfg();
        let func = view.func();
        let nodes = Nodes::of(&cfg, func);
        let accesses = Accesses::of(view.module(), func, &nodes);
        let paths = if rules.with_predicates { Paths::of(func, &nodes, rules.share) } else { None };
        let warps = rules.is_by_warp.then(|| nodes.executions(&WarpCounts::of(func)));
        let frequent = rules.frequent(paths.as_ref(), warps.as_deref());
        let registers = frequent.registers(&accesses);
        let is_frequent = |reg: Reg| registers.as_ref().is_none_or(|registers| registers.contains(reg.index()));
        let mut catalogue =
            Catalogue::of(func, &accesses, &frequent, |reg| accesses.may_cross(reg) && is_frequent(reg));
        let mut queue = Queue::of(nodes.len(), rules.window);
        for number in catalogue.take_unsettled() {
            queue.put(number, catalogue.statement(number));
        }
        Rounds {
            rules,
            is_heard: view.is_traced(),
            catalogue,
            frequent,
            scratch: Scratch::new(&nodes, paths.as_ref(), registers),
            felt: HashMap::new(),
            settled: Vec::new(),
            looked_at: Vec::new(),
            refused: Vec::new(),
            unweighed: Vec::new(),
            changed: vec![0; nodes.len()],
            changed_last: Vec::new(),
            last: Plans::default(),
            spare: Plans::default(),
            last_on: ByRegister::default(),
            living: ByRegister::default(),
            in_order: Ascending::new(nodes.len()),
            round: 0,
            counting_jumps: Vec::new(),
            asking: HashMap::new(),
            nodes,
            accesses,
            paths,
            warps,
            waiting: Waiting::default(),
            moved: Vec::new(),
            queue,
            marks: Marks::default(),
            has_partial_join: false,
            has_spoken_of_profiles: false,
        }
    }

    /// Makes rounds until nothing more is gained.
    pub fn sink(mut self, view: &mut View<'_>) {
        let module = view.module();
        self.say_of_infrequent(view);
        let mut is_all = true;
        while let Some(taken) = self.take(view.func()) {
            let (is_new, is_too_often) = (taken.is_new, taken.is_too_often);
            let plans = self.plans(view.func(), taken);
            if is_new {
                self.say_of_profiles(view);
            }
            match (plans.is_empty(), is_too_often) {
                (true, _) => self.spare = plans,
                (false, true) => is_all = false,
                (false, false) => self.carry_out(view, plans),
            }
        }
        if !is_all {
            view.miss(more_rounds);
            return;
        }
        debug_assert!(
            Rounds::of(view, self.rules.clone()).finds_nothing(view.func()),
            "a last look finds nothing more"
        );
        // What is said of the program as it stays.
        let func = view.func();
        let mut refused: Vec<(Node, Inst, Refused)> = Vec::new();
        // What stands in other places now has been looked at again.
        let is_last_look =
            |catalogue: &Catalogue, [number, settled]: [u32; 2]| catalogue.look(number).settled() == Some(settled);
        let mut unweighed = core::mem::take(&mut self.unweighed);
        unweighed.retain(|&look| view.is_traced() && is_last_look(&self.catalogue, look));
        let weights = (self.paths.as_ref(), self.warps.as_deref());
        let planner = planner((func, &self.nodes, &self.accesses), weights, &self.rules, self.is_heard);
        for [number, _] in unweighed {
            let statement = self.catalogue.statement(number);
            let mut heard = Heard::default();
            planner.weigh(statement, &mut self.scratch, &mut heard);
            let occurrence = statement.occurrences[0];
            refused.extend(heard.refused.into_iter().map(|why| (occurrence.node(), occurrence.inst, why)));
        }
        for (look, why) in core::mem::take(&mut self.refused) {
            if is_last_look(&self.catalogue, look) {
                let occurrence = self.catalogue.statement(look[0]).occurrences[0];
                refused.push((occurrence.node(), occurrence.inst, why));
            }
        }
        refused.sort_by_cached_key(|&(node, inst, _)| (node, place(func, inst)));
        for (_, inst, why) in &refused {
            view.miss(|func| why.remark(func, &instruction_text(module, func, *inst)));
        }
    }

    /// Says how many statements are not looked at.
    fn say_of_infrequent(&self, view: &mut View<'_>) {
        if !view.is_traced() || self.frequent.is_all() {
            return;
        }
        let may_cross = |reg: Reg| self.accesses.may_cross(reg);
        let all = Catalogue::of(view.func(), &self.accesses, &Frequent::default(), may_cross).into_statements();
        let count = all.iter().filter(|statement| !self.frequent.executes(statement)).count();
        if count > 0 {
            view.miss(|func| infrequent(func, count));
        }
    }

    /// Says once what is wrong with profiles, if it matters.
    fn say_of_profiles(&mut self, view: &mut View<'_>) {
        if self.has_partial_join && !core::mem::replace(&mut self.has_spoken_of_profiles, true) {
            match self.paths.as_ref().map(|paths| paths.estimated) {
                None if self.rules.with_predicates => view.miss(no_profile),
                Some(Some(estimated)) => view.miss(|func| estimated.remark(func)),
                _ => {}
            }
        }
    }

    /// Carries plans out, and gets to know what has changed.
    fn carry_out(&mut self, view: &mut View<'_>, mut plans: Plans) {
        let module = view.module();
        let mut made: Vec<Option<Reg>> = Vec::with_capacity(plans.len());
        for plans in plans.chunks_mut(TOGETHER) {
            fetch(view.func(), plans.iter().map(Plan::inst));
            made.extend(plans.iter_mut().map(|plan| {
                let mut rewrite = view.rewrite(|func| {
                    let text = instruction_text(module, func, plan.occurrences[0]);
                    applied(func, plan, &text)
                });
                plan.carry_out(&mut rewrite, &mut self.nodes)
            }));
        }
        view.let_profiles_follow();
        self.have_been_carried_out(module, view.func(), plans, &made);
    }

    /// Is there no plan for any statement?
    fn finds_nothing(mut self, func: &Function) -> bool {
        while let Some(taken) = self.take(func) {
            if !self.plans(func, taken).is_empty() {
                return false;
            }
        }
        true
    }

    /// Takes statements out of the queue, when all are in it that are to be looked at.
    fn take(&mut self, func: &Function) -> Option<Taken> {
        let felt = core::mem::take(&mut self.felt);
        let mut again: Vec<u32> = Vec::new();
        self.catalogue.fit(&self.accesses);
        for reg in self.waiting.take() {
            if self.accesses.may_cross(reg) {
                let felt = felt.get(&reg).map_or(&[][..], Vec::as_slice);
                self.catalogue.know(func, &self.accesses, reg);
                let near = self.catalogue.looks_near(reg, &self.changed_last, felt);
                again.extend(near.filter(|look| !self.is_settled(look, felt)).map(|look| look.number));
            }
        }
        for reg in core::mem::take(&mut self.moved) {
            let near = self.catalogue.reading_near(reg, &self.changed_last);
            again.extend(near.filter(|look| !self.is_settled(look, &[])).map(|look| look.number));
        }
        again.drain(..).for_each(|number| self.catalogue.unsettle(number));
        for number in self.catalogue.take_unsettled() {
            self.queue.put(number, self.catalogue.statement(number));
        }
        self.queue.take()
    }

    /// Plans for what was taken that do not get in each other's way, in the order of the function.
    fn plans(&mut self, func: &Function, taken: Taken) -> Plans {
        // By the nodes and the places in which they stand.
        let order = |&number: &u32| {
            let (node, place) = self.catalogue.statement(number).order();
            ((node as u64) << 32 | u64::from(place), number)
        };
        let is_unsettled = |number: &&u32| self.catalogue.look(**number).is_unsettled();
        let mut statements: Vec<(u64, u32)> = Vec::with_capacity(taken.numbers.len());
        statements.extend(taken.numbers.iter().filter(is_unsettled).map(order));
        // None stands where another does. What nobody has looked at yet mostly comes in the order of the nodes.
        let node = |&(order, _): &(u64, u32)| order >> 32;
        if statements.is_sorted_by_key(node) {
            let in_nodes = statements.chunk_by_mut(|one, next| node(one) == node(next));
            in_nodes.for_each(|statements| statements.sort_unstable_by_key(|&(order, _)| order));
        } else {
            statements.sort_unstable_by_key(|&(order, _)| order);
        }
        let weights = (self.paths.as_ref(), self.warps.as_deref());
        let planner = planner((func, &self.nodes, &self.accesses), weights, &self.rules, self.is_heard);
        let mut plans = core::mem::take(&mut self.spare);
        plans.clear();
        let mut claims = Claims::new(func, &self.accesses, core::mem::take(&mut self.marks));
        let (mut settled, mut again): (Vec<(u32, u32)>, Vec<u32>) = (Vec::new(), Vec::new());
        for (_, number) in statements {
            let statement = self.catalogue.statement(number);
            let mut heard = Heard::default();
            // Who hears of profiles that are missing has to know of all statements to what joins they come, once.
            let is_all_asked = self.is_heard && taken.is_new && !self.has_partial_join;
            let claimed = if is_all_asked { None } else { claims.claimed(statement) };
            let plan = plans.room();
            let is_made = planner.plan_at(statement, claimed, &mut self.scratch, &mut heard, &mut |_| {}, plan);
            self.has_partial_join |= heard.has_partial_join;
            match is_made {
                true if claims.take(statement, plan, &self.nodes, &mut self.scratch) => {
                    plan.number = number;
                    plans.fill();
                }
                true => again.push(number),
                false if heard.is_claimed => again.push(number),
                false => {
                    if heard.counts_jumps {
                        self.counting_jumps.push(number);
                    }
                    for &predicate in &heard.asked {
                        let asking = || Asking { writer: self.accesses.only_writer(predicate), numbers: Vec::new() };
                        self.asking.entry(predicate).or_insert_with(asking).numbers.push(number);
                    }
                    let number_of_look = self.settled.len() as u32;
                    let first = self.looked_at.len() as u32;
                    self.looked_at.extend(self.scratch.looked_at(&self.nodes, statement));
                    self.settled.push(first..self.looked_at.len() as u32);
                    if heard.pays_too_much {
                        self.unweighed.push([number, number_of_look]);
                    }
                    self.refused.extend(heard.refused.into_iter().map(|why| ([number, number_of_look], why)));
                    settled.push((number, number_of_look));
                }
            }
        }
        self.marks = claims.leave();
        for (number, settled) in settled {
            let Range { start, end } = self.settled[settled as usize];
            self.catalogue.settle(number, settled, &self.looked_at[start as usize..end as usize]);
        }
        // What was found before holds no more, whatever becomes of a plan that was not made.
        for number in again {
            self.look_again(number);
        }
        plans
    }

    /// Has a statement been looked at, and nothing that it has looked at has changed for it? That is what nodes do to its
    /// registers, and where its destination is live.
    fn is_settled(&self, look: &Look, felt: &[u32]) -> bool {
        // Mostly what has changed is far away.
        let (is_near_changed, is_near_felt) = (look.is_near(&self.changed_last), look.is_near(felt));
        if look.is_unsettled() || !is_near_changed && !is_near_felt {
            return !look.is_unsettled();
        }
        let Some(settled) = look.settled() else { return true };
        let Range { start, end } = self.settled[settled as usize];
        let looked_at = &self.looked_at[start as usize..end as usize];
        let has_looked_at =
            |nodes: &[u32]| look.is_near(nodes) && looked_at.iter().any(|node| nodes.binary_search(node).is_ok());
        if has_looked_at(felt) {
            return false;
        }
        let statement = self.catalogue.statement(look.number);
        let plans = |reg: Reg| self.last_on.of(reg).map(|number| &self.last[number as usize]);
        // Of what it reads only that matters where it is written.
        let mut writers = statement.uses.iter().flat_map(|&reg| plans(reg).filter(move |plan| plan.dst() == reg));
        let looks_in = |entries: &[Entry]| {
            let is_any = |node: &u32| entries.binary_search_by_key(node, |entry| entry.node()).is_ok();
            look.is_near_entry(entries) && looked_at.iter().any(is_any)
        };
        let has_changed = plans(statement.dst).any(|plan| has_looked_at(&plan.touched) || looks_in(&plan.entries))
            || writers.any(|plan| has_looked_at(&plan.touched));
        !(is_near_changed && has_changed)
    }

    /// A statement is to be looked at in the next round.
    fn look_again(&mut self, number: u32) {
        self.catalogue.unsettle(number);
        self.waiting.insert(self.catalogue.statement(number).dst);
    }

    /// Updates the state with plans that were carried out, some of which have new predicates.
    fn have_been_carried_out(&mut self, module: &Module, func: &Function, plans: Plans, made: &[Option<Reg>]) {
        self.round += 1;
        self.spare = core::mem::replace(&mut self.last, plans);
        self.last_on.clear();
        let mut moves = Moves::default();
        self.last.iter().for_each(|plan| plan.tell(&mut moves));
        // Most of them are in order already, but for the last.
        self.last.iter_mut().for_each(|plan| plan.touched.sort());
        let plans = &self.last[..];
        let mut moved: Vec<Reg> = plans.iter().map(Plan::dst).collect();
        moved.sort_unstable();
        moved.dedup();
        let loads = plans.iter().filter(|plan| is_changing_load(&func.insts[plan.inst()]));
        let origins = loads.filter_map(|plan| Some((plan.dst(), plan.inst(), *plan.occurrences.first()?)));
        let mut origins: Vec<(Reg, Inst, Inst)> = origins.collect();
        origins.sort_by_key(|&(reg, ..)| reg);
        let has_other_memory = self.accesses.update(module, func, &self.nodes, &mut moves, (&moved, &origins));
        self.catalogue.renew(func, &self.accesses, moves);
        self.changed_last.clear();
        for node in plans.iter().flat_map(Plan::changed) {
            if core::mem::replace(&mut self.changed[node as Node], self.round) != self.round {
                self.in_order.insert(node as Node);
            }
        }
        let in_order = &mut self.in_order;
        self.changed_last.extend(core::iter::from_fn(|| in_order.pop()).map(|node| node as u32));
        // Of registers whose liveness is kept, the plans that may have changed it.
        let living = &mut self.living;
        living.clear();
        let liveness = &mut self.scratch.liveness;
        for (number, (plan, &made)) in plans.iter().zip(made).enumerate() {
            let mut concerns = |reg: Reg| {
                self.waiting.insert(reg);
                self.last_on.push(reg, number as u32);
                if liveness.is_known(reg) {
                    living.push(reg, number as u32);
                } else {
                    liveness.forget_unasked(reg);
                }
            };
            plan.for_each_read(&mut concerns);
            [plan.dst()].into_iter().chain(made).for_each(concerns);
        }
        let mut within: Vec<Node> = Vec::new();
        for (reg, last) in living.regs() {
            let of_one = || living.listed(last).map(|number| &plans[number as usize]);
            // It lives as it did not, or perhaps does: everywhere, or where the plans say.
            if of_one().any(|plan| plan.is_felt_outside) {
                within.clear();
                of_one().for_each(|plan| within.extend(plan.touched.iter().map(|&node| node as Node)));
                let changed = liveness.renew(&self.nodes, &self.accesses, reg, &within);
                self.felt.insert(reg, changed);
            } else {
                for plan in of_one() {
                    plan.touched.iter().for_each(|&node| liveness.touch(&self.nodes, reg, node as Node));
                    // It is dead where the statement is on its way that writes it, and live where one is that reads it and
                    // is needed.
                    let is_written = plan.dst() == reg;
                    let entries = plan.entries.iter().rev().filter(|entry| is_written || entry.leads());
                    liveness.set(&self.nodes, reg, entries.map(|entry| entry.node() as Node), !is_written);
                }
            }
            debug_assert!(liveness.is_right(&self.nodes, &self.accesses, reg), "elsewhere it lives as it did");
        }
        if has_other_memory {
            // Every load is looked at as if it was new.
            let mut loaded: Vec<Reg> = self.accesses.loaded(func).collect();
            loaded.sort_unstable();
            loaded.dedup();
            for reg in loaded {
                self.catalogue.forget(reg);
                self.waiting.insert(reg);
            }
        }
        let mut again: Vec<u32> = Vec::new();
        if plans.iter().any(|plan| plan.splits) {
            again.append(&mut self.counting_jumps);
        }
        for &reg in moved.iter().filter(|&&reg| func.reg_types[reg] == Type::Pred) {
            let Some(asking) = self.asking.get_mut(&reg) else { continue };
            // Of most of them there is more than one write, before and after.
            let writer = self.accesses.only_writer(reg);
            if core::mem::replace(&mut asking.writer, writer) != writer {
                again.append(&mut asking.numbers);
            }
        }
        for number in again {
            self.look_again(number);
        }
        self.moved = moved;
    }
}

/// The plans of a round. What one was made in serves another one later.
#[derive(Default)]
struct Plans {
    all: Vec<Plan>,
    count: usize,
}

impl Plans {
    /// Buffer for the next plan.
    fn room(&mut self) -> &mut Plan {
        if self.count == self.all.len() {
            self.all.push(Plan::none());
        }
        &mut self.all[self.count]
    }

    /// Keeps the plan in that buffer.
    fn fill(&mut self) {
        self.count += 1;
    }

    fn clear(&mut self) {
        self.count = 0;
    }
}

impl Deref for Plans {
    type Target = [Plan];

    fn deref(&self) -> &[Plan] {
        &self.all[..self.count]
    }
}

impl DerefMut for Plans {
    fn deref_mut(&mut self) -> &mut [Plan] {
        &mut self.all[..self.count]
    }
}

/// Statements for which a predicate was asked for. That the answer depends on where it is written, if only in one place.
struct Asking {
    writer: Option<Node>,
    numbers: Vec<u32>,
}

/// Makes plans by what is known, for somebody who hears of it or not.
fn planner<'a>(
    (func, nodes, accesses): (&'a Function, &'a Nodes, &'a Accesses),
    (paths, warps): (Option<&'a Paths>, Option<&'a [f64]>),
    rules: &Rules,
    is_heard: bool,
) -> Planner<'a> {
    let manner = Manner { is_printed_rule: rules.is_printed, is_brief: true, is_heard };
    Planner { func, nodes, accesses, paths, warps, manner, machine: rules.machine }
}

/// Numbers that stand by registers, one list for each, without sorting them.
#[derive(Default)]
struct ByRegister {
    /// Last entry of each register's list, or [`NONE`].
    last: Vec<u32>,
    /// Each with the one before it in its list, or [`NONE`].
    entries: Vec<(u32, u32)>,
    /// Registers with a list, in the order of their first numbers.
    regs: Vec<Reg>,
}

/// No entry.
const NONE: u32 = u32::MAX;

impl ByRegister {
    fn push(&mut self, reg: Reg, number: u32) {
        if self.last.len() <= reg.index() {
            self.last.resize(reg.index() + 1, NONE);
        }
        let entry = self.entries.len() as u32;
        let before = core::mem::replace(&mut self.last[reg.index()], entry);
        if before == NONE {
            self.regs.push(reg);
        }
        self.entries.push((number, before));
    }

    /// The registers, each with the last entry of its list.
    fn regs(&self) -> impl Iterator<Item = (Reg, u32)> + '_ {
        self.regs.iter().map(|&reg| (reg, self.last[reg.index()]))
    }

    /// The numbers that stand by a register, the last one first.
    fn of(&self, reg: Reg) -> impl Iterator<Item = u32> + '_ {
        self.listed(self.last.get(reg.index()).copied().unwrap_or(NONE))
    }

    /// There are no lists any more.
    fn clear(&mut self) {
        self.regs.drain(..).for_each(|reg| self.last[reg.index()] = NONE);
        self.entries.clear();
    }

    /// The numbers of a list, the last one first.
    fn listed(&self, last: u32) -> impl Iterator<Item = u32> + '_ {
        let entry = |entry: u32| self.entries.get(entry as usize).copied();
        core::iter::successors(entry(last), move |&(_, before)| entry(before)).map(|(number, _)| number)
    }
}

/// Registers that wait, each once.
#[derive(Default)]
struct Waiting {
    regs: Vec<Reg>,
    are_waiting: FixedBitSet,
}

impl Waiting {
    fn insert(&mut self, reg: Reg) {
        self.are_waiting.grow(reg.index() + 1);
        if !self.are_waiting.put(reg.index()) {
            self.regs.push(reg);
        }
    }

    /// Nobody waits any more.
    fn take(&mut self) -> Vec<Reg> {
        self.regs.iter().for_each(|reg| self.are_waiting.remove(reg.index()));
        core::mem::take(&mut self.regs)
    }
}

/// Statements that are to be looked at, by the windows of the nodes in which they stand first.
struct Queue {
    /// Nodes of a window.
    window: Node,
    /// Waiting statements of each window; some are in another one by now.
    waiting: Vec<Vec<u32>>,
    /// Window in which each statement waits, or [`NONE`].
    waits_in: Vec<u32>,
    /// No window from this one on has any.
    end: usize,
    /// The first window that has been taken from.
    front: usize,
    /// Number of rounds for each window, and the front then.
    made: Vec<(usize, usize)>,
}

/// Statements of a round.
struct Taken {
    numbers: Vec<u32>,
    /// Is it all of a window of which nothing has been looked at before?
    is_new: bool,
    /// Was the window looked at [`MOST_ROUNDS`] times?
    is_too_often: bool,
}

impl Queue {
    /// None of a graph of so many nodes.
    fn of(nodes: usize, window: Node) -> Queue {
        let count = nodes.div_ceil(window);
        Queue {
            window,
            waiting: vec![Vec::new(); count],
            waits_in: Vec::new(),
            end: 0,
            front: count,
            made: vec![(count, 0); count],
        }
    }

    /// Puts a statement in, if it stands anywhere.
    fn put(&mut self, number: u32, statement: &Statement) {
        if statement.occurrences.is_empty() {
            return;
        }
        let window = statement.order().0 / self.window;
        let place = number as usize;
        self.waits_in.resize(self.waits_in.len().max(place + 1), NONE);
        if core::mem::replace(&mut self.waits_in[place], window as u32) != window as u32 {
            self.waiting[window].push(number);
            self.end = self.end.max(window + 1);
        }
    }

    /// Takes those of the last window out that has any.
    fn take(&mut self) -> Option<Taken> {
        while self.end > 0 {
            let window = self.end - 1;
            let mut numbers = core::mem::take(&mut self.waiting[window]);
            numbers.retain(|&number| {
                let waits_in = &mut self.waits_in[number as usize];
                let is_here = *waits_in == window as u32;
                if is_here {
                    *waits_in = NONE;
                }
                is_here
            });
            if !numbers.is_empty() {
                let is_new = window < self.front;
                self.front = self.front.min(window);
                let (front, made) = &mut self.made[window];
                if core::mem::replace(front, self.front) != self.front {
                    *made = 0;
                }
                *made += 1;
                return Some(Taken { numbers, is_new, is_too_often: *made >= MOST_ROUNDS });
            }
            self.end -= 1;
        }
        None
    }
}

/// A plan writes the register.
const WRITTEN: u8 = 1;
/// A plan reads it.
const READ: u8 = 2;
/// One of them, and it is perhaps live in other places outside of what the plan changes.
const FELT: u8 = 4;

/// Claims of a round's plans, as far as they concern later plans.
///
/// A plan holds as long as what it was made from: what nodes that were looked at do to its registers, and where these are
/// live in them. A plan before it changes that for registers that it writes or reads itself, in the nodes that it changes,
/// and elsewhere only if it is felt outside of them. Where a predicate comes from is not told by nodes, so plans with one
/// share no register with plans before them. What a plan takes away may have kept the same statement in its block in
/// another place: all that is free then goes together, in a round to come.
pub(super) struct Claims<'a> {
    func: &'a Function,
    accesses: &'a Accesses,
    marks: Marks,
    /// Statements of the plans, of which nobody has asked yet what is in front of them.
    leaving: Vec<&'a Statement>,
    /// Instructions before a removed one that touch a register that it touches, by the register that they write.
    freed: HashMap<Reg, SmallVec<[Inst; 2]>>,
    /// Did more stand in front of one than was looked at?
    may_free_others: bool,
}

/// Registers and nodes that are marked; kept from round to round, as what is not marked is most of them.
#[derive(Default)]
pub(super) struct Marks {
    /// Claims on each register. Empty before the first plan.
    regs: Vec<u8>,
    /// Those of which anything is so.
    marked: Vec<Reg>,
    /// The nodes that plans change.
    changed: FixedBitSet,
    /// Changed registers.
    all_changed: Vec<u32>,
}

impl Marks {
    /// For that many registers and nodes.
    fn fit(&mut self, registers: usize, nodes: usize) {
        self.regs.resize(registers, 0);
        self.changed.grow(nodes);
    }

    /// Is a register something to a plan?
    fn is(&self, what: u8, reg: Reg) -> bool {
        self.regs.get(reg.index()).is_some_and(|all| all & what != 0)
    }

    fn mark(&mut self, what: u8, reg: Reg) {
        let all = &mut self.regs[reg.index()];
        if *all == 0 {
            self.marked.push(reg);
        }
        *all |= what;
    }

    fn change(&mut self, nodes: impl Iterator<Item = u32>) {
        for node in nodes {
            if !self.changed.put(node as Node) {
                self.all_changed.push(node);
            }
        }
    }

    fn clear(&mut self) {
        self.marked.drain(..).for_each(|reg| self.regs[reg.index()] = 0);
        self.all_changed.drain(..).for_each(|node| self.changed.remove(node as Node));
    }
}

impl<'a> Claims<'a> {
    /// Creates the claims for a function, with cleared marks.
    pub fn new(func: &'a Function, accesses: &'a Accesses, marks: Marks) -> Claims<'a> {
        Claims { func, accesses, marks, leaving: Vec::new(), freed: HashMap::new(), may_free_others: false }
    }

    /// Leaves the room for marks to others, without any.
    pub fn leave(mut self) -> Marks {
        self.marks.clear();
        self.marks
    }

    /// Returns the claims of earlier plans that a plan for a statement may not share, if it shares registers with any.
    ///
    /// All of a statement that meets that is looked at again in the next round in any case: its destination is looked at
    /// again as it shares a register that a plan writes, or writes what one reads, and there a node has changed.
    pub fn claimed(&self, statement: &Statement) -> Option<Claimed<'_>> {
        let uses = || statement.uses.iter().copied();
        let is_anywhere = || uses().chain([statement.dst]).any(|reg| self.marks.is(FELT, reg));
        self.shares(statement.dst, uses()).then(|| Claimed { nodes: &self.marks.changed, is_anywhere: is_anywhere() })
    }

    fn shares(&self, dst: Reg, mut reads: impl Iterator<Item = Reg>) -> bool {
        self.marks.is(READ | WRITTEN, dst) || reads.any(|reg| self.marks.is(WRITTEN, reg))
    }

    /// Takes a statement's plan in if those before it leave it as it is. It is the last that was made with this scratch, which
    /// knows at which nodes it has looked.
    pub fn take(&mut self, statement: &'a Statement, plan: &Plan, nodes: &Nodes, scratch: &mut Scratch) -> bool {
        let dst = statement.dst;
        let reads = || statement.uses.iter().copied().chain(plan.guard.map(|guard| guard.reg));
        let all = || reads().chain([dst]);
        let mut is_apart = || {
            !plan.is_predicated
                && !all().any(|reg| self.marks.is(FELT, reg))
                && !scratch.looked_at(nodes, statement).iter().any(|&node| self.marks.changed.contains(node as usize))
        };
        if self.shares(dst, reads()) && (!is_apart() || self.free_more_of(statement)) {
            return false;
        }
        let marks = &mut self.marks;
        marks.fit(self.accesses.registers(), self.accesses.nodes());
        if plan.is_felt_outside {
            all().for_each(|reg| marks.mark(FELT, reg));
        }
        marks.mark(WRITTEN, dst);
        reads().for_each(|reg| marks.mark(READ, reg));
        marks.change(plan.changed());
        let is_far = |occurrence: &Occurrence| self.accesses.count(occurrence.node()) > MOST_AHEAD;
        // More stands in front of it than is looked at.
        self.may_free_others |= statement.occurrences.iter().any(is_far) && self.freeing(statement).any(is_far);
        self.leaving.push(statement);
        true
    }

    /// May plans so far free another occurrence of a statement?
    fn free_more_of(&mut self, statement: &Statement) -> bool {
        // Mostly nothing else writes what it writes.
        if self.may_free_others || self.func.definition_count(statement.dst) <= statement.occurrences.len() {
            return self.may_free_others;
        }
        core::mem::take(&mut self.leaving).into_iter().for_each(|statement| self.free(statement));
        let is_another = |&inst: &Inst| {
            statement.is(self.func, inst) && statement.occurrences.iter().all(|known| known.inst != inst)
        };
        self.freed.get(&statement.dst).is_some_and(|freed| freed.iter().any(is_another))
    }

    /// The occurrences of a statement in front of which something could be free when it has gone.
    fn freeing<'s>(&self, statement: &'s Statement) -> impl Iterator<Item = &'s Occurrence> {
        let accesses = self.accesses;
        statement.occurrences.iter().filter(move |&occurrence| {
            let (node, place) = (occurrence.node(), occurrence.place);
            let is_touched_before = |reg: Reg| accesses.touches(node, reg).is_some_and(|touches| touches.first < place);
            statement.uses.iter().copied().chain([statement.dst]).any(is_touched_before)
        })
    }

    /// Notes what may be free when a statement has gone.
    fn free(&mut self, statement: &Statement) {
        let regs = || statement.uses.iter().copied().chain([statement.dst]);
        let freeing: SmallVec<[Inst; 2]> = self.freeing(statement).map(|occurrence| occurrence.inst).collect();
        for inst in freeing {
            let ahead =
                core::iter::successors(self.func.layout.prev_inst(inst), |&inst| self.func.layout.prev_inst(inst));
            for inst in ahead.take(MOST_AHEAD) {
                let data = &self.func.insts[inst];
                let Some(dst) = data.dst().filter(|_| may_sink(data)) else { continue };
                let mut touches = regs().any(|reg| reg == dst);
                data.for_each_use(|used| touches |= used == statement.dst);
                if touches {
                    self.freed.entry(dst).or_default().push(inst);
                }
            }
        }
    }
}

/// Details recorded while a plan is made.
#[derive(Default)]
struct Heard {
    refused: Vec<Refused>,
    has_partial_join: bool,
    counts_jumps: bool,
    /// Each once.
    asked: SmallVec<[Reg; 4]>,
    is_claimed: bool,
    pays_too_much: bool,
}

impl Told for Heard {
    fn refused(&mut self, why: Refused) {
        self.refused.push(why);
    }

    fn has_partial_join(&mut self) {
        self.has_partial_join = true;
    }

    fn counts_jumps(&mut self) {
        self.counts_jumps = true;
    }

    fn asks(&mut self, predicate: Reg) {
        if !self.asked.contains(&predicate) {
            self.asked.push(predicate);
        }
    }

    fn is_claimed(&mut self) {
        self.is_claimed = true;
    }

    fn pays_too_much(&mut self) {
        self.pays_too_much = true;
    }
}

/// The place of an instruction in its block.
fn place(func: &Function, inst: Inst) -> Option<usize> {
    func.block_insts(func.inst_block(inst)?).position(|other| other == inst)
}

fn no_profile(func: &Function) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    let message = "there is no `profile path` and no `profile edge`, so nothing sinks with a predicate: measure them with \
                   --profile simulate, or declare one";
    Remark::missed("no-profile", entry, message)
}

fn infrequent(func: &Function, count: usize) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    let message = match count {
        1 => String::from("1 statement is on no frequent path, and stays: `pde.statements=all` looks at it, too"),
        _ => format!("{count} statements are on no frequent path, and stay: `pde.statements=all` looks at them, too"),
    };
    Remark::missed("infrequent", entry, message).with("statements", Fact::Count(count as u64))
}

fn more_rounds(func: &Function) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    Remark::missed("max-rounds", entry, format!("after {MOST_ROUNDS} rounds more could sink"))
}

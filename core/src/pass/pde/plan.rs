//! Plan for one statement: the decision, and how it is carried out.
//!
//! ```text
//! landings of x = s     n5, in front of what uses x, on some ways: @p x = s
//!                       a→c, a critical edge: split, and x = s put on it
//!                       n6, where x is dead: dropped
//! ```
//!
//! Sound as the file's head of the pass says. A new predicate is false in front of everything, true where the statement
//! stood, and false again where it has landed or is dropped, if it is asked for behind that before the statement is met.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::packed_option::{PackedOption, ReservedValue};
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::benefit::{Decision, Manner, Times, Weighing, decide};
use super::course::{Course, Entries, Room, moved};
use super::liveness::Liveness;
use super::moves::Moves;
use super::predicate::Search;
use super::region::{Delayed, Flags, Landing, Landings, Region};
use super::sinking::{self, Behind, Gain, Places};
use super::statements::Statement;
use crate::edit::Rewrite;
use crate::ir::{Block, Function, Guard, Inst, InstData, Opcode, Operand, Reg, Type};
use crate::machine::{Machine, OpClass};
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::paths::Paths;
use crate::trace::{Fact, Place, Remark};

/// Cycles that a predicated instruction takes whose predicate is false: the paper's machine aborts it.
const ABORTED: f64 = 1.0;
/// Cycles below which a difference is one of rounding.
const NOTHING: f64 = 1e-9;

/// Nodes of functions in which what is told in short is held against all that could be known, where debugging.
const FEW_NODES: usize = 400;

/// Place of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// In front of an instruction.
    Before(Inst),
    /// At the beginning of a block.
    Start(Block),
    /// At the end of a block, in front of its terminator.
    End(Block),
    /// On a critical edge.
    Edge(Block, Block),
}

/// Landing of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Lands {
    spot: Spot,
    node: u32,
    /// With the predicate?
    is_partial: bool,
    /// The instruction that it has become there, when it has been carried out.
    landed: PackedOption<Inst>,
}

/// See the file's head.
pub(super) struct Plan {
    /// The number of the statement, which somebody else knows.
    pub number: u32,
    /// An instruction like the statement.
    inst: Inst,
    dst: Reg,
    uses: SmallVec<[Reg; 4]>,
    /// The instructions that go.
    pub occurrences: SmallVec<[Inst; 2]>,
    /// Landings of the statement.
    lands: SmallVec<[Lands; 2]>,
    /// Does it land with a predicate anywhere?
    pub is_predicated: bool,
    /// The program's own predicate.
    pub guard: Option<Guard>,
    /// The nodes in which something is changed.
    pub touched: SmallVec<[u32; 4]>,
    /// Is a critical edge among them?
    pub splits: bool,
    /// The entries at which it is delayed. If it is not felt outside, its destination is dead there from now on, and its
    /// operands are live where it comes to where it is needed from there.
    pub entries: Entries,
    /// Are registers that it touches perhaps live in other places outside of its region?
    pub is_felt_outside: bool,
    /// Terms of plans that pass joins with a predicate, or had to pay for warps.
    pub terms: Option<Box<Terms>>,
    /// For who hears of it.
    pub said: Option<Box<Said>>,
}

/// Remark data of a plan: the blocks from which the statement goes, those in which it lands, or to which the edges lead on which
/// it does, and those where it is dropped.
#[derive(Default, PartialEq)]
pub(super) struct Said {
    pub from: Vec<Block>,
    pub to: Vec<Block>,
    pub dropped: Vec<Block>,
}

/// Terms that most plans lack: joins that are passed with a predicate, and their estimated benefit for paths and warps.
#[derive(Default)]
pub(super) struct Terms {
    /// Places where a new predicate is made false again.
    pub clears: Vec<Spot>,
    /// Blocks where a new predicate begins.
    pub begins: Vec<Block>,
    /// Joins that were enabled.
    pub joins: Vec<Block>,
    /// Sum of all decisions in favour.
    pub favour: Favour,
    /// Cycles of all warps, before and after, where they are counted.
    pub warp_cycles: Option<(f64, f64)>,
}

/// Benefit of the joins that are passed: executions of frequent paths that lose the statement and of paths that gain it, and
/// their cycles.
#[derive(Clone, Copy, Default)]
pub(super) struct Favour {
    pub benefit_paths: f64,
    pub cost_paths: f64,
    pub benefit: f64,
    pub cost: f64,
    /// Executions that would be lost if no last trip of a loop needed the statement, and their cycles.
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

/// Sentence about last trips of loops that need the statement, or may need it.
pub(super) fn without_last_trips(paths: f64, printed_paths: f64) -> String {
    if paths == printed_paths {
        return String::new();
    }
    format!("; {printed_paths} would lose it if no last trip of a loop needed it")
}

/// Why a statement stays, or does not pass a join.
pub(super) enum Refused {
    /// Passing the join costs more.
    Cost { join: Block, decision: Decision },
    /// Warps would execute more.
    Warps { from: Block, before: f64, after: f64 },
    /// The region is too large to look at.
    TooLarge { from: Block },
}

impl Refused {
    /// As a remark about the statement of that text.
    pub fn remark(&self, func: &Function, text: &str) -> Remark {
        match *self {
            Refused::Cost { join, ref decision } => {
                let name = &func.blocks[join].name;
                let Decision { benefit_paths, cost_paths, benefit, cost, printed_paths, printed_benefit, .. } =
                    *decision;
                let last_trips = without_last_trips(benefit_paths, printed_paths);
                let message = format!(
                    "`{text}` does not sink past `{name}`: {benefit_paths} executions that lose it would save {benefit:.0} cycles, \
                     and {cost_paths} that gain it cost {cost:.0}{last_trips}"
                );
                Remark::missed("cost", join, message)
                    .with("benefit", Fact::Number(benefit))
                    .with("cost", Fact::Number(cost))
                    .with("printed_benefit", Fact::Number(printed_benefit))
            }
            Refused::Warps { from, before, after } => {
                let message =
                    format!("`{text}` stays: warps execute it for {before:.0} cycles, and would for {after:.0}");
                Remark::missed("warps", from, message)
                    .with("warp_cycles_before", Fact::Number(before))
                    .with("warp_cycles_after", Fact::Number(after))
            }
            Refused::TooLarge { from } => {
                Remark::missed("too-large", from, format!("too much lies behind `{text}` to look at"))
            }
        }
    }
}

/// Events of the making of a plan.
pub(super) enum Seen<'a> {
    /// A join was weighed.
    Join(&'a Weighing<'a>),
    /// Delayed statement with the joins that are enabled in the end, and its landings.
    Sunk { region: &'a Region, enabled: &'a [bool], always: &'a Delayed, delayed: &'a Delayed, landings: &'a [Landing] },
}

/// Inputs of plans.
pub(super) struct Planner<'a> {
    pub func: &'a Function,
    pub nodes: &'a Nodes,
    pub accesses: &'a Accesses,
    pub paths: Option<&'a Paths>,
    /// How often warps execute each node, where warps pay.
    pub warps: Option<&'a [f64]>,
    pub manner: Manner,
    pub machine: Machine,
}

/// Decisions in a region.
#[derive(Clone, Copy)]
struct Decided<'a> {
    enabled: &'a [bool],
    decisions: &'a [Decision],
    /// Cycles of all warps, before and after, where they are counted.
    warp_cycles: Option<(f64, f64)>,
}

/// How a statement lands with a predicate.
#[derive(Clone, Copy)]
struct Predicated<'a> {
    /// The program's own, which does not have to be set.
    guard: Option<Guard>,
    /// Landings where a new predicate is made false again.
    cleared: &'a [Landing],
    /// Nodes where it begins.
    begins: &'a [Node],
}

/// Buffers that planning for one statement reuses for the next.
pub(super) struct Scratch {
    pub liveness: Liveness,
    pub places: Places,
    /// Room for the nodes that were looked at.
    looked_at: Vec<u32>,
    room: Room,
}

/// Claims of earlier plans that a plan would have to share: then it is not made.
#[derive(Clone, Copy)]
pub(super) struct Claimed<'a> {
    /// Nodes at which it may not look.
    pub nodes: &'a FixedBitSet,
    /// Must it not be made whatever it looks at? Then nothing is looked at.
    pub is_anywhere: bool,
}

impl Scratch {
    /// The nodes that were looked at for the last plan: in the search, and where liveness was found.
    pub fn looked_at(&mut self, nodes: &Nodes, statement: &Statement) -> &[u32] {
        let Scratch { liveness, places, looked_at, .. } = self;
        looked_at.clear();
        looked_at.extend(places.looked_at().map(|node| node as u32));
        let others = liveness.looked_at(nodes, statement).filter(|&node| !places.has_looked_at(node));
        looked_at.extend(others.map(|node| node as u32));
        looked_at
    }

    /// For that many nodes, and the paths over them. Statements that write other registers than the wanted ones, if these are
    /// known, are seldom asked about.
    pub fn new(nodes: &Nodes, paths: Option<&Paths>, wanted: Option<FixedBitSet>) -> Scratch {
        let (liveness, places, room) = (Liveness::new(nodes, wanted), Places::new(nodes, paths), Room::new(nodes));
        Scratch { liveness, places, looked_at: Vec::new(), room }
    }
}

/// Listener for details of planning besides the plan.
pub(super) trait Told {
    /// Why a statement stays, or does not pass a join.
    fn refused(&mut self, why: Refused);
    /// There is a join to which a statement comes on some ways only.
    fn has_partial_join(&mut self);
    /// Jumps on edges that are not split yet were counted.
    fn counts_jumps(&mut self);
    /// A predicate of the program was asked for where it is written.
    fn asks(&mut self, predicate: Reg);
    /// There might be a plan, but it would come into the way of others.
    fn is_claimed(&mut self);
    /// Paths could lose it past joins, but others pay more in any case: nothing was weighed.
    fn pays_too_much(&mut self);
}

/// Nobody hears anything.
struct Deaf;

impl Told for Deaf {
    fn refused(&mut self, _: Refused) {}
    fn has_partial_join(&mut self) {}
    fn counts_jumps(&mut self) {}
    fn asks(&mut self, _: Reg) {}
    fn is_claimed(&mut self) {}
    fn pays_too_much(&mut self) {}
}

impl Planner<'_> {
    /// Plans for a statement, if anything is gained. `look` gets the steps.
    pub fn plan(
        &self,
        statement: &Statement,
        claimed: Option<Claimed<'_>>,
        scratch: &mut Scratch,
        told: &mut impl Told,
        look: &mut dyn FnMut(Seen<'_>),
    ) -> Option<Plan> {
        let mut plan = Plan::none();
        self.plan_at(statement, claimed, scratch, told, look, &mut plan).then_some(plan)
    }

    /// Plans into a given buffer. Returns whether anything is done.
    pub fn plan_at(
        &self,
        statement: &Statement,
        claimed: Option<Claimed<'_>>,
        scratch: &mut Scratch,
        told: &mut impl Told,
        look: &mut dyn FnMut(Seen<'_>),
        plan: &mut Plan,
    ) -> bool {
        scratch.places.clear();
        if claimed.is_some_and(|claimed| claimed.is_anywhere) {
            told.is_claimed();
            return false;
        }
        if !self.is_needed(statement, scratch) {
            return false;
        }
        let is_claimed = |node: Node| claimed.is_some_and(|claimed| claimed.nodes.contains(node));
        let (behind, gain) = {
            let Scratch { liveness, places, .. } = &mut *scratch;
            let search = self.search_behind(statement, liveness, is_claimed);
            if self.manner.is_brief { search.what_matters(places) } else { (search.all(places), Gain::Open) }
        };
        if gain == Gain::TooLittle {
            told.pays_too_much();
        }
        scratch.places.asked.iter().for_each(|&predicate| told.asks(predicate));
        let from = self.nodes.block_or_target(statement.occurrences[0].node());
        match behind {
            Some(Behind::NothingDead) => return false,
            Some(Behind::TooMuch) => {
                told.refused(Refused::TooLarge { from });
                return false;
            }
            Some(Behind::Claimed) => {
                told.is_claimed();
                return false;
            }
            None => {}
        }
        debug_assert!(
            gain == Gain::Open || self.nodes.len() > FEW_NODES || self.passes_no_join(statement),
            "nothing is gained by what was not looked at"
        );
        let is_made = if gain == Gain::Open || self.warps.is_some() {
            let region = Region::of(self.nodes, &mut scratch.places);
            let is_made = self.plan_in(&region, statement, gain == Gain::Open, (scratch, plan), told, look).is_some();
            scratch.places.reuse(region);
            is_made
        } else {
            if scratch.places.has_partial_join {
                told.has_partial_join();
            }
            let Scratch { places, room, .. } = &mut *scratch;
            let course = Course::of_found(self.nodes, places, room);
            course.and_then(|course| self.planned(statement, &course, places.landed(), None, plan)).is_some()
        };
        debug_assert!(
            !self.manner.is_brief
                || self.nodes.len() > FEW_NODES
                || self.plans_as(statement, is_made.then_some(&*plan)),
            "it is the plan that is made from all nodes, one by one"
        );
        is_made
    }

    /// Is that the plan for a statement that is made if each node behind it is looked at by itself?
    fn plans_as(&self, statement: &Statement, plan: Option<&Plan>) -> bool {
        let mut scratch = Scratch::new(self.nodes, self.paths, None);
        scratch.liveness.look_behind(self.nodes, self.accesses, statement);
        let region = match self.behind(statement, &mut scratch) {
            Ok(region) => region,
            // Less may have been looked at.
            Err(Behind::TooMuch) => return true,
            Err(Behind::NothingDead | Behind::Claimed) => return plan.is_none(),
        };
        let mut room = Plan::none();
        let of_all = self.plan_in(&region, statement, true, (&mut scratch, &mut room), &mut Deaf, &mut |_| {});
        match (plan, of_all) {
            (Some(plan), Some(())) => plan.is_like(&room),
            (plan, of_all) => plan.is_none() && of_all.is_none(),
        }
    }

    /// Would a statement pass no join with a predicate if all that lies behind it was looked at?
    fn passes_no_join(&self, statement: &Statement) -> bool {
        let mut scratch = Scratch::new(self.nodes, self.paths, None);
        scratch.liveness.look_behind(self.nodes, self.accesses, statement);
        let Ok(region) = self.behind(statement, &mut scratch) else { return true };
        let (enabled, _) = self.decided(&region, &region.always_delayed(), statement, &mut Deaf, &mut |_| {});
        !enabled.contains(&true)
    }

    /// Says of a statement that stays what others would pay.
    pub fn weigh(&self, statement: &Statement, scratch: &mut Scratch, told: &mut impl Told) {
        if !self.is_needed(statement, scratch) {
            return;
        }
        match self.behind(statement, scratch) {
            Ok(region) => {
                let always = region.always_delayed();
                let (enabled, decisions) = self.decided(&region, &always, statement, told, &mut |_| {});
                debug_assert!(!enabled.contains(&true), "it was seen that others pay more");
                self.say_costs(&region, &decisions, told);
                scratch.places.reuse(region);
            }
            Err(Behind::TooMuch) => {
                told.refused(Refused::TooLarge { from: self.nodes.block_or_target(statement.occurrences[0].node()) });
            }
            Err(Behind::NothingDead | Behind::Claimed) => {}
        }
    }

    /// Plans for a statement in its region of all that was found.
    fn plan_in(
        &self,
        region: &Region,
        statement: &Statement,
        are_joins_weighed: bool,
        (scratch, plan): (&mut Scratch, &mut Plan),
        told: &mut impl Told,
        look: &mut dyn FnMut(Seen<'_>),
    ) -> Option<()> {
        let always = region.always_delayed();
        if scratch.places.has_partial_join {
            told.has_partial_join();
        }
        let (enabled, decisions) = match are_joins_weighed {
            true => self.decided(region, &always, statement, told, look),
            false => (region.no_flags(), Vec::new()),
        };
        self.say_costs(region, &decisions, told);
        let Some(warps) = self.warps else {
            let decided = Decided { enabled: &enabled, decisions: &decisions, warp_cycles: None };
            return self.planned_in(statement, region, &always, decided, (scratch, plan), look);
        };
        // Of what paths gain by, that is kept which warps gain by, join by join.
        let mut kept = region.no_flags();
        let from = self.nodes.block_or_target(statement.occurrences[0].node());
        let times = self.times(statement);
        let before = self.warp_cycles_before(region, warps, times);
        let mut least = self.warp_cycles(region, &kept, &always, warps, times, told);
        let plain = least;
        for decision in decisions.iter().filter(|decision| decision.is_worth_it()) {
            let mut more = kept.clone();
            decision.together.iter().for_each(|&place| more[place] = true);
            let cycles = self.warp_cycles(region, &more, &always, warps, times, told);
            if cycles < least - NOTHING {
                (kept, least) = (more, cycles);
            }
        }
        let is_plain = !kept.contains(&true);
        if least > before + NOTHING || !is_plain && least > before - NOTHING {
            told.refused(Refused::Warps { from, before, after: plain.min(least) });
            return None;
        }
        let decided = Decided { enabled: &kept, decisions: &decisions, warp_cycles: Some((before, least)) };
        self.planned_in(statement, region, &always, decided, (scratch, plan), look)
    }

    /// Which joins it would be worth to pass, and what was decided about them.
    fn decided(
        &self,
        region: &Region,
        always: &Delayed,
        statement: &Statement,
        told: &mut impl Told,
        look: &mut dyn FnMut(Seen<'_>),
    ) -> (Flags, Vec<Decision>) {
        let Some(paths) = self.paths else { return (region.no_flags(), Vec::new()) };
        let times = |delayed: &Delayed, landings: &[Landing]| {
            let times = self.times(statement);
            let is_partial = landings.iter().any(|landing| landing.is_live && landing.is_partial);
            let needs_new = is_partial && self.known(region, delayed, always, landings, told).is_none();
            Times { predicate: if needs_new { times.predicate } else { 0.0 }, ..times }
        };
        decide((region, self.nodes, always), paths, self.manner, times, &mut |weighing| look(Seen::Join(weighing)))
    }

    /// Says which joins are not worth it.
    fn say_costs(&self, region: &Region, decisions: &[Decision], told: &mut impl Told) {
        for decision in decisions.iter().filter(|decision| !decision.is_worth_it()) {
            if let Some(join) = self.nodes.block(region.members[decision.join].node) {
                told.refused(Refused::Cost { join, decision: decision.clone() });
            }
        }
    }

    /// Is a statement needed behind its blocks? If not, it is simply dead.
    pub fn is_needed(&self, statement: &Statement, scratch: &mut Scratch) -> bool {
        scratch.liveness.look_behind(self.nodes, self.accesses, statement);
        let is_live_behind = |node: Node| scratch.liveness.is_live_out(self.nodes, node, statement.dst);
        statement.occurrences.iter().any(|occurrence| is_live_behind(occurrence.node()))
    }

    /// The region after a statement that is needed.
    pub fn behind(&self, statement: &Statement, scratch: &mut Scratch) -> Result<Region, Behind> {
        let Scratch { liveness, places, .. } = scratch;
        match self.search_behind(statement, liveness, |_| false).all(places) {
            Some(behind) => Err(behind),
            None => Ok(Region::of(self.nodes, places)),
        }
    }

    fn search_behind<'a, C>(
        &'a self,
        statement: &'a Statement,
        liveness: &'a Liveness,
        is_claimed: C,
    ) -> sinking::Search<'a, C, impl Fn() -> Times> {
        let Planner { nodes, accesses, paths, .. } = *self;
        let times = (!self.manner.is_printed_rule).then_some(|| self.times(statement));
        let lives = liveness.view(nodes, statement.dst);
        sinking::Search {
            nodes,
            accesses,
            paths,
            liveness,
            lives,
            statement,
            times,
            predicates: self.search(),
            is_claimed,
        }
    }

    fn search(&self) -> Search<'_> {
        let Planner { func, nodes, accesses, .. } = *self;
        Search { func, nodes, accesses }
    }

    /// A predicate of the program that serves.
    fn known(
        &self,
        region: &Region,
        delayed: &Delayed,
        always: &Delayed,
        landings: &[Landing],
        told: &mut impl Told,
    ) -> Option<Guard> {
        self.search().known(region, delayed, always, landings, |predicate| told.asks(predicate))
    }

    /// Times of an execution: that of the statement for which it holds the scheduler.
    pub fn times(&self, statement: &Statement) -> Times {
        let setting = OpClass::of(Opcode::mov(Type::Pred));
        Times {
            statement: f64::from(self.machine.issue_cycles(&self.func.insts[statement.inst])),
            predicated: ABORTED,
            predicate: f64::from(self.machine.cost(setting).issue.value),
        }
    }

    /// Cycles that warps take for the statement as it stands.
    pub fn warp_cycles_before(&self, region: &Region, warps: &[f64], times: Times) -> f64 {
        let occurrences = region.members.iter().filter(|member| member.occurrence.is_some());
        occurrences.map(|member| warps[member.node] * times.statement).sum()
    }

    /// Cycles that warps take for it where it lands. A predicated instruction holds the scheduler as long as any.
    pub fn warp_cycles(
        &self,
        region: &Region,
        enabled: &[bool],
        always: &Delayed,
        warps: &[f64],
        times: Times,
        told: &mut impl Told,
    ) -> f64 {
        let delayed = region.delayed(enabled);
        let landings = region.landings(&delayed, always);
        let live = landings.iter().filter(|landing| landing.is_live);
        let mut sum: f64 = live.clone().map(|landing| warps[landing.node()] * times.statement).sum();
        let is_partial = live.clone().any(|landing| landing.is_partial);
        // What is put on a critical edge also takes a jump.
        let mut touched: BTreeSet<Node> = live.map(|landing| landing.node()).collect();
        if is_partial && self.known(region, &delayed, always, &landings, told).is_none() {
            let standing = region.standing();
            let moved = moved(&standing, &landings).map(|(node, _)| node as Node);
            let entries = self.nodes.entries().iter().copied();
            let clears: Vec<Node> = self.cleared(&standing, &landings).iter().map(|landing| landing.node()).collect();
            touched.extend(&clears);
            let sets: f64 = moved.chain(entries).chain(clears).map(|node| warps[node]).sum();
            sum += sets * times.predicate;
        }
        let jump = f64::from(self.machine.issue_cycles(&InstData::branch(Block::from_u32(0))));
        let split = touched.into_iter().filter(|&node| self.nodes.edge(node).is_some());
        let jumps: Vec<f64> = split.map(|node| warps[node] * jump).collect();
        if !jumps.is_empty() {
            told.counts_jumps();
        }
        sum + jumps.iter().sum::<f64>()
    }

    /// Landings behind which a new predicate is asked for before the statement is met again.
    fn cleared(&self, standing: &[(u32, Inst)], landings: &[Landing]) -> Landings {
        let mut set = FixedBitSet::with_capacity(self.nodes.len());
        set.extend(moved(standing, landings).map(|(node, _)| node as Node));
        let is_set = |node: Node| set.contains(node);
        // Nodes at whose entry it is asked for.
        let mut asked = FixedBitSet::with_capacity(self.nodes.len());
        let mut work: Vec<Node> = Vec::new();
        for landing in landings.iter().filter(|landing| landing.is_live && landing.is_partial) {
            let node = landing.node();
            if !landing.at_exit || !is_set(node) {
                work.push(node);
            }
        }
        // What lies in front of all that comes behind a landing is not met again, if nothing goes back there.
        let behind = landings.iter().flat_map(|landing| self.nodes.successors(landing.node()));
        let first = behind.copied().min().filter(|&first| !self.nodes.is_passed_back(first)).unwrap_or(0);
        while let Some(node) = work.pop() {
            if node >= first && !asked.put(node) {
                work.extend(self.nodes.predecessors(node).iter().copied().filter(|&before| !is_set(before)));
            }
        }
        let is_asked_behind = |landing: &&Landing| {
            let node = landing.node();
            let is_set_behind = !landing.at_exit && is_set(node);
            !is_set_behind && self.nodes.successors(node).iter().any(|&next| asked.contains(next))
        };
        landings.iter().filter(is_asked_behind).copied().collect()
    }

    /// Plans for decisions in a region of all that was found.
    fn planned_in(
        &self,
        statement: &Statement,
        region: &Region,
        always: &Delayed,
        decided: Decided<'_>,
        (scratch, plan): (&mut Scratch, &mut Plan),
        look: &mut dyn FnMut(Seen<'_>),
    ) -> Option<()> {
        let Decided { enabled, decisions, warp_cycles } = decided;
        let passing;
        let delayed = if enabled.contains(&true) {
            passing = region.delayed(enabled);
            &passing
        } else {
            always
        };
        let landings = region.landings(delayed, always);
        look(Seen::Sunk { region, enabled, always, delayed, landings: &landings });
        let is_predicated = landings.iter().any(|landing| landing.is_live && landing.is_partial);
        let guard = if is_predicated { self.search().known(region, delayed, always, &landings, |_| {}) } else { None };
        let Scratch { places, room, .. } = scratch;
        let course = Course::of_region(self.nodes, (region, places), delayed, &landings, room)?;
        let needs_new = is_predicated && guard.is_none();
        let cleared = if needs_new { self.cleared(&region.standing(), &landings) } else { Landings::new() };
        let begins = if needs_new { self.nodes.entries() } else { &[] };
        let joins = (0..enabled.len()).filter(|&place| enabled[place] && !always.entry[place] && delayed.entry[place]);
        let in_favour = decisions.iter().filter(|it| it.is_worth_it() && enabled[it.join]);
        let has_terms = is_predicated || !decisions.is_empty() || warp_cycles.is_some();
        let terms = has_terms.then(|| {
            Some(Box::new(Terms {
                clears: cleared.iter().map(|landing| self.spot_behind(landing)).collect::<Option<_>>()?,
                begins: begins.iter().filter_map(|&node| self.nodes.block(node)).collect(),
                joins: joins.filter_map(|place| self.nodes.block(region.members[place].node)).collect(),
                favour: in_favour.fold(Favour::default(), Favour::and),
                warp_cycles,
            }))
        });
        let terms = match terms {
            Some(terms) => Some(terms?),
            None => None,
        };
        let predicated = Predicated { guard, cleared: &cleared, begins };
        self.planned(statement, &course, &landings, is_predicated.then_some(predicated), plan)?;
        plan.terms = terms;
        Some(())
    }

    /// Plans for a statement that takes that course, and lands there.
    fn planned(
        &self,
        statement: &Statement,
        course: &Course,
        landings: &[Landing],
        predicated: Option<Predicated<'_>>,
        plan: &mut Plan,
    ) -> Option<()> {
        let Course { moved, entries, is_needed_behind_all } = course;
        let stays = |landing: &Landing| landing.at_exit && landing.is_live && statement.stands_in(landing.node());
        plan.lands.clear();
        for landing in landings.iter().filter(|landing| landing.is_live && !stays(landing)) {
            let (spot, node, is_partial) = (self.spot(landing)?, landing.node, landing.is_partial);
            plan.lands.push(Lands { spot, node, is_partial, landed: None.into() });
        }
        plan.occurrences.clear();
        plan.occurrences.extend(moved.iter().map(|&(_, inst)| inst));
        plan.touched.clear();
        plan.touched.extend(moved.iter().map(|&(node, _)| node));
        plan.touched.extend(landings.iter().filter(|landing| landing.is_live).map(|landing| landing.node));
        if let Some(Predicated { cleared, begins, .. }) = predicated {
            plan.touched.extend(cleared.iter().map(|landing| landing.node));
            plan.touched.extend(begins.iter().map(|&node| node as u32));
        }
        plan.splits = plan.touched.iter().any(|&node| self.nodes.edge(node as Node).is_some());
        plan.entries.clear();
        plan.entries.extend_from_slice(entries);
        // A predicated statement keeps what its destination held in front of it, and its operands are read where it did not
        // come before. What is executed no more lets its operands die in front of where it stood.
        plan.is_felt_outside = predicated.is_some() || !is_needed_behind_all;
        (plan.inst, plan.dst) = (statement.inst, statement.dst);
        plan.uses.clear();
        plan.uses.extend_from_slice(&statement.uses);
        plan.is_predicated = predicated.is_some();
        plan.guard = predicated.and_then(|predicated| predicated.guard);
        plan.terms = None;
        let is_heard = self.manner.is_heard || cfg!(debug_assertions);
        plan.said = is_heard.then(|| Box::new(self.said(statement, moved, landings)));
        Some(())
    }

    /// Remark data of a statement that is removed there and lands here.
    fn said(&self, statement: &Statement, moved: &[(u32, Inst)], landings: &[Landing]) -> Said {
        let mut said = Said::default();
        said.from.extend(moved.iter().filter_map(|&(node, _)| self.nodes.block(node as Node)));
        let stays = |landing: &Landing| landing.at_exit && landing.is_live && statement.stands_in(landing.node());
        for landing in landings.iter().filter(|landing| !stays(landing)) {
            let block = self.nodes.block_or_target(landing.node());
            let blocks = if landing.is_live { &mut said.to } else { &mut said.dropped };
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        said
    }

    pub fn spot(&self, landing: &Landing) -> Option<Spot> {
        let node = landing.node();
        match (self.nodes.edge(node), self.nodes.block(node), landing.at_exit) {
            (Some((from, to)), ..) => Some(Spot::Edge(from, to)),
            (None, Some(block), true) => Some(Spot::End(block)),
            (None, Some(block), false) => self.accesses.at(self.func, block, landing.stop).map(Spot::Before),
            (None, None, _) => None,
        }
    }

    /// Place after a landing, or where the statement is dropped.
    pub fn spot_behind(&self, landing: &Landing) -> Option<Spot> {
        if landing.is_live {
            return self.spot(landing);
        }
        let node = landing.node();
        match (self.nodes.edge(node), self.nodes.block(node), landing.at_exit) {
            (Some((from, to)), ..) => Some(Spot::Edge(from, to)),
            (None, Some(block), true) => Some(Spot::End(block)),
            (None, Some(block), false) => Some(Spot::Start(block)),
            (None, None, _) => None,
        }
    }
}

impl Plan {
    /// Room for one.
    pub fn none() -> Plan {
        Plan {
            number: 0,
            inst: Inst::reserved_value(),
            dst: Reg::reserved_value(),
            uses: SmallVec::new(),
            occurrences: SmallVec::new(),
            lands: SmallVec::new(),
            is_predicated: false,
            guard: None,
            touched: SmallVec::new(),
            splits: false,
            entries: SmallVec::new(),
            is_felt_outside: false,
            terms: None,
            said: None,
        }
    }

    /// The nodes that it changes, or in which its registers are live where they were not, or no more; and others where
    /// [`Plan::is_felt_outside`]. Some come twice.
    pub fn changed(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().map(|entry| entry.node()).chain(self.touched.iter().copied())
    }

    /// Does another plan for the same statement do the same?
    fn is_like(&self, other: &Plan) -> bool {
        let terms = |plan: &Plan| plan.terms.as_ref().map(|terms| (terms.clears.clone(), terms.joins.clone()));
        let places = |plan: &Plan| (plan.occurrences.clone(), plan.lands.clone());
        let nodes = |plan: &Plan| (plan.touched.clone(), plan.entries.clone());
        let guard = |plan: &Plan| plan.guard.map(|guard| (guard.reg, guard.negated));
        places(self) == places(other)
            && nodes(self) == nodes(other)
            && self.said == other.said
            && guard(self) == guard(other)
            && self.is_felt_outside == other.is_felt_outside
            && (!self.is_predicated || terms(self) == terms(other))
    }

    /// Calls `visit` with the registers that it reads: operands of the statement, and the predicate if the program has it.
    pub fn for_each_read(&self, mut visit: impl FnMut(Reg)) {
        self.uses.iter().copied().for_each(&mut visit);
        if let Some(guard) = self.guard {
            visit(guard.reg);
        }
    }

    /// Says what has been done to nodes when it has been carried out.
    pub fn tell(&self, moves: &mut Moves) {
        if self.is_predicated {
            moves.whole.extend(self.touched.iter().map(|&node| node as Node));
            return;
        }
        for lands in &self.lands {
            match (lands.spot, lands.landed.expand()) {
                (Spot::Before(_) | Spot::Start(_) | Spot::End(_), Some(landed)) => {
                    moves.landed.push((lands.node as Node, landed, self.number));
                }
                // The block in the middle of an edge is new.
                _ => moves.whole.push(lands.node as Node),
            }
        }
        // These nodes are touched first.
        let nodes = self.touched.iter().map(|&node| node as Node);
        moves.gone.extend(nodes.zip(self.occurrences.iter().copied()));
    }

    /// The register that the statement writes.
    pub fn dst(&self) -> Reg {
        self.dst
    }

    /// An instruction that does what the statement does, perhaps with a guard.
    pub fn inst(&self) -> Inst {
        self.inst
    }

    /// Moves the statement. `nodes` hears which critical edges are split. Gives the predicate that has been made.
    pub fn carry_out(&mut self, rewrite: &mut Rewrite<'_, '_>, nodes: &mut Nodes) -> Option<Reg> {
        let setting = |reg, value: u64| InstData::new(Opcode::mov(Type::Pred), [reg], [Operand::Const(value)]);
        let made = (self.is_predicated && self.guard.is_none()).then(|| rewrite.create_temporary(Type::Pred));
        let guard = self.guard.or(made.map(|reg| Guard { reg, negated: false }));
        let mut like = None;
        // Where it lands as it stood, in a node from which none goes away, one of those that go only moves there. It does so when
        // all others have landed, which may be in front of it. Where anything is said of how often an instruction writes zero,
        // that goes with its instruction, and would be said of some of its executions.
        let is_left = |lands: &Lands| self.touched[..self.occurrences.len()].contains(&lands.node);
        let may_move = !self.is_predicated && rewrite.func().zero_writes().next().is_none();
        let moved = if may_move { self.lands.iter().position(|lands| !is_left(lands)) } else { None };
        for (_, lands) in self.lands.iter_mut().enumerate().filter(|&(place, _)| Some(place) != moved) {
            let place = place_of(rewrite, nodes, lands.spot);
            let data = rewrite.func().insts[self.inst].clone();
            lands.landed = rewrite.insert(place, data.guarded(guard.filter(|_| lands.is_partial))).into();
            // Something else may take the place of those that go.
            like = lands.landed.expand();
        }
        if let Some(lands) = moved.map(|place| &mut self.lands[place]) {
            let place = place_of(rewrite, nodes, lands.spot);
            rewrite.move_inst(self.occurrences[0], place);
            (lands.landed, like) = (self.occurrences[0].into(), Some(self.occurrences[0]));
        }
        if let Some((terms, reg)) = self.terms.as_ref().zip(made) {
            for &spot in &terms.clears {
                let place = place_of(rewrite, nodes, spot);
                rewrite.insert(place, setting(reg, 0));
            }
        }
        self.inst = like.unwrap_or(self.inst);
        let go = if moved.is_some() { &self.occurrences[1..] } else { &self.occurrences[..] };
        for &inst in go {
            match made {
                Some(reg) => rewrite.replace(inst, setting(reg, 1)),
                None => rewrite.remove(inst),
            }
        }
        if let Some((terms, reg)) = self.terms.as_ref().zip(made) {
            for &block in &terms.begins {
                rewrite.prepend(block, setting(reg, 0));
            }
        }
        made
    }
}

fn place_of(rewrite: &mut Rewrite<'_, '_>, nodes: &mut Nodes, spot: Spot) -> Place {
    match spot {
        Spot::Before(inst) => {
            let block = rewrite.func().inst_block(inst).unwrap_or(Block::from_u32(0));
            Place { block, before: Some(inst) }
        }
        Spot::Start(block) => Place { block, before: rewrite.func().block_insts(block).next() },
        Spot::End(block) => Place { block, before: rewrite.func().terminator(block) },
        Spot::Edge(from, to) => {
            // Another plan may have split it.
            let node = nodes.middle(from, to);
            let middle = node.and_then(|node| nodes.block(node)).unwrap_or_else(|| {
                let middle = rewrite.split_edge_ahead(from, to);
                if let Some(node) = node {
                    nodes.has_been_split(node, middle);
                }
                middle
            });
            Place { block: middle, before: rewrite.func().terminator(middle) }
        }
    }
}

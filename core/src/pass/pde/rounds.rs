//! Plans are made for statements and carried out, until nothing more is gained.
//!
//! ```text
//! first round: all registers       x sinks in front of its use, a is free to follow
//! later ones: what is written to a register that a plan has touched, or reads what one has moved
//! ```
//!
//! A round makes plans for statements as the function is, and carries out those that do not get in each other's way:
//! none writes a register that another writes or reads, unless nothing that it has looked at is changed by plans before
//! it (see [`Claims`]). So a register that is written all over the function does not take a round for each of its
//! statements. Then only what these touched is looked at again: the blocks, and statements that write a register that a
//! plan wrote or read, or read one that it wrote, if they have looked at a node that the plan changed or that its
//! statement passed. Outside of these nodes such a register is live where it was; where that may not be so
//! ([`Plan::is_felt_outside`]), its liveness is compared. Looked at are also statements whose plans got in another
//! one's way, those that were told of the cycles of jumps after an edge was split, as that jump is there then, and
//! those that asked branches for predicates after a predicate was moved. So rounds find what they would if everything
//! was new to them, which is asserted of the last one.
//!
//! Bounds: [`MOST_ROUNDS`]; a round takes time for what has changed.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, SecondaryMap};
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::benefit::Manner;
use super::plan::{Plan, Planner, Refused, Scratch, Told};
use super::statements::{Catalogue, Occurrence, Statement, may_sink};
use super::{Rules, applied};
use crate::edit::Remark;
use crate::ir::{Block, Function, Inst, InstData, Module, Reg, Type, WarpCounts};
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::paths::Paths;
use crate::text::instruction_text;
use crate::view::{Listener, View};

/// Instructions in front of one that goes that are looked at.
const MOST_AHEAD: usize = 256;

/// Rounds that are made at most.
pub(super) const MOST_ROUNDS: usize = 32;

/// See the file's head.
pub(super) struct Rounds {
    rules: Rules,
    nodes: Nodes,
    accesses: Accesses,
    catalogue: Catalogue,
    scratch: Scratch,
    paths: Option<Paths>,
    /// How often warps execute each node, where warps pay.
    warps: Option<Vec<f64>>,
    /// Registers whose statements are to be looked at.
    waiting: BTreeSet<Reg>,
    /// By register: where else it is live now, or no more, though nothing that has been changed there; in order.
    felt: HashMap<Reg, Vec<u32>>,
    /// What has been looked at and stayed as it was.
    settled: Vec<Settled>,
    /// By the first occurrence of a statement: which of these still holds.
    settled_at: SecondaryMap<Inst, Option<u32>>,
    /// By node: the last round that made a plan from it and carried that out.
    changed: Vec<usize>,
    round: usize,
    /// Statements whose cost counted jumps that are not there yet.
    counting_jumps: Vec<(Reg, Inst)>,
    /// Statements that asked branches for predicates.
    seeking: Vec<(Reg, Inst)>,
    has_partial_join: bool,
}

impl Rounds {
    /// Before the first.
    pub fn of<S: Listener>(view: &mut View<'_, S>, rules: Rules) -> Rounds {
        let cfg = view.cfg();
        let func = view.func();
        let nodes = Nodes::of(&cfg, func);
        let accesses = Accesses::of(view.module(), func, &nodes);
        let paths = if rules.with_predicates { Paths::of(func, &nodes, rules.share) } else { None };
        let warps = rules.is_by_warp.then(|| nodes.executions(&WarpCounts::of(func)));
        Rounds {
            rules,
            catalogue: Catalogue::default(),
            scratch: Scratch::new(&nodes),
            felt: HashMap::new(),
            settled: Vec::new(),
            settled_at: SecondaryMap::new(),
            changed: vec![0; nodes.len()],
            round: 0,
            counting_jumps: Vec::new(),
            seeking: Vec::new(),
            nodes,
            accesses,
            paths,
            warps,
            waiting: func.regs.keys().collect(),
            has_partial_join: false,
        }
    }

    /// Makes rounds until nothing more is gained.
    pub fn sink<S: Listener>(mut self, view: &mut View<'_, S>) {
        let module = view.module();
        for round in 1..=MOST_ROUNDS {
            let plans = self.plans(view.func());
            if round == 1 && self.rules.with_predicates && self.paths.is_none() && self.has_partial_join {
                view.miss(no_profile);
            }
            if let Some(estimated) = self.paths.as_ref().and_then(|paths| paths.estimated)
                && round == 1
                && self.has_partial_join
            {
                view.miss(|func| estimated.remark(func));
            }
            if plans.is_empty() {
                break;
            }
            if round == MOST_ROUNDS {
                view.miss(more_rounds);
                return;
            }
            let made: Vec<Option<Reg>> = plans
                .iter()
                .map(|plan| {
                    let mut rewrite = view.rewrite(|func| {
                        let text = instruction_text(module, func, plan.occurrences[0]);
                        applied(func, plan, &text)
                    });
                    plan.carry_out(&mut rewrite, &mut self.nodes)
                })
                .collect();
            self.have_been_carried_out(module, view.func(), &plans, &made);
        }
        debug_assert!(Rounds::of(view, self.rules).plans(view.func()).is_empty(), "a last look finds nothing more");
        // What is said of the program as it stays.
        let func = view.func();
        let mut refused: Vec<(Node, Inst, Refused)> = Vec::new();
        for (number, settled) in self.settled.into_iter().enumerate().filter(|(_, settled)| !settled.refused.is_empty())
        {
            let (node, inst) = settled.occurrences[0];
            // What stands in other places now has been looked at under another name.
            let dst = func.insts[inst].dst().filter(|_| func.inst_block(inst).is_some());
            let statement = dst.and_then(|reg| self.catalogue.standing(reg, node));
            if self.settled_at[inst] == Some(number as u32)
                && statement.is_some_and(|statement| settled.is_of(statement))
            {
                refused.extend(settled.refused.into_iter().map(|why| (node, inst, why)));
            }
        }
        refused.sort_by_cached_key(|&(node, inst, _)| (node, place(func, inst)));
        for (_, inst, why) in &refused {
            view.miss(|func| why.remark(func, &instruction_text(module, func, *inst)));
        }
    }

    /// Plans for what is to be looked at that do not get in each other's way, in the order of the function.
    fn plans(&mut self, func: &Function) -> Vec<Plan> {
        let felt = core::mem::take(&mut self.felt);
        let mut statements: Vec<((Node, u32), Reg, usize)> = Vec::new();
        for reg in core::mem::take(&mut self.waiting) {
            if self.accesses.may_cross(reg) {
                let felt = felt.get(&reg).map_or(&[][..], Vec::as_slice);
                self.catalogue.know(func, &self.accesses, reg);
                for (number, statement) in self.catalogue.of(reg).iter().enumerate() {
                    if !statement.occurrences.is_empty() && !self.is_settled(statement, felt) {
                        statements.push((statement.order(), reg, number));
                    }
                }
            }
        }
        statements.sort_unstable();
        let planner = Planner {
            func,
            nodes: &self.nodes,
            accesses: &self.accesses,
            paths: self.paths.as_ref(),
            warps: self.warps.as_deref(),
            manner: Manner { is_printed_rule: self.rules.is_printed, is_brief: true },
            machine: self.rules.machine,
        };
        let mut plans: Vec<Plan> = Vec::new();
        let mut claims = Claims::new(func, &self.accesses);
        for (_, reg, number) in statements {
            let statement = &self.catalogue.of(reg)[number];
            let mut heard = Heard::default();
            let plan = planner.plan(statement, &mut self.scratch, &mut heard, &mut |_| {});
            let (dst, first) = (statement.dst, statement.occurrences[0].inst);
            // What was found before holds no more, whatever becomes of the plan.
            self.settled_at[first] = None;
            self.has_partial_join |= heard.has_partial_join;
            let Some(plan) = plan else {
                if heard.counts_jumps {
                    self.counting_jumps.push((dst, first));
                }
                if heard.seeks_predicate {
                    self.seeking.push((dst, first));
                }
                let Heard { looked_at, refused, .. } = heard;
                let occurrences = statement.occurrences.iter().map(|it| (it.node, it.inst)).collect();
                self.settled_at[first] = Some(self.settled.len() as u32);
                self.settled.push(Settled { occurrences, looked_at, refused });
                continue;
            };
            if claims.take(statement, &plan) {
                plans.push(plan);
            } else {
                self.waiting.insert(dst);
            }
        }
        plans
    }

    /// Has a statement been looked at, and nothing that it has looked at has changed?
    fn is_settled(&self, statement: &Statement, felt: &[u32]) -> bool {
        self.settled_at[statement.occurrences[0].inst].is_some_and(|number| {
            let settled = &self.settled[number as usize];
            settled.is_of(statement)
                && settled
                    .looked_at
                    .iter()
                    .all(|&node| self.changed[node] != self.round && felt.binary_search(&(node as u32)).is_err())
        })
    }

    /// What is known changes with plans that have been carried out, with new predicates for some.
    fn have_been_carried_out(&mut self, module: &Module, func: &Function, plans: &[Plan], made: &[Option<Reg>]) {
        self.round += 1;
        let mut touched: Vec<Node> = plans.iter().flat_map(|plan| plan.touched.iter().copied()).collect();
        touched.sort_unstable();
        touched.dedup();
        let mut origins: BTreeMap<Reg, Vec<(&InstData, Inst)>> = BTreeMap::new();
        for plan in plans {
            if let (Some(dst), Some(&first)) = (plan.dst(), plan.occurrences.first()) {
                origins.entry(dst).or_default().push((&plan.data, first));
            }
        }
        self.catalogue.leave(&self.accesses, &touched);
        let has_other_memory = self.accesses.update(module, func, &self.nodes, &touched, &origins);
        self.catalogue.enter(func, &self.accesses, &touched);
        for &node in plans.iter().flat_map(|plan| &plan.changed) {
            self.changed[node] = self.round;
        }
        let moved: BTreeSet<Reg> = plans.iter().filter_map(Plan::dst).collect();
        // Where registers live as they did not, or perhaps do: everywhere, or in these nodes.
        let mut living: BTreeMap<Reg, Living> = BTreeMap::new();
        for (plan, &made) in plans.iter().zip(made) {
            plan.occurrences.iter().for_each(|&inst| self.settled_at[inst] = None);
            for reg in plan.reads().into_iter().chain(plan.dst()).chain(made) {
                self.waiting.insert(reg);
                let living = living.entry(reg).or_default();
                living.is_felt |= plan.is_felt_outside;
                living.touched.extend(&plan.touched);
                living.changed.extend(&plan.changed);
            }
        }
        let Scratch { liveness, .. } = &mut self.scratch;
        for (reg, Living { is_felt, touched, changed }) in living {
            if is_felt {
                let changed = liveness.renew(&self.nodes, &self.accesses, reg, &touched);
                self.felt.insert(reg, changed);
            } else {
                liveness.renew_within(&self.nodes, &self.accesses, reg, &changed);
            }
            debug_assert!(liveness.is_right(&self.nodes, &self.accesses, reg), "elsewhere it lives as it did");
        }
        if has_other_memory {
            // Every load is looked at as if it was new.
            let loaded: BTreeSet<Reg> = self.accesses.loaded(func).collect();
            for &reg in &loaded {
                self.catalogue.forget(reg);
                for (_, touches) in self.accesses.writers(reg) {
                    self.settled_at[touches.last_writer] = None;
                }
            }
            self.waiting.extend(loaded);
        }
        let mut again: Vec<(Reg, Inst)> = Vec::new();
        if plans.iter().any(|plan| plan.splits) {
            again.append(&mut self.counting_jumps);
        }
        if moved.iter().any(|&reg| func.regs[reg].ty == Type::Pred) {
            again.append(&mut self.seeking);
        }
        for (reg, inst) in again {
            self.settled_at[inst] = None;
            self.waiting.insert(reg);
        }
        // What reads a register that has been moved.
        let mut is_moved = vec![false; func.regs.len()];
        moved.iter().for_each(|reg| is_moved[reg.index()] = true);
        let mut readers: Vec<Node> = moved.iter().flat_map(|&reg| self.accesses.touching(reg)).collect();
        readers.sort_unstable();
        readers.dedup();
        for block in readers.into_iter().filter_map(|node| self.nodes.block(node)) {
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                let mut reads_moved = false;
                data.for_each_use(|reg| reads_moved |= is_moved[reg.index()]);
                if reads_moved && may_sink(data) {
                    self.waiting.extend(data.dst());
                }
            }
        }
    }
}

/// What the plans of one round may change of where a register is live.
#[derive(Default)]
struct Living {
    /// Perhaps also outside of [`Living::changed`].
    is_felt: bool,
    /// Nodes in which it may be read or written otherwise.
    touched: Vec<Node>,
    /// Nodes in which it may be live otherwise.
    changed: Vec<Node>,
}

/// What the plans of one round do, as far as it may concern the plans behind them.
///
/// A plan holds as long as what it was made from: what nodes that were looked at do to its registers, and where these are
/// live in them. A plan before it changes that for registers that it writes or reads itself, in the nodes that it changes,
/// and elsewhere only if it is felt outside of them. Where a predicate comes from is not told by nodes, so plans with one
/// share no register with plans before them. What a plan takes away may have kept the same statement in its block in
/// another place: all that is free then goes together, in a round to come.
pub(super) struct Claims<'a> {
    func: &'a Function,
    accesses: &'a Accesses,
    written: HashSet<Reg>,
    read: HashSet<Reg>,
    /// Those of them that are perhaps live in other places outside of what a plan changes.
    felt: HashSet<Reg>,
    changed: HashSet<Node>,
    /// Statements of the plans, of which nobody has asked yet what is in front of them.
    leaving: Vec<&'a Statement>,
    /// By the register that they write: instructions in front of one that goes, which touch a register that it touches.
    freed: HashMap<Reg, SmallVec<[Inst; 2]>>,
    /// Did more stand in front of one than was looked at?
    may_free_others: bool,
}

impl<'a> Claims<'a> {
    /// Of no plans yet for a function.
    pub fn new(func: &'a Function, accesses: &'a Accesses) -> Claims<'a> {
        Claims {
            func,
            accesses,
            written: HashSet::new(),
            read: HashSet::new(),
            felt: HashSet::new(),
            changed: HashSet::new(),
            leaving: Vec::new(),
            freed: HashMap::new(),
            may_free_others: false,
        }
    }

    /// Takes a statement's plan in, if those before it leave it as it is.
    pub fn take(&mut self, statement: &'a Statement, plan: &Plan) -> bool {
        let (dst, reads) = (statement.dst, plan.reads());
        let any_in = |regs: &HashSet<Reg>| regs.contains(&dst) || reads.iter().any(|reg| regs.contains(reg));
        let shares = self.read.contains(&dst) || any_in(&self.written);
        let is_apart = || {
            !plan.is_predicated && !any_in(&self.felt) && !plan.looked_at.iter().any(|node| self.changed.contains(node))
        };
        if shares && (!is_apart() || self.free_more_of(statement)) {
            return false;
        }
        if plan.is_felt_outside {
            self.felt.insert(dst);
            self.felt.extend(reads.iter().copied());
        }
        self.written.insert(dst);
        self.read.extend(reads);
        self.changed.extend(plan.changed.iter().copied());
        self.leaving.push(statement);
        true
    }

    /// May plans so far free another occurrence of a statement?
    fn free_more_of(&mut self, statement: &Statement) -> bool {
        core::mem::take(&mut self.leaving).into_iter().for_each(|statement| self.free(statement));
        let is_another = |&inst: &Inst| {
            self.func.insts[inst] == statement.data && statement.occurrences.iter().all(|known| known.inst != inst)
        };
        self.may_free_others || self.freed.get(&statement.dst).is_some_and(|freed| freed.iter().any(is_another))
    }

    /// Notes what may be free when a statement has gone.
    fn free(&mut self, statement: &Statement) {
        let regs = || statement.uses.iter().copied().chain([statement.dst]);
        for &Occurrence { node, place, inst } in &statement.occurrences {
            let is_touched_before =
                |reg: Reg| self.accesses.touches(node, reg).is_some_and(|touches| touches.first < place);
            if !regs().any(is_touched_before) {
                continue;
            }
            let mut ahead =
                core::iter::successors(self.func.layout.prev_inst(inst), |&inst| self.func.layout.prev_inst(inst));
            for inst in ahead.by_ref().take(MOST_AHEAD) {
                let data = &self.func.insts[inst];
                let Some(dst) = data.dst().filter(|_| may_sink(data)) else { continue };
                let mut touches = regs().any(|reg| reg == dst);
                data.for_each_use(|used| touches |= used == statement.dst);
                if touches {
                    self.freed.entry(dst).or_default().push(inst);
                }
            }
            self.may_free_others |= ahead.next().is_some();
        }
    }
}

/// A statement that has been looked at and stays.
struct Settled {
    occurrences: SmallVec<[(Node, Inst); 1]>,
    looked_at: Vec<Node>,
    /// Why.
    refused: Vec<Refused>,
}

impl Settled {
    /// Is it about a statement that stands where it stood?
    fn is_of(&self, statement: &Statement) -> bool {
        let now = statement.occurrences.iter().map(|it| (it.node, it.inst));
        self.occurrences.iter().copied().eq(now)
    }
}

/// What is heard while a plan is made.
#[derive(Default)]
struct Heard {
    refused: Vec<Refused>,
    looked_at: Vec<Node>,
    has_partial_join: bool,
    counts_jumps: bool,
    seeks_predicate: bool,
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

    fn seeks_predicate(&mut self) {
        self.seeks_predicate = true;
    }

    fn looked_at(&mut self, nodes: &mut dyn Iterator<Item = Node>) {
        self.looked_at.extend(nodes);
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

fn more_rounds(func: &Function) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    Remark::missed("max-rounds", entry, format!("after {MOST_ROUNDS} rounds more could sink"))
}

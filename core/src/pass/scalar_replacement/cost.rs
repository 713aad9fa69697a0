//! Costs and savings of insertions and moves, in cycles of the machine model and executions by
//! warps.
//!
//! ```text
//! n1: br p, n2, n3       100 executions              moved to n1, A[i] is loaded 100 times
//! n2: x = ld A[i]         60 executions              and 60 times less in n2, 60 times less in n5:
//! n5: y = ld A[i]         60 executions              100 · c < 120 · c, so it moves
//! ```
//!
//! 1. A load costs a warp its issue cycles, and of the cycles that its first use waits for a
//!    first-level hit one share, as resident warps fill each other's waiting. A load that moved up
//!    is further from its use and waits less.
//! 2. Costs are all insertions or moved loads, and the copies at conversions. A load that moves up
//!    into a loop and is available there from before the loop costs what it costs there.
//! 3. Savings are the load itself, and other loads that become available by it, tried out one by
//!    one.
//! 4. A change is made if it costs less than it saves.
//!
//! Executions are those of the profile, or else estimated from loops and divergent branches, with
//! constants low enough that a change hardly costs more than it saves in any run.
//!
//! Sound because the numbers choose only among sound changes.
//!
//! Cost: O([`OTHERS`]) questions for each change.
//!
//! Limits: only the [`OTHERS`] nearest loads are tried. A profile does not count guards, so that a
//! guarded load saves nothing and costs its full price. Uses are searched in the load's own block.
//! Loads that wait together are counted one by one; additional sectors and registers are not
//! counted, so that a load for all lanes costs no more than one for those that pass a branch.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::rewriting::Rewriting;
use crate::ir::{Block, Function, Inst, Opcode, WarpCounts};
use crate::machine::{Machine, OpClass};
use crate::profile::expected_warp_counts;
use crate::query::{
    Conversion, Form, Hoist, InsertionPoint, Occurrence, OccurrenceData, QueryEngine, SplitGraph, Subject, Support,
};
use crate::trace::{Fact, NoTrace, Remark};
use crate::view::View;

/// More loads than this are not tried.
const OTHERS: usize = 16;

/// The data that prices are computed from.
pub(super) struct Costs {
    /// Executions by warps.
    counts: WarpCounts,
    /// Are the counts expected ones, since the function has no profile of warps?
    is_estimated: bool,
    /// Does the profile count from the function's entry? Then a block without a count never ran.
    is_whole: bool,
    /// The machine whose issue costs and latencies count.
    machine: Machine,
    /// Resident warps.
    warps: u32,
}

/// Costs and savings of one change.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Bill {
    /// Expected executions of insertions.
    pub more: u64,
    /// Cycles of the insertions.
    pub costs: f64,
    /// Expected executions of removed loads.
    pub less: u64,
    /// Cycles of the removed loads.
    pub saves: f64,
    /// Are the executions estimated, not measured?
    pub is_estimated: bool,
}

impl Bill {
    /// Does the change cost less than it saves?
    pub fn pays(&self) -> bool {
        self.costs < self.saves
    }

    fn pay(&mut self, executions: u64, cycles: f64) {
        self.more = self.more.saturating_add(executions);
        self.costs += executions as f64 * cycles;
    }

    /// The bill in words.
    pub fn text(&self) -> String {
        format!(
            "costs {:.0} cycles in {} {}execution{}, saves {:.0} in {}",
            self.costs,
            self.more,
            if self.is_estimated { "estimated " } else { "" },
            if self.more == 1 { "" } else { "s" },
            self.saves,
            self.less
        )
    }

    /// Adds the bill to a remark as facts.
    pub fn on(&self, remark: Remark) -> Remark {
        remark
            .with("cost_cycles", Fact::Number(self.costs))
            .with("cost_executions", Fact::Count(self.more))
            .with("saved_cycles", Fact::Number(self.saves))
            .with("saved_executions", Fact::Count(self.less))
    }
}

/// The changes that a bill relies on.
#[derive(Default)]
pub(super) struct CountedOn {
    /// Loads that are removed as well.
    pub going: Vec<Occurrence>,
    /// Blocks where the moved load is available by insertions further up, which are on the bill in
    /// its place.
    pub insertions_above: Vec<Block>,
}

/// Changes that are on a bill already.
#[derive(Default)]
struct Paid {
    insertions: BTreeSet<(InsertionPoint, Form)>,
    shifts: BTreeSet<(Inst, Form)>,
}

impl Costs {
    /// Prices on a machine for warps that take turns. None without a profile of warps.
    pub fn measured(func: &Function, machine: Machine, warps: u32) -> Option<Costs> {
        let counts = WarpCounts::of(func);
        let is_whole = is_whole(func, &counts);
        (!counts.is_empty()).then_some(Costs { counts, is_estimated: false, is_whole, machine, warps: warps.max(1) })
    }

    /// Prices on a machine for warps that take turns, with [expected](expected_warp_counts) executions.
    pub fn expected(view: &mut View<'_>, machine: Machine, warps: u32) -> Costs {
        let counts = expected_warp_counts(view);
        Costs { counts, is_estimated: true, is_whole: true, machine, warps: warps.max(1) }
    }

    /// Reads the counts again after blocks were added.
    pub fn count_again(&mut self, view: &mut View<'_>) {
        if self.is_estimated {
            self.counts = expected_warp_counts(view);
        } else {
            self.counts = WarpCounts::of(view.func());
            self.is_whole = is_whole(view.func(), &self.counts);
        }
    }

    /// A bill without entries.
    fn bill(&self) -> Bill {
        Bill { is_estimated: self.is_estimated, ..Bill::default() }
    }

    /// Costs and savings of an insertion that makes an occurrence available, and the occurrences that
    /// they count on. None where the profile does not tell.
    pub fn of_insertion(
        &self,
        func: &Function,
        engine: &mut QueryEngine<'_>,
        rewriting: &Rewriting,
        occurrence: Occurrence,
        support: &Support,
    ) -> Option<(Bill, CountedOn)> {
        let (mut bill, mut paid, mut counted_on) = (self.bill(), Paid::default(), CountedOn::default());
        self.pay(func, engine, rewriting, support, &mut paid, &mut bill)?;
        self.save(func, engine, occurrence, &mut bill)?;
        if bill.pays() {
            return Some((bill, counted_on));
        }
        for other in engine.snapshot.others(occurrence, OTHERS) {
            if engine.available(func, &mut NoTrace, other).is_ok() {
                continue;
            }
            let Ok(support) = engine.available_anywhere(func, &mut NoTrace, other) else { continue };
            let is_there = |&(point, form): &(InsertionPoint, Form)| {
                paid.insertions.contains(&(point, form)) || rewriting.is_inserted(point, form)
            };
            if support.insertions.iter().all(is_there) {
                let mut with = bill;
                self.pay(func, engine, rewriting, &support, &mut paid, &mut with)?;
                self.save(func, engine, other, &mut with)?;
                if with.saves - with.costs > bill.saves - bill.costs {
                    bill = with;
                    counted_on.going.push(other);
                }
            }
        }
        Some((bill, counted_on))
    }

    /// The bill of moving an occurrence up. None where the profile has no counts.
    pub fn of_hoist(
        &self,
        func: &Function,
        engine: &mut QueryEngine<'_>,
        rewriting: &Rewriting,
        occurrence: Occurrence,
        hoist: &Hoist,
    ) -> Option<(Bill, CountedOn)> {
        let mut others = engine.snapshot.others(occurrence, OTHERS);
        others.retain(|&other| engine.available(func, &mut NoTrace, other).is_err());
        let trial = engine.begin_trial(func, hoist);
        let bill = self.of_trial(func, engine, rewriting, (occurrence, &others), (&trial, hoist.has_gaps));
        engine.end_trial(trial);
        bill
    }

    fn of_trial(
        &self,
        func: &Function,
        engine: &mut QueryEngine<'_>,
        rewriting: &Rewriting,
        (occurrence, others): (Occurrence, &[Occurrence]),
        (trial, has_gaps): (&[Occurrence], bool),
    ) -> Option<(Bill, CountedOn)> {
        let (mut bill, mut paid, mut counted_on) = (self.bill(), Paid::default(), CountedOn::default());
        for &moved in trial {
            let &OccurrenceData { block, form, .. } = engine.snapshot.occurrence(moved);
            let mut own = Bill::default();
            let distance = self.distance_from(func, engine, block, occurrence);
            own.pay(self.executions(&engine.snapshot.graph, block)?, self.load(engine, form, distance));
            // It may be available at its new place, from further up.
            for anywhere in [false, true] {
                let Ok(support) = engine.available_in_trial(func, moved, anywhere) else { continue };
                let mut further = Bill::default();
                let mut paid = Paid::default();
                self.pay(func, engine, rewriting, &support, &mut paid, &mut further)?;
                // A value that is available by the rules will be read from there, whatever the
                // costs.
                if !anywhere || further.costs < own.costs {
                    own = further;
                    counted_on.insertions_above.extend(anywhere.then_some(block));
                }
                break;
            }
            bill.more = bill.more.saturating_add(own.more);
            bill.costs += own.costs;
        }
        if has_gaps && let Ok(support) = engine.available_in_trial(func, occurrence, false) {
            self.pay(func, engine, rewriting, &support, &mut paid, &mut bill)?;
        }
        self.save(func, engine, occurrence, &mut bill)?;
        for &other in others {
            let Ok(support) = engine.available_in_trial(func, other, false) else { continue };
            let mut with = bill;
            self.pay(func, engine, rewriting, &support, &mut paid, &mut with)?;
            self.save(func, engine, other, &mut with)?;
            if with.saves - with.costs > bill.saves - bill.costs {
                bill = with;
                counted_on.going.push(other);
            }
        }
        Some((bill, counted_on))
    }

    /// Adds the insertions and copies of an answer to a bill.
    fn pay(
        &self,
        func: &Function,
        engine: &QueryEngine<'_>,
        rewriting: &Rewriting,
        support: &Support,
        paid: &mut Paid,
        bill: &mut Bill,
    ) -> Option<()> {
        let graph = &engine.snapshot.graph;
        for &(point, form) in &support.insertions {
            if !rewriting.is_inserted(point, form) && paid.insertions.insert((point, form)) {
                let executions = match point {
                    InsertionPoint::End(block) | InsertionPoint::BeforeEntry(block) => self.executions(graph, block)?,
                    InsertionPoint::Edge(from, to) => self.taken(graph.value_block(from), to)?,
                };
                bill.pay(executions, self.load(engine, form, 0));
            }
        }
        for &Conversion { inst, below, .. } in &support.conversions {
            if !rewriting.is_shifted(inst, below) && paid.shifts.insert((inst, below)) {
                let Some(block) = func.inst_block(inst) else { continue };
                let types = &engine.snapshot.forms.expression(below).types;
                let cycles: f64 = types.iter().map(|&ty| self.cycles(Opcode::mov(ty), u32::MAX)).sum();
                bill.pay(self.executions(graph, block)?, cycles);
            }
        }
        Some(())
    }

    /// Adds a removed load to a bill. One with a guard may never have been executed.
    fn save(&self, func: &Function, engine: &QueryEngine<'_>, occurrence: Occurrence, bill: &mut Bill) -> Option<()> {
        let &OccurrenceData { inst, block, form, .. } = engine.snapshot.occurrence(occurrence);
        if engine.snapshot.forms.expression(form).guard.is_some() {
            return Some(());
        }
        let executions = self.executions(&engine.snapshot.graph, block)?;
        let (distance, is_used) = inst.map_or((0, false), |inst| self.to_first_use(func, inst));
        let distance = if is_used { distance } else { u32::MAX };
        bill.less = bill.less.saturating_add(executions);
        bill.saves += executions as f64 * self.load(engine, form, distance);
        Some(())
    }

    /// Issue cycles between a load and its first use in its block, or the block's end; is there a
    /// use?
    fn to_first_use(&self, func: &Function, load: Inst) -> (u32, bool) {
        let Some(block) = func.inst_block(load) else { return (0, false) };
        let mut cycles = 0u32;
        for inst in func.block_insts(block).skip_while(|&inst| inst != load).skip(1) {
            let mut is_used = false;
            func.insts[inst].for_each_use(|reg| is_used |= func.insts[load].dsts.contains(&reg));
            if is_used {
                return (cycles, true);
            }
            cycles = cycles.saturating_add(self.machine.issue_cycles(&func.insts[inst]));
        }
        (cycles, false)
    }

    /// Issue cycles between the end of `block` and the use of a load that moved up to there: those
    /// of the branch, and of the load's own block up to the use.
    fn distance_from(&self, func: &Function, engine: &QueryEngine<'_>, block: Block, load: Occurrence) -> u32 {
        let cycles = |inst: Inst| self.machine.issue_cycles(&func.insts[inst]);
        let branch = func.terminator(block).map_or(0, cycles);
        let &OccurrenceData { inst: Some(load), block: own, .. } = engine.snapshot.occurrence(load) else {
            return branch;
        };
        let before = func.block_insts(own).take_while(|&inst| inst != load).map(cycles);
        let (after, _) = self.to_first_use(func, load);
        before.fold(branch.saturating_add(after), u32::saturating_add)
    }

    /// Executions of a block by warps. A block on an edge runs as often as the edge is taken.
    fn executions(&self, graph: &SplitGraph, block: Block) -> Option<u64> {
        match graph.successors(block).first() {
            Some(&to) if graph.is_on_edge(block) => self.taken(graph.value_block(block), to),
            _ => self.counts.executions(block).or(self.is_whole.then_some(0)),
        }
    }

    fn taken(&self, from: Block, to: Block) -> Option<u64> {
        self.counts.taken(from, to).or(self.is_whole.then_some(0))
    }

    /// Cycles that a load of a form costs a warp, whose first use comes so many cycles after it.
    fn load(&self, engine: &QueryEngine<'_>, form: Form, distance: u32) -> f64 {
        match &engine.snapshot.forms.expression(form).subject {
            Subject::Load(kind, _) => self.cycles(kind.opcode, distance),
            Subject::Pure(opcode, _) => self.cycles(*opcode, distance),
        }
    }

    fn cycles(&self, opcode: Opcode, distance: u32) -> f64 {
        let cost = self.machine.cost(OpClass::of(opcode));
        let (issue, latency) = (cost.issue.value, cost.latency.value);
        let waits = latency.saturating_sub(issue.saturating_add(distance));
        f64::from(issue) + f64::from(waits) / f64::from(self.warps)
    }
}

/// Does the profile count from the function's entry?
fn is_whole(func: &Function, counts: &WarpCounts) -> bool {
    func.entry_blocks().iter().any(|&entry| counts.executions(entry).is_some())
}

//! Estimate of specialising for a candidate: the blocks that are copied, their cycles, and what is
//! saved.
//!
//! ```text
//! n1: r = …                region: n1 after r, n2, n3, n4
//!     br p, n2, n3         copied: n1 after r, n2, n3, which leads to n4, and n4 up to z
//! n2: x = mul.f32 r, y     not copied: the store, since nothing gains after z
//! n3: …
//! n4: z = mul.f32 r, w; st …
//! ```
//!
//! 1. Specialise the region for zero ([`super::specialisation`]).
//! 2. Find the instructions that gain: they become cheaper, or read fewer values that are not
//!    constant.
//! 3. Copy the blocks from which control reaches one that gains without leaving the region; of the
//!    last ones only the instructions up to the last that gains. The check is placed right after
//!    the last of the candidate's registers; if something gains before that, the check moves before
//!    it, with what it needs.
//! 4. Constants that are read outside the copy are written.
//! 5. T_R and T_S are the cycles of the copied blocks before and after, T_check those of
//!    comparison, vote and branch.
//!
//! T_R is the time of a warp whose registers are zero, as T_S is. That is less than the average
//! where a branch depends on the zero: code that such a warp does not enter costs it nothing before
//! the transformation either, and code that it does enter runs whenever it comes there. The printed
//! equation has one T_R for all warps, and would count as saved what never ran. Nor does a memory
//! operation whose guard fails in all lanes wait for memory. With that, T_R - T_AZP is what is
//! gained, since warps with another value run the code that they ran before.
//!
//! Cost: linear in what changes and what is copied. A copy has [`MOST_BLOCKS`] blocks at most; a
//! larger one gets no estimate, and the remark `too-large` says so.
//!
//! Source: AZP, section 3.3.2, step 5 and equation 5.

use alloc::vec::Vec;

use super::candidates::{Candidate, WhyNot};
use super::convergence::would_part_lanes;
use super::costs::ROUNDING;
use super::facts::Facts;
use super::hoisting::HoistedPlace;
use super::opportunity::{Opportunity, Tail};
use super::specialisation::{Outcome, Specialisation, copies_itself};
use super::table::Table;
use super::zero_test::make_zero_test;
use crate::compact_sort::CompactSort;
use crate::flow::Definition;
use crate::ir::{Block, Inst, InstData, Op, Opcode, Type};
use crate::machine::OpClass;

/// A region with more blocks is not copied.
pub(super) const MOST_BLOCKS: usize = 256;

/// Estimates one candidate after the other.
pub(super) struct Estimator<'a> {
    pub specialisation: Specialisation<'a>,
    facts: &'a Facts<'a>,
    /// Does each lane branch for itself?
    pub is_divergent: bool,
    /// Blocks that are copied, without the check's.
    inside: Table<Block, ()>,
    /// Last instruction that gains, by block.
    last_gain: Table<Block, Inst>,
    /// Executions of each copied block where the candidate is zero, for each run of the function by
    /// a warp.
    frequencies: Table<Block, f64>,
}

impl<'a> Estimator<'a> {
    /// Tables for the candidates of a function. `is_divergent`: each lane branches for itself.
    pub fn new(facts: &'a Facts<'a>, is_divergent: bool) -> Estimator<'a> {
        Estimator {
            specialisation: Specialisation::new(facts),
            facts,
            is_divergent,
            inside: Table::new(),
            last_gain: Table::new(),
            frequencies: Table::new(),
        }
    }

    /// The estimate of a candidate, or the reason why there is none.
    pub fn estimate(&mut self, candidate: &Candidate, hoist: Option<&HoistedPlace>) -> Result<Opportunity, WhyNot> {
        if !self.specialisation.check.place(&candidate.values, hoist) {
            return Err(WhyNot::NoPlace);
        }
        if !self.specialisation.assume_zero(&candidate.values) {
            return Err(WhyNot::TooManyChanges);
        }
        let (facts, head) = (self.facts, self.specialisation.check.head);
        self.specialisation.find_dead();
        let gaining = self.find_gaining();
        let start = self.find_start(&gaining).ok_or(WhyNot::NoPlace)?;
        if !self.find_copied_blocks(&gaining) {
            return Err(WhyNot::TooManyCopies);
        }
        let mut copied: Vec<Block> = self.inside.keys().collect();
        let tails = self.find_tails();
        copied.compact_sort_by_key(|&block| facts.cfg.position(block));
        let mut opportunity = Opportunity {
            head,
            start,
            copied,
            tails,
            probability: candidate.probability,
            t_region: 0.0,
            t_special: 0.0,
            t_check: self.check_cycles(candidate),
            memory_killed: 0,
            is_simpler: !gaining.is_empty(),
            is_unconvergent: false,
        };
        self.demand_outside_constants(&opportunity);
        opportunity.is_unconvergent = {
            let is_copied = |inst| self.is_copied(inst, &opportunity);
            would_part_lanes(&self.specialisation, &opportunity, is_copied, self.is_divergent)
        };
        self.specialisation.steps += self.specialisation.check.blocks_read().len();
        self.find_frequencies(&opportunity.copied);
        self.add_cycles(&mut opportunity);
        Ok(opportunity)
    }

    /// Is an instruction copied?
    pub fn is_copied(&self, inst: Inst, opportunity: &Opportunity) -> bool {
        let Some(block) = self.facts.func.inst_block(inst) else { return false };
        let is_inside = if block == opportunity.head {
            self.is_after_check(inst, opportunity.start)
        } else {
            self.inside.contains(block) && !self.specialisation.check.hoisted.contains(&inst)
        };
        let tail = opportunity.tail_of(block);
        is_inside && tail.is_none_or(|tail| self.facts.place(inst) < self.facts.place(tail))
    }

    /// Does an instruction of the check's block come after the check?
    pub fn is_after_check(&self, inst: Inst, start: Inst) -> bool {
        self.facts.place(inst) >= self.facts.place(start) && !self.specialisation.check.is_needed_by_check(inst)
    }

    /// The instructions that gain.
    fn find_gaining(&self) -> Vec<Inst> {
        self.specialisation.outcomes.keys().filter(|&inst| self.gains(inst)).collect()
    }

    /// Does the instruction become cheaper, or read fewer values that are not constant?
    fn gains(&self, inst: Inst) -> bool {
        let Facts { func, values, .. } = self.facts;
        let Some(outcome) = self.specialisation.outcomes.get(inst) else { return false };
        if matches!(outcome, Outcome::Goes(_)) || self.facts.cycles(inst) - self.cycles_left(inst) > ROUNDING {
            return true;
        }
        let kept = self.specialisation.simpler(outcome).map(InstData::uses).unwrap_or_default();
        let mut used = values.used(inst).iter().zip(func.insts[inst].uses());
        used.any(|(&value, reg)| !kept.contains(&reg) && self.specialisation.constant(value).is_none())
    }

    /// Finds the blocks from which control reaches one that gains, and in each the last instruction
    /// that does. False if there are too many.
    fn find_copied_blocks(&mut self, gaining: &[Inst]) -> bool {
        let Facts { func, cfg, .. } = self.facts;
        let Specialisation { dead_blocks, check, .. } = &self.specialisation;
        self.inside.clear();
        self.last_gain.clear();
        let mut stack: Vec<Block> = Vec::new();
        for &inst in gaining {
            let Some(block) = func.inst_block(inst).filter(|&block| !dead_blocks.contains(block)) else { continue };
            let last = self.last_gain.get(block);
            if last.is_none_or(|last| self.facts.place(last) < self.facts.place(inst)) {
                self.last_gain.set(block, inst);
            }
            if block != check.head && self.inside.set(block, ()) {
                stack.push(block);
            }
        }
        while let Some(block) = stack.pop() {
            for &before in cfg.predecessors(block) {
                let is_live = before != check.head && check.is_below(before) && !dead_blocks.contains(before);
                if is_live && self.inside.set(before, ()) {
                    stack.push(before);
                }
            }
            if self.inside.len() > MOST_BLOCKS {
                return false;
            }
        }
        true
    }

    /// The first instruction after the check: the one after the candidate's last, or the first that
    /// gains if that is earlier.
    fn find_start(&self, gaining: &[Inst]) -> Option<Inst> {
        let (layout, check) = (&self.facts.func.layout, &self.specialisation.check);
        let earliest = match check.last {
            Some(last) => layout.next_inst(last),
            None => layout.first_inst(check.head),
        };
        let here = gaining.iter().copied().filter(|&inst| self.facts.func.inst_block(inst) == Some(check.head));
        here.chain(earliest).min_by_key(|&inst| self.facts.place(inst))
    }

    /// Ends of the copy inside blocks from which it does not go on.
    fn find_tails(&self) -> Vec<Tail> {
        let Facts { func, cfg, .. } = self.facts;
        let check = &self.specialisation.check;
        let mut tails = Vec::new();
        for block in core::iter::once(check.head).chain(self.inside.keys()) {
            let goes_on = |edge| self.specialisation.is_open(edge) && self.inside.contains(cfg.target(edge));
            if cfg.out_edges(block).any(goes_on) {
                continue;
            }
            let Some(last) = self.last_gain.get(block) else { continue };
            let mut first = func.layout.next_inst(last);
            let is_elsewhere =
                |&inst: &Inst| check.hoisted.contains(&inst) || (block == check.head && check.is_needed_by_check(inst));
            while let Some(inst) = first.filter(is_elsewhere) {
                first = func.layout.next_inst(inst);
            }
            let is_plain_end = |inst: Inst| matches!(func.insts[inst].opcode.op, Op::Br | Op::Ret | Op::Exit);
            tails.extend(first.filter(|&first| !is_plain_end(first)).map(|first| Tail { block, first }));
        }
        tails
    }

    /// Marks the constants that instructions outside the copy read, which have to be written.
    fn demand_outside_constants(&mut self, opportunity: &Opportunity) {
        let values = &self.facts.values;
        for place in 0..self.specialisation.outcomes.len() {
            let Some(inst) = self.specialisation.outcomes.key(place) else { continue };
            if self.specialisation.is_in_dead_block(inst) || self.is_copied(inst, opportunity) {
                continue;
            }
            values.used(inst).iter().for_each(|&value| self.specialisation.demand(value));
            for &result in values.defined(inst) {
                if let Definition::Guarded { old, .. } = values.definition(result) {
                    self.specialisation.demand(old);
                }
            }
        }
    }

    /// Finds how often copied blocks, in reverse postorder, run where the candidate is zero. A
    /// branch that it decides is taken whenever its block runs; blocks below keep their share of
    /// the block that dominates them.
    fn find_frequencies(&mut self, copied: &[Block]) {
        let Facts { cfg, dominators, .. } = self.facts;
        let head = self.specialisation.check.head;
        self.frequencies.clear();
        self.frequencies.set(head, self.facts.frequency(head));
        for &block in copied {
            let average = self.facts.frequency(block);
            let above = dominators.immediate_dominator(block);
            let known = above.and_then(|above| Some((above, self.frequencies.get(above)?)));
            let frequency = match known {
                Some((above, here)) => {
                    let is_decided = cfg.out_edges(above).any(|edge| !self.specialisation.is_open(edge));
                    let average_above = self.facts.frequency(above);
                    if is_decided && cfg.predecessors(block).iter().all(|&before| before == above) {
                        here
                    } else if average_above > 0.0 {
                        average * (here / average_above)
                    } else {
                        average
                    }
                }
                None => average,
            };
            self.frequencies.set(block, frequency);
        }
    }

    /// Executions of a block that is copied, or of the check's, where the candidate is zero.
    fn frequency(&self, block: Block) -> f64 {
        self.frequencies.get(block).unwrap_or(0.0)
    }

    /// Adds up times, and counts removed memory operations.
    fn add_cycles(&self, it: &mut Opportunity) {
        let (facts, head) = (self.facts, it.head);
        for &block in &it.copied {
            let end = it.tail_of(block);
            let cycles = end.map_or_else(|| facts.block_cycles(block), |first| facts.cycles_before(first));
            it.t_region += self.frequency(block) * cycles;
        }
        it.t_region += facts.frequency(head) * self.head_cycles(it.start, it.tail_of(head));
        // What moves up is no part of the region any more.
        for &inst in &self.specialisation.check.hoisted {
            let Some(block) = facts.func.inst_block(inst).filter(|&block| self.inside.contains(block)) else {
                continue;
            };
            if it.tail_of(block).is_none_or(|end| facts.place(inst) < facts.place(end)) {
                it.t_region -= self.frequency(block) * facts.cycles(inst);
            }
        }
        // Both versions end in a jump to the tails.
        let jump = facts.costs.cycles(&InstData::branch(head));
        it.t_check += it.tails.iter().map(|tail| facts.frequency(tail.block) * jump).sum::<f64>();
        let mut saved = 0.0;
        for inst in self.specialisation.outcomes.keys() {
            let (Some(block), Some(outcome)) = (facts.func.inst_block(inst), self.specialisation.outcomes.get(inst))
            else {
                continue;
            };
            // A dead block did not run either.
            let is_dead = self.specialisation.dead_blocks.contains(block);
            if !is_dead && (block == head || self.inside.contains(block)) {
                let data = &facts.func.insts[inst];
                let is_never = outcome == Outcome::Never;
                let before = if is_never { facts.costs.cycles_without_lanes(data) } else { facts.cycles(inst) };
                it.t_region -= self.frequency(block) * (facts.cycles(inst) - before);
                saved += self.frequency(block) * (before - self.cycles_left(inst));
                let is_memory = OpClass::of(data.opcode).is_memory();
                it.memory_killed += usize::from(is_memory && (is_never || outcome == Outcome::Dead));
            }
        }
        it.t_special = (it.t_region - saved).max(0.0);
    }

    /// Cycles of one execution of what is left of an instruction.
    fn cycles_left(&self, inst: Inst) -> f64 {
        let Facts { func, costs, .. } = self.facts;
        let Some(outcome) = self.specialisation.outcomes.get(inst) else { return self.facts.cycles(inst) };
        match outcome {
            Outcome::Dead | Outcome::Never => 0.0,
            Outcome::Constant(_) => {
                let ty = func.insts[inst].dst().map_or(Type::B32, |dst| func.reg_types[dst]);
                costs.cycles(&InstData::new(Opcode::mov(ty), [], []))
            }
            Outcome::Goes(_) => costs.cycles(&InstData::branch(self.specialisation.check.head)),
            Outcome::Simpler(_) => match self.specialisation.simpler(outcome) {
                Some(data) if copies_itself(data) => 0.0,
                Some(data) => costs.cycles(data),
                None => self.facts.cycles(inst),
            },
        }
    }

    /// Cycles of the instructions after the check in its block, up to the tail.
    fn head_cycles(&self, start: Inst, tail: Option<Inst>) -> f64 {
        let (facts, check) = (self.facts, &self.specialisation.check);
        let (first, last) = (facts.place(start), tail.map_or(u32::MAX, |tail| facts.place(tail)));
        let end = tail.map_or_else(|| facts.block_cycles(check.head), |tail| facts.cycles_before(tail));
        (end - facts.cycles_before(start) - check.needed_cycles(first..last)).max(0.0)
    }

    /// T_check: a comparison for each register that is no predicate, the vote and the branch.
    fn check_cycles(&self, candidate: &Candidate) -> f64 {
        let Facts { func, costs, .. } = self.facts;
        let tests = candidate.regs().into_iter().filter_map(|reg| make_zero_test(func, reg, reg, None));
        let mut cycles: f64 = tests.map(|data| costs.cycles(&data)).sum();
        if !self.is_divergent {
            cycles += costs.cycles(&InstData::new(Opcode::untyped(Op::VoteAll), [], []));
        }
        cycles += costs.cycles(&InstData::new(Opcode::untyped(Op::BrIf), [], []));
        self.facts.frequency(self.specialisation.check.head) * cycles
    }
}

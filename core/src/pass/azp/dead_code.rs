//! Dead code of a region that is specialised for zeros.
//!
//! ```text
//! r2 = 0                  r2 is a constant: x has no reader left
//! x = mul.f32 a, b        dead, and a and b have one reader less
//! y = add.f32 y, x        a ring: only y itself reads it, an iteration later
//! st.global.f32 o[i], c   not dead: it has an effect
//! ```
//!
//! 1. All instructions of dead blocks are dead; constants, closed edges and simplified instructions
//!    read less.
//! 2. A worklist holds values that have lost their last reader. If an instruction's results are all
//!    unread and it has no other effect, it is dead, and what it reads loses a reader.
//! 3. When the list is empty, a value that has lost some reader is suspected to be in a ring:
//!    values that are read only by instructions whose results are in the ring. A ring is dead as a
//!    whole.
//! 4. A value is live where it leaves the region, since its readers there are counted too. A
//!    constant that is read where nothing is copied is written after all
//!    ([`Specialisation::demand`]).
//!
//! Equations 1 to 4 of the paper compute liveness of the region's copy instead. Counting finds the
//! same but for rings over [`LARGEST_RING`], and costs as much as the slices, not as the region.
//!
//! Source: AZP, section 3.3.2, step 4.

use alloc::vec::Vec;
use smallvec::SmallVec;

use super::facts::Facts;
use super::specialisation::{Outcome, Specialisation};
use crate::flow::{Definition, JoinArg, Value, ValueUse};
use crate::graph::Edge;
use crate::ir::{Inst, InstData, Reg};

/// Larger rings of values that nothing else reads are kept.
const LARGEST_RING: usize = 32;
/// Suspicions after which a value is not searched for a ring again.
const MOST_SUSPICIONS: u8 = 4;
/// A value with more readers is part of no ring.
const MOST_READERS: usize = 32;

/// Values to be visited.
#[derive(Default)]
struct Worklist {
    unread: Vec<Value>,
    suspects: Vec<Value>,
}

impl Specialisation<'_> {
    /// Finds the instructions that nothing needs if the values that are assumed to be zero are.
    pub fn find_dead(&mut self) {
        self.readers.clear();
        self.suspicions.clear();
        self.demanded.clear();
        self.removed_joins.clear();
        let mut work = Worklist::default();
        let Facts { func, values, .. } = self.facts;
        let changed = self.outcomes.len();
        for block in self.dead_blocks.keys().collect::<Vec<_>>() {
            for inst in func.block_insts(block) {
                self.steps += 1;
                self.outcomes.set(inst, Outcome::Dead);
                values.used(inst).iter().for_each(|&value| self.lose_reader(&mut work, value));
                self.lose_old(&mut work, inst);
            }
        }
        for place in 0..changed {
            let Some(inst) = self.outcomes.key(place).filter(|&inst| !self.is_in_dead_block(inst)) else { continue };
            let kept = self.uses_left(inst);
            self.lose_uses(&mut work, inst, kept, false);
            if !self.keeps_old(inst) {
                self.lose_old(&mut work, inst);
            }
        }
        for edge in self.closed.keys().collect::<Vec<_>>() {
            self.lose_arguments_along(&mut work, edge);
        }
        loop {
            while let Some(value) = work.unread.pop() {
                self.remove_unread(&mut work, value);
            }
            let Some(suspect) = work.suspects.pop() else { break };
            self.steps += 1;
            if let Some(ring) = self.ring_of(suspect) {
                self.steps += ring.len();
                for &value in &ring {
                    self.readers.set(value, 0);
                }
                work.unread.extend(ring);
            }
        }
    }

    /// Number of readers that a value has left.
    fn readers_left(&self, value: Value) -> u32 {
        self.readers.get(value).unwrap_or_else(|| self.facts.uses.of(value).len() as u32)
    }

    fn lose_reader(&mut self, work: &mut Worklist, value: Value) {
        let left = self.readers_left(value);
        if left == 0 {
            return;
        }
        self.readers.set(value, left - 1);
        let times = self.suspicions.get(value).unwrap_or(0);
        if left == 1 {
            work.unread.push(value);
        } else if times < MOST_SUSPICIONS {
            self.suspicions.set(value, times + 1);
            work.suspects.push(value);
        }
    }

    /// Registers that an instruction with its present outcome still reads.
    fn uses_left(&self, inst: Inst) -> SmallVec<[Reg; 4]> {
        match self.outcomes.get(inst) {
            None => self.facts.func.insts[inst].uses(),
            Some(outcome) => self.simpler(outcome).map(InstData::uses).unwrap_or_default(),
        }
    }

    /// Does an instruction with its present outcome keep what its registers held before, if its
    /// guard does not hold?
    fn keeps_old(&self, inst: Inst) -> bool {
        match self.outcomes.get(inst) {
            None | Some(Outcome::Never) => true,
            Some(outcome) => self.simpler(outcome).is_some_and(|data| data.guard.is_some()),
        }
    }

    /// Counts the readers that go with those uses of an instruction that are in `regs`, or with the
    /// other ones. A register is a use as often as it is there.
    fn lose_uses(&mut self, work: &mut Worklist, inst: Inst, mut regs: SmallVec<[Reg; 4]>, are_lost: bool) {
        let Facts { func, values, .. } = self.facts;
        for (&value, &reg) in values.used(inst).iter().zip(&func.insts[inst].uses()) {
            let place = regs.iter().position(|&other| other == reg);
            if let Some(place) = place {
                regs.swap_remove(place);
            }
            if place.is_some() == are_lost {
                self.lose_reader(work, value);
            }
        }
    }

    /// Counts the readers that go when an instruction keeps no old value.
    fn lose_old(&mut self, work: &mut Worklist, inst: Inst) {
        let values = &self.facts.values;
        for &result in values.defined(inst) {
            if let Definition::Guarded { old, .. } = values.definition(result) {
                self.lose_reader(work, old);
            }
        }
    }

    fn lose_arguments_along(&mut self, work: &mut Worklist, edge: Edge) {
        let Facts { values, uses, cfg, .. } = self.facts;
        for join in values.joins(cfg.target(edge)).filter(|&join| uses.is_read(join)) {
            let args = values.join_args(join).iter().filter(|arg| arg.edge.expand() == Some(edge));
            args.for_each(|arg| self.lose_reader(work, arg.value));
        }
    }

    /// Was the edge of a join's argument closed?
    fn is_closed(&self, arg: &JoinArg) -> bool {
        arg.edge.expand().is_some_and(|edge| self.closed.contains(edge))
    }

    /// Removes the definition of an unread value, if it does nothing else.
    fn remove_unread(&mut self, work: &mut Worklist, value: Value) {
        let Facts { values, func, .. } = self.facts;
        self.steps += 1;
        if !self.check.has_value(value) {
            return;
        }
        match values.definition(value) {
            Definition::Entry => {}
            Definition::Join { block } => {
                // A ring may hold a join that was removed before: its arguments lose one reader.
                if !self.dead_blocks.contains(block) && self.removed_joins.set(value, ()) {
                    for arg in values.join_args(value) {
                        if !self.is_closed(arg) {
                            self.lose_reader(work, arg.value);
                        }
                    }
                }
            }
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => {
                let is_needed = has_effect(&func.insts[inst])
                    || self.outcomes.get(inst) == Some(Outcome::Dead)
                    || values.defined(inst).iter().any(|&result| self.readers_left(result) > 0);
                if is_needed {
                    return;
                }
                let (lost, keeps_old) = (self.uses_left(inst), self.keeps_old(inst));
                self.outcomes.set(inst, Outcome::Dead);
                self.lose_uses(work, inst, lost, true);
                if keeps_old {
                    self.lose_old(work, inst);
                }
            }
        }
    }

    /// Values that only read each other, beginning with one that has lost a reader.
    fn ring_of(&self, suspect: Value) -> Option<Vec<Value>> {
        if !self.check.has_value(suspect) || self.readers_left(suspect) == 0 {
            return None;
        }
        let mut ring = alloc::vec![suspect];
        let mut next = 0;
        while next < ring.len() {
            if ring.len() > LARGEST_RING {
                return None;
            }
            self.add_results_of_readers(ring[next], &mut ring)?;
            next += 1;
        }
        Some(ring)
    }

    /// Adds the results of all that still read a value. None if one of these readers is needed
    /// anyway.
    fn add_results_of_readers(&self, value: Value, ring: &mut Vec<Value>) -> Option<()> {
        let Facts { func, values, uses, .. } = self.facts;
        let mut add = |result: Value| {
            if !ring.contains(&result) {
                ring.push(result);
            }
        };
        let readers = uses.of(value);
        if readers.len() > MOST_READERS {
            return None;
        }
        for &reader in readers {
            match reader {
                ValueUse::Operand { inst, .. } => {
                    let outcome = self.outcomes.get(inst);
                    if outcome.is_some() && !self.uses_left(inst).contains(&values.reg(value)) {
                        continue;
                    }
                    if !self.check.has_in_region(inst) || has_effect(&func.insts[inst]) {
                        return None;
                    }
                    values.defined(inst).iter().for_each(|&result| add(result));
                }
                ValueUse::Old(result) => {
                    let inst = values.definition(result).inst()?;
                    if self.keeps_old(inst) {
                        if !self.check.has_in_region(inst) {
                            return None;
                        }
                        add(result);
                    }
                }
                ValueUse::Argument(join) => {
                    let Definition::Join { block } = values.definition(join) else { return None };
                    let mut args = values.join_args(join).iter();
                    let takes = args.any(|arg| arg.value == value && !self.is_closed(arg));
                    if takes && !self.dead_blocks.contains(block) {
                        if !self.check.is_below(block) {
                            return None;
                        }
                        add(join);
                    }
                }
            }
        }
        Some(())
    }

    /// Marks a constant as written after all, because an instruction that is not copied reads it.
    pub fn demand(&mut self, value: Value) {
        let Facts { values, .. } = self.facts;
        let mut stack = alloc::vec![value];
        while let Some(value) = stack.pop() {
            let Some(bits) = self.constant(value).filter(|_| self.demanded.set(value, ())) else { continue };
            match values.definition(value) {
                Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => {
                    if self.check.has_in_region(inst) && self.outcomes.get(inst) == Some(Outcome::Dead) {
                        self.outcomes.set(inst, Outcome::Constant(bits));
                    }
                }
                Definition::Join { .. } => {
                    let args = values.join_args(value).iter();
                    let open = args.filter(|arg| arg.edge.expand().is_some_and(|edge| self.is_open(edge)));
                    stack.extend(open.map(|arg| arg.value));
                }
                Definition::Entry => {}
            }
        }
    }
}

/// Does the instruction do more than write registers? Lanes that passed the check before may wait
/// for the members of a mask.
fn has_effect(data: &InstData) -> bool {
    data.opcode.has_effect() || data.may_wait()
}

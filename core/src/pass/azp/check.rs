//! Position of a candidate's check, and the region of code that the check dominates.
//!
//! ```text
//! w = work.f32 60, a             n = ld.global.f32 x[i]
//! n = ld.global.f32 x[i]         s = max.f32 n, 0.0
//! s = max.f32 n, 0.0      ──▶    check of s, which needs s and n
//! r = mul.f32 w, s               w = work.f32 60, a ; r = mul.f32 w, s
//! ```
//!
//! The region is every block below the check's block, and of that block what follows the check; an
//! instruction that the check does not need may follow it although it came before. A hoisted
//! instruction is not in it. The region ends where control leaves the innermost loop around the
//! check: lanes that leave a loop in different iterations wait for each other after it, and the
//! checks of their iterations may have come out differently, so with two versions of the code after
//! the loop they would not meet there. A branch before the check never rejoins inside the region,
//! since every path into the region passes the check.
//!
//! Cost: constant for each query; the needed instructions, at most [`MOST_NEEDED`], are found at
//! the first one.
//!
//! Source: AZP, section 3.3.2, steps 1 and 2.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::ops::Range;
use cranelift_entity::{EntityRef, SparseSet};

use super::facts::Facts;
use super::hoisting::HoistedPlace;
use crate::flow::{Definition, Value};
use crate::ir::{Block, Inst};

/// A check that needs more instructions of its block stays after all of them.
const MOST_NEEDED: usize = 512;

/// Check and region of one candidate after the other.
pub(super) struct Check<'a> {
    facts: &'a Facts<'a>,
    /// Block of the check.
    pub head: Block,
    /// Last instruction of the block that the check needs; None if it needs none of them.
    pub last: Option<Inst>,
    /// Instructions that move up to the check from blocks below.
    pub hoisted: Vec<Inst>,
    /// Instructions of the block that the check needs: first the direct ones, then their
    /// dependences.
    needed: RefCell<SparseSet<Inst>>,
    /// Are dependences in `needed`?
    is_closed: Cell<bool>,
    /// More than [`MOST_NEEDED`]: then all instructions up to the last count as needed.
    are_too_many: Cell<bool>,
    /// Blocks that the estimate has read since the check was placed.
    read: RefCell<SparseSet<Block>>,
}

impl<'a> Check<'a> {
    /// A check that is not placed yet.
    pub fn new(facts: &'a Facts<'a>) -> Check<'a> {
        Check {
            facts,
            head: Block::new(0),
            last: None,
            hoisted: Vec::new(),
            needed: RefCell::new(SparseSet::new()),
            is_closed: Cell::new(false),
            are_too_many: Cell::new(false),
            read: RefCell::new(SparseSet::new()),
        }
    }

    /// Places the check of values that instructions of one block write, in that block or above it.
    /// False if one of the values is overwritten before the last is written.
    pub fn place(&mut self, zeros: &[Value], hoist: Option<&HoistedPlace>) -> bool {
        let Facts { func, values, .. } = self.facts;
        let needed = self.needed.get_mut();
        needed.clear();
        self.read.get_mut().clear();
        self.hoisted.clear();
        self.is_closed.set(false);
        if let Some(hoist) = hoist {
            self.head = hoist.block;
            self.hoisted.extend(&hoist.insts);
            for &inst in &hoist.needs {
                needed.insert(inst);
            }
        } else {
            for writer in zeros.iter().filter_map(|&value| values.definition(value).inst()) {
                self.head = func.inst_block(writer).unwrap_or(self.head);
                needed.insert(writer);
            }
        }
        self.read.get_mut().insert(self.head);
        self.last = needed.values().copied().max_by_key(|&inst| self.facts.place(inst));
        let are_there = |last| zeros.iter().all(|&value| self.facts.is_held_after(last, value));
        hoist.is_some() || zeros.len() == 1 || self.last.is_some_and(are_there)
    }

    /// Is the instruction in the region?
    pub fn has_in_region(&self, inst: Inst) -> bool {
        let Some(block) = self.facts.func.inst_block(inst) else { return false };
        if block != self.head {
            return self.is_below(block) && !self.hoisted.contains(&inst);
        }
        let Some(last) = self.last.map(|last| self.facts.place(last)) else { return true };
        let place = self.facts.place(inst);
        place > last || (place < last && !self.needs(inst))
    }

    /// Does the region define the value?
    pub fn has_value(&self, value: Value) -> bool {
        match self.facts.values.definition(value) {
            Definition::Entry => false,
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => self.has_in_region(inst),
            Definition::Join { block } => self.is_below(block),
        }
    }

    /// Is it a block of the region, other than the check's own?
    pub fn is_below(&self, block: Block) -> bool {
        self.note(block);
        let Facts { dominators, loops, .. } = self.facts;
        dominators.strictly_dominates(self.head, block)
            && loops.innermost(self.head).is_none_or(|around| loops.contains(around, block))
    }

    /// Notes that the estimate reads a block. Queries about the region do it by themselves.
    pub fn note(&self, block: Block) {
        self.read.borrow_mut().insert(block);
    }

    /// Blocks that the estimate has read.
    pub fn blocks_read(&self) -> Vec<Block> {
        self.read.borrow().values().copied().collect()
    }

    /// Is it an instruction of the check's block that stays before the check?
    pub fn is_needed_by_check(&self, inst: Inst) -> bool {
        let is_early = self.last.is_some_and(|last| self.facts.place(inst) <= self.facts.place(last));
        is_early && self.needs(inst)
    }

    /// Cycles of the instructions that the check needs, of a range of its block.
    pub fn needed_cycles(&self, places: Range<u32>) -> f64 {
        if self.last.is_none_or(|last| self.facts.place(last) < places.start) {
            return 0.0;
        }
        self.ensure_closed();
        let needed = self.needed.borrow();
        let needed = needed.values().filter(|&&inst| places.contains(&self.facts.place(inst)));
        needed.map(|&inst| self.facts.cycles(inst)).sum()
    }

    /// Does the check need an instruction of its block?
    fn needs(&self, inst: Inst) -> bool {
        self.ensure_closed();
        self.are_too_many.get() || self.needed.borrow().contains_key(inst)
    }

    /// Adds the dependences to `needed`, if they are not there yet.
    fn ensure_closed(&self) {
        if self.is_closed.get() {
            return;
        }
        let mut needed = self.needed.borrow_mut();
        let mut stack = needed.values().copied().collect::<Vec<Inst>>();
        while let Some(inst) = stack.pop().filter(|_| needed.len() <= MOST_NEEDED) {
            for &before in self.facts.dependences.predecessors(inst) {
                if needed.insert(before).is_none() {
                    stack.push(before);
                }
            }
        }
        self.is_closed.set(true);
        self.are_too_many.set(needed.len() > MOST_NEEDED);
    }
}

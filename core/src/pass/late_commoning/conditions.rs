//! The seven conditions under which two instructions are one, by their numbers on the page.
//!
//! | | between two blocks | within one |
//! |---|---|---|
//! | C1 | the blocks differ | – |
//! | C2 | the first block dominates the second | the first stands earlier |
//! | C3 | nothing on the way keeps the second from standing at the first's place | the same |
//! | C4 | both stand under no guard, or under one value of one guard | the same |
//! | C5 | there is an operand | the same |
//! | C6 | results stand opposite results, and operands opposite operands | the same |
//! | C7 | opposite operands are of one kind, type and value, their modifiers too | the same |
//!
//! The page asks C3 between blocks only, where two shared loads around a store of one block would
//! then be one; here it is asked always. Values are compared by their numbers, which stand for the
//! page's representatives and chain slots.
//!
//! Source: ptxas page, Structural Equivalence Predicate.

use crate::graph::Dominators;
use crate::ir::{Block, Function, Inst};

use crate::pass::gvn_cse::eligibility::Class;
use crate::pass::gvn_cse::expressions::Number;
use crate::pass::gvn_cse::numbers::ValueNumbers;

/// A condition that does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    /// The first does not come first on every way.
    C2,
    /// Memory or the active lanes may have changed in between.
    C3,
    /// Guards differ.
    C4,
}

impl Broken {
    /// The page's name, and what it means here.
    pub fn explain(self) -> (&'static str, &'static str) {
        match self {
            Broken::C2 => ("C2", "the other one does not run before it on every path"),
            Broken::C3 => ("C3", "its operands, or the active lanes, may have changed in between"),
            Broken::C4 => ("C4", "the other one is under another guard"),
        }
    }
}

/// Inputs of the conditions.
pub(super) struct Conditions<'a> {
    pub func: &'a Function,
    pub numbers: &'a ValueNumbers,
    pub dominators: &'a Dominators,
}

impl Conditions<'_> {
    /// Is `second` what `first` is, in different blocks or in one? Both have one number of work, so
    /// that C5 to C7 hold. The first may have lost its guard since its numbers were found.
    pub fn hold(&self, first: (Block, Inst), second: (Block, Inst)) -> Result<(), Broken> {
        debug_assert!(self.has_operands(second.1) && self.operands_match(first.1, second.1));
        if self.are_in_different_blocks(first.0, second.0) && !self.dominates(first.0, second.0) {
            Err(Broken::C2)
        } else if !self.predicates_agree(first.1, second.1) {
            Err(Broken::C4)
        } else if self.has_dependency_between(first.1, second.1) {
            Err(Broken::C3)
        } else {
            Ok(())
        }
    }

    /// C1.
    fn are_in_different_blocks(&self, first: Block, second: Block) -> bool {
        first != second
    }

    /// C2.
    fn dominates(&self, first: Block, second: Block) -> bool {
        self.dominators.dominates(first, second)
    }

    /// Not C3: may memory or the active lanes have changed in between, so that the second one gives something else?
    fn has_dependency_between(&self, first: Inst, second: Inst) -> bool {
        let content = |inst| self.numbers.of(inst).map(|numbered| numbered.content);
        content(first) != content(second)
    }

    fn has_call(&self, block: Block) -> bool {
        self.func.block_insts(block).any(|inst| self.func.insts[inst].opcode.op.is_call())
    }

    /// C4.
    pub fn predicates_agree(&self, first: Inst, second: Inst) -> bool {
        self.numbers.of(first).zip(self.numbers.of(second)).is_some_and(|(first, second)| first.guard == second.guard)
    }

    /// Could the first do the work of both of a block, if it had no guard? One stands under the
    /// opposite of the other's, so that each lane does the work once, and nothing in between
    /// changes what it gives. What reads memory may fail, so no lane may have ended in between
    /// either, as in a call.
    pub fn are_complementary(&self, first: (Block, Inst), second: (Block, Inst)) -> bool {
        let numbers = self.numbers.of(first.1).zip(self.numbers.of(second.1));
        let may_run_in_all_lanes = match Class::of(&self.func.insts[second.1]) {
            Class::Pure | Class::Transcendental => true,
            Class::Load => !self.has_dependency_between(first.1, second.1) && !self.has_call(first.0),
            Class::Convergent | Class::Shuffle | Class::Atomic | Class::Never => false,
        };
        first.0 == second.0
            && may_run_in_all_lanes
            && numbers.is_some_and(|(first, second)| first.has_opposite_guard(&second))
    }

    /// Had the instruction a guard that it has lost since?
    pub fn has_lost_guard(&self, inst: Inst) -> bool {
        self.func.insts[inst].guard.is_none() && self.numbers.of(inst).is_some_and(|numbered| numbered.guard.is_some())
    }

    /// C5.
    fn has_operands(&self, inst: Inst) -> bool {
        let data = &self.func.insts[inst];
        data.dsts.len() + data.args.len() > 0
    }

    /// C6 and C7: what two instructions of one number of work agree in, whose key holds all of it.
    fn operands_match(&self, first: Inst, second: Inst) -> bool {
        let (first_data, second_data) = (&self.func.insts[first], &self.func.insts[second]);
        first_data.opcode == second_data.opcode
            && first_data.dsts.len() == second_data.dsts.len()
            && first_data.args.len() == second_data.args.len()
            && self.work(first) == self.work(second)
    }

    fn work(&self, inst: Inst) -> Option<Number> {
        self.numbers.of(inst)?.work.expand()
    }
}

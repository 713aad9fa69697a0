//! The seven conditions under which one instruction repeats another, by their numbers on the page.
//!
//! | | between two blocks | within one |
//! |---|---|---|
//! | C1 | the blocks differ | – |
//! | C2 | the first block dominates the second | the first is earlier |
//! | C3 | nothing in between changes the result of the second | the same |
//! | C4 | both have no guard, or one guard of one value | the same |
//! | C5 | there is an operand | the same |
//! | C6 | both have as many results and as many operands | the same |
//! | C7 | corresponding operands agree in kind, type, value and modifiers | the same |
//!
//! The page tests C3 between blocks only, which would merge two shared loads around a store of one
//! block; here it is always tested. Values are compared by their numbers, in place of the page's
//! representatives and chain slots. A walk down the dominator tree that finds the first instruction
//! by the number of the second one's work ensures all but C3 and C4.
//!
//! Cost: O(1) for each pair.
//!
//! Source: ptxas page, Structural Equivalence Predicate.

use crate::ir::{Block, Function, Inst};

use crate::pass::gvn_cse::eligibility::Class;
use crate::pass::gvn_cse::numbers::ValueNumbers;

/// A condition that does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    /// Memory or the active lanes may have changed in between.
    C3,
    /// Guards differ.
    C4,
}

impl Broken {
    /// The page's name, and its meaning here.
    pub fn explain(self) -> (&'static str, &'static str) {
        match self {
            Broken::C3 => ("C3", "its operands, or the active lanes, may have changed in between"),
            Broken::C4 => ("C4", "the other one is under another guard"),
        }
    }
}

/// Inputs of the conditions.
pub(super) struct Conditions<'a> {
    pub func: &'a Function,
    pub numbers: &'a ValueNumbers,
}

impl Conditions<'_> {
    /// Tests C3 and C4 for two instructions of one work. The first may have lost its guard since
    /// its numbers were found.
    pub fn hold(&self, first: Inst, second: Inst) -> Result<(), Broken> {
        if !self.predicates_agree(first, second) {
            Err(Broken::C4)
        } else if self.may_differ(first, second) {
            Err(Broken::C3)
        } else {
            Ok(())
        }
    }

    /// Negation of C3: changes of memory or of the active lanes may give the second instruction
    /// another result.
    fn may_differ(&self, first: Inst, second: Inst) -> bool {
        let content = |inst| self.numbers.of(inst).map(|numbered| numbered.content);
        content(first) != content(second)
    }

    /// C4.
    fn predicates_agree(&self, first: Inst, second: Inst) -> bool {
        self.numbers.of(first).zip(self.numbers.of(second)).is_some_and(|(first, second)| first.guard == second.guard)
    }

    /// Could the first do the work of both if it had no guard? Both are in one block under opposite
    /// guards, so each lane does the work once, and nothing in between changes the result. A load
    /// may fail, so no lane may have ended in between either, as in a call.
    pub fn are_complementary(&self, first: (Block, Inst), second: (Block, Inst), has_call: bool) -> bool {
        let numbers = self.numbers.of(first.1).zip(self.numbers.of(second.1));
        let has_opposite_guards = numbers.is_some_and(|(first, second)| first.has_opposite_guard(&second));
        first.0 == second.0
            && has_opposite_guards
            && match Class::of(&self.func.insts[second.1]) {
                Class::Pure | Class::Transcendental => true,
                Class::Load => !has_call && !self.may_differ(first.1, second.1),
                Class::Convergent | Class::Shuffle | Class::Atomic | Class::Never => false,
            }
    }

    /// True if the instruction had a guard and has lost it since.
    pub fn has_lost_guard(&self, inst: Inst) -> bool {
        self.func.insts[inst].guard.is_none() && self.numbers.of(inst).is_some_and(|numbered| numbered.guard.is_some())
    }
}

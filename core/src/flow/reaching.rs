//! Reaching definitions: which writes a use may see.
//!
//! ```text
//! a: r = 1; br p, b, c    b: @q r = 2; br c    c: x = r      at x = r reach: r = 1 and @q r = 2
//! ```
//!
//! A definition reaches a use when some path from one to the other has no unguarded definition of the register in
//! between. What a use sees is one [value](super::Values); the definitions that reach it are the ones from which
//! joins and guarded definitions build that value. So nothing is stored but the values, which are near-linear in the
//! program, and a question is answered by walking back over joins and old values: time in their number, each met once.

use alloc::vec;
use alloc::vec::Vec;

use super::values::{Definition, Value, Values};
use crate::compact_sort::CompactSort;
use crate::ir::Inst;

/// Something that a use may see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReachingDefinition {
    /// Value of the register on entry: an argument, or nothing assigned.
    Entry,
    /// A write, guarded or not.
    Inst {
        /// The instruction.
        inst: Inst,
        /// Which of its destinations.
        index: u32,
    },
}

/// Reaching definitions, answered from value names.
#[derive(Clone, Copy, Debug)]
pub struct ReachingDefinitions<'a> {
    values: &'a Values,
}

impl<'a> ReachingDefinitions<'a> {
    /// Answers from these names.
    pub fn new(values: &'a Values) -> ReachingDefinitions<'a> {
        ReachingDefinitions { values }
    }

    /// The definitions behind a value, rising, each once.
    pub fn of(self, value: Value) -> Vec<ReachingDefinition> {
        let mut reaching = Vec::new();
        let mut seen = vec![value];
        let mut stack = vec![value];
        // Chains are short where they are not long joins: a sorted list of what was seen beats a table of all values.
        let mut visit = |value: Value, stack: &mut Vec<Value>| {
            if let Err(place) = seen.binary_search(&value) {
                seen.insert(place, value);
                stack.push(value);
            }
        };
        while let Some(value) = stack.pop() {
            match self.values.definition(value) {
                Definition::Entry => reaching.push(ReachingDefinition::Entry),
                Definition::Inst { inst, index } => reaching.push(ReachingDefinition::Inst { inst, index }),
                Definition::Guarded { inst, index, old } => {
                    reaching.push(ReachingDefinition::Inst { inst, index });
                    visit(old, &mut stack);
                }
                Definition::Join { .. } => {
                    self.values.join_args(value).iter().for_each(|arg| visit(arg.value, &mut stack));
                }
            }
        }
        reaching.compact_sort();
        reaching.dedup();
        reaching
    }

    /// The definitions that reach the `index`-th use of an instruction, as [`crate::ir::InstData::uses`] counts them.
    pub fn of_use(self, inst: Inst, index: usize) -> Vec<ReachingDefinition> {
        self.values.used(inst).get(index).map_or_else(Vec::new, |&value| self.of(value))
    }
}

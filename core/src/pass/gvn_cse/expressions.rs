//! Expressions over numbers, and the table that gives equal expressions one number.
//!
//! ```text
//! a: u32 entry value              number 0
//! 4                               Leaf(4)                          number 1
//! t = add.u32 a, 4                Operation(add.u32, [0, 1])       number 2
//! ld.global.u32 x[t]              Address(x, [4·2])                number 3
//! Operation(ld.global.u32, [3])    number 4: the place, whatever it holds
//!                                 Load(4, memory 7)                number 5: the loaded value
//! ```
//!
//! Everything that can be equal is an expression of its own: an address, a negation, a list, the
//! work of an instruction without its guard, that work in a version of memory or under a guard, a
//! second result.
//!
//! Constant time for each expression.
//!
//! Source: P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, section 3.

use cranelift_entity::entity_impl;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::memory::Version;
use crate::ir::{Block, Opcode, Operand, Type};
use crate::symbolic::Extension;

/// A number of a value or an expression: equal numbers, equal values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::pass) struct Number(u32);
entity_impl!(Number, "n");

/// Numbers of operands or of arguments.
pub(super) type NumberList = SmallVec<[Number; 4]>;

/// A guard by the number of its predicate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::pass) struct NumberedGuard {
    pub predicate: Number,
    pub negated: bool,
}

/// A register in an address, with the extension of its type to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Extended {
    pub number: Number,
    pub bits: u8,
    pub extension: Extension,
}

/// A computation over numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Expression {
    /// A constant, special register or symbol.
    Leaf(Operand),
    /// The negation of a predicate.
    Not(Number),
    /// A brace list.
    List(NumberList),
    /// The address of a memory access.
    Address { base: Option<Extended>, offset: i64, terms: SmallVec<[(Extended, i64); 1]> },
    /// The work of an instruction: opcode and operands. `parts` counts the results of a `mov` that
    /// takes a register apart, and is 1 for all others.
    Operation { opcode: Opcode, parts: usize, operands: NumberList },
    /// The value at a place in a version of memory.
    Load { place: Number, version: Version },
    /// A loaded value of a type, extended to a register of that many bits.
    Widened { content: Number, ty: Type, bits: u32 },
    /// Work among the lanes of a region, after a number of instructions of a block that may lose
    /// lanes.
    Lanes { work: Number, region: u32, losses: Option<(Block, u32)> },
    /// The result under a guard, where the guard holds.
    Guarded { content: Number, guard: NumberedGuard },
    /// A further result of an instruction, by the number of its first one.
    Result { first: Number, index: usize },
    /// The value of a register after a write under a guard.
    Merge { written: Number, old: Number, guard: NumberedGuard },
    /// The values that meet at the start of a block, by incoming edge.
    Join { block: Block, args: NumberList },
}

/// The numbers of all expressions.
#[derive(Default)]
pub(super) struct Expressions {
    numbers: HashMap<Expression, Number>,
    count: u32,
}

impl Expressions {
    /// An empty table with room for that many expressions.
    pub fn with_capacity(count: usize) -> Expressions {
        Expressions { numbers: HashMap::with_capacity(count), count: 0 }
    }

    /// A number that nothing else has.
    pub fn fresh(&mut self) -> Number {
        self.count += 1;
        Number(self.count - 1)
    }

    /// The number of an expression: a fresh one for a new expression.
    pub fn number(&mut self, expression: Expression) -> Number {
        let next = Number(self.count);
        let number = *self.numbers.entry(expression).or_insert(next);
        self.count += u32::from(number == next);
        number
    }

    /// The number of a known expression.
    pub fn get(&self, expression: &Expression) -> Option<Number> {
        self.numbers.get(expression).copied()
    }

    /// Gives an expression a number that other values have already.
    pub fn set(&mut self, expression: Expression, number: Number) {
        self.numbers.insert(expression, number);
    }

    /// One more than the greatest number.
    pub fn count(&self) -> usize {
        self.count as usize
    }
}

//! The result of value numbering: a number for each value, and what makes each instruction equal to
//! others.
//!
//! ```text
//! @p y = ld.global.u32 x[n]      work      ld.global.u32 x[n], the same for all loads of that
//! place
//!                                content   the value in memory there
//!                                value     the content where p holds
//! ```
//!
//! The walk of [`super::numbering`] fills it in. As names of values ([`ValueNames`]) it lets the
//! first value of a number represent all others, so that two addresses are one sum wherever their
//! parts have one number.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::expressions::{Expression, Expressions, Number, NumberedGuard};
use super::memory::{Memory, Version};
use crate::flow::{Definition, Value, ValueNames, Values};
use crate::ir::{Inst, Operand, Reg};

/// The numbers of an instruction.
#[derive(Clone, Copy)]
pub(in crate::pass) struct Numbered {
    /// Its opcode and operands, whatever guard, memory and lanes are; none for copies.
    pub work: PackedOption<Number>,
    /// Its first result if it had no guard.
    pub content: Number,
    pub guard: Option<NumberedGuard>,
    /// Its first result where its guard holds.
    pub(super) value: Number,
    pub(super) is_eligible: bool,
}

impl Numbered {
    /// True if one guard is the negation of the other.
    pub fn has_opposite_guard(&self, other: &Numbered) -> bool {
        let opposite = self.guard.map(|guard| NumberedGuard { negated: !guard.negated, ..guard });
        opposite.is_some() && opposite == other.guard
    }

    /// The number of the first result, if an equal value may replace it.
    pub fn replaceable(&self) -> Option<Number> {
        self.is_eligible.then_some(self.value)
    }
}

/// A store that loads may take the value of.
#[derive(Clone, Copy)]
pub(super) struct Stored {
    /// Equal for stores of one type to one address.
    pub place: Number,
    /// The stored value; none for constants.
    pub value: Option<Value>,
    /// Memory has this value already.
    pub is_repeated: bool,
}

/// The numbers of a function's values and instructions.
pub(in crate::pass) struct ValueNumbers {
    pub(super) names: Names,
    pub(super) of_inst: SecondaryMap<Inst, Option<Numbered>>,
    pub(super) expressions: Expressions,
    pub(super) memory: Option<Memory>,
    pub(super) first_loads: HashMap<Number, FirstLoad>,
    pub(super) stores: BTreeMap<Inst, Stored>,
}

impl ValueNumbers {
    /// The values that were numbered.
    pub fn values(&self) -> &Values {
        &self.names.values
    }

    /// The numbers of an instruction; none if it writes no register or is unreachable.
    pub fn of(&self, inst: Inst) -> Option<Numbered> {
        self.of_inst[inst]
    }

    /// One more than the greatest number.
    pub fn count(&self) -> usize {
        self.expressions.count()
    }

    /// The number of a value.
    pub(super) fn of_value(&self, value: Value) -> Option<Number> {
        self.names.of_value[value.index()].expand()
    }

    /// The numbers of an instruction's results, if equal values may replace it.
    pub(super) fn results(&self, inst: Inst) -> Option<SmallVec<[Number; 2]>> {
        let first = self.of(inst)?.replaceable()?;
        let further = |index| self.expressions.get(&Expression::Result { first, index });
        let number = |index| Some(first).filter(|_| index == 0).or_else(|| further(index));
        (0..self.values().defined(inst).len()).map(number).collect()
    }

    /// The constant of a number.
    pub(super) fn constant(&self, number: Number) -> Option<u64> {
        self.names.leaves.get(&number)?.as_const()
    }

    /// A store that loads may take the value of.
    pub(super) fn stored(&self, inst: Inst) -> Option<Stored> {
        self.stores.get(&inst).copied()
    }

    /// The instruction that changed memory between two loads of one place, if one did.
    pub(super) fn change_between(&self, place: Number, earlier: Inst, later: Inst) -> Option<Inst> {
        let memory = self.memory.as_ref()?;
        let first = self.first_loads.get(&place).and_then(|first| first.refined);
        let version = |inst| memory.refined(inst).or(first);
        memory.maker(version(later).filter(|_| version(later) != version(earlier))?)
    }
}

/// Numbers by value, and values by number.
pub(super) struct Names {
    pub values: Rc<Values>,
    pub of_value: Vec<PackedOption<Number>>,
    /// First value of each number.
    pub firsts: Vec<PackedOption<Value>>,
    /// Constants, special registers and symbols by their numbers.
    pub leaves: HashMap<Number, Operand>,
}

impl Names {
    pub fn set(&mut self, value: Value, number: Number) {
        self.of_value[value.index()] = number.into();
        if number.index() >= self.firsts.len() {
            self.firsts.resize(number.index() + 1, None.into());
        }
        let first = &mut self.firsts[number.index()];
        if first.is_none() {
            *first = value.into();
        }
    }
}

impl ValueNames for Names {
    fn definition(&self, value: Value) -> Definition {
        self.values.definition(value)
    }

    fn reg(&self, value: Value) -> Reg {
        self.values.reg(value)
    }

    fn operands(&self, inst: Inst) -> &[Value] {
        self.values.operands(inst)
    }

    fn leaf(&self, value: Value) -> Option<&Operand> {
        self.leaves.get(&self.of_value[value.index()].expand()?)
    }

    fn representative(&self, value: Value) -> Value {
        let number = self.of_value[value.index()].expand();
        number.and_then(|number| self.firsts[number.index()].expand()).unwrap_or(value)
    }
}

/// The first load or forwarded store of a place.
#[derive(Clone, Copy)]
pub(super) struct FirstLoad {
    pub inst: Inst,
    /// The version of memory that it reads or leaves, before refinement.
    pub version: Version,
    pub number: Number,
    /// The refined version, once the number is in the table of expressions with it.
    pub refined: Option<Version>,
}

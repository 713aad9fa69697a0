//! Typed ids. They are never reused and never renumbered: they are what an animation follows from
//! one state to the next.

use cranelift_entity::{EntityRef, SecondaryMap, entity_impl};

/// A basic block of one function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);
entity_impl!(Block, "block");

/// An instruction (terminators included) of one function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inst(u32);
entity_impl!(Inst, "inst");

/// A virtual register of one function. It may be assigned many times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(u32);
entity_impl!(Reg, "reg");

/// A `shared` or `local` array that a function declares.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Array(u32);
entity_impl!(Array, "array");

/// An `input` that a function declares: a source of outside values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Input(u32);
entity_impl!(Input, "input");

/// A `global` or `const` array of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Global(u32);
entity_impl!(Global, "global");

/// A kernel or function of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Func(u32);
entity_impl!(Func, "func");

/// A table with an entry for each of so many ids. Writing behind a table's end makes it longer by what is missing, one
/// entry at a time where ids rise; so this is quicker where most are written.
#[doc(hidden)]
pub fn filled<K: EntityRef, V: Clone + Default>(count: usize) -> SecondaryMap<K, V> {
    let mut table = SecondaryMap::with_capacity(count);
    table.resize(count);
    table
}

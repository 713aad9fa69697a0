//! Which instructions may change the memory that a name reads.

use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::seeds::{Role, Seed};
use crate::alias::{Access, AliasAnalysis, AliasClasses, Effect, Moment, Relation};
use crate::ir::{Block, Function, Inst, Op};
use crate::names::{Expression, LoadKind, Name, NameTable};
use crate::symbolic::{Affine, Atom, Extension};

/// Which instructions kill the values of loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kills {
    /// None: no store meets another access than exactly its own.
    None,
    /// Calls, barriers and atomics.
    Calls,
    /// Writes that the alias analysis cannot exclude.
    #[default]
    Analysis,
    /// Calls, barriers, atomics, and every store that is not exactly the memory.
    All,
}

/// An instruction that changes memory.
pub struct Change {
    /// Its place in its block.
    pub place: u32,
    /// The instruction.
    pub inst: Inst,
    effect: Effect,
}

/// The changes of memory of a function.
pub struct Memory<'a> {
    func: &'a Function,
    alias: AliasAnalysis<'a>,
    classes: &'a AliasClasses,
    kills: Kills,
    /// The names of the memory that each store writes: of all of it first, then of its elements. Empty unless it is a
    /// seed.
    written: SecondaryMap<Inst, Vec<Name>>,
    /// The changes of each block, in the order of the text.
    changes: Vec<Vec<Change>>,
}

impl<'a> Memory<'a> {
    /// The changes of a function's blocks.
    pub fn new(
        func: &'a Function,
        alias: AliasAnalysis<'a>,
        classes: &'a AliasClasses,
        seeds: &[Seed],
        kills: Kills,
    ) -> Memory<'a> {
        let mut written: SecondaryMap<Inst, Vec<Name>> = SecondaryMap::new();
        for seed in seeds.iter().filter(|seed| seed.role == Role::Generator) {
            written[seed.inst] = core::iter::once(seed.name).chain(seed.elements.iter().copied()).collect();
        }
        let mut changes: Vec<Vec<Change>> = Vec::new();
        changes.resize_with(func.blocks.len(), Vec::new);
        for block in func.block_order() {
            for (inst, place) in func.block_insts(block).zip(0..) {
                if !AliasAnalysis::may_have_effect(&func.insts[inst]) {
                    continue;
                }
                let effect = alias.effect(inst);
                let is_change = match &effect {
                    Effect::None => false,
                    Effect::Access(access) | Effect::Ordered(access) => access.writes,
                    Effect::Everything => true,
                };
                if is_change {
                    changes[block.as_u32() as usize].push(Change { place, inst, effect });
                }
            }
        }
        Memory { func, alias, classes, kills, written, changes }
    }

    /// The changes in a block before a place, the last one first.
    pub fn before(&self, block: Block, place: u32) -> impl Iterator<Item = &Change> {
        let changes = &self.changes[block.as_u32() as usize];
        let end = changes.partition_point(|change| change.place < place);
        changes[..end].iter().rev()
    }

    /// May a change give the memory that a load reads another value?
    pub fn may_change(&self, table: &NameTable<'_>, change: &Change, load: Name) -> bool {
        let Expression::Load { kind, address } = table.expression(load) else { return false };
        // A store of just that memory changes it, whatever is taken of others.
        self.written[change.inst].contains(&load) || self.may_write(table, change, kind, *address)
    }

    /// The element that a store leaves in the memory that a load reads, if it writes just that.
    pub fn stored_element(&self, store: Inst, load: Name) -> Option<usize> {
        let is_vector = self.func.insts[store].opcode.vector > 1;
        self.written[store].iter().skip(usize::from(is_vector)).position(|&name| name == load)
    }

    fn may_write(&self, table: &NameTable<'_>, change: &Change, kind: &LoadKind, address: Name) -> bool {
        if kind.is_never_written() {
            return false;
        }
        match (self.kills, &change.effect) {
            (Kills::None, _) | (_, Effect::None) => false,
            (_, Effect::Everything) => true,
            (Kills::Calls, Effect::Ordered(_)) => matches!(self.func.insts[change.inst].opcode.op, Op::Atom | Op::Red),
            (Kills::Calls, Effect::Access(_)) => false,
            (Kills::All, _) => true,
            (Kills::Analysis, _) if self.classes.of(change.inst).is_some_and(|class| class != kind.class) => false,
            (Kills::Analysis, Effect::Access(access) | Effect::Ordered(access)) => {
                let read = self.access(table, kind, address);
                self.alias.relation(access, &read, Moment::Same) != Relation::No
            }
        }
    }

    /// The access that a load of this kind from that address makes.
    fn access(&self, table: &NameTable<'_>, kind: &LoadKind, address: Name) -> Access {
        let bytes = kind.opcode.ty.bytes() * u32::from(kind.opcode.vector);
        self.alias.load_from(kind.opcode.space, sum_of_values(table, address), bytes)
    }
}

/// A sum of names that are values, as a sum of values.
fn sum_of_values(table: &NameTable<'_>, name: Name) -> Option<Affine> {
    let sum = match table.expression(name) {
        Expression::Sum { sum, width: 64 } => sum.clone(),
        Expression::Value(_) => Affine::atom(Atom::Value(name, Extension::Zero)),
        Expression::Constant { number, .. } => return Some(Affine::constant(*number as i64)),
        _ => return None,
    };
    let mut result = Affine::constant(sum.offset());
    for &(atom, coefficient) in sum.terms() {
        let atom = match atom {
            Atom::Value(term, extension) => Atom::Value(table.as_value(term)?, extension),
            Atom::Symbol(symbol) => Atom::Symbol(symbol),
            Atom::Special(special) => Atom::Special(special),
            Atom::Rounds(..) => return None,
        };
        result.add(&Affine::atom(atom), coefficient)?;
    }
    Some(result)
}

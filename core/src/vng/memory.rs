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
    /// The name of the memory that each store writes, if it is a seed.
    written: SecondaryMap<Inst, Option<Name>>,
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
        let mut written = SecondaryMap::new();
        seeds.iter().filter(|seed| seed.role == Role::Generator).for_each(|seed| written[seed.inst] = Some(seed.name));
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

    /// May a change give the memory that a name reads, at any level, another value?
    pub fn may_change(&self, table: &NameTable<'_>, change: &Change, name: Name) -> bool {
        match table.expression(name) {
            // A store of just that memory changes it, whatever is taken of others.
            Expression::Load { .. } if self.written[change.inst] == Some(name) => true,
            Expression::Load { kind, address } => {
                self.may_write(table, change, kind, *address) || self.may_change(table, change, *address)
            }
            Expression::Sum { sum, .. } => sum.terms().iter().any(|(atom, _)| match atom {
                Atom::Value(term, _) => self.may_change(table, change, *term),
                _ => false,
            }),
            Expression::Operation { args, .. } => args.iter().any(|&arg| self.may_change(table, change, arg)),
            Expression::Not(inner) => self.may_change(table, change, *inner),
            Expression::Constant { .. } | Expression::Special(_) | Expression::Value(_) => false,
        }
    }

    /// May a change give the address that a name reads from another value?
    pub fn may_change_address(&self, table: &NameTable<'_>, change: &Change, name: Name) -> bool {
        matches!(table.expression(name), Expression::Load { address, .. } if self.may_change(table, change, *address))
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

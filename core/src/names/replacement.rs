//! Replacement of atoms: a name at one point becomes the name of the same value at a point before it.

use smallvec::SmallVec;

use super::{Args, Expression, MemoryVersion, Name, NameTable};
use crate::flow::{Definition, Value};
use crate::ir::{Inst, Operand};
use crate::symbolic::{Affine, Atom, Extension};

/// The part of a name that is replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replaced {
    /// A value.
    Value(Value),
    /// A name inside the name.
    Name(Name),
}

/// One replacement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replacement {
    /// The part.
    pub part: Replaced,
    /// Name or value in its place.
    pub by: Replaced,
}

/// Gives the version of a load's memory at the point where a name continues; None at a limit.
pub type VersionOf<'v> = dyn FnMut(&NameTable<'_>, Name) -> Option<MemoryVersion> + 'v;

/// Replacements that are made at once.
struct AtomSubstitution<'s, 'v> {
    parts: &'s [Replacement],
    /// Memory has this version where its address is another one than before.
    version: &'s mut VersionOf<'v>,
}

impl AtomSubstitution<'_, '_> {
    fn find(&self, part: Replaced) -> Option<Replaced> {
        self.parts.iter().find(|replacement| replacement.part == part).map(|replacement| replacement.by)
    }

    /// Does one of the replaced parts occur in a name?
    fn occurs_in(&self, table: &NameTable<'_>, name: Name) -> bool {
        self.parts.iter().any(|replacement| match replacement.part {
            Replaced::Value(value) => table.values_in(name).contains(&value),
            Replaced::Name(memory) => table.memories_in(name).contains(&memory),
        })
    }
}

impl NameTable<'_> {
    /// A name before the load of one of its atoms: inside its address is the memory that was loaded. None where
    /// there is none.
    pub fn before_load(&mut self, name: Name, loaded: Value, version: &mut VersionOf<'_>) -> Option<Name> {
        let Definition::Inst { inst, index } = self.values.definition(loaded) else { return None };
        let Expression::Load { .. } = self.expression(name) else { return None };
        let load = match self.func.insts[inst].opcode.vector {
            1 => self.of_access(inst)?,
            _ => *self.of_elements(inst)?.get(index as usize)?,
        };
        let at = version(self, load)?;
        let by = Replaced::Name(self.memory(load, at));
        self.replace(name, &[Replacement { part: Replaced::Value(loaded), by }], version)
    }

    /// A name before a store to memory that its address reads: the elements that are stored take the memory's place.
    pub fn before_store(
        &mut self,
        name: Name,
        store: Inst,
        stored: &[(Name, usize)],
        version: &mut VersionOf<'_>,
    ) -> Option<Name> {
        let parts: Option<SmallVec<[Replacement; 2]>> = stored
            .iter()
            .map(|&(memory, element)| {
                Some(Replacement { part: Replaced::Name(memory), by: self.stored(store, element)? })
            })
            .collect();
        self.replace(name, &parts?, version)
    }

    /// The value of an element that a store writes; None for a part of a register.
    fn stored(&mut self, store: Inst, element: usize) -> Option<Replaced> {
        let data = &self.func.insts[store];
        let (address, stored) = data.args.split_first()?;
        let elements = if let Operand::List(elements) = stored.first()? { elements.as_slice() } else { stored };
        let operand = elements.get(element)?;
        let mut before = 0;
        let read_before = core::iter::once(address).chain(&elements[..element]);
        read_before.for_each(|operand| operand.for_each_reg(&mut |_| before += 1));
        let value = self.values.operands(store).get(before).copied();
        let width = data.opcode.ty.bits();
        match operand {
            Operand::Reg(reg) if self.func.reg_types[*reg].bits() != width => None,
            Operand::Reg(_) => value.map(Replaced::Value),
            _ => self.operand_name(operand, value, width, self.limits.depth).map(Replaced::Name),
        }
    }

    /// A name with parts of it replaced; None where that has no name.
    pub fn replace(&mut self, name: Name, parts: &[Replacement], version: &mut VersionOf<'_>) -> Option<Name> {
        self.replace_within(name, &mut AtomSubstitution { parts, version }, self.limits.depth)
    }

    fn replace_within(&mut self, name: Name, substitution: &mut AtomSubstitution<'_, '_>, depth: u32) -> Option<Name> {
        if let Some(by) = substitution.find(Replaced::Name(name)) {
            return Some(self.replaced_by(by, depth));
        }
        if !substitution.occurs_in(self, name) {
            return Some(name);
        }
        match self.expression(name).clone() {
            Expression::Constant { .. } | Expression::Special(_) => Some(name),
            Expression::Value(value) => Some(match substitution.find(Replaced::Value(value)) {
                Some(by) => self.replaced_by(by, depth),
                None => name,
            }),
            Expression::Not(inner) => {
                let inner = self.replace_within(inner, substitution, depth)?;
                Some(self.negation(inner))
            }
            Expression::Load { kind, address } => {
                let address = self.replace_within(address, substitution, depth)?;
                self.load(kind, address)
            }
            Expression::Memory { load, .. } => {
                let moved = self.replace_within(load, substitution, depth)?;
                if moved == load {
                    return Some(name);
                }
                let version = (substitution.version)(self, moved)?;
                Some(self.memory(moved, version))
            }
            Expression::Operation { opcode, width, args } => {
                let depth = depth.checked_sub(1)?;
                let args: Option<Args> =
                    args.iter().map(|&arg| self.replace_within(arg, substitution, depth)).collect();
                let name = self.operation(opcode, width, args?);
                (self.names[name].depth <= depth + 1).then_some(name)
            }
            Expression::Sum { sum, width } => {
                let mut result = sum.clone();
                for &(atom, coefficient) in sum.terms() {
                    let Atom::Value(term, extension) = atom else { continue };
                    if substitution.occurs_in(self, term) {
                        result.add(&Affine::atom(atom), coefficient.wrapping_neg())?;
                        let part = self.replaced_term(term, extension, width, substitution, depth)?;
                        result.add(&part, coefficient)?;
                    }
                }
                Some(self.sum(result, width))
            }
        }
    }

    /// The sum that takes the place of a term of a sum.
    fn replaced_term(
        &mut self,
        term: Name,
        extension: Extension,
        width: u32,
        substitution: &mut AtomSubstitution<'_, '_>,
        depth: u32,
    ) -> Option<Affine<Name>> {
        let by_value = |part: Replaced| match substitution.find(part)? {
            Replaced::Value(value) => Some(value),
            Replaced::Name(_) => None,
        };
        let value = self
            .as_value(term)
            .and_then(|value| by_value(Replaced::Value(value)))
            .or_else(|| by_value(Replaced::Name(term)));
        match value {
            Some(value) => {
                let sum = self.sums.modulo(width).extended(value, extension);
                self.sum_of_names(&sum, width, depth)
            }
            None => {
                let name = self.replace_within(term, substitution, depth)?;
                Some(self.as_sum(name, extension, width))
            }
        }
    }

    fn replaced_by(&mut self, by: Replaced, depth: u32) -> Name {
        match by {
            Replaced::Name(name) => name,
            Replaced::Value(value) => self.of_value_within(value, depth),
        }
    }
}

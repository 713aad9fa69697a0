//! Replacement of atoms: a name at one point becomes the name of the same value at a point before it.

use super::{Args, Expression, Name, NameTable};
use crate::flow::{Definition, Value};
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

impl NameTable<'_> {
    /// A name before the load of one of its atoms: inside its address stands the memory that was loaded. None where
    /// there is none.
    pub fn before_load(&mut self, name: Name, loaded: Value) -> Option<Name> {
        let Definition::Inst { inst, index: 0 } = self.values.definition(loaded) else { return None };
        let is_plain = self.func.insts[inst].opcode.vector == 1;
        let Expression::Load { .. } = self.expression(name) else { return None };
        let memory = if is_plain { self.of_access(inst)? } else { return None };
        self.replace(name, &[Replacement { part: Replaced::Value(loaded), by: Replaced::Name(memory) }])
    }

    /// A name with parts of it replaced; None where that has no name.
    pub fn replace(&mut self, name: Name, replacements: &[Replacement]) -> Option<Name> {
        self.replace_within(name, replacements, self.limits.depth)
    }

    fn replace_within(&mut self, name: Name, replacements: &[Replacement], depth: u32) -> Option<Name> {
        let find = |part: Replaced| replacements.iter().find(|replacement| replacement.part == part);
        if let Some(replacement) = find(Replaced::Name(name)) {
            return Some(self.replaced_by(replacement.by, depth));
        }
        match self.expression(name).clone() {
            Expression::Constant { .. } | Expression::Special(_) => Some(name),
            Expression::Value(value) => Some(match find(Replaced::Value(value)) {
                Some(replacement) => self.replaced_by(replacement.by, depth),
                None => name,
            }),
            Expression::Not(inner) => {
                let inner = self.replace_within(inner, replacements, depth)?;
                Some(self.negation(inner))
            }
            Expression::Load { kind, address } => {
                let address = self.replace_within(address, replacements, depth)?;
                self.load(kind, address)
            }
            Expression::Operation { opcode, width, args } => {
                let depth = depth.checked_sub(1)?;
                let args: Option<Args> =
                    args.iter().map(|&arg| self.replace_within(arg, replacements, depth)).collect();
                let name = self.operation(opcode, width, args?);
                (self.names[name].depth <= depth + 1).then_some(name)
            }
            Expression::Sum { sum, width } => {
                let mut result = Affine::constant(sum.offset());
                for &(atom, coefficient) in sum.terms() {
                    let part = match atom {
                        Atom::Value(term, extension) => {
                            self.replaced_term(term, extension, width, replacements, depth)?
                        }
                        other => Affine::atom(other),
                    };
                    result.add(&part, coefficient)?;
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
        replacements: &[Replacement],
        depth: u32,
    ) -> Option<Affine<Name>> {
        let by_value = |part: Replaced| {
            let replacement = replacements.iter().find(|replacement| replacement.part == part)?;
            if let Replaced::Value(value) = replacement.by { Some(value) } else { None }
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
                let name = self.replace_within(term, replacements, depth)?;
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

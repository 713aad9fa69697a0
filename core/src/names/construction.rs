//! Construction of names: values, accesses and operands taken apart into expressions.

use alloc::vec::Vec;

use super::load_kind::LoadKind;
use super::{Args, Expression, Name, NameTable, operations};
use crate::flow::{Definition, Value};
use crate::ir::{Inst, Op, Opcode, Operand, Type};
use crate::symbolic::{Affine, Atom, Extension};

impl NameTable<'_> {
    /// The name of a value.
    pub fn of_value(&mut self, value: Value) -> Name {
        self.of_value_within(value, self.limits.depth)
    }

    /// The name of a load, and of the memory that a store writes; None for accesses that are made anew each time, and
    /// where the address is no sum.
    pub fn of_access(&mut self, inst: Inst) -> Option<Name> {
        let data = &self.func.insts[inst];
        let kind = LoadKind::of_access(self.func, data, self.classes.of(inst)?)?;
        let address = self.address_of(inst)?;
        self.load(kind, address)
    }

    /// The names of the elements of a vector load, and of the memory that a vector store writes; one for others.
    pub fn of_elements(&mut self, inst: Inst) -> Option<Vec<Name>> {
        let data = &self.func.insts[inst];
        let kind = LoadKind::of_access(self.func, data, self.classes.of(inst)?)?;
        let address = self.address_of(inst)?;
        let element = LoadKind { opcode: Opcode { vector: 1, ..kind.opcode }, ..kind };
        let places = (0..i64::from(kind.opcode.vector)).map(|index| index * i64::from(kind.opcode.ty.bytes()));
        places.map(|place| self.moved(address, place).and_then(|address| self.load(element, address))).collect()
    }

    /// The address that an instruction's memory operand is.
    fn address_of(&mut self, inst: Inst) -> Option<Name> {
        let sum = self.sums.address_sum(inst)?;
        self.named_sum(&sum, 64, self.limits.depth)
    }

    /// An address so many bytes after another one.
    fn moved(&mut self, address: Name, bytes: i64) -> Option<Name> {
        let mut sum = self.as_sum(address, Extension::Zero, 64);
        sum.add_constant(bytes);
        Some(self.sum(sum, 64))
    }

    /// The name of a load; None where it would have too many levels.
    pub(super) fn load(&mut self, kind: LoadKind, address: Name) -> Option<Name> {
        let is_within = self.names[address].levels <= self.limits.dereferences;
        is_within.then(|| self.intern(Expression::Load { kind, address }))
    }

    /// The name of a value with operations nested to a depth.
    pub(super) fn of_value_within(&mut self, value: Value, depth: u32) -> Name {
        if let Some(&known) = self.of_values.get(&(value, depth)) {
            return known;
        }
        let name = self.take_apart(value, depth).unwrap_or_else(|| self.intern(Expression::Value(value)));
        self.of_values.insert((value, depth), name);
        name
    }

    fn take_apart(&mut self, value: Value, depth: u32) -> Option<Name> {
        let Definition::Inst { inst, index: 0 } = self.values.definition(value) else { return None };
        let data = &self.func.insts[inst];
        let ty = self.func.reg_types[self.values.reg(value)];
        if data.dsts.len() != 1 || !data.opcode.op.is_pure() && !data.opcode.op.is_texture() {
            return None;
        }
        if !ty.is_float() && ty != Type::Pred {
            let sum = self.sums.modulo(ty.bits()).extended(value, Extension::Zero);
            let is_itself = matches!(sum.terms(), [(Atom::Value(atom, _), 1)] if *atom == value) && sum.offset() == 0;
            if !is_itself && let Some(name) = self.named_sum(&sum, ty.bits(), depth) {
                return Some(name);
            }
        }
        let is_copy = data.opcode.op == Op::Mov && data.args.len() == 1;
        if is_copy && data.opcode.ty.bits() == ty.bits() {
            return self.operand(inst, 0, ty.bits(), depth);
        }
        if is_copy || !operations::is_named(data) {
            return None;
        }
        let depth = depth.checked_sub(1)?;
        let signature = data.opcode.signature();
        let operand = |index| self.operand(inst, index, operations::constant_width(&signature, index), depth);
        let args: Option<Args> = (0..data.args.len()).map(operand).collect();
        Some(self.operation(data.opcode, ty.bits(), args?))
    }

    /// The name of an instruction's operand.
    fn operand(&mut self, inst: Inst, index: usize, width: u32, depth: u32) -> Option<Name> {
        let args = &self.func.insts[inst].args;
        let mut before = 0;
        args[..index].iter().for_each(|arg| arg.for_each_reg(&mut |_| before += 1));
        let value = self.values.operands(inst).get(before).copied();
        self.operand_name(args.get(index)?, value, width, depth)
    }

    /// The name of an operand; `value` is that of its register.
    pub(super) fn operand_name(
        &mut self,
        operand: &Operand,
        value: Option<Value>,
        width: u32,
        depth: u32,
    ) -> Option<Name> {
        match operand {
            Operand::Reg(_) => Some(self.of_value_within(value?, depth)),
            Operand::NotReg(_) => {
                let name = self.of_value_within(value?, depth);
                Some(self.negation(name))
            }
            Operand::Const(number) => Some(self.constant(*number, width)),
            Operand::Special(special) if !special.is_volatile() => Some(self.intern(Expression::Special(*special))),
            Operand::Symbol(symbol) => Some(self.sum(Affine::atom(Atom::Symbol(*symbol)), 64)),
            _ => None,
        }
    }

    /// The name of a sum of values.
    fn named_sum(&mut self, sum: &Affine, width: u32, depth: u32) -> Option<Name> {
        let sum = self.sum_of_names(sum, width, depth)?;
        Some(self.sum(sum, width))
    }

    /// A sum of values as a sum of names.
    pub(super) fn sum_of_names(&mut self, sum: &Affine, width: u32, depth: u32) -> Option<Affine<Name>> {
        let mut result = Affine::constant(sum.offset());
        for &(atom, coefficient) in sum.terms() {
            let part = match atom {
                Atom::Symbol(symbol) => Affine::atom(Atom::Symbol(symbol)),
                Atom::Special(special) if special.is_volatile() => return None,
                Atom::Special(special) => Affine::atom(Atom::Special(special)),
                Atom::Rounds(..) => return None,
                Atom::Value(value, extension) => {
                    let name = self.of_atom(value, depth);
                    self.as_sum(name, extension, width)
                }
            };
            result.add(&part, coefficient)?;
        }
        Some(result)
    }

    /// The name of a value that is no sum of others.
    fn of_atom(&mut self, value: Value, depth: u32) -> Name {
        match depth {
            0 => self.intern(Expression::Value(value)),
            _ => self.of_value_within(value, depth),
        }
    }
}

//! Names: what is computed at a point, as an expression over the values that reach it.
//!
//! ```text
//! ld.global.s32 A[i]                 A[i]           a load, by the address that it reads
//! k = add.s32 i, 1                   i + 1          a sum, modulo 2^32
//! ld.global.s32 A[k]                 A[i + 1]       values in straight code are substituted at once
//! q = div.u32 k, n                   div.u32 i + 1, n
//! y = ld.global.u64 p[0]; ld y[2]    y[2], or *(p)[2] before the load of y
//! ```
//!
//! 1. A value that an unguarded instruction computes is taken apart: integer arithmetic becomes a
//!    sum ([`AffineNames`]), other pure work an operation over names, nested to a depth.
//! 2. Everything else is an atom: joins, parameters, loaded values, results of calls, guarded
//!    writes, and what depends on other lanes or on time.
//! 3. Names are interned: equal names are one number, and equal names at a point are one value.
//! 4. A name is moved backward by replacing atoms: a join by its argument along an edge, a loaded
//!    value by the memory that it was loaded from, that memory by what was stored there.
//!
//! Sums of addresses have 64 bits, under the language's rule for overflow; other integer sums are
//! modulo 2^width, of either sign. Comparisons have one form up to a negation: `gt` and `ge` with
//! their operands exchanged, and of integers `le` and `ne` as the negations of `lt` and `eq`.
//! Operations on constants are folded.
//!
//! Cost: O(size) for each name, hashed. Limits: the depth of operations, the levels of memory, the
//! terms of a sum; a replacement that would exceed one has no name.

mod load_kind;
mod operations;
mod text;

use alloc::vec::Vec;

use cranelift_entity::{PrimaryMap, entity_impl};
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::alias::AliasClasses;
use crate::flow::{Definition, Value, Values};
use crate::ir::{Function, Inst, Op, Opcode, Operand, ParamType, Special, Type};
use crate::symbolic::{Affine, AffineNames, Atom, Extension};
pub use load_kind::LoadKind;
pub use text::NameText;

/// A name. Equal names at one point stand for equal values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(u32);
entity_impl!(Name, "name");

/// The expression that a name stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expression {
    /// A number of so many bits.
    Constant { number: u64, width: u32 },
    /// A special register that does not change.
    Special(Special),
    /// A value that is not taken apart.
    Value(Value),
    /// A sum, modulo 2^width.
    Sum { sum: Affine<Name>, width: u32 },
    /// A pure operation.
    Operation { opcode: Opcode, width: u32, args: Args },
    /// The negation of a predicate.
    Not(Name),
    /// The memory at an address of 64 bits.
    Load { kind: LoadKind, address: Name },
}

/// Operands of an operation.
pub type Args = SmallVec<[Name; 3]>;

/// A name's expression and what is asked of it often.
struct NameData {
    expression: Expression,
    /// Values that occur, each once, rising.
    values: SmallVec<[Value; 4]>,
    /// Operations one in the other.
    depth: u32,
    /// Loads one in the other.
    levels: u32,
}

/// Limits of the expressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameLimits {
    /// Operations one in the other.
    pub depth: u32,
    /// Loads inside an address, one in the other.
    pub dereferences: u32,
}

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

/// All names of a function.
pub struct NameTable<'a> {
    func: &'a Function,
    values: &'a Values,
    sums: AffineNames<'a>,
    classes: &'a AliasClasses,
    limits: NameLimits,
    names: PrimaryMap<Name, NameData>,
    numbers: HashMap<Expression, Name>,
    /// Names of values, by depth.
    of_values: HashMap<(Value, u32), Name>,
}

impl<'a> NameTable<'a> {
    /// A table without names.
    pub fn new(
        func: &'a Function,
        values: &'a Values,
        sums: AffineNames<'a>,
        classes: &'a AliasClasses,
        limits: NameLimits,
    ) -> NameTable<'a> {
        NameTable {
            func,
            values,
            sums,
            classes,
            limits,
            names: PrimaryMap::new(),
            numbers: HashMap::new(),
            of_values: HashMap::new(),
        }
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Are there no names?
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The expression of a name.
    pub fn expression(&self, name: Name) -> &Expression {
        &self.names[name].expression
    }

    /// The values that occur in a name, each once, rising.
    pub fn values_in(&self, name: Name) -> &[Value] {
        &self.names[name].values
    }

    /// The number, if a name is one.
    pub fn as_constant(&self, name: Name) -> Option<u64> {
        match self.expression(name) {
            Expression::Constant { number, .. } => Some(*number),
            _ => None,
        }
    }

    /// The value, if a name is one alone.
    pub fn as_value(&self, name: Name) -> Option<Value> {
        match self.expression(name) {
            Expression::Value(value) => Some(*value),
            _ => None,
        }
    }

    /// Is a name a constant or one value alone?
    pub fn is_at_hand(&self, name: Name) -> bool {
        matches!(self.expression(name), Expression::Constant { .. } | Expression::Value(_) | Expression::Special(_))
    }

    /// The name of a predicate or of its negation, whichever is not negated.
    pub fn without_negation(&self, name: Name) -> Name {
        if let Expression::Not(inner) = *self.expression(name) { inner } else { name }
    }

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
    fn load(&mut self, kind: LoadKind, address: Name) -> Option<Name> {
        let is_within = self.names[address].levels <= self.limits.dereferences;
        is_within.then(|| self.intern(Expression::Load { kind, address }))
    }

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

    /// The name of a value with operations nested to a depth.
    fn of_value_within(&mut self, value: Value, depth: u32) -> Name {
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
        match args.get(index)? {
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

    /// A number.
    fn constant(&mut self, number: u64, width: u32) -> Name {
        let number = if width < 64 { number & ((1 << width) - 1) } else { number };
        self.intern(Expression::Constant { number, width })
    }

    /// The name of a sum of values.
    fn named_sum(&mut self, sum: &Affine, width: u32, depth: u32) -> Option<Name> {
        let sum = self.sum_of_names(sum, width, depth)?;
        Some(self.sum(sum, width))
    }

    /// A sum of values as a sum of names.
    fn sum_of_names(&mut self, sum: &Affine, width: u32, depth: u32) -> Option<Affine<Name>> {
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

    /// A name as a term of a sum: of the same width a sum itself, a constant extended, everything else an atom.
    fn as_sum(&self, name: Name, extension: Extension, width: u32) -> Affine<Name> {
        match self.expression(name) {
            Expression::Constant { number, width: own } => Affine::constant(extension.extend(*number, *own)),
            Expression::Sum { sum, width: own } if *own == width => sum.clone(),
            _ if self.width(name) >= width => Affine::atom(Atom::Value(name, Extension::Zero)),
            _ => Affine::atom(Atom::Value(name, extension)),
        }
    }

    /// Is a value a pointer that the function was given?
    fn is_pointer(&self, value: Value) -> bool {
        let param = self.func.param_of(self.values.reg(value));
        self.values.definition(value) == Definition::Entry
            && param.is_some_and(|param| matches!(param.ty, ParamType::Pointer { .. }))
    }

    /// The bits that a name has.
    fn width(&self, name: Name) -> u32 {
        match self.expression(name) {
            Expression::Constant { width, .. } | Expression::Sum { width, .. } => *width,
            Expression::Special(special) => special.ty().bits(),
            Expression::Value(value) => self.func.reg_types[self.values.reg(*value)].bits(),
            Expression::Operation { width, .. } => *width,
            Expression::Not(_) => 1,
            Expression::Load { kind, .. } => kind.width,
        }
    }

    /// The name of a sum, which is a constant or a name alone where it has no more to it.
    fn sum(&mut self, sum: Affine<Name>, width: u32) -> Name {
        let sum = if width < 64 { sum.modulo(width) } else { sum };
        if let Some(constant) = sum.as_constant() {
            return self.constant(constant as u64, width);
        }
        if let ([(atom, 1)], 0) = (sum.terms(), sum.offset()) {
            match *atom {
                Atom::Value(name, _) if self.width(name) == width => return name,
                Atom::Special(special) if special.ty().bits() == width => {
                    return self.intern(Expression::Special(special));
                }
                _ => {}
            }
        }
        self.intern(Expression::Sum { sum, width })
    }

    /// The number of an expression.
    fn intern(&mut self, expression: Expression) -> Name {
        if let Some(&known) = self.numbers.get(&expression) {
            return known;
        }
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        let (mut depth, mut levels) = (0, 0);
        let mut visit = |name: Name| {
            let inner = &self.names[name];
            values.extend_from_slice(&inner.values);
            (depth, levels) = (depth.max(inner.depth), levels.max(inner.levels));
        };
        match &expression {
            Expression::Constant { .. } | Expression::Special(_) => {}
            Expression::Value(value) => values.push(*value),
            Expression::Sum { sum, .. } => sum.terms().iter().for_each(|(atom, _)| {
                if let Atom::Value(name, _) = atom {
                    visit(*name);
                }
            }),
            Expression::Operation { args, .. } => {
                args.iter().for_each(|&arg| visit(arg));
                depth += 1;
            }
            Expression::Not(inner) => visit(*inner),
            Expression::Load { address, .. } => {
                visit(*address);
                levels += 1;
            }
        }
        crate::compact_sort::CompactSort::compact_sort(values.as_mut_slice());
        values.dedup();
        let name = self.names.push(NameData { expression: expression.clone(), values, depth, levels });
        self.numbers.insert(expression, name);
        name
    }
}

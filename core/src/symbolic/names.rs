//! Back-substitution: the sum that a value is.
//!
//! ```text
//! i = mad.lo.s32 a, 4, b       i, extended with its sign     4*a + b   (signed arithmetic does not overflow)
//! j = add.u32 a, 1             j, extended with zeros        j         (nothing says that a is not the largest)
//! ```
//!
//! Substituted are `mov`, `cvta`, `add`, `sub`, `neg`, multiplication by a constant, `shl` by a constant, `mad` with a
//! constant factor, their wide forms, and `cvt` between integers that loses nothing. 64-bit arithmetic is exact modulo
//! 2^64. A narrower result is a sum of its extended operands only if the operation does not overflow. That is proved
//! from the ranges of the atoms, or, for signed 32-bit operations under [`Overflow::Assume`], taken from the language's
//! rule for arithmetic that feeds addresses. Everything else is an atom: joins, guarded definitions, loads.
//!
//! An atom is a value name, so that a sum holds wherever its atoms' definitions dominate; inside a loop all names stand
//! for the same iteration.
//!
//! Bounds: at most [`AffineNames::MAX_STEPS`] definitions are substituted for one answer, to a depth of
//! [`AffineNames::MAX_DEPTH`], and a sum has at most [`Affine::MAX_TERMS`] terms; what lies beyond stays an atom.

use core::cell::{Cell, RefCell};

use hashbrown::HashMap;

use super::affine::{Affine, Atom};
use super::range::{Extension, Range, special_range, value_range};
use crate::flow::{Definition, Value, ValueNames, Values};
use crate::ir::{Flags, Function, Inst, Op, Operand, Reg, Special, Type};

/// May signed 32-bit arithmetic that feeds an address be taken not to overflow?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overflow {
    /// Yes: the rule of the language.
    #[default]
    Assume,
    /// No: only what ranges prove.
    Prove,
}

/// Finds the sums that values of one function are.
#[derive(Clone, Copy)]
pub struct AffineNames<'a> {
    pub(super) func: &'a Function,
    pub(super) values: &'a dyn ValueNames,
    pub(super) overflow: Overflow,
    /// Width of the arithmetic that may wrap around: sums are equal modulo 2 to this power.
    width: u32,
    known: Option<&'a KnownSums>,
}

/// Sums that were asked for, for whoever asks for them again: by value, bits of the register that it is read from, and
/// extension. They hold as long as the definitions that they were found through.
pub type KnownSums = RefCell<HashMap<(Value, u32, Extension), Affine>>;

impl<'a> AffineNames<'a> {
    /// Definitions substituted for one answer.
    pub const MAX_STEPS: u32 = 64;
    /// Definitions substituted one into the other.
    pub const MAX_DEPTH: u32 = 24;

    /// For a function with its value names.
    pub fn new(func: &'a Function, values: &'a Values, overflow: Overflow) -> AffineNames<'a> {
        AffineNames::over(func, values, overflow)
    }

    /// Creates the sums over names that were found in another way.
    pub fn over(func: &'a Function, values: &'a dyn ValueNames, overflow: Overflow) -> AffineNames<'a> {
        AffineNames { func, values, overflow, width: 64, known: None }
    }

    /// Creates the sums modulo 2^width, in which arithmetic of that width may overflow. Sums of narrower registers are
    /// exact, as before. The coefficients are not reduced; see [`Affine::modulo`].
    pub fn modulo(self, width: u32) -> AffineNames<'a> {
        AffineNames { width, known: self.known.filter(|_| width == self.width), ..self }
    }

    /// Reuses sums computed before under the same names.
    pub fn remembering(self, known: &'a KnownSums) -> AffineNames<'a> {
        AffineNames { known: Some(known), ..self }
    }

    /// The sum that a value is when its register's type extends it to 64 bits.
    pub fn of(self, value: Value) -> Affine {
        self.extended(value, Extension::of(self.func.reg_types[self.values.reg(value)]))
    }

    /// The sum that a value is under a given extension.
    pub fn extended(self, value: Value, extension: Extension) -> Affine {
        self.read(value, self.values.reg(value), extension)
    }

    /// The sum of its operands' values that an instruction's only result is, extended from so many bits; none where it
    /// is no sum or may overflow.
    pub(super) fn one_step(self, inst: Inst, bits: u32, extension: Extension) -> Option<Affine> {
        Substitution { names: self, steps: Cell::new(1) }.definition(inst, bits, extension, 0)
    }

    /// The sum that a value is when it is read from a register, under a given extension.
    pub(super) fn read(self, value: Value, reg: Reg, extension: Extension) -> Affine {
        let bits = self.func.reg_types[reg].bits();
        let key = (value, bits, extension);
        if let Some(sum) = self.known.and_then(|known| known.borrow().get(&key).cloned()) {
            return sum;
        }
        let substitution = Substitution { names: self, steps: Cell::new(AffineNames::MAX_STEPS) };
        let sum = substitution.value(value, bits, extension, AffineNames::MAX_DEPTH);
        if let Some(known) = self.known {
            known.borrow_mut().insert(key, sum.clone());
        }
        sum
    }
}

struct Substitution<'a> {
    names: AffineNames<'a>,
    steps: Cell<u32>,
}

impl Substitution<'_> {
    /// The sum that a value is, read from a register of so many bits.
    fn value(&self, value: Value, bits: u32, extension: Extension, depth: u32) -> Affine {
        let values = self.names.values;
        if let Some(sum) = values.leaf(value).and_then(|leaf| self.leaf(leaf, bits, extension)) {
            return sum;
        }
        let value = values.representative(value);
        if depth > 0
            && self.steps.get() > 0
            && let Definition::Inst { inst, index: 0 } = values.definition(value)
        {
            self.steps.set(self.steps.get() - 1);
            if let Some(sum) = self.definition(inst, bits, extension, depth - 1) {
                return sum;
            }
        }
        Affine::atom(self.names.atom(value, bits, extension))
    }

    /// The sum that an instruction's first destination is; none where it is no sum or may overflow.
    fn definition(&self, inst: Inst, bits: u32, extension: Extension, depth: u32) -> Option<Affine> {
        let func = self.names.func;
        let data = &func.insts[inst];
        let (opcode, ty) = (data.opcode, data.opcode.ty);
        let is_number = !ty.is_float() && ty != Type::Pred;
        if opcode.flags.intersects(Flags::SAT | Flags::CC | Flags::HI) || !is_number {
            return None;
        }
        let operand = |index: usize, ty: Type, extension| self.operand(inst, index, ty, extension, depth);
        let product = |ty: Type, extension: Extension| {
            let (left, right) = (operand(0, ty, extension)?, operand(1, ty, extension)?);
            match (left.as_constant(), right.as_constant()) {
                (_, Some(factor)) => Some((left, factor)),
                (Some(factor), _) => Some((right, factor)),
                _ => None,
            }
        };
        let op = opcode.op;
        match op {
            Op::Mov | Op::Cvta if ty.bits() == bits => return operand(0, ty, extension),
            Op::MulWide => {
                // The whole product: nothing overflows.
                let narrow = product(ty, Extension::of(ty))?;
                return self.sum(narrow, None, opcode.wide_type(), bits, extension, true);
            }
            Op::MadWide => {
                let narrow = product(ty, Extension::of(ty))?;
                let wide = opcode.wide_type();
                let addend = operand(2, wide, extension)?;
                return self.sum(narrow, Some((addend, 1)), wide, bits, extension, false);
            }
            Op::Cvt => {
                let from = opcode.src_ty;
                if from.is_float() || from.bits() > ty.bits() || ty.bits() > bits {
                    return None;
                }
                let source = operand(0, from, Extension::of(from))?;
                if bits == 64 && ty.bits() == 64 {
                    return Some(source);
                }
                let range = self.range(&source);
                // The register may be wider than the result, and then extends it by the result's type.
                let result = if ty.bits() < bits { Extension::of(ty) } else { extension };
                let is_kept = ty.bits() == 64 || result.range(ty.bits()).contains(range);
                return is_kept.then_some(source).filter(|_| bits == 64 || extension.range(bits).contains(range));
            }
            _ => {}
        }
        if ty.bits() != bits {
            return None;
        }
        let (part, other) = match op {
            Op::Add => ((operand(0, ty, extension)?, 1), Some((operand(1, ty, extension)?, 1))),
            Op::Sub => ((operand(0, ty, extension)?, 1), Some((operand(1, ty, extension)?, -1))),
            Op::Neg => ((operand(0, ty, extension)?, -1), None),
            Op::Mul => (product(ty, extension)?, None),
            Op::Mad => {
                let product = product(ty, extension)?;
                (product, Some((operand(2, ty, extension)?, 1)))
            }
            Op::Shl => {
                let shifted = operand(0, ty, extension)?;
                let amount = data.args.get(1)?.as_const().filter(|&amount| amount < u64::from(bits.min(63)))?;
                ((shifted, 1 << amount), None)
            }
            _ => return None,
        };
        // A left shift has no type with a sign; what extends its result says how it is meant.
        let ty = if op == Op::Shl && ty == Type::B32 { Type::S32 } else { ty };
        self.sum(part, other, ty, bits, extension, false)
    }

    /// The sum of one or two multiples, if the operation of type `ty` gives it without overflow under that extension.
    /// What range it has is found out only where that decides.
    fn sum(
        &self,
        (part, factor): (Affine, i64),
        other: Option<(Affine, i64)>,
        ty: Type,
        bits: u32,
        extension: Extension,
        is_exact: bool,
    ) -> Option<Affine> {
        if ty.bits() != bits {
            return None;
        }
        let is_assumed = self.names.overflow == Overflow::Assume && ty == Type::S32 && extension == Extension::Sign;
        let is_signed_product = is_exact && Extension::of(ty) == extension;
        if bits < self.names.width && !is_assumed && !is_signed_product {
            let range = self.range(&part).times(factor);
            let all = other.as_ref().map_or(range, |(other, factor)| range.plus(self.range(other).times(*factor)));
            if !extension.range(bits).contains(all) {
                return None;
            }
        }
        let mut sum = if factor == 1 { part } else { part.times(factor) };
        if let Some((other, factor)) = other {
            sum.add(&other, factor)?;
        }
        Some(sum)
    }

    /// An operand as a 64-bit number, when its type is `ty` and `extension` extends it.
    fn operand(&self, inst: Inst, index: usize, ty: Type, extension: Extension, depth: u32) -> Option<Affine> {
        let func = self.names.func;
        match func.insts[inst].args.get(index)? {
            Operand::Reg(reg) => {
                let value = self.names.operand_value(inst, index)?;
                // A register that is wider than the operation gives its low bits only.
                let own = func.reg_types[*reg].bits();
                (own == ty.bits()).then(|| self.value(value, own, extension, depth)).or_else(|| {
                    let whole = self.value(value, own, extension, depth);
                    extension.range(ty.bits()).contains(self.range(&whole)).then_some(whole)
                })
            }
            leaf => self.leaf(leaf, ty.bits(), extension),
        }
    }

    /// An operand that no instruction computes, read as a number of so many bits.
    fn leaf(&self, operand: &Operand, bits: u32, extension: Extension) -> Option<Affine> {
        match operand {
            Operand::Const(constant) => Some(Affine::constant(extension.extend(*constant, bits))),
            // Special registers have 32 bits; PTX's limits keep all but a few below 2^31.
            Operand::Special(special) => {
                is_kept(*special, bits, extension).then(|| Affine::atom(Atom::Special(*special)))
            }
            Operand::Symbol(symbol) => Some(Affine::atom(Atom::Symbol(*symbol))),
            _ => None,
        }
    }

    /// The numbers that a sum may be before it is reduced modulo 2^64.
    fn range(&self, sum: &Affine) -> Range {
        let AffineNames { func, values, .. } = self.names;
        let constant = Range { low: sum.offset().into(), high: sum.offset().into() };
        sum.terms().iter().fold(constant, |range, &(atom, coefficient)| {
            let atom = match atom {
                // Addresses of shared and local memory are small numbers; those of others have 64 bits.
                Atom::Symbol(_) => Extension::Zero.range(64),
                Atom::Special(special) => special_range(special),
                Atom::Value(value, extension) => value_range(func, values, value, extension),
                Atom::Rounds(..) => Extension::Sign.range(64),
            };
            range.plus(atom.times(coefficient))
        })
    }
}

/// Whether a special register is the same number when its low bits are extended.
pub(crate) fn is_kept(special: Special, bits: u32, extension: Extension) -> bool {
    bits > 32 || extension.range(bits).contains(special_range(special))
}

impl AffineNames<'_> {
    /// The atom that a value of so many bits is under an extension. A number that both extensions give has one atom.
    pub(crate) fn atom(self, value: Value, bits: u32, extension: Extension) -> Atom {
        let range = || value_range(self.func, self.values, value, Extension::Zero);
        let is_never_negative = bits == 64 || Extension::Sign.range(bits).contains(range());
        Atom::Value(value, if is_never_negative { Extension::Zero } else { extension })
    }

    /// The value of the operand at a position, if it is a plain register.
    pub(super) fn operand_value(self, inst: Inst, index: usize) -> Option<Value> {
        let data = &self.func.insts[inst];
        data.args.get(index)?.as_reg()?;
        let mut before = 0;
        data.args[..index].iter().for_each(|arg| arg.for_each_reg(&mut |_| before += 1));
        self.values.operands(inst).get(before).copied()
    }
}

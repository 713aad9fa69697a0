//! Operations over names: which instructions are ones, and the one form that equal ones have.

use alloc::vec::Vec;

use super::{Args, Expression, Name, NameTable};
use crate::ir::{ArgKind, Cmp, InstData, Op, Opcode, Signature, Type};
use crate::symbolic::{Affine, Extension};

/// Is an instruction a pure operation that gives one result and does more than copy?
pub(super) fn is_named(data: &InstData) -> bool {
    let is_computed = data.opcode.op.is_pure() || data.opcode.op.is_texture();
    is_computed && data.dsts.len() == 1 && !matches!(data.opcode.op, Op::Mov | Op::Cvta)
}

/// Type of an operand that is a number.
pub(super) fn operand_type(signature: &Signature, index: usize) -> Option<Type> {
    match signature.arg(index) {
        Some(ArgKind::Value(ty) | ArgKind::LowBits(ty)) => Some(ty),
        Some(ArgKind::Predicate) => Some(Type::Pred),
        _ => None,
    }
}

/// Bits of a constant operand.
pub(super) fn constant_width(signature: &Signature, index: usize) -> u32 {
    operand_type(signature, index).map_or(32, Type::bits)
}

impl NameTable<'_> {
    /// The negation of a predicate.
    pub(super) fn negation(&mut self, name: Name) -> Name {
        match *self.expression(name) {
            Expression::Not(inner) => inner,
            Expression::Constant { number, .. } => self.constant(number ^ 1, 1),
            _ => self.intern(Expression::Not(name)),
        }
    }

    /// The name of an operation on operands, whose result is in a register of so many bits.
    pub(super) fn operation(&mut self, opcode: Opcode, width: u32, mut args: Args) -> Name {
        let constants: Option<Vec<u64>> = args.iter().map(|&arg| self.as_constant(arg)).collect();
        if let Some(result) = constants.and_then(|constants| crate::sim::evaluate(opcode, &constants)) {
            return self.constant(result, width);
        }
        match opcode.op {
            Op::Not if opcode.ty == Type::Pred => return self.negation(args[0]),
            Op::Setp if opcode.combine.is_none() && args.len() == 2 => return self.comparison(opcode, args),
            _ => {}
        }
        if let Some(name) = self.linear(opcode, width, &args) {
            return name;
        }
        if opcode.op.is_commutative() && args.len() >= 2 && args[1] < args[0] {
            args.swap(0, 1);
        }
        self.intern(Expression::Operation { opcode, width, args })
    }

    /// The name of a comparison: less, less or equal, or equal, perhaps negated.
    fn comparison(&mut self, opcode: Opcode, args: Args) -> Name {
        let is_integer = !opcode.ty.is_float();
        let (mut cmp, mut args) = (opcode.cmp.unwrap_or(Cmp::Eq), args);
        let is_exchanged = matches!(cmp, Cmp::Gt | Cmp::Ge | Cmp::Hi | Cmp::Hs | Cmp::Gtu | Cmp::Geu);
        if is_exchanged || cmp.swapped() == cmp && args[1] < args[0] {
            cmp = cmp.swapped();
            args.swap(0, 1);
        }
        let is_negated = is_integer && matches!(cmp, Cmp::Le | Cmp::Ls | Cmp::Ne);
        if is_negated {
            // a <= b is not b < a.
            cmp = if cmp == Cmp::Ne { Cmp::Eq } else { cmp.complement().map_or(cmp, Cmp::swapped) };
            if cmp != Cmp::Eq {
                args.swap(0, 1);
            }
        }
        // `lo` is `lt` of numbers without a sign.
        if cmp == Cmp::Lo && !opcode.ty.is_signed() {
            cmp = Cmp::Lt;
        }
        let name = self.intern(Expression::Operation { opcode: Opcode { cmp: Some(cmp), ..opcode }, width: 1, args });
        if is_negated { self.negation(name) } else { name }
    }

    /// The sum that integer arithmetic has become where an operand is constant now.
    fn linear(&mut self, opcode: Opcode, width: u32, args: &Args) -> Option<Name> {
        let is_wide = matches!(opcode.op, Op::MulWide | Op::MadWide);
        let bits = if is_wide { opcode.wide_type().bits() } else { opcode.ty.bits() };
        if opcode.ty.is_float() || bits != width || opcode.flags != Opcode::new(opcode.op, opcode.ty).flags {
            return None;
        }
        // Only factors of a wide product are extended.
        let extension = if is_wide { Extension::of(opcode.ty) } else { Extension::Zero };
        let term = |table: &Self, arg: Name| table.as_sum(arg, extension, width);
        let constant = |table: &Self, arg: Name| {
            let number = table.as_constant(arg)?;
            Some(if is_wide { extension.extend(number, opcode.ty.bits()) } else { number as i64 })
        };
        let product = |table: &Self, left: Name, right: Name| match (constant(table, left), constant(table, right)) {
            (_, Some(factor)) => Some(term(table, left).times(factor)),
            (Some(factor), _) => Some(term(table, right).times(factor)),
            _ => None,
        };
        let sum: Affine<Name> = match opcode.op {
            Op::Add => term(self, args[0]).plus(&term(self, args[1]))?,
            Op::Sub => term(self, args[0]).minus(&term(self, args[1]))?,
            Op::Neg => term(self, args[0]).times(-1),
            Op::Mul | Op::MulWide => product(self, args[0], args[1])?,
            Op::Mad | Op::MadWide => product(self, args[0], args[1])?.plus(&term(self, args[2]))?,
            Op::Shl => {
                let amount = constant(self, args[1]).filter(|amount| (0..i64::from(width.min(63))).contains(amount))?;
                term(self, args[0]).times(1 << amount)
            }
            _ => return None,
        };
        Some(self.sum(sum, width))
    }
}

//! Comparisons of registers with zero: which registers can be tested, the test, and how to
//! recognise one.
//!
//! ```text
//! r: f32         t = setp.eq.f32 r, 0.0
//! r and s        t = setp.eq.f32 r, 0.0 ; u = setp.eq.and.f32 s, 0.0, t
//! p: pred        none: votes and branches read `!p`
//! b: u8          none, since no comparison takes 8 bits
//! ```

use crate::ir::{Cmp, Combine, Function, InstData, Op, Opcode, Operand, Reg, TypeClass};

/// Can a program test a register for zero? A predicate is zero where it is false.
pub(super) fn can_test(func: &Function, reg: Reg) -> bool {
    is_predicate(func, reg) || can_compare(func, reg)
}

/// Is the register a predicate, which votes and branches read as it is or negated?
pub(super) fn is_predicate(func: &Function, reg: Reg) -> bool {
    func.reg_types[reg].class() == TypeClass::Pred
}

/// Is there a comparison of a register with zero?
pub(super) fn can_compare(func: &Function, reg: Reg) -> bool {
    func.reg_types[reg].bits() >= 16 && !is_predicate(func, reg)
}

/// A comparison of a register with zero, by itself or and another predicate. None if its type has
/// no comparison.
pub(super) fn make_zero_test(func: &Function, result: Reg, reg: Reg, and: Option<Reg>) -> Option<InstData> {
    if !can_compare(func, reg) {
        return None;
    }
    let ty = func.reg_types[reg];
    let mut opcode = Opcode::setp(Cmp::Eq, ty);
    let mut args = alloc::vec![Operand::Reg(reg), Operand::Const(0)];
    if let Some(and) = and {
        opcode.combine = Some(Combine::And);
        args.push(Operand::Reg(and));
    }
    Some(InstData::new(opcode, [result], args))
}

/// Is it a comparison of a register with zero, by itself or and another predicate?
pub(super) fn is_zero_test(data: &InstData) -> bool {
    data.opcode.op == Op::Setp
        && data.opcode.cmp == Some(Cmp::Eq)
        && matches!(data.args.as_slice(), [Operand::Reg(_), Operand::Const(0), ..])
        && matches!(data.opcode.combine, None | Some(Combine::And))
}

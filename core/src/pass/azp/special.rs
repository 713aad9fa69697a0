//! Simplifies an instruction of which some operands are known.
//!
//! ```text
//! r0 known to be zero
//! a = mul.f32 r0, x         a constant, zero
//! b = fma.f32 r0, x, y      b = mov.f32 y            x is not read any more
//! c = ld.f32 A[i + r0]      c = ld.f32 A[i]
//! @p d = add.f32 r0, y      @p d = mov.f32 y         with `p` known to be false, nothing
//! br q, n1, n2              br n1                    with `q` known to be true
//! ```
//!
//! Constants take the places of registers where the text lets them stand. Then the instruction becomes as simple as
//! `const-fold` makes it: a product with zero is zero under the fast-math licence, and a fused multiply-add then is its
//! addend, so that the other factor is not read.
//!
//! Source: AZP, section 3.3.2, steps 3 and 4.

use alloc::vec::Vec;

use super::scene::Scene;
use crate::ir::{AddressBase, ArgKind, Cmp, Combine, Function, Inst, InstData, Op, Opcode, Operand, Reg, TypeClass};
use crate::pass::const_fold::simplest;

/// Rest of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Special {
    /// All of it.
    Same,
    /// Its one destination gets these bits, whatever its guard says.
    Constant(u64),
    /// Its guard never holds.
    Never,
    /// It goes to one of its targets.
    Goes(usize),
    /// This.
    Simpler(InstData),
}

/// Rest of `inst`, where `known` gives the bits of a register that it reads, by the number of the use as
/// [`InstData::uses`] counts them.
pub(super) fn special(scene: &Scene<'_>, inst: Inst, known: impl Fn(usize) -> Option<u64>) -> Special {
    let func = scene.func;
    let original = &func.insts[inst];
    let mut data = original.clone();
    let mut next = 0;
    let mut use_number = || {
        next += 1;
        next - 1
    };
    if data.guard.is_some()
        && let Some(bits) = known(use_number())
    {
        let holds = (bits & 1 != 0) != data.guard.is_some_and(|guard| guard.negated);
        if !holds {
            return Special::Never;
        }
        data.guard = None;
    }
    let mut predicates: Vec<(usize, bool)> = Vec::new();
    for place in 0..data.args.len() {
        let kind = original.arg_kind(place);
        match &mut data.args[place] {
            Operand::Reg(_) | Operand::NotReg(_) => {
                let Some(bits) = known(use_number()).filter(|&bits| original.takes_constant(place, bits)) else {
                    continue;
                };
                let is_negated = matches!(data.args[place], Operand::NotReg(_));
                match kind {
                    Some(ArgKind::Value(ty) | ArgKind::LowBits(ty)) => {
                        data.args[place] = Operand::Const(bits & ty.mask());
                    }
                    Some(ArgKind::Predicate) => predicates.push((place, (bits & 1 != 0) != is_negated)),
                    _ => {}
                }
            }
            Operand::Address(address) => {
                if let AddressBase::Reg(_) = address.base {
                    use_number();
                }
                let mut offset = address.offset;
                address.terms.retain(|&mut (reg, scale)| {
                    let Some(bits) = known(use_number()) else { return true };
                    offset = offset.wrapping_add(scale.wrapping_mul(extended(func, reg, bits)));
                    false
                });
                address.offset = offset;
            }
            Operand::List(elements) => {
                let Some(ArgKind::Elements(ty, _)) = kind else {
                    elements.iter().filter(|element| element.as_reg_or_negation().is_some()).for_each(|_| {
                        use_number();
                    });
                    continue;
                };
                for element in elements.iter_mut().filter(|element| element.as_reg_or_negation().is_some()) {
                    if let Some(bits) = known(use_number()) {
                        *element = Operand::Const(bits & ty.mask());
                    }
                }
            }
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) | Operand::Input(_) => {}
        }
    }
    if let Some(target) = way_on(&data, &predicates) {
        return Special::Goes(target);
    }
    if let Some(&(place, value)) = predicates.first() {
        choose(func, &mut data, place, value);
    }
    if data.opcode.is_pure() {
        data = simplest(func, data, scene.fast_math, |opcode, args| scene.evaluate(opcode, args));
    }
    // What does not fit into the places of constants stays a register.
    match (data.opcode.op, data.dsts.as_slice(), data.args.as_slice()) {
        (Op::Mov, [_], [Operand::Const(bits)]) if data.guard.is_none() => Special::Constant(*bits),
        _ if data == *original => Special::Same,
        _ => Special::Simpler(data),
    }
}

/// Target of a branch whose condition is known.
fn way_on(data: &InstData, predicates: &[(usize, bool)]) -> Option<usize> {
    match (data.opcode.op, predicates, data.args.first()) {
        (Op::BrIf, &[(_, holds)], _) => Some(usize::from(!holds)),
        (Op::Switch, _, Some(Operand::Const(bits))) => {
            let last = data.targets().len().checked_sub(1)?;
            Some(usize::try_from(*bits).unwrap_or(last).min(last))
        }
        _ => None,
    }
}

/// A select or a combined comparison whose predicate operand is known.
fn choose(func: &Function, data: &mut InstData, place: usize, value: bool) {
    match (data.opcode.op, data.opcode.combine) {
        (Op::Selp, _) => {
            let chosen = data.args[usize::from(!value)].clone();
            let have = chosen.as_reg().map_or(data.opcode.ty, |reg| func.reg_types[reg]);
            let ty = if have.agrees_with(data.opcode.ty) { data.opcode.ty } else { data.opcode.ty.as_bits() };
            *data = InstData::new(Opcode::mov(ty), data.dsts.iter().copied(), [chosen]).guarded(data.guard);
        }
        (Op::Setp, Some(combine)) if data.dsts.len() == 1 => {
            let settled = match combine {
                Combine::And => (!value).then_some(0),
                Combine::Or => value.then_some(1),
                Combine::Xor if value => return,
                Combine::Xor => None,
            };
            if let Some(bits) = settled {
                let ty = crate::ir::Type::Pred;
                *data = InstData::new(Opcode::mov(ty), data.dsts.iter().copied(), [Operand::Const(bits)])
                    .guarded(data.guard);
            } else {
                data.opcode.combine = None;
                data.args.remove(place);
            }
        }
        _ => {}
    }
}

/// An index register's bits as the 64-bit number that an address adds.
fn extended(func: &Function, reg: Reg, bits: u64) -> i64 {
    let ty = func.reg_types[reg];
    let shift = 64 - ty.bits();
    if ty.is_signed() { ((bits << shift) as i64) >> shift } else { (bits & ty.mask()) as i64 }
}

/// Is the result zero whenever that operand is, as far as the licence goes?
pub(super) fn propagates_zero(scene: &Scene<'_>, inst: Inst, use_index: usize) -> bool {
    let func = scene.func;
    let data = &func.insts[inst];
    let is_copy = data.opcode.op == Op::Mov && data.dsts.len() == 1;
    if data.guard.is_some() || !data.opcode.is_pure() {
        return false;
    }
    is_copy
        || match special(scene, inst, |number| (number == use_index).then_some(0)) {
            Special::Constant(bits) => {
                let sign = data.dst().map(|dst| func.reg_types[dst]).filter(|ty| ty.is_float());
                bits & !sign.map_or(0, |ty| 1 << (ty.bits() - 1)) == 0
            }
            _ => false,
        }
}

/// Can a program ask whether a register is zero? A predicate is where it is false.
pub(super) fn has_zero_test(func: &Function, reg: Reg) -> bool {
    is_predicate(func, reg) || has_zero_comparison(func, reg)
}

/// Is the register a predicate, which votes and branches read as it is or negated?
pub(super) fn is_predicate(func: &Function, reg: Reg) -> bool {
    func.reg_types[reg].class() == TypeClass::Pred
}

/// Is there a comparison of a register with zero?
pub(super) fn has_zero_comparison(func: &Function, reg: Reg) -> bool {
    func.reg_types[reg].bits() >= 16 && !is_predicate(func, reg)
}

/// A comparison of a register with zero, by itself or and another predicate. None where there is no such comparison.
pub(super) fn zero_test(func: &Function, result: Reg, reg: Reg, and: Option<Reg>) -> Option<InstData> {
    if !has_zero_comparison(func, reg) {
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

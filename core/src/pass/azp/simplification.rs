//! Simplification of an instruction some of whose operands are known.
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
//! Constants replace registers wherever the operand may be a constant. Then the instruction becomes
//! as simple as `const-fold` makes it: a product with zero is zero under the fast-math licence, and
//! a fused multiply-add then is its addend, so that the other factor is not read.
//!
//! Source: AZP, section 3.3.2, steps 3 and 4.

use alloc::vec::Vec;

use crate::ir::{AddressBase, ArgKind, Combine, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::pass::const_fold::simplest;
use crate::sim::evaluate;

/// Form that an instruction takes.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Simplified {
    /// Unchanged.
    Same,
    /// Its only destination gets these bits in all lanes.
    Constant(u64),
    /// Its guard never holds.
    Never,
    /// It goes to one of its targets.
    Goes(usize),
    /// Another instruction.
    Simpler(InstData),
}

/// Form of `inst` where `known` gives the bits of a register that it reads, by the number of the
/// use as [`InstData::uses`] counts them.
pub(super) fn simplified(
    func: &Function,
    inst: Inst,
    fast_math: bool,
    known: impl Fn(usize) -> Option<u64>,
) -> Simplified {
    let original = &func.insts[inst];
    let mut data = original.clone();
    let mut number = 0;
    let mut next_bits = || {
        number += 1;
        known(number - 1)
    };
    if let Some(guard) = original.guard
        && let Some(bits) = next_bits()
    {
        if (bits & 1 != 0) == guard.negated {
            return Simplified::Never;
        }
        data.guard = None;
    }
    let mut predicates: Vec<(usize, bool)> = Vec::new();
    for (place, arg) in data.args.iter_mut().enumerate() {
        let holds = put_constants(func, original, (place, arg), &mut next_bits);
        predicates.extend(holds.map(|holds| (place, holds)));
    }
    if let Some(target) = settled_target(&data, &predicates) {
        return Simplified::Goes(target);
    }
    if let Some(&(place, holds)) = predicates.first() {
        choose(func, &mut data, place, holds);
    }
    if data.opcode.is_pure() {
        data = simplest(func, data, fast_math, evaluate);
    }
    // A constant that the operand's place does not take stays a register.
    match (data.opcode.op, data.dsts.as_slice(), data.args.as_slice()) {
        (Op::Mov, [_], [Operand::Const(bits)]) if data.guard.is_none() => Simplified::Constant(*bits),
        _ if data == *original => Simplified::Same,
        _ => Simplified::Simpler(data),
    }
}

/// Replaces the registers of an operand whose bits are known; `next_bits` gives them in the order
/// of the uses. A predicate stays; the result is whether it holds, if that is known.
fn put_constants(
    func: &Function,
    data: &InstData,
    (place, arg): (usize, &mut Operand),
    mut next_bits: impl FnMut() -> Option<u64>,
) -> Option<bool> {
    let kind = data.arg_kind(place);
    match arg {
        &mut (Operand::Reg(reg) | Operand::NotReg(reg)) => {
            let bits = next_bits().filter(|&bits| data.takes_constant(place, bits))?;
            match kind {
                Some(ArgKind::Value(ty) | ArgKind::LowBits(ty)) if !needs_sign(func, data, ty, reg, bits) => {
                    *arg = Operand::Const(bits & ty.mask());
                }
                Some(ArgKind::Predicate) => return Some((bits & 1 != 0) != matches!(arg, Operand::NotReg(_))),
                _ => {}
            }
        }
        Operand::Address(address) => {
            if let AddressBase::Reg(_) = address.base {
                next_bits();
            }
            let mut offset = address.offset;
            address.terms.retain(|&mut (reg, scale)| {
                let Some(bits) = next_bits() else { return true };
                offset = offset.wrapping_add(scale.wrapping_mul(extended(func, reg, bits)));
                false
            });
            address.offset = offset;
        }
        Operand::List(elements) => {
            for element in elements.iter_mut() {
                let Some(reg) = element.as_reg_or_negation() else { continue };
                if let (Some(bits), Some(ArgKind::Elements(ty, _))) = (next_bits(), kind)
                    && !needs_sign(func, data, ty, reg, bits)
                {
                    *element = Operand::Const(bits & ty.mask());
                }
            }
        }
        Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) | Operand::Input(_) => {}
    }
    None
}

/// Does an instruction read the sign of a float zero otherwise than float arithmetic does? The sign
/// is not known, since a comparison with zero holds for both.
fn needs_sign(func: &Function, data: &InstData, ty: Type, reg: Reg, bits: u64) -> bool {
    let have = func.reg_types[reg];
    let is_copy =
        matches!(data.opcode.op, Op::Mov | Op::Selp) && data.dsts.iter().all(|&dst| func.reg_types[dst].is_float());
    have.is_float()
        && bits & !(1 << (have.bits() - 1)) == 0
        && (data.opcode.op == Op::Copysign || (!ty.is_float() && !is_copy))
}

/// Number of the target of a branch whose condition is known.
fn settled_target(data: &InstData, predicates: &[(usize, bool)]) -> Option<usize> {
    match (data.opcode.op, predicates, data.args.first()) {
        (Op::BrIf, &[(_, holds)], _) => Some(usize::from(!holds)),
        (Op::Switch, _, Some(Operand::Const(bits))) => {
            let last = data.targets().len().checked_sub(1)?;
            Some(usize::try_from(*bits).unwrap_or(last).min(last))
        }
        _ => None,
    }
}

/// Simplifies a select or a combined comparison whose predicate operand is known.
fn choose(func: &Function, data: &mut InstData, place: usize, holds: bool) {
    match (data.opcode.op, data.opcode.combine) {
        (Op::Selp, _) => {
            let chosen = data.args[usize::from(!holds)].clone();
            let have = chosen.as_reg().map_or(data.opcode.ty, |reg| func.reg_types[reg]);
            let ty = if have.agrees_with(data.opcode.ty) { data.opcode.ty } else { data.opcode.ty.as_bits() };
            *data = InstData::new(Opcode::mov(ty), data.dsts.iter().copied(), [chosen]).guarded(data.guard);
        }
        (Op::Setp, Some(combine)) if data.dsts.len() == 1 => {
            let settled = match combine {
                Combine::And => (!holds).then_some(0),
                Combine::Or => holds.then_some(1),
                Combine::Xor if holds => return,
                Combine::Xor => None,
            };
            if let Some(bits) = settled {
                *data = InstData::new(Opcode::mov(Type::Pred), data.dsts.iter().copied(), [Operand::Const(bits)])
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
pub(super) fn propagates_zero(func: &Function, inst: Inst, use_index: usize, fast_math: bool) -> bool {
    let data = &func.insts[inst];
    let is_copy = data.opcode.op == Op::Mov && data.dsts.len() == 1;
    if data.guard.is_some() || !data.opcode.is_pure() {
        return false;
    }
    is_copy
        || match simplified(func, inst, fast_math, |number| (number == use_index).then_some(0)) {
            Simplified::Constant(bits) => {
                let sign = data.dst().map(|dst| func.reg_types[dst]).filter(|ty| ty.is_float());
                bits & !sign.map_or(0, |ty| 1 << (ty.bits() - 1)) == 0
            }
            _ => false,
        }
}

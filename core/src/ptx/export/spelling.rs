//! How PTX spells an opcode: complete where the text IR has defaults, and with the types that PTX wants.
//!
//! ```text
//! mul.u32 → mul.lo.u32      fma.f32 → fma.rn.f32      cvt.f32.s32 → cvt.rn.f32.s32      sin.f32 → sin.approx.f32
//! cvt.rni.sat.s32.s16 → cvt.s32.s16      setp.lo.s32 → setp.lo.u32      div.approx.f64 → div.rn.f64
//! ```
//!
//! The text IR takes modifiers where they change nothing, which PTX refuses; they are left out.
//!
//! Source: PTX ISA, the section of each instruction.

use crate::ir::{AtomicOp, Cmp, Flags, Op, Opcode, Rounding, Type, TypeClass};
use alloc::format;
use alloc::string::{String, ToString};

/// The spelling, without operands.
pub fn spelling(opcode: Opcode) -> String {
    let opcode = completed(opcode);
    let text = opcode.to_string();
    match opcode.op {
        Op::Mul if opcode.ty.is_integer() => text.replacen("mul", "mul.lo", 1),
        Op::Mad if opcode.ty.is_integer() => text.replacen("mad", "mad.lo", 1),
        Op::Madc if !opcode.has(Flags::HI) => text.replacen("madc", "madc.lo", 1),
        Op::VoteAll | Op::VoteAny | Op::VoteUni => format!("{text}.pred"),
        Op::VoteBallot | Op::Activemask => format!("{text}.b32"),
        Op::Tex2d if opcode.src_ty == Type::F32 => format!("{text}.f32"),
        _ => text,
    }
}

fn completed(mut opcode: Opcode) -> Opcode {
    let ty = opcode.ty;
    opcode.flags.remove(Flags::SPEC);
    // Approximate functions of f64 are PTX's two, which are coarse; everything else is rounded as the simulator does.
    let is_coarse = matches!(opcode.op, Op::Rsqrt) || opcode.op == Op::Rcp && opcode.has(Flags::FTZ);
    if ty == Type::F64 && !is_coarse {
        opcode.flags.remove(Flags::APPROX | Flags::FULL);
    }
    match opcode.op {
        Op::Fma | Op::Div | Op::Sqrt | Op::Rcp if ty.is_float() && !is_approximate(opcode) => {
            opcode.rounding.get_or_insert(Rounding::Rn);
        }
        Op::Mad if ty.is_float() => {
            opcode.rounding.get_or_insert(Rounding::Rn);
        }
        Op::Rsqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => opcode.flags |= Flags::APPROX,
        Op::Cvt => {
            opcode.rounding = conversion_rounding(opcode);
            if holds_all(ty, opcode.src_ty) {
                opcode.flags.remove(Flags::SAT);
            }
        }
        // Movements know bits and the types that have registers of their width.
        Op::Mov if ty.bits() == 8 => opcode.ty = Type::B16,
        Op::Mov | Op::Ld | Op::St | Op::Selp if ty == Type::F16 => opcode.ty = Type::B16,
        Op::Cvta => opcode.ty = unsigned(ty),
        // Only equality is defined on `b` types.
        Op::Setp if ty.class() == TypeClass::Bits && !matches!(opcode.cmp, Some(Cmp::Eq | Cmp::Ne)) => {
            opcode.ty = unsigned(ty);
        }
        Op::Setp if matches!(opcode.cmp, Some(Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs)) => opcode.ty = unsigned(ty),
        Op::Shr if ty.class() == TypeClass::Bits => opcode.ty = unsigned(ty),
        Op::Atom | Op::Red => opcode.ty = atomic_type(opcode),
        Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly | Op::MatchAny | Op::MatchAll => {
            opcode.ty = ty.as_bits();
            opcode.flags |= Flags::SYNC;
        }
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => opcode.flags |= Flags::SYNC,
        Op::Membar if !opcode.flags.intersects(Flags::CTA | Flags::GL | Flags::SYS) => opcode.flags |= Flags::GL,
        Op::Tex2d if ty == Type::B32 => opcode.ty = Type::U32,
        _ => {}
    }
    opcode.flags.remove(Flags::UNI);
    opcode
}

fn is_approximate(opcode: Opcode) -> bool {
    opcode.flags.intersects(Flags::APPROX | Flags::FULL)
}

/// `cvt` rounds where the result cannot hold every value, and must say how. To an integer PTX has the `i` spellings
/// only.
fn conversion_rounding(opcode: Opcode) -> Option<Rounding> {
    use Rounding::{Rm, Rmi, Rn, Rni, Rp, Rpi, Rz, Rzi};
    let (to, from) = (opcode.ty, opcode.src_ty);
    let narrows = to.is_float() && (!from.is_float() || to.bits() < from.bits());
    match opcode.rounding {
        _ if !to.is_float() && !from.is_float() => None,
        // Integers are whole numbers already.
        Some(rounding) if to.is_float() && !from.is_float() => Some(plain(rounding)),
        None if narrows => Some(Rn),
        None if from.is_float() && !to.is_float() => Some(Rzi),
        Some(rounding) if from.is_float() && !to.is_float() => Some(match rounding {
            Rn => Rni,
            Rz => Rzi,
            Rm => Rmi,
            Rp => Rpi,
            other => other,
        }),
        // Nothing is lost, so there is nothing to round.
        Some(Rn | Rz | Rm | Rp) if !narrows => None,
        rounding => rounding,
    }
}

/// The rounding of the same direction that is not to an integer.
pub fn plain(rounding: Rounding) -> Rounding {
    match rounding {
        Rounding::Rni => Rounding::Rn,
        Rounding::Rzi => Rounding::Rz,
        Rounding::Rmi => Rounding::Rm,
        Rounding::Rpi => Rounding::Rp,
        other => other,
    }
}

/// Does one integer type hold all values of another?
fn holds_all(to: Type, from: Type) -> bool {
    let magnitude = |ty: Type| ty.bits() - u32::from(ty.is_signed());
    let are_integers = to.is_integer() && from.is_integer();
    are_integers && (to.is_signed() || !from.is_signed()) && magnitude(to) >= magnitude(from)
}

fn atomic_type(opcode: Opcode) -> Type {
    let ty = opcode.ty;
    match opcode.atomic {
        Some(AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exch | AtomicOp::Cas) => ty.as_bits(),
        // 64-bit sums wrap, so their sign makes no difference, and PTX has the unsigned ones only.
        Some(AtomicOp::Add) if ty == Type::S64 => Type::U64,
        _ if ty.class() == TypeClass::Bits => unsigned(ty),
        _ => ty,
    }
}

fn unsigned(ty: Type) -> Type {
    Type::U64.with_bits(ty.bits()).unwrap_or(ty)
}

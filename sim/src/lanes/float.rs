//! Floating-point arithmetic.

use rustc_apfloat::Round;

use super::plane::{Active, Lane, LaneFile, LaneOp, Slots, each1, each2, each3, map1, map2, map3};
use super::select::{op1, op2, slow1, slow2};
use crate::arith::float::{self, Real};
use crate::arith::half::F16;
use crate::arith::{approx, fused};
use crate::ir::{Flags, Op, Opcode, Rounding, Type};

/// The function of an opcode whose type is f32, f64 or f16. `.ftz` and `.sat` are steps around it.
pub(super) fn select_float(opcode: Opcode) -> Option<LaneOp> {
    let directed = matches!(opcode.rounding, Some(Rounding::Rz | Rounding::Rm | Rounding::Rp));
    if opcode.ty == Type::F16 {
        return select_rounded::<F16>(opcode);
    }
    if directed && !opcode.has(Flags::APPROX) {
        return if opcode.ty == Type::F32 { select_rounded::<f32>(opcode) } else { select_rounded::<f64>(opcode) };
    }
    Some(match (opcode.op, opcode.ty) {
        (Op::Add, Type::F32) => op2!(f32, f32 => f32, |a, b| a + b),
        (Op::Sub, Type::F32) => op2!(f32, f32 => f32, |a, b| a - b),
        (Op::Mul, Type::F32) => op2!(f32, f32 => f32, |a, b| a * b),
        (Op::Div, Type::F32) => op2!(f32, f32 => f32, |a, b| a / b),
        (Op::Mad | Op::Fma, Type::F32) => super::vector::fma32(),
        (Op::Min, Type::F32) => op2!(f32, f32 => f32, float::min),
        (Op::Max, Type::F32) => op2!(f32, f32 => f32, float::max),
        (Op::Neg, Type::F32) => op1!(f32 => f32, |a| -a),
        (Op::Abs, Type::F32) => op1!(f32 => f32, Real::magnitude),
        (Op::Sqrt, Type::F32) => slow1!(f32 => f32, Real::root),
        (Op::Rcp, Type::F32) => op1!(f32 => f32, |a| 1.0 / a),
        (Op::Rsqrt, Type::F32) => slow1!(f32 => f32, approx::rsqrt32),
        (Op::Sin, Type::F32) => slow1!(f32 => f32, approx::sin),
        (Op::Cos, Type::F32) => slow1!(f32 => f32, approx::cos),
        (Op::Ex2, Type::F32) => slow1!(f32 => f32, approx::ex2),
        (Op::Lg2, Type::F32) => slow1!(f32 => f32, approx::lg2),
        (Op::Copysign, Type::F32) => slow2!(f32, f32 => f32, float::copysign),
        (Op::Add, Type::F64) => op2!(f64, f64 => f64, |a, b| a + b),
        (Op::Sub, Type::F64) => op2!(f64, f64 => f64, |a, b| a - b),
        (Op::Mul, Type::F64) => op2!(f64, f64 => f64, |a, b| a * b),
        (Op::Div, Type::F64) => op2!(f64, f64 => f64, |a, b| a / b),
        (Op::Mad | Op::Fma, Type::F64) => super::vector::fma64(),
        (Op::Min, Type::F64) => slow2!(f64, f64 => f64, float::min),
        (Op::Max, Type::F64) => slow2!(f64, f64 => f64, float::max),
        (Op::Neg, Type::F64) => op1!(f64 => f64, |a| -a),
        (Op::Abs, Type::F64) => op1!(f64 => f64, Real::magnitude),
        (Op::Sqrt, Type::F64) => slow1!(f64 => f64, Real::root),
        (Op::Rcp, Type::F64) => op1!(f64 => f64, |a| 1.0 / a),
        (Op::Rsqrt, Type::F64) => slow1!(f64 => f64, approx::rsqrt64),
        (Op::Copysign, Type::F64) => slow2!(f64, f64 => f64, float::copysign),
        _ => return None,
    })
}

/// Arithmetic by the arbitrary-precision library: f16, and the directed roundings of f32 and f64. The modifier is the
/// rounding; see [`round_code`].
fn select_rounded<T: Real + Lane>(opcode: Opcode) -> Option<LaneOp> {
    fn binary<T: Real + Lane>(file: &mut LaneFile, slots: &Slots, warps: &[Active], op: fn(T, T, Round) -> T) {
        let round = round_of(slots.modifier);
        each2(file, slots, warps, |a: T, b: T| op(a, b, round));
    }
    Some(match opcode.op {
        Op::Add => |file, slots, warps| binary::<T>(file, slots, warps, float::add),
        Op::Sub => |file, slots, warps| binary::<T>(file, slots, warps, float::sub),
        Op::Mul => |file, slots, warps| binary::<T>(file, slots, warps, float::mul),
        Op::Div => |file, slots, warps| binary::<T>(file, slots, warps, float::div),
        Op::Min => |file, slots, warps| each2(file, slots, warps, float::min::<T>),
        Op::Max => |file, slots, warps| each2(file, slots, warps, float::max::<T>),
        Op::Neg => |file, slots, warps| each1(file, slots, warps, T::negate),
        Op::Abs => |file, slots, warps| each1(file, slots, warps, T::magnitude),
        Op::Mad | Op::Fma => |file, slots, warps| {
            let round = round_of(slots.modifier);
            each3(file, slots, warps, |a: T, b: T, c: T| float::fma(a, b, c, round));
        },
        Op::Sqrt => |file, slots, warps| {
            let round = round_of(slots.modifier);
            each1(file, slots, warps, |a: T| float::sqrt(a, round));
        },
        Op::Rcp => |file, slots, warps| {
            let round = round_of(slots.modifier);
            each1(file, slots, warps, |a: T| float::div(T::ONE, a, round));
        },
        _ => return None,
    })
}

/// A rounding as [`Slots::modifier`].
pub(super) fn round_code(rounding: Option<Rounding>) -> u32 {
    match rounding {
        None | Some(Rounding::Rn | Rounding::Rni) => 0,
        Some(Rounding::Rz | Rounding::Rzi) => 1,
        Some(Rounding::Rm | Rounding::Rmi) => 2,
        Some(Rounding::Rp | Rounding::Rpi) => 3,
    }
}

/// The library's rounding mode of a modifier.
pub(super) fn round_of(code: u32) -> Round {
    match code & 3 {
        0 => Round::NearestTiesToEven,
        1 => Round::TowardZero,
        2 => Round::TowardNegative,
        _ => Round::TowardPositive,
    }
}

/// Portable `fma.rn.f32`.
pub(super) fn fma32_portable(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
    map3(file, slots, warps, fused::fma32);
}

/// Portable `fma.rn.f64`.
pub(super) fn fma64_portable(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
    each3(file, slots, warps, fused::fma64);
}

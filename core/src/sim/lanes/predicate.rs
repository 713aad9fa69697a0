//! Predicates: comparisons, selections, and logic on masks.

// `a < b || a > b` is the ordered `ne`: unlike `a != b` it is false where one of them is NaN.
#![allow(clippy::double_comparisons)]

use super::plane::{Lane, LaneFile, LaneOp, Slots, compare};
use crate::ir::{Cmp, Combine, Op, Opcode, Type};
use crate::sim::arith::float::Real;
use crate::sim::arith::half::F16;

/// Writes the lanes of `mask` of a predicate.
#[inline(always)]
pub(super) fn write(file: &mut LaneFile, slot: u32, mask: u32, bits: u32) {
    let predicate = &mut file.predicates[slot as usize];
    *predicate = (*predicate & !mask) | (bits & mask);
}

/// The predicate operand, negated where the text says `!`.
#[inline(always)]
fn condition(file: &LaneFile, slots: &Slots) -> u32 {
    file.predicates[slots.f as usize] ^ slots.flip
}

macro_rules! test {
    ($ty:ty, $test:expr) => {{
        fn run(file: &mut LaneFile, slots: &Slots, mask: u32) {
            let bits = compare::<$ty>(file, slots, $test);
            write(file, slots.d, mask, bits);
        }
        run as LaneOp
    }};
}

/// Tests a pair of floats under every comparison; the unordered ones are the opposites of ordered ones.
macro_rules! float_test {
    ($ty:ty, $cmp:expr) => {
        match $cmp {
            Cmp::Eq => test!($ty, |a, b| a == b),
            Cmp::Ne => test!($ty, |a, b| a < b || a > b),
            Cmp::Lt => test!($ty, |a, b| a < b),
            Cmp::Le => test!($ty, |a, b| a <= b),
            Cmp::Gt => test!($ty, |a, b| a > b),
            Cmp::Ge => test!($ty, |a, b| a >= b),
            Cmp::Equ => test!($ty, |a, b| !(a < b || a > b)),
            Cmp::Neu => test!($ty, |a, b| a != b),
            Cmp::Ltu => test!($ty, |a, b| !(a >= b)),
            Cmp::Leu => test!($ty, |a, b| !(a > b)),
            Cmp::Gtu => test!($ty, |a, b| !(a <= b)),
            Cmp::Geu => test!($ty, |a, b| !(a < b)),
            Cmp::Num => test!($ty, |a, b| !Real::is_nan(a) && !Real::is_nan(b)),
            Cmp::Nan => test!($ty, |a, b| Real::is_nan(a) || Real::is_nan(b)),
            Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs => return None,
        }
    };
}

macro_rules! integer_test {
    ($unsigned:ty, $signed:ty, $cmp:expr, $is_signed:expr) => {
        match ($cmp, $is_signed) {
            (Cmp::Eq | Cmp::Equ, _) => test!($unsigned, |a, b| a == b),
            (Cmp::Ne | Cmp::Neu, _) => test!($unsigned, |a, b| a != b),
            (Cmp::Lt | Cmp::Ltu, true) => test!($signed, |a, b| a < b),
            (Cmp::Le | Cmp::Leu, true) => test!($signed, |a, b| a <= b),
            (Cmp::Gt | Cmp::Gtu, true) => test!($signed, |a, b| a > b),
            (Cmp::Ge | Cmp::Geu, true) => test!($signed, |a, b| a >= b),
            (Cmp::Lt | Cmp::Ltu | Cmp::Lo, _) => test!($unsigned, |a, b| a < b),
            (Cmp::Le | Cmp::Leu | Cmp::Ls, _) => test!($unsigned, |a, b| a <= b),
            (Cmp::Gt | Cmp::Gtu | Cmp::Hi, _) => test!($unsigned, |a, b| a > b),
            (Cmp::Ge | Cmp::Geu | Cmp::Hs, _) => test!($unsigned, |a, b| a >= b),
            (Cmp::Num | Cmp::Nan, _) => return None,
        }
    };
}

/// The plain comparison of a `setp`, without its third operand and second destination.
#[allow(clippy::neg_cmp_op_on_partial_ord)]
pub(super) fn select_setp(opcode: Opcode) -> Option<LaneOp> {
    let (cmp, signed) = (opcode.cmp?, opcode.ty.is_signed());
    Some(match opcode.ty {
        Type::F32 => float_test!(f32, cmp),
        Type::F64 => float_test!(f64, cmp),
        Type::F16 => float_test!(F16, cmp),
        ty => match ty.bits() {
            16 => integer_test!(u16, i16, cmp, signed),
            32 => integer_test!(u32, i32, cmp, signed),
            64 => integer_test!(u64, i64, cmp, signed),
            _ => return None,
        },
    })
}

/// The rest of a `setp` that has a third operand or a second destination: `d = a ∘ f`, `e = !a ∘ f`, where `a` is the
/// plain comparison.
pub fn combine(combine: Option<Combine>) -> LaneOp {
    macro_rules! with {
        ($op:expr) => {{
            fn run(file: &mut LaneFile, slots: &Slots, mask: u32) {
                let (test, other) = (file.predicates[slots.a as usize], condition(file, slots));
                let op: fn(u32, u32) -> u32 = $op;
                write(file, slots.e, mask, op(!test, other));
                write(file, slots.d, mask, op(test, other));
            }
            run as LaneOp
        }};
    }
    match combine {
        None => with!(|test, _| test),
        Some(Combine::And) => with!(|test, other| test & other),
        Some(Combine::Or) => with!(|test, other| test | other),
        Some(Combine::Xor) => with!(|test, other| test ^ other),
    }
}

/// `and or xor not mov selp` on predicates.
pub(super) fn select_logic(opcode: Opcode) -> Option<LaneOp> {
    macro_rules! logic {
        ($op:expr) => {{
            fn run(file: &mut LaneFile, slots: &Slots, mask: u32) {
                let (a, b) = (file.predicates[slots.a as usize], file.predicates[slots.b as usize]);
                let op: fn(u32, u32) -> u32 = $op;
                write(file, slots.d, mask, op(a, b));
            }
            run as LaneOp
        }};
    }
    Some(match opcode.op {
        Op::And => logic!(|a, b| a & b),
        Op::Or => logic!(|a, b| a | b),
        Op::Xor => logic!(|a, b| a ^ b),
        Op::Not => logic!(|a, _| !a),
        Op::Mov => logic!(|a, _| a),
        _ => return None,
    })
}

/// `selp`.
pub(super) fn select_selp(opcode: Opcode) -> Option<LaneOp> {
    fn run<T: Lane>(file: &mut LaneFile, slots: &Slots, mask: u32) {
        let choice = condition(file, slots);
        let (first, second) = (Slots { b: slots.a, ..*slots }, Slots { b: slots.b, ..*slots });
        // The destination may be one of the operands: write first the lanes that keep it.
        if slots.d == slots.a {
            copy_lanes::<T>(file, &second, mask & !choice);
        } else if slots.d == slots.b {
            copy_lanes::<T>(file, &first, mask & choice);
        } else {
            copy_lanes::<T>(file, &first, mask & choice);
            copy_lanes::<T>(file, &second, mask & !choice);
        }
    }
    fn copy_lanes<T: Lane>(file: &mut LaneFile, slots: &Slots, mask: u32) {
        let planes = file.planes.as_mut_slice();
        let (from, to) = (slots.b as usize, slots.d as usize);
        if mask == 0 {
            return;
        }
        for chunk in 0..4 {
            let values = T::load(planes, from, chunk);
            T::blend(planes, to, chunk, values, (mask >> (8 * chunk)) & 0xFF);
        }
    }
    Some(if opcode.ty.bits() == 64 { run::<u64> } else { run::<u32> })
}

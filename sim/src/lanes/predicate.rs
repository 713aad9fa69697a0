//! Predicates: comparisons, selections, and logic on masks.

// `a < b || a > b` is the ordered `ne`: unlike `a != b` it is false where one of them is NaN.
#![allow(clippy::double_comparisons)]

use super::plane::{Active, CHUNK, LaneFile, LaneOp, Slots, choose, compare, each_warp};
use super::vector::below;
use crate::arith::float::Real;
use crate::arith::half::F16;
use crate::ir::{Cmp, Combine, Op, Opcode, Space, Type};
use crate::memory::{PARAM_WINDOW, REGION_SHIFT, WINDOW_SHIFT};

/// Writes the lanes of `mask` of a predicate.
#[inline(always)]
pub(super) fn write(file: &mut LaneFile, slot: u32, mask: u32, bits: u32) {
    let slot = file.at(slot);
    let predicate = &mut file.predicates[slot];
    *predicate = (*predicate & !mask) | (bits & mask);
}

/// The predicate operand, negated where the text says `!`.
#[inline(always)]
fn condition(file: &LaneFile, slots: &Slots) -> u32 {
    file.predicates[file.at(slots.f)] ^ slots.flip
}

/// Bits of [`Slots::modifier`] of a comparison: `a > b` is `b < a`, and an unordered comparison the opposite of an
/// ordered one. So there are a few functions for each type, and not one for each comparison.
const SWAPPED: u32 = 1;
const NEGATED: u32 = 2;

macro_rules! test {
    ($ty:ty, |$a:ident, $b:ident| $test:expr) => {
        // All ones where it holds.
        test!(signs of $ty, |a: [$ty; CHUNK], b: [$ty; CHUNK]| {
            core::array::from_fn(|lane| {
                let ($a, $b) = (a[lane], b[lane]);
                u32::from($test).wrapping_neg()
            })
        })
    };
    (signs of $ty:ty, $test:expr) => {{
        fn run(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
            let (a, b) = if slots.modifier & SWAPPED == 0 { (slots.a, slots.b) } else { (slots.b, slots.a) };
            each_warp(file, warps, |file, mask| {
                let bits = compare::<$ty>(file, a, b, $test);
                write(file, slots.d, mask, if slots.modifier & NEGATED == 0 { bits } else { !bits });
            });
        }
        run as LaneOp
    }};
}

macro_rules! float_test {
    ($ty:ty, $cmp:expr) => {{
        let less = test!($ty, |a, b| a < b);
        let at_most = test!($ty, |a, b| a <= b);
        // Unlike `a != b` this is false where one of them is NaN.
        let differ = test!($ty, |a, b| a < b || a > b);
        let numbers = test!($ty, |a, b| !Real::is_nan(a) && !Real::is_nan(b));
        match $cmp {
            Cmp::Eq => (test!($ty, |a, b| a == b), 0),
            Cmp::Neu => (test!($ty, |a, b| a == b), NEGATED),
            Cmp::Ne => (differ, 0),
            Cmp::Equ => (differ, NEGATED),
            Cmp::Lt => (less, 0),
            Cmp::Geu => (less, NEGATED),
            Cmp::Gt => (less, SWAPPED),
            Cmp::Leu => (less, SWAPPED | NEGATED),
            Cmp::Le => (at_most, 0),
            Cmp::Gtu => (at_most, NEGATED),
            Cmp::Ge => (at_most, SWAPPED),
            Cmp::Ltu => (at_most, SWAPPED | NEGATED),
            Cmp::Num => (numbers, 0),
            Cmp::Nan => (numbers, NEGATED),
            Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs => return None,
        }
    }};
}

macro_rules! integer_test {
    ($unsigned:ty, $signed:ty, $cmp:expr, $is_signed:expr) => {
        integer_test!($unsigned, $signed, $cmp, $is_signed, test!($unsigned, |a, b| a < b))
    };
    ($unsigned:ty, $signed:ty, $cmp:expr, $is_signed:expr, $below:expr) => {{
        let (same, below) = (test!($unsigned, |a, b| a == b), $below);
        let less = if $is_signed { test!($signed, |a, b| a < b) } else { below };
        match $cmp {
            Cmp::Eq | Cmp::Equ => (same, 0),
            Cmp::Ne | Cmp::Neu => (same, NEGATED),
            Cmp::Lt | Cmp::Ltu => (less, 0),
            Cmp::Ge | Cmp::Geu => (less, NEGATED),
            Cmp::Gt | Cmp::Gtu => (less, SWAPPED),
            Cmp::Le | Cmp::Leu => (less, SWAPPED | NEGATED),
            Cmp::Lo => (below, 0),
            Cmp::Hs => (below, NEGATED),
            Cmp::Hi => (below, SWAPPED),
            Cmp::Ls => (below, SWAPPED | NEGATED),
            Cmp::Num | Cmp::Nan => return None,
        }
    }};
}

/// Test of the space of an address; `b` is the number of the space's window, for global and
/// constant memory the number of regions that are constant, which are the first ones. The window of
/// parameters is one of global memory.
pub(super) fn select_isspacep(opcode: Opcode) -> Option<LaneOp> {
    Some(match opcode.space? {
        Space::Global => test!(u64, |a, b| {
            let is_region = a >> 32 > 0 && (a >> REGION_SHIFT).wrapping_sub(1) >= b;
            is_region || a >> WINDOW_SHIFT == PARAM_WINDOW >> WINDOW_SHIFT
        }),
        Space::Const => test!(u64, |a, b| (a >> REGION_SHIFT).wrapping_sub(1) < b),
        Space::Shared | Space::Local | Space::Param => test!(u64, |a, b| a >> WINDOW_SHIFT == b),
    })
}

/// The plain comparison of a `setp`, without its third operand and second destination, and its modifier.
pub(super) fn select_setp(opcode: Opcode) -> Option<(LaneOp, u32)> {
    let (cmp, signed) = (opcode.cmp?, opcode.ty.is_signed());
    Some(match opcode.ty {
        Type::F32 => float_test!(f32, cmp),
        Type::F64 => float_test!(f64, cmp),
        Type::F16 => float_test!(F16, cmp),
        ty => match ty.bits() {
            16 => integer_test!(u16, i16, cmp, signed),
            32 => integer_test!(u32, i32, cmp, signed),
            64 => integer_test!(u64, i64, cmp, signed, test!(signs of u64, below)),
            _ => return None,
        },
    })
}

/// The rest of a `setp` that has a third operand or a second destination: `d = a ∘ f`, `e = !a ∘ f`, where `a` is the
/// plain comparison.
pub fn combine(combine: Option<Combine>) -> LaneOp {
    macro_rules! with {
        ($op:expr) => {{
            fn run(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
                each_warp(file, warps, |file, mask| {
                    let (test, other) = (file.predicates[file.at(slots.a)], condition(file, slots));
                    let op: fn(u32, u32) -> u32 = $op;
                    write(file, slots.e, mask, op(!test, other));
                    write(file, slots.d, mask, op(test, other));
                });
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
            fn run(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
                each_warp(file, warps, |file, mask| {
                    let (a, b) = (file.predicates[file.at(slots.a)], file.predicates[file.at(slots.b)]);
                    let op: fn(u32, u32) -> u32 = $op;
                    write(file, slots.d, mask, op(a, b));
                });
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
pub(super) fn select_selp(opcode: Opcode) -> LaneOp {
    if opcode.ty.bits() == 64 { choose::<u64> } else { choose::<u32> }
}

//! Integer, bit and 64-bit address arithmetic.

use super::plane::{
    Active, Lane, LaneFile, LaneOp, Slots, each_warp, each1, each2, each3, each4, for_each_lane, map_chunks, map1,
    map2, map3,
};
use super::select::{op1, op2, op3, slow1, slow2, slow3};
use super::vector::{shift_left, shift_right};
use crate::arith::integer::{
    bfe, bfi, div_s16, div_s32, div_s64, div_u16, div_u32, div_u64, funnel_left, funnel_right, prmt, rem_s16, rem_s32,
    rem_s64, rem_u16, rem_u32, rem_u64,
};
use crate::ir::{Flags, Op, Opcode, PrmtMode, Type};

/// The function of an opcode whose type is an integer or bits.
pub(super) fn select_integer(opcode: Opcode) -> Option<LaneOp> {
    if opcode.has(Flags::CC) || matches!(opcode.op, Op::Addc | Op::Subc | Op::Madc) {
        return select_carry(opcode);
    }
    if opcode.has(Flags::SAT) {
        return select_saturating(opcode);
    }
    let (bits, signed) = (opcode.ty.bits(), opcode.ty.is_signed());
    Some(match (opcode.op, bits, signed) {
        (Op::Add, 16, _) => slow2!(u16, u16 => u16, u16::wrapping_add),
        (Op::Add, 32, _) => op2!(u32, u32 => u32, u32::wrapping_add),
        (Op::Add, 64, _) => op2!(u64, u64 => u64, u64::wrapping_add),
        (Op::Sub, 16, _) => slow2!(u16, u16 => u16, u16::wrapping_sub),
        (Op::Sub, 32, _) => op2!(u32, u32 => u32, u32::wrapping_sub),
        (Op::Sub, 64, _) => op2!(u64, u64 => u64, u64::wrapping_sub),
        (Op::Mul, 16, _) => slow2!(u16, u16 => u16, u16::wrapping_mul),
        (Op::Mul, 32, _) => op2!(u32, u32 => u32, u32::wrapping_mul),
        (Op::Mul, 64, _) => op2!(u64, u64 => u64, u64::wrapping_mul),
        (Op::MulHi, 16, false) => slow2!(u16, u16 => u16, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16),
        (Op::MulHi, 16, true) => slow2!(i16, i16 => i16, |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16),
        (Op::MulHi, 32, false) => op2!(u32, u32 => u32, high_u32),
        (Op::MulHi, 32, true) => op2!(i32, i32 => i32, high_s32),
        (Op::MulHi, 64, false) => slow2!(u64, u64 => u64, high_u64),
        (Op::MulHi, 64, true) => slow2!(i64, i64 => i64, high_s64),
        (Op::MulWide, 16, false) => slow2!(u16, u16 => u32, |a, b| u32::from(a) * u32::from(b)),
        (Op::MulWide, 16, true) => slow2!(i16, i16 => i32, |a, b| i32::from(a) * i32::from(b)),
        (Op::MulWide, 32, false) => op2!(u32, u32 => u64, |a, b| u64::from(a) * u64::from(b)),
        (Op::MulWide, 32, true) => op2!(i32, i32 => i64, |a, b| i64::from(a) * i64::from(b)),
        (Op::Mad, 16, _) => slow3!(u16, u16, u16 => u16, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        (Op::Mad, 32, _) => op3!(u32, u32, u32 => u32, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        (Op::Mad, 64, _) => slow3!(u64, u64, u64 => u64, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        (Op::MadHi, 32, false) => slow3!(u32, u32, u32 => u32, |a, b, c| high_u32(a, b).wrapping_add(c)),
        (Op::MadHi, 32, true) => slow3!(i32, i32, i32 => i32, |a, b, c| high_s32(a, b).wrapping_add(c)),
        (Op::MadHi, 64, false) => slow3!(u64, u64, u64 => u64, |a, b, c| high_u64(a, b).wrapping_add(c)),
        (Op::MadHi, 64, true) => slow3!(i64, i64, i64 => i64, |a, b, c| high_s64(a, b).wrapping_add(c)),
        (Op::MadHi, 16, false) => {
            slow3!(u16, u16, u16 => u16, |a, b, c| (((u32::from(a) * u32::from(b)) >> 16) as u16).wrapping_add(c))
        }
        (Op::MadHi, 16, true) => {
            slow3!(i16, i16, i16 => i16, |a, b, c| (((i32::from(a) * i32::from(b)) >> 16) as i16).wrapping_add(c))
        }
        (Op::MadWide, 16, false) => {
            slow3!(u16, u16, u32 => u32, |a, b, c| (u32::from(a) * u32::from(b)).wrapping_add(c))
        }
        (Op::MadWide, 16, true) => {
            slow3!(i16, i16, i32 => i32, |a, b, c| (i32::from(a) * i32::from(b)).wrapping_add(c))
        }
        (Op::MadWide, 32, false) => {
            op3!(u32, u32, u64 => u64, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c))
        }
        (Op::MadWide, 32, true) => {
            op3!(i32, i32, i64 => i64, |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c))
        }
        (Op::Div, 16, false) => slow2!(u16, u16 => u16, div_u16),
        (Op::Div, 16, true) => slow2!(i16, i16 => i16, div_s16),
        (Op::Div, 32, false) => slow2!(u32, u32 => u32, div_u32),
        (Op::Div, 32, true) => slow2!(i32, i32 => i32, div_s32),
        (Op::Div, 64, false) => slow2!(u64, u64 => u64, div_u64),
        (Op::Div, 64, true) => slow2!(i64, i64 => i64, div_s64),
        (Op::Rem, 16, false) => slow2!(u16, u16 => u16, rem_u16),
        (Op::Rem, 16, true) => slow2!(i16, i16 => i16, rem_s16),
        (Op::Rem, 32, false) => slow2!(u32, u32 => u32, rem_u32),
        (Op::Rem, 32, true) => slow2!(i32, i32 => i32, rem_s32),
        (Op::Rem, 64, false) => slow2!(u64, u64 => u64, rem_u64),
        (Op::Rem, 64, true) => slow2!(i64, i64 => i64, rem_s64),
        (Op::Neg, 16, _) => slow1!(i16 => i16, i16::wrapping_neg),
        (Op::Neg, 32, _) => op1!(i32 => i32, i32::wrapping_neg),
        (Op::Neg, 64, _) => op1!(i64 => i64, i64::wrapping_neg),
        (Op::Abs, 16, _) => slow1!(i16 => i16, i16::wrapping_abs),
        (Op::Abs, 32, _) => op1!(i32 => i32, i32::wrapping_abs),
        (Op::Abs, 64, _) => op1!(i64 => i64, i64::wrapping_abs),
        (Op::Min, 16, false) => slow2!(u16, u16 => u16, |a, b| a.min(b)),
        (Op::Min, 16, true) => slow2!(i16, i16 => i16, |a, b| a.min(b)),
        (Op::Min, 32, false) => op2!(u32, u32 => u32, |a, b| if a < b { a } else { b }),
        (Op::Min, 32, true) => op2!(i32, i32 => i32, |a, b| if a < b { a } else { b }),
        (Op::Min, 64, false) => slow2!(u64, u64 => u64, |a, b| a.min(b)),
        (Op::Min, 64, true) => slow2!(i64, i64 => i64, |a, b| a.min(b)),
        (Op::Max, 16, false) => slow2!(u16, u16 => u16, |a, b| a.max(b)),
        (Op::Max, 16, true) => slow2!(i16, i16 => i16, |a, b| a.max(b)),
        (Op::Max, 32, false) => op2!(u32, u32 => u32, |a, b| if a > b { a } else { b }),
        (Op::Max, 32, true) => op2!(i32, i32 => i32, |a, b| if a > b { a } else { b }),
        (Op::Max, 64, false) => slow2!(u64, u64 => u64, |a, b| a.max(b)),
        (Op::Max, 64, true) => slow2!(i64, i64 => i64, |a, b| a.max(b)),
        (Op::And, 64, _) => op2!(u64, u64 => u64, |a, b| a & b),
        (Op::And, ..) => op2!(u32, u32 => u32, |a, b| a & b),
        (Op::Or, 64, _) => op2!(u64, u64 => u64, |a, b| a | b),
        (Op::Or, ..) => op2!(u32, u32 => u32, |a, b| a | b),
        (Op::Xor, 64, _) => op2!(u64, u64 => u64, |a, b| a ^ b),
        (Op::Xor, ..) => op2!(u32, u32 => u32, |a, b| a ^ b),
        (Op::Not, 64, _) => op1!(u64 => u64, |a| !a),
        (Op::Not, ..) => op1!(u32 => u32, |a| !a),
        (Op::Shl, 16, _) => slow2!(u16, u32 => u16, |a, n| if n < 16 { a << n } else { 0 }),
        (Op::Shl, 32, _) => op2!(u32, u32 => u32, |a, n| if n < 32 { a << (n & 31) } else { 0 }),
        (Op::Shl, 64, _) => op2!(u64, u32 => u64, |a, n| if n < 64 { a << (n & 63) } else { 0 }),
        (Op::Shr, 16, false) => slow2!(u16, u32 => u16, |a, n| if n < 16 { a >> n } else { 0 }),
        (Op::Shr, 32, false) => op2!(u32, u32 => u32, |a, n| if n < 32 { a >> (n & 31) } else { 0 }),
        (Op::Shr, 64, false) => op2!(u64, u32 => u64, |a, n| if n < 64 { a >> (n & 63) } else { 0 }),
        (Op::Shr, 16, true) => slow2!(i16, u32 => i16, |a, n| a >> n.min(15)),
        (Op::Shr, 32, true) => op2!(i32, u32 => i32, |a, n| a >> if n < 31 { n } else { 31 }),
        (Op::Shr, 64, true) => slow2!(i64, u32 => i64, |a, n| a >> n.min(63)),
        (Op::ShfL, ..) if opcode.has(Flags::WRAP) => {
            slow3!(u32, u32, u32 => u32, |a, b, n| funnel_left(a, b, n, true))
        }
        (Op::ShfL, ..) => slow3!(u32, u32, u32 => u32, |a, b, n| funnel_left(a, b, n, false)),
        (Op::ShfR, ..) if opcode.has(Flags::WRAP) => {
            slow3!(u32, u32, u32 => u32, |a, b, n| funnel_right(a, b, n, true))
        }
        (Op::ShfR, ..) => slow3!(u32, u32, u32 => u32, |a, b, n| funnel_right(a, b, n, false)),
        (Op::Bfe, 32, false) => slow3!(u32, u32, u32 => u32, |a, p, n| bfe(u64::from(a), p, n, 32, false) as u32),
        (Op::Bfe, 32, true) => slow3!(u32, u32, u32 => u32, |a, p, n| bfe(u64::from(a), p, n, 32, true) as u32),
        (Op::Bfe, 64, false) => slow3!(u64, u32, u32 => u64, |a, p, n| bfe(a, p, n, 64, false)),
        (Op::Bfe, 64, true) => slow3!(u64, u32, u32 => u64, |a, p, n| bfe(a, p, n, 64, true)),
        (Op::Bfi, 32, _) => bit_field_insert_32 as LaneOp,
        (Op::Bfi, 64, _) => bit_field_insert_64 as LaneOp,
        (Op::Popc, 32, _) => slow1!(u32 => u32, u32::count_ones),
        (Op::Popc, 64, _) => slow1!(u64 => u32, u64::count_ones),
        (Op::Clz, 32, _) => slow1!(u32 => u32, u32::leading_zeros),
        (Op::Clz, 64, _) => slow1!(u64 => u32, u64::leading_zeros),
        (Op::Brev, 32, _) => slow1!(u32 => u32, u32::reverse_bits),
        (Op::Brev, 64, _) => slow1!(u64 => u64, u64::reverse_bits),
        (Op::Prmt, ..) => match opcode.prmt {
            None => slow3!(u32, u32, u32 => u32, |a, b, c| prmt(a, b, c, None)),
            Some(PrmtMode::F4e) => slow3!(u32, u32, u32 => u32, |a, b, c| prmt(a, b, c, Some(PrmtMode::F4e))),
            Some(PrmtMode::B4e) => slow3!(u32, u32, u32 => u32, |a, b, c| prmt(a, b, c, Some(PrmtMode::B4e))),
            Some(PrmtMode::Rc8) => slow3!(u32, u32, u32 => u32, |a, b, c| prmt(a, b, c, Some(PrmtMode::Rc8))),
            Some(PrmtMode::Ecl) => slow3!(u32, u32, u32 => u32, |a, b, c| prmt(a, b, c, Some(PrmtMode::Ecl))),
            Some(PrmtMode::Ecr) => slow3!(u32, u32, u32 => u32, |a, b, c| prmt(a, b, c, Some(PrmtMode::Ecr))),
            Some(PrmtMode::Rc16) => slow3!(u32, u32, u32 => u32, |a, b, c| prmt(a, b, c, Some(PrmtMode::Rc16))),
        },
        _ => return None,
    })
}

/// A shift of 32 or 64 bits by the same amount in all lanes, which is the modifier: vectors shift
/// by one amount at once, and hardly by several.
pub fn shift_by_modifier(opcode: Opcode) -> Option<LaneOp> {
    macro_rules! shift {
        ($ty:ty, |$a:ident, $n:ident| $shifted:expr) => {
            |file, slots, warps| {
                let $n = slots.modifier % <$ty>::BITS;
                let kept: $ty = if slots.modifier < <$ty>::BITS { !0 } else { 0 };
                map1(file, slots, warps, |$a: $ty| $shifted & kept);
            }
        };
        (chunks $shift:path) => {
            |file, slots, warps| {
                let n = slots.modifier % u64::BITS;
                let kept = if slots.modifier < u64::BITS { !0 } else { 0 };
                map_chunks(file, slots, warps, |lanes| $shift(lanes, n).map(|lane| lane & kept));
            }
        };
        // By more than all bits but the sign, a number keeps its sign alone.
        (signed $ty:ty) => {
            |file, slots, warps| {
                let n = slots.modifier.min(<$ty>::BITS - 1);
                map1(file, slots, warps, |a: $ty| a >> n);
            }
        };
    }
    Some(match (opcode.op, opcode.ty.bits(), opcode.ty.is_signed()) {
        (Op::Shl, 32, _) => shift!(u32, |a, n| (a << n)),
        (Op::Shl, 64, _) => shift!(chunks shift_left),
        (Op::Shr, 32, false) => shift!(u32, |a, n| (a >> n)),
        (Op::Shr, 64, false) => shift!(chunks shift_right),
        (Op::Shr, 32, true) => shift!(signed i32),
        (Op::Shr, 64, true) => shift!(signed i64),
        _ => return None,
    })
}

#[inline(always)]
fn high_u32(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

#[inline(always)]
fn high_s32(a: i32, b: i32) -> i32 {
    ((i64::from(a) * i64::from(b)) >> 32) as i32
}

#[inline(always)]
fn high_u64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

#[inline(always)]
fn high_s64(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> 64) as i64
}

fn bit_field_insert_32(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
    each4(file, slots, warps, |a: u32, b: u32, pos: u32, len: u32| {
        bfi(u64::from(a), u64::from(b), pos, len, 32) as u32
    });
}

fn bit_field_insert_64(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
    each4(file, slots, warps, |a: u64, b: u64, pos: u32, len: u32| bfi(a, b, pos, len, 64));
}

/// `.sat` on signed 32-bit integers clamps to their range.
fn select_saturating(opcode: Opcode) -> Option<LaneOp> {
    Some(match (opcode.op, opcode.ty) {
        (Op::Add, Type::S32) => slow2!(i32, i32 => i32, i32::saturating_add),
        (Op::Sub, Type::S32) => slow2!(i32, i32 => i32, i32::saturating_sub),
        (Op::MadHi, Type::S32) => slow3!(i32, i32, i32 => i32, |a, b, c| high_s32(a, b).saturating_add(c)),
        _ => return None,
    })
}

/// Value of a carry chain before the carry: a 128-bit sum whose bits above the width are the carry, or the borrow.
#[derive(Clone, Copy, PartialEq)]
enum Chain {
    Add,
    Sub,
    MadLow,
    MadHighUnsigned,
    MadHighSigned,
}

fn select_carry(opcode: Opcode) -> Option<LaneOp> {
    use Chain::{Add, MadHighSigned, MadHighUnsigned, MadLow, Sub};
    let high = opcode.op == Op::MadHi || opcode.has(Flags::HI);
    let signed = opcode.ty.is_signed();
    let wide = opcode.ty.bits() == 64;
    macro_rules! chain {
        ($which:expr, $carry_in:expr) => {
            if wide { carry::<u64, { $which as u8 }, $carry_in> } else { carry::<u32, { $which as u8 }, $carry_in> }
        };
    }
    Some(match opcode.op {
        Op::Add => chain!(Add, false),
        Op::Sub => chain!(Sub, false),
        Op::Addc => chain!(Add, true),
        Op::Subc => chain!(Sub, true),
        Op::Mad | Op::MadHi if !high => chain!(MadLow, false),
        Op::Mad | Op::MadHi if signed => chain!(MadHighSigned, false),
        Op::Mad | Op::MadHi => chain!(MadHighUnsigned, false),
        Op::Madc if !high => chain!(MadLow, true),
        Op::Madc if signed => chain!(MadHighSigned, true),
        Op::Madc => chain!(MadHighUnsigned, true),
        _ => return None,
    })
}

/// A width that carries: its numbers as 128-bit ones and back.
trait CarryWord: Lane {
    const BITS: u32;
    fn unsigned(self) -> u128;
    fn signed(self) -> i128;
    fn low(wide: u128) -> Self;
}

macro_rules! carry_word {
    ($ty:ty, $signed:ty) => {
        impl CarryWord for $ty {
            const BITS: u32 = <$ty>::BITS;

            fn unsigned(self) -> u128 {
                u128::from(self)
            }

            fn signed(self) -> i128 {
                i128::from(self as $signed)
            }

            fn low(wide: u128) -> $ty {
                wide as $ty
            }
        }
    };
}

carry_word!(u32, i32);
carry_word!(u64, i64);

/// A link of a carry chain: the result to `d`, the carry to predicate `e`, the carry in from predicate `f`. An opcode
/// without a carry out has `e` at a predicate that nothing reads.
fn carry<W: CarryWord, const CHAIN: u8, const CARRY_IN: bool>(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
    each_warp(file, warps, |file, mask| {
        let carries = if CARRY_IN { file.predicates[file.at(slots.f)] ^ slots.flip } else { 0 };
        let mut carry_out = 0;
        for_each_lane(mask, |lane| {
            let operand = |slot: u32| W::get(&file.planes, file.at(slot), lane);
            let carry_in = u128::from((carries >> lane) & 1);
            let (a, b) = (operand(slots.a), operand(slots.b));
            let wide = if CHAIN == Chain::Add as u8 {
                a.unsigned() + b.unsigned() + carry_in
            } else if CHAIN == Chain::Sub as u8 {
                a.unsigned().wrapping_sub(b.unsigned()).wrapping_sub(carry_in)
            } else {
                let part = if CHAIN == Chain::MadLow as u8 {
                    W::low(a.unsigned() * b.unsigned())
                } else if CHAIN == Chain::MadHighUnsigned as u8 {
                    W::low((a.unsigned() * b.unsigned()) >> W::BITS)
                } else {
                    W::low(((a.signed() * b.signed()) >> W::BITS) as u128)
                };
                part.unsigned() + operand(slots.c).unsigned() + carry_in
            };
            carry_out |= ((wide >> W::BITS) as u32 & 1) << lane;
            let to = file.at(slots.d);
            W::set(&mut file.planes, to, lane, W::low(wide));
        });
        let out = file.at(slots.e);
        let out = &mut file.predicates[out];
        *out = (*out & !mask) | carry_out;
    });
}

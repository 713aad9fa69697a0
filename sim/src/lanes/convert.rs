//! `cvt`, and the small steps around other opcodes: widths, flushing, saturation, canonical NaN.

use rustc_apfloat::Round;

use super::float::round_of;
use super::plane::{Active, Lane, LaneFile, LaneOp, Slots, each_warp, each1, for_each_lane, map1};
use super::select::op1;
use crate::arith::convert::{clamp_integer, float_to_float, float_to_integer, integer_to_float};
use crate::arith::float::{self, Real};
use crate::arith::half::F16;
use crate::arith::integer::sign_extend;
use crate::ir::{Flags, Opcode, Rounding, Type};

/// The function of a `cvt`: a SIMD loop for the common pairs, [`convert`] for the others.
pub(super) fn select_cvt(opcode: Opcode) -> LaneOp {
    let to_nearest = matches!(opcode.rounding, None | Some(Rounding::Rn));
    let truncates = matches!(opcode.rounding, None | Some(Rounding::Rzi));
    let plain = opcode.flags.is_empty();
    match (opcode.ty, opcode.src_ty) {
        (Type::S64 | Type::U64, Type::S32) if plain => op1!(i32 => i64, i64::from),
        (Type::S64 | Type::U64, Type::U32) if plain => op1!(u32 => u64, u64::from),
        (Type::S32 | Type::U32, Type::S64 | Type::U64) if plain => op1!(u64 => u32, |a| a as u32),
        (Type::S32 | Type::U32, Type::S32 | Type::U32) if plain => op1!(u32 => u32, |a| a),
        (Type::S32 | Type::U32, Type::S16) if plain => op1!(i16 => i32, i32::from),
        (Type::S32 | Type::U32, Type::U16) if plain => op1!(u16 => u32, u32::from),
        (Type::S32 | Type::U32, Type::S8) if plain => op1!(i8 => i32, i32::from),
        (Type::S32 | Type::U32, Type::U8) if plain => op1!(u8 => u32, u32::from),
        (Type::F32, Type::S32) if plain && to_nearest => op1!(i32 => f32, |a| a as f32),
        (Type::F32, Type::U32) if plain && to_nearest => op1!(u32 => f32, |a| a as f32),
        (Type::F64, Type::S32) if plain && to_nearest => op1!(i32 => f64, f64::from),
        (Type::F64, Type::U32) if plain && to_nearest => op1!(u32 => f64, f64::from),
        (Type::F64, Type::F32) if plain && to_nearest => op1!(f32 => f64, f64::from),
        (Type::F32, Type::F64) if plain && to_nearest => op1!(f64 => f32, |a| a as f32),
        (Type::S32, Type::F32) if plain && truncates => op1!(f32 => i32, |a| a as i32),
        (Type::U32, Type::F32) if plain && truncates => op1!(f32 => u32, |a| a as u32),
        _ => convert,
    }
}

/// Everything that [`convert`] has to know, as [`Slots::modifier`].
pub(super) fn cvt_code(opcode: Opcode) -> u32 {
    let default = if opcode.ty.is_float() { Rounding::Rn } else { Rounding::Rzi };
    let rounding = opcode.rounding.unwrap_or(default);
    let integral = matches!(rounding, Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi);
    let flag = |flag, bit: u32| if opcode.has(flag) { 1u32 << bit } else { 0 };
    super::float::round_code(Some(rounding))
        | u32::from(integral) << 2
        | flag(Flags::SAT, 3)
        | flag(Flags::FTZ, 4)
        | (opcode.ty as u32) << 8
        | (opcode.src_ty as u32) << 16
}

/// A number on its way from one type to another.
#[derive(Clone, Copy)]
enum Value {
    Integer(i128),
    Half(F16),
    Single(f32),
    Double(f64),
}

/// Any pair of types, any modifiers: read all lanes, then convert, then write all lanes.
fn convert(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
    let code = slots.modifier;
    let (to, from) = (type_of(code >> 8), type_of(code >> 16));
    each_warp(file, warps, |file, mask| {
        let values = read(file, file.at(slots.a), from, code & 16 != 0);
        let mut bits = [0u64; 32];
        for_each_lane(mask, |lane| bits[lane] = convert_value(values[lane], to, code));
        let place = file.at(slots.d);
        for_each_lane(mask, |lane| {
            if to.bits() == 64 {
                u64::set(&mut file.planes, place, lane, bits[lane]);
            } else {
                u32::set(&mut file.planes, place, lane, bits[lane] as u32);
            }
        });
    });
}

fn type_of(code: u32) -> Type {
    Type::ALL[(code & 0xFF) as usize % Type::ALL.len()]
}

fn read(file: &LaneFile, slot: usize, from: Type, flush: bool) -> [Value; 32] {
    core::array::from_fn(|lane| match from {
        Type::F16 => Value::Half(F16::get(&file.planes, slot, lane)),
        Type::F32 => {
            let value = f32::get(&file.planes, slot, lane);
            Value::Single(if flush { value.flush() } else { value })
        }
        Type::F64 => Value::Double(f64::get(&file.planes, slot, lane)),
        _ => {
            let bits = if from.bits() == 64 {
                u64::get(&file.planes, slot, lane)
            } else {
                u64::from(u32::get(&file.planes, slot, lane)) & from.mask()
            };
            Value::Integer(if from.is_signed() { sign_extend(bits, from.bits()).into() } else { bits.into() })
        }
    })
}

/// The bits of the result; an integer narrower than a lane is extended by its sign.
fn convert_value(value: Value, to: Type, code: u32) -> u64 {
    let round = round_of(code);
    let (integral, saturate, flush) = (code & 4 != 0, code & 8 != 0, code & 16 != 0);
    match to {
        Type::F16 => u64::from(to_float::<F16>(value, round, integral, saturate, false).0),
        Type::F32 => u64::from(to_float::<f32>(value, round, integral, saturate, flush).to_bits()),
        Type::F64 => to_float::<f64>(value, round, integral, saturate, false).to_bits(),
        _ => {
            let (bits, signed) = (to.bits(), to.is_signed());
            match value {
                Value::Integer(value) if saturate => clamp_integer(value, bits, signed),
                Value::Integer(value) if signed => sign_extend(value as u64, bits) as u64,
                Value::Integer(value) => value as u64 & to.mask(),
                Value::Half(value) => float_to_integer(value, bits, signed, round),
                Value::Single(value) => float_to_integer(value, bits, signed, round),
                Value::Double(value) => float_to_integer(value, bits, signed, round),
            }
        }
    }
}

/// To a float. An integral rounding rounds in the source's format, as between equal formats it must.
fn to_float<B: Real>(value: Value, round: Round, integral: bool, saturate: bool, flush: bool) -> B
where
    rustc_apfloat::ieee::Half: rustc_apfloat::FloatConvert<B::Soft>,
    rustc_apfloat::ieee::Single: rustc_apfloat::FloatConvert<B::Soft>,
    rustc_apfloat::ieee::Double: rustc_apfloat::FloatConvert<B::Soft>,
{
    fn step<A: Real, B: Real>(a: A, round: Round, integral: bool) -> B
    where
        A::Soft: rustc_apfloat::FloatConvert<B::Soft>,
    {
        if integral { float_to_float(float::round_to_integral(a, round), round) } else { float_to_float(a, round) }
    }
    let result: B = match value {
        Value::Integer(value) => integer_to_float(value, round),
        Value::Half(value) => step(value, round, integral),
        Value::Single(value) => step(value, round, integral),
        Value::Double(value) => step(value, round, integral),
    };
    let result = if flush { result.flush() } else { result };
    if saturate { float::saturate(result) } else { result }
}

/// The step that copies a value of any lane width.
pub fn copy(bits: u32) -> LaneOp {
    if bits == 64 { op1!(u64 => u64, |a| a) } else { op1!(u32 => u32, |a| a) }
}

/// The step that takes the low 32 bits of a 64-bit operand.
pub fn narrow() -> LaneOp {
    op1!(u64 => u32, |a| a as u32)
}

/// The step that extends a result of type `ty` (at most 32 bits) to a 64-bit register, by its sign where it has one.
pub fn extend(ty: Type) -> LaneOp {
    match (ty.is_signed(), ty.bits()) {
        (true, 8) => op1!(i8 => i64, i64::from),
        (true, 16) => op1!(i16 => i64, i64::from),
        (true, _) => op1!(i32 => i64, i64::from),
        (false, 8) => op1!(u8 => u64, u64::from),
        (false, 16) => op1!(u16 => u64, u64::from),
        (false, _) => op1!(u32 => u64, u64::from),
    }
}

/// The step of `.ftz`, if the type has one.
pub fn flush(ty: Type) -> Option<LaneOp> {
    fn half(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
        each1(file, slots, warps, F16::flush);
    }
    match ty {
        Type::F16 => Some(half),
        Type::F32 => Some(op1!(f32 => f32, Real::flush)),
        Type::F64 => Some(op1!(f64 => f64, Real::flush)),
        _ => None,
    }
}

/// The step of a float's `.sat`.
pub fn saturate(ty: Type) -> Option<LaneOp> {
    fn half(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
        each1(file, slots, warps, float::saturate::<F16>);
    }
    match ty {
        Type::F16 => Some(half),
        Type::F32 => Some(op1!(f32 => f32, float::saturate)),
        Type::F64 => Some(op1!(f64 => f64, float::saturate)),
        _ => None,
    }
}

/// The step of an unpacking `mov`: part of the operand, from the bit that the modifier says.
pub fn unpack(whole: Type, part: Type) -> LaneOp {
    macro_rules! part {
        ($whole:ty, $part:ty) => {
            |file, slots, warps| each1(file, slots, warps, |a: $whole| (a >> slots.modifier) as $part)
        };
    }
    match (whole.bits(), part.bits()) {
        (64, 32) => part!(u64, u32),
        (64, 16) => part!(u64, u16),
        (_, 16) => part!(u32, u16),
        _ => part!(u32, u8),
    }
}

/// The step of a packing `mov`: puts a part at the bit that the modifier says and clears what
/// stands above, so the parts come lowest first.
pub fn pack(whole: Type, part: Type) -> LaneOp {
    macro_rules! part {
        ($whole:ty, $part:ty) => {
            |file, slots, warps| {
                each_warp(file, warps, |file, mask| {
                    let (from, to) = (file.at(slots.a), file.at(slots.d));
                    for_each_lane(mask, |lane| {
                        let below = <$whole>::get(&file.planes, to, lane) & ((1 << slots.modifier) - 1);
                        let part = <$whole>::from(<$part>::get(&file.planes, from, lane));
                        <$whole>::set(&mut file.planes, to, lane, below | (part << slots.modifier));
                    });
                });
            }
        };
    }
    match (whole.bits(), part.bits()) {
        (64, 32) => part!(u64, u32),
        (64, 16) => part!(u64, u16),
        (_, 16) => part!(u32, u16),
        _ => part!(u32, u8),
    }
}

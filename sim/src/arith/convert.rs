//! `cvt`: between every two types, with every rounding.

use rustc_apfloat::{Float, FloatConvert, Round};

use super::float::Real;

/// Float to float, rounded to the format of the result.
pub fn float_to_float<A: Real, B: Real>(a: A, round: Round) -> B
where
    A::Soft: FloatConvert<B::Soft>,
{
    if a.is_nan() {
        // The library would keep the payload; one NaN is enough.
        return B::from_soft(B::Soft::NAN).canonical();
    }
    B::from_soft(a.to_soft().convert_r(round, &mut false).value)
}

/// Float to an integer of `bits` bits, clamped to its range as hardware does. NaN is 0, or, as PTX says, the number
/// with only its highest bit set where either side has 64 bits. The result is sign- or zero-extended.
pub fn float_to_integer<A: Real>(a: A, bits: u32, signed: bool, round: Round) -> u64 {
    if a.is_nan() {
        return if bits == 64 || size_of::<A>() == 8 { highest_bit(bits, signed) } else { 0 };
    }
    let soft = a.to_soft();
    if signed {
        soft.to_i128_r(bits as usize, round, &mut false).value as u64
    } else {
        soft.to_u128_r(bits as usize, round, &mut false).value as u64
    }
}

/// Integer to float.
pub fn integer_to_float<B: Real>(value: i128, round: Round) -> B {
    B::from_soft(B::Soft::from_i128_r(value, round).value)
}

/// Integer to integer with `.sat`: clamped to the range of `bits` bits. The result is sign- or zero-extended.
pub fn clamp_integer(value: i128, bits: u32, signed: bool) -> u64 {
    let (low, high) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    value.clamp(low, high) as u64
}

fn highest_bit(bits: u32, signed: bool) -> u64 {
    if signed { (-1i64 << (bits - 1)) as u64 } else { 1 << (bits - 1) }
}

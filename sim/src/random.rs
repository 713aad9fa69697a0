//! Random values that depend on nothing but what they are for.
//!
//! ```text
//! hash(w₁ … wₙ)   h₀ = 0x9E3779B97F4A7C15,  hᵢ = mix(hᵢ₋₁ ⊕ wᵢ) + 0x9E3779B97F4A7C15
//! mix(z)          z ⊕= z ≫ 30, z ×= 0xBF58476D1CE4E5B9, z ⊕= z ≫ 27, z ×= 0x94D049BB133111EB, z ⊕= z ≫ 31
//! unit(h)         (h ≫ 11) · 2⁻⁵³, in [0, 1)
//! ```
//!
//! A value has a *stream* (a parameter's position, or the hash of an input's name) and a *place* in it: an element's
//! number, or a thread and how many draws it has made. With probability `coherence` the whole group that the place
//! belongs to (an aligned warp's worth of elements; a warp and a draw number) shares one place. From the place come,
//! each by a hash of its own, whether the value is zero and what it is else. So equal programs see equal values in any
//! order of execution, natively and in WebAssembly.
//!
//! Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (the mixing function, in
//! Stafford's variant 13).

use rustc_apfloat::Round;

use super::arith::convert::float_to_float;
use crate::ir::{Number, Type, TypeClass, ValueSource, Values};

/// The golden ratio in 64 bits.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A hash of a few words.
pub fn hash(words: &[u64]) -> u64 {
    words.iter().fold(GOLDEN, |state, word| mix(state ^ word).wrapping_add(GOLDEN))
}

/// A hash of a name.
pub fn hash_name(name: &str) -> u64 {
    name.bytes().fold(hash(&[]), |state, byte| hash(&[state, u64::from(byte)]))
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number in [0, 1).
fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Values of one buffer, texture or input.
pub struct Stream<'a> {
    values: &'a Values,
    ty: Type,
    key: u64,
}

/// Place of a value in its stream.
#[derive(Clone, Copy)]
pub struct Place {
    /// The place's own key.
    pub own: [u64; 2],
    /// The key of the group that may share one draw.
    pub group: [u64; 2],
    /// The number in order, for `iota` and lists.
    pub number: u64,
}

impl Place {
    /// Element `index` of a buffer, in groups of one warp.
    pub fn element(index: u64, warp_size: u32) -> Place {
        Place { own: [index, 0], group: [index / u64::from(warp_size.max(1)), 1], number: index }
    }
}

/// Purpose of a hash, so that decisions about one value are independent.
const SHARES: u64 = 1;
const IS_ZERO: u64 = 2;
const VALUE: u64 = 3;

impl<'a> Stream<'a> {
    /// The stream of a parameter or input; `stream` tells it from others of the launch.
    pub fn new(values: &'a Values, ty: Type, seed: u64, stream: u64) -> Stream<'a> {
        Stream { values, ty, key: hash(&[seed, stream]) }
    }

    /// The bits of the value at a place, reduced to the type's width.
    pub fn value(&self, place: Place) -> u64 {
        let decide = |purpose: u64, at: [u64; 2]| unit(hash(&[self.key, purpose, at[0], at[1]]));
        let coherence = self.values.coherence.unwrap_or(0.0);
        let shares = coherence > 0.0 && decide(SHARES, place.group) < coherence;
        let at = if shares { [place.group[0], place.group[1] | 1 << 63] } else { place.own };
        let zero = self.values.zero.unwrap_or(0.0);
        if zero > 0.0 && decide(IS_ZERO, at) < zero {
            return 0;
        }
        let draw = hash(&[self.key, VALUE, at[0], at[1]]);
        match &self.values.source {
            ValueSource::Iota => number_bits(Number::Int(place.number.into()), self.ty),
            ValueSource::Const(number) => number_bits(*number, self.ty),
            ValueSource::List(list) => {
                list.get(place.number as usize).map_or(0, |&number| number_bits(number, self.ty))
            }
            ValueSource::True(probability) => number_bits(Number::Int((unit(draw) < *probability).into()), self.ty),
            ValueSource::Random(low, high) if self.ty.is_float() => {
                random_float(number_value(*low), number_value(*high), unit(draw), self.ty)
            }
            ValueSource::Random(low, high) => {
                let (low, high) = (number_integer(*low), number_integer(*high));
                // 2⁶⁴ values at most, so the span fits.
                let span = high.saturating_sub(low).clamp(0, i128::from(u64::MAX)) as u128 + 1;
                let offset = (u128::from(draw) * span) >> 64;
                number_bits(Number::Int(low + offset as i128), self.ty)
            }
        }
    }
}

/// Rounding to the type may reach the upper end, which is excluded: then the lower end it is.
fn random_float(low: f64, high: f64, unit: f64, ty: Type) -> u64 {
    let span = high - low;
    // Ends whose distance no double can hold.
    let wide = span.is_infinite() && low.is_finite() && high.is_finite();
    let value = if wide { low * (1.0 - unit) + high * unit } else { low + span * unit };
    let bits = float_bits(value, ty);
    let value = match ty {
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        Type::F64 => f64::from_bits(bits),
        _ => f64::from(super::arith::half::F16(bits as u16).to_f32()),
    };
    if low < high && value >= high { float_bits(low, ty) } else { bits }
}

/// A number as written, as the bits of a type. Floats that become integers are truncated and clamped to 64 bits;
/// what is written as bits of the type keeps them.
pub fn number_bits(number: Number, ty: Type) -> u64 {
    if ty == Type::Pred {
        return u64::from(number_value(number) != 0.0);
    }
    match (ty.class(), ty, number) {
        (TypeClass::Float, _, Number::F32Bits(_) | Number::F64Bits(_)) => {
            number.bits(ty).unwrap_or_else(|_| float_bits(number_value(number), ty))
        }
        (TypeClass::Bits, _, Number::F32Bits(bits)) => u64::from(bits) & ty.mask(),
        (TypeClass::Bits, _, Number::F64Bits(bits)) => bits & ty.mask(),
        (TypeClass::Float, ..) => float_bits(number_value(number), ty),
        _ => number_integer(number) as u64 & ty.mask(),
    }
}

/// A double rounded to a float type, as bits; NaN is the canonical one.
fn float_bits(value: f64, ty: Type) -> u64 {
    let nearest = Round::NearestTiesToEven;
    match ty {
        Type::F16 => u64::from(float_to_float::<f64, super::arith::half::F16>(value, nearest).0),
        Type::F32 => u64::from(float_to_float::<f64, f32>(value, nearest).to_bits()),
        _ => float_to_float::<f64, f64>(value, nearest).to_bits(),
    }
}

/// A number as written, as a double.
pub fn number_value(number: Number) -> f64 {
    match number {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
        Number::F32Bits(bits) => f64::from(f32::from_bits(bits)),
        Number::F64Bits(bits) => f64::from_bits(bits),
    }
}

/// A number as written, as an integer.
fn number_integer(number: Number) -> i128 {
    match number {
        Number::Int(value) => value,
        other => number_value(other) as i128,
    }
}

//! Numbers: from their spelling to bits of a type, and back to the shortest spelling that gives the same bits.
//!
//! ```text
//! -1 as s32, u32 or b32  ->  FFFFFFFF        FFFFFFFF  ->  -1 (s32), 4294967295 (u32, b32)
//! 1 or 1.0 as f32        ->  3F800000        3F800000  ->  1.0
//! nan as f32             ->  7FFFFFFF        7FC00000  ->  0f7FC00000, for every NaN but the canonical one
//! ```
//!
//! A number that does not fit its type is an error, with two exceptions that PTX makes too: a negative number stands
//! for its two's complement in `u` and `b` types (as far as the signed type of that width reaches), and a hexadecimal
//! number may use all bits of an `s` type. PTX's `0f…` and `0d…` give the exact bits of a float.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use half::f16;

use super::nearest_half::nearest_half;
use crate::ir::{Number, Type, TypeClass};

/// A number as it stands in the text, without its sign.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Literal<'a> {
    /// Decimal digits or `0x…`.
    Int { value: u64, hexadecimal: bool },
    /// With a point or an exponent; the spelling is a float of Rust's.
    Float(&'a str),
    /// `inf`
    Infinity,
    /// `nan`
    Nan,
    /// `0f3F800000`
    F32Bits(u32),
    /// `0d3FF0000000000000`
    F64Bits(u64),
}

/// The NaN that arithmetic yields in a float type.
pub const fn canonical_nan(ty: Type) -> u64 {
    match ty {
        Type::F16 => 0x7FFF,
        Type::F32 => 0x7FFF_FFFF,
        _ => 0x7FFF_FFFF_FFFF_FFFF,
    }
}

impl<'a> Literal<'a> {
    /// Reads what the lexer calls a number. The error says what is wrong with it.
    pub fn parse(text: &'a str) -> Result<Literal<'a>, &'static str> {
        let digits = text.get(2..).unwrap_or("");
        let hexadecimal = |length: usize, wrong: &'static str| {
            let well_formed = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if well_formed { u64::from_str_radix(digits, 16).map_err(|_| wrong) } else { Err(wrong) }
        };
        match text.get(..2) {
            Some("0x" | "0X") => {
                if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Err("`0x` takes hexadecimal digits");
                }
                let value = u64::from_str_radix(digits, 16).map_err(|_| "the number has more than 64 bits")?;
                return Ok(Literal::Int { value, hexadecimal: true });
            }
            Some("0f" | "0F") => {
                let bits = hexadecimal(8, "`0f` takes exactly 8 hexadecimal digits, the bits of an f32")?;
                return Ok(Literal::F32Bits(bits as u32));
            }
            Some("0d" | "0D") => {
                let bits = hexadecimal(16, "`0d` takes exactly 16 hexadecimal digits, the bits of an f64")?;
                return Ok(Literal::F64Bits(bits));
            }
            _ => {}
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let value = text.parse().map_err(|_| "the number has more than 64 bits")?;
            return Ok(Literal::Int { value, hexadecimal: false });
        }
        let spelled_as_float = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        if spelled_as_float && text.parse::<f64>().is_ok() {
            Ok(Literal::Float(text))
        } else {
            Err("a number is decimal, `0x…`, a float such as `1.0` or `1e-3`, or PTX's `0f…`")
        }
    }

    /// The bits that the number has as a constant of a type. The error says why it is none.
    pub fn bits(self, negative: bool, ty: Type) -> Result<u64, String> {
        match ty.class() {
            TypeClass::Float => self.float_bits(negative, ty),
            _ => self.integer_bits(negative, ty),
        }
    }

    fn integer_bits(self, negative: bool, ty: Type) -> Result<u64, String> {
        let (value, hexadecimal) = match self {
            Literal::Int { value, hexadecimal } => (value, hexadecimal),
            Literal::F32Bits(bits) if ty == Type::B32 => return Ok(u64::from(flip(bits, negative))),
            Literal::F64Bits(bits) if ty == Type::B64 => return Ok(bits ^ (u64::from(negative) << 63)),
            _ => return Err(format!("a float does not fit type {ty}")),
        };
        let half = 1u64 << (ty.bits() - 1);
        let largest = match ty.class() {
            TypeClass::Signed if !hexadecimal => half - 1,
            _ => ty.mask(),
        };
        if negative {
            let smallest = if ty == Type::Pred { 0 } else { half };
            if value > smallest {
                return Err(format!("-{value} does not fit type {ty}, the smallest is -{smallest}"));
            }
            return Ok(value.wrapping_neg() & ty.mask());
        }
        if value > largest {
            return Err(format!("{value} does not fit type {ty}, the largest is {largest}"));
        }
        Ok(value)
    }

    fn float_bits(self, negative: bool, ty: Type) -> Result<u64, String> {
        let sign = u64::from(negative) << (ty.bits() - 1);
        let too_large = |text: &str| format!("{text} does not fit type {ty}; write `inf` for infinity");
        let magnitude = match self {
            Literal::Int { hexadecimal: true, .. } => {
                return Err(format!(
                    "a hexadecimal integer is not of type {ty}; write its value as `1.0`, or its bits as `0f3F800000`"
                ));
            }
            Literal::Int { value, .. } => {
                // As the decimal number that it is: an integer that is no float is rounded like `0.1` is.
                let text = format!("{value}");
                decimal_bits(&text, ty).ok_or_else(|| too_large(&text))?
            }
            Literal::Float(text) => decimal_bits(text, ty).ok_or_else(|| too_large(text))?,
            Literal::Infinity => match ty {
                Type::F16 => u64::from(f16::INFINITY.to_bits()),
                Type::F32 => u64::from(f32::INFINITY.to_bits()),
                _ => f64::INFINITY.to_bits(),
            },
            Literal::Nan => canonical_nan(ty),
            Literal::F32Bits(bits) => match ty {
                Type::F32 => u64::from(bits),
                Type::F64 => widened(bits),
                _ => narrowed(bits).ok_or_else(|| format!("0f{bits:08X} is not exactly a value of type {ty}"))?,
            },
            Literal::F64Bits(bits) if ty == Type::F64 => bits,
            Literal::F64Bits(_) => return Err(format!("`0d…` has the bits of an f64, not of type {ty}")),
        };
        Ok(magnitude ^ sign)
    }

    /// The number as a launch keeps it.
    pub fn number(self, negative: bool) -> Number {
        match self {
            Literal::Int { value, .. } if negative => Number::Int(-i128::from(value)),
            Literal::Int { value, .. } => Number::Int(i128::from(value)),
            Literal::Float(text) => {
                let value = text.parse().unwrap_or(f64::NAN);
                Number::Float(if negative { -value } else { value })
            }
            Literal::Infinity => Number::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
            Literal::Nan => Number::Float(f64::NAN),
            Literal::F32Bits(bits) => Number::F32Bits(flip(bits, negative)),
            Literal::F64Bits(bits) => Number::F64Bits(bits ^ (u64::from(negative) << 63)),
        }
    }
}

impl Number {
    /// The bits that the number has as a constant of a type, by the rules of the text. The error says why it is none.
    pub fn bits(self, ty: Type) -> Result<u64, String> {
        match self {
            Number::Int(value) => match u64::try_from(value.unsigned_abs()) {
                Ok(magnitude) => Literal::Int { value: magnitude, hexadecimal: false }.bits(value < 0, ty),
                Err(_) => Err(format!("{value} does not fit type {ty}")),
            },
            Number::Float(value) if value.is_nan() => Literal::Nan.bits(false, ty),
            Number::Float(value) if value.is_infinite() => Literal::Infinity.bits(value < 0.0, ty),
            Number::Float(value) => {
                let text = format!("{:?}", value.abs());
                Literal::Float(&text).bits(value.is_sign_negative(), ty)
            }
            Number::F32Bits(bits) => Literal::F32Bits(bits).bits(false, ty),
            Number::F64Bits(bits) => Literal::F64Bits(bits).bits(false, ty),
        }
    }

    /// The number as a count or probability is computed with.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
            Number::F32Bits(bits) => f64::from(f32::from_bits(bits)),
            Number::F64Bits(bits) => f64::from_bits(bits),
        }
    }
}

/// A constant as an operand of that type is written.
pub fn constant_text(bits: u64, ty: Type) -> String {
    let mut text = String::new();
    write_constant(&mut text, bits, ty, false);
    text
}

/// Writes a constant of a type. `plain_names` says that `inf` and `nan` mean numbers, because no register has that
/// name.
pub(crate) fn write_constant(out: &mut String, bits: u64, ty: Type, plain_names: bool) {
    let bits = bits & ty.mask();
    // Writing to a string cannot fail.
    let _ = match ty.class() {
        TypeClass::Pred | TypeClass::Bits | TypeClass::Unsigned => write!(out, "{bits}"),
        TypeClass::Signed => {
            let unused = 64 - ty.bits();
            write!(out, "{}", ((bits << unused) as i64) >> unused)
        }
        TypeClass::Float => {
            write_float(out, bits, ty, plain_names);
            Ok(())
        }
    };
}

fn write_float(out: &mut String, bits: u64, ty: Type, plain_names: bool) {
    let value = match ty {
        Type::F16 => f16::from_bits(bits as u16).to_f64(),
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    };
    let negative = bits >> (ty.bits() - 1) != 0;
    let _ = if value.is_nan() && plain_names && bits == canonical_nan(ty) {
        write!(out, "nan")
    } else if value.is_infinite() && plain_names {
        write!(out, "{}", if negative { "-inf" } else { "inf" })
    } else if !value.is_finite() {
        match ty {
            Type::F16 => write!(out, "0f{:08X}", widened_f16(bits as u16)),
            Type::F32 => write!(out, "0f{bits:08X}"),
            _ => write!(out, "0d{bits:016X}"),
        }
    } else {
        match ty {
            Type::F16 => write!(out, "{}", shortest_f16(f16::from_bits(bits as u16))),
            Type::F32 => write!(out, "{:?}", f32::from_bits(bits as u32)),
            _ => write!(out, "{value:?}"),
        }
    };
}

/// Writes a number of a launch or profile.
pub(crate) fn write_number(out: &mut String, number: Number) {
    let _ = match number {
        Number::Int(value) => write!(out, "{value}"),
        Number::Float(value) if value.is_nan() => write!(out, "nan"),
        Number::Float(value) => write!(out, "{value:?}"),
        Number::F32Bits(bits) => write!(out, "0f{bits:08X}"),
        Number::F64Bits(bits) => write!(out, "0d{bits:016X}"),
    };
}

/// The nearest float of a decimal number, if it is finite.
fn decimal_bits(text: &str, ty: Type) -> Option<u64> {
    match ty {
        Type::F32 => text.parse::<f32>().ok().filter(|value| value.is_finite()).map(|value| u64::from(value.to_bits())),
        Type::F64 => text.parse::<f64>().ok().filter(|value| value.is_finite()).map(f64::to_bits),
        _ => nearest_half(text).filter(|value| value.is_finite()).map(|value| u64::from(value.to_bits())),
    }
}

/// The decimal number of fewest digits that gives this f16.
fn shortest_f16(value: f16) -> String {
    let wide = value.to_f32();
    for digits in 0..6 {
        let text = format!("{wide:.digits$e}");
        if nearest_half(&text).is_some_and(|near| near.to_bits() == value.to_bits())
            && let Ok(short) = text.parse::<f32>()
        {
            return format!("{short:?}");
        }
    }
    format!("{wide:?}")
}

/// f32 bits as f64 bits; a NaN keeps its payload.
fn widened(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        return sign | 0x7FF0_0000_0000_0000 | (u64::from(bits & 0x007F_FFFF) << 29);
    }
    f64::from(value).to_bits()
}

/// f16 bits as f32 bits, for values that are not finite.
fn widened_f16(bits: u16) -> u32 {
    (u32::from(bits >> 15) << 31) | 0x7F80_0000 | (u32::from(bits & 0x03FF) << 13)
}

/// f32 bits as f16 bits, where nothing is lost.
fn narrowed(bits: u32) -> Option<u64> {
    let value = f32::from_bits(bits);
    if !value.is_finite() {
        let short = ((bits >> 16) as u16 & 0x8000) | 0x7C00 | (bits >> 13 & 0x03FF) as u16;
        return (widened_f16(short) == bits).then_some(u64::from(short));
    }
    let short = f16::from_f32(value);
    (short.to_f32().to_bits() == bits).then_some(u64::from(short.to_bits()))
}

fn flip(bits: u32, negative: bool) -> u32 {
    bits ^ (u32::from(negative) << 31)
}

//! Integer operations that are more than one operator.

use crate::ir::PrmtMode;

macro_rules! division {
    ($div:ident, $rem:ident, $ty:ty) => {
        /// Division; by zero it gives all ones, and the one overflow wraps.
        #[inline]
        pub fn $div(a: $ty, b: $ty) -> $ty {
            if b == 0 { !0 } else { a.wrapping_div(b) }
        }

        /// Remainder; by zero it gives all ones, and the one overflow gives 0.
        #[inline]
        pub fn $rem(a: $ty, b: $ty) -> $ty {
            if b == 0 { !0 } else { a.wrapping_rem(b) }
        }
    };
}

division!(div_u16, rem_u16, u16);
division!(div_s16, rem_s16, i16);
division!(div_u32, rem_u32, u32);
division!(div_s32, rem_s32, i32);
division!(div_u64, rem_u64, u64);
division!(div_s64, rem_s64, i64);

/// `bfe` of a word of `bits` bits (32 or 64): `len` bits from `pos`, both taken modulo 256. A signed field is filled up
/// with its highest bit, or the word's where the field reaches beyond the word; an empty field is 0.
#[inline]
pub fn bfe(a: u64, pos: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 0xFF, len & 0xFF);
    if len == 0 {
        return 0;
    }
    let wide = if signed { sign_extend(a, bits) as i128 } else { i128::from(a) };
    let field = wide >> pos.min(127);
    if len >= bits {
        return field as u64;
    }
    if signed { sign_extend(field as u64, len) as u64 } else { field as u64 & ((1 << len) - 1) }
}

/// `bfi`: the low `len` bits of `a` put into `b` at `pos`, both taken modulo 256.
#[inline]
pub fn bfi(a: u64, b: u64, pos: u32, len: u32, bits: u32) -> u64 {
    let (pos, len) = (pos & 0xFF, (len & 0xFF).min(bits));
    if len == 0 || pos >= bits {
        return b;
    }
    let mask = (((1u128 << len) - 1) << pos) as u64;
    ((a << pos) & mask) | (b & !mask)
}

/// `prmt`: picks four of the eight bytes of `b:a`. In the default mode each selector is four bits, the highest of which
/// asks for the byte's sign in all eight bits.
#[inline]
pub fn prmt(a: u32, b: u32, selector: u32, mode: Option<PrmtMode>) -> u32 {
    let bytes = (u64::from(b) << 32) | u64::from(a);
    let byte = |index: u32| (bytes >> (8 * (index & 7))) as u32 & 0xFF;
    let place = selector & 3;
    let picked: [u32; 4] = match mode {
        None => core::array::from_fn(|k| {
            let nibble = selector >> (4 * k);
            let value = byte(nibble);
            if nibble & 8 == 0 {
                value
            } else if value & 0x80 != 0 {
                0xFF
            } else {
                0
            }
        }),
        Some(PrmtMode::F4e) => core::array::from_fn(|k| byte(place + k as u32)),
        Some(PrmtMode::B4e) => core::array::from_fn(|k| byte((place + 8 - k as u32) & 7)),
        Some(PrmtMode::Rc8) => [byte(place); 4],
        Some(PrmtMode::Ecl) => core::array::from_fn(|k| byte(place.max(k as u32))),
        Some(PrmtMode::Ecr) => core::array::from_fn(|k| byte(place.min(k as u32))),
        Some(PrmtMode::Rc16) => {
            let low = 2 * (selector & 1);
            [byte(low), byte(low + 1), byte(low), byte(low + 1)]
        }
    };
    picked.into_iter().rev().fold(0, |word, byte| (word << 8) | byte)
}

/// The funnel shift `shf.l`: the high word of `b:a` shifted left.
#[inline]
pub fn funnel_left(a: u32, b: u32, amount: u32, wrap: bool) -> u32 {
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    ((((u64::from(b) << 32) | u64::from(a)) << amount) >> 32) as u32
}

/// The funnel shift `shf.r`: the low word of `b:a` shifted right.
#[inline]
pub fn funnel_right(a: u32, b: u32, amount: u32, wrap: bool) -> u32 {
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    (((u64::from(b) << 32) | u64::from(a)) >> amount) as u32
}

/// The low `bits` bits (1 to 64) as a signed number.
#[inline]
pub fn sign_extend(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits;
    ((value << shift) as i64) >> shift
}

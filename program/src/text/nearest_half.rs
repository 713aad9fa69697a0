//! The f16 nearest to a decimal number, rounded once.
//!
//! ```text
//! 1.00048828125              halfway between two f16s: the even one, 1.0
//! 1.00048828125000000001     the same f64, but beyond the middle: 1.001
//! ```
//!
//! The nearest f64 decides everywhere but in the middle between two f16s: there the decimal number itself is compared
//! with the middle. A middle is a multiple of 2⁻²⁵ below 2¹⁶, so it has at most 25 digits behind its point, and its
//! product with 10²⁵ fits 128 bits.
//!
//! Bounds: linear in the number's digits.

use alloc::format;
use alloc::string::String;
use core::cmp::Ordering;

use half::f16;

/// Digits behind the point of a middle.
const PLACES: usize = 25;

/// The f16 nearest to a decimal number without sign, spelled as a float of Rust's; infinity beyond the greatest. None
/// where the text is no number.
pub(super) fn nearest_half(text: &str) -> Option<f16> {
    let value: f64 = text.parse().ok()?;
    let near = f16::from_f64(value);
    let Some((below, above)) = neighbours(near, value) else { return Some(near) };
    Some(match compared_with(text, value) {
        Ordering::Less => below,
        Ordering::Equal => near,
        Ordering::Greater => above,
    })
}

/// The two f16s in whose middle a value lies exactly, if it lies in one. `near` is the one that it is rounded to.
fn neighbours(near: f16, value: f64) -> Option<(f16, f16)> {
    let bits = near.to_bits();
    let other = f16::from_bits(if wide(near) > value { bits.checked_sub(1)? } else { bits + 1 });
    let is_middle = wide(near) != value && (wide(near) - value).abs() == (wide(other) - value).abs();
    is_middle.then(|| if wide(near) < value { (near, other) } else { (other, near) })
}

/// As f64, infinity being where the next f16 would be.
fn wide(value: f16) -> f64 {
    if value.is_infinite() { 65536.0 } else { value.to_f64() }
}

/// How the decimal number lies to a middle.
fn compared_with(text: &str, middle: f64) -> Ordering {
    // 10^25 = 2^25 · 5^25, and both products are exact.
    let scaled = (middle * f64::from(1u32 << PLACES)) as u128 * 5u128.pow(PLACES as u32);
    let digits = format!("{scaled}");
    let (significant, exponent) = split(text);
    let written: String = significant.chars().filter(char::is_ascii_digit).collect();
    let places = significant.find('.').map_or(0, |point| significant.len() - point - 1);
    // Both as 0.digits · 10^magnitude.
    let magnitude = |digits: &str, places: i64| digits.trim_start_matches('0').len() as i64 - places;
    let ours = magnitude(&written, (places as i64).saturating_sub(exponent));
    let theirs = magnitude(&digits, PLACES as i64);
    let plain = |digits: &str| String::from(digits.trim_matches('0'));
    ours.cmp(&theirs).then_with(|| plain(&written).cmp(&plain(&digits)))
}

/// The digits with their point, and the exponent of ten.
fn split(text: &str) -> (&str, i64) {
    match text.split_once(['e', 'E']) {
        // A number in the range of f16 has an exponent about as large as its count of digits.
        Some((digits, exponent)) => (digits, exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::nearest_half;

    #[track_caller]
    fn assert_nearest(text: &str, expected: u16) {
        assert_eq!(nearest_half(text).map(|half| half.to_bits()), Some(expected), "{text}");
    }

    #[test]
    fn a_middle_goes_to_the_even_one_and_anything_beyond_to_its_side() {
        for (text, expected) in [
            ("1.00048828125", 0x3C00),
            ("1.00048828125000000000000000000001", 0x3C01),
            ("1.00048828124999999999999999999999", 0x3C00),
            ("1.00146484375", 0x3C02),
            ("1.00146484374999999999999999999999", 0x3C01),
            ("100048828125000000000000000000001e-32", 0x3C01),
            ("0.000100048828125000000000000000001e4", 0x3C01),
            ("65519.99999999999999999999", 0x7BFF),
            ("65520", 0x7C00),
            ("65520.00", 0x7C00),
            ("2.98023223876953125e-8", 0x0000),
            ("2.98023223876953125000000001e-8", 0x0001),
            ("2.98023223876953124999999999e-8", 0x0000),
            ("8.94069671630859375e-8", 0x0002),
            ("8.940696716308593749999999999e-8", 0x0001),
            ("0", 0),
            ("0.1", 0x2E66),
            ("1e999999999999999999999", 0x7C00),
        ] {
            assert_nearest(text, expected);
        }
    }

    #[test]
    fn every_half_and_every_middle_is_found() {
        for bits in 0..0x7BFFu16 {
            let (low, high) = (half::f16::from_bits(bits).to_f64(), half::f16::from_bits(bits + 1).to_f64());
            assert_nearest(&format!("{low:?}"), bits);
            let middle = format!("{:.30}", (low + high) / 2.0);
            assert_nearest(&middle, bits + (bits & 1));
            assert_nearest(&format!("{middle}1"), bits + 1);
        }
    }
}

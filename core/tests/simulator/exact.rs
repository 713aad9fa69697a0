//! Floating-point arithmetic by integers: what every rounding of every operation has to be.
//!
//! ```text
//! bits ──unpack──▶ ± mantissa · 2^exponent (+ a little more) ──exact integer arithmetic──▶ … ──round once──▶ bits
//! ```
//!
//! Slow, obvious, and without a line of the simulator's or its library's code. "A little more" says
//! that the exact value lies strictly between this mantissa and the next; operations keep so many
//! bits that one such flag decides every rounding. NaN is the one that the language page makes
//! visible.

use std::cmp::Ordering;

/// A binary floating-point format.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the fraction, without the leading one.
    pub fraction: u32,
}

pub const F16: Format = Format { exponent: 5, fraction: 10 };
pub const F32: Format = Format { exponent: 8, fraction: 23 };
pub const F64: Format = Format { exponent: 11, fraction: 52 };

/// Direction of a value between two numbers of a format.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Direction {
    Nearest,
    Zero,
    Down,
    Up,
}

/// Each rounding with PTX's spelling.
pub const DIRECTIONS: [(&str, Direction); 4] =
    [("rn", Direction::Nearest), ("rz", Direction::Zero), ("rm", Direction::Down), ("rp", Direction::Up)];

impl Format {
    /// The format of `f16`, `f32` or `f64`.
    pub fn of(name: &str) -> Format {
        match name {
            "f16" => F16,
            "f32" => F32,
            _ => F64,
        }
    }

    fn sign_bit(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    pub fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    pub fn nan(self) -> u64 {
        self.sign_bit() - 1
    }

    pub fn largest(self) -> u64 {
        self.infinity() - 1
    }

    pub fn one(self) -> u64 {
        ((1 << (self.exponent - 1)) - 1) << self.fraction
    }

    pub fn negative(self, bits: u64) -> bool {
        bits & self.sign_bit() != 0
    }

    pub fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign_bit() - 1)
    }

    pub fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    /// The exponent of the lowest bit of subnormal numbers.
    fn lowest(self) -> i32 {
        2 - (1 << (self.exponent - 1)) - self.fraction as i32
    }

    /// The one NaN in place of any.
    pub fn canonical(self, bits: u64) -> u64 {
        if self.is_nan(bits) { self.nan() } else { bits }
    }

    /// `.ftz`: zero of the same sign in place of a subnormal number.
    pub fn flush(self, bits: u64) -> u64 {
        if self.magnitude(bits) >> self.fraction == 0 { bits & self.sign_bit() } else { bits }
    }

    /// `.sat`: clamped to [0, 1], NaN to 0.
    pub fn saturate(self, bits: u64) -> u64 {
        if self.is_nan(bits) || self.negative(bits) { 0 } else { bits.min(self.one()) }
    }

    /// IEEE's order; none where one of them is NaN.
    pub fn compare(self, a: u64, b: u64) -> Option<Ordering> {
        if self.is_nan(a) || self.is_nan(b) {
            return None;
        }
        let ordered = |bits: u64| {
            let magnitude = self.magnitude(bits) as i64;
            if self.negative(bits) { -magnitude } else { magnitude }
        };
        Some(ordered(a).cmp(&ordered(b)))
    }

    fn unpack(self, bits: u64) -> Number {
        let (negative, magnitude) = (self.negative(bits), self.magnitude(bits));
        if self.is_nan(bits) {
            return Number::Nan;
        }
        if magnitude == self.infinity() {
            return Number::Infinite(negative);
        }
        let (biased, fraction) = ((magnitude >> self.fraction) as i32, magnitude & ((1 << self.fraction) - 1));
        let (mantissa, exponent) = match biased {
            0 => (fraction, self.lowest()),
            _ => (fraction | 1 << self.fraction, self.lowest() + biased - 1),
        };
        Number::Finite(Finite { negative, mantissa: mantissa.into(), exponent, more: false })
    }

    fn pack(self, number: Number, direction: Direction) -> u64 {
        let (negative, magnitude) = match number {
            Number::Nan => return self.nan(),
            Number::Infinite(negative) => (negative, self.infinity()),
            Number::Finite(finite) => (finite.negative, self.round(finite, direction)),
        };
        if negative { magnitude | self.sign_bit() } else { magnitude }
    }

    /// The bits of the rounded magnitude.
    fn round(self, value: Finite, direction: Direction) -> u64 {
        let length = 128 - value.mantissa.leading_zeros() as i32;
        let exponent = (value.exponent + length - (self.fraction as i32 + 1)).max(self.lowest());
        let mut kept = value.shifted(exponent, direction);
        let mut exponent = exponent;
        if kept >> (self.fraction + 1) != 0 {
            (kept, exponent) = (kept >> 1, exponent + 1);
        }
        if kept >> self.fraction == 0 {
            return kept as u64;
        }
        let biased = (exponent - self.lowest() + 1) as u64;
        if biased < (1 << self.exponent) - 1 {
            return (biased << self.fraction) | (kept as u64 & ((1 << self.fraction) - 1));
        }
        let beyond = match direction {
            Direction::Nearest => true,
            Direction::Zero => false,
            Direction::Down => value.negative,
            Direction::Up => !value.negative,
        };
        if beyond { self.infinity() } else { self.largest() }
    }
}

/// A number without a format.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Nan,
    /// Negative?
    Infinite(bool),
    Finite(Finite),
}

/// ± `mantissa` · 2^`exponent`, and strictly between it and the next mantissa where there is more.
#[derive(Clone, Copy, Debug)]
pub struct Finite {
    negative: bool,
    mantissa: u128,
    exponent: i32,
    more: bool,
}

impl Finite {
    /// The magnitude as a multiple of 2^`exponent`, rounded.
    fn shifted(self, exponent: i32, direction: Direction) -> u128 {
        let shift = exponent - self.exponent;
        if shift <= 0 {
            assert!(!self.more || shift == 0, "too few bits were kept");
            assert!(-shift <= self.mantissa.leading_zeros() as i32, "the format has room for it");
        }
        let (kept, rest, half) = match shift {
            ..=0 => (self.mantissa << -shift, 0, 1),
            1..=127 => (self.mantissa >> shift, self.mantissa & ((1 << shift) - 1), 1u128 << (shift - 1)),
            // Less than half: a mantissa has fewer than 127 bits.
            _ => (0, u128::from(self.mantissa != 0), 2),
        };
        let exact = rest == 0 && !self.more;
        let up = match direction {
            Direction::Nearest => {
                assert!(shift > 0 || !self.more);
                shift > 0 && (rest > half || (rest == half && (self.more || kept & 1 == 1)))
            }
            Direction::Zero => false,
            Direction::Down => self.negative && !exact,
            Direction::Up => !self.negative && !exact,
        };
        kept + u128::from(up)
    }
}

/// `a + b`.
fn sum(a: Number, b: Number, direction: Direction) -> Number {
    let (a, b) = match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => return Number::Nan,
        (Number::Infinite(a), Number::Infinite(b)) => {
            return if a == b { Number::Infinite(a) } else { Number::Nan };
        }
        (Number::Infinite(sign), _) | (_, Number::Infinite(sign)) => return Number::Infinite(sign),
        (Number::Finite(a), Number::Finite(b)) => (a, b),
    };
    // An exact zero is positive, except where rounding down or where both are negative zeros.
    let zero_is_negative = (a.negative && b.negative) || (a.negative != b.negative && direction == Direction::Down);
    if a.mantissa == 0 || b.mantissa == 0 {
        let other = if a.mantissa == 0 { b } else { a };
        let negative = if other.mantissa == 0 { zero_is_negative } else { other.negative };
        return Number::Finite(Finite { negative, ..other });
    }
    let (mut high, mut low) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    let distance = (high.exponent - low.exponent) as u32;
    let left = distance.min(high.mantissa.leading_zeros() - 2);
    high.mantissa <<= left;
    high.exponent -= left as i32;
    let right = distance - left;
    let mut more = false;
    if right > 0 {
        let kept = low.mantissa.checked_shr(right).unwrap_or(0);
        more = kept.checked_shl(right).unwrap_or(0) != low.mantissa;
        low.mantissa = kept;
        assert!(!more || high.mantissa >> 100 > 0, "a lost bit is far below the result's");
    }
    if high.negative == low.negative {
        return Number::Finite(Finite { mantissa: high.mantissa + low.mantissa, more, ..high });
    }
    // What was lost of the smaller number is missing: one less, and a little more.
    let low_mantissa = low.mantissa + u128::from(more);
    let (negative, mantissa) = match high.mantissa.cmp(&low_mantissa) {
        Ordering::Equal => (zero_is_negative, 0),
        Ordering::Greater => (high.negative, high.mantissa - low_mantissa),
        Ordering::Less => (low.negative, low_mantissa - high.mantissa),
    };
    Number::Finite(Finite { negative, mantissa, exponent: high.exponent, more })
}

/// `a · b`.
fn product(a: Number, b: Number) -> Number {
    let sign = |number: Number| match number {
        Number::Nan => false,
        Number::Infinite(negative) => negative,
        Number::Finite(finite) => finite.negative,
    };
    let negative = sign(a) != sign(b);
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite(_), Number::Finite(Finite { mantissa: 0, .. }))
        | (Number::Finite(Finite { mantissa: 0, .. }), Number::Infinite(_)) => Number::Nan,
        (Number::Infinite(_), _) | (_, Number::Infinite(_)) => Number::Infinite(negative),
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(Finite {
            negative,
            mantissa: a.mantissa * b.mantissa,
            exponent: a.exponent + b.exponent,
            more: false,
        }),
    }
}

/// `a / b`.
fn quotient(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) | (Number::Infinite(_), Number::Infinite(_)) => Number::Nan,
        (Number::Infinite(sign), Number::Finite(b)) => Number::Infinite(sign != b.negative),
        (Number::Finite(a), Number::Infinite(sign)) => {
            Number::Finite(Finite { negative: a.negative != sign, mantissa: 0, ..a })
        }
        (Number::Finite(a), Number::Finite(b)) => {
            let negative = a.negative != b.negative;
            match (a.mantissa, b.mantissa) {
                (0, 0) => Number::Nan,
                (_, 0) => Number::Infinite(negative),
                (0, _) => Number::Finite(Finite { negative, ..a }),
                _ => {
                    let shift = a.mantissa.leading_zeros() as i32;
                    let wide = a.mantissa << shift;
                    let (mantissa, rest) = (wide / b.mantissa, wide % b.mantissa);
                    let exponent = a.exponent - shift - b.exponent;
                    Number::Finite(Finite { negative, mantissa, exponent, more: rest != 0 })
                }
            }
        }
    }
}

fn root(a: Number) -> Number {
    match a {
        Number::Finite(a) if a.mantissa == 0 => Number::Finite(a),
        Number::Finite(a) if !a.negative => {
            // An even exponent, and as many bits as fit.
            let mut shift = a.mantissa.leading_zeros() as i32;
            shift -= (a.exponent - shift) & 1;
            let wide = a.mantissa << shift;
            let mantissa = wide.isqrt();
            let more = mantissa * mantissa != wide;
            Number::Finite(Finite { negative: false, mantissa, exponent: (a.exponent - shift) / 2, more })
        }
        Number::Infinite(false) => a,
        _ => Number::Nan,
    }
}

pub fn add(format: Format, a: u64, b: u64, direction: Direction) -> u64 {
    format.pack(sum(format.unpack(a), format.unpack(b), direction), direction)
}

pub fn sub(format: Format, a: u64, b: u64, direction: Direction) -> u64 {
    add(format, a, b ^ format.sign_bit(), direction)
}

pub fn mul(format: Format, a: u64, b: u64, direction: Direction) -> u64 {
    format.pack(product(format.unpack(a), format.unpack(b)), direction)
}

pub fn fma(format: Format, a: u64, b: u64, c: u64, direction: Direction) -> u64 {
    let product = product(format.unpack(a), format.unpack(b));
    format.pack(sum(product, format.unpack(c), direction), direction)
}

pub fn div(format: Format, a: u64, b: u64, direction: Direction) -> u64 {
    format.pack(quotient(format.unpack(a), format.unpack(b)), direction)
}

pub fn sqrt(format: Format, a: u64, direction: Direction) -> u64 {
    format.pack(root(format.unpack(a)), direction)
}

/// PTX's `min`: a NaN gives way, and -0 is below +0.
pub fn min(format: Format, a: u64, b: u64) -> u64 {
    match format.compare(a, b) {
        Some(Ordering::Less) => a,
        Some(Ordering::Greater) => b,
        Some(Ordering::Equal) => a | b,
        None => format.canonical(if format.is_nan(a) { b } else { a }),
    }
}

/// PTX's `max`: a NaN gives way, and +0 is above -0.
pub fn max(format: Format, a: u64, b: u64) -> u64 {
    match format.compare(a, b) {
        Some(Ordering::Less) => b,
        Some(Ordering::Greater) => a,
        Some(Ordering::Equal) => a & b,
        None => format.canonical(if format.is_nan(a) { b } else { a }),
    }
}

/// To another format.
pub fn convert(from: Format, to: Format, bits: u64, direction: Direction) -> u64 {
    to.pack(from.unpack(bits), direction)
}

/// An integer in a format.
pub fn from_integer(to: Format, value: i128, direction: Direction) -> u64 {
    let finite = Finite { negative: value < 0, mantissa: value.unsigned_abs(), exponent: 0, more: false };
    to.pack(Number::Finite(finite), direction)
}

/// To an integral value of the same format.
pub fn to_integral(format: Format, bits: u64, direction: Direction) -> u64 {
    match format.unpack(bits) {
        Number::Finite(finite) if finite.exponent < 0 => {
            let rounded = Finite { mantissa: finite.shifted(0, direction), exponent: 0, ..finite };
            format.pack(Number::Finite(rounded), Direction::Nearest)
        }
        number => format.pack(number, Direction::Nearest),
    }
}

/// To an integer of so many bits, clamped to its range. NaN is 0, or where either side has 64 bits the number with only
/// its highest bit set. As bits of that width.
pub fn to_integer(from: Format, bits: u64, width: u32, signed: bool, direction: Direction) -> u64 {
    let mask = u64::MAX >> (64 - width);
    let highest = 1u64 << (width - 1);
    let (least, most) = if signed { (-i128::from(highest), i128::from(highest) - 1) } else { (0, i128::from(mask)) };
    let finite = match from.unpack(bits) {
        Number::Nan if width == 64 || from == F64 => return highest,
        Number::Nan => return 0,
        Number::Infinite(negative) => return if negative { least as u64 & mask } else { most as u64 },
        Number::Finite(finite) => finite,
    };
    let length = 128 - finite.mantissa.leading_zeros() as i32;
    let magnitude = if finite.exponent + length > 100 { 1 << 100 } else { finite.shifted(0, direction) as i128 };
    let value = if finite.negative { -magnitude } else { magnitude };
    value.clamp(least, most) as u64 & mask
}

/// The reference itself, where the host can say: its own nearest additions, products, quotients and roots.
#[test]
fn the_reference_agrees_with_the_host_where_it_rounds_to_nearest() {
    let mut draws = super::operands::Draws::new(0x5EED);
    for _ in 0..20_000 {
        let [a, b, c] = [0; 3].map(|_: u8| draws.float(F32));
        let [x, y, z] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        let same = |ours: u64, host: f32| ours == F32.canonical(host.to_bits().into());
        let nearest = Direction::Nearest;
        assert!(same(add(F32, a, b, nearest), x + y), "{x:e} + {y:e}");
        assert!(same(mul(F32, a, b, nearest), x * y), "{x:e} * {y:e}");
        assert!(same(div(F32, a, b, nearest), x / y), "{x:e} / {y:e}");
        assert!(same(sqrt(F32, a, nearest), x.sqrt()), "sqrt {x:e}");
        assert!(same(fma(F32, a, b, c, nearest), x.mul_add(y, z)), "{x:e} * {y:e} + {z:e}");
        let [a, b, c] = [0; 3].map(|_: u8| draws.float(F64));
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        let same = |ours: u64, host: f64| ours == F64.canonical(host.to_bits());
        assert!(same(add(F64, a, b, nearest), x + y), "{x:e} + {y:e}");
        assert!(same(div(F64, a, b, nearest), x / y), "{x:e} / {y:e}");
        assert!(same(sqrt(F64, a, nearest), x.sqrt()), "sqrt {x:e}");
        assert!(same(fma(F64, a, b, c, nearest), x.mul_add(y, z)), "{x:e} * {y:e} + {z:e}");
        let narrow = convert(F64, F32, a, nearest);
        assert_eq!(narrow, F32.canonical((x as f32).to_bits().into()), "{x:e} to f32");
    }
}

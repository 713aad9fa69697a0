//! Floating-point arithmetic beyond what the processor's default mode gives: directed rounding, flushing, saturation,
//! PTX's minimum and maximum.

use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

use super::half::F16;
use crate::ir::Rounding;

/// The NaN that arithmetic yields in f32.
pub const CANONICAL_F32: u32 = 0x7FFF_FFFF;
/// The NaN that arithmetic yields in f64.
pub const CANONICAL_F64: u64 = 0x7FFF_FFFF_FFFF_FFFF;
/// The NaN that arithmetic yields in f16.
pub const CANONICAL_F16: u16 = 0x7FFF;

/// Operations that f32, f64 and f16 share here.
pub trait Real: Copy + PartialOrd {
    /// Type of the format in the arbitrary-precision library, for rounding modes that the processor does not have.
    type Soft: Float;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// To the library's form.
    fn to_soft(self) -> Self::Soft;
    /// From the library's form.
    fn from_soft(soft: Self::Soft) -> Self;
    /// Is it NaN?
    fn is_nan(self) -> bool;
    /// Is the sign bit set?
    fn is_negative(self) -> bool;
    /// The canonical NaN in place of any.
    fn canonical(self) -> Self;
    /// Zero of the same sign in place of a subnormal number.
    fn flush(self) -> Self;
    /// Flips the sign.
    fn negate(self) -> Self;
    /// The magnitude.
    fn magnitude(self) -> Self;
    /// The square root, rounded to nearest.
    fn root(self) -> Self;
}

macro_rules! native_real {
    ($ty:ident, $soft:ty, $nan:ident, $sqrt:path) => {
        impl Real for $ty {
            type Soft = $soft;
            const ZERO: $ty = 0.0;
            const ONE: $ty = 1.0;

            fn to_soft(self) -> $soft {
                <$soft>::from_bits(u128::from(self.to_bits()))
            }

            fn from_soft(soft: $soft) -> $ty {
                $ty::from_bits(soft.to_bits() as _)
            }

            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn is_nan(self) -> bool {
                self != self
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }

            #[inline(always)]
            fn canonical(self) -> $ty {
                if Real::is_nan(self) { $ty::from_bits($nan) } else { self }
            }

            #[inline(always)]
            fn flush(self) -> $ty {
                if self.magnitude() < $ty::MIN_POSITIVE { $ty::from_bits(self.to_bits() & !($nan)) } else { self }
            }

            #[inline(always)]
            fn negate(self) -> $ty {
                -self
            }

            #[inline(always)]
            fn magnitude(self) -> $ty {
                $ty::from_bits(self.to_bits() & $nan)
            }

            #[inline]
            fn root(self) -> $ty {
                $sqrt(self)
            }
        }
    };
}

native_real!(f32, Single, CANONICAL_F32, libm::sqrtf);
native_real!(f64, Double, CANONICAL_F64, libm::sqrt);

/// PTX's `min`: a NaN gives way to the other operand, and -0 is below +0.
#[inline(always)]
pub fn min<T: Real>(a: T, b: T) -> T {
    // Without a decision, so that it becomes SIMD. Comparisons with NaN are false.
    let first = (a < b) | ((a == b) & a.is_negative()) | b.is_nan();
    if first { a } else { b }
}

/// PTX's `max`: a NaN gives way to the other operand, and +0 is above -0.
#[inline(always)]
pub fn max<T: Real>(a: T, b: T) -> T {
    let first = (a > b) | ((a == b) & b.is_negative()) | b.is_nan();
    if first { a } else { b }
}

/// `.sat`: clamps to [0, 1]; NaN and both zeros give +0.
#[inline(always)]
pub fn saturate<T: Real>(a: T) -> T {
    // The comparison is false for NaN.
    let positive = if a > T::ZERO { a } else { T::ZERO };
    if positive < T::ONE { positive } else { T::ONE }
}

/// PTX's `copysign a, b`: `b` with the sign of `a`, be that a NaN's.
#[inline(always)]
pub fn copysign<T: Real>(a: T, b: T) -> T {
    let magnitude = b.magnitude();
    if a.is_negative() { magnitude.negate() } else { magnitude }
}

/// The library's name of a rounding mode; integer roundings count as their float counterparts.
pub fn soft_round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Rn | Rounding::Rni => Round::NearestTiesToEven,
        Rounding::Rz | Rounding::Rzi => Round::TowardZero,
        Rounding::Rm | Rounding::Rmi => Round::TowardNegative,
        Rounding::Rp | Rounding::Rpi => Round::TowardPositive,
    }
}

/// `a + b` in any rounding.
pub fn add<T: Real>(a: T, b: T, round: Round) -> T {
    T::from_soft(a.to_soft().add_r(b.to_soft(), round).value)
}

/// `a - b` in any rounding.
pub fn sub<T: Real>(a: T, b: T, round: Round) -> T {
    T::from_soft(a.to_soft().sub_r(b.to_soft(), round).value)
}

/// `a · b` in any rounding.
pub fn mul<T: Real>(a: T, b: T, round: Round) -> T {
    T::from_soft(a.to_soft().mul_r(b.to_soft(), round).value)
}

/// `a / b` in any rounding.
pub fn div<T: Real>(a: T, b: T, round: Round) -> T {
    T::from_soft(a.to_soft().div_r(b.to_soft(), round).value)
}

/// `a · b + c`, rounded once, in any rounding.
pub fn fma<T: Real>(a: T, b: T, c: T, round: Round) -> T {
    T::from_soft(a.to_soft().mul_add_r(b.to_soft(), c.to_soft(), round).value)
}

/// The square root in any rounding: the nearest one, then one step if its square lies on the wrong side of `a`.
pub fn sqrt<T: Real>(a: T, round: Round) -> T {
    let root = a.root();
    let soft = root.to_soft();
    if round == Round::NearestTiesToEven || !soft.is_finite_non_zero() {
        return root;
    }
    // Scaled by an even power of two, so that the exact residual root² - a is no subnormal number.
    let scale = -a.to_soft().ilogb() & !1;
    let (scaled_root, scaled) = (soft.scalbn(scale / 2), a.to_soft().scalbn(scale));
    let residual = scaled_root.mul_add(scaled_root, -scaled).value;
    let stepped = match round {
        Round::TowardPositive if residual.is_non_zero() && residual.is_negative() => soft.next_up().value,
        Round::TowardZero | Round::TowardNegative if residual.is_non_zero() && !residual.is_negative() => {
            soft.next_down().value
        }
        _ => soft,
    };
    T::from_soft(stepped)
}

/// To an integral value of the same format.
pub fn round_to_integral<T: Real>(a: T, round: Round) -> T {
    T::from_soft(a.to_soft().round_to_integral(round).value)
}

impl PartialOrd for F16 {
    fn partial_cmp(&self, other: &F16) -> Option<core::cmp::Ordering> {
        self.to_f32().partial_cmp(&other.to_f32())
    }
}

//! Fused multiply-add, rounded once.
//!
//! ```text
//! a·b        exact in f64 (24 + 24 bits of significand are 48, and the exponents fit)
//! + c        in f64, rounded to odd: the last bit is set when anything was lost
//! → f32      one ordinary rounding
//! ```
//!
//! Sound because a value rounded to odd with at least two bits more than the final format rounds,
//! in any mode, to what the exact value would (Boldo and Melquiond, "Emulation of a FMA and
//! correctly-rounded sums: proved algorithms using rounding to odd", IEEE TC 2008, theorem 3); f64
//! has 29 more. What the addition loses is exact by Knuth's two-sum. The loop over lanes has no
//! branch, so it becomes SIMD where there is no fused instruction, and the hardware's has the same
//! bits by definition.

/// `a·b + c` in f64, rounded to odd, for operands that came from f32 or f16.
#[inline(always)]
pub fn fused_to_odd(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    let rounded_c = sum - product;
    let lost = (product - (sum - rounded_c)) + (c - rounded_c);
    let bits = sum.to_bits();
    // Towards the exact value: away from zero where the loss has the sum's sign, else one step back. Infinities and
    // NaN lose NaN, which compares as neither, and keep their bits.
    let even = bits & 1 == 0;
    let away = (lost > 0.0) == (sum > 0.0);
    let stepped = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let inexact = lost.abs() > 0.0;
    f64::from_bits(if inexact & even { stepped } else { bits })
}

/// `fma.rn.f32`.
#[inline(always)]
pub fn fma32(a: f32, b: f32, c: f32) -> f32 {
    fused_to_odd(f64::from(a), f64::from(b), f64::from(c)) as f32
}

/// `fma.rn.f64`.
#[inline]
pub fn fma64(a: f64, b: f64, c: f64) -> f64 {
    libm::fma(a, b, c)
}

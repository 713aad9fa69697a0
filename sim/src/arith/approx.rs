//! The approximate functions of PTX, as this project defines them.
//!
//! PTX bounds the error of `ex2.approx.f32` and its kin and leaves the bits to the hardware. Here every one of them is
//! the double-precision function of the `libm` crate, rounded once to single precision: within one unit in the last
//! place of the true value, and the same on every target because `libm` is plain Rust. `rcp`, `sqrt` and `div` are
//! correctly rounded in their approximate forms too.

/// `sin.approx.f32`, of radians.
pub fn sin(x: f32) -> f32 {
    libm::sin(f64::from(x)) as f32
}

/// `cos.approx.f32`, of radians.
pub fn cos(x: f32) -> f32 {
    libm::cos(f64::from(x)) as f32
}

/// `ex2.approx.f32`: two to the power x.
pub fn ex2(x: f32) -> f32 {
    libm::exp2(f64::from(x)) as f32
}

/// `lg2.approx.f32`: the logarithm to base two.
pub fn lg2(x: f32) -> f32 {
    libm::log2(f64::from(x)) as f32
}

/// `rsqrt.approx.f32`.
pub fn rsqrt32(x: f32) -> f32 {
    (1.0 / libm::sqrt(f64::from(x))) as f32
}

/// `rsqrt.approx.f64`: two roundings.
pub fn rsqrt64(x: f64) -> f64 {
    1.0 / libm::sqrt(x)
}

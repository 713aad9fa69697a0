//! Fused multiply-add by the processor's own instruction, where it has one that the build may ask for.
//!
//! Sound because a fused multiply-add has one correctly rounded result; only the payload of a NaN may differ, and no NaN
//! is seen before it is made canonical.

use super::plane::LaneOp;

/// `fma.rn.f32`.
pub(super) fn fma32() -> LaneOp {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if std::is_x86_feature_detected!("fma") && std::is_x86_feature_detected!("avx2") {
        return x86::fma32;
    }
    super::float::fma32_portable
}

/// `fma.rn.f64`.
pub(super) fn fma64() -> LaneOp {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    if std::is_x86_feature_detected!("fma") && std::is_x86_feature_detected!("avx2") {
        return x86::fma64;
    }
    super::float::fma64_portable
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod x86 {
    use core::arch::x86_64::{_mm_cvtsd_f64, _mm_cvtss_f32, _mm_fmadd_sd, _mm_fmadd_ss, _mm_set_sd, _mm_set_ss};

    use crate::sim::lanes::plane::{Active, LaneFile, Slots, map3};

    pub(super) fn fma32(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
        // SAFETY: `super::fma32` gives this function out only where the processor has both features.
        unsafe { fma32_lanes(file, slots, warps) }
    }

    pub(super) fn fma64(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
        // SAFETY: as above.
        unsafe { fma64_lanes(file, slots, warps) }
    }

    #[target_feature(enable = "avx2,fma")]
    fn fma32_lanes(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
        map3(file, slots, warps, |a: f32, b: f32, c: f32| {
            _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)))
        });
    }

    #[target_feature(enable = "avx2,fma")]
    fn fma64_lanes(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
        map3(file, slots, warps, |a: f64, b: f64, c: f64| {
            _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c)))
        });
    }
}

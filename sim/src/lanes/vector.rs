//! Processor instructions that no plain loop compiles to and that have to be named.
//!
//! ```text
//! fused multiply-add      a·b + c with one rounding: one instruction, or fifteen without it
//! signs of lanes          0 ~0 ~0 0 …  →  0b…0110: one instruction for 4 or 16 lanes
//! shift by one amount     a << 3 in 64 bits: WebAssembly's vectors have it, and the compiler takes it for too dear
//! unsigned a < b          in 64 bits: neither SSE2 nor WebAssembly has it, and the compiler goes lane by lane
//! ```
//!
//! Sound because a fused multiply-add has one correctly rounded result; only the payload of a NaN
//! may differ, and storing the lane makes that NaN canonical. Where there is no such instruction,
//! plain code gives the same bits.

use super::plane::{CHUNK, LaneOp};

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

/// The highest bit of each lane of two chunks.
#[inline(always)]
pub(super) fn signs(low: [u32; CHUNK], high: [u32; CHUNK]) -> u32 {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        // SAFETY: the build asks for SSE2, or this would not be compiled.
        unsafe { sse2::signs(low, high) }
    }
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    {
        simd128::signs(low, high)
    }
    #[cfg(not(any(
        all(target_arch = "x86_64", target_feature = "sse2"),
        all(target_arch = "wasm32", target_feature = "simd128")
    )))]
    low.iter().chain(&high).enumerate().fold(0, |all, (lane, value)| all | value >> 31 << lane)
}

/// In each lane a word whose highest bit is set where `a < b`, unsigned.
#[inline(always)]
pub(super) fn below(a: [u64; CHUNK], b: [u64; CHUNK]) -> [u32; CHUNK] {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return simd128::below(a, b);
    // The borrow of `a - b`: where the highest bits differ `b` has it, and where they agree the difference's own tells.
    // (Hacker's Delight, section 2-12.)
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    core::array::from_fn(|lane| {
        let (a, b) = (a[lane], b[lane]);
        (((!a & b) | (!(a ^ b) & a.wrapping_sub(b))) >> 32) as u32
    })
}

/// `a << by` in each lane; `by` is less than 64.
#[inline(always)]
pub(super) fn shift_left(lanes: [u64; CHUNK], by: u32) -> [u64; CHUNK] {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return simd128::each_two(lanes, |two| core::arch::wasm32::u64x2_shl(two, by));
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    lanes.map(|lane| lane << by)
}

/// `a >> by` in each lane, zeros coming in; `by` is less than 64.
#[inline(always)]
pub(super) fn shift_right(lanes: [u64; CHUNK], by: u32) -> [u64; CHUNK] {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return simd128::each_two(lanes, |two| core::arch::wasm32::u64x2_shr(two, by));
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    lanes.map(|lane| lane >> by)
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128 {
    use core::arch::wasm32::{
        i32x4_bitmask, i64x2_lt, u32x4, u32x4_extract_lane, u32x4_shuffle, u64x2, u64x2_extract_lane, u64x2_splat,
        v128, v128_xor,
    };

    use super::CHUNK;

    /// Narrowing them to bytes first would be one instruction for 16 lanes, but the compiler takes narrowing apart.
    #[inline(always)]
    pub(super) fn signs(low: [u32; CHUNK], high: [u32; CHUNK]) -> u32 {
        let bits = |&[a, b, c, d]: &[u32; 4]| u32::from(i32x4_bitmask(u32x4(a, b, c, d)));
        let fours = low.as_chunks::<4>().0.iter().chain(high.as_chunks::<4>().0);
        fours.enumerate().fold(0, |all, (at, four)| all | bits(four) << (4 * at))
    }

    /// A signed comparison of numbers with their highest bits flipped. The compiler must not know
    /// that it is these which are flipped: it would make of it the unsigned comparison that there
    /// is not, and take that apart.
    #[inline(always)]
    pub(super) fn below(a: [u64; CHUNK], b: [u64; CHUNK]) -> [u32; CHUNK] {
        let highest = core::hint::black_box(u64x2_splat(1 << 63));
        let is_below = |two: usize| {
            let [a, b] = [&a, &b].map(|lanes| v128_xor(u64x2(lanes[two], lanes[two + 1]), highest));
            i64x2_lt(a, b)
        };
        let mut out = [0; CHUNK];
        for (at, out) in out.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let four = u32x4_shuffle::<1, 3, 5, 7>(is_below(4 * at), is_below(4 * at + 2));
            *out = [
                u32x4_extract_lane::<0>(four),
                u32x4_extract_lane::<1>(four),
                u32x4_extract_lane::<2>(four),
                u32x4_extract_lane::<3>(four),
            ];
        }
        out
    }

    /// The lanes, two of them at a time.
    #[inline(always)]
    pub(super) fn each_two(lanes: [u64; CHUNK], op: impl Fn(v128) -> v128) -> [u64; CHUNK] {
        let mut out = lanes;
        for two in out.as_chunks_mut::<2>().0 {
            let shifted = op(u64x2(two[0], two[1]));
            *two = [u64x2_extract_lane::<0>(shifted), u64x2_extract_lane::<1>(shifted)];
        }
        out
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod sse2 {
    use core::arch::x86_64::{__m128i, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set_epi32};

    use super::CHUNK;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn signs(low: [u32; CHUNK], high: [u32; CHUNK]) -> u32 {
        _mm_movemask_epi8(_mm_packs_epi16(eight(low), eight(high))) as u32
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn eight(lanes: [u32; CHUNK]) -> __m128i {
        let [a, b, c, d, e, f, g, h] = lanes.map(|lane| lane as i32);
        _mm_packs_epi32(_mm_set_epi32(d, c, b, a), _mm_set_epi32(h, g, f, e))
    }
}

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod x86 {
    use core::arch::x86_64::{_mm_cvtsd_f64, _mm_cvtss_f32, _mm_fmadd_sd, _mm_fmadd_ss, _mm_set_sd, _mm_set_ss};

    use crate::lanes::plane::{Active, LaneFile, Slots, map3};

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

//! Layout of registers and of lane types in them.

use alloc::vec;
use alloc::vec::Vec;

use super::vector::signs;
use crate::arith::float::Real;
use crate::arith::half::F16;
use crate::decode::SHARED;

/// The 32 lanes of a 32-bit register, or half of the lanes of a 64-bit one. Narrower registers take the low bits of
/// a lane; what stands above them is not read.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub struct Plane(pub [u32; 32]);

/// All registers of all resident warps, and the constants that they share.
#[derive(Default)]
pub struct LaneFile {
    /// Registers that hold numbers.
    pub planes: Vec<Plane>,
    /// Predicate registers, a bit for each lane.
    pub predicates: Vec<u32>,
    /// Start of the frame that a function over lanes works in.
    base: u32,
}

impl LaneFile {
    /// A file with these planes and as many predicates.
    pub fn new(planes: Vec<Plane>) -> LaneFile {
        LaneFile { predicates: vec![0; planes.len()], planes, base: 0 }
    }

    /// Makes it so long; what is new is zero.
    pub fn resize(&mut self, size: usize) {
        self.planes.resize(size, Plane::default());
        self.predicates.resize(size, 0);
    }

    /// The place of a slot of that frame.
    #[inline(always)]
    pub(super) fn at(&self, slot: u32) -> usize {
        place(slot, self.base)
    }
}

/// The place of a slot in a frame. Constants are outside every frame. Without a decision: this is done for each operand
/// of each instruction.
#[inline(always)]
pub fn place(slot: u32, base: u32) -> usize {
    let own = !((slot as i32 >> 31) as u32);
    ((slot & !SHARED) + (base & own)) as usize
}

/// Slots of one instruction's operands: in a frame, in planes or, where the operand is one, in predicates.
#[derive(Clone, Copy, Default, Debug)]
pub struct Slots {
    /// First destination.
    pub d: u32,
    /// Second destination: a predicate.
    pub e: u32,
    /// Operands.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Third operand.
    pub c: u32,
    /// Fourth operand, or the predicate operand.
    pub f: u32,
    /// All ones where the predicate operand is negated.
    pub flip: u32,
    /// Extra setting of a rare opcode: a rounding, a mode, a shift.
    pub modifier: u32,
}

/// The lanes of one warp that take part in an instruction.
#[derive(Clone, Copy, Default, Debug)]
pub struct Active {
    /// Start of the warp's frame.
    pub base: u32,
    /// A bit for each lane.
    pub mask: u32,
}

/// One opcode over the active lanes of some warps.
pub type LaneOp = fn(&mut LaneFile, &Slots, &[Active]);

/// Runs a function over lanes for one warp after the other, in its frame.
#[inline(always)]
pub(super) fn each_warp(file: &mut LaneFile, warps: &[Active], run: impl Fn(&mut LaneFile, u32)) {
    for warp in warps {
        file.base = warp.base;
        run(file, warp.mask);
    }
}

/// Lanes that are loaded, computed and stored together: two SSE2 or wasm vectors of 32 bits.
pub(super) const CHUNK: usize = 8;

/// A type that one lane can have. Float types store the canonical NaN in place of any other,
/// whatever the host's arithmetic yields; moves copy words and keep the bits of a NaN.
pub trait Lane: Copy {
    /// Does a register of it take two planes?
    const IS_WIDE: bool;
    /// Loads lanes `8·chunk…8·chunk + 7`.
    fn load(planes: &[Plane], slot: usize, chunk: usize) -> [Self; CHUNK];
    /// Stores them.
    fn store(planes: &mut [Plane], slot: usize, chunk: usize, values: [Self; CHUNK]);
    /// Those of slot `a` whose bit of `chosen` is set, and the others of slot `b`.
    fn pick(planes: &[Plane], a: usize, b: usize, chunk: usize, chosen: u32) -> [Self; CHUNK];
    /// Stores those of them whose bit of `part` is set.
    fn blend(planes: &mut [Plane], slot: usize, chunk: usize, values: [Self; CHUNK], part: u32);
    /// Loads one lane.
    fn get(planes: &[Plane], slot: usize, lane: usize) -> Self;
    /// Stores one lane.
    fn set(planes: &mut [Plane], slot: usize, lane: usize, value: Self);
}

/// All ones for each bit of four. A table, because SSE2 cannot shift lanes by different amounts.
const SPREAD: [[u32; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut bits = 0;
    while bits < 64 {
        if ((bits / 4) >> (bits % 4)) & 1 == 1 {
            table[bits / 4][bits % 4] = !0;
        }
        bits += 1;
    }
    table
};

/// Spread table for lanes of 64 bits.
const SPREAD_WIDE: [[u64; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut bits = 0;
    while bits < 64 {
        table[bits / 4][bits % 4] = SPREAD[bits / 4][bits % 4] as u64 * 0x1_0000_0001;
        bits += 1;
    }
    table
};

/// All ones in each lane of a chunk whose bit is set.
#[inline(always)]
fn spread<T: Copy>(table: &[[T; 4]; 16], part: u32) -> [T; CHUNK] {
    let (low, high) = (table[part as usize & 15], table[part as usize >> 4 & 15]);
    [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
}

#[inline(always)]
fn words(planes: &[Plane], slot: usize, chunk: usize) -> [u32; CHUNK] {
    let plane = &planes[slot].0;
    let mut out = [0; CHUNK];
    out.copy_from_slice(&plane[CHUNK * chunk..CHUNK * chunk + CHUNK]);
    out
}

#[inline(always)]
fn set_words(planes: &mut [Plane], slot: usize, chunk: usize, values: [u32; CHUNK]) {
    planes[slot].0[CHUNK * chunk..CHUNK * chunk + CHUNK].copy_from_slice(&values);
}

/// Words of `a` where the bit is set, and of `b` elsewhere.
#[inline(always)]
fn mixed(a: [u32; CHUNK], b: [u32; CHUNK], chosen: u32) -> [u32; CHUNK] {
    let chosen = spread(&SPREAD, chosen);
    core::array::from_fn(|lane| (b[lane] & !chosen[lane]) | (a[lane] & chosen[lane]))
}

macro_rules! narrow_lane {
    ($ty:ty, $from:expr, $to:expr) => {
        impl Lane for $ty {
            const IS_WIDE: bool = false;

            #[inline(always)]
            fn load(planes: &[Plane], slot: usize, chunk: usize) -> [Self; CHUNK] {
                words(planes, slot, chunk).map($from)
            }

            #[inline(always)]
            fn store(planes: &mut [Plane], slot: usize, chunk: usize, values: [Self; CHUNK]) {
                set_words(planes, slot, chunk, values.map($to));
            }

            #[inline(always)]
            fn pick(planes: &[Plane], a: usize, b: usize, chunk: usize, chosen: u32) -> [Self; CHUNK] {
                mixed(words(planes, a, chunk), words(planes, b, chunk), chosen).map($from)
            }

            #[inline(always)]
            fn blend(planes: &mut [Plane], slot: usize, chunk: usize, values: [Self; CHUNK], part: u32) {
                let blended = mixed(values.map($to), words(planes, slot, chunk), part);
                set_words(planes, slot, chunk, blended);
            }

            #[inline(always)]
            fn get(planes: &[Plane], slot: usize, lane: usize) -> Self {
                $from(planes[slot].0[lane & 31])
            }

            #[inline(always)]
            fn set(planes: &mut [Plane], slot: usize, lane: usize, value: Self) {
                planes[slot].0[lane & 31] = $to(value);
            }
        }
    };
}

narrow_lane!(u32, |word: u32| word, |value: u32| value);
narrow_lane!(i32, |word: u32| word as i32, |value: i32| value as u32);
narrow_lane!(f32, f32::from_bits, |value: f32| value.canonical().to_bits());
narrow_lane!(u16, |word: u32| word as u16, |value: u16| u32::from(value));
narrow_lane!(i16, |word: u32| word as i16, |value: i16| value as u32);
narrow_lane!(u8, |word: u32| word as u8, |value: u8| u32::from(value));
narrow_lane!(i8, |word: u32| word as i8, |value: i8| value as u32);
narrow_lane!(F16, |word: u32| F16(word as u16), |value: F16| u32::from(value.canonical().0));

/// Eight 64-bit lanes are one half of a plane.
#[inline(always)]
fn wide_words(planes: &[Plane], slot: usize, chunk: usize) -> [u64; CHUNK] {
    let half = 2 * CHUNK * (chunk & 1);
    let mut out = [0u32; 2 * CHUNK];
    out.copy_from_slice(&planes[slot + chunk / 2].0[half..half + 2 * CHUNK]);
    bytemuck::cast(out)
}

#[inline(always)]
fn set_wide_words(planes: &mut [Plane], slot: usize, chunk: usize, values: [u64; CHUNK]) {
    let half = 2 * CHUNK * (chunk & 1);
    let words: [u32; 2 * CHUNK] = bytemuck::cast(values);
    planes[slot + chunk / 2].0[half..half + 2 * CHUNK].copy_from_slice(&words);
}

/// As [`mixed`], of 64 bits.
#[inline(always)]
fn mixed_wide(a: [u64; CHUNK], b: [u64; CHUNK], chosen: u32) -> [u64; CHUNK] {
    let chosen = spread(&SPREAD_WIDE, chosen);
    core::array::from_fn(|lane| (b[lane] & !chosen[lane]) | (a[lane] & chosen[lane]))
}

macro_rules! wide_lane {
    ($ty:ty, $from:expr, $to:expr) => {
        impl Lane for $ty {
            const IS_WIDE: bool = true;

            #[inline(always)]
            fn load(planes: &[Plane], slot: usize, chunk: usize) -> [Self; CHUNK] {
                wide_words(planes, slot, chunk).map($from)
            }

            #[inline(always)]
            fn store(planes: &mut [Plane], slot: usize, chunk: usize, values: [Self; CHUNK]) {
                set_wide_words(planes, slot, chunk, values.map($to));
            }

            #[inline(always)]
            fn pick(planes: &[Plane], a: usize, b: usize, chunk: usize, chosen: u32) -> [Self; CHUNK] {
                mixed_wide(wide_words(planes, a, chunk), wide_words(planes, b, chunk), chosen).map($from)
            }

            #[inline(always)]
            fn blend(planes: &mut [Plane], slot: usize, chunk: usize, values: [Self; CHUNK], part: u32) {
                let blended = mixed_wide(values.map($to), wide_words(planes, slot, chunk), part);
                set_wide_words(planes, slot, chunk, blended);
            }

            #[inline(always)]
            fn get(planes: &[Plane], slot: usize, lane: usize) -> Self {
                let plane = &planes[slot + (lane & 31) / 16].0;
                let low = 2 * (lane & 15);
                $from(u64::from(plane[low]) | (u64::from(plane[low + 1]) << 32))
            }

            #[inline(always)]
            fn set(planes: &mut [Plane], slot: usize, lane: usize, value: Self) {
                let plane = &mut planes[slot + (lane & 31) / 16].0;
                let (low, bits): (usize, u64) = (2 * (lane & 15), $to(value));
                (plane[low], plane[low + 1]) = (bits as u32, (bits >> 32) as u32);
            }
        }
    };
}

wide_lane!(u64, |word: u64| word, |value: u64| value);
wide_lane!(i64, |word: u64| word as i64, |value: i64| value as u64);
wide_lane!(f64, f64::from_bits, |value: f64| value.canonical().to_bits());

/// Calls `visit` with each lane of a mask, lowest first.
#[inline(always)]
pub fn for_each_lane(mask: u32, mut visit: impl FnMut(usize)) {
    let mut rest = mask;
    while rest != 0 {
        visit(rest.trailing_zeros() as usize);
        rest &= rest - 1;
    }
}

/// The place of a slot in a frame, all of whose planes are there. Asked before the chunks are
/// looked at, so that none of them asks again.
#[inline(always)]
fn row<A: Lane>(planes: &[Plane], slot: u32, base: u32) -> usize {
    let row = place(slot, base);
    assert!(row < planes.len());
    if A::IS_WIDE {
        assert!(row + 1 < planes.len());
    }
    row
}

/// Runs something for each chunk of which lanes are active, with the number of the chunk and those of its lanes; and
/// something simpler where all lanes are. Written out, because the compiler takes the loop for too long to do it.
macro_rules! each_chunk {
    ($mask:expr, |$chunk:ident| $all:expr, |$part:ident| $some:expr) => {
        each_chunk!($mask, |$chunk| $all, |$part| $some, 0 1 2 3)
    };
    ($mask:expr, |$chunk:ident| $all:expr, |$part:ident| $some:expr, $($number:literal)+) => {
        // Twice, because most instructions run in all lanes, and blending costs half as much again.
        if $mask == !0 {
            $({
                let $chunk = $number;
                $all;
            })+
        } else {
            $({
                let ($chunk, $part) = ($number, part($mask, $number));
                if $part != 0 {
                    $some;
                }
            })+
        }
    };
}

/// The bits of a chunk.
#[inline(always)]
fn part(mask: u32, chunk: usize) -> u32 {
    mask >> (CHUNK * chunk) & ((1 << CHUNK) - 1)
}

/// `d = op(a)` in the active lanes, for an operation that is asked for by name on whole chunks.
#[inline(always)]
pub fn map_chunks<A: Lane>(
    file: &mut LaneFile,
    slots: &Slots,
    warps: &[Active],
    op: impl Fn([A; CHUNK]) -> [A; CHUNK] + Copy,
) {
    let planes = file.planes.as_mut_slice();
    for &Active { base, mask } in warps {
        let (d, a) = (row::<A>(planes, slots.d, base), row::<A>(planes, slots.a, base));
        each_chunk!(mask, |chunk| A::store(planes, d, chunk, op(A::load(planes, a, chunk))), |part| A::blend(
            planes,
            d,
            chunk,
            op(A::load(planes, a, chunk)),
            part
        ));
    }
}

macro_rules! vector_map {
    ($(#[$doc:meta])* $name:ident, $($arg:ident: $ty:ident),+) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<$($ty: Lane,)+ R: Lane>(
            file: &mut LaneFile,
            slots: &Slots,
            warps: &[Active],
            op: impl Fn($($ty),+) -> R + Copy,
        ) {
            let planes = file.planes.as_mut_slice();
            for &Active { base, mask } in warps {
                let d = row::<R>(planes, slots.d, base);
                $(let $arg = row::<$ty>(planes, slots.$arg, base);)+
                each_chunk!(
                    mask,
                    |chunk| {
                        $(let $arg = $ty::load(planes, $arg, chunk);)+
                        R::store(planes, d, chunk, core::array::from_fn(|lane| op($($arg[lane]),+)));
                    },
                    |part| {
                        $(let $arg = $ty::load(planes, $arg, chunk);)+
                        R::blend(planes, d, chunk, core::array::from_fn(|lane| op($($arg[lane]),+)), part);
                    }
                );
            }
        }
    };
}

vector_map!(
    /// `d = op(a)` in the active lanes, as vectors.
    map1, a: A
);
vector_map!(
    /// `d = op(a, b)` in the active lanes, as vectors.
    map2, a: A, b: B
);
vector_map!(
    /// `d = op(a, b, c)` in the active lanes, as vectors.
    map3, a: A, b: B, c: C
);

macro_rules! scalar_map {
    ($(#[$doc:meta])* $name:ident, $($arg:ident: $ty:ident),+) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<$($ty: Lane,)+ R: Lane>(
            file: &mut LaneFile,
            slots: &Slots,
            warps: &[Active],
            op: impl Fn($($ty),+) -> R,
        ) {
            let planes = file.planes.as_mut_slice();
            for &Active { base, mask } in warps {
                let d = place(slots.d, base);
                $(let $arg = place(slots.$arg, base);)+
                for_each_lane(mask, |lane| R::set(planes, d, lane, op($($ty::get(planes, $arg, lane)),+)));
            }
        }
    };
}

scalar_map!(
    /// `d = op(a)` lane by lane: small code for operations that gain nothing from SIMD.
    each1, a: A
);
scalar_map!(
    /// `d = op(a, b)` lane by lane.
    each2, a: A, b: B
);
scalar_map!(
    /// `d = op(a, b, c)` lane by lane.
    each3, a: A, b: B, c: C
);
scalar_map!(
    /// `d = op(a, b, c, f)` lane by lane.
    each4, a: A, b: B, c: C, f: D
);

/// The lanes, of all 32, for which `test(a, b)` has its highest bit set, a chunk at a time.
#[inline(always)]
pub fn compare<A: Lane>(
    file: &LaneFile,
    a: u32,
    b: u32,
    test: impl Fn([A; CHUNK], [A; CHUNK]) -> [u32; CHUNK] + Copy,
) -> u32 {
    let planes = file.planes.as_slice();
    let (a, b) = (row::<A>(planes, a, file.base), row::<A>(planes, b, file.base));
    let mut bits = 0;
    for chunk in [0, 2] {
        let low = test(A::load(planes, a, chunk), A::load(planes, b, chunk));
        let high = test(A::load(planes, a, chunk + 1), A::load(planes, b, chunk + 1));
        bits |= signs(low, high) << (CHUNK * chunk);
    }
    bits
}

/// `d = a` in the active lanes for which the predicate operand holds, and `b` in the other active lanes.
#[inline(always)]
pub fn choose<T: Lane>(file: &mut LaneFile, slots: &Slots, warps: &[Active]) {
    let planes = file.planes.as_mut_slice();
    for &Active { base, mask } in warps {
        let choice = file.predicates[place(slots.f, base)] ^ slots.flip;
        let [d, a, b] = [slots.d, slots.a, slots.b].map(|slot| row::<T>(planes, slot, base));
        each_chunk!(
            mask,
            |chunk| T::store(planes, d, chunk, T::pick(planes, a, b, chunk, part(choice, chunk))),
            |active| T::blend(planes, d, chunk, T::pick(planes, a, b, chunk, part(choice, chunk)), active)
        );
    }
}

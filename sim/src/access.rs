//! Loads, stores, atomics and texture fetches of one warp, and what they cost.
//!
//! ```text
//! lanes' addresses → bounds and alignment, lane by lane → distinct 32-byte sectors → first-level cache → latency
//!                                                       → passes over the banks   (shared memory)
//! ```
//!
//! Lanes are served in order, so atomics of one warp on one address happen in lane order, or in
//! that of a schedule. A load is as late as its latest sector. Stores write through: they cost
//! their sectors and nobody waits for them.

use alloc::format;
use alloc::string::String;
use smallvec::SmallVec;

use super::cache::Cache;
use super::decode::{Access, AccessKind, Base, Extension, Index};
use super::error::ErrorKind;
use super::lanes::{LaneFile, for_each_lane};
use super::memory::{
    Fault, Memory, RegionKind, Target, nearest_region, offset_of, read_number, target_of, write_number,
};
use super::together::FrameBase;
use crate::ir::{AtomicOp, Space, Type, TypeClass};
use crate::machine;
use warpscope_program::compact_sort::CompactSort;

/// A failed access: what is wrong, of which lane, at which address.
pub struct AccessFault {
    /// The kind.
    pub kind: ErrorKind,
    /// A sentence.
    pub message: String,
    /// The lane.
    pub lane: usize,
    /// The address.
    pub address: u64,
}

/// Cost of an access.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    /// Cycles for which the scheduler is held beyond the first.
    pub busy: u64,
    /// Cycles until its destination is ready, where it differs from the class's latency.
    pub latency: Option<u64>,
    /// Sectors asked for.
    pub sectors: u64,
    /// Sectors that the first level had.
    pub hits: u64,
    /// Passes over the banks of shared memory beyond the first of each part of the warp.
    pub conflicts: u64,
    /// Did it go to shared or local memory?
    pub elsewhere: bool,
}

/// Context in which an access runs.
pub struct Place<'a> {
    /// The frame.
    pub frame: FrameBase,
    /// Active lanes; at least one.
    pub mask: u32,
    /// The slot of the resident block.
    pub block: usize,
    /// The slot of the resident warp.
    pub warp: usize,
    /// The order in which lanes are served, if it is not that of their numbers.
    pub order: Option<&'a [usize; 32]>,
    /// The machine's memory.
    pub model: &'a machine::Memory,
    /// Issue cost of a unit machine has no memory costs at all.
    pub caches: &'a mut Caches,
}

/// The cache levels.
pub struct Caches {
    /// First level.
    pub l1: Cache,
    /// Second level.
    pub l2: Cache,
}

/// Addresses of the active lanes.
fn addresses(access: &Access, file: &LaneFile, place: &Place<'_>) -> [u64; 32] {
    let mut out = [0u64; 32];
    let frame = place.frame;
    for_each_lane(place.mask, |lane| {
        let read = |slot: u32, wide: bool| {
            let value = if wide { super::decode::Value::Wide(slot) } else { super::decode::Value::Word(slot) };
            frame.read(file, value, lane)
        };
        let mut address = match access.base {
            Base::None => 0,
            Base::Wide(slot) => read(slot, true),
            Base::Word(slot) => read(slot, false),
        };
        address = address.wrapping_add(access.offset as u64);
        for index in &access.indices {
            let (value, scale) = match *index {
                Index::Wide(slot, scale) => (read(slot, true), scale),
                Index::Unsigned(slot, bits, scale) => (read(slot, false) & (u64::MAX >> (64 - bits)), scale),
                Index::Signed(slot, bits, scale) => {
                    ((((read(slot, false) << (64 - bits)) as i64) >> (64 - bits)) as u64, scale)
                }
            };
            address = address.wrapping_add(value.wrapping_mul(scale as u64));
        }
        out[lane] = address;
    });
    out
}

/// Runs an access.
pub fn run(
    access: &Access,
    file: &mut LaneFile,
    memory: &mut Memory,
    mut place: Place<'_>,
) -> Result<Cost, AccessFault> {
    if let AccessKind::Texture(coordinates) = access.kind {
        return fetch_texels(access, coordinates, file, memory, &mut place);
    }
    let addresses = addresses(access, file, &place);
    let size = access.ty.bytes() as usize;
    let bytes = size as u64 * u64::from(access.elements);
    let speculative = access.kind == AccessKind::Load { speculative: true };
    let mut targets = [Target::Nowhere; 32];
    let mut fault = None;
    for_each_lane(place.mask, |lane| {
        if fault.is_some() {
            return;
        }
        match locate(access, memory, &place, addresses[lane], bytes) {
            Ok(target) => targets[lane] = target,
            Err(_) if speculative => {}
            Err(why) => fault = Some((lane, why)),
        }
    });
    if let Some((lane, why)) = fault {
        return Err(explain(access, memory, why, lane, addresses[lane], bytes));
    }
    let order = place.order;
    let is_active = |position: &usize| order.is_some_and(|order| place.mask >> order[*position] & 1 == 1);
    let positions = match order {
        None => place.mask,
        Some(_) => (0..32).filter(is_active).fold(0, |positions, position| positions | 1 << position),
    };
    for_each_lane(positions, |position| {
        let lane = order.map_or(position, |order| order[position]);
        let target = targets[lane];
        let mut at = offset_of(addresses[lane]) as usize;
        if target == Target::Local {
            at += lane * memory.local_bytes as usize;
        }
        match access.kind {
            AccessKind::Load { .. } => {
                for &value in &access.values {
                    let bits = match target {
                        Target::Nowhere => 0,
                        _ => extend(
                            read_number(memory.bytes(target, place.block, place.warp), at, size),
                            access.extension,
                        ),
                    };
                    place.frame.write(file, value, lane, bits);
                    at += size;
                }
            }
            AccessKind::Store => {
                for &value in &access.values {
                    let bits = place.frame.read(file, value, lane) & access.ty.mask();
                    write_number(memory.bytes_mut(target, place.block, place.warp), at, size, bits);
                    at += size;
                }
            }
            AccessKind::Atomic(op) => {
                let operand =
                    |index: usize| access.operands.get(index).map_or(0, |&value| place.frame.read(file, value, lane));
                // A result may be in the register of a later operand.
                let mut results = [0; 4];
                for (index, result) in results[..usize::from(access.elements)].iter_mut().enumerate() {
                    let (first, second) = (operand(index) & access.ty.mask(), operand(1) & access.ty.mask());
                    let bytes = memory.bytes_mut(target, place.block, place.warp);
                    let old = read_number(bytes, at, size);
                    let new = match access.is_of_bfloats {
                        true => bfloat_atomic(op, old, first),
                        false => atomic(op, access.ty, old, first, second),
                    };
                    write_number(bytes, at, size, new);
                    *result = extend(old, access.extension);
                    at += size;
                }
                for (&value, old) in access.values.iter().zip(results) {
                    place.frame.write(file, value, lane, old);
                }
            }
            AccessKind::Texture(_) => {}
        }
    });
    Ok(cost(access, memory, &mut place, &addresses, &targets, bytes as u32))
}

/// The piece of memory that holds all bytes of one lane's access, or what is wrong with it.
fn locate(access: &Access, memory: &Memory, place: &Place<'_>, address: u64, bytes: u64) -> Result<Target, Fault> {
    let target = target_of(address);
    let Some(space) = memory.space_of(target) else { return Err(Fault::OutOfBounds) };
    // A window named by the opcode is the only memory that it reaches; a generic access reaches everything. Constant
    // data may be read as global, since a generic address of it is one of device memory.
    if let Some(named) = access.space
        && named != space
        && !(named == Space::Global && space == Space::Const)
    {
        return Err(Fault::OutOfBounds);
    }
    let end = u64::from(offset_of(address)) + bytes;
    if end > u64::from(memory.len(target, place.block)) {
        return Err(Fault::OutOfBounds);
    }
    if address & (bytes - 1) != 0 {
        return Err(Fault::Misaligned);
    }
    if !matches!(access.kind, AccessKind::Load { .. }) && memory.is_read_only(target) {
        return Err(Fault::ReadOnly);
    }
    Ok(target)
}

fn explain(access: &Access, memory: &Memory, why: Fault, lane: usize, address: u64, bytes: u64) -> AccessFault {
    let what = match access.kind {
        AccessKind::Load { .. } => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic(_) => "atomic",
        AccessKind::Texture(_) => "texture fetch",
    };
    let nearest = || match target_of(address) {
        Target::Shared => Some(format!(": byte {} of shared memory", offset_of(address))),
        Target::Region(_) | Target::Nowhere => {
            let (region, at) = nearest_region(address)?;
            let region = memory.regions.get(region)?;
            Some(format!(": byte {at} of `{}` ({} bytes)", region.name, region.bytes.len()))
        }
        Target::Local | Target::Param => None,
    };
    let (kind, message) = match why {
        Fault::OutOfBounds => {
            (ErrorKind::OutOfBounds, format!("out-of-bounds {what} of {bytes} bytes{}", nearest().unwrap_or_default()))
        }
        Fault::Misaligned => {
            (ErrorKind::Misaligned, format!("misaligned {what}: the address is not a multiple of {bytes} bytes"))
        }
        Fault::ReadOnly => {
            (ErrorKind::ReadOnly, format!("{what} to read-only memory{}", nearest().unwrap_or_default()))
        }
    };
    AccessFault { kind, message, lane, address }
}

fn extend(bits: u64, extension: Extension) -> u64 {
    match extension {
        Extension::Zero | Extension::Sign(64) => bits,
        Extension::Sign(width) => (((bits << (64 - width)) as i64) >> (64 - width)) as u64,
    }
}

/// The bits with the canonical NaN of a float type in place of any other.
pub fn canonical(ty: Option<Type>, bits: u64) -> u64 {
    let (exponent, all) = match ty {
        Some(Type::F16) => (0x7C00, 0x7FFF),
        Some(Type::F32) => (0x7F80_0000, 0x7FFF_FFFF),
        Some(Type::F64) => (0x7FF0_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF),
        _ => return bits,
    };
    if bits & all > exponent { all } else { bits }
}

/// The new contents of an atomic's place.
fn atomic(op: AtomicOp, ty: Type, old: u64, first: u64, second: u64) -> u64 {
    let mask = ty.mask();
    let shift = 64 - ty.bits();
    let signed = |bits: u64| ((bits << shift) as i64) >> shift;
    let less = |a: u64, b: u64| if ty.is_signed() { signed(a) < signed(b) } else { a < b };
    match (op, ty.class(), ty) {
        (AtomicOp::Add, TypeClass::Float, _) => canonical(Some(ty), float_sum(ty, old, first)),
        (AtomicOp::Min | AtomicOp::Max, TypeClass::Float, _) => canonical(Some(ty), float_bound(op, ty, old, first)),
        (AtomicOp::Add, ..) => old.wrapping_add(first) & mask,
        (AtomicOp::Min, ..) => {
            if less(first, old) {
                first
            } else {
                old
            }
        }
        (AtomicOp::Max, ..) => {
            if less(old, first) {
                first
            } else {
                old
            }
        }
        (AtomicOp::And, ..) => old & first,
        (AtomicOp::Or, ..) => old | first,
        (AtomicOp::Xor, ..) => old ^ first,
        (AtomicOp::Inc, ..) => {
            if old >= first {
                0
            } else {
                old + 1
            }
        }
        (AtomicOp::Dec, ..) => {
            if old == 0 || old > first {
                first
            } else {
                old - 1
            }
        }
        (AtomicOp::Exch, ..) => first,
        (AtomicOp::Cas, ..) => {
            if old == first {
                second
            } else {
                old
            }
        }
    }
}

/// The new contents of the place of an atomic on bfloats. The sum of two is rounded to a float
/// before it is rounded to a bfloat, which gives the nearest one.
fn bfloat_atomic(op: AtomicOp, old: u64, new: u64) -> u64 {
    let [a, b] = [old, new].map(|bits| bits << 16);
    let float = match op {
        AtomicOp::Add => float_sum(Type::F32, a, b),
        _ => float_bound(op, Type::F32, a, b),
    };
    if f32::from_bits(float as u32).is_nan() {
        return 0x7FFF;
    }
    let half_a_step = 0x7FFF + (float >> 16 & 1);
    (float + half_a_step) >> 16
}

fn float_sum(ty: Type, a: u64, b: u64) -> u64 {
    use super::arith::float::add;
    use super::arith::half::F16;
    match ty {
        Type::F64 => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
        Type::F32 => u64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits()),
        _ => u64::from(add(F16(a as u16), F16(b as u16), rustc_apfloat::Round::NearestTiesToEven).0),
    }
}

fn float_bound(op: AtomicOp, ty: Type, old: u64, new: u64) -> u64 {
    use super::arith::float::{max, min};
    use super::arith::half::F16;
    let is_min = op == AtomicOp::Min;
    match ty {
        Type::F64 => {
            let (a, b) = (f64::from_bits(old), f64::from_bits(new));
            if is_min { min(a, b) } else { max(a, b) }.to_bits()
        }
        Type::F32 => {
            let (a, b) = (f32::from_bits(old as u32), f32::from_bits(new as u32));
            u64::from(if is_min { min(a, b) } else { max(a, b) }.to_bits())
        }
        _ => {
            let (a, b) = (F16(old as u16), F16(new as u16));
            u64::from(if is_min { min(a, b) } else { max(a, b) }.0)
        }
    }
}

/// Sectors, bank passes and latency of an access that went well.
fn cost(
    access: &Access,
    memory: &Memory,
    place: &mut Place<'_>,
    addresses: &[u64; 32],
    targets: &[Target; 32],
    bytes: u32,
) -> Cost {
    let mut cost = Cost::default();
    let mut sectors: SmallVec<[u32; 64]> = SmallVec::new();
    let mut shared = 0;
    for_each_lane(place.mask, |lane| {
        let offset = offset_of(addresses[lane]);
        match targets[lane] {
            Target::Shared => {
                cost.elsewhere = true;
                shared |= 1 << lane;
            }
            target @ Target::Region(_) => {
                let first = memory.sector(target, offset, lane, place.warp);
                let last = memory.sector(target, offset + bytes - 1, lane, place.warp);
                sectors.extend(first..=last);
            }
            // Words that follow each other in one lane lie a line apart.
            target @ Target::Local => {
                cost.elsewhere = true;
                let words = (offset / 4)..=((offset + bytes - 1) / 4);
                sectors.extend(words.map(|word| memory.sector(target, 4 * word, lane, place.warp)));
            }
            Target::Param | Target::Nowhere => {}
        }
    });
    sectors.compact_sort();
    sectors.dedup();
    cost.sectors = sectors.len() as u64;
    let mut latency = 0;
    if shared != 0 {
        let (parts, passes) = bank_passes(addresses, shared, bytes, place.model.banks.clamp(1, 64));
        cost.conflicts = passes - parts;
        cost.busy += (passes - 1) * u64::from(place.model.bank_cycles.value);
    }
    cost.busy += cost.sectors.saturating_sub(1) * u64::from(place.model.sector_cycles.value);
    let reads = matches!(access.kind, AccessKind::Load { .. });
    for &sector in &sectors {
        if reads {
            latency = latency.max(read_latency(place, sector, &mut cost.hits));
        } else {
            // Written through: the first level keeps what it has, the second takes the sector in.
            place.caches.l2.read(sector);
            if matches!(access.kind, AccessKind::Atomic(_)) {
                place.caches.l1.invalidate(sector);
            }
        }
    }
    let constant = matches!(access.space, Some(Space::Const | Space::Param));
    if reads && !sectors.is_empty() && !constant {
        cost.latency = Some(latency);
    }
    cost
}

/// The parts of a warp that shared memory serves one after another, those with an active lane, and the passes over the
/// banks that they take together: for each part the most distinct words in one bank. A part is as many lanes as reach
/// 128 bytes: a half of the warp where each lane has 64 bits, a quarter where it has 128.
fn bank_passes(addresses: &[u64; 32], mask: u32, bytes: u32, banks: u32) -> (u64, u64) {
    let lanes = (128 / bytes).clamp(1, 32);
    let (mut parts, mut passes) = (0, 0);
    for first in (0..32).step_by(lanes as usize) {
        let part = mask & (u32::MAX >> (32 - lanes)) << first;
        if part != 0 {
            parts += 1;
            passes += part_passes(addresses, part, bytes, banks);
        }
    }
    (parts, passes)
}

/// The most distinct words in one bank that the lanes of a part reach.
fn part_passes(addresses: &[u64; 32], part: u32, bytes: u32, banks: u32) -> u64 {
    // Mostly each bank gives one word, to one lane or to all that ask for it.
    let (mut used, mut word_of, mut is_free) = (0u64, [0u32; 64], true);
    let mut words: SmallVec<[u32; 64]> = SmallVec::new();
    for_each_lane(part, |lane| {
        let offset = offset_of(addresses[lane]);
        for word in offset / 4..=(offset + bytes - 1) / 4 {
            let bank = (word % banks) as usize;
            is_free &= used >> bank & 1 == 0 || word_of[bank] == word;
            (used, word_of[bank]) = (used | 1 << bank, word);
            words.push(word);
        }
    });
    if is_free {
        return 1;
    }
    words.compact_sort();
    words.dedup();
    let mut in_bank = [0u16; 64];
    words.iter().for_each(|word| in_bank[(word % banks) as usize] += 1);
    u64::from(in_bank.iter().copied().max().unwrap_or(1))
}

/// Cycles until a sector is there.
fn read_latency(place: &mut Place<'_>, sector: u32, hits: &mut u64) -> u64 {
    let model = place.model;
    let latency = if place.caches.l1.read(sector) {
        *hits += 1;
        model.l1_latency
    } else if place.caches.l2.read(sector) {
        model.l2_latency
    } else {
        model.global_latency
    };
    u64::from(latency.value)
}

/// The texel whose column and row the coordinates fall into, clamped to the edge; coordinates count texels, not parts
/// of the whole, and nothing is interpolated.
fn fetch_texels(
    access: &Access,
    coordinates: Type,
    file: &mut LaneFile,
    memory: &Memory,
    place: &mut Place<'_>,
) -> Result<Cost, AccessFault> {
    let mut addresses = [0u64; 32];
    let mut targets = [Target::Nowhere; 32];
    let mut fault = None;
    let handles = self::addresses(access, file, place);
    for_each_lane(place.mask, |lane| {
        let target = target_of(handles[lane]);
        let size = match target {
            Target::Region(region) => memory.regions.get(region as usize).and_then(|region| match region.kind {
                RegionKind::Texture { width, height } => Some((width, height)),
                _ => None,
            }),
            _ => None,
        };
        let Some((width, height)) = size else {
            fault = fault.or(Some(lane));
            return;
        };
        let clamped = |index: usize, end: u32| {
            let bits = access.operands.get(index).map_or(0, |&value| place.frame.read(file, value, lane)) as u32;
            let cell = if coordinates == Type::F32 {
                // A cast clamps to the range and takes NaN to zero.
                libm::floorf(f32::from_bits(bits)) as i64
            } else {
                i64::from(bits as i32)
            };
            cell.clamp(0, i64::from(end) - 1) as u64
        };
        let (x, y) = (clamped(0, width), clamped(1, height));
        targets[lane] = target;
        addresses[lane] = handles[lane] + (y * u64::from(width) + x) * 16;
        let mut at = offset_of(addresses[lane]) as usize;
        for &value in &access.values {
            let bits = read_number(memory.bytes(target, place.block, place.warp), at, 4);
            place.frame.write(file, value, lane, bits);
            at += 4;
        }
    });
    if let Some(lane) = fault {
        let message = "the operand of a texture fetch is not a texture".into();
        return Err(AccessFault { kind: ErrorKind::OutOfBounds, message, lane, address: handles[lane] });
    }
    let as_load = Access { kind: AccessKind::Load { speculative: false }, ..access.clone() };
    Ok(cost(&as_load, memory, place, &addresses, &targets, 16))
}

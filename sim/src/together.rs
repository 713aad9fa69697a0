//! Operations across the lanes of a warp: votes, shuffles, matches, reductions.
//!
//! ```text
//! active lanes     0 1 2 3 4 5 6 7        v = vote.sync.ballot p, m
//! m                lanes 0–3: 0x0F, lanes 4–7: 0xF0
//! p                0 1 0 0 1 1 0 0        v = 0x02 in lanes 0–3, 0x30 in lanes 4–7
//! ```
//!
//! A lane works with its *members*: all lanes that its member mask names and that have not exited,
//! or the active lanes where there is no mask. Lanes under different masks vote, match, shuffle and
//! add up side by side. The members of a lane may have come to different instructions, one [`Part`]
//! each; [`agrees`] says whether those of one instruction are complete by themselves, and the run
//! makes incomplete ones wait. A shuffle that asks a lane which is no member, or lies outside the
//! segment, gives the asking lane its own value, and the second destination is false for the
//! latter, as in PTX; the former is undefined in PTX and fixed here so that runs are deterministic.
//! A reduction of no lanes is what changes nothing: 0 for a sum, all ones for a conjunction.
//!
//! Source: PTX ISA, sections on `vote`, `shfl`, `match`, `activemask`, `redux`.

use super::decode::{Value, WarpSite};
use super::lanes::{self, Lane, LaneFile, for_each_lane};
use crate::ir::{AtomicOp, Op};

/// A frame's view of slots: where a slot of a decoded instruction lies in the lane file.
#[derive(Clone, Copy)]
pub struct FrameBase(pub u32);

impl FrameBase {
    /// The index of a slot.
    #[inline(always)]
    pub fn at(self, slot: u32) -> u32 {
        lanes::place(slot, self.0) as u32
    }

    /// Puts the same bits into all lanes of a value.
    pub fn fill(self, file: &mut LaneFile, value: Value, bits: u64) {
        (0..32).for_each(|lane| self.write(file, value, lane, bits));
    }

    /// A lane of a value, as bits.
    #[inline]
    pub fn read(self, file: &LaneFile, value: Value, lane: usize) -> u64 {
        match value {
            Value::Word(slot) => u64::from(u32::get(&file.planes, self.at(slot) as usize, lane)),
            Value::Wide(slot) => u64::get(&file.planes, self.at(slot) as usize, lane),
            Value::Predicate(slot, flip) => u64::from((file.predicates[self.at(slot) as usize] ^ flip) >> lane & 1),
        }
    }

    /// Writes a lane of a value.
    #[inline]
    pub fn write(self, file: &mut LaneFile, value: Value, lane: usize, bits: u64) {
        match value {
            Value::Word(slot) => u32::set(&mut file.planes, self.at(slot) as usize, lane, bits as u32),
            Value::Wide(slot) => u64::set(&mut file.planes, self.at(slot) as usize, lane, bits),
            Value::Predicate(slot, _) => {
                let predicate = &mut file.predicates[self.at(slot) as usize];
                *predicate = (*predicate & !(1 << lane)) | ((bits as u32 & 1) << lane);
            }
        }
    }
}

/// Lanes at one instruction that do something together.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The instruction.
    pub site: &'a WarpSite,
    /// The frame that it names registers of.
    pub frame: FrameBase,
    /// The lanes.
    pub lanes: u32,
}

impl Part<'_> {
    /// The lanes that a lane works with, whether they have come or not.
    pub fn named(&self, file: &LaneFile, lane: usize) -> u32 {
        self.site.members.map_or(!0, |members| self.frame.read(file, members, lane) as u32)
    }

    fn operand(&self, file: &LaneFile, index: usize, lane: usize) -> u64 {
        self.site.operands[index].map_or(0, |value| self.frame.read(file, value, lane))
    }
}

/// Have all lanes that these lanes name come with them, under the same mask, as far as they have not exited?
#[inline]
pub fn agrees(part: Part<'_>, file: &LaneFile, alive: u32) -> bool {
    if part.site.names_all {
        return part.lanes == alive;
    }
    let mut left = part.lanes;
    while left != 0 {
        let named = part.named(file, left.trailing_zeros() as usize);
        let expected = named & alive;
        if expected & !left != 0 || left & expected == 0 {
            return false;
        }
        let mut same = true;
        for_each_lane(expected, |lane| same &= part.named(file, lane) == named);
        if !same {
            return false;
        }
        left &= !expected;
    }
    true
}

/// Runs an operation for lanes of one warp. The parts have the same opcode, and are complete: see [`agrees`].
pub fn run(parts: &[Part<'_>], file: &mut LaneFile, warp_size: u32) {
    let Some(&Part { site: &WarpSite { op, reduction, .. }, .. }) = parts.first() else { return };
    let all = parts.iter().fold(0, |lanes, part| lanes | part.lanes);
    let mut values = [0u64; 32];
    let mut members = [all; 32];
    for part in parts {
        for_each_lane(part.lanes, |lane| {
            values[lane] = part.operand(file, 0, lane);
            if !part.site.names_all {
                members[lane] &= part.named(file, lane);
            }
        });
    }
    let mut results = [0u64; 32];
    let mut flags = 0u32;
    match op {
        Op::Activemask => results = [u64::from(all); 32],
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => {
            let mut ballot = 0u32;
            for_each_lane(all, |lane| ballot |= ((values[lane] & 1) as u32) << lane);
            for_each_lane(all, |lane| {
                let members = members[lane];
                let ballot = ballot & members;
                results[lane] = match op {
                    Op::VoteAll => u64::from(ballot == members),
                    Op::VoteAny => u64::from(ballot != 0),
                    Op::VoteUni => u64::from(ballot == members || ballot == 0),
                    _ => u64::from(ballot),
                };
            });
        }
        Op::MatchAny | Op::MatchAll => {
            for_each_lane(all, |lane| {
                let mut equal = 0u32;
                for_each_lane(members[lane], |other| equal |= u32::from(values[other] == values[lane]) << other);
                let is_unanimous = equal == members[lane];
                results[lane] = u64::from(if op == Op::MatchAny || is_unanimous { equal } else { 0 });
                flags |= u32::from(is_unanimous) << lane;
            });
        }
        Op::Redux => {
            // Mostly all lanes have one mask.
            let mut last = None;
            for_each_lane(all, |lane| {
                let result = match last {
                    Some((before, result)) if before == members[lane] => result,
                    _ => reduced(reduction, &values, members[lane]),
                };
                last = Some((members[lane], result));
                results[lane] = u64::from(result);
            });
        }
        _ => {
            let default_clamp = if op == Op::ShflUp { 0 } else { warp_size - 1 };
            for part in parts {
                for_each_lane(part.lanes, |lane| {
                    let amount = part.operand(file, 1, lane) as u32 & 31;
                    let has_control = part.site.operands[2].is_some();
                    let control = if has_control { part.operand(file, 2, lane) as u32 } else { default_clamp };
                    let (from, inside) = shuffle_source(op, lane as u32, amount, control, warp_size);
                    let is_member = members[lane] >> from & 1 == 1;
                    results[lane] = values[if inside && is_member { from as usize } else { lane }];
                    flags |= u32::from(inside) << lane;
                });
            }
        }
    }
    for &Part { site, frame, lanes } in parts {
        if let Some(dst) = site.dst {
            for_each_lane(lanes, |lane| frame.write(file, dst, lane, results[lane]));
        }
        if let Some(predicate) = site.predicate {
            let predicate = Value::Predicate(predicate, 0);
            for_each_lane(lanes, |lane| frame.write(file, predicate, lane, u64::from(flags >> lane)));
        }
    }
}

/// Reduces the values of some lanes.
fn reduced(reduction: Option<(AtomicOp, bool)>, values: &[u64; 32], members: u32) -> u32 {
    let fold = |nothing: u32, combine: fn(u32, u32) -> u32| {
        let mut all = nothing;
        for_each_lane(members, |lane| all = combine(all, values[lane] as u32));
        all
    };
    match reduction {
        Some((AtomicOp::Add, _)) => fold(0, u32::wrapping_add),
        Some((AtomicOp::Min, false)) => fold(u32::MAX, u32::min),
        Some((AtomicOp::Max, false)) => fold(0, u32::max),
        Some((AtomicOp::Min, true)) => fold(i32::MAX as u32, |a, b| i32::min(a as i32, b as i32) as u32),
        Some((AtomicOp::Max, true)) => fold(i32::MIN as u32, |a, b| i32::max(a as i32, b as i32) as u32),
        Some((AtomicOp::And, _)) => fold(u32::MAX, |a, b| a & b),
        Some((AtomicOp::Or, _)) => fold(0, |a, b| a | b),
        Some((AtomicOp::Xor, _)) => fold(0, |a, b| a ^ b),
        // The decoder lets no other through.
        Some(_) | None => 0,
    }
}

/// The lane that a shuffle reads, and whether it lies in the asking lane's segment. `control` holds the clamp in bits
/// 0–4 and the segment mask in bits 8–12.
fn shuffle_source(op: Op, lane: u32, amount: u32, control: u32, warp_size: u32) -> (u32, bool) {
    let (clamp, segment) = (control & 31, control >> 8 & 31);
    let first = lane & segment;
    let last = first | (clamp & !segment);
    let (from, inside) = match op {
        Op::ShflUp => {
            let from = lane.wrapping_sub(amount);
            (from, amount <= lane && from >= last)
        }
        Op::ShflDown => (lane + amount, lane + amount <= last),
        Op::ShflBfly => (lane ^ amount, (lane ^ amount) <= last),
        _ => {
            let from = first | (amount & !segment);
            (from, from <= last)
        }
    };
    if inside && from < warp_size { (from, true) } else { (lane, false) }
}

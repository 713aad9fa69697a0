//! What the lanes of a warp do together: votes, shuffles, matches, reductions.
//!
//! ```text
//! active lanes     0 1 2 3 4 5 6 7        v = vote.sync.ballot p, m
//! m                lanes 0–3: 0x0F, lanes 4–7: 0xF0
//! p                0 1 0 0 1 1 0 0        v = 0x02 in lanes 0–3, 0x30 in lanes 4–7
//! ```
//!
//! A lane works with its *members*: the active lanes, and of these only the ones that the member mask of a `.sync` form
//! names, where there is one. So groups of lanes may vote, match, shuffle and add up side by side, each under a mask of its own.
//! PTX also waits for named lanes that are elsewhere; here lanes meet at the immediate post-dominator and nowhere else, and
//! whoever is not there is left out. A shuffle that asks a lane which is no member, or lies outside the segment, gives the
//! asking lane its own value, and the second destination is false for the latter, as in PTX; the former is undefined in
//! PTX and fixed here so that runs are deterministic, and so is the result of a lane that its own mask leaves out. A
//! reduction of no lanes is what changes nothing: 0 for a sum, all ones for a conjunction.
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

/// Runs a site for the active lanes of one warp.
pub fn run(site: &WarpSite, file: &mut LaneFile, frame: FrameBase, mask: u32, warp_size: u32) {
    let operand = |file: &LaneFile, index: usize, lane: usize| {
        site.operands[index].map_or(0, |value| frame.read(file, value, lane))
    };
    let members = |file: &LaneFile, lane: usize| {
        site.members.map_or(mask, |members| mask & frame.read(file, members, lane) as u32)
    };
    let mut results = [0u64; 32];
    let mut flags = 0u32;
    match site.op {
        Op::Activemask => results = [u64::from(mask); 32],
        Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => {
            let mut ballot = 0u32;
            for_each_lane(mask, |lane| ballot |= ((operand(file, 0, lane) & 1) as u32) << lane);
            for_each_lane(mask, |lane| {
                let members = members(file, lane);
                let ballot = ballot & members;
                results[lane] = match site.op {
                    Op::VoteAll => u64::from(ballot == members),
                    Op::VoteAny => u64::from(ballot != 0),
                    Op::VoteUni => u64::from(ballot == members || ballot == 0),
                    _ => u64::from(ballot),
                };
            });
        }
        Op::MatchAny | Op::MatchAll => {
            let mut values = [0u64; 32];
            for_each_lane(mask, |lane| values[lane] = operand(file, 0, lane));
            for_each_lane(mask, |lane| {
                let members = members(file, lane);
                // Whether all are equal is the same for all lanes of a mask, also for one that its own mask leaves out.
                let value = match site.op {
                    Op::MatchAll => values[members.trailing_zeros() as usize & 31],
                    _ => values[lane],
                };
                let mut equal = 0u32;
                for_each_lane(members, |other| equal |= u32::from(values[other] == value) << other);
                let all = equal == members;
                results[lane] = u64::from(if site.op == Op::MatchAny || all { equal } else { 0 });
                flags |= u32::from(all) << lane;
            });
        }
        Op::Redux => {
            let mut values = [0u32; 32];
            for_each_lane(mask, |lane| values[lane] = operand(file, 0, lane) as u32);
            // Mostly all lanes have one mask.
            let mut last = None;
            for_each_lane(mask, |lane| {
                let members = members(file, lane);
                let result = match last {
                    Some((before, result)) if before == members => result,
                    _ => reduced(site.reduction, &values, members),
                };
                last = Some((members, result));
                results[lane] = u64::from(result);
            });
        }
        _ => {
            let default_clamp = if site.op == Op::ShflUp { 0 } else { warp_size - 1 };
            let mut values = [0u64; 32];
            for_each_lane(mask, |lane| values[lane] = operand(file, 0, lane));
            for_each_lane(mask, |lane| {
                let amount = operand(file, 1, lane) as u32 & 31;
                let control = if site.operands[2].is_some() { operand(file, 2, lane) as u32 } else { default_clamp };
                let (from, inside) = shuffle_source(site.op, lane as u32, amount, control, warp_size);
                let is_member = members(file, lane) >> from & 1 == 1;
                results[lane] = values[if inside && is_member { from as usize } else { lane }];
                flags |= u32::from(inside) << lane;
            });
        }
    }
    if let Some(dst) = site.dst {
        for_each_lane(mask, |lane| frame.write(file, dst, lane, results[lane]));
    }
    if let Some(predicate) = site.predicate {
        for_each_lane(mask, |lane| frame.write(file, Value::Predicate(predicate, 0), lane, u64::from(flags >> lane)));
    }
}

/// What the values of some lanes come to.
fn reduced(reduction: Option<(AtomicOp, bool)>, values: &[u32; 32], members: u32) -> u32 {
    let fold = |nothing: u32, combine: fn(u32, u32) -> u32| {
        let mut all = nothing;
        for_each_lane(members, |lane| all = combine(all, values[lane]));
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

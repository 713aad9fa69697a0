//! Work done ahead of its time: what instructions do to registers, apart from when they issue.
//!
//! ```text
//! warp 0 issues the first of      loop:  t = mul.f32 a, 0.25     ┐ all of it is done now, for warps 0, 1, 2, 3 side by
//! a loop; warps 1, 2 and 3               k = add.u32 k, 1        │ side, round after round of the loop while the lanes
//! are at the same place                  p = setp.lt.u32 k, n    │ of all these warps go the same way; the scheduler
//!                                        br p, loop, done        ┘ afterwards only counts time
//! ```
//!
//! Sound, because nothing outside a warp can tell: only instructions that stay in the warp are
//! worked on, and branches that all its running lanes take alike to a place where nobody waits for
//! them. Memory, barriers, calls, and branches where lanes part or meet wait for their own issue.
//! Several warps share the work of finding out what an instruction does; each has lanes and
//! registers of its own, so their order does not matter. Where the lanes of one warp part all of
//! them stop, behind the branch if their own lanes do not, so that they are at the same place again
//! afterwards.
//!
//! Bounds: [`MOST_AHEAD`] instructions at a time and a stretch without branches, for at most
//! [`MOST_WARPS`] warps, which are looked for among the next [`WITHIN`] slots.

use core::ops::Range;

use super::effect::{draw, work};
use super::tally::Tally;
use super::{CalmAhead, NEVER, Simulation};
use crate::decode::{DecodedInst, Kind, Program, UNGUARDED};
use crate::lanes::{Active, Slots, place};
use crate::together::{self, FrameBase, Part};
use crate::watch::Watcher;

/// Instructions whose work is done ahead at a time: enough that registers stay near, few enough that a loop without end
/// is noticed.
const MOST_AHEAD: u32 = 256;

/// Warps that work side by side.
const MOST_WARPS: usize = 8;

/// Slots, from that of the warp that issues on, among which others at the same place are looked for.
const WITHIN: usize = 16;

/// Planes of these warps together, at most, so that they stay in the nearest cache: 24 KiB.
const NEAR_PLANES: u32 = 192;

impl Simulation {
    /// Does the work of a warp's next instructions that stay in the warp, and of branches between
    /// them that all running lanes take alike; also for the warps in the slots after it that are at
    /// the same place. Does nothing where the next instruction is neither.
    #[inline]
    pub(super) fn work_ahead(&mut self, slot: usize, watcher: &mut impl Watcher) {
        let front = self.fronts[slot];
        if !self.program.timings[front.pc as usize].kind.may_go_ahead() {
            return;
        }
        let program = self.program.clone();
        let side = self.side_by_side(slot);
        let mut pc = front.pc;
        let mut done = 0;
        let (mut is_calm, mut calm) = (true, CalmAhead::NONE);
        let mut stretches = Stretches { range: 0..0, times: 0 };
        loop {
            let end = self.work_to_leave(&side, &program, pc, watcher);
            if is_calm {
                is_calm = calm.go_on(&program, pc, end) == end;
            }
            calm.is_all = is_calm;
            done += end - pc;
            let branch = if done < MOST_AHEAD { self.branch_ahead(end, front.join) } else { None };
            let Some(branch) = branch else {
                stretches.went(pc..end, &side, &mut self.tally);
                side.iter().for_each(|(slot, _)| self.stop_ahead(slot, end, calm));
                break;
            };
            let before = calm;
            if is_calm {
                calm.branch(&program, end);
            }
            if let Some(target) = self.common_target(&branch, side.warps()) {
                stretches.went(pc..end + 1, &side, &mut self.tally);
                side.iter().for_each(|(slot, warp)| self.go_ahead(slot, warp, end, target, watcher));
                done += 1;
                pc = target;
                continue;
            }
            for (slot, warp) in side.iter() {
                if let Some(target) = self.own_target(&branch, warp) {
                    self.tally.went(pc..end + 1, warp.mask, 1);
                    self.go_ahead(slot, warp, end, target, watcher);
                    self.stop_ahead(slot, target, calm);
                } else {
                    self.tally.went(pc..end, warp.mask, 1);
                    self.stop_ahead(slot, end, before);
                }
            }
            break;
        }
        stretches.tell(&side, &mut self.tally);
    }

    /// Takes a branch ahead: keeps where it leads for when it issues.
    #[inline(always)]
    fn go_ahead(&mut self, slot: usize, warp: Active, pc: u32, target: u32, watcher: &mut impl Watcher) {
        self.ways[slot].push_back(target);
        watcher.issued(slot, pc, warp.mask, warp.mask);
        watcher.moved(slot, pc, target, warp.mask);
    }

    /// The warp in a slot, and others after it that are at the same place and have not done their work either.
    #[inline(always)]
    fn side_by_side(&self, slot: usize) -> SideBySide {
        let first = self.fronts[slot];
        let mut side = SideBySide { slots: [slot; MOST_WARPS], warps: [Active::default(); MOST_WARPS], count: 1 };
        side.warps[0] = Active { base: first.base, mask: first.running };
        let most = (NEAR_PLANES / self.frame_planes).clamp(1, MOST_WARPS as u32) as usize;
        for (slot, front) in (slot + 1..).zip(&self.fronts[slot + 1..]).take(WITHIN) {
            if side.count == most {
                break;
            }
            if (front.pc, front.join) == (first.pc, first.join) && front.is_undone() && front.ready != NEVER {
                side.slots[side.count] = slot;
                side.warps[side.count] = Active { base: front.base, mask: front.running };
                side.count += 1;
            }
        }
        side
    }

    /// Ends the work of a warp that is done ahead.
    #[inline(always)]
    fn stop_ahead(&mut self, slot: usize, pc: u32, calm: CalmAhead) {
        let branches = self.ways[slot].len() as u32;
        let front = &mut self.fronts[slot];
        (front.done_to, front.branches, front.calm) = (pc, branches, calm);
    }

    /// Does the work of the instructions from a place on up to the first that does not stay in the
    /// warp, or has a member mask whose lanes do not all run together here. Returns the place of
    /// that one.
    #[inline(always)]
    fn work_to_leave(&mut self, side: &SideBySide, program: &Program, pc: u32, watcher: &mut impl Watcher) -> u32 {
        let (mut start, mut end) = (pc, program.meets_at[pc as usize]);
        loop {
            self.work_straight(side, program, start..end, watcher);
            if end == program.leaves_at[pc as usize] || !self.all_agree(side, program, end) {
                return end;
            }
            (start, end) = (end, program.meets_at[end as usize + 1]);
        }
    }

    /// Do the running lanes of each of these warps name just themselves at an operation with a member mask?
    fn all_agree(&self, side: &SideBySide, program: &Program, pc: u32) -> bool {
        let inst = &program.insts[pc as usize];
        let site = &program.warp_sites[inst.side as usize];
        side.iter().all(|(slot, Active { base, mask })| {
            let frame = FrameBase(base);
            let guard = if inst.guard == UNGUARDED {
                !0
            } else {
                self.file.predicates[frame.at(inst.guard) as usize] ^ inst.guard_flip
            };
            let alive = self.warps[slot].as_ref().map_or(0, |warp| warp.alive);
            together::agrees(Part { site, frame, lanes: mask & guard }, &self.file, alive)
        })
    }

    /// Does the work of instructions one after the other that stay in the warp.
    #[inline(always)]
    fn work_straight(&mut self, side: &SideBySide, program: &Program, range: Range<u32>, watcher: &mut impl Watcher) {
        let (slots, warps) = (&side.slots[..side.count], side.warps());
        let mut guarded = [Active::default(); MOST_WARPS];
        for (at, inst) in (range.start..).zip(&program.insts[range.start as usize..range.end as usize]) {
            let active = if inst.guard == UNGUARDED {
                warps
            } else {
                let occupancy = &mut self.statistics.insts[at as usize].occupancy;
                for (to, &Active { base, mask }) in guarded.iter_mut().zip(warps) {
                    let mask = mask & (self.file.predicates[place(inst.guard, base)] ^ inst.guard_flip);
                    *to = Active { base, mask };
                    occupancy[mask.count_ones() as usize] += 1;
                }
                &guarded[..warps.len()]
            };
            for ((&slot, running), warp) in slots.iter().zip(warps).zip(active) {
                watcher.issued(slot, at, running.mask, warp.mask);
            }
            if inst.kind == Kind::Lanes {
                (inst.run)(&mut self.file, &inst.slots, active);
            } else {
                self.work(slots, inst, active);
            }
            // Counted, not filtered: such a loop goes away where nobody watches.
            for (&slot, warp) in slots.iter().zip(active) {
                if warp.mask != 0 {
                    watcher.wrote(slot, program, at, warp.mask, &self.file, FrameBase(warp.base));
                }
            }
        }
    }

    /// Does the work of an instruction that stays in the warp but is not one function over lanes.
    #[inline(never)]
    fn work(&mut self, slots: &[usize], inst: &DecodedInst, warps: &[Active]) {
        let program = &*self.program;
        if inst.kind == Kind::Steps {
            for step in &program.steps[inst.side as usize] {
                (step.run)(&mut self.file, &step.slots, warps);
            }
            return;
        }
        for (&slot, &Active { base, mask }) in slots.iter().zip(warps).filter(|(_, warp)| warp.mask != 0) {
            let frame = FrameBase(base);
            match inst.kind {
                Kind::Warp => {
                    let site = &program.warp_sites[inst.side as usize];
                    together::run(&[Part { site, frame, lanes: mask }], &mut self.file, self.bound.warp);
                }
                Kind::Draw => {
                    let site = &program.draws[inst.side as usize];
                    if let Some(warp) = &mut self.warps[slot] {
                        let block = self.blocks[warp.block].as_ref().map_or(0, |block| block.number);
                        draw(site, &self.bound, block, warp, &mut self.file, frame, mask);
                    }
                }
                Kind::Work => work(&program.works[inst.side as usize], &mut self.file, frame, mask),
                _ => {}
            }
        }
    }

    /// The branch at a place, if it can be taken ahead: it has to lead to places where nobody waits for the lanes.
    #[inline(always)]
    fn branch_ahead(&self, pc: u32, join: u32) -> Option<BranchAhead> {
        let inst = &self.program.insts[pc as usize];
        let Slots { a, b, f, flip, .. } = inst.slots;
        let condition = match inst.kind {
            Kind::Branch => None,
            Kind::BranchIf => Some((f, flip)),
            _ => return None,
        };
        (inst.guard == UNGUARDED).then_some(BranchAhead { taken: a, otherwise: b, condition, join })
    }

    /// Common target of the running lanes of all these warps, if there is one: the groups need not know of it.
    #[inline(always)]
    fn common_target(&self, branch: &BranchAhead, warps: &[Active]) -> Option<u32> {
        let first = self.own_target(branch, warps[0])?;
        warps[1..].iter().all(|&warp| self.own_target(branch, warp) == Some(first)).then_some(first)
    }

    /// Target of the running lanes of a warp, if it is one place where no lanes wait for them.
    #[inline(always)]
    fn own_target(&self, branch: &BranchAhead, warp: Active) -> Option<u32> {
        let taking = match branch.condition {
            Some((condition, flip)) => warp.mask & (self.file.predicates[place(condition, warp.base)] ^ flip),
            None => warp.mask,
        };
        let target = if taking == warp.mask {
            branch.taken
        } else if taking == 0 {
            branch.otherwise
        } else {
            return None;
        };
        (target != branch.join).then_some(target)
    }
}

/// Warps that do the same work.
struct SideBySide {
    /// Their slots, in order.
    slots: [usize; MOST_WARPS],
    warps: [Active; MOST_WARPS],
    /// How many there are.
    count: usize,
}

impl SideBySide {
    #[inline(always)]
    fn warps(&self) -> &[Active] {
        &self.warps[..self.count]
    }

    /// Each with its slot.
    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = (usize, Active)> {
        self.slots.iter().copied().zip(self.warps().iter().copied())
    }
}

/// A branch that may be taken ahead.
struct BranchAhead {
    taken: u32,
    otherwise: u32,
    /// The predicate that decides, and what to flip of it.
    condition: Option<(u32, u32)>,
    /// Program counter where lanes wait for others.
    join: u32,
}

/// A stretch that warps side by side have gone a number of times: that of a loop, mostly.
struct Stretches {
    range: Range<u32>,
    times: i64,
}

impl Stretches {
    /// All of them have gone this one.
    #[inline(always)]
    fn went(&mut self, range: Range<u32>, side: &SideBySide, tally: &mut Tally) {
        if range != self.range {
            self.tell(side, tally);
            (self.range, self.times) = (range, 0);
        }
        self.times += 1;
    }

    /// Counts what has not been yet.
    #[inline(always)]
    fn tell(&mut self, side: &SideBySide, tally: &mut Tally) {
        if self.times > 0 {
            side.warps().iter().for_each(|warp| tally.went(self.range.clone(), warp.mask, self.times));
        }
    }
}

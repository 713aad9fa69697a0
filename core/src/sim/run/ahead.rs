//! Work done ahead of its time: what instructions do to registers, apart from when they issue.
//!
//! ```text
//! warp 0 issues the first of      loop:  t = mul.f32 a, 0.25     ┐ all of it is done now, for warps 0, 1, 2, 3 side by
//! a loop; warps 1, 2 and 3               k = add.u32 k, 1        │ side, round after round of the loop while the lanes
//! are at the same place                  p = setp.lt.u32 k, n    │ of all these warps go the same way; the scheduler
//!                                        br p, loop, done        ┘ afterwards only counts time
//! ```
//!
//! Sound, because nothing outside a warp can tell: only instructions that stay in the warp are worked on, and branches that
//! all its running lanes take alike to a place where nobody waits for them. Memory, barriers, calls, and branches where
//! lanes part or meet wait for their own issue. Several warps share the work of finding out what an instruction does;
//! each has registers of its own, so their order does not matter.
//!
//! Bounds: [`MOST_AHEAD`] instructions at a time and a stretch without branches, for at most [`MOST_WARPS`] warps.

use core::ops::Range;

use super::effect::{draw, work};
use super::{CalmAhead, Front, NEVER, Simulation};
use crate::sim::decode::{DecodedInst, Kind, Program, UNGUARDED};
use crate::sim::lanes::{Active, place};
use crate::sim::reconvergence::Reconvergence;
use crate::sim::statistics::IdleCause;
use crate::sim::together::{self, FrameBase};
use crate::sim::watch::Watcher;

/// Instructions whose work is done ahead at a time: enough that registers stay near, few enough that a loop without end
/// is noticed.
const MOST_AHEAD: u32 = 256;

/// Warps that work side by side.
const MOST_WARPS: usize = 8;

/// Planes of these warps together, at most, so that they stay in the nearest cache: 24 KiB.
const NEAR_PLANES: u32 = 192;

impl<R: Reconvergence> Simulation<R> {
    /// Does the work of a warp's next instructions that stay in the warp, and of branches between them that all running
    /// lanes take alike; also for the warps in the slots after it that are at the same place. Does nothing where the next
    /// instruction is neither.
    #[inline]
    pub(super) fn work_ahead(&mut self, slot: usize, watcher: &mut impl Watcher) {
        let front = self.fronts[slot];
        if !self.program.timings[front.pc as usize].kind.may_go_ahead() {
            return;
        }
        let program = self.program.clone();
        let count = self.count_alike(slot);
        let mut warps = [Active::default(); MOST_WARPS];
        for (warp, front) in warps.iter_mut().zip(&self.fronts[slot..slot + count]) {
            *warp = Active { base: front.base, mask: front.running };
        }
        let warps = &warps[..count];
        let mut pc = front.pc;
        let mut done = 0;
        let (mut is_calm, mut calm) = (true, CalmAhead::NONE);
        loop {
            let end = program.leaves_at[pc as usize];
            self.work_straight(slot, warps, &program, pc..end, watcher);
            if is_calm {
                is_calm = calm.go_on(&program, pc) == end;
            }
            done += end - pc;
            pc = end;
            if done >= MOST_AHEAD {
                break;
            }
            let Some(target) = self.common_target(front.join, warps, pc) else { break };
            self.count_branch(slot, warps, pc, target, watcher);
            if is_calm {
                calm.branch(&program, pc);
            }
            done += 1;
            pc = target;
        }
        calm.is_all = is_calm;
        for slot in slot..slot + count {
            let branches = self.ways[slot].len() as u32;
            let front = &mut self.fronts[slot];
            (front.done_to, front.branches, front.calm) = (pc, branches, calm);
        }
    }

    /// How many warps from a slot on have the same work before them, that one included.
    fn count_alike(&self, slot: usize) -> usize {
        let first = self.fronts[slot];
        let is_alike = |front: &&Front| {
            front.is_undone()
                && front.ready != NEVER
                && (front.pc, front.running, front.join) == (first.pc, first.running, first.join)
        };
        let most = (NEAR_PLANES / self.frame_planes).clamp(1, MOST_WARPS as u32) as usize;
        1 + self.fronts[slot + 1..].iter().take(most - 1).take_while(is_alike).count()
    }

    /// Does the work of instructions one after the other that stay in the warp, for warps from a slot on.
    #[inline(always)]
    fn work_straight(
        &mut self,
        slot: usize,
        warps: &[Active],
        program: &Program,
        range: Range<u32>,
        watcher: &mut impl Watcher,
    ) {
        let count = warps.len() as u64;
        let running = warps[0].mask.count_ones() as usize;
        let mut guarded = [Active::default(); MOST_WARPS];
        for (at, inst) in program.insts[..range.end as usize].iter().enumerate().skip(range.start as usize) {
            let counts = &mut self.statistics.insts[at];
            if inst.held != 0 {
                counts.idle[IdleCause::Issue as usize] += count * u64::from(inst.held);
            }
            let occupancy = &mut counts.occupancy;
            let active = if inst.guard == UNGUARDED {
                occupancy[running] += count;
                warps
            } else {
                for (to, &Active { base, mask }) in guarded.iter_mut().zip(warps) {
                    let mask = mask & (self.file.predicates[place(inst.guard, base)] ^ inst.guard_flip);
                    *to = Active { base, mask };
                    occupancy[mask.count_ones() as usize] += 1;
                }
                &guarded[..warps.len()]
            };
            for (slot, warp) in (slot..).zip(active) {
                watcher.issued(slot, at as u32, warp.mask);
            }
            if inst.kind == Kind::Lanes {
                (inst.run)(&mut self.file, &inst.slots, active);
            } else {
                self.work(slot, inst, active);
            }
            for warp in active.iter().filter(|warp| warp.mask != 0) {
                watcher.wrote(program, at as u32, warp.mask, &self.file, FrameBase(warp.base));
            }
        }
    }

    /// Does the work of an instruction that stays in the warp but is not one function over lanes.
    #[inline(never)]
    fn work(&mut self, slot: usize, inst: &DecodedInst, warps: &[Active]) {
        let program = &*self.program;
        if inst.kind == Kind::Steps {
            for step in &program.steps[inst.side as usize] {
                (step.run)(&mut self.file, &step.slots, warps);
            }
            return;
        }
        for (slot, &Active { base, mask }) in (slot..).zip(warps).filter(|(_, warp)| warp.mask != 0) {
            let frame = FrameBase(base);
            match inst.kind {
                Kind::Warp => {
                    let site = &program.warp_sites[inst.side as usize];
                    together::run(site, &mut self.file, frame, mask, self.bound.warp);
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

    /// Where the running lanes of all these warps go, if the instruction is a branch that leads them to one place where
    /// nobody waits for them: the reconvergence stack need not hear of it.
    #[inline(always)]
    fn common_target(&self, join: u32, warps: &[Active], pc: u32) -> Option<u32> {
        let inst = &self.program.insts[pc as usize];
        let target = match inst.kind {
            Kind::Branch => inst.slots.a,
            Kind::BranchIf => {
                let takes = |warp: &Active| {
                    warp.mask & (self.file.predicates[place(inst.slots.f, warp.base)] ^ inst.slots.flip)
                };
                if warps.iter().all(|warp| takes(warp) == warp.mask) {
                    inst.slots.a
                } else if warps.iter().all(|warp| takes(warp) == 0) {
                    inst.slots.b
                } else {
                    return None;
                }
            }
            _ => return None,
        };
        (target != join && inst.guard == UNGUARDED).then_some(target)
    }

    /// Counts such a branch, and keeps where it leads for when it issues.
    #[inline(always)]
    fn count_branch(&mut self, slot: usize, warps: &[Active], pc: u32, target: u32, watcher: &mut impl Watcher) {
        let (count, running) = (warps.len() as u64, warps[0].mask.count_ones() as usize);
        let counts = &mut self.statistics.insts[pc as usize];
        counts.occupancy[running] += count;
        counts.idle[IdleCause::Issue as usize] += count * u64::from(self.program.insts[pc as usize].held);
        for (slot, warp) in (slot..).zip(warps) {
            self.ways[slot].push_back(target);
            watcher.issued(slot, pc, warp.mask);
            watcher.moved(slot, pc, target, warp.mask);
        }
    }
}

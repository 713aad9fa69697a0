//! Barriers of a block: who has come, what is asked of all threads, and when the waiting groups go on.
//!
//! A barrier with a count counts warps, as their full size: a warp comes when the last of its lanes
//! that have not ended has; `bar.arrive` counts without waiting. A barrier for all threads waits
//! for every warp of which a lane has not ended. So lanes that end release barriers. Lanes of one
//! warp may come at different times; to an aligned barrier only at one instruction.
//!
//! Source: PTX ISA, sections on `barrier` and `exit`.

use alloc::format;
use alloc::string::String;

use smallvec::SmallVec;

use super::{CAUSE_BITS, Issue, Simulation, Warp};
use crate::decode::{Kind, WarpSite};
use crate::error::{ErrorKind, SimError};
use crate::groups::{Entry, Stance};
use crate::ir::Op;
use crate::lanes::for_each_lane;
use crate::settings::Scheduling;
use crate::statistics::IdleCause;
use crate::together::FrameBase;
use crate::watch::Watcher;

/// Barriers of a block.
const BARRIERS: u32 = 16;

/// The arrivals at one barrier since it was passed last.
#[derive(Clone, Default)]
pub(super) struct Arrivals {
    barrier: u32,
    /// Threads that are expected; None if all are.
    expected: Option<u32>,
    /// Warps of which all lanes have come that had not ended.
    warps: u32,
    /// Lanes that have come of other warps, by slot.
    partial: SmallVec<[(usize, u32); 1]>,
    /// Lanes that have come.
    lanes: u32,
    /// Lanes in which the predicate of a `bar.red` holds.
    holding: u32,
}

/// A set of lanes that come to a barrier together.
struct Arrival {
    lanes: u32,
    barrier: u32,
    expected: Option<u32>,
}

impl Simulation {
    /// Lanes come to a barrier. `passed` is when they may go on if they are the last; then each
    /// gets what it has asked of all, otherwise they wait.
    pub(super) fn barrier(
        &mut self,
        issue: Issue<'_>,
        passed: u64,
        watcher: &mut impl Watcher,
    ) -> Result<(), SimError> {
        let Issue { slot, pc, inst, frame, mask } = issue;
        if mask == 0 {
            return Ok(());
        }
        let program = self.program.clone();
        let site = &program.warp_sites[inst.side as usize];
        let arrivals = self.arrivals_of(slot, pc, site, frame, mask)?;
        let mut waits = false;
        for Arrival { lanes, barrier, expected } in arrivals {
            if site.op != Op::BarArrive {
                self.check_alignment(slot, pc, lanes, barrier, site)?;
            }
            self.count_arrival(slot, lanes, barrier, expected, site, frame);
            let block = self.warp(slot).block;
            if let Some(all) = self.take_complete(block, barrier) {
                self.answer(slot, pc, frame, lanes, &all, watcher);
                self.release_barrier(block, &all, passed, watcher);
                continue;
            }
            if site.op == Op::BarArrive {
                continue;
            }
            if self.scheduling == Scheduling::Stack && lanes != self.warp(slot).alive {
                return Err(self.stack_error(slot, pc, lanes));
            }
            self.warp_mut(slot).groups.wait(pc, lanes, site.join);
            waits = true;
        }
        if waits {
            self.resume(slot, watcher);
        }
        Ok(())
    }

    /// The lanes of an issue by the barrier that they name; at an aligned one all have to name the same.
    fn arrivals_of(
        &self,
        slot: usize,
        pc: u32,
        site: &WarpSite,
        frame: FrameBase,
        mask: u32,
    ) -> Result<SmallVec<[Arrival; 1]>, SimError> {
        let mut arrivals: SmallVec<[Arrival; 1]> = SmallVec::new();
        if let WarpSite { operands: [None, None, _], .. } = site {
            arrivals.push(Arrival { lanes: mask, barrier: 0, expected: None });
            return Ok(arrivals);
        }
        let mut wrong = None;
        for_each_lane(mask, |lane| {
            let barrier = site.operands[0].map_or(0, |value| frame.read(&self.file, value, lane) as u32);
            let expected = site.operands[1].map(|value| frame.read(&self.file, value, lane) as u32);
            let known = arrivals.iter_mut().find(|known| known.barrier == barrier && known.expected == expected);
            match known {
                Some(known) => known.lanes |= 1 << lane,
                None => {
                    let problem = self.problem_with(barrier, expected);
                    wrong = wrong.take().or_else(|| problem.map(|problem| (lane, problem)));
                    arrivals.push(Arrival { lanes: 1 << lane, barrier, expected });
                }
            }
        });
        if wrong.is_none() && site.is_aligned && arrivals.len() > 1 {
            let (lane, other) = (mask.trailing_zeros() as usize, arrivals[1].barrier);
            let message = format!(
                "lanes of one warp name different barriers, {} and {other}, or different numbers of threads, at an \
                 aligned barrier",
                arrivals[0].barrier
            );
            wrong = Some((lane, message));
        }
        match wrong {
            Some((lane, message)) => Err(self.blame(slot, pc, lane, None, ErrorKind::Barrier, message)),
            None => Ok(arrivals),
        }
    }

    /// Problem with a barrier's number or its number of threads.
    fn problem_with(&self, barrier: u32, expected: Option<u32>) -> Option<String> {
        let size = self.bound.warp;
        if barrier >= BARRIERS {
            return Some(format!("there are {BARRIERS} barriers, 0 to {}, not {barrier}", BARRIERS - 1));
        }
        expected.filter(|&count| count == 0 || count % size != 0).map(|count| {
            format!(
                "a barrier's number of threads must be a multiple of the warp's {size} lanes, because whole \
                 warps take part; found {count}"
            )
        })
    }

    /// Lanes of a warp that come to one aligned barrier come to one instruction.
    fn check_alignment(&self, slot: usize, pc: u32, lanes: u32, barrier: u32, site: &WarpSite) -> Result<(), SimError> {
        let other = self.warp(slot).groups.waiting().find(|entry| {
            let Some((known, number)) = self.barrier_of(slot, entry) else { return false };
            entry.pc != pc && number == barrier && (known.is_aligned || site.is_aligned)
        });
        let Some(other) = other else { return Ok(()) };
        let message = format!(
            "lanes of one warp reach barrier {barrier} at two instructions, which only `barrier.sync` without \
             `.aligned` allows"
        );
        let lane = lanes.trailing_zeros() as usize;
        let error = self.blame(slot, pc, lane, None, ErrorKind::Barrier, message);
        Err(error.with_note(self.waits_here(slot, other)))
    }

    /// The site and number of the barrier at which a group waits, if it waits at one.
    pub(super) fn barrier_of(&self, slot: usize, entry: &Entry) -> Option<(&WarpSite, u32)> {
        let inst = &self.program.insts[entry.pc as usize];
        if inst.kind != Kind::Barrier || entry.stance != Stance::Waits {
            return None;
        }
        let site = &self.program.warp_sites[inst.side as usize];
        let frame = FrameBase(self.warp(slot).frames[entry.frame as usize].base);
        let lane = entry.mask.trailing_zeros() as usize;
        Some((site, site.operands[0].map_or(0, |value| frame.read(&self.file, value, lane) as u32)))
    }

    fn count_arrival(
        &mut self,
        slot: usize,
        lanes: u32,
        barrier: u32,
        expected: Option<u32>,
        site: &WarpSite,
        frame: FrameBase,
    ) {
        let mut holding = 0;
        if let Some(predicate) = site.operands[2] {
            for_each_lane(lanes, |lane| holding += frame.read(&self.file, predicate, lane) as u32);
        }
        let Warp { block, alive, .. } = *self.warp(slot);
        let Some(state) = &mut self.blocks[block] else { return };
        let known = state.barriers.iter().position(|known| known.barrier == barrier);
        let index = known.unwrap_or_else(|| {
            state.barriers.push(Arrivals { barrier, expected, ..Arrivals::default() });
            state.barriers.len() - 1
        });
        let arrivals = &mut state.barriers[index];
        arrivals.lanes += lanes.count_ones();
        arrivals.holding += holding;
        let earlier = arrivals.partial.iter().position(|(warp, _)| *warp == slot);
        let come = lanes | earlier.map_or(0, |at| arrivals.partial[at].1);
        match earlier {
            Some(at) if come == alive => {
                arrivals.partial.remove(at);
            }
            Some(at) => arrivals.partial[at].1 = come,
            None if come != alive => arrivals.partial.push((slot, come)),
            None => {}
        }
        arrivals.warps += u32::from(come == alive);
    }

    /// The arrivals at a barrier to which everybody has come; it is as before the first of them from now on.
    fn take_complete(&mut self, block: usize, barrier: u32) -> Option<Arrivals> {
        let state = self.blocks[block].as_mut()?;
        let at = state.barriers.iter().position(|known| known.barrier == barrier)?;
        let arrivals = &state.barriers[at];
        let is_complete = match arrivals.expected {
            Some(expected) => arrivals.warps * self.bound.warp >= expected,
            None => arrivals.warps == state.warps,
        };
        is_complete.then(|| state.barriers.swap_remove(at))
    }

    /// Lets the groups that wait at a barrier go on.
    fn release_barrier(&mut self, block: usize, all: &Arrivals, passed: u64, watcher: &mut impl Watcher) {
        for slot in 0..self.fronts.len() {
            if self.warps[slot].as_ref().is_none_or(|warp| warp.block != block) {
                continue;
            }
            let waits_here =
                |entry: &&Entry| self.barrier_of(slot, entry).is_some_and(|(_, number)| number == all.barrier);
            let released: SmallVec<[Entry; 1]> = self.warp(slot).groups.waiting().filter(waits_here).copied().collect();
            let mut lanes = 0;
            for entry in &released {
                let frame = FrameBase(self.warp(slot).frames[entry.frame as usize].base);
                self.answer(slot, entry.pc, frame, entry.mask, all, watcher);
                lanes |= entry.mask;
            }
            if lanes != 0 && self.warp_mut(slot).groups.release(passed, |entry| entry.mask & !lanes == 0) {
                self.resume(slot, watcher);
            }
        }
    }

    /// Writes into lanes what they have asked of all threads with the barrier at `pc`, if anything.
    fn answer(
        &mut self,
        slot: usize,
        pc: u32,
        frame: FrameBase,
        lanes: u32,
        all: &Arrivals,
        watcher: &mut impl Watcher,
    ) {
        let at = self.program.insts[pc as usize].side as usize;
        let Some(dst) = self.program.warp_sites[at].dst else { return };
        let program = self.program.clone();
        let site = &program.warp_sites[at];
        let result = match site.op {
            Op::BarPopc => all.holding,
            Op::BarAnd => u32::from(all.holding == all.lanes),
            _ => u32::from(all.holding > 0),
        };
        for_each_lane(lanes, |lane| frame.write(&mut self.file, dst, lane, result.into()));
        watcher.wrote(slot, &program, pc, lanes, &self.file, frame);
    }

    /// Lanes of a warp are about to end: barriers that waited for them only are passed.
    pub(super) fn pass_barriers_without(&mut self, slot: usize, watcher: &mut impl Watcher) {
        let Warp { block, alive, .. } = *self.warp(slot);
        let Some(state) = &mut self.blocks[block] else { return };
        for arrivals in &mut state.barriers {
            let complete = arrivals.partial.iter().position(|&(warp, come)| warp == slot && alive & !come == 0);
            if let Some(at) = complete {
                arrivals.partial.remove(at);
                arrivals.warps += 1;
            }
        }
        let pending: SmallVec<[u32; 1]> = state.barriers.iter().map(|arrivals| arrivals.barrier).collect();
        for barrier in pending {
            if let Some(all) = self.take_complete(block, barrier) {
                let latency = self.program.timings.iter().find(|timing| timing.kind == Kind::Barrier);
                let latency = latency.map_or(0, |timing| u64::from(timing.latency));
                let passed = (self.cycle + latency) << CAUSE_BITS | IdleCause::Barrier as u64;
                self.release_barrier(block, &all, passed, watcher);
            }
        }
    }
}

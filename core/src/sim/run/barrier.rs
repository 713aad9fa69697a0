//! Barriers of a block, what is asked of all threads at one, and what is wrong where one can never be passed.

use alloc::format;

use super::{Arrivals, Issue, NEVER, Progress, Simulation, Waiting};
use crate::ir::Op;
use crate::sim::error::{ErrorKind, SimError};
use crate::sim::lanes::for_each_lane;
use crate::sim::reconvergence::Reconvergence;
use crate::sim::together::FrameBase;
use crate::sim::watch::Watcher;

impl<R: Reconvergence> Simulation<R> {
    /// A warp arrives. Every lane that it was launched with has to take part: one that has ended or waits elsewhere can
    /// never arrive. `passed` is when all may go on if this warp is the last; then each gets what it has asked of all.
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
        if mask != self.warp(slot).lanes {
            return Err(self.barrier_error(slot, pc));
        }
        let site = self.program.warp_sites[inst.side as usize];
        let lane = mask.trailing_zeros() as usize;
        let number = site.operands[0].map_or(0, |value| frame.read(&self.file, value, lane) as u32);
        let block = self.warp(slot).block;
        let said = site.operands[1].map(|value| frame.read(&self.file, value, lane) as u32);
        let size = self.bound.warp;
        if let Some(count) = said.filter(|&count| count == 0 || count % size != 0) {
            let message = format!(
                "a barrier's number of threads is a multiple of the warp's {size} lanes, because whole warps take part; \
                 {count} is none"
            );
            return Err(self.blame(slot, pc, lane, None, ErrorKind::Barrier, message));
        }
        let mut holding = 0;
        if let Some(predicate) = site.operands[2] {
            for_each_lane(mask, |lane| holding += frame.read(&self.file, predicate, lane) as u32);
        }
        let Some(state) = &mut self.blocks[block] else { return Ok(()) };
        // A warp with fewer threads counts as a whole one.
        let expected = said.unwrap_or(state.threads.next_multiple_of(size));
        let arrived = state.barriers.entry(number).or_insert(Arrivals { expected, ..Arrivals::default() });
        arrived.places += size;
        arrived.threads += mask.count_ones();
        arrived.holding += holding;
        let all = *arrived;
        if all.places >= all.expected {
            state.barriers.remove(&number);
            self.answer(slot, pc, all, watcher);
            for other in 0..self.warps.len() {
                let Some(warp) = &mut self.warps[other] else { continue };
                let waiting = warp.waits.filter(|waiting| warp.block == block && waiting.barrier == number);
                if let Some(Waiting { pc, .. }) = waiting {
                    warp.waits = None;
                    self.answer(other, pc, all, watcher);
                    self.set_ready(other);
                    self.fronts[other].wait_until(passed);
                }
            }
        } else {
            self.warp_mut(slot).waits = Some(Waiting { barrier: number, pc });
            self.fronts[slot].ready = NEVER;
        }
        Ok(())
    }

    /// Writes into the lanes of a warp what it has asked of all threads with the barrier at `pc`, if anything.
    fn answer(&mut self, slot: usize, pc: u32, all: Arrivals, watcher: &mut impl Watcher) {
        let program = self.program.clone();
        let site = &program.warp_sites[program.insts[pc as usize].side as usize];
        let Some(dst) = site.dst else { return };
        let result = match site.op {
            Op::BarPopc => all.holding,
            Op::BarAnd => u32::from(all.holding == all.threads),
            _ => u32::from(all.holding > 0),
        };
        let (frame, lanes) = (FrameBase(self.fronts[slot].base), self.warp(slot).lanes);
        for_each_lane(lanes, |lane| frame.write(&mut self.file, dst, lane, result.into()));
        watcher.wrote(slot, &program, pc, lanes, &self.file, frame);
    }

    /// Nobody can issue: either all is done, or warps wait at barriers for lanes that will never come.
    pub(super) fn ended_or_stuck(&self) -> Result<Progress, SimError> {
        let Some((slot, waiting)) =
            self.warps.iter().enumerate().find_map(|(slot, warp)| Some((slot, warp.as_ref()?.waits?)))
        else {
            return Ok(Progress::Done);
        };
        Err(self.barrier_error(slot, waiting.pc))
    }

    fn barrier_error(&self, slot: usize, pc: u32) -> SimError {
        let message = format!(
            "the barrier in block `{}` can never be passed: some threads of the block do not reach it",
            self.program.label(pc)
        );
        let lane = self.warp(slot).lanes.trailing_zeros() as usize;
        self.blame(slot, pc, lane, None, ErrorKind::Barrier, message)
    }
}

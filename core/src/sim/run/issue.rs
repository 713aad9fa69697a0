//! The scheduler, and what happens when a warp issues.

use super::effect::{draw, work};
use super::{CAUSE_BITS, Front, NEVER, Simulation};
use crate::sim::decode::{Kind, NO_MORE, Timing, UNGUARDED};
use crate::sim::error::SimError;
use crate::sim::reconvergence::Reconvergence;
use crate::sim::statistics::IdleCause;
use crate::sim::together::{self, FrameBase};
use crate::sim::watch::Watcher;

impl<R: Reconvergence> Simulation<R> {
    /// The next warp in turn that may issue; time goes on to when the first one may.
    #[inline(always)]
    pub(super) fn schedule(&mut self) -> Option<usize> {
        let limit = (self.cycle << CAUSE_BITS) | ((1 << CAUSE_BITS) - 1);
        // With enough warps it is the next one, nearly always.
        if self.ready.get(self.turn).is_some_and(|&ready| ready <= limit) {
            return Some(self.turn);
        }
        let (slot, (then, cause)) = self.next_in_turn()?;
        if then > self.cycle {
            let pc = self.fronts[slot].pc;
            self.statistics.insts[pc as usize].idle[cause] += then - self.cycle;
            self.cycle = then;
        }
        Some(slot)
    }

    /// The next warp in turn that may issue, the cycle from which it may, and what it waits for until then.
    pub(super) fn next_in_turn(&self) -> Option<(usize, (u64, usize))> {
        let limit = (self.cycle << CAUSE_BITS) | ((1 << CAUSE_BITS) - 1);
        let (before, after) = self.ready.split_at(self.turn);
        let in_turn = |limit: u64| {
            let may_issue = |&ready: &u64| ready <= limit;
            let later = || after.iter().position(may_issue).map(|at| self.turn + at);
            later().or_else(|| before.iter().position(may_issue))
        };
        if let Some(slot) = in_turn(limit) {
            return Some((slot, (self.cycle, 0)));
        }
        let earliest = self.ready.iter().copied().min().filter(|&earliest| earliest != NEVER)?;
        let then = earliest >> CAUSE_BITS;
        let cause = (earliest & ((1 << CAUSE_BITS) - 1)) as usize;
        let slot = in_turn(earliest | ((1 << CAUSE_BITS) - 1))?;
        Some((slot, (then, cause)))
    }

    /// Sets when a warp may issue its next instruction: when all registers that it names are there.
    #[inline(always)]
    pub(super) fn set_ready(&mut self, slot: usize) {
        let Front { pc, base, .. } = self.fronts[slot];
        let timing = &self.program.timings[pc as usize];
        let mut ready = self.cycle << CAUSE_BITS;
        for wait in timing.waits {
            ready = ready.max(self.clocks[(base + wait) as usize]);
        }
        if timing.more != NO_MORE {
            for &wait in &self.program.more_clocks[timing.more as usize].waits {
                ready = ready.max(self.clocks[(base + wait) as usize]);
            }
        }
        self.ready[slot] = ready;
    }

    /// Issues a warp's next instruction.
    #[inline(always)]
    pub(super) fn issue(&mut self, slot: usize, watcher: &mut impl Watcher) -> Result<(), SimError> {
        let front = self.fronts[slot];
        let timing = self.program.timings[front.pc as usize];
        self.issued += 1;
        self.turn = if slot + 1 == self.ready.len() { 0 } else { slot + 1 };
        if !timing.kind.stays_in_the_warp() {
            return self.issue_alone(slot, front, &timing, watcher);
        }
        if front.pc == front.done_to {
            self.work_ahead(slot, front, watcher);
        }
        let (busy, latency) = (u64::from(timing.issue), u64::from(timing.latency));
        self.finish(slot, front, &timing, busy, latency, IdleCause::Arithmetic);
        Ok(())
    }

    /// Does the work of all instructions from the next one on that stay in the warp.
    fn work_ahead(&mut self, slot: usize, front: Front, watcher: &mut impl Watcher) {
        let program = &*self.program;
        let frame = FrameBase(front.base);
        let mut pc = front.pc;
        loop {
            let inst = &program.insts[pc as usize];
            let mut mask = front.running;
            if inst.guard != UNGUARDED {
                mask &= self.file.predicates[frame.at(inst.guard) as usize] ^ inst.guard_flip;
            }
            self.statistics.insts[pc as usize].occupancy[mask.count_ones() as usize] += 1;
            watcher.issued(slot, pc, mask);
            if mask != 0 {
                match inst.kind {
                    Kind::Lanes => (inst.run)(&mut self.file, &frame.place(&inst.slots), mask),
                    Kind::Steps => {
                        for step in &program.steps[inst.side as usize] {
                            (step.run)(&mut self.file, &frame.place(&step.slots), mask);
                        }
                    }
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
                watcher.wrote(program, pc, mask, &self.file, frame);
            }
            pc += 1;
            if !program.timings[pc as usize].kind.stays_in_the_warp() {
                break;
            }
        }
        self.fronts[slot].done_to = pc;
    }

    /// Issues an instruction that others can notice, or that changes who runs where.
    fn issue_alone(
        &mut self,
        slot: usize,
        front: Front,
        timing: &Timing,
        watcher: &mut impl Watcher,
    ) -> Result<(), SimError> {
        let Front { pc, base, running, .. } = front;
        let program = self.program.clone();
        let inst = &program.insts[pc as usize];
        let frame = FrameBase(base);
        let mut mask = running;
        if inst.guard != UNGUARDED {
            mask &= self.file.predicates[frame.at(inst.guard) as usize] ^ inst.guard_flip;
        }
        self.statistics.insts[pc as usize].occupancy[mask.count_ones() as usize] += 1;
        watcher.issued(slot, pc, mask);
        let (mut busy, mut latency) = (u64::from(timing.issue), u64::from(timing.latency));
        match inst.kind {
            Kind::Access | Kind::Texture => {
                if mask != 0 {
                    let cost = self.access(slot, pc, inst, frame, mask)?;
                    busy += cost.busy;
                    latency = cost.latency.unwrap_or(latency) + cost.busy;
                }
                self.finish(slot, front, timing, busy, latency, IdleCause::Memory);
                if mask != 0 {
                    watcher.wrote(&program, pc, mask, &self.file, frame);
                }
                return Ok(());
            }
            Kind::Barrier | Kind::Pause => {
                // Whatever follows in the warp waits.
                let passed = (self.cycle + latency) << CAUSE_BITS | IdleCause::Barrier as u64;
                self.finish(slot, front, timing, busy, latency, IdleCause::Arithmetic);
                self.ready[slot] = self.ready[slot].max(passed);
                return if inst.kind == Kind::Barrier { self.barrier(slot, pc, passed, frame, mask) } else { Ok(()) };
            }
            Kind::Branch => self.advance(slot, pc, inst.slots.a, watcher),
            Kind::BranchIf => self.branch(slot, pc, inst, frame, mask, watcher),
            Kind::Switch => self.switch(slot, pc, inst.side, frame, mask, watcher),
            Kind::Call => self.call(slot, pc, inst.side, frame, mask)?,
            Kind::Ret => self.ret(slot, inst.side, frame, mask),
            Kind::Exit => {
                let warp = self.warp_mut(slot);
                warp.alive &= !mask;
                warp.stack.exit();
            }
            // The others stay in the warp.
            Kind::Lanes | Kind::Steps | Kind::Warp | Kind::Draw | Kind::Work => {}
        }
        self.pass_time(pc, busy);
        self.leave_frames(slot, watcher);
        if self.warp(slot).stack.current().mask == 0 {
            self.end_warp(slot);
        } else {
            self.enter(slot);
            self.set_ready(slot);
        }
        Ok(())
    }

    /// Ends an instruction that goes on to the next: clocks, time, and when the warp may issue again.
    #[inline(always)]
    fn finish(&mut self, slot: usize, front: Front, timing: &Timing, busy: u64, latency: u64, cause: IdleCause) {
        let ready = (self.cycle + latency) << CAUSE_BITS | cause as u64;
        let clock = &mut self.clocks[(front.base + timing.done) as usize];
        *clock = ready.max(*clock);
        if timing.more != NO_MORE {
            for &done in &self.program.more_clocks[timing.more as usize].done {
                let clock = &mut self.clocks[(front.base + done) as usize];
                *clock = ready.max(*clock);
            }
        }
        self.pass_time(front.pc, busy);
        let now = &mut self.fronts[slot];
        now.pc = front.pc + 1;
        now.done_to = now.done_to.max(now.pc);
        self.set_ready(slot);
    }

    /// The scheduler is held for so many cycles.
    #[inline(always)]
    fn pass_time(&mut self, pc: u32, busy: u64) {
        self.cycle += busy;
        if busy > 1 {
            self.statistics.insts[pc as usize].idle[IdleCause::Issue as usize] += busy - 1;
        }
    }

    /// The running lanes of a warp, or their place, have changed.
    pub(super) fn enter(&mut self, slot: usize) {
        let warp = self.warp(slot);
        let (top, frame) = (warp.stack.current(), warp.frames.last().expect("a frame"));
        self.fronts[slot] = Front { pc: top.pc, done_to: top.pc, base: frame.base, running: top.mask };
    }
}

//! The scheduler, and what happens when a warp issues.

use super::{CAUSE_BITS, Front, Issue, NEVER, Simulation};
use crate::decode::{Kind, NO_MORE, Program, Timing, UNGUARDED};
use crate::error::{ErrorKind, SimError};
use crate::settings::Scheduling;
use crate::statistics::IdleCause;
use crate::together::FrameBase;
use crate::watch::Watcher;

impl Simulation {
    /// The next warp in turn that may issue; time goes on to when the first one may.
    #[inline(always)]
    pub(super) fn schedule(&mut self) -> Option<usize> {
        let limit = (self.cycle << CAUSE_BITS) | ((1 << CAUSE_BITS) - 1);
        // With enough warps it is the next one, nearly always.
        if self.fronts.get(self.turn).is_some_and(|front| front.ready <= limit) {
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
        let (before, after) = self.fronts.split_at(self.turn);
        let in_turn = |limit: u64| {
            let may_issue = |front: &Front| front.ready <= limit;
            let later = || after.iter().position(may_issue).map(|at| self.turn + at);
            later().or_else(|| before.iter().position(may_issue))
        };
        if let Some(slot) = in_turn(limit) {
            return Some((slot, (self.cycle, 0)));
        }
        let earliest = self.fronts.iter().map(|front| front.ready).min().filter(|&earliest| earliest != NEVER)?;
        let then = earliest >> CAUSE_BITS;
        let cause = (earliest & ((1 << CAUSE_BITS) - 1)) as usize;
        let slot = in_turn(earliest | ((1 << CAUSE_BITS) - 1))?;
        Some((slot, (then, cause)))
    }

    /// Issues a warp's next instruction.
    #[inline(always)]
    pub(super) fn issue(&mut self, slot: usize, watcher: &mut impl Watcher) -> Result<(), SimError> {
        self.issued += 1;
        self.turn = if slot < self.last_in_turn { slot + 1 } else { self.order.first_in_turn(self.fronts.len()) };
        if self.fronts[slot].is_undone() {
            self.work_ahead(slot, watcher);
        }
        let front = self.fronts[slot];
        let timing = self.program.timings[front.pc as usize];
        if front.is_undone() {
            return self.issue_alone(slot, front, &timing, watcher);
        }
        if timing.kind.stays_in_the_warp() {
            let latency = u64::from(timing.latency);
            self.finish(slot, &timing, u64::from(timing.issue), latency, IdleCause::Arithmetic);
        } else {
            self.go_on(slot, &timing);
        }
        Ok(())
    }

    /// Ends a branch whose target is known: time, and when the warp may issue again.
    #[inline(always)]
    fn go_on(&mut self, slot: usize, timing: &Timing) {
        self.cycle += u64::from(timing.issue);
        let front = &mut self.fronts[slot];
        front.pc = self.ways[slot].pop_front().unwrap_or(front.pc + 1);
        front.branches -= 1;
        front.calm.pass(timing.issue);
        front.ready = ready_at(*front, self.cycle, &self.program, &self.clocks);
    }

    /// Counts the cycles for which an instruction holds the scheduler after the first. Work that is
    /// done ahead counts them itself.
    fn count_hold(&mut self, pc: u32, busy: u64) {
        self.statistics.insts[pc as usize].idle[IdleCause::Issue as usize] += busy - 1;
    }

    /// Issues an instruction that others can notice, or that changes who runs where.
    pub(super) fn issue_alone(
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
        let issue = Issue { slot, pc, inst, frame, mask };
        self.statistics.insts[pc as usize].occupancy[mask.count_ones() as usize] += 1;
        watcher.issued(slot, pc, running, mask);
        let (mut busy, mut latency) = (u64::from(timing.issue), u64::from(timing.latency));
        match inst.kind {
            Kind::Access | Kind::Texture => {
                if mask != 0 {
                    let cost = self.access(issue)?;
                    busy += cost.busy;
                    latency = cost.latency.unwrap_or(latency) + cost.busy;
                } else {
                    // Nothing is on its way: whoever reads the destination reads what was there.
                    latency = busy;
                }
                self.count_hold(pc, busy);
                self.finish(slot, timing, busy, latency, IdleCause::Memory);
                if mask != 0 {
                    watcher.wrote(slot, &program, pc, mask, &self.file, frame);
                }
                if inst.may_spin && !front.is_whole {
                    self.count_spin(slot, watcher);
                }
                return Ok(());
            }
            Kind::Barrier | Kind::WarpBarrier | Kind::Pause => {
                // Whatever follows in the warp waits.
                let passed = (self.cycle + latency) << CAUSE_BITS | IdleCause::Barrier as u64;
                self.count_hold(pc, busy);
                self.finish(slot, timing, busy, latency, IdleCause::Arithmetic);
                self.fronts[slot].wait_until(passed);
                return match inst.kind {
                    Kind::Barrier => self.barrier(issue, passed, watcher),
                    Kind::WarpBarrier => self.act_together(issue, latency, watcher),
                    _ => Ok(()),
                };
            }
            Kind::Yield => {
                self.count_hold(pc, busy);
                self.finish(slot, timing, busy, latency, IdleCause::Arithmetic);
                if mask != 0 && !front.is_whole {
                    self.give_way(slot, watcher);
                }
                return Ok(());
            }
            Kind::Warp => {
                self.count_hold(pc, busy);
                self.finish(slot, timing, busy, latency, IdleCause::Arithmetic);
                return self.act_together(issue, latency, watcher);
            }
            Kind::Branch => self.advance(slot, pc, inst.slots.a, watcher),
            Kind::BranchIf => self.branch(issue, watcher),
            Kind::Switch => self.switch(issue, watcher),
            Kind::Call => self.call(issue)?,
            Kind::Ret if self.warp(slot).groups.current().frame != 0 => self.ret(issue),
            Kind::Ret | Kind::Exit => self.exit(slot, mask, watcher),
            Kind::Read => {
                self.read_special(issue);
                self.count_hold(pc, busy);
                self.finish(slot, timing, busy, latency, IdleCause::Arithmetic);
                if mask != 0 {
                    watcher.wrote(slot, &program, pc, mask, &self.file, frame);
                }
                return Ok(());
            }
            Kind::Trap => {
                if mask != 0 {
                    let lane = mask.trailing_zeros() as usize;
                    return Err(self.blame(slot, pc, lane, None, ErrorKind::Trap, "`trap` ends the launch".into()));
                }
                self.count_hold(pc, busy);
                self.finish(slot, timing, busy, latency, IdleCause::Arithmetic);
                return Ok(());
            }
            // The others stay in the warp.
            Kind::Lanes | Kind::Steps | Kind::Draw | Kind::Work => {}
        }
        self.count_hold(pc, busy);
        self.cycle += busy;
        self.resume(slot, watcher);
        Ok(())
    }

    /// The running group of a warp may have changed: its new one goes on, or the warp waits, or has ended.
    pub(super) fn resume(&mut self, slot: usize, watcher: &mut impl Watcher) {
        self.continue_after_calls(slot, watcher);
        let warp = self.warp_mut(slot);
        warp.spun = 0;
        if warp.alive == 0 {
            self.end_warp(slot);
        } else if warp.groups.current().mask == 0 {
            self.fronts[slot].ready = NEVER;
        } else {
            self.enter(slot);
            self.set_ready(slot);
            if let Some(not_before) = self.warp_mut(slot).groups.take_release() {
                self.fronts[slot].wait_until(not_before);
            }
        }
    }

    /// The running lanes end. Whoever has waited for nobody else goes on.
    fn exit(&mut self, slot: usize, lanes: u32, watcher: &mut impl Watcher) {
        let warp = self.warp_mut(slot);
        warp.alive &= !lanes;
        if warp.alive == 0 {
            let block = warp.block;
            self.blocks[block].iter_mut().for_each(|block| block.warps -= 1);
        }
        self.act_without(slot, watcher);
        self.pass_barriers_without(slot, watcher);
        let warp = self.warps[slot].as_mut().expect("a resident warp");
        for frame in &mut warp.frames[1..] {
            let was_in_use = frame.lanes != 0;
            frame.lanes &= !lanes;
            if was_in_use && frame.lanes == 0 {
                self.free_frames[frame.func].push(frame.base);
            }
        }
        warp.groups.exit();
    }

    /// Counts an access by which a group may spin while lanes of its warp wait; those get their
    /// turn after enough of them.
    fn count_spin(&mut self, slot: usize, watcher: &mut impl Watcher) {
        let quantum = self.quantum;
        let warp = self.warp_mut(slot);
        warp.spun += 1;
        if warp.spun >= quantum {
            self.give_way(slot, watcher);
        }
    }

    /// Lets other groups of a warp run before the running one goes on.
    fn give_way(&mut self, slot: usize, watcher: &mut impl Watcher) {
        if self.scheduling == Scheduling::Independent {
            let pc = self.fronts[slot].pc;
            self.warp_mut(slot).groups.spin(pc);
            self.resume(slot, watcher);
        }
    }

    /// Ends an instruction that goes on to the next: clocks, time, and when the warp may issue again.
    #[inline(always)]
    fn finish(&mut self, slot: usize, timing: &Timing, busy: u64, latency: u64, cause: IdleCause) {
        let front = &mut self.fronts[slot];
        front.settled = front.settled.max(self.cycle + latency);
        let ready = (self.cycle + latency) << CAUSE_BITS | cause as u64;
        let clock = &mut self.clocks[(front.base + timing.done) as usize];
        *clock = ready.max(*clock);
        if timing.more != NO_MORE {
            for &done in &self.program.more_clocks[timing.more as usize].done {
                let clock = &mut self.clocks[(front.base + done) as usize];
                *clock = ready.max(*clock);
            }
        }
        self.cycle += busy;
        if front.is_undone() {
            front.done_to += 1;
        }
        front.pc += 1;
        front.calm.pass(timing.issue);
        front.ready = ready_at(*front, self.cycle, &self.program, &self.clocks);
    }

    /// Sets when a warp may issue its next instruction.
    pub(super) fn set_ready(&mut self, slot: usize) {
        self.fronts[slot].ready = ready_at(self.fronts[slot], self.cycle, &self.program, &self.clocks);
    }

    /// The running lanes of a warp, or their place, have changed.
    pub(super) fn enter(&mut self, slot: usize) {
        let warp = self.warp(slot);
        let (top, alive) = (warp.groups.current(), warp.alive);
        let frame = &warp.frames[top.frame as usize];
        let (ready, pc) = (self.cycle << CAUSE_BITS, top.pc);
        // A return sets a clock of its caller, one cycle ahead.
        let settled = self.fronts[slot].settled.max(self.cycle + 1);
        self.fronts[slot] = Front {
            ready,
            pc,
            done_to: pc,
            base: frame.base,
            running: top.mask,
            is_whole: top.mask == alive,
            join: top.join,
            settled,
            ..Front::NONE
        };
    }
}

/// When all registers that a warp's next instruction names are there; the cycle, if they are.
#[inline(always)]
pub(super) fn ready_at(front: Front, cycle: u64, program: &Program, clocks: &[u64]) -> u64 {
    let timing = &program.timings[front.pc as usize];
    let clock = |wait: u32| clocks[(front.base + wait) as usize];
    let [first, second] = timing.waits.map(clock);
    let mut ready = (cycle << CAUSE_BITS).max(first).max(second);
    if timing.more != NO_MORE {
        for &wait in &program.more_clocks[timing.more as usize].waits {
            ready = ready.max(clock(wait));
        }
    }
    ready
}

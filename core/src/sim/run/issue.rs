//! The scheduler, and what happens when a warp issues.

use core::ops::Range;

use super::effect::{draw, work};
use super::{CAUSE_BITS, Front, NEVER, Simulation};
use crate::sim::decode::{DecodedInst, Kind, NO_MORE, Program, Timing, UNGUARDED};
use crate::sim::error::SimError;
use crate::sim::reconvergence::Reconvergence;
use crate::sim::statistics::IdleCause;
use crate::sim::together::{self, FrameBase};
use crate::sim::watch::Watcher;

/// Instructions whose work is done ahead at a time: enough that registers stay near, few enough that a loop without end
/// is noticed.
const MOST_AHEAD: u32 = 256;

impl<R: Reconvergence> Simulation<R> {
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
        self.turn = if slot + 1 == self.fronts.len() { 0 } else { slot + 1 };
        let front = self.fronts[slot];
        let timing = self.program.timings[front.pc as usize];
        let stays = timing.kind.stays_in_the_warp();
        if front.is_undone() {
            if stays {
                self.work_ahead(slot, front, watcher);
            } else {
                let Some(target) = self.common_target(front, front.pc) else {
                    return self.issue_alone(slot, front, &timing, watcher);
                };
                self.count_branch(slot, front, front.pc, target, watcher);
                self.fronts[slot].done_to = target;
                self.go_on(slot, &timing, target);
                return Ok(());
            }
        } else if !stays {
            let target = self.ways[slot].pop_front().unwrap_or(front.pc + 1);
            self.fronts[slot].branches -= 1;
            self.go_on(slot, &timing, target);
            return Ok(());
        }
        self.finish(slot, &timing, u64::from(timing.issue), u64::from(timing.latency), IdleCause::Arithmetic);
        Ok(())
    }

    /// Does the work of the next instructions that stay in the warp, and of branches between them that all running lanes
    /// take alike.
    pub(super) fn work_ahead(&mut self, slot: usize, front: Front, watcher: &mut impl Watcher) {
        let program = self.program.clone();
        let mut pc = front.pc;
        let mut done = 0;
        loop {
            let end = program.leaves_at[pc as usize];
            self.work_straight(slot, front, &program, pc..end, watcher);
            done += end - pc;
            pc = end;
            if done >= MOST_AHEAD {
                break;
            }
            let Some(target) = self.common_target(front, pc) else { break };
            self.count_branch(slot, front, pc, target, watcher);
            self.ways[slot].push_back(target);
            done += 1;
            pc = target;
        }
        let branches = self.ways[slot].len() as u32;
        (self.fronts[slot].done_to, self.fronts[slot].branches) = (pc, branches);
    }

    /// Does the work of instructions one after the other that stay in the warp.
    #[inline(always)]
    fn work_straight(
        &mut self,
        slot: usize,
        front: Front,
        program: &Program,
        range: Range<u32>,
        watcher: &mut impl Watcher,
    ) {
        let frame = FrameBase(front.base);
        self.file.base = front.base;
        let running = front.running.count_ones() as usize;
        for (at, inst) in program.insts[..range.end as usize].iter().enumerate().skip(range.start as usize) {
            let (pc, mut mask, mut active) = (at as u32, front.running, running);
            if inst.guard != UNGUARDED {
                mask &= self.file.predicates[frame.at(inst.guard) as usize] ^ inst.guard_flip;
                active = mask.count_ones() as usize;
            }
            self.statistics.insts[at].occupancy[active] += 1;
            watcher.issued(slot, pc, mask);
            if mask != 0 {
                if inst.kind == Kind::Lanes {
                    (inst.run)(&mut self.file, &inst.slots, mask);
                } else {
                    self.work(slot, inst, frame, mask);
                }
                watcher.wrote(program, pc, mask, &self.file, frame);
            }
        }
    }

    /// Does the work of an instruction that stays in the warp but is not one function over lanes.
    #[inline(never)]
    fn work(&mut self, slot: usize, inst: &DecodedInst, frame: FrameBase, mask: u32) {
        let program = &*self.program;
        match inst.kind {
            Kind::Steps => {
                for step in &program.steps[inst.side as usize] {
                    (step.run)(&mut self.file, &step.slots, mask);
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
    }

    /// Where all running lanes go, if the instruction is a branch that leads them to one place where nobody waits for them:
    /// the reconvergence stack need not hear of it.
    #[inline(always)]
    fn common_target(&self, front: Front, pc: u32) -> Option<u32> {
        let inst = &self.program.insts[pc as usize];
        let target = match inst.kind {
            Kind::Branch => inst.slots.a,
            Kind::BranchIf => {
                let condition = self.file.predicates[FrameBase(front.base).at(inst.slots.f) as usize] ^ inst.slots.flip;
                match front.running & condition {
                    0 => inst.slots.b,
                    all if all == front.running => inst.slots.a,
                    _ => return None,
                }
            }
            _ => return None,
        };
        (target != front.join && inst.guard == UNGUARDED).then_some(target)
    }

    /// Counts such a branch.
    #[inline(always)]
    fn count_branch(&mut self, slot: usize, front: Front, pc: u32, target: u32, watcher: &mut impl Watcher) {
        self.statistics.insts[pc as usize].occupancy[front.running.count_ones() as usize] += 1;
        watcher.issued(slot, pc, front.running);
        watcher.moved(slot, pc, target, front.running);
    }

    /// Ends such a branch: time, and when the warp may issue again.
    #[inline(always)]
    fn go_on(&mut self, slot: usize, timing: &Timing, target: u32) {
        self.pass_time(self.fronts[slot].pc, u64::from(timing.issue));
        let front = &mut self.fronts[slot];
        front.pc = target;
        front.ready = ready_at(*front, self.cycle, &self.program, &self.clocks);
    }

    /// The scheduler is held for so many cycles.
    #[inline(always)]
    fn pass_time(&mut self, pc: u32, busy: u64) {
        self.cycle += busy;
        if busy > 1 {
            self.statistics.insts[pc as usize].idle[IdleCause::Issue as usize] += busy - 1;
        }
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
                self.finish(slot, timing, busy, latency, IdleCause::Memory);
                if mask != 0 {
                    watcher.wrote(&program, pc, mask, &self.file, frame);
                }
                return Ok(());
            }
            Kind::Barrier | Kind::Pause => {
                // Whatever follows in the warp waits.
                let passed = (self.cycle + latency) << CAUSE_BITS | IdleCause::Barrier as u64;
                self.finish(slot, timing, busy, latency, IdleCause::Arithmetic);
                self.fronts[slot].wait_until(passed);
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
        if busy > 1 {
            self.statistics.insts[front.pc as usize].idle[IdleCause::Issue as usize] += busy - 1;
        }
        if front.is_undone() {
            front.done_to += 1;
        }
        front.pc += 1;
        front.ready = ready_at(*front, self.cycle, &self.program, &self.clocks);
    }

    /// Sets when a warp may issue its next instruction.
    pub(super) fn set_ready(&mut self, slot: usize) {
        self.fronts[slot].ready = ready_at(self.fronts[slot], self.cycle, &self.program, &self.clocks);
    }

    /// The running lanes of a warp, or their place, have changed.
    pub(super) fn enter(&mut self, slot: usize) {
        let warp = self.warp(slot);
        let (top, frame) = (warp.stack.current(), warp.frames.last().expect("a frame"));
        let (ready, pc) = (self.cycle << CAUSE_BITS, top.pc);
        // A return sets a clock of its caller, one cycle ahead.
        let settled = self.fronts[slot].settled.max(self.cycle + 1);
        self.fronts[slot] =
            Front { ready, pc, done_to: pc, branches: 0, base: frame.base, running: top.mask, join: top.join, settled };
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

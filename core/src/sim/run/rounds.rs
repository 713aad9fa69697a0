//! Rounds in which every warp that is ready issues one instruction, one after the other, are counted all at once.
//!
//! ```text
//! cycle     0 1 2 3   4 5 6 7   8 9 10 11          12
//! warp      a b c d   a b c d   a b c  d    ─▶     all three instructions further; a is next
//! ```
//!
//! Sound under these conditions, checked for each warp in turn: the next instructions have done their work and issue in one
//! cycle, so that nothing changes the order; all results so far are there, so that nothing waits for them; the latencies of
//! the instructions themselves are no longer than a round, so that each result is there when its warp's turn comes again;
//! and no other warp becomes ready before the last round ends. What remains to be done is what the last instruction of
//! each warp leaves: its clocks, and when the warp may go on. A run that issues one instruction at a time gives the same
//! cycles and counts, which tests compare.
//!
//! Bounds: a look at every warp slot, taken once a round.

use super::issue::ready_at;
use super::{CAUSE_BITS, Simulation};
use crate::sim::decode::NO_MORE;
use crate::sim::reconvergence::Reconvergence;
use crate::sim::statistics::IdleCause;
use crate::sim::watch::Watcher;

/// Fewer rounds than these are not worth the look.
const WORTHWHILE: u64 = 2;

impl<R: Reconvergence> Simulation<R> {
    /// Issues as many whole rounds of at most `budget` instructions as can be counted at once, from slot 0 on. False if
    /// there are none.
    pub(super) fn skip_rounds(&mut self, budget: u64, watcher: &mut impl Watcher) -> bool {
        if budget < WORTHWHILE {
            return false;
        }
        let Some((rounds, warps)) = self.countable_rounds(budget, watcher) else { return false };
        let (start, mut in_turn) = (self.cycle, 0);
        for slot in 0..self.fronts.len() {
            if self.fronts[slot].ready >> CAUSE_BITS > start + in_turn {
                continue;
            }
            let last = self.walk(slot, rounds as u32);
            let last = &self.program.timings[last as usize];
            let issued = start + (rounds - 1) * warps + in_turn;
            let front = &mut self.fronts[slot];
            front.settled = issued + u64::from(last.latency);
            let ready = front.settled << CAUSE_BITS | IdleCause::Arithmetic as u64;
            self.clocks[(front.base + last.done) as usize] = ready;
            if last.more != NO_MORE {
                for &done in &self.program.more_clocks[last.more as usize].done {
                    self.clocks[(front.base + done) as usize] = ready;
                }
            }
            front.ready = ready_at(*front, issued + 1, &self.program, &self.clocks);
            in_turn += 1;
            self.turn = if slot + 1 == self.fronts.len() { 0 } else { slot + 1 };
        }
        self.cycle += rounds * warps;
        self.issued += rounds * warps;
        true
    }

    /// How many rounds can be counted at once, and how many warps take part. Their work is done if it was not.
    fn countable_rounds(&mut self, budget: u64, watcher: &mut impl Watcher) -> Option<(u64, u64)> {
        let (mut warps, mut rounds, mut latency, mut others) = (0, u64::MAX, 0, u64::MAX);
        for slot in 0..self.fronts.len() {
            let turn = self.cycle + warps;
            let ready = self.fronts[slot].ready >> CAUSE_BITS;
            if ready > turn {
                others = others.min(ready);
                continue;
            }
            if self.fronts[slot].settled > turn {
                return None;
            }
            let (calm, slowest) = self.calm_ahead(slot, watcher);
            rounds = rounds.min(u64::from(calm));
            if rounds < WORTHWHILE {
                return None;
            }
            latency = latency.max(u64::from(slowest));
            warps += 1;
        }
        if warps == 0 || latency > warps {
            return None;
        }
        let rounds = rounds.min((others - self.cycle) / warps).min(budget / warps);
        (rounds >= WORTHWHILE).then_some((rounds, warps))
    }

    /// How many of a warp's next instructions are done and go on calmly, and the longest latency of them.
    fn calm_ahead(&mut self, slot: usize, watcher: &mut impl Watcher) -> (u32, u32) {
        if self.fronts[slot].is_undone() {
            self.work_ahead(slot, watcher);
        }
        let front = &mut self.fronts[slot];
        if front.calm == 0 && !front.is_undone() {
            // What is not calm lies behind.
            let stretch = self.program.calm[front.pc as usize];
            (front.calm, front.latency) = (stretch.end - front.pc, u32::from(stretch.latency));
        }
        (front.calm, front.latency)
    }

    /// Goes on by so many instructions, and says which was the last.
    fn walk(&mut self, slot: usize, count: u32) -> u32 {
        let front = &mut self.fronts[slot];
        front.calm -= count;
        let (mut last, mut left) = (front.pc, count);
        loop {
            let straight = left.min(self.program.leaves_at[front.pc as usize] - front.pc);
            if straight > 0 {
                last = front.pc + straight - 1;
            }
            front.pc += straight;
            left -= straight;
            if left == 0 {
                return last;
            }
            let Some(target) = self.ways[slot].pop_front() else { return last };
            last = front.pc;
            front.pc = target;
            front.branches -= 1;
            left -= 1;
        }
    }
}

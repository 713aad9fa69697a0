//! Rounds in which every warp that is ready issues one instruction, one after the other, are counted all at once.
//!
//! ```text
//! cycle     0 1 2 3   4 5 6 7   8 9 10 11          12
//! warp      a b c d   a b c d   a b c  d    ─▶     all three instructions further; a is next
//! ```
//!
//! Sound under these conditions, checked for each warp in turn: the next instructions stay in the warp and issue in one
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
        let Some((rounds, warps)) = self.countable_rounds(budget) else { return false };
        let (start, mut in_turn) = (self.cycle, 0);
        for slot in 0..self.fronts.len() {
            let front = self.fronts[slot];
            if front.ready >> CAUSE_BITS > start + in_turn {
                continue;
            }
            if front.is_undone() {
                self.work_ahead(slot, front, watcher);
            }
            let front = &mut self.fronts[slot];
            front.pc += rounds as u32;
            let last = &self.program.timings[front.pc as usize - 1];
            let issued = start + (rounds - 1) * warps + in_turn;
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

    /// How many rounds can be counted at once, and how many warps take part.
    fn countable_rounds(&self, budget: u64) -> Option<(u64, u64)> {
        let (mut warps, mut rounds, mut latency, mut others) = (0, u64::MAX, 0, u64::MAX);
        for front in &self.fronts {
            let turn = self.cycle + warps;
            let ready = front.ready >> CAUSE_BITS;
            if ready > turn {
                others = others.min(ready);
                continue;
            }
            let calm = self.program.calm[front.pc as usize];
            rounds = rounds.min(u64::from(calm.end - front.pc));
            if rounds < WORTHWHILE || front.settled > turn {
                return None;
            }
            latency = latency.max(u64::from(calm.latency));
            warps += 1;
        }
        if warps == 0 || latency > warps {
            return None;
        }
        let rounds = rounds.min((others - self.cycle) / warps).min(budget / warps);
        (rounds >= WORTHWHILE).then_some((rounds, warps))
    }
}

//! Rounds in which every warp that is ready issues one instruction, one after the other, are counted all at once.
//!
//! ```text
//! cycle     0 1 2 3   4 5 6 7   8 9 10 11          12
//! warp      a b c d   a b c d   a b c  d    ─▶     all three instructions further; a is next
//! ```
//!
//! Sound under these conditions, checked for each warp in turn: the next instructions have done
//! their work, so that only time remains to be counted; all results so far are there, so that
//! nothing waits for them; no latency of these instructions is longer than a round has warps, and
//! so than a round, so that each result is there when its warp's turn comes again; and no other
//! warp becomes ready meanwhile. A branch where lanes part or meet concerns nobody but its warp: it
//! issues when it is its turn, and the others are counted on. Counting ends, in the middle of a
//! round where it has to, before the first instruction of another kind. What remains to be done is
//! what the last instruction of each warp leaves: its clocks, and when the warp may go on. A run
//! that issues one instruction at a time gives the same cycles and counts, which tests compare.
//!
//! Bounds: a look at every warp slot when the rounds begin, and one at a warp, with the logarithm
//! of how many there are, where its calm instructions end.

use alloc::vec::Vec;
use core::cmp::Reverse;

use super::issue::ready_at;
use super::{CAUSE_BITS, CalmAhead, Simulation};
use crate::decode::{Kind, NO_MORE};
use crate::error::SimError;
use crate::statistics::IdleCause;
use crate::watch::Watcher;

/// Fewer instructions than these are not worth the look.
const WORTHWHILE: u64 = 2;

/// A warp that takes part in rounds, in the order of their turns.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    slot: usize,
    /// Rounds that it has gone.
    gone: u64,
    /// Cycles for which it has held the scheduler in the rounds that it has gone.
    held: u64,
    /// The pc of its last instruction in these.
    last: u32,
}

impl Simulation {
    /// Issues as many of at most `budget` instructions as can be counted at once, from slot 0 on.
    /// False if there are none.
    pub(super) fn skip_rounds(&mut self, budget: u64, watcher: &mut impl Watcher) -> Result<bool, SimError> {
        if budget < WORTHWHILE {
            return Ok(false);
        }
        let Some((time, issue)) = self.take_turns(watcher) else { return Ok(false) };
        let start = self.cycle;
        let warps = self.turns.len() as u64;
        let mut count = budget.min(time / u64::from(issue));
        let mut due = Vec::with_capacity(self.turns.len());
        'rounds: while let Some(&Reverse((round, _))) = self.looks.peek() {
            if round * warps >= count {
                break;
            }
            // As far as the closer look, so that those at one place may work side by side.
            due.clear();
            while let Some(&Reverse((until, at))) = self.looks.peek()
                && until == round
            {
                self.looks.pop();
                self.walk(at, round);
                due.push(at);
            }
            for &at in &due {
                let number = round * warps + at as u64;
                if number >= count {
                    break 'rounds;
                }
                let slot = self.turns[at].slot;
                if let Some(calm) = self.calm_rounds(slot, warps, issue, watcher) {
                    self.looks.push(Reverse((round + calm, at)));
                } else if self.is_lone_branch(slot, issue) {
                    // The stack does not ask for the time; when the warp may go on is seen to at the end.
                    let front = self.fronts[slot];
                    let timing = self.program.timings[front.pc as usize];
                    self.issue_alone(slot, front, &timing, watcher)?;
                    let turn = &mut self.turns[at];
                    (turn.gone, turn.last) = (round + 1, front.pc);
                    turn.held += u64::from(timing.issue);
                    self.looks.push(Reverse((round + 1, at)));
                } else {
                    count = number;
                    break 'rounds;
                }
            }
        }
        self.cycle = start;
        if count == 0 {
            return Ok(false);
        }
        self.end_rounds(count);
        Ok(true)
    }

    /// Warps that take part from now on: the cycles until another one becomes ready, and the most
    /// cycles for which one of the calm instructions before them holds the scheduler. Nothing if
    /// not all go on calmly.
    fn take_turns(&mut self, watcher: &mut impl Watcher) -> Option<(u64, u16)> {
        self.turns.clear();
        self.looks.clear();
        let mut others = u64::MAX;
        for slot in 0..self.fronts.len() {
            let turn = self.cycle + self.turns.len() as u64;
            let front = &self.fronts[slot];
            let ready = front.ready >> CAUSE_BITS;
            if ready > turn {
                others = others.min(ready);
                continue;
            }
            if front.settled > turn {
                return None;
            }
            self.turns.push(Turn { slot, gone: 0, held: 0, last: front.pc });
        }
        // How long a round is has to be known before anybody can be asked how many of them are calm.
        let warps = self.turns.len() as u64;
        let mut issue = 1;
        for at in 0..self.turns.len() {
            let slot = self.turns[at].slot;
            match self.calm_rounds(slot, warps, u16::MAX, watcher) {
                Some(calm) => {
                    self.looks.push(Reverse((calm, at)));
                    issue = self.fronts[slot].calm.issue.max(issue);
                }
                None if self.is_lone_branch(slot, u16::MAX) => self.looks.push(Reverse((0, at))),
                None => return None,
            }
        }
        (warps > 0).then_some((others - self.cycle, issue))
    }

    /// How many of a warp's next instructions go on calmly in rounds of so many warps, none of them
    /// holding the scheduler for more than `issue` cycles; their work is done then. None if the
    /// next one does not.
    fn calm_rounds(&mut self, slot: usize, warps: u64, issue: u16, watcher: &mut impl Watcher) -> Option<u64> {
        if self.fronts[slot].is_undone() {
            self.work_ahead(slot, watcher);
        }
        let front = &mut self.fronts[slot];
        if front.calm.count == 0 && !front.is_undone() {
            // What is not calm lies behind. Without branches between, the work done ends the straight instructions.
            front.calm = CalmAhead::NONE;
            let limit = if front.branches == 0 { front.done_to } else { u32::MAX };
            front.calm.go_on(&self.program, front.pc, limit);
        }
        let calm = &front.calm;
        let is_calm = calm.count > 0 && u64::from(calm.latency) <= warps && calm.issue <= issue;
        is_calm.then_some(u64::from(calm.count))
    }

    /// Is a warp's next instruction a branch whose lanes part or meet, and that holds the scheduler no longer?
    fn is_lone_branch(&self, slot: usize, issue: u16) -> bool {
        let front = &self.fronts[slot];
        let timing = &self.program.timings[front.pc as usize];
        front.is_undone()
            && timing.issue <= issue
            && matches!(timing.kind, Kind::Branch | Kind::BranchIf | Kind::Switch)
            && self.warps[slot].as_ref().is_some_and(|warp| warp.groups.is_plain())
    }

    /// Leaves everybody as `count` instructions in turn leave them.
    fn end_rounds(&mut self, count: u64) {
        let warps = self.turns.len();
        let (whole, rest) = (count / warps as u64, (count % warps as u64) as usize);
        for at in 0..warps {
            self.walk(at, whole + u64::from(at < rest));
        }
        self.cycle += self.turns.iter().map(|turn| turn.held).sum::<u64>();
        self.issued += count;
        let last = self.turns[(rest + warps - 1) % warps].slot;
        self.turn = if last + 1 == self.fronts.len() { 0 } else { last + 1 };
        // Each warp's last instruction, the last of all first.
        let mut end = self.cycle;
        for at in (0..rest).rev().chain((rest..warps).rev()) {
            let Turn { slot, gone, last, .. } = self.turns[at];
            if gone == 0 {
                continue;
            }
            let last = &self.program.timings[last as usize];
            let issued = end - u64::from(last.issue);
            let done = issued + u64::from(last.latency);
            let front = &mut self.fronts[slot];
            front.settled = front.settled.max(done);
            let ready = done << CAUSE_BITS | IdleCause::Arithmetic as u64;
            self.clocks[(front.base + last.done) as usize] = ready;
            if last.more != NO_MORE {
                for &done in &self.program.more_clocks[last.more as usize].done {
                    self.clocks[(front.base + done) as usize] = ready;
                }
            }
            front.ready = ready_at(*front, end, &self.program, &self.clocks);
            end = issued;
        }
    }

    /// Lets a warp go on to a round.
    fn walk(&mut self, at: usize, round: u64) {
        let turn = &mut self.turns[at];
        let front = &mut self.fronts[turn.slot];
        let mut left = (round - turn.gone) as u32;
        turn.gone = round;
        if left == 0 {
            return;
        }
        if front.calm.is_all && left == front.calm.count {
            turn.held += u64::from(front.calm.held);
            (turn.last, front.pc) = (front.calm.last, front.done_to);
            (front.branches, front.calm) = (0, CalmAhead::NONE);
            self.ways[turn.slot].clear();
            return;
        }
        let mut held = 0;
        front.calm.count -= left;
        while left > 0 {
            let straight = left.min(self.program.leaves_at[front.pc as usize] - front.pc);
            let end = front.pc + straight;
            held += self.program.held_between(front.pc, end);
            // Without anything straight before it, a branch comes next and is the last.
            (turn.last, front.pc) = (end.saturating_sub(1), end);
            left -= straight;
            if left > 0 {
                let Some(target) = self.ways[turn.slot].pop_front() else { return };
                held += u32::from(self.program.timings[end as usize].issue);
                (turn.last, front.pc) = (end, target);
                front.branches -= 1;
                left -= 1;
            }
        }
        front.calm.held -= held;
        turn.held += u64::from(held);
    }
}

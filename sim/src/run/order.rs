//! Which of the legal orders a run takes: of warps that may issue, of sides where lanes part, of lanes in an atomic.
//!
//! Schedule 0 is the documented order: warps in turn, the true side first, lanes by number. Odd
//! numbers take sides and lanes in the opposite order, so that any two of them change places; even
//! numbers draw both. Every number but 0 draws the turns of warps from a hash of the number and of
//! how many choices there were before, so that a run can be repeated. Programs whose result depends
//! on the schedule race.

use crate::random::hash;

/// Warps that start one after the other.
const WARPS: usize = 64;

/// Cycles between two of them: the latency of a load and some.
const A_LOAD: usize = 1000;

/// The choices of one run.
pub(super) struct Order {
    schedule: u64,
    choices: u64,
}

impl Order {
    /// The order with a number.
    pub(super) fn new(schedule: u64) -> Order {
        Order { schedule, choices: 0 }
    }

    /// Do warps issue in turn?
    #[inline(always)]
    pub(super) fn is_round_robin(&self) -> bool {
        self.schedule == 0
    }

    /// The last of `count` slots after which the next one in turn is not simply the next slot.
    pub(super) fn last_in_turn(&self, count: usize) -> usize {
        if self.is_round_robin() { count - 1 } else { 0 }
    }

    /// The slot that is in turn after that one, of `count`.
    pub(super) fn first_in_turn(&mut self, count: usize) -> usize {
        if self.is_round_robin() { 0 } else { self.choose(count) }
    }

    /// Cycles by which the warp in a slot starts late: under odd schedules warps start in the
    /// opposite order, each after the next one has loaded something; under even ones at random.
    pub(super) fn delay(&mut self, slot: usize) -> u64 {
        match self.schedule {
            0 => 0,
            odd if odd % 2 == 1 => ((WARPS - 1 - slot % WARPS) * A_LOAD) as u64,
            _ => (self.choose(WARPS) * A_LOAD) as u64,
        }
    }

    /// One of `count` choices.
    pub(super) fn choose(&mut self, count: usize) -> usize {
        self.choices += 1;
        (hash(&[self.schedule, self.choices]) % count.max(1) as u64) as usize
    }

    /// The order of lanes in an atomic; None if they go by number.
    pub(super) fn lanes(&mut self) -> Option<[usize; 32]> {
        (self.schedule != 0).then(|| {
            let mut lanes = core::array::from_fn(|lane| lane);
            self.shuffle(&mut lanes);
            lanes
        })
    }

    /// Puts items that may come in any order into this one's.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        match self.schedule {
            0 => {}
            odd if odd % 2 == 1 => items.reverse(),
            _ => {
                for end in (1..items.len()).rev() {
                    items.swap(end, self.choose(end + 1));
                }
            }
        }
    }
}

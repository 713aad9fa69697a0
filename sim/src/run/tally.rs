//! Counts of instructions that are run one after the other, taken at the ends of such stretches.
//!
//! ```text
//! pc    4   5   6   7   8          three warps with 32 lanes went from 4 to 8, one of them only to 6:
//!      +3       −1      −2    ─▶   so 4 and 5 have issued 3 times, 6 and 7 twice
//! ```
//!
//! Two additions count a stretch of any length; the sums from the first instruction on are what
//! each has issued. The same for each number of lanes.
//!
//! Bounds: settling looks at every instruction between the first and the last that something has been counted for.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::decode::{Program, UNGUARDED};
use crate::statistics::{IdleCause, Statistics};

/// Counts by number of lanes, from 0 to 32.
type ByLanes = [i64; 33];

/// Counts since the last settlement.
#[derive(Default)]
pub(super) struct Tally {
    /// Issues by pc, and one more: the difference to the instruction before it.
    steps: Vec<ByLanes>,
    /// Range in which they may be non-zero.
    counted: Range<usize>,
}

impl Tally {
    /// For a program of so many instructions.
    pub(super) fn new(insts: usize) -> Tally {
        Tally { steps: vec![[0; 33]; insts + 1], counted: insts + 1..0 }
    }

    /// A warp has issued these instructions a number of times, with the running lanes.
    #[inline(always)]
    pub(super) fn went(&mut self, range: Range<u32>, running: u32, times: i64) {
        let (start, end) = (range.start as usize, range.end as usize);
        let lanes = running.count_ones() as usize;
        self.steps[start][lanes] += times;
        self.steps[end][lanes] -= times;
        self.counted = self.counted.start.min(start)..self.counted.end.max(end);
    }

    /// Adds what has been counted to the statistics of each instruction. Those with a guard count
    /// their lanes themselves.
    pub(super) fn settle(&mut self, program: &Program, statistics: &mut Statistics) {
        let mut sums: ByLanes = [0; 33];
        let Range { start, end } = self.counted.clone();
        for pc in start..end {
            sums.iter_mut().zip(&mut self.steps[pc]).for_each(|(sum, step)| *sum += core::mem::take(step));
            let (inst, counts) = (&program.insts[pc], &mut statistics.insts[pc]);
            if inst.guard == UNGUARDED {
                counts.occupancy.iter_mut().zip(sums).for_each(|(count, sum)| *count += sum as u64);
            }
            let issues = sums.iter().sum::<i64>() as u64;
            counts.idle[IdleCause::Issue as usize] += issues * u64::from(inst.held);
        }
        if start < end {
            self.steps[end] = [0; 33];
        }
        self.counted = self.steps.len()..0;
    }
}

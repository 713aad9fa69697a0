//! What a run counts while it runs: one small record for each decoded instruction, and a few totals. Everything else
//! (blocks, edges, sums by space) is derived from these afterwards, so the loop pays for almost nothing.

use alloc::vec;
use alloc::vec::Vec;

/// Why a cycle passed without an issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum IdleCause {
    /// Every warp waited for the result of a computation.
    Arithmetic,
    /// Every warp waited, the first one to go on for a load or atomic.
    Memory,
    /// The scheduler was held by an instruction that issues for several cycles.
    Issue,
}

impl IdleCause {
    /// Every cause.
    pub const ALL: [IdleCause; 3] = [IdleCause::Arithmetic, IdleCause::Memory, IdleCause::Issue];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            IdleCause::Arithmetic => "arithmetic",
            IdleCause::Memory => "memory",
            IdleCause::Issue => "issue",
        }
    }
}

/// Counts of one decoded instruction.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Times issued.
    pub issues: u64,
    /// Issues with at least one active lane.
    pub active_issues: u64,
    /// Active lanes, summed over issues.
    pub lanes: u64,
    /// For a conditional branch: lanes that took the true side.
    pub true_lanes: u64,
    /// For a conditional branch: warps that took the true side, with some or all of their lanes.
    pub true_warps: u64,
    /// For a conditional branch: warps that took the false side.
    pub false_warps: u64,
    /// For a branch: executions whose lanes parted.
    pub divergences: u64,
    /// For an access: 32-byte sectors asked for.
    pub sectors: u64,
    /// For an access: sectors that the first-level cache had.
    pub hits: u64,
    /// For a shared-memory access: passes beyond the first of each request.
    pub conflicts: u64,
    /// For a generic access: issues that went to shared or local memory.
    pub elsewhere: u64,
}

/// Counts of a run.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// By pc.
    pub insts: Vec<Counts>,
    /// Issues by number of active lanes, from 0 to 32.
    pub occupancy: [u64; 33],
    /// Idle cycles by [`IdleCause`].
    pub idle: [u64; IdleCause::ALL.len()],
    /// By pc of a `switch` or `call … to`: warps and lanes that went to each target.
    pub ways: Vec<(u32, Vec<(u64, u64)>)>,
}

impl Statistics {
    /// Nothing counted yet.
    pub fn new(insts: usize) -> Statistics {
        Statistics { insts: vec![Counts::default(); insts], occupancy: [0; 33], idle: [0; 3], ways: Vec::new() }
    }

    /// Counts a way out of a `switch` or `call … to`.
    pub fn way(&mut self, pc: u32, targets: usize, index: usize, lanes: u32) {
        let at = match self.ways.binary_search_by_key(&pc, |(pc, _)| *pc) {
            Ok(at) => at,
            Err(at) => {
                self.ways.insert(at, (pc, vec![(0, 0); targets]));
                at
            }
        };
        let (warps, all) = &mut self.ways[at].1[index];
        *warps += 1;
        *all += u64::from(lanes.count_ones());
    }
}

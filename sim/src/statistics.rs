//! Counts of a running launch: one record for each decoded instruction. Everything else (blocks, sums by space, the
//! whole run) is derived from these afterwards, so the loop pays for one increment an issue.

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
    /// Every warp waited, the first one to go on behind a barrier that has been passed, or a fence.
    Barrier,
}

impl IdleCause {
    /// Every cause.
    pub const ALL: [IdleCause; 4] = [IdleCause::Arithmetic, IdleCause::Memory, IdleCause::Issue, IdleCause::Barrier];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            IdleCause::Arithmetic => "arithmetic",
            IdleCause::Memory => "memory",
            IdleCause::Issue => "issue",
            IdleCause::Barrier => "barrier",
        }
    }
}

/// Counts of one decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Issues by number of active lanes, from 0 to 32.
    pub occupancy: [u64; 33],
    /// Cycles that passed without an issue until this instruction issued, and while it held the scheduler, by
    /// [`IdleCause`].
    pub idle: [u64; IdleCause::ALL.len()],
    /// For a branch: executions whose lanes parted.
    pub divergences: u64,
    /// For an access: 32-byte sectors asked for.
    pub sectors: u64,
    /// For an access: sectors that the first-level cache had.
    pub hits: u64,
    /// For a shared-memory access: passes beyond the first of each part of a warp that is served at once.
    pub conflicts: u64,
    /// For a generic access: issues that went to shared or local memory.
    pub elsewhere: u64,
}

impl Counts {
    /// Nothing counted yet.
    pub const NONE: Counts = Counts {
        occupancy: [0; 33],
        idle: [0; IdleCause::ALL.len()],
        divergences: 0,
        sectors: 0,
        hits: 0,
        conflicts: 0,
        elsewhere: 0,
    };

    /// Times issued.
    pub fn issues(&self) -> u64 {
        self.occupancy.iter().sum()
    }

    /// Issues with at least one active lane.
    pub fn active_issues(&self) -> u64 {
        self.issues() - self.occupancy[0]
    }

    /// Active lanes, summed over issues.
    pub fn lanes(&self) -> u64 {
        (0..).zip(self.occupancy).map(|(lanes, issues)| lanes * issues).sum()
    }

    /// Cycles that the scheduler spent on it: one for each issue, and those that passed idle.
    pub fn cycles(&self) -> u64 {
        self.issues() + self.idle.iter().sum::<u64>()
    }

    /// Counts those of another instruction in.
    pub fn add(&mut self, other: &Counts) {
        self.occupancy.iter_mut().zip(other.occupancy).for_each(|(sum, more)| *sum += more);
        self.idle.iter_mut().zip(other.idle).for_each(|(sum, more)| *sum += more);
        self.divergences += other.divergences;
        self.sectors += other.sectors;
        self.hits += other.hits;
        self.conflicts += other.conflicts;
        self.elsewhere += other.elsewhere;
    }
}

/// Counts of a run.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Counts of each pc.
    pub insts: Vec<Counts>,
}

impl Statistics {
    /// Nothing counted yet.
    pub fn new(insts: usize) -> Statistics {
        Statistics { insts: vec![Counts::NONE; insts] }
    }

    /// The whole run's.
    pub fn total(&self) -> Counts {
        let mut total = Counts::NONE;
        self.insts.iter().for_each(|counts| total.add(counts));
        total
    }
}

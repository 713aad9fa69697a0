//! Facts that the scheduler needs about each decoded instruction before a run.
//!
//! ```text
//! a = add.u32 b, 1     waits for b; sets a's clock
//! c = add.u32 b, a     waits for a: that b has come is known since the instruction before
//! d = add.u32 e, f     waits for e and f
//! g = add.u32 e, a     waits for nothing, if an addition takes no longer than two issues
//! ```
//!
//! Sound, because a warp issues in order: what one instruction of a block has waited for has
//! happened for those after it, and so has what was set so long ago that every issue in between
//! together took its latency.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::Kind;

/// When a decoded instruction may issue, and what that costs. Apart from [`DecodedInst`], because
/// the scheduler looks at nothing else.
#[derive(Clone, Copy)]
pub struct Timing {
    /// Clocks to wait for: of registers read, and of registers written, as far as they may not have passed.
    pub waits: [u32; 2],
    /// The clock of the first destination.
    pub done: u32,
    /// Index of further clocks in [`Program::more_clocks`], or [`NO_MORE`].
    pub more: u32,
    /// Cycles for which the scheduler starts nothing else; 1 at least.
    pub issue: u16,
    /// Cycles until the destination is ready.
    pub latency: u16,
    /// How the instruction is run.
    pub kind: Kind,
}

/// Run of instructions from a place on that stay in the warp and take few cycles.
#[derive(Clone, Copy, Default, Debug)]
pub struct Calm {
    /// End of the run: the place itself if its instruction is none of these.
    pub end: u32,
    /// Cycles until the result of the slowest of them is ready.
    pub latency: u16,
    /// Cycles for which the scheduler is held by the one that holds it longest.
    pub issue: u16,
}

/// The longest latency of a calm instruction, in cycles.
const CALM_LATENCY: u16 = 32;

/// No further clocks.
pub const NO_MORE: u32 = u32::MAX;

/// Clocks of an instruction with many operands or destinations.
#[derive(Clone, Default)]
pub struct MoreClocks {
    /// To wait for.
    pub waits: SmallVec<[u32; 4]>,
    /// Clocks of the destinations after the first.
    pub done: SmallVec<[u32; 4]>,
}

/// From each place on, the first instruction with a property; the last instruction if none has it.
pub(super) fn first_from_each(timings: &[Timing], has_property: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut first: Vec<u32> = (0..timings.len() as u32).collect();
    for pc in (0..timings.len().saturating_sub(1)).rev().filter(|&pc| !has_property(pc)) {
        first[pc] = first[pc + 1];
    }
    first
}

/// Up to each place, the cycles for which the scheduler is held by all instructions of the program before it; what lies
/// between two places is the difference, also where the sum has wrapped around.
pub(super) fn issue_before(timings: &[Timing]) -> Vec<u32> {
    let mut sum = 0u32;
    let mut before = alloc::vec![0];
    before.extend(timings.iter().map(|timing| {
        sum = sum.wrapping_add(u32::from(timing.issue));
        sum
    }));
    before
}

/// From each place on, the calm instructions.
pub(super) fn calm(timings: &[Timing]) -> Vec<Calm> {
    let mut calm: Vec<Calm> = (0..timings.len() as u32).map(|end| Calm { end, ..Calm::default() }).collect();
    for (pc, timing) in timings.iter().enumerate().rev() {
        if timing.kind.stays_in_the_warp() && timing.latency <= CALM_LATENCY {
            let next = calm.get(pc + 1).copied().unwrap_or_default();
            calm[pc] = Calm {
                end: next.end.max(pc as u32 + 1),
                latency: timing.latency.max(next.latency),
                issue: timing.issue.max(next.issue),
            };
        }
    }
    calm
}

/// Facts about clocks inside a block, so that nobody waits for an event that has certainly passed: a clock that an
/// instruction before has waited for, and one that was set so long ago that its latency has passed, since every
/// instruction in between took the cycles of its issue.
#[derive(Default)]
pub(super) struct KnownClocks {
    /// Cycles since the block's start, at least.
    now: u64,
    /// When the clock has passed at the latest, in these cycles.
    past: BTreeMap<u32, u64>,
}

impl KnownClocks {
    /// Has a clock certainly passed?
    pub(super) fn is_past(&self, clock: u32) -> bool {
        self.past.get(&clock).is_some_and(|&past| past <= self.now)
    }

    /// An instruction that waited for some clocks issues and sets others. `latency` is none where only the run tells.
    pub(super) fn issue(&mut self, waits: &[u32], done: &[u32], issue: u16, latency: Option<u16>) {
        self.past.extend(waits.iter().map(|&clock| (clock, self.now)));
        for clock in done {
            match latency {
                Some(latency) => self.past.insert(*clock, self.now + u64::from(latency)),
                None => self.past.remove(clock),
            };
        }
        self.now += u64::from(issue);
    }
}

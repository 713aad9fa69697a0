//! Figures of a candidate's estimate, and the verdict on them.
//!
//! ```text
//! T_R      cycles of the region as it is          gain = T_R - (P · T_S + (1 - P) · T_R + T_check)
//! T_S      cycles of what is left if it is zero   su   = (T_R - T_S - T_check) / T_R
//! T_check  cycles of comparison, vote and branch  su_thresh = e^(-|S| / (50 + 10 · MemKilled))
//! ```
//!
//! As printed, T_δ is T_AZP - T_R, which is negative for a gain, and `su < su_thresh` prefers the
//! worse of two candidates. The text requires a gain of 25 cycles, and more speed-up the more
//! blocks are copied, less so the more memory operations are removed. So the rule is: gain > 25,
//! and the remaining share of the region's time, (T_S + T_check) / T_R, is below su_thresh, which
//! moves in every variable as the text says. `printed` and `expected` (with P inside su) are there
//! to compare.
//!
//! Source: AZP, section 3.3.2, equations 5 and 6.

use alloc::vec::Vec;

use crate::ir::{Block, Inst};

/// A copied block whose instructions after the last one that gains are not copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    /// The block.
    pub block: Block,
    /// The first instruction that is not copied.
    pub first: Inst,
}

/// The estimate of a candidate. Times are in cycles for each run of the function by a warp.
#[derive(Clone, PartialEq, Debug)]
pub struct Opportunity {
    /// Block of the check.
    pub head: Block,
    /// The first instruction after the check. What the check needs, of those after it, comes
    /// before.
    pub start: Inst,
    /// The blocks that are copied, besides the instructions after the check in its own, in reverse
    /// postorder.
    pub copied: Vec<Block>,
    /// Ends of the copy inside blocks.
    pub tails: Vec<Tail>,
    /// P, 0–1.
    pub probability: f64,
    /// T_R, where the candidate is zero.
    pub t_region: f64,
    /// T_S.
    pub t_special: f64,
    /// T_check.
    pub t_check: f64,
    /// MemKilled.
    pub memory_killed: usize,
    /// Does any instruction become cheaper, or read less?
    pub is_simpler: bool,
    /// Would a convergent instruction execute with other lanes than before?
    pub is_unconvergent: bool,
}

/// Formula that decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThresholdRule {
    /// Remaining share of the region's time is less than the threshold.
    Remaining,
    /// Equations 5 and 6 as they are printed.
    Printed,
    /// Expected form of the first, for a warp that may or may not take the fast path.
    Expected,
}

/// Reason why a candidate is not transformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// Nothing in the region becomes cheaper.
    NothingGained,
    /// The profile declares that the region never runs.
    NeverRuns,
    /// It gains too little, or loses.
    Gain,
    /// It gains too little for its size.
    Threshold,
    /// A convergent instruction would execute with other lanes than before.
    Convergent,
}

impl Opportunity {
    /// T_AZP, equation 5.
    pub fn t_azp(&self) -> f64 {
        self.probability * self.t_special + (1.0 - self.probability) * self.t_region + self.t_check
    }

    /// T_δ, equation 5: negative for a gain.
    pub fn t_delta(&self) -> f64 {
        self.t_azp() - self.t_region
    }

    /// T_R - T_AZP: the cycles that are gained.
    pub fn gain(&self) -> f64 {
        self.t_region - self.t_azp()
    }

    /// su, equation 6; None where T_R is 0.
    pub fn speed_up(&self) -> Option<f64> {
        (self.t_region > 0.0).then(|| (self.t_region - self.t_special - self.t_check) / self.t_region)
    }

    /// |S|: blocks that are copied.
    pub fn blocks(&self) -> usize {
        self.copied.len() + 1
    }

    /// The check's block and those that are copied.
    pub fn blocks_of_region(&self) -> impl Iterator<Item = Block> + '_ {
        core::iter::once(self.head).chain(self.copied.iter().copied())
    }

    /// su_thresh, equation 6.
    pub fn threshold(&self) -> f64 {
        libm::exp(-(self.blocks() as f64) / (50.0 + 10.0 * self.memory_killed as f64))
    }

    /// The first instruction of a block that is not copied, if the copy ends inside it.
    pub fn tail_of(&self, block: Block) -> Option<Inst> {
        self.tails.iter().find(|tail| tail.block == block).map(|tail| tail.first)
    }

    /// Is it transformed for?
    pub(super) fn verdict(&self, rule: ThresholdRule, min_cycles: f64) -> Result<(), Refusal> {
        if !self.is_simpler {
            return Err(Refusal::NothingGained);
        }
        let Some(speed_up) = self.speed_up() else { return Err(Refusal::NeverRuns) };
        if self.is_unconvergent {
            return Err(Refusal::Convergent);
        }
        let (gains, passes) = match rule {
            ThresholdRule::Remaining => (self.gain() > min_cycles, speed_up > 1.0 - self.threshold()),
            ThresholdRule::Expected => (self.gain() > min_cycles, self.gain() / self.t_region > 1.0 - self.threshold()),
            ThresholdRule::Printed => (-self.gain() > min_cycles, speed_up < self.threshold()),
        };
        match (gains, passes) {
            (false, _) => Err(Refusal::Gain),
            (true, false) => Err(Refusal::Threshold),
            (true, true) => Ok(()),
        }
    }
}

//! Predictions of a pass about branches that it made, which a run confirms or refutes.
//!
//! ```text
//! "`r1` is zero in all lanes": check → slow if not; 4.5 cycles where it fails, 4.5 − 131.2 where it holds
//! ```

use alloc::string::String;
use alloc::vec::Vec;

/// A prediction about branches that decide alike.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Prediction {
    /// The condition that the branches decide about, without a capital.
    pub condition: String,
    /// The source of the formula: `equation 5`.
    pub source: String,
    /// The figures of the formula, in words.
    pub figures: String,
    /// Names of blocks that end with the branches, each with that of the block where a warp goes if it does not hold.
    pub branches: Vec<(String, String)>,
    /// Cycles that an execution by a warp takes more where the condition holds; negative if it takes fewer.
    pub cycles_if_held: f64,
    /// Cycles that such an execution takes more where it does not hold.
    pub cycles_if_not: f64,
}

impl Prediction {
    /// Cycles that an execution by a warp takes more if the condition holds in that share of executions, 0–1.
    pub fn cycles(&self, share: f64) -> f64 {
        share * self.cycles_if_held + (1.0 - share) * self.cycles_if_not
    }
}

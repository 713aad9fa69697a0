//! How much faster a program is with `azp` than without, over how often its values are zero and how far lanes disagree.

use serde::{Deserialize, Serialize};

use super::{Bench, Settings};

/// Asks for [`Mapped`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapPiece {
    /// Program, launch and passes, one of them `azp`.
    pub bench: Bench,
    /// How the simulator runs it, apart from the values that vary.
    pub settings: Settings,
    /// The inputs and buffers that vary.
    pub vary: Vec<String>,
    /// Probability of zero and divergence of each cell, 0 to 1.
    pub points: Vec<(f64, f64)>,
}

/// Answer of the map. The engine answers as many cells as it has the time for, and at least one; the page asks again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mapped {
    /// Why there is no map; none if there is one.
    pub refused: Option<String>,
    /// The transformations, in order.
    pub checks: Vec<Check>,
    /// For the first points what was found there, or why a run did not end well.
    pub cells: Vec<Result<Cell, String>>,
}

/// A transformation, with the figures on which it was decided, in cycles for each run of the kernel by a warp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The registers that it is for.
    pub registers: Vec<String>,
    /// T_R.
    pub t_region: f64,
    /// T_S.
    pub t_special: f64,
    /// T_check.
    pub t_check: f64,
}

/// Result at a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Cycles of the launch without `azp`.
    pub without: u64,
    /// Cycles with it.
    pub with: u64,
    /// Share of each check's executions by a warp in which all lanes had zero; none where it never ran.
    pub shares: Vec<Option<f64>>,
}

impl Cell {
    /// How many times as fast it is with `azp`.
    pub fn speed_up(&self) -> f64 {
        self.without as f64 / self.with.max(1) as f64
    }

    /// T_AZP - T_R of equation 5, summed over the transformations, with the shares as P; negative where it gains.
    pub fn predicted(&self, checks: &[Check]) -> f64 {
        let delta = |(check, share): (&Check, &Option<f64>)| {
            share.map_or(0.0, |share| check.t_check - share * (check.t_region - check.t_special))
        };
        checks.iter().zip(&self.shares).map(delta).sum()
    }
}

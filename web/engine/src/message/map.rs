//! The speed-up of a program by a pass, over zero probability and divergence of its values.

use serde::{Deserialize, Serialize};

use warpscope_core::inspect::Prediction;

use super::{Bench, Settings};

/// Asks for [`Mapped`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapPiece {
    /// Program, launch and passes.
    pub bench: Bench,
    /// The pass without which the program runs beside.
    pub pass: String,
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
    /// The predictions of the pass, in the order of its transformations.
    pub predictions: Vec<Prediction>,
    /// For the first points what was found there, or why a run did not end well.
    pub cells: Vec<Result<Cell, String>>,
}

/// Figures of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Cycles of the launch without the pass.
    pub without: u64,
    /// Cycles with it.
    pub with: u64,
    /// Shares of executions by a warp in which the condition held, by prediction; none where its branches never ran.
    pub shares: Vec<Option<f64>>,
}

impl Cell {
    /// The speed-up by the pass.
    pub fn speed_up(&self) -> f64 {
        self.without as f64 / self.with.max(1) as f64
    }

    /// Predicted cycles more for each execution of the branches by a warp, summed over the predictions with the shares that
    /// were counted; negative where the pass gains.
    pub fn predicted(&self, predictions: &[Prediction]) -> f64 {
        let cycles =
            |(prediction, share): (&Prediction, &Option<f64>)| share.map_or(0.0, |share| prediction.cycles(share));
        predictions.iter().zip(&self.shares).map(cycles).sum()
    }
}

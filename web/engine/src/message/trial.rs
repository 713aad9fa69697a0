//! Several pipelines on one program: what each makes of it, and how that runs as lanes agree less and less.

use serde::{Deserialize, Serialize};

use super::{Bench, Counts, Graph, Settings};

/// Asks for [`Tried`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The program and its launch; its pipeline is not used.
    pub bench: Bench,
    /// The passes, as the command line takes them; empty for none.
    pub pipeline: String,
    /// How the simulator runs it, apart from the values that vary.
    pub settings: Settings,
    /// The inputs and buffers whose divergence varies.
    pub vary: Vec<String>,
    /// The divergences at which it runs, each 0 to 1: the probability that a lane draws a value of its own. None is each
    /// value's own, as launched.
    pub points: Vec<Option<f64>>,
}

/// Result of a pipeline on a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Why it did not run as asked; none if it did.
    pub refused: Option<String>,
    /// The program behind it.
    pub graph: Graph,
    /// Instructions in the kernel.
    pub instructions: usize,
    /// Counts of the runs at each point, or why one did not end well.
    pub runs: Vec<Result<Counts, String>>,
}

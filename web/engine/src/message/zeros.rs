//! How often the register writes of a program give zero: lane by lane, and in all lanes of a warp at once.

use serde::{Deserialize, Serialize};

use super::{Program, Settings};

/// Asks for [`Zeros`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The program.
    pub program: Program,
    /// How it is run.
    pub settings: Settings,
}

/// Zeros that a run has counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Zeros {
    /// The kernel's writes that gave zero in some lane, in text order.
    pub writes: Vec<ZeroWrite>,
    /// How many more there are.
    pub more: usize,
    /// Writes that ran and never gave zero.
    pub never: usize,
}

/// One register write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroWrite {
    /// The block.
    pub block: String,
    /// The register.
    pub register: String,
    /// Its instruction's line in the program's text, from 1; 0 if it was not written.
    pub line: usize,
    /// Executions by lanes.
    pub lanes: u64,
    /// Those that wrote zero.
    pub zero_lanes: u64,
    /// Executions by a warp.
    pub warps: u64,
    /// Those in which all active lanes wrote zero.
    pub zero_warps: u64,
}

impl ZeroWrite {
    /// The share of lanes that wrote zero, 0 to 1.
    pub fn of_lanes(&self) -> f64 {
        self.zero_lanes as f64 / self.lanes.max(1) as f64
    }

    /// The share of executions by a warp in which all active lanes wrote zero, 0 to 1.
    pub fn of_warps(&self) -> f64 {
        self.zero_warps as f64 / self.warps.max(1) as f64
    }
}

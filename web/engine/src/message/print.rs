//! The program as PTX.

use serde::{Deserialize, Serialize};

use super::{Bench, Position};

/// Asks for the program at the position as PTX.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Print {
    /// The bench.
    pub bench: Bench,
    /// The position; clamped to what there is.
    pub position: Position,
}

/// The program as PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// The text, without the functions that it cannot hold.
    pub text: String,
    /// Parts that PTX cannot express.
    pub problems: Vec<String>,
    /// Loads that must not fault, and are ordinary loads in the text.
    pub loads: Vec<String>,
    /// Knobs with which the passes make no such load.
    pub guards: Vec<Guard>,
}

/// A knob of a stage, and the word that keeps the pass from making loads that must not fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// The entry of the pipeline.
    pub stage: usize,
    /// The knob.
    pub knob: String,
    /// Its value.
    pub value: String,
}

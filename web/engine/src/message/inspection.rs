//! The request for an inspection, which is answered in the core's own terms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Bench, Position, Settings};

/// Asks for an [`Inspection`](warpscope_core::inspect::Inspection).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspect {
    /// The bench.
    pub bench: Bench,
    /// The position whose program is meant.
    pub position: Position,
    /// The heading of one of [`View::inspected`](super::View::inspected).
    pub title: String,
    /// The moment that the answer is about; none is the usual one.
    pub moment: Option<usize>,
    /// Settings of the run that counts what warps execute.
    pub settings: Settings,
    /// Choices that a person has made in it, by key.
    pub choices: BTreeMap<String, String>,
}

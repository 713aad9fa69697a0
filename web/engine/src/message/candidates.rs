//! What the page shows of the pass for zero specialisation, `azp`, before it does anything: its candidates, and what one of
//! them would change.

use serde::{Deserialize, Serialize};

use super::{Bench, Position};

/// Asks for [`Candidates`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weigh {
    /// The bench.
    pub bench: Bench,
    /// The position whose program is meant.
    pub position: Position,
    /// The candidate whose effect is painted; none is the one that the pass would transform for.
    pub painted: Option<u32>,
}

/// What the pass considers in the program at a position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// Which of the pass's transformations would come next, from 1.
    pub round: usize,
    /// Whether a profile speaks of any write.
    pub has_profile: bool,
    /// The candidates: the one that comes next, then by gain, then those that were not estimated.
    pub rows: Vec<Candidate>,
    /// How many more there are.
    pub more: usize,
    /// The number of the one that the pass transforms for next.
    pub best: Option<u32>,
    /// What the candidate that was asked for would change.
    pub painting: Option<Painting>,
}

/// A candidate, or a write that is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its number.
    pub number: u32,
    /// The registers that have to be zero.
    pub registers: Vec<String>,
    /// The block where they are written.
    pub block: String,
    /// The identity of the instruction that writes the last of them.
    pub inst: u32,
    /// The probability that they are all zero in all lanes of a warp, as if they were independent.
    pub probability: f64,
    /// The same as it was counted; none if nobody has counted it.
    pub measured: Option<f64>,
    /// The estimate; none if there is none.
    pub figures: Option<CandidateFigures>,
    /// Whether it is good enough.
    pub passes: bool,
    /// The rule that decided.
    pub rule: String,
    /// Why, in a sentence.
    pub verdict: String,
}

/// The figures of a candidate, named as in the paper. Times are in cycles for each run of the kernel by a warp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CandidateFigures {
    /// T_R.
    pub t_region: f64,
    /// T_S.
    pub t_special: f64,
    /// T_check.
    pub t_check: f64,
    /// T_δ, negative where something is gained.
    pub t_delta: f64,
    /// su; none where the region takes no time.
    pub speed_up: Option<f64>,
    /// su_thresh.
    pub threshold: f64,
    /// MemKilled.
    pub memory_killed: usize,
    /// |S|.
    pub blocks: usize,
}

/// What a candidate would change, on the program as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Painting {
    /// Its number.
    pub candidate: u32,
    /// The identity of the instruction in front of which the check would stand; none if there is no place for it.
    pub check: Option<u32>,
    /// By identity of the instruction, in ascending order.
    pub insts: Vec<(u32, Paint)>,
}

impl Painting {
    /// What would become of an instruction; none if it has nothing to do with the candidate.
    pub fn of(&self, inst: u32) -> Option<Paint> {
        let at = self.insts.binary_search_by_key(&inst, |(inst, _)| *inst).ok()?;
        Some(self.insts[at].1)
    }
}

/// What would become of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paint {
    /// It writes a register of the candidate.
    Writer,
    /// It becomes a constant: the forward slice.
    Constant,
    /// It becomes simpler: the forward slice.
    Simpler,
    /// Nobody needs it: a backward slice.
    Dead,
    /// It is in the region, and is copied as it is.
    #[default]
    Kept,
}

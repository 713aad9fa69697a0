//! Moment of a pass that numbers values: the table at a moment of its walk over the dominator tree.

use serde::{Deserialize, Serialize};

use super::Course;

/// A walk over the dominator tree with a table of values, at one of its moments. A moment is how much of the walk is
/// done: an opened scope, an entry, a hit, a refusal, a closed scope each count one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueWalk {
    /// The moment that is shown.
    pub at: usize,
    /// All its moments.
    pub course: Course,
    /// Last event; none at moment 0.
    pub happened: Option<Happening>,
    /// The open scopes, the outermost first.
    pub scopes: Vec<OpenScope>,
    /// The table, as many of its rows as are told: those that were entered last, and what the moment is about.
    pub rows: Vec<ValueRow>,
    /// How many rows it has besides.
    pub rows_left_out: usize,
    /// The first hits and refusals of the whole walk, in order, as many as are told.
    pub findings: Vec<Finding>,
    /// How many there are besides.
    pub findings_left_out: usize,
}

/// Event of a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Happening {
    /// Kind of the event.
    pub kind: HappeningKind,
    /// The block where.
    pub block: String,
    /// A sentence.
    pub message: String,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HappeningKind {
    /// A scope opens.
    #[default]
    Opens,
    /// A register holds a number that nobody held.
    Enters,
    /// A register holds a number that others hold.
    Joins,
    /// An instruction is replaced by what the table has.
    Hit,
    /// An instruction stays, for a reason.
    Refused,
    /// A scope closes.
    Closes,
}

/// An open scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenScope {
    /// Its block.
    pub block: String,
    /// Whether values may be taken from it where the walk stands.
    pub is_in_reach: bool,
}

/// A row of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueRow {
    /// The number.
    pub number: u32,
    /// Expression of the number.
    pub expression: String,
    /// The register that it is copied from.
    pub leader: String,
    /// The instruction that gave it to the leader; none where control brings it.
    pub inst: Option<u32>,
    /// Further registers that hold it.
    pub others: Vec<String>,
    /// The block whose scope takes the leader back.
    pub scope: String,
    /// Whether that scope is within reach.
    pub is_in_reach: bool,
    /// Last change of the row.
    pub mark: RowMark,
}

/// Last change of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowMark {
    /// Nothing.
    #[default]
    None,
    /// It was entered, or got another holder.
    Entered,
    /// It was found.
    Hit,
    /// It was found, and could not be taken.
    Refused,
}

/// A hit or a refusal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The moment when it has happened.
    pub moment: usize,
    /// Whether it is a hit.
    pub is_hit: bool,
    /// The rule of the pass.
    pub rule: String,
    /// The reason.
    pub message: String,
}

//! What the page shows of a pass that numbers values: the table at a moment of its walk over the dominator tree.

use serde::{Deserialize, Serialize};

/// A walk over the dominator tree with a table of values, at one of its moments. A moment is how much of the walk is
/// done: an opened scope, an entry, a hit, a refusal, a closed scope each count one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueWalk {
    /// The moment that is shown.
    pub at: usize,
    /// The last moment.
    pub last: usize,
    /// For each change of the walk the moment when it has been made.
    pub changes: Vec<usize>,
    /// Changes of the pipeline's entry before the walk.
    pub changes_before: usize,
    /// What happened last; nothing at moment 0.
    pub happened: Option<Happening>,
    /// The open scopes, the outermost first.
    pub scopes: Vec<OpenScope>,
    /// The table.
    pub rows: Vec<ValueRow>,
    /// The hits and refusals of the whole walk, in order, as many as are shown.
    pub findings: Vec<Finding>,
}

/// What happened at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Happening {
    /// Of which kind it is.
    pub kind: HappeningKind,
    /// The block where.
    pub block: String,
    /// A sentence.
    pub message: String,
}

/// What can happen.
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
    /// What it stands for.
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
    /// What just happened to it.
    pub mark: RowMark,
}

/// What just happened to a row.
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

impl ValueWalk {
    /// How many changes of the pipeline's entry are done where that moment is shown: those up to the one that it leads to.
    pub fn step_of(&self, moment: usize) -> usize {
        let done = self.changes.partition_point(|&change| change < moment);
        match self.changes.len() {
            0 => self.changes_before,
            changes => self.changes_before + (done + 1).min(changes),
        }
    }

    /// The moments that lead to the k-th change of the walk, from 1: after the one before it, up to its own, and up to
    /// the end after the last.
    pub fn moments_of(&self, change: usize) -> std::ops::RangeInclusive<usize> {
        let made = |change: usize| self.changes.get(change).copied();
        let first = change.checked_sub(2).and_then(made).map_or(0, |before| before + 1);
        let last = if change == self.changes.len() { None } else { change.checked_sub(1).and_then(made) };
        first..=last.unwrap_or(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::ValueWalk;

    #[test]
    fn each_moment_leads_to_one_change() {
        let walk = ValueWalk { last: 9, changes: vec![3, 6], changes_before: 10, ..ValueWalk::default() };
        let steps: Vec<usize> = (0..=9).map(|moment| walk.step_of(moment) - 10).collect();
        assert_eq!(steps, [1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!((walk.moments_of(1), walk.moments_of(2)), (0..=3, 4..=9));
        let walk = ValueWalk { last: 4, ..ValueWalk::default() };
        assert_eq!((walk.step_of(2), walk.moments_of(0)), (0, 0..=4));
    }
}

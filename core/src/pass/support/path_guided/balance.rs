//! Benefit and cost of moving a statement, counted on executed paths.
//!
//! ```text
//! path   frequency   executions before   after
//! a b d    100               1             0      benefit 100
//! a c d     50               0             1      cost     50
//! ```
//!
//! A frequent path benefits by each execution that it loses, and pays for each that it gains. Of
//! the other paths only the cost counts: a caller names those that may pay.
//!
//! Cost: O(paths · nodes of the executions).
//!
//! Source: Gupta, Berson and Fang 1997, section 2.1.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use super::nodes::Node;
use super::path_sets::ones;
use super::paths::Paths;

/// Executions that paths lose and gain.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::pass) struct Balance {
    /// Executions that frequent paths lose.
    pub benefit_paths: f64,
    /// Executions that paths gain.
    pub cost_paths: f64,
}

impl Balance {
    /// The balance where each path executes a statement so often before and after. Paths of `rare`
    /// that are not frequent pay one execution each.
    pub fn of(paths: &Paths, before: &[u32], after: &[u32], rare: &FixedBitSet) -> Balance {
        let (benefit_paths, gained) = paths.changes(before, after);
        let cost_paths = gained + paths.frequency(rare, false) - paths.frequency(rare, true);
        Balance { benefit_paths, cost_paths }
    }
}

/// Executions on each path of a statement that is in these nodes.
pub(in crate::pass) fn executions(paths: &Paths, nodes: impl Iterator<Item = Node>) -> Vec<u32> {
    let mut counts = vec![0; paths.count()];
    for node in nodes {
        ones(paths.on(node)).for_each(|path| counts[path] += 1);
    }
    counts
}

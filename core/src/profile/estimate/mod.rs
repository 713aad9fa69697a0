//! Estimators: how often values are recomputed, from counts of edges.
//!
//! ```text
//! edges 30 and 70 into a join, 60 and 40 out of it, the value on the first ones: reused 0 to 30 times
//! ```
//!
//! The count of reuse lies within all bounds. PRE bounds each user by itself; CMP1 to CMP4 divide
//! the graph into reuse that is certain and the regions where branches may correlate.

mod cmp;
mod counts;
mod exact;
mod expected;
pub mod inspect;
mod network;
mod pre;
mod region;

pub use cmp::MAX_SPLITS;
pub use counts::{CountsError, EdgeCounts, MAX_COUNT};
pub use exact::ReuseCounter;
pub use network::{NetworkEdge, NetworkNode, RegionNetwork, networks};
pub use region::{Crossing, Split, Subregion, Value, Weighted};

use alloc::vec::Vec;

use crate::vng::{Vertex, VertexKind};

/// A lower and an upper bound, both included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Interval {
    /// The lower bound.
    pub low: u64,
    /// The upper bound.
    pub high: u64,
}

impl Interval {
    /// One number.
    pub const fn exactly(number: u64) -> Interval {
        Interval { low: number, high: number }
    }

    /// Both bounds more by a number.
    fn plus(self, number: u64) -> Interval {
        Interval { low: self.low.saturating_add(number), high: self.high.saturating_add(number) }
    }

    /// The numbers in both.
    pub fn intersection(self, other: Interval) -> Interval {
        Interval { low: self.low.max(other.low), high: self.high.min(other.high) }
    }
}

/// An estimator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Estimator {
    /// Each user by itself.
    Pre,
    /// The whole region.
    Cmp1,
    /// Each subregion.
    Cmp2,
    /// Entries and the exits that they reach.
    Cmp3,
    /// Inner edges.
    Cmp4,
}

impl Estimator {
    /// Its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Estimator::Pre => "pre",
            Estimator::Cmp1 => "cmp1",
            Estimator::Cmp2 => "cmp2",
            Estimator::Cmp3 => "cmp3",
            Estimator::Cmp4 => "cmp4",
        }
    }

    /// All estimators.
    pub const ALL: [Estimator; 5] =
        [Estimator::Pre, Estimator::Cmp1, Estimator::Cmp2, Estimator::Cmp3, Estimator::Cmp4];
}

/// The estimate of a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// The value and its region.
    pub value: Value,
    /// Bounds, parallel to the estimators that were asked for.
    pub bounds: Vec<Interval>,
    /// Reuse if every branch is decided by itself.
    pub expected: f64,
}

impl Estimate {
    /// The numbers within all bounds.
    pub fn best(&self) -> Interval {
        let all = Interval { low: self.value.definite, high: self.value.executions };
        self.bounds.iter().fold(all, |best, &bounds| best.intersection(bounds))
    }
}

/// Each user with the bounds of its reuse, and its reuse if every branch is decided by itself.
pub fn estimate_users(weighted: Weighted<'_>) -> Vec<(Vertex, Interval, f64)> {
    let probability = expected::probabilities(weighted);
    let users = weighted.graph.seeds.iter().flatten().copied();
    let users = users.filter(|&user| matches!(weighted.graph.vertices[user].kind, VertexKind::User(_)));
    let estimated = users.map(|user| {
        let executions = weighted.counts.block(weighted.graph.vertices[user].block);
        (user, pre::bounds(weighted, user), executions as f64 * probability[user])
    });
    estimated.collect()
}

/// The estimates of all values.
pub fn estimate(weighted: Weighted<'_>, estimators: &[Estimator]) -> Vec<Estimate> {
    let probability = expected::probabilities(weighted);
    let of_user = |user: Vertex| weighted.counts.block(weighted.graph.vertices[user].block) as f64 * probability[user];
    let values = weighted.values().into_iter().map(|value| {
        let bounds = |estimator: &Estimator| match estimator {
            Estimator::Pre => {
                value.users.iter().map(|&user| pre::bounds(weighted, user)).fold(Interval::default(), |sum, user| {
                    Interval { low: sum.low.saturating_add(user.low), high: sum.high.saturating_add(user.high) }
                })
            }
            Estimator::Cmp1 => cmp::whole(&value),
            Estimator::Cmp2 => cmp::by_subregion(&value),
            Estimator::Cmp3 => cmp::by_reachability(weighted, &value),
            Estimator::Cmp4 => cmp::by_inner_edges(weighted, &value),
        };
        let bounds = estimators.iter().map(bounds).collect();
        let expected = value.users.iter().map(|&user| of_user(user)).sum();
        Estimate { bounds, expected, value }
    });
    values.collect()
}

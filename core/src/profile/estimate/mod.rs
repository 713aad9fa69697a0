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
mod events;
mod exact;
mod executed_paths;
mod expected;
mod flags;
pub mod inspect;
mod network;
mod path_graph;
mod pre;
mod region;

pub use counts::{CountsError, EdgeCounts, EndedLanes, Endings, MAX_COUNT};
pub use events::{exit_block, record_estimates};
pub use exact::{CountReuse, CountedReuse, ReuseCounter};
pub use executed_paths::{EndedPath, ExecutedPaths, MAX_PATH_NODES};
pub use flags::{Actions, FlagPlan, Moment};
pub use network::{MAX_SPLITS, NetworkEdge, NetworkNode, RegionNetwork, networks};
pub use path_graph::{MAX_COPIES, PathGraph};
pub use region::{Crossing, Region, Split, Subregion, Value, Weighted};

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::ir::Inst;
use crate::vng::{ThreadGraph, Vertex, VertexKind};

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

    /// The sums of numbers in each.
    pub fn plus(self, other: Interval) -> Interval {
        Interval { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
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
    /// The value and the parts of its region.
    pub value: Value,
    /// The region as a whole.
    pub region: Region,
    /// Its users.
    pub users: Vec<UserEstimate>,
    /// Bounds, parallel to the estimators that were asked for.
    pub bounds: Vec<Interval>,
    /// The numbers within all bounds.
    pub best: Interval,
    /// Reuse if every branch is decided by itself.
    pub expected: f64,
}

/// The estimate of a user.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UserEstimate {
    /// The user.
    pub vertex: Vertex,
    /// Lanes that execute it.
    pub executions: u64,
    /// Bounds of PRE.
    pub reuse: Interval,
    /// Reuse if every branch is decided by itself.
    pub expected: f64,
}

impl Estimate {
    /// The value and its users without anything that was counted along edges.
    fn without_counts(&self, estimators: usize) -> Estimate {
        let users = self.users.iter().map(|&user| UserEstimate { reuse: Interval::default(), expected: 0.0, ..user });
        let Value { users: vertices, executions, .. } = &self.value;
        Estimate {
            value: Value { users: vertices.clone(), executions: *executions, ..Value::default() },
            region: Region::default(),
            users: users.collect(),
            bounds: vec![Interval::default(); estimators],
            best: Interval::default(),
            expected: 0.0,
        }
    }
}

/// The estimates of all values.
pub fn estimate(weighted: Weighted<'_>, estimators: &[Estimator]) -> Vec<Estimate> {
    let probability = expected::probabilities(weighted);
    let executions = |user: Vertex| weighted.executions(user);
    let expected_at = |user: Vertex| executions(user) as f64 * probability[user];
    let mut user_bounds = pre::UserBounds::new(weighted);
    let values = weighted.values().into_iter().map(|value| {
        let users = copies(weighted.graph, &value.users).into_iter().map(|copies| UserEstimate {
            vertex: copies[0],
            executions: copies.iter().map(|&user| executions(user)).fold(0, u64::saturating_add),
            reuse: user_bounds.of(&copies),
            expected: copies.iter().map(|&user| expected_at(user)).sum(),
        });
        let users: Vec<UserEstimate> = users.collect();
        let bounds = estimators.iter().map(|estimator| match estimator {
            Estimator::Pre => users.iter().fold(Interval::default(), |sum, user| sum.plus(user.reuse)),
            Estimator::Cmp1 => cmp::whole(&value),
            Estimator::Cmp2 => cmp::by_subregion(&value),
            Estimator::Cmp3 => cmp::by_reachability(weighted, &value),
            Estimator::Cmp4 => cmp::by_inner_edges(weighted, &value),
        });
        let bounds: Vec<Interval> = bounds.collect();
        let all = Interval { low: value.definite, high: value.executions };
        let best = bounds.iter().fold(all, |best, &bounds| best.intersection(bounds));
        let expected = value.users.iter().map(|&user| expected_at(user)).sum();
        Estimate { region: value.region(), users, bounds, best, expected, value }
    });
    values.collect()
}

/// Users by their instructions, in the order of the first ones. In a graph of executed paths there are several for one.
fn copies(graph: &ThreadGraph, users: &[Vertex]) -> Vec<Vec<Vertex>> {
    let mut places: BTreeMap<Inst, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<Vertex>> = Vec::new();
    for &user in users {
        if let VertexKind::User(inst) = graph.vertices[user].kind {
            let place = *places.entry(inst).or_insert(groups.len());
            groups.resize(groups.len().max(place + 1), Vec::new());
            groups[place].push(user);
        }
    }
    groups
}

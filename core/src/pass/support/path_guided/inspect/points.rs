//! Joins or branches in the way of a statement, as a survey finds them: the sets of paths at each.
//!
//! ```text
//!              on   available   removable   benefit   cost
//! n1 n2 n5 n7   1       1           1          1        0        loses an execution
//! n1 n3 n5 n8   1       0           0          0        1        gains one
//! ```

use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use crate::ir::Block;
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::paths::Paths;

/// A block or a critical edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// A block.
    Block(Block),
    /// A critical edge.
    Edge(Block, Block),
}

impl Position {
    /// The position of a node.
    pub(in crate::pass) fn of(nodes: &Nodes, node: Node) -> Option<Position> {
        let edge = || nodes.edge(node).map(|(from, to)| Position::Edge(from, to));
        nodes.block(node).map(Position::Block).or_else(edge)
    }
}

/// Sets of paths at a join or branch, as ascending indices of the survey's paths. Losses and gains
/// are those of all points that are passed together.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct PointSets {
    /// Paths through the join or branch.
    pub on: Vec<usize>,
    /// Paths on which the statement is available there.
    pub available: Vec<usize>,
    /// Paths on which it is removable there, or anticipated.
    pub removable: Vec<usize>,
    /// Paths that lose an execution.
    pub benefit: Vec<usize>,
    /// Paths that gain one.
    pub cost: Vec<usize>,
}

/// The figures of a join or branch. Paths are in executions, the others in cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighed {
    /// Executions that frequent paths lose.
    pub benefit_paths: f64,
    /// Executions that paths gain.
    pub cost_paths: f64,
    /// Cycles of the lost executions.
    pub benefit: f64,
    /// Cycles of the gained executions.
    pub cost: f64,
}

/// Paths on which a statement is available at a point, and on which it is removable or anticipated.
pub(in crate::pass) type PathPair = (FixedBitSet, FixedBitSet);

/// A weighed join or branch.
pub(in crate::pass) struct WeighedPoint<D> {
    /// The decision.
    pub decision: D,
    /// Sets of each member that is enabled together with it.
    pub sets: Vec<(usize, PathPair)>,
    /// Paths that lose and that gain an execution, if executions are counted.
    pub changes: Option<PathPair>,
}

/// Paths that lose and that gain an execution, from the executions before and after. Of the paths
/// that are not frequent, those in `rare` gain one.
pub(in crate::pass) fn changed_paths(paths: &Paths, executions: (&[u32], &[u32]), rare: &FixedBitSet) -> PathPair {
    let (mut benefits, mut costs) = (paths.none(), paths.none());
    for (path, (before, after)) in executions.0.iter().zip(executions.1).enumerate().take(paths.frequent) {
        benefits.set(path, after < before);
        costs.set(path, after > before);
    }
    costs.extend(rare.ones().filter(|&path| path >= paths.frequent));
    (benefits, costs)
}

/// The sets at a member of a region: as it was weighed itself, or with another one whose benefit
/// needs it. `otherwise` holds where nothing had to be weighed.
pub(in crate::pass) fn sets_at<D>(
    paths: &Paths,
    (place, node): (usize, Node),
    own: Option<&WeighedPoint<D>>,
    with: Option<&WeighedPoint<D>>,
    otherwise: Option<PathPair>,
) -> PointSets {
    let weighed = own.or(with);
    let listed = weighed.and_then(|weighed| weighed.sets.iter().find(|(at, _)| *at == place));
    let listed = listed.map(|(_, sets)| sets.clone()).or(otherwise.filter(|_| weighed.is_none()));
    let (available, removable) = listed.unwrap_or_else(|| (paths.none(), paths.none()));
    let on = paths.set_on(node);
    // Without counted executions the sets say what the point itself would bring.
    let by_sets = || {
        let (mut benefits, mut costs) = (available.clone(), on.clone());
        benefits.intersect_with(&removable);
        costs.difference_with(&available);
        costs.difference_with(&removable);
        (benefits, costs)
    };
    let changes = own.and_then(|own| own.changes.clone()).or_else(|| weighed.map(|_| by_sets()));
    let (benefit, cost) = changes.unwrap_or_else(|| (paths.none(), paths.none()));
    let [on, available, removable, benefit, cost] =
        [on, available, removable, benefit, cost].map(|set| set.ones().collect());
    PointSets { on, available, removable, benefit, cost }
}

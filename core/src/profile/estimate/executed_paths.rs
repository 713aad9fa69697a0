//! Executed paths with their counts, and those of the edges that join them.
//!
//! ```text
//! paths  entry head: 1   head: 8   head done: 1        edges  head -> head: 9   entry -> head: 1   head -> done: 1
//! ```
//!
//! 1. Paths are acyclic: they begin at an entry or at the target of a retreating edge, and end where
//!    the function ends or at the source of a retreating edge, which is the way to the next path.
//! 2. The paths over each other edge have its count, if edges are counted as well.
//! 3. If none are, an edge to a next path has the count of the paths that end there, if it is the
//!    only one.
//! 4. As many paths end at a block as its ways to next paths count, and as many begin.
//! 5. Paths that end in calls, with their lanes, go on to none. They are measured; a declared profile is refused unless
//!    its counts of edges say that there are none.
//!
//! Cost: O(length of all paths). Limit: [`MAX_PATH_NODES`] blocks on all paths; beyond them the
//! profile is refused, since bounds without some of the paths would be wrong.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use super::counts::{CountsError, EdgeCounts, EndedLanes, Endings, add, declared_edges, through};
use crate::graph::{Cfg, Edge, PathNumbering, PathStep};
use crate::ir::{Block, Function};
use crate::profile::declared_paths;

/// Profiles with more blocks on all paths are refused.
pub const MAX_PATH_NODES: usize = 1 << 20;

/// A path whose lanes end in a call of its last block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedPath {
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// The number of the call among those of the last block that lanes may not come back from.
    pub call: usize,
    /// How often it ran.
    pub count: u64,
}

impl EndedPath {
    /// Lanes that end in each call.
    pub(super) fn lanes(paths: &[EndedPath]) -> Result<EndedLanes, CountsError> {
        let mut lanes = EndedLanes::new();
        for EndedPath { blocks, call, count } in paths {
            let Some(&last) = blocks.last() else { continue };
            let lanes = lanes.entry(last).or_default();
            lanes.resize(lanes.len().max(call + 1), 0);
            add(&mut lanes[*call], *count, last)?;
        }
        Ok(lanes)
    }
}

/// The executed paths of whole runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutedPaths {
    /// Each path with its count.
    pub paths: Vec<(Vec<Block>, u64)>,
    /// Paths that end in calls.
    pub ended: Vec<EndedPath>,
    /// The counts of all edges.
    pub edges: EdgeCounts,
    /// Edges to next paths that were executed, in the order of their numbers.
    pub joins: Vec<Edge>,
    /// Whether counts of edges to next paths were taken from the paths.
    pub is_reconstructed: bool,
}

impl ExecutedPaths {
    /// The paths that a function's profiles declare, with the counts of its edge profiles, if there are any.
    ///
    /// # Errors
    ///
    /// If there is no path, if one is no acyclic path of the function, if there are too many, or if they are not
    /// those of whole runs.
    pub fn declared(func: &Function, cfg: &Cfg, endings: Endings<'_>) -> Result<ExecutedPaths, CountsError> {
        let paths = declared_paths(func);
        let ended = endings.paths();
        if paths.is_empty() && ended.is_empty() {
            return Err(CountsError::NoPaths);
        }
        let lengths = paths.iter().map(|(path, _)| path.len()).chain(ended.iter().map(|path| path.blocks.len()));
        if lengths.sum::<usize>() > MAX_PATH_NODES {
            return Err(CountsError::TooManyNodes);
        }
        let paths = paths.into_iter().map(|(path, count)| (path.to_vec(), count)).collect();
        let edges = declared_edges(func, cfg)?;
        if endings.measured.is_none() {
            let unknown = endings.calls.blocks().map(|(block, _)| block).find(|&block| {
                let through = edges.as_ref().map(|edges| through(cfg, edges, block));
                let is_balanced = through.is_some_and(|lanes| lanes.is_ok_and(|(entered, left)| entered == left));
                cfg.is_reachable(block) && (cfg.is_entry(block) || !is_balanced)
            });
            if let Some(block) = unknown {
                return Err(CountsError::UnknownPaths(block));
            }
        }
        ExecutedPaths::of_runs(cfg, paths, ended, edges)
    }

    /// The paths of whole runs, some of which end in calls, with these counts of edges, by their numbers. Without them
    /// counts of edges are taken from the paths.
    ///
    /// # Errors
    ///
    /// If one is no acyclic path of the graph, or if they are not those of whole runs.
    pub fn of_runs(
        cfg: &Cfg,
        paths: Vec<(Vec<Block>, u64)>,
        ended_in_calls: Vec<EndedPath>,
        declared: Option<Vec<u64>>,
    ) -> Result<ExecutedPaths, CountsError> {
        let numbering = PathNumbering::compute(cfg);
        let is_join = |edge: Edge| matches!(numbering.step(edge), PathStep::Restart(_));
        let mut edges = vec![0u64; cfg.edge_count()];
        let (mut begun, mut ended) = (BTreeMap::<Block, u64>::new(), BTreeMap::<Block, u64>::new());
        for (path, count) in &paths {
            let (Some(&first), Some(&last), Some(_)) = (path.first(), path.last(), numbering.number(cfg, path)) else {
                return Err(CountsError::NoAcyclicPath(path.clone()));
            };
            add(begun.entry(first).or_default(), *count, first)?;
            add(ended.entry(last).or_default(), *count, last)?;
            add_edges(cfg, path, *count, &mut edges)?;
        }
        for EndedPath { blocks, count, .. } in &ended_in_calls {
            let Some(&first) = blocks.first() else { continue };
            add(begun.entry(first).or_default(), *count, first)?;
            add_edges(cfg, blocks, *count, &mut edges)?;
        }
        match &declared {
            Some(declared) => {
                for edge in cfg.edges() {
                    let (paths, edge_count) = (edges[edge.index()], declared[edge.index()]);
                    if !is_join(edge) && paths != edge_count {
                        let (from, to) = (cfg.source(edge), cfg.target(edge));
                        return Err(CountsError::PathsDisagree { from, to, paths, edge: edge_count });
                    }
                }
                edges.clone_from(declared);
            }
            None => {
                for (&block, &count) in &ended {
                    let mut ways = cfg.out_edges(block).filter(|&edge| is_join(edge));
                    if let Some(way) = ways.next() {
                        if ways.any(|edge| cfg.target(edge) != cfg.target(way)) {
                            return Err(CountsError::SeveralWaysOn(block));
                        }
                        edges[way.index()] = count;
                    }
                }
            }
        }
        let joined = |edges: &mut dyn Iterator<Item = Edge>, counts: &[u64]| {
            edges.filter(|&edge| is_join(edge)).fold(0u64, |sum, edge| sum.saturating_add(counts[edge.index()]))
        };
        let mut runs = vec![0; cfg.block_count()];
        for block in (0..cfg.block_count()).map(Block::new) {
            let [begun, ended] = [&begun, &ended].map(|counts| counts.get(&block).copied().unwrap_or(0));
            let entered = joined(&mut cfg.in_edges(block).iter().copied(), &edges);
            let left = joined(&mut cfg.out_edges(block), &edges);
            if cfg.out_edges(block).len() > 0 && ended != left {
                return Err(CountsError::Unbalanced { block, entered: ended, left });
            }
            match begun.checked_sub(entered) {
                Some(more) if more == 0 || cfg.is_entry(block) => runs[block.index()] = more,
                _ => return Err(CountsError::Unbalanced { block, entered, left: begun }),
            }
        }
        let joins: Vec<Edge> = cfg.edges().filter(|&edge| is_join(edge) && edges[edge.index()] > 0).collect();
        let is_reconstructed = declared.is_none() && !joins.is_empty();
        let edges = EdgeCounts::with_runs(cfg, edges, runs, EndedPath::lanes(&ended_in_calls)?)?;
        Ok(ExecutedPaths { paths, ended: ended_in_calls, edges, joins, is_reconstructed })
    }
}

/// Adds the count of a path to those of its edges.
fn add_edges(cfg: &Cfg, path: &[Block], count: u64, edges: &mut [u64]) -> Result<(), CountsError> {
    for step in path.windows(2) {
        if let Some(edge) = edge_between(cfg, step[0], step[1]) {
            add(&mut edges[edge.index()], count, step[0])?;
        }
    }
    Ok(())
}

/// The first of the parallel edges between two blocks.
pub(super) fn edge_between(cfg: &Cfg, from: Block, to: Block) -> Option<Edge> {
    cfg.out_edges(from).find(|&edge| cfg.target(edge) == to)
}

//! Counts of lanes along a function's edges, and through the parts of its blocks.
//!
//! ```text
//! a -> b: 100    b: call f    b -> c: 70       30 lanes end in f: b is executed 100 times, what is after the call 70
//! ```
//!
//! Lanes may end in the callees of a block. Counts of edges say in which call if it is the only one of a block that
//! lanes enter and leave over edges, or if as many leave as enter. Elsewhere only a measured profile does.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use super::executed_paths::EndedPath;
use crate::flow::EndingCalls;
use crate::graph::{Cfg, Edge};
use crate::ir::{Block, Function, Inst, Profile};
use crate::profile::{Count, FunctionProfile};
use crate::vng::Flow;

/// Counts larger than this are refused.
pub const MAX_COUNT: u64 = 1 << 56;

/// Reason why a profile has no counts of whole runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CountsError {
    /// The function declares no edge.
    NoProfile,
    /// A block is entered and left a different number of times.
    Unbalanced { block: Block, entered: u64, left: u64 },
    /// Lanes may end in callees of a block, and no count says how many do in which call.
    UnknownEnds(Block),
    /// Lanes may end in callees of a block, and no path profile counts the paths that end there.
    UnknownPaths(Block),
    /// Runs may begin and end at a block, so that no edge counts them.
    UncountedRuns(Block),
    /// A count is too large.
    TooLarge(Block),
    /// The function declares no path.
    NoPaths,
    /// The blocks of a declared path are no acyclic path of the function.
    NoAcyclicPath(Vec<Block>),
    /// The paths over an edge and the edge have different counts.
    PathsDisagree { from: Block, to: Block, paths: u64, edge: u64 },
    /// Paths end at a block that has several ways to begin the next one.
    SeveralWaysOn(Block),
    /// The executed paths have too many nodes.
    TooManyNodes,
}

impl CountsError {
    /// The message about a function's profile.
    pub fn message(&self, func: &Function) -> String {
        let label = |block: &Block| &func.blocks[*block].name;
        let name = &func.name;
        match self {
            CountsError::NoProfile if Cfg::compute(func).reverse_postorder().len() == 1 => format!(
                "`{name}` has one block, which an edge profile does not count: declare `profile path {{ a: 10 }}` and \
                 use `estimate.from=paths`"
            ),
            CountsError::NoProfile => format!(
                "`{name}` has no edge profile: declare `profile edge {{ a -> b: 10 }}`, or measure with `--profile \
                 simulate`"
            ),
            CountsError::UncountedRuns(block) => format!(
                "runs of `{name}` may begin at `{}` and end there, where no edge counts them: declare `profile path` \
                 and use `estimate.from=paths`",
                label(block)
            ),
            CountsError::NoPaths => format!(
                "`{name}` has no path profile: declare `profile path {{ a b: 10 }}`, or measure with `--profile \
                 simulate`"
            ),
            CountsError::Unbalanced { block, entered, left } => format!(
                "the profile of `{name}` is not one of whole runs: `{}` is entered {entered} times and left {left} \
                 times",
                label(block)
            ),
            CountsError::UnknownEnds(block) => format!(
                "the profile of `{name}` does not say how many lanes end in calls of `{}`: measure with `--profile \
                 simulate`",
                label(block)
            ),
            CountsError::UnknownPaths(block) => format!(
                "the path profile of `{name}` does not count paths that end in calls of `{}`: measure with `--profile \
                 simulate`, or use edges",
                label(block)
            ),
            CountsError::NoAcyclicPath(path) => {
                let labels: Vec<&str> = path.iter().map(|block| label(block).as_str()).collect();
                let path = labels.join(" ");
                format!("the path profile of `{name}` has `{path}`, which is no acyclic path of it")
            }
            CountsError::PathsDisagree { from, to, paths, edge } => format!(
                "the profiles of `{name}` disagree: paths take `{} -> {}` {paths} times, its count is {edge}",
                label(from),
                label(to)
            ),
            CountsError::SeveralWaysOn(block) => format!(
                "the path profile of `{name}` does not say how paths go on from `{}`, which has several ways back: \
                 declare an edge profile as well",
                label(block)
            ),
            CountsError::TooManyNodes => {
                format!("the executed paths of `{name}` have more than 2^20 nodes: use edges")
            }
            CountsError::TooLarge(block) => {
                format!("the profile of `{name}` has counts above 2^56 at `{}`", label(block))
            }
        }
    }
}

/// The calls of a function that lanes may not come back from, with a measured profile of it, if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Endings<'a> {
    /// The calls.
    pub calls: &'a EndingCalls,
    /// Counts of the lanes that did not come back.
    pub measured: Option<&'a FunctionProfile>,
}

/// Lanes that end in the calls of each block that lanes may not come back from, in the order of these calls. Blocks in
/// which no lane ends are left out.
pub type EndedLanes = BTreeMap<Block, Vec<u64>>;

impl Endings<'_> {
    /// The measured paths that end in calls; none if no profile was measured.
    pub(super) fn paths(&self) -> Vec<EndedPath> {
        let measured = self.measured.into_iter().flat_map(|measured| &measured.ended);
        let path = |((blocks, call), count): (&(Vec<Block>, Inst), &Count)| {
            let calls = self.calls.of_block(*blocks.last()?);
            let call = calls.iter().position(|ending| ending.inst == *call)?;
            Some(EndedPath { blocks: blocks.clone(), call, count: count.lanes })
        };
        measured.filter_map(path).collect()
    }

    /// Lanes that ended in each call, by counts of edges.
    fn of_edges(&self, cfg: &Cfg, edges: &[u64]) -> Result<EndedLanes, CountsError> {
        let mut result = EndedLanes::new();
        for (block, calls) in self.calls.blocks().filter(|&(block, _)| cfg.is_reachable(block)) {
            let (entered, left) = through(cfg, edges, block)?;
            let is_counted = !cfg.is_entry(block) && (entered == 0 || cfg.out_edges(block).len() > 0);
            if !is_counted || calls.len() > 1 && entered > left {
                return Err(CountsError::UnknownEnds(block));
            }
            if entered > left {
                result.insert(block, Vec::from([entered - left]));
            }
        }
        Ok(result)
    }

    /// Lanes that ended in each call: measured, or by counts of edges.
    pub fn lanes(&self, cfg: &Cfg, edges: &[u64]) -> Result<EndedLanes, CountsError> {
        match self.measured {
            Some(_) => EndedPath::lanes(&self.paths()),
            None => self.of_edges(cfg, edges),
        }
    }
}

/// Lanes along each edge, in whole runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeCounts {
    edges: Vec<u64>,
    blocks: Vec<u64>,
    /// Runs that begin at each block.
    runs: Vec<u64>,
    /// Lanes that come back from each call of a block in which lanes end.
    returned: BTreeMap<Block, Vec<u64>>,
}

impl EdgeCounts {
    /// The counts that a function's edge profiles declare. Entries for one edge are added; edges that the function does
    /// not have are left out.
    ///
    /// # Errors
    ///
    /// If there is none, if a count is too large, or if what comes to a block does not go on or end there.
    pub fn declared(func: &Function, cfg: &Cfg, endings: Endings<'_>) -> Result<EdgeCounts, CountsError> {
        EdgeCounts::of_runs(cfg, declared_edges(func, cfg)?.ok_or(CountsError::NoProfile)?, endings)
    }

    /// The counts of whole runs with these counts of edges, by their numbers. Runs begin at entries that are left more
    /// often than entered.
    ///
    /// # Errors
    ///
    /// If a count is too large, or if what comes to a block does not go on or end there.
    pub fn of_runs(cfg: &Cfg, edges: Vec<u64>, endings: Endings<'_>) -> Result<EdgeCounts, CountsError> {
        let ended = endings.lanes(cfg, &edges)?;
        let mut runs = vec![0; cfg.block_count()];
        for &block in cfg.entries() {
            if cfg.out_edges(block).len() == 0 {
                return Err(CountsError::UncountedRuns(block));
            }
            let (entered, left) = through(cfg, &edges, block)?;
            runs[block.index()] = left.saturating_add(sum(&ended, block)).saturating_sub(entered);
        }
        EdgeCounts::with_runs(cfg, edges, runs, ended)
    }

    /// The counts of whole runs with these counts of edges, of which so many begin at each block and end in its calls.
    ///
    /// # Errors
    ///
    /// If a count is too large, or if what comes to a block does not go on or end there.
    pub fn with_runs(cfg: &Cfg, edges: Vec<u64>, runs: Vec<u64>, ended: EndedLanes) -> Result<EdgeCounts, CountsError> {
        let mut blocks = vec![0; cfg.block_count()];
        for block in (0..cfg.block_count()).map(Block::new) {
            let (entered, left) = through(cfg, &edges, block)?;
            let entered = entered.saturating_add(runs[block.index()]);
            let is_left = cfg.out_edges(block).len() > 0;
            match entered.checked_sub(sum(&ended, block)) {
                Some(returned) if returned == left || !is_left => blocks[block.index()] = entered,
                _ => return Err(CountsError::Unbalanced { block, entered, left }),
            }
        }
        let returned = ended.into_iter().map(|(block, ended)| {
            let mut lanes = blocks[block.index()];
            let after = |ended| {
                lanes -= ended;
                lanes
            };
            (block, ended.into_iter().map(after).collect())
        });
        let returned = returned.collect();
        Ok(EdgeCounts { edges, blocks, runs, returned })
    }

    /// Lanes that pass a place.
    pub fn of(&self, flow: Flow) -> u64 {
        match flow {
            Flow::Block(block, part) => self.part(block, part),
            Flow::Edge(edge) => self.edge(edge),
            Flow::Entry(block) => self.runs[block.index()],
            Flow::Ended(block, part) => self.part(block, part).saturating_sub(self.part(block, part + 1)),
        }
    }

    /// Lanes along an edge.
    pub fn edge(&self, edge: Edge) -> u64 {
        self.edges[edge.index()]
    }

    /// Lanes that execute a part of a block: the first one, or that after so many calls that lanes may not come back
    /// from.
    pub fn part(&self, block: Block, part: u32) -> u64 {
        let returned = self.returned.get(&block).map_or(&[][..], Vec::as_slice);
        let calls = returned.len().min(part as usize);
        calls.checked_sub(1).map_or(self.blocks[block.index()], |last| returned[last])
    }

    /// Lanes that run the function.
    pub fn runs(&self) -> u64 {
        self.runs.iter().copied().fold(0, u64::saturating_add)
    }
}

/// The counts that a function's edge profiles declare, by the numbers of the edges; None if they name no edge of it.
pub(super) fn declared_edges(func: &Function, cfg: &Cfg) -> Result<Option<Vec<u64>>, CountsError> {
    let mut edges = vec![0u64; cfg.edge_count()];
    let mut is_empty = true;
    for profile in &func.profiles {
        let Profile::Edge(declared) = profile else { continue };
        for &(from, to, count) in declared {
            // Parallel edges are one way; the first one has the count.
            let Some(edge) = cfg.out_edges(from).find(|&edge| cfg.target(edge) == to) else { continue };
            is_empty = false;
            add(&mut edges[edge.index()], count, from)?;
        }
    }
    Ok((!is_empty).then_some(edges))
}

/// Adds a count of a block or of an edge out of it.
pub(super) fn add(sum: &mut u64, count: u64, block: Block) -> Result<(), CountsError> {
    *sum = sum.saturating_add(count);
    if *sum > MAX_COUNT { Err(CountsError::TooLarge(block)) } else { Ok(()) }
}

/// Lanes that end in the calls of a block.
fn sum(ended: &EndedLanes, block: Block) -> u64 {
    ended.get(&block).into_iter().flatten().copied().fold(0, u64::saturating_add)
}

/// Lanes into a block and out of it, over edges.
pub(super) fn through(cfg: &Cfg, edges: &[u64], block: Block) -> Result<(u64, u64), CountsError> {
    let (mut entered, mut left) = (0, 0);
    for edge in cfg.in_edges(block) {
        add(&mut entered, edges[edge.index()], block)?;
    }
    for edge in cfg.out_edges(block) {
        add(&mut left, edges[edge.index()], block)?;
    }
    Ok((entered, left))
}

impl EdgeCounts {
    /// Counts of edges, by their numbers, that need not be of whole runs: a block is executed as often as it is entered
    /// or left, whatever is more. Lanes that do not leave a block end in its first call that they may not come back
    /// from.
    pub fn of_edges(cfg: &Cfg, mut edges: Vec<u64>, calls: &EndingCalls) -> EdgeCounts {
        edges.iter_mut().for_each(|count| *count = (*count).min(MAX_COUNT));
        let sum = |edge: &Edge| edges[edge.as_u32() as usize];
        let (mut blocks, mut runs) = (vec![0; cfg.block_count()], vec![0; cfg.block_count()]);
        let mut returned = BTreeMap::new();
        for &block in cfg.reverse_postorder() {
            let entered = cfg.in_edges(block).iter().map(sum).fold(0, u64::saturating_add);
            let left = cfg.out_edges(block).map(|edge| sum(&edge)).fold(0, u64::saturating_add);
            let at = block.as_u32() as usize;
            blocks[at] = entered.max(left);
            runs[at] = if cfg.is_entry(block) { left.saturating_sub(entered) } else { 0 };
            if !calls.of_block(block).is_empty() && cfg.out_edges(block).len() > 0 {
                returned.insert(block, Vec::from([left]));
            }
        }
        EdgeCounts { edges, blocks, runs, returned }
    }
}

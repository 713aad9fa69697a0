//! Counts of lanes along a function's edges.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::graph::{Cfg, Edge};
use crate::ir::{Block, Function, Profile};
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
            CountsError::NoPaths => format!(
                "`{name}` has no path profile: declare `profile path {{ a b: 10 }}`, or measure with `--profile \
                 simulate`"
            ),
            CountsError::Unbalanced { block, entered, left } => format!(
                "the profile of `{name}` is not one of whole runs: `{}` is entered {entered} times and left {left} \
                 times",
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

/// Lanes along each edge, in whole runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeCounts {
    edges: Vec<u64>,
    blocks: Vec<u64>,
    /// Runs that begin at each block.
    runs: Vec<u64>,
}

impl EdgeCounts {
    /// The counts that a function's edge profiles declare. Entries for one edge are added; edges that the function does
    /// not have are left out.
    ///
    /// # Errors
    ///
    /// If there is none, if a count is too large, or if what comes to a block does not go on.
    pub fn declared(func: &Function, cfg: &Cfg) -> Result<EdgeCounts, CountsError> {
        EdgeCounts::of_runs(cfg, declared_edges(func, cfg)?.ok_or(CountsError::NoProfile)?)
    }

    /// The counts of whole runs with these counts of edges, by their numbers. Runs begin at entries that are left more
    /// often than entered.
    ///
    /// # Errors
    ///
    /// If a count is too large, or if what comes to a block does not go on.
    pub fn of_runs(cfg: &Cfg, edges: Vec<u64>) -> Result<EdgeCounts, CountsError> {
        let mut runs = vec![0; cfg.block_count()];
        for &block in cfg.entries() {
            let (entered, left) = through(cfg, &edges, block)?;
            runs[block.index()] = left.saturating_sub(entered);
        }
        EdgeCounts::with_runs(cfg, edges, runs)
    }

    /// The counts of whole runs with these counts of edges, of which so many begin at each block.
    ///
    /// # Errors
    ///
    /// If a count is too large, or if what comes to a block does not go on.
    pub fn with_runs(cfg: &Cfg, edges: Vec<u64>, runs: Vec<u64>) -> Result<EdgeCounts, CountsError> {
        let mut blocks = vec![0; cfg.block_count()];
        for block in (0..cfg.block_count()).map(Block::new) {
            let (entered, left) = through(cfg, &edges, block)?;
            let entered = entered.saturating_add(runs[block.index()]);
            if entered != left && cfg.out_edges(block).len() > 0 {
                return Err(CountsError::Unbalanced { block, entered, left });
            }
            blocks[block.index()] = entered;
        }
        Ok(EdgeCounts { edges, blocks, runs })
    }

    /// Lanes that pass a place.
    pub fn of(&self, flow: Flow) -> u64 {
        match flow {
            Flow::Block(block) => self.block(block),
            Flow::Edge(edge) => self.edge(edge),
            Flow::Entry(block) => self.runs[block.index()],
        }
    }

    /// Lanes along an edge.
    pub fn edge(&self, edge: Edge) -> u64 {
        self.edges[edge.index()]
    }

    /// Lanes that execute a block.
    pub fn block(&self, block: Block) -> u64 {
        self.blocks[block.index()]
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

/// Lanes into a block and out of it, over edges.
fn through(cfg: &Cfg, edges: &[u64], block: Block) -> Result<(u64, u64), CountsError> {
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
    /// or left, whatever is more.
    pub fn of_edges(cfg: &Cfg, mut edges: Vec<u64>) -> EdgeCounts {
        edges.iter_mut().for_each(|count| *count = (*count).min(MAX_COUNT));
        let sum = |edge: &Edge| edges[edge.as_u32() as usize];
        let (mut blocks, mut runs) = (vec![0; cfg.block_count()], vec![0; cfg.block_count()]);
        for &block in cfg.reverse_postorder() {
            let entered = cfg.in_edges(block).iter().map(sum).fold(0, u64::saturating_add);
            let left = cfg.out_edges(block).map(|edge| sum(&edge)).fold(0, u64::saturating_add);
            let at = block.as_u32() as usize;
            blocks[at] = entered.max(left);
            runs[at] = if cfg.is_entry(block) { left.saturating_sub(entered) } else { 0 };
        }
        EdgeCounts { edges, blocks, runs }
    }
}

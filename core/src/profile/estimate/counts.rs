//! Counts of lanes along a function's edges.

use alloc::vec;
use alloc::vec::Vec;

use crate::graph::{Cfg, Edge};
use crate::ir::{Block, Function, Profile};
use crate::vng::Flow;

/// Counts larger than this are refused.
pub const MAX_COUNT: u64 = 1 << 56;

/// Reason why a profile has no counts of whole runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountsError {
    /// The function declares no edge.
    NoProfile,
    /// A block is entered and left a different number of times.
    Unbalanced { block: Block, entered: u64, left: u64 },
    /// A count is too large.
    TooLarge(Block),
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
        let mut edges = vec![0u64; cfg.edge_count()];
        let mut is_empty = true;
        for profile in &func.profiles {
            let Profile::Edge(declared) = profile else { continue };
            for &(from, to, count) in declared {
                // Parallel edges are one way; the first one has the count.
                let Some(edge) = cfg.out_edges(from).find(|&edge| cfg.target(edge) == to) else { continue };
                is_empty = false;
                let sum = edges[edge.as_u32() as usize].saturating_add(count);
                if sum > MAX_COUNT {
                    return Err(CountsError::TooLarge(from));
                }
                edges[edge.as_u32() as usize] = sum;
            }
        }
        if is_empty { Err(CountsError::NoProfile) } else { EdgeCounts::of_runs(cfg, edges) }
    }

    /// The counts of whole runs with these counts of edges, by their numbers.
    ///
    /// # Errors
    ///
    /// If a count is too large, or if what comes to a block does not go on.
    pub fn of_runs(cfg: &Cfg, edges: Vec<u64>) -> Result<EdgeCounts, CountsError> {
        let count = |edge: &Edge| u128::from(edges[edge.as_u32() as usize]);
        let (mut blocks, mut runs) = (vec![0; cfg.block_count()], vec![0; cfg.block_count()]);
        for &block in cfg.reverse_postorder() {
            let entered: u128 = cfg.in_edges(block).iter().map(count).sum();
            let left: u128 = cfg.out_edges(block).map(|edge| count(&edge)).sum();
            let is_exit = cfg.out_edges(block).len() == 0;
            let narrow = |count: u128| u64::try_from(count).ok().filter(|&count| count <= MAX_COUNT);
            let (Some(entered), Some(left)) = (narrow(entered), narrow(left)) else {
                return Err(CountsError::TooLarge(block));
            };
            let is_balanced = is_exit || entered == left || cfg.is_entry(block) && entered <= left;
            if !is_balanced {
                return Err(CountsError::Unbalanced { block, entered, left });
            }
            let at = block.as_u32() as usize;
            blocks[at] = if is_exit { entered } else { left };
            runs[at] = blocks[at] - entered;
        }
        Ok(EdgeCounts { edges, blocks, runs })
    }

    /// Lanes that pass a place.
    pub fn of(&self, flow: Flow) -> u64 {
        match flow {
            Flow::Block(block) => self.block(block),
            Flow::Edge(edge) => self.edges[edge.as_u32() as usize],
            Flow::Entry(block) => self.runs[block.as_u32() as usize],
        }
    }

    /// Lanes that execute a block.
    pub fn block(&self, block: Block) -> u64 {
        self.blocks[block.as_u32() as usize]
    }

    /// Lanes that run the function.
    pub fn runs(&self) -> u64 {
        self.runs.iter().sum()
    }
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

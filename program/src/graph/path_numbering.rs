//! Numbers for acyclic paths, so that a profile counts a path by adding along its edges.
//!
//! ```text
//! a -> b, a -> c, b -> d, c -> d, d -> e, d -> f        a b d e 0   a b d f 1   a c d e 2   a c d f 3
//! increments: a -> c 2, d -> f 1, all others 0
//! ```
//!
//! A path starts at an entry or at the target of a retreating edge, follows edges that do not
//! retreat, and ends where the function ends or at the source of a retreating edge. It passes loop
//! headers that it reaches from outside. Numbers and paths, as sequences of blocks, correspond one
//! to one: from a block with n ways on, the i-th way's increment is the number of paths that the
//! ways before it lead to. Parallel edges are one way and have one increment.
//!
//! The number of paths doubles with every diamond. Where more than [`PathNumbering::MAX_PATHS`] paths would lead on
//! from a block, all of them are cut behind it: each ends there and a new one starts at the next block. Linear time.
//!
//! Source: T. Ball and J. Larus, Efficient path profiling, MICRO 1996, sections 3.1 and 3.3.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::cfg::{Cfg, Edge};
use crate::compact_sort::CompactSort;
use crate::ir::Block;

/// Change of a profile's path number on an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathStep {
    /// The path goes on; add this.
    Add(u64),
    /// The path ends at the edge's source, and its number is complete; the next path starts with this number.
    Restart(u64),
}

/// The numbering of a graph's paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathNumbering {
    steps: Vec<PathStep>,
    /// How many paths start at the block and go on to an end.
    counts: Vec<u64>,
    /// May a path end at the block?
    ends: Vec<bool>,
    /// Starts of paths, in reverse postorder, each with the number of its first path.
    starts: Vec<(Block, u64)>,
    cut: Vec<Block>,
    total: u64,
}

impl PathNumbering {
    /// No more paths than this lead on from any block.
    pub const MAX_PATHS: u64 = 1 << 32;

    /// The numbering of a graph, for at most [`PathNumbering::MAX_PATHS`] paths from a block.
    pub fn compute(cfg: &Cfg) -> PathNumbering {
        PathNumbering::compute_within(cfg, PathNumbering::MAX_PATHS)
    }

    /// The numbering of a graph where at most `max_paths` paths (at least 1) lead on from any block.
    pub fn compute_within(cfg: &Cfg, max_paths: u64) -> PathNumbering {
        let mut counts = vec![0u64; cfg.block_count()];
        let mut ends = vec![false; cfg.block_count()];
        let mut starts_here = vec![false; cfg.block_count()];
        cfg.entries().iter().for_each(|entry| starts_here[entry.index()] = true);
        let mut steps = vec![PathStep::Add(0); cfg.edge_count()];
        let mut cut = Vec::new();
        for block in cfg.postorder() {
            let forward = |edge: &Edge| !cfg.is_retreating(*edge);
            let ends_here = cfg.successors(block).is_empty() || !cfg.out_edges(block).all(|edge| forward(&edge));
            // Ways on that the paths ending here leave free are shared out from here.
            let mut count = u64::from(ends_here);
            let mut ways: Vec<(Block, Edge)> =
                cfg.out_edges(block).filter(forward).map(|edge| (cfg.target(edge), edge)).collect();
            ways.compact_sort();
            for group in ways.chunk_by(|a, b| a.0 == b.0) {
                group.iter().for_each(|&(_, edge)| steps[edge.index()] = PathStep::Add(count));
                count = count.saturating_add(counts[group[0].0.index()]);
            }
            if count > max_paths {
                cut.push(block);
                ways.iter().for_each(|&(_, edge)| steps[edge.index()] = PathStep::Restart(0));
                count = 1;
            }
            ends[block.index()] = ends_here || cut.last() == Some(&block);
            counts[block.index()] = count;
            for edge in cfg.out_edges(block) {
                if !forward(&edge) {
                    steps[edge.index()] = PathStep::Restart(0);
                }
                if matches!(steps[edge.index()], PathStep::Restart(_)) {
                    starts_here[cfg.target(edge).index()] = true;
                }
            }
        }
        cut.reverse();

        let mut total = 0u64;
        let mut starts = Vec::new();
        let mut first = vec![0; cfg.block_count()];
        for &block in cfg.reverse_postorder().iter().filter(|block| starts_here[block.index()]) {
            starts.push((block, total));
            first[block.index()] = total;
            total = total.saturating_add(counts[block.index()]);
        }
        for edge in cfg.edges() {
            if let PathStep::Restart(number) = &mut steps[edge.index()] {
                *number = first[cfg.target(edge).index()];
            }
        }
        PathNumbering { steps, counts, ends, starts, cut, total }
    }

    /// How many paths there are; their numbers are `0..path_count()`.
    pub fn path_count(&self) -> u64 {
        self.total
    }

    /// The number with which a path starts at a block: where control comes in, and after a [`PathStep::Restart`].
    /// None where no path starts.
    pub fn start(&self, block: Block) -> Option<u64> {
        self.starts.iter().find(|(start, _)| *start == block).map(|&(_, number)| number)
    }

    /// Returns the change of the path number on an edge. Edges of unreachable blocks add nothing.
    pub fn step(&self, edge: Edge) -> PathStep {
        self.steps[edge.index()]
    }

    /// Blocks behind which all paths were cut because there were too many, in reverse postorder.
    pub fn cut_blocks(&self) -> &[Block] {
        &self.cut
    }

    /// The path of a number.
    pub fn path(&self, cfg: &Cfg, number: u64) -> Option<Vec<Block>> {
        if number >= self.total {
            return None;
        }
        let after = self.starts.partition_point(|&(_, first)| first <= number);
        let (start, first) = self.starts[after.checked_sub(1)?];
        let mut rest = number - first;
        let mut path = vec![start];
        let mut block = start;
        while !(self.ends[block.index()] && rest == 0) {
            let ways = cfg.out_edges(block).filter_map(|edge| match self.step(edge) {
                PathStep::Add(increment) if increment <= rest => Some((increment, edge)),
                _ => None,
            });
            let (increment, edge) = ways.max()?;
            rest -= increment;
            block = cfg.target(edge);
            path.push(block);
        }
        Some(path)
    }

    /// The number of a path. None where the blocks are no path: not connected, or started or ended elsewhere than paths
    /// do.
    pub fn number(&self, cfg: &Cfg, path: &[Block]) -> Option<u64> {
        let (&last, _) = path.split_last()?;
        let mut number = self.start(path[0])?;
        for pair in path.windows(2) {
            let edge = cfg.out_edges(pair[0]).find(|&edge| cfg.target(edge) == pair[1])?;
            match self.step(edge) {
                PathStep::Add(increment) => number += increment,
                PathStep::Restart(_) => return None,
            }
        }
        self.ends[last.index()].then_some(number)
    }
}

//! How warps execute blocks and take edges, as a function's `profile warp` tells.
//!
//! ```text
//! profile warp {
//!     n2: 100              some warp came to the end of n2 a hundred times
//!     n2 -> n3: 60         60 of them with a lane that went to n3,
//!     n2 -> n4: 60         60 with one that went to n4: in 60 + 60 - 100 = 20 the lanes parted
//! }
//! ```
//!
//! With two ways the counts say how often lanes parted. With more they only bound it (three ways
//! may part once into three or twice into two), so that a block may say it: `n2: 100 diverged 12`.
//! Two entries for one block or edge add up.
//!
//! Linear in the profile, a logarithm for each question. Counts end at the largest number.

use alloc::collections::BTreeMap;

use super::{Block, Function, Profile};

/// A line of a `profile warp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarpEntry {
    /// Counts of a block.
    Block {
        /// The block.
        block: Block,
        /// How often a warp executed it to its end, with at least one lane.
        executions: u64,
        /// How often the lanes parted at its end, where that is told.
        diverged: Option<u64>,
    },
    /// Count of an edge.
    Edge {
        /// Its source.
        from: Block,
        /// Its target.
        to: Block,
        /// How often at least one lane of a warp took it.
        executions: u64,
    },
}

/// Sums of a function's `profile warp`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WarpCounts {
    blocks: BTreeMap<Block, (u64, Option<u64>)>,
    edges: BTreeMap<(Block, Block), u64>,
}

impl WarpCounts {
    /// Adds up the declarations of a function.
    pub fn of(func: &Function) -> WarpCounts {
        let mut counts = WarpCounts::default();
        for profile in &func.profiles {
            if let Profile::Warp(entries) = profile {
                counts.add(entries);
            }
        }
        counts
    }

    /// Adds entries.
    pub fn add(&mut self, entries: &[WarpEntry]) {
        for &entry in entries {
            match entry {
                WarpEntry::Block { block, executions, diverged } => {
                    let (all, told) = self.blocks.entry(block).or_default();
                    *all = all.saturating_add(executions);
                    *told = match (*told, diverged) {
                        (Some(a), Some(b)) => Some(a.saturating_add(b)),
                        (a, b) => a.or(b),
                    };
                }
                WarpEntry::Edge { from, to, executions } => {
                    let all = self.edges.entry((from, to)).or_default();
                    *all = all.saturating_add(executions);
                }
            }
        }
    }

    /// Does it tell of nothing?
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.edges.is_empty()
    }

    /// Every block that it tells of, and the source of every edge.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        let sources = self.edges.keys().map(|&(from, _)| from);
        let unknown = sources.filter(|from| !self.blocks.contains_key(from));
        self.blocks.keys().copied().chain(unknown)
    }

    /// How often a warp executed a block. None where the profile does not tell.
    pub fn executions(&self, block: Block) -> Option<u64> {
        self.blocks.get(&block).map(|&(executions, _)| executions)
    }

    /// How often a warp took an edge with at least one lane, of a block whose executions are counted.
    pub fn taken(&self, from: Block, to: Block) -> Option<u64> {
        self.executions(from)?;
        Some(self.edges.get(&(from, to)).copied().unwrap_or(0))
    }

    /// The edges of a block that are counted, by target.
    pub fn edges_of(&self, from: Block) -> impl Iterator<Item = (Block, u64)> + '_ {
        let last = Block::from_u32(u32::MAX - 1);
        self.edges.range((from, Block::from_u32(0))..=(from, last)).map(|(&(_, to), &count)| (to, count))
    }

    /// How often the lanes parted at the end of a block, as it says itself.
    pub fn told(&self, block: Block) -> Option<u64> {
        self.blocks.get(&block).and_then(|&(_, told)| told)
    }

    /// How often the lanes parted at the end of a block: at least so often, and no more often than that. None where its
    /// edges are not counted.
    pub fn partings(&self, block: Block) -> Option<(u64, u64)> {
        let executions = self.executions(block)?;
        let (mut ways, mut sides) = (0u64, 0u64);
        for (_, count) in self.edges_of(block).filter(|&(_, count)| count > 0) {
            ways += 1;
            sides = sides.saturating_add(count);
        }
        if ways == 0 {
            return None;
        }
        // Each time that lanes part, at least one side more is run, and at most all of them.
        let more = sides.saturating_sub(executions);
        Some((more.div_ceil(ways.max(2) - 1), more.min(executions)))
    }

    /// The share (0–1) of a block's executions at which lanes part. None where the profile does not
    /// tell, or it never ran.
    pub fn divergence(&self, block: Block) -> Option<f64> {
        let executions = self.executions(block).filter(|&executions| executions > 0)?;
        let parted = self.told(block).or_else(|| self.partings(block).map(|(least, _)| least))?;
        Some(parted.min(executions) as f64 / executions as f64)
    }
}

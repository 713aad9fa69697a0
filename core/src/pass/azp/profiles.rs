//! Declared profiles after a region has got two versions.
//!
//! ```text
//! profile edge { n1 -> n2: 100 }    n1 -> n1_rest_1: 40   n1_rest_1 -> n2: 40     P = 0.4
//!                                   n1 -> n1_rest: 60     n1_rest -> n2: 60
//! ```
//!
//! The copy ran with the probability that the check holds, the original otherwise; a branch that is
//! a jump in the copy is taken there as often as its block runs. Counts of a version are rounded
//! up, so that a block's edges always account for its executions. Copied writes are zero as often
//! as their originals.
//!
//! This is an estimate: a profile measured after the transformation would say which version each
//! path took.
//!
//! Cost: linear in the profiles.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::ir::{Block, Function, Profile, WarpEntry};

/// Blocks of the two versions after the transformation.
pub(super) struct Versions {
    /// The block that ends in the check.
    pub head: Block,
    /// Block with the code after the check.
    pub rest: Block,
    /// The probability (0–1) that the check holds.
    pub probability: f64,
    /// The copies of `rest` and of the blocks of the region.
    pub copies: BTreeMap<Block, Block>,
    /// The tail of each block that was cut.
    pub tails: BTreeMap<Block, Block>,
    /// The one target that a copy has, by its original.
    pub goes: BTreeMap<Block, Block>,
    /// Target of the check instead of an empty copy of `rest`.
    pub begins_at: Option<Block>,
}

/// Declares executions for the changed function, from its earlier declarations; those of zeros are
/// unchanged.
pub(super) fn versioned(func: &Function, versions: &Versions) -> Vec<Profile> {
    let executions = |profile: &Profile| versions.executions(func, profile).unwrap_or_else(|| profile.clone());
    func.profiles.iter().map(executions).collect()
}

impl Versions {
    /// The profile of executions after the transformation. None for a profile of zeros.
    fn executions(&self, func: &Function, profile: &Profile) -> Option<Profile> {
        let mut runs: BTreeMap<Block, u64> = BTreeMap::new();
        let mut add_runs = |block: Block, count: u64| {
            let sum = runs.entry(block).or_default();
            *sum = sum.saturating_add(count);
        };
        match profile {
            Profile::Path(paths) => Some(Profile::Path(self.paths(func, paths))),
            Profile::Edge(edges) => {
                edges.iter().for_each(|&(from, _, count)| add_runs(from, count));
                let entry = |&(from, to, executions): &(Block, Block, u64)| WarpEntry::Edge { from, to, executions };
                let entries = self.entries(func, edges.iter().map(entry), &runs);
                let edge = |entry: WarpEntry| match entry {
                    WarpEntry::Edge { from, to, executions } => Some((from, to, executions)),
                    WarpEntry::Block { .. } => None,
                };
                Some(Profile::Edge(entries.into_iter().filter_map(edge).collect()))
            }
            Profile::Warp(entries) => {
                for entry in entries {
                    if let WarpEntry::Block { block, executions, .. } = *entry {
                        add_runs(block, executions);
                    }
                }
                Some(Profile::Warp(self.entries(func, entries.iter().copied(), &runs)))
            }
            Profile::Zero(_) => None,
        }
    }

    /// Executions of the fast and of the slow version, both rounded up.
    fn split(&self, count: u64) -> (u64, u64) {
        let share = |probability: f64| (libm::ceil(count as f64 * probability) as u64).min(count);
        (share(self.probability), share(1.0 - self.probability))
    }

    /// Is it a block of the region, by its name in the profile?
    fn is_inside(&self, block: Block) -> bool {
        block != self.rest && self.copies.contains_key(&block)
    }

    /// The block at whose end control leaves a block of the profile, if that is in the region.
    fn slow_end(&self, block: Block) -> Option<Block> {
        if block == self.head { Some(self.rest) } else { Some(block).filter(|&block| self.is_inside(block)) }
    }

    /// Entries after the transformation, given how often each block of the profile runs.
    fn entries(
        &self,
        func: &Function,
        entries: impl Iterator<Item = WarpEntry>,
        runs: &BTreeMap<Block, u64>,
    ) -> Vec<WarpEntry> {
        let mut found = Vec::new();
        for entry in entries {
            match entry {
                WarpEntry::Block { block, executions, diverged } => {
                    self.add_blocks(func, (block, executions, diverged), &mut found);
                }
                WarpEntry::Edge { from, to, executions } => self.add_edges(func, (from, to, executions), &mut found),
            }
        }
        let mut add = |from, to, executions| found.push(WarpEntry::Edge { from, to, executions });
        for (&original, &copy) in &self.copies {
            let name = if original == self.rest { self.head } else { original };
            let Some(&count) = runs.get(&name) else { continue };
            let (fast, slow) = self.split(count);
            if original == self.rest {
                add(self.head, self.begins_at.unwrap_or(copy), fast);
                add(self.head, self.rest, slow);
            }
            if let Some(&tail) = self.tails.get(&original) {
                add(original, tail, slow);
            }
            if let Some(&target) = self.goes.get(&original).filter(|_| func.layout.has_block(copy)) {
                add(copy, target, fast);
            }
        }
        found
    }

    /// Adds the edges that replace `from -> to`, or the edge itself if it is outside.
    fn add_edges(&self, func: &Function, (from, to, count): (Block, Block, u64), found: &mut Vec<WarpEntry>) {
        let mut add = |from, to, executions| found.push(WarpEntry::Edge { from, to, executions });
        let Some(end) = self.slow_end(from) else { return add(from, to, count) };
        if let Some(&tail) = self.tails.get(&end) {
            return add(tail, to, count);
        }
        let (fast, slow) = self.split(count);
        add(end, to, slow);
        let copy = self.copies[&end];
        let target = if self.is_inside(to) { self.copies[&to] } else { to };
        if !self.goes.contains_key(&end) && func.layout.has_block(copy) && func.successors(copy).contains(&target) {
            add(copy, target, fast);
        }
    }

    /// Adds the blocks that replace a block, or the block itself if it is outside.
    fn add_blocks(
        &self,
        func: &Function,
        (block, executions, diverged): (Block, u64, Option<u64>),
        found: &mut Vec<WarpEntry>,
    ) {
        let mut add = |block, executions, diverged| found.push(WarpEntry::Block { block, executions, diverged });
        let Some(end) = self.slow_end(block) else { return add(block, executions, diverged) };
        if block == self.head {
            add(block, executions, None);
        }
        let (fast, slow) = self.split(executions);
        let parted = diverged.map(|diverged| self.split(diverged));
        let tail = self.tails.get(&end).copied();
        let copy = self.copies[&end];
        add(end, slow, parted.filter(|_| tail.is_none()).map(|(_, slow)| slow));
        if func.layout.has_block(copy) {
            let branches = tail.is_none() && !self.goes.contains_key(&end);
            add(copy, fast, parted.filter(|_| branches).map(|(fast, _)| fast));
        }
        if let Some(tail) = tail {
            add(tail, executions, diverged);
        }
    }

    fn paths(&self, func: &Function, paths: &[(Vec<Block>, u64)]) -> Vec<(Vec<Block>, u64)> {
        let mut found = Vec::new();
        for (path, count) in paths {
            let (fast_path, slow_path) = (self.version_of(path, true), self.version_of(path, false));
            let is_possible = fast_path.windows(2).all(|step| func.successors(step[0]).contains(&step[1]));
            if slow_path != *path && is_possible {
                let (fast, slow) = self.split(*count);
                found.push((fast_path, fast));
                found.push((slow_path, slow));
            } else {
                found.push((slow_path, *count));
            }
        }
        found.retain(|(_, count)| *count > 0);
        found
    }

    /// A path through the copy, or through the original.
    fn version_of(&self, path: &[Block], is_fast: bool) -> Vec<Block> {
        let mut version = Vec::with_capacity(path.len() + 2);
        // A path may begin inside the region, at the header of a loop.
        let mut is_in_region = path.first().is_some_and(|&first| self.is_inside(first));
        for &block in path {
            is_in_region = block == self.head || (is_in_region && self.is_inside(block));
            let end = self.slow_end(block).filter(|_| is_in_region);
            if block == self.head || end.is_none() {
                version.push(block);
            }
            let Some(end) = end else { continue };
            if !(is_fast && end == self.rest && self.begins_at.is_some()) {
                version.push(if is_fast { self.copies[&end] } else { end });
            }
            let tail = self.tails.get(&end).filter(|tail| version.last() != Some(tail));
            version.extend(tail);
        }
        version
    }
}

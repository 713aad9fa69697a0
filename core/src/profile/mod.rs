//! Profiles: how often edges and acyclic paths ran, how often a write gave zero, and how often warps parted.
//!
//! ```text
//! edge   a -> b: 96 lanes in 4 warps         zero   body.x#0: 40 of 128 lanes, 1 of 4 warps with all its lanes
//! path   a b d: 64 lanes in 2 warps                 warp   a: parted in 1 of 3 executions
//!
//! zero   body.x & body.y: 0 of 4 warps              each may be zero half the time, and never both
//! ```
//!
//! A count has two units. *Lanes* are executions by threads. *Warps* are executions by at least one
//! lane of a warp: lanes that do the same at the same issue count once. So a warp that parts at the
//! end of a block counts once for the block, and once on each edge that a lane takes. A path is
//! Ball and Larus's: [`crate::graph::PathNumbering`] says where it starts and ends.
//!
//! Paths that an `exit` in a callee cuts short are counted apart in the callers. Bounds: a text cannot declare them.
//! Results of calls are not among the zero profiles. A predicate is zero where it is false.
//!
//! Source: T. Ball and J. Larus, Efficient path profiling, MICRO 1996.

mod call_frames;
mod collector;
mod declaration;
mod declared_edges;
mod declared_paths;
mod declared_text;
pub mod estimate;
mod frequencies;
mod joint;

pub use collector::Collector;
pub use declaration::declare;
pub use declared_edges::DeclaredEdges;
pub use declared_paths::declared_paths;
pub use declared_text::{TextProfile, declared_in};
pub use frequencies::expected_warp_counts;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::AddAssign;

use crate::ir::{Block, Func, Inst, Write};

/// How often, in both units.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Count {
    /// Executions by threads.
    pub lanes: u64,
    /// Executions by at least one lane of a warp.
    pub warps: u64,
}

impl Count {
    fn add(&mut self, mask: u32) {
        self.lanes += u64::from(mask.count_ones());
        self.warps += u64::from(mask != 0);
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.lanes += other.lanes;
        self.warps += other.warps;
    }
}

/// How often warps executed a block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WarpCount {
    /// Executions to its end by at least one lane of a warp.
    pub executions: u64,
    /// Those at whose branch the lanes parted.
    pub diverged: u64,
}

/// How often a write, or the last of several, ran and gave zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ZeroCount {
    /// All executions.
    pub all: Count,
    /// Lanes that got zero (of either sign), and warps whose active lanes all did.
    pub zero: Count,
}

impl AddAssign for ZeroCount {
    fn add_assign(&mut self, other: ZeroCount) {
        self.all += other.all;
        self.zero += other.zero;
    }
}

impl ZeroCount {
    /// Adds an issue with `active` lanes, of which `zero` got zero.
    fn add(&mut self, active: u32, zero: u32) {
        self.all.add(active);
        self.zero.lanes += u64::from(zero.count_ones());
        self.zero.warps += u64::from(zero == active);
    }

    /// Share of lanes that wrote zero, 0–1; 0 where nothing ran.
    pub fn lane_probability(&self) -> f64 {
        if self.all.lanes == 0 { 0.0 } else { self.zero.lanes as f64 / self.all.lanes as f64 }
    }

    /// Share of executions by a warp in which all active lanes wrote zero, 0–1; 0 where nothing ran.
    pub fn warp_probability(&self) -> f64 {
        if self.all.warps == 0 { 0.0 } else { self.zero.warps as f64 / self.all.warps as f64 }
    }
}

/// The profile of one function.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FunctionProfile {
    /// Count of each edge, by source and target.
    pub edges: BTreeMap<(Block, Block), Count>,
    /// Count of each path, by its blocks.
    pub paths: BTreeMap<Vec<Block>, Count>,
    /// Count of each path, by its blocks, that ends in a call at the end of these: lanes ended in the callee.
    pub ended: BTreeMap<(Vec<Block>, Inst), Count>,
    /// Zero count of each write.
    pub zeros: BTreeMap<Write, ZeroCount>,
    /// Zero counts of a short vector, or of some of its elements: how often all of them were zero.
    pub joint: BTreeMap<Vec<Write>, ZeroCount>,
    /// Warp count of each block.
    pub blocks: BTreeMap<Block, WarpCount>,
}

/// The profile of a run, by function.
pub type Profile = BTreeMap<Func, FunctionProfile>;

/// Adds the counts of another run of the same module.
pub fn add(profile: &mut Profile, other: &Profile) {
    for (&func, counts) in other {
        let sum = profile.entry(func).or_default();
        for (&edge, &count) in &counts.edges {
            *sum.edges.entry(edge).or_default() += count;
        }
        for (path, &count) in &counts.paths {
            *sum.paths.entry(path.clone()).or_default() += count;
        }
        for (path, &count) in &counts.ended {
            *sum.ended.entry(path.clone()).or_default() += count;
        }
        for (&block, count) in &counts.blocks {
            let sum = sum.blocks.entry(block).or_default();
            sum.executions += count.executions;
            sum.diverged += count.diverged;
        }
        for (&write, &count) in &counts.zeros {
            *sum.zeros.entry(write).or_default() += count;
        }
        for (writes, &count) in &counts.joint {
            *sum.joint.entry(writes.clone()).or_default() += count;
        }
    }
}

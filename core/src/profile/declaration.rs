//! Measured profiles as the text declares them, so that passes and readers meet one kind of profile.
//!
//! ```text
//! measured   a -> b: 96 lanes in 4 warps        declared   profile edge {
//!                                                              a -> b: 96
//!                                                          }
//! ```
//!
//! Edges and paths are declared in lanes, because only these add up: what enters a block leaves it,
//! and an edge is taken as often as the paths that hold it. A warp whose lanes part would be
//! counted on both sides. Zero values are declared warp-wide, as the language has them: code for
//! zero is skipped only where no lane needs it. Warps have a profile of their own: how often they
//! executed each block that ran, and took each edge. How often they parted is said only of blocks
//! with more than two ways on, where these counts leave it open.
//!
//! Behind single writes come sets of those that a program makes side by side; the file `joint.rs` says which.
//! A write that was measured and never gave zero is declared with 0; what never ran is left out.

use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use super::joint::JointWrites;
use super::{FunctionProfile, Profile, WarpCount, ZeroCount};
use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::ir::{self, Block, CommentAnchor, Function, Module, WarpEntry, Write, ZeroEntry, ZeroWrite};

/// Lets each function that was measured declare its measured profile, in place of what it declared.
pub fn declare(module: &mut Module, profile: &Profile) {
    for (&func, measured) in profile {
        let body = &mut module.funcs[func];
        body.comments.retain(|anchor| !matches!(anchor, CommentAnchor::Profile(..)));
        body.profiles = declared(body, measured);
        body.find_named_writes();
    }
}

fn declared(func: &Function, measured: &FunctionProfile) -> Vec<ir::Profile> {
    // Blocks in the order of the text, which ids need not be in.
    let mut ranks: SecondaryMap<Block, usize> = SecondaryMap::new();
    func.block_order().enumerate().for_each(|(rank, block)| ranks[block] = rank);

    let mut paths: Vec<_> = measured.paths.iter().map(|(path, count)| (path.clone(), count.lanes)).collect();
    paths
        .compact_sort_by(|(a, _), (b, _)| a.iter().map(|&block| ranks[block]).cmp(b.iter().map(|&block| ranks[block])));
    let mut edges: Vec<_> = measured.edges.iter().map(|(&(from, to), count)| (from, to, count.lanes)).collect();
    edges.compact_sort_by_key(|&(from, to, _)| (ranks[from], ranks[to]));
    let ran = measured.zeros.iter().filter(|(_, count)| count.all.warps > 0);
    let mut writes: Vec<(&Write, &ZeroCount)> = ran.collect();
    writes.compact_sort_by_key(|(write, _)| (ranks[write.block], write.reg, write.occurrence));
    let mut zeros: Vec<ZeroEntry> = writes
        .into_iter()
        .map(|(&write, count)| ZeroEntry::of(ZeroWrite::Named(write), count.warp_probability()))
        .collect();
    if !measured.joint.is_empty() {
        zeros.extend(JointWrites::of(func, &Cfg::compute(func)).declared(measured));
    }

    let mut warps: Vec<_> = measured.blocks.iter().map(|(&block, &count)| (block, count)).collect();
    warps.compact_sort_by_key(|&(block, _)| ranks[block]);
    let block_entry = |(block, count): &(Block, WarpCount)| {
        let ways = func.terminator(*block).map_or(0, |inst| func.insts[inst].distinct_targets().len());
        let diverged = (ways > 2 && count.diverged > 0).then_some(count.diverged);
        WarpEntry::Block { block: *block, executions: count.executions, diverged }
    };
    let mut warp_edges: Vec<_> = measured.edges.iter().map(|(&(from, to), count)| (from, to, count.warps)).collect();
    warp_edges.compact_sort_by_key(|&(from, to, _)| (ranks[from], ranks[to]));
    let edge_entry = |&(from, to, executions): &(Block, Block, u64)| WarpEntry::Edge { from, to, executions };
    let warps: Vec<WarpEntry> = warps.iter().map(block_entry).chain(warp_edges.iter().map(edge_entry)).collect();

    let mut profiles = Vec::new();
    if !paths.is_empty() {
        profiles.push(ir::Profile::Path(paths));
    }
    if !edges.is_empty() {
        profiles.push(ir::Profile::Edge(edges));
    }
    if !zeros.is_empty() {
        profiles.push(ir::Profile::Zero(zeros.into()));
    }
    if !warps.is_empty() {
        profiles.push(ir::Profile::Warp(warps));
    }
    profiles
}

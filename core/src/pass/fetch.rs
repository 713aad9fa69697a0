//! Reads instructions that are going to be looked at one after the other.
//!
//! ```text
//! one by one     wait for a, work, wait for b, work, wait for c, work
//! fetched        wait for a, b and c together, work, work, work
//! ```
//!
//! In a large function instructions are far away in memory, and what is found in one decides where
//! to look next, so that a processor waits for each. Read together they come sooner. Changes
//! nothing, and costs next to nothing where they are near.

use crate::ir::{Function, Inst};

/// How many instructions are read together.
pub(super) const TOGETHER: usize = 16;

/// Reads both ends of instructions, [`TOGETHER`] or so.
pub(super) fn fetch(func: &Function, insts: impl Iterator<Item = Inst>) {
    let both_ends = insts.map(|inst| &func.insts[inst]).map(|data| data.opcode.op as usize + data.args.len());
    core::hint::black_box(both_ends.sum::<usize>());
}

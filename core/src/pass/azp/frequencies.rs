//! Executions of each block by a warp, for each run of the function by one.
//!
//! ```text
//! profile warp { n1: 100  n2: 40 }    n2 runs 0.4 times for each run, which begins in n1
//! n1: p = setp.eq.f32 r, 0.0          without counts: guessed from the shape, except that a check
//!     q = vote.all p; br q, a, b      goes to a as often as `profile zero` says of r, or of q
//! ```
//!
//! Cost: linear in blocks and profile entries.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::zero_profile::{ExistingCheck, ZeroProfile};
use crate::flow::{Value, Values};
use crate::graph::{Cfg, Frequencies, Loops};
use crate::ir::{Block, Function, Op, Operand, WarpCounts};
use crate::profile::DeclaredEdges;

/// Frequencies by block. `checks` are those in which blocks end.
pub(super) fn block_frequencies(
    func: &Function,
    (cfg, loops): (&Cfg, &Loops),
    values: &Values,
    zeros: &ZeroProfile,
    checks: &BTreeMap<Block, ExistingCheck>,
) -> Vec<f64> {
    let counts = counts(func);
    let entries = func.entry_blocks();
    let runs = entries.iter().filter_map(|entry| counts.get(entry)).fold(0u64, |sum, &count| sum.saturating_add(count));
    let mut found = vec![0.0; func.blocks.len()];
    if runs > 0 {
        counts.iter().for_each(|(block, &count)| found[block.index()] = count as f64 / runs as f64);
        return found;
    }
    let of_value = |value: &Value| zeros.of_value(values, *value);
    // Probability of a branch's first target.
    let share_of = |block: Block| {
        let branch = func.terminator(block).filter(|&inst| func.insts[inst].opcode.op == Op::BrIf)?;
        let own = match func.insts[branch].args.first()? {
            Operand::NotReg(_) => values.operands(branch).first().and_then(of_value),
            _ => values.operands(branch).first().and_then(of_value).map(|zero| 1.0 - zero),
        };
        let checked = || Some(checks.get(&block)?.values.iter().map(|value| of_value(value).unwrap_or(0.5)).product());
        own.or_else(checked)
    };
    let guessed = Frequencies::compute_with(cfg, loops, |edge| {
        let source = cfg.source(edge);
        let share = share_of(source).filter(|_| cfg.out_edges(source).len() > 1)?;
        Some(if cfg.slot(edge) == 0 { share } else { 1.0 - share })
    });
    func.block_order().for_each(|block| found[block.index()] = without_noise(guessed.block(block)));
    found
}

/// A frequency to 40 bits: blocks that run equally often have equal frequencies, however paths part
/// before them.
fn without_noise(frequency: f64) -> f64 {
    const NOISE: u64 = (1 << 13) - 1;
    f64::from_bits((frequency.to_bits() + NOISE / 2 + 1) & !NOISE)
}

/// Executions of blocks, of warps if a profile counts these, else of lanes.
fn counts(func: &Function) -> BTreeMap<Block, u64> {
    let warps = WarpCounts::of(func);
    if !warps.is_empty() {
        return warps.blocks().filter_map(|block| Some((block, warps.executions(block)?))).collect();
    }
    DeclaredEdges::of(func).executions()
}

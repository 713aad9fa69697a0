//! Profiles of how warps branch, for programs that are generated: numbers that a run could have measured.
//!
//! ```text
//! n3:                                profile warp {
//!     …                                  n3: 61
//!     br p1, n4, n5          ──▶         n3 -> n4: 61
//!                                        n3 -> n5: 12
//!                                    }
//! ```
//!
//! One way of a branch is taken each time, or the counts of both add up to at least all executions;
//! some blocks never ran, and some are not told of. Which, follows from a seed, so that a recipe
//! keeps its program.

use std::fmt::Write;

use warpscope_core::ir::{Block, Function, Module, Profile, WarpEntry};

/// Declares how often warps executed each block that ends with a branch, and where they went. Equal seeds give equal
/// profiles.
pub fn declare(module: &mut Module, seed: u32) {
    let mut state = u64::from(seed) << 1 | 1;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % (most + 1)
    };
    for func in module.funcs.values_mut() {
        let entries = entries(func, &mut draw);
        func.profiles.push(Profile::Warp(entries));
    }
}

fn entries(func: &Function, mut draw: impl FnMut(u64) -> u64) -> Vec<WarpEntry> {
    let mut entries = Vec::new();
    for from in func.block_order() {
        let mut targets: Vec<Block> = func.successors(from).to_vec();
        targets.sort_unstable();
        targets.dedup();
        let executions = [1, draw(9), draw(99), draw(999)][draw(3) as usize];
        let first = draw(targets.len().max(1) as u64 - 1) as usize;
        entries.push(WarpEntry::Block { block: from, executions, diverged: (targets.len() > 2).then_some(0) });
        // Of several ways one is taken alone, so that nothing has to be said of how often three lanes part.
        let is_both = targets.len() == 2 && draw(1) == 0;
        for (way, to) in targets.into_iter().enumerate() {
            let taken = if way == first { executions } else { draw(executions) * u64::from(is_both) };
            entries.push(WarpEntry::Edge { from, to, executions: taken });
        }
    }
    entries
}

/// The profile of a function's body: of its blocks that end with `br` or `switch`, from labels and terminators as they
/// are written. What stands before the first label is the entry's.
pub fn profile(body: &str, seed: u32) -> String {
    let mut state = u64::from(seed) << 1 | 1;
    let mut draw = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % (most + 1)
    };
    let mut text = String::from("    profile warp {\n");
    let mut label = "entry";
    for line in body.lines() {
        if let Some(name) = line.strip_suffix(':') {
            label = name.trim();
            continue;
        }
        let Some(targets) = targets(line.trim()) else { continue };
        // Half of the blocks ran often, some never, and of some nothing is told.
        let executions = [0, draw(9), draw(99), draw(99)][draw(3) as usize];
        if draw(7) == 0 {
            continue;
        }
        let first = draw(targets.len() as u64 - 1) as usize;
        let counts: Vec<u64> =
            (0..targets.len()).map(|way| if way == first { executions } else { draw(executions) * draw(1) }).collect();
        let (ways, sides) = (counts.iter().filter(|count| **count > 0).count() as u64, counts.iter().sum::<u64>());
        let _ = write!(text, "        {label}: {executions}");
        if ways > 2 {
            let _ = write!(text, " diverged {}", (sides - executions).div_ceil(ways - 1));
        }
        text.push('\n');
        for (target, count) in targets.iter().zip(counts) {
            let _ = writeln!(text, "        {label} -> {target}: {count}");
        }
    }
    text + "    }\n"
}

/// The targets of a branch, each once.
fn targets(line: &str) -> Option<Vec<&str>> {
    let named = match line.split_once(' ')? {
        ("br", rest) => rest,
        ("switch", rest) => rest.split_once(',')?.1,
        _ => return None,
    };
    let mut targets: Vec<&str> = named.split(',').map(str::trim).collect();
    if line.starts_with("br") && targets.len() == 3 {
        targets.remove(0);
    }
    let mut seen = Vec::new();
    targets.retain(|target| {
        !seen.contains(target) && {
            seen.push(*target);
            true
        }
    });
    Some(targets)
}

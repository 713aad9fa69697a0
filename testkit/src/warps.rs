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
//! One way of a branch is taken each time, or the counts of both add up to at least all executions; some blocks never ran,
//! and some are not told of. Which, follows from a seed, so that a recipe keeps its program.

use std::fmt::Write;

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

//! Expected executions of blocks and edges by warps, for a function that declares none.
//!
//! ```text
//! entry:  br p, head, done      1024     p may differ between lanes: 0.55 of the executions enter either side
//! head:   br q, head, after      845     563 entries, 1.5 rounds each; q is uniform
//! after:  br done                563
//! done:   ret                   1024     lanes meet again: no more executions than of the branch
//! ```
//!
//! 1. Visit the blocks in reverse postorder. Entries of the function begin with [`ENTRIES`] executions.
//! 2. A block is executed as often as its forward edges are taken, but at most as often as its immediate dominator:
//!    lanes that part arrive as one warp where they meet. A loop's header is executed [`ROUNDS`] times as often.
//! 3. A uniform branch divides its executions by the declared edge counts, else evenly. A divergent one sends a warp to
//!    each successor to which at least one lane goes; without edge counts that happens with probability [`SIDE`].
//! 4. An edge that leaves a loop is taken once in [`ROUNDS`] rounds, whatever the branch's other edges do.
//!
//! Cost: O(edges), times a logarithm. Limits: trip counts are not derived from the code; an irreducible loop's rounds
//! begin at its header only.
//!
//! Source: Y. Wu and J. Larus, Static branch frequency and program profile analysis, MICRO 1994, with their loop
//! heuristic alone; the executions of a divergent branch's sides are our own addition.

use alloc::vec;
use alloc::vec::Vec;
use core::iter::successors;
use cranelift_entity::EntityRef;

use super::DeclaredEdges;
use crate::graph::Loops;
use crate::ir::{Block, WarpCounts, WarpEntry};
use crate::view::View;

/// Executions of each entry of the function.
const ENTRIES: f64 = 1024.0;
/// Rounds of a loop for each entry. Low on purpose: a change that pays by this number pays in any loop that runs twice,
/// while work that only some rounds do is not expected to outweigh an insertion before the loop.
const ROUNDS: f64 = 1.5;
/// Probability that a warp runs one side of a divergent branch: lanes part in a tenth of the executions. Low on
/// purpose, too: a bounds check that fails for a whole warp is divergent to the analysis.
const SIDE: f64 = 0.55;
/// Lanes that decide a divergent branch.
const LANES: f64 = 32.0;
/// Higher expectations are cut.
const MOST: f64 = (1u64 << 48) as f64;

/// Expected counts of all reachable blocks and their edges.
pub fn expected_warp_counts(view: &mut View<'_>) -> WarpCounts {
    let (cfg, dominators, loops, divergence) = (view.cfg(), view.dominators(), view.loops(), view.divergence());
    let declared = DeclaredEdges::of(view.func());
    let mut executions = vec![0.0f64; cfg.block_count()];
    let mut taken = vec![0.0f64; cfg.edge_count()];
    let mut entries = Vec::new();
    for &block in cfg.reverse_postorder() {
        let mut count: f64 = cfg.in_edges(block).iter().map(|edge| taken[edge.index()]).sum();
        if let Some(dominator) = dominators.immediate_dominator(block) {
            count = count.min(executions[dominator.index()] / rounds(loops_left(&loops, dominator, block)));
        }
        if cfg.is_entry(block) {
            count += ENTRIES;
        }
        if loops.headed_by(block).is_some() {
            count *= ROUNDS;
        }
        count = count.min(MOST);
        executions[block.index()] = count;
        entries.push(WarpEntry::Block { block, executions: libm::round(count) as u64, diverged: None });

        let is_divergent = divergence.is_divergent_branch(block);
        let left: Vec<u32> = cfg.successors(block).iter().map(|&to| loops_left(&loops, block, to)).collect();
        let leaving = left.iter().filter(|&&left| left > 0).count();
        for ((edge, &to), &left) in cfg.out_edges(block).zip(cfg.successors(block)).zip(&left) {
            let ways = if left > 0 { leaving } else { cfg.successors(block).len() - leaving };
            let declared = declared.probability(block, to).filter(|_| leaving == 0);
            let count = count * side_probability(is_divergent, ways, declared) / rounds(left);
            entries.push(WarpEntry::Edge { from: block, to, executions: libm::round(count) as u64 });
            if !cfg.is_retreating(edge) {
                taken[edge.index()] = count;
            }
        }
    }
    let mut counts = WarpCounts::default();
    counts.add(&entries);
    counts
}

/// Number of loops that contain `from` and not `to`.
fn loops_left(loops: &Loops, from: Block, to: Block) -> u32 {
    let around = successors(loops.innermost(from), |&inner| loops[inner].parent);
    around.take_while(|&around| !loops.contains(around, to)).count() as u32
}

/// Rounds of so many nested loops together.
fn rounds(levels: u32) -> f64 {
    libm::pow(ROUNDS, f64::from(levels))
}

/// The probability that a warp takes one of several edges, given the probability for a lane if a profile declares it.
fn side_probability(is_divergent: bool, ways: usize, declared: Option<f64>) -> f64 {
    match (ways, is_divergent) {
        (0 | 1, _) => 1.0,
        (_, false) => declared.unwrap_or(1.0 / ways as f64),
        (_, true) => declared.map_or(SIDE, |lane| 1.0 - libm::pow(1.0 - lane, LANES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse;
    use crate::trace::NoTrace;
    use crate::view::Analyses;

    /// Expected executions of the blocks of a program's only function, in text order.
    fn expected(source: &str) -> Vec<u64> {
        let module = parse(source).module;
        let (func, _) = module.funcs.iter().next().expect("a function");
        let mut body = module.funcs[func].clone();
        let mut silent = NoTrace;
        let mut view = View::new(&module, &mut body, &mut silent, Analyses::default());
        let counts = expected_warp_counts(&mut view);
        let blocks = view.func().block_order();
        blocks.map(|block| counts.executions(block).unwrap_or(0)).collect()
    }

    const LOOP: &str = "kernel k(n: u32, x: ptr.global) {
entry:
    i = mov.u32 %tid
    p = setp.lt.u32 i, 7
    br p, head, done
head:
    n = sub.u32 n, 1
    q = setp.gt.u32 n, 0
    br q, head, after
after:
    br done
done:
    ret
}
";

    #[test]
    fn multiplies_rounds_and_meets_after_divergent_branch() {
        assert_eq!(expected(LOOP), [1024, 845, 563, 1024]);
    }

    #[test]
    fn divides_uniform_branch_evenly_or_as_declared() {
        let uniform = LOOP.replace("%tid", "n");
        assert_eq!(expected(&uniform), [1024, 768, 512, 1024]);
        let profile = "    ret\n    profile edge {\n        entry -> head: 1\n        entry -> done: 3\n    }\n}\n";
        let declared = uniform.replace("    ret\n}\n", profile);
        assert_eq!(expected(&declared), [1024, 384, 256, 1024]);
    }

    #[test]
    fn leaves_nested_loops_at_once() {
        let nested = "kernel k(n: u32) {
entry:
    br outer
outer:
    br inner
inner:
    n = sub.u32 n, 1
    p = setp.gt.u32 n, 0
    br p, inner, latch
latch:
    q = setp.gt.u32 n, 5
    br q, outer, done
done:
    ret
}
";
        assert_eq!(expected(nested), [1024, 1536, 2304, 1536, 1024]);
        let direct = nested
            .replace("br p, inner, latch", "br p, latch, done")
            .replace("br q, outer, done", "br q, outer, inner");
        assert_eq!(expected(&direct)[4], 1024);
    }
}

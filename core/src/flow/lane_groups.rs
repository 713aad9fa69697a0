//! Whether a change of the graph leaves operations across lanes the lanes that they run with.
//!
//! ```text
//! entry: switch c, e, w, j         lanes part at `entry` and meet at `j`
//! e:     br w                      those that went to `e` and those that went to `w` run `w` one after the other
//! w:     a = activemask            and `a` is another number for each; without `e` they would run it together
//!        br j
//! ```
//!
//! Lanes that part at a branch run side after side, each up to the branch's immediate
//! post-dominator, where they meet. The
//! *region* of a branch is what can be reached from it before that. So an operation runs with the
//! lanes that took the same target at each branch whose region holds it.
//!
//! 1. The blocks with convergent operations ([`crate::ir::Op::is_convergent`]) and the branches
//!    where lanes may part are those of the function before the change.
//! 2. For each such branch the region's blocks with convergent operations must be the same in both graphs.
//! 3. Where there are any, two targets of the branch must be one block in both graphs or in neither.
//!
//! Branches of which the change says that all lanes go one way part nobody, and are not asked about.
//!
//! Cost: one walk over the region of each branch where lanes may part, and post-dominators of both graphs; nothing in
//! functions without convergent operations. In a tangle of gotos regions are as large as the function, so all walks
//! together visit no more blocks than an [`Allowance`]; after that operations count as moved to other lanes.

use alloc::vec::Vec;
use core::cell::Cell;

use fixedbitset::FixedBitSet;

use super::divergence::Divergence;
use crate::compact_sort::CompactSort;
use crate::graph::{Cfg, PostDominators};
use crate::ir::{Block, Function};

/// The blocks with convergent operations; none where there are none.
pub(crate) fn convergent_blocks(func: &Function) -> Option<FixedBitSet> {
    let mut blocks = FixedBitSet::with_capacity(func.blocks.len());
    for block in func.block_order() {
        let is_convergent = func.block_insts(block).any(|inst| func.insts[inst].opcode.op.is_convergent());
        blocks.set(block.as_u32() as usize, is_convergent);
    }
    (!blocks.is_clear()).then_some(blocks)
}

/// Blocks that walks over regions may still visit.
pub(crate) struct Allowance(Cell<usize>);

impl Allowance {
    /// Visits for each block of a function, beyond which nothing is compared.
    const VISITS: usize = 2048;

    /// The allowance of a run over a function.
    pub fn of(func: &Function) -> Allowance {
        Allowance(Cell::new(Allowance::VISITS * func.blocks.len()))
    }

    /// Is nothing left?
    pub fn is_used_up(&self) -> bool {
        self.0.get() == 0
    }

    fn take(&self, visits: usize) {
        self.0.set(self.0.get().saturating_sub(visits));
    }
}

/// The lanes that convergent operations run with in a graph.
pub(crate) struct LaneGroups<'a> {
    allowance: &'a Allowance,
    convergent: &'a FixedBitSet,
    divergence: &'a Divergence,
    cfg: &'a Cfg,
    post_dominators: PostDominators,
}

impl<'a> LaneGroups<'a> {
    /// Groups of a graph with the blocks that have convergent operations.
    pub fn of(
        cfg: &'a Cfg,
        convergent: &'a FixedBitSet,
        divergence: &'a Divergence,
        allowance: &'a Allowance,
    ) -> LaneGroups<'a> {
        allowance.take(cfg.block_count());
        LaneGroups { allowance, convergent, divergence, cfg, post_dominators: PostDominators::compute(cfg) }
    }

    /// Do all of them run with the same lanes in another graph? Lanes part at no block in `settled`.
    pub fn are_kept_by(&self, after: &Cfg, settled: &[Block]) -> bool {
        if self.allowance.is_used_up() {
            return false;
        }
        let after = LaneGroups::of(after, self.convergent, self.divergence, self.allowance);
        let parts_lanes = |block: &Block| {
            let targets = self.cfg.successors(*block);
            targets.len() > 1 && self.divergence.is_divergent_branch(*block) && !settled.contains(block)
        };
        // Whatever cannot be reached any more was never run.
        after.cfg.reverse_postorder().iter().filter(|block| parts_lanes(block)).all(|&branch| {
            let mut region = self.region(branch);
            region.retain(|&block| after.cfg.is_reachable(block));
            let is_same = region == after.region(branch);
            is_same && (region.is_empty() || self.sides(branch) == after.sides(branch)) && !self.allowance.is_used_up()
        })
    }

    /// Does any convergent operation depend on the sides that lanes take at a branch?
    pub fn depend_on(&self, branch: Block) -> bool {
        let is_compared = || !self.region(branch).is_empty() || self.allowance.is_used_up();
        self.divergence.is_divergent_branch(branch) && is_compared()
    }

    /// Is a block taken for the end of an endless loop, as if control could leave the function there?
    pub fn ends_endless_loop(&self, block: Block) -> bool {
        self.post_dominators.endless_loop_ends().contains(&block)
    }

    /// The convergent blocks of a branch's region, rising.
    fn region(&self, branch: Block) -> Vec<Block> {
        let mut seen = FixedBitSet::with_capacity(self.cfg.block_count());
        if let Some(join) = self.post_dominators.immediate_post_dominator(branch) {
            seen.insert(join.as_u32() as usize);
        }
        let mut found = Vec::new();
        let mut work: Vec<Block> = self.cfg.successors(branch).to_vec();
        // Whoever goes to one target only does not part.
        if work.iter().all(|target| *target == work[0]) {
            return found;
        }
        while let Some(block) = work.pop()
            && !self.allowance.is_used_up()
        {
            self.allowance.take(1);
            if !seen.put(block.as_u32() as usize) {
                if self.convergent.contains(block.as_u32() as usize) {
                    found.push(block);
                }
                work.extend_from_slice(self.cfg.successors(block));
            }
        }
        found.compact_sort();
        found
    }

    /// For each target of a branch the first one that is the same block.
    fn sides(&self, branch: Block) -> Vec<Option<usize>> {
        let targets = self.cfg.successors(branch);
        targets.iter().map(|target| targets.iter().position(|other| other == target)).collect()
    }
}

//! Which loops a divergent branch lets lanes leave in different iterations.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use crate::graph::{Cfg, Loop, Loops};
use crate::ir::Block;

/// The loops of a graph, and where each is left to.
pub(super) struct LeftLoops<'a> {
    pub(super) loops: &'a Loops,
    /// Block that all exits of each loop go to.
    targets: Vec<Target>,
    /// Outermost loop around each loop.
    outermost: Vec<Loop>,
    /// Loops whose values have been looked at, and so those of all loops inside them.
    seen: FixedBitSet,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    None,
    One(Block),
    Several,
}

impl<'a> LeftLoops<'a> {
    pub(super) fn new(cfg: &Cfg, loops: &'a Loops) -> LeftLoops<'a> {
        let mut targets = vec![Target::None; loops.len()];
        for edge in cfg.edges() {
            let (source, to) = (cfg.source(edge), cfg.target(edge));
            let mut left = loops.innermost(source);
            while let Some(inner) = left.filter(|&inner| !loops.contains(inner, to)) {
                let known = &mut targets[inner.index()];
                *known = match *known {
                    Target::None => Target::One(to),
                    Target::One(one) if one == to => Target::One(one),
                    _ => Target::Several,
                };
                left = loops[inner].parent;
            }
        }
        // A loop comes after those inside it.
        let mut outermost: Vec<Loop> = loops.iter().map(|(inner, _)| inner).collect();
        for (inner, data) in loops.iter().rev() {
            if let Some(parent) = data.parent {
                outermost[inner.index()] = outermost[parent.index()];
            }
        }
        let seen = FixedBitSet::with_capacity(loops.len());
        LeftLoops { loops, targets, outermost, seen }
    }

    /// The loop that is the region of a branch with that meeting point: the largest around the
    /// branch that does not hold the meeting point, if control enters it at its header only and all
    /// ways out of it lead there.
    pub(super) fn region(&self, branch: Block, meeting: Block) -> Option<Loop> {
        let left = self.largest_without(branch, meeting)?;
        let is_region = self.targets[left.index()] == Target::One(meeting) && !self.loops[left].is_irreducible();
        is_region.then_some(left)
    }

    /// The largest loop around a block that does not hold another one.
    pub(super) fn largest_without(&self, block: Block, other: Block) -> Option<Loop> {
        let outermost = self.outermost(block)?;
        if !self.loops.contains(outermost, other) {
            return Some(outermost);
        }
        let around = core::iter::successors(self.loops.innermost(block), |&inner| self.loops[inner].parent);
        around.take_while(|&inner| !self.loops.contains(inner, other)).last()
    }

    /// The outermost loop around a block.
    pub(super) fn outermost(&self, block: Block) -> Option<Loop> {
        self.loops.innermost(block).map(|inner| self.outermost[inner.index()])
    }

    /// The blocks of a loop of which nobody has asked; none of them will be handed out again for a
    /// loop around this one.
    pub(super) fn take_blocks(&mut self, left: Loop) -> Vec<Block> {
        let mut blocks = Vec::new();
        if self.seen.put(left.index()) {
            return blocks;
        }
        let all = self.loops.blocks(left);
        let mut next = 0;
        while let Some(&block) = all.get(next) {
            // A loop's blocks stand together, its header first.
            match self.loops.headed_by(block).filter(|inner| *inner != left && self.seen.contains(inner.index())) {
                Some(inner) => next += self.loops.blocks(inner).len(),
                None => {
                    blocks.push(block);
                    next += 1;
                }
            }
        }
        blocks
    }
}

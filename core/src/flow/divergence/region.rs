//! Where lanes that part at a branch may be before they meet again, and which joins see them come different ways.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;

use crate::graph::{Cfg, PostDominators};
use crate::ir::Block;

/// The region of one branch at a time; its tables serve for all.
pub(super) struct Regions<'a> {
    cfg: &'a Cfg,
    post_dominators: &'a PostDominators,
    /// The way on which a block is reached: the branch's successor where it began, or the last block where two ways came
    /// together.
    labels: Vec<PackedOption<Block>>,
    region: Vec<Block>,
    joins: Vec<Block>,
    pending: BTreeSet<(usize, Block)>,
}

impl<'a> Regions<'a> {
    pub(super) fn new(cfg: &'a Cfg, post_dominators: &'a PostDominators) -> Regions<'a> {
        Regions {
            cfg,
            post_dominators,
            labels: vec![None.into(); cfg.block_count()],
            region: Vec::new(),
            joins: Vec::new(),
            pending: BTreeSet::new(),
        }
    }

    /// Walks from a branch to its immediate post-dominator. Blocks are taken in reverse postorder, so that outside
    /// cycles all ways into a block are known when the block is.
    pub(super) fn walk(&mut self, branch: Block) {
        for block in self.region.drain(..) {
            self.labels[block.index()] = None.into();
        }
        self.joins.clear();
        let meeting = self.post_dominators.immediate_post_dominator(branch);
        let cfg = self.cfg;
        for &next in cfg.successors(branch) {
            self.arrive(next, next, meeting);
        }
        while let Some((_, block)) = self.pending.pop_first() {
            let label = self.labels[block.index()].expand().unwrap_or(block);
            for &next in cfg.successors(block) {
                self.arrive(next, label, meeting);
            }
        }
        self.joins.extend(meeting);
        self.joins.sort_unstable();
        self.joins.dedup();
    }

    fn arrive(&mut self, block: Block, label: Block, meeting: Option<Block>) {
        if Some(block) == meeting {
            return;
        }
        match self.labels[block.index()].expand() {
            None => {
                self.labels[block.index()] = label.into();
                self.region.push(block);
            }
            Some(known) if known == label || known == block => {
                if known != label {
                    self.joins.push(block);
                }
                return;
            }
            Some(_) => {
                self.labels[block.index()] = block.into();
                self.joins.push(block);
            }
        }
        self.pending.insert((self.cfg.position(block).unwrap_or(0), block));
    }

    /// The blocks reached from the branch before the meeting point.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.region
    }

    /// Is the block in the region?
    pub(super) fn contains(&self, block: Block) -> bool {
        self.labels[block.index()].is_some()
    }

    /// Blocks that two ways reach, and the meeting point.
    pub(super) fn joins(&self) -> &[Block] {
        &self.joins
    }
}

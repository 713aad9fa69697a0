//! Where lanes that part at a branch may be before they meet again, and which blocks see them come different ways.
//!
//! ```text
//! b: br p, x, y     x -> j     y -> j, y -> m     j -> m        region { x y j }, joins { j }: on disjoint ways from b
//! ```
//!
//! Each block of the region is labelled with the way on which the branch reaches it: the branch's successor where the
//! way begins, or the last block where two ways came together. A block is a *join* when edges from different ways enter
//! it, edges from blocks that are only reached through it left aside. Labels are the children of the branch in the
//! dominator tree of what it reaches, with what is below each.
//!
//! Blocks with one label are a tree: each has the block that the walk came from, up to the one where the way begins. Where
//! an edge enters a block from another tree, both trees lead there, and as they have no block in common, none but the
//! branch is on all ways there: a way begins. What is below the block goes over to it at once, so that this is true of the
//! next such edge, too. No way that began ends again; the walk comes to an end, however tangled the graph is. Blocks are
//! taken in reverse postorder, so that outside cycles nothing goes over.
//!
//! A walk may stop early when all that is left to see is on one way and no edge from there enters another: no join can
//! follow. What it may inspect is limited: [`FREE_STEPS`] for each branch, and beyond that what is left of an allowance
//! that all branches share.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use fixedbitset::FixedBitSet;

use crate::graph::Cfg;
use crate::ir::Block;

/// Edges that each branch's walk may inspect without touching the allowance.
const FREE_STEPS: usize = 64;

/// How far a walk went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Extent {
    /// It saw the whole region.
    Whole,
    /// It saw all joins.
    Joins,
    /// The allowance is used up; nothing is known.
    Exhausted,
}

/// What a walk starts from.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    /// The branch.
    pub(super) branch: Block,
    /// Where its lanes meet again.
    pub(super) meeting: Option<Block>,
    /// May the walk stop once it has seen all joins?
    pub(super) may_stop: bool,
    /// The region has no block before this place in the reverse postorder.
    pub(super) floor: Option<usize>,
}

/// The region of one branch at a time; its tables serve for all.
pub(super) struct Regions<'a> {
    cfg: &'a Cfg,
    /// Edges that walks may still inspect beyond their free ones.
    pub(super) allowance: usize,
    labels: Vec<PackedOption<Block>>,
    /// By labelled block: where the walk came from; none where a way begins.
    parents: Vec<PackedOption<Block>>,
    joined: FixedBitSet,
    region: Vec<Block>,
    /// Blocks that are to be labelled, by their place in the reverse postorder.
    pending: BinaryHeap<Reverse<usize>>,
    is_pending: FixedBitSet,
    /// Blocks with a new label, which their edges are to be compared with.
    labelled: Vec<Block>,
    /// Blocks that are to go over to another way.
    below: Vec<Block>,
    open: OpenEdges,
}

impl<'a> Regions<'a> {
    pub(super) fn new(cfg: &'a Cfg, allowance: usize) -> Regions<'a> {
        let blocks = cfg.block_count();
        Regions {
            cfg,
            allowance,
            labels: vec![None.into(); blocks],
            parents: vec![None.into(); blocks],
            joined: FixedBitSet::with_capacity(blocks),
            region: Vec::new(),
            pending: BinaryHeap::new(),
            is_pending: FixedBitSet::with_capacity(blocks),
            labelled: Vec::new(),
            below: Vec::new(),
            open: OpenEdges { of: vec![0; blocks], counted: vec![0; blocks], on_way: vec![0; blocks], total: 0 },
        }
    }

    /// Walks from a branch to the meeting point. A join that `is_settled` need not be known better.
    pub(super) fn walk(&mut self, walk: Walk, is_settled: impl Fn(Block) -> bool) -> Extent {
        self.clear();
        let mut free = FREE_STEPS;
        self.queue_successors(walk.branch, walk.meeting);
        while let Some(Reverse(place)) = self.pending.pop() {
            let block = self.cfg.reverse_postorder()[place];
            self.is_pending.set(block.index(), false);
            self.region.push(block);
            self.label(block, walk.branch);
            if walk.may_stop {
                self.open.of[block.index()] = self.edges_from_elsewhere(block, walk);
                self.account(block, None, &is_settled);
            }
            while let Some(labelled) = self.labelled.pop() {
                let steps = self.cfg.predecessors(labelled).len() + self.cfg.successors(labelled).len() + 1;
                let paid = steps.saturating_sub(free);
                free -= steps - paid;
                if paid > self.allowance {
                    self.allowance = 0;
                    self.pending.clear();
                    self.is_pending.clear();
                    self.labelled.clear();
                    return Extent::Exhausted;
                }
                self.allowance -= paid;
                self.compare_edges(labelled, walk, &is_settled);
            }
            if walk.may_stop {
                let label = self.labels[block.index()].expand().unwrap_or(block);
                if self.pending.is_empty() && self.open.all_are_on(label) {
                    return Extent::Joins;
                }
                if block != walk.branch {
                    self.close_edges(block, walk, &is_settled);
                }
            }
            self.queue_successors(block, walk.meeting);
        }
        Extent::Whole
    }

    /// The blocks that the last walk saw, in the order in which it came to them.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.region
    }

    /// Did the last walk see the block?
    pub(super) fn contains(&self, block: Block) -> bool {
        self.labels[block.index()].is_some()
    }

    /// The joins that the last walk saw.
    pub(super) fn joins(&self) -> impl Iterator<Item = Block> + '_ {
        self.region.iter().copied().filter(|block| self.joined.contains(block.index()))
    }

    /// Does the block come from `branch`, or from a block that the last walk saw and that it reached without passing
    /// `join`?
    pub(super) fn leads_to_join(&self, join: Block, source: Block, branch: Block) -> bool {
        source == branch || self.labels[source.index()].expand().is_some_and(|label| label != join)
    }

    fn clear(&mut self) {
        for block in self.region.drain(..) {
            self.labels[block.index()] = None.into();
            self.parents[block.index()] = None.into();
            self.joined.set(block.index(), false);
            self.open.of[block.index()] = 0;
            self.open.counted[block.index()] = 0;
            self.open.on_way[block.index()] = 0;
        }
        self.open.total = 0;
    }

    fn queue_successors(&mut self, block: Block, meeting: Option<Block>) {
        for &next in self.cfg.successors(block) {
            if Some(next) != meeting
                && !self.contains(next)
                && !self.is_pending.put(next.index())
                && let Some(place) = self.cfg.position(next)
            {
                self.pending.push(Reverse(place));
            }
        }
    }

    /// Labels a block that the walk comes to: what the branch leads to begins a way, anything else is on one that leads
    /// there.
    fn label(&mut self, block: Block, branch: Block) {
        let sources = self.cfg.predecessors(block);
        let source = sources.iter().copied().find(|&source| self.contains(source));
        let parent = source.filter(|_| !sources.contains(&branch));
        self.parents[block.index()] = parent.into();
        self.labels[block.index()] = parent.map_or(Some(block).into(), |parent| self.labels[parent.index()]);
        self.labelled.push(block);
    }

    /// Looks where an edge leads from one way to another, from a block or to it.
    fn compare_edges(&mut self, block: Block, walk: Walk, is_settled: &impl Fn(Block) -> bool) {
        let cfg = self.cfg;
        if cfg.predecessors(block).iter().any(|&source| self.changes_way(source, block, walk.branch)) {
            self.join(block, walk, is_settled);
        }
        for &next in cfg.successors(block) {
            if self.changes_way(block, next, walk.branch) {
                self.join(next, walk, is_settled);
            }
        }
    }

    fn changes_way(&self, source: Block, target: Block, branch: Block) -> bool {
        let [from, to] = [source, target].map(|block| self.labels[block.index()].expand());
        source != branch && from.is_some() && to.is_some() && from != to
    }

    /// Two ways come together at a block: there one begins, to which goes all that the walk came to from the block.
    fn join(&mut self, block: Block, walk: Walk, is_settled: &impl Fn(Block) -> bool) {
        if self.joined.put(block.index()) {
            return;
        }
        let cfg = self.cfg;
        let way = Some(block).into();
        self.parents[block.index()] = None.into();
        self.below.push(block);
        while let Some(block) = self.below.pop() {
            let before = core::mem::replace(&mut self.labels[block.index()], way);
            if walk.may_stop {
                self.account(block, before.expand(), is_settled);
            }
            if before != way {
                self.labelled.push(block);
                let parents = &self.parents;
                let came_from_here = |next: &&Block| parents[next.index()] == Some(block).into();
                self.below.extend(cfg.successors(block).iter().filter(came_from_here));
            }
        }
    }

    /// The edges into a labelled block from blocks that the walk may still come to.
    fn edges_from_elsewhere(&self, block: Block, walk: Walk) -> u32 {
        let may_come =
            |&&source: &&Block| source != walk.branch && !self.contains(source) && self.is_ahead(source, walk);
        self.cfg.predecessors(block).iter().filter(may_come).count() as u32
    }

    /// The walk came to a block: its edges into labelled blocks are no longer open.
    fn close_edges(&mut self, block: Block, walk: Walk, is_settled: &impl Fn(Block) -> bool) {
        let cfg = self.cfg;
        if !self.is_ahead(block, walk) {
            return;
        }
        // An edge from the block to itself was not counted: the block was labelled by then.
        for &next in cfg.successors(block).iter().filter(|&&next| next != block) {
            if let Some(label) = self.labels[next.index()].expand() {
                self.open.of[next.index()] = self.open.of[next.index()].saturating_sub(1);
                self.account(next, Some(label), is_settled);
            }
        }
    }

    fn is_ahead(&self, block: Block, walk: Walk) -> bool {
        let place = self.cfg.position(block);
        place.is_some() && place >= walk.floor
    }

    /// Brings the sums up to date for a block that was counted under the label `known`.
    fn account(&mut self, block: Block, known: Option<Block>, is_settled: &impl Fn(Block) -> bool) {
        let is_settled = self.joined.contains(block.index()) && is_settled(block);
        let count = if is_settled { 0 } else { self.open.of[block.index()] };
        let before = core::mem::replace(&mut self.open.counted[block.index()], count);
        if let Some(known) = known {
            self.open.on_way[known.index()] -= before;
        }
        if let Some(label) = self.labels[block.index()].expand() {
            self.open.on_way[label.index()] += count;
        }
        self.open.total = self.open.total - before + count;
    }
}

/// Edges from blocks without a label into blocks with one.
struct OpenEdges {
    /// By block.
    of: Vec<u32>,
    /// By block: how many of them are in the sums.
    counted: Vec<u32>,
    /// Summed by label.
    on_way: Vec<u32>,
    total: u32,
}

impl OpenEdges {
    fn all_are_on(&self, label: Block) -> bool {
        self.total == self.on_way[label.index()]
    }
}

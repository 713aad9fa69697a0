//! Blocks that lanes may reach between diverging at a branch and reconverging, and those reached on different paths.
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
//! Blocks with one label are a tree: each has the block that the walk came from, up to the one
//! where the way begins. Where an edge enters a block from another tree, both trees lead there, and
//! as they have no block in common, none but the branch is on all ways there: a way begins. What is
//! below the block goes over to it at once, so that this is true of the next such edge, too. No way
//! that began ends again; the walk comes to an end, however tangled the graph is. Blocks are taken
//! in reverse postorder, so that outside cycles nothing goes over.
//!
//! A walk may stop early when all that is left to see is on one way and no edge from there enters
//! another: no join can follow. What it may inspect is limited: [`FREE_STEPS`] for each branch, and
//! beyond that what is left of an allowance that all branches share. Once that is used up, a walk
//! through a whole region ends where it comes to a branch whose own region was too large: that is a
//! part of it.

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

/// Start of a walk.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    /// The branch.
    pub(super) branch: Block,
    /// Block where its lanes reconverge.
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
    /// State of each block.
    places: Vec<Place>,
    region: Vec<Block>,
    /// Blocks that are to be labelled, by their place in the reverse postorder.
    pending: BinaryHeap<Reverse<u32>>,
    /// Blocks with a new label, which their edges are to be compared with.
    labelled: Vec<Block>,
    /// Blocks that are to go over to another way.
    below: Vec<Block>,
    /// How many open edges are in the sums of all ways.
    open: u32,
    /// Branches of which the whole region was to be seen, and was too large.
    too_large: FixedBitSet,
}

/// State of a block in the walk.
#[derive(Clone, Copy, Default)]
struct Place {
    label: PackedOption<Block>,
    /// Predecessor in the walk; none where a path begins.
    parent: PackedOption<Block>,
    is_join: bool,
    is_pending: bool,
    /// Open edges into it: those from blocks without a label, if it has one.
    open: u32,
    /// How many of them are in the sums.
    counted: u32,
    /// The sum of all that have it for their label.
    on_way: u32,
}

impl<'a> Regions<'a> {
    pub(super) fn new(cfg: &'a Cfg, allowance: usize) -> Regions<'a> {
        let blocks = cfg.block_count();
        Regions {
            cfg,
            allowance,
            places: vec![Place::default(); blocks],
            region: Vec::new(),
            pending: BinaryHeap::new(),
            labelled: Vec::new(),
            below: Vec::new(),
            open: 0,
            too_large: FixedBitSet::with_capacity(blocks),
        }
    }

    /// Walks from a branch to the meeting point. A join that `is_settled` need not be known better.
    pub(super) fn walk(&mut self, walk: Walk, is_settled: impl Fn(Block) -> bool) -> Extent {
        self.clear();
        let mut free = FREE_STEPS;
        self.queue_successors(walk.branch, walk.meeting);
        while let Some(Reverse(place)) = self.pending.pop() {
            let block = self.cfg.reverse_postorder()[place as usize];
            self.places[block.index()].is_pending = false;
            self.region.push(block);
            if self.allowance == 0 && !walk.may_stop && self.too_large.contains(block.index()) {
                return self.give_up(walk);
            }
            self.label(block, walk.branch);
            if walk.may_stop {
                self.places[block.index()].open = self.edges_from_elsewhere(block, walk);
                self.account(block, None, &is_settled);
            }
            while let Some(labelled) = self.labelled.pop() {
                let steps = self.cfg.predecessors(labelled).len() + self.cfg.successors(labelled).len() + 1;
                let paid = steps.saturating_sub(free);
                free -= steps - paid;
                if paid > self.allowance {
                    return self.give_up(walk);
                }
                self.allowance -= paid;
                self.compare_edges(labelled, walk, &is_settled);
            }
            if walk.may_stop {
                let label = self.places[block.index()].label.expand().unwrap_or(block);
                if self.pending.is_empty() && self.open == self.places[label.index()].on_way {
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

    /// All that was allowed is used up.
    pub(super) fn give_up(&mut self, walk: Walk) -> Extent {
        self.allowance = 0;
        if !walk.may_stop {
            self.too_large.insert(walk.branch.index());
        }
        for Reverse(place) in self.pending.drain() {
            self.places[self.cfg.reverse_postorder()[place as usize].index()].is_pending = false;
        }
        self.labelled.clear();
        Extent::Exhausted
    }

    /// Would a walk through a whole region be given up that all blocks of this cycle belong to? So
    /// large ones need not be walked through until what is allowed is used up, each time as far as
    /// is free.
    pub(super) fn is_too_large(&self, cycle: &[Block]) -> bool {
        // Each block is labelled at least once, and has an edge into it and one out of it.
        3 * cycle.len() > FREE_STEPS + self.allowance
    }

    /// The blocks that the last walk saw, in the order in which it came to them.
    pub(super) fn blocks(&self) -> &[Block] {
        &self.region
    }

    /// Did the last walk see the block?
    pub(super) fn contains(&self, block: Block) -> bool {
        self.places[block.index()].label.is_some()
    }

    /// The joins that the last walk saw.
    pub(super) fn joins(&self) -> impl Iterator<Item = Block> + '_ {
        self.region.iter().copied().filter(|block| self.places[block.index()].is_join)
    }

    /// Does the block come from `branch`, or from a block that the last walk saw and that it reached without passing
    /// `join`?
    pub(super) fn leads_to_join(&self, join: Block, source: Block, branch: Block) -> bool {
        source == branch || self.places[source.index()].label.expand().is_some_and(|label| label != join)
    }

    fn clear(&mut self) {
        for block in self.region.drain(..) {
            self.places[block.index()] = Place::default();
        }
        self.open = 0;
    }

    fn queue_successors(&mut self, block: Block, meeting: Option<Block>) {
        for &next in self.cfg.successors(block) {
            let known = &mut self.places[next.index()];
            if Some(next) == meeting || known.label.is_some() || known.is_pending {
                continue;
            }
            if let Some(place) = self.cfg.position(next) {
                known.is_pending = true;
                self.pending.push(Reverse(place as u32));
            }
        }
    }

    /// Labels a block that the walk comes to: what the branch leads to begins a way, anything else is on one that leads
    /// there.
    fn label(&mut self, block: Block, branch: Block) {
        let sources = self.cfg.predecessors(block);
        let source = sources.iter().copied().find(|&source| self.contains(source));
        let parent = source.filter(|_| !sources.contains(&branch));
        let label = parent.map_or(Some(block).into(), |parent| self.places[parent.index()].label);
        let place = &mut self.places[block.index()];
        (place.parent, place.label) = (parent.into(), label);
        self.labelled.push(block);
    }

    /// Looks where an edge leads from one way to another, from a block or to it.
    fn compare_edges(&mut self, block: Block, walk: Walk, is_settled: &impl Fn(Block) -> bool) {
        let cfg = self.cfg;
        let label = self.places[block.index()].label;
        let is_other = |regions: &Regions, other: Block| {
            let other = regions.places[other.index()].label;
            other.is_some() && other != label
        };
        if cfg.predecessors(block).iter().any(|&source| source != walk.branch && is_other(self, source)) {
            self.join(block, walk, is_settled);
        }
        for &next in cfg.successors(block) {
            if self.changes_way(block, next, walk.branch) {
                self.join(next, walk, is_settled);
            }
        }
    }

    fn changes_way(&self, source: Block, target: Block, branch: Block) -> bool {
        let [from, to] = [source, target].map(|block| self.places[block.index()].label);
        source != branch && from.is_some() && to.is_some() && from != to
    }

    /// Two ways come together at a block: there one begins, to which goes all that the walk came to from the block.
    fn join(&mut self, block: Block, walk: Walk, is_settled: &impl Fn(Block) -> bool) {
        let place = &mut self.places[block.index()];
        if core::mem::replace(&mut place.is_join, true) {
            return;
        }
        place.parent = None.into();
        let cfg = self.cfg;
        let way = Some(block).into();
        self.below.push(block);
        while let Some(block) = self.below.pop() {
            let before = core::mem::replace(&mut self.places[block.index()].label, way);
            if walk.may_stop {
                self.account(block, before.expand(), is_settled);
            }
            if before != way {
                self.labelled.push(block);
                let places = &self.places;
                let came_from_here = |next: &&Block| places[next.index()].parent == Some(block).into();
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
            let place = &mut self.places[next.index()];
            if let Some(label) = place.label.expand() {
                place.open = place.open.saturating_sub(1);
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
        let place = &mut self.places[block.index()];
        let count = if place.is_join && is_settled(block) { 0 } else { place.open };
        let (before, label) = (core::mem::replace(&mut place.counted, count), place.label);
        if (known, before) == (label.expand(), count) {
            return;
        }
        if let Some(known) = known {
            self.places[known.index()].on_way -= before;
        }
        if let Some(label) = label.expand() {
            self.places[label.index()].on_way += count;
        }
        self.open = self.open - before + count;
    }
}

//! Consequences of lanes that diverge at a branch: joins on their paths and uses after them see different values.

use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::cover::Cover;
use super::leaving::LeftLoops;
use super::propagation::Propagation;
use super::region::{Extent, Regions, Walk};
use super::{Cause, DivergenceInput};
use crate::compact_sort::CompactSort;
use crate::flow::uses::ValueUse;
use crate::flow::values::{JoinArg, Value};
use crate::graph::Loop;
use crate::ir::Block;

/// Edges that may be inspected for all branches together, for each block and edge of the graph.
const STEPS: usize = 16;

/// But no more than so many. Where a graph is that large and its regions are, too, hardly any of them fits into what is
/// allowed, and all that is walked through before it is used up would be for nothing.
const MOST_STEPS: usize = 1 << 16;

/// Uses and blocks that may be looked at for one branch without touching what all share.
const FREE_LOOKS: usize = 256;

/// Tables for all branches.
pub(super) struct Parting<'a> {
    regions: Regions<'a>,
    /// All blocks that may run with a part of the lanes.
    apart: Cover<'a>,
    /// All blocks whose joins were given up.
    given_up: Cover<'a>,
    /// Values of each block that were given up.
    given_up_uses: Vec<GivenUp>,
    /// Scratch for the blocks of one branch.
    scratch: Vec<Block>,
    left: LeftLoops<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GivenUp {
    Nothing,
    /// Uses outside all cycles of the block.
    Outside,
    /// Uses in all other blocks.
    Everywhere,
}

/// A branch whose lanes part, and what is known of where they go.
#[derive(Clone, Copy)]
struct Parted {
    branch: Block,
    meeting: Option<Block>,
    /// The loop that is the region, if there is one.
    left: Option<Loop>,
    extent: Extent,
}

impl<'a> Parting<'a> {
    pub(super) fn new(input: DivergenceInput<'a>) -> Parting<'a> {
        let DivergenceInput { cfg, post_dominators, loops, .. } = input;
        Parting {
            regions: Regions::new(cfg, MOST_STEPS.min(STEPS * (cfg.block_count() + cfg.edge_count()))),
            apart: Cover::new(cfg, post_dominators),
            given_up: Cover::new(cfg, post_dominators),
            given_up_uses: vec![GivenUp::Nothing; cfg.block_count()],
            scratch: Vec::new(),
            left: LeftLoops::new(cfg, loops),
        }
    }

    /// Pays for that many looks, if there is enough left.
    fn pay(&mut self, looks: usize) -> bool {
        let paid = looks.saturating_sub(FREE_LOOKS);
        let is_enough = paid <= self.regions.allowance;
        self.regions.allowance = self.regions.allowance.saturating_sub(paid);
        is_enough
    }
}

impl<'a> Propagation<'a> {
    /// Lanes part at a branch.
    pub(super) fn part_lanes(&mut self, branch: Block, tables: &mut Parting<'a>) {
        let parted = self.explore(branch, tables);
        if parted.extent == Extent::Exhausted {
            self.give_up_joins(parted, tables);
        } else {
            self.diverge_joins(parted, tables);
        }
        tables.apart.add(branch, |block| self.run_apart(block, branch));
        let Some(meeting) = parted.meeting else { return };
        match (parted.left, parted.extent) {
            (Some(left), _) => self.leave_loop(left, branch, meeting, tables),
            (None, Extent::Whole) => self.leave_cycles(branch, meeting, tables),
            (None, Extent::Joins) => {}
            (None, Extent::Exhausted) => self.give_up_uses(branch, meeting, tables),
        }
    }

    fn explore(&self, branch: Block, tables: &mut Parting<'a>) -> Parted {
        let meeting = self.input.post_dominators.immediate_post_dominator(branch);
        let left = meeting.and_then(|meeting| tables.left.region(branch, meeting));
        let is_in_cycle = tables.left.loops.innermost(branch).is_some();
        // Where no value can be left behind, or only those of a known loop, joins are all that is asked of the region.
        let may_stop = meeting.is_none() || left.is_some() || !is_in_cycle;
        // A loop that the meeting point is not in belongs to the region with all its blocks.
        let around = meeting.filter(|_| !may_stop).and_then(|meeting| tables.left.largest_without(branch, meeting));
        let is_too_large = around.is_some_and(|around| tables.regions.is_too_large(tables.left.loops.blocks(around)));
        // Debug builds walk all the same, to hold that against what the walk finds.
        if is_too_large && !cfg!(debug_assertions) {
            tables.regions.give_up(Walk { branch, meeting, may_stop, floor: None });
            return Parted { branch, meeting, left, extent: Extent::Exhausted };
        }
        let walk = Walk { branch, meeting, may_stop, floor: self.floor(branch, tables) };
        let is_settled = |block| self.input.values.joins(block).all(|join| self.is_divergent(join));
        let extent = tables.regions.walk(walk, is_settled);
        debug_assert!(
            !is_too_large || extent == Extent::Exhausted,
            "a walk through all of it would have been given up"
        );
        let parted = Parted { branch, meeting, left, extent };
        let is_unclear = |meeting| {
            let mut open = self.input.values.joins(meeting).filter(|&join| !self.is_divergent(join));
            open.any(|join| {
                self.differs_at_meeting(join, parted, tables, true)
                    && !self.differs_at_meeting(join, parted, tables, false)
            })
        };
        if extent == Extent::Joins && meeting.is_some_and(is_unclear) {
            let extent = tables.regions.walk(Walk { may_stop: false, ..walk }, is_settled);
            return Parted { extent, ..parted };
        }
        parted
    }

    fn diverge_joins(&mut self, parted: Parted, tables: &mut Parting<'_>) {
        let Parted { branch, meeting, .. } = parted;
        let mut joins = core::mem::take(&mut tables.scratch);
        joins.extend(tables.regions.joins().chain(meeting));
        joins.compact_sort();
        let values = self.input.values;
        for &block in &joins {
            for join in values.joins(block) {
                if self.is_divergent(join) {
                    continue;
                }
                let differs = if Some(block) == meeting {
                    self.differs_at_meeting(join, parted, tables, false)
                } else {
                    self.differs(join, |source| tables.regions.leads_to_join(block, source, branch))
                };
                if differs {
                    self.mark(join, Cause::Parted(branch));
                }
            }
        }
        joins.clear();
        tables.scratch = joins;
    }

    /// Does a join take different values along edges from blocks that `counts` accepts?
    fn differs(&self, join: Value, counts: impl Fn(Block) -> bool) -> bool {
        let DivergenceInput { cfg, values, .. } = self.input;
        let counts = |arg: &&JoinArg| arg.edge.expand().is_some_and(|edge| counts(cfg.source(edge)));
        let mut args = values.join_args(join).iter().filter(counts);
        let first = args.next();
        args.any(|arg| Some(arg.value) != first.map(|first| first.value))
    }

    fn differs_at_meeting(&self, join: Value, parted: Parted, tables: &Parting<'_>, if_unknown: bool) -> bool {
        self.differs(join, |source| self.is_in_region(source, parted, tables).unwrap_or(if_unknown))
    }

    /// Is the block the branch or in its region? None where that is not known.
    fn is_in_region(&self, block: Block, parted: Parted, tables: &Parting<'_>) -> Option<bool> {
        let DivergenceInput { cfg, dominators, post_dominators, .. } = self.input;
        let Parted { branch, meeting, left, extent } = parted;
        let is_seen = block == branch || extent != Extent::Exhausted && tables.regions.contains(block);
        if is_seen || extent == Extent::Whole {
            return Some(is_seen);
        }
        if let Some(left) = left {
            return Some(tables.left.loops.contains(left, block));
        }
        let meeting = meeting?;
        if !post_dominators.strictly_post_dominates(meeting, block) {
            return Some(false);
        }
        if dominators.dominates(branch, block) {
            // A way from an entry to the block passes the branch last, and then the meeting point only if it must.
            return Some(!dominators.dominates(meeting, block) || dominators.dominates(meeting, branch));
        }
        (cfg.position(block) < self.floor(branch, tables)).then_some(false)
    }

    /// The first place in the reverse postorder where the region of a branch may have blocks. An edge back over that
    /// place would close a cycle around the branch, and the header is the first of its cycle's blocks.
    fn floor(&self, branch: Block, tables: &Parting<'_>) -> Option<usize> {
        let cycle = tables.left.outermost(branch);
        self.input.cfg.position(cycle.map_or(branch, |cycle| tables.left.loops[cycle].header))
    }

    /// Values of a loop that lanes leave for one block: those that are visible there are left
    /// behind, the others as far as a join there takes them.
    fn leave_loop(&mut self, left: Loop, branch: Block, meeting: Block, tables: &mut Parting<'_>) {
        for block in tables.left.take_blocks(left) {
            let loops = tables.left.loops;
            if self.input.dominators.dominates(block, meeting) {
                self.diverge_uses(block, branch, |at| !loops.contains(left, at), |_, to| !loops.contains(left, to));
            } else {
                self.diverge_uses(block, branch, |_| false, |_, to| to == meeting);
            }
        }
    }

    /// Values that the region may write again before the lanes meet. They are visible behind the meeting point if their
    /// block dominates it, and otherwise as far as a join there takes them.
    fn leave_cycles(&mut self, branch: Block, meeting: Block, tables: &mut Parting<'_>) {
        let DivergenceInput { dominators, values, uses, .. } = self.input;
        let writes_again = |block: &Block| dominators.dominates(*block, branch);
        let writers: Vec<Block> = tables.regions.blocks().iter().copied().filter(writes_again).collect();
        if writers.is_empty() {
            return;
        }
        let written = |&block: &Block| values.joins(block).chain(values.made_in(block));
        let looks = writers.iter().flat_map(written).map(|value| uses.of(value).len()).sum();
        let behind = match tables.pay(looks) {
            true => self.reached_behind(meeting, &writers, tables),
            false => None,
        };
        let Some(behind) = behind else { return self.give_up_uses(branch, meeting, tables) };
        let regions = &tables.regions;
        for block in writers {
            if !dominators.dominates(block, meeting) {
                self.diverge_uses(block, branch, |_| false, |_, to| to == meeting);
                continue;
            }
            let depth = dominators.depth(block);
            let is_reached = |at| behind.get(&at).is_some_and(|&passed| passed > depth);
            let is_behind = |at| !regions.contains(at) || is_reached(at);
            self.diverge_uses(block, branch, is_behind, |from, to| !regions.contains(to) || is_reached(from));
        }
    }

    /// Blocks that control reaches behind a meeting point, as far as they lead there again, and the
    /// depth of the uppermost writer that it has to pass on the way, the highest number if none.
    /// None if that takes too long to say.
    ///
    /// The writers dominate the meeting point, so one of them dominates the next. What control reaches of that which a
    /// writer dominates without passing the writer, it reaches without passing those above: from there, it comes
    /// through the writer only.
    fn reached_behind(
        &self,
        meeting: Block,
        writers: &[Block],
        tables: &mut Parting<'_>,
    ) -> Option<BTreeMap<Block, u32>> {
        let DivergenceInput { cfg, dominators, .. } = self.input;
        let loops = tables.left.loops;
        let mut reached = BTreeMap::new();
        let Some(cycle) = tables.left.outermost(meeting) else { return Some(reached) };
        let writers: BTreeSet<Block> = writers.iter().copied().collect();
        let most = FREE_LOOKS + tables.regions.allowance;
        // Ways that pass lower writers first, so that the first way to a block is its best.
        let mut ways = BinaryHeap::from([(u32::MAX, meeting)]);
        while let Some((passed, block)) = ways.pop().filter(|_| reached.len() <= most) {
            if !loops.contains(cycle, block) || reached.contains_key(&block) {
                continue;
            }
            let passed = if writers.contains(&block) { passed.min(dominators.depth(block)) } else { passed };
            reached.insert(block, passed);
            ways.extend(cfg.successors(block).iter().map(|&next| (passed, next)));
        }
        tables.pay(reached.len()).then_some(reached)
    }

    /// The values that a block writes are different for lanes that left by the branch, wherever
    /// `is_behind` holds, and on the edges into joins, given as source and target, where
    /// `is_edge_behind` does.
    fn diverge_uses(
        &mut self,
        block: Block,
        branch: Block,
        is_behind: impl Fn(Block) -> bool,
        is_edge_behind: impl Fn(Block, Block) -> bool,
    ) {
        let DivergenceInput { func, cfg, values, uses, .. } = self.input;
        for value in values.joins(block).chain(values.made_in(block)) {
            // All who read what is divergent by itself know that, and need no other cause.
            if self.told.contains(value.index()) {
                continue;
            }
            for &reader in uses.of(value) {
                let is_left = match reader {
                    ValueUse::Operand { inst, .. } => self.block_of(inst).is_some_and(&is_behind),
                    ValueUse::Old(made) => values.block(func, made).is_some_and(&is_behind),
                    // A join reads at the ends of the blocks before it, on the way into its own.
                    ValueUse::Argument(join) => values.join_args(join).iter().any(|arg| {
                        let edge = arg.edge.expand().filter(|_| arg.value == value);
                        edge.is_some_and(|edge| is_edge_behind(cfg.source(edge), cfg.target(edge)))
                    }),
                };
                if is_left {
                    let cause = Cause::Left(value, branch);
                    if let ValueUse::Operand { inst, index } = reader {
                        self.result.temporal_uses.push(((inst, index), cause));
                    }
                    self.diverge_use(reader, value, Some(cause));
                }
            }
        }
    }

    /// Counts all joins as divergent that lanes from the branch may run.
    fn give_up_joins(&mut self, parted: Parted, tables: &mut Parting<'_>) {
        let mut new = Vec::new();
        tables.given_up.add(parted.branch, |block| new.push(block));
        for join in new.into_iter().flat_map(|block| self.input.values.joins(block)) {
            if self.differs(join, |_| true) {
                self.mark(join, Cause::Parted(parted.branch));
            }
        }
        for join in parted.meeting.into_iter().flat_map(|meeting| self.input.values.joins(meeting)) {
            if !self.is_divergent(join) && self.differs_at_meeting(join, parted, tables, true) {
                self.mark(join, Cause::Parted(parted.branch));
            }
        }
    }

    /// Counts all uses as left behind that lanes from the branch may come to in different iterations: of all values
    /// whose block dominates the branch and is in a cycle with it.
    fn give_up_uses(&mut self, branch: Block, meeting: Block, tables: &mut Parting<'_>) {
        let Some(cycle) = tables.left.outermost(branch) else { return };
        let is_inside = tables.left.loops.contains(cycle, meeting);
        let given_up = if is_inside { GivenUp::Everywhere } else { GivenUp::Outside };
        let above = core::iter::successors(Some(branch), |&block| self.input.dominators.parent(block));
        for block in above {
            // What was given up here was so further up.
            let known = &mut tables.given_up_uses[block.index()];
            if !tables.left.loops.contains(cycle, block) || *known >= given_up {
                break;
            }
            *known = given_up;
            let is_left = |at: Block| is_inside && at != block || !tables.left.loops.contains(cycle, at);
            self.diverge_uses(block, branch, is_left, |from, to| is_left(from) || is_left(to));
        }
    }
}

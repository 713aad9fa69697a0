//! Branches ahead of which an expression is evaluated by speculation: the cycles that this saves on
//! executed paths, and those that it costs.
//!
//! ```text
//! 1 ─▶ 2: x + y ─▶ 6 ─▶ 7: x + y   benefit of 6: 1-2-6-7, which evaluates once instead of twice
//!  └─▶ 3 ────────▶┘ └─▶ 8          cost of 6:    1-3-6-8, which evaluates for nothing
//! ```
//!
//! On a path the expression is *anticipated* at a node if an evaluation further on is hoisted
//! there, and *removable* if that evaluation goes on from there, backward, to where the value is
//! available.
//!
//! 1. With all branches open, find which paths are anticipated and removable where, or may be, as
//!    they end or begin at a back edge that the evaluation passes. A branch at which no frequent
//!    path is both is closed without more work, unless warps pay.
//! 2. Take the other branches, the last first. Open with a branch the earlier ones at which its
//!    benefiting paths are anticipated; evaluations stop at all others.
//! 3. Count evaluations on each path before and after: frequent paths that lose one benefit, those
//!    that gain one pay. An infrequent path pays if it passes one of these branches without needing
//!    the value.
//! 4. Enable these branches together if that is worth it, else close the branch.
//! 5. Weigh closed branches again after others have been enabled.
//!
//! Step 1 asks for little, since fewer open branches only make both sets smaller.
//!
//! Cost: O(branches · region · paths / 64). Limits: [`MOST_SPLITS`] branches; two branches that pay
//! only together stay closed.
//!
//! Source: Gupta, Berson and Fang 1997, section 3 and figure 11.

use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use super::region::{Hoisted, Lanes, Placement, Region};
use crate::pass::support::path_guided::balance::{Balance, executions};
use crate::pass::support::path_guided::nodes::Nodes;
use crate::pass::support::path_guided::path_sets::{PathSets, add, add_difference, are_disjoint, keep};
use crate::pass::support::path_guided::paths::Paths;

/// Further branches of a region stay closed.
const MOST_SPLITS: usize = 64;

/// Decision about a branch. Frequencies are executions of paths, products with times are cycles.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Decision {
    /// The branch, by member.
    pub split: usize,
    /// It and the branches that are enabled with it.
    pub together: Vec<usize>,
    /// Evaluations that frequent paths lose.
    pub benefit_paths: f64,
    /// Evaluations that paths gain.
    pub cost_paths: f64,
    pub benefit: f64,
    pub cost: f64,
}

impl Decision {
    /// Whether the benefit exceeds the cost.
    pub fn is_worth_it(&self) -> bool {
        self.benefit > self.cost
    }
}

/// A weighed branch, for inspection.
pub(super) struct Weighing<'a> {
    pub decision: &'a Decision,
    pub paths: &'a Paths,
    /// Evaluations on each path before and after.
    pub executions: (&'a [u32], &'a [u32]),
    /// Paths that pay unless they are frequent.
    pub rare: &'a FixedBitSet,
    /// The sets with these branches enabled.
    pub sets: &'a Sets,
}

/// A region of one expression with the executed paths.
#[derive(Clone, Copy)]
pub(super) struct Guided<'a> {
    pub region: &'a Region,
    pub paths: &'a Paths,
    /// Cycles of an evaluation.
    pub cycles: f64,
    /// The solution without speculation.
    pub always: &'a Hoisted,
    /// Whether warps pay, to which branches without a benefit matter as well.
    pub is_by_warp: bool,
    /// Whether all branches are weighed, for inspection.
    pub is_complete: bool,
}

impl Guided<'_> {
    /// Decides on every branch: the enabled ones, and the decisions. `is_worth_it` gets a decision
    /// with the places of evaluations.
    pub fn decide(
        self,
        is_worth_it: &mut dyn FnMut(&Decision, &Placement) -> bool,
        observe: &mut dyn FnMut(&Weighing<'_>),
    ) -> (Vec<Lanes>, Vec<Decision>) {
        let Guided { region, paths, always, .. } = self;
        let count = region.members.len();
        let mut enabled = region.none();
        let mut decisions: Vec<Decision> = Vec::new();
        // Ahead of other branches nothing is ever available, and no path would benefit.
        let mut open: Vec<Lanes> = region.members.iter().map(|member| member.split).collect();
        if (0..count).all(|place| open[place] & !always.exit[place] == 0) {
            return (enabled, decisions);
        }
        open.iter_mut().zip(region.leading_to_available()).for_each(|(open, leads)| *open &= leads);
        let splits: Vec<usize> = (0..count).rev().filter(|&place| open[place] != 0).collect();
        splits.iter().skip(MOST_SPLITS).for_each(|&place| open[place] = 0);
        let possible = self.sets(&region.hoisted(&open), true);
        let mut undecided: Vec<usize> = splits.into_iter().take(MOST_SPLITS).collect();
        undecided.retain(|&split| always.exit[split] == 0 && (self.is_complete || self.may_pay(&possible, split)));
        loop {
            let mut stopping = Vec::new();
            let mut is_open_again = false;
            for &split in &undecided {
                if enabled[split] != 0 {
                    continue;
                }
                let Some(weighed) = self.weigh(&enabled, &open, split) else {
                    open[split] = 0;
                    stopping.push(split);
                    continue;
                };
                let Weighed { decision, placement, before, after, rare, sets, .. } = &weighed;
                observe(&Weighing { decision, paths, executions: (before, after), rare, sets });
                decisions.retain(|decision| decision.split != split);
                if weighed.may_pay && is_worth_it(decision, placement) {
                    is_open_again |= !stopping.is_empty();
                    enabled.clone_from(&weighed.enabled);
                } else {
                    open[split] = 0;
                    stopping.push(split);
                }
                decisions.push(weighed.decision);
            }
            // Branches enabled since may bring the value to one that did not pay.
            if !is_open_again {
                return (enabled, decisions);
            }
            stopping.iter().for_each(|&place| open[place] = 1);
            undecided = stopping;
        }
    }

    fn sets(self, hoisted: &Hoisted, passes_back_edges: bool) -> Sets {
        Sets::of(self.region, self.paths, hoisted, self.always, passes_back_edges)
    }

    /// Whether a frequent path is in both sets at a branch.
    fn may_pay(self, possible: &Sets, split: usize) -> bool {
        let mut set = possible.exit_anticipated.set(split);
        set.intersect_with(&possible.entry_removable.set(split));
        self.is_by_warp || set.minimum().is_some_and(|path| path < self.paths.frequent)
    }

    /// Weighs a branch with some enabled and others open. None if no evaluation would be hoisted
    /// past it, or if none of its paths can benefit.
    fn weigh(self, enabled: &[Lanes], open: &[Lanes], split: usize) -> Option<Weighed> {
        let Guided { region, paths, cycles, .. } = self;
        let count = region.members.len();
        let with_earlier: Vec<Lanes> =
            (0..count).map(|place| enabled[place] | if place <= split { open[place] } else { 0 }).collect();
        let hoisted = region.hoisted(&with_earlier);
        if hoisted.exit[split] == 0 {
            return None;
        }
        let may_pay = self.is_by_warp || self.may_pay(&self.sets(&hoisted, true), split);
        if !may_pay && !self.is_complete {
            return None;
        }
        let sets = self.sets(&hoisted, false);
        let mut benefiting = sets.exit_anticipated.set(split);
        benefiting.intersect_with(&sets.entry_removable.set(split));
        let is_needed = |&place: &usize| {
            place == split
                || open[place] != 0
                    && place < split
                    && !are_disjoint(sets.exit_anticipated.at(place), benefiting.as_slice())
        };
        let together: Vec<usize> = (0..count).filter(is_needed).collect();
        let mut with_these = enabled.to_vec();
        together.iter().for_each(|&place| with_these[place] = 1);
        let before = evaluations(region, paths, &region.placement(&region.hoisted(enabled)));
        let hoisted = region.hoisted(&with_these);
        let placement = region.placement(&hoisted);
        let after = evaluations(region, paths, &placement);
        let sets = self.sets(&hoisted, false);
        // Of paths that are not frequent only that matters whether they need the value.
        let mut rare = paths.none();
        for &place in &together {
            let on = paths.on(region.members[place].node);
            add_difference(rare.as_mut_slice(), on, sets.exit_anticipated.at(place));
        }
        let Balance { benefit_paths, cost_paths } = Balance::of(paths, &before, &after, &rare);
        let (benefit, cost) = (cycles * benefit_paths, cycles * cost_paths);
        let decision = Decision { split, together, benefit_paths, cost_paths, benefit, cost };
        Some(Weighed { decision, may_pay, enabled: with_these, placement, before, after, rare, sets })
    }
}

/// A weighed branch with the change that enabling it makes.
struct Weighed {
    decision: Decision,
    may_pay: bool,
    enabled: Vec<Lanes>,
    placement: Placement,
    before: Vec<u32>,
    after: Vec<u32>,
    rare: FixedBitSet,
    sets: Sets,
}

/// The sets of paths of an expression, by member.
pub(super) struct Sets {
    /// Paths that are anticipated at the end.
    pub exit_anticipated: PathSets,
    /// Paths that are removable from the entry on, backward.
    pub entry_removable: PathSets,
}

impl Sets {
    /// The sets with evaluations hoisted so. With `passes_back_edges` those paths are added that
    /// end or begin at a back edge which the evaluation passes.
    fn of(region: &Region, paths: &Paths, hoisted: &Hoisted, always: &Hoisted, passes_back_edges: bool) -> Sets {
        let members = &region.members;
        let none = PathSets::none(paths.count(), members.len());
        let (mut entry_anticipated, mut exit_anticipated) = (none.clone(), none.clone());
        for (place, member) in members.iter().enumerate().rev() {
            if hoisted.exit[place] != 0 {
                let set = exit_anticipated.at_mut(place);
                for next in region.next(place).flatten() {
                    match Nodes::goes_back(member.node, members[next].node) {
                        _ if hoisted.entry[next] == 0 => {}
                        false => add(set, entry_anticipated.at(next)),
                        true if passes_back_edges => add(set, paths.ends(member.node)),
                        true => {}
                    }
                }
                keep(set, paths.on(member.node));
                if always.exit[place] != 0 {
                    add(set, paths.ends(member.node));
                }
            }
            if hoisted.entry[place] != 0 {
                let from_end = if member.first == 0 { exit_anticipated.at(place) } else { paths.on(member.node) };
                entry_anticipated.at_mut(place).copy_from_slice(from_end);
            }
        }
        let mut entry_removable = none;
        let mut set: Vec<_> = paths.none().as_slice().to_vec();
        for (place, member) in members.iter().enumerate().filter(|&(place, _)| hoisted.entry[place] != 0) {
            set.fill(0);
            for way in region.ways(hoisted, place) {
                match (way.available != 0, way.before, Nodes::goes_back(way.from, member.node)) {
                    (true, _, true) => add(&mut set, paths.starts(member.node)),
                    (true, _, false) => add_difference(&mut set, paths.on(way.from), paths.ends(way.from)),
                    (false, Some(before), false) if way.hoisted != 0 => add(&mut set, entry_removable.at(before)),
                    (false, _, true) if way.hoisted != 0 && passes_back_edges => {
                        add(&mut set, paths.starts(member.node));
                    }
                    _ => {}
                }
            }
            keep(&mut set, paths.on(member.node));
            entry_removable.at_mut(place).copy_from_slice(&set);
        }
        Sets { exit_anticipated, entry_removable }
    }
}

/// Evaluations on each path, as far as they may be redundant or are inserted.
fn evaluations(region: &Region, paths: &Paths, placement: &Placement) -> Vec<u32> {
    let staying = region.members.iter().zip(&placement.staying).filter(|(_, lanes)| **lanes != 0);
    let staying = staying.map(|(member, _)| member.node);
    executions(paths, placement.inserted.iter().map(|&(node, _)| node).chain(staying))
}

//! Ahead of which branches an expression should be evaluated by speculation: what that saves on executed paths, and
//! what it costs on others.
//!
//! ```text
//! 1 ─▶ 2: x + y ─▶ 6 ─▶ 7: x + y       benefit of 6: 1-2-6-7, which evaluates once instead of twice
//!  └─▶ 3 ────────▶┘ └─▶ 8              cost of 6:    1-3-6-8, which evaluates for nothing
//! ```
//!
//! This is the weighing of partial dead code elimination, turned around. On a path the expression is *anticipated* at
//! a node if an evaluation comes to be hoisted there from further on, and *removable* if it goes on from there,
//! backward, to where the value is available. A path benefits from a branch where both hold, and pays for one where
//! neither does. To come to where the value is available, an evaluation may have to pass more branches, so these are
//! enabled together and their costs are paid together; evaluations stop at all others. What is weighed is counted on
//! each path, before and after. What is unfrequent may cost, but not benefit: it pays where it passes one of these
//! branches and does not need the value.
//!
//! A bit vector over paths for each node of the region; branches are decided one after the other, the last first,
//! each with a few passes over the region. Those that did not pay are looked at again where others have been enabled
//! since. Two branches that pay only together stay as they are.
//!
//! Source: Gupta, Berson and Fang 1997, section 3 and figure 11.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use super::hoisting::{Hoisted, Placement, Region, Way};
use crate::pass::support::path_guided::balance::{Balance, executions};
use crate::pass::support::path_guided::nodes::Nodes;
use crate::pass::support::path_guided::path_sets::{PathSets, add, add_difference, are_disjoint, keep};
use crate::pass::support::path_guided::paths::Paths;

/// Branches of a region that are decided on; evaluations stop at others.
const MOST_SPLITS: usize = 64;

/// Decision about a branch. Frequencies are executions of paths, products with times are cycles.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Decision {
    /// The branch, by member.
    pub split: usize,
    /// It and the branches that are enabled with it.
    pub together: Vec<usize>,
    /// Frequent paths that lose an evaluation.
    pub benefit_paths: f64,
    /// Paths that gain one.
    pub cost_paths: f64,
    pub benefit: f64,
    pub cost: f64,
}

impl Decision {
    /// Is it worth it?
    pub fn is_worth_it(&self) -> bool {
        self.benefit > self.cost
    }
}

/// Weights for observers.
pub(super) struct Weighing<'a> {
    pub decision: &'a Decision,
    pub paths: &'a Paths,
    /// How often each path evaluates the expression, without the branches that are enabled together and with them.
    pub executions: (&'a [u32], &'a [u32]),
    /// Paths that would pay if they were not frequent.
    pub rare: &'a FixedBitSet,
    region: &'a Region,
    hoisted: &'a Hoisted,
    always: &'a Hoisted,
}

impl Weighing<'_> {
    /// The sets where these branches are enabled.
    pub fn sets(&self) -> Sets {
        Sets::of(self.region, self.paths, self.hoisted, self.always)
    }
}

/// Decides on every branch of a region, the last first, where an evaluation takes so many cycles. `is_worth_it` hears
/// what was found, and where evaluations would stand; `look` sees all that is weighed. Gives which are enabled, and
/// the decisions.
pub(super) fn decide(
    region: &Region,
    paths: &Paths,
    cycles: f64,
    is_worth_it: &mut dyn FnMut(&Decision, &Placement) -> bool,
    look: &mut dyn FnMut(&Weighing<'_>),
) -> (Vec<bool>, Vec<Decision>) {
    let count = region.members.len();
    let nothing = vec![false; count];
    let mut open: Vec<bool> = region.members.iter().map(|member| member.is_split).collect();
    let mut decisions = Vec::new();
    if !open.contains(&true) {
        return (nothing, decisions);
    }
    let always = region.hoisted(&nothing);
    // Ahead of others nothing is ever available, and no path would benefit.
    let leads = region.leading_to_available();
    open.iter_mut().zip(&leads).for_each(|(is_open, leads)| *is_open &= leads);
    let splits: Vec<usize> = (0..count).rev().filter(|&place| open[place]).collect();
    let (first, others) = splits.split_at(splits.len().min(MOST_SPLITS));
    others.iter().for_each(|&place| open[place] = false);
    let mut enabled = nothing;
    let mut undecided = first.to_vec();
    loop {
        let mut stopping = Vec::new();
        let mut is_open_again = false;
        for split in undecided {
            if enabled[split] || always.exit[split] {
                continue;
            }
            let weighed = Weighed::of(region, paths, cycles, (&enabled, &open), split, &always);
            let is_enabled = weighed.is_some_and(|weighed| {
                look(&weighed.for_looking(region, paths, &always));
                let is_worth_it = is_worth_it(&weighed.decision, &weighed.placement);
                if is_worth_it {
                    enabled.clone_from(&weighed.enabled);
                }
                decisions.retain(|decision: &Decision| decision.split != split);
                decisions.push(weighed.decision);
                is_worth_it
            });
            if is_enabled {
                is_open_again |= !stopping.is_empty();
            } else {
                open[split] = false;
                stopping.push(split);
            }
        }
        // What has been enabled since may bring the value to a branch that did not pay while nothing did.
        if !is_open_again {
            return (enabled, decisions);
        }
        stopping.iter().for_each(|&place| open[place] = true);
        undecided = stopping;
    }
}

/// A branch with what enabling it would change.
struct Weighed {
    decision: Decision,
    enabled: Vec<bool>,
    hoisted: Hoisted,
    placement: Placement,
    before: Vec<u32>,
    after: Vec<u32>,
    rare: FixedBitSet,
}

impl Weighed {
    /// Decides with some branches enabled and others open. Nothing if no evaluation would be hoisted past the branch.
    fn of(
        region: &Region,
        paths: &Paths,
        cycles: f64,
        (enabled, open): (&[bool], &[bool]),
        split: usize,
        always: &Hoisted,
    ) -> Option<Weighed> {
        let count = region.members.len();
        let with_earlier: Vec<bool> = (0..count).map(|place| enabled[place] || place <= split && open[place]).collect();
        let hoisted = region.hoisted(&with_earlier);
        if !hoisted.exit[split] {
            return None;
        }
        let sets = Sets::of(region, paths, &hoisted, always);
        let mut benefiting = sets.exit_anticipated.set(split);
        benefiting.intersect_with(&sets.entry_removable.set(split));
        let is_needed = |&place: &usize| {
            place == split
                || open[place] && place < split && !are_disjoint(sets.exit_anticipated.at(place), benefiting.as_slice())
        };
        let together: Vec<usize> = (0..count).filter(is_needed).collect();
        let mut with_these = enabled.to_vec();
        together.iter().for_each(|&place| with_these[place] = true);
        let hoisted = region.hoisted(&with_these);
        let before = evaluations(region, paths, &region.placement(&region.hoisted(enabled)));
        let placement = region.placement(&hoisted);
        let after = evaluations(region, paths, &placement);
        // Of paths that are not frequent only that matters whether they need the value.
        let mut rare = paths.none();
        if paths.frequent < paths.frequencies.len() {
            let sets = Sets::of(region, paths, &hoisted, always);
            for &place in &together {
                let mut here = paths.set_on(region.members[place].node);
                here.difference_with(&sets.exit_anticipated.set(place));
                rare.union_with(&here);
            }
        }
        let Balance { benefit_paths, cost_paths } = Balance::of(paths, &before, &after, &rare);
        let (benefit, cost) = (cycles * benefit_paths, cycles * cost_paths);
        let decision = Decision { split, together, benefit_paths, cost_paths, benefit, cost };
        Some(Weighed { decision, enabled: with_these, hoisted, placement, before, after, rare })
    }

    fn for_looking<'a>(&'a self, region: &'a Region, paths: &'a Paths, always: &'a Hoisted) -> Weighing<'a> {
        let executions = (&self.before[..], &self.after[..]);
        let (decision, rare, hoisted) = (&self.decision, &self.rare, &self.hoisted);
        Weighing { decision, paths, executions, rare, region, hoisted, always }
    }
}

/// The sets of paths of an expression, by member.
pub(super) struct Sets {
    /// Anticipated at the exit.
    pub exit_anticipated: PathSets,
    /// Removable from the entry on, backward.
    pub entry_removable: PathSets,
}

impl Sets {
    /// Weighs an evaluation that is hoisted as given.
    fn of(region: &Region, paths: &Paths, hoisted: &Hoisted, always: &Hoisted) -> Sets {
        let members = &region.members;
        let none = || PathSets::none(paths.count(), members.len());
        let (mut entry_anticipated, mut exit_anticipated) = (none(), none());
        for (place, member) in members.iter().enumerate().rev() {
            if hoisted.exit[place] {
                let set = exit_anticipated.at_mut(place);
                for next in region.next(place).flatten() {
                    if hoisted.entry[next] && !Nodes::goes_back(member.node, members[next].node) {
                        add(set, entry_anticipated.at(next));
                    }
                }
                keep(set, paths.on(member.node));
                if always.exit[place] {
                    add(set, paths.ends(member.node));
                }
            }
            if hoisted.entry[place] {
                entry_anticipated.at_mut(place).copy_from_slice(match member.first {
                    Some(_) => paths.on(member.node),
                    None => exit_anticipated.at(place),
                });
            }
        }
        let mut entry_removable = none();
        let mut set: Vec<_> = paths.none().as_slice().to_vec();
        for (place, member) in members.iter().enumerate().filter(|&(place, _)| hoisted.entry[place]) {
            set.fill(0);
            for (node, way) in region.ways(hoisted, place) {
                match (way, Nodes::goes_back(node, member.node)) {
                    (Way::Available(_), true) => add(&mut set, paths.starts(member.node)),
                    (Way::Available(_), false) => add_difference(&mut set, paths.on(node), paths.ends(node)),
                    (Way::Hoisted(before), false) => add(&mut set, entry_removable.at(before)),
                    (Way::Hoisted(_), true) | (Way::End, _) => {}
                }
            }
            keep(&mut set, paths.on(member.node));
            entry_removable.at_mut(place).copy_from_slice(&set);
        }
        Sets { exit_anticipated, entry_removable }
    }
}

/// How often each path evaluates the expression, where it may be redundant or is inserted.
fn evaluations(region: &Region, paths: &Paths, placement: &Placement) -> Vec<u32> {
    let staying = placement.staying.iter().map(|&place| region.members[place].node);
    executions(paths, placement.inserted.iter().copied().chain(staying))
}

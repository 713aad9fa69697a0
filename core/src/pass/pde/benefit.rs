//! Joins that a statement passes under a predicate: the cycles that this saves on executed paths,
//! and those that it costs.
//!
//! ```text
//! 1 ─▶ 2: x = s ─▶ 4 ─▶ 5 ─▶ 8: uses x         benefit of 4: 1-2-4-6, which loses s      100 · T[s]
//!  └─▶ 3: x = 0 ─▶┘└─▶ 6: x = 1                cost of 4:    1-3-4-5-8, which gains p? s   50 · T[p?s]
//! ```
//!
//! On a path the statement is *available* at a node if it arrives there, and *removable* if the
//! path goes on from there to where the result is dead, past nothing that stops the statement.
//!
//! 1. With all joins open, find where the statement is delayed and which paths are available and
//!    removable there.
//! 2. Take the joins in node order. One past which no frequent path is both is closed without more
//!    work.
//! 3. Open with the join all later ones that its benefiting paths pass; a statement stops at the
//!    others.
//! 4. Count executions on each path before and after: frequent paths that lose one benefit, those
//!    that gain one pay. An infrequent path pays if it passes one of these joins without the
//!    statement.
//! 5. Take from the benefit as many executions as may be last trips of loops (below).
//! 6. Enable these joins together if benefit exceeds cost, else close the join.
//!
//! Paths are acyclic, so they do not always tell where the statement goes. Out of a loop it is
//! executed after the last trip:
//!
//! ```text
//! 1: x = s ─▶ 2 ─▶ 4 ─▶ 5 ─▶ 6 ─▶ 7: uses x    1 2 4 5 is executed 95 times, 10 of them before 6 7: these lose nothing
//! └◀────────────────────┘                      6 7 is executed 15 times: 5 of them gain an execution
//! ```
//!
//! Executions that one path gains may be those that another loses, if paths end before the exit, begin
//! where the statement may have come along another path, or are only estimated: as many are taken from
//! the benefit, the worst case. The paper's section 2.1.3 takes nothing away;
//! [`Decision::printed_paths`] is its count.
//!
//! Sound: step 2 closes no join that could pay, because fewer open joins only make both sets
//! smaller.
//!
//! Cost: O(joins · region · paths / 64), with at most [`MOST_JOINS`] joins; statements stop at
//! others.
//!
//! Source: Gupta, Berson and Fang 1997, sections 2.1.1 to 2.1.3, figures 4 and 7. As printed,
//! X-AVAIL negates too much (it is ¬BLOCK ∧ N-AVAIL), the cost of a join leaves out that of the
//! joins that its benefit needs, and what enables those later is not weighed; `rule=printed`
//! decides so all the same.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use super::region::{Delayed, Flags, Landing, Landings, Region};
use super::sets::Sets;
use crate::pass::support::path_guided::balance::{Balance, executions};
use crate::pass::support::path_guided::nodes::Nodes;
use crate::pass::support::path_guided::path_sets::{add, add_common, add_difference, are_disjoint, is_none, take_away};
use crate::pass::support::path_guided::paths::Paths;

/// Further joins of a region stay closed.
const MOST_JOINS: usize = 64;

/// Cycles of one execution.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Times {
    /// `T[s]`.
    pub statement: f64,
    /// T[p?s], with a false p.
    pub predicated: f64,
    /// `T[p]`, setting the predicate; 0 if the program has one.
    pub predicate: f64,
}

/// Decision about a join. Frequencies are executions of paths, products with times are cycles.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Decision {
    /// The join, by member.
    pub join: usize,
    /// The join, and those that are enabled with it.
    pub together: Vec<usize>,
    /// Executions that frequent paths lose.
    pub benefit_paths: f64,
    /// Executions under a predicate that paths gain.
    pub cost_paths: f64,
    pub benefit: f64,
    pub cost: f64,
    /// Executions that frequent paths would lose if no last trip of a loop needed the result, as
    /// the paper counts.
    pub printed_paths: f64,
    /// Cycles of [`Decision::printed_paths`].
    pub printed_benefit: f64,
}

impl Decision {
    /// Whether the benefit exceeds the cost.
    pub fn is_worth_it(&self) -> bool {
        self.benefit > self.cost
    }
}

/// A weighed join, for inspection.
pub(super) struct Weighing<'a> {
    pub decision: &'a Decision,
    pub times: Times,
    /// Executions on each path before and after; empty by the printed rule, which asks the sets.
    pub executions: (&'a [u32], &'a [u32]),
    /// Paths that pay unless they are frequent.
    pub rare: &'a FixedBitSet,
    /// The sets with these joins enabled.
    pub sets: &'a Sets,
}

/// Rules of the decisions.
#[derive(Clone, Copy)]
pub(super) struct DecisionRules {
    /// Whether a join is weighed as printed in the paper.
    pub is_printed: bool,
    /// Whether joins without a benefit are weighed as well, for inspection.
    pub is_complete: bool,
}

/// A statement's region with the executed paths.
#[derive(Clone, Copy)]
pub(super) struct Guided<'a> {
    pub region: &'a Region,
    pub nodes: &'a Nodes,
    pub paths: &'a Paths,
    /// The solution with no join enabled.
    pub always: &'a Delayed,
}

/// Solution with the joins that are enabled so far.
struct SoFar {
    delayed: Delayed,
    landings: Landings,
    executions: Vec<u32>,
}

impl Guided<'_> {
    /// Decides on every join. `times` is asked with the solution and its landings; `observe` gets
    /// every weighed join.
    pub fn decide(
        self,
        rules: DecisionRules,
        mut times: impl FnMut(&Delayed, &[Landing]) -> Times,
        observe: &mut dyn FnMut(&Weighing<'_>),
    ) -> (Flags, Vec<Decision>) {
        let Guided { region, always, .. } = self;
        let count = region.members.len();
        let mut enabled = region.no_flags();
        let mut decisions = Vec::new();
        let mut open: Flags = region.members.iter().map(|member| member.is_join).collect();
        if !(0..count).any(|place| open[place] && !always.entry[place]) {
            return (enabled, decisions);
        }
        // Past other joins nothing is ever dropped, and no path would benefit.
        let leads_to_dead = region.leading_to_dead(&region.delayed(&open));
        open.iter_mut().zip(&leads_to_dead).for_each(|(is_open, leads)| *is_open &= leads);
        let joins: Vec<usize> = (0..count).filter(|&place| open[place]).collect();
        joins.iter().skip(MOST_JOINS).for_each(|&place| open[place] = false);
        let skips = !rules.is_printed && !rules.is_complete;
        let mut so_far = None;
        for &join in joins.iter().take(MOST_JOINS) {
            let current = so_far.get_or_insert_with(|| self.so_far(always.clone()));
            // With the joins enabled so far it may arrive on all edges; the printed rule ignores
            // that.
            if enabled[join] || if rules.is_printed { always.entry[join] } else { current.delayed.entry[join] } {
                continue;
            }
            let Some(weighed) = self.weigh(rules, (&enabled, &open), join, current) else { continue };
            if skips && weighed.balance.benefit_paths == 0.0 {
                open[join] = false;
                continue;
            }
            let times = times(&weighed.delayed, &weighed.landings);
            let decision = self.decision(&weighed, current, times, rules, join);
            let executions: (&[u32], &[u32]) =
                if rules.is_printed { (&[], &[]) } else { (&current.executions, &weighed.executions) };
            let (rare, sets) = (&weighed.rare, &weighed.sets);
            observe(&Weighing { decision: &decision, times, executions, rare, sets });
            if decision.is_worth_it() {
                decision.together.iter().for_each(|&place| enabled[place] = true);
                so_far = Some(if rules.is_printed {
                    // Sinking goes on at every later join, as long as something is removable.
                    let is_passed = |place: &usize| open[*place] && *place > join && weighed.delayed.entry[*place];
                    let is_removable = |place: &usize| !is_none(weighed.sets.exit_removable.at(*place));
                    (0..count).filter(is_passed).filter(is_removable).for_each(|place| enabled[place] = true);
                    self.so_far(region.delayed(&enabled))
                } else {
                    let Weighed { delayed, landings, executions, .. } = weighed;
                    SoFar { delayed, landings, executions }
                });
            } else {
                open[join] = false;
            }
            if decision.printed_paths > 0.0 {
                decisions.push(decision);
            }
        }
        (enabled, decisions)
    }

    fn so_far(self, delayed: Delayed) -> SoFar {
        let landings = self.region.landings(&delayed, self.always);
        let executions = self.executions(&landings);
        SoFar { delayed, landings, executions }
    }

    fn executions(self, landings: &[Landing]) -> Vec<u32> {
        executions(self.paths, landings.iter().filter(|landing| landing.is_live).map(|landing| landing.node))
    }

    /// Counts the paths that lose and gain an execution if a join is enabled. None if the statement
    /// does not arrive there.
    fn weigh(
        self,
        rules: DecisionRules,
        (enabled, open): (&Flags, &Flags),
        join: usize,
        current: &SoFar,
    ) -> Option<Weighed> {
        let Guided { region, paths, always, .. } = self;
        let count = region.members.len();
        let with_later: Flags = (0..count).map(|place| enabled[place] || place >= join && open[place]).collect();
        let mut delayed = region.delayed(&with_later);
        if !delayed.entry[join] {
            return None;
        }
        let mut sets = Sets::of(region, paths, &delayed, always);
        let mut benefiting = paths.none();
        sets.benefiting(join, &mut benefiting);
        let mut together = vec![join];
        let mut rare = paths.none();
        if rules.is_printed {
            // Everything else counts as if statements passed every join.
            let mut paying = paths.set_on(region.members[join].node);
            take_away(paying.as_mut_slice(), sets.exit_available.at(join));
            take_away(paying.as_mut_slice(), sets.exit_removable.at(join));
            self.add_rare(&together, &sets, &mut rare);
            let balance = Balance {
                benefit_paths: paths.frequency(&benefiting, true),
                cost_paths: paths.frequency(&paying, true) + paths.frequency(&rare, false)
                    - paths.frequency(&rare, true),
            };
            let landings = region.landings(&delayed, always);
            return Some(Weighed { together, balance, delayed, landings, executions: Vec::new(), sets, rare });
        }
        let needs =
            |&place: &usize| open[place] && !are_disjoint(sets.entry_available.at(place), benefiting.as_slice());
        together.extend((join + 1..count).filter(needs));
        let mut with_these = enabled.clone();
        together.iter().for_each(|&place| with_these[place] = true);
        if with_these != with_later {
            delayed = region.delayed(&with_these);
            sets = Sets::of(region, paths, &delayed, always);
        }
        let landings = region.landings(&delayed, always);
        let executions = self.executions(&landings);
        self.add_rare(&together, &sets, &mut rare);
        let balance = Balance::of(paths, &current.executions, &executions, &rare);
        Some(Weighed { together, balance, delayed, landings, executions, sets, rare })
    }

    /// Paths that pass one of the joins without the statement.
    fn add_rare(self, joins: &[usize], sets: &Sets, rare: &mut FixedBitSet) {
        for &place in joins {
            let on = self.paths.on(self.region.members[place].node);
            add_difference(rare.as_mut_slice(), on, sets.exit_available.at(place));
        }
    }

    fn decision(self, weighed: &Weighed, current: &SoFar, times: Times, rules: DecisionRules, join: usize) -> Decision {
        let Balance { mut benefit_paths, cost_paths } = weighed.balance;
        let mut printed_paths = benefit_paths;
        if !rules.is_printed && benefit_paths > 0.0 {
            let (told, open) = self.last_trips(weighed, current);
            printed_paths += told;
            benefit_paths -= open.min(benefit_paths);
        }
        let saved = times.statement - times.predicate;
        Decision {
            join,
            together: weighed.together.clone(),
            benefit_paths,
            cost_paths,
            benefit: saved * benefit_paths,
            cost: (times.predicated + times.predicate) * cost_paths,
            printed_paths,
            printed_benefit: saved * printed_paths,
        }
    }

    /// Executions of frequent paths that take the statement out of a loop and need it there, and
    /// executions that seem to be gained and may be such.
    fn last_trips(self, weighed: &Weighed, current: &SoFar) -> (f64, f64) {
        let Guided { region, nodes, paths, always } = self;
        let Weighed { delayed, landings, executions, sets, rare, .. } = weighed;
        let mut gaining = rare.clone();
        gaining.set_range(..paths.frequent, false);
        let counts = current.executions.iter().zip(executions).enumerate().take(paths.frequent);
        gaining.extend(counts.filter(|(_, (before, after))| after > before).map(|(path, _)| path));
        // Paths that begin where the statement arrives on some edges.
        let mut open = paths.none();
        for (place, member) in region.members.iter().enumerate() {
            if delayed.entry[place] && !always.entry[place] {
                add(open.as_mut_slice(), paths.starts(member.node));
            }
        }
        let mut told = paths.none();
        for landing in landings {
            let is_new = landing.is_live && landing.is_partial && !current.landings.contains(landing);
            let leaves_loop = |place: usize| nodes.is_out_of_loop(landing.node, region.members[place].node);
            if is_new && region.occurrences().any(|(place, _)| leaves_loop(place)) {
                if paths.estimated.is_some() {
                    add(open.as_mut_slice(), paths.on(landing.node));
                }
                let available = if landing.at_exit { &sets.exit_available } else { &sets.entry_available };
                add_common(told.as_mut_slice(), available.at(landing.place), paths.on(landing.node));
            }
        }
        open.intersect_with(&gaining);
        (paths.frequency(&told, true), paths.frequency(&open, false))
    }
}

/// A join with the change that enabling it makes.
struct Weighed {
    together: Vec<usize>,
    balance: Balance,
    delayed: Delayed,
    landings: Landings,
    /// Executions on each path; empty by the printed rule.
    executions: Vec<u32>,
    sets: Sets,
    rare: FixedBitSet,
}

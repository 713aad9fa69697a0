//! Which joins a statement should pass with a predicate: what that saves on executed paths, and what it costs on others.
//!
//! ```text
//! 1 ─▶ 2: x = s ─▶ 4 ─▶ 5 ─▶ 8: uses x         benefit of 4: 1-2-4-6, which loses s      100 · T[s]
//!  └─▶ 3: x = 0 ─▶┘└─▶ 6: x = 1                cost of 4:    1-3-4-5-8, which gains p? s   50 · T[p?s]
//! ```
//!
//! On a path the statement is *available* at a node if it has come there with it, and *removable* if it goes on from there
//! to where its destination is dead. A path benefits from a join on which both hold, and pays for one on which neither
//! does: there the predicated statement is executed for nothing. To reach where the destination is dead, a benefiting path
//! may have to pass more joins, so these are enabled together and their costs are paid together; a statement is stopped at
//! all others. What is weighed is counted on each path, before and after: for one join these are the sets of the paper, but a
//! path may pay in two places, and benefit from a join that is enabled for another's sake. What is unfrequent may cost, but
//! not benefit: it pays where it passes one of these joins and the statement does not come with it.
//!
//! Paths do not always tell where the statement goes. Out of a loop it is executed after the last trip, in place of that
//! trip's execution:
//!
//! ```text
//! 1: x = s ─▶ 2 ─▶ 4 ─▶ 5 ─▶ 6 ─▶ 7: uses x    1 2 4 5 is executed 95 times, 10 of them before 6 7: these lose nothing
//! └◀────────────────────┘                      6 7 is executed 15 times: 5 of them gain an execution
//! ```
//!
//! Where paths go on through the loop's exit they tell its last trips. Where they end in front of it, or begin somewhere to
//! which the statement could have come on another path, or are only estimated, each execution that a path seems to gain may
//! be one that another path seems to lose: as many are taken from the benefit, which is what it is in the worst case. The
//! paper's section 2.1.3 takes nothing away; what it would count is told beside ([`Decision::printed_paths`]).
//!
//! A bit vector over paths for each node of the region, so that it costs as much as there are *executed* paths; joins are
//! decided one after the other, each with two passes over the region. Where the statement is delayed past all joins that
//! may still be passed only gets less from join to join, so that it is not found anew. Most joins are not weighed: one pass
//! tells in front of which it lands on a path that could come to no new landing, and past others no path loses anything. One to
//! which the statement comes on all ways with those enabled so far is passed anyhow.
//!
//! Source: Gupta, Berson and Fang 1997, sections 2.1.1 to 2.1.3, figures 4 and 7. As printed, X-AVAIL negates too much (it is
//! ¬BLOCK ∧ N-AVAIL), the cost of a join leaves out that of the joins that its benefit needs, and what enables those later
//! is not weighed; `rule=printed` decides so all the same.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::{Block as Word, FixedBitSet};
use smallvec::{SmallVec, smallvec};

use super::region::{Delayed, Flags, Landing, Landings, Region};
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::path_sets::{
    PathSets, add, add_common, add_difference, are_disjoint, is_none, keep, ones, take_away,
};
use crate::pass::path_guided::paths::Paths;

/// Sets of paths have any number of words.
const ANY: usize = 0;

/// Joins of a region that are decided on; statements stop at others.
const MOST_JOINS: usize = 64;

/// Cycles of one execution.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Times {
    /// T[s].
    pub statement: f64,
    /// T[p?s], where p is false.
    pub predicated: f64,
    /// T[p], setting the predicate; 0 where the program has one.
    pub predicate: f64,
}

/// Decision about a join. Frequencies are executions of paths, products with times are cycles.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Decision {
    /// The join, by member.
    pub join: usize,
    /// It and the joins that are enabled with it.
    pub together: Vec<usize>,
    /// Frequent paths that lose an execution.
    pub benefit_paths: f64,
    /// Paths that gain a predicated one.
    pub cost_paths: f64,
    pub benefit: f64,
    pub cost: f64,
    /// Frequent paths that would lose one if no last trip of a loop needed it behind the loop, as the paper counts them.
    pub printed_paths: f64,
    /// And their cycles.
    pub printed_benefit: f64,
}

impl Decision {
    /// Is it worth it?
    pub fn is_worth_it(&self) -> bool {
        self.benefit > self.cost
    }
}

/// The sets of paths of a statement, by member.
pub(super) struct Sets {
    /// Available at the entry.
    pub entry_available: PathSets,
    /// Available at the exit.
    pub exit_available: PathSets,
    /// Removable from the exit on.
    pub exit_removable: PathSets,
}

impl Sets {
    /// Weighs a statement that is delayed as given, in the buffers of others.
    pub fn of(
        (region, paths): (&Region, &Paths),
        delayed: &Delayed,
        always: &Delayed,
        memory: &mut Vec<PathSets>,
    ) -> Sets {
        // Mostly there are few paths, and a set is one word.
        match paths.tables()[0].width() {
            1 => Sets::of_width::<1>((region, paths), delayed, always, memory),
            _ => Sets::of_width::<ANY>((region, paths), delayed, always, memory),
        }
    }

    /// Weighs sets of `WIDTH` words, or [`ANY`] number of them.
    fn of_width<const WIDTH: usize>(
        (region, paths): (&Region, &Paths),
        delayed: &Delayed,
        always: &Delayed,
        memory: &mut Vec<PathSets>,
    ) -> Sets {
        let members = &region.members;
        let mut unwritten = || PathSets::unwritten(paths.count(), members.len(), memory.pop().unwrap_or_default());
        let mut tables: [PathSets; 4] = core::array::from_fn(|_| unwritten());
        let width = if WIDTH == ANY { tables[0].width() } else { WIDTH };
        let [on, starts, ends] = paths.tables().map(|table| table.rows(width));
        let [mut entry_available, mut exit_available, mut entry_removable, mut exit_removable] =
            tables.each_mut().map(|table| table.rows_mut(width));
        let (delayed_entry, delayed_exit) = (&delayed.entry[..], &delayed.exit[..]);
        for (place, member) in members.iter().enumerate() {
            let set = entry_available.at_mut(place);
            set.fill(0);
            if delayed_entry[place] {
                for way in region.ways_to(place) {
                    let before = way.member();
                    if delayed_exit[before] && before < place {
                        add_common(set, exit_available.at(before), on.at(way.leaving()));
                    }
                }
                keep(set, on.at(member.node));
                if always.entry[place] {
                    add(set, starts.at(member.node));
                }
            }
            let exit = exit_available.at_mut(place);
            match (delayed_exit[place], member.occurrence) {
                (true, Some(_)) => exit.copy_from_slice(on.at(member.node)),
                (true, None) => exit.copy_from_slice(set),
                (false, _) => exit.fill(0),
            }
        }
        for (place, member) in members.iter().enumerate().rev() {
            let set = exit_removable.at_mut(place);
            set.fill(0);
            if delayed_exit[place] {
                for way in region.ways_from(place) {
                    let (next, leaving) = (way.member(), way.leaving());
                    let to = &members[next];
                    match (next <= place, to.is_dead) {
                        (true, true) => add(set, ends.at(leaving)),
                        (true, false) => {}
                        // What begins at the next node has not come there.
                        (false, true) => {
                            let coming = on.at(to.node).iter().zip(starts.at(to.node)).map(|(on, starts)| on & !starts);
                            let coming = coming.zip(on.at(leaving)).map(|(coming, leaving)| coming & leaving);
                            set.iter_mut().zip(coming).for_each(|(set, coming)| *set |= coming);
                        }
                        (false, false) => add_common(set, entry_removable.at(next), on.at(leaving)),
                    }
                }
                keep(set, on.at(member.node));
                if region.ways_from(place).is_empty() {
                    add(set, on.at(member.node));
                }
            }
            let entry = entry_removable.at_mut(place);
            match (delayed_entry[place], member.is_dead, member.stop.is_none()) {
                (true, true, _) => entry.copy_from_slice(on.at(member.node)),
                (true, false, true) => entry.copy_from_slice(set),
                _ => entry.fill(0),
            }
        }
        let [entry_available, exit_available, entry_removable, exit_removable] = tables;
        memory.push(entry_removable);
        Sets { entry_available, exit_available, exit_removable }
    }

    /// Leaves its memory to others.
    fn leave(self, memory: &mut Vec<PathSets>) {
        memory.extend([self.entry_available, self.exit_available, self.exit_removable]);
    }

    /// Paths on which the statement is available behind a join, and removable.
    fn benefiting(&self, join: usize) -> FixedBitSet {
        let mut benefiting = self.exit_available.set(join);
        keep(benefiting.as_mut_slice(), self.exit_removable.at(join));
        benefiting
    }
}

/// How often the statement is executed on each path, with a predicate or without.
fn executions(landings: &[Landing], paths: &Paths) -> Vec<u32> {
    let mut counts = vec![0; paths.frequencies.len()];
    for landing in landings.iter().filter(|landing| landing.is_live) {
        ones(paths.on(landing.node())).for_each(|path| counts[path] += 1);
    }
    counts
}

/// Executions after loops that paths do not determine.
struct LastTrips {
    /// Executions of frequent paths that take the statement out of a loop and need it there; none where nobody hears of them.
    told: f64,
    /// Executions that seem to be gained, and may be such.
    open: f64,
}

impl LastTrips {
    /// Weighs the statement delayed as given, with its sets, and the landings and those before. `gaining` are the
    /// paths that gain an execution.
    fn of(
        (region, nodes, paths): (&Region, &Nodes, &Paths),
        is_heard: bool,
        (delayed, always): (&Delayed, &Delayed),
        (before, landings): (&[Landing], &[Landing]),
        sets: &Sets,
        gaining: &FixedBitSet,
    ) -> LastTrips {
        // Paths that begin where the statement comes on some ways.
        let mut open = paths.none();
        for (place, member) in region.members.iter().enumerate() {
            if delayed.entry[place] && !always.entry[place] {
                add(open.as_mut_slice(), paths.starts(member.node));
            }
        }
        let standing = region.members.iter().filter(|member| member.occurrence.is_some());
        let standing: SmallVec<[Node; 4]> = standing.map(|member| member.node).collect();
        let mut told = paths.none();
        let is_asked = is_heard || paths.estimated.is_some();
        for landing in landings.iter().filter(|_| is_asked) {
            let node = landing.node();
            let is_new = landing.is_live && landing.is_partial && !before.contains(landing);
            if is_new && standing.iter().any(|&inside| nodes.is_out_of_loop(node, inside)) {
                if paths.estimated.is_some() {
                    add(open.as_mut_slice(), paths.on(node));
                }
                let available = if landing.at_exit { &sets.exit_available } else { &sets.entry_available };
                add_common(told.as_mut_slice(), available.at(landing.member()), paths.on(node));
            }
        }
        open.intersect_with(gaining);
        LastTrips { told: paths.frequency(&told, true), open: paths.frequency(&open, false) }
    }
}

/// How a join was weighed, for whoever looks on.
pub(super) struct Weighing<'a> {
    pub decision: &'a Decision,
    pub times: Times,
    /// How often each path executes the statement, without it and the joins with it, and with them; empty by the printed
    /// rule, which asks the sets.
    pub executions: (&'a [u32], &'a [u32]),
    /// Paths that would pay if they were not frequent.
    pub rare: &'a FixedBitSet,
    region: &'a Region,
    paths: &'a Paths,
    delayed: &'a Delayed,
    always: &'a Delayed,
}

impl Weighing<'_> {
    /// The sets where it and the joins with it are enabled.
    pub fn sets(&self) -> Sets {
        Sets::of((self.region, self.paths), self.delayed, self.always, &mut Vec::new())
    }
}

/// How joins are decided on.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// Whether the printed rule decides.
    pub is_printed_rule: bool,
    /// Does nobody want to see joins from which no path benefits?
    pub is_brief: bool,
    /// Does somebody hear what the paper would count?
    pub is_heard: bool,
}

/// Decides on every join of a region in order. `always` is where the statement is delayed with no join enabled. Gives which
/// are enabled, and the decisions. `times` is asked where it is delayed as given and lands there; `look` sees all that are
/// weighed.
pub(super) fn decide(
    (region, nodes, always): (&Region, &Nodes, &Delayed),
    paths: &Paths,
    manner: Manner,
    mut times: impl FnMut(&Delayed, &[Landing]) -> Times,
    look: &mut dyn FnMut(&Weighing<'_>),
) -> (Flags, Vec<Decision>) {
    let Manner { is_printed_rule, is_brief, is_heard } = manner;
    let count = region.members.len();
    let mut enabled = region.no_flags();
    let mut decisions = Vec::new();
    // Where it comes to all on all ways there is nothing to decide.
    let mut ways_to_joins = region.members.iter().zip(&always.entry).filter(|(member, _)| member.is_join);
    if ways_to_joins.all(|(_, &is_always)| is_always) {
        return (enabled, decisions);
    }
    // Joins that are not decided against, and so may be passed on the way to where a statement is dead.
    let mut open: Flags = region.members.iter().map(|member| member.is_join).collect();
    // Behind others nothing is ever dropped, and no path would benefit. What is delayed if all that are enabled or open from a
    // join on may be passed is less from join to join.
    let mut with_later = open.clone();
    let mut most_delayed = region.delayed(&with_later);
    let leads_to_dead = region.leading_to_dead(&most_delayed);
    open.iter_mut().zip(&leads_to_dead).for_each(|(is_open, leads)| *is_open &= leads);
    let joins: Vec<usize> = (0..count).filter(|&place| open[place]).collect();
    joins.iter().skip(MOST_JOINS).for_each(|&place| open[place] = false);
    let closed: SmallVec<[usize; 16]> = (0..count).filter(|&place| with_later[place] && !open[place]).collect();
    closed.iter().for_each(|&place| with_later[place] = false);
    region.disable(&mut most_delayed, &with_later, closed.into_iter());
    // Nothing is passed but by these: open joins, and loops if what comes round lets it in.
    let begins = |place: &usize| !always.entry[*place] && region.before(*place).any(|before| always.exit[before]);
    let beginnings: SmallVec<[usize; 8]> = (0..count).filter(begins).collect();
    let mut so_far: Option<SoFar> = None;
    let mut promising: Option<SmallVec<[usize; 8]>> = None;
    let mut memory: Vec<PathSets> = Vec::new();
    let mut last: Option<usize> = None;
    for &join in joins.iter().take(MOST_JOINS) {
        let is_loop = |place: usize| region.members[place].is_free() && !nodes.is_join(region.members[place].node);
        let may_begin = |&place: &usize| open[place] || is_loop(place);
        if !beginnings.iter().any(may_begin) {
            break;
        }
        if let Some(last) = last.replace(join).filter(|&last| !enabled[last]) {
            with_later[last] = false;
            region.disable(&mut most_delayed, &with_later, [last].into_iter());
        }
        // With those that are enabled so far it may come to a join on all ways; the printed rule does not look at that.
        let so_far_delayed = so_far.as_ref().filter(|_| !is_printed_rule).map_or(always, |so_far| &so_far.delayed);
        if enabled[join] || so_far_delayed.entry[join] || !most_delayed.entry[join] {
            continue;
        }
        debug_assert!(
            most_delayed
                == region.delayed(
                    &(0..count).map(|place| enabled[place] || place >= join && open[place]).collect::<Flags>()
                ),
            "what was taken away is all"
        );
        // Past most joins no path could lose anything. Where debugging, they are weighed to see that.
        let mut cannot_pay = false;
        if is_brief && !is_printed_rule {
            let places = promising.get_or_insert_with(|| {
                let delayed = so_far.as_ref().map_or(always, |so_far| &so_far.delayed);
                promising_places((region, paths), delayed, &most_delayed, &mut memory)
            });
            cannot_pay = !places.iter().any(|&place| place == join || region.comes_on_all_ways(place, &most_delayed));
            if cannot_pay && !cfg!(debug_assertions) {
                if places.is_empty() {
                    break;
                }
                open[join] = false;
                continue;
            }
        }
        let current = so_far.get_or_insert_with(|| SoFar::of(region, paths, always.clone(), always));
        let fewer;
        let mut known_sets = None;
        let mut delayed = &most_delayed;
        let mut together = vec![join];
        let (mut benefit_paths, mut cost_paths);
        let (mut before, mut after): (&[u32], Vec<u32>) = (&[], Vec::new());
        let landings;
        if is_printed_rule {
            // Everything else is looked at as if statements passed every join.
            let sets = Sets::of((region, paths), delayed, always, &mut memory);
            let mut paying = paths.set_on(region.members[join].node);
            take_away(paying.as_mut_slice(), sets.exit_available.at(join));
            take_away(paying.as_mut_slice(), sets.exit_removable.at(join));
            benefit_paths = paths.frequency(&sets.benefiting(join), true);
            cost_paths = paths.frequency(&paying, true);
            sets.leave(&mut memory);
            landings = region.landings(delayed, always);
        } else {
            let later = || (join + 1..count).filter(|&place| open[place]);
            if later().next().is_some() {
                let sets = Sets::of((region, paths), delayed, always, &mut memory);
                let benefiting = sets.benefiting(join);
                together.extend(
                    later().filter(|&place| !are_disjoint(sets.entry_available.at(place), benefiting.as_slice())),
                );
                let mut with_these = enabled.clone();
                together.iter().for_each(|&place| with_these[place] = true);
                if with_these != with_later {
                    let mut less = most_delayed.clone();
                    region.disable(&mut less, &with_these, later().filter(|&place| !with_these[place]));
                    fewer = less;
                    delayed = &fewer;
                    sets.leave(&mut memory);
                } else {
                    known_sets = Some(sets);
                }
            }
            before = &current.executions;
            landings = region.landings(delayed, always);
            after = executions(&landings, paths);
            (benefit_paths, cost_paths) = paths.changes(before, &after);
            debug_assert!(!cannot_pay || benefit_paths == 0.0, "no path could lose anything past it");
        }
        if is_brief && benefit_paths == 0.0 {
            if let Some(sets) = known_sets {
                sets.leave(&mut memory);
            }
            open[join] = false;
            continue;
        }
        // Of paths that are not frequent only that matters whether the statement comes along with them.
        let sets = known_sets.unwrap_or_else(|| Sets::of((region, paths), delayed, always, &mut memory));
        let mut rare = paths.none();
        for &place in &together {
            let on = paths.on(region.members[place].node);
            add_difference(rare.as_mut_slice(), on, sets.exit_available.at(place));
        }
        cost_paths += paths.frequency(&rare, false) - paths.frequency(&rare, true);
        let mut printed_paths = benefit_paths;
        if !is_printed_rule && benefit_paths > 0.0 {
            let mut gaining = rare.clone();
            gaining.set_range(..paths.frequent, false);
            let counts = before.iter().zip(&after).enumerate().take(paths.frequent);
            gaining.extend(counts.filter(|(_, (before, after))| after > before).map(|(path, _)| path));
            let both = (&current.landings[..], &landings[..]);
            let last_trips = LastTrips::of((region, nodes, paths), is_heard, (delayed, always), both, &sets, &gaining);
            printed_paths += last_trips.told;
            benefit_paths -= last_trips.open.min(benefit_paths);
        }
        let times = times(delayed, &landings);
        let decision = Decision {
            join,
            together,
            benefit_paths,
            cost_paths,
            benefit: (times.statement - times.predicate) * benefit_paths,
            cost: (times.predicated + times.predicate) * cost_paths,
            printed_paths,
            printed_benefit: (times.statement - times.predicate) * printed_paths,
        };
        let executions = (before, &after[..]);
        look(&Weighing { decision: &decision, times, executions, rare: &rare, region, paths, delayed, always });
        if decision.is_worth_it() {
            decision.together.iter().for_each(|&place| enabled[place] = true);
            if is_printed_rule {
                // Sinking goes on at every join behind, as long as something is removable.
                let is_behind = |place: &usize| open[*place] && *place > join && delayed.entry[*place];
                let is_removable = |place: &usize| !is_none(sets.exit_removable.at(*place));
                (0..count).filter(is_behind).filter(is_removable).for_each(|place| enabled[place] = true);
                so_far = Some(SoFar::of(region, paths, region.delayed(&enabled), always));
            } else {
                so_far = Some(SoFar { delayed: delayed.clone(), landings, executions: after });
            }
            promising = None;
        } else {
            open[join] = false;
        }
        sets.leave(&mut memory);
        if decision.printed_paths > 0.0 {
            decisions.push(decision);
        }
    }
    (enabled, decisions)
}

/// Members in front of which a statement lands that could pass them, so that paths would perhaps lose an execution. `delayed`
/// is where it is delayed so far, and `most_delayed` where it is if all joins are passed that could be.
///
/// Sound: a path loses one only where the statement no longer lands in front of a member, and it comes from there to no
/// landing that is new: to none, or first to where the statement is delayed so far, so that it lands behind that as it did. If
/// it comes to a new one when all that could be is passed, it does so, or to an earlier one, when less is. A member is passed if
/// it is enabled, or if the statement comes to it on all ways.
fn promising_places(
    (region, paths): (&Region, &Paths),
    delayed: &Delayed,
    most_delayed: &Delayed,
    memory: &mut Vec<PathSets>,
) -> SmallVec<[usize; 8]> {
    match paths.tables()[0].width() {
        1 => promising_places_of_width::<1>((region, paths), delayed, most_delayed, memory),
        _ => promising_places_of_width::<ANY>((region, paths), delayed, most_delayed, memory),
    }
}

/// Handles sets of `WIDTH` words, or [`ANY`] number of them.
fn promising_places_of_width<const WIDTH: usize>(
    (region, paths): (&Region, &Paths),
    delayed: &Delayed,
    most_delayed: &Delayed,
    memory: &mut Vec<PathSets>,
) -> SmallVec<[usize; 8]> {
    let members = &region.members;
    // By member: the paths that come from its entry to a landing before they come to where it is delayed so far.
    let mut table = PathSets::unwritten(paths.count(), members.len(), memory.pop().unwrap_or_default());
    let width = if WIDTH == ANY { table.width() } else { WIDTH };
    let [on, ..] = paths.tables().map(|table| table.rows(width));
    let mut landing = table.rows_mut(width);
    let mut promising: SmallVec<[usize; 8]> = SmallVec::new();
    let mut set: SmallVec<[Word; 4]> = smallvec![0; width];
    for (place, member) in members.iter().enumerate().rev() {
        let here = on.at(member.node);
        set.fill(0);
        for way in region.ways_from(place) {
            let (next, leaving) = (way.member(), on.at(way.leaving()));
            if !most_delayed.exit[place] || members[next].is_dead {
                continue;
            }
            let goes_back = next <= place;
            if !most_delayed.entry[next] {
                add(&mut set, leaving);
            } else if !goes_back && !delayed.entry[next] {
                add_common(&mut set, landing.at(next), leaving);
            }
            let is_front = most_delayed.entry[next] && delayed.exit[place] && !delayed.entry[next];
            let is_lost = || match goes_back {
                true => !is_none(leaving),
                false => leaving.iter().zip(landing.at(next)).any(|(leaving, landing)| leaving & !landing != 0),
            };
            if is_front && !promising.contains(&next) && is_lost() {
                promising.push(next);
            }
        }
        let to = landing.at_mut(place);
        match (most_delayed.entry[place] && !member.is_dead, member.stop.is_some()) {
            (true, true) => to.copy_from_slice(here),
            (true, false) => to.iter_mut().zip(here.iter().zip(&set)).for_each(|(to, (here, set))| *to = here & set),
            (false, _) => to.fill(0),
        }
    }
    memory.push(table);
    promising
}

/// State of a statement with the joins that are enabled so far.
struct SoFar {
    delayed: Delayed,
    landings: Landings,
    executions: Vec<u32>,
}

impl SoFar {
    fn of(region: &Region, paths: &Paths, delayed: Delayed, always: &Delayed) -> SoFar {
        let landings = region.landings(&delayed, always);
        let executions = executions(&landings, paths);
        SoFar { delayed, landings, executions }
    }
}

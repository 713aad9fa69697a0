//! The search for the region that a statement could sink to, and for the gain in it.
//!
//! ```text
//! a: x = s  ─▶ b: uses x        found are a, b, c: it could sink to b, and be dropped in c, where x is dead. What lies behind
//!           └▶ c: ret           b and c is not looked at
//! ```
//!
//! The search goes on in the order of the nodes from where the statement stands, up to what stops it, to where its destination
//! is dead, and to joins to which it comes on some ways only. So it knows where the statement is delayed if it passes none of
//! these, and whether anything lies there that it would be dropped in. Mostly that is all; only where paths could lose an
//! execution past such joins ([`Walk`]), and others would not pay more in any case, it goes on behind them.
//!
//! Sound: what is looked at less is looked at by rules that are held against all that lies behind, where debugging
//! (`Planner::plans_as`).
//!
//! Linear in what is found, which are [`MOST_NODES`] nodes at most.
//!
//! Source: Gupta, Berson and Fang 1997, section 2.1 and figure 8.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::LazyCell;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::accesses::{Accesses, NOWHERE};
use super::benefit::Times;
use super::course::Standing;
use super::liveness::{Liveness, View};
use super::losing::{MOST_JOINS, Meets, Walk, Words};
use super::predicate::{self, Sides};
use super::region::{Landing, Landings, Member, NONE, Passed, Region, Way};
use super::statements::Statement;
use crate::ir::{Inst, Reg};
use crate::pass::path_guided::ascending::Ascending;
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::path_sets::{add, are_disjoint};
use crate::pass::path_guided::paths::Paths;

/// Nodes that a region may have.
const MOST_NODES: usize = 4096;

/// Sums of executions that are made in another order differ by less than this share.
const ROUNDING: f64 = 1e-9;

/// The region after a statement, if nothing has to be made of it.
pub(super) enum Behind {
    /// Nothing that it would be dropped in.
    NothingDead,
    /// Too much to look at.
    TooMuch,
    /// One of the nodes that are claimed.
    Claimed,
}

/// Gain of passing joins that a statement reaches on some paths only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gain {
    /// No path would lose an execution.
    Nothing,
    /// Paths could lose some, but others would pay more for any join.
    TooLittle,
    /// That is to be weighed.
    Open,
}

/// Buffers that a search reuses for the next.
pub(super) struct Places {
    /// Place of each node among those found, or [`PASSED`] and that among those that belong to one.
    of: Vec<u32>,
    found: Vec<Found>,
    passed: Vec<Passed>,
    /// Whether each node has one predecessor, a successor, and no path begins there. If nothing happens in it, it
    /// belongs to the other.
    may_be_passed: Vec<bool>,
    /// Does what could belong to another node belong to it? Else it is found by itself.
    is_brief: bool,
    work: Ascending,
    /// Nodes with one path to them, which leads forward, and is free: the statement reaches them, and that is all. With each is the
    /// place of the node to which it belongs.
    ahead: Vec<(u32, u32)>,
    /// The places of those found, in the order of their nodes.
    order: Vec<u32>,
    /// Paths on which the statement could be available.
    with_it: FixedBitSet,
    /// Memory for a region.
    spare: Region,
    /// Is there a join to which the statement comes on some ways only?
    pub has_partial_join: bool,
    /// Is its destination dead in any of the nodes?
    is_dead_anywhere: bool,
    /// Nodes through which it could go, had it come on all ways.
    ends: Vec<u32>,
    /// Nodes to which it comes on all ways but those that go back.
    loops: Vec<u32>,
    /// Those of them to which it does not come on one that goes back, whatever else is taken away.
    shut: Vec<u32>,
    /// Nodes to which it does not come on all ways as it does not come on one that goes back, or from one of these.
    taken: Vec<u32>,
    /// Landings, if they were requested.
    landings: Landings,
    has_landed: bool,
    /// From where it lands along paths.
    pub walk: Walk,
    /// Sides before a join.
    sides: Sides,
    /// Predicates of the program on which it depends what is told.
    pub asked: SmallVec<[Reg; 4]>,
}

/// A node that has been found.
#[derive(Clone, Copy)]
struct Found {
    node: u32,
    /// The place of the first instruction that stops the statement, or [`NOWHERE`].
    stop: u32,
    occurrence: Option<Inst>,
    is_dead: bool,
    is_reached: bool,
    /// Does it not come to the end, as it does not come on all ways?
    is_end: bool,
    /// Does it not come on a way that goes back, or from a node of which that is so?
    is_taken: bool,
    /// Is it delayed at the entry? Known when it is known where it lands.
    comes: bool,
}

impl Found {
    /// Does nothing in it keep the statement from its end?
    fn is_free(&self) -> bool {
        !self.is_dead && self.stop == NOWHERE && self.occurrence.is_none()
    }

    /// Is the statement delayed at its end?
    fn is_delayed(&self) -> bool {
        self.occurrence.is_some() || self.is_reached && self.is_free() && !self.is_end && !self.is_taken
    }
}

/// Summary of a node in which the destination is live and nothing stops the statement.
const NOTHING_HAPPENS: (bool, u32) = (false, NOWHERE);

/// Found, but not by itself.
const PASSED: u32 = 1 << 31;

impl Places {
    /// For that many nodes, and the paths over them.
    pub fn new(nodes: &Nodes, paths: Option<&Paths>) -> Places {
        let beginning = paths.filter(|paths| paths.begin_on_one_way);
        let begins = |node: Node| beginning.is_some_and(|paths| paths.any_starts(node));
        let may_be_passed = |node: Node| nodes.has_one_way(node) && !nodes.successors(node).is_empty() && !begins(node);
        Places {
            of: vec![NONE; nodes.len()],
            found: Vec::new(),
            passed: Vec::new(),
            may_be_passed: (0..nodes.len()).map(may_be_passed).collect(),
            is_brief: false,
            work: Ascending::new(nodes.len()),
            ahead: Vec::new(),
            order: Vec::new(),
            with_it: FixedBitSet::new(),
            spare: Region::default(),
            has_partial_join: false,
            is_dead_anywhere: false,
            ends: Vec::new(),
            loops: Vec::new(),
            shut: Vec::new(),
            taken: Vec::new(),
            landings: Landings::new(),
            has_landed: false,
            walk: Walk::new(nodes),
            sides: Sides::new(nodes),
            asked: SmallVec::new(),
        }
    }

    /// The nodes that were looked at in the last search.
    pub fn looked_at(&self) -> impl Iterator<Item = Node> + '_ {
        let walked = self.walk.looked_at().filter(|&node| self.of[node] == NONE);
        let passed = self.passed.iter().map(Passed::node);
        self.found.iter().map(|found| found.node as Node).chain(passed).chain(walked)
    }

    /// Takes back the memory of a region that nobody asks any more.
    pub fn reuse(&mut self, region: Region) {
        self.spare = region;
    }

    /// Was a node looked at in the last search?
    pub fn has_looked_at(&self, node: Node) -> bool {
        self.of[node] != NONE || self.walk.has_looked_at(node)
    }

    /// The place of a node that has been found, or of that to which it belongs.
    fn get(&self, node: Node) -> Option<usize> {
        match self.of[node] {
            NONE => None,
            place if place & PASSED != 0 => Some(self.passed[(place & !PASSED) as usize].member()),
            place => Some(place as usize),
        }
    }

    /// Puts in a node that is not there. Gives its place.
    fn enter(&mut self, node: Node, occurrence: Option<Inst>, (is_dead, stop): (bool, u32)) -> usize {
        let place = self.found.len();
        self.of[node] = place as u32;
        let node = node as u32;
        let (is_reached, is_end, is_taken, comes) = (false, false, false, false);
        self.found.push(Found { node, stop, occurrence, is_dead, is_reached, is_end, is_taken, comes });
        place
    }

    /// Puts in a node that is not there, and belongs to another one.
    fn pass(&mut self, node: Node, place: usize) {
        self.of[node] = PASSED | self.passed.len() as u32;
        self.passed.push(Passed { node: node as u32, place: place as u32 });
    }

    /// Does the statement come to a node on every way that does not go back?
    fn comes_on_all_ways(&self, nodes: &Nodes, node: Node) -> bool {
        let mut ways = nodes.predecessors(node).iter();
        !nodes.is_entry(node) && ways.all(|&before| Nodes::goes_back(before, node) || self.is_delayed(before))
    }

    /// Could the statement come to a node, to which edges go back, on all ways if it passed joins? Only if control comes there
    /// from a join to which it comes on some ways, or from another node that does not let it in because of a way that goes
    /// back; these lie in the loop if it is one that the statement comes to in front. `others` are these, in order.
    fn may_be_let_in(&self, nodes: &Nodes, others: &[u32], node: Node) -> bool {
        // The later a node is, the later are those from which control does not come back.
        let behind = others.partition_point(|&other| other as Node <= node);
        let comes_back = others.get(behind).is_some_and(|&other| nodes.least_behind(other as Node) <= node);
        let is_one_before = others.first().is_some_and(|&first| (first as Node) < node);
        let is_in_front = || nodes.is_loop(node) && self.comes_on_all_ways(nodes, node);
        comes_back || is_one_before && !is_in_front()
    }

    /// Nodes from which a statement could come that passes joins, or comes round loops, in order.
    fn could_let_in(&self, nodes: &Nodes) -> SmallVec<[u32; 16]> {
        let joins = self.ends.iter().filter(|&&end| nodes.is_join(end as Node));
        let mut others: SmallVec<[u32; 16]> = joins.chain(&self.shut).copied().collect();
        others.sort_unstable();
        others
    }

    /// The member of a region that a node is or to which it belongs, where the region was made of all that was found.
    pub fn member(&self, region: &Region, node: Node) -> Option<usize> {
        match self.of[node] {
            NONE => None,
            place if place & PASSED != 0 => Some(region.passed[(place & !PASSED) as usize].member()),
            place => Some(place as usize),
        }
    }

    /// Nodes that the statement is in.
    pub fn standing(&self) -> Standing {
        let standing = self.found.iter().map_while(|found| Some((found.node, found.occurrence?)));
        standing.collect()
    }

    /// Visits the nodes at whose entries it is delayed, in no order, when it is known where it lands.
    pub fn for_each_entry(&self, visit: &mut dyn FnMut(Node)) {
        self.found.iter().filter(|found| found.comes).for_each(|found| visit(found.node as Node));
        let passed = self.passed.iter().filter(|passed| self.found[passed.member()].is_delayed());
        passed.for_each(|passed| visit(passed.node()));
    }

    /// Landings if it passes no join that it reaches on some paths only, after the others were removed.
    pub fn landings(&mut self, nodes: &Nodes) -> &[Landing] {
        if core::mem::replace(&mut self.has_landed, true) {
            return &self.landings;
        }
        let mut landings = core::mem::take(&mut self.landings);
        landings.clear();
        let is_partial = false;
        for member in 0..self.found.len() {
            let Found { node, stop, is_dead, is_reached, .. } = self.found[member];
            let (node, is_live) = (node as Node, !is_dead);
            let ways = if is_reached { nodes.predecessors(node) } else { &[] };
            let comes = is_reached && !nodes.is_entry(node) && ways.iter().all(|&before| self.is_delayed(before));
            self.found[member].comes = comes;
            if !comes {
                // It lands on all ways on which it would come there.
                let ways = ways.iter().filter_map(|&before| Some((before, self.get(before)?)));
                for (node, member) in ways.filter(|&(_, member)| self.found[member].is_delayed()) {
                    let (node, member) = (node as u32, member as u32);
                    landings.push(Landing { member, node, at_exit: true, is_live, is_partial, stop: NOWHERE });
                }
            } else if is_dead || stop != NOWHERE {
                let (node, member) = (node as u32, member as u32);
                landings.push(Landing { member, node, at_exit: false, is_live, is_partial, stop });
            }
        }
        landings.sort_unstable_by_key(|landing| (landing.node, landing.at_exit));
        self.landings = landings;
        &self.landings
    }

    /// Landings that were computed before.
    pub fn landed(&self) -> &[Landing] {
        debug_assert!(self.has_landed, "it has been asked where it lands");
        &self.landings
    }

    /// Is the statement delayed at the end of a node?
    pub fn is_delayed(&self, node: Node) -> bool {
        self.get(node).is_some_and(|place| self.found[place].is_delayed())
    }

    /// Rest after it, if the statement would not be dropped in it.
    fn nothing_dead(&self) -> Option<Behind> {
        (!self.is_dead_anywhere).then_some(Behind::NothingDead)
    }

    /// Takes away where it does not come on all ways when those that go back are asked, too.
    fn take_away(&mut self, nodes: &Nodes) {
        let mut work: SmallVec<[u32; 16]> = SmallVec::new();
        for &head in &self.loops {
            let mut ways = nodes.predecessors(head as Node).iter();
            if ways.any(|&before| Nodes::goes_back(before, head as Node) && !self.is_delayed(before)) {
                work.push(head);
            }
        }
        self.shut.extend_from_slice(&work);
        while let Some(node) = work.pop() {
            let Some(place) = self.get(node as Node) else { continue };
            let is_passed = self.found[place].node != node;
            // What stops it or has it anew is passed on nowhere.
            if is_passed {
                work.extend(nodes.successors(node as Node).iter().map(|&next| next as u32));
            } else if self.found[place].is_delayed() && self.found[place].occurrence.is_none() {
                self.found[place].is_taken = true;
                self.taken.push(node);
                work.extend(nodes.successors(node as Node).iter().map(|&next| next as u32));
            }
        }
    }

    /// Forgets the last search.
    pub fn clear(&mut self) {
        // Nothing else is there without where the statement stands.
        if self.found.is_empty() {
            return;
        }
        self.work.clear();
        self.walk.clear();
        self.ends.clear();
        self.loops.clear();
        self.shut.clear();
        self.taken.clear();
        self.asked.clear();
        (self.has_partial_join, self.is_dead_anywhere, self.has_landed) = (false, false, false);
        for found in self.found.drain(..) {
            self.of[found.node as usize] = NONE;
        }
        for passed in self.passed.drain(..) {
            self.of[passed.node()] = NONE;
        }
    }
}

/// The search for what lies behind a statement, of whose destination is known where it is live behind.
pub(super) struct Search<'a, C, T> {
    pub nodes: &'a Nodes,
    pub accesses: &'a Accesses,
    pub paths: Option<&'a Paths>,
    pub liveness: &'a Liveness,
    pub lives: View<'a>,
    pub statement: &'a Statement,
    /// Times of the statement, if they decide.
    pub times: Option<T>,
    pub predicates: predicate::Search<'a>,
    /// May a node not be looked at? The search ends where it finds one.
    pub is_claimed: C,
}

impl<C: Fn(Node) -> bool, T: Fn() -> Times> Search<'_, C, T> {
    /// All that lies behind it. It could pass joins to which it comes on some ways only if executed paths with it do.
    pub fn all(&self, places: &mut Places) -> Option<Behind> {
        places.is_brief = false;
        self.begin(places).or_else(|| self.go_on(places, true)).or_else(|| places.nothing_dead())
    }

    /// Region without what cannot matter: joins that it reaches on some paths only are passed if that could be worth it
    /// ([`Walk`]), and nodes in which nothing happens belong to others. With it comes what could be gained.
    pub fn what_matters(&self, places: &mut Places) -> (Option<Behind>, Gain) {
        places.is_brief = true;
        let behind = self.begin(places).or_else(|| self.go_on(places, false));
        if behind.is_some() {
            return (behind, Gain::Nothing);
        }
        let is_passed = |places: &Places, node: Node| {
            let on = |paths: &Paths| !are_disjoint(places.with_it.as_slice(), paths.on(node));
            self.nodes.is_join(node) && self.paths.is_some_and(on)
        };
        // Mostly no path comes with it to one of them, and it comes round all loops: that is all.
        let is_any_passed = places.ends.iter().any(|&node| is_passed(places, node as Node));
        if is_any_passed || places.is_dead_anywhere {
            places.take_away(self.nodes);
        }
        if self.paths.is_none() || !is_any_passed && places.taken.is_empty() {
            return (places.nothing_dead(), Gain::Nothing);
        }
        let gain = self.gain(places);
        if gain != Gain::Open || !is_any_passed {
            let is_claimed = places.walk.looked_at().any(&self.is_claimed);
            let behind = if is_claimed { Some(Behind::Claimed) } else { places.nothing_dead() };
            return (behind, gain);
        }
        // What lies behind joins may come round loops.
        places.has_landed = false;
        places.found.iter_mut().for_each(|found| found.is_taken = false);
        for &node in &places.ends {
            places.work.insert(node as Node);
        }
        (self.go_on(places, true).or_else(|| places.nothing_dead()), Gain::Open)
    }

    /// Gain of passing more joins than none.
    fn gain(&self, places: &mut Places) -> Gain {
        let Some(paths) = self.paths else { return Gain::Nothing };
        // Where it lands in front of what it could go through.
        let others = LazyCell::new(|| places.could_let_in(self.nodes));
        let may_be_passed = |&to: &Node| {
            // What has one way to it is taken with what lies in front of it, where it does not land.
            !self.nodes.has_one_way(to) && (self.nodes.is_join(to) || places.may_be_let_in(self.nodes, &others, to))
        };
        let ends = places.ends.iter().chain(&places.taken).map(|&node| node as Node).filter(may_be_passed);
        let ways = ends.flat_map(|to| self.nodes.predecessors(to).iter().map(move |&from| (from, to)));
        let fronts: SmallVec<[(Node, Node); 8]> = ways.filter(|&(from, _)| places.is_delayed(from)).collect();
        let meets = |node: Node| match self.look(node) {
            (true, _) => Meets::Dead,
            (false, NOWHERE) => Meets::Nothing,
            (false, _) => Meets::Stop,
        };
        let starts = fronts.iter().map(|&(from, to)| (to, [paths.on(from), paths.frequent_ones()]));
        let Some(outcome) = places.walk.follow(self.nodes, paths, starts, meets) else { return Gain::Open };
        if outcome.is_nothing_lost() {
            return Gain::Nothing;
        }
        let Some(times) = self.times.as_ref().map(|times| times()) else { return Gain::Open };
        let mut joins: SmallVec<[Node; 8]> = fronts.iter().map(|&(_, to)| to).collect();
        joins.sort_unstable();
        joins.dedup();
        if joins.len() > MOST_JOINS {
            return Gain::Open;
        }
        // What setting a predicate takes if it passes none but these in the beginning: past each it lands with one.
        let (mut asked, mut sides) = (core::mem::take(&mut places.asked), core::mem::take(&mut places.sides));
        let predicates: SmallVec<[f64; 8]> = joins
            .iter()
            .map(|&join| {
                let comes = |before: Node| places.is_delayed(before);
                let may_be_known = match self.nodes.is_join(join) {
                    true => self.predicates.may_be_known(join, comes, &mut sides, |reg| asked.push(reg)),
                    false => !self.nodes.is_loop(join),
                };
                if may_be_known { 0.0 } else { times.predicate }
            })
            .collect();
        (places.asked, places.sides) = (asked, sides);
        if predicates.iter().all(|&predicate| times.statement <= predicate) {
            return Gain::TooLittle;
        }
        // A path loses no more than what it executes.
        let (mut landed, mut most_lost) = (paths.none(), 0.0);
        for landing in places.landings(self.nodes).iter().filter(|landing| landing.is_live) {
            let on = paths.on(landing.node());
            add(landed.as_mut_slice(), on);
            let both = outcome.lost.iter().zip(on).map(|(lost, on)| lost & on);
            most_lost += paths.executions(both);
        }
        let walk = &mut places.walk;
        let is_open = joins.into_iter().zip(predicates).any(|(join, predicate)| {
            // Where it lands in front of a loop, others may be weighed first: what comes round the loop may let it in.
            if !self.nodes.is_join(join) {
                return true;
            }
            if times.statement <= predicate {
                return false;
            }
            let free: Words = paths.on(join).iter().zip(landed.as_slice()).map(|(on, landed)| on & !landed).collect();
            let starts = core::iter::once((join, [paths.on(join), free.as_slice()]));
            // Who is not frequent pays in any case.
            let Some(outcome) = walk.follow(self.nodes, paths, starts, meets) else { return true };
            let paying = outcome.stopped.iter().zip(&free).zip(paths.frequent_ones());
            let paying = paying.map(|((stopped, free), frequent)| stopped & frequent | free & !frequent);
            let most_saved = most_lost * (times.statement - predicate);
            most_saved * (1.0 + ROUNDING) >= paths.executions(paying) * (times.predicated + predicate)
        });
        if is_open { Gain::Open } else { Gain::TooLittle }
    }

    /// Is the destination dead at the entry of a node, and what of it stops the statement?
    fn look(&self, node: Node) -> (bool, u32) {
        let stop = self.statement.first_stop(self.accesses, node).unwrap_or(NOWHERE);
        (!self.lives.contains(node), stop)
    }

    /// Puts in where the statement stands. Gives what lies behind if that is told without looking there.
    fn begin(&self, places: &mut Places) -> Option<Behind> {
        places.clear();
        if !self.liveness.may_be_dead() {
            return Some(Behind::NothingDead);
        }
        for occurrence in &self.statement.occurrences {
            if (self.is_claimed)(occurrence.node()) {
                return Some(Behind::Claimed);
            }
            // What stops it there matters if it comes there again.
            places.enter(occurrence.node(), Some(occurrence.inst), NOTHING_HAPPENS);
            places.work.insert(occurrence.node());
        }
        if let Some(paths) = self.paths {
            places.with_it.clear();
            places.with_it.grow(paths.frequencies.len());
        }
        None
    }

    /// Goes on to what can be reached. Gives what lies behind if not all of that is looked at.
    fn go_on(&self, places: &mut Places, passes_joins: bool) -> Option<Behind> {
        let mut ahead = core::mem::take(&mut places.ahead);
        let behind = self.go_ahead(places, &mut ahead, passes_joins);
        ahead.clear();
        places.ahead = ahead;
        behind
    }

    fn go_ahead(&self, places: &mut Places, ahead: &mut Vec<(u32, u32)>, passes_joins: bool) -> Option<Behind> {
        let is_brief = places.is_brief;
        // In the order of the nodes, so that all is known of what comes before a join, but for ways back.
        while let Some(node) = places.work.pop() {
            if self.goes_through(places, node, passes_joins) {
                ahead.push((node as u32, places.of[node]));
            }
            while let Some((node, belonging)) = ahead.pop() {
                for &next in self.nodes.successors(node as Node) {
                    let place = match places.of[next] {
                        place if place < PASSED => place as usize,
                        // It has one way to it, and was found on that.
                        place if place != NONE => continue,
                        _ => {
                            if (self.is_claimed)(next) {
                                return Some(Behind::Claimed);
                            }
                            let look = self.look(next);
                            if is_brief && look == NOTHING_HAPPENS && places.may_be_passed[next] {
                                places.pass(next, belonging as usize);
                                ahead.push((next as u32, belonging));
                                continue;
                            }
                            places.enter(next, None, look)
                        }
                    };
                    let found = &mut places.found[place];
                    if found.occurrence.is_some() && !found.is_reached {
                        (found.is_dead, found.stop) = self.look(next);
                    }
                    places.is_dead_anywhere |= found.is_dead;
                    if !core::mem::replace(&mut found.is_reached, true) && found.is_free() {
                        places.work.insert(next);
                    }
                }
                if places.found.len() + places.passed.len() > MOST_NODES {
                    return Some(Behind::TooMuch);
                }
            }
        }
        None
    }

    /// Does the statement come to the end of a node? All is known of what comes before.
    fn goes_through(&self, places: &mut Places, node: Node, passes_joins: bool) -> bool {
        let Search { nodes, paths, .. } = *self;
        let place = places.of[node] as usize;
        let found = places.found[place];
        let comes_on_all_ways = found.occurrence.is_none() && places.comes_on_all_ways(nodes, node);
        if comes_on_all_ways && nodes.is_head(node) {
            places.loops.push(node as u32);
        }
        if let Some(paths) = paths {
            match (found.occurrence, comes_on_all_ways) {
                (Some(_), _) => add(places.with_it.as_mut_slice(), paths.on(node)),
                (None, true) if paths.any_starts(node) => {
                    add(places.with_it.as_mut_slice(), paths.starts(node));
                }
                (None, _) => {}
            }
        }
        places.found[place].is_end = false;
        if found.occurrence.is_some() || comes_on_all_ways {
            return true;
        }
        let is_join = found.is_free() && nodes.is_join(node);
        let comes_with_it = |paths: &Paths| !are_disjoint(places.with_it.as_slice(), paths.on(node));
        let passes = passes_joins && is_join && paths.is_some_and(comes_with_it);
        places.has_partial_join |= is_join;
        places.found[place].is_end = !passes;
        if !passes && !passes_joins {
            places.ends.push(node as u32);
        }
        passes
    }
}

impl Region {
    /// Region of the nodes that were found.
    pub fn of(nodes: &Nodes, places: &mut Places) -> Region {
        let Places { of, found, passed, work, order, .. } = places;
        found.iter().for_each(|found| work.insert(found.node as Node));
        order.clear();
        while let Some(node) = work.pop() {
            let place = order.len() as u32;
            order.push(core::mem::replace(&mut of[node], place));
        }
        let mut region = core::mem::take(&mut places.spare);
        let Region { members, passed: belonging, to, from } = &mut region;
        members.clear();
        belonging.clear();
        to.clear();
        let member = |place: u32| of[found[place as usize].node as Node];
        belonging.extend(passed.iter().map(|passed| Passed { place: member(passed.place), ..*passed }));
        let place_of = |node: Node| match of[node] {
            place if place == NONE || place & PASSED == 0 => place,
            place => belonging[(place & !PASSED) as usize].place,
        };
        for found in places.order.iter().map(|&place| &found[place as usize]) {
            let &Found { stop, occurrence, is_dead, is_reached, is_end, .. } = found;
            let node = found.node as Node;
            let first = to.len() as u32;
            let ways = nodes.predecessors(node);
            to.extend(ways.iter().map(|&before| Way { place: place_of(before), leaving: before as u32 }));
            if nodes.is_entry(node) {
                // Control also comes from nowhere.
                to.push(Way { place: NONE, leaving: NONE });
            }
            members.push(Member {
                node,
                occurrence,
                is_dead,
                stop: (stop != NOWHERE).then_some(stop),
                is_reached,
                is_end,
                is_join: found.is_free() && is_reached && !is_end && nodes.is_join(node),
                to: [first, to.len() as u32],
                from: [0, 0],
            });
        }
        // The same from where they come: how many these are, and then which.
        let is_inside = |way: &Way| way.place != NONE;
        to.iter().filter(|way| is_inside(way)).for_each(|way| members[way.member()].from[1] += 1);
        let mut count = 0;
        for Member { from, .. } in members.iter_mut() {
            (*from, count) = ([count, count], count + from[1]);
        }
        from.clear();
        from.resize(count as usize, Way { place: NONE, leaving: NONE });
        for place in 0..members.len() {
            let [first, end] = members[place].to;
            for way in to[first as usize..end as usize].iter().filter(|way| is_inside(way)) {
                let [_, end] = &mut members[way.member()].from;
                from[*end as usize] = Way { place: place as u32, leaving: way.leaving };
                *end += 1;
            }
        }
        region
    }
}

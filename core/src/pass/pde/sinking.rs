//! How far a statement sinks, and where it lands.
//!
//! ```text
//! a: x = s  ─▶ b: uses x        delayed at the entries of b and c; it lands in b, in front of the use, and is dropped in
//!           └▶ c: ret           c, where x is dead
//! ```
//!
//! The region of a statement is what control reaches from its occurrences, up to blocks that stop it, those at whose entry its
//! destination is dead, and joins to which it comes on some ways only and that it cannot pass. In it a statement is *delayed*
//! at an entry where it is on all ways there, or on one way to a join where sinking with a predicate is enabled; the greatest
//! solution, so that it may sink out of loops. Joins to which control goes back are never enabled, so what is delayed has a
//! way from an occurrence. Where it is delayed on all ways without any join enabled, it lands without a predicate, else with
//! one.
//!
//! A node with one way to it in which nothing happens *belongs* to the one in front: it is looked at once, and is no member of
//! the region. Sound: the statement is delayed in it exactly if it is at the end of the member to which it belongs, and paths
//! through it come through that. A way from one member to the next knows the last node on it, as the statement may land at the
//! end of that, and only paths through that go this way.
//!
//! ```text
//! a: x = s ─▶ b ─▶ (b→d) ─▶ d: a join       members a, d and c: uses x; b and (b→d) belong to a, and if the statement stops
//!             └──▶ c: uses x                in front of d, it lands on (b→d)
//! ```
//!
//! Where it is delayed is found by one walk in the order of the nodes, and then only what edges that go back take away is
//! looked at again. When fewer joins are enabled, less is delayed, and one goes on from what was. The search for a region
//! knows the first of that already, so that it needs none to see that nothing is gained past joins.
//!
//! Linear in the region, which has [`MOST_NODES`] nodes at most.
//!
//! Source: Gupta, Berson and Fang 1997, figure 8, with N-DELAYED read as ⋀ X-DELAYED ∨ (EPREDJOIN ∧ ⋁ X-DELAYED): enabling
//! lets a statement pass that comes, and does not make one where none does. Knoop, Rüthing and Steffen 1994.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::{Block as Word, FixedBitSet};
use smallvec::{SmallVec, smallvec};

use super::accesses::{Accesses, NOWHERE};
use super::benefit::Times;
use super::liveness::Liveness;
use super::losing::{MOST_JOINS, Meets, Walk, Words};
use super::predicate::{self, Sides};
use super::statements::Statement;
use crate::ir::{Inst, Reg};
use crate::pass::path_guided::ascending::Ascending;
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::path_sets::{add, are_disjoint};
use crate::pass::path_guided::paths::Paths;

/// Nodes that a region may have.
const MOST_NODES: usize = 4096;

/// A node of a region.
pub(super) struct Member {
    /// The node.
    pub node: Node,
    /// Does the statement stand here, with nothing behind it that stops it? Then which instruction is it?
    pub occurrence: Option<Inst>,
    /// Is its destination dead at the entry?
    pub is_dead: bool,
    /// The place of the first instruction that stops it.
    pub stop: Option<u32>,
    /// Can it come to the entry at all?
    pub is_reached: bool,
    /// Does the statement not come further, as it comes on some ways only, and cannot be let pass?
    pub is_end: bool,
    /// May sinking be enabled here: a join with nothing in the way, reached by edges forward only?
    pub is_join: bool,
    /// In the region's lists: where the ways to it begin and end, and the ways from it.
    to: [u32; 2],
    from: [u32; 2],
}

impl Member {
    /// Does nothing in it keep the statement from its end?
    pub fn is_free(&self) -> bool {
        !self.is_dead && self.stop.is_none() && self.occurrence.is_none()
    }
}

/// See the file's head. Members are in the order of their nodes, in which only edges that go back lead to an earlier one.
#[derive(Default)]
pub(super) struct Region {
    pub members: Vec<Member>,
    /// Nodes that belong to a member, each with the place of that, in no order.
    pub passed: Vec<Passed>,
    /// The ways to each member, from [`NONE`] where they come from outside, and those from each.
    to: Vec<Way>,
    from: Vec<Way>,
}

/// A node with one way to it in which nothing happens: a statement goes through it wherever it goes through another node from
/// which that way comes, and it belongs to that.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    node: u32,
    /// The place of the node to which it belongs.
    place: u32,
}

impl Passed {
    /// The node.
    pub fn node(&self) -> Node {
        self.node as Node
    }

    /// The member to which it belongs.
    pub fn member(&self) -> usize {
        self.place as usize
    }
}

/// A way from one member to another.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// The other one.
    place: u32,
    /// The node that the way leaves: the member that it comes from, or one that belongs to it.
    leaving: u32,
}

impl Way {
    /// The other member.
    pub fn member(&self) -> usize {
        self.place as usize
    }

    /// The node that the way leaves: the member that it comes from, or one that belongs to it.
    pub fn leaving(&self) -> Node {
        self.leaving as Node
    }
}

/// Sums of executions that are made in another order differ by less than this share.
const ROUNDING: f64 = 1e-9;

/// Something that is so or not of each member of a region. Most regions have a few members.
pub(super) type Flags = SmallVec<[bool; 24]>;

/// What lies behind a statement.
pub(super) enum Behind {
    /// Nothing that it would be dropped in.
    NothingDead,
    /// Too much to look at.
    TooMuch,
    /// One of the nodes that are claimed.
    Claimed,
    Region(Region),
}

/// What could be gained by passing joins to which a statement comes on some ways only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gain {
    /// No path would lose an execution.
    Nothing,
    /// Paths could lose some, but others would pay more for any join.
    TooLittle,
    /// That is to be weighed.
    Open,
}

/// What a search keeps for the next.
pub(super) struct Places {
    /// By node: its place among those found, or [`PASSED`] and that among those that belong to one.
    of: Vec<u32>,
    found: Vec<Found>,
    passed: Vec<Passed>,
    /// Does what could belong to another node belong to it? Else it is found by itself.
    is_brief: bool,
    work: Ascending,
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
    /// From where it lands along paths.
    pub walk: Walk,
    /// What lies in front of a join.
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

/// What is seen of a node in which the destination is live and nothing stops the statement.
const NOTHING_HAPPENS: (bool, u32) = (false, NOWHERE);

/// Not found.
const NONE: u32 = u32::MAX;

/// Found, but not by itself.
const PASSED: u32 = 1 << 31;

impl Places {
    /// For that many nodes.
    pub fn new(nodes: &Nodes) -> Places {
        Places {
            of: vec![NONE; nodes.len()],
            found: Vec::new(),
            passed: Vec::new(),
            is_brief: false,
            work: Ascending::new(nodes.len()),
            order: Vec::new(),
            with_it: FixedBitSet::new(),
            spare: Region::default(),
            has_partial_join: false,
            is_dead_anywhere: false,
            ends: Vec::new(),
            loops: Vec::new(),
            shut: Vec::new(),
            taken: Vec::new(),
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
        self.found.push(Found { node, stop, occurrence, is_dead, is_reached: false, is_end: false, is_taken: false });
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
    /// back; these lie in the loop if it is one that the statement comes to in front.
    fn may_be_let_in(&self, nodes: &Nodes, node: Node) -> bool {
        let is_in_front = nodes.is_loop(node) && self.comes_on_all_ways(nodes, node);
        let joins = self.ends.iter().filter(|&&end| nodes.is_join(end as Node));
        let mut others = joins.chain(&self.shut).map(|&other| other as Node).filter(|&other| other != node);
        others.any(|other| nodes.least_behind(other) <= node && (other > node || !is_in_front))
    }

    /// Is the statement delayed at the end of a node?
    fn is_delayed(&self, node: Node) -> bool {
        self.get(node).is_some_and(|place| self.found[place].is_delayed())
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
        self.work.clear();
        self.walk.clear();
        self.ends.clear();
        self.loops.clear();
        self.shut.clear();
        self.taken.clear();
        self.asked.clear();
        (self.has_partial_join, self.is_dead_anywhere) = (false, false);
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
    pub statement: &'a Statement,
    /// What the statement takes, if that decides.
    pub times: Option<T>,
    pub predicates: predicate::Search<'a>,
    /// May a node not be looked at? The search ends where it finds one.
    pub is_claimed: C,
}

impl<C: Fn(Node) -> bool, T: Fn() -> Times> Search<'_, C, T> {
    /// All that lies behind it. It could pass joins to which it comes on some ways only if executed paths with it do.
    pub fn all(&self, places: &mut Places) -> Behind {
        places.is_brief = false;
        let known = self.begin(places).or_else(|| self.go_on(places, true));
        known.unwrap_or_else(|| self.found(places))
    }

    /// The same, but no more than matters: joins to which it comes on some ways only are passed if that could be worth it
    /// ([`Walk`]), and nodes in which nothing happens belong to others. With it comes what could be gained.
    pub fn what_matters(&self, places: &mut Places) -> (Behind, Gain) {
        places.is_brief = true;
        if let Some(behind) = self.begin(places).or_else(|| self.go_on(places, false)) {
            return (behind, Gain::Nothing);
        }
        let is_passed = |places: &Places, node: Node| {
            let on = |paths: &Paths| !are_disjoint(places.with_it.as_slice(), paths.on(node));
            self.nodes.is_join(node) && self.paths.is_some_and(on)
        };
        // Mostly no path comes with it to one of them, and it comes round all loops: that is all.
        let is_any_passed = places.ends.iter().any(|&node| is_passed(places, node as Node));
        if self.paths.is_some() && (is_any_passed || places.is_dead_anywhere) {
            places.take_away(self.nodes);
        }
        if !is_any_passed && places.taken.is_empty() {
            return (self.found(places), Gain::Nothing);
        }
        let mut near = None;
        let gain = self.gain(places, &mut near);
        if gain != Gain::Open || !is_any_passed {
            let behind = match places.is_dead_anywhere {
                _ if places.walk.looked_at().any(&self.is_claimed) => Behind::Claimed,
                true => Behind::Region(near.unwrap_or_else(|| Region::of(self.nodes, places))),
                false => Behind::NothingDead,
            };
            return (behind, gain);
        }
        if let Some(near) = near {
            places.reuse(near);
        }
        // A region numbers them in another order, and what lies behind joins may come round loops.
        for (place, found) in places.found.iter_mut().enumerate() {
            places.of[found.node as Node] = place as u32;
            found.is_taken = false;
        }
        for &node in &places.ends {
            places.work.insert(node as Node);
        }
        let known = self.go_on(places, true);
        (known.unwrap_or_else(|| self.found(places)), Gain::Open)
    }

    fn found(&self, places: &mut Places) -> Behind {
        if places.is_dead_anywhere { Behind::Region(Region::of(self.nodes, places)) } else { Behind::NothingDead }
    }

    /// What could be gained by passing more joins than none. Gives the region in which none is passed if that is asked.
    fn gain(&self, places: &mut Places, region: &mut Option<Region>) -> Gain {
        let Some(paths) = self.paths else { return Gain::Nothing };
        // Where it lands in front of what it could go through.
        let may_be_passed = |&to: &Node| self.nodes.is_join(to) || places.may_be_let_in(self.nodes, to);
        let ends = places.ends.iter().chain(&places.taken).map(|&node| node as Node).filter(may_be_passed);
        let ways = ends.flat_map(|to| self.nodes.predecessors(to).iter().map(move |&from| (from, to)));
        let fronts: SmallVec<[(Node, Node); 8]> = ways.filter(|&(from, _)| places.is_delayed(from)).collect();
        let meets = |node: Node| match self.look(node) {
            (true, _) => Meets::Dead,
            (false, NOWHERE) => Meets::Nothing,
            (false, _) => Meets::Stop,
        };
        let frequent = |set: &[Word]| -> Words {
            set.iter().zip(paths.frequent_ones()).map(|(set, frequent)| set & frequent).collect()
        };
        let starts: SmallVec<[(Node, Words); 4]> =
            fronts.iter().map(|&(from, to)| (to, frequent(paths.on(from)))).collect();
        let starts = starts.iter().map(|(node, set)| (*node, set.as_slice()));
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
        let near = region.insert(Region::of(self.nodes, places));
        let always = near.always_delayed();
        debug_assert!(
            places
                .order
                .iter()
                .zip(&always.exit)
                .all(|(&place, &exit)| places.found[place as usize].is_delayed() == exit),
            "what was taken away is all"
        );
        let walk = &mut places.walk;
        // A path loses no more than what it executes.
        let (mut landed, mut most_lost) = (paths.none(), 0.0);
        for landing in near.landings(&always, &always).iter().filter(|landing| landing.is_live) {
            let on = paths.on(landing.node);
            add(landed.as_mut_slice(), on);
            let both = outcome.lost.iter().zip(on).map(|(lost, on)| lost & on);
            most_lost += paths.executions(both);
        }
        let is_open = joins.into_iter().zip(predicates).any(|(join, predicate)| {
            // Where it lands in front of a loop, others may be weighed first: what comes round the loop may let it in.
            if !self.nodes.is_join(join) {
                return true;
            }
            if times.statement <= predicate {
                return false;
            }
            let free: Words = paths.on(join).iter().zip(landed.as_slice()).map(|(on, landed)| on & !landed).collect();
            let starts = core::iter::once((join, free.as_slice()));
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
        (!self.liveness.is_live_in(self.nodes, node, self.statement.dst), stop)
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
            places.enter(occurrence.node(), Some(occurrence.inst), self.look(occurrence.node()));
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
        // What has one way to it, which leads forward, and is free: the statement comes there, and that is all. With it stands
        // the place of the node to which it belongs.
        let mut ahead: SmallVec<[(u32, u32); 32]> = SmallVec::new();
        let beginning = self.paths.filter(|paths| paths.begin_on_one_way);
        let begins = |node: Node| beginning.is_some_and(|paths| paths.any_starts(node));
        // In the order of the nodes, so that all is known of what comes before a join, but for ways back.
        while let Some(node) = places.work.pop() {
            if self.goes_through(places, node, passes_joins) {
                ahead.push((node as u32, places.of[node]));
            }
            while let Some((node, belonging)) = ahead.pop() {
                for &next in self.nodes.successors(node as Node) {
                    let place = match places.get(next) {
                        Some(place) => place,
                        None => {
                            if (self.is_claimed)(next) {
                                return Some(Behind::Claimed);
                            }
                            let look = self.look(next);
                            let goes_through = self.nodes.has_one_way(next) && look == NOTHING_HAPPENS && !begins(next);
                            if goes_through && places.is_brief && !self.nodes.successors(next).is_empty() {
                                places.pass(next, belonging as usize);
                                ahead.push((next as u32, belonging));
                                continue;
                            }
                            let place = places.enter(next, None, look);
                            if goes_through {
                                places.found[place].is_reached = true;
                                ahead.push((next as u32, place as u32));
                                continue;
                            }
                            place
                        }
                    };
                    let found = &mut places.found[place];
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

/// Where a statement is delayed, by member.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Delayed {
    pub entry: Flags,
    pub exit: Flags,
}

impl Delayed {
    fn state(&mut self) -> State<'_> {
        State { entry: &mut self.entry, exit: &mut self.exit }
    }
}

/// The same while it is being found.
struct State<'a> {
    entry: &'a mut [bool],
    exit: &'a mut [bool],
}

/// Mostly a statement that sinks ends in a few places.
pub(super) type Landings = SmallVec<[Landing; 6]>;

/// A place where a statement that sinks ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Landing {
    /// The member.
    pub member: usize,
    /// The node: the member, or one that belongs to it.
    pub node: Node,
    /// At its end, or in front of what stops it.
    pub at_exit: bool,
    /// Is its destination needed there? Else it is dropped.
    pub is_live: bool,
    /// Has it come on some ways only, so that a predicate has to tell?
    pub is_partial: bool,
}

impl Region {
    /// Of the nodes that have been found.
    fn of(nodes: &Nodes, places: &mut Places) -> Region {
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

    /// The member that a node is.
    pub fn member(&self, node: Node) -> Option<usize> {
        self.members.binary_search_by_key(&node, |member| member.node).ok()
    }

    /// Is the statement at the end of a node, if it is delayed like this?
    pub fn is_delayed_behind(&self, nodes: &Nodes, mut node: Node, delayed: &Delayed) -> bool {
        // What has one way to it and is no member belongs to one, or lies where the statement does not come.
        loop {
            match self.member(node) {
                Some(place) => return delayed.exit[place],
                None if nodes.has_one_way(node) => node = nodes.predecessors(node)[0],
                None => return false,
            }
        }
    }

    /// Is it at the beginning of a node?
    pub fn is_delayed_before(&self, nodes: &Nodes, node: Node, delayed: &Delayed) -> bool {
        self.member(node).map_or_else(|| self.is_delayed_behind(nodes, node, delayed), |place| delayed.entry[place])
    }

    /// Members that come before one.
    pub fn before(&self, place: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.ways_to(place).map(Way::member)
    }

    /// Does a statement come to a member on every way, if it is delayed like this?
    pub fn comes_on_all_ways(&self, place: usize, delayed: &Delayed) -> bool {
        self.all_ways_to(place).iter().all(|way| way.place != NONE && delayed.exit[way.member()])
    }

    /// Do several ways lead to a member, from nodes outside too?
    pub fn has_several_ways(&self, place: usize) -> bool {
        self.all_ways_to(place).len() > 1
    }

    /// Members that come next. All successors of what the statement can go through are members.
    pub fn next(&self, place: usize) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.ways_from(place).iter().map(Way::member)
    }

    /// The ways to a member from others.
    pub fn ways_to(&self, place: usize) -> impl Iterator<Item = &Way> + Clone + '_ {
        self.all_ways_to(place).iter().filter(|way| way.place != NONE)
    }

    /// The ways from a member to others.
    pub fn ways_from(&self, place: usize) -> &[Way] {
        let [first, end] = self.members[place].from;
        &self.from[first as usize..end as usize]
    }

    fn all_ways_to(&self, place: usize) -> &[Way] {
        let [first, end] = self.members[place].to;
        &self.to[first as usize..end as usize]
    }

    /// No member.
    pub fn no_flags(&self) -> Flags {
        smallvec![false; self.members.len()]
    }

    /// Where the statement is delayed if it may pass no join to which it comes on some ways only.
    pub fn always_delayed(&self) -> Delayed {
        self.delayed_past(|_| false)
    }

    /// Where the statement is delayed if it may pass the enabled joins: everywhere, but for what has to be taken away.
    pub fn delayed(&self, enabled: &[bool]) -> Delayed {
        self.delayed_past(|place| enabled[place])
    }

    fn delayed_past(&self, is_enabled: impl Fn(usize) -> bool) -> Delayed {
        let count = self.members.len();
        let mut delayed = Delayed { entry: smallvec![true; count], exit: smallvec![true; count] };
        let mut state = delayed.state();
        // Of what an edge that goes back leads to more may have to be taken away when all has been looked at once.
        let mut work: SmallVec<[u32; 16]> = SmallVec::new();
        for place in 0..count {
            if self.takes_away(place, &mut state, is_enabled(place)) {
                work.extend(self.next(place).filter(|&next| next <= place).map(|next| next as u32));
            }
        }
        self.take_away(&mut state, is_enabled, work);
        delayed
    }

    /// Takes away from where a statement is delayed when these members are no longer enabled of those that were. That is all
    /// to be done, as what could not be passed before cannot be passed with fewer.
    pub fn disable(&self, delayed: &mut Delayed, enabled: &[bool], no_longer: impl Iterator<Item = usize>) {
        self.take_away(&mut delayed.state(), |place| enabled[place], no_longer.map(|place| place as u32).collect());
    }

    fn take_away(&self, state: &mut State<'_>, is_enabled: impl Fn(usize) -> bool, mut work: SmallVec<[u32; 16]>) {
        while let Some(place) = work.pop() {
            let place = place as usize;
            if self.takes_away(place, state, is_enabled(place)) {
                work.extend(self.next(place).map(|next| next as u32));
            }
        }
    }

    /// Looks at a member again. Is the statement no longer delayed at its exit?
    fn takes_away(&self, place: usize, state: &mut State<'_>, is_enabled: bool) -> bool {
        let member = &self.members[place];
        let mut comes = self.all_ways_to(place).iter().map(|way| way.place != NONE && state.exit[way.member()]);
        let entry = member.is_reached && if is_enabled { comes.any(|comes| comes) } else { comes.all(|comes| comes) };
        let exit = member.occurrence.is_some() || entry && member.stop.is_none() && !member.is_dead;
        state.entry[place] = entry;
        core::mem::replace(&mut state.exit[place], exit) != exit
    }

    /// Where it lands. `always` is where it is delayed with no join enabled.
    pub fn landings(&self, delayed: &Delayed, always: &Delayed) -> Landings {
        let mut landings = Landings::new();
        let (entry, exit) = (&delayed.entry[..], &delayed.exit[..]);
        for (place, member) in self.members.iter().enumerate() {
            if entry[place] && (member.is_dead || member.stop.is_some()) {
                let (is_live, is_partial) = (!member.is_dead, !always.entry[place]);
                landings.push(Landing { member: place, node: member.node, at_exit: false, is_live, is_partial });
            }
            // What leaves for a join where it is not delayed has one successor.
            if exit[place] {
                for way in self.ways_from(place).iter().filter(|way| !entry[way.member()]) {
                    let (is_live, is_partial) = (!self.members[way.member()].is_dead, !always.exit[place]);
                    landings.push(Landing { member: place, node: way.leaving(), at_exit: true, is_live, is_partial });
                }
            }
        }
        if !self.passed.is_empty() {
            landings.sort_by_key(|landing| (landing.node, landing.at_exit));
        }
        landings
    }

    /// From which members on could the statement come to where it is dropped, if it is delayed like this?
    pub fn leading_to_dead(&self, delayed: &Delayed) -> Flags {
        let mut leads = self.no_flags();
        let (leading, exit) = (&mut leads[..], &delayed.exit[..]);
        let dead = (0..self.members.len()).filter(|&place| self.members[place].is_dead);
        let mut work: SmallVec<[usize; 16]> = dead.collect();
        while let Some(place) = work.pop() {
            for before in self.before(place) {
                if exit[before] && !core::mem::replace(&mut leading[before], true) {
                    work.push(before);
                }
            }
        }
        leads
    }

    /// From the ends of which members does the statement come to a landing where it is needed? Calls `visit` with a member and
    /// a node for each way on which it does, where that leaves a node that belongs to the member.
    pub fn leading_to_landings(
        &self,
        delayed: &Delayed,
        landings: &[Landing],
        mut visit: impl FnMut(Node, Node),
    ) -> Flags {
        let mut flags = self.no_flags();
        let (lands, exit) = (&mut flags[..], &delayed.exit[..]);
        let mut work: SmallVec<[usize; 16]> = SmallVec::new();
        let mut leave = |place: usize, leaving: Node, work: &mut SmallVec<[usize; 16]>| {
            if exit[place] {
                visit(self.members[place].node, leaving);
                work.push(place);
            }
        };
        for landing in landings.iter().filter(|landing| landing.is_live) {
            match landing.at_exit {
                true => leave(landing.member, landing.node, &mut work),
                false => self.ways_to(landing.member).for_each(|way| leave(way.member(), way.leaving(), &mut work)),
            }
        }
        while let Some(place) = work.pop() {
            let is_new = !core::mem::replace(&mut lands[place], true);
            if is_new && self.members[place].occurrence.is_none() {
                self.ways_to(place).for_each(|way| leave(way.member(), way.leaving(), &mut work));
            }
        }
        flags
    }

    /// Does a statement land right where it stands?
    pub fn stays(&self, landing: &Landing) -> bool {
        let member = &self.members[landing.member];
        landing.at_exit && landing.is_live && member.occurrence.is_some() && landing.node == member.node
    }

    /// The occurrences that go away: all that do not land right where they stand.
    pub fn moved<'a>(&'a self, landings: &'a [Landing]) -> impl Iterator<Item = usize> + 'a {
        let stays = |place: usize| landings.iter().any(|landing| self.stays(landing) && landing.member == place);
        (0..self.members.len()).filter(move |&place| self.members[place].occurrence.is_some() && !stays(place))
    }
}

//! How far a statement sinks, and where it lands.
//!
//! ```text
//! a: x = s  ─▶ b: uses x        delayed at the entries of b and c; it lands in b, in front of the use, and is dropped in
//!           └▶ c: ret           c, where x is dead
//! ```
//!
//! The region of a statement is what control reaches from its occurrences, up to blocks that stop it, those at whose entry its
//! destination is dead, and joins to which it comes on some ways only and that it cannot pass. In it a statement is *delayed* at an entry where it is on all ways there, or on one way
//! to a join where sinking with a predicate is enabled; the greatest solution, so that it may sink out of loops. Joins to
//! which control goes back are never enabled, so what is delayed has a way from an occurrence. Where it is delayed on all
//! ways without any join enabled, it lands without a predicate, else with one.
//!
//! Linear in the region, which has [`MOST_NODES`] nodes at most.
//!
//! Source: Gupta, Berson and Fang 1997, figure 8, with N-DELAYED read as ⋀ X-DELAYED ∨ (EPREDJOIN ∧ ⋁ X-DELAYED): enabling
//! lets a statement pass that comes, and does not make one where none does. Knoop, Rüthing and Steffen 1994.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::liveness::Liveness;
use super::statements::Statement;
use crate::ir::Inst;
use crate::pass::path_guided::nodes::{Node, Nodes};
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
    /// Members that come before; none for a node outside, where it never is.
    pub before: SmallVec<[Option<usize>; 2]>,
    /// Members that come next. All successors of what it can go through are members.
    pub next: SmallVec<[usize; 2]>,
    /// Does the statement not come further, as it comes on some ways only, and cannot be let pass?
    pub is_end: bool,
    /// May sinking be enabled here: a join with nothing in the way, reached by edges forward only?
    pub is_join: bool,
}

/// See the file's head. Members are in the order of their nodes, in which only edges that go back lead to an earlier one.
pub(super) struct Region {
    pub members: Vec<Member>,
}

/// What lies behind a statement.
pub(super) enum Behind {
    /// Nothing that it would be dropped in.
    NothingDead,
    /// Too much to look at.
    TooMuch,
    Region(Region),
}

/// What a search keeps for the next.
pub(super) struct Places {
    /// By node: its place among those found.
    of: Vec<u32>,
    found: Vec<Found>,
    work: BinaryHeap<Reverse<Node>>,
    /// Is there a join to which the statement comes on some ways only?
    pub has_partial_join: bool,
}

/// A node that has been found.
#[derive(Clone, Copy)]
struct Found {
    node: Node,
    occurrence: Option<Inst>,
    is_dead: bool,
    stop: Option<u32>,
    is_reached: bool,
    /// Does it not come to the end, as it does not come on all ways?
    is_end: bool,
}

impl Found {
    /// Does nothing in it keep the statement from its end?
    fn is_free(&self) -> bool {
        !self.is_dead && self.stop.is_none() && self.occurrence.is_none()
    }
}

/// Not found.
const NONE: u32 = u32::MAX;

impl Places {
    /// For that many nodes.
    pub fn new(nodes: &Nodes) -> Places {
        let of = vec![NONE; nodes.len()];
        Places { of, found: Vec::new(), work: BinaryHeap::new(), has_partial_join: false }
    }

    /// The nodes that were found in the last search.
    pub fn looked_at(&self) -> impl Iterator<Item = Node> + '_ {
        self.found.iter().map(|found| found.node)
    }

    fn get(&self, node: Node) -> Option<usize> {
        Some(self.of[node]).filter(|&place| place != NONE).map(|place| place as usize)
    }

    fn enter(
        &mut self,
        node: Node,
        occurrence: Option<Inst>,
        look: impl FnOnce() -> (bool, Option<u32>),
    ) -> &mut Found {
        let place = self.get(node).unwrap_or_else(|| {
            self.of[node] = self.found.len() as u32;
            let (is_dead, stop) = look();
            self.found.push(Found { node, occurrence, is_dead, stop, is_reached: false, is_end: false });
            self.found.len() - 1
        });
        &mut self.found[place]
    }

    /// Does the statement come to a node on every way that does not go back?
    fn comes_on_all_ways(&self, nodes: &Nodes, node: Node) -> bool {
        let comes = |before: Node| {
            let found = self.get(before).map(|place| &self.found[place]);
            found
                .is_some_and(|found| found.occurrence.is_some() || found.is_reached && found.is_free() && !found.is_end)
        };
        let mut ways = nodes.predecessors(node).iter();
        !nodes.is_entry(node) && ways.all(|&before| Nodes::goes_back(before, node) || comes(before))
    }

    fn clear(&mut self) {
        self.work.clear();
        self.has_partial_join = false;
        for found in self.found.drain(..) {
            self.of[found.node] = NONE;
        }
    }
}

/// Is a node a join that nothing goes back to?
pub(super) fn is_join(nodes: &Nodes, node: Node) -> bool {
    let ways = nodes.predecessors(node);
    ways.len() > 1 && !nodes.is_entry(node) && !ways.iter().any(|&before| Nodes::goes_back(before, node))
}

/// Where a statement is delayed, by member.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Delayed {
    pub entry: Vec<bool>,
    pub exit: Vec<bool>,
}

/// A place where a statement that sinks ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Landing {
    /// The member.
    pub member: usize,
    /// At its end, or in front of what stops it.
    pub at_exit: bool,
    /// Is its destination needed there? Else it is dropped.
    pub is_live: bool,
    /// Has it come on some ways only, so that a predicate has to tell?
    pub is_partial: bool,
}

impl Region {
    /// What lies behind a statement, of whose destination is known where it is live behind. It could pass joins to which it
    /// comes on some ways only if executed paths with it do.
    pub fn behind(
        nodes: &Nodes,
        accesses: &Accesses,
        liveness: &Liveness,
        statement: &Statement,
        places: &mut Places,
        paths: Option<&Paths>,
    ) -> Behind {
        places.clear();
        if !liveness.may_be_dead() {
            return Behind::NothingDead;
        }
        let look = |node: Node| (!liveness.is_live_in(node, statement.dst), statement.first_stop(accesses, node));
        for occurrence in &statement.occurrences {
            places.enter(occurrence.node, Some(occurrence.inst), || look(occurrence.node));
            places.work.push(Reverse(occurrence.node));
        }
        // Paths on which it could be available.
        let mut with_it = paths.map(Paths::none);
        let mut is_dead_anywhere = false;
        // In the order of the nodes, so that all is known of what comes before a join, but for ways back.
        while let Some(Reverse(node)) = places.work.pop() {
            let found = places.found[places.of[node] as usize];
            let comes_on_all_ways = found.occurrence.is_none() && places.comes_on_all_ways(nodes, node);
            if let (Some(paths), Some(with_it)) = (paths, &mut with_it) {
                match (found.occurrence, comes_on_all_ways) {
                    (Some(_), _) => with_it.union_with(paths.on(node)),
                    (None, true) => with_it.union_with(paths.starts(node)),
                    (None, false) => {}
                }
            }
            if found.occurrence.is_none() && !comes_on_all_ways {
                let is_join = found.is_free() && is_join(nodes, node);
                let has_paths = |paths: &Paths| with_it.as_ref().is_some_and(|set| !set.is_disjoint(paths.on(node)));
                let passes = is_join && paths.is_some_and(has_paths);
                places.has_partial_join |= is_join;
                places.found[places.of[node] as usize].is_end = !passes;
                if !passes {
                    continue;
                }
            }
            for &next in nodes.successors(node) {
                let found = places.enter(next, None, || look(next));
                is_dead_anywhere |= found.is_dead;
                if !core::mem::replace(&mut found.is_reached, true) && found.is_free() {
                    places.work.push(Reverse(next));
                }
            }
            if places.found.len() > MOST_NODES {
                return Behind::TooMuch;
            }
        }
        if is_dead_anywhere { Behind::Region(Region::of(nodes, places)) } else { Behind::NothingDead }
    }

    /// Of the nodes that have been found.
    fn of(nodes: &Nodes, places: &mut Places) -> Region {
        places.found.sort_unstable_by_key(|found| found.node);
        for (place, found) in places.found.iter().enumerate() {
            places.of[found.node] = place as u32;
        }
        let member = |found: &Found| {
            let &Found { node, occurrence, is_dead, stop, is_reached, is_end } = found;
            let ways = nodes.predecessors(node).iter();
            let mut before: SmallVec<[Option<usize>; 2]> = ways.map(|&before| places.get(before)).collect();
            if nodes.is_entry(node) {
                // Control also comes from nowhere.
                before.push(None);
            }
            let is_join = found.is_free() && is_reached && !is_end && is_join(nodes, node);
            let next = nodes.successors(node).iter().filter_map(|&next| places.get(next)).collect();
            Member { node, occurrence, is_dead, stop, is_reached, before, next, is_end, is_join }
        };
        Region { members: places.found.iter().map(member).collect() }
    }

    /// The member that a node is.
    pub fn member(&self, node: Node) -> Option<usize> {
        self.members.binary_search_by_key(&node, |member| member.node).ok()
    }

    /// Where the statement is delayed if it may pass the enabled joins: everywhere, but for what has to be taken away.
    pub fn delayed(&self, enabled: &[bool]) -> Delayed {
        let count = self.members.len();
        let mut delayed = Delayed { entry: vec![true; count], exit: vec![true; count] };
        let mut work: Vec<usize> = Vec::new();
        // Taken from the end, so that what comes first is looked at first.
        work.extend((0..count).rev());
        let mut is_waiting = vec![true; count];
        while let Some(place) = work.pop() {
            is_waiting[place] = false;
            let member = &self.members[place];
            let comes = |before: &Option<usize>| before.is_some_and(|before| delayed.exit[before]);
            let entry = member.is_reached
                && (member.before.iter().all(comes) || enabled[place] && member.before.iter().any(comes));
            let exit = member.occurrence.is_some() || entry && member.stop.is_none() && !member.is_dead;
            delayed.entry[place] = entry;
            if core::mem::replace(&mut delayed.exit[place], exit) != exit {
                for &next in &member.next {
                    if !core::mem::replace(&mut is_waiting[next], true) {
                        work.push(next);
                    }
                }
            }
        }
        delayed
    }

    /// Where it lands. `always` is where it is delayed with no join enabled.
    pub fn landings(&self, delayed: &Delayed, always: &Delayed) -> Vec<Landing> {
        let mut landings = Vec::new();
        for (place, member) in self.members.iter().enumerate() {
            if delayed.entry[place] && (member.is_dead || member.stop.is_some()) {
                let (is_live, is_partial) = (!member.is_dead, !always.entry[place]);
                landings.push(Landing { member: place, at_exit: false, is_live, is_partial });
            }
            // What leaves for a join where it is not delayed has one successor.
            if delayed.exit[place] {
                for &next in member.next.iter().filter(|&&next| !delayed.entry[next]) {
                    let (is_live, is_partial) = (!self.members[next].is_dead, !always.exit[place]);
                    landings.push(Landing { member: place, at_exit: true, is_live, is_partial });
                }
            }
        }
        landings
    }

    /// From which members on could the statement come to where it is dropped, if it may pass all joins?
    pub fn leading_to_dead(&self) -> Vec<bool> {
        let joins: Vec<bool> = self.members.iter().map(|member| member.is_join).collect();
        let delayed = self.delayed(&joins);
        let mut leads = vec![false; self.members.len()];
        let dead = (0..self.members.len()).filter(|&place| self.members[place].is_dead);
        let mut work: Vec<usize> = dead.collect();
        while let Some(place) = work.pop() {
            for &before in self.members[place].before.iter().flatten() {
                if delayed.exit[before] && !core::mem::replace(&mut leads[before], true) {
                    work.push(before);
                }
            }
        }
        leads
    }

    /// Does what goes away come to a landing where it is needed, from each place where it stood?
    pub fn all_land(&self, delayed: &Delayed, landings: &[Landing], moved: &[usize]) -> bool {
        let mut lands = vec![false; self.members.len()];
        let mut work: Vec<usize> = Vec::new();
        for landing in landings.iter().filter(|landing| landing.is_live) {
            if landing.at_exit {
                work.push(landing.member);
            } else {
                work.extend(self.members[landing.member].before.iter().flatten());
            }
        }
        while let Some(place) = work.pop() {
            let is_new = delayed.exit[place] && !core::mem::replace(&mut lands[place], true);
            if is_new && self.members[place].occurrence.is_none() {
                work.extend(self.members[place].before.iter().flatten());
            }
        }
        moved.iter().all(|&place| lands[place])
    }

    /// The occurrences that go away: all that do not land right where they stand.
    pub fn moved<'a>(&'a self, landings: &'a [Landing]) -> impl Iterator<Item = usize> + 'a {
        let stays =
            |place: usize| landings.iter().any(|landing| landing.member == place && landing.at_exit && landing.is_live);
        (0..self.members.len()).filter(move |&place| self.members[place].occurrence.is_some() && !stays(place))
    }
}

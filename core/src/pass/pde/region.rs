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
//! looked at again. When fewer joins are enabled, less is delayed, and one goes on from what was.
//!
//! Linear in the region.
//!
//! Source: Gupta, Berson and Fang 1997, figure 8, with N-DELAYED read as ⋀ X-DELAYED ∨ (EPREDJOIN ∧ ⋁ X-DELAYED): enabling
//! lets a statement pass that comes, and does not make one where none does. Knoop, Rüthing and Steffen 1994.

use alloc::vec::Vec;
use smallvec::{SmallVec, smallvec};

use super::accesses::NOWHERE;
use super::course::Standing;
use crate::ir::Inst;
use crate::pass::path_guided::nodes::{Node, Nodes};

/// No member.
pub(super) const NONE: u32 = u32::MAX;

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
    pub(super) to: [u32; 2],
    pub(super) from: [u32; 2],
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
    pub(super) to: Vec<Way>,
    pub(super) from: Vec<Way>,
}

/// A node with one way to it in which nothing happens: a statement goes through it wherever it goes through another node from
/// which that way comes, and it belongs to that.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    pub(super) node: u32,
    /// The place of the node to which it belongs.
    pub(super) place: u32,
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
    pub(super) place: u32,
    /// The node that the way leaves: the member that it comes from, or one that belongs to it.
    pub(super) leaving: u32,
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

/// Something that is so or not of each member of a region. Most regions have a few members.
pub(super) type Flags = SmallVec<[bool; 24]>;

/// Places where a statement is delayed, by member.
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

/// State while it is being computed.
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
    pub member: u32,
    /// The node: the member, or one that belongs to it.
    pub node: u32,
    /// At its end, or in front of what stops it.
    pub at_exit: bool,
    /// Is its destination needed there? Else it is dropped.
    pub is_live: bool,
    /// Has it come on some ways only, so that a predicate has to tell?
    pub is_partial: bool,
    /// Place of the obstacle, where it is not at the end and the statement is needed.
    pub stop: u32,
}

impl Landing {
    /// The member.
    pub fn member(&self) -> usize {
        self.member as usize
    }

    /// The node.
    pub fn node(&self) -> Node {
        self.node as Node
    }
}

impl Region {
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

    /// Places where the statement is delayed if it may pass no join that it reaches on some paths only.
    pub fn always_delayed(&self) -> Delayed {
        self.delayed_past(|_| false)
    }

    /// Places where the statement is delayed if it may pass the enabled joins: everywhere, except what is removed.
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

    /// Landings. `always` is where it is delayed with no join enabled.
    pub fn landings(&self, delayed: &Delayed, always: &Delayed) -> Landings {
        let mut landings = Landings::new();
        let (entry, exit) = (&delayed.entry[..], &delayed.exit[..]);
        for (place, member) in self.members.iter().enumerate() {
            if entry[place] && (member.is_dead || member.stop.is_some()) {
                let (is_live, is_partial) = (!member.is_dead, !always.entry[place]);
                let stop = member.stop.unwrap_or(NOWHERE);
                landings.push(Landing {
                    member: place as u32,
                    node: member.node as u32,
                    at_exit: false,
                    is_live,
                    is_partial,
                    stop,
                });
            }
            // What leaves for a join where it is not delayed has one successor.
            if exit[place] {
                for way in self.ways_from(place).iter().filter(|way| !entry[way.member()]) {
                    let (is_live, is_partial) = (!self.members[way.member()].is_dead, !always.exit[place]);
                    let (node, stop) = (way.leaving() as u32, NOWHERE);
                    landings.push(Landing { member: place as u32, node, at_exit: true, is_live, is_partial, stop });
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

    /// Nodes that the statement is in.
    pub fn standing(&self) -> Standing {
        let standing = |member: &Member| Some((member.node as u32, member.occurrence?));
        self.members.iter().filter_map(standing).collect()
    }

    /// Visits the nodes at whose entries a statement is delayed, in no order.
    pub fn for_each_entry(&self, delayed: &Delayed, visit: &mut dyn FnMut(Node)) {
        let members = self.members.iter().zip(&delayed.entry).filter(|&(_, &is_delayed)| is_delayed);
        members.for_each(|(member, _)| visit(member.node));
        let passed = self.passed.iter().filter(|passed| delayed.exit[passed.member()]);
        passed.for_each(|passed| visit(passed.node()));
    }
}

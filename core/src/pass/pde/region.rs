//! The sinking region of a statement, and the places where it lands.
//!
//! ```text
//! a: x = s  ─▶ b: uses x        delayed at the entries of b and c; it lands in b, before the use, and is dropped in c,
//!           └▶ c: ret           where x is dead
//! ```
//!
//! 1. A worklist in node order starts from the occurrences and follows control up to nodes that
//!    stop the statement, in which its result is dead, or which it cannot pass: joins that it
//!    reaches on some paths only, unless an executed path with the statement comes there.
//! 2. A statement is *delayed* at an entry where it arrives on all incoming edges, or at an enabled
//!    join on one: the greatest solution, so that it may sink out of loops.
//! 3. It lands where it is delayed and stopped or dead, and at the end of a node that leads to an
//!    entry where it is not delayed. Where it would not be delayed with no join enabled, it lands
//!    under a predicate.
//!
//! Joins to which control goes back are never enabled, so a delayed statement always comes from an
//! occurrence.
//!
//! Cost: O(region) for each solution; a region has at most [`MOST_NODES`] nodes, beyond which the
//! remark `too-large` is given.
//!
//! Source: Gupta, Berson and Fang 1997, figure 8, with N-DELAYED read as ⋀ X-DELAYED ∨ (EPREDJOIN ∧
//! ⋁ X-DELAYED): enabling lets a statement pass that arrives, and creates none. Knoop, Rüthing and
//! Steffen 1994.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use fixedbitset::FixedBitSet;
use smallvec::{SmallVec, smallvec};

use super::accesses::{Accesses, NOWHERE};
use super::liveness::LiveRange;
use super::statements::Statement;
use crate::compact_sort::CompactSort;
use crate::ir::Inst;
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::pass::support::path_guided::path_sets::{add, are_disjoint};
use crate::pass::support::path_guided::paths::Paths;

/// Larger regions are given up.
pub(super) const MOST_NODES: usize = 4096;

/// No member.
const NONE: u32 = u32::MAX;

/// A node of a region.
#[derive(Clone)]
pub(super) struct Member {
    pub node: Node,
    /// The instruction of the statement, if it occurs here.
    pub occurrence: Option<Inst>,
    /// Whether the result is dead at the entry.
    pub is_dead: bool,
    /// The place of the first instruction that stops the statement, or [`NOWHERE`].
    pub stop: u32,
    /// Whether the statement can arrive at the entry.
    pub is_reached: bool,
    /// Whether it arrives on some edges only and no profile can let it pass.
    pub is_end: bool,
    /// Whether it may be enabled: a join without a stop, reached by forward edges only.
    pub is_join: bool,
    /// Ranges in the region's lists of predecessors and successors.
    before: [u32; 2],
    next: [u32; 2],
}

impl Member {
    /// Whether the statement passes from the entry to the end.
    pub fn is_free(&self) -> bool {
        !self.is_dead && self.stop == NOWHERE && self.occurrence.is_none()
    }
}

/// Something that is so or not of each member.
pub(super) type Flags = SmallVec<[bool; 24]>;

/// Members at whose entries and ends a statement is delayed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Delayed {
    pub entry: Flags,
    pub exit: Flags,
}

/// A place where a statement that sinks ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Landing {
    /// The member.
    pub place: usize,
    pub node: Node,
    /// Whether it is at the end of the node, or before the stop.
    pub at_exit: bool,
    /// Whether the result is needed; else the statement is dropped.
    pub is_live: bool,
    /// Whether a predicate has to tell if the statement arrives.
    pub is_partial: bool,
    /// The place of the stop, if it is not at the end and needed.
    pub stop: u32,
}

/// The landings of a statement, in node order.
pub(super) type Landings = SmallVec<[Landing; 6]>;

/// Result of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SearchResult {
    /// The result is dead somewhere in the region.
    Found,
    /// The statement would be dropped nowhere.
    NothingDead,
    /// More than [`MOST_NODES`] nodes.
    TooLarge,
}

/// See the file's head. Members are in node order, in which only back edges lead to an earlier one.
pub(super) struct Region {
    pub members: Vec<Member>,
    /// Predecessors and successors of the members; [`NONE`] for a predecessor outside.
    before: Vec<u32>,
    next: Vec<u32>,
    /// Whether the statement arrives at a join on some edges only.
    pub has_partial_join: bool,
    /// Member of each node, or [`NONE`].
    place_of: Vec<u32>,
    work: BinaryHeap<Reverse<Node>>,
    /// Paths on which the statement may be available.
    with_it: FixedBitSet,
}

/// The program that is searched.
pub(super) struct Surroundings<'a> {
    pub nodes: &'a Nodes,
    pub accesses: &'a Accesses,
    pub paths: Option<&'a Paths>,
    /// The live range of the statement's result.
    pub live: &'a mut LiveRange,
}

impl Region {
    /// An empty region, filled by [`Region::search`].
    pub fn new(nodes: &Nodes) -> Region {
        Region {
            members: Vec::new(),
            before: Vec::new(),
            next: Vec::new(),
            has_partial_join: false,
            place_of: vec![NONE; nodes.len()],
            work: BinaryHeap::new(),
            with_it: FixedBitSet::new(),
        }
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.members.drain(..).for_each(|member| self.place_of[member.node] = NONE);
        self.work.clear();
        self.has_partial_join = false;
    }

    /// Finds the region of a statement.
    pub fn search(&mut self, around: Surroundings<'_>, statement: &Statement) -> SearchResult {
        let Surroundings { nodes, accesses, paths, live } = around;
        self.clear();
        let mut look = |node: Node| (!live.contains(nodes, accesses, node), statement.first_stop(accesses, node));
        for occurrence in &statement.occurrences {
            // The stop after the occurrence matters only if the statement arrives there again.
            self.enter(occurrence.node, Some(occurrence.inst), (false, NOWHERE));
            self.work.push(Reverse(occurrence.node));
        }
        if let Some(paths) = paths {
            self.with_it.clear();
            self.with_it.grow(paths.count());
        }
        let mut is_dead_anywhere = false;
        while let Some(Reverse(node)) = self.work.pop() {
            if !self.passes(nodes, paths, node) {
                continue;
            }
            for &next in nodes.successors(node) {
                let place = match self.place_of[next] {
                    NONE => self.enter(next, None, look(next)),
                    place => place as usize,
                };
                let member = &mut self.members[place];
                if member.occurrence.is_some() && !member.is_reached {
                    (member.is_dead, member.stop) = look(next);
                }
                is_dead_anywhere |= member.is_dead;
                if !core::mem::replace(&mut member.is_reached, true) && member.is_free() {
                    self.work.push(Reverse(next));
                }
            }
            if self.members.len() > MOST_NODES {
                return SearchResult::TooLarge;
            }
        }
        if !is_dead_anywhere {
            return SearchResult::NothingDead;
        }
        self.connect(nodes);
        SearchResult::Found
    }

    fn enter(&mut self, node: Node, occurrence: Option<Inst>, (is_dead, stop): (bool, u32)) -> usize {
        let place = self.members.len();
        self.place_of[node] = place as u32;
        let (is_reached, is_end, is_join, before, next) = (false, false, false, [0; 2], [0; 2]);
        self.members.push(Member { node, occurrence, is_dead, stop, is_reached, is_end, is_join, before, next });
        place
    }

    /// Whether the statement passes a node that it may reach. Everything before the node is known,
    /// except back edges.
    fn passes(&mut self, nodes: &Nodes, paths: Option<&Paths>, node: Node) -> bool {
        let place = self.place_of[node] as usize;
        let arrives = |before: Node| {
            let member = self.member(before).map(|place| &self.members[place]);
            member.is_some_and(|it| it.occurrence.is_some() || it.is_reached && it.is_free() && !it.is_end)
        };
        let mut ways = nodes.predecessors(node).iter();
        let occurs = self.members[place].occurrence.is_some();
        let arrives_always =
            !nodes.is_entry(node) && ways.all(|&before| Nodes::goes_back(before, node) || arrives(before));
        if let Some(paths) = paths {
            let more = if occurs { Some(paths.on(node)) } else { arrives_always.then(|| paths.starts(node)) };
            add(self.with_it.as_mut_slice(), more.unwrap_or_default());
        }
        if occurs || arrives_always {
            return true;
        }
        let is_join = nodes.is_join(node);
        let comes_with_it = |paths: &Paths| !are_disjoint(self.with_it.as_slice(), paths.on(node));
        let passes = is_join && paths.is_some_and(comes_with_it);
        self.has_partial_join |= is_join;
        self.members[place].is_end = !passes;
        passes
    }

    /// Sorts the members and lists their neighbours.
    fn connect(&mut self, nodes: &Nodes) {
        let Region { members, before, next, place_of, .. } = self;
        members.compact_sort_by_key(|member| member.node);
        members.iter().enumerate().for_each(|(place, member)| place_of[member.node] = place as u32);
        before.clear();
        next.clear();
        for member in members {
            let node = member.node;
            let start = [before.len() as u32, next.len() as u32];
            before.extend(nodes.predecessors(node).iter().map(|&before| place_of[before]));
            if nodes.is_entry(node) {
                // Control also comes from outside.
                before.push(NONE);
            }
            next.extend(nodes.successors(node).iter().map(|&next| place_of[next]).filter(|&place| place != NONE));
            (member.before, member.next) = ([start[0], before.len() as u32], [start[1], next.len() as u32]);
            member.is_join = member.is_free() && member.is_reached && !member.is_end && nodes.is_join(node);
        }
    }

    /// The member of a node.
    pub fn member(&self, node: Node) -> Option<usize> {
        Some(self.place_of[node]).filter(|&place| place != NONE).map(|place| place as usize)
    }

    fn all_before(&self, place: usize) -> &[u32] {
        let [start, end] = self.members[place].before;
        &self.before[start as usize..end as usize]
    }

    /// Members that lead to one.
    pub fn before(&self, place: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.all_before(place).iter().filter(|&&place| place != NONE).map(|&place| place as usize)
    }

    /// Members that follow one. All successors of a member that the statement passes are members.
    pub fn next(&self, place: usize) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        let [start, end] = self.members[place].next;
        self.next[start as usize..end as usize].iter().map(|&place| place as usize)
    }

    /// Whether several edges lead to a member.
    pub fn has_several_ways(&self, place: usize) -> bool {
        self.all_before(place).len() > 1
    }

    /// No member.
    pub fn no_flags(&self) -> Flags {
        smallvec![false; self.members.len()]
    }

    /// The occurrences, in node order.
    pub fn occurrences(&self) -> impl Iterator<Item = (usize, Inst)> + Clone + '_ {
        self.members.iter().enumerate().filter_map(|(place, member)| Some((place, member.occurrence?)))
    }

    /// Members where the statement is delayed if it may pass the enabled joins: all, less those
    /// that have to be removed.
    pub fn delayed(&self, enabled: &[bool]) -> Delayed {
        let count = self.members.len();
        let mut delayed = Delayed { entry: smallvec![true; count], exit: smallvec![true; count] };
        // One sweep in node order; a back edge from a member that is no longer delayed asks for
        // more.
        let mut work: SmallVec<[u32; 16]> = SmallVec::new();
        for place in 0..count {
            if self.removes(place, &mut delayed, enabled) {
                work.extend(self.next(place).filter(|&next| next <= place).map(|next| next as u32));
            }
        }
        while let Some(place) = work.pop() {
            if self.removes(place as usize, &mut delayed, enabled) {
                work.extend(self.next(place as usize).map(|next| next as u32));
            }
        }
        delayed
    }

    /// Evaluates a member again. Whether the statement is no longer delayed at its end.
    fn removes(&self, place: usize, delayed: &mut Delayed, enabled: &[bool]) -> bool {
        let member = &self.members[place];
        let mut arrives = self.all_before(place).iter().map(|&from| from != NONE && delayed.exit[from as usize]);
        let entry = member.is_reached && if enabled[place] { arrives.any(|it| it) } else { arrives.all(|it| it) };
        let exit = member.occurrence.is_some() || entry && member.stop == NOWHERE && !member.is_dead;
        delayed.entry[place] = entry;
        core::mem::replace(&mut delayed.exit[place], exit) != exit
    }

    /// The landings. `always` is the solution with no join enabled.
    pub fn landings(&self, delayed: &Delayed, always: &Delayed) -> Landings {
        let mut landings = Landings::new();
        for (place, &Member { node, is_dead, stop, .. }) in self.members.iter().enumerate() {
            if delayed.entry[place] && (is_dead || stop != NOWHERE) {
                let (is_live, is_partial) = (!is_dead, !always.entry[place]);
                landings.push(Landing { place, node, at_exit: false, is_live, is_partial, stop });
            }
            if delayed.exit[place] {
                // A node that leads to a join has no other successor.
                for next in self.next(place).filter(|&next| !delayed.entry[next]) {
                    let (is_live, is_partial) = (!self.members[next].is_dead, !always.exit[place]);
                    landings.push(Landing { place, node, at_exit: true, is_live, is_partial, stop: NOWHERE });
                }
            }
        }
        landings
    }

    /// The occurrences that move: all that do not land at the end of their own node.
    pub fn moved<'a>(&'a self, landings: &'a [Landing]) -> impl Iterator<Item = (usize, Inst)> + Clone + 'a {
        self.occurrences().filter(move |&(place, _)| !landings.iter().any(|landing| self.stays(landing, place)))
    }

    /// Whether a landing is needed at the end of a member in which the statement occurs.
    pub fn stays(&self, landing: &Landing, place: usize) -> bool {
        landing.place == place && landing.at_exit && landing.is_live && self.members[place].occurrence.is_some()
    }

    /// Members from whose ends the statement can reach a place where it is dropped.
    pub fn leading_to_dead(&self, delayed: &Delayed) -> Flags {
        let dead = (0..self.members.len()).filter(|&place| self.members[place].is_dead);
        self.leading(delayed, dead.flat_map(|place| self.before(place)).collect(), |_| true)
    }

    /// Members from whose ends a delayed statement reaches a landing where it is needed.
    pub fn leading_to_live(&self, delayed: &Delayed, landings: &[Landing]) -> Flags {
        let mut starts: SmallVec<[usize; 16]> = SmallVec::new();
        for landing in landings.iter().filter(|landing| landing.is_live) {
            if landing.at_exit {
                starts.push(landing.place);
            } else {
                starts.extend(self.before(landing.place));
            }
        }
        self.leading(delayed, starts, |place| self.members[place].occurrence.is_none())
    }

    /// Members from whose ends a delayed statement reaches one of the given ends, through members
    /// that it passes.
    fn leading(&self, delayed: &Delayed, mut work: SmallVec<[usize; 16]>, passes: impl Fn(usize) -> bool) -> Flags {
        let mut leads = self.no_flags();
        while let Some(place) = work.pop() {
            if delayed.exit[place] && !core::mem::replace(&mut leads[place], true) && passes(place) {
                work.extend(self.before(place));
            }
        }
        leads
    }
}

//! Nodes around the evaluations of expressions, and how far evaluations move in them.
//!
//! ```text
//! 2: x + y ─▶ 6 ─▶ 7: x + y     hoisted to the entry of 7; to the end of 6 only by speculation,
//! 3 ────────▶┘ └─▶ 8            since 8 does not need it; from the entry of 6 to the ends of 2,
//!                               where the value is available, and of 3, where it is inserted
//! ```
//!
//! Up to [`LANES`] expressions are solved at once, one bit of a word for each, in a region that a
//! [search](super::search) has found.
//!
//! - *Available* at an entry: all predecessors have the value at their ends.
//! - *Hoisted* to the end of a node: all successors need an evaluation at their entries, or one
//!   does and speculation is enabled. Hoisted to an entry: the node evaluates first, or the
//!   evaluation passes it and the value is not available. The greatest solution, so that an
//!   evaluation may leave a loop.
//! - *Delayed* at an entry: the evaluation can be made later, as often as here. Where it cannot be
//!   delayed into the next node it is inserted; one that it is delayed to stays; the other
//!   evaluations read the value.
//!
//! Cost: O(nodes of the region) words for each sweep, and a sweep for each loop that a value goes
//! round.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::compact_sort::CompactSort;
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// A set of expressions, one bit each.
pub(super) type Lanes = u64;

/// Expressions that are solved at once.
pub(super) const LANES: usize = Lanes::BITS as usize;

/// No member.
pub(super) const NONE: u32 = u32::MAX;

/// A node of a region.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub node: Node,
    /// Expressions that it evaluates before it changes their values.
    pub first: Lanes,
    /// Expressions that it evaluates, and whose values hold at its end.
    pub last: Lanes,
    /// Expressions of which one evaluation is both.
    pub only: Lanes,
    /// Expressions whose values it does not change.
    pub transparent: Lanes,
    /// Expressions whose evaluation may be redundant at its entry.
    pub reached: Lanes,
    /// Expressions whose values are at its entry on all paths.
    pub available: Lanes,
    /// Expressions for which speculation may be enabled.
    pub split: Lanes,
    pub before: Range<u32>,
    pub next: Range<u32>,
}

impl Member {
    /// Expressions whose values are at its end on all paths.
    fn leaves_available(&self) -> Lanes {
        self.last | self.reached & self.transparent & self.available
    }

    /// Expressions whose evaluation can go from its end to its entry.
    fn free(&self) -> Lanes {
        self.reached & self.transparent & !self.last
    }
}

/// See the file's head. Members are in node order.
#[derive(Debug)]
pub(super) struct Region {
    pub members: Vec<Member>,
    /// Predecessors of each member, each with its member.
    before: Vec<(Node, u32)>,
    /// Members of the successors.
    next: Vec<u32>,
}

/// Places that an evaluation is hoisted to, by member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hoisted {
    pub entry: Vec<Lanes>,
    pub exit: Vec<Lanes>,
}

/// Contribution of an edge into a member: with neither, hoisting ends on it.
pub(super) struct Way {
    pub from: Node,
    pub before: Option<usize>,
    /// Expressions whose values come along it.
    pub available: Lanes,
    /// Expressions whose evaluation is hoisted along it.
    pub hoisted: Lanes,
}

/// Places of evaluations.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// Nodes at whose ends one is inserted, in order.
    pub inserted: Vec<(Node, Lanes)>,
    /// First evaluations that stay, by member.
    pub staying: Vec<Lanes>,
    /// First evaluations that read the value instead.
    pub replaced: Vec<Lanes>,
    /// Last evaluations whose values are read.
    pub sources: Vec<Lanes>,
}

impl Region {
    /// The region of these members. Each node has no member in `place_of`, before and after.
    pub fn of(nodes: &Nodes, mut members: Vec<Member>, place_of: &mut [u32]) -> Region {
        members.iter().enumerate().for_each(|(place, member)| place_of[member.node] = place as u32);
        let (mut before, mut next) = (Vec::with_capacity(2 * members.len()), Vec::with_capacity(2 * members.len()));
        for member in &mut members {
            let (first_before, first_next) = (before.len() as u32, next.len() as u32);
            before.extend(nodes.predecessors(member.node).iter().map(|&node| (node, place_of[node])));
            next.extend(nodes.successors(member.node).iter().map(|&node| place_of[node]));
            (member.before, member.next) = (first_before..before.len() as u32, first_next..next.len() as u32);
        }
        members.iter().for_each(|member| place_of[member.node] = NONE);
        let mut region = Region { members, before, next };
        region.find_available();
        region
    }

    /// The predecessors of a member, with the members that they are.
    pub fn before(&self, place: usize) -> impl Iterator<Item = (Node, Option<usize>)> + '_ {
        let Range { start, end } = self.members[place].before;
        self.before[start as usize..end as usize].iter().map(|&(node, member)| (node, place_at(member)))
    }

    /// The members that come next; None for a node outside, where nothing is needed.
    pub fn next(&self, place: usize) -> impl Iterator<Item = Option<usize>> + '_ {
        let Range { start, end } = self.members[place].next;
        self.next[start as usize..end as usize].iter().map(|&member| place_at(member))
    }

    /// No member, as enabled branches.
    pub fn none(&self) -> Vec<Lanes> {
        vec![0; self.members.len()]
    }

    /// Ends hoisting after a node, at whose end nothing can be inserted.
    pub fn close_after(&mut self, node: Node) {
        for place in 0..self.members.len() {
            if self.before(place).any(|(before, _)| before == node) {
                (self.members[place].reached, self.members[place].split) = (0, 0);
            }
        }
        self.members.iter_mut().for_each(|member| member.available = member.reached);
        self.find_available();
    }

    fn find_available(&mut self) {
        loop {
            let mut is_stable = true;
            for place in 0..self.members.len() {
                let comes = |before: Option<usize>| before.map_or(0, |it| self.members[it].leaves_available());
                let available = self.members[place].available;
                let left = self.before(place).fold(available, |all, (_, before)| all & comes(before));
                is_stable &= left == available;
                self.members[place].available = left;
            }
            if is_stable {
                break;
            }
        }
    }

    /// Places that evaluations are hoisted to if they may pass the enabled branches.
    pub fn hoisted(&self, enabled: &[Lanes]) -> Hoisted {
        let entry: Vec<Lanes> = self.members.iter().map(|member| member.reached).collect();
        let mut hoisted = Hoisted { exit: self.none(), entry };
        loop {
            let mut is_stable = true;
            for (place, member) in self.members.iter().enumerate().rev() {
                let (mut all, mut any) = (Lanes::MAX, 0);
                for next in self.next(place) {
                    let needs = next.map_or(0, |next| hoisted.entry[next]);
                    (all, any) = (all & needs, any | needs);
                }
                let exit = any & (all | enabled[place]);
                let entry = member.reached & (member.first | exit & member.free() & !member.available);
                is_stable &= hoisted.entry[place] == entry;
                (hoisted.entry[place], hoisted.exit[place]) = (entry, exit);
            }
            if is_stable {
                return hoisted;
            }
        }
    }

    /// The edges into a member.
    pub fn ways<'a>(&'a self, hoisted: &'a Hoisted, place: usize) -> impl Iterator<Item = Way> + 'a {
        self.before(place).map(|(from, before)| {
            let (available, exit) = before.map_or((0, 0), |before| {
                let member = &self.members[before];
                (member.leaves_available(), member.free() & hoisted.exit[before])
            });
            Way { from, before, available, hoisted: exit & !available }
        })
    }

    /// Places of evaluations that are hoisted so.
    pub fn placement(&self, hoisted: &Hoisted) -> Placement {
        let count = self.members.len();
        let mut delayed = hoisted.entry.clone();
        let is_later = |way: &Way, delayed: &[Lanes]| {
            !way.available & (!way.hoisted | way.before.map_or(0, |before| delayed[before]))
        };
        loop {
            let mut is_stable = true;
            for place in 0..count {
                let left = self.ways(hoisted, place).fold(delayed[place], |all, way| all & is_later(&way, &delayed));
                is_stable &= left == delayed[place];
                delayed[place] = left;
            }
            if is_stable {
                break;
            }
        }
        let mut inserted: Vec<(Node, Lanes)> = Vec::new();
        // Ends at which the value is read.
        let mut read = self.none();
        for place in 0..count {
            let needed = hoisted.entry[place] & !delayed[place];
            for way in self.ways(hoisted, place) {
                // Such a node has no other successor: edges from branches to joins are nodes
                // themselves.
                inserted.push((way.from, needed & is_later(&way, &delayed)));
                way.before.into_iter().for_each(|before| read[before] |= needed & way.available);
            }
        }
        inserted.retain(|&(_, lanes)| lanes != 0);
        inserted.compact_sort();
        inserted.dedup_by(|(node, lanes), (kept, all)| {
            let is_same = node == kept;
            *all |= if is_same { *lanes } else { 0 };
            is_same
        });
        loop {
            let mut is_stable = true;
            for place in (0..count).rev() {
                let on = read[place] & !self.members[place].last;
                for before in self.before(place).filter_map(|(_, before)| before) {
                    is_stable &= on & !read[before] == 0;
                    read[before] |= on;
                }
            }
            if is_stable {
                break;
            }
        }
        let first = |place: usize| hoisted.entry[place] & self.members[place].first;
        let replaced: Vec<Lanes> = (0..count).map(|place| first(place) & !delayed[place]).collect();
        let source = |place: usize| {
            let member = &self.members[place];
            read[place] & member.last & !(member.only & replaced[place])
        };
        Placement {
            inserted,
            staying: (0..count).map(|place| first(place) & delayed[place]).collect(),
            sources: (0..count).map(source).collect(),
            replaced,
        }
    }

    /// The nodes of evaluations that may be redundant.
    pub fn redundant_evaluations(&self) -> impl Iterator<Item = Node> + '_ {
        self.members.iter().filter(|member| member.reached & member.first != 0).map(|member| member.node)
    }

    /// The nodes of evaluations that are made in any case, and whose values others may read.
    pub fn kept_evaluations(&self) -> impl Iterator<Item = Node> + '_ {
        let is_kept = |member: &&Member| member.last & !(member.reached & member.first & member.only) != 0;
        self.members.iter().filter(is_kept).map(|member| member.node)
    }

    /// Whether an evaluation is hoisted to the only successor of a node.
    pub fn is_needed_after(&self, nodes: &Nodes, hoisted: &Hoisted, node: Node) -> bool {
        nodes.successors(node).iter().filter_map(|&next| self.place(next)).any(|place| hoisted.entry[place] != 0)
    }

    /// The member of a node.
    pub fn place(&self, node: Node) -> Option<usize> {
        self.members.binary_search_by_key(&node, |member| member.node).ok()
    }

    /// Expressions that become redundant somewhere only by speculation, if at all.
    pub fn could_speculate(&self, always: &Hoisted) -> Lanes {
        let open: Vec<Lanes> =
            self.members.iter().zip(&always.exit).map(|(member, exit)| member.split & !exit).collect();
        if open.iter().all(|&lanes| lanes == 0) {
            return 0;
        }
        open.iter().zip(self.leading_to_available()).fold(0, |all, (open, leads)| all | open & leads)
    }

    /// Expressions, by member, whose evaluation could come to that member on its way to where the
    /// value is available, if it passed all branches.
    pub fn leading_to_available(&self) -> Vec<Lanes> {
        let splits: Vec<Lanes> = self.members.iter().map(|member| member.split).collect();
        let hoisted = self.hoisted(&splits);
        let mut leads = self.none();
        loop {
            let mut is_stable = true;
            for place in 0..self.members.len() {
                let comes = |way: Way| way.available | way.hoisted & way.before.map_or(0, |it| leads[it]);
                let all = hoisted.entry[place] & self.ways(&hoisted, place).fold(0, |all, way| all | comes(way));
                is_stable &= all == leads[place];
                leads[place] = all;
            }
            if is_stable {
                return leads;
            }
        }
    }
}

fn place_at(member: u32) -> Option<usize> {
    (member != NONE).then_some(member as usize)
}

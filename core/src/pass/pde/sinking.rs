//! How far a statement sinks, and where it lands.
//!
//! ```text
//! a: x = s  ─▶ b: uses x        delayed at the entries of b and c; it lands in b, in front of the use, and is dropped in
//!           └▶ c: ret           c, where x is dead
//! ```
//!
//! The region of a statement is what control reaches from its occurrences, up to blocks that stop it and those at whose
//! entry its destination is dead. In it a statement is *delayed* at an entry where it is on all ways there, or on one way
//! to a join where sinking with a predicate is enabled; the greatest solution, so that it may sink out of loops. Joins to
//! which control goes back are never enabled, so what is delayed has a way from an occurrence. Where it is delayed on all
//! ways without any join enabled, it lands without a predicate, else with one.
//!
//! Linear in the region for each pass over it; passes are made until nothing changes, seldom more than loops are nested.
//!
//! Source: Gupta, Berson and Fang 1997, figure 8, with N-DELAYED read as ⋀ X-DELAYED ∨ (EPREDJOIN ∧ ⋁ X-DELAYED): enabling
//! lets a statement pass that comes, and does not make one where none does. Knoop, Rüthing and Steffen 1994.

use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::nodes::{Node, Nodes};
use super::statements::{Blockers, Statement};
use crate::flow::Liveness;
use crate::ir::Inst;

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
    /// Members that come next. All successors of what lets it through are members.
    pub next: SmallVec<[usize; 2]>,
    /// May sinking be enabled here: a join with nothing in the way, reached by edges forward only?
    pub is_join: bool,
}

/// See the file's head. Members are in an order in which only edges that go back lead to an earlier one.
pub(super) struct Region {
    pub members: Vec<Member>,
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
    /// The region of a statement; none where it is too large.
    pub fn of(nodes: &Nodes, blockers: &Blockers, liveness: &Liveness, statement: &Statement) -> Option<Region> {
        let mut places: HashMap<Node, usize> = HashMap::new();
        let mut members: Vec<Member> = Vec::new();
        let mut work: Vec<Node> = Vec::new();
        let mut enter = |members: &mut Vec<Member>, node: Node, occurrence: Option<Inst>| -> usize {
            *places.entry(node).or_insert_with(|| {
                let target = nodes.block(node).or_else(|| nodes.edge(node).map(|(_, to)| to));
                let is_dead = target.is_none_or(|block| !liveness.is_live_in(block, statement.dst));
                let stop = nodes.block(node).and_then(|block| blockers.first(block, statement));
                members.push(Member {
                    node,
                    occurrence,
                    is_dead,
                    stop,
                    is_reached: false,
                    before: SmallVec::new(),
                    next: SmallVec::new(),
                    is_join: false,
                });
                members.len() - 1
            })
        };
        for &(block, inst) in &statement.occurrences {
            let place = enter(&mut members, Nodes::of_block(block), Some(inst));
            members[place].occurrence = Some(inst);
            work.push(Nodes::of_block(block));
        }
        while let Some(node) = work.pop() {
            for next in nodes.successors(node) {
                let place = enter(&mut members, next, None);
                let member = &mut members[place];
                let lets_through = !member.is_dead && member.stop.is_none() && member.occurrence.is_none();
                if !core::mem::replace(&mut member.is_reached, true) && lets_through {
                    work.push(next);
                }
            }
            if members.len() > MOST_NODES {
                return None;
            }
        }
        members.sort_unstable_by_key(|member| nodes.key(member.node));
        let places: HashMap<Node, usize> =
            members.iter().enumerate().map(|(place, member)| (member.node, place)).collect();
        for member in &mut members {
            let node = member.node;
            member.before = nodes.predecessors(node).iter().map(|before| places.get(before).copied()).collect();
            member.next = nodes.successors(node).iter().filter_map(|next| places.get(next).copied()).collect();
            let is_free = member.stop.is_none() && member.occurrence.is_none() && !member.is_dead;
            let comes_back = nodes.predecessors(node).iter().any(|&before| nodes.goes_back(before, node));
            member.is_join =
                is_free && member.is_reached && member.before.len() > 1 && !comes_back && !nodes.is_entry(node);
        }
        let mut region = Region { members };
        for place in 0..region.members.len() {
            if nodes.is_entry(region.members[place].node) {
                // Control also comes from nowhere.
                region.members[place].before.push(None);
            }
        }
        Some(region)
    }

    /// Where the statement is delayed if it may pass the enabled joins.
    pub fn delayed(&self, enabled: &[bool]) -> Delayed {
        let count = self.members.len();
        let mut delayed =
            Delayed { entry: self.members.iter().map(|member| member.is_reached).collect(), exit: vec![true; count] };
        loop {
            let mut is_stable = true;
            for (place, member) in self.members.iter().enumerate() {
                let comes = |before: &Option<usize>| before.is_some_and(|before| delayed.exit[before]);
                let entry = member.is_reached
                    && (member.before.iter().all(comes) || enabled[place] && member.before.iter().any(comes));
                let exit = member.occurrence.is_some() || entry && member.stop.is_none() && !member.is_dead;
                is_stable &= (entry, exit) == (delayed.entry[place], delayed.exit[place]);
                (delayed.entry[place], delayed.exit[place]) = (entry, exit);
            }
            if is_stable {
                return delayed;
            }
        }
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

    /// The occurrences that go away: all that do not land right where they stand.
    pub fn moved<'a>(&'a self, landings: &'a [Landing]) -> impl Iterator<Item = usize> + 'a {
        let stays =
            |place: usize| landings.iter().any(|landing| landing.member == place && landing.at_exit && landing.is_live);
        (0..self.members.len()).filter(move |&place| self.members[place].occurrence.is_some() && !stays(place))
    }
}

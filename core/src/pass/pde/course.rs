//! The way of a statement that sinks: which of its occurrences go away, where it lands, and all that lies between.
//!
//! ```text
//! a: x = s ─▶ b ─▶ c: uses x        it goes away from a and lands in c. It is on its way at the entries of b and c, and comes
//!            └▶ d: x = 0            from there to where it is needed; at the entry of d too, where it is dropped
//! ```
//!
//! That is asked node by node, whether the nodes are members of a [region](super::region) or have only been
//! [found](super::sinking): where no join is passed, what was found tells all, and no region is made.
//!
//! Linear in the nodes on its way.

use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::region::{Delayed, Landing, Region};
use super::sinking::Places;
use crate::ir::Inst;
use crate::pass::path_guided::ascending::Ascending;
use crate::pass::path_guided::nodes::{Node, Nodes};

/// See the file's head.
pub(super) struct Course {
    /// The nodes from which it goes away, in order, and the instructions that do.
    pub moved: Standing,
    /// The entries at which it is delayed, in order.
    pub entries: Entries,
    /// Does it come to where it is needed from each place that it goes away from?
    pub is_needed_behind_all: bool,
}

/// The entry of a node at which a statement is delayed, and whether it comes from there to where it is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry(u32);

/// In the order of the nodes.
pub(super) type Entries = SmallVec<[Entry; 4]>;

impl Entry {
    fn new(node: Node, leads: bool) -> Entry {
        Entry((node as u32) << 1 | u32::from(leads))
    }

    pub fn node(self) -> u32 {
        self.0 >> 1
    }

    /// Does it come to where it is needed?
    pub fn leads(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Nodes that a statement is in and could leave, in order.
pub(super) type Standing = SmallVec<[(u32, Inst); 2]>;

/// Room for sets of nodes, all of them empty.
pub(super) struct Room {
    marks: FixedBitSet,
    in_order: Ascending,
    marked: SmallVec<[u32; 32]>,
}

impl Room {
    /// For that many nodes.
    pub fn new(nodes: &Nodes) -> Room {
        let (marks, in_order) = (FixedBitSet::with_capacity(nodes.len()), Ascending::new(nodes.len()));
        Room { marks, in_order, marked: SmallVec::new() }
    }

    /// Marks a node. Was it not?
    fn mark(&mut self, node: Node) {
        if !self.marks.put(node) {
            self.marked.push(node as u32);
        }
    }
}

impl Course {
    /// Course of a statement that passes no join with a predicate, as it was found. None if it would be removed nowhere, or be dropped
    /// nowhere.
    pub fn of_found(nodes: &Nodes, places: &mut Places, room: &mut Room) -> Option<Course> {
        places.landings(nodes);
        let leaves = |node: Node| places.is_delayed(node);
        let coming = |visit: &mut dyn FnMut(Node)| places.for_each_entry(visit);
        Course::of(nodes, room, places.standing(), places.landed(), leaves, coming)
    }

    /// Course of a statement that is delayed like this in the region of all that was found.
    pub fn of_region(
        nodes: &Nodes,
        (region, places): (&Region, &Places),
        delayed: &Delayed,
        landings: &[Landing],
        room: &mut Room,
    ) -> Option<Course> {
        let leaves = |node: Node| places.member(region, node).is_some_and(|place| delayed.exit[place]);
        Course::of(nodes, room, region.standing(), landings, leaves, |visit| region.for_each_entry(delayed, visit))
    }

    /// `leaves` says whether it is delayed at the end of a node, and `coming` visits the nodes at whose entries it is.
    fn of(
        nodes: &Nodes,
        room: &mut Room,
        standing: Standing,
        landings: &[Landing],
        leaves: impl Fn(Node) -> bool,
        coming: impl FnOnce(&mut dyn FnMut(Node)),
    ) -> Option<Course> {
        let moved: Standing = moved(&standing, landings).collect();
        if moved.is_empty() || landings.iter().all(|landing| landing.is_live) {
            return None;
        }
        // Nodes from whose ends it comes to where it is needed.
        let live = || landings.iter().filter(|landing| landing.is_live);
        let leave = |room: &mut Room, node: Node| {
            if leaves(node) {
                room.mark(node);
            }
        };
        for landing in live() {
            match landing.at_exit {
                true => leave(room, landing.node()),
                false => nodes.predecessors(landing.node()).iter().for_each(|&before| leave(room, before)),
            }
        }
        let mut next = 0;
        while let Some(&node) = room.marked.get(next) {
            next += 1;
            if !stands(&standing, node as Node) {
                nodes.predecessors(node as Node).iter().for_each(|&before| leave(room, before));
            }
        }
        let is_needed_behind_all = moved.iter().all(|&(node, _)| room.marks.contains(node as Node));
        // The same for entries: what comes to a node in which it stands does not go on from there.
        standing.iter().for_each(|&(node, _)| room.marks.remove(node as Node));
        live().filter(|landing| !landing.at_exit).for_each(|landing| room.mark(landing.node()));
        let Room { marks, in_order, marked } = room;
        coming(&mut |node| in_order.insert(node));
        let in_order = core::iter::from_fn(|| in_order.pop());
        let entries = in_order.map(|node| Entry::new(node, marks.contains(node))).collect();
        marked.drain(..).for_each(|node| marks.remove(node as Node));
        Some(Course { moved, entries, is_needed_behind_all })
    }

    /// Does a statement land right where it stands?
    pub fn stays(standing: &[(u32, Inst)], landing: &Landing) -> bool {
        landing.at_exit && landing.is_live && stands(standing, landing.node())
    }
}

fn stands(standing: &[(u32, Inst)], node: Node) -> bool {
    match standing {
        &[(only, _)] => only as Node == node,
        _ => standing.binary_search_by_key(&(node as u32), |&(node, _)| node).is_ok(),
    }
}

/// The occurrences that go away: all that do not land right where they stand.
pub(super) fn moved<'a>(
    standing: &'a [(u32, Inst)],
    landings: &'a [Landing],
) -> impl Iterator<Item = (u32, Inst)> + 'a {
    let stays = |node: u32| landings.iter().any(|landing| landing.at_exit && landing.is_live && landing.node == node);
    standing.iter().copied().filter(move |&(node, _)| !stays(node))
}

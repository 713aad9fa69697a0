//! Sets of executed paths on which a statement is available and removable.
//!
//! ```text
//! 1 ─▶ 2: x = s ─▶ 4 ─▶ 5: uses x      at the end of 4, paths through 2 are available, and those through 6 removable
//!  └─▶ 3 ────────▶┘└──▶ 6: x = 1
//! ```
//!
//! 1. Forward in node order, a path is available at an entry if it is at the end of a predecessor,
//!    and at the end of a node in which the statement occurs or through which it is delayed.
//! 2. Backward, it is removable at the end of a node if it is at the entry of a successor, and at
//!    an entry at which the result is dead, or where the statement is delayed to the end.
//!
//! Back edges are skipped, as no path passes one; a path that ends before a back edge is removable
//! if the result is dead at its target.
//!
//! Cost: O(region · paths / 64).
//!
//! Source: Gupta, Berson and Fang 1997, section 2.1.1, figure 4, with X-AVAIL read as ¬BLOCK ∧
//! N-AVAIL.

use fixedbitset::FixedBitSet;

use super::accesses::NOWHERE;
use super::region::{Delayed, Region};
use crate::pass::support::path_guided::path_sets::{PathSets, add, add_common, add_difference, keep};
use crate::pass::support::path_guided::paths::Paths;

/// Sets of paths of a statement, by member.
pub(super) struct Sets {
    /// Paths that are available at the entry.
    pub entry_available: PathSets,
    /// Paths that are available at the end.
    pub exit_available: PathSets,
    /// Paths that are removable from the end on.
    pub exit_removable: PathSets,
}

impl Sets {
    /// The sets of a statement that is delayed as given.
    pub fn of(region: &Region, paths: &Paths, delayed: &Delayed, always: &Delayed) -> Sets {
        let (entry_available, exit_available) = Sets::available(region, paths, delayed, always);
        let exit_removable = Sets::removable(region, paths, delayed);
        Sets { entry_available, exit_available, exit_removable }
    }

    fn available(region: &Region, paths: &Paths, delayed: &Delayed, always: &Delayed) -> (PathSets, PathSets) {
        let members = &region.members;
        let mut entry = PathSets::none(paths.count(), members.len());
        let mut exit = entry.clone();
        for (place, member) in members.iter().enumerate() {
            if delayed.entry[place] {
                let set = entry.at_mut(place);
                for before in region.before(place).filter(|&before| before < place && delayed.exit[before]) {
                    add(set, exit.at(before));
                }
                keep(set, paths.on(member.node));
                if always.entry[place] {
                    add(set, paths.starts(member.node));
                }
            }
            if delayed.exit[place] {
                let occurs = member.occurrence.is_some();
                exit.at_mut(place).copy_from_slice(if occurs { paths.on(member.node) } else { entry.at(place) });
            }
        }
        (entry, exit)
    }

    fn removable(region: &Region, paths: &Paths, delayed: &Delayed) -> PathSets {
        let members = &region.members;
        let mut entry = PathSets::none(paths.count(), members.len());
        let mut exit = entry.clone();
        for (place, member) in members.iter().enumerate().rev() {
            let on = paths.on(member.node);
            if delayed.exit[place] {
                let set = exit.at_mut(place);
                for next in region.next(place) {
                    let to = &members[next];
                    match (next <= place, to.is_dead) {
                        (true, true) => add(set, paths.ends(member.node)),
                        (true, false) => {}
                        // A path that begins at the next node has not come there.
                        (false, true) => add_difference(set, paths.on(to.node), paths.starts(to.node)),
                        (false, false) => add(set, entry.at(next)),
                    }
                }
                keep(set, on);
                if region.next(place).len() == 0 {
                    add(set, on);
                }
            }
            if delayed.entry[place] {
                match (member.is_dead, member.stop == NOWHERE) {
                    (true, _) => entry.at_mut(place).copy_from_slice(on),
                    (false, true) => entry.at_mut(place).copy_from_slice(exit.at(place)),
                    (false, false) => {}
                }
            }
        }
        exit
    }

    /// Paths on which the statement is available and removable at the end of a member.
    pub fn benefiting(&self, place: usize, set: &mut FixedBitSet) {
        set.clear();
        add_common(set.as_mut_slice(), self.exit_available.at(place), self.exit_removable.at(place));
    }
}

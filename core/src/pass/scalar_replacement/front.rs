//! A block before a loop that a function begins with, for insertions.
//!
//! ```text
//! loop: x = ld A[i]              loop_front: br loop
//!       …              ──▶       loop:       x = ld A[i]
//!       br p, loop, out                      …
//! ```
//!
//! 1. A question finds that nothing but an insertion point before the only entry is missing.
//! 2. Create the block, and count its executions in each profile: those of the entry that no edge
//!    accounts for.
//! 3. Ask again; the answer inserts in the block.
//!
//! Sound because control enters the new block exactly when it entered the old one, and continues
//! there. A function with several entries stays as it is: its callers name them.
//!
//! Cost: O(profile).

use alloc::format;
use alloc::vec::Vec;

use crate::ir::{Block, InstData, Profile, WarpCounts, WarpEntry};
use crate::trace::{Place, Remark};
use crate::view::View;

/// Creates a block before a function's only entry.
pub(super) fn create_before_entry(view: &mut View<'_>, first: Block) -> Block {
    let mut rewrite = view.rewrite(|func| {
        let message = format!("created a block before `{}` for insertions", func.blocks[first].name);
        Remark::applied("front", first, message)
    });
    let name = rewrite.func().fresh_block_name(&format!("{}_front", rewrite.func().blocks[first].name));
    let front = rewrite.create_block(name, None, Some(first));
    rewrite.insert(Place { block: front, before: None }, InstData::branch(first));
    let profiles = rewrite.func().profiles.iter().map(|profile| with_front(profile, front, first)).collect();
    rewrite.set_profiles(profiles);
    rewrite.finish();
    front
}

/// A profile with the new block: executions of the entry that come from no edge come from there.
fn with_front(profile: &Profile, front: Block, first: Block) -> Profile {
    match profile {
        Profile::Edge(edges) => {
            let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
            let leaving = sum(&mut edges.iter().filter(|edge| edge.0 == first).map(|edge| edge.2));
            let coming = sum(&mut edges.iter().filter(|edge| edge.1 == first).map(|edge| edge.2));
            let own = Some((front, first, leaving.saturating_sub(coming))).filter(|own| own.2 > 0);
            Profile::Edge(edges.iter().copied().chain(own).collect())
        }
        Profile::Warp(entries) => {
            let mut counts = WarpCounts::default();
            counts.add(entries);
            let coming = entries.iter().filter_map(|entry| match *entry {
                WarpEntry::Edge { to, executions, .. } if to == first => Some(executions),
                _ => None,
            });
            let coming = coming.fold(0, u64::saturating_add);
            let own = counts.executions(first).map(|all| all.saturating_sub(coming));
            let own = own.into_iter().flat_map(|executions| {
                [
                    WarpEntry::Block { block: front, executions, diverged: None },
                    WarpEntry::Edge { from: front, to: first, executions },
                ]
            });
            Profile::Warp(entries.iter().copied().chain(own).collect::<Vec<_>>())
        }
        Profile::Path(_) | Profile::Zero(_) => profile.clone(),
    }
}

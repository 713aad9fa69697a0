//! A place for what is inserted in front of a loop that a function begins with.
//!
//! ```text
//! loop: x = ld A[i]              loop_front: br loop
//!       …              ──▶       loop:       x = ld A[i]
//!       br p, loop, out                      …
//! ```
//!
//! Control comes to the first block from outside and round the loop, and from outside along no edge that could be split. A
//! block in front makes it one. It is put there as soon as a question has found that nothing else is missing; asked anew, that
//! one inserts something in it.
//!
//! Sound: whoever entered the first block enters the new one, which does nothing but go on. A function with several entries
//! stays as it is: who calls it names them.

use alloc::format;
use alloc::vec::Vec;

use crate::ir::{Block, InstData, Profile, WarpCounts, WarpEntry};
use crate::trace::{Place, Remark};
use crate::view::View;

/// Puts a block in front of a function's only entry.
pub(super) fn create_before_entry(view: &mut View<'_>, first: Block) -> Block {
    let mut rewrite = view.rewrite(|func| {
        let message = format!("a block in front of `{}` takes what is inserted there", func.blocks[first].name);
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

/// What a profile says of the edge from the new block to the old one: that what does not come round comes from outside.
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

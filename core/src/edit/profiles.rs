//! Updates of declared profiles after blocks were added or removed.
//!
//! ```text
//! profile path { a b c: 7 }     b_c put on b -> c:    a b b_c c: 7
//!                               b taken out:          nothing;   merged into a:   a c: 7
//! ```
//!
//! A count belongs to edges and blocks, and an edge that is split is run through by exactly who ran
//! through it, so that each of its halves has its count. What speaks of a block that is gone is
//! forgotten, except where another block does its work. What a zero profile says is of
//! instructions, and stays.
//!
//! Linear in what the profile says, for any number of edges that are split at a time.

use alloc::rc::Rc;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::ir::{Block, Profile, WarpCounts, WarpEntry};

/// Do they say the same? What is shared does.
pub fn is_same(a: &Profile, b: &Profile) -> bool {
    match (a, b) {
        (Profile::Zero(a), Profile::Zero(b)) => Rc::ptr_eq(a, b) || a == b,
        (a, b) => a == b,
    }
}

/// Does it say nothing?
pub fn is_empty(profile: &Profile) -> bool {
    match profile {
        Profile::Path(paths) => paths.is_empty(),
        Profile::Edge(edges) => edges.is_empty(),
        Profile::Zero(entries) => entries.is_empty(),
        Profile::Warp(entries) => entries.is_empty(),
    }
}

/// Does a profile name a block?
pub fn names(profile: &Profile, block: Block) -> bool {
    match profile {
        Profile::Path(paths) => paths.iter().any(|(path, _)| path.contains(&block)),
        Profile::Edge(edges) => edges.iter().any(|&(from, to, _)| from == block || to == block),
        // It speaks of instructions.
        Profile::Zero(_) => false,
        Profile::Warp(entries) => entries.iter().any(|entry| match *entry {
            WarpEntry::Block { block: named, .. } => named == block,
            WarpEntry::Edge { from, to, .. } => from == block || to == block,
        }),
    }
}

/// Removes a block from a profile, joining around it where another block does its work.
pub fn forget_block(profile: &mut Profile, block: Block, merged_into: Option<Block>) {
    let stays = |named: &Block| *named != block;
    match (profile, merged_into) {
        (Profile::Path(paths), Some(into)) => {
            for (path, _) in paths.iter_mut() {
                // The merged block's work is where `into` stands: a path through both loses the one, a path that
                // begins at the removed block begins at `into`.
                let has_other = path.contains(&into);
                path.iter_mut().filter(|named| **named == block).for_each(|named| *named = into);
                if has_other {
                    path.dedup();
                }
            }
        }
        (Profile::Path(paths), None) => paths.retain(|(path, _)| path.iter().all(stays)),
        (Profile::Edge(edges), Some(into)) => {
            for (from, to, _) in edges.iter_mut() {
                let inside = (*from == into && *to == block) || (*from == block && *to == into);
                if !inside {
                    for end in [from, to] {
                        if *end == block {
                            *end = into;
                        }
                    }
                }
            }
            edges.retain(|(from, to, _)| stays(from) && stays(to));
        }
        (Profile::Edge(edges), None) => edges.retain(|(from, to, _)| stays(from) && stays(to)),
        (Profile::Zero(_), _) => {}
        (Profile::Warp(entries), Some(into)) => *entries = merged_counts(entries, block, into),
        (Profile::Warp(entries), None) => entries.retain(|entry| match entry {
            WarpEntry::Block { block: named, .. } => stays(named),
            WarpEntry::Edge { from, to, .. } => stays(from) && stays(to),
        }),
    }
}

/// Counts of warps once `into` does the work of a block: it runs as often as it ran, and where the
/// block was behind it, it ends as the block ended. Edges that become one are taken no more often
/// than their source runs.
fn merged_counts(entries: &[WarpEntry], block: Block, into: Block) -> Vec<WarpEntry> {
    let mut before = WarpCounts::default();
    before.add(entries);
    let is_behind = before.edges_of(into).any(|(to, _)| to == block);
    let renamed = |named: Block| if named == block { into } else { named };
    let mut merged: Vec<WarpEntry> = Vec::with_capacity(entries.len());
    for &entry in entries {
        match entry {
            WarpEntry::Block { block: named, .. } if named == block && before.executions(into).is_some() => {}
            WarpEntry::Block { block: named, executions, diverged } => {
                let diverged = if named == into && is_behind { before.told(block) } else { diverged };
                merged.push(WarpEntry::Block { block: renamed(named), executions, diverged });
            }
            WarpEntry::Edge { from, to, .. } if (from, to) == (into, block) || (from, to) == (block, into) => {}
            WarpEntry::Edge { from, to, executions } => {
                let (from, to) = (renamed(from), renamed(to));
                let same = merged.iter_mut().find_map(|other| match other {
                    WarpEntry::Edge { from: source, to: target, executions } if (*source, *target) == (from, to) => {
                        Some(executions)
                    }
                    _ => None,
                });
                let most = before.executions(from).unwrap_or(u64::MAX);
                match same {
                    Some(sum) => *sum = sum.saturating_add(executions).min(most.max(*sum)),
                    None => merged.push(WarpEntry::Edge { from, to, executions }),
                }
            }
        }
    }
    merged
}

/// Puts new blocks on edges in a profile: from where, to where, and the block; one after the other.
pub fn split_in_profile(profile: &mut Profile, splits: &[(Block, Block, Block)]) {
    match profile {
        Profile::Path(paths) => split_in_paths(paths, splits),
        Profile::Edge(edges) => split_in_list(
            edges,
            splits,
            |&(from, to, _)| Some((from, to)),
            |edges, place, middle| {
                let (_, target, count) = &mut edges[place];
                let (to, count) = (core::mem::replace(target, middle), *count);
                edges.push((middle, to, count));
            },
        ),
        Profile::Zero(_) => {}
        Profile::Warp(entries) => split_in_list(
            entries,
            splits,
            |entry| if let &WarpEntry::Edge { from, to, .. } = entry { Some((from, to)) } else { None },
            |entries, place, middle| {
                let WarpEntry::Edge { to: target, executions, .. } = &mut entries[place] else { return };
                let (to, executions) = (core::mem::replace(target, middle), *executions);
                entries.push(WarpEntry::Block { block: middle, executions, diverged: None });
                entries.push(WarpEntry::Edge { from: middle, to, executions });
            },
        ),
    }
}

/// Splits an edge in a list of edges, of which several may be equal. `halve` divides each entry in two, of which
/// the second comes last.
fn split_in_list<T>(
    list: &mut Vec<T>,
    splits: &[(Block, Block, Block)],
    edge_of: impl Fn(&T) -> Option<(Block, Block)>,
    halve: impl Fn(&mut Vec<T>, usize, Block),
) {
    // By edges that are split: where they stand in the list. Most edges begin where none does.
    let sources: FixedBitSet = splits.iter().map(|(from, ..)| from.index()).collect();
    let mut places: HashMap<(Block, Block), SmallVec<[usize; 1]>> =
        splits.iter().map(|&(from, to, _)| ((from, to), SmallVec::new())).collect();
    let note = |places: &mut HashMap<_, SmallVec<[usize; 1]>>, place: usize, entry: &T| {
        let edge = edge_of(entry).filter(|(from, _)| sources.contains(from.index()));
        if let Some(places) = edge.and_then(|edge| places.get_mut(&edge)) {
            places.push(place);
        }
    };
    for (place, entry) in list.iter().enumerate() {
        note(&mut places, place, entry);
    }
    for &(from, to, middle) in splits {
        let known = list.len();
        // The halves may be split in their turn.
        for place in places.get_mut(&(from, to)).map(core::mem::take).unwrap_or_default() {
            halve(list, place, middle);
            note(&mut places, place, &list[place]);
        }
        for (place, entry) in list.iter().enumerate().skip(known) {
            note(&mut places, place, entry);
        }
    }
}

/// Splits an edge in paths.
fn split_in_paths(paths: &mut [(Vec<Block>, u64)], splits: &[(Block, Block, Block)]) {
    if let [(from, to, middle)] = *splits {
        for (path, _) in paths {
            // Most paths do not come by, which is seen soonest if all their blocks are compared.
            if path.iter().fold(false, |comes_by, &block| comes_by | (block == from)) {
                split_in_path(path, |edge| (edge == (from, to)).then_some(middle));
            }
        }
        return;
    }
    let sources: FixedBitSet = splits.iter().map(|(from, ..)| from.index()).collect();
    let mut middles: HashMap<(Block, Block), Block> = HashMap::with_capacity(splits.len());
    for &(from, to, middle) in splits {
        middles.entry((from, to)).or_insert(middle);
    }
    let middle_of = |edge: (Block, Block)| {
        let is_split = sources.contains(edge.0.index());
        if is_split { middles.get(&edge).copied() } else { None }
    };
    paths.iter_mut().for_each(|(path, _)| split_in_path(path, middle_of));
}

/// Puts the blocks on a path that stand on its edges.
fn split_in_path(path: &mut Vec<Block>, middle_of: impl Fn((Block, Block)) -> Option<Block>) {
    let mut index = path.len();
    while index > 1 {
        index -= 1;
        while let Some(middle) = middle_of((path[index - 1], path[index])) {
            path.insert(index, middle);
            // An edge that leads to such a block or from it may have been split in its turn: first
            // the one that leads on.
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use crate::edit::Editor;
    use crate::ir::Block;
    use crate::trace::{NoTrace, Remark};

    /// A loop, with equal edges listed twice.
    const SOURCE: &str = "kernel k(n: u32) {
a:
    p = setp.lt.u32 n, 3
    br p, b, c
b:
    br p, b, c
c:
    ret
    profile path { a b b c: 2, a c: 3, b b: 4 }
    profile edge { a -> c: 3, b -> b: 6, a -> b: 2, b -> b: 1, b -> c: 2 }
    profile warp { a: 1, a -> c: 1, b -> b: 2, b -> b: 3 }
}
";

    /// The text after splits, each of the edge that leads from the block or the middle of that
    /// number to another: blocks first, then middles as they have been made.
    fn after(splits: &[(usize, usize)], all_at_a_time: bool) -> String {
        let mut module = crate::verify::check(SOURCE).module;
        let func = module.funcs.keys().next().expect("a kernel");
        let mut blocks: Vec<Block> = module.funcs[func].block_order().collect();
        let mut silent = NoTrace;
        let mut editor = Editor::new(&mut module.funcs[func], &mut silent);
        for &(from, to) in splits {
            let (from, to) = (blocks[from], blocks[to]);
            let mut rewrite = editor.rewrite(|_| Remark::applied("split", from, "split"));
            let middle = if all_at_a_time { rewrite.split_edge_ahead(from, to) } else { rewrite.split_edge(from, to) };
            blocks.push(middle);
        }
        drop(editor);
        crate::text::print(&module)
    }

    #[test]
    fn profiles_follow_splits_all_at_a_time_as_they_follow_each() {
        // The last ones split halves of edges that have been split before: 3 stands on a → c, 4 on b → b.
        let cases: [&[(usize, usize)]; 6] = [
            &[(0, 2)],
            &[(0, 2), (1, 1), (0, 1), (1, 2)],
            &[(0, 2), (0, 3)],
            &[(0, 2), (3, 2), (0, 3)],
            &[(0, 2), (1, 1), (1, 4), (4, 1), (3, 2)],
            &[(0, 2), (1, 1), (4, 1), (1, 4), (1, 6), (0, 3)],
        ];
        for splits in cases {
            let each = after(splits, false);
            assert_eq!(after(splits, true), each, "{splits:?}");
            assert!(each.contains("a_c"), "the blocks in the middle have names: {each}");
        }
    }
}

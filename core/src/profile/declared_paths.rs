//! Executed acyclic paths, as a function's declared profiles give them.
//!
//! ```text
//! profile path { a b: 6   a c: 0   a b: 4 }      a b: 10
//! ```
//!
//! Each path is given once, in the order of the declarations; counts of one path are added, and
//! paths that did not run are left out.
//!
//! Cost: O(length of all paths).

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hasher};
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::ir::{Block, Function, Profile};

/// The executed paths of a function's profiles, with their counts.
pub fn declared_paths(func: &Function) -> Vec<(&[Block], u64)> {
    let mut paths: Vec<(&[Block], u64)> = Vec::new();
    // Places of paths, by the hashes of their blocks.
    let mut places: HashTable<(u64, usize)> = HashTable::new();
    let hasher = DefaultHashBuilder::default();
    let declared = func.profiles.iter().filter_map(|profile| match profile {
        Profile::Path(paths) => Some(paths),
        _ => None,
    });
    for (path, count) in declared.flatten().filter(|(path, count)| *count > 0 && !path.is_empty()) {
        let mut hashing = hasher.build_hasher();
        let (pairs, last) = path.as_chunks::<2>();
        let number = |block: Block| u64::from(block.as_u32());
        pairs.iter().for_each(|&[one, next]| hashing.write_u64(number(one) << 32 | number(next)));
        last.iter().for_each(|&block| hashing.write_u64(number(block)));
        let hash = hashing.finish();
        match places.entry(hash, |&(_, place)| paths[place].0 == path, |&(hash, _)| hash) {
            Entry::Occupied(known) => {
                let (_, sum) = &mut paths[known.get().1];
                *sum = sum.saturating_add(*count);
            }
            Entry::Vacant(free) => {
                free.insert((hash, paths.len()));
                paths.push((path, *count));
            }
        }
    }
    paths
}

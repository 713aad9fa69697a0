//! Sets of executed paths, one for each of many places, in one piece of memory.
//!
//! ```text
//! available at    n1   n2   n4          one row of words for each place: with up to 64 paths a set is one word, and to
//! path 0 1 2 3    1110 1010 1010        join two of them takes one instruction
//! ```
//!
//! A statement needs several such tables over all nodes of its region, so one allocation serves all
//! of a table's sets.
//!
//! Cost: O(paths / 64) for each operation.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::{Block, FixedBitSet};

/// See the file's head.
#[derive(Clone, Default)]
pub(in crate::pass) struct PathSets {
    words: Vec<Block>,
    /// Words of one set.
    width: usize,
    /// The number of paths.
    count: usize,
}

impl PathSets {
    /// Empty sets of so many paths at so many places.
    pub fn none(count: usize, places: usize) -> PathSets {
        let width = count.div_ceil(Block::BITS as usize);
        PathSets { words: vec![0; width * places], width, count }
    }

    /// The number of places.
    pub fn places(&self) -> usize {
        self.words.len().checked_div(self.width).unwrap_or(0)
    }

    /// Adds a path to the set of a place.
    pub fn insert(&mut self, place: usize, path: usize) {
        let bits = Block::BITS as usize;
        self.at_mut(place)[path / bits] |= 1 << (path % bits);
    }

    /// The set of a place, as words.
    #[inline]
    pub fn at(&self, place: usize) -> &[Block] {
        &self.words[place * self.width..][..self.width]
    }

    /// The set of a place, mutable.
    pub fn at_mut(&mut self, place: usize) -> &mut [Block] {
        &mut self.words[place * self.width..][..self.width]
    }

    /// A copy of the set of a place.
    pub fn set(&self, place: usize) -> FixedBitSet {
        FixedBitSet::with_capacity_and_blocks(self.count, self.at(place).iter().copied())
    }
}

/// Whether a set is empty.
pub(in crate::pass) fn is_none(set: &[Block]) -> bool {
    set.iter().all(|&word| word == 0)
}

/// Whether two sets have no path in common.
#[inline]
pub(in crate::pass) fn are_disjoint(set: &[Block], other: &[Block]) -> bool {
    set.iter().zip(other).all(|(a, b)| a & b == 0)
}

/// The paths of a set, in order.
pub(in crate::pass) fn ones(set: &[Block]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(place, &word)| {
        let later = |&left: &Block| Some(left & (left - 1)).filter(|&left| left != 0);
        let each = core::iter::successors(Some(word).filter(|&word| word != 0), later);
        each.map(move |left| place * Block::BITS as usize + left.trailing_zeros() as usize)
    })
}

/// Adds the paths of `other` to `set`.
pub(in crate::pass) fn add(set: &mut [Block], other: &[Block]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
}

/// Adds the paths that are in both of two others to `set`.
#[inline]
pub(in crate::pass) fn add_common(set: &mut [Block], one: &[Block], other: &[Block]) {
    set.iter_mut().zip(one.iter().zip(other)).for_each(|(a, (b, c))| *a |= b & c);
}

/// Adds the paths of `other` that are not in `without` to `set`.
pub(in crate::pass) fn add_difference(set: &mut [Block], other: &[Block], without: &[Block]) {
    set.iter_mut().zip(other.iter().zip(without)).for_each(|(a, (b, c))| *a |= b & !c);
}

/// Keeps the paths of `set` that are in `other`.
pub(in crate::pass) fn keep(set: &mut [Block], other: &[Block]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a &= b);
}

/// Removes the paths of `other` from `set`.
pub(in crate::pass) fn take_away(set: &mut [Block], other: &[Block]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a &= !b);
}

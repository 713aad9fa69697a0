//! Sets of executed paths, one for each of many places, in one piece of memory.
//!
//! ```text
//! available at    n1   n2   n4          one row of words for each place: with up to 64 paths a set is one word, and to
//! path 0 1 2 3    1110 1010 1010        join two of them takes one instruction
//! ```
//!
//! A statement asks for several such tables over all nodes of its region, and asks for them anew for each join, so that a
//! set for itself would mostly be allocated and freed. Every operation is linear in the words of a set.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::{Block, FixedBitSet};

use super::paths::Paths;

/// See the file's head.
#[derive(Clone, Default)]
pub(in crate::pass) struct PathSets {
    words: Vec<Block>,
    /// Words of one set.
    width: usize,
    /// Paths that there are.
    count: usize,
}

impl PathSets {
    /// No path at any of so many places.
    pub fn none(paths: &Paths, places: usize) -> PathSets {
        let count = paths.frequencies.len();
        let width = count.div_ceil(Block::BITS as usize);
        PathSets { words: vec![0; width * places], width, count }
    }

    /// Room for the sets of so many places, in the memory of others. What is in them is not told before they are written.
    pub fn unwritten(paths: &Paths, places: usize, memory: PathSets) -> PathSets {
        let count = paths.frequencies.len();
        let width = count.div_ceil(Block::BITS as usize);
        let mut words = memory.words;
        words.resize(width * places, 0);
        PathSets { words, width, count }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.words.len().checked_div(self.width).unwrap_or(0)
    }

    /// The set of a place, as words.
    pub fn at(&self, place: usize) -> &[Block] {
        &self.words[place * self.width..][..self.width]
    }

    /// The set of a place, to be changed.
    pub fn at_mut(&mut self, place: usize) -> &mut [Block] {
        &mut self.words[place * self.width..][..self.width]
    }

    /// A copy of the set of a place.
    pub fn set(&self, place: usize) -> FixedBitSet {
        FixedBitSet::with_capacity_and_blocks(self.count, self.at(place).iter().copied())
    }

    /// Has the set of a place no path of another set?
    pub fn is_disjoint(&self, place: usize, other: &FixedBitSet) -> bool {
        self.at(place).iter().zip(other.as_slice()).all(|(a, b)| a & b == 0)
    }
}

/// Adds to `set` what is in `other`.
pub(in crate::pass) fn add(set: &mut [Block], other: &[Block]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
}

/// Adds to `set` what is in `other`, but not in `without`.
pub(in crate::pass) fn add_difference(set: &mut [Block], other: &FixedBitSet, without: &FixedBitSet) {
    let words = other.as_slice().iter().zip(without.as_slice());
    set.iter_mut().zip(words).for_each(|(a, (b, c))| *a |= b & !c);
}

/// Leaves in `set` only what is in `other`.
pub(in crate::pass) fn keep(set: &mut [Block], other: &FixedBitSet) {
    set.iter_mut().zip(other.as_slice()).for_each(|(a, b)| *a &= b);
}

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
    /// None of so many paths at any of so many places.
    pub fn none(count: usize, places: usize) -> PathSets {
        let width = count.div_ceil(Block::BITS as usize);
        PathSets { words: vec![0; width * places], width, count }
    }

    /// Room for the sets of so many places, in the memory of others. What is in them is not told before they are written.
    pub fn unwritten(count: usize, places: usize, memory: PathSets) -> PathSets {
        let width = count.div_ceil(Block::BITS as usize);
        let mut words = memory.words;
        words.resize(width * places, 0);
        PathSets { words, width, count }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.words.len().checked_div(self.width).unwrap_or(0)
    }

    /// The words of one set.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The table as sets of that many words, which they have.
    #[inline]
    pub fn rows(&self, width: usize) -> Rows<&[Block]> {
        Rows { words: &self.words, width }
    }

    /// Returns the rows, to be changed.
    #[inline]
    pub fn rows_mut(&mut self, width: usize) -> Rows<&mut [Block]> {
        Rows { words: &mut self.words, width }
    }

    /// A path is in the set of a place.
    pub fn insert(&mut self, place: usize, path: usize) {
        let bits = Block::BITS as usize;
        self.at_mut(place)[path / bits] |= 1 << (path % bits);
    }

    /// The set of a place, as words.
    #[inline]
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
}

/// A table whose sets have a number of words that whoever goes over all of it may know when it is compiled.
pub(in crate::pass) struct Rows<T> {
    words: T,
    width: usize,
}

impl Rows<&[Block]> {
    /// The set of a place, as words.
    #[inline(always)]
    pub fn at(&self, place: usize) -> &[Block] {
        &self.words[place * self.width..][..self.width]
    }
}

impl Rows<&mut [Block]> {
    /// The set of a place, as words.
    #[inline(always)]
    pub fn at(&self, place: usize) -> &[Block] {
        &self.words[place * self.width..][..self.width]
    }

    /// Returns the set, to be changed.
    #[inline(always)]
    pub fn at_mut(&mut self, place: usize) -> &mut [Block] {
        &mut self.words[place * self.width..][..self.width]
    }
}

/// Has a set no path?
pub(in crate::pass) fn is_none(set: &[Block]) -> bool {
    set.iter().all(|&word| word == 0)
}

/// Have two sets no path in common?
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

/// Adds to `set` what is in `other`.
pub(in crate::pass) fn add(set: &mut [Block], other: &[Block]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
}

/// Adds to `set` what is in both of two others.
#[inline]
pub(in crate::pass) fn add_common(set: &mut [Block], one: &[Block], other: &[Block]) {
    set.iter_mut().zip(one.iter().zip(other)).for_each(|(a, (b, c))| *a |= b & c);
}

/// Adds to `set` what is in `other`, but not in `without`.
pub(in crate::pass) fn add_difference(set: &mut [Block], other: &[Block], without: &[Block]) {
    set.iter_mut().zip(other.iter().zip(without)).for_each(|(a, (b, c))| *a |= b & !c);
}

/// Leaves in `set` only what is in `other`.
pub(in crate::pass) fn keep(set: &mut [Block], other: &[Block]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a &= b);
}

/// Takes from `set` what is in `other`.
pub(in crate::pass) fn take_away(set: &mut [Block], other: &[Block]) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a &= !b);
}

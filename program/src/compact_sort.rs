//! Stable sorting that costs little code for each type and order.
//!
//! ```text
//! [c, a, b]  ──▶  indices [1, 2, 0]  ──▶  [a, b, c]
//! ```
//!
//! 1. The indices of a slice are sorted by one function, which calls the comparison through a pointer.
//! 2. The elements are swapped along the cycles of that permutation.
//!
//! The standard sort is compiled anew for each type and each comparison, 5 KB of WebAssembly each,
//! and a reader downloads them all; these methods are 0.3 KB each. Cost: O(n log n) comparisons,
//! 4 bytes an element; none of it for slices in order.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Stable sorts for slices, in place of the standard ones.
pub trait CompactSort<T> {
    /// Sorts by a total order of the elements.
    fn compact_sort_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key of each element, which is computed for each comparison.
    fn compact_sort_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.compact_sort_by(|a, b| key(a).cmp(&key(b)));
    }

    /// Sorts by the elements' own order.
    fn compact_sort(&mut self)
    where
        T: Ord,
    {
        self.compact_sort_by(T::cmp);
    }
}

impl<T> CompactSort<T> for [T] {
    fn compact_sort_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut sources = sources(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        for start in 0..sources.len() {
            let mut position = start;
            // A position that has its element is its own source.
            loop {
                let source = core::mem::replace(&mut sources[position], position as u32) as usize;
                if source == start {
                    break;
                }
                self.swap(position, source);
                position = source;
            }
        }
    }
}

/// The index of the element for each position; none if the elements are in order.
fn sources(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<u32> {
    if (1..count).all(|index| compare(index - 1, index).is_le()) {
        return Vec::new();
    }
    let count = u32::try_from(count).expect("programs have fewer than 2^32 parts");
    let mut sources: Vec<u32> = (0..count).collect();
    sources.sort_by(|&a, &b| compare(a as usize, b as usize));
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of `length` keys below 3, each element with its first position.
    fn sequences(length: u32) -> impl Iterator<Item = Vec<(u32, u32)>> {
        (0..3_u32.pow(length)).map(move |number| (0..length).map(|at| (number / 3_u32.pow(at) % 3, at)).collect())
    }

    #[test]
    fn sorts_as_the_standard_sort() {
        for sequence in (0..=7).flat_map(sequences) {
            let (mut ours, mut standard) = (sequence.clone(), sequence);
            ours.compact_sort_by_key(|&(key, _)| key);
            standard.sort_by_key(|&(key, _)| key);
            assert_eq!(ours, standard);
            ours.compact_sort_by(|a, b| b.cmp(a));
            standard.sort_by(|a, b| b.cmp(a));
            assert_eq!(ours, standard);
        }
    }
}

//! A table by id that is emptied in constant time.
//!
//! ```text
//! set a 1, set c 2, clear, set b 3        a –    b 3    c –    set since: b
//! ```
//!
//! Every candidate is looked at with the same tables, and most of them touch a few places. An entry counts only with the
//! stamp of the last clearing.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;

/// See the file's head.
pub(super) struct Stamped<K, T> {
    stamp: u32,
    entries: Vec<(u32, T)>,
    keys: Vec<K>,
}

impl<K: EntityRef, T: Copy + Default> Stamped<K, T> {
    /// An empty table for ids below `size`.
    pub fn new(size: usize) -> Stamped<K, T> {
        Stamped { stamp: 1, entries: alloc::vec![(0, T::default()); size], keys: Vec::new() }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.stamp = self.stamp.checked_add(1).unwrap_or_else(|| {
            self.entries.iter_mut().for_each(|entry| entry.0 = 0);
            1
        });
    }

    /// Returns the value that was set.
    pub fn get(&self, key: K) -> Option<T> {
        self.entries.get(key.index()).filter(|entry| entry.0 == self.stamp).map(|entry| entry.1)
    }

    /// Was anything set?
    pub fn contains(&self, key: K) -> bool {
        self.get(key).is_some()
    }

    /// Sets. Was nothing there before?
    pub fn set(&mut self, key: K, value: T) -> bool {
        let entry = &mut self.entries[key.index()];
        let is_new = entry.0 != self.stamp;
        *entry = (self.stamp, value);
        if is_new {
            self.keys.push(key);
        }
        is_new
    }

    /// All that were set, in the order of the first time.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }
}

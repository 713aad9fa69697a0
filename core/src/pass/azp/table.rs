//! Table by id that remembers the order of its keys and is cleared in constant time.
//!
//! ```text
//! set a 1, set c 2, clear, set b 3        a –    b 3    c –    keys: b
//! ```
//!
//! Every candidate is estimated with the same tables, and most of them touch a few ids.

use cranelift_entity::{EntityRef, SparseMap, SparseMapValue};

/// Values by id, in the order in which their ids were first set.
pub(super) struct Table<K: EntityRef, T>(SparseMap<K, Entry<K, T>>);

#[derive(Clone, Copy)]
struct Entry<K, T> {
    key: K,
    value: T,
}

impl<K: EntityRef, T> SparseMapValue<K> for Entry<K, T> {
    fn key(&self) -> K {
        self.key
    }
}

impl<K: EntityRef, T: Copy> Table<K, T> {
    /// An empty table.
    pub fn new() -> Table<K, T> {
        Table(SparseMap::new())
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value of a key, if it was set.
    pub fn get(&self, key: K) -> Option<T> {
        self.0.get(key).map(|entry| entry.value)
    }

    /// Was it set?
    pub fn contains(&self, key: K) -> bool {
        self.0.contains_key(key)
    }

    /// Sets a value. Gives whether there was none before.
    pub fn set(&mut self, key: K, value: T) -> bool {
        self.0.insert(Entry { key, value }).is_none()
    }

    /// The keys, in the order in which they were first set.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = K> + '_ {
        self.0.values().map(|entry| entry.key)
    }

    /// The key that was set as that one, for loops in which others are set.
    pub fn key(&self, place: usize) -> Option<K> {
        self.0.as_slice().get(place).map(|entry| entry.key)
    }
}

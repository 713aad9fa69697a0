//! Expressions by their numbers: what has one key has one number.
//!
//! ```text
//! add.u32 v3, v5        key (add.u32, 3, 5)      number 9
//! add.u32 v5, v3        key (add.u32, 3, 5)      number 9: operands of what commutes are sorted
//! mul.u32 v9, 2         key (mul.u32, 9, 7)      number 10: the constant 2 has the number 7
//! ```
//!
//! A key is a row of words. All keys stand one behind the other in one array, and a hash table finds the row; two rows
//! are one expression only if all their words are equal, so that a collision costs time and nothing else.
//!
//! Source: P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, section 3.

use alloc::vec::Vec;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// The number of a value: equal numbers, equal values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::pass) struct Number(pub u32);

/// All keys and the numbers that they have.
pub(in crate::pass) struct Expressions {
    /// All keys, each behind its length.
    words: Vec<u32>,
    table: HashTable<Found>,
    next: u32,
}

/// Where a key stands, and what was noted for it.
#[derive(Clone, Copy)]
struct Found {
    start: u32,
    noted: u32,
}

impl Expressions {
    /// None yet, with room for so many.
    pub fn with_capacity(keys: usize) -> Expressions {
        Expressions { words: Vec::with_capacity(8 * keys), table: HashTable::with_capacity(keys), next: 0 }
    }

    /// A number that nothing else has, the first of `count`.
    pub fn fresh(&mut self, count: u32) -> Number {
        let first = Number(self.next);
        self.next += count;
        first
    }

    /// The number of the first of `count` results of the expression with that key.
    pub fn number(&mut self, key: &[u32], count: u32) -> Number {
        let next = self.next;
        let number = self.noted(key, next);
        self.next += if number == next { count } else { 0 };
        Number(number)
    }

    /// What was noted for a key; if nothing was, notes `new`.
    pub fn noted(&mut self, key: &[u32], new: u32) -> u32 {
        let words = &self.words;
        let key_at = |start: u32| {
            let start = start as usize;
            &words[start + 1..start + 1 + words[start] as usize]
        };
        let entry = self.table.entry(hash(key), |found| key_at(found.start) == key, |found| hash(key_at(found.start)));
        match entry {
            Entry::Occupied(found) => found.get().noted,
            Entry::Vacant(free) => {
                free.insert(Found { start: self.words.len() as u32, noted: new });
                self.words.push(key.len() as u32);
                self.words.extend_from_slice(key);
                new
            }
        }
    }

    /// Is there so much in the table that emptying it costs no more than filling it did?
    pub fn is_worth_emptying(&self) -> bool {
        self.table.len() * 4 >= self.table.capacity()
    }

    /// Forgets all keys.
    pub fn empty(&mut self) {
        self.words.clear();
        self.table.clear();
    }

    /// One more than the greatest number.
    pub fn number_count(&self) -> usize {
        self.next as usize
    }
}

/// Mixes the words of a key: a multiplication for each, and the high bits, which all words reach, folded into the low
/// ones, which choose the place in the table.
fn hash(key: &[u32]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = key.iter().fold(0_u64, |hash, &word| (hash.rotate_left(5) ^ u64::from(word)).wrapping_mul(FACTOR));
    mixed ^ mixed >> 32
}

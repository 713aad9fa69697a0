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
    /// The words of key `k` are `words[starts[k]..starts[k + 1]]`.
    words: Vec<u32>,
    starts: Vec<u32>,
    /// By key: the number of its first result; the others follow.
    numbers: Vec<Number>,
    table: HashTable<u32>,
    next: u32,
}

impl Expressions {
    /// None yet, with room for so many.
    pub fn with_capacity(keys: usize) -> Expressions {
        let mut starts = Vec::with_capacity(keys + 1);
        starts.push(0);
        Expressions {
            words: Vec::with_capacity(8 * keys),
            starts,
            numbers: Vec::with_capacity(keys),
            table: HashTable::with_capacity(keys),
            next: 0,
        }
    }

    /// A number that nothing else has, the first of `count`.
    pub fn fresh(&mut self, count: u32) -> Number {
        let first = Number(self.next);
        self.next += count;
        first
    }

    /// The number of the first of `count` results of the expression with that key.
    pub fn number(&mut self, key: &[u32], count: u32) -> Number {
        let (words, starts) = (&self.words, &self.starts);
        let key_of = |index: u32| &words[starts[index as usize] as usize..starts[index as usize + 1] as usize];
        let entry = self.table.entry(hash(key), |&index| key_of(index) == key, |&index| hash(key_of(index)));
        match entry {
            Entry::Occupied(found) => self.numbers[*found.get() as usize],
            Entry::Vacant(free) => {
                free.insert(self.numbers.len() as u32);
                self.words.extend_from_slice(key);
                self.starts.push(self.words.len() as u32);
                let first = Number(self.next);
                self.next += count;
                self.numbers.push(first);
                first
            }
        }
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

//! Expressions by their numbers: what has one key has one number.
//!
//! ```text
//! add.u32 v3, v5        key (add.u32, 3, 5)      number 9
//! add.u32 v5, v3        key (add.u32, 3, 5)      number 9: operands of what commutes are sorted
//! mul.u32 v9, 2         key (mul.u32, 9, 7)      number 10: the constant 2 has the number 7
//! ```
//!
//! A key is a row of words. All keys stand one behind the other in one array, and a hash table finds the row; two rows
//! are one expression only if all their words are equal, so that a collision costs time and nothing else. A row is made
//! behind all others, where it stays if it is new.
//!
//! Source: P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, section 3.

use alloc::vec::Vec;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// The number of a value: equal numbers, equal values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::pass) struct Number(pub u32);

/// Keys one behind the other, and behind them the words of the one that is being made.
#[derive(Default)]
pub(in crate::pass) struct Keys {
    pub words: Vec<u32>,
    /// Begin of the open key, and the hash of its words so far.
    pub open: usize,
    pub mixed: u64,
}

impl Keys {
    /// Adds a word to the key that is being made.
    #[inline]
    pub fn add(&mut self, word: u32) {
        self.words.push(word);
        self.mixed = mix(self.mixed, word);
    }

    /// Adds the words of a part, which becomes empty.
    #[inline(always)]
    pub fn take(&mut self, part: &mut KeyPart) {
        // Most are short; so many words are copied at once.
        const SHORT: usize = 8;
        let [end, new_end] = [self.words.len(), self.words.len() + part.len];
        self.words.extend_from_slice(&part.words[..SHORT]);
        if part.len <= SHORT {
            self.words.truncate(new_end);
        } else {
            self.words.extend_from_slice(&part.words[SHORT..part.len]);
        }
        self.mixed = if end == self.open {
            part.mixed
        } else {
            part.words[..part.len].iter().fold(self.mixed, |mixed, &word| mix(mixed, word))
        };
        *part = KeyPart::new();
    }

    /// Adds several.
    #[inline]
    pub fn extend(&mut self, words: impl IntoIterator<Item = u32>) {
        words.into_iter().for_each(|word| self.add(word));
    }

    /// Gives up the key that is being made.
    #[inline]
    pub fn give_up(&mut self) {
        self.words.truncate(self.open);
        self.mixed = 0;
    }

    /// The next key begins behind all that is there.
    #[inline]
    pub fn close(&mut self) {
        self.open = self.words.len();
        self.mixed = 0;
    }

    /// Bits that choose a place in a table for the key that has been made.
    #[inline]
    pub fn hash(&self) -> u64 {
        finished(self.mixed)
    }
}

/// Words of a key that are put together before they are added: so it need not be asked for each whether there is room.
pub(in crate::pass) struct KeyPart {
    words: [u32; KeyPart::ROOM],
    len: usize,
    /// Hash of them, if nothing comes before them.
    mixed: u64,
}

impl KeyPart {
    const ROOM: usize = 16;

    /// Nothing.
    #[inline]
    pub fn new() -> KeyPart {
        KeyPart { words: [0; KeyPart::ROOM], len: 0, mixed: 0 }
    }

    /// Is there room for so many more?
    #[inline]
    pub fn has_room(&self, count: usize) -> bool {
        self.len + count <= KeyPart::ROOM
    }

    /// Puts a word behind the others. There is room for it.
    #[inline]
    pub fn add(&mut self, word: u32) {
        self.words[self.len] = word;
        self.len += 1;
        self.mixed = mix(self.mixed, word);
    }
}

/// All keys and the numbers that they have.
pub(in crate::pass) struct Expressions {
    /// Each key stands behind what was noted for it and its length.
    keys: Keys,
    /// Places of keys. Small, since each lookup reads another place.
    table: HashTable<u32>,
    next: u32,
}

/// The words in front of a key.
const HEAD: usize = 2;

impl Expressions {
    /// None yet, with room for so many.
    pub fn with_capacity(keys: usize) -> Expressions {
        let mut words = Vec::with_capacity((HEAD + 7) * keys + HEAD);
        words.extend([0; HEAD]);
        let keys_so_far = Keys { words, open: HEAD, mixed: 0 };
        let table = HashTable::with_capacity(keys);
        Expressions { keys: keys_so_far, table, next: 0 }
    }

    /// A number that nothing else has, the first of `count`.
    pub fn fresh(&mut self, count: u32) -> Number {
        let first = Number(self.next);
        self.next += count;
        first
    }

    /// Adds a word to the key that is being made.
    #[inline]
    pub fn add(&mut self, word: u32) {
        self.keys.add(word);
    }

    /// Adds several.
    #[inline]
    pub fn extend(&mut self, words: impl IntoIterator<Item = u32>) {
        self.keys.extend(words);
    }

    /// Adds the words of a part, which becomes empty.
    #[inline(always)]
    pub fn take(&mut self, part: &mut KeyPart) {
        self.keys.take(part);
    }

    /// The number of the first of `count` results of the expression whose key has been made.
    #[inline]
    pub fn number(&mut self, count: u32) -> Number {
        let next = self.next;
        let number = self.noted(next);
        self.next += if number == next { count } else { 0 };
        Number(number)
    }

    /// Returns the value noted for the finished key; if there is none, notes `new`. Another key can then be made.
    pub fn noted(&mut self, new: u32) -> u32 {
        let (words, own) = self.keys.words.split_at(self.keys.open);
        let key_at = |start: u32| {
            let start = start as usize;
            &words[start..start + words[start - 1] as usize]
        };
        // Word by word: what was written just now is read soonest in the same pieces.
        let is_own = |&start: &u32| {
            let key = key_at(start);
            key.len() == own.len() && key.iter().zip(own).all(|(a, b)| a == b)
        };
        let hash_of = |&start: &u32| finished(key_at(start).iter().fold(0, |mixed, &word| mix(mixed, word)));
        match self.table.entry(self.keys.hash(), is_own, hash_of) {
            Entry::Occupied(found) => {
                let noted = words[*found.get() as usize - HEAD];
                self.keys.give_up();
                noted
            }
            Entry::Vacant(free) => {
                let keys = &mut self.keys;
                free.insert(keys.open as u32);
                let len = (keys.words.len() - keys.open) as u32;
                keys.words[keys.open - HEAD..keys.open].copy_from_slice(&[new, len]);
                keys.words.extend([0; HEAD]);
                keys.close();
                new
            }
        }
    }

    /// Returns the value noted for the finished key, if there is one. Another key can then be made.
    pub fn find(&mut self) -> Option<u32> {
        let (words, own) = self.keys.words.split_at(self.keys.open);
        let key_at = |start: usize| &words[start..start + words[start - 1] as usize];
        let found = self.table.find(self.keys.hash(), |&start| key_at(start as usize) == own);
        let noted = found.map(|&start| words[start as usize - HEAD]);
        self.keys.give_up();
        noted
    }

    /// One more than the greatest number.
    pub fn number_count(&self) -> usize {
        self.next as usize
    }
}

/// Mixes another word into what the words of a key were mixed to so far.
#[inline]
fn mix(mixed: u64, word: u32) -> u64 {
    (mixed.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The high bits, which all words reach, folded into the low ones, which choose the place in the table.
#[inline]
fn finished(mixed: u64) -> u64 {
    mixed ^ mixed >> 32
}

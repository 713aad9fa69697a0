//! Computations of the last instructions of a block, by their operands.
//!
//! ```text
//! place 3    x = add v1, v2     noted: key (add, v1, v2), register x
//! place 7    y = add v2, v1     the same key: what place 3 has noted
//! place 2000 z = add v1, v2     too far, with a window of 1000: nobody looks there any more
//! ```
//!
//! Keys are rows of words, noted one behind the other, and a table has, for what the words of a key are mixed to, the last
//! computation that is mixed to the like, which knows the one before. So a look-up goes back from the newest as far as the
//! window reaches and no further, and what it reads was written a short time ago, however long the block is. The table is
//! as large as the window and need not be emptied: computations are numbered throughout, and those of other blocks have
//! numbers below the first of this one.
//!
//! Bounds: one step for each computation within the window that is mixed to the like.
//!
//! Source: hash chains over a sliding window, P. Deutsch, DEFLATE Compressed Data Format Specification, RFC 1951, section 4.

use alloc::vec;
use alloc::vec::Vec;

use crate::ir::Reg;

/// Rows of words one after the other, and after them the words of the row that is being built.
#[derive(Default)]
pub struct Keys {
    words: Vec<u32>,
    /// Start of the row that is being built, and the hash of its words so far.
    open: usize,
    mixed: u64,
}

impl Keys {
    /// Adds a word to the row that is being built.
    #[inline]
    pub fn add(&mut self, word: u32) {
        self.words.push(word);
        self.mixed = (self.mixed.rotate_left(5) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Adds several words.
    #[inline]
    pub fn extend(&mut self, words: impl IntoIterator<Item = u32>) {
        words.into_iter().for_each(|word| self.add(word));
    }

    /// Drops the row that is being built.
    #[inline]
    pub fn give_up(&mut self) {
        self.words.truncate(self.open);
        self.mixed = 0;
    }

    /// Begins the next row after all words so far.
    #[inline]
    fn close(&mut self) {
        self.open = self.words.len();
        self.mixed = 0;
    }

    /// The high bits of the hash, which all words reach, folded into the low ones, which choose the place in a table.
    #[inline]
    fn hash(&self) -> u64 {
        self.mixed ^ self.mixed >> 32
    }
}

/// Place of a computation, and the register that holds it.
#[derive(Clone, Copy)]
pub struct Computed {
    pub place: u32,
    pub reg: Reg,
    pub value: u32,
}

struct Noted {
    computed: Computed,
    /// Hash of its key's words.
    mixed: u64,
    /// Begin and number of its words.
    start: u32,
    len: u32,
    /// The number of the last one before that stands in the same place of the table.
    before: u32,
}

/// Places of the table for each place of the window.
const PLACES: usize = 4;

/// The computations of one block.
pub struct Computations {
    /// How many places back is looked for them.
    window: u32,
    noted: Vec<Noted>,
    /// Their keys, and the one that is being made.
    pub keys: Keys,
    /// How many words of the block have been dropped in front of these.
    dropped: usize,
    /// Last key for each hash bucket.
    last: Vec<u32>,
    /// The number of the first one that is noted. Zero is nobody's.
    first: u32,
    /// The number of the first one within the window; older ones need not be looked at.
    oldest: u32,
}

impl Computations {
    /// Creates an empty table that looks so many places back.
    pub fn new(window: u32) -> Computations {
        let (noted, keys) = (Vec::new(), Keys::default());
        Computations { window, noted, keys, dropped: 0, last: vec![0], first: 1, oldest: 1 }
    }

    /// Goes on to another block of so many instructions.
    pub fn begin(&mut self, length: u32) {
        self.first += self.noted.len() as u32;
        self.noted.clear();
        self.keys.words.clear();
        self.keys.close();
        self.dropped = 0;
        let needed = (self.window.min(length) as usize).next_power_of_two() * PLACES;
        if self.last.len() < needed {
            self.last = vec![0; needed];
        }
        // Numbers begin again long before a block could use them up.
        if self.first > u32::MAX / 2 {
            self.first = 1;
            self.last.fill(0);
        }
        self.oldest = self.first;
    }

    /// Last entry for the finished key, no more than the window before a place. Places rise.
    #[inline]
    pub fn find(&mut self, place: u32) -> Option<Computed> {
        let begin = place.saturating_sub(self.window);
        let is_older = |noted: &Noted| noted.computed.place < begin;
        while self.noted.get((self.oldest - self.first) as usize).is_some_and(is_older) {
            self.oldest += 1;
        }
        let (all, own) = self.keys.words.split_at(self.keys.open);
        let mut number = self.last[self.slot()];
        while number >= self.oldest {
            let noted = &self.noted[(number - self.first) as usize];
            if noted.mixed == self.keys.mixed {
                let key = &all[noted.start as usize - self.dropped..][..noted.len as usize];
                // Word by word: what was written just now is read soonest in the same pieces.
                if key.len() == own.len() && key.iter().zip(own).all(|(a, b)| a == b) {
                    return Some(noted.computed);
                }
            }
            number = noted.before;
        }
        None
    }

    /// Notes what has computed the key that has been made. Another key can then be made.
    #[inline]
    pub fn note(&mut self, computed: Computed) {
        let slot = self.slot();
        let number = self.first + self.noted.len() as u32;
        let before = core::mem::replace(&mut self.last[slot], number);
        let Keys { words, open, mixed } = &self.keys;
        let (start, len) = ((self.dropped + open) as u32, (words.len() - open) as u32);
        self.noted.push(Noted { computed, mixed: *mixed, start, len, before });
        self.keys.close();
        // All of the window are among the later ones.
        if self.noted.len() >= self.last.len() {
            self.drop_old();
        }
    }

    /// Drops what is older than the window, so that what is looked at stays where it is at hand.
    #[cold]
    fn drop_old(&mut self) {
        let Some(oldest) = self.noted.get((self.oldest - self.first) as usize) else { return };
        let words = oldest.start as usize - self.dropped;
        self.noted.drain(..(self.oldest - self.first) as usize);
        self.first = self.oldest;
        self.keys.words.drain(..words);
        self.keys.close();
        self.dropped += words;
    }

    fn slot(&self) -> usize {
        // A power of two.
        self.keys.hash() as usize & (self.last.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of one to three words over a small alphabet, so that some are the ends of others, along blocks much longer than
    /// the window: what is found is what a list of all would give.
    #[test]
    fn the_newest_of_the_window_is_found() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for window in [0, 1, 3, 20, u32::MAX] {
            let mut computations = Computations::new(window);
            let mut found_any = false;
            for length in [1, 7, 500, 30] {
                computations.begin(length);
                let mut all: Vec<(Vec<u32>, u32)> = Vec::new();
                // Not every instruction computes something.
                for place in (0..length).filter(|_| random(4) > 0).collect::<Vec<u32>>() {
                    let key: Vec<u32> = (0..=random(3)).map(|_| random(3) as u32).collect();
                    computations.keys.extend(key.iter().copied());
                    let expected = all.iter().rev().find(|(other, _)| *other == key).map(|&(_, at)| at);
                    let expected = expected.filter(|at| place - at <= window);
                    assert_eq!(computations.find(place).map(|found| found.place), expected);
                    found_any |= expected.is_some();
                    if random(5) == 0 {
                        computations.keys.give_up();
                    } else {
                        computations.note(Computed { place, reg: Reg::from_u32(0), value: 0 });
                        all.push((key, place));
                    }
                }
                let kept = computations.noted.len();
                assert!(
                    kept as u64 <= 4 * u64::from(window.min(500)).next_power_of_two().max(1) + 1,
                    "{kept} are kept"
                );
            }
            assert_eq!(found_any, window > 0, "window {window}");
        }
    }
}

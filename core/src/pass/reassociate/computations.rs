//! What was computed within the last instructions of a block, by what it was computed from.
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
use crate::pass::gvn_cse::expressions::{finished, mix};

/// Where something was computed, and what holds it.
#[derive(Clone, Copy)]
pub struct Computed {
    pub place: u32,
    pub reg: Reg,
    pub value: u32,
}

struct Noted {
    computed: Computed,
    /// What the words of its key are mixed to.
    mixed: u64,
    /// Where they begin, and how many there are.
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
    /// The words of their keys, and behind them those of the key that is being made.
    words: Vec<u32>,
    /// How many words of the block have been dropped in front of these.
    dropped: usize,
    open: usize,
    mixed: u64,
    /// By some bits of what a key is mixed to: the number of the last one.
    last: Vec<u32>,
    /// The number of the first one that is noted. Zero is nobody's.
    first: u32,
    /// The number of the first one within the window; older ones need not be looked at.
    oldest: u32,
}

impl Computations {
    /// Of no block yet. They are looked for so many places back.
    pub fn new(window: u32) -> Computations {
        Computations {
            window,
            noted: Vec::new(),
            words: Vec::new(),
            dropped: 0,
            open: 0,
            mixed: 0,
            last: vec![0],
            first: 1,
            oldest: 1,
        }
    }

    /// Goes on to another block of so many instructions.
    pub fn begin(&mut self, length: u32) {
        self.first += self.noted.len() as u32;
        self.noted.clear();
        self.words.clear();
        self.dropped = 0;
        self.open = 0;
        self.mixed = 0;
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

    /// Adds a word to the key that is being made.
    #[inline]
    pub fn add(&mut self, word: u32) {
        self.words.push(word);
        self.mixed = mix(self.mixed, word);
    }

    /// Adds several.
    #[inline]
    pub fn extend(&mut self, words: impl IntoIterator<Item = u32>) {
        words.into_iter().for_each(|word| self.add(word));
    }

    /// Gives up the key that is being made.
    pub fn give_up(&mut self) {
        self.words.truncate(self.open);
        self.mixed = 0;
    }

    /// What was noted last for the key that has been made, no more than the window before a place. Places rise.
    #[inline]
    pub fn find(&mut self, place: u32) -> Option<Computed> {
        let begin = place.saturating_sub(self.window);
        let is_older = |noted: &Noted| noted.computed.place < begin;
        while self.noted.get((self.oldest - self.first) as usize).is_some_and(is_older) {
            self.oldest += 1;
        }
        let (all, own) = self.words.split_at(self.open);
        let mut number = self.last[self.slot()];
        while number >= self.oldest {
            let noted = &self.noted[(number - self.first) as usize];
            if noted.mixed == self.mixed {
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
        let (start, len) = ((self.dropped + self.open) as u32, (self.words.len() - self.open) as u32);
        self.noted.push(Noted { computed, mixed: self.mixed, start, len, before });
        self.open = self.words.len();
        self.mixed = 0;
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
        self.words.drain(..words);
        self.dropped += words;
        self.open -= words;
    }

    fn slot(&self) -> usize {
        // There are at most as many as a number has values.
        finished(self.mixed) as usize & (self.last.len() - 1)
    }
}

//! The last record of each question at each block.
//!
//! ```text
//! question 7 at blocks 40, 41, 43      one page, of blocks 32 to 63: slots 64 to 95
//! question 7 at block 900              another one, of blocks 896 to 927
//! ```
//!
//! A walk goes from block to neighbouring block with one question, and those mostly have numbers close together: so the
//! records of one question lie in pages of as many blocks as fill two cache lines, which are fetched together. Most
//! questions stay on their first page, which a look into a row finds; others are looked up in a table.
//!
//! Space: a page for each question and each [`PAGE`] blocks of which it has come to any.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use hashbrown::HashMap;

use super::propagation::{NONE, Number, RecordId};
use crate::ir::Block;

/// See the file's head. What is known of a question at a block stands at its [place](Known::place).
pub(super) struct Known {
    /// First page of each question, which for most is the only one, and the start of its slots.
    first: Vec<(u32, u32)>,
    /// The others.
    pages: HashMap<Page, u32>,
    slots: Vec<RecordId>,
    /// The page that was used last, and where its slots begin.
    latest: (Page, u32),
}

/// A question, and some blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Page {
    question: Number,
    blocks: u32,
}

/// Blocks of a page.
const PAGE: u32 = 32;

/// No page: blocks are not so many.
const NO_PAGE: u32 = u32::MAX;

impl Default for Known {
    fn default() -> Known {
        // No question has that number.
        let latest = (Page { question: Number::MAX, blocks: 0 }, 0);
        Known { first: Vec::new(), pages: HashMap::new(), slots: Vec::new(), latest }
    }
}

impl Known {
    /// With room for the first pages of so many questions.
    pub fn with_room(questions: usize) -> Known {
        Known { first: Vec::with_capacity(questions), ..Known::default() }
    }

    /// The place of a question at a block, where [`NONE`] stands as long as nothing is known.
    #[inline]
    pub fn place(&mut self, block: Block, question: Number) -> u32 {
        let page = Page { question, blocks: block.as_u32() / PAGE };
        if self.latest.0 != page {
            self.latest = (page, self.turn_to(page));
        }
        self.latest.1 + block.as_u32() % PAGE
    }

    /// Start of the slots of a page.
    #[inline(never)]
    fn turn_to(&mut self, page: Page) -> u32 {
        let index = page.question as usize;
        if index >= self.first.len() {
            self.first.resize(index + 1, (NO_PAGE, 0));
        }
        let slots = &mut self.slots;
        let mut add_page = || {
            let first = slots.len();
            slots.resize(first + PAGE as usize, NONE);
            first as u32
        };
        match &mut self.first[index] {
            (blocks, start) if *blocks == page.blocks => *start,
            first @ (NO_PAGE, _) => {
                *first = (page.blocks, add_page());
                first.1
            }
            _ => *self.pages.entry(page).or_insert_with(add_page),
        }
    }
}

impl Index<u32> for Known {
    type Output = RecordId;

    #[inline]
    fn index(&self, place: u32) -> &RecordId {
        &self.slots[place as usize]
    }
}

impl IndexMut<u32> for Known {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut RecordId {
        &mut self.slots[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each question at each block has a place of its own, which stays, whatever order they are asked for in.
    #[test]
    fn places_are_distinct_and_stay() {
        let asked: Vec<(Block, Number)> =
            (0..400_u32).map(|index| (Block::from_u32(index * 37 % 200), index * 11 % 7)).collect();
        let mut known = Known::with_room(3);
        let mut all: Vec<(u32, (Block, Number))> = Vec::new();
        for &(block, question) in &asked {
            let place = known.place(block, question);
            let is_new = all.iter().all(|&(_, other)| other != (block, question));
            assert_eq!(known[place] == NONE, is_new, "nothing is known before somebody writes it");
            known[place] = question;
            all.push((place, (block, question)));
        }
        for &(place, question) in &all {
            for &(other_place, other) in &all {
                assert_eq!(place == other_place, question == other);
            }
        }
    }
}

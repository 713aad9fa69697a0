//! The search for registers that have a definition in every so many blocks or more often, and for the next ones up to a
//! whole number of words. All of them go up together, a bit each; there are at most so many words for each definition of
//! a register.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::definitions::Definitions;
use crate::graph::Cfg;
use crate::ir::Block;

/// What the search has come to, by block.
pub(super) struct Often {
    /// The list of each bit.
    pub lists: Vec<u32>,
    /// How many words a block has.
    pub words: usize,
    /// By block and word.
    blocks: Vec<OftenWord>,
}

/// A block's bits for 64 registers.
#[derive(Clone, Copy, Default)]
struct OftenWord {
    /// Has the block a definition?
    defined: u64,
    /// Was the register searched for from the block's end?
    searched: u64,
    /// Was it asked for at the block's beginning?
    asked: u64,
    /// Is that still to be passed on?
    pending: u64,
}

/// How many blocks there are for each definition of a register that is defined often, at most.
const OFTEN: usize = 64;

impl Often {
    pub fn new(definitions: &mut Definitions, cfg: &Cfg) -> Often {
        let mut by_count: Vec<(u32, u32)> =
            definitions.lists.iter().zip(0..).map(|(list, index)| (list.end - list.first, index)).collect();
        let often = |&(count, _): &(u32, u32)| count as usize * OFTEN >= cfg.block_count();
        let words = by_count.iter().filter(|entry| often(entry)).count().div_ceil(u64::BITS as usize);
        // What is left of the last word takes no memory, and those that share a word share the visits of its blocks.
        let bits = (words * u64::BITS as usize).min(by_count.len());
        if bits < by_count.len() && bits > 0 {
            by_count.select_nth_unstable_by(bits, |a, b| b.cmp(a));
        }
        by_count.truncate(bits);
        let lists: Vec<u32> = by_count.into_iter().map(|(_, index)| index).collect();
        for (&list, bit) in lists.iter().zip(0..) {
            definitions.lists[list as usize].bit = Some(bit);
        }
        let mut blocks = vec![OftenWord::default(); words * cfg.block_count()];
        for (bit, &list) in lists.iter().enumerate() {
            for block in definitions.blocks_of(list) {
                let word = &mut blocks[block.index() * words + bit / u64::BITS as usize];
                word.defined |= 1 << (bit % u64::BITS as usize);
            }
        }
        Often { lists, words, blocks }
    }

    /// Has the block a definition of the register?
    pub fn is_defined(&self, block: Block, bit: u32) -> bool {
        let word = self.blocks[block.index() * self.words + (bit / u64::BITS) as usize];
        word.defined >> (bit % u64::BITS) & 1 != 0
    }

    /// Asks for registers of one word at the beginning of a block. Is one of them new?
    pub fn ask(&mut self, block: Block, word: usize, bits: u64) -> bool {
        let word = &mut self.blocks[block.index() * self.words + word];
        let new = bits & !word.asked;
        word.asked |= new;
        word.pending |= new;
        new != 0
    }

    /// What is to be passed on from the beginning of a block, of one word.
    pub fn take(&mut self, block: Block, word: usize) -> u64 {
        core::mem::take(&mut self.blocks[block.index() * self.words + word].pending)
    }

    /// Searches for registers from the end of a block: those that were not yet and go through it, and those that were
    /// not yet and are defined in it.
    pub fn search(&mut self, block: Block, word: usize, bits: u64) -> (u64, u64) {
        let word = &mut self.blocks[block.index() * self.words + word];
        let new = bits & !word.searched;
        word.searched |= new;
        (new & !word.defined, new & word.defined)
    }
}

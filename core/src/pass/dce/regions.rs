//! The search for a register that is defined in a few blocks, around regions without a definition of it.
//!
//! What is at the beginning of a block is what was at the beginning of the highest dominator below which no definition
//! stands. Climbing there takes a time logarithmic in the depth of the dominator tree, and the memory is a word for each
//! block searched. Where definitions and joins of a register follow each other closely, [`super::sites`] takes fewer steps.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashSet;

use super::definitions::{Definitions, List};
use crate::graph::{Ancestors, Cfg, Dominators};
use crate::ir::Block;

/// Where registers were searched for, and how regions are skipped.
pub(super) struct Regions {
    ancestors: Ancestors,
    /// Registers, by their lists, and the blocks from whose ends they were searched for.
    searched: HashSet<(u32, Block)>,
    /// By list: are its numbers known?
    has_numbers: Vec<bool>,
    /// Parallel to the definitions' entries, once asked for: preorder numbers in the dominator tree, sorted within a list.
    numbers: Vec<u32>,
}

impl Regions {
    pub fn new(dominators: Rc<Dominators>, cfg: &Cfg, definitions: &Definitions) -> Regions {
        Regions {
            ancestors: Ancestors::new(dominators, cfg.block_count()),
            searched: HashSet::new(),
            has_numbers: vec![false; definitions.lists.len()],
            numbers: vec![0; definitions.entries.len()],
        }
    }

    pub fn dominators(&self) -> &Dominators {
        self.ancestors.dominators()
    }

    /// Asks for a register at the end of a block. Is that new?
    pub fn ask(&mut self, list: u32, block: Block) -> bool {
        self.searched.insert((list, block))
    }

    /// The highest block above this one, or itself, such that no definition stands in a block that it dominates: at its
    /// beginning the register is what it is at this block's. None if a definition stands below this block itself.
    pub fn highest_without(&mut self, list: u32, definitions: &Definitions, block: Block) -> Option<Block> {
        let dominators = self.ancestors.dominators();
        if !dominators.contains(block) {
            return None;
        }
        let List { first, end, .. } = definitions.lists[list as usize];
        let range = first as usize..end as usize;
        if !core::mem::replace(&mut self.has_numbers[list as usize], true) {
            for (number, block) in self.numbers[range.clone()].iter_mut().zip(definitions.blocks_of(list)) {
                // What is not reachable is in nobody's way.
                *number = if dominators.contains(block) { dominators.preorder_number(block) } else { u32::MAX };
            }
            self.numbers[range.clone()].sort_unstable();
        }
        let numbers = &self.numbers[range];
        let start = dominators.preorder_number(block);
        let next = numbers.partition_point(|&number| number < start);
        let before = next.checked_sub(1).map(|index| numbers[index]);
        let after = numbers.get(next).copied().unwrap_or(u32::MAX);
        self.ancestors.highest(block, |above| {
            let start = dominators.preorder_number(above);
            let end = start + dominators.subtree(above).len() as u32;
            before.is_none_or(|before| before < start) && end <= after
        })
    }
}

//! The order of blocks in a function and of instructions in a block, as doubly linked lists over ids.
//!
//! Inserting and removing take constant time wherever they happen, and a place is named by a neighbour, not by an
//! index, so that a recorded edit stays true whatever happened elsewhere in the function.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::entities::{Block, Inst};

#[derive(Clone, Default)]
struct BlockNode {
    prev: PackedOption<Block>,
    next: PackedOption<Block>,
    first: PackedOption<Inst>,
    last: PackedOption<Inst>,
    inserted: bool,
}

#[derive(Clone, Default)]
struct InstNode {
    block: PackedOption<Block>,
    prev: PackedOption<Inst>,
    next: PackedOption<Inst>,
}

/// Order of every block and instruction.
#[derive(Clone, Default)]
pub struct Layout {
    blocks: SecondaryMap<Block, BlockNode>,
    insts: SecondaryMap<Inst, InstNode>,
    first: PackedOption<Block>,
    last: PackedOption<Block>,
}

impl Layout {
    /// The first block of the text.
    pub fn first_block(&self) -> Option<Block> {
        self.first.expand()
    }

    /// The block that follows in the text.
    pub fn next_block(&self, block: Block) -> Option<Block> {
        self.blocks[block].next.expand()
    }

    /// The block that precedes in the text.
    pub fn prev_block(&self, block: Block) -> Option<Block> {
        self.blocks[block].prev.expand()
    }

    /// Does the block stand in the function?
    pub fn has_block(&self, block: Block) -> bool {
        self.blocks[block].inserted
    }

    /// Blocks in text order.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        core::iter::successors(self.first_block(), |&block| self.next_block(block))
    }

    /// Puts a block before another one, or last. The block must not stand anywhere yet.
    pub fn insert_block(&mut self, block: Block, before: Option<Block>) {
        debug_assert!(!self.has_block(block));
        let prev = match before {
            Some(next) => self.blocks[next].prev,
            None => self.last,
        };
        self.blocks[block].prev = prev;
        self.blocks[block].next = before.into();
        self.blocks[block].inserted = true;
        match prev.expand() {
            Some(prev) => self.blocks[prev].next = block.into(),
            None => self.first = block.into(),
        }
        match before {
            Some(next) => self.blocks[next].prev = block.into(),
            None => self.last = block.into(),
        }
    }

    /// Takes an empty block out.
    pub fn remove_block(&mut self, block: Block) {
        debug_assert!(self.has_block(block) && self.blocks[block].first.is_none());
        let node = core::mem::take(&mut self.blocks[block]);
        match node.prev.expand() {
            Some(prev) => self.blocks[prev].next = node.next,
            None => self.first = node.next,
        }
        match node.next.expand() {
            Some(next) => self.blocks[next].prev = node.prev,
            None => self.last = node.prev,
        }
    }

    /// The first instruction of a block.
    pub fn first_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].first.expand()
    }

    /// The last instruction of a block: its terminator, once the block is complete.
    pub fn last_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].last.expand()
    }

    /// The instruction that follows in the same block.
    pub fn next_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].next.expand()
    }

    /// The instruction that precedes in the same block.
    pub fn prev_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].prev.expand()
    }

    /// The block that an instruction stands in.
    pub fn inst_block(&self, inst: Inst) -> Option<Block> {
        self.insts[inst].block.expand()
    }

    /// Instructions of a block in order, terminator last. Runs from both ends.
    pub fn insts(&self, block: Block) -> Insts<'_> {
        Insts { layout: self, next: self.first_inst(block), back: self.last_inst(block) }
    }

    /// Puts an instruction into a block, before another one of that block or last.
    pub fn insert_inst(&mut self, inst: Inst, block: Block, before: Option<Inst>) {
        debug_assert!(self.inst_block(inst).is_none());
        let prev = match before {
            Some(next) => self.insts[next].prev,
            None => self.blocks[block].last,
        };
        self.insts[inst] = InstNode { block: block.into(), prev, next: before.into() };
        match prev.expand() {
            Some(prev) => self.insts[prev].next = inst.into(),
            None => self.blocks[block].first = inst.into(),
        }
        match before {
            Some(next) => self.insts[next].prev = inst.into(),
            None => self.blocks[block].last = inst.into(),
        }
    }

    /// Takes an instruction out of its block.
    pub fn remove_inst(&mut self, inst: Inst) {
        let node = core::mem::take(&mut self.insts[inst]);
        let Some(block) = node.block.expand() else { return };
        match node.prev.expand() {
            Some(prev) => self.insts[prev].next = node.next,
            None => self.blocks[block].first = node.next,
        }
        match node.next.expand() {
            Some(next) => self.insts[next].prev = node.prev,
            None => self.blocks[block].last = node.prev,
        }
    }

    /// Puts all instructions of a block, as they stand, behind those of another one.
    pub fn move_insts(&mut self, from: Block, to: Block) {
        debug_assert!(from != to);
        let (first, last) = (self.blocks[from].first, self.blocks[from].last);
        let Some(first_inst) = first.expand() else { return };
        let mut next = Some(first_inst);
        while let Some(inst) = next {
            let node = &mut self.insts[inst];
            node.block = to.into();
            next = node.next.expand();
        }
        let before = self.blocks[to].last;
        self.insts[first_inst].prev = before;
        match before.expand() {
            Some(before) => self.insts[before].next = first,
            None => self.blocks[to].first = first,
        }
        self.blocks[to].last = last;
        (self.blocks[from].first, self.blocks[from].last) = (None.into(), None.into());
    }
}

/// Iterator over the instructions of a block.
#[derive(Clone)]
pub struct Insts<'a> {
    layout: &'a Layout,
    next: Option<Inst>,
    back: Option<Inst>,
}

impl Iterator for Insts<'_> {
    type Item = Inst;

    fn next(&mut self) -> Option<Inst> {
        let inst = self.next?;
        if self.back == Some(inst) {
            (self.next, self.back) = (None, None);
        } else {
            self.next = self.layout.next_inst(inst);
        }
        Some(inst)
    }
}

impl DoubleEndedIterator for Insts<'_> {
    fn next_back(&mut self) -> Option<Inst> {
        let inst = self.back?;
        if self.next == Some(inst) {
            (self.next, self.back) = (None, None);
        } else {
            self.back = self.layout.prev_inst(inst);
        }
        Some(inst)
    }
}

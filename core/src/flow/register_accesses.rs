//! Which registers the instructions of each block read and write, without the instructions.
//!
//! ```text
//! a: x = add x, 1         a: reads x, writes x; reads p
//!    br p, b, c           b: reads q and y, writes y, guarded
//! b: @q y = mul y, 2
//! ```
//!
//! An instruction has more than a hundred bytes, and its address stands elsewhere; its registers
//! have four each. Whoever names values again after some blocks have changed reads these here, a
//! block in one piece.
//!
//! Linear in instructions when it is made, and in those of the blocks that are looked at again. Their old lists stay
//! behind.

use alloc::vec::Vec;
use core::ops::Range;

use cranelift_entity::SecondaryMap;

use crate::ir::{Block, Function, Inst, Reg};

/// An instruction's part of a list of registers, or of something that is parallel to one: first what it reads, as
/// [`crate::ir::InstData::uses`] has it, then what it writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub inst: Inst,
    start: u32,
    /// Start of the writes; the highest bit is set for a guarded instruction.
    middle_and_guard: u32,
    end: u32,
}

impl Record {
    const GUARD: u32 = 1 << 31;

    pub fn new(inst: Inst, start: u32, middle: u32, end: u32, is_guarded: bool) -> Record {
        Record { inst, start, middle_and_guard: middle | if is_guarded { Self::GUARD } else { 0 }, end }
    }

    /// Does other lanes' old value stay in what it writes?
    #[inline]
    pub fn is_guarded(&self) -> bool {
        self.middle_and_guard & Self::GUARD != 0
    }

    /// Index of its first register in the list.
    #[inline]
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Index after its last register.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// Range of the registers that it reads.
    #[inline]
    pub fn uses(&self) -> Range<usize> {
        self.start as usize..(self.middle_and_guard & !Self::GUARD) as usize
    }

    /// Range of the registers that it writes.
    #[inline]
    pub fn definitions(&self) -> Range<usize> {
        (self.middle_and_guard & !Self::GUARD) as usize..self.end as usize
    }

    /// Shifts the record to a list with that many more registers before it.
    #[inline]
    fn behind(self, count: u32) -> Record {
        let Record { inst, start, middle_and_guard, end } = self;
        Record { inst, start: start + count, middle_and_guard: middle_and_guard + count, end: end + count }
    }
}

/// See the file's head.
#[derive(Clone, Default, Debug)]
pub(crate) struct RegisterAccesses {
    regs: Vec<Reg>,
    /// Their places count from the first register of their block.
    records: Vec<Record>,
    of_block: SecondaryMap<Block, Pieces>,
}

/// Position of a block's lists.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Pieces {
    records: (u32, u32),
    regs: (u32, u32),
}

impl RegisterAccesses {
    /// Collects the accesses of all blocks of a function.
    pub fn of(func: &Function) -> RegisterAccesses {
        let insts = func.insts.len();
        let mut accesses = RegisterAccesses {
            regs: Vec::with_capacity(3 * insts),
            records: Vec::with_capacity(insts),
            of_block: SecondaryMap::with_capacity(func.blocks.len()),
        };
        accesses.add(func, func.block_order());
        accesses
    }

    /// Some blocks of a function have changed, or are new; none stands for all where it cannot be told which.
    pub fn follow(&mut self, func: &Function, blocks: Option<&[Block]>) {
        match blocks {
            Some(blocks) => self.add(func, blocks.iter().copied()),
            None => *self = RegisterAccesses::of(func),
        }
    }

    /// Looks at blocks, which get new lists.
    fn add(&mut self, func: &Function, blocks: impl IntoIterator<Item = Block>) {
        for block in blocks {
            let (first_record, first) = (self.records.len() as u32, self.regs.len());
            let place = |regs: &Vec<Reg>| (regs.len() - first) as u32;
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                let start = place(&self.regs);
                data.for_each_use(|reg| self.regs.push(reg));
                let middle = place(&self.regs);
                self.regs.extend_from_slice(&data.dsts);
                let end = place(&self.regs);
                self.records.push(Record::new(inst, start, middle, end, data.guard.is_some()));
            }
            self.of_block[block] = Pieces {
                records: (first_record, self.records.len() as u32),
                regs: (first as u32, self.regs.len() as u32),
            };
        }
    }

    /// The registers of a block's instructions.
    pub(super) fn regs(&self, block: Block) -> &[Reg] {
        let (start, end) = self.of_block[block].regs;
        &self.regs[start as usize..end as usize]
    }

    /// Records of a block's instructions in a list with `before` registers before theirs.
    pub(super) fn records(&self, block: Block, before: u32) -> impl Iterator<Item = Record> + '_ {
        let (start, end) = self.of_block[block].records;
        self.records[start as usize..end as usize].iter().map(move |record| record.behind(before))
    }

    /// Are they what would be found now?
    pub fn are_right(&self, func: &Function) -> bool {
        let now = RegisterAccesses::of(func);
        func.block_order()
            .all(|block| self.regs(block) == now.regs(block) && self.records(block, 0).eq(now.records(block, 0)))
    }
}

//! Position of an instruction's reads and writes in the slots of [`super::Values`].
//!
//! ```text
//! @p y = add x, 1        slots: … p x y …        reads p x, writes y, guarded
//! ```

use core::ops::Range;

use crate::ir::Inst;

/// An instruction's part of the slots: first what it reads, as [`crate::ir::InstData::uses`] has it,
/// then what it writes.
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

    /// Does it keep the old value in lanes in which its guard does not hold?
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
}

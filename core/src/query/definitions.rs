//! Definitions of registers.
//!
//! ```text
//! n1: i = 0                       i: (n1, 1) (n8, 2)      the last one in n8 before its place 3 is its 2
//! n8: x = ld A[i]; i = i + 1      x: (n8, 1)
//! ```
//!
//! All definitions of a register stand side by side, in the order of the text, so that those in one block are found by
//! bisection: in a time that is logarithmic in the register's definitions. Linear in the function's instructions to
//! make.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use crate::ir::{Block, Function, Inst, InstData, Reg};

/// See the file's head.
pub struct Definitions {
    /// First place of each register, and one past the last.
    first: Vec<u32>,
    /// Rank of the block, place in the block, instruction.
    places: Vec<(u32, u32, Inst)>,
}

impl Definitions {
    /// Collects the current definitions of a function. `visit` gets each instruction, with its block and its place there: programs are larger than caches.
    pub fn new(func: &Function, mut visit: impl FnMut(Block, u32, Inst, &InstData)) -> Definitions {
        let mut first = vec![0u32; func.regs.len() + 1];
        let mut total = 0;
        for (reg, count) in func.definition_counts().enumerate() {
            first[reg] = total;
            total += count as u32;
        }
        first[func.regs.len()] = total;
        let mut next = first.clone();
        let mut places = vec![(0, 0, Inst::new(0)); total as usize];
        for (rank, block) in (0..).zip(func.block_order()) {
            for (place, inst) in (0..).zip(func.block_insts(block)) {
                let data = &func.insts[inst];
                visit(block, place, inst, data);
                for dst in &data.dsts {
                    let slot = &mut next[dst.index()];
                    places[*slot as usize] = (rank, place, inst);
                    *slot += 1;
                }
            }
        }
        Definitions { first, places }
    }

    /// All of a register: the block's rank in the text, the place in the block, and the instruction.
    pub fn of(&self, reg: Reg) -> &[(u32, u32, Inst)] {
        match self.first.get(reg.index()..reg.index() + 2) {
            Some(&[start, end]) => &self.places[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The last definition of a register in a block before a place.
    pub fn last(&self, reg: Reg, (rank, before): (u32, u32)) -> Option<(u32, Inst)> {
        let places = self.of(reg);
        let index = places.partition_point(|&(block, place, _)| (block, place) < (rank, before)).checked_sub(1)?;
        let (block, place, inst) = places[index];
        (block == rank).then_some((place, inst))
    }

    /// The place of the first definition of a register in a block from a place on.
    pub fn first(&self, reg: Reg, (rank, from): (u32, u32)) -> Option<u32> {
        let places = self.of(reg);
        let index = places.partition_point(|&(block, place, _)| (block, place) < (rank, from));
        let &(block, place, _) = places.get(index)?;
        (block == rank).then_some(place)
    }
}

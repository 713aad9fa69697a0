//! The definitions of each register, in text order.
//!
//! ```text
//! n1: i = 0                       i: (n1, 0) (n8, 1)      the last one in n8 before place 2 is at place 1
//! n8: x = ld A[i]; i = i + 1      x: (n8, 0)
//! ```
//!
//! Cost: O(instructions) to make; O(log definitions of the register) for the last or first one in a
//! block.

use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use crate::ir::{Function, Inst, Reg, filled};

/// See the file's head.
pub struct Definitions {
    /// The rank of the block, the place in the block, and the instruction.
    of: SecondaryMap<Reg, Vec<(u32, u32, Inst)>>,
}

impl Definitions {
    /// The definitions of a function as it is now.
    pub fn new(func: &Function) -> Definitions {
        let mut of: SecondaryMap<Reg, Vec<(u32, u32, Inst)>> = filled(func.regs.len());
        for (rank, block) in (0..).zip(func.block_order()) {
            for (place, inst) in (0..).zip(func.block_insts(block)) {
                func.insts[inst].dsts.iter().for_each(|&dst| of[dst].push((rank, place, inst)));
            }
        }
        Definitions { of }
    }

    /// The last definition of a register in the block of that rank before a place.
    pub fn last(&self, reg: Reg, (rank, before): (u32, u32)) -> Option<(u32, Inst)> {
        let all = &self.of[reg];
        let index = all.partition_point(|&(block, place, _)| (block, place) < (rank, before)).checked_sub(1)?;
        let (block, place, inst) = all[index];
        (block == rank).then_some((place, inst))
    }

    /// The place of the first definition of a register in the block of that rank.
    pub fn first(&self, reg: Reg, rank: u32) -> Option<u32> {
        let all = &self.of[reg];
        let &(block, place, _) = all.get(all.partition_point(|&(block, ..)| block < rank))?;
        (block == rank).then_some(place)
    }
}

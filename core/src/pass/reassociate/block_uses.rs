//! Definitions and uses inside one block: the readers of each result and how long a register
//! keeps it.
//!
//! ```text
//! slot 0    s = add s, a       written again by slot 1; read once, by slot 1
//! slot 1    s = add s, b       never written again; its first operand is defined by slot 0
//! ```
//!
//! 1. Collect the global registers: those that some block reads before it writes them. Only these
//!    carry values from block to block.
//! 2. Walk over a block with the first and the last write of each register so far.
//! 3. A read counts for the last write. A guarded write also reads its register, since inactive
//!    lanes keep the old value.
//! 4. A write ends the last one. A write of a global register that nothing ends is live-out.
//!
//! Cost: O(n) in the instructions of the block.
//!
//! Source: P. Briggs, K. Cooper, T. Harvey and L. Simpson, Practical improvements to the
//! construction and destruction of static single assignment form, SPE 1998 (non-local names).

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl};
use fixedbitset::FixedBitSet;

use super::block_map::BlockMap;
use super::trees::Licence;
use crate::ir::{Block, Function, Inst, Op, Operand, Reg};

/// The position of an instruction in its block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);
entity_impl!(Slot, "slot");

/// One instruction of the block, as it was when the block was collected.
#[derive(Clone, Copy)]
pub struct SlotData {
    pub inst: Inst,
    /// The operation, if the instruction may be part of a tree or of a sum.
    pub op: Option<Op>,
    /// Definitions of the first three operands, if they are registers that this block wrote.
    pub operands: [PackedOption<Slot>; 3],
    /// Next write of the register that the instruction writes.
    pub next_write: PackedOption<Slot>,
    /// Reads of the result in this block.
    readers: u32,
    /// Another block may read the result.
    is_live_out: bool,
}

/// The writes of a register so far.
#[derive(Clone, Copy)]
struct Writes {
    first: Slot,
    last: Slot,
}

/// The definitions and uses of one block.
pub struct BlockUses {
    pub slots: PrimaryMap<Slot, SlotData>,
    writes: BlockMap<Writes>,
}

impl BlockUses {
    /// The uses of an empty block.
    pub fn new() -> BlockUses {
        BlockUses { slots: PrimaryMap::new(), writes: BlockMap::new() }
    }

    /// Collects the definitions and uses of a block.
    pub fn collect(&mut self, func: &Function, block: Block, globals: &FixedBitSet, licence: Licence) {
        self.slots.clear();
        self.writes.clear();
        for inst in func.block_insts(block) {
            self.push(func, inst, globals, licence);
        }
    }

    fn push(&mut self, func: &Function, inst: Inst, globals: &FixedBitSet, licence: Licence) {
        let data = &func.insts[inst];
        let mut operands = [None.into(); 3];
        for (index, arg) in data.args.iter().enumerate() {
            match (arg, operands.get_mut(index)) {
                (Operand::Reg(reg), Some(operand)) => *operand = self.read(*reg),
                _ => arg.for_each_reg(&mut |reg| _ = self.read(reg)),
            }
        }
        if let Some(guard) = data.guard {
            self.read(guard.reg);
            data.dsts.iter().for_each(|&dst| _ = self.read(dst));
        }
        let op = licence.allows(data).then_some(data.opcode.op);
        let is_live_out = data.dsts.iter().any(|dst| globals.contains(dst.index()));
        let next_write = None.into();
        let slot = self.slots.push(SlotData { inst, op, operands, next_write, readers: 0, is_live_out });
        data.dsts.iter().for_each(|&dst| self.write(dst, slot));
    }

    /// Counts a read of a register. Gives its definition.
    fn read(&mut self, reg: Reg) -> PackedOption<Slot> {
        let definition = self.writes.get(reg).map(|writes| writes.last);
        if let Some(definition) = definition {
            self.slots[definition].readers += 1;
        }
        definition.into()
    }

    fn write(&mut self, reg: Reg, slot: Slot) {
        let before = self.writes.get(reg);
        self.writes.set(reg, Writes { first: before.map_or(slot, |writes| writes.first), last: slot });
        if let Some(Writes { last, .. }) = before
            && last != slot
        {
            let ended = &mut self.slots[last];
            ended.is_live_out = false;
            // The first of several results that is written again.
            ended.next_write = ended.next_write.expand().unwrap_or(slot).into();
        }
    }

    /// The operation of a slot whose result is read once, by an instruction of this block.
    pub fn op_read_once(&self, slot: PackedOption<Slot>) -> Option<Op> {
        let data = &self.slots[slot.expand()?];
        data.op.filter(|_| data.readers == 1 && !data.is_live_out)
    }

    /// The write that ends the value of a register: the first one after `definition`, or the first
    /// one in the block if the value comes from another block.
    pub fn next_write(&self, reg: Reg, definition: PackedOption<Slot>) -> Option<Slot> {
        match definition.expand() {
            Some(definition) => self.slots[definition].next_write.expand(),
            None => self.writes.get(reg).map(|writes| writes.first),
        }
    }
}

/// The registers that some block reads before it writes them. Unreachable blocks count: all that
/// they read has to be written somewhere.
pub fn find_globals(func: &Function) -> FixedBitSet {
    let mut globals = FixedBitSet::with_capacity(func.regs.len());
    // The last block that wrote each register. Blocks are walked one after another.
    let mut writers: SecondaryMap<Reg, PackedOption<Block>> = SecondaryMap::with_capacity(func.regs.len());
    for block in func.block_order() {
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            let mut read = |reg: Reg| {
                if writers[reg].expand() != Some(block) {
                    globals.insert(reg.index());
                }
            };
            data.for_each_use(&mut read);
            if data.guard.is_some() {
                data.dsts.iter().for_each(|&dst| read(dst));
            }
            data.dsts.iter().for_each(|&dst| writers[dst] = block.into());
        }
    }
    globals
}

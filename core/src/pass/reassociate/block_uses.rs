//! Definitions and uses inside one block: who reads what an instruction writes, and how long a register keeps it.
//!
//! ```text
//! 0  s = add s, a       writes s until 1; read once, by 1
//! 1  s = add s, b       writes s to the end; reads the s of 0
//! ```
//!
//! One walk over the block. What leaves a block is told from one fact of the whole function, which registers some block
//! reads before it writes them; a register that none does is not live between blocks. The walk that finds this finds the
//! copies of all blocks as well.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use crate::ir::{Block, Function, Inst, InstData, Op, Operand, Reg};

/// An instruction's place in its block, or none: for a definition that it came from outside, for a write that there is
/// no such write.
pub const NONE: u32 = u32::MAX;

/// One instruction of the block.
#[derive(Clone, Copy)]
pub struct Slot {
    /// The instruction, and what it did when the block was looked at.
    pub inst: Inst,
    pub op: Op,
    /// The next write, guarded or not, of the register that it writes.
    pub next_write: u32,
    /// Where its first three operands, if they are registers, are defined in this block.
    pub operands: [u32; 3],
    /// How often its result is read in this block; a guarded write that keeps it in other lanes reads it.
    pub uses: u32,
    /// May its result be read in another block?
    pub leaves_block: bool,
    /// Is it, or an operand of an operand of it that is read once, about a register that was asked about?
    pub is_concerned: bool,
}

/// Registers that rewritten instructions read or write, as they were or as they are now.
#[derive(Default)]
pub struct Touched(FixedBitSet);

impl Touched {
    /// What an instruction reads and writes.
    pub fn add_all_of(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        data.for_each_use(|reg| self.add(reg));
        data.dsts.iter().for_each(|&dst| self.add(dst));
    }

    /// A register.
    pub fn add(&mut self, reg: Reg) {
        self.0.grow_and_insert(reg.index());
    }

    /// All of those.
    pub fn add_set(&mut self, regs: &FixedBitSet) {
        self.0.union_with(regs);
    }
}

#[derive(Clone, Copy, Default)]
struct RegState {
    /// The block's number in the walk that the rest is about.
    block: u32,
    /// The last write so far.
    definition: u32,
    first_write: u32,
}

/// The definitions and uses of the block that was looked at last.
pub struct BlockUses {
    slots: Vec<Slot>,
    regs: Vec<RegState>,
    block: u32,
    /// By register: how many blocks read it before they write it.
    exposed: Vec<u32>,
    /// The registers that blocks read before they write them, each once; a block that is looked at again gets a new list.
    exposed_regs: Vec<Reg>,
    /// By block: its list.
    exposed_in: Vec<Range<u32>>,
    /// Unguarded copies of registers, what is written first; a block that is looked at again gets a new list.
    copies: Vec<(Reg, Reg)>,
    /// By block: its list.
    copies_in: Vec<Range<u32>>,
    /// By block: how many instructions it had in the beginning.
    lengths: Vec<u32>,
}

impl BlockUses {
    /// Before the first block.
    pub fn new(func: &Function) -> BlockUses {
        let mut uses = BlockUses {
            slots: Vec::new(),
            regs: vec![RegState::default(); func.regs.len()],
            block: 0,
            exposed: vec![0; func.regs.len()],
            exposed_regs: Vec::new(),
            exposed_in: vec![0..0; func.blocks.len()],
            copies: Vec::new(),
            copies_in: vec![0..0; func.blocks.len()],
            lengths: vec![0; func.blocks.len()],
        };
        // Blocks that nothing reaches are asked, too: what they read has to be assigned somewhere.
        for block in func.block_order() {
            uses.lengths[block.index()] = uses.survey(func, block);
        }
        uses
    }

    /// How many instructions a block had in the beginning.
    pub fn first_length(&self, block: Block) -> u32 {
        self.lengths[block.index()]
    }

    /// Does some block read a register before it writes it?
    pub fn comes_in(&self, reg: Reg) -> bool {
        self.exposed.get(reg.index()).is_some_and(|&blocks| blocks > 0)
    }

    /// The unguarded copies of registers of a block, as it was when the round began.
    pub fn copies(&self, block: Block) -> &[(Reg, Reg)] {
        let Range { start, end } = self.copies_in[block.index()];
        &self.copies[start as usize..end as usize]
    }

    /// Looks again at blocks that have changed: at their copies, and at what they read before they write it. Gives the registers of which no block does any more.
    pub fn look_again(&mut self, func: &Function, blocks: impl Iterator<Item = Block>) -> FixedBitSet {
        self.regs.resize(func.regs.len(), RegState::default());
        self.exposed.resize(func.regs.len(), 0);
        let mut gone = FixedBitSet::with_capacity(func.regs.len());
        for block in blocks {
            for index in self.exposed_in[block.index()].clone() {
                let reg = self.exposed_regs[index as usize];
                self.exposed[reg.index()] -= 1;
                gone.insert(reg.index());
            }
            self.survey(func, block);
        }
        let still_exposed: Vec<usize> = gone.ones().filter(|&reg| self.exposed[reg] > 0).collect();
        still_exposed.into_iter().for_each(|reg| gone.set(reg, false));
        gone
    }

    /// Adds what a block reads before it writes it, and its copies. Gives how many instructions it has.
    fn survey(&mut self, func: &Function, block: Block) -> u32 {
        self.block += 1;
        let (first_exposed, first_copy) = (self.exposed_regs.len() as u32, self.copies.len() as u32);
        let BlockUses { regs, exposed_regs, block: now, copies, .. } = self;
        let mut expose = |reg: Reg, is_written: bool| {
            let state = &mut regs[reg.index()];
            if state.block != *now {
                state.block = *now;
                if !is_written {
                    exposed_regs.push(reg);
                }
            }
        };
        let mut length = 0;
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            length += 1;
            data.for_each_use(|reg| expose(reg, false));
            // Other lanes keep what came in.
            data.dsts.iter().for_each(|&dst| expose(dst, data.guard.is_none()));
            if let (Op::Mov, None, &[to], &[Operand::Reg(from)]) =
                (data.opcode.op, data.guard, data.dsts.as_slice(), data.args.as_slice())
            {
                copies.push((to, from));
            }
        }
        for &reg in &self.exposed_regs[first_exposed as usize..] {
            self.exposed[reg.index()] += 1;
        }
        self.exposed_in[block.index()] = first_exposed..self.exposed_regs.len() as u32;
        self.copies_in[block.index()] = first_copy..self.copies.len() as u32;
        length
    }

    /// Looks at a block. Of its instructions are concerned those that have to do with `touched`; without it, all.
    pub fn look_at(&mut self, func: &Function, block: Block, touched: Option<&Touched>) {
        self.block += 1;
        self.slots.clear();
        self.regs.resize(func.regs.len(), RegState::default());
        for inst in func.block_insts(block) {
            match touched {
                None => self.look_at_inst(inst, &func.insts[inst], |_| true),
                Some(touched) => self.look_at_inst(inst, &func.insts[inst], |reg| touched.0.contains(reg.index())),
            }
        }
        // What the last write of a register leaves behind goes on to other blocks.
        for place in 0..self.slots.len() {
            let slot = &self.slots[place];
            if slot.next_write == NONE {
                let inst = slot.inst;
                self.slots[place].leaves_block = func.insts[inst].dsts.iter().any(|&dst| self.comes_in(dst));
            }
        }
        if touched.is_some() {
            self.concern_readers();
        }
    }

    /// Whoever alone reads a result has to do with all that its computation has to do with: they may be of one tree.
    fn concern_readers(&mut self) {
        for place in 0..self.slots.len() {
            let Slot { operands, is_concerned, .. } = self.slots[place];
            let is_part =
                |&operand: &u32| operand != NONE && self.slot(operand).is_concerned && self.is_read_once(operand);
            self.slots[place].is_concerned = is_concerned || operands.iter().any(is_part);
        }
    }

    #[inline(always)]
    fn look_at_inst(&mut self, inst: Inst, data: &InstData, is_touched: impl Fn(Reg) -> bool) {
        let place = self.slots.len() as u32;
        let mut operands = [NONE; 3];
        let mut is_concerned = false;
        for (index, arg) in data.args.iter().enumerate() {
            if let Operand::Reg(reg) = arg {
                is_concerned |= is_touched(*reg);
                let definition = self.count_use(*reg);
                if let Some(operand) = operands.get_mut(index) {
                    *operand = definition;
                }
            } else {
                arg.for_each_reg(&mut |reg| {
                    is_concerned |= is_touched(reg);
                    self.count_use(reg);
                });
            }
        }
        if let Some(guard) = data.guard {
            self.count_use(guard.reg);
            data.dsts.iter().for_each(|&dst| _ = self.count_use(dst));
        }
        for dst in &data.dsts {
            is_concerned |= is_touched(*dst);
            let state = &mut self.regs[dst.index()];
            if state.block != self.block {
                *state = RegState { block: self.block, definition: place, first_write: place };
                continue;
            }
            if let Some(before) = self.slots.get_mut(state.definition as usize) {
                before.next_write = before.next_write.min(place);
            }
            state.definition = place;
        }
        let op = data.opcode.op;
        self.slots.push(Slot { inst, op, next_write: NONE, operands, uses: 0, leaves_block: false, is_concerned });
    }

    /// Counts that a register is read. Gives the last write of it so far.
    fn count_use(&mut self, reg: Reg) -> u32 {
        let definition = self.definition(reg);
        if let Some(slot) = self.slots.get_mut(definition as usize) {
            slot.uses += 1;
        }
        definition
    }

    /// The last write of a register so far.
    fn definition(&self, reg: Reg) -> u32 {
        let state = &self.regs[reg.index()];
        if state.block == self.block { state.definition } else { NONE }
    }

    /// How many instructions there are.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The instruction at a place.
    pub fn slot(&self, place: u32) -> &Slot {
        &self.slots[place as usize]
    }

    /// The write that ends what a register holds: the first one after `definition`, or of all if that is none.
    pub fn next_write(&self, reg: Reg, definition: u32) -> u32 {
        if definition != NONE {
            return self.slot(definition).next_write;
        }
        let state = &self.regs[reg.index()];
        if state.block == self.block { state.first_write } else { NONE }
    }

    /// Is the result read once, in this block?
    pub fn is_read_once(&self, place: u32) -> bool {
        let slot = self.slot(place);
        slot.uses == 1 && !slot.leaves_block
    }
}

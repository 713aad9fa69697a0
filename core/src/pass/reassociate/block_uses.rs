//! Definitions and uses inside one block: who reads what an instruction writes, and how long a register keeps it.
//!
//! ```text
//! 0  s = add s, a       writes s until 1; read once, by 1
//! 1  s = add s, b       writes s to the end; reads the s of 0
//! ```
//!
//! One walk over the block. What leaves a block is told from one fact of the whole function, which registers some block
//! reads before it writes them; a register that none does is not live between blocks. The walk that finds this finds the
//! copies of all blocks as well. Of a block that has changed, whoever commons it finds both.
//!
//! The first walk also makes the [sketches](super::sketches) that the others read.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use core::ops::Range;

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use fixedbitset::FixedBitSet;

use super::sketches::{NONE, Sketch, Sketches};
use super::trees::Licence;
use crate::ir::{Block, Function, Inst, InstData, Op, Operand, Reg};

/// One instruction of the block.
#[derive(Clone, Copy)]
pub struct Slot {
    /// The instruction, when the block was looked at.
    pub inst: Inst,
    /// Definitions of its first three operands in this block, if they are registers; else [`NONE`].
    pub operands: [u32; 3],
}

/// Facts about an instruction for those that read its result: small, so that those of a long block are at
/// hand.
#[derive(Clone, Copy)]
struct Definition {
    /// Operation when the block was visited.
    op: Op,
    /// How often its result is read in this block, or [`MANY`], and the bits below. A guarded write that keeps it in other
    /// lanes reads it.
    status: u8,
}

/// Moments begin again long before a block could use them up.
const LAST_MOMENT: u32 = u32::MAX / 2;

/// So many readers or more.
const MANY: u8 = 2;

/// The bits of the readers.
const READERS: u8 = 3;

/// May it be read in another block?
const READ_ELSEWHERE: u8 = 4;

/// Is it, or an operand of an operand of it that is read once, about a register that was asked about?
const CONCERNED: u8 = 8;

// A walk over many finds one by shifting its number.
const _: () = assert!(size_of::<Slot>() == 16 && size_of::<Definition>() == 2);

impl Definition {
    /// Creates the facts of an instruction of which nothing else is known yet.
    fn new(op: Op) -> Definition {
        Definition { op, status: 0 }
    }

    /// Is the result read once, in this block?
    #[inline]
    fn is_read_once(&self) -> bool {
        self.status & (READERS | READ_ELSEWHERE) == 1
    }

    #[inline]
    fn is_concerned(&self) -> bool {
        self.status & CONCERNED != 0
    }

    #[inline]
    fn concern(&mut self, is_concerned: bool) {
        self.status |= CONCERNED * u8::from(is_concerned);
    }
}

/// The index of a register or place in a table in which the first entry is that of [`NONE`].
#[inline]
fn behind(number: u32) -> usize {
    number.wrapping_add(1) as usize
}

/// Registers that rewritten instructions read or write, as they were or as they are now.
#[derive(Default)]
pub struct Touched {
    /// Whether each register is touched, after one for none. Read much more often than written.
    is_touched: Vec<bool>,
}

impl Touched {
    /// Adds the reads and writes of an instruction.
    pub fn add_all_of(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        data.for_each_use(|reg| self.add(reg));
        data.dsts.iter().for_each(|&dst| self.add(dst));
    }

    /// A register.
    pub fn add(&mut self, reg: Reg) {
        let index = behind(reg.as_u32());
        if index >= self.is_touched.len() {
            self.is_touched.resize(index + 1, false);
        }
        self.is_touched[index] = true;
    }

    /// Adds the sketches.
    fn add_sketches(&mut self, func: &Function, sketches: [Sketch; 2]) {
        let regs = func.regs.len() + 1;
        if self.is_touched.len() < regs {
            self.is_touched.resize(regs, false);
        }
        for Sketch { operands, dst, .. } in sketches {
            operands.into_iter().chain([dst]).for_each(|reg| self.is_touched[behind(reg)] = true);
        }
        self.is_touched[behind(NONE)] = false;
    }

    /// All of those.
    pub fn add_set(&mut self, regs: &FixedBitSet) {
        regs.ones().for_each(|reg| self.add(Reg::new(reg)));
    }

    #[inline]
    fn contains(&self, reg: u32) -> bool {
        self.is_touched.get(behind(reg)).copied().unwrap_or_default()
    }
}

/// Reads of a block from others, and its copies, as found by a walk over it.
#[derive(Default)]
pub struct BlockReads {
    /// The numbers of the registers that it reads before it writes them, each once.
    pub exposed: Vec<u32>,
    /// Unguarded copies of registers, what is written first.
    pub copies: Vec<(Reg, Reg)>,
}

impl BlockReads {
    /// Clears the reads for another block.
    pub fn clear(&mut self) {
        self.exposed.clear();
        self.copies.clear();
    }
}

/// The definitions and uses of the block that was looked at last.
pub struct BlockUses {
    /// Slot of each place.
    slots: Vec<Slot>,
    /// Definition of each place, after one for no place.
    definitions: Vec<Definition>,
    /// Next write of the register written at each place, guarded or not; [`NONE`] if there is none.
    next_writes: Vec<u32>,
    /// Last moment at which each register was met, after one for none. Places of a block are moments one after the other,
    /// a survey of one is a moment, and moments only go on: so one word tells the last write so far, and of which look at a
    /// block that is.
    met: Vec<u32>,
    /// The moment of the block's first place, and the last one that there was.
    first: u32,
    now: u32,
    /// First write of each register that the block writes.
    first_writes: Vec<u32>,
    sketches: Sketches,
    /// Number of blocks that read each register before they write it.
    exposed: Vec<u32>,
    /// The numbers of the registers that blocks read before they write them, each once; a block that has changed
    /// gets a new list.
    exposed_regs: Vec<u32>,
    /// Range of each block's list.
    exposed_in: Vec<Range<u32>>,
    /// Unguarded copies of registers, what is written first; a block that has changed gets a new list.
    copies: Vec<(Reg, Reg)>,
    /// Range of each block's list.
    copies_in: Vec<Range<u32>>,
    /// Blocks that have changed and got their new lists, each with its list of exposed registers before.
    renewed: Vec<(Block, Range<u32>)>,
    /// Initial number of instructions of each block.
    lengths: Vec<u32>,
    /// Last block that wrote each register when all were surveyed, after one for none. Writes stay in
    /// their blocks.
    writers: Vec<PackedOption<Block>>,
}

impl BlockUses {
    /// Before the first block.
    pub fn new(func: &Function, licence: Licence) -> BlockUses {
        let mut uses = BlockUses {
            slots: Vec::new(),
            definitions: Vec::new(),
            next_writes: Vec::new(),
            met: vec![0; func.regs.len() + 1],
            first: 0,
            now: 0,
            first_writes: vec![NONE; func.regs.len()],
            sketches: Sketches::new(func, licence),
            exposed: vec![0; func.regs.len()],
            exposed_regs: Vec::new(),
            exposed_in: vec![0..0; func.blocks.len()],
            copies: Vec::new(),
            copies_in: vec![0..0; func.blocks.len()],
            renewed: Vec::new(),
            lengths: vec![0; func.blocks.len()],
            writers: vec![None.into(); func.regs.len() + 1],
        };
        // Blocks that nothing reaches are asked, too: what they read has to be assigned somewhere.
        for block in func.block_order() {
            uses.lengths[block.index()] = uses.survey::<true>(func, block);
            uses.count_exposed(block);
        }
        uses
    }

    /// An instruction has been rewritten that was all that its sketch says, or of which was added what it touched: adds what
    /// it touched and touches.
    pub fn renew(&mut self, func: &Function, inst: Inst, touched: &mut Touched) {
        touched.add_sketches(func, self.sketches.renew(func, inst));
    }

    /// The sketch of an instruction.
    #[inline]
    pub fn sketch(&self, inst: Inst) -> &Sketch {
        self.sketches.get(inst)
    }

    /// All sketches.
    pub fn sketches(&self) -> &Sketches {
        &self.sketches
    }

    /// Does a block read one of these registers before it writes it?
    pub fn exposes(&self, block: Block, regs: &FixedBitSet) -> bool {
        let Range { start, end } = self.exposed_in[block.index()];
        self.exposed_regs[start as usize..end as usize].iter().any(|&reg| regs.contains(reg as usize))
    }

    /// The blocks that write one of these registers, those that nothing reaches among them.
    pub fn writers(&self, func: &Function, regs: &FixedBitSet) -> FixedBitSet {
        let mut blocks = FixedBitSet::with_capacity(func.blocks.len());
        let mut has_several = false;
        for reg in regs.ones() {
            has_several |= func.definition_count(Reg::new(reg)) > 1;
            let writer = self.writers.get(behind(reg as u32)).and_then(|writer| writer.expand());
            blocks.extend(writer.map(Block::index));
        }
        if has_several {
            let writes = |inst: Inst| func.insts[inst].dsts.iter().any(|dst| regs.contains(dst.index()));
            let all = func.block_order().filter(|&block| func.block_insts(block).any(writes));
            blocks.extend(all.map(Block::index));
        }
        blocks
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

    /// A block has changed, and this is what it reads now.
    pub fn renew_reads(&mut self, func: &Function, block: Block, reads: &BlockReads) {
        let before = self.exposed_in[block.index()].clone();
        let (first_exposed, first_copy) = (self.exposed_regs.len() as u32, self.copies.len() as u32);
        self.exposed_regs.extend(&reads.exposed);
        self.copies.extend(&reads.copies);
        self.set_lists(block, first_exposed, first_copy);
        debug_assert!(self.are_right(func, block), "what a walk has found is what another one would find");
        self.renewed.push((block, before));
    }

    /// A block has changed: what does it read now?
    pub fn survey_again(&mut self, func: &Function, block: Block) {
        let before = self.exposed_in[block.index()].clone();
        self.met.resize(func.regs.len() + 1, 0);
        self.survey::<false>(func, block);
        self.renewed.push((block, before));
    }

    /// Counts what the blocks that have changed read now. Gives the registers that no block reads any more before it writes
    /// them.
    pub fn count_renewed(&mut self, func: &Function) -> FixedBitSet {
        self.exposed.resize(func.regs.len(), 0);
        let mut gone = FixedBitSet::with_capacity(func.regs.len());
        for (block, before) in core::mem::take(&mut self.renewed) {
            for index in before {
                let reg = self.exposed_regs[index as usize] as usize;
                self.exposed[reg] -= 1;
                gone.insert(reg);
            }
            self.count_exposed(block);
        }
        let still_exposed: Vec<usize> = gone.ones().filter(|&reg| self.exposed[reg] > 0).collect();
        still_exposed.into_iter().for_each(|reg| gone.set(reg, false));
        gone
    }

    /// The last entries of both lists are those of a block.
    fn set_lists(&mut self, block: Block, first_exposed: u32, first_copy: u32) {
        self.exposed_in[block.index()] = first_exposed..self.exposed_regs.len() as u32;
        self.copies_in[block.index()] = first_copy..self.copies.len() as u32;
    }

    /// Counts a block for the registers that it reads before it writes them.
    fn count_exposed(&mut self, block: Block) {
        let Range { start, end } = self.exposed_in[block.index()];
        for &reg in &self.exposed_regs[start as usize..end as usize] {
            self.exposed[reg as usize] += 1;
        }
    }

    /// Would a survey find the lists of a block?
    fn are_right(&mut self, func: &Function, block: Block) -> bool {
        let lists = |uses: &BlockUses| {
            let Range { start, end } = uses.exposed_in[block.index()];
            let mut exposed = uses.exposed_regs[start as usize..end as usize].to_vec();
            exposed.sort_unstable();
            (exposed, uses.copies(block).to_vec())
        };
        let (own, ranges) =
            (lists(self), (self.exposed_in[block.index()].clone(), self.copies_in[block.index()].clone()));
        self.met.resize(func.regs.len() + 1, 0);
        self.survey::<false>(func, block);
        let found = lists(self);
        self.exposed_regs.truncate(ranges.0.end as usize);
        self.copies.truncate(ranges.1.end as usize);
        (self.exposed_in[block.index()], self.copies_in[block.index()]) = ranges;
        own == found
    }

    /// Lists what a block reads before it writes it, and its copies. The `FIRST` time its instructions get their sketches.
    /// Gives how many there are.
    fn survey<const FIRST: bool>(&mut self, func: &Function, block: Block) -> u32 {
        let now = self.next_moment();
        let (first_exposed, first_copy) = (self.exposed_regs.len() as u32, self.copies.len() as u32);
        let BlockUses { met, exposed_regs, copies, sketches, writers, .. } = self;
        // What is no register has been seen.
        met[behind(NONE)] = now;
        // Whether a register has been seen is as good as random, and so decides no branch.
        let mut expose = |reg: u32, is_written: bool| {
            let seen = core::mem::replace(&mut met[behind(reg)], now);
            let count = exposed_regs.len() + usize::from((seen != now) & !is_written);
            exposed_regs.push(reg);
            exposed_regs.truncate(count);
        };
        let mut length = 0;
        for inst in func.block_insts(block) {
            let sketch = if FIRST { sketches.make(func, inst) } else { sketches.get(inst) };
            length += 1;
            if sketch.is_partial {
                let data = &func.insts[inst];
                data.for_each_use(|reg| expose(reg.as_u32(), false));
                // Other lanes keep what came in.
                data.dsts.iter().for_each(|&dst| expose(dst.as_u32(), data.guard.is_none()));
                if FIRST {
                    data.dsts.iter().for_each(|&dst| writers[behind(dst.as_u32())] = block.into());
                }
                continue;
            }
            sketch.operands.into_iter().for_each(|reg| expose(reg, false));
            expose(sketch.dst, true);
            if FIRST {
                writers[behind(sketch.dst)] = block.into();
            }
            if sketch.op == Op::Mov && sketch.operands[0] != NONE && sketch.dst != NONE {
                copies.push((Reg::from_u32(sketch.dst), Reg::from_u32(sketch.operands[0])));
            }
        }
        self.set_lists(block, first_exposed, first_copy);
        length
    }

    /// Looks at a block. Of its instructions are concerned those that have to do with `touched`; without it, all.
    pub fn look_at(&mut self, func: &Function, block: Block, touched: Option<&Touched>) {
        self.met.resize(func.regs.len() + 1, 0);
        self.first = self.next_moment();
        self.slots.clear();
        self.next_writes.clear();
        self.definitions.clear();
        self.definitions.push(Definition::new(Op::Mov));
        self.first_writes.resize(func.regs.len(), NONE);
        match touched {
            None => func.block_insts(block).for_each(|inst| self.look_at_inst(func, inst, |_| true)),
            Some(touched) => {
                func.block_insts(block).for_each(|inst| self.look_at_inst(func, inst, |reg| touched.contains(reg)));
                self.concern_readers();
            }
        }
        self.now = self.first + self.len();
    }

    /// A moment behind all that there were.
    fn next_moment(&mut self) -> u32 {
        if self.now > LAST_MOMENT {
            self.met.fill(0);
            self.now = 0;
        }
        self.now += 1;
        self.now
    }

    /// Whoever alone reads a result has to do with all that its computation has to do with: they may be of one tree.
    fn concern_readers(&mut self) {
        for (slot, place) in self.slots.iter().zip(0..) {
            let is_part = |place: u32| {
                let operand = &self.definitions[behind(place)];
                operand.is_concerned() & operand.is_read_once()
            };
            let [first, second, third] = slot.operands;
            let is_any = is_part(first) | is_part(second) | is_part(third);
            self.definitions[behind(place)].concern(is_any);
        }
    }

    #[inline(always)]
    fn look_at_inst(&mut self, func: &Function, inst: Inst, is_touched: impl Fn(u32) -> bool) {
        let sketch = *self.sketches.get(inst);
        let mut definition = Definition::new(sketch.op);
        let operands = if sketch.is_partial {
            self.look_at_data(&func.insts[inst], &mut definition, is_touched)
        } else {
            debug_assert!(self.sketches.is_right(func, inst), "it has been renewed");
            let [first, second, third] = sketch.operands;
            definition.concern(is_touched(first) | is_touched(second) | is_touched(third) | is_touched(sketch.dst));
            let operands = [self.count_use(first), self.count_use(second), self.count_use(third)];
            if sketch.dst != NONE {
                self.write(sketch.dst, &mut definition);
            }
            operands
        };
        self.slots.push(Slot { inst, operands });
        self.next_writes.push(NONE);
        self.definitions.push(definition);
    }

    /// Visits an instruction of any shape. Returns the definitions of its operands.
    fn look_at_data(
        &mut self,
        data: &InstData,
        definition: &mut Definition,
        is_touched: impl Fn(u32) -> bool,
    ) -> [u32; 3] {
        let mut operands = [NONE; 3];
        for (index, arg) in data.args.iter().enumerate() {
            if let Operand::Reg(reg) = arg {
                definition.concern(is_touched(reg.as_u32()));
                let place = self.count_use(reg.as_u32());
                if let Some(operand) = operands.get_mut(index) {
                    *operand = place;
                }
            } else {
                arg.for_each_reg(&mut |reg| {
                    definition.concern(is_touched(reg.as_u32()));
                    self.count_use(reg.as_u32());
                });
            }
        }
        if let Some(guard) = data.guard {
            self.count_use(guard.reg.as_u32());
            data.dsts.iter().for_each(|&dst| _ = self.count_use(dst.as_u32()));
        }
        for &dst in &data.dsts {
            definition.concern(is_touched(dst.as_u32()));
            self.write(dst.as_u32(), definition);
        }
        operands
    }

    /// The instruction that is looked at writes a register, which goes on to other blocks if it is the last one. What was
    /// there ends here.
    #[inline(always)]
    fn write(&mut self, reg: u32, own: &mut Definition) {
        let place = self.len();
        own.status |= READ_ELSEWHERE * u8::from(self.comes_in(Reg::from_u32(reg)));
        let before = core::mem::replace(&mut self.met[behind(reg)], self.first + place);
        match before.checked_sub(self.first) {
            None => self.first_writes[reg as usize] = place,
            // Another result of the same instruction has no place yet.
            Some(before) if before == place => {}
            Some(before) => {
                let next_write = &mut self.next_writes[before as usize];
                *next_write = place.min(*next_write);
                self.definitions[behind(before)].status &= !READ_ELSEWHERE;
            }
        }
    }

    /// Counts that a register is read. Gives the last write of it so far. Whether that is in this block is as good as
    /// random, and so decides no branch.
    #[inline(always)]
    fn count_use(&mut self, reg: u32) -> u32 {
        let met = self.met[behind(reg)];
        let definition = select_unpredictable(met >= self.first, met.wrapping_sub(self.first), NONE);
        let status = &mut self.definitions[behind(definition)].status;
        *status += u8::from(*status & READERS < MANY);
        definition
    }

    /// How many instructions there are.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// The instruction at a place.
    pub fn slot(&self, place: u32) -> &Slot {
        &self.slots[place as usize]
    }

    /// Is what is defined there read once, by the instruction that it is an operand of, and does it do one of those? What
    /// is defined in no place counts as a copy, which none of those may be.
    #[inline]
    pub fn is_part(&self, place: u32, does: impl Fn(Op) -> bool) -> bool {
        let definition = &self.definitions[behind(place)];
        definition.is_read_once() & does(definition.op)
    }

    /// Operation when the block was visited.
    pub fn op(&self, place: u32) -> Op {
        self.definitions[behind(place)].op
    }

    /// Is it, or an operand of an operand of it that is read once, about a register that was asked about?
    pub fn is_concerned(&self, place: u32) -> bool {
        self.definitions[behind(place)].is_concerned()
    }

    /// Is its result read once, in this block?
    pub fn is_read_once(&self, place: u32) -> bool {
        self.definitions[behind(place)].is_read_once()
    }

    /// The next write of the register that it writes; [`NONE`] if there is none.
    pub fn write_behind(&self, place: u32) -> u32 {
        self.next_writes[place as usize]
    }

    /// The write that ends what a register holds: the first one after `definition`, or of all if that is none.
    pub fn next_write(&self, reg: Reg, definition: u32) -> u32 {
        if definition != NONE {
            return self.write_behind(definition);
        }
        if self.met[behind(reg.as_u32())] >= self.first { self.first_writes[reg.index()] } else { NONE }
    }
}

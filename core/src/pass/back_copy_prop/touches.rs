//! Reads and writes of the registers that copies write: a sorted row for each of them.
//!
//! Cost: linear in the instructions; a query is a binary search, and a change costs as much as a
//! row is long.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, Reg};

/// One instruction that reads or writes a register. An instruction that does both has two entries.
#[derive(Clone, Copy)]
pub struct Touch {
    /// The instruction.
    pub inst: Inst,
    /// True if it writes the register, in all lanes or some.
    pub is_write: bool,
    place: u32,
}

/// The reads and writes of some registers at the time of the computation.
pub struct Touches {
    /// Instruction to its number in reverse postorder, from 1; 0 for unreachable ones.
    places: Vec<u32>,
    /// Places of the first and the last instruction of each block.
    ends: Vec<(u32, u32)>,
    /// Start of each register's row in `touches`, and the end of the last one.
    first: Vec<u32>,
    touches: Vec<Touch>,
    /// Rows changed since the computation.
    changed: BTreeMap<Reg, Vec<Touch>>,
}

impl Touches {
    /// Collects the reads and writes of the registers of a set.
    pub fn compute(func: &Function, cfg: &Cfg, regs: &FixedBitSet) -> Touches {
        let mut places = vec![0; func.insts.len()];
        let mut ends = vec![(1, 0); cfg.block_count()];
        let mut found: Vec<(Reg, Touch)> = Vec::new();
        let mut place = 0;
        for &block in cfg.reverse_postorder() {
            let first = place + 1;
            for inst in func.block_insts(block) {
                place += 1;
                places[inst.index()] = place;
                let data = &func.insts[inst];
                let mut note = |reg: Reg, is_write| {
                    if regs.contains(reg.index()) {
                        found.push((reg, Touch { inst, is_write, place }));
                    }
                };
                data.for_each_use(|reg| note(reg, false));
                data.dsts.iter().for_each(|&reg| note(reg, true));
            }
            ends[block.index()] = (first, place);
        }
        let mut first = vec![0; func.regs.len() + 1];
        found.iter().for_each(|(reg, _)| first[reg.index() + 1] += 1);
        (1..first.len()).for_each(|index| first[index] += first[index - 1]);
        // Into their rows in the order in which they were found, so that each row rises by place.
        let mut touches: Vec<Touch> = found.iter().map(|&(_, touch)| touch).collect();
        let mut next = first.clone();
        for (reg, touch) in found {
            let free = &mut next[reg.index()];
            touches[*free as usize] = touch;
            *free += 1;
        }
        Touches { places, ends, first, touches, changed: BTreeMap::new() }
    }

    /// Number of reads and writes of a register.
    pub fn count(&self, reg: Reg) -> usize {
        self.row(reg).len()
    }

    /// Removes an instruction from the register's row.
    pub fn remove(&mut self, reg: Reg, inst: Inst) {
        self.change(reg, |row| row.retain(|touch| touch.inst != inst));
    }

    /// Removes an instruction's writes of the register.
    pub fn remove_write(&mut self, reg: Reg, inst: Inst) {
        self.change(reg, |row| row.retain(|touch| touch.inst != inst || !touch.is_write));
    }

    /// Adds an instruction's write of the register.
    pub fn add_write(&mut self, reg: Reg, inst: Inst) {
        let place = self.places[inst.index()];
        self.change(reg, |row| {
            let at = row.partition_point(|touch| touch.place <= place);
            row.insert(at, Touch { inst, is_write: true, place });
        });
    }

    /// True if the rows of a set of registers are those of another collection.
    pub fn says_the_same(&self, other: &Touches, regs: &FixedBitSet) -> bool {
        let row_of = |touches: &Touches, reg| -> Vec<(Inst, bool)> {
            touches.row(reg).iter().map(|touch| (touch.inst, touch.is_write)).collect()
        };
        regs.ones().map(Reg::new).all(|reg| row_of(self, reg) == row_of(other, reg))
    }

    fn change(&mut self, reg: Reg, change: impl FnOnce(&mut Vec<Touch>)) {
        let Touches { first, touches, changed, .. } = self;
        let row = || touches[first[reg.index()] as usize..first[reg.index() + 1] as usize].to_vec();
        change(changed.entry(reg).or_insert_with(row));
    }

    /// True if `a` is before `b` in their block.
    pub fn is_before(&self, a: Inst, b: Inst) -> bool {
        self.places[a.index()] < self.places[b.index()]
    }

    /// The reads and writes of a register in a block.
    pub fn of(&self, reg: Reg, block: Block) -> &[Touch] {
        let row = self.row(reg);
        let (first, last) = self.ends[block.index()];
        let start = row.partition_point(|touch| touch.place < first);
        let count = row[start..].partition_point(|touch| touch.place <= last);
        &row[start..start + count]
    }

    fn row(&self, reg: Reg) -> &[Touch] {
        match self.changed.get(&reg) {
            Some(row) => row,
            None => &self.touches[self.first[reg.index()] as usize..self.first[reg.index() + 1] as usize],
        }
    }

    /// The last one between two instructions of a block, both excluded.
    pub fn last_between(&self, reg: Reg, after: Inst, before: Inst) -> Option<Inst> {
        self.last_within(reg, after, self.places[before.index()])
    }

    /// The last one after an instruction in its block.
    pub fn last_after(&self, reg: Reg, after: Inst, block: Block) -> Option<Inst> {
        self.last_within(reg, after, self.ends[block.index()].1 + 1)
    }

    fn last_within(&self, reg: Reg, after: Inst, end: u32) -> Option<Inst> {
        let row = self.row(reg);
        let last = row[..row.partition_point(|touch| touch.place < end)].last()?;
        (last.place > self.places[after.index()]).then_some(last.inst)
    }
}

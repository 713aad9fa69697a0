//! Which instructions of a block must stay behind which: what decides how early a check can stand.
//!
//! ```text
//! x = work.f32 50, a        the check of s needs w and s, and w needs nothing of the block:
//! w = add.f32 b, 1.0        so it can stand before x, which a zero s may make dead
//! s = mul.f32.sat w, n
//! ```
//!
//! One instruction follows another if it reads what that writes, writes what that reads or writes,
//! or both go to memory or to other lanes and one of them does more than read. Instructions that do
//! not follow each other may change places.
//!
//! Every instruction has direct predecessors only; what must come before it is found by going on
//! from these. Linear in the instructions and their operands.
//!
//! Source: Muchnick, section 9.2, dependence graphs of basic blocks; AZP, section 3.3.2, versioning check hoisting.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use crate::ir::{Flags, Function, Inst, InstData, Op, Reg, Space};

/// See the file's head.
pub(crate) struct Dependences {
    /// Predecessors of `i` are `all[first[i]..first[i] + count]`.
    first: Vec<(u32, u32)>,
    all: Vec<Inst>,
}

/// Effect of an instruction beyond its registers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Nothing.
    Free,
    /// It reads memory that may be written.
    Reads,
    /// It writes memory, waits for lanes or depends on which are active.
    Acts,
}

impl Dependences {
    /// Collects the dependences of all blocks of a function.
    pub fn of(func: &Function) -> Dependences {
        let mut found = Dependences { first: vec![(0, 0); func.insts.len()], all: Vec::new() };
        let mut regs = Accesses { block: 0, regs: vec![(0, None, 0); func.regs.len()], readers: Vec::new() };
        let mut reads = Vec::new();
        for block in func.block_order() {
            regs.begin_block();
            reads.clear();
            let mut last_act = None;
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                let start = found.all.len();
                data.for_each_use(|reg| found.all.extend(regs.writer(reg)));
                for &dst in &data.dsts {
                    found.all.extend(regs.writer(dst));
                    regs.for_each_reader(dst, |reader| found.all.push(reader));
                }
                match order(data) {
                    Order::Free => {}
                    Order::Reads => {
                        found.all.extend(last_act);
                        reads.push(inst);
                    }
                    Order::Acts => {
                        found.all.extend(last_act);
                        found.all.append(&mut reads);
                        last_act = Some(inst);
                    }
                }
                found.first[inst.index()] = (start as u32, (found.all.len() - start) as u32);
                data.for_each_use(|reg| regs.read(reg, inst));
                data.dsts.iter().for_each(|&dst| regs.write(dst, inst));
            }
        }
        found
    }

    /// Direct dependences of an instruction, all in its own block and before it.
    pub fn predecessors(&self, inst: Inst) -> &[Inst] {
        let (start, count) = self.first[inst.index()];
        &self.all[start as usize..(start + count) as usize]
    }
}

fn order(data: &InstData) -> Order {
    let op = data.opcode.op;
    let never_changes = matches!(data.opcode.space, Some(Space::Const | Space::Param)) || data.opcode.has(Flags::NC);
    match op {
        _ if op.is_terminator() || op.is_convergent() || data.opcode.has_effect() => Order::Acts,
        Op::Ld if !never_changes => Order::Reads,
        _ => Order::Free,
    }
}

/// Writers and readers of registers in the open block.
struct Accesses {
    /// Number of the open block, from 1.
    block: u32,
    /// Entries by register: the block that the entry is of, its last writer there, and one more
    /// than the place of its last reader since in `readers`.
    regs: Vec<(u32, Option<Inst>, u32)>,
    /// A reader, and the one before it.
    readers: Vec<(Inst, u32)>,
}

impl Accesses {
    fn begin_block(&mut self) {
        self.block += 1;
        self.readers.clear();
    }

    fn entry(&mut self, reg: Reg) -> &mut (u32, Option<Inst>, u32) {
        let entry = &mut self.regs[reg.index()];
        if entry.0 != self.block {
            *entry = (self.block, None, 0);
        }
        entry
    }

    fn writer(&mut self, reg: Reg) -> Option<Inst> {
        self.entry(reg).1
    }

    fn for_each_reader(&mut self, reg: Reg, mut visit: impl FnMut(Inst)) {
        let mut place = self.entry(reg).2;
        while let Some(&(reader, before)) = (place as usize).checked_sub(1).and_then(|index| self.readers.get(index)) {
            visit(reader);
            place = before;
        }
    }

    fn read(&mut self, reg: Reg, inst: Inst) {
        let place = self.readers.len() as u32 + 1;
        let entry = self.entry(reg);
        let before = core::mem::replace(&mut entry.2, place);
        self.readers.push((inst, before));
    }

    fn write(&mut self, reg: Reg, inst: Inst) {
        *self.entry(reg) = (self.block, Some(inst), 0);
    }
}

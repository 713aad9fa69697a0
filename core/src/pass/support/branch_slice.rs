//! The instructions that can make the outcome of a branch known: a backward slice from all branches, through copies.
//!
//! ```text
//! p = setp.lt.u32 a, b      in the slice: the branch reads what it writes
//! c = add.u32 a, b
//! q = mov.pred r            in the slice, and so is whatever writes r
//! @s p = mov.pred q         in the slice, and so is whatever writes s
//! br p, n1, n2              in the slice
//! ```
//!
//! What is known of a branch's register comes from branches and from copies: what made them, whether what they read has
//! been overwritten, and under which guard they ran. So a walk that looks at nothing but the slice knows of each branch
//! what a walk over everything knows. Moving instructions, leaving out branches and taking instructions away does not
//! add to a slice; instructions that are new belong to it until it is computed again.
//!
//! Linear in the instructions.
//!
//! Source: M. Weiser, Program slicing, TSE 1984, restricted to copies.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use crate::ir::{Function, Inst, Op, Reg};

/// See the file's head.
pub(in crate::pass) struct BranchSlice {
    insts: FixedBitSet,
}

impl BranchSlice {
    /// The slice of a function.
    pub fn of(func: &Function) -> BranchSlice {
        let mut slice = BranchSlice { insts: FixedBitSet::with_capacity(func.insts.len()) };
        let mut definitions = Definitions::of(func);
        // Registers that tell of a branch.
        let mut work = Vec::new();
        for inst in func.block_order().filter_map(|block| func.terminator(block)) {
            let data = &func.insts[inst];
            if matches!(data.opcode.op, Op::BrIf | Op::Switch) {
                slice.insts.insert(inst.index());
                data.for_each_use(|reg| work.push(reg));
            }
        }
        while let Some(reg) = work.pop() {
            for inst in definitions.take(reg) {
                slice.insts.insert(inst.index());
                let data = &func.insts[inst];
                match data.opcode.op {
                    Op::Mov | Op::Selp => data.for_each_use(|reg| work.push(reg)),
                    _ => work.extend(data.guard.map(|guard| guard.reg)),
                }
            }
        }
        slice
    }

    /// Is the instruction in the slice, or new?
    #[inline]
    pub fn contains(&self, inst: Inst) -> bool {
        inst.index() >= self.insts.len() || self.insts.contains(inst.index())
    }
}

/// The instructions that write each register, as linked lists.
struct Definitions {
    /// One more than the place of each register's last definition in `all`, 0 where there is none.
    last: Vec<u32>,
    /// An instruction, and what `last` was before it.
    all: Vec<(Inst, u32)>,
}

impl Definitions {
    fn of(func: &Function) -> Definitions {
        let mut found = Definitions { last: vec![0; func.regs.len()], all: Vec::with_capacity(func.insts.len()) };
        for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
            for &dst in &func.insts[inst].dsts {
                let last = &mut found.last[dst.index()];
                found.all.push((inst, *last));
                *last = found.all.len() as u32;
            }
        }
        found
    }

    /// Gives a register's definitions, once.
    fn take(&mut self, reg: Reg) -> impl Iterator<Item = Inst> {
        let mut place = core::mem::take(&mut self.last[reg.index()]);
        core::iter::from_fn(move || {
            let (inst, before) = *self.all.get((place as usize).checked_sub(1)?)?;
            place = before;
            Some(inst)
        })
    }
}

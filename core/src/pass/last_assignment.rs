//! Reads that lose their last assignment when an edge or a definition goes away.
//!
//! ```text
//! a: br p, b, c      (p is always false here)     a: br c
//! b: x = mov.u32 1 ; br a                    ──▶
//! c: y = add.u32 x, n                             c: x = mov.u32 0 ; y = add.u32 x, n
//! ```
//!
//! A register may be read where only some path has assigned it; on the others it is zero. Taking the last such path away
//! would leave a program that reads what nothing assigns, which the verifier refuses. No path assigns the register before
//! that read, so that it is zero there: saying so in front of it changes nothing.
//!
//! Cost: programs in which every path assigns what is read are told apart by one walk over the dominator tree. In others
//! each change takes the verifier's time, so that their number is limited.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::edit::Rewrite;
use crate::graph::Dominators;
use crate::ir::{Function, InstData, Opcode, Operand};
use crate::verify::unassigned_reads;
use crate::view::{Listener, View};

/// Changes that one run of a pass makes in a function in which they may take a last assignment away.
const MOST_CHANGES: usize = 200;

/// What one run of a pass knows of the function's reads.
#[derive(Default)]
pub struct LastAssignments {
    is_doubtful: Option<bool>,
    changes: usize,
}

/// May a change be made that takes an edge or a definition away?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MayLose {
    /// Yes: every path assigns what is read, and goes on doing so.
    Nothing,
    /// Yes, with [`assign_zeros`] in the same rewrite.
    Assignments,
    /// No: there were too many already.
    TooMuch,
}

impl LastAssignments {
    /// Asks for a change that takes an edge away.
    pub fn ask_for_edge<S: Listener>(&mut self, view: &mut View<'_, S>) -> MayLose {
        let is_doubtful = *self.is_doubtful.get_or_insert_with(|| {
            let dominators = view.dominators();
            has_doubtful_reads(view.func(), &dominators)
        });
        if !is_doubtful {
            return MayLose::Nothing;
        }
        self.ask_for_assignment()
    }

    /// Asks for a change that takes an assignment away which may be the last before some read.
    pub fn ask_for_assignment(&mut self) -> MayLose {
        self.changes += 1;
        if self.changes > MOST_CHANGES { MayLose::TooMuch } else { MayLose::Assignments }
    }
}

/// Gives zeros to the registers that are read where nothing assigns them.
pub fn assign_zeros<S: Listener>(rewrite: &mut Rewrite<'_, '_, S>) {
    let mut done = BTreeSet::new();
    for (reg, inst) in unassigned_reads(rewrite.func()) {
        if done.insert((reg, rewrite.func().inst_block(inst))) {
            let ty = rewrite.func().regs[reg].ty;
            rewrite.insert_before(inst, InstData::new(Opcode::mov(ty), [reg], [Operand::Const(0)]));
        }
    }
}

/// Is a register read where not every path has assigned it? A parameter is assigned on entry, a guarded write assigns.
fn has_doubtful_reads(func: &Function, dominators: &Dominators) -> bool {
    // How many of the open blocks, and of the instructions seen in them, assign each register.
    let mut assigned = vec![0_u32; func.regs.len()];
    func.params.iter().filter_map(|param| param.reg).for_each(|reg| assigned[reg.index()] += 1);
    let mut written = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (place, &block) in dominators.preorder().iter().enumerate() {
        while let Some((_, first)) = open.pop_if(|(end, _)| *end <= place) {
            for reg in written.drain(first..) {
                assigned[EntityRef::index(reg)] -= 1;
            }
        }
        open.push((place + dominators.subtree(block).len(), written.len()));
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            let mut is_doubtful = false;
            data.for_each_use(|reg| is_doubtful |= assigned[reg.index()] == 0);
            if is_doubtful {
                return true;
            }
            for &dst in &data.dsts {
                assigned[dst.index()] += 1;
                written.push(dst);
            }
        }
    }
    false
}

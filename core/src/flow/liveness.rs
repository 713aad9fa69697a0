//! Liveness: the registers that may be read before they are overwritten.
//!
//! ```text
//! a: p = …; r = 1; br b        live at the end of a: p r
//! b: @p r = 2; x = r; ret      live at the start of b: p r      the guarded definition keeps r alive
//! ```
//!
//! A definition under a guard does not end a life: lanes where the guard is false keep the old value. An instruction
//! with several destinations defines all of them after it has read its operands.
//!
//! 1. For each register, collect the blocks that read it before they write it, and those that write it.
//! 2. From each block that reads it, walk to predecessors: the register is live at the block's start and at their ends.
//! 3. Stop at blocks that write it, and where it is live already.
//!
//! Cost: facts are sorted lists of registers, since most registers live for a few blocks only. Time and space are the
//! sum of all live ranges, counted in blocks. Where many are long, memory limits it: each register visits the lists of
//! its whole range.
//!
//! Source: B. Boissinot, F. Brandner, A. Darte, B. Dupont de Dinechin, F. Rastello, Computing Liveness Sets for
//! SSA-Form Programs, INRIA RR-7503, 2011: by variable.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, Reg};

/// The live registers of a function at the starts and ends of its reachable blocks, in rising order; none in others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// Registers live before each block's first instruction.
    at_start: Vec<Vec<Reg>>,
    /// Registers live after each block's terminator.
    at_end: Vec<Vec<Reg>>,
}

impl Liveness {
    /// The liveness of a function's registers.
    pub fn compute(func: &Function, cfg: &Cfg) -> Liveness {
        // Most registers live in one block or two.
        let none = || vec![SmallVec::<[Block; 2]>::new(); func.regs.len()];
        let (mut reads, mut writes) = (none(), none());
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                data.for_each_use(|reg| {
                    if writes[reg.index()].last() != Some(&block) && reads[reg.index()].last() != Some(&block) {
                        reads[reg.index()].push(block);
                    }
                });
                if data.guard.is_none() {
                    data.dsts.iter().for_each(|reg| writes[reg.index()].push(block));
                }
            }
        }
        let mut liveness =
            Liveness { at_start: vec![Vec::new(); cfg.block_count()], at_end: vec![Vec::new(); cfg.block_count()] };
        // By block: the last register visited here that it writes.
        let mut written = vec![None; cfg.block_count()];
        for (reg, pending) in func.regs.keys().zip(&mut reads).filter(|(_, reads)| !reads.is_empty()) {
            writes[reg.index()].iter().for_each(|block| written[block.index()] = Some(reg));
            while let Some(block) = pending.pop() {
                // Registers rise, so that the last one of a list tells whether this one is in it.
                if liveness.at_start[block.index()].last() == Some(&reg) {
                    continue;
                }
                liveness.at_start[block.index()].push(reg);
                for &from in cfg.predecessors(block) {
                    if cfg.is_reachable(from) && liveness.at_end[from.index()].last() != Some(&reg) {
                        liveness.at_end[from.index()].push(reg);
                        if written[from.index()] != Some(reg) {
                            pending.push(from);
                        }
                    }
                }
            }
        }
        liveness
    }

    /// The registers live before a block's first instruction, in rising order.
    pub fn live_in(&self, block: Block) -> impl ExactSizeIterator<Item = Reg> + '_ {
        self.at_start[block.index()].iter().copied()
    }

    /// The registers live after a block's terminator, in rising order.
    pub fn live_out(&self, block: Block) -> impl ExactSizeIterator<Item = Reg> + '_ {
        self.at_end[block.index()].iter().copied()
    }

    /// Is the register live before a block's first instruction?
    pub fn is_live_in(&self, block: Block, reg: Reg) -> bool {
        self.at_start[block.index()].binary_search(&reg).is_ok()
    }

    /// Is the register live after a block's terminator?
    pub fn is_live_out(&self, block: Block, reg: Reg) -> bool {
        self.at_end[block.index()].binary_search(&reg).is_ok()
    }

    /// Walks a block backward and calls `visit` with each instruction and the registers live after it, in rising order.
    pub fn for_each_inst_backward(&self, func: &Function, block: Block, mut visit: impl FnMut(Inst, &[Reg])) {
        let mut live = self.at_end[block.index()].clone();
        for inst in func.block_insts(block).rev() {
            visit(inst, &live);
            step_back(func, inst, |reg, is_live| match (live.binary_search(&reg), is_live) {
                (Ok(place), false) => drop(live.remove(place)),
                (Err(place), true) => live.insert(place, reg),
                _ => {}
            });
        }
    }
}

/// Steps the live registers back over an instruction, from after it to before it.
fn step_back(func: &Function, inst: Inst, mut set: impl FnMut(Reg, bool)) {
    let data = &func.insts[inst];
    if data.guard.is_none() {
        data.dsts.iter().for_each(|&reg| set(reg, false));
    }
    data.for_each_use(|reg| set(reg, true));
}

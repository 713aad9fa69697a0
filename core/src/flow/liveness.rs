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
//! 1. For each block, collect the registers that it reads before it writes them, and those that it writes first.
//! 2. At its end those are live that are live at the start of a successor; at its start those that it reads, and those
//!    that are live at its end and that it does not write.
//! 3. Sweep over the blocks in postorder, until no block's successors have changed since its visit.
//!
//! Cost: facts are sorted lists of registers, since most registers live for a few blocks only. Time and space are about
//! the sum of all live ranges, counted in blocks, times the depth of loops.
//!
//! Source: J. Kam, J. Ullman, Global data flow analysis and iterative algorithms, JACM 1976.

use alloc::vec;
use alloc::vec::Vec;
use core::mem;
use cranelift_entity::EntityRef;

use crate::compact_sort::CompactSort;
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
        // Only registers that some block reads before it writes them are ever live between blocks.
        let mut written_in = vec![None; func.regs.len()];
        let mut is_exposed = vec![false; func.regs.len()];
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                data.for_each_use(|reg| is_exposed[reg.index()] |= written_in[reg.index()] != Some(block));
                if data.guard.is_none() {
                    data.dsts.iter().for_each(|reg| written_in[reg.index()] = Some(block));
                }
            }
        }
        let none = || vec![Vec::new(); cfg.block_count()];
        let (mut read, mut written) = (none(), none());
        // What the instructions of the block from here on do: the last word is the first instruction's.
        let mut last_word: Vec<Option<bool>> = vec![None; func.regs.len()];
        let mut touched = Vec::new();
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block).rev() {
                step_back(func, inst, |reg, is_read| {
                    if is_exposed[reg.index()] && last_word[reg.index()].replace(is_read).is_none() {
                        touched.push(reg);
                    }
                });
            }
            touched.compact_sort();
            for reg in touched.drain(..) {
                match last_word[reg.index()].take() {
                    Some(true) => read[block.index()].push(reg),
                    _ => written[block.index()].push(reg),
                }
            }
        }
        let mut liveness = Liveness { at_start: none(), at_end: none() };
        let mut is_pending = vec![true; cfg.block_count()];
        let mut has_changed = true;
        while mem::take(&mut has_changed) {
            for block in cfg.postorder() {
                let index = block.index();
                if !mem::take(&mut is_pending[index]) {
                    continue;
                }
                let mut live = mem::take(&mut liveness.at_end[index]);
                cfg.successors(block).iter().for_each(|next| add(&mut live, &liveness.at_start[next.index()]));
                let mut before = live.clone();
                remove(&mut before, &written[index]);
                add(&mut before, &read[index]);
                liveness.at_end[index] = live;
                if before != liveness.at_start[index] {
                    liveness.at_start[index] = before;
                    has_changed = true;
                    cfg.predecessors(block).iter().for_each(|from| is_pending[from.index()] = true);
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

/// Adds registers to a sorted list.
fn add(list: &mut Vec<Reg>, others: &[Reg]) {
    // Mostly nothing is new; that is seen without writing.
    let mut known = list.iter().peekable();
    let is_known = |reg: &Reg| {
        while known.next_if(|known| *known < reg).is_some() {}
        known.peek() == Some(&reg)
    };
    if !others.iter().all(is_known) {
        list.extend_from_slice(others);
        // Two rising runs, which a stable sort merges.
        list.compact_sort();
        list.dedup();
    }
}

/// Removes registers from a sorted list.
fn remove(list: &mut Vec<Reg>, others: &[Reg]) {
    let mut others = others.iter().peekable();
    list.retain(|reg| {
        while others.next_if(|other| *other < reg).is_some() {}
        others.peek() != Some(&reg)
    });
}

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
//! A backward problem of the [solver](super::solve). Facts are sorted lists of registers, since most registers live for
//! a few blocks only: time and space are about the sum of all lives, counted in blocks, and the depth of loops.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::solver::{Direction, FactSink, Problem, Silent, Solution, solve};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, Reg};

/// The live registers of a function at the ends of its reachable blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    solution: Solution<Vec<Reg>>,
}

impl Liveness {
    /// The liveness of a function's registers.
    pub fn compute(func: &Function, cfg: &Cfg) -> Liveness {
        Liveness::compute_with(func, cfg, &mut Silent)
    }

    /// Computes liveness; the sink gets the registers live at the end of each block, in rising order.
    pub fn compute_with(func: &Function, cfg: &Cfg, sink: &mut impl FactSink<Vec<Reg>>) -> Liveness {
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
        let mut problem =
            Lives { read: vec![Vec::new(); cfg.block_count()], written: vec![Vec::new(); cfg.block_count()] };
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
            touched.sort_unstable();
            for reg in touched.drain(..) {
                match last_word[reg.index()].take() {
                    Some(true) => problem.read[block.index()].push(reg),
                    _ => problem.written[block.index()].push(reg),
                }
            }
        }
        Liveness { solution: solve(cfg, &problem, sink) }
    }

    /// The registers live before a block's first instruction, in rising order.
    pub fn live_in(&self, block: Block) -> impl ExactSizeIterator<Item = Reg> + '_ {
        self.solution.at_start(block).iter().copied()
    }

    /// The registers live after a block's terminator, in rising order.
    pub fn live_out(&self, block: Block) -> impl ExactSizeIterator<Item = Reg> + '_ {
        self.solution.at_end(block).iter().copied()
    }

    /// Is the register live before a block's first instruction?
    pub fn is_live_in(&self, block: Block, reg: Reg) -> bool {
        self.solution.at_start(block).binary_search(&reg).is_ok()
    }

    /// Is the register live after a block's terminator?
    pub fn is_live_out(&self, block: Block, reg: Reg) -> bool {
        self.solution.at_end(block).binary_search(&reg).is_ok()
    }

    /// Walks a block backward and calls `visit` with each instruction and the registers live after it, in rising order.
    pub fn for_each_inst_backward(&self, func: &Function, block: Block, mut visit: impl FnMut(Inst, &[Reg])) {
        let mut live = self.solution.at_end(block).clone();
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

/// Sorted lists, by block.
struct Lives {
    /// Registers that each block reads before it writes them.
    read: Vec<Vec<Reg>>,
    /// Registers that each block writes in all lanes before it reads them.
    written: Vec<Vec<Reg>>,
}

impl Problem for Lives {
    type Fact = Vec<Reg>;

    fn direction(&self) -> Direction {
        Direction::Backward
    }

    fn top(&self) -> Vec<Reg> {
        Vec::new()
    }

    fn boundary(&self, _: Block) -> Vec<Reg> {
        Vec::new()
    }

    fn meet(&self, fact: &mut Vec<Reg>, other: &Vec<Reg>) -> bool {
        let before = fact.len();
        // Mostly nothing is new; that is seen without writing.
        let mut known = fact.iter().peekable();
        let is_known = |reg: &Reg| {
            while known.next_if(|known| *known < reg).is_some() {}
            known.peek() == Some(&reg)
        };
        if !other.iter().all(is_known) {
            fact.extend_from_slice(other);
            fact.sort_unstable();
            fact.dedup();
        }
        fact.len() != before
    }

    fn transfer(&self, block: Block, fact: &mut Vec<Reg>) {
        let mut written = self.written[block.index()].iter().peekable();
        fact.retain(|reg| {
            while written.next_if(|written| *written < reg).is_some() {}
            written.peek() != Some(&reg)
        });
        let read = &self.read[block.index()];
        self.meet(fact, read);
    }
}

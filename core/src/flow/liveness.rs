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
//! A backward problem of the [solver](super::solve). Facts are bit sets over the registers that some block reads before
//! it writes them, numbered densely: in real programs few are, so that the sets stay small. Time and space are blocks
//! times those registers over 64, times the depth of loops.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::solver::{Direction, FactSink, Problem, Silent, Solution, solve};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, Reg};

/// The live registers of a function at the ends of its reachable blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// Registers that some block reads before it writes them, in rising order.
    exposed: Vec<Reg>,
    /// A register's place in `exposed`, or `LOCAL`.
    places: Vec<u32>,
    solution: Solution<FixedBitSet>,
}

const LOCAL: u32 = u32::MAX;

impl Liveness {
    /// The liveness of a function's registers.
    pub fn compute(func: &Function, cfg: &Cfg) -> Liveness {
        Liveness::compute_with(func, cfg, &mut Silent)
    }

    /// The same; the sink hears sets of places in [`Liveness::exposed`].
    pub fn compute_with(func: &Function, cfg: &Cfg, sink: &mut impl FactSink<FixedBitSet>) -> Liveness {
        // Which block last wrote a register unguarded, and which reads were not preceded by such a write.
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
        let exposed: Vec<Reg> = (0..func.regs.len()).filter(|&reg| is_exposed[reg]).map(Reg::new).collect();
        let mut places = vec![LOCAL; func.regs.len()];
        exposed.iter().enumerate().for_each(|(place, reg)| places[reg.index()] = place as u32);

        let mut problem = Lives {
            read: vec![FixedBitSet::new(); cfg.block_count()],
            written: vec![FixedBitSet::new(); cfg.block_count()],
            count: exposed.len(),
        };
        for &block in cfg.reverse_postorder() {
            let mut read = FixedBitSet::with_capacity(exposed.len());
            let mut written = FixedBitSet::with_capacity(exposed.len());
            for inst in func.block_insts(block).rev() {
                step_back(func, inst, |reg, live| {
                    let place = places[reg.index()];
                    if place != LOCAL {
                        read.set(place as usize, live);
                        if !live {
                            written.insert(place as usize);
                        }
                    }
                });
            }
            problem.read[block.index()] = read;
            problem.written[block.index()] = written;
        }
        let solution = solve(cfg, &problem, sink);
        Liveness { exposed, places, solution }
    }

    /// The registers that are ever live from one block to another, or read before they are written.
    pub fn exposed(&self) -> &[Reg] {
        &self.exposed
    }

    /// The registers live before a block's first instruction, in rising order.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Reg> + '_ {
        self.solution.at_start(block).ones().map(|place| self.exposed[place])
    }

    /// The registers live after a block's terminator, in rising order.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Reg> + '_ {
        self.solution.at_end(block).ones().map(|place| self.exposed[place])
    }

    /// Is the register live before a block's first instruction?
    pub fn is_live_in(&self, block: Block, reg: Reg) -> bool {
        self.contains(self.solution.at_start(block), reg)
    }

    /// Is the register live after a block's terminator?
    pub fn is_live_out(&self, block: Block, reg: Reg) -> bool {
        self.contains(self.solution.at_end(block), reg)
    }

    /// Walks a block backward and calls `visit` with each instruction and the registers live after it.
    pub fn for_each_inst_backward(&self, func: &Function, block: Block, mut visit: impl FnMut(Inst, &LiveSet)) {
        let mut live = LiveSet { set: FixedBitSet::with_capacity(func.regs.len()) };
        self.live_out(block).for_each(|reg| live.set.insert(reg.index()));
        for inst in func.block_insts(block).rev() {
            visit(inst, &live);
            step_back(func, inst, |reg, is_live| live.set.set(reg.index(), is_live));
        }
    }

    fn contains(&self, set: &FixedBitSet, reg: Reg) -> bool {
        let place = self.places[reg.index()];
        place != LOCAL && set.contains(place as usize)
    }
}

/// The registers live at one point, those of the block alone included.
pub struct LiveSet {
    set: FixedBitSet,
}

impl LiveSet {
    /// Is the register live here?
    pub fn contains(&self, reg: Reg) -> bool {
        self.set.contains(reg.index())
    }

    /// The live registers in rising order.
    pub fn iter(&self) -> impl Iterator<Item = Reg> + '_ {
        self.set.ones().map(Reg::new)
    }

    /// How many are live.
    pub fn len(&self) -> usize {
        self.set.count_ones(..)
    }

    /// Is none?
    pub fn is_empty(&self) -> bool {
        self.set.is_clear()
    }
}

/// What an instruction does to the live registers, from after it to before it.
fn step_back(func: &Function, inst: Inst, mut set: impl FnMut(Reg, bool)) {
    let data = &func.insts[inst];
    if data.guard.is_none() {
        data.dsts.iter().for_each(|&reg| set(reg, false));
    }
    data.for_each_use(|reg| set(reg, true));
}

struct Lives {
    /// By block: what it reads before it writes it.
    read: Vec<FixedBitSet>,
    /// By block: what it writes in all lanes.
    written: Vec<FixedBitSet>,
    count: usize,
}

impl Problem for Lives {
    type Fact = FixedBitSet;

    fn direction(&self) -> Direction {
        Direction::Backward
    }

    fn top(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.count)
    }

    fn boundary(&self, _: Block) -> FixedBitSet {
        self.top()
    }

    fn meet(&self, fact: &mut FixedBitSet, other: &FixedBitSet) -> bool {
        let before = fact.count_ones(..);
        fact.union_with(other);
        fact.count_ones(..) != before
    }

    fn transfer(&self, block: Block, fact: &mut FixedBitSet) {
        fact.difference_with(&self.written[block.index()]);
        fact.union_with(&self.read[block.index()]);
    }
}

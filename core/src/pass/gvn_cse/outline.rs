//! Facts about a whole function that numbering needs before it begins.
//!
//! ```text
//! n1: x = add.u32 a, b              x is written here
//!     p = add.u64 m, 8              p is counted from what m points to
//!     v = ld.global.u32 [p]         a load of that object
//! n2: q = vote.any c                an operation across lanes, the only one of its kind: regions do not matter
//! ```
//!
//! One look at each instruction, in the preorder of the dominator tree, tells where definitions meet
//! ([`crate::flow::JoinFinder`]), what has to do with memory and which object it goes to ([`crate::alias::BaseWalk`]), and
//! whether operations across lanes are to be compared.
//!
//! Linear, but for the joins.

use alloc::vec::Vec;

use smallvec::SmallVec;

use super::memory::{Memory, concerns_memory};
use crate::alias::BaseWalk;
use crate::flow::{JoinFinder, Joins};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Function, Inst, Module, Op, Opcode, Operand, Space};
use crate::symbolic::Base;

/// Facts from one pass over all instructions.
pub(in crate::pass) struct Outline<'a> {
    joins: JoinFinder<'a>,
    bases: BaseWalk,
    memory: Vec<MemoryInst>,
    loads: usize,
    /// The operations across lanes, one of each kind with the place of a block that has it.
    across_lanes: SmallVec<[(Opcode, u32); 4]>,
    needs_regions: bool,
}

/// An instruction that has to do with memory.
#[derive(Clone, Copy)]
pub(super) struct MemoryInst {
    pub inst: Inst,
    pub op: Op,
    /// The place of its block.
    pub place: u32,
    /// The space that it names, and what its address is counted from, if it has one.
    pub access: Option<(Option<Space>, Base)>,
}

impl MemoryInst {
    #[inline]
    fn new(func: &Function, bases: &BaseWalk, place: u32, inst: Inst) -> MemoryInst {
        let data = &func.insts[inst];
        let op = data.opcode.op;
        // Behind what acquires, anything may be there that others have stored: no address says what is concerned.
        let has_address = !op.is_call() && !data.opcode.acquires();
        let address = data.args.iter().find_map(Operand::as_address).filter(|_| has_address);
        let access = address.map(|address| (data.opcode.space, bases.base(func, address)));
        MemoryInst { inst, op, place, access }
    }
}

impl<'a> Outline<'a> {
    /// Looks at all instructions that can be reached.
    pub fn of(func: &Function, dominators: &'a Dominators) -> Outline<'a> {
        let joins = JoinFinder::new(func.regs.len(), dominators);
        let mut outline = Outline {
            joins,
            bases: BaseWalk::new(func),
            memory: Vec::with_capacity(func.insts.len() / 2),
            loads: 0,
            across_lanes: SmallVec::new(),
            needs_regions: false,
        };
        for (place, &block) in dominators.preorder().iter().enumerate() {
            let place = place as u32;
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                data.for_each_use(|reg| outline.joins.read(place, reg));
                if data.guard.is_some() {
                    data.dsts.iter().for_each(|&reg| outline.joins.read(place, reg));
                }
                data.dsts.iter().for_each(|&reg| outline.joins.write(place, reg, inst));
                outline.bases.visit(func, inst, data);
                let op = data.opcode.op;
                if concerns_memory(op) {
                    outline.memory.push(MemoryInst::new(func, &outline.bases, place, inst));
                    outline.loads += usize::from(op == Op::Ld);
                } else if op.is_convergent() {
                    outline.add_across_lanes(data.opcode, place);
                }
            }
        }
        outline
    }

    /// The joins, and what is known of memory if loads are to be compared.
    pub(super) fn finish(
        mut self,
        (module, func): (&Module, &Function),
        (cfg, dominators): (&'a Cfg, &'a Dominators),
    ) -> (Joins, Option<Memory>) {
        let mut frontier = None;
        let joins = self.joins.finish_with(cfg, &mut frontier);
        if self.loads < 2 {
            return (joins, None);
        }
        if self.bases.settle(func, &joins) {
            for found in &mut self.memory {
                *found = MemoryInst::new(func, &self.bases, found.place, found.inst);
            }
        }
        let memory = Memory::new((module, func), (cfg, dominators), frontier, &self.memory);
        (joins, Some(memory))
    }

    fn add_across_lanes(&mut self, opcode: Opcode, place: u32) {
        match self.across_lanes.iter().find(|(kind, _)| *kind == opcode) {
            Some((_, before)) => self.needs_regions |= *before != place,
            None => self.across_lanes.push((opcode, place)),
        }
    }

    /// Do regions matter? An operation across lanes is compared with others of its kind, and a block is in one region.
    pub fn needs_regions(&self) -> bool {
        self.needs_regions
    }
}

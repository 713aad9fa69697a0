//! The carry flag between subtractions and additions.
//!
//! ```text
//! sub.cc.u32  %r1, %a, %b;         {r1, carry} = sub.cc.u32 a, b
//! addc.u32    %r2, 0, 0;      →    carry = not.pred carry
//!                                  r2 = addc.u32 0, 0, carry
//! ```
//!
//! In the text IR the second result of a subtraction is the borrow. Hardware computes a - b as a + ~b + 1 and keeps the
//! carry of that sum, which is the opposite. Where subtractions read only what subtractions wrote, and additions what
//! additions wrote, the difference shows nowhere.
//!
//! 1. Find where the flag is live.
//! 2. Join writes and reads that may meet to webs: a guarded write joins what was there before, a
//!    live edge joins the ends of its blocks.
//! 3. In a web with both kinds the register holds hardware's flag: `not` follows each write by a subtraction and comes
//!    before each read by one.
//!
//! Sound because each `not` has the guard of the write before it, and a read inverts into a
//! register of its own. A web of one kind is as it was read.
//!
//! O(n α(n)) in instructions and edges, and as many rounds for liveness as loops nest.
//!
//! Source: PTX ISA, "Extended-Precision Arithmetic Instructions", which call the flag of a
//! subtraction borrow; the machine code that `ptxas` makes of `subc`, `IADD3.X` of the complement.

use super::body::Lowering;
use crate::ir::{Block, Flags, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

impl Lowering<'_, '_> {
    /// Inverts the flag where a subtraction and an addition may meet through it.
    pub(super) fn invert_carries(&mut self) {
        let Some(carry) = self.carry else { return };
        let mut webs = Webs::new(&self.func, carry);
        let mixed = webs.mixed(&self.func);
        if !mixed.contains(&true) {
            return;
        }
        let is_mixed = |node: Option<usize>| node.is_some_and(|node| mixed[node]);
        let blocks: Vec<Block> = self.func.block_order().collect();
        for block in blocks {
            let insts: Vec<Inst> = self.func.block_insts(block).collect();
            for (at, &inst) in insts.iter().enumerate() {
                if !is_subtraction(&self.func.insts[inst]) {
                    continue;
                }
                if is_mixed(webs.read[inst.index()]) {
                    let inverted = self.temporary(Type::Pred);
                    insert(&mut self.func, block, inst, Some(inst), not(inverted, carry));
                    if let Some(last) = self.func.insts[inst].args.last_mut() {
                        *last = Operand::Reg(inverted);
                    }
                }
                if is_mixed(webs.written[inst.index()]) {
                    let guard = self.func.insts[inst].guard;
                    let data = not(carry, carry).guarded(guard);
                    insert(&mut self.func, block, inst, insts.get(at + 1).copied(), data);
                }
            }
        }
    }
}

fn not(dst: Reg, source: Reg) -> InstData {
    InstData::new(Opcode::new(Op::Not, Type::Pred), [dst], [Operand::Reg(source)])
}

/// Puts an instruction before another, where `of` is in the source.
fn insert(func: &mut Function, block: Block, of: Inst, before: Option<Inst>, data: InstData) {
    let inst = func.insts.push(data);
    func.inst_spans[inst] = func.inst_spans[of];
    func.insert_inst(inst, block, before);
}

fn is_subtraction(inst: &InstData) -> bool {
    matches!(inst.opcode.op, Op::Sub | Op::Subc)
}

fn reads(inst: &InstData, carry: Reg) -> bool {
    matches!(inst.opcode.op, Op::Addc | Op::Subc | Op::Madc) && inst.args.last() == Some(&Operand::Reg(carry))
}

fn writes(inst: &InstData, carry: Reg) -> bool {
    inst.opcode.has(Flags::CC) && inst.dsts.get(1) == Some(&carry)
}

/// Writes and reads of the flag that may meet. A web is named by one of its nodes: the entries of blocks, then writes.
struct Webs {
    parents: Vec<usize>,
    /// Node that the read of each instruction sees.
    read: Vec<Option<usize>>,
    /// Node of the write of each instruction.
    written: Vec<Option<usize>>,
}

impl Webs {
    fn new(func: &Function, carry: Reg) -> Webs {
        let live = live_in(func, carry);
        let mut webs = Webs {
            parents: (0..func.blocks.len()).collect(),
            read: vec![None; func.insts.len()],
            written: vec![None; func.insts.len()],
        };
        for block in func.block_order() {
            let mut current = block.index();
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                if reads(data, carry) {
                    webs.read[inst.index()] = Some(current);
                }
                if writes(data, carry) {
                    let node = webs.parents.len();
                    webs.parents.push(node);
                    webs.written[inst.index()] = Some(node);
                    if data.guard.is_some() {
                        webs.join(node, current);
                    }
                    current = node;
                }
            }
            for &successor in func.successors(block).iter().filter(|successor| live[successor.index()]) {
                webs.join(current, successor.index());
            }
        }
        webs
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a] = b;
    }

    /// True for each node whose web has subtractions and others.
    fn mixed(&mut self, func: &Function) -> Vec<bool> {
        let mut kinds = vec![[false; 2]; self.parents.len()];
        for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
            for node in [self.read[inst.index()], self.written[inst.index()]].into_iter().flatten() {
                let root = self.root(node);
                kinds[root][usize::from(is_subtraction(&func.insts[inst]))] = true;
            }
        }
        (0..self.parents.len()).map(|node| kinds[self.root(node)] == [true; 2]).collect()
    }
}

/// True for each block from whose start some path reads the flag before it writes it.
fn live_in(func: &Function, carry: Reg) -> Vec<bool> {
    let mut live = vec![false; func.blocks.len()];
    let blocks: Vec<Block> = func.block_order().collect();
    let mut changed = true;
    while core::mem::take(&mut changed) {
        for &block in blocks.iter().rev() {
            let mut alive = func.successors(block).iter().any(|successor| live[successor.index()]);
            for inst in func.block_insts(block).rev() {
                let data = &func.insts[inst];
                alive &= !(writes(data, carry) && data.guard.is_none());
                alive |= reads(data, carry);
            }
            changed |= alive && !core::mem::replace(&mut live[block.index()], alive);
        }
    }
    live
}

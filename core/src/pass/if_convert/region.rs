//! Regions that can become straight code: a branch, up to two sides, and the block where the sides
//! meet.
//!
//! ```text
//! triangle   h: br p, a, j        diamond   h: br p, a, b
//!            a: br j                        a: br j
//!            j:                             b: br j
//!                                           j:
//! ```
//!
//! A side is a line of blocks, each with the one before as its only predecessor: blocks inside it
//! that earlier conversions have left with one predecessor need not have been merged yet. Both
//! lines must end at one block, the join, which may have other predecessors, be an entry, or be the
//! head itself, of a loop without exits.
//!
//! Cost: each line belongs to one branch, so all regions together are linear in the blocks.

use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use crate::ir::{Block, Function, Guard, Inst, Op, Operand};

/// Number of edges into each block; control from outside counts as one.
pub struct IncomingEdges(SecondaryMap<Block, u32>);

impl IncomingEdges {
    /// Counts the edges of a function.
    pub fn of(func: &Function) -> IncomingEdges {
        let mut counts = SecondaryMap::with_capacity(func.blocks.len());
        func.entry_blocks().into_iter().for_each(|entry| counts[entry] += 1);
        func.block_order().for_each(|block| func.successors(block).iter().for_each(|&to| counts[to] += 1));
        IncomingEdges(counts)
    }

    /// True if the block has one incoming edge.
    pub fn is_one(&self, block: Block) -> bool {
        self.0[block] == 1
    }

    /// True if the block has two incoming edges.
    pub fn are_two(&self, block: Block) -> bool {
        self.0[block] == 2
    }

    /// Notes that two edges have become one.
    pub fn merge_two(&mut self, block: Block) {
        self.0[block] -= 1;
    }
}

/// A triangle or a diamond.
pub struct Region {
    /// The block that branches.
    pub head: Block,
    /// The branch.
    pub branch: Inst,
    /// The guard under which the true side runs.
    pub condition: Guard,
    /// The true side's blocks and the false side's. One may be empty: its edge goes to the join.
    pub sides: [Vec<Block>; 2],
    /// Block where the sides meet.
    pub join: Block,
    /// True if the join has other predecessors, or is the head itself.
    pub join_is_kept: bool,
}

impl Region {
    /// The region that a block's branch begins, if it begins one. The block must be reachable.
    pub fn at(func: &Function, incoming: &IncomingEdges, head: Block) -> Option<Region> {
        let (branch, condition, [on_true, on_false]) = decision(func, head)?;
        let (true_side, true_end) = line(func, incoming, head, on_true);
        let (false_side, false_end) = line(func, incoming, head, on_false);
        if true_end != false_end || (true_side.is_empty() && false_side.is_empty()) {
            return None;
        }
        let join_is_kept = true_end == head || !incoming.are_two(true_end);
        Some(Region { head, branch, condition, sides: [true_side, false_side], join: true_end, join_is_kept })
    }

    /// Region that is prevented only by a side of one block with other predecessors, which would
    /// have to be copied: it, and the block.
    pub fn with_shared_side(func: &Function, incoming: &IncomingEdges, head: Block) -> Option<(Region, Block)> {
        let (branch, condition, targets) = decision(func, head)?;
        let after = targets.map(|side| jump(func, side).filter(|_| side != head));
        let (join, is_side) = match after {
            [Some(join), _] if join == targets[1] => (join, [true, false]),
            [_, Some(join)] if join == targets[0] => (join, [false, true]),
            [Some(join), Some(other)] if join == other => (join, [true, true]),
            _ => return None,
        };
        let is_shared = |side: &usize| is_side[*side] && !incoming.is_one(targets[*side]);
        let shared = [0, 1].into_iter().find(is_shared).filter(|_| targets[0] != targets[1])?;
        let sides = [0, 1].map(|side| if is_side[side] { Vec::from([targets[side]]) } else { Vec::new() });
        Some((Region { head, branch, condition, sides, join, join_is_kept: true }, targets[shared]))
    }

    /// The rule's name.
    pub fn shape(&self) -> &'static str {
        if self.sides.iter().any(Vec::is_empty) { "triangle" } else { "diamond" }
    }

    /// The guard under which a side runs, 0 the true one.
    pub fn guard(&self, side: usize) -> Guard {
        Guard { negated: self.condition.negated != (side == 1), ..self.condition }
    }

    /// A side's instructions without the branches, in order.
    pub fn insts<'a>(&'a self, func: &'a Function, side: usize) -> impl Iterator<Item = Inst> + 'a {
        let insts = self.sides[side].iter().flat_map(|&block| func.block_insts(block));
        insts.filter(|&inst| !func.insts[inst].is_terminator())
    }
}

/// The branch on a predicate that ends a block, the guard under which its true side runs, and where
/// it goes.
fn decision(func: &Function, head: Block) -> Option<(Inst, Guard, [Block; 2])> {
    let branch = func.terminator(head)?;
    let data = &func.insts[branch];
    let condition = match (data.opcode.op, data.args.first()?) {
        (Op::BrIf, &Operand::Reg(reg)) => Guard { reg, negated: false },
        (Op::BrIf, &Operand::NotReg(reg)) => Guard { reg, negated: true },
        _ => return None,
    };
    let &[on_true, on_false] = data.targets() else { return None };
    Some((branch, condition, [on_true, on_false]))
}

/// Target of a block with one successor.
fn jump(func: &Function, block: Block) -> Option<Block> {
    let data = &func.insts[func.terminator(block)?];
    (data.opcode.op == Op::Br).then(|| data.targets()[0])
}

/// The blocks from `first` on that are reached one from the other and nowhere else, and the block
/// that the last of them goes to; `first` itself if it is not one of them.
fn line(func: &Function, incoming: &IncomingEdges, head: Block, first: Block) -> (Vec<Block>, Block) {
    let (mut blocks, mut next) = (Vec::new(), first);
    while incoming.is_one(next)
        && next != head
        && let Some(after) = jump(func, next)
    {
        blocks.push(next);
        next = after;
    }
    (blocks, next)
}

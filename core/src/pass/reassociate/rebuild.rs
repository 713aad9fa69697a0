//! Rebuilding of a tree from sorted leaves, leaning to the left.
//!
//! ```text
//! t = add c, 2
//! u = add b, t                 u = add a, b
//! v = add a, 3          ──▶    v = add u, c
//! r = add u, v                 r = add v, 5
//! ```
//!
//! 1. Turn each subtraction whose negation is a leaf into `neg`, where it is.
//! 2. Combine the leaves from left to right before the root with the other instructions of the tree.
//!    Each keeps its register if the register is free at the root, else it writes a temporary.
//! 3. The root takes the last step and keeps its place and register.
//! 4. Remove the instructions that are left over.
//!
//! Sound: the tree was settled, so that its leaves hold at the root and its instructions suffice.
//!
//! Cost: O(k log k) for k leaves.

use smallvec::SmallVec;

use super::ranks::Ranks;
use super::remarks;
use super::trees::{Forest, FreeInst, Leaf, Tree, negation_of, registers};
use crate::edit::Rewrite;
use crate::ir::{Block, Inst, InstData, Opcode, Operand, Reg};
use crate::trace::Place;
use crate::view::View;

/// A tree that gets another shape.
pub struct Rebuilding<'a> {
    pub tree: &'a Tree,
    pub leaves: &'a [Leaf],
    pub root: Inst,
    free: SmallVec<[FreeInst; 8]>,
}

impl<'a> Rebuilding<'a> {
    /// The plan for a settled tree.
    pub fn new(forest: &mut Forest<'_>, tree: &'a Tree, leaves: &'a [Leaf]) -> Rebuilding<'a> {
        forest.free_negations(tree, leaves);
        let free = forest.free_insts(tree, &registers(leaves));
        Rebuilding { tree, leaves, root: forest.inst(tree.root), free }
    }

    /// Rewrites the tree.
    pub fn apply(self, view: &mut View<'_>, block: Block, ranks: &Ranks) {
        let module = view.module();
        let mut rewrite = view.rewrite(|func| remarks::rebuilt(module, func, block, &self, ranks));
        for sub in self.leaves.iter().filter_map(|leaf| leaf.negation.expand()) {
            rewrite.update(sub, |data| {
                let subtrahend = data.args.pop();
                *data = InstData::new(negation_of(data.opcode), data.dsts.iter().copied(), subtrahend);
                true
            });
        }
        let mut free = self.free.into_iter();
        combine(&mut rewrite, self.root, self.tree.opcode, self.leaves, &mut free);
        free.for_each(|free| rewrite.remove(free.inst));
    }
}

/// Combines leaves before a root, with one free instruction for each leaf beyond two.
fn combine(
    rewrite: &mut Rewrite<'_, '_>,
    root: Inst,
    opcode: Opcode,
    leaves: &[Leaf],
    free: &mut impl Iterator<Item = FreeInst>,
) {
    let [first, others @ .., last] = leaves else {
        if let [only] = leaves {
            rewrite.replace_operation(root, Opcode::mov(opcode.ty), [only.value.into()]);
        }
        return;
    };
    let mut left: Operand = first.value.into();
    for leaf in others {
        let Some(free) = free.next() else { return };
        left = Operand::Reg(put_before(rewrite, root, free, opcode, [left, leaf.value.into()]));
    }
    rewrite.replace_operation(root, opcode, [left, last.value.into()]);
}

/// Turns a free instruction into another one before a root. Gives the register that it writes.
pub fn put_before(
    rewrite: &mut Rewrite<'_, '_>,
    root: Inst,
    free: FreeInst,
    opcode: Opcode,
    operands: impl IntoIterator<Item = Operand>,
) -> Reg {
    let dst = if let Some(reg) = free.reg {
        rewrite.replace_operation(free.inst, opcode, operands);
        reg
    } else {
        let dst = rewrite.create_temporary(opcode.ty);
        rewrite.replace(free.inst, InstData::new(opcode, [dst], operands));
        dst
    };
    if let Some(block) = rewrite.func().inst_block(root) {
        rewrite.move_inst(free.inst, Place { block, before: Some(root) });
    }
    dst
}

//! How far a value may be taken from, by mode.
//!
//! ```text
//! mode 1        a block
//! mode 2        a block and those above it in its extended basic block: only one way leads from each to the next
//! modes 3–4     every block that dominates
//! modes 5–6     the same, and joins of one number at the beginning of blocks that dominate
//! ```
//!
//! Mode 2 is the page's walk along the immediate dominators with its conditions to end it. T1: there is no immediate
//! dominator. T2: the dominator has nothing that may be taken. T3: with `cross_block_flag`, the dominator was marked by
//! the pre-pass as none that belongs to the same single-entry region. T4: dominance holds, by the walk itself. T5: the
//! leader has been replaced by a copy; here a leader never is. T6: the replacement.
//!
//! The pre-pass marks candidates: eligible instructions but atomics, and through operand chains whatever computes what
//! they read. A dominator without any is T2's.
//!
//! Linear in instructions.
//!
//! Source: ptxas page, Mode Dispatcher, Standard GVN, EBB Pre-Pass.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::eligibility::is_eligible;
use crate::flow::Values;
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Inst};

/// How far a value may be taken from.
pub(super) enum Scope {
    /// From the same block.
    Block,
    /// From the blocks that dominate, up to this one, by block.
    Chain(Vec<Block>),
    /// From every block that dominates; from joins, too?
    Dominators {
        /// Are joins of one number leaders?
        joins: bool,
    },
}

impl Scope {
    /// The scope of mode 2.
    pub fn chain(
        func: &Function,
        cfg: &Cfg,
        dominators: &Dominators,
        values: &Values,
        enhanced: bool,
        cross_block_flag: bool,
    ) -> Scope {
        let candidates = candidates(func, dominators, values, enhanced);
        let has_candidates = |block: Block| func.block_insts(block).any(|inst| candidates.contains(inst.index()));
        let mut top: Vec<Block> = (0..func.blocks.len()).map(Block::new).collect();
        for &block in dominators.preorder() {
            let Some(above) = dominators.parent(block) else { continue };
            let is_single_entry = cfg.predecessors(block).len() == 1 && !cfg.is_entry(block);
            if has_candidates(above) && (is_single_entry || !cross_block_flag) {
                top[block.index()] = top[above.index()];
            }
        }
        Scope::Chain(top)
    }

    /// May a value that is computed in `from` be taken for one in `to`, which `from` dominates?
    pub fn reaches(&self, dominators: &Dominators, from: Block, to: Block) -> bool {
        match self {
            Scope::Block => from == to,
            Scope::Chain(top) => dominators.dominates(top[to.index()], from),
            Scope::Dominators { .. } => true,
        }
    }

    /// The outermost block from which a value may be taken for one in a block; none where every block that dominates is
    /// within reach.
    pub fn top(&self, block: Block) -> Option<Block> {
        match self {
            Scope::Block => Some(block),
            Scope::Chain(top) => Some(top[block.index()]),
            Scope::Dominators { .. } => None,
        }
    }

    /// Are joins of one number leaders?
    pub fn has_joins(&self) -> bool {
        matches!(self, Scope::Dominators { joins: true })
    }
}

/// The instructions that the pre-pass marks.
fn candidates(func: &Function, dominators: &Dominators, values: &Values, enhanced: bool) -> FixedBitSet {
    let mut marked = FixedBitSet::with_capacity(func.insts.len());
    let mut work: Vec<Inst> = vec![];
    for &block in dominators.preorder() {
        for inst in func.block_insts(block).filter(|&inst| is_eligible(&func.insts[inst], enhanced)) {
            marked.insert(inst.index());
            work.push(inst);
        }
    }
    while let Some(inst) = work.pop() {
        for &used in values.used(inst) {
            if let Some(maker) = values.definition(used).inst()
                && !marked.put(maker.index())
            {
                work.push(maker);
            }
        }
    }
    marked
}

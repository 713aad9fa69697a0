//! The blocks whose values an instruction may be replaced by, according to the mode.
//!
//! ```text
//! mode 1        the same block
//! mode 2        the dominating blocks of the same extended basic block
//! modes 3–4     all dominating blocks
//! modes 5–6     all dominating blocks and their joins of one number
//! ```
//!
//! Mode 2 is the page's walk along immediate dominators with its conditions to end. T1: there is no
//! immediate dominator. T2: the dominator has no candidate. T3: with `cross_block_flag`, the block
//! has several predecessors, so that the pre-pass marks the dominator as outside of its
//! single-entry region. T4: dominance holds, by the walk itself. T5: the leader has been replaced
//! by a copy; here a leader never is. T6: the replacement.
//!
//! The pre-pass marks candidates: eligible instructions, and through operand chains all
//! instructions that compute what they read.
//!
//! Cost: O(instructions).
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

/// The reach of values.
pub(super) enum Scope {
    /// Dominating blocks up to the given one, by block.
    Chain(Vec<Block>),
    /// All dominating blocks.
    Dominators {
        /// Joins hold values too.
        joins: bool,
    },
}

impl Scope {
    /// The scope of mode 1.
    pub fn block(func: &Function) -> Scope {
        Scope::Chain(func.blocks.keys().collect())
    }

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
        let mut top: Vec<Block> = func.blocks.keys().collect();
        for &block in dominators.preorder() {
            let Some(above) = dominators.parent(block) else { continue };
            let is_single_entry = cfg.predecessors(block).len() == 1 && !cfg.is_entry(block);
            if has_candidates(above) && (is_single_entry || !cross_block_flag) {
                top[block.index()] = top[above.index()];
            }
        }
        Scope::Chain(top)
    }

    /// True if a value of `from` may replace one in `to`, which `from` dominates.
    pub fn reaches(&self, dominators: &Dominators, from: Block, to: Block) -> bool {
        match self {
            Scope::Chain(top) => dominators.dominates(top[to.index()], from),
            Scope::Dominators { .. } => true,
        }
    }

    /// The outermost block whose values may replace those of a block; none if there is no bound.
    pub fn top(&self, block: Block) -> Option<Block> {
        match self {
            Scope::Chain(top) => Some(top[block.index()]),
            Scope::Dominators { .. } => None,
        }
    }

    /// True if joins hold values.
    pub fn has_joins(&self) -> bool {
        matches!(self, Scope::Dominators { joins: true })
    }
}

/// The candidates of the pre-pass.
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

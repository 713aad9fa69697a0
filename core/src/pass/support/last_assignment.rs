//! Reads that lose their last assignment when an edge or a definition goes away.
//!
//! ```text
//! a: br p, b, c      (p is always false here)     a: br c
//! b: x = mov.u32 1 ; br a                    ──▶
//! c: y = add.u32 x, n                             c: x = mov.u32 0 ; y = add.u32 x, n
//! ```
//!
//! A register may be read where only some path has assigned it; on the others it is zero. Taking
//! the last such path away would leave a program that reads what nothing assigns, which the
//! verifier refuses. No path assigns the register before that read, so that it is zero there:
//! saying so in front of it changes nothing.
//!
//! Cost: programs in which every path assigns what is read are told apart by one walk over the
//! dominator tree; where edges go away, over what can be reached from them and what dominates that.
//! In others the verifier is asked after a change. A few changes are made one by one there, so that
//! each has its reason, and the rest at once.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use crate::edit::Rewrite;
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Inst, InstData, Opcode, Operand};
use crate::verify::{unassigned_reads, unassigned_reads_without};
use crate::view::View;

/// Changes that are made one by one where they may take a last assignment away.
const ONE_BY_ONE: usize = 8;

/// Is a register read where not every path has assigned it? Found out of a block when it first matters. Taking edges
/// away makes no such read, and only blocks below them can lose an assignment.
#[derive(Default)]
pub struct Doubt {
    /// Blocks that were asked about, and with them all that can be reached from them.
    asked: FixedBitSet,
    /// Was there one in any of them?
    is_there: bool,
}

impl Doubt {
    /// Is there one in any block that can be reached from these, or was there one before?
    fn is_below(&mut self, func: &Function, cfg: &Cfg, dominators: &Dominators, blocks: Vec<Block>) -> bool {
        self.asked.grow(func.blocks.len());
        let mut places = FixedBitSet::with_capacity(dominators.preorder().len());
        let mut work = blocks;
        while let Some(block) = work.pop() {
            if dominators.contains(block) && !self.asked.put(block.index()) {
                places.insert(dominators.preorder_number(block) as usize);
                work.extend(cfg.successors(block));
            }
        }
        self.is_there |= has_doubtful_reads_at(func, dominators, &places);
        self.is_there
    }
}

/// Makes changes that take edges away, each out of one block, in a rewrite with its reason, or several in one: `change`
/// gets as many as it is to make in a rewrite, and whether [`assign_zeros`] must follow.
pub fn take_edges_away<C>(
    view: &mut View<'_>,
    changes: &[C],
    block_of: impl Fn(&C) -> Block,
    doubt: &mut Doubt,
    change: impl FnMut(&mut View<'_>, &[C], bool),
) {
    if changes.is_empty() {
        return;
    }
    let (cfg, dominators) = (view.cfg(), view.dominators());
    let below = changes.iter().flat_map(|change| cfg.successors(block_of(change))).copied().collect();
    let are_at_risk = doubt.is_below(view.func(), &cfg, &dominators, below);
    make(view, changes, are_at_risk, change);
}

/// Applies changes that remove instructions.
pub fn take_insts_away<C>(
    view: &mut View<'_>,
    changes: &[C],
    inst_of: impl Fn(&C) -> Inst,
    change: impl FnMut(&mut View<'_>, &[C], bool),
) {
    if changes.is_empty() {
        return;
    }
    // If nothing is lost without all of them, nothing is without some.
    let gone = changes.iter().map(inst_of).collect();
    let are_at_risk = !unassigned_reads_without(view.func(), &gone).is_empty();
    make(view, changes, are_at_risk, change);
}

fn make<C>(view: &mut View<'_>, changes: &[C], are_at_risk: bool, mut change: impl FnMut(&mut View<'_>, &[C], bool)) {
    let alone = if are_at_risk { changes.len().min(ONE_BY_ONE) } else { changes.len() };
    let (first, rest) = changes.split_at(alone);
    first.chunks(1).for_each(|one| change(view, one, are_at_risk));
    if !rest.is_empty() {
        change(view, rest, are_at_risk);
    }
}

/// Gives zeros to the registers that are read where nothing assigns them.
pub fn assign_zeros(rewrite: &mut Rewrite<'_, '_>) {
    let mut done = BTreeSet::new();
    for (reg, inst) in unassigned_reads(rewrite.func()) {
        if done.insert((reg, rewrite.func().inst_block(inst))) {
            let ty = rewrite.func().reg_types[reg];
            rewrite.insert_before(inst, InstData::new(Opcode::mov(ty), [reg], [Operand::Const(0)]));
        }
    }
}

/// Is a register read where not every path has assigned it? A parameter is assigned on entry, a guarded write assigns.
pub fn has_doubtful_reads(func: &Function, dominators: &Dominators) -> bool {
    let mut all = FixedBitSet::with_capacity(dominators.preorder().len());
    all.insert_range(..);
    has_doubtful_reads_at(func, dominators, &all)
}

/// Tests the blocks with those places in the dominator tree's preorder.
fn has_doubtful_reads_at(func: &Function, dominators: &Dominators, places: &FixedBitSet) -> bool {
    // By register: the end, in the preorder, of what the outermost open block that assigns it dominates. Whatever the
    // walk comes to before that is dominated by the assignment; open blocks lie within one another.
    let mut assigned_until: Vec<u32> = vec![0; func.regs.len()];
    func.params.iter().filter_map(|param| param.reg).for_each(|reg| assigned_until[reg.index()] = u32::MAX);
    let mut asked = places.ones().peekable();
    let mut place = 0;
    while let Some(&next) = asked.peek() {
        let block = dominators.preorder()[place];
        let end = place + dominators.subtree(block).len();
        if next >= end {
            // Nothing that it dominates is asked about.
            place = end;
            continue;
        }
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            if next == place {
                let mut is_doubtful = false;
                data.for_each_use(|reg| is_doubtful |= assigned_until[reg.index()] as usize <= place);
                if is_doubtful {
                    return true;
                }
            }
            for &dst in &data.dsts {
                let until = &mut assigned_until[dst.index()];
                *until = (end as u32).max(*until);
            }
        }
        asked.next_if_eq(&place);
        place += 1;
    }
    false
}

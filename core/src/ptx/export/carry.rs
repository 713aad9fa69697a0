//! The carry flag, which is a predicate register in the text IR.
//!
//! ```text
//! {r1, c} = add.cc.u32 a, b      →   add.cc.u32 %r1, %a, %b;
//! r2 = addc.u32 d, e, c              addc.u32 %r2, %d, %e;
//! ```
//!
//! A carry stays in PTX's flag where all its uses follow its definition in the same block with no other flag-writing
//! instruction between. Otherwise its definition also copies the flag into the predicate register, and a use sets
//! the flag again. Additions and subtractions keep apart, because hardware may keep borrow inverted.
//!
//! Linear in the instructions.

use crate::ir::{Flags, Function, InstData, Op, Operand, Reg};
use alloc::collections::BTreeSet;

/// Does the flag mean borrow?
pub fn is_subtraction(op: Op) -> bool {
    matches!(op, Op::Sub | Op::Subc)
}

/// The register that an instruction reads as carry.
pub fn carry_in(inst: &InstData) -> Option<Reg> {
    match inst.opcode.op {
        Op::Addc | Op::Subc | Op::Madc => inst.args.last().and_then(Operand::as_reg),
        _ => None,
    }
}

/// The register that an instruction writes as carry.
pub fn carry_out(inst: &InstData) -> Option<Reg> {
    if inst.opcode.has(Flags::CC) { inst.dsts.get(1).copied() } else { None }
}

/// Content of the flag at a place in a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FlagState {
    /// The register whose value it is.
    pub reg: Reg,
    /// It means borrow.
    pub subtraction: bool,
}

/// Content of the flag after an instruction, when it held `before` before it.
pub fn after(inst: &InstData, before: Option<FlagState>) -> Option<FlagState> {
    match carry_out(inst) {
        // A guarded one leaves the old flag in some lanes.
        Some(reg) if inst.guard.is_none() => Some(FlagState { reg, subtraction: is_subtraction(inst.opcode.op) }),
        Some(_) => None,
        None if inst.opcode.op.is_call() => None,
        None => before.filter(|state| !inst.dsts.contains(&state.reg)),
    }
}

/// Registers whose value some use needs outside the flag.
pub fn kept(func: &Function) -> BTreeSet<Reg> {
    let mut kept = BTreeSet::new();
    let carries: BTreeSet<Reg> = func.insts.values().filter_map(carry_out).collect();
    if carries.is_empty() {
        return kept;
    }
    for block in func.block_order() {
        let mut flag = None;
        for inst in func.block_insts(block).map(|inst| &func.insts[inst]) {
            let direct = carry_in(inst)
                .filter(|&reg| flag == Some(FlagState { reg, subtraction: is_subtraction(inst.opcode.op) }));
            let mut uses = inst.uses();
            if let Some(reg) = direct
                && let Some(at) = uses.iter().rposition(|&used| used == reg)
            {
                uses.remove(at);
            }
            kept.extend(uses.into_iter().filter(|reg| carries.contains(reg)));
            if inst.guard.is_some() {
                kept.extend(carry_out(inst));
            }
            flag = after(inst, flag);
        }
    }
    kept
}

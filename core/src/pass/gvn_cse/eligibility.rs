//! Eligibility of instructions for replacement by an earlier result: the page's table in this
//! language.
//!
//! | class | condition |
//! |---|---|
//! | arithmetic, comparison, selection, conversion | always |
//! | load | not volatile; between the two nothing may have written what it reads (the key holds the state of memory) |
//! | texture read | always: nothing writes textures |
//! | transcendental (`sin cos ex2 lg2 rsqrt rcp sqrt`) | enhanced scope |
//! | shuffle | enhanced scope, and the same lanes certain to be active (the key holds the region) |
//! | vote, match, `activemask` | the same lanes certain to be active |
//! | atomic, reduction | enhanced scope; but as each changes memory, no two are ever equal |
//! | `in`, calls, barriers, stores | never |
//! | copies | of special registers and addresses, which have to be fetched; others are followed, not replaced |
//!
//! Cost: O(1) for each instruction.
//!
//! Source: ptxas page, Instruction Eligibility.

use crate::ir::{Flags, InstData, Op, Operand};

/// A class of the eligibility table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::pass) enum Class {
    /// Its result depends on its operands alone.
    Pure,
    /// Pure, on the special function unit.
    Transcendental,
    /// It depends on memory.
    Load,
    /// It depends on which lanes are active.
    Convergent,
    /// It depends on which lanes are active, and passes values between them.
    Shuffle,
    /// It changes memory.
    Atomic,
    /// Each execution is one of its own.
    Never,
}

impl Class {
    /// The class of an instruction.
    pub fn of(data: &InstData) -> Class {
        match data.opcode.op {
            Op::Ld if data.opcode.reads_anew() => Class::Never,
            Op::Ld => Class::Load,
            Op::Atom | Op::Red => Class::Atomic,
            Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Rsqrt | Op::Rcp | Op::Sqrt => Class::Transcendental,
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => Class::Shuffle,
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => Class::Convergent,
            Op::MatchAny | Op::MatchAll | Op::Activemask | Op::Redux => Class::Convergent,
            op if op.has_effect() || op.is_convergent() => Class::Never,
            _ if data.opcode.has(Flags::VOLATILE) || data.dsts.is_empty() => Class::Never,
            _ => Class::Pure,
        }
    }

    /// True if the class may be replaced, with enhanced scope or without.
    pub fn is_eligible(self, enhanced: bool) -> bool {
        match self {
            Class::Pure | Class::Load | Class::Convergent => true,
            Class::Transcendental | Class::Shuffle | Class::Atomic => enhanced,
            Class::Never => false,
        }
    }
}

/// True if an instruction may be replaced.
pub(super) fn is_eligible(data: &InstData, enhanced: bool) -> bool {
    !is_copy(data) && Class::of(data).is_eligible(enhanced)
}

/// True for copies of a register or a constant, where another copy gains nothing. Special registers
/// and addresses have to be fetched, and packing is work; taking a register apart again would take
/// more copies than it does.
pub(super) fn is_copy(data: &InstData) -> bool {
    let fetches = matches!(data.args.first(), Some(Operand::Special(_) | Operand::Symbol(_) | Operand::List(_)));
    data.opcode.op == Op::Mov && (!fetches || data.dsts.len() > 1)
}

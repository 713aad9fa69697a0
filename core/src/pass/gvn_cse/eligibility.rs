//! Which instructions may be replaced by what has been computed before: the page's eligibility table in this language.
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
//! Source: ptxas page, Instruction Eligibility.

use crate::ir::{Flags, InstData, Op, Operand, by_root};

/// A class of the eligibility table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::pass) enum Class {
    /// Its result depends on its operands alone.
    Pure,
    /// Transcendental computation, on the special function unit.
    Transcendental,
    /// It depends on memory.
    Load,
    /// It depends on which lanes are active.
    Convergent,
    /// Shuffle between lanes.
    Shuffle,
    /// It changes memory.
    Atomic,
    /// Each execution is one of its own.
    Never,
}

impl Class {
    /// The class of an instruction.
    #[inline]
    pub fn of(data: &InstData) -> Class {
        match Class::of_op(data.opcode.op) {
            Class::Load if data.opcode.reads_anew() => Class::Never,
            Class::Pure if data.opcode.has(Flags::VOLATILE) || data.dsts.is_empty() => Class::Never,
            class => class,
        }
    }

    /// The class of instructions that write a register, unless they are volatile or order others.
    #[inline]
    fn of_op(op: Op) -> Class {
        const CLASSES: [Class; Op::ALL.len()] = by_root!(Class::find);
        CLASSES[op as usize]
    }

    const fn find(op: Op) -> Class {
        match op {
            Op::Ld => Class::Load,
            Op::Atom | Op::Red => Class::Atomic,
            Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Rsqrt | Op::Rcp | Op::Sqrt => Class::Transcendental,
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => Class::Shuffle,
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot => Class::Convergent,
            Op::MatchAny | Op::MatchAll | Op::Activemask | Op::Redux => Class::Convergent,
            op if op.has_effect() || op.is_convergent() => Class::Never,
            _ => Class::Pure,
        }
    }

    /// May it be replaced, with enhanced scope or without?
    pub fn is_eligible(self, enhanced: bool) -> bool {
        match self {
            Class::Pure | Class::Load | Class::Convergent => true,
            Class::Transcendental | Class::Shuffle | Class::Atomic => enhanced,
            Class::Never => false,
        }
    }
}

/// May an instruction be replaced?
pub(super) fn is_eligible(data: &InstData, enhanced: bool) -> bool {
    !is_copy(data) && Class::of(data).is_eligible(enhanced)
}

/// Is it a copy of a register or a constant, which nothing is gained by copying from elsewhere? Special registers and
/// addresses have to be fetched, and packing is work; taking a register apart again would take more copies than it does.
pub(super) fn is_copy(data: &InstData) -> bool {
    let fetches = matches!(data.args.first(), Some(Operand::Special(_) | Operand::Symbol(_) | Operand::List(_)));
    data.opcode.op == Op::Mov && (!fetches || data.dsts.len() > 1)
}

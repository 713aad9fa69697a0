//! Facts about registers at a place of the walk, and the registers and writes on which they depend.

use crate::ir::{Block, Operand, Reg};

/// Source of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Another register.
    Reg(Reg),
    /// A constant's bits.
    Const(u64),
}

impl Source {
    /// The source that an operand is, if it can be one.
    pub(super) fn of(operand: &Operand) -> Option<Source> {
        match operand {
            Operand::Reg(reg) => Some(Source::Reg(*reg)),
            Operand::Const(bits) => Some(Source::Const(*bits)),
            _ => None,
        }
    }
}

/// A source, with the write that has to be the last one for the knowledge to be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Held {
    /// A register, and the write that it was copied after.
    Reg(Reg, Written),
    /// A constant's bits.
    Const(u64),
}

impl Held {
    pub fn source(self) -> Source {
        match self {
            Held::Reg(reg, _) => Source::Reg(reg),
            Held::Const(bits) => Source::Const(bits),
        }
    }
}

/// A predicate register at one of its versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Predicate {
    pub reg: Reg,
    pub written: Written,
}

/// Knowledge of a register since its last write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copy {
    /// No copy.
    Unknown,
    /// It holds the source.
    Always(Held),
    /// It holds the source in lanes where the predicate has that value.
    Where(Predicate, bool, Held),
    /// It holds the first source in lanes where the predicate is true and the second one elsewhere.
    Select(Predicate, Option<Held>, Option<Held>),
}

/// State of the walk for every register.
#[derive(Clone, Copy)]
pub(super) struct RegState {
    pub written: Written,
    /// Index into the knowledge of the walk; 0 is no knowledge.
    pub known: usize,
}

/// The last write of a register before a place. Equal if no write is in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// Not written yet; the register has several definitions.
    Never,
    /// The register has one definition, which is in no block that dominates the open one, or after
    /// the place.
    NotYet,
    /// A parameter that is never written.
    OnEntry,
    /// The only definition, in this block, which dominates the open one or is it.
    Once(Block),
    /// The number of a write to a register with several definitions.
    Version(u32),
}

impl Written {
    /// True if the register has one definition.
    pub fn is_once(self) -> bool {
        matches!(self, Written::NotYet | Written::OnEntry | Written::Once(_))
    }
}

/// Knowledge of a register that is a copy, or that a branch determines.
#[derive(Clone, Copy)]
pub(super) struct Knowledge {
    pub copy: Copy,
    /// The extended block in which `copy` was learnt.
    pub copied_in: u32,
    /// The block in which `copy` was learnt.
    pub copied_at: Block,
    /// True if the copy is the register's only definition.
    pub is_only_definition: bool,
    /// The value of the predicate, if a branch implies it.
    pub outcome: Option<Outcome>,
}

impl Knowledge {
    /// No knowledge.
    pub fn none() -> Knowledge {
        let copied_at = Block::from_u32(0);
        Knowledge { copy: Copy::Unknown, copied_in: 0, copied_at, is_only_definition: false, outcome: None }
    }
}

/// A predicate's value on a path, which the branch at its beginning implies.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub value: bool,
    /// The extended block in which it was learnt.
    pub extended_block: u32,
    /// Target of the branch, which has no other predecessor.
    pub block: Block,
}

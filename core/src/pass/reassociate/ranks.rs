//! Ranks of operands: the order in which the leaves of trees are sorted, the same in all blocks.
//!
//! ```text
//! %tid                         first
//! a                            rank of register a
//! b = mov a                    rank of register a, if neither is written again
//! 5                            last
//! ```
//!
//! Ranks decide order only. Equal ranks say nothing about equal values, so that a stale rank is
//! sound.
//!
//! Cost: O(n) in the copies of the function for each update.
//!
//! Source: P. Briggs and K. Cooper, Effective partial redundancy elimination, PLDI 1994, section 3.1.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::trees::Value;
use crate::graph::Cfg;
use crate::ir::{Function, InstData, Reg};

/// A rank: special registers and symbols first, constants last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    First,
    Register(Reg),
    Constant,
}

/// The register that each copy has its rank from; None if a register has a rank of its own.
pub struct Ranks(SecondaryMap<Reg, PackedOption<Reg>>);

impl Ranks {
    /// Ranks of registers that are no copies.
    pub fn new() -> Ranks {
        Ranks(SecondaryMap::new())
    }

    /// The rank of a register, by the register that it was first copied from.
    pub fn of(&self, reg: Reg) -> Reg {
        self.0[reg].expand().unwrap_or(reg)
    }

    /// The rank of an operand.
    pub fn of_value(&self, value: Value) -> Rank {
        match value {
            Value::Special(_) | Value::Symbol(_) => Rank::First,
            Value::Reg(reg) => Rank::Register(self.of(reg)),
            Value::Const(_) => Rank::Constant,
        }
    }

    /// Gives copies the ranks of their sources and calls `changed` with the registers whose ranks
    /// change.
    pub fn update(&mut self, func: &Function, cfg: &Cfg, mut changed: impl FnMut(Reg)) {
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block) {
                let Some((from, to)) = copied(&func.insts[inst]) else { continue };
                if func.definition_count(to) == 1 && func.definition_count(from) <= 1 && self.of(to) != self.of(from) {
                    self.0[to] = self.of(from).into();
                    changed(to);
                }
            }
        }
    }
}

/// Source and destination of an unguarded copy of a register.
pub fn copied(data: &InstData) -> Option<(Reg, Reg)> {
    data.copied_register().filter(|_| data.guard.is_none())
}

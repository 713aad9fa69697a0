//! Registers that hold results of float arithmetic only, in which each NaN is the canonical one.
//!
//! ```text
//! s = mov.f32 0.0               s is computed: a number and an fma write it, so `s * 1` is a copy of s
//! s = fma.f32 a, b, s
//!
//! f = ld.global.f32 x[i]        f is not: the load may bring another NaN, which `f * 1` would replace
//! f = add.f32 f, 1.0
//! ```
//!
//! 1. Registers that a `mov` or `selp` connects form a class.
//! 2. Each class notes whether arithmetic computes one of its registers, and whether something else gives one its bits.
//! 3. A computed class that is given no other bits holds results of arithmetic only.
//!
//! Sound because moves keep the bits of a NaN and arithmetic yields one NaN of each type.
//! Cost: O(n α(n)) for n operands.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::ir::{Function, InstData, Op, Operand, Reg};

/// Facts about the registers of a class.
mod fact {
    pub const COMPUTED: u8 = 1;
    pub const GIVEN_BITS: u8 = 2;
}

/// The classes of a function's registers.
pub(crate) struct FloatResults {
    classes: Classes,
}

impl FloatResults {
    /// Classes of a function as it is now.
    pub(crate) fn of(body: &Function) -> FloatResults {
        let mut classes = Classes::of(body);
        body.params.iter().filter_map(|param| param.reg).for_each(|reg| classes.note(reg, fact::GIVEN_BITS));
        for inst in body.block_order().flat_map(|block| body.block_insts(block)) {
            let data = &body.insts[inst];
            if !classes.connect(data) {
                classes.note_results(body, data);
            }
        }
        // From now on each register is one step from its class.
        for reg in body.regs.keys() {
            let root = classes.root(reg);
            classes.parents[reg.index()] = root as u32;
        }
        FloatResults { classes }
    }

    /// Does a register hold nothing but results of arithmetic, so that a NaN in it is the canonical one?
    pub(crate) fn is_computed(&self, reg: Reg) -> bool {
        self.classes.facts(reg) == fact::COMPUTED
    }
}

/// Disjoint sets of registers.
struct Classes {
    parents: Vec<u32>,
    facts: Vec<u8>,
}

impl Classes {
    fn of(body: &Function) -> Classes {
        Classes { parents: (0..body.regs.len() as u32).collect(), facts: vec![0; body.regs.len()] }
    }

    fn root(&mut self, reg: Reg) -> usize {
        let mut at = reg.index();
        while self.parents[at] as usize != at {
            self.parents[at] = self.parents[self.parents[at] as usize];
            at = self.parents[at] as usize;
        }
        at
    }

    fn facts(&self, reg: Reg) -> u8 {
        self.facts[self.parents[reg.index()] as usize]
    }

    fn note(&mut self, reg: Reg, fact: u8) {
        let root = self.root(reg);
        self.facts[root] |= fact;
    }

    /// Joins what a copy or a choice connects; false for every other instruction.
    fn connect(&mut self, data: &InstData) -> bool {
        let (Op::Mov | Op::Selp, &[dst]) = (data.opcode.op, data.dsts.as_slice()) else { return false };
        if data.args.iter().any(|operand| matches!(operand, Operand::List(_))) {
            return false;
        }
        for operand in data.args.iter().take(2) {
            match operand {
                Operand::Reg(from) => {
                    let (from, to) = (self.root(*from), self.root(dst));
                    self.facts[to] |= self.facts[from];
                    self.parents[from] = to as u32;
                }
                Operand::Const(bits) if !data.opcode.ty.is_other_nan(*bits) => {}
                _ => self.note(dst, fact::GIVEN_BITS),
            }
        }
        true
    }

    fn note_results(&mut self, body: &Function, data: &InstData) {
        let computed = data.opcode.computed_float();
        for &dst in &data.dsts {
            let is_whole = computed.is_some_and(|ty| ty.bits() == body.reg_types[dst].bits());
            self.note(dst, if is_whole { fact::COMPUTED } else { fact::GIVEN_BITS });
        }
    }
}

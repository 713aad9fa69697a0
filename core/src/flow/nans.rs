//! Which registers hold results of float arithmetic only, and where a NaN other than the canonical one can be seen.
//!
//! ```text
//! s = mov.f32 0.0               any NaN may stay in s: arithmetic alone writes it, arithmetic and a
//! s = fma.f32 a, b, s           store of floats alone read it, and the store writes the canonical one
//! st.global.f32 x[i], s
//!
//! f = ld.global.f32 x[i]        exact bits in f: the load may bring another NaN, which the store has
//! f = add.f32 f, 1.0            to keep, so the addition writes the canonical one
//! st.global.f32 x[i], f
//! ```
//!
//! Moves keep the bits of a NaN, and arithmetic yields one NaN of each type. A host's arithmetic yields any.
//!
//! 1. Registers that a `mov` or `selp` connects form a class.
//! 2. Each class notes whether arithmetic computes one of its registers, whether something else gives one its bits, whether
//!    a store of floats reads one, and whether anything else than arithmetic and such stores reads one.
//! 3. A computed class that is given no other bits holds results of arithmetic only.
//! 4. A simulator may leave any NaN in a computed class that is not read as bits, unless it is both stored and given bits.
//!
//! Sound because float arithmetic does not tell one NaN from another: a difference shows in memory or in bits only.
//! Cost: O(n α(n)) for n operands.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::ir::{ArgKind, AtomicOp, Function, InstData, Op, Operand, Reg};

/// Facts about the registers of a class.
mod fact {
    pub const COMPUTED: u8 = 1;
    pub const GIVEN_BITS: u8 = 2;
    pub const STORED: u8 = 4;
    pub const READ_AS_BITS: u8 = 8;
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
                classes.note_operands(body, data);
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
        self.classes.facts(reg) & (fact::COMPUTED | fact::GIVEN_BITS) == fact::COMPUTED
    }

    /// May a simulator leave any NaN in a register where the canonical one belongs, until it is stored?
    pub(crate) fn may_hold_any_nan(&self, reg: Reg) -> bool {
        let facts = self.classes.facts(reg);
        let is_mixed = facts & (fact::STORED | fact::GIVEN_BITS) == fact::STORED | fact::GIVEN_BITS;
        facts & fact::COMPUTED != 0 && facts & fact::READ_AS_BITS == 0 && !is_mixed
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
            let fact = match computed {
                Some(ty) if ty.bits() == body.reg_types[dst].bits() => fact::COMPUTED,
                // In a wider register nobody looks for it.
                Some(_) => fact::COMPUTED | fact::READ_AS_BITS,
                None => fact::GIVEN_BITS,
            };
            self.note(dst, fact);
        }
    }

    fn note_operands(&mut self, body: &Function, data: &InstData) {
        let opcode = data.opcode;
        let signature = data.signature();
        let is_arithmetic = opcode.computed_float().is_some() || matches!(opcode.op, Op::Setp | Op::Cvt | Op::Tex2d);
        let is_atomic_arithmetic = matches!(opcode.op, Op::Atom | Op::Red)
            && !matches!(opcode.atomic, Some(AtomicOp::Exch | AtomicOp::Cas) | None);
        for (index, operand) in data.args.iter().enumerate() {
            let as_float = match signature.arg(index) {
                Some(ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Elements(ty, _) | ArgKind::Any(ty)) => {
                    Some(ty).filter(|ty| ty.is_float())
                }
                _ => None,
            };
            let fact = match opcode.op {
                // The sign of a NaN is a bit like others.
                Op::Copysign if index == 0 => fact::READ_AS_BITS,
                Op::St => fact::STORED,
                _ if is_arithmetic || is_atomic_arithmetic => 0,
                _ => fact::READ_AS_BITS,
            };
            operand.for_each_reg(&mut |reg| {
                let is_whole = as_float.is_some_and(|ty| ty.bits() == body.reg_types[reg].bits());
                self.note(reg, if is_whole { fact } else { fact::READ_AS_BITS });
            });
        }
    }
}

//! Commoning inside a block: what was computed a few instructions before is copied.
//!
//! ```text
//! x = add a, b                 x = add a, b
//! …                      ──▶   …
//! y = add b, a                 y = mov x
//! ```
//!
//! Operands are compared by value numbers, which copies share with what they copy; where the operation is commutative
//! their order does not matter. Only unguarded instructions that are functions of their operands take part. The earlier
//! register must still hold the value, and stand no more than a window of instructions before.
//!
//! One look-up an instruction in a table of expressions, which is never walked over.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::Misses;
use crate::edit::{Fact, Remark};
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg, Special, Symbol};
use crate::text::instruction_text;
use crate::view::{Listener, View};

/// An operand by what it holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Argument {
    Value(u32),
    Negation(u32),
    Const(u64),
    Special(Special),
    Symbol(Symbol),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Expression {
    opcode: Opcode,
    arguments: SmallVec<[Argument; 3]>,
}

/// Where an expression was computed last.
#[derive(Clone, Copy)]
struct Computed {
    block: u32,
    place: u32,
    reg: Reg,
    value: u32,
}

#[derive(Clone, Copy, Default)]
struct RegState {
    block: u32,
    value: u32,
}

/// The table of expressions of one walk.
pub struct Commoning {
    window: u32,
    expressions: HashMap<Expression, Computed>,
    /// By register: what it holds, if that block is the one that is looked at.
    regs: Vec<RegState>,
    /// The number of the visit; expressions of others are forgotten.
    block: u32,
    last_value: u32,
}

impl Commoning {
    /// Before the first block. `window` is how many instructions an expression is remembered for.
    pub fn new(func: &Function, window: u32) -> Commoning {
        let regs = vec![RegState::default(); func.regs.len()];
        Commoning { window, expressions: HashMap::new(), regs, block: 0, last_value: 0 }
    }

    /// Commons what is in a block, as far as `takes_part` lets its instructions by their places. Gives whether anything
    /// was found.
    pub fn visit<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        block: Block,
        takes_part: impl Fn(u32) -> bool,
        misses: &mut Misses,
    ) -> bool {
        self.block += 1;
        // What other blocks computed is of no use any more. A table is emptied as often as that costs less than filling it.
        if self.expressions.len() * 4 >= self.expressions.capacity() {
            self.expressions.clear();
        }
        self.regs.resize(view.func().regs.len(), RegState::default());
        let mut found = false;
        let mut next = view.func().layout.first_inst(block);
        let mut place = 0;
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            found |= self.visit_inst(view, block, inst, place, takes_part(place), misses);
            place += 1;
        }
        found
    }

    fn visit_inst<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        block: Block,
        inst: Inst,
        place: u32,
        takes_part: bool,
        misses: &mut Misses,
    ) -> bool {
        let data = &view.func().insts[inst];
        let (Some(dst), None) = (data.dst(), data.guard) else {
            self.write_all(&data.dsts);
            return false;
        };
        if let (Op::Mov, [Operand::Reg(from)], [_]) = (data.opcode.op, data.args.as_slice(), data.dsts.as_slice()) {
            let is_same = view.func().regs[*from].ty == view.func().regs[dst].ty;
            let value = is_same.then(|| self.value(*from));
            self.write(dst, value);
            return false;
        }
        let Some(expression) = self.expression(data).filter(|_| takes_part) else {
            self.write_all(&data.dsts);
            return false;
        };
        let is_recent = |computed: &&Computed| {
            computed.block == self.block && view.func().regs[computed.reg].ty == view.func().regs[dst].ty
        };
        let earlier = self.expressions.get(&expression).filter(is_recent).copied();
        if let Some(Computed { reg, value, place: computed_at, .. }) = earlier {
            let is_overwritten = self.value(reg) != value;
            if !is_overwritten && place - computed_at <= self.window {
                replace(view, block, inst, reg);
                self.write(dst, Some(value));
                return true;
            }
            if S::LISTENS {
                misses.add(block, missed(view, block, inst, reg, is_overwritten));
            }
        }
        let value = self.write(dst, None);
        self.expressions.insert(expression, Computed { block: self.block, place, reg: dst, value });
        false
    }

    /// What an instruction computes, if that is a function of its operands.
    fn expression(&mut self, data: &InstData) -> Option<Expression> {
        if data.dsts.len() != 1 || !data.opcode.is_pure() || data.opcode.op == Op::Mov {
            return None;
        }
        let mut arguments = SmallVec::new();
        for arg in &data.args {
            arguments.push(match *arg {
                Operand::Reg(reg) => Argument::Value(self.value(reg)),
                Operand::NotReg(reg) => Argument::Negation(self.value(reg)),
                Operand::Const(bits) => Argument::Const(bits),
                Operand::Special(special) => Argument::Special(special),
                Operand::Symbol(symbol) => Argument::Symbol(symbol),
                Operand::Address(_) | Operand::List(_) | Operand::Input(_) => return None,
            });
        }
        if data.opcode.op.is_commutative() && arguments[0] > arguments[1] {
            arguments.swap(0, 1);
        }
        Some(Expression { opcode: data.opcode, arguments })
    }

    /// What a register holds.
    fn value(&mut self, reg: Reg) -> u32 {
        let RegState { block, value } = self.regs[reg.index()];
        if block == self.block { value } else { self.write(reg, None) }
    }

    /// The registers come to hold new values.
    fn write_all(&mut self, regs: &[Reg]) {
        for &reg in regs {
            self.write(reg, None);
        }
    }

    /// The register comes to hold that value, or a new one.
    fn write(&mut self, reg: Reg, value: Option<u32>) -> u32 {
        let value = value.unwrap_or_else(|| {
            self.last_value += 1;
            self.last_value
        });
        self.regs[reg.index()] = RegState { block: self.block, value };
        value
    }
}

/// Lets an instruction copy a register, or takes it out where that is the one that it writes.
fn replace<S: Listener>(view: &mut View<'_, S>, block: Block, inst: Inst, reg: Reg) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let (text, name) = (instruction_text(module, func, inst), &func.regs[reg].name);
        Remark::applied("common", block, format!("`{text}`: `{name}` holds that already"))
            .at(inst)
            .with("earlier", Fact::Reg(reg))
    });
    let dst = rewrite.func().insts[inst].dst();
    match dst {
        Some(dst) if dst != reg => {
            let ty = rewrite.func().regs[dst].ty;
            rewrite.replace(inst, InstData::new(Opcode::mov(ty), [dst], [Operand::Reg(reg)]));
        }
        _ => rewrite.remove(inst),
    }
}

fn missed<S: Listener>(view: &View<'_, S>, block: Block, inst: Inst, reg: Reg, is_overwritten: bool) -> Remark {
    let func = view.func();
    let (text, name) = (instruction_text(view.module(), func, inst), &func.regs[reg].name);
    let why = if is_overwritten { "is overwritten since" } else { "stands too far before" };
    Remark::missed("common", block, format!("`{text}` stays: `{name}`, which held the same, {why}")).at(inst)
}

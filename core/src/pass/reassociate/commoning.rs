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

use super::Misses;
use super::block_uses::Touched;
use crate::edit::{Fact, Remark};
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg};
use crate::pass::gvn_cse::expressions::Expressions;
use crate::text::instruction_text;
use crate::view::{Listener, View};

/// Of what kind an operand of a key is. Each takes three words.
#[derive(Clone, Copy)]
enum Kind {
    Value,
    Negation,
    Const,
    Special,
    Symbol,
}

impl Kind {
    fn words(self, first: u32, second: u32) -> [u32; 3] {
        [self as u32, first, second]
    }
}

/// What there was to common in a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    Nothing,
    /// Something that is copied now.
    Repetition,
    /// Something that went away, so that the window reaches further.
    Removable,
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
    /// What computed each expression last, by its index here.
    expressions: Expressions,
    computed: Vec<Computed>,
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
        let expressions = Expressions::with_capacity(0);
        Commoning { window, expressions, computed: Vec::new(), regs, block: 0, last_value: 0 }
    }

    /// Commons what is in a block, as far as `takes_part` lets its instructions by their places, and notes the registers
    /// that this touches. A block from which nothing was taken out gives nothing more when it is visited again.
    pub fn visit<S: Listener>(
        &mut self,
        view: &mut View<'_, S>,
        block: Block,
        takes_part: impl Fn(u32) -> bool,
        touched: &mut Touched,
        misses: &mut Misses,
    ) -> Found {
        self.block += 1;
        // What other blocks computed is of no use any more. A table is emptied as often as that costs less than filling it.
        if self.expressions.is_worth_emptying() {
            self.expressions.empty();
            self.computed.clear();
        }
        self.regs.resize(view.func().regs.len(), RegState::default());
        let mut found = Found::Nothing;
        let mut next = view.func().layout.first_inst(block);
        let mut place = 0;
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            if let Some(reg) = self.visit_inst(view, block, inst, place, takes_part(place), misses) {
                touched.add_all_of(view.func(), inst);
                found = found.max(replace(view, block, inst, reg));
                touched.add(reg);
            }
            place += 1;
        }
        found
    }

    /// The register that holds already what an instruction computes, if there is one.
    fn visit_inst<S: Listener>(
        &mut self,
        view: &View<'_, S>,
        block: Block,
        inst: Inst,
        place: u32,
        takes_part: bool,
        misses: &mut Misses,
    ) -> Option<Reg> {
        let data = &view.func().insts[inst];
        let (Some(dst), None) = (data.dst(), data.guard) else {
            self.write_all(&data.dsts);
            return None;
        };
        if let (Op::Mov, [Operand::Reg(from)], [_]) = (data.opcode.op, data.args.as_slice(), data.dsts.as_slice()) {
            let is_same = view.func().regs[*from].ty == view.func().regs[dst].ty;
            let value = is_same.then(|| self.value(*from));
            self.write(dst, value);
            return None;
        }
        if !takes_part || !self.make_key(data) {
            self.write_all(&data.dsts);
            return None;
        }
        let new = self.computed.len() as u32;
        let index = self.expressions.noted(new) as usize;
        let is_recent = |computed: &&Computed| {
            computed.block == self.block && view.func().regs[computed.reg].ty == view.func().regs[dst].ty
        };
        let earlier = self.computed.get(index).filter(is_recent).copied();
        if let Some(Computed { reg, value, place: computed_at, .. }) = earlier {
            let is_overwritten = self.value(reg) != value;
            if !is_overwritten && place - computed_at <= self.window {
                self.write(dst, Some(value));
                return Some(reg);
            }
            if S::LISTENS {
                misses.add(block, missed(view, block, inst, reg, is_overwritten));
            }
        }
        let value = self.write(dst, None);
        let computed = Computed { block: self.block, place, reg: dst, value };
        match self.computed.get_mut(index) {
            Some(known) => *known = computed,
            None => self.computed.push(computed),
        }
        None
    }

    /// Makes the key of what an instruction computes. Gives whether that is a function of its operands.
    fn make_key(&mut self, data: &InstData) -> bool {
        if data.dsts.len() != 1 || !data.opcode.is_pure() || data.opcode.op == Op::Mov {
            return false;
        }
        self.expressions.extend(data.opcode.words());
        let mut args = data.args.as_slice();
        if let [left, right, others @ ..] = args
            && data.opcode.op.is_commutative()
            && let (Some(left), Some(right)) = (self.words(left), self.words(right))
        {
            self.expressions.extend(left.min(right));
            self.expressions.extend(left.max(right));
            args = others;
        }
        for arg in args {
            let Some(words) = self.words(arg) else {
                self.expressions.give_up();
                return false;
            };
            self.expressions.extend(words);
        }
        true
    }

    /// The words of an operand; none for those that no function has.
    fn words(&mut self, operand: &Operand) -> Option<[u32; 3]> {
        Some(match *operand {
            Operand::Reg(reg) => Kind::Value.words(self.value(reg), 0),
            Operand::NotReg(reg) => Kind::Negation.words(self.value(reg), 0),
            Operand::Const(bits) => Kind::Const.words(bits as u32, (bits >> 32) as u32),
            Operand::Special(special) => Kind::Special.words(special.index(), 0),
            Operand::Symbol(symbol) => {
                let (kind, index) = symbol.words();
                Kind::Symbol.words(kind, index)
            }
            Operand::Address(_) | Operand::List(_) | Operand::Input(_) => return None,
        })
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
fn replace<S: Listener>(view: &mut View<'_, S>, block: Block, inst: Inst, reg: Reg) -> Found {
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
            Found::Repetition
        }
        _ => {
            rewrite.remove(inst);
            Found::Removable
        }
    }
}

fn missed<S: Listener>(view: &View<'_, S>, block: Block, inst: Inst, reg: Reg, is_overwritten: bool) -> Remark {
    let func = view.func();
    let (text, name) = (instruction_text(view.module(), func, inst), &func.regs[reg].name);
    let why = if is_overwritten { "is overwritten since" } else { "stands too far before" };
    Remark::missed("common", block, format!("`{text}` stays: `{name}`, which held the same, {why}")).at(inst)
}

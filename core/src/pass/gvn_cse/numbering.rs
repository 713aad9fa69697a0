//! The number of every value, and of every expression that an instruction computes.
//!
//! ```text
//! n1: x = add.u32 a, b        number 4
//! n2: y = add.u32 b, a        number 4 too: two blocks that do not dominate each other
//! n3: z is x from n1, y from n2: a join of 4 and 4 is 4
//!     @p c = mov.u32 z        where p holds 4, elsewhere what c was: a number of its own
//! ```
//!
//! Blocks are visited in reverse postorder, so that whatever comes along forward edges has its number. A join of one
//! number is that number; two joins of one block with the same arguments are one; a join that control comes back to is
//! new. Copies pass numbers on. A key holds the opcode with its modifiers, the numbers of the operands, sorted where they
//! commute, the guard, the address space (in the opcode), and for a load the state of memory, for an operation across
//! lanes the region.
//!
//! Sound because two values of one number are equal wherever both definitions dominate: by induction over the visit, as
//! their operands are. A value computed in an earlier iteration cannot be mistaken for one of this iteration: a definition
//! that dominates a place has run since the last time its operands changed.
//!
//! Linear in instructions and joins.
//!
//! Source: ptxas page, Algorithm (key); P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, section 4 (joins).

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::{EntityRef, SecondaryMap};

use super::eligibility::Class;
use super::expressions::{Expressions, Number};
use super::lanes::Regions;
use super::memory::MemoryStates;
use crate::flow::{Definition, Value, Values};
use crate::graph::Cfg;
use crate::ir::{AddressBase, Block, Function, Inst, InstData, Op, Opcode, Operand, Reg, Symbol};

/// The numbers of a function.
pub(in crate::pass) struct Numbering {
    /// By value; [`NONE`] where it has none yet.
    of_value: Vec<u32>,
    /// By instruction: one more than the number of its first result, if it may be replaced.
    of_inst: SecondaryMap<Inst, u32>,
    /// By instruction: one more than the number of its work.
    work: SecondaryMap<Inst, u32>,
    count: usize,
}

const NONE: u32 = u32::MAX;

impl Numbering {
    /// Numbers a function's values.
    pub fn compute(
        func: &Function,
        cfg: &Cfg,
        values: &Values,
        surroundings: Option<Surroundings<'_>>,
        options: Options,
    ) -> Numbering {
        let mut pass = Pass {
            func,
            values,
            surroundings,
            options,
            expressions: Expressions::with_capacity(func.insts.len()),
            of_value: vec![NONE; values.len()],
            of_inst: SecondaryMap::with_capacity(func.insts.len()),
            work: SecondaryMap::new(),
            key: Vec::new(),
        };
        for &block in cfg.reverse_postorder() {
            pass.block(block);
        }
        let count = pass.expressions.number_count();
        Numbering { of_value: pass.of_value, of_inst: pass.of_inst, work: pass.work, count }
    }

    /// The number of a value, if it can be reached.
    pub fn of_value(&self, value: Value) -> Option<Number> {
        Some(Number(self.of_value[value.index()])).filter(|number| number.0 != NONE)
    }

    /// The number of an instruction's first result, if it may be replaced; its other results have those that follow.
    pub fn of_inst(&self, inst: Inst) -> Option<Number> {
        self.of_inst[inst].checked_sub(1).map(Number)
    }

    /// The number of an instruction's work: opcode and operands, whatever the guard, memory and the lanes are.
    pub fn work(&self, inst: Inst) -> Option<Number> {
        self.work[inst].checked_sub(1).map(Number)
    }

    /// One more than the greatest number.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// What tells two executions of one operation apart besides operands. Left out of the keys where none are given.
#[derive(Clone, Copy)]
pub(in crate::pass) struct Surroundings<'a> {
    /// What loads read.
    pub memory: &'a MemoryStates,
    /// Where the same lanes are active.
    pub regions: &'a Regions,
}

/// What is taken for the same.
#[derive(Clone, Copy)]
pub(in crate::pass) struct Options {
    /// Are the classes of enhanced scope eligible?
    pub enhanced: bool,
    /// Will [`Numbering::work`] be asked for?
    pub names_work: bool,
    /// Are operands sorted where they commute, and do joins of one number have that number?
    pub is_algebraic: bool,
    /// Does a copy have the number of what it copies?
    pub follows_copies: bool,
}

/// What a key begins with, where it is not an opcode. Opcodes begin with less than 2³¹.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Head {
    Constant = 1 << 31,
    Special,
    Symbol,
    Join,
    Guarded,
    Work,
}

/// Where in a key the guard stands, and where its operands begin.
const GUARD: usize = 3;
const OPERANDS: usize = 4;

/// How an operand's first word ends.
#[derive(Clone, Copy)]
enum Tail {
    Number = 0,
    Negation,
    Address,
    List,
}

impl Tail {
    fn of(self, word: u32) -> u32 {
        word << 2 | self as u32
    }
}

struct Pass<'a> {
    func: &'a Function,
    values: &'a Values,
    surroundings: Option<Surroundings<'a>>,
    options: Options,
    expressions: Expressions,
    of_value: Vec<u32>,
    of_inst: SecondaryMap<Inst, u32>,
    work: SecondaryMap<Inst, u32>,
    /// The key that is being made.
    key: Vec<u32>,
}

impl Pass<'_> {
    fn block(&mut self, block: Block) {
        for join in self.values.joins(block) {
            let number = self.join(block, join);
            self.of_value[join.index()] = number.0;
        }
        let mut calls = 0;
        for inst in self.func.block_insts(block) {
            self.inst(block, inst, calls);
            calls += u32::from(self.func.insts[inst].opcode.op.is_call());
        }
    }

    fn join(&mut self, block: Block, join: Value) -> Number {
        let args = self.values.join_args(join);
        self.key.clear();
        self.key.extend([Head::Join as u32, block.as_u32()]);
        for arg in args {
            let number = match self.values.definition(arg.value) {
                Definition::Entry => self.number(arg.value).0,
                _ => self.of_value[arg.value.index()],
            };
            // What comes back is not known yet.
            if number == NONE || !self.options.is_algebraic {
                return self.expressions.fresh(1);
            }
            self.key.push(number);
        }
        match &self.key[2..] {
            [first, rest @ ..] if rest.iter().all(|number| number == first) => Number(*first),
            _ => self.expressions.number(&self.key, 1),
        }
    }

    /// The number of a value that is read. A definition is visited before what it dominates, so only what was there on
    /// entry has none yet.
    fn number(&mut self, value: Value) -> Number {
        let number = &mut self.of_value[value.index()];
        if *number == NONE {
            *number = self.expressions.fresh(1).0;
        }
        Number(*number)
    }

    fn inst(&mut self, block: Block, inst: Inst, calls: u32) {
        let data = &self.func.insts[inst];
        if data.dsts.is_empty() {
            return;
        }
        let count = data.dsts.len() as u32;
        let is_copy = is_copy(data);
        let class = Class::of(data);
        let first = match self.copied(inst, data) {
            Some(number) => {
                if !is_copy && data.guard.is_none() {
                    self.of_inst[inst] = number.0 + 1;
                }
                number
            }
            None => {
                let is_single = class == Class::Never || class == Class::Atomic;
                if !is_single || self.options.names_work {
                    self.make_key(inst, data);
                }
                if self.options.names_work && !is_copy {
                    let guard = core::mem::replace(&mut self.key[GUARD], 0);
                    self.key.push(Head::Work as u32);
                    self.work[inst] = self.expressions.number(&self.key, 1).0 + 1;
                    self.key.pop();
                    self.key[GUARD] = guard;
                }
                if is_single {
                    self.expressions.fresh(count)
                } else {
                    self.add_surroundings(block, inst, class, calls);
                    let first = self.expressions.number(&self.key, count);
                    if class.is_eligible(self.options.enhanced) && !is_copy {
                        self.of_inst[inst] = first.0 + 1;
                    }
                    first
                }
            }
        };
        for index in 0..data.dsts.len() {
            let value = self.values.defined(inst)[index];
            let mut number = first.0 + index as u32;
            if let Definition::Guarded { old, .. } = self.values.definition(value) {
                let (old, guard) = (self.number(old), self.guard(inst, data));
                self.key.clear();
                self.key.extend([Head::Guarded as u32, number, old.0, guard]);
                number = self.expressions.number(&self.key, 1).0;
            }
            self.of_value[value.index()] = number;
        }
    }

    /// The number of what a copy copies.
    fn copied(&mut self, inst: Inst, data: &InstData) -> Option<Number> {
        let ([from], [dst]) = (data.args.as_slice(), data.dsts.as_slice()) else { return None };
        if data.opcode.op != Op::Mov {
            return None;
        }
        match from {
            Operand::Reg(_) if !self.options.follows_copies => None,
            Operand::Reg(reg) if self.func.regs[*reg].ty.bits() == self.func.regs[*dst].ty.bits() => {
                let value = *self.values.operands(inst).first()?;
                Some(self.number(value))
            }
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) => self.leaf(from),
            _ => None,
        }
    }

    /// The number of an operand that no instruction computes.
    fn leaf(&mut self, operand: &Operand) -> Option<Number> {
        let key = match operand {
            Operand::Const(bits) => [Head::Constant as u32, *bits as u32, (*bits >> 32) as u32],
            Operand::Special(special) => [Head::Special as u32, special.index(), 0],
            Operand::Symbol(symbol) => {
                let (kind, index) = symbol_words(*symbol);
                [Head::Symbol as u32, kind, index]
            }
            _ => return None,
        };
        Some(self.expressions.number(&key, 1))
    }

    /// Guard and its sense in one word; 0 where there is none.
    fn guard(&mut self, inst: Inst, data: &InstData) -> u32 {
        match (data.guard, self.values.guard(inst)) {
            (Some(guard), Some(value)) => (self.number(value).0 << 1 | u32::from(guard.negated)) + 1,
            _ => 0,
        }
    }

    /// Opcode, guard and operands.
    fn make_key(&mut self, inst: Inst, data: &InstData) {
        let opcode = data.opcode;
        let guard = self.guard(inst, data);
        let mut key = core::mem::take(&mut self.key);
        key.clear();
        key.extend(opcode.words());
        key.push(guard);
        let mut used = self.values.operands(inst).iter().copied();
        for operand in &data.args {
            self.add_operand(&mut key, operand, &mut used);
        }
        let are_values = key.get(OPERANDS..OPERANDS + 2).is_some_and(|words| words.iter().all(|word| word & 3 == 0));
        if are_values && self.options.is_algebraic && key[OPERANDS] > key[OPERANDS + 1] {
            if opcode.op.is_commutative() {
                key.swap(OPERANDS, OPERANDS + 1);
            } else if let (Op::Setp, Some(cmp)) = (opcode.op, opcode.cmp) {
                // `a < b` is `b > a`.
                let swapped = Opcode { cmp: Some(cmp.swapped()), ..opcode };
                key[..GUARD].copy_from_slice(&swapped.words());
                key.swap(OPERANDS, OPERANDS + 1);
            }
        }
        self.key = key;
    }

    /// The state of memory, or the region.
    fn add_surroundings(&mut self, block: Block, inst: Inst, class: Class, calls: u32) {
        let Some(Surroundings { memory, regions }) = self.surroundings else { return };
        match class {
            Class::Load => {
                let state = memory.of(inst);
                self.key.extend([state.memory, state.barrier, state.call]);
            }
            Class::Convergent | Class::Shuffle => {
                // Behind a call there may be fewer lanes.
                let after = if calls == 0 { 0 } else { block.as_u32() + 1 };
                self.key.extend([regions.of(block), after, calls]);
            }
            _ => {}
        }
    }

    fn add_operand(&mut self, key: &mut Vec<u32>, operand: &Operand, used: &mut dyn Iterator<Item = Value>) {
        let mut next = |pass: &mut Self| used.next().map_or(NONE >> 2, |value| pass.number(value).0);
        match operand {
            Operand::Reg(_) => {
                let number = next(self);
                key.push(Tail::Number.of(number));
            }
            Operand::NotReg(_) => {
                let number = next(self);
                key.push(Tail::Negation.of(number));
            }
            Operand::Address(address) => {
                key.push(Tail::Address.of(address.terms.len() as u32));
                let base = match address.base {
                    AddressBase::Reg(reg) => [0, next(self), self.extension(reg)],
                    AddressBase::Symbol(symbol) => {
                        let (kind, index) = symbol_words(symbol);
                        [1, kind, index]
                    }
                    AddressBase::Absolute => [2, 0, 0],
                };
                key.extend(base);
                key.extend([address.offset as u32, (address.offset >> 32) as u32]);
                for &(reg, scale) in &address.terms {
                    key.extend([next(self), self.extension(reg), scale as u32, (scale >> 32) as u32]);
                }
            }
            Operand::List(elements) => {
                key.push(Tail::List.of(elements.len() as u32));
                elements.iter().for_each(|element| self.add_operand(key, element, used));
            }
            leaf => {
                let number = self.leaf(leaf).unwrap_or_else(|| self.expressions.fresh(1));
                key.push(Tail::Number.of(number.0));
            }
        }
    }

    /// How a register of an address extends to 64 bits: one word for its sign and its width.
    fn extension(&self, reg: Reg) -> u32 {
        let ty = self.func.regs[reg].ty;
        ty.bits() << 1 | u32::from(ty.is_signed())
    }
}

/// Is it a copy of a register or a constant, which nothing is gained by copying from elsewhere? Special registers and
/// addresses have to be fetched, and packing is work; taking a register apart again would take more copies than it does.
pub(super) fn is_copy(data: &InstData) -> bool {
    let fetches = matches!(data.args.first(), Some(Operand::Special(_) | Operand::Symbol(_) | Operand::List(_)));
    data.opcode.op == Op::Mov && (!fetches || data.dsts.len() > 1)
}

fn symbol_words(symbol: Symbol) -> (u32, u32) {
    match symbol {
        Symbol::Global(global) => (0, global.as_u32()),
        Symbol::Array(array) => (1, array.as_u32()),
        Symbol::Param(index) => (2, index),
    }
}

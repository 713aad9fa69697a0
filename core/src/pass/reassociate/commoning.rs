//! Commoning inside a block: an instruction that repeats a recent computation becomes a copy.
//!
//! ```text
//! x = add a, b                 x = add a, b
//! …                      ──▶   …
//! y = add b, a                 y = mov x
//! ```
//!
//! 1. Walk over the block. Each register has a number: that of its last write, which a copy shares
//!    with its source.
//! 2. The expression of an unguarded pure instruction is its opcode and the numbers of its
//!    operands, those of a commutative operation sorted.
//! 3. Look the expression up among those of the block: a hash map from each to its newest result.
//! 4. If the result is at most a window of instructions old and its register still has its number,
//!    the instruction copies the register, or is removed if it writes that register.
//! 5. Otherwise the instruction is the newest result of its expression.
//!
//! Sound: equal numbers in a block mean equal values, and the register holds its number's value.
//!
//! Cost: O(n) in the instructions of the block.
//!
//! Limits: the window of the knob; a remark tells of results that are too old or overwritten.
//!
//! Source: J. Cocke and J. Schwartz, Programming Languages and Their Compilers, 1970 (local value
//! numbering).

use alloc::vec::Vec;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::block_map::BlockMap;
use super::ranks::copied;
use super::remarks;
use super::trees::Value;
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg};
use crate::trace::Remark;
use crate::view::View;

/// A number of a value in the block: equal numbers, equal values.
type Number = u32;

/// An operand over numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Numbered {
    Reg(Number),
    NotReg(Number),
    /// A constant, special register or symbol.
    Leaf(Value),
}

/// A computation over numbers.
#[derive(PartialEq, Eq, Hash)]
struct Expression {
    opcode: Opcode,
    operands: SmallVec<[Numbered; 3]>,
}

/// The newest computation of an expression.
#[derive(Clone, Copy)]
struct Computed {
    place: u64,
    reg: Reg,
    number: Number,
}

/// Numbers of registers in the block.
struct Numbers {
    by_reg: BlockMap<Number>,
    count: Number,
}

impl Numbers {
    /// The number of a register that is read; a new one if the block does not mention it before.
    fn of(&mut self, reg: Reg) -> Number {
        self.by_reg.get(reg).unwrap_or_else(|| self.define(reg))
    }

    /// Gives a register a new number.
    fn define(&mut self, reg: Reg) -> Number {
        self.count += 1;
        self.by_reg.set(reg, self.count);
        self.count
    }

    /// The expression of an instruction; None if the instruction has operands such as addresses.
    fn expression(&mut self, data: &InstData) -> Option<Expression> {
        let operands = data.args.iter().map(|operand| match *operand {
            Operand::Reg(reg) => Some(Numbered::Reg(self.of(reg))),
            Operand::NotReg(reg) => Some(Numbered::NotReg(self.of(reg))),
            _ => Value::of(operand).map(Numbered::Leaf),
        });
        let mut operands: SmallVec<[Numbered; 3]> = operands.collect::<Option<_>>()?;
        if data.opcode.op.is_commutative()
            && let [left, right, ..] = operands.as_mut_slice()
            && left > right
        {
            core::mem::swap(left, right);
        }
        Some(Expression { opcode: data.opcode, operands })
    }
}

/// Commoning in one block after another.
pub struct Commoning {
    window: u64,
    numbers: Numbers,
}

impl Commoning {
    /// `window` is the greatest distance between an instruction and the result that it copies.
    pub fn new(window: u64) -> Commoning {
        Commoning { window, numbers: Numbers { by_reg: BlockMap::new(), count: 0 } }
    }

    /// Commons the instructions of a block that take part by their places, and adds a remark for
    /// each that repeats a result out of reach. True if anything was found.
    pub fn visit(
        &mut self,
        view: &mut View<'_>,
        block: Block,
        takes_part: impl Fn(u64) -> bool,
        misses: &mut Vec<Remark>,
    ) -> bool {
        self.numbers.by_reg.clear();
        self.numbers.count = 0;
        let mut computed: HashMap<Expression, Computed> = HashMap::new();
        let mut is_changed = false;
        let mut next = view.func().layout.first_inst(block);
        for place in 0.. {
            let Some(inst) = next else { break };
            let func = view.func();
            next = func.layout.next_inst(inst);
            let takes_part = takes_part(place) && is_function(&func.insts[inst]);
            let expression = if takes_part { self.numbers.expression(&func.insts[inst]) } else { None };
            let (Some(expression), Some(dst)) = (expression, func.insts[inst].dst()) else {
                self.number_results(func, inst);
                continue;
            };
            let is_same_type = |earlier: &Computed| func.reg_types[earlier.reg] == func.reg_types[dst];
            if let Some(earlier) = computed.get(&expression).copied().filter(is_same_type) {
                let is_overwritten = self.numbers.of(earlier.reg) != earlier.number;
                if !is_overwritten && place - earlier.place <= self.window {
                    self.numbers.by_reg.set(dst, earlier.number);
                    replace(view, block, inst, dst, earlier.reg);
                    is_changed = true;
                    continue;
                }
                if view.is_traced() {
                    misses.push(remarks::not_commoned(view, block, inst, earlier.reg, is_overwritten));
                }
            }
            let number = self.numbers.define(dst);
            computed.insert(expression, Computed { place, reg: dst, number });
        }
        is_changed
    }

    /// Numbers the results of an instruction that is not commoned: new ones, but for copies.
    fn number_results(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        if let Some((from, to)) = copied(data)
            && func.reg_types[to] == func.reg_types[from]
        {
            let number = self.numbers.of(from);
            self.numbers.by_reg.set(to, number);
        } else {
            data.dsts.iter().for_each(|&dst| _ = self.numbers.define(dst));
        }
    }
}

/// True if an instruction is an unguarded function of its operands with one result, and no copy.
fn is_function(data: &InstData) -> bool {
    let op = data.opcode.op;
    op.is_pure() && op != Op::Mov && data.guard.is_none() && data.dsts.len() == 1
}

/// Turns an instruction into a copy, or removes it if it would copy a register to itself.
fn replace(view: &mut View<'_>, block: Block, inst: Inst, dst: Reg, earlier: Reg) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| remarks::commoned(module, func, block, inst, earlier));
    if dst == earlier {
        rewrite.remove(inst);
        return;
    }
    let opcode = Opcode::mov(rewrite.func().reg_types[dst]);
    rewrite.replace_operation(inst, opcode, [Operand::Reg(earlier)]);
}

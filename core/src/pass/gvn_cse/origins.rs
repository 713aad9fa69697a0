//! Origins of numbers: the names that addresses are written as sums of.
//!
//! ```text
//! t = add.u64 x, 8        number 7 is made by this instruction from the numbers of x and 8
//! ld.global.f32 [t]       the address is number 7, which is x + 8
//! ```
//!
//! Kept only where there are loads to compare, and of instructions that a sum can be made of. A number stands for all
//! registers that ever hold it, and what one instruction makes of its operands is what all others make that have the
//! number.
//!
//! Constant time for each instruction and number.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use hashbrown::HashMap;

use super::expressions::Number;
use super::memory::concerns_memory;
use crate::flow::{Definition, Value, ValueNames};
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type, by_root};

/// Origins of numbers.
pub(super) struct Origins {
    is_kept: bool,
    /// Name of each number.
    names: Vec<Name>,
    /// Numbers of constants, special registers and symbols.
    leaves: HashMap<u32, Operand>,
    /// Operands of the instructions that matter.
    operands: Vec<Value>,
    /// Range of each instruction in `operands`.
    ranges: Vec<(u32, u32)>,
}

#[derive(Clone, Copy)]
struct Name {
    /// A register that held it.
    reg: Reg,
    maker: Maker,
}

/// Origin of a number, in one word: the instruction whose first result it was first, if that has no guard.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Maker(u32);

impl Maker {
    /// Value of the register on entry.
    const ENTRY: Maker = Maker(u32::MAX);
    /// A join, or one of several results: nothing that could be looked into.
    const UNKNOWN: Maker = Maker(u32::MAX - 1);
    /// A constant, a special register or a symbol.
    const LEAF: Maker = Maker(u32::MAX - 2);
}

impl Origins {
    pub fn new(func: &Function, is_kept: bool) -> Origins {
        let count = if is_kept { func.insts.len() } else { 0 };
        Origins {
            is_kept,
            names: Vec::with_capacity(2 * count),
            leaves: HashMap::new(),
            operands: Vec::with_capacity(count),
            ranges: vec![(0, 0); count],
        }
    }

    /// Does anybody ask?
    pub fn are_kept(&self) -> bool {
        self.is_kept
    }

    /// May a sum be made of what the instruction reads?
    #[inline]
    pub fn is_needed(&self, data: &InstData) -> bool {
        let Opcode { op, ty, .. } = data.opcode;
        self.is_kept
            && match Summed::of(op) {
                Summed::Never => false,
                Summed::OfIntegers => !ty.is_float() && ty != Type::Pred,
                Summed::Always => true,
            }
    }

    /// Begins an instruction, which reads all that is noted up to its end.
    pub fn begin(&mut self, inst: Inst) {
        self.ranges[inst.index()].0 = self.operands.len() as u32;
    }

    /// That instruction reads a number.
    pub fn add_operand(&mut self, number: Number) {
        self.operands.push(Value::from_u32(number.0));
    }

    /// See there.
    pub fn end(&mut self, inst: Inst) {
        self.ranges[inst.index()].1 = self.operands.len() as u32;
    }

    /// A number is what an instruction made, or what else a register holds.
    pub fn name(&mut self, number: Number, reg: Reg, maker: Option<Inst>) {
        self.set(number, Name { reg, maker: maker.map_or(Maker::UNKNOWN, |inst| Maker(inst.as_u32())) });
    }

    /// A register holds the number of a constant, special register or symbol.
    pub fn name_copy_of_leaf(&mut self, number: Number, reg: Reg) {
        self.set(number, Name { reg, maker: Maker::LEAF });
    }

    /// A number is what a register holds on entry.
    pub fn name_entry(&mut self, number: Number, reg: Reg) {
        self.set(number, Name { reg, maker: Maker::ENTRY });
    }

    /// A number is that of a constant, special register or symbol.
    pub fn name_leaf(&mut self, number: Number, operand: &Operand) {
        if self.is_kept {
            self.leaves.insert(number.0, operand.clone());
            self.set(number, Name { reg: Reg::new(0), maker: Maker::LEAF });
        }
    }

    /// The constant that a number stands for.
    pub fn constant(&self, number: Number) -> Option<u64> {
        self.leaves.get(&number.0).and_then(Operand::as_const)
    }

    fn set(&mut self, number: Number, name: Name) {
        if !self.is_kept {
            return;
        }
        let place = number.0 as usize;
        if place >= self.names.len() {
            self.names.resize(place + 1, name);
        }
        self.names[place] = name;
    }
}

/// Operations that sums are made of, or their operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Summed {
    Never,
    OfIntegers,
    Always,
}

impl Summed {
    #[inline]
    fn of(op: Op) -> Summed {
        const ALL: [Summed; Op::ALL.len()] = by_root!(Summed::find);
        ALL[op as usize]
    }

    const fn find(op: Op) -> Summed {
        match op {
            Op::Mov | Op::Cvta | Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::Mad | Op::Shl | Op::Cvt => {
                Summed::OfIntegers
            }
            Op::MulWide | Op::MadWide => Summed::Always,
            _ if concerns_memory(op) => Summed::Always,
            _ => Summed::Never,
        }
    }
}

impl ValueNames for Origins {
    fn definition(&self, value: Value) -> Definition {
        match self.names.get(value.index()).map(|name| name.maker) {
            Some(Maker::ENTRY) => Definition::Entry,
            None | Some(Maker::UNKNOWN | Maker::LEAF) => Definition::Join { block: Block::new(0) },
            Some(Maker(inst)) => Definition::Inst { inst: Inst::from_u32(inst), index: 0 },
        }
    }

    fn reg(&self, value: Value) -> Reg {
        self.names.get(value.index()).map_or(Reg::new(0), |name| name.reg)
    }

    fn operands(&self, inst: Inst) -> &[Value] {
        self.ranges.get(inst.index()).map_or(&[], |&(start, end)| &self.operands[start as usize..end as usize])
    }

    fn leaf(&self, value: Value) -> Option<&Operand> {
        // Most are none, and a name is found sooner than a leaf.
        let is_leaf = self.names.get(value.index()).is_some_and(|name| name.maker == Maker::LEAF);
        if is_leaf { self.leaves.get(&value.as_u32()) } else { None }
    }
}

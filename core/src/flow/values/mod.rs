//! Value names: the static single assignment lens over registers that are assigned many times.
//!
//! ```text
//! a: i = 0        i is v1                       register  value   definition
//!    br h                                       i         v0      join at h of v1 (from a), v3 (from b)
//! h: br p, b, c   i is v0, a join of v1 and v3            v1      a's mov
//! b: @q i = 7     i is v2, if q, else v0                  v2      the guarded mov, old value v0
//!    i = i + 1    reads v2; i is v3                       v3      the add, reads v2
//!    br h
//! ```
//!
//! Every use sees exactly one value: what the function was given, what one instruction wrote, what a guarded
//! instruction wrote or else left, or a join of values at the start of a block. As long as control is where a value's
//! definition dominates, the name stands for one number a lane: two uses with the same name read the same number, and
//! "the register still holds this value" is a comparison of names ([`Values::before`]).
//!
//! The function is not changed and nothing needs to be rebuilt. Joins stand where [`super::joins`]
//! places them; then one walk over the dominator tree names everything. What a register holds at
//! some point is found when it is asked for ([`points`]).
//!
//! Time and space: linear in instructions and blocks, plus the joins with their arguments, plus what their frontiers
//! cost. Instructions are read once, into one flat array that holds first registers and then their values.
//!
//! Source: R. Cytron and others, Efficiently computing static single assignment form and the control dependence graph,
//! TOPLAS 1991.

mod naming;
mod points;
mod record;

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};

use crate::graph::{Cfg, Dominators, Edge};
use crate::ir::{Block, Function, Inst, Operand, Reg};
use naming::Naming;
use points::Points;
use record::Record;

/// A value name of one [`Values`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// Definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Definition {
    /// Value of the register on entry: an argument, or nothing assigned yet (which reads as 0).
    Entry,
    /// Result of an unguarded instruction.
    Inst {
        /// The instruction.
        inst: Inst,
        /// Which of its destinations.
        index: u32,
    },
    /// Result of a guarded instruction: new where its guard holds, and the old value elsewhere.
    Guarded {
        /// The instruction.
        inst: Inst,
        /// Which of its destinations.
        index: u32,
        /// Value of the register before.
        old: Value,
    },
    /// The value that comes along with control at the start of a block; see [`Values::join_args`].
    Join {
        /// The block.
        block: Block,
    },
}

impl Definition {
    /// The instruction that writes it, guarded or not.
    pub fn inst(self) -> Option<Inst> {
        match self {
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => Some(inst),
            Definition::Entry | Definition::Join { .. } => None,
        }
    }
}

/// Names of values, however they were found: where each comes from, and what instructions read.
pub trait ValueNames {
    /// Returns the definition of a value.
    fn definition(&self, value: Value) -> Definition;
    /// A register that holds it, or held it.
    fn reg(&self, value: Value) -> Reg;
    /// The values of an instruction's operands without its guard, in their order.
    fn operands(&self, inst: Inst) -> &[Value];
    /// The value that represents all values known to be equal to this one.
    fn representative(&self, value: Value) -> Value {
        value
    }

    /// The constant, special register or symbol that the value is known to be, however wide it is read.
    fn leaf(&self, _value: Value) -> Option<&Operand> {
        None
    }
}

impl ValueNames for Values {
    fn definition(&self, value: Value) -> Definition {
        self.definition(value)
    }

    fn reg(&self, value: Value) -> Reg {
        self.reg(value)
    }

    fn operands(&self, inst: Inst) -> &[Value] {
        self.operands(inst)
    }
}

/// Argument of a join along one edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinArg {
    /// The edge; none for control that comes from outside.
    pub edge: PackedOption<Edge>,
    /// The value.
    pub value: Value,
}

/// A value in few bytes: there are as many as instructions, and they are asked about in no order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ValueData {
    reg: Reg,
    /// Kind of the definition, in the highest bits, and the number of the instruction or block.
    source: u32,
    /// Which of the instruction's destinations; of a guarded one, the place among those.
    detail: u32,
}

impl ValueData {
    const KIND: u32 = 3 << 30;
    const INST: u32 = 0;
    const GUARDED: u32 = 1 << 30;
    const JOIN: u32 = 2 << 30;
    const ENTRY: u32 = 3 << 30;

    fn of_inst(reg: Reg, inst: Inst, index: u32) -> ValueData {
        ValueData { reg, source: Self::INST | inst.as_u32(), detail: index }
    }

    /// `place` is where it stands among all results of guarded instructions.
    fn of_guarded(reg: Reg, inst: Inst, place: usize) -> ValueData {
        ValueData { reg, source: Self::GUARDED | inst.as_u32(), detail: place as u32 }
    }

    fn of_join(reg: Reg, block: Block) -> ValueData {
        ValueData { reg, source: Self::JOIN | block.as_u32(), detail: 0 }
    }

    fn of_entry(reg: Reg) -> ValueData {
        ValueData { reg, source: Self::ENTRY, detail: 0 }
    }
}

/// The result of a guarded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct GuardedData {
    value: Value,
    /// Value of its register before.
    old: Value,
    /// Which of the instruction's destinations.
    index: u32,
}

/// The value names of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values {
    values: PrimaryMap<Value, ValueData>,
    /// Position of each instruction in `slots`, by visit; blocks in preorder of the dominator tree,
    /// then the unreachable ones.
    records: Vec<Record>,
    /// Instruction to its record, `NONE` where it has none.
    record_of: Vec<u32>,
    /// Uses and definitions of all instructions; a block has a slot of its own at its start and one at its end, so
    /// that all points are distinct.
    slots: Vec<Value>,
    /// A reachable block's first slot and its last, (`NONE`, `NONE`) for others.
    block_slots: Vec<(u32, u32)>,
    /// Joins are the first values; the arguments of `v` are `args[first_arg[v]..first_arg[v + 1]]`.
    first_arg: Vec<u32>,
    args: Vec<JoinArg>,
    /// The joins of a block, as a range of values.
    block_joins: Vec<(u32, u32)>,
    /// The values that came up in a reachable block, without its joins, as a range.
    block_values: Vec<(u32, u32)>,
    /// Results of guarded instructions, rising.
    guarded: Vec<GuardedData>,
    /// Values of registers on entry, if an instruction reads them.
    entry_values: Vec<PackedOption<Value>>,
    /// Values of registers at each point.
    points: Points,
}

const NONE: u32 = u32::MAX;

impl Values {
    /// Names the values of a function.
    pub fn compute(func: &Function, cfg: &Cfg, dominators: &Dominators) -> Values {
        Naming::new(func, cfg, dominators).run()
    }

    /// How many values there are; their numbers are dense.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All values: joins first, then in the order of the dominator tree.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Value> + ExactSizeIterator + use<> {
        (0..self.values.len()).map(Value::new)
    }

    /// All joins, which are the first values.
    pub fn all_joins(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        (0..self.first_arg.len().saturating_sub(1)).map(Value::new)
    }

    /// All results of guarded instructions, each with what its register held before, rising.
    pub fn all_guarded(&self) -> impl Iterator<Item = (Value, Value)> + '_ {
        self.guarded.iter().map(|&GuardedData { value, old, .. }| (value, old))
    }

    /// Returns the definition of a value.
    #[inline]
    pub fn definition(&self, value: Value) -> Definition {
        let ValueData { source, detail, .. } = self.values[value];
        let number = source & !ValueData::KIND;
        match source & ValueData::KIND {
            ValueData::INST => Definition::Inst { inst: Inst::from_u32(number), index: detail },
            ValueData::GUARDED => {
                let GuardedData { old, index, .. } = self.guarded[detail as usize];
                Definition::Guarded { inst: Inst::from_u32(number), index, old }
            }
            ValueData::JOIN => Definition::Join { block: Block::from_u32(number) },
            _ => Definition::Entry,
        }
    }

    /// The register that a value is or was in.
    pub fn reg(&self, value: Value) -> Reg {
        self.values[value].reg
    }

    /// The block where a value is defined. None for an entry value.
    pub fn block(&self, func: &Function, value: Value) -> Option<Block> {
        match self.definition(value) {
            Definition::Entry => None,
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => func.inst_block(inst),
            Definition::Join { block } => Some(block),
        }
    }

    /// The values that an instruction reads, parallel to [`crate::ir::InstData::uses`]: the guard first, then the
    /// operands, repetitions kept. Empty for an instruction that did not stand in the function.
    pub fn used(&self, inst: Inst) -> &[Value] {
        self.record(inst).map_or(&[], |record| &self.slots[record.uses()])
    }

    /// The values that an instruction's destinations hold after it, in their order.
    pub fn defined(&self, inst: Inst) -> &[Value] {
        self.record(inst).map_or(&[], |record| &self.slots[record.definitions()])
    }

    /// Both: what it reads and what its destinations hold after it.
    pub fn used_and_defined(&self, inst: Inst) -> (&[Value], &[Value]) {
        self.record(inst).map_or((&[], &[]), |record| (&self.slots[record.uses()], &self.slots[record.definitions()]))
    }

    /// The value of an instruction's guard, if it has one.
    pub fn guard(&self, inst: Inst) -> Option<Value> {
        self.record(inst).filter(|record| record.is_guarded()).map(|record| self.slots[record.uses().start])
    }

    /// The values of an instruction's operands without its guard.
    pub fn operands(&self, inst: Inst) -> &[Value] {
        self.record(inst).map_or(&[], |record| {
            let Range { start, end } = record.uses();
            &self.slots[start + usize::from(record.is_guarded())..end]
        })
    }

    /// Arguments of a join: one for each edge from a reachable block, parallel to those of [`Cfg::in_edges`],
    /// then one for control from outside if the block is an entry. Empty for other values.
    pub fn join_args(&self, value: Value) -> &[JoinArg] {
        match self.first_arg.get(value.index()..value.index() + 2) {
            Some(&[start, end]) => &self.args[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The joins at the start of a block, by rising register.
    pub fn joins(&self, block: Block) -> impl ExactSizeIterator<Item = Value> + use<> {
        let (start, end) = self.block_joins[block.index()];
        (start as usize..end as usize).map(Value::new)
    }

    /// The values that the instructions of a reachable block make, in their order. Linear in those
    /// and in the entry values that the block is the first to read.
    pub fn made_in(&self, block: Block) -> impl Iterator<Item = Value> + '_ {
        let (start, end) = self.block_values[block.index()];
        let came_up = (start as usize..end as usize).map(Value::new);
        came_up.filter(|&value| self.values[value].source & ValueData::KIND != ValueData::ENTRY)
    }

    /// Calls `visit` with every value that this one is directly made of: a join's arguments; for an instruction's
    /// result what it reads, and the old value of a guarded one.
    pub fn for_each_source(&self, value: Value, mut visit: impl FnMut(Value)) {
        match self.definition(value) {
            Definition::Entry => {}
            Definition::Inst { inst, .. } => self.used(inst).iter().for_each(|&used| visit(used)),
            Definition::Guarded { inst, old, .. } => {
                self.used(inst).iter().for_each(|&used| visit(used));
                visit(old);
            }
            Definition::Join { .. } => self.join_args(value).iter().for_each(|arg| visit(arg.value)),
        }
    }

    /// The join of a register at the start of a block, if there is one. Time: logarithmic in the block's joins.
    pub fn join_of(&self, block: Block, reg: Reg) -> Option<Value> {
        let (mut start, mut end) = self.block_joins[block.index()];
        while start < end {
            let middle = start + (end - start) / 2;
            let value = Value::from_u32(middle);
            match self.values[value].reg.cmp(&reg) {
                Ordering::Less => start = middle + 1,
                Ordering::Equal => return Some(value),
                Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// The number of instructions that write a register.
    pub(crate) fn definition_count(&self, reg: Reg) -> u32 {
        self.points.joins().definition_count(reg)
    }

    /// The only instruction that writes a register, if all reads of the register see that write.
    pub(crate) fn single_definition(&self, reg: Reg) -> Option<Inst> {
        self.points.joins().single_definition(reg)
    }

    /// The value of a register before an instruction. None where it has no name: what is there was never read from
    /// there and may be one of several values. Time: logarithmic in the register's definitions.
    pub fn before(&self, func: &Function, inst: Inst, reg: Reg) -> Option<Value> {
        self.at_point(func.inst_block(inst)?, self.record(inst)?.start(), reg)
    }

    /// The value of a register after an instruction; see [`Values::before`].
    pub fn after(&self, func: &Function, inst: Inst, reg: Reg) -> Option<Value> {
        self.at_point(func.inst_block(inst)?, self.record(inst)?.end(), reg)
    }

    /// The value of a register before a block's first instruction; see [`Values::before`].
    pub fn at_start(&self, block: Block, reg: Reg) -> Option<Value> {
        self.at_point(block, self.block_slots[block.index()].0, reg)
    }

    /// The value of a register after a block's terminator; see [`Values::before`].
    pub fn at_end(&self, block: Block, reg: Reg) -> Option<Value> {
        self.at_point(block, self.block_slots[block.index()].1, reg)
    }

    fn at_point(&self, block: Block, point: u32, reg: Reg) -> Option<Value> {
        if self.block_slots[block.index()].0 == NONE {
            return None;
        }
        self.points.value_at(self, point, reg)
    }

    fn record(&self, inst: Inst) -> Option<&Record> {
        self.records.get(*self.record_of.get(inst.index())? as usize)
    }
}

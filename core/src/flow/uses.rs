//! Readers of each value: the names of [`Values`] inverted.
//!
//! ```text
//! a: x = 1; y = 2    br p, b, c       value        readers
//! b: x = 3; y = 4    br d             a's x, b's x the join of x in d
//! c: w = mov y       br d             a's y        the mov; d joins y as well, but nothing reads that join
//! d: z = add x, 1    br e             b's y        none
//! e: y = 5           …                d's join x   the add
//! ```
//!
//! Joins stand wherever definitions meet, also where their register is written before it is read again. What no
//! instruction reads, be it through other joins, reads nothing itself.
//!
//! Compressed rows: one array for all uses of all values. Linear in the function's operands and joins.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::values::{Value, Values};
use crate::ir::{Function, Inst};

/// One reader of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ValueUse {
    /// An instruction reads it.
    Operand {
        /// The instruction.
        inst: Inst,
        /// Which of its uses, as [`crate::ir::InstData::uses`] counts them.
        index: u32,
    },
    /// A guarded instruction keeps it where its guard does not hold; that makes this value.
    Old(Value),
    /// This join takes it along some edge.
    Argument(Value),
}

/// The readers of every value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueUses {
    /// Readers of `v` are `uses[first[v]..first[v + 1]]`.
    first: Vec<u32>,
    uses: Vec<ValueUse>,
}

impl ValueUses {
    /// The readers of a function's values: first operands in text order, then joins and old values by rising value.
    pub fn compute(func: &Function, values: &Values) -> ValueUses {
        // Found once, since instructions are scattered over memory.
        let insts = func.block_order().flat_map(|block| func.block_insts(block));
        let mut operands: Vec<(Inst, &[Value])> = Vec::with_capacity(func.insts.len());
        operands.extend(insts.map(|inst| (inst, values.used(inst))).filter(|(_, used)| !used.is_empty()));
        let mut first = count_readers(&operands, values);
        let mut end = 0;
        for count in &mut first {
            let start = end;
            end += *count;
            *count = start;
        }
        let mut free = first.clone();
        let mut uses = vec![ValueUse::Old(Value::new(0)); end as usize];
        let mut add = |value: Value, reader| {
            uses[free[value.index()] as usize] = reader;
            free[value.index()] += 1;
        };
        for &(inst, used) in &operands {
            used.iter().zip(0..).for_each(|(&value, index)| add(value, ValueUse::Operand { inst, index }));
        }
        for join in values.all_joins().filter(|join| first[join.index()] < first[join.index() + 1]) {
            values.join_args(join).iter().for_each(|arg| add(arg.value, ValueUse::Argument(join)));
        }
        values.all_guarded().for_each(|(value, old)| add(old, ValueUse::Old(value)));
        ValueUses { first, uses }
    }

    /// The readers of a value. A join that takes it along two edges is there twice; one that
    /// nothing reads is not there.
    pub fn of(&self, value: Value) -> &[ValueUse] {
        &self.uses[self.first[value.index()] as usize..self.first[value.index() + 1] as usize]
    }

    /// Does an instruction read the value, itself or through joins?
    pub fn is_read(&self, value: Value) -> bool {
        !self.of(value).is_empty()
    }
}

/// Number of readers of each value, and a final 0.
fn count_readers(operands: &[(Inst, &[Value])], values: &Values) -> Vec<u32> {
    let mut counts = vec![0u32; values.len() + 1];
    for &value in operands.iter().flat_map(|(_, used)| used.iter()) {
        counts[value.index()] += 1;
    }
    values.all_guarded().for_each(|(_, old)| counts[old.index()] += 1);
    let mut read_joins: Vec<Value> = values.all_joins().filter(|join| counts[join.index()] > 0).collect();
    while let Some(join) = read_joins.pop() {
        for arg in values.join_args(join) {
            let count = &mut counts[arg.value.index()];
            *count += 1;
            if *count == 1 && !values.join_args(arg.value).is_empty() {
                read_joins.push(arg.value);
            }
        }
    }
    counts
}

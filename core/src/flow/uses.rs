//! Who reads a value: the names of [`Values`] the other way round.
//!
//! Compressed rows: one array for all uses of all values. Linear in the function's operands and joins.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::values::{Definition, Value, Values};
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
    /// The readers of a function's values: first operands in text order, then old values and joins by rising value.
    pub fn compute(func: &Function, values: &Values) -> ValueUses {
        // Found once, since instructions are scattered over memory.
        let insts = func.block_order().flat_map(|block| func.block_insts(block));
        let mut operands: Vec<(Inst, &[Value])> = Vec::with_capacity(func.insts.len());
        operands.extend(insts.map(|inst| (inst, values.used(inst))).filter(|(_, used)| !used.is_empty()));
        let mut first = vec![0u32; values.len() + 1];
        for_each_use(&operands, values, |value, _| first[value.index()] += 1);
        let mut end = 0;
        for count in &mut first {
            let start = end;
            end += *count;
            *count = start;
        }
        let mut free = first.clone();
        let mut uses = vec![ValueUse::Old(Value::new(0)); end as usize];
        for_each_use(&operands, values, |value, reader| {
            uses[free[value.index()] as usize] = reader;
            free[value.index()] += 1;
        });
        ValueUses { first, uses }
    }

    /// The readers of a value. A join that takes it along two edges is there twice.
    pub fn of(&self, value: Value) -> &[ValueUse] {
        &self.uses[self.first[value.index()] as usize..self.first[value.index() + 1] as usize]
    }
}

fn for_each_use(operands: &[(Inst, &[Value])], values: &Values, mut visit: impl FnMut(Value, ValueUse)) {
    for &(inst, used) in operands {
        for (&value, index) in used.iter().zip(0..) {
            visit(value, ValueUse::Operand { inst, index });
        }
    }
    for value in values.iter() {
        match values.definition(value) {
            Definition::Guarded { old, .. } => visit(old, ValueUse::Old(value)),
            Definition::Join { .. } => {
                values.join_args(value).iter().for_each(|arg| visit(arg.value, ValueUse::Argument(value)));
            }
            Definition::Entry | Definition::Inst { .. } => {}
        }
    }
}

//! The types of registers: the first definition in the order of the text gives a register its type.
//!
//! ```text
//! i = add.s32 a, b     ->  i: s32
//! i = add.u32 i, 1         (a later definition needs the same width, no more)
//! ```
//!
//! Linear in the number of instructions.

use cranelift_entity::SecondaryMap;

use crate::ir::{Func, Function, InstData, Op, Reg, Type};

/// The type that each register has without a `reg` line: its parameter's, or that of what its first definition writes.
/// `None` for a register that nothing defines. `returns` gives the type that a function returns.
pub fn inferred_types(func: &Function, returns: impl Fn(Func) -> Option<Type>) -> SecondaryMap<Reg, Option<Type>> {
    let mut types = SecondaryMap::with_capacity(func.regs.len());
    for reg in func.params.iter().filter_map(|param| param.reg) {
        types[reg] = Some(func.reg_types[reg]);
    }
    for block in func.block_order() {
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            for (index, &reg) in data.dsts.iter().enumerate() {
                if types[reg].is_none() {
                    types[reg] = destination_type(data, index, &returns);
                }
            }
        }
    }
    types
}

/// The type that an instruction writes to its destination number `index`.
fn destination_type(data: &InstData, index: usize, returns: impl Fn(Func) -> Option<Type>) -> Option<Type> {
    match data.opcode.op {
        Op::Call | Op::CallTo => {
            let returned = data.callee().and_then(|callee| returns(callee.func));
            Some(returned.unwrap_or(data.opcode.ty))
        }
        // What it writes is not known; a `reg` line says it where it is not this.
        Op::Ptx => Some(Type::B32),
        _ => data.signature().dsts.get(index).map(|dst| dst.ty),
    }
}

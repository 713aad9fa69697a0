//! Registers that are read although nothing assigns them.
//!
//! ```text
//!                                           entry:
//!                                               f4 = mov.f32 0.0
//! mov.f32 %f1, 0f3F800000;           →          f1 = mov.f32 1.0
//! st.global.v2.f32 [%rd1], {%f1, %f4};          st.global.v2.f32 [rd1], {f1, f4}
//! ```
//!
//! Compilers print such reads for what the source leaves undefined: the rest of a vector that is stored whole, a variable
//! that only some ways set. The assembler takes them, and any value will do. In the text IR they are errors, since there
//! they are mistakes; so the register starts as 0 here, as it does where PTX is written again, and a warning says so.
//!
//! Sound: where no path to a read assigns the register, its value is undefined, and 0 is one such value. Control enters
//! the assignments once: where it comes back to the first block, they get a block of their own before it. Thus they
//! change no read that another assignment reaches.
//!
//! Bounds: those of [`unassigned_reads`].

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use crate::ir::{Block, Function, InstData, Op, Opcode, Operand, Reg};
use crate::text::{Diagnostic, quoted};
use crate::verify::unassigned_reads;

/// Lets registers that are read although no path has assigned them start as 0. A warning for each, at its first read.
pub(super) fn assign(func: &mut Function) -> Vec<Diagnostic> {
    let mut known: BTreeSet<Reg> = BTreeSet::new();
    let mut reads = unassigned_reads(func);
    reads.retain(|&(reg, _)| known.insert(reg));
    let Some(entry) = func.entry_block().filter(|_| !reads.is_empty()) else { return Vec::new() };
    let block = only_entered(func, entry);
    let first = func.layout.first_inst(block);
    let mut warnings = Vec::new();
    for (reg, reader) in reads {
        let span = func.inst_spans[reader];
        let zero = InstData::new(Opcode::new(Op::Mov, func.reg_types[reg]), [reg], [Operand::Const(0)]);
        let inst = func.insts.push(zero);
        func.inst_spans[inst] = span;
        func.insert_inst(inst, block, first);
        let message =
            format!("{} is read, but no path to here assigns it: it counts as 0", quoted(&func.regs[reg].name));
        warnings.push(Diagnostic::warning("unassigned-read", span, message));
    }
    warnings
}

/// A block that control enters first and never again: the entry, or a new one before it.
fn only_entered(func: &mut Function, entry: Block) -> Block {
    let is_target = func.block_order().any(|block| func.successors(block).contains(&entry));
    if !is_target {
        return entry;
    }
    let name = func.fresh_block_name("entry");
    let block = func.build_detached_block(name, None);
    func.block_spans[block] = func.block_spans[entry];
    func.layout.insert_block(block, Some(entry));
    func.build_inst(block, InstData::branch(entry));
    block
}

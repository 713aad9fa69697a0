//! Registers that are read although nothing assigns them.
//!
//! ```text
//!                                           entry:
//!                                               f4 = mov.f32 0.0
//! mov.f32 %f1, 0f3F800000;           →          f1 = mov.f32 1.0
//! st.global.v2.f32 [%rd1], {%f1, %f4};          st.global.v2.f32 [rd1], {f1, f4}
//! ```
//!
//! Compilers print such reads for what the source leaves undefined: the rest of a structure that is
//! handed on whole, a variable that nothing sets. The assembler takes them, and any value will do.
//! In the text IR they are errors, since there they are mistakes; so the register starts as 0 here,
//! as it does where PTX is written again, and a warning says so. A register that is assigned
//! somewhere, but on no path to a read, takes an analysis: [`crate::load`] asks for it.
//!
//! Sound because the value is undefined, and 0 is one such value. Nothing else writes the register. Control enters the
//! assignments once: where it comes back to the first block, they get a block of their own before it.
//!
//! Bounds: linear in the function.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use cranelift_entity::EntitySet;

use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg};
use crate::ptx::export::may_be_read_unassigned;
use crate::text::{Diagnostic, quoted};

/// Lets registers that are read although nothing assigns them start as 0. A warning for each, at its first read.
pub(super) fn assign(func: &mut Function) -> Vec<Diagnostic> {
    let reads = first_reads(func);
    start_at_zero(func, &reads, "nothing assigns it")
}

/// Lets registers start as 0, each given with its first read, where a warning says so and why.
pub fn start_at_zero(func: &mut Function, reads: &[(Reg, Inst)], why: &str) -> Vec<Diagnostic> {
    let Some(entry) = func.entry_block().filter(|_| !reads.is_empty()) else { return Vec::new() };
    let block = only_entered(func, entry);
    let first = func.layout.first_inst(block);
    let mut warnings = Vec::new();
    for &(reg, reader) in reads {
        let span = func.inst_spans[reader];
        let zero = InstData::new(Opcode::new(Op::Mov, func.reg_types[reg]), [reg], [Operand::Const(0)]);
        let inst = func.insts.push(zero);
        func.inst_spans[inst] = span;
        func.insert_inst(inst, block, first);
        let name = quoted(&func.regs[reg].name);
        let message = format!("{name} is read, but {why}: it counts as 0");
        warnings.push(Diagnostic::warning("unassigned-read", span, message));
    }
    warnings
}

/// Lets those of some registers that may be read before they are assigned start as 0, without a
/// word: an opaque instruction names them because it may keep their value.
pub(super) fn assign_tied(func: &mut Function, tied: &BTreeSet<Reg>) {
    if tied.is_empty() {
        return;
    }
    let reads: Vec<Reg> = may_be_read_unassigned(func).into_iter().filter(|reg| tied.contains(reg)).collect();
    let Some(entry) = func.entry_block().filter(|_| !reads.is_empty()) else { return };
    let block = only_entered(func, entry);
    let first = func.layout.first_inst(block);
    for reg in reads {
        let zero = InstData::new(Opcode::new(Op::Mov, func.reg_types[reg]), [reg], [Operand::Const(0)]);
        let inst = func.insts.push(zero);
        func.insert_inst(inst, block, first);
    }
}

/// The registers that are read and not assigned anywhere, each with the first instruction that reads it.
fn first_reads(func: &Function) -> Vec<(Reg, Inst)> {
    let mut known = EntitySet::with_capacity(func.regs.len());
    known.extend(func.params.iter().filter_map(|param| param.reg));
    let mut reads = Vec::new();
    for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
        func.insts[inst].for_each_use(|reg| {
            if func.definition_count(reg) == 0 && known.insert(reg) {
                reads.push((reg, inst));
            }
        });
    }
    reads
}

/// A block that control enters first and never again: the entry, or a new one before it.
pub(super) fn only_entered(func: &mut Function, entry: Block) -> Block {
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

//! Copies in the place of an instruction, one for each of its results.
//!
//! ```text
//! {c, d} = ld.global.v2.u32 x[i]     ──▶     c = mov.u32 a
//!                                            d = mov.u32 b
//! ```
//!
//! The copies stand under the instruction's guard. A register that holds already what it would be given gets none.
//!
//! Sound where each copy reads what was there before the first one, its guard included, which
//! [`overwritten_early`] tells.

use smallvec::SmallVec;

use crate::edit::Rewrite;
use crate::ir::{Function, Inst, InstData, Opcode, Operand, Reg};

/// A register that a copy of some result would write before a later copy reads it, as its source or as its guard. The
/// sources are in the order of the results; none is a register that is still to be made.
pub(in crate::pass) fn overwritten_early(data: &InstData, sources: &[Option<Reg>]) -> Option<Reg> {
    let guard = data.guard.map(|guard| guard.reg);
    let copies = |place: &usize| sources[*place] != Some(data.dsts[*place]);
    (1..sources.len()).filter(copies).find_map(|place| {
        let is_written = |reg: &Reg| (0..place).filter(copies).any(|before| data.dsts[before] == *reg);
        [sources[place], guard].into_iter().flatten().find(is_written)
    })
}

/// The copies that do an instruction's work.
pub(in crate::pass) fn copies(func: &Function, data: &InstData, sources: &[Reg]) -> SmallVec<[InstData; 1]> {
    let pairs = data.dsts.iter().zip(sources).filter(|(dst, source)| dst != source);
    pairs
        .map(|(&dst, &source)| {
            let copy = InstData::new(Opcode::mov(func.reg_types[dst]), [dst], [Operand::Reg(source)]);
            InstData { guard: data.guard, ..copy }
        })
        .collect()
}

/// Puts copies in the place of an instruction.
pub(in crate::pass) fn replace_by_copies(rewrite: &mut Rewrite<'_, '_>, inst: Inst, sources: &[Reg]) {
    let func = rewrite.func();
    if let ([dst], [source]) = (func.insts[inst].dsts.as_slice(), sources)
        && dst != source
    {
        let opcode = Opcode::mov(func.reg_types[*dst]);
        return rewrite.replace_operation(inst, opcode, [Operand::Reg(*source)]);
    }
    let mut copies = copies(func, &func.insts[inst], sources);
    let last = copies.pop();
    for copy in copies {
        rewrite.insert_before(inst, copy);
    }
    match last {
        Some(copy) => rewrite.replace(inst, copy),
        None => rewrite.remove(inst),
    }
}

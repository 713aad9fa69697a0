//! Copies of both sides to one register become a select.
//!
//! ```text
//! @p  x = mov.u32 a
//! @!p x = mov.u32 b     ──▶    x = selp.u32 a, b, p
//! ```
//!
//! Diamonds whose sides end in a copy to the same register leave such pairs. One instruction does it for all lanes, and
//! whoever allocates registers sees that nothing of the old `x` is left.
//!
//! Sound where between the two nothing reads or writes `x` and nothing writes `p` or what the first one copies: each lane
//! has run exactly one of them, and the select reads at the second one's place what the first one would have read.
//!
//! Bounds: [`MOST_PENDING`] first copies are remembered at a time, so it is linear in the block. Predicates have no select.

use alloc::format;
use alloc::vec::Vec;

use crate::edit::Remark;
use crate::ir::{Block, Guard, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::text::instruction_text;
use crate::view::{Listener, View};

/// First copies of possible pairs that are remembered.
const MOST_PENDING: usize = 16;

/// A guarded copy.
struct Copy {
    inst: Inst,
    dst: Reg,
    source: Operand,
    ty: Type,
    guard: Guard,
}

impl Copy {
    fn of(inst: Inst, data: &InstData) -> Option<Copy> {
        let ([source @ (Operand::Reg(_) | Operand::Const(_))], [dst]) = (data.args.as_slice(), data.dsts.as_slice())
        else {
            return None;
        };
        let is_copy = data.opcode.op == Op::Mov && data.opcode.ty != Type::Pred;
        let guard = data.guard.filter(|_| is_copy)?;
        Some(Copy { inst, dst: *dst, source: source.clone(), ty: data.opcode.ty, guard })
    }

    /// Is it the first of a pair that `second` completes?
    fn is_completed_by(&self, second: &Copy) -> bool {
        let is_opposite = self.guard.reg == second.guard.reg && self.guard.negated != second.guard.negated;
        is_opposite && self.dst == second.dst && self.ty == second.ty
    }

    /// Would it be something else behind that instruction?
    fn ends_at(&self, data: &InstData) -> bool {
        let mut reads = false;
        data.for_each_use(|reg| reads |= reg == self.dst);
        let matters = |reg: &Reg| *reg == self.dst || *reg == self.guard.reg || self.source.as_reg() == Some(*reg);
        reads || data.dsts.iter().any(matters)
    }
}

/// Makes selects of the pairs in a block.
pub fn select_copies<S: Listener>(view: &mut View<'_, S>, block: Block) {
    let mut pending: Vec<Copy> = Vec::new();
    let mut next = view.func().layout.first_inst(block);
    while let Some(inst) = next {
        next = view.func().layout.next_inst(inst);
        let data = &view.func().insts[inst];
        let copy = Copy::of(inst, data);
        let first = copy.as_ref().and_then(|copy| pending.iter().position(|first| first.is_completed_by(copy)));
        let first = first.map(|place| pending.remove(place));
        pending.retain(|first| !first.ends_at(data));
        match (first, copy) {
            (Some(first), Some(second)) => select(view, block, first, second),
            (None, Some(copy)) if pending.len() < MOST_PENDING => pending.push(copy),
            _ => {}
        }
    }
}

fn select<S: Listener>(view: &mut View<'_, S>, block: Block, first: Copy, second: Copy) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let [one, other] = [&first, &second].map(|copy| instruction_text(module, func, copy.inst));
        Remark::applied("select", block, format!("`{one}` and `{other}` are one `selp`")).at(second.inst)
    });
    let (on_true, on_false) = if first.guard.negated { (&second, &first) } else { (&first, &second) };
    let args = [on_true.source.clone(), on_false.source.clone(), Operand::Reg(second.guard.reg)];
    rewrite.remove(first.inst);
    rewrite.replace(second.inst, InstData::new(Opcode::new(Op::Selp, second.ty), [second.dst], args));
}

//! Selects in place of copies of both sides to one register.
//!
//! ```text
//! @p  x = mov.u32 a
//! @!p x = mov.u32 b     ──▶    x = selp.u32 a, b, p
//! ```
//!
//! Diamonds whose sides end in a copy to the same register leave such pairs. One instruction does the
//! work in all lanes, and the old `x` is dead before it.
//!
//! Sound if nothing between the two reads or writes `x`, and nothing writes `p` or the source of the
//! first copy: each lane has run exactly one of them, and the select reads the same source later.
//!
//! Limits: [`MOST_PENDING`] first copies are remembered at a time, so the search is linear in the
//! block. Predicates have no select.

use alloc::format;
use alloc::vec::Vec;

use crate::ir::{Block, Guard, InstData, Op, Opcode, Operand, Reg, Type};
use crate::text::instruction_text;
use crate::trace::Remark;
use crate::view::View;

/// First copies of possible pairs that are remembered.
const MOST_PENDING: usize = 16;

/// A guarded copy and its place.
struct Copy<P> {
    place: P,
    dst: Reg,
    source: Operand,
    ty: Type,
    guard: Guard,
}

impl<P> Copy<P> {
    fn of(place: P, data: &InstData) -> Option<Copy<P>> {
        let ([source @ (Operand::Reg(_) | Operand::Const(_))], [dst]) = (data.args.as_slice(), data.dsts.as_slice())
        else {
            return None;
        };
        let is_copy = data.opcode.op == Op::Mov && data.opcode.ty != Type::Pred;
        let guard = data.guard.filter(|_| is_copy)?;
        Some(Copy { place, dst: *dst, source: source.clone(), ty: data.opcode.ty, guard })
    }

    /// Is it the first of a pair that `second` completes?
    fn is_completed_by(&self, second: &Copy<P>) -> bool {
        let is_opposite = self.guard.reg == second.guard.reg && self.guard.negated != second.guard.negated;
        is_opposite && self.dst == second.dst && self.ty == second.ty
    }

    /// Would it do something else after that instruction?
    fn ends_at(&self, data: &InstData) -> bool {
        let mut reads = false;
        data.for_each_use(|reg| reads |= reg == self.dst);
        let matters = |reg: &Reg| *reg == self.dst || *reg == self.guard.reg || self.source.as_reg() == Some(*reg);
        reads || data.dsts.iter().any(matters)
    }
}

/// Finds pairs in a line of instructions.
pub struct Pairs<P> {
    /// First copies that a second one may complete.
    pending: Vec<Copy<P>>,
}

/// The copies of both sides to one register.
pub struct Pair<P> {
    first: Copy<P>,
    second: Copy<P>,
}

impl<P> Pairs<P> {
    /// Before the first instruction.
    pub fn new() -> Pairs<P> {
        Pairs { pending: Vec::new() }
    }

    /// Comes to the next instruction. Gives the pair that it completes.
    pub fn visit(&mut self, place: P, data: &InstData) -> Option<Pair<P>> {
        let copy = Copy::of(place, data);
        let first = copy.as_ref().and_then(|copy| self.pending.iter().position(|first| first.is_completed_by(copy)));
        let first = first.map(|place| self.pending.remove(place));
        self.pending.retain(|first| !first.ends_at(data));
        match (first, copy) {
            (Some(first), Some(second)) => Some(Pair { first, second }),
            (None, Some(copy)) if self.pending.len() < MOST_PENDING => {
                self.pending.push(copy);
                None
            }
            _ => None,
        }
    }
}

impl<P> Pair<P> {
    /// Places of its copies.
    pub fn places(&self) -> [&P; 2] {
        [&self.first.place, &self.second.place]
    }

    /// The select that does the work of both in the place of the second.
    pub fn select(&self) -> InstData {
        let Pair { first, second } = self;
        let (on_true, on_false) = if first.guard.negated { (second, first) } else { (first, second) };
        let args = [on_true.source.clone(), on_false.source.clone(), Operand::Reg(second.guard.reg)];
        InstData::new(Opcode::new(Op::Selp, second.ty), [second.dst], args)
    }
}

/// Makes selects of the pairs in a block.
pub fn select_copies(view: &mut View<'_>, block: Block) {
    let mut pairs = Pairs::new();
    let mut next = view.func().layout.first_inst(block);
    while let Some(inst) = next {
        next = view.func().layout.next_inst(inst);
        let Some(pair) = pairs.visit(inst, &view.func().insts[inst]) else { continue };
        let [&first, &second] = pair.places();
        let module = view.module();
        let mut rewrite = view.rewrite(|func| {
            let [one, other] = [first, second].map(|inst| instruction_text(module, func, inst));
            Remark::applied("select", block, format!("merged `{one}` and `{other}` into one `selp`")).at(second)
        });
        rewrite.remove(first);
        rewrite.replace(second, pair.select());
    }
}

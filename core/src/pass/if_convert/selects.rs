//! Selects in place of copies of both sides to one register.
//!
//! ```text
//! @p  x = mov.u32 a
//! @!p x = mov.u32 b     ──▶    x = selp.u32 a, b, p
//! ```
//!
//! Diamonds whose sides end in a copy to the same register leave such pairs. One instruction does
//! the work in all lanes, and the old `x` is dead before it.
//!
//! Sound if nothing between the two reads or writes `x`, and nothing writes `p` or the source of
//! the first copy: each lane has run exactly one of them, and the select reads the same source
//! later.
//!
//! Cost: O(n log n) in the block. Limit: predicates have no select.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::ir::{Block, Guard, InstData, Op, Opcode, Operand, Reg, Type};
use crate::text::instruction_text;
use crate::trace::Remark;
use crate::view::View;

/// A guarded copy.
struct Copy<P> {
    place: P,
    /// Number of its instruction in the line.
    time: usize,
    dst: Reg,
    source: Operand,
    ty: Type,
    guard: Guard,
}

impl<P> Copy<P> {
    fn of(place: P, time: usize, data: &InstData) -> Option<Copy<P>> {
        let ([source @ (Operand::Reg(_) | Operand::Const(_))], [dst]) = (data.args.as_slice(), data.dsts.as_slice())
        else {
            return None;
        };
        let is_copy = data.opcode.op == Op::Mov && data.opcode.ty != Type::Pred;
        let guard = data.guard.filter(|_| is_copy)?;
        Some(Copy { place, time, dst: *dst, source: source.clone(), ty: data.opcode.ty, guard })
    }

    /// True if `second` does the rest of the lanes.
    fn is_opposite(&self, second: &Copy<P>) -> bool {
        let is_opposite = self.guard.reg == second.guard.reg && self.guard.negated != second.guard.negated;
        is_opposite && self.dst == second.dst && self.ty == second.ty
    }
}

/// Finds pairs in a line of instructions.
pub struct Pairs<P> {
    /// The last guarded copy to each register.
    pending: BTreeMap<Reg, Copy<P>>,
    /// Numbers of the last instructions that read and that wrote each register.
    last_reads: BTreeMap<Reg, usize>,
    last_writes: BTreeMap<Reg, usize>,
    time: usize,
}

/// The copies of both sides to one register.
pub struct Pair<P> {
    first: Copy<P>,
    second: Copy<P>,
}

impl<P> Pairs<P> {
    /// Begins a line.
    pub fn new() -> Pairs<P> {
        Pairs { pending: BTreeMap::new(), last_reads: BTreeMap::new(), last_writes: BTreeMap::new(), time: 0 }
    }

    /// Visits the next instruction. Returns the pair that it completes.
    pub fn visit(&mut self, place: P, data: &InstData) -> Option<Pair<P>> {
        self.time += 1;
        let copy = Copy::of(place, self.time, data);
        let first = copy.as_ref().and_then(|second| {
            let first = self.pending.remove(&second.dst)?;
            (first.is_opposite(second) && self.still_holds(&first)).then_some(first)
        });
        data.for_each_use(|reg| _ = self.last_reads.insert(reg, self.time));
        data.dsts.iter().for_each(|&reg| _ = self.last_writes.insert(reg, self.time));
        match (first, copy) {
            (Some(first), Some(second)) => Some(Pair { first, second }),
            (None, Some(copy)) => {
                self.pending.insert(copy.dst, copy);
                None
            }
            _ => None,
        }
    }

    /// True if a copy would do the same after the instructions up to here.
    fn still_holds(&self, copy: &Copy<P>) -> bool {
        let is_before = |times: &BTreeMap<Reg, usize>, reg| times.get(&reg).is_none_or(|&time| time <= copy.time);
        let depends_on = [Some(copy.dst), Some(copy.guard.reg), copy.source.as_reg()];
        is_before(&self.last_reads, copy.dst)
            && depends_on.into_iter().flatten().all(|reg| is_before(&self.last_writes, reg))
    }
}

impl<P> Pair<P> {
    /// Places of the two copies.
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

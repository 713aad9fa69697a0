//! The straight code of a region: instructions under guards, and the predicates that guards need.
//!
//! ```text
//! br p, a, b                       t1 = mov.pred p        the side overwrites p
//! a: p = setp.lt.u32 x, 3    ──▶   @t1 p = setp.lt.u32 x, 3
//!    @q st.global.u32 o[0], x      t2 = and.pred t1, q    a guard of its own: both must hold
//!                                  @t2 st.global.u32 o[0], x
//! b: @q y = mov.u32 1              t3 = xor.pred q, t2    q, but not t1
//!                                  @t3 y = mov.u32 1
//! ```
//!
//! 1. Copy the branch's predicate `p` if a side overwrites it before its last instruction.
//! 2. An instruction without a guard gets `p`, negated for the false side.
//! 3. For an instruction with a guard on `q`, compute the conjunction: `p & q` in one instruction;
//!    `!p & !q` as the negation of `p | q`; `p & !q` as `p ^ (p & q)`; `q & !p` as `(p | q) ^ p`.
//!    Results are used again until `q` is overwritten, so a nested diamond takes two instructions.
//! 4. A comparison of the side that nothing outside reads takes `p` into it, if guards read it:
//!
//! ```text
//! br p, a, j
//! a: q = setp.lt.u32 x, 3          {q, t1} = setp.lt.and.u32 x, 3, p
//!    @q y = mov.u32 1         ──▶   @q y = mov.u32 1
//!    @!q y = mov.u32 2             @t1 y = mov.u32 2
//! ```
//!
//! Then `q` implies `p`, and its guards need no computation; neither do those of comparisons that
//! are combined with `q`, so nests of any depth cost no more than their comparisons.
//!
//! Cost: O(n log n) in the instructions of a side, O(n²) in its comparisons.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use super::region::Region;
use crate::flow::{ValueUse, ValueUses, Values};
use crate::ir::{Combine, Function, Guard, Inst, InstData, Op, Opcode, Operand, Reg, Type};

/// One instruction of the straight code.
pub struct Line {
    /// The instruction as it will be.
    pub data: InstData,
    /// The instruction of a side that it replaces; none for a new one, which computes a temporary.
    pub inst: Option<Inst>,
    /// Side that it is from, 0 the true one.
    pub side: usize,
}

/// The straight code of a region, without a terminator.
pub struct StraightCode {
    /// The code in order.
    pub lines: Vec<Line>,
    /// Number of new predicates. Their registers are the first ones after those of the function.
    pub temporaries: usize,
}

impl StraightCode {
    /// The straight code of a region: the true side's instructions, then the false side's. Value
    /// names may be those of the function before regions inside this one were converted.
    pub fn of(func: &Function, values: &Values, uses: &ValueUses, region: &Region) -> StraightCode {
        let sides = [0, 1].map(|side| region.insts(func, side).collect::<Vec<_>>());
        let branched = region.condition.reg;
        let overwrites = |inst: &Inst| func.insts[*inst].dsts.contains(&branched);
        let overwritten_at = sides.iter().flatten().position(overwrites);
        let is_copied = overwritten_at.is_some_and(|place| place + 1 < sides[0].len() + sides[1].len());
        let mut builder = Builder {
            lines: Vec::new(),
            first_temporary: func.regs.len(),
            temporaries: 0,
            side: 0,
            branched,
            branch: branched,
            is_overwritten: false,
            known: BTreeMap::new(),
            implying: BTreeMap::new(),
        };
        if is_copied {
            builder.branch = builder.compute(Op::Mov, [branched]);
        }
        for (side, insts) in sides.iter().enumerate() {
            builder.side = side;
            let outside = Outside { func, values, uses, insts, other: &sides[1 - side] };
            for (place, &inst) in insts.iter().enumerate() {
                let data = &func.insts[inst];
                let is_comparison = data.opcode.op == Op::Setp;
                let forms = if is_comparison { GuardForms::after(func, data, &insts[place + 1..]) } else { None };
                let forms = forms.filter(|_| !data.dsts.iter().any(|&dst| outside.reads(dst)));
                builder.add(data, inst, region.guard(side), forms);
            }
            builder.implying.clear();
        }
        StraightCode { lines: builder.lines, temporaries: builder.temporaries }
    }
}

/// Code outside a side of a region, which may read what the side leaves in registers.
struct Outside<'a> {
    func: &'a Function,
    values: &'a Values,
    uses: &'a ValueUses,
    /// Instructions of the side.
    insts: &'a [Inst],
    /// Instructions of the other side.
    other: &'a [Inst],
}

impl Outside<'_> {
    /// True if code outside reads a register as the side, or code before it, left it. A value
    /// leaves its side only through a phi at the join or a guarded write, so operands outside
    /// cannot read it.
    fn reads(&self, reg: Reg) -> bool {
        let mut written = self.insts.iter().filter_map(|&inst| {
            let place = self.func.insts[inst].dsts.iter().position(|&dst| dst == reg)?;
            // Results without names are temporaries of regions inside this one.
            self.values.defined(inst).get(place)
        });
        let is_outside = |user: &ValueUse| !matches!(user, ValueUse::Operand { .. });
        written.any(|&value| self.uses.of(value).iter().any(is_outside)) || self.is_read_by_other(reg)
    }

    fn is_read_by_other(&self, reg: Reg) -> bool {
        let mut insts = self.other.iter().map(|&inst| &self.func.insts[inst]);
        let first = insts.find_map(|data| {
            let mut is_read = false;
            data.for_each_use(|used| is_read |= used == reg);
            let is_overwritten = data.guard.is_none() && data.dsts.contains(&reg);
            (is_read || is_overwritten).then_some(is_read)
        });
        first == Some(true)
    }
}

/// Forms in which the rest of a side reads the result of a comparison for its guards.
#[derive(Clone, Copy)]
struct GuardForms {
    /// True if a negated guard does. Others are guards, or comparisons that are combined with the
    /// result.
    has_negated: bool,
}

impl GuardForms {
    /// The forms in the instructions after a comparison; None if no guard depends on it.
    fn after(func: &Function, comparison: &InstData, rest: &[Inst]) -> Option<GuardForms> {
        let (mut has_negated, mut has_plain) = (false, false);
        for data in rest.iter().map(|&inst| &func.insts[inst]) {
            let guard = data.guard.filter(|guard| comparison.dsts.contains(&guard.reg));
            has_negated |= guard.is_some_and(|guard| guard.negated);
            has_plain |= guard.is_some_and(|guard| !guard.negated);
            has_plain |= combined_with(data).is_some_and(|reg| comparison.dsts.contains(&reg));
            if data.dsts.iter().any(|dst| comparison.dsts.contains(dst)) {
                break;
            }
        }
        (has_negated || has_plain).then_some(GuardForms { has_negated })
    }
}

/// The predicate without which a comparison is false.
fn combined_with(data: &InstData) -> Option<Reg> {
    let is_conjunction = data.opcode.op == Op::Setp && data.opcode.combine == Some(Combine::And);
    data.args.get(2).filter(|_| is_conjunction)?.as_reg()
}

struct Builder {
    lines: Vec<Line>,
    first_temporary: usize,
    temporaries: usize,
    /// Side whose instructions are added.
    side: usize,
    /// Register that the branch reads.
    branched: Reg,
    /// Register that holds the branch's predicate: a copy if a side overwrites the other one.
    branch: Reg,
    /// True if a side has overwritten the register that the branch reads.
    is_overwritten: bool,
    /// Predicates computed with each guard register; dropped when it is overwritten.
    known: BTreeMap<Reg, Known>,
    /// Registers that are true only where the side is taken, each with a temporary that is true
    /// where the side is taken and the register is not.
    implying: BTreeMap<Reg, Option<Reg>>,
}

/// Combinations of the branch's predicate with another one.
#[derive(Default)]
struct Known {
    both: Option<Reg>,
    either: Option<Reg>,
    branch_only: Option<Reg>,
    other_only: Option<Reg>,
}

impl Builder {
    fn new_temporary(&mut self) -> Reg {
        self.temporaries += 1;
        Reg::new(self.first_temporary + self.temporaries - 1)
    }

    fn compute<const N: usize>(&mut self, op: Op, args: [Reg; N]) -> Reg {
        let dst = self.new_temporary();
        let data = InstData::new(Opcode::new(op, Type::Pred), [dst], args.map(Operand::Reg));
        self.lines.push(Line { data, inst: None, side: self.side });
        dst
    }

    /// Adds an instruction of a side. The forms are given for a comparison that guards depend on
    /// and that may take the branch's predicate into it.
    fn add(&mut self, data: &InstData, inst: Inst, side: Guard, forms: Option<GuardForms>) {
        let own = data.guard.filter(|&own| self.is_overwritten || own != side);
        let mut line = Line { data: InstData { guard: None, ..data.clone() }, inst: Some(inst), side: self.side };
        let is_implying = combined_with(data).is_some_and(|reg| self.implying.contains_key(&reg));
        match (forms.filter(|_| own.is_none()), data.dsts.as_slice()) {
            (Some(_), dsts) if is_implying => {
                self.overwrite(dsts);
                self.implying.extend(dsts.iter().map(|&dst| (dst, None)));
            }
            (Some(forms), &[dst]) if data.opcode.combine.is_none() => {
                let complement = forms.has_negated.then(|| self.new_temporary());
                let branch = self.branch;
                line.data.opcode.combine = Some(Combine::And);
                line.data.args.push(if side.negated { Operand::NotReg(branch) } else { Operand::Reg(branch) });
                line.data.dsts.extend(complement);
                self.overwrite(&[dst]);
                self.implying.insert(dst, complement);
            }
            (_, dsts) => {
                line.data.guard = Some(self.guard(side, own));
                self.overwrite(dsts);
            }
        }
        self.lines.push(line);
    }

    /// The guard of an instruction of a side that had a guard of its own, or none that says more
    /// than the branch.
    fn guard(&mut self, side: Guard, own: Option<Guard>) -> Guard {
        let branch = self.branch;
        let Some(own) = own else { return Guard { reg: branch, negated: side.negated } };
        match self.implying.get(&own.reg) {
            Some(_) if !own.negated => return own,
            Some(&Some(complement)) => return Guard { reg: complement, negated: false },
            _ => {}
        }
        let other = own.reg;
        let mut known = self.known.remove(&other).unwrap_or_default();
        let reg = match (side.negated, own.negated) {
            (false, false) => *known.both.get_or_insert_with(|| self.compute(Op::And, [branch, other])),
            (true, true) => *known.either.get_or_insert_with(|| self.compute(Op::Or, [branch, other])),
            (false, true) => self.branch_only(&mut known, other),
            (true, false) => self.other_only(&mut known, other),
        };
        self.known.insert(other, known);
        Guard { reg, negated: side.negated && own.negated }
    }

    /// Lanes where the branch's predicate holds, and the other one does not.
    fn branch_only(&mut self, known: &mut Known, other: Reg) -> Reg {
        if let Some(only) = known.branch_only {
            return only;
        }
        let branch = self.branch;
        let differing = match (known.both, known.either) {
            (None, Some(either)) => [either, other],
            _ => [branch, *known.both.get_or_insert_with(|| self.compute(Op::And, [branch, other]))],
        };
        *known.branch_only.insert(self.compute(Op::Xor, differing))
    }

    /// Lanes where the other one holds, and the branch's does not.
    fn other_only(&mut self, known: &mut Known, other: Reg) -> Reg {
        if let Some(only) = known.other_only {
            return only;
        }
        let branch = self.branch;
        let differing = match (known.both, known.either) {
            (Some(both), None) => [other, both],
            _ => [*known.either.get_or_insert_with(|| self.compute(Op::Or, [branch, other])), branch],
        };
        *known.other_only.insert(self.compute(Op::Xor, differing))
    }

    /// Forgets the predicates of overwritten registers.
    fn overwrite(&mut self, dsts: &[Reg]) {
        for dst in dsts {
            self.known.remove(dst);
            self.implying.remove(dst);
            self.is_overwritten |= *dst == self.branched;
        }
    }
}

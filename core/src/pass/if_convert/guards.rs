//! The straight code of a region: the guard of each instruction, and the predicates that guards need.
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

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::mem;

use cranelift_entity::EntityRef;

use super::region::Region;
use crate::flow::{ValueUse, ValueUses, Values};
use crate::ir::{Block, Combine, Function, Guard, Inst, InstData, Op, Opcode, Operand, Reg, Type};

/// A predicate of the straight code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// A register that is there already.
    Reg(Reg),
    /// The k-th new register of the steps.
    Temporary(usize),
}

/// One instruction of the straight code.
pub enum Step {
    /// A new temporary: `mov`, `and`, `or` or `xor` of predicates.
    Compute(Op, Vec<Predicate>),
    /// An instruction of a side, under a guard, negated or not.
    Guarded(Inst, Predicate, bool),
    /// A comparison of a side that is false where that predicate, negated or not, is false.
    Combined {
        /// The comparison.
        inst: Inst,
        /// Predicate that it is combined with.
        with: Predicate,
        /// Is that negated?
        negated: bool,
        /// Does it also write its complement, combined in the same way, to a new temporary?
        has_complement: bool,
    },
    /// An instruction of a side that may run in all lanes.
    Unguarded(Inst),
}

/// The straight code of a region, without a terminator.
pub struct StraightCode {
    /// In order.
    pub steps: Vec<Step>,
    /// Number of steps before those of the false side.
    true_steps: usize,
}

impl StraightCode {
    /// The straight code of a region: the true side's instructions, then the false side's. Value names may be those of
    /// the function before regions inside this one were converted.
    pub fn of(func: &Function, values: &Values, uses: &ValueUses, region: &Region) -> StraightCode {
        let sides = [0, 1].map(|side| region.insts(func, side).collect::<Vec<_>>());
        let branched = region.condition.reg;
        let overwrites = |inst: &Inst| func.insts[*inst].dsts.contains(&branched);
        let overwritten_at = sides.iter().flatten().position(overwrites);
        let is_copied = overwritten_at.is_some_and(|place| place + 1 < sides[0].len() + sides[1].len());
        let mut builder = Builder {
            steps: Vec::new(),
            temporaries: 0,
            branched,
            is_copied,
            is_overwritten: false,
            known: BTreeMap::new(),
            implying: BTreeMap::new(),
        };
        if is_copied {
            builder.compute(Op::Mov, [Predicate::Reg(branched)]);
        }
        let mut true_steps = 0;
        for (side, insts) in sides.iter().enumerate() {
            let outside = Outside { func, values, uses, blocks: &region.sides[side], insts, other: &sides[1 - side] };
            for (place, &inst) in insts.iter().enumerate() {
                let data = &func.insts[inst];
                let wanted = Wanted::after(func, data, &insts[place + 1..]);
                let is_asked = data.opcode.op == Op::Setp && wanted.any();
                let is_combinable = is_asked && !data.dsts.iter().any(|&dst| outside.reads(dst));
                let guards = if is_combinable { wanted } else { Wanted::default() };
                builder.add(data, inst, region.guard(side), guards);
            }
            builder.implying.clear();
            if side == 0 {
                true_steps = builder.steps.len();
            }
        }
        StraightCode { steps: builder.steps, true_steps }
    }

    /// The code, each instruction with the side that it is from. Temporaries have the numbers after those of the
    /// function's registers.
    pub fn insts(&self, func: &Function) -> Vec<(InstData, usize)> {
        let mut temporaries: Vec<Reg> = Vec::new();
        let create = |temporaries: &mut Vec<Reg>| {
            let reg = Reg::new(func.regs.len() + temporaries.len());
            temporaries.push(reg);
            reg
        };
        let step = |step: &Step| match *step {
            Step::Compute(op, ref args) => {
                let known = temporaries.clone();
                Step::computation(op, args, create(&mut temporaries), &known)
            }
            Step::Guarded(inst, ..) | Step::Combined { inst, .. } | Step::Unguarded(inst) => {
                let mut data = func.insts[inst].clone();
                let complement = step.has_complement().then(|| create(&mut temporaries));
                step.change(&mut data, &temporaries, complement);
                data
            }
        };
        let side = |place: usize| usize::from(place >= self.true_steps);
        self.steps.iter().map(step).enumerate().map(|(place, data)| (data, side(place))).collect()
    }
}

impl Step {
    /// The instruction of a side that it is about, unless it is a new one.
    pub fn inst(&self) -> Option<Inst> {
        match *self {
            Step::Compute(..) => None,
            Step::Guarded(inst, ..) | Step::Combined { inst, .. } | Step::Unguarded(inst) => Some(inst),
        }
    }

    /// Does it write a new temporary, the complement of a comparison?
    pub fn has_complement(&self) -> bool {
        matches!(self, Step::Combined { has_complement: true, .. })
    }

    /// Makes of an instruction of a side what it will be, given the temporaries before it and the
    /// one for its complement. Gives whether that is something else.
    pub fn change(&self, data: &mut InstData, temporaries: &[Reg], complement: Option<Reg>) -> bool {
        let guard = match *self {
            Step::Guarded(_, predicate, negated) => Some(Guard { reg: predicate.reg(temporaries), negated }),
            _ => None,
        };
        let is_new = mem::replace(&mut data.guard, guard) != guard;
        let Step::Combined { with, negated, .. } = *self else { return is_new };
        let with = with.reg(temporaries);
        data.opcode.combine = Some(Combine::And);
        data.args.push(if negated { Operand::NotReg(with) } else { Operand::Reg(with) });
        data.dsts.extend(complement);
        true
    }

    /// The instruction that computes a temporary into `dst`, given the temporaries before it.
    pub fn computation(op: Op, args: &[Predicate], dst: Reg, temporaries: &[Reg]) -> InstData {
        let args = args.iter().map(|arg| Operand::Reg(arg.reg(temporaries)));
        InstData::new(Opcode::new(op, Type::Pred), [dst], args)
    }
}

impl Predicate {
    /// The register, given the temporaries.
    pub fn reg(self, temporaries: &[Reg]) -> Reg {
        match self {
            Predicate::Reg(reg) => reg,
            Predicate::Temporary(number) => temporaries[number],
        }
    }
}

/// Code outside a side of a region, which may read what the side leaves in registers.
struct Outside<'a> {
    func: &'a Function,
    values: &'a Values,
    uses: &'a ValueUses,
    /// Blocks of the side.
    blocks: &'a [Block],
    /// Instructions of the side.
    insts: &'a [Inst],
    /// Instructions of the other side.
    other: &'a [Inst],
}

impl Outside<'_> {
    /// Is a register that the side writes read elsewhere, as the side or code before it left it?
    fn reads(&self, reg: Reg) -> bool {
        let mut written = self.insts.iter().filter_map(|&inst| {
            let place = self.func.insts[inst].dsts.iter().position(|&dst| dst == reg)?;
            // Results without names are temporaries of regions inside this one.
            self.values.defined(inst).get(place)
        });
        written.any(|&value| self.uses.of(value).iter().any(|user| self.contains(user))) || self.is_read_by_other(reg)
    }

    fn contains(&self, user: &ValueUse) -> bool {
        match *user {
            // A branch that has become straight code is in no block.
            ValueUse::Operand { inst, .. } => self.func.inst_block(inst).is_some_and(|at| !self.blocks.contains(&at)),
            ValueUse::Old(_) | ValueUse::Argument(_) => true,
        }
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

/// Forms in which the rest of a side reads the result of a comparison.
#[derive(Clone, Copy, Default)]
struct Wanted {
    /// As a guard, or to be combined with another comparison.
    plain: bool,
    /// As a negated guard.
    negated: bool,
}

impl Wanted {
    fn after(func: &Function, comparison: &InstData, rest: &[Inst]) -> Wanted {
        let mut wanted = Wanted::default();
        for data in rest.iter().map(|&inst| &func.insts[inst]) {
            let guard = data.guard.filter(|guard| comparison.dsts.contains(&guard.reg));
            wanted.negated |= guard.is_some_and(|guard| guard.negated);
            wanted.plain |= guard.is_some_and(|guard| !guard.negated);
            wanted.plain |= combined_with(data).is_some_and(|reg| comparison.dsts.contains(&reg));
            if data.dsts.iter().any(|dst| comparison.dsts.contains(dst)) {
                break;
            }
        }
        wanted
    }

    fn any(self) -> bool {
        self.plain || self.negated
    }
}

/// The predicate without which a comparison is false.
fn combined_with(data: &InstData) -> Option<Reg> {
    let is_conjunction = data.opcode.op == Op::Setp && data.opcode.combine == Some(Combine::And);
    data.args.get(2).filter(|_| is_conjunction)?.as_reg()
}

struct Builder {
    steps: Vec<Step>,
    temporaries: usize,
    /// The register that the branch asks.
    branched: Reg,
    /// Is it in the first temporary, because a side overwrites it?
    is_copied: bool,
    /// Has a side overwritten it by now?
    is_overwritten: bool,
    /// Predicates computed from each guard's register, as long as it holds the same.
    known: BTreeMap<Reg, Known>,
    /// Registers that are true only where the side is taken, each with a temporary that is true where the side is taken
    /// and the register is not.
    implying: BTreeMap<Reg, Option<Predicate>>,
}

/// Combinations of the branch's predicate with another one.
#[derive(Default)]
struct Known {
    both: Option<Predicate>,
    either: Option<Predicate>,
    branch_only: Option<Predicate>,
    other_only: Option<Predicate>,
}

impl Builder {
    fn compute<const N: usize>(&mut self, op: Op, args: [Predicate; N]) -> Predicate {
        self.steps.push(Step::Compute(op, args.into()));
        self.temporaries += 1;
        Predicate::Temporary(self.temporaries - 1)
    }

    /// The branch's predicate.
    fn branch(&self) -> Predicate {
        if self.is_copied { Predicate::Temporary(0) } else { Predicate::Reg(self.branched) }
    }

    /// Adds an instruction of a side. `wanted` says how its result is asked for, if it is a comparison.
    fn add(&mut self, data: &InstData, inst: Inst, side: Guard, wanted: Wanted) {
        let own = data.guard.filter(|&own| self.is_overwritten || own != side);
        if own.is_some() || !wanted.any() {
            let (predicate, negated) = self.guard(side, own);
            self.steps.push(Step::Guarded(inst, predicate, negated));
            return self.overwrite(&data.dsts);
        }
        if combined_with(data).is_some_and(|reg| self.implying.contains_key(&reg)) {
            self.steps.push(Step::Unguarded(inst));
            self.overwrite(&data.dsts);
            return self.implying.extend(data.dsts.iter().map(|&dst| (dst, None)));
        }
        let (&[dst], None) = (data.dsts.as_slice(), data.opcode.combine) else {
            return self.add(data, inst, side, Wanted::default());
        };
        let complement = wanted.negated.then(|| {
            self.temporaries += 1;
            Predicate::Temporary(self.temporaries - 1)
        });
        let (with, negated, has_complement) = (self.branch(), side.negated, complement.is_some());
        self.steps.push(Step::Combined { inst, with, negated, has_complement });
        self.overwrite(&[dst]);
        self.implying.insert(dst, complement);
    }

    /// The guard of an instruction of a side that had a guard of its own, or none that says more than the branch.
    fn guard(&mut self, side: Guard, own: Option<Guard>) -> (Predicate, bool) {
        let branch = self.branch();
        let Some(own) = own else { return (branch, side.negated) };
        match self.implying.get(&own.reg) {
            Some(_) if !own.negated => return (Predicate::Reg(own.reg), false),
            Some(&Some(complement)) => return (complement, false),
            _ => {}
        }
        let other = Predicate::Reg(own.reg);
        let mut known = self.known.remove(&own.reg).unwrap_or_default();
        let guard = match (side.negated, own.negated) {
            (false, false) => (*known.both.get_or_insert_with(|| self.compute(Op::And, [branch, other])), false),
            (true, true) => (*known.either.get_or_insert_with(|| self.compute(Op::Or, [branch, other])), true),
            (false, true) => (self.branch_only(&mut known, branch, other), false),
            (true, false) => (self.other_only(&mut known, branch, other), false),
        };
        self.known.insert(own.reg, known);
        guard
    }

    /// Lanes where the branch's predicate holds, and the other one does not.
    fn branch_only(&mut self, known: &mut Known, branch: Predicate, other: Predicate) -> Predicate {
        if let Some(only) = known.branch_only {
            return only;
        }
        let differing = match (known.both, known.either) {
            (None, Some(either)) => [either, other],
            _ => [branch, *known.both.get_or_insert_with(|| self.compute(Op::And, [branch, other]))],
        };
        *known.branch_only.insert(self.compute(Op::Xor, differing))
    }

    /// Lanes where the other one holds, and the branch's does not.
    fn other_only(&mut self, known: &mut Known, branch: Predicate, other: Predicate) -> Predicate {
        if let Some(only) = known.other_only {
            return only;
        }
        let differing = match (known.both, known.either) {
            (Some(both), None) => [other, both],
            _ => [*known.either.get_or_insert_with(|| self.compute(Op::Or, [branch, other])), branch],
        };
        *known.other_only.insert(self.compute(Op::Xor, differing))
    }

    /// Forgets the values of overwritten registers.
    fn overwrite(&mut self, dsts: &[Reg]) {
        for dst in dsts {
            self.known.remove(dst);
            self.implying.remove(dst);
            self.is_overwritten |= *dst == self.branched;
        }
    }
}

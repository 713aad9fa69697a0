//! The straight code that a region becomes: which guard each instruction gets, and what has to be computed for that.
//!
//! ```text
//! br p, a, b                       t1 = mov.pred p        the side overwrites p
//! a: p = setp.lt.u32 x, 3    ──▶   @t1 p = setp.lt.u32 x, 3
//!    @q st.global.u32 o[0], x      t2 = and.pred t1, q    a guard of its own: both must hold
//!                                  @t2 st.global.u32 o[0], x
//! b: @q y = mov.u32 1              t3 = xor.pred q, t2    not t1, but q
//!                                  @t3 y = mov.u32 1
//! ```
//!
//! The conjunction of a branch's predicate `p` and a guard's `q` takes one instruction where both are plain, and one
//! where both are negated: `!p & !q` is the negation of `p | q`, and a guard may be negated. A mixed one differs from
//! its plain operand where both hold, `p & !q = p ^ (p & q)`, so that a nested diamond takes two for both its sides.
//! Conjunctions are used again until their guard's register is overwritten.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::region::Region;
use crate::ir::{Function, Guard, Inst, InstData, Op, Opcode, Operand, Reg, Type};

/// A predicate of the straight code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// A register that is there already.
    Reg(Reg),
    /// What the k-th [`Step::Compute`] computes.
    Temporary(usize),
}

/// One instruction of the straight code.
pub enum Step {
    /// A new temporary: `mov`, `and`, `or` or `xor` of predicates.
    Compute(Op, Vec<Predicate>),
    /// An instruction of a side, under a guard, negated or not.
    Guarded(Inst, Predicate, bool),
}

/// The straight code of a region, without a terminator.
pub struct StraightCode {
    /// In order.
    pub steps: Vec<Step>,
}

impl StraightCode {
    /// The straight code of a region: the true side's instructions, then the false side's.
    pub fn of(func: &Function, region: &Region) -> StraightCode {
        let sides = [0, 1].map(|side| region.insts(func, side).collect::<Vec<_>>());
        let branched = region.condition.reg;
        let overwrites = |inst: &Inst| func.insts[*inst].dsts.contains(&branched);
        let overwritten_at = sides.iter().flatten().position(overwrites);
        let needs_copy = overwritten_at.is_some_and(|place| place + 1 < sides[0].len() + sides[1].len());
        let mut builder = Builder {
            steps: Vec::new(),
            temporaries: 0,
            branched,
            is_copied: needs_copy,
            is_overwritten: false,
            known: BTreeMap::new(),
        };
        if needs_copy {
            builder.compute(Op::Mov, [Predicate::Reg(branched)]);
        }
        for (side, insts) in sides.iter().enumerate() {
            for &inst in insts {
                let (predicate, negated) = builder.guard(region.guard(side), func.insts[inst].guard);
                builder.steps.push(Step::Guarded(inst, predicate, negated));
                builder.overwrite(&func.insts[inst].dsts);
            }
        }
        StraightCode { steps: builder.steps }
    }

    /// The opcodes of what has to be computed besides the sides.
    pub fn computed(&self) -> impl Iterator<Item = Opcode> + '_ {
        self.steps.iter().filter_map(|step| match step {
            Step::Compute(op, _) => Some(Opcode::new(*op, Type::Pred)),
            Step::Guarded(..) => None,
        })
    }
}

impl Step {
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

struct Builder {
    steps: Vec<Step>,
    temporaries: usize,
    /// The register that the branch asks.
    branched: Reg,
    /// Is it in the first temporary, because a side overwrites it?
    is_copied: bool,
    /// Has a side overwritten it by now?
    is_overwritten: bool,
    /// What has been computed of each guard's register, as long as it holds the same.
    known: BTreeMap<Reg, Known>,
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

    /// The guard of an instruction of a side that had a guard of its own, or none.
    fn guard(&mut self, side: Guard, own: Option<Guard>) -> (Predicate, bool) {
        let branch = if self.is_copied { Predicate::Temporary(0) } else { Predicate::Reg(self.branched) };
        // A guard that says what the branch says already.
        let own = own.filter(|&own| self.is_overwritten || own != side);
        let Some(own) = own else { return (branch, side.negated) };
        let other = Predicate::Reg(own.reg);
        let mut known = self.known.remove(&own.reg).unwrap_or_default();
        let guard = match (side.negated, own.negated) {
            (false, false) => (*known.both.get_or_insert_with(|| self.compute(Op::And, [branch, other])), false),
            (true, true) => (*known.either.get_or_insert_with(|| self.compute(Op::Or, [branch, other])), true),
            (is_false_side, _) => {
                let both = *known.both.get_or_insert_with(|| self.compute(Op::And, [branch, other]));
                let (slot, plain) =
                    if is_false_side { (&mut known.other_only, other) } else { (&mut known.branch_only, branch) };
                (*slot.get_or_insert_with(|| self.compute(Op::Xor, [plain, both])), false)
            }
        };
        self.known.insert(own.reg, known);
        guard
    }

    /// What registers hold changes.
    fn overwrite(&mut self, dsts: &[Reg]) {
        for dst in dsts {
            self.known.remove(dst);
            self.is_overwritten |= *dst == self.branched;
        }
    }
}

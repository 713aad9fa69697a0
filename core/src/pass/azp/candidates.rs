//! Candidates for versioning variables: register writes, and groups of them that a program treats
//! as short vectors.
//!
//! ```text
//! {x, y, z, w} = tex.2d T, u, v     candidates 1 2 3 4: x, y, z, w; 5: (x, y, z, w)
//! a = mul.f32 x, s                  6: a   7: b   8: c
//! b = mul.f32 y, s                  9: (a, b, c), isomorphic products of the texture's elements
//! c = mul.f32 z, s                  k = mov.f32 1.0 and r = mov.f32 a are none
//! ```
//!
//! 1. Every register write is a scalar candidate, except moves and terminators, with a number by
//!    its place in the text. A predicate is zero where it is false.
//! 2. Vectors are numbered after the scalars; predicates are in none.
//! 3. A scalar is estimated from `p_thresh` on, a vector without the elements below it, if two are
//!    left. Its probability is the product of theirs; the counted one, if the profile has it, is
//!    only shown beside it.
//! 4. A result that is zero because an operand is (a product, a shift, a negation) is left out if
//!    that operand is a candidate at least as likely, or left out itself for such a candidate:
//!    specialising for the candidate specialises for the result. The result has to be in the loop
//!    of the operand, since the region of a check ends with its loop.
//!
//! Linear in the instructions and operands.
//!
//! Source: AZP, sections 3.1 and 3.3.1.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::facts::Facts;
use super::simplification::propagates_zero;
use super::zero_test::{can_compare, can_test};
use crate::flow::{Elements, Value};
use crate::ir::{Block, Function, Inst, InstData, Op, Reg};

/// Register writes, which identify a candidate whatever else of the function changes.
pub(super) type Writes = SmallVec<[(Inst, Reg); 4]>;

/// A candidate that the profile calls zero often enough.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Candidate {
    /// Its number, from 1.
    pub number: u32,
    pub writes: Writes,
    /// Values that are written.
    pub values: Elements,
    /// Probability (0–1) that they are all zero, in all lanes of a warp.
    pub probability: f64,
    /// Counted probability of several values. Where it is not the product, the values are not
    /// independent.
    pub joint: Option<f64>,
}

impl Candidate {
    /// The candidate of these values. None if the profile does not name one of them.
    fn new(facts: &Facts<'_>, number: u32, values: Elements) -> Option<Candidate> {
        let write = |&value: &Value| Some((facts.values.definition(value).inst()?, facts.values.reg(value)));
        let writes = values.iter().map(write).collect::<Option<Writes>>()?;
        let probabilities = writes.iter().map(|&(inst, reg)| facts.zeros.probability(inst, reg));
        let probability = probabilities.product::<Option<f64>>()?;
        let joint = facts.zeros.of_writes(&writes);
        Some(Candidate { number, writes, values, probability, joint })
    }

    /// Its registers.
    pub fn regs(&self) -> SmallVec<[Reg; 4]> {
        self.writes.iter().map(|&(_, reg)| reg).collect()
    }

    /// The instruction that writes the last of them. A candidate has a register, so that the
    /// fallback is never used.
    pub fn last(&self) -> Inst {
        self.writes.last().map_or(Inst::from_u32(0), |&(inst, _)| inst)
    }

    /// Block of that instruction, which is in the layout as long as the candidate exists.
    pub fn block(&self, func: &Function) -> Block {
        func.inst_block(self.last()).unwrap_or(Block::from_u32(0))
    }
}

/// Reason why a candidate has no estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum WhyNot {
    /// It is zero too seldom.
    Unlikely,
    /// It is zero where this one is, which is at least as likely.
    Propagator(Reg),
    /// Its arithmetic is not that of real numbers without the licence.
    NeedsLicence,
    /// There is no comparison with zero for its type, which is no predicate.
    Untestable,
    /// The program checks it already.
    Checked,
    /// One of its registers is overwritten before the last is written.
    NoPlace,
    /// It changes too many instructions, or in too many blocks.
    TooManyChanges,
    /// It copies too many blocks.
    TooManyCopies,
    /// Estimates of likelier candidates have taken all steps of the round.
    OutOfSteps,
}

impl WhyNot {
    /// Is the reason found by the estimate, so that it may differ from round to round?
    pub fn is_of_estimate(self) -> bool {
        matches!(self, WhyNot::NoPlace | WhyNot::TooManyChanges | WhyNot::TooManyCopies | WhyNot::OutOfSteps)
    }
}

/// All scalars in text order, then the vectors, with their numbers, whatever a profile says. A
/// check has no place after a terminator.
pub(super) fn numbered(facts: &Facts<'_>) -> Vec<(u32, Elements)> {
    let func = facts.func;
    let insts = func.block_order().flat_map(|block| func.block_insts(block));
    let scalars = insts.filter(|&inst| is_scalar_writer(&func.insts[inst])).flat_map(|inst| {
        let results = facts.values.defined(inst).iter().enumerate();
        let kept = results.filter(move |&(place, _)| !func.insts[inst].overwrites_dst(place));
        kept.map(|(_, &value)| Elements::from_iter([value]))
    });
    (1..).zip(scalars.chain(facts.vectors())).collect()
}

/// Candidates to estimate, and scalars that the profile names but that get no estimate.
pub(super) fn candidates(facts: &Facts<'_>, p_thresh: f64) -> (Vec<Candidate>, Vec<(Candidate, WhyNot)>) {
    let (mut found, mut filtered) = (Vec::new(), Vec::new());
    let mut seen: BTreeSet<Elements> = BTreeSet::new();
    for (number, mut group) in numbered(facts) {
        if group.len() > 1 {
            group.retain(|value| is_vector_element(facts, *value, p_thresh));
            if group.len() > 1 && seen.insert(group.clone()) {
                found.extend(Candidate::new(facts, number, group));
            }
        } else if let Some(candidate) = Candidate::new(facts, number, group) {
            let &[(inst, reg)] = candidate.writes.as_slice() else { continue };
            let why = own_reason(facts, reg, candidate.probability, p_thresh);
            match why.or_else(|| likelier_cause(facts, inst, candidate.probability, p_thresh)) {
                Some(why) => filtered.push((candidate, why)),
                None => found.push(candidate),
            }
        }
    }
    (found, filtered)
}

/// Is the value likely enough for a vector, and can it be tested after the instruction?
fn is_vector_element(facts: &Facts<'_>, value: Value, p_thresh: f64) -> bool {
    let (Some(inst), reg) = (facts.values.definition(value).inst(), facts.values.reg(value)) else { return false };
    let is_likely = |probability| own_reason(facts, reg, probability, p_thresh).is_none();
    can_compare(facts.func, reg)
        && facts.is_held_after(inst, value)
        && facts.zeros.probability(inst, reg).is_some_and(is_likely)
}

fn is_scalar_writer(data: &InstData) -> bool {
    !data.is_terminator() && (data.opcode.op != Op::Mov || data.dsts.len() > 1)
}

/// Reason against a scalar that depends on no other.
fn own_reason(facts: &Facts<'_>, reg: Reg, probability: f64, p_thresh: f64) -> Option<WhyNot> {
    let func = facts.func;
    if probability < p_thresh {
        return Some(WhyNot::Unlikely);
    }
    if !can_test(func, reg) {
        return Some(WhyNot::Untestable);
    }
    if func.reg_types[reg].is_float() && !facts.fast_math {
        return Some(WhyNot::NeedsLicence);
    }
    None
}

/// An operand that makes the result of an instruction zero, is at least as likely, and is a
/// candidate or left out for one itself.
fn likelier_cause(facts: &Facts<'_>, inst: Inst, probability: f64, p_thresh: f64) -> Option<WhyNot> {
    let Facts { func, values, loops, .. } = facts;
    let block = func.inst_block(inst)?;
    let is_likelier_cause = |&(index, &operand): &(usize, &Value)| {
        let (Some(writer), reg) = (values.definition(operand).inst(), values.reg(operand)) else { return false };
        let Some(home) = func.inst_block(writer) else { return false };
        is_scalar_writer(&func.insts[writer])
            && loops.innermost(home).is_none_or(|around| loops.contains(around, block))
            && facts
                .zeros
                .probability(writer, reg)
                .is_some_and(|other| other >= probability && own_reason(facts, reg, other, p_thresh).is_none())
            && propagates_zero(func, inst, index, facts.fast_math)
    };
    let cause = values.used(inst).iter().enumerate().find(is_likelier_cause);
    cause.map(|(_, &operand)| WhyNot::Propagator(values.reg(operand)))
}

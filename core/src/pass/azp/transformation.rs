//! The transformation: a check, the region as it was, and its copy with what is left of it.
//!
//! ```text
//! n1: r8 = tex …                   n1: r8 = tex …
//!     r0 = tex …                       t1 = setp.eq.f32 r8, 0.0
//!     r2 = mul.f32 r0, r8              t2 = vote.all t1
//!     br n2                  ──▶       br t2, n1_rest_1, n1_rest
//!                                  n1_rest_1: r2 = mov.f32 0.0; br n2
//!                                  n1_rest: r0 = tex …; r2 = mul.f32 r0, r8; br n2
//! ```
//!
//! 1. Split the check's block: what the check needs comes before it, the rest after it. Hoisted
//!    instructions move up.
//! 2. Where the copy ends inside a block, the instructions that follow get a block of their own, a
//!    tail.
//! 3. Copy the blocks with the outcomes of the estimate: constants, simpler instructions, jumps for
//!    decided branches, and without dead code. A copy branches to copies, or to the original's
//!    target if that is not copied.
//! 4. Insert comparisons, vote and branch at the end of the check's block.
//! 5. Assign zero before a read whose only assignment the copy left out.
//! 6. Let declared profiles follow.
//!
//! Sound: on entering the copy every lane has found the registers to be zero, and control enters it
//! nowhere else. The vote lets a warp enter it as a whole, so no lane parts there that did not part
//! before.
//!
//! Cost: linear in the function.
//!
//! Source: AZP, section 3.3.3, figure 4.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::candidates::Candidate;
use super::estimator::Estimator;
use super::opportunity::{Opportunity, Tail};
use super::profiles::{Versions, versioned};
use super::specialisation::{Outcome, copies_itself};
use super::zero_profile::ZeroProfile;
use super::zero_test::{is_predicate, make_zero_test};
use crate::edit::Rewrite;
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::pass::support::last_assignment::assign_zeros;
use crate::trace::Place;

/// Plan of a transformation, found before anything changes.
pub(super) struct Plan {
    head: Block,
    regs: SmallVec<[Reg; 4]>,
    is_divergent: bool,
    probability: f64,
    /// Instructions of the check's block after the check, in their order.
    after_check: Vec<Inst>,
    /// Instructions that move up to the check, in their order there.
    hoisted: Vec<Inst>,
    tails: Vec<Tail>,
    /// Copy of the check's block first, then those of the other blocks.
    copies: Vec<Copy>,
}

/// Copy of a block.
struct Copy {
    original: Block,
    /// The original of each instruction, and the instruction.
    insts: Vec<(Inst, InstData)>,
    has_tail: bool,
}

impl Plan {
    /// The plan for the candidate that was estimated last.
    pub fn new(estimator: &Estimator<'_>, candidate: &Candidate, opportunity: &Opportunity) -> Plan {
        let (specialisation, func) = (&estimator.specialisation, estimator.specialisation.facts.func);
        let &Opportunity { head, start, .. } = opportunity;
        let copy = |original: Block| {
            let copied = func.block_insts(original).filter(|&inst| estimator.is_copied(inst, opportunity));
            let insts = copied.filter_map(|inst| Some((inst, copy_of(estimator, inst)?))).collect();
            Copy { original, insts, has_tail: opportunity.tail_of(original).is_some() }
        };
        Plan {
            head,
            regs: candidate.regs(),
            is_divergent: estimator.is_divergent,
            probability: opportunity.probability,
            after_check: func.block_insts(head).filter(|&inst| estimator.is_after_check(inst, start)).collect(),
            hoisted: specialisation.check.hoisted.clone(),
            tails: opportunity.tails.clone(),
            copies: opportunity.blocks_of_region().map(copy).collect(),
        }
    }

    /// Applies it.
    pub fn apply(self, rewrite: &mut Rewrite<'_, '_>) {
        let head = self.head;
        let zeros = ZeroProfile::of(rewrite.func());
        let rest_name = rewrite.func().fresh_block_name(&format!("{}_rest", rewrite.func().blocks[head].name));
        let after_head = rewrite.func().layout.next_block(head);
        let rest = rewrite.create_block(rest_name, None, after_head);
        self.after_check.iter().for_each(|&inst| rewrite.move_inst(inst, Place { block: rest, before: None }));
        self.hoisted.iter().for_each(|&inst| rewrite.move_inst(inst, Place { block: head, before: None }));
        let mut versions = Versions {
            head,
            rest,
            probability: self.probability,
            copies: BTreeMap::new(),
            tails: BTreeMap::new(),
            goes: BTreeMap::new(),
            begins_at: None,
        };
        for &Tail { block, first } in &self.tails {
            let name = rewrite.func().fresh_block_name(&format!("{}_tail", rewrite.func().blocks[block].name));
            let block = if block == head { rest } else { block };
            let tail = split_before(rewrite, block, first, name);
            versions.tails.insert(block, tail);
        }
        // The fast version comes first, as the branch names it.
        for Copy { original, .. } in &self.copies {
            let original = if *original == head { rest } else { *original };
            let name = rewrite.func().fresh_copy_name(original);
            let copy = rewrite.create_block(name, Some(original), Some(rest));
            versions.copies.insert(original, copy);
        }
        let copied_as = fill_copies(rewrite, self.copies, &mut versions);
        let begin = versions.copies[&rest];
        let condition = insert_check(rewrite, head, &self.regs, self.is_divergent);
        let fast = jump_target(rewrite.func(), begin).unwrap_or(begin);
        rewrite.append(head, InstData::branch_if(condition, fast, rest));
        if fast != begin {
            versions.begins_at = Some(fast);
            rewrite.remove_block(begin, None);
        }
        assign_zeros(rewrite);
        let profiles = versioned(rewrite.func(), &versions);
        rewrite.set_profiles(profiles);
        let of_copies = zeros.of_copies(rewrite.func(), &copied_as);
        rewrite.add_zeros(of_copies);
    }
}

/// Form of an instruction in the copy. None if it is left out.
fn copy_of(estimator: &Estimator<'_>, inst: Inst) -> Option<InstData> {
    let specialisation = &estimator.specialisation;
    let func = specialisation.facts.func;
    let data = &func.insts[inst];
    let copy = match specialisation.outcomes.get(inst) {
        None => data.clone(),
        Some(Outcome::Dead | Outcome::Never) => return None,
        Some(Outcome::Constant(bits)) => {
            let dst = data.dst()?;
            InstData::new(Opcode::mov(func.reg_types[dst]), [dst], [Operand::Const(bits)])
        }
        Some(Outcome::Goes(target)) => InstData::branch(data.targets()[target]),
        Some(outcome @ Outcome::Simpler(_)) => specialisation.simpler(outcome)?.clone(),
    };
    Some(copy).filter(|copy| !copies_itself(copy))
}

/// Moves the end of a block, from an instruction on, to a new block.
fn split_before(rewrite: &mut Rewrite<'_, '_>, block: Block, first: Inst, name: String) -> Block {
    let before = rewrite.func().layout.next_block(block);
    let tail = rewrite.create_block(name, None, before);
    let insts: Vec<Inst> = rewrite.func().block_insts(block).skip_while(|&inst| inst != first).collect();
    insts.into_iter().for_each(|inst| rewrite.move_inst(inst, Place { block: tail, before: None }));
    rewrite.append(block, InstData::branch(tail));
    tail
}

/// Inserts the instructions of the copies. Gives the copy of each instruction.
fn fill_copies(rewrite: &mut Rewrite<'_, '_>, copies: Vec<Copy>, versions: &mut Versions) -> BTreeMap<Inst, Inst> {
    let mut copied_as: BTreeMap<Inst, Inst> = BTreeMap::new();
    for Copy { original, insts, has_tail } in copies {
        let original = if original == versions.head { versions.rest } else { original };
        let end = Place { block: versions.copies[&original], before: None };
        for (inst, mut data) in insts {
            for target in data.targets_mut() {
                *target = versions.copies.get(target).copied().unwrap_or(*target);
            }
            if data.is_terminator()
                && let &[target] = data.targets()
            {
                versions.goes.insert(original, target);
            }
            copied_as.insert(inst, rewrite.insert(end, data));
        }
        if has_tail {
            let target = versions.tails[&original];
            versions.goes.insert(original, target);
            rewrite.insert(end, InstData::branch(target));
        }
    }
    copied_as
}

/// Target of a block that only jumps.
fn jump_target(func: &Function, block: Block) -> Option<Block> {
    let mut insts = func.block_insts(block);
    match (insts.next(), insts.next()) {
        (Some(only), None) => match func.insts[only].targets() {
            &[target] if func.insts[only] == InstData::branch(target) && target != block => Some(target),
            _ => None,
        },
        _ => None,
    }
}

/// Inserts comparisons and vote at the end of the check's block; a predicate is read negated,
/// without a comparison. Gives the operand that decides whether the fast version is taken.
fn insert_check(rewrite: &mut Rewrite<'_, '_>, head: Block, regs: &[Reg], is_divergent: bool) -> Operand {
    let end = Place { block: head, before: None };
    let holds = match *regs {
        [reg] if is_predicate(rewrite.func(), reg) => Operand::NotReg(reg),
        _ => {
            let mut holds = None;
            for &reg in regs {
                let next = rewrite.create_temporary(Type::Pred);
                if let Some(test) = make_zero_test(rewrite.func(), next, reg, holds) {
                    rewrite.insert(end, test);
                    holds = Some(next);
                }
            }
            // A candidate has a register, and each of its registers a test.
            Operand::Reg(holds.unwrap_or(Reg::from_u32(0)))
        }
    };
    if is_divergent {
        return holds;
    }
    let all = rewrite.create_temporary(Type::Pred);
    rewrite.insert(end, InstData::new(Opcode::untyped(Op::VoteAll), [all], [holds]));
    Operand::Reg(all)
}

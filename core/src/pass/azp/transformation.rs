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
//! The block of the check is split. What the check needs comes before it; the rest, from the first instruction that gains,
//! comes behind it. Every block of the region is copied; where a copy goes to
//! a block of the region, it goes to its copy, else where the original goes. Where copying ends in the middle of a block,
//! what follows becomes a block of its own, to which both go.
//!
//! In the copy constants stand for what is known, known branches are jumps, and what nobody needs is left out ([`leave_out_dead_code`]).
//!
//! Sound because on entering the copy every lane has found the registers to be zero, and control comes to it from nowhere
//! else. The vote lets a warp enter it as a whole, so no lane parts there that did not part before.
//!
//! Source: AZP, section 3.3.3, figure 4.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::kept::Change;
use super::needed::leave_out_dead_code;
use super::opportunity::{Estimator, Opportunity, Tail};
use super::profiles::{Versions, versioned};
use super::special::{Special, is_predicate, special, zero_test};
use super::specialisation::copied_register;
use super::unassigned::may_read_unassigned;
use super::zeros::ZeroProfile;
use crate::edit::Rewrite;
use crate::flow::RegisterAccesses;
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::pass::support::last_assignment::assign_zeros;
use crate::trace::Place;

/// Plan of a transformation, found before anything changes.
pub(super) struct Plan {
    head: Block,
    regs: Vec<Reg>,
    is_divergent: bool,
    probability: f64,
    /// The head's instructions behind the check, in their order.
    behind: Vec<Inst>,
    /// Instructions that move up to the check from below, in their order there.
    hoisted: Vec<Inst>,
    tails: Vec<Tail>,
    /// The head's part first, then the copied blocks.
    copies: Vec<CopyOf>,
    /// Is a register perhaps read in the copy where no way to it assigns it any more?
    has_doubtful_reads: bool,
}

/// Rest of a block in the copy.
pub(super) struct CopyOf {
    /// The block.
    pub block: Block,
    /// The original of each instruction, and the instruction.
    pub insts: Vec<(Inst, InstData)>,
    /// Instruction that follows where its end is not copied.
    pub tail: Option<Inst>,
}

impl Plan {
    /// The plan for what an estimator has just estimated.
    pub fn new(estimator: &Estimator<'_, '_>, opportunity: &Opportunity, regs: Vec<Reg>, is_divergent: bool) -> Plan {
        let scene = estimator.specialisation.scene;
        let func = scene.func;
        let &Opportunity { head, start, .. } = opportunity;
        let behind: Vec<Inst> = func.block_insts(head).filter(|&inst| estimator.is_behind_check(inst, start)).collect();
        let tail_of = |block: Block| opportunity.tails.iter().find(|tail| tail.block == block).map(|tail| tail.first);
        let left = |block: Block, insts: &mut dyn Iterator<Item = Inst>| {
            let tail = tail_of(block);
            let copied = insts.take_while(|&inst| Some(inst) != tail);
            let copied = copied.filter(|&inst| !estimator.specialisation.is_hoisted(inst));
            let insts = copied.filter_map(|inst| Some((inst, left_of(estimator, inst)?))).collect();
            CopyOf { block, insts, tail }
        };
        let mut copies = alloc::vec![left(head, &mut behind.iter().copied())];
        copies.extend(opportunity.copied.iter().map(|&block| left(block, &mut func.block_insts(block))));
        leave_out_dead_code(estimator, &mut copies);
        // Until now they told whose value is needed.
        copies.iter_mut().for_each(|copy| copy.insts.retain(|(_, data)| !copies_itself(data)));
        let hoisted = estimator.specialisation.hoisted.clone();
        let has_doubtful_reads = may_read_unassigned(scene, head, &behind, &hoisted, &copies);
        Plan {
            head,
            regs,
            is_divergent,
            probability: opportunity.probability,
            behind,
            hoisted,
            tails: opportunity.tails.clone(),
            copies,
            has_doubtful_reads,
        }
    }

    /// Does it. What is known of zeros and of accesses follows, and what is declared. Gives what has changed.
    pub fn carry_out(
        self,
        rewrite: &mut Rewrite<'_, '_>,
        (zeros, accesses): (&mut ZeroProfile, &mut RegisterAccesses),
    ) -> Change {
        let head = self.head;
        let func = rewrite.func();
        let sources = self.hoisted.iter().filter_map(|&inst| func.inst_block(inst));
        let blocks_before = func.blocks.len();
        let mut change = Change {
            touched: self.copies.iter().map(|copy| copy.block).chain(sources).collect(),
            hoisted: self.hoisted.clone(),
            insts: func.insts.len(),
            blocks: blocks_before,
            is_anywhere: false,
        };
        let rest_name = rewrite.func().fresh_block_name(&format!("{}_rest", rewrite.func().blocks[head].name));
        let after_head = rewrite.func().layout.next_block(head);
        let rest = rewrite.create_block(rest_name, None, after_head);
        for &inst in &self.behind {
            rewrite.move_inst(inst, Place { block: rest, before: None });
        }
        for &inst in &self.hoisted {
            rewrite.move_inst(inst, Place { block: head, before: None });
        }
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
            let block = if block == head { rest } else { block };
            let stem = rewrite.func().blocks[if block == rest { head } else { block }].name.clone();
            let name = rewrite.func().fresh_block_name(&format!("{stem}_tail"));
            let before = rewrite.func().layout.next_block(block);
            let tail = rewrite.create_block(name, None, before);
            let insts: Vec<Inst> = rewrite.func().block_insts(block).skip_while(|&inst| inst != first).collect();
            for inst in insts {
                rewrite.move_inst(inst, Place { block: tail, before: None });
            }
            rewrite.append(block, InstData::branch(tail));
            versions.tails.insert(block, tail);
        }
        // The fast path stands first, as the branch names it.
        for copy in &self.copies {
            let original = if copy.block == head { rest } else { copy.block };
            let name = rewrite.func().fresh_copy_name(original);
            let block = rewrite.create_block(name, Some(original), Some(rest));
            versions.copies.insert(original, block);
        }
        let mut copied_as: BTreeMap<Inst, Inst> = BTreeMap::new();
        for CopyOf { block, insts, tail } in self.copies {
            let original = if block == head { rest } else { block };
            let copy = versions.copies[&original];
            for (inst, mut data) in insts {
                let is_settled = data.is_terminator() && data.targets().len() == 1;
                for target in data.targets_mut() {
                    if *target != head
                        && let Some(&copied) = versions.copies.get(target)
                    {
                        *target = copied;
                    }
                }
                if is_settled {
                    versions.goes.insert(original, data.targets()[0]);
                }
                let copied = rewrite.insert(Place { block: copy, before: None }, data);
                copied_as.insert(inst, copied);
            }
            if tail.is_some() {
                let target = versions.tails[&original];
                versions.goes.insert(original, target);
                rewrite.insert(Place { block: copy, before: None }, InstData::branch(target));
            }
        }
        let begin = versions.copies[&rest];
        // Only what can be asked for zero is a candidate.
        let condition = insert_check(rewrite, head, &self.regs, self.is_divergent);
        let condition = condition.unwrap_or(Operand::Reg(Reg::from_u32(0)));
        let fast = straight_on(rewrite.func(), begin).unwrap_or(begin);
        rewrite.append(head, InstData::branch_if(condition, fast, rest));
        if fast != begin {
            versions.begins_at = Some(fast);
            rewrite.remove_block(begin, None);
        }
        // A copy may be without the only assignment that some way to a read had.
        if self.has_doubtful_reads {
            let before = rewrite.func().insts.len();
            assign_zeros(rewrite);
            let is_old = |block: Block| block.index() < blocks_before;
            let mut added = (before..rewrite.func().insts.len()).map(Inst::new);
            change.is_anywhere = added.any(|inst| rewrite.func().inst_block(inst).is_some_and(is_old));
        }
        debug_assert!(
            self.has_doubtful_reads || crate::verify::unassigned_reads(rewrite.func()).is_empty(),
            "a transformation has taken the only assignment away"
        );
        accesses.follow(rewrite.func(), change.changed_blocks(rewrite.func()).as_deref());
        let profiles = versioned(rewrite.func(), &versions);
        rewrite.set_profiles(profiles);
        let of_copies = zeros.follow(rewrite.func(), &copied_as);
        rewrite.add_zeros(of_copies);
        change
    }
}

/// Target of a block that only jumps.
fn straight_on(func: &Function, block: Block) -> Option<Block> {
    let mut insts = func.block_insts(block);
    match (insts.next(), insts.next()) {
        (Some(only), None) => match func.insts[only].targets() {
            &[target] if func.insts[only] == InstData::branch(target) && target != block => Some(target),
            _ => None,
        },
        _ => None,
    }
}

/// Puts comparisons and vote at the end of the head; a predicate is read negated, without a comparison. Gives the operand
/// that says whether the fast path is taken.
fn insert_check(rewrite: &mut Rewrite<'_, '_>, head: Block, regs: &[Reg], is_divergent: bool) -> Option<Operand> {
    let end = Place { block: head, before: None };
    let holds = match *regs {
        [reg] if is_predicate(rewrite.func(), reg) => Operand::NotReg(reg),
        _ => {
            let mut holds = None;
            for &reg in regs {
                let next = rewrite.create_temporary(Type::Pred);
                let test = zero_test(rewrite.func(), next, reg, holds)?;
                rewrite.insert(end, test);
                holds = Some(next);
            }
            Operand::Reg(holds?)
        }
    };
    if is_divergent {
        return Some(holds);
    }
    let all = rewrite.create_temporary(Type::Pred);
    rewrite.insert(end, InstData::new(Opcode::untyped(Op::VoteAll), [all], [holds]));
    Some(Operand::Reg(all))
}

/// Rest of an instruction in the copy, before dead code is left out. None where it never runs.
fn left_of(estimator: &Estimator<'_, '_>, inst: Inst) -> Option<InstData> {
    let specialisation = &estimator.specialisation;
    let scene = specialisation.scene;
    let used = scene.known.values.used(inst);
    let data = &scene.func.insts[inst];
    let known = |number: usize| specialisation.constant(*used.get(number)?);
    match special(scene, inst, known) {
        Special::Same => Some(data.clone()),
        Special::Constant(bits) => {
            let dst = data.dst()?;
            Some(InstData::new(Opcode::mov(scene.func.reg_types[dst]), [dst], [Operand::Const(bits)]))
        }
        Special::Never => None,
        Special::Goes(target) => Some(InstData::branch(data.targets()[target])),
        Special::Simpler(data) => Some(data),
    }
}

/// Does the instruction leave everything as it is?
pub(super) fn copies_itself(data: &InstData) -> bool {
    copied_register(data).is_some_and(|reg| data.dst() == Some(reg))
}

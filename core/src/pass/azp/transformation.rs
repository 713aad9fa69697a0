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
//! In the copy constants stand for what is known, known branches are jumps, and what equations 1 to 4 find dead is left
//! out. These are solved here on the copy itself, from what is live where it is left:
//!
//! ```text
//! Gen(i) = nothing, if no result of i is live behind it and i has no effect; else what i reads
//! Kill(i) = what i writes, unless it is guarded
//! ```
//!
//! As sets grow from nothing, instructions that only feed each other are dead too. Stores, atomics, draws and branches have
//! no results whose death could excuse them: they always read.
//!
//! Sound because on entering the copy every lane has found the registers to be zero, and control comes to it from nowhere
//! else. The vote lets a warp enter it as a whole, so no lane parts there that did not part before.
//!
//! Source: AZP, sections 3.3.2 (equations 1 to 4) and 3.3.3, figure 4.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::opportunity::{Estimator, Opportunity, Tail};
use super::profiles::{Versions, versioned};
use super::special::{Special, special, zero_test};
use super::specialisation::copied_register;
use crate::edit::{Place, Rewrite};
use crate::flow::Liveness;
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::pass::last_assignment::{assign_zeros, has_doubtful_reads};
use crate::view::Listener;

/// What is done, found before anything changes.
pub(super) struct Plan {
    head: Block,
    regs: Vec<Reg>,
    is_divergent: bool,
    probability: f64,
    /// The head's instructions behind the check, in their order.
    behind: Vec<Inst>,
    tails: Vec<Tail>,
    /// The head's part first, then the copied blocks.
    copies: Vec<CopyOf>,
    /// Is a register read where not every way has assigned it?
    has_doubtful_reads: bool,
}

/// What is left of a block in the copy.
struct CopyOf {
    block: Block,
    /// The original of each instruction, and the instruction.
    insts: Vec<(Inst, InstData)>,
    /// What comes next where its end is not copied.
    tail: Option<Inst>,
}

impl Plan {
    /// The plan for what an estimator has just estimated.
    pub fn new(
        estimator: &Estimator<'_, '_>,
        opportunity: &Opportunity,
        regs: Vec<Reg>,
        is_divergent: bool,
        liveness: &Liveness,
    ) -> Plan {
        let scene = estimator.specialisation.scene;
        let func = scene.func;
        let &Opportunity { head, start, .. } = opportunity;
        let behind: Vec<Inst> = func.block_insts(head).filter(|&inst| estimator.is_behind_check(inst, start)).collect();
        let tail_of = |block: Block| opportunity.tails.iter().find(|tail| tail.block == block).map(|tail| tail.first);
        let left = |block: Block, insts: &mut dyn Iterator<Item = Inst>| {
            let tail = tail_of(block);
            let copied = insts.take_while(|&inst| Some(inst) != tail);
            let insts = copied.filter_map(|inst| Some((inst, left_of(estimator, inst)?))).collect();
            CopyOf { block, insts, tail }
        };
        let mut copies = vec![left(head, &mut behind.iter().copied())];
        copies.extend(opportunity.copied.iter().map(|&block| left(block, &mut func.block_insts(block))));
        let mut plan = Plan {
            head,
            regs,
            is_divergent,
            probability: opportunity.probability,
            behind,
            tails: opportunity.tails.clone(),
            copies,
            has_doubtful_reads: has_doubtful_reads(func, &scene.known.dominators),
        };
        plan.leave_out_dead_code(func, liveness);
        plan
    }

    /// Solves equations 1 to 4 on the copy, and leaves out what they find dead.
    fn leave_out_dead_code(&mut self, func: &Function, liveness: &Liveness) {
        let number: BTreeMap<Block, usize> =
            self.copies.iter().enumerate().skip(1).map(|(number, copy)| (copy.block, number)).collect();
        let regs = func.regs.len();
        // What is live where control leaves the copy does not change.
        let mut outside = vec![FixedBitSet::with_capacity(regs); self.copies.len()];
        for (copy, live) in self.copies.iter().zip(&mut outside) {
            if let Some(tail) = copy.tail {
                *live = self.live_before_tail(func, liveness, copy.block, tail);
            }
            let targets = copy.insts.last().map_or(&[][..], |(_, data)| data.targets());
            for target in targets.iter().filter(|target| !number.contains_key(target)) {
                liveness.live_in(*target).for_each(|reg| live.insert(reg.index()));
            }
        }
        let mut at_start = vec![FixedBitSet::with_capacity(regs); self.copies.len()];
        loop {
            let mut has_changed = false;
            for place in (0..self.copies.len()).rev() {
                let mut live = self.live_at_end(place, &number, &outside, &at_start);
                for (_, data) in self.copies[place].insts.iter().rev() {
                    step_back(data, &mut live);
                }
                has_changed |= live != at_start[place];
                at_start[place] = live;
            }
            if !has_changed {
                break;
            }
        }
        for place in 0..self.copies.len() {
            let mut live = self.live_at_end(place, &number, &outside, &at_start);
            let mut kept = Vec::new();
            for (inst, data) in core::mem::take(&mut self.copies[place].insts).into_iter().rev() {
                if step_back(&data, &mut live) {
                    kept.push((inst, data));
                }
            }
            kept.reverse();
            self.copies[place].insts = kept;
        }
    }

    fn live_at_end(
        &self,
        place: usize,
        number: &BTreeMap<Block, usize>,
        outside: &[FixedBitSet],
        at_start: &[FixedBitSet],
    ) -> FixedBitSet {
        let mut live = outside[place].clone();
        let targets = self.copies[place].insts.last().map_or(&[][..], |(_, data)| data.targets());
        for target in targets.iter().filter_map(|target| number.get(target)) {
            live.union_with(&at_start[*target]);
        }
        live
    }

    /// What is live before the first instruction that is not copied.
    fn live_before_tail(&self, func: &Function, liveness: &Liveness, block: Block, tail: Inst) -> FixedBitSet {
        let mut live = FixedBitSet::with_capacity(func.regs.len());
        liveness.live_out(block).for_each(|reg| live.insert(reg.index()));
        let insts: Vec<Inst> = if block == self.head { self.behind.clone() } else { func.block_insts(block).collect() };
        for &inst in insts.iter().rev() {
            let data = &func.insts[inst];
            if data.guard.is_none() {
                data.dsts.iter().for_each(|dst| live.set(dst.index(), false));
            }
            data.for_each_use(|reg| live.insert(reg.index()));
            if inst == tail {
                break;
            }
        }
        live
    }

    /// Does it.
    pub fn carry_out<S: Listener>(self, rewrite: &mut Rewrite<'_, '_, S>) {
        let writes = super::zeros::zero_writes(rewrite.func());
        let head = self.head;
        let rest_name = rewrite.func().fresh_block_name(&format!("{}_rest", rewrite.func().blocks[head].name));
        let after_head = rewrite.func().layout.next_block(head);
        let rest = rewrite.create_block(rest_name, None, after_head);
        for &inst in &self.behind {
            rewrite.move_inst(inst, Place { block: rest, before: None });
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
        let mut originals: BTreeMap<Inst, Inst> = BTreeMap::new();
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
                originals.insert(copied, inst);
            }
            if tail.is_some() {
                let target = versions.tails[&original];
                versions.goes.insert(original, target);
                rewrite.insert(Place { block: copy, before: None }, InstData::branch(target));
            }
        }
        let begin = versions.copies[&rest];
        // Only what can be compared with zero is a candidate.
        let condition = insert_check(rewrite, head, &self.regs, self.is_divergent).unwrap_or(Reg::from_u32(0));
        let fast = straight_on(rewrite.func(), begin).unwrap_or(begin);
        rewrite.append(head, InstData::branch_if(Operand::Reg(condition), fast, rest));
        if fast != begin {
            versions.begins_at = Some(fast);
            rewrite.remove_block(begin, None);
        }
        // A copy may be without the only assignment that some way to a read had.
        if self.has_doubtful_reads {
            assign_zeros(rewrite);
        }
        let profiles = versioned(rewrite.func(), &versions, &writes, &originals);
        rewrite.set_profiles(profiles);
    }
}

/// Where a block only jumps to, if that is all it does.
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

/// Puts comparisons and vote at the end of the head. Gives the register that says whether the fast path is taken.
fn insert_check<S: Listener>(
    rewrite: &mut Rewrite<'_, '_, S>,
    head: Block,
    regs: &[Reg],
    is_divergent: bool,
) -> Option<Reg> {
    let end = Place { block: head, before: None };
    let mut holds = None;
    for &reg in regs {
        let next = rewrite.create_temporary(Type::Pred);
        let test = zero_test(rewrite.func(), next, reg, holds)?;
        rewrite.insert(end, test);
        holds = Some(next);
    }
    if is_divergent {
        return holds;
    }
    let all = rewrite.create_temporary(Type::Pred);
    rewrite.insert(end, InstData::new(Opcode::untyped(Op::VoteAll), [all], [Operand::Reg(holds?)]));
    Some(all)
}

/// One step of equations 1 to 3 against control. Does the instruction stay?
fn step_back(data: &InstData, live: &mut FixedBitSet) -> bool {
    let stays = data.opcode.has_effect() || data.dsts.iter().any(|dst| live.contains(dst.index()));
    if !stays {
        return false;
    }
    if data.guard.is_none() {
        data.dsts.iter().for_each(|dst| live.set(dst.index(), false));
    }
    data.for_each_use(|reg| live.insert(reg.index()));
    true
}

/// What an instruction becomes in the copy, before dead code is left out. None where it never runs.
fn left_of(estimator: &Estimator<'_, '_>, inst: Inst) -> Option<InstData> {
    let specialisation = &estimator.specialisation;
    let scene = specialisation.scene;
    let used = scene.known.values.used(inst);
    let data = &scene.func.insts[inst];
    let known = |number: usize| specialisation.constant(*used.get(number)?);
    match special(scene.func, inst, scene.fast_math, known) {
        Special::Same => Some(data.clone()),
        Special::Constant(bits) => {
            let dst = data.dst()?;
            Some(InstData::new(Opcode::mov(scene.func.regs[dst].ty), [dst], [Operand::Const(bits)]))
        }
        Special::Never => None,
        Special::Goes(target) => Some(InstData::branch(data.targets()[target])),
        Special::Simpler(data) if copies_itself(&data) => None,
        Special::Simpler(data) => Some(data),
    }
}

/// Does the instruction leave everything as it is?
pub(super) fn copies_itself(data: &InstData) -> bool {
    copied_register(data).is_some_and(|reg| data.dst() == Some(reg))
}

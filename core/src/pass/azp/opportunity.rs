//! Estimate of specialising for a candidate: the region that gains, its cycles, and the verdict.
//!
//! ```text
//! T_R      cycles of the region as it is             gain = T_R - (P · T_S + (1 - P) · T_R + T_check)
//! T_S      cycles of what is left if it is zero      su   = (T_R - T_S - T_check) / T_R
//! T_check  cycles of the comparison, vote, branch    su_thresh = e^(-|S| / (50 + 10 · MemKilled))
//! ```
//!
//! T_R is what the region costs a warp whose registers are zero, as T_S is. That is less than what it costs on average where
//! a branch goes by what is zero: the way that such a warp does not take costs it nothing in the program as it is either,
//! and it takes the other one whenever it comes there. The printed equation has one T_R for all warps, and would count as
//! saved what never ran: `r = 0` closing a branch to 1000 cycles saves the branch. Nor does a memory operation whose guard
//! fails in all lanes wait for memory. With that, T_R - T_AZP = P · (T_R - T_S) - T_check is what is gained, since warps with
//! something else run what they ran before.
//!
//! The region is refined first. Of what the check dominates only those blocks are copied that gain something, or stand on
//! the way to one that does; and of the last blocks on the way nothing behind the last instruction that gains. The check
//! stands right behind the last of the candidate's registers. If something gains that stood before, the check moves in
//! front of it, with what it needs.
//!
//! Which formula decides: as printed, T_δ is T_AZP - T_R, which is negative for a gain, and asking for `su < su_thresh`
//! prefers the worse of two candidates. The prose asks for a gain of 25 cycles and for more speed-up the more blocks are
//! copied, less so the more memory operations go away. So the rule is: gain > 25 and what remains of the region's time,
//! (T_S + T_check) / T_R, is below su_thresh, which moves in every variable the way the prose says. `printed` and
//! `expected` (with P inside su) are there to compare.
//!
//! Source: AZP, section 3.3.2, step 5, equations 5 and 6.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::candidates::Candidate;
use super::scene::Scene;
use super::special::zero_test;
use super::specialisation::{Outcome, Specialisation};
use super::stamped::Stamped;
use super::transformation::copies_itself;
use crate::flow::{Definition, Value};
use crate::ir::{Block, Inst, InstData, Op, Opcode, Reg, Type};
use crate::machine::OpClass;

/// Blocks that a region may have.
pub(super) const MOST_BLOCKS: usize = 256;
/// Instructions that constants change, from which on their blocks are counted before dead code is looked for.
const WORTH_A_LOOK: usize = 32;
/// Cycles below which a difference is one of rounding.
const NOTHING: f64 = 1e-9;
/// Relative difference of the times of one estimate that rounding may cause.
const ROUNDING: f64 = 1e-9;

/// A block of the region behind whose last gaining instruction the rest is not copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tail {
    /// The block.
    pub block: Block,
    /// The first instruction that is not copied.
    pub first: Inst,
}

/// The estimate of a candidate. Times are in cycles for each run of the function by a warp.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Opportunity {
    /// The block of the check.
    pub head: Block,
    /// The last instruction that writes a register of the candidate.
    pub last: Inst,
    /// The first instruction behind the check. What the check needs, of those behind it, comes before.
    pub start: Inst,
    /// The blocks that are copied, besides what stands behind the check in its own.
    pub copied: Vec<Block>,
    /// Ends of the copy inside blocks.
    pub tails: Vec<Tail>,
    /// P, 0–1.
    pub probability: f64,
    /// T_R, where the candidate is zero.
    pub t_region: f64,
    /// T_S.
    pub t_special: f64,
    /// T_check.
    pub t_check: f64,
    /// MemKilled.
    pub memory_killed: usize,
    /// Instructions that go away or become constants.
    pub killed: usize,
    /// Would lanes part before something that depends on who is with it, or meet earlier?
    pub parts_lanes: bool,
}

/// Which formula decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThresholdRule {
    /// Remaining share of the region's time is less than the threshold.
    Remaining,
    /// Equations 5 and 6 as they are printed.
    Printed,
    /// Expected form of the first, for a warp that may or may not take the fast path.
    Expected,
}

/// Why a candidate is not transformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// Nothing in the region changes.
    NothingGained,
    /// It gains too little, or loses.
    Gain,
    /// It gains too little for its size.
    Threshold,
    /// Lanes would part that have to be together.
    Convergent,
}

impl Opportunity {
    /// T_AZP, equation 5.
    pub fn t_azp(&self) -> f64 {
        self.probability * self.t_special + (1.0 - self.probability) * self.t_region + self.t_check
    }

    /// T_R - T_AZP: what is gained.
    pub fn gain(&self) -> f64 {
        self.t_region - self.t_azp()
    }

    /// Lists blocks as it would if it was made of a scene where they may follow each other in another order.
    pub fn bring_in_order(&mut self, scene: &Scene<'_>) {
        self.copied.sort_unstable_by_key(|&block| scene.known.cfg.position(block));
    }

    /// Is it another one, but for the order of what it lists and what rounding makes?
    pub fn is_about(&self, other: &Opportunity) -> bool {
        let times = |it: &Opportunity| [it.t_region, it.t_special, it.t_check];
        let is_about = |(a, b): (f64, f64)| (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
        let facts = |it: &Opportunity| (it.head, it.last, it.start, it.memory_killed, it.killed, it.parts_lanes);
        let blocks = |it: &Opportunity| it.copied.iter().copied().collect::<BTreeSet<Block>>();
        let tails = |it: &Opportunity| it.tails.iter().map(|tail| (tail.block, tail.first)).collect::<BTreeSet<_>>();
        facts(self) == facts(other)
            && (blocks(self), tails(self)) == (blocks(other), tails(other))
            && times(self).into_iter().zip(times(other)).all(is_about)
    }

    /// su, equation 6.
    pub fn speed_up(&self) -> f64 {
        (self.t_region - self.t_special - self.t_check) / self.t_region
    }

    /// |S|: blocks that are copied.
    pub fn blocks(&self) -> usize {
        self.copied.len() + 1
    }

    /// su_thresh, equation 6.
    pub fn threshold(&self) -> f64 {
        libm::exp(-(self.blocks() as f64) / (50.0 + 10.0 * self.memory_killed as f64))
    }

    /// Is it transformed?
    pub fn verdict(&self, rule: ThresholdRule, min_cycles: f64) -> Result<(), Refusal> {
        if self.killed == 0 || self.t_region <= 0.0 {
            return Err(Refusal::NothingGained);
        }
        if self.parts_lanes {
            return Err(Refusal::Convergent);
        }
        let (gains, passes) = match rule {
            ThresholdRule::Remaining => (self.gain() > min_cycles, self.speed_up() > 1.0 - self.threshold()),
            ThresholdRule::Expected => (self.gain() > min_cycles, self.gain() / self.t_region > 1.0 - self.threshold()),
            ThresholdRule::Printed => (-self.gain() > min_cycles, self.speed_up() < self.threshold()),
        };
        match (gains, passes) {
            (false, _) => Err(Refusal::Gain),
            (true, false) => Err(Refusal::Threshold),
            (true, true) => Ok(()),
        }
    }
}

/// Estimates one candidate after the other.
pub(super) struct Estimator<'s, 'a> {
    pub specialisation: Specialisation<'s, 'a>,
    is_divergent: bool,
    has_irreducible_loops: bool,
    /// Blocks that are copied.
    inside: Stamped<Block, ()>,
    /// Last instruction that gains, by block.
    last_gain: Stamped<Block, Option<Inst>>,
    /// Executions of each copied block where the candidate is zero, for each run of the function by a warp.
    frequencies: Stamped<Block, f64>,
    /// Bounds of the last estimate's copy: its begin in its first block, and its ends in others.
    bounds: Option<(Inst, Vec<Tail>)>,
}

impl<'s, 'a> Estimator<'s, 'a> {
    /// Tables for the candidates of a scene. `is_divergent`: each lane branches for itself.
    pub fn new(scene: &'s Scene<'a>, is_divergent: bool) -> Estimator<'s, 'a> {
        let blocks = scene.func.blocks.len();
        Estimator {
            specialisation: Specialisation::new(scene),
            is_divergent,
            has_irreducible_loops: scene.known.loops.iter().any(|(_, data)| data.is_irreducible()),
            inside: Stamped::new(blocks),
            last_gain: Stamped::new(blocks),
            frequencies: Stamped::new(blocks),
            bounds: None,
        }
    }

    /// The estimate of a candidate. None where the region or what the check needs is too large to look at.
    pub fn estimate(&mut self, candidate: &Candidate) -> Option<Opportunity> {
        self.specialisation.assume_zero(&candidate.values, candidate.hoist.as_ref())?;
        let (scene, head) = (self.specialisation.scene, self.specialisation.head);
        let writers = candidate.values.iter().filter_map(|&value| scene.known.values.definition(value).inst());
        let last = writers.max_by_key(|&inst| scene.place(inst))?;
        // What gains by constants alone still does without dead code. Where that is in too many blocks already, there is no
        // need to look for more.
        let most_blocks = scene.known.dominators.subtree(head).len();
        if most_blocks > MOST_BLOCKS {
            if self.reaches_too_far() {
                return None;
            }
            if self.specialisation.outcomes.keys().len() >= WORTH_A_LOOK {
                let gaining = self.gaining();
                self.refine(&gaining)?;
            }
        }
        self.specialisation.find_dead();
        if most_blocks > MOST_BLOCKS && self.reaches_too_far() {
            return None;
        }
        let gaining = self.gaining();
        // Blocks of what becomes simpler; how often they run, and what stands there, is asked below.
        for place in 0..self.specialisation.outcomes.keys().len() {
            self.specialisation.sees_inst(self.specialisation.outcomes.keys()[place]);
        }
        let start = self.start(&gaining)?;
        self.refine(&gaining)?;
        let tails = self.tails();
        self.keep_what_is_read_outside(&tails, start);

        let mut opportunity = Opportunity {
            head,
            last,
            start,
            copied: self.inside.keys().to_vec(),
            tails,
            probability: candidate.probability,
            t_region: 0.0,
            t_special: 0.0,
            t_check: self.check_cycles(candidate),
            memory_killed: 0,
            killed: 0,
            parts_lanes: false,
        };
        opportunity.parts_lanes = (self.is_divergent || self.leaves_edges_out(&opportunity))
            && (self.has_convergent(&opportunity) || self.has_convergent_before_meeting(&opportunity));
        opportunity.copied.sort_unstable_by_key(|&block| scene.known.cfg.position(block));
        self.find_frequencies(&opportunity.copied);
        let jump = scene.prices.of(&InstData::branch(head));
        let end_of = |block: Block| opportunity.tails.iter().find(|tail| tail.block == block).map(|tail| tail.first);
        for &block in &opportunity.copied {
            let cycles = end_of(block).map_or_else(|| scene.block_cycles(block), |first| scene.cycles_before(first));
            opportunity.t_region += self.frequency(block) * cycles;
        }
        opportunity.t_region += scene.frequency(head) * self.head_cycles(start, end_of(head));
        // What moves up is no part of the region any more.
        for &inst in &self.specialisation.hoisted {
            let Some(block) = scene.func.inst_block(inst) else { continue };
            let is_copied = self.inside.contains(block);
            if is_copied && end_of(block).is_none_or(|end| scene.place(inst) < scene.place(end)) {
                opportunity.t_region -= self.frequency(block) * scene.cycles(inst);
            }
        }
        // Both ways end in a jump to what they share.
        opportunity.t_check += opportunity.tails.iter().map(|tail| scene.frequency(tail.block) * jump).sum::<f64>();

        let mut saved = 0.0;
        for &inst in self.specialisation.outcomes.keys() {
            let Some(block) = scene.func.inst_block(inst) else { continue };
            let outcome = self.specialisation.outcomes.get(inst);
            let goes = matches!(outcome, Some(Outcome::Dead | Outcome::Constant | Outcome::Never | Outcome::Goes(_)));
            if self.specialisation.dead_blocks.contains(block) {
                // It is not copied, and did not run either.
                opportunity.killed += usize::from(goes);
            } else if block == head || self.inside.contains(block) {
                let before = if outcome == Some(Outcome::Never) {
                    scene.prices.of_no_lane(&scene.func.insts[inst])
                } else {
                    scene.cycles(inst)
                };
                opportunity.t_region -= self.frequency(block) * (scene.cycles(inst) - before);
                saved += self.frequency(block) * (before - self.cycles_left(inst));
                opportunity.killed += usize::from(goes);
                let is_memory = OpClass::of(scene.func.insts[inst].opcode).is_memory();
                let is_gone = matches!(outcome, Some(Outcome::Dead | Outcome::Never));
                opportunity.memory_killed += usize::from(is_gone && is_memory);
            }
        }
        opportunity.t_special = (opportunity.t_region - saved).max(0.0);
        self.bounds = Some((start, opportunity.tails.clone()));
        Some(opportunity)
    }

    /// How often blocks that are copied, in reverse postorder, run where the candidate is zero. A branch that it decides goes
    /// where it goes; below it is as it was, for each time that control comes there.
    fn find_frequencies(&mut self, copied: &[Block]) {
        let (scene, head) = (self.specialisation.scene, self.specialisation.head);
        let cfg = &scene.known.cfg;
        self.frequencies.clear();
        self.frequencies.set(head, scene.frequency(head));
        self.specialisation.sees_frequency(head);
        for &block in copied {
            let before = scene.known.dominators.immediate_dominator(block);
            self.specialisation.sees_frequency(block);
            if let Some(before) = before {
                self.specialisation.sees_block(before);
                self.specialisation.sees_frequency(before);
            }
            let known = before.and_then(|before| Some((before, self.frequencies.get(before)?)));
            let frequency = match known {
                Some((before, here)) => {
                    let is_decided = cfg.out_edges(before).any(|edge| !self.specialisation.is_open(edge));
                    let comes_only_from_there = cfg.in_edges(block).len() == 1;
                    if is_decided && comes_only_from_there {
                        here
                    } else if scene.frequency(before) > 0.0 {
                        scene.frequency(block) * (here / scene.frequency(before))
                    } else {
                        scene.frequency(block)
                    }
                }
                None => scene.frequency(block),
            };
            self.frequencies.set(block, frequency);
        }
    }

    /// Executions of a block that is copied, or of the head, where the candidate is zero.
    fn frequency(&self, block: Block) -> f64 {
        self.frequencies.get(block).unwrap_or(0.0)
    }

    /// Does a branch of the copy go one way only, while lanes may part at another? Without its edges they may meet earlier.
    fn leaves_edges_out(&self, opportunity: &Opportunity) -> bool {
        let func = self.specialisation.scene.func;
        let blocks = core::iter::once(opportunity.head).chain(opportunity.copied.iter().copied());
        let branches = blocks.filter(|&block| func.successors(block).len() > 1);
        let goes_one_way = branches
            .filter_map(|block| func.terminator(block))
            .map(|inst| matches!(self.specialisation.outcomes.get(inst), Some(Outcome::Goes(_))));
        let (mut settled, mut open) = (false, false);
        goes_one_way.for_each(|one_way| (settled, open) = (settled | one_way, open | !one_way));
        settled && open
    }

    /// Does something of the region depend on which lanes execute it together? Both versions of it do then.
    fn has_convergent(&self, opportunity: &Opportunity) -> bool {
        let func = self.specialisation.scene.func;
        let blocks = core::iter::once(opportunity.head).chain(opportunity.copied.iter().copied());
        let insts = blocks
            .chain(self.specialisation.dead_blocks.keys().iter().copied())
            .flat_map(|block| func.block_insts(block));
        let mut convergent = insts.filter(|&inst| func.insts[inst].opcode.op.is_convergent());
        convergent.any(|inst| {
            let is_dead_block =
                func.inst_block(inst).is_some_and(|block| self.specialisation.dead_blocks.contains(block));
            is_dead_block || self.is_copied(inst, &opportunity.tails, opportunity.start)
        })
    }

    /// Does something between a tail and the point where all lanes meet depend on which lanes execute it together? Those of the
    /// two versions come there apart.
    fn has_convergent_before_meeting(&self, opportunity: &Opportunity) -> bool {
        let scene = self.specialisation.scene;
        let is_convergent = |inst: Inst| scene.func.insts[inst].opcode.op.is_convergent();
        let meets = |block: Block| scene.known.post_dominators.post_dominates(block, opportunity.head);
        let (mut seen, mut open) = (FixedBitSet::with_capacity(scene.func.blocks.len()), Vec::<Block>::new());
        for tail in opportunity.tails.iter().filter(|tail| !meets(tail.block)) {
            let rest = scene.func.block_insts(tail.block).skip_while(|&inst| inst != tail.first);
            if rest.into_iter().any(is_convergent) {
                return true;
            }
            open.extend(scene.func.successors(tail.block));
        }
        while let Some(block) = open.pop() {
            if seen.put(block.index()) || meets(block) {
                continue;
            }
            if scene.func.block_insts(block).any(is_convergent) {
                return true;
            }
            open.extend(scene.func.successors(block));
        }
        false
    }

    /// Cycles of one execution of what is left of an instruction.
    fn cycles_left(&self, inst: Inst) -> f64 {
        let scene = self.specialisation.scene;
        match self.specialisation.outcomes.get(inst) {
            None => scene.cycles(inst),
            Some(Outcome::Dead | Outcome::Never) => 0.0,
            Some(Outcome::Constant) => {
                let ty = scene.func.insts[inst].dst().map_or(Type::B32, |dst| scene.func.reg_types[dst]);
                scene.prices.of(&InstData::new(Opcode::mov(ty), [], []))
            }
            Some(Outcome::Goes(_)) => scene.prices.of(&InstData::branch(self.specialisation.head)),
            Some(outcome) => match self.specialisation.simpler(outcome) {
                Some(data) if copies_itself(data) => 0.0,
                Some(data) => scene.prices.of(data),
                None => scene.cycles(inst),
            },
        }
    }

    /// Instructions that gain, of all that change.
    fn gaining(&self) -> Vec<Inst> {
        self.specialisation.outcomes.keys().iter().copied().filter(|&inst| self.gains(inst)).collect()
    }

    /// Does the instruction become cheaper, or read something less that is not a constant?
    fn gains(&self, inst: Inst) -> bool {
        let (scene, outcome) = (self.specialisation.scene, self.specialisation.outcomes.get(inst));
        if matches!(outcome, Some(Outcome::Goes(_))) || scene.cycles(inst) - self.cycles_left(inst) > NOTHING {
            return true;
        }
        let Some(outcome) = outcome else { return false };
        let kept = self.specialisation.simpler(outcome).map(InstData::uses).unwrap_or_default();
        let used = scene.known.values.used(inst).iter().zip(scene.func.insts[inst].uses());
        used.into_iter().any(|(&value, reg)| !kept.contains(&reg) && self.specialisation.constant(value).is_none())
    }

    /// The first instruction behind the check: the one behind the candidate's last, or the first that gains if that stands
    /// before.
    fn start(&self, gaining: &[Inst]) -> Option<Inst> {
        let scene = self.specialisation.scene;
        let is_here = |&inst: &Inst| scene.func.inst_block(inst) == Some(self.specialisation.head);
        let here = gaining.iter().copied().filter(is_here);
        let layout = &scene.func.layout;
        let earliest = match self.specialisation.last {
            Some(last) => layout.next_inst(last),
            None => layout.first_inst(self.specialisation.head),
        };
        here.chain(earliest).min_by_key(|&inst| scene.place(inst))
    }

    /// Does something gain that the check dominates through so many blocks that these alone are too many? Control gets there
    /// through all of them, and along a way without dead blocks: where a block is dead if all ways forward into it are, one
    /// that is not has such a way, unless loops without a single entry keep each other alive.
    fn reaches_too_far(&mut self) -> bool {
        let scene = self.specialisation.scene;
        if self.has_irreducible_loops && !self.specialisation.dead_blocks.keys().is_empty() {
            return false;
        }
        let dominators = &scene.known.dominators;
        let farthest = dominators.depth(self.specialisation.head) as usize + MOST_BLOCKS;
        let too_far = self.specialisation.outcomes.keys().iter().find_map(|&inst| {
            let block = scene.func.inst_block(inst)?;
            let is_too_far = dominators.depth(block) as usize > farthest
                && !self.specialisation.dead_blocks.contains(block)
                && self.gains(inst);
            is_too_far.then_some(block)
        });
        // As long as these are as they are, they dominate what they dominate.
        let next = |&block: &Block| dominators.immediate_dominator(block);
        let chain = core::iter::successors(too_far, next).take(MOST_BLOCKS + 1);
        chain.for_each(|block| self.specialisation.sees_block(block));
        too_far.is_some()
    }

    /// Finds the blocks from which control gets to one that gains, and in each the last instruction that does. None
    /// where they are too many.
    fn refine(&mut self, gaining: &[Inst]) -> Option<()> {
        let (scene, head) = (self.specialisation.scene, self.specialisation.head);
        self.inside.clear();
        self.last_gain.clear();
        let mut stack: Vec<Block> = Vec::new();
        for &inst in gaining {
            let Some(block) = scene.func.inst_block(inst) else { continue };
            if self.specialisation.dead_blocks.contains(block) {
                continue;
            }
            let last = self.last_gain.get(block).flatten();
            if last.is_none_or(|last| scene.place(last) < scene.place(inst)) {
                self.last_gain.set(block, Some(inst));
            }
            if block != head && self.inside.set(block, ()) {
                stack.push(block);
            }
        }
        while let Some(block) = stack.pop() {
            self.specialisation.sees_block(block);
            for &before in scene.known.cfg.predecessors(block) {
                self.specialisation.sees_block(before);
                let is_live = before != head
                    && self.specialisation.is_below(before)
                    && !self.specialisation.dead_blocks.contains(before);
                if is_live && self.inside.set(before, ()) {
                    stack.push(before);
                }
            }
            if self.inside.keys().len() > MOST_BLOCKS {
                return None;
            }
        }
        Some(())
    }

    /// Ends of the region's last blocks.
    fn tails(&self) -> Vec<Tail> {
        let (scene, head) = (self.specialisation.scene, self.specialisation.head);
        let cfg = &scene.known.cfg;
        let mut tails = Vec::new();
        for &block in core::iter::once(&head).chain(self.inside.keys()) {
            let goes_on = |edge| self.specialisation.is_open(edge) && self.inside.contains(cfg.target(edge));
            if cfg.out_edges(block).any(goes_on) {
                continue;
            }
            // With nothing that gains, nothing is transformed either.
            let Some(last) = self.last_gain.get(block).flatten() else { continue };
            if scene.func.insts[last].is_terminator() {
                continue;
            }
            let next = |inst: Inst| scene.func.layout.next_inst(inst);
            let mut first = next(last);
            let comes_before =
                |&inst: &Inst| self.specialisation.is_hoisted(inst) || (block == head && self.comes_before_check(inst));
            while let Some(needed) = first.filter(comes_before) {
                first = next(needed);
            }
            let Some(first) = first else { continue };
            let is_plain_end = matches!(scene.func.insts[first].opcode.op, Op::Br | Op::Ret | Op::Exit);
            if !is_plain_end {
                tails.push(Tail { block, first });
            }
        }
        tails
    }

    /// Is it an instruction of the head that the check needs?
    fn comes_before_check(&self, inst: Inst) -> bool {
        let scene = self.specialisation.scene;
        let is_early = self.specialisation.last.is_some_and(|last| scene.place(inst) <= scene.place(last));
        is_early && self.specialisation.is_needed(inst)
    }

    /// Cycles of what stands behind the check in its block, up to the tail.
    fn head_cycles(&self, start: Inst, tail: Option<Inst>) -> f64 {
        let scene = self.specialisation.scene;
        let (first, last) = (scene.place(start), tail.map_or(u32::MAX, |tail| scene.place(tail)));
        let end = tail.map_or_else(|| scene.block_cycles(self.specialisation.head), |tail| scene.cycles_before(tail));
        (end - scene.cycles_before(start) - self.specialisation.needed_cycles(first..last)).max(0.0)
    }

    /// Does it stand behind the check in its block?
    pub fn is_behind_check(&self, inst: Inst, start: Inst) -> bool {
        let scene = self.specialisation.scene;
        scene.place(inst) >= scene.place(start) && !self.comes_before_check(inst)
    }

    /// Does what was estimated last copy the instruction?
    pub fn is_in_copy(&self, inst: Inst) -> bool {
        self.bounds.as_ref().is_some_and(|(start, tails)| self.is_copied(inst, tails, *start))
    }

    /// Is the instruction copied, with what is left of it?
    fn is_copied(&self, inst: Inst, tails: &[Tail], start: Inst) -> bool {
        let scene = self.specialisation.scene;
        let Some(block) = scene.func.inst_block(inst) else { return false };
        let tail = tails.iter().find(|tail| tail.block == block).map(|tail| tail.first);
        let is_inside = if block == self.specialisation.head {
            self.is_behind_check(inst, start)
        } else {
            self.inside.contains(block) && !self.specialisation.is_hoisted(inst)
        };
        is_inside && tail.is_none_or(|tail| scene.place(inst) < scene.place(tail))
    }

    /// Constants that are read where nothing is copied have to be written.
    fn keep_what_is_read_outside(&mut self, tails: &[Tail], start: Inst) {
        let values = self.specialisation.scene.known.values.clone();
        for place in 0..self.specialisation.outcomes.keys().len() {
            let inst = self.specialisation.outcomes.keys()[place];
            let block = self.specialisation.scene.func.inst_block(inst);
            if block.is_some_and(|block| self.specialisation.dead_blocks.contains(block))
                || self.is_copied(inst, tails, start)
            {
                continue;
            }
            values.used(inst).iter().for_each(|&value| self.specialisation.demand(value));
            for &result in values.defined(inst) {
                if let Definition::Guarded { old, .. } = values.definition(result) {
                    self.specialisation.demand(old);
                }
            }
        }
    }

    /// T_check: a comparison for each register that is no predicate, the vote and the branch.
    fn check_cycles(&self, candidate: &Candidate) -> f64 {
        let scene = self.specialisation.scene;
        let tests = candidate.regs(scene).into_iter().filter_map(|reg| zero_test(scene.func, reg, reg, None));
        let mut cycles: f64 = tests.map(|data| scene.prices.of(&data)).sum();
        if !self.is_divergent {
            cycles += scene.prices.of(&InstData::new(Opcode::untyped(Op::VoteAll), [], []));
        }
        cycles += scene.prices.of(&InstData::new(Opcode::untyped(Op::BrIf), [], []));
        scene.frequency(self.specialisation.head) * cycles
    }
}

/// The register of a value that an instruction writes.
pub(super) fn reg_of(scene: &Scene<'_>, value: Value) -> Reg {
    scene.known.values.reg(value)
}

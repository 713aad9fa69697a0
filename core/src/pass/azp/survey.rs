//! The candidates of a program as it is, with their estimates and verdicts, and what one of them would change: for people
//! who look before the pass does anything.
//!
//! ```text
//! a1 = …                        number  registers  P    T_R    T_S  T_check  verdict
//! b  = work.f32 50, x           1       a1         0.8  812.0  1.0  9.2      gains most: 630.2 cycles
//! c  = mul.f32 a1, b            3       c          0.8                       is zero because a1 is
//! profile zero { n.a1: 0.8 }    of 1: c becomes a constant, b is not needed, both are in the region
//! ```
//!
//! It looks with the pass's own eyes, at one round: the same estimates, the same order, the same sentences. Nothing is
//! computed a second way, so that what is told here is what the pass does next.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::opportunity::Estimator;
use super::remarks::{applied, block_of, filtered_out, limited, named, refused, too_large, verb};
use super::scene::{Analyses, Memory, Scene};
use super::specialisation::Outcome;
use super::{Choice, Judged, Round, Rules, Unestimated, look};
use crate::ir::{Block, Func, Inst, Module, Reg};
use crate::pass::Settings;
use crate::trace::{NoTrace, Remark, RemarkKind};
use crate::view::{self, View};

/// A round of the pass, looked at.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// Does a profile speak of any write?
    pub has_profile: bool,
    /// Candidates by number; vectors after scalars.
    pub candidates: Vec<Surveyed>,
    /// The number of the candidate that the pass would transform for.
    pub best: Option<u32>,
    /// Effect of the requested candidate.
    pub effect: Option<Effect>,
}

/// A candidate, or a write that is none.
#[derive(Clone, PartialEq, Debug)]
pub struct Surveyed {
    /// Its number, by its place in the text.
    pub number: u32,
    /// The registers that have to be zero.
    pub regs: Vec<Reg>,
    /// Instruction that writes the last of them.
    pub inst: Inst,
    /// The probability (0–1) that they are, as a product.
    pub probability: f64,
    /// Counted probability: of one register from the profile, of several from its joint entries.
    pub counted: Option<f64>,
    /// The figures, where it was estimated.
    pub estimate: Option<Estimate>,
    /// Is it good enough to be transformed for?
    pub passes: bool,
    /// The rule that decided, as the pass's remarks call it.
    pub rule: &'static str,
    /// A sentence without the final stop.
    pub verdict: String,
}

/// The figures of a candidate. Times are in cycles for each run of the function by a warp.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// The block of the check.
    pub head: Block,
    /// T_R, where the candidate is zero.
    pub t_region: f64,
    /// T_S.
    pub t_special: f64,
    /// T_check.
    pub t_check: f64,
    /// T_δ, equation 5: T_AZP - T_R, negative where something is gained.
    pub t_delta: f64,
    /// su, equation 6; none where T_R is 0.
    pub speed_up: Option<f64>,
    /// su_thresh, equation 6.
    pub threshold: f64,
    /// MemKilled.
    pub memory_killed: usize,
    /// |S|: blocks that are copied.
    pub blocks: usize,
}

/// Effect of a candidate, before anything is changed.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Effect {
    /// Its number.
    pub number: u32,
    /// The first instruction behind the check; what the check needs of those behind it comes before.
    pub start: Option<Inst>,
    /// The instructions that write its registers.
    pub writers: Vec<Inst>,
    /// The forward slice: what becomes a constant.
    pub constant: Vec<Inst>,
    /// The forward slice: what becomes another, simpler instruction, or a branch with one way.
    pub simpler: Vec<Inst>,
    /// The backward slices: what nobody needs then, and what is never entered.
    pub dead: Vec<Inst>,
    /// The region: all that would have two versions.
    pub region: Vec<Inst>,
}

/// Surveys a function as it is before round `round` of the pass, counted from 1. `wanted` is the number of the candidate
/// whose effect is asked for; none is that of the best.
pub fn survey(module: &Module, func: Func, settings: &Settings, round: i64, wanted: Option<u32>) -> Survey {
    let mut body = module.funcs[func].clone();
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, view::Analyses::default());
    let rules = Rules::new(&view, settings);
    let mut memory = Memory::of(view.func(), rules.prices);
    let Some(found) = look(&mut view, &rules, &mut memory, round, &Choice::Best) else { return Survey::default() };
    let best = found.chosen().map(|best| best.candidate.number);
    let wanted = wanted.or(best);
    let judged = found.judged().find(|judged| Some(judged.candidate.number) == wanted);
    let effect = judged.map(|judged| effect(&mut view, &rules, &memory, judged));
    let mut candidates = listed(&view, &rules, &found, round);
    candidates.sort_by_key(|candidate| candidate.number);
    Survey { has_profile: true, candidates, best, effect }
}

fn listed(view: &View<'_>, rules: &Rules, found: &Round, round: i64) -> Vec<Surveyed> {
    let func = view.func();
    let best = found.chosen().map(|best| best.candidate.number);
    let mut candidates: Vec<Surveyed> = found
        .judged()
        .map(|judged| {
            let estimate = Estimate::of(judged);
            let it = &judged.opportunity;
            let remark = match judged.verdict {
                Ok(()) if best == Some(judged.candidate.number) && round > rules.limit => limited(func, judged, round),
                Ok(()) => applied(func, judged, round),
                Err(why) => refused(func, rules, judged, why, round),
            };
            let (number, regs) = (judged.candidate.number, judged.regs.to_vec());
            let surveyed = Surveyed::new(number, regs, it.last, it.probability, remark);
            Surveyed { estimate: Some(estimate), counted: surveyed.counted.or(judged.candidate.joint), ..surveyed }
        })
        .collect();
    candidates.extend(found.filtered.iter().map(|filtered| {
        let remark = filtered_out(func, rules, filtered);
        Surveyed::new(filtered.number, [filtered.reg].to_vec(), filtered.inst, filtered.probability, remark)
    }));
    let unestimated =
        |it: &Unestimated, remark| Surveyed::new(it.number, it.regs.to_vec(), it.inst, it.probability, remark);
    candidates.extend(found.too_large().map(|large| unestimated(large, too_large(func, large))));
    candidates.extend(found.checked.iter().map(|known| {
        let message =
            format!("the program asks already whether {} {} zero", named(func, &known.regs), verb(&known.regs));
        unestimated(known, Remark::missed("checked", block_of(func, known.inst), message))
    }));
    candidates
}

impl Surveyed {
    fn new(number: u32, regs: Vec<Reg>, inst: Inst, probability: f64, remark: Remark) -> Surveyed {
        let passes = remark.kind == RemarkKind::Applied;
        let Remark { rule, message: verdict, .. } = remark;
        let counted = (regs.len() == 1).then_some(probability);
        Surveyed { number, regs, inst, probability, counted, estimate: None, passes, rule, verdict }
    }
}

impl Estimate {
    fn of(judged: &Judged) -> Estimate {
        let it = &judged.opportunity;
        Estimate {
            head: it.head,
            t_region: it.t_region,
            t_special: it.t_special,
            t_check: it.t_check,
            t_delta: it.t_azp() - it.t_region,
            speed_up: (it.t_region > 0.0).then(|| it.speed_up()),
            threshold: it.threshold(),
            memory_killed: it.memory_killed,
            blocks: it.blocks(),
        }
    }
}

/// Reads what a candidate changes from the tables in which it has just been estimated.
fn effect(view: &mut View<'_>, rules: &Rules, memory: &Memory, judged: &Judged) -> Effect {
    let known = Analyses::of(view, memory);
    let scene = Scene::new(view.func(), known, memory, rules.fast_math, None);
    let mut estimator = Estimator::new(&scene, rules.is_divergent);
    let number = judged.candidate.number;
    let Some(opportunity) = estimator.estimate(&judged.candidate) else {
        return Effect { number, ..Effect::default() };
    };
    let (func, values) = (scene.func, &scene.known.values);
    let writers = judged.candidate.values.iter().filter_map(|&value| values.definition(value).inst()).collect();
    let mut effect = Effect { number, start: Some(opportunity.start), writers, ..Effect::default() };
    let specialisation = &estimator.specialisation;
    let dead_blocks = || specialisation.dead_blocks.keys().iter().copied();
    let blocks = core::iter::once(opportunity.head).chain(opportunity.copied.iter().copied()).chain(dead_blocks());
    for inst in blocks.flat_map(|block| func.block_insts(block)) {
        let is_entered = func.inst_block(inst).is_some_and(|block| !specialisation.dead_blocks.contains(block));
        let is_in_region = if is_entered { estimator.is_in_copy(inst) } else { !specialisation.is_hoisted(inst) };
        if !is_in_region {
            continue;
        }
        effect.region.push(inst);
        let mut results = values.defined(inst).iter();
        let is_constant = results.len() > 0 && results.all(|&result| specialisation.constants.contains(result));
        match specialisation.outcomes.get(inst) {
            _ if !is_entered => effect.dead.push(inst),
            // A constant that only constants follow from is written nowhere; it belongs to the forward slice all the same.
            Some(_) if is_constant => effect.constant.push(inst),
            Some(Outcome::Constant) => effect.constant.push(inst),
            Some(Outcome::Simpler(_) | Outcome::Goes(_)) => effect.simpler.push(inst),
            Some(Outcome::Dead | Outcome::Never) => effect.dead.push(inst),
            None => {}
        }
    }
    effect
}

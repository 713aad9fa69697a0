//! Candidates of a program as it is, with their estimates and verdicts, and the effect of one of
//! them, before the pass changes anything.
//!
//! ```text
//! a1 = …                      number  registers  P    T_R    T_S  T_check  verdict
//! b  = work.f32 50, x         1       a1         0.8  812.0  1.0  9.2      a1 is zero in 80 % …
//! c  = mul.f32 a1, b          3       c          0.8                       c is zero because a1 …
//! profile zero { n.a1: 0.8 }  of 1: c becomes a constant, b is not needed, both are in the region
//! ```
//!
//! A survey is a round of the pass: the same estimates, order and sentences, so that the pass does
//! next what the survey shows.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::candidates::Candidate;
use super::estimate_cache::EstimateCache;
use super::estimator::Estimator;
use super::facts::Facts;
pub use super::opportunity::{Opportunity, Tail};
use super::remarks::{applied, limited, not_estimated, refused};
use super::round::{Choice, Judged, Round};
use super::rules::Rules;
use super::specialisation::Outcome;
use crate::compact_sort::CompactSort;
use crate::ir::{Func, Inst, Module, Reg};
use crate::pass::Settings;
use crate::trace::{NoTrace, Remark, RemarkKind};
use crate::view::{self, View};

/// A round of the pass that changed nothing.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// Does a profile declare any zero?
    pub has_profile: bool,
    /// Candidates by number; vectors after scalars.
    pub candidates: Vec<Surveyed>,
    /// Number of the candidate for which the pass would transform.
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
    /// The figures, if it was estimated.
    pub estimate: Option<Opportunity>,
    /// Is it good enough to be transformed for?
    pub is_good: bool,
    /// The rule that decided, as the pass's remarks call it.
    pub rule: &'static str,
    /// A sentence without the final stop.
    pub verdict: String,
}

/// Effect of a candidate, before anything is changed.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Effect {
    /// Its number.
    pub number: u32,
    /// The first instruction after the check; what the check needs of those after it comes before.
    pub start: Option<Inst>,
    /// The instructions that write its registers.
    pub writers: Vec<Inst>,
    /// Forward slice: instructions that become constants.
    pub constant: Vec<Inst>,
    /// Forward slice: instructions that become simpler ones, or branches with one target.
    pub simpler: Vec<Inst>,
    /// Backward slices: instructions that are not needed then, or never run.
    pub dead: Vec<Inst>,
    /// All instructions that would have two versions.
    pub region: Vec<Inst>,
}

/// Surveys a function as it is before round `round` of the pass, counted from 1. `wanted` is the
/// number of the candidate whose effect is requested, by default the best.
pub fn survey(module: &Module, func: Func, settings: &Settings, round: i64, wanted: Option<u32>) -> Survey {
    let mut body = module.funcs[func].clone();
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, view::Analyses::default());
    let rules = Rules::new(&view, settings);
    let nothing = BTreeSet::new();
    let Some(found) = Round::new(&mut view, &rules, &mut EstimateCache::default(), round, &Choice::BestBut(&nothing))
    else {
        return Survey::default();
    };
    let best = found.chosen().map(|best| best.candidate.number);
    let wanted = wanted.or(best);
    let judged = found.judged.iter().find(|judged| Some(judged.candidate.number) == wanted);
    let effect = judged.map(|judged| effect(&mut view, &rules, judged));
    let mut candidates = surveyed(&view, &rules, &found);
    candidates.compact_sort_by_key(|candidate| candidate.number);
    Survey { has_profile: true, candidates, best, effect }
}

fn surveyed(view: &View<'_>, rules: &Rules, found: &Round) -> Vec<Surveyed> {
    let (func, round) = (view.func(), found.number);
    let judged = found.judged.iter().map(|it| {
        let remark = match it.verdict {
            Ok(()) if round > rules.limit => limited(func, it, round),
            Ok(()) => applied(func, it, round),
            Err(why) => refused(func, rules, it, why, round),
        };
        Surveyed { estimate: Some(it.opportunity.clone()), ..Surveyed::new(&it.candidate, remark) }
    });
    let others = found.not_estimated.iter().map(|(it, why)| Surveyed::new(it, not_estimated(func, rules, it, *why)));
    judged.chain(others).collect()
}

impl Surveyed {
    fn new(candidate: &Candidate, remark: Remark) -> Surveyed {
        let Candidate { number, probability, joint, .. } = *candidate;
        let regs = candidate.regs().to_vec();
        Surveyed {
            number,
            counted: if regs.len() == 1 { Some(probability) } else { joint },
            regs,
            inst: candidate.last(),
            probability,
            estimate: None,
            is_good: remark.kind == RemarkKind::Applied,
            rule: remark.rule,
            verdict: remark.message,
        }
    }
}

/// Reads the effect of a candidate from the tables with which it is estimated once more.
fn effect(view: &mut View<'_>, rules: &Rules, judged: &Judged) -> Effect {
    let facts = Facts::new(view, rules);
    let mut estimator = Estimator::new(&facts, rules.is_divergent);
    let number = judged.candidate.number;
    let Ok(it) = estimator.estimate(&judged.candidate, judged.hoist.as_ref()) else {
        return Effect { number, ..Effect::default() };
    };
    let specialisation = &estimator.specialisation;
    let writers = judged.candidate.writes.iter().map(|&(inst, _)| inst).collect();
    let mut effect = Effect { number, start: Some(it.start), writers, ..Effect::default() };
    let blocks = it.blocks_of_region().chain(specialisation.dead_blocks.keys());
    for inst in blocks.flat_map(|block| facts.func.block_insts(block)) {
        let is_entered = !specialisation.is_in_dead_block(inst);
        let is_hoisted = specialisation.check.hoisted.contains(&inst);
        if is_hoisted || (is_entered && !estimator.is_copied(inst, &it)) {
            continue;
        }
        effect.region.push(inst);
        let mut results = facts.values.defined(inst).iter();
        let is_constant = results.len() > 0 && results.all(|&result| specialisation.constants.contains(result));
        match specialisation.outcomes.get(inst) {
            _ if !is_entered => effect.dead.push(inst),
            // A constant that only constants follow from is written nowhere; it is in the forward
            // slice all the same.
            Some(_) if is_constant => effect.constant.push(inst),
            Some(Outcome::Constant(_)) => effect.constant.push(inst),
            Some(Outcome::Simpler(_) | Outcome::Goes(_)) => effect.simpler.push(inst),
            Some(Outcome::Dead | Outcome::Never) => effect.dead.push(inst),
            None => {}
        }
    }
    effect
}

//! A round of the pass: estimates of all candidates, and a plan for the one that is chosen.
//!
//! ```text
//! number  gains   passes
//! 3       630.2   yes
//! 7       630.2   yes          3 is chosen: both gain most, and it has the smaller number
//! 9       911.0   no
//! ```
//!
//! Candidates are estimated in the order of their probability. In a long chain of products each
//! candidate makes the whole chain constant or dead, so that all of them together would take
//! quadratic time: when the estimates have taken [`STEPS`] steps and [`STEPS_OF_INST`] for each
//! instruction of the function, the others get none, and the remark `out-of-steps` says so.
//!
//! Cost: linear in the function, by this limit.
//!
//! Source: AZP, section 3.3.2, step 5.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::candidates::{Candidate, WhyNot, Writes, candidates};
use super::costs::ROUNDING;
use super::estimate_cache::EstimateCache;
use super::estimator::Estimator;
use super::facts::Facts;
use super::hoisting::{HoistedPlace, Hoisting};
use super::opportunity::{Opportunity, Refusal};
use super::rules::Rules;
use super::transformation::Plan;
use super::zero_profile::{checked_writes, sorted};
use crate::compact_sort::CompactSort;
use crate::ir::Function;
use crate::trace::Remark;
use crate::view::View;

/// Steps after which no more candidates are estimated, apart from [`STEPS_OF_INST`].
const STEPS: usize = 100_000;
/// Further steps for each instruction of the function.
const STEPS_OF_INST: usize = 64;

/// Candidate for which a round transforms.
pub(super) enum Choice<'a> {
    /// The candidate that gains most of those that pass, except for the ones with these writes.
    BestBut(&'a BTreeSet<Writes>),
    /// The candidate with these writes.
    Only(&'a Writes),
    /// The candidate with this number, if anything becomes cheaper and lanes stay together.
    Number(u32),
    /// No candidate.
    Nothing,
}

/// A candidate with its estimate.
pub(super) struct Judged {
    pub candidate: Candidate,
    /// Place of its check, if that is above its block.
    pub hoist: Option<HoistedPlace>,
    pub opportunity: Opportunity,
    pub verdict: Result<(), Refusal>,
}

/// Estimates of all candidates, and the plan for one.
pub(super) struct Round {
    /// Counted from 1.
    pub number: i64,
    /// Candidates without an estimate, and other scalars that the profile names, by number.
    pub not_estimated: Vec<(Candidate, WhyNot)>,
    /// Candidates with an estimate.
    pub judged: Vec<Judged>,
    /// Place of the chosen candidate in `judged`.
    pub chosen_place: Option<usize>,
    /// Plan for the chosen candidate, if one more transformation is allowed.
    pub plan: Option<Plan>,
}

impl Round {
    /// The round of that number for a view's function. None if no profile declares any zero.
    pub fn new(
        view: &mut View<'_>,
        rules: &Rules,
        cache: &mut EstimateCache,
        number: i64,
        choice: &Choice<'_>,
    ) -> Option<Round> {
        let facts = Facts::new(view, rules);
        if facts.zeros.is_empty() {
            return None;
        }
        cache.begin_round(&facts);
        let mut estimator = Estimator::new(&facts, rules.is_divergent);
        let (judged, not_estimated) = estimate_all(&mut estimator, cache, rules);
        let chosen_place = choice.among(rules, &judged);
        let plan = chosen_place.filter(|_| number <= rules.limit).and_then(|chosen| {
            let Judged { candidate, hoist, .. } = &judged[chosen];
            // The tables hold the last candidate.
            let opportunity = estimator.estimate(candidate, hoist.as_ref()).ok()?;
            Some(Plan::new(&estimator, candidate, &opportunity))
        });
        Some(Round { number, not_estimated, judged, chosen_place, plan })
    }

    /// The candidate that is chosen.
    pub fn chosen(&self) -> Option<&Judged> {
        self.judged.get(self.chosen_place?)
    }

    /// Transforms for the chosen candidate, if there is a plan. Gives the candidate's writes.
    pub fn transform(self, view: &mut View<'_>, remark: impl FnOnce(&Function, &Judged) -> Remark) -> Option<Writes> {
        let (judged, plan) = (&self.judged[self.chosen_place?], self.plan?);
        let mut rewrite = view.rewrite(|func| remark(func, judged));
        plan.apply(&mut rewrite);
        rewrite.finish();
        Some(judged.candidate.writes.clone())
    }
}

/// Estimates of the candidates, and those without one, by number.
fn estimate_all(
    estimator: &mut Estimator<'_>,
    cache: &mut EstimateCache,
    rules: &Rules,
) -> (Vec<Judged>, Vec<(Candidate, WhyNot)>) {
    let facts = estimator.specialisation.facts;
    let hoisting = rules.may_hoist.then(|| Hoisting::new(facts));
    let known = checked_writes(&facts.values, &facts.checks, rules.is_divergent);
    let (mut found, mut not_estimated) = candidates(facts, rules.p_thresh);
    let mut judged = Vec::new();
    found.compact_sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let most_steps = STEPS + STEPS_OF_INST * facts.func.inst_count();
    for candidate in found {
        let estimate = if known.contains(&sorted(candidate.writes.clone())) {
            Err(WhyNot::Checked)
        } else if estimator.specialisation.steps >= most_steps {
            Err(WhyNot::OutOfSteps)
        } else {
            best_place(estimator, cache, hoisting.as_ref(), rules, &candidate)
        };
        match estimate {
            Ok((opportunity, hoist)) => {
                let verdict = opportunity.verdict(rules.rule, rules.min_cycles);
                judged.push(Judged { candidate, hoist, opportunity, verdict });
            }
            Err(why) => not_estimated.push((candidate, why)),
        }
    }
    judged.compact_sort_by_key(|judged| judged.candidate.number);
    not_estimated.compact_sort_by_key(|(candidate, _)| candidate.number);
    (judged, not_estimated)
}

/// The better of a candidate's estimates, with its check in its block or above it.
fn best_place(
    estimator: &mut Estimator<'_>,
    cache: &mut EstimateCache,
    hoisting: Option<&Hoisting<'_>>,
    rules: &Rules,
    candidate: &Candidate,
) -> Result<(Opportunity, Option<HoistedPlace>), WhyNot> {
    let in_block = cache.estimate(estimator, candidate, None);
    let hoist = hoisting.and_then(|hoisting| hoisting.hoist(&candidate.values));
    let above = hoist.and_then(|hoist| Some((cache.estimate(estimator, candidate, Some(&hoist)).ok()?, hoist)));
    let rank = |it: &Opportunity| (it.verdict(rules.rule, rules.min_cycles).is_ok(), rules.score(it));
    match (in_block, above) {
        (Ok(here), Some((there, _))) if rank(&here) >= rank(&there) => Ok((here, None)),
        (_, Some((there, hoist))) => Ok((there, Some(hoist))),
        (here, None) => Ok((here?, None)),
    }
}

impl Choice<'_> {
    /// Place of the chosen candidate: of those that gain as much the first in the text, where
    /// vectors come after scalars.
    fn among(&self, rules: &Rules, judged: &[Judged]) -> Option<usize> {
        let find = |is_meant: &dyn Fn(&Judged) -> bool| judged.iter().position(is_meant);
        match self {
            Choice::Nothing => None,
            Choice::Only(writes) => find(&|it| it.candidate.writes == **writes),
            Choice::Number(number) => find(&|it| {
                let is_possible = matches!(it.verdict, Ok(()) | Err(Refusal::Gain | Refusal::Threshold));
                it.candidate.number == *number && is_possible
            }),
            Choice::BestBut(refused) => {
                let is_free = |it: &Judged| it.verdict.is_ok() && !refused.contains(&it.candidate.writes);
                let score = |it: &Judged| is_free(it).then(|| rules.score(&it.opportunity));
                let best = judged.iter().filter_map(score).reduce(f64::max)?;
                find(&|it| score(it).is_some_and(|score| score >= best - best.abs() * ROUNDING))
            }
        }
    }
}

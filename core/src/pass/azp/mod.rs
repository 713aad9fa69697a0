//! AZP: code that is mostly not needed because a register is mostly zero gets a version without it.
//!
//! ```text
//! entry: r1 = …                    entry: r1 = …
//!        r0 = work.f32 50, a              t1 = setp.eq.f32 r1, 0.0
//!        r2 = mul.f32 r0, r1              t2 = vote.all t1
//!        w = work.f32 80, b               br t2, entry_rest_1, entry_rest
//!        r3 = mul.f32 r2, w        ──▶    entry_rest_1: r3 = mov.f32 0.0; br entry_tail
//!        r4 = add.f32 r3, r5              entry_rest: r0 = …; r2 = …; w = …; r3 = …; br entry_tail
//!                                         entry_tail: r4 = add.f32 r3, r5
//! profile zero { entry.r1: 0.5 }
//! ```
//!
//! 1. List the candidates: registers, and short vectors of them, that the profile calls zero often
//!    enough (`candidates`, `zero_profile`).
//! 2. Place the check of each, in its block or, with `hoist=global`, above it (`check`,
//!    `hoisting`).
//! 3. Assume that the candidate is zero, and find the constants and the dead code of the region
//!    that the check dominates, without changing anything (`specialisation`, `dead_code`,
//!    `simplification`).
//! 4. Estimate what that saves (`estimator`, `opportunity`, `convergence`; `facts`, `costs`,
//!    `frequencies`).
//! 5. Transform for the candidate that gains most (`transformation`, `profiles`).
//! 6. Begin again (`round`), since one transformation may open the next, until no candidate passes
//!    or `xform_limit` is reached. Estimates of unchanged code are kept (`estimate_cache`). With
//!    `heuristic=oracle` the launch is run after each transformation of a sequence, and the part
//!    of it after which the launch was fastest is kept (`oracle`).
//!
//! With `instrument` the pass specialises nothing: the program then counts zeros, as a profile does
//! (`instrumentation`).
//!
//! Sound for integers as it is. For floats it needs the fast-math licence, since `x * 0` is zero
//! only for finite x: where x is NaN or infinite, the fast version computes 0 and the slow one NaN.
//! A zero of either sign takes the fast version, so that the sign of a zero result may change.
//! Without the licence float candidates are refused, and so is the pass where there are no others.
//!
//! Cost: linear in the function for each round, by a limit on the sum of the slices (`round`);
//! there are at most `xform_limit` rounds and one more. Limits: a candidate makes at most 4,096
//! instructions constant, simpler or unreachable, in at most 512 blocks, and copies at most 256
//! blocks (remark `too-large`); the estimates of a round share a number of steps (remark
//! `out-of-steps`). A check that needs more than 512 instructions of its block stays after them.
//! Running the pass again finds nothing more, unless a limit was reached, `xform_limit` included
//! (remark `limit`).
//!
//! Source: M. Stephenson and R. Rangan, AZP: automatic specialization for zero values in gaming
//! applications, 2020.

mod candidates;
mod check;
mod convergence;
mod costs;
mod dead_code;
mod estimate_cache;
mod estimator;
mod facts;
mod frequencies;
mod hoisting;
mod inspect;
mod instrumentation;
mod opportunity;
mod oracle;
mod predict;
mod profiles;
mod remarks;
mod round;
mod rules;
mod simplification;
mod specialisation;
pub mod survey;
mod table;
mod transformation;
mod zero_profile;
mod zero_test;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::ToString;

use super::{Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Predictor, Settings};
use crate::view::View;
use candidates::WhyNot;
use estimate_cache::EstimateCache;
use facts::Facts;
use instrumentation::{find_counted, instrument};
use oracle::MOST_INSTRUCTIONS;
use remarks::{add_cycles, applied, miss_profile, miss_refused, miss_unhelpful, not_estimated};
use round::{Choice, Round};
use rules::Rules;

/// The pass.
pub struct Azp;

impl Pass for Azp {
    const INFO: PassInfo = PassInfo {
        name: "azp",
        paper: "Stephenson and Rangan 2020, AZP",
        summary: "Makes a version of the code for warps in which an often-zero register is zero in all lanes; with \
               floats, the sign of zero, NaN and infinity may change.",
        knobs: &[
            Knob {
                name: "p_thresh",
                label: "Least probability of zero",
                kind: KnobKind::Number { default: 0.32, min: 0.0, max: 1.0 },
                help: "the probability of zero from which a register is a candidate",
            },
            Knob {
                name: "min_cycles",
                label: "Least gain",
                kind: KnobKind::Number { default: 25.0, min: 0.0, max: 1e9 },
                help: "cycles that a transformation has to gain, for each run of the function by a warp",
            },
            Knob {
                name: "xform_limit",
                label: "Transformations",
                kind: KnobKind::Integer { default: 8, min: 0, max: 100 },
                help: "transformations that are made at most",
            },
            Knob {
                name: "threshold_rule",
                label: "Threshold rule",
                kind: KnobKind::Choice { default: "remaining", words: &["remaining", "printed", "expected"] },
                help: "remaining: what is left of the time, (T_S + T_check) / T_R, is below the threshold; \
                       printed: equations 5 and 6 as printed, which take what loses; expected: with P inside su",
            },
            Knob {
                name: "heuristic",
                label: "Decision",
                kind: KnobKind::Choice { default: "default", words: &["default", "oracle"] },
                help: "default: the estimate decides; oracle: of what the estimate takes only that is kept which \
                       makes the launch faster in the simulator",
            },
            Knob {
                name: "candidate",
                label: "Only this candidate",
                kind: KnobKind::Integer { default: 0, min: 0, max: 1_000_000_000 },
                help: "specialise once, for the candidate with this number of the remarks, whatever the estimate \
                       says; 0: the heuristic decides",
            },
            Knob {
                name: "divergent",
                label: "Lanes choose for themselves",
                kind: KnobKind::Switch { default: false },
                help: "each lane takes the version that is its own, so that a warp may take both; without it a \
                       vote decides",
            },
            Knob {
                name: "hoist",
                label: "Reach of checks",
                kind: KnobKind::Choice { default: "block", words: &["block", "global"] },
                help: "how far up a check may go: within its block, or to a dominator that runs no more often, \
                       with the pure instructions that it needs",
            },
            Knob {
                name: "instrument",
                label: "Count only",
                kind: KnobKind::Switch { default: false },
                help: "changes nothing but lets the program count itself: how often a warp writes each \
                       candidate, and how often zero",
            },
            Knob {
                name: "machine",
                label: "Machine",
                kind: KnobKind::Choice { default: "ampere", words: &["unit", "volta", "turing", "ampere", "hopper"] },
                help: "machine whose issue costs and latencies are counted",
            },
            Knob {
                name: "warps",
                label: "Resident warps",
                kind: KnobKind::Integer { default: 0, min: 0, max: 64 },
                help: "resident warps that fill each other's waiting; 0 is as many as the launch says, or the \
                       machine takes",
            },
        ],
        needs_fast_math: true,
    };

    const INSPECTOR: Option<Inspector> = Some(inspect::INSPECTOR);
    const PREDICTOR: Option<Predictor> = Some(predict::predict);

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let rules = Rules::new(view, settings);
        if settings.knobs.switch("instrument") {
            let counted = find_counted(&Facts::new(view, &rules));
            instrument(view, &counted);
            return Ok(());
        }
        match (u32::try_from(settings.knobs.integer("candidate")), settings.knobs.choice("heuristic")) {
            (Ok(number @ 1..), _) => transform_for(view, &rules, number),
            (_, "oracle") => transform_as_tried(view, &rules),
            _ => transform_best(view, &rules),
        }
    }
}

/// Transforms for the best candidate, again and again.
fn transform_best(view: &mut View<'_>, rules: &Rules) -> Result<(), PassError> {
    let mut cache = EstimateCache::default();
    for number in 1.. {
        // After the last transformation a round only says what is left to do.
        if !view.is_traced() && number > rules.limit.max(1) {
            break;
        }
        let choice = Choice::BestBut(&BTreeSet::new());
        let Some(round) = round_with_remarks(view, rules, &mut cache, number, &choice)? else { break };
        if round.transform(view, |func, judged| applied(func, judged, number)).is_none() {
            break;
        }
    }
    Ok(())
}

/// Transforms for one candidate.
fn transform_for(view: &mut View<'_>, rules: &Rules, number: u32) -> Result<(), PassError> {
    let choice = Choice::Number(number);
    let Some(round) = round_with_remarks(view, rules, &mut EstimateCache::default(), 1, &choice)? else {
        return Ok(());
    };
    if round.judged.iter().all(|judged| judged.candidate.number != number) {
        let other = round.not_estimated.iter().find(|(candidate, _)| candidate.number == number);
        let message = match other {
            Some((candidate, why)) => {
                let reason = not_estimated(view.func(), rules, candidate, *why).message;
                format!("candidate {number} has no estimate: {reason}")
            }
            None => format!("no profile declares how often candidate {number} is zero, if there is one"),
        };
        return Err(PassError { message });
    }
    round.transform(view, |func, judged| applied(func, judged, 1));
    Ok(())
}

/// Transforms for the candidates that the oracle has kept.
fn transform_as_tried(view: &mut View<'_>, rules: &Rules) -> Result<(), PassError> {
    // If the estimate takes nothing, nothing is run.
    let mut cache = EstimateCache::default();
    let first = Round::new(view, rules, &mut cache, 1, &Choice::BestBut(&BTreeSet::new()));
    let mut answer = match first.is_some_and(|first| first.plan.is_some()) {
        true => oracle::try_transformations(view.module(), view.func(), rules, MOST_INSTRUCTIONS)?,
        false => oracle::Answer::default(),
    };
    for number in 1.. {
        let next = answer.kept.pop_front();
        let choice = next.as_ref().map_or(Choice::Nothing, |(writes, _)| Choice::Only(writes));
        let Some(round) = round_with_remarks(view, rules, &mut cache, number, &choice)? else { break };
        let Some((_, simulated)) = next else {
            miss_unhelpful(view, rules, &round, &answer);
            break;
        };
        round.transform(view, |func, judged| add_cycles(applied(func, judged, number), simulated));
    }
    Ok(())
}

/// A round, with remarks on the candidates that are refused. None if no profile declares any zero.
fn round_with_remarks(
    view: &mut View<'_>,
    rules: &Rules,
    cache: &mut EstimateCache,
    number: i64,
    choice: &Choice<'_>,
) -> Result<Option<Round>, PassError> {
    let Some(round) = Round::new(view, rules, cache, number, choice) else {
        if number == 1 {
            miss_profile(view);
        }
        return Ok(None);
    };
    let mut reasons = round.not_estimated.iter().map(|&(_, why)| why);
    let is_without_candidate = number == 1
        && round.judged.is_empty()
        && reasons.clone().all(|why| why != WhyNot::Checked && !why.is_of_estimate());
    if is_without_candidate && reasons.any(|why| why == WhyNot::NeedsLicence) {
        let message =
            "`azp` needs the fast-math licence: it takes x * 0.0 to be 0.0, and there are only float candidates";
        return Err(PassError { message: message.to_string() });
    }
    miss_refused(view, rules, &round);
    Ok(Some(round))
}

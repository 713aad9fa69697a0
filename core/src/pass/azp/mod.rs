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
//! The pass goes round: it lists `candidates`, registers and short `vectors` of them that the profile
//! calls zero often enough; finds for each what becomes of the code that its check dominates, without changing anything
//! (`specialisation`); estimates what that saves (`opportunity`); and transforms for the one that gains most
//! (`transformation`). One transformation may open the next, so it begins again, until none passes or `xform_limit`
//! is reached. With `heuristic=oracle` the launch is run after each, and what does not help is not kept (`oracle`).
//!
//! With `hoist=global` a check may stand above its block (`hoisting`), where that gains more than in it. With
//! `instrument` the pass specialises nothing, and lets the program count what a profile would tell (`instrumentation`).
//!
//! Sound for integers as it is. For floats it needs the fast-math licence, since `x * 0` is zero only for finite x: where
//! x is NaN or infinite, the fast path computes 0 and the slow path NaN. A zero of either sign takes the fast path, so that
//! the sign of a zero result may change. Without the licence float candidates are refused, and so is the pass where there
//! are no others.
//!
//! Bounds: a candidate costs as much as its slices (`specialisation` says why), so that all of them together are about
//! linear, for each round. What the profile says, what instructions cost and what constants give is known from one round
//! to the next, and so are what writes are as candidates and the estimates, where they have looked at nothing that the
//! transformation has touched (`kept`). What is left of a later round is mostly to name the values anew. A transformation
//! may change 4096 instructions, in 256 blocks, and constants may follow in 512 until it is known which of them gain; the
//! remark `too-large` says where it would be more. A check that needs
//! more than 512 instructions of its block stays where it is. Running the pass again finds nothing more, unless
//! `xform_limit` was reached, which the remark `limit` says.
//!
//! Source: M. Stephenson and R. Rangan, AZP: automatic specialization for zero values in gaming applications, 2020.

mod candidates;
mod choice;
mod hoisting;
mod inspect;
mod instrumentation;
mod kept;
mod needed;
mod opportunity;
mod oracle;
mod predict;
mod profiles;
mod remarks;
mod scene;
mod special;
mod specialisation;
mod stamped;
pub mod survey;
mod transformation;
mod unassigned;
mod zeros;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::if_convert::{LANES, resident_warps};
use super::{Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Predictor, Settings};
use crate::flow::Elements;
use crate::ir::{Inst, Reg};
use crate::machine::Machine;
use crate::trace::Remark;
use crate::view::View;
use candidates::{Candidate, Filtered, Standings, WhyNot, candidates, values_of};
use choice::Choice;
use hoisting::Hoisting;
use instrumentation::{counted, instrument};
use kept::{Changed, Estimated, Kept, Past, Place};
use opportunity::{Estimator, Opportunity, Refusal, ThresholdRule, reg_of};
use remarks::{applied, miss_profile, on_simulated, tell_answer, tell_refusals};
use scene::{Analyses, Memory, Prices, Scene};
use transformation::Plan;

/// See the file's head.
pub struct Azp;

impl Pass for Azp {
    const INFO: PassInfo = PassInfo {
        name: "azp",
        paper: "Stephenson and Rangan 2020, AZP",
        summary: "Makes a version of the code for warps in which an often-zero register is zero in all lanes; with floats, the sign of zero, NaN and infinity may change.",
        knobs: &[
            Knob {
                name: "p_thresh",
                kind: KnobKind::Number { default: 0.32, min: 0.0, max: 1.0 },
                help: "the probability of zero from which a register is a candidate",
            },
            Knob {
                name: "min_cycles",
                kind: KnobKind::Number { default: 25.0, min: 0.0, max: 1e9 },
                help: "cycles that a transformation has to gain, for each run of the function by a warp",
            },
            Knob {
                name: "xform_limit",
                kind: KnobKind::Integer { default: 8, min: 0, max: 100 },
                help: "transformations that are made at most",
            },
            Knob {
                name: "threshold_rule",
                kind: KnobKind::Choice { default: "remaining", words: &["remaining", "printed", "expected"] },
                help: "remaining: what is left of the time, (T_S + T_check) / T_R, is below the threshold; printed: equations 5 and 6 as printed, which take what loses; expected: with P inside su",
            },
            Knob {
                name: "heuristic",
                kind: KnobKind::Choice { default: "default", words: &["default", "oracle"] },
                help: "default: the estimate decides; oracle: of what the estimate takes only that is kept which makes the launch faster in the simulator",
            },
            Knob {
                name: "candidate",
                kind: KnobKind::Integer { default: 0, min: 0, max: 1_000_000_000 },
                help: "specialise once, for the candidate with this number of the remarks, whatever the estimate says; 0: the heuristic decides",
            },
            Knob {
                name: "divergent",
                kind: KnobKind::Switch { default: false },
                help: "each lane takes the version that is its own, so that a warp may take both; without it a vote decides",
            },
            Knob {
                name: "hoist",
                kind: KnobKind::Choice { default: "block", words: &["block", "global"] },
                help: "how far up a check may go: within its block, or to a dominator that runs no more often, with the pure instructions that it needs",
            },
            Knob {
                name: "instrument",
                kind: KnobKind::Switch { default: false },
                help: "changes nothing but lets the program count itself: how often a warp writes each candidate, and how often zero",
            },
            Knob {
                name: "machine",
                kind: KnobKind::Choice { default: "ampere", words: &["unit", "volta", "turing", "ampere", "hopper"] },
                help: "whose issue costs and latencies are counted",
            },
            Knob {
                name: "warps",
                kind: KnobKind::Integer { default: 0, min: 0, max: 64 },
                help: "resident warps that fill each other's waiting; 0 is as many as the launch says, or the machine takes",
            },
        ],
        needs_fast_math: true,
    };

    const INSPECTOR: Option<Inspector> = Some(inspect::INSPECTOR);
    const PREDICTOR: Option<Predictor> = Some(predict::predict);

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let rules = Rules::new(view, settings);
        if settings.knobs.switch("instrument") {
            count_zeros(view, &rules);
            return Ok(());
        }
        match (u32::try_from(settings.knobs.integer("candidate")), settings.knobs.choice("heuristic")) {
            (Ok(number @ 1..), _) => transform_for(view, &rules, number),
            (_, "oracle") => transform_as_answered(view, &rules),
            _ => transform_best(view, &rules),
        }
    }
}

/// Values of the knobs.
struct Rules {
    p_thresh: f64,
    min_cycles: f64,
    rule: ThresholdRule,
    is_divergent: bool,
    hoists: bool,
    prices: Prices,
    fast_math: bool,
    /// Transformations that are made at most.
    limit: i64,
}

impl Rules {
    fn new(view: &View<'_>, settings: &Settings) -> Rules {
        let knobs = &settings.knobs;
        let machine = Machine::from_name(knobs.choice("machine")).unwrap_or_default();
        let launch = view.module().stated_launch_of(&view.func().name);
        let warps = match u32::try_from(knobs.integer("warps")) {
            Ok(0) | Err(_) => resident_warps(launch, machine, launch.and_then(|launch| launch.warp).unwrap_or(LANES)),
            Ok(warps) => warps,
        };
        Rules {
            p_thresh: knobs.number("p_thresh"),
            min_cycles: knobs.number("min_cycles"),
            rule: match knobs.choice("threshold_rule") {
                "printed" => ThresholdRule::Printed,
                "expected" => ThresholdRule::Expected,
                _ => ThresholdRule::Remaining,
            },
            is_divergent: knobs.switch("divergent"),
            hoists: knobs.choice("hoist") == "global",
            prices: Prices { machine, warps },
            fast_math: settings.fast_math,
            limit: knobs.integer("xform_limit"),
        }
    }
}

impl Rules {
    /// How good a transformation is: how much does it gain? As printed, the rule takes a loss for a gain.
    fn score(&self, opportunity: &Opportunity) -> f64 {
        let sign = if self.rule == ThresholdRule::Printed { -1.0 } else { 1.0 };
        sign * opportunity.gain()
    }
}

/// Writes of a candidate's registers, whatever else the function is.
type Versioned = SmallVec<[(Inst, Reg); 1]>;

/// A candidate with its estimate and what follows from it.
struct Judged {
    /// Its values have the names that they had when it was estimated, and where nobody listens it has the number of then.
    candidate: Candidate,
    name: Versioned,
    regs: SmallVec<[Reg; 4]>,
    opportunity: Opportunity,
    verdict: Result<(), Refusal>,
}

/// A candidate of which no estimate is made.
struct Unestimated {
    number: u32,
    regs: SmallVec<[Reg; 4]>,
    probability: f64,
    /// Instruction that writes the last of its registers.
    inst: Inst,
    name: Versioned,
}

impl Unestimated {
    fn new(number: u32, name: &[(Inst, Reg)], probability: f64) -> Option<Unestimated> {
        let &(inst, _) = name.last()?;
        let regs = name.iter().map(|&(_, reg)| reg).collect();
        Some(Unestimated { number, regs, probability, inst, name: name.into() })
    }
}

/// Findings of a round.
struct Round {
    /// Counted from 1.
    number: i64,
    filtered: Vec<Filtered>,
    /// Candidates whose region is too large.
    too_large: Vec<Place>,
    /// Candidates that a check of the program asks about.
    checked: Vec<Unestimated>,
    /// Candidates with an estimate. Where somebody listens, and in the first round, in the order of their numbers.
    judged: Vec<Place>,
    /// The one that is chosen.
    chosen: Option<Place>,
    /// Plan for it, if there may be one more transformation.
    plan: Option<Plan>,
    /// Results of candidates.
    kept: Kept,
    /// The function, where there is a plan to change it.
    past: Option<Past>,
}

impl Round {
    /// Candidates with an estimate.
    fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.judged.iter().filter_map(|&place| self.kept.judged(place))
    }

    /// Candidates whose region is too large.
    fn too_large(&self) -> impl Iterator<Item = &Unestimated> {
        let all = self.too_large.iter().filter_map(|&place| self.kept.get(place));
        all.filter_map(|it| if let Estimated::TooLarge(large) = it { Some(&**large) } else { None })
    }

    /// The candidate that is chosen.
    fn chosen(&self) -> Option<&Judged> {
        self.kept.judged(self.chosen?)
    }
}

/// Lets the function count the zeros of its candidates.
fn count_zeros(view: &mut View<'_>, rules: &Rules) {
    let memory = Memory::of(view.func(), rules.prices);
    let known = Analyses::of(view, &memory);
    let counted = counted(&Scene::new(view.func(), known, &memory, rules.fast_math, None));
    instrument(view, &counted);
}

/// Transforms for the best candidate, again and again.
fn transform_best(view: &mut View<'_>, rules: &Rules) -> Result<(), PassError> {
    let mut memory = Memory::of(view.func(), rules.prices);
    for number in 1.. {
        // Behind the last transformation a round only says what is left to do.
        if !view.is_traced() && number > rules.limit.max(1) {
            break;
        }
        let Some(round) = look_and_tell(view, rules, &mut memory, number, &Choice::Best)? else { break };
        if carry_out(view, &mut memory, round, |remark| remark).is_none() {
            break;
        }
    }
    Ok(())
}

/// Transforms for one candidate.
fn transform_for(view: &mut View<'_>, rules: &Rules, number: u32) -> Result<(), PassError> {
    let mut memory = Memory::of(view.func(), rules.prices);
    let Some(round) = look_and_tell(view, rules, &mut memory, 1, &Choice::Number(number))? else { return Ok(()) };
    if round.judged().all(|judged| judged.candidate.number != number) {
        return Err(PassError { message: format!("there is no candidate {number} that is zero often enough") });
    }
    carry_out(view, &mut memory, round, |remark| remark);
    Ok(())
}

/// Transforms for what the oracle keeps.
fn transform_as_answered(view: &mut View<'_>, rules: &Rules) -> Result<(), PassError> {
    let mut memory = Memory::of(view.func(), rules.prices);
    // Where the estimate takes nothing, nothing is run.
    let is_something_taken = look(view, rules, &mut memory, 1, &Choice::Best).is_some_and(|first| first.plan.is_some());
    let mut answer = match is_something_taken {
        true => oracle::ask(view.module(), view.func(), rules)?,
        false => oracle::Answer::default(),
    };
    for number in 1.. {
        let next = answer.kept.pop_front();
        let choice = next.as_ref().map_or(Choice::Nothing, |(name, _)| Choice::Only(name));
        let Some(round) = look_and_tell(view, rules, &mut memory, number, &choice)? else { break };
        let Some((_, simulated)) = next else {
            tell_answer(view, rules, &round, &answer);
            break;
        };
        carry_out(view, &mut memory, round, |remark| on_simulated(remark, simulated));
    }
    Ok(())
}

/// One round without a word. Gives what was transformed for.
fn transform(
    view: &mut View<'_>,
    rules: &Rules,
    memory: &mut Memory,
    number: i64,
    choice: &Choice<'_>,
) -> Option<Versioned> {
    let round = look(view, rules, memory, number, choice)?;
    carry_out(view, memory, round, |remark| remark)
}

/// Looks at all candidates and says why they are refused. None where no profile speaks of any.
fn look_and_tell(
    view: &mut View<'_>,
    rules: &Rules,
    memory: &mut Memory,
    number: i64,
    choice: &Choice<'_>,
) -> Result<Option<Round>, PassError> {
    let Some(round) = look(view, rules, memory, number, choice) else {
        if number == 1 {
            miss_profile(view);
        }
        return Ok(None);
    };
    let only_floats = round.judged.is_empty() && round.too_large.is_empty();
    if number == 1 && only_floats && round.filtered.iter().any(|filtered| filtered.why == WhyNot::NeedsLicence) {
        let message =
            "`azp` needs the fast-math licence: it takes x * 0.0 to be 0.0, and there are only float candidates";
        return Err(PassError { message: message.to_string() });
    }
    tell_refusals(view, rules, &round);
    Ok(Some(round))
}

/// Transforms for what a round has chosen, if it has a plan, and gives what that was.
fn carry_out(
    view: &mut View<'_>,
    memory: &mut Memory,
    mut round: Round,
    with_more: impl FnOnce(Remark) -> Remark,
) -> Option<Versioned> {
    let (chosen, plan) = (round.chosen?, round.plan?);
    let Some(Estimated::Judged(judged)) = round.kept.remove(chosen) else { return None };
    let mut rewrite = view.rewrite(|func| with_more(applied(func, &judged, round.number)));
    let change = plan.carry_out(&mut rewrite, (&mut memory.zeros, &mut memory.accesses));
    rewrite.finish();
    memory.kept = round.kept;
    memory.change = round.past.map(|past| (past, change));
    memory.learn(view.func());
    Some(judged.name)
}

/// Looks at all candidates. None where no profile speaks of any.
fn look(view: &mut View<'_>, rules: &Rules, memory: &mut Memory, number: i64, choice: &Choice<'_>) -> Option<Round> {
    if memory.zeros.is_empty() {
        return None;
    }
    let (mut kept, change, inside) = (core::mem::take(&mut memory.kept), memory.change.take(), memory.inside.take());
    let mut standings = core::mem::take(&mut memory.standings);
    let known = Analyses::of(view, memory);
    let func = view.func();
    let changed_blocks = change.as_ref().and_then(|(_, change)| change.changed_blocks(func));
    // What is known already is not listed again, unless somebody is to be told.
    let lists_all = view.is_traced() || change.is_none();
    let inside = inside.zip(changed_blocks.as_deref());
    let scene = Scene::new(func, known, memory, rules.fast_math, inside);
    let changed = change.and_then(|(past, change)| Changed::between(&past, &change, &scene));
    standings.forget(func, changed.as_ref().zip(changed_blocks.as_deref()));
    let hoisting = rules.hoists.then(|| Hoisting::new(&scene));
    // Where a check may stand above its block, nobody writes down what decides that.
    kept.begin(&scene, changed.as_ref().filter(|_| hoisting.is_none()), |inst| standings.look_again(func, inst));
    let checked: BTreeSet<Versioned> = scene.checks.values().filter_map(|checked| written(&scene, checked)).collect();
    let mut checked_insts = FixedBitSet::with_capacity(func.insts.len());
    checked.iter().flatten().for_each(|&(inst, _)| checked_insts.insert(inst.index()));
    let mut estimator = Estimator::new(&scene, rules.is_divergent);
    let (mut judged, mut too_large, mut known) = (Vec::new(), Vec::new(), Vec::new());
    let list = |number: u32, name: &[(Inst, Reg)], probability: f64, joint: Option<f64>| {
        let may_be_checked = name.first().is_some_and(|(inst, _)| checked_insts.contains(inst.index()));
        if may_be_checked && checked.contains(&sorted(name.into())) {
            known.extend(Unestimated::new(number, name, probability));
            return false;
        }
        let place = kept.listed(name).unwrap_or_else(|| {
            let candidate = Candidate { number, values: values_of(&scene, name), probability, joint, hoist: None };
            let found = estimate(&mut estimator, hoisting.as_ref(), rules, candidate, name);
            let score = match &found {
                Estimated::Judged(judged) if judged.verdict.is_ok() => Some(rules.score(&judged.opportunity)),
                _ => None,
            };
            kept.add(found, score, estimator.specialisation.seen())
        });
        if lists_all {
            match kept.get_mut(place) {
                Some(Estimated::Judged(old)) => {
                    old.candidate.number = number;
                    old.opportunity.bring_in_order(&scene);
                    judged.push(place);
                }
                Some(Estimated::TooLarge(old)) => {
                    old.number = number;
                    too_large.push(place);
                }
                None => {}
            }
        }
        hoisting.is_none()
    };
    let filtered = candidates(&scene, rules.p_thresh, &mut standings, lists_all, list);
    kept.end(lists_all);
    if !lists_all {
        judged.extend(kept.places().filter(|&place| kept.judged(place).is_some()));
    }
    debug_assert!(
        hoisting.is_some() || is_what_all_say(&scene, &mut estimator, rules, &kept, &checked),
        "the estimates that were kept are not those of all candidates"
    );
    let chosen = choice.among(&scene, &kept, &judged);
    let plan = chosen.filter(|_| number <= rules.limit).and_then(|chosen| {
        let Some(Estimated::Judged(judged)) = kept.get_mut(chosen) else { return None };
        let Judged { candidate, name, regs, opportunity: estimated, .. } = &mut **judged;
        candidate.values = values_of(&scene, name);
        // The tables hold the last candidate; what was estimated is estimated again.
        let opportunity = estimator.estimate(candidate)?;
        let plan = Plan::new(&estimator, &opportunity, regs.to_vec(), rules.is_divergent);
        *estimated = opportunity;
        Some(plan)
    });
    let past = plan.is_some().then(|| Past::of(&scene));
    let inside = scene.into_insides();
    memory.inside = past.is_some().then_some(inside);
    memory.standings = standings;
    Some(Round { number, filtered, too_large, checked: known, judged, chosen, plan, kept, past })
}

/// Estimates a candidate given by its writes: the better of its estimates, with its check in its block or above
/// it.
fn estimate(
    estimator: &mut Estimator<'_, '_>,
    hoisting: Option<&Hoisting<'_, '_>>,
    rules: &Rules,
    candidate: Candidate,
    name: &[(Inst, Reg)],
) -> Estimated {
    let in_block = estimator.estimate(&candidate);
    let hoist = hoisting.and_then(|hoisting| hoisting.hoist(&candidate.values));
    let above = hoist.map(|hoist| Candidate { hoist: Some(hoist), ..candidate.clone() });
    let above = above.and_then(|above| Some((estimator.estimate(&above)?, above)));
    let rank = |it: &Opportunity| (it.verdict(rules.rule, rules.min_cycles).is_ok(), rules.score(it));
    let (opportunity, candidate) = match (in_block, above) {
        (Some(here), Some(above)) if rank(&here) >= rank(&above.0) => (here, candidate),
        (_, Some(above)) => above,
        (Some(here), None) => (here, candidate),
        (None, None) => {
            let Candidate { number, probability, .. } = candidate;
            let (regs, inst) = (regs_of(name), name.last().map_or(Inst::from_u32(0), |&(inst, _)| inst));
            return Estimated::TooLarge(Box::new(Unestimated { number, regs, probability, inst, name: name.into() }));
        }
    };
    let verdict = opportunity.verdict(rules.rule, rules.min_cycles);
    Estimated::Judged(Box::new(Judged { candidate, name: name.into(), regs: regs_of(name), opportunity, verdict }))
}

fn regs_of(name: &[(Inst, Reg)]) -> SmallVec<[Reg; 4]> {
    name.iter().map(|&(_, reg)| reg).collect()
}

/// Are what is kept the estimates of all candidates, as they would be made now?
fn is_what_all_say(
    scene: &Scene<'_>,
    estimator: &mut Estimator<'_, '_>,
    rules: &Rules,
    kept: &Kept,
    checked: &BTreeSet<Versioned>,
) -> bool {
    let mut by_name: BTreeMap<&[(Inst, Reg)], &Estimated> =
        kept.places().filter_map(|place| kept.get(place)).map(|it| (it.name().as_slice(), it)).collect();
    let mut are_the_same = true;
    candidates(scene, rules.p_thresh, &mut Standings::default(), true, |number, name, probability, joint| {
        if !checked.contains(&sorted(name.into())) {
            let candidate = Candidate { number, values: values_of(scene, name), probability, joint, hoist: None };
            let again = estimator.estimate(&candidate);
            are_the_same &= by_name.remove(name).is_some_and(|kept| is_same(kept, again.as_ref()));
        }
        false
    });
    are_the_same && by_name.is_empty()
}

/// Is an estimate that was kept the same as one that is made again, but for what rounding makes?
fn is_same(kept: &Estimated, again: Option<&Opportunity>) -> bool {
    match (kept, again) {
        (Estimated::Judged(kept), Some(again)) => kept.opportunity.is_about(again),
        (kept, again) => matches!(kept, Estimated::TooLarge(_)) && again.is_none(),
    }
}

/// Defining instructions of values; None if one has none.
fn written(scene: &Scene<'_>, values: &Elements) -> Option<Versioned> {
    let values = values.iter();
    let name = values.map(|&value| Some((scene.known.values.definition(value).inst()?, reg_of(scene, value))));
    name.collect::<Option<Versioned>>().map(sorted)
}

fn sorted(mut name: Versioned) -> Versioned {
    name.sort_unstable();
    name
}

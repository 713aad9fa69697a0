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
//! The pass goes round: it lists [`candidates`], registers and short [`vectors`](crate::flow::vectors) of them that the profile
//! calls zero often enough; finds for each what becomes of the code that its check dominates, without changing anything
//! ([`specialisation`]); estimates what that saves ([`opportunity`]); and transforms for the one that gains most
//! ([`transformation`]). One transformation may open the next, so it begins again, until none passes or `xform_limit`
//! is reached. With `heuristic=oracle` the launch is run after each, and what does not help is not kept ([`oracle`]).
//!
//! With `hoist=global` a check may stand above its block ([`hoisting`]), where that gains more than in it. With
//! `instrument` the pass specialises nothing, and lets the program count what a profile would tell ([`instrumentation`]).
//!
//! Sound for integers as it is. For floats it needs the fast-math licence, since `x * 0` is zero only for finite x: where
//! x is NaN or infinite, the fast path computes 0 and the slow path NaN. A zero of either sign takes the fast path, so that
//! the sign of a zero result may change. Without the licence float candidates are refused, and so is the pass where there
//! are no others.
//!
//! Bounds: a candidate costs as much as its slices ([`specialisation`] says why), so that all of them together are about
//! linear, for each round; what the profile says, what instructions cost and what constants give is known from one round to
//! the next. It may change 4096 instructions, in 256 blocks; the remark `too-large` says where it would be more. A check
//! that needs more than 512 instructions of its block stays where it is. Running the pass again finds nothing more, unless
//! `xform_limit` was reached, which the remark `limit` says.
//!
//! Source: M. Stephenson and R. Rangan, AZP: automatic specialization for zero values in gaming applications, 2020.

mod candidates;
mod hoisting;
mod instrumentation;
mod needed;
mod opportunity;
mod oracle;
mod profiles;
mod scene;
mod special;
mod specialisation;
mod stamped;
pub mod survey;
mod transformation;
mod zeros;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::if_convert::{LANES, resident_warps};
use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::edit::{Fact, Remark};
use crate::flow::Value;
use crate::ir::{Block, Function, Inst, Reg};
use crate::machine::Machine;
use crate::view::{Listener, View};
use candidates::{Candidate, Filtered, WhyNot, candidates};
use hoisting::Hoisting;
use instrumentation::{counted, instrument};
use opportunity::{Estimator, Opportunity, Refusal, ThresholdRule};
use scene::{Analyses, Memory, Prices, Scene};
use transformation::Plan;
use zeros::checked_values;

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

    fn run<S: Listener>(view: &mut View<'_, S>, settings: &Settings) -> Result<(), PassError> {
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

/// What the knobs say.
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
    fn new<S: Listener>(view: &View<'_, S>, settings: &Settings) -> Rules {
        let knobs = &settings.knobs;
        let machine = Machine::from_name(knobs.choice("machine")).unwrap_or_default();
        let launch = view.module().launch_of(&view.func().name);
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
    /// How good a transformation is: does it pass, and how much does it gain? As printed, the rule takes a loss for a gain.
    fn score(&self, opportunity: &Opportunity) -> (bool, f64) {
        let sign = if self.rule == ThresholdRule::Printed { -1.0 } else { 1.0 };
        (opportunity.verdict(self.rule, self.min_cycles).is_ok(), sign * opportunity.gain())
    }
}

/// What a candidate is for, whatever else the function is: the writes of its registers.
type Versioned = Vec<(Inst, Reg)>;

/// A candidate with its estimate and what follows from it.
struct Judged {
    candidate: Candidate,
    name: Versioned,
    regs: Vec<Reg>,
    opportunity: Opportunity,
    verdict: Result<(), Refusal>,
}

/// A candidate of which no estimate is made.
struct Unestimated {
    number: u32,
    regs: Vec<Reg>,
    probability: f64,
    /// What writes the last of its registers.
    inst: Inst,
}

/// For which candidate a round transforms.
enum Choice<'a> {
    /// The best that passes.
    Best,
    /// The best that passes, but for these.
    BestBut(&'a BTreeSet<Versioned>),
    /// This one.
    Only(&'a Versioned),
    /// The one of this number, if anything gains.
    Number(u32),
    /// None.
    Nothing,
}

/// What a round has found out.
struct Round {
    /// Counted from 1.
    number: i64,
    filtered: Vec<Filtered>,
    /// Candidates whose region is too large.
    too_large: Vec<Unestimated>,
    /// Candidates that a check of the program asks about.
    checked: Vec<Unestimated>,
    judged: Vec<Judged>,
    /// The place of the candidate that is chosen.
    chosen: Option<usize>,
    /// What is done for it, if there may be one more transformation.
    plan: Option<Plan>,
}

/// Lets the function count the zeros of its candidates.
fn count_zeros<S: Listener>(view: &mut View<'_, S>, rules: &Rules) {
    let (known, memory) = (Analyses::of(view), Memory::of(view.func(), rules.prices));
    let counted = counted(&Scene::new(view.func(), known, &memory, rules.fast_math));
    instrument(view, &counted);
}

/// Transforms for the best candidate, again and again.
fn transform_best<S: Listener>(view: &mut View<'_, S>, rules: &Rules) -> Result<(), PassError> {
    let mut memory = Memory::of(view.func(), rules.prices);
    for number in 1.. {
        let Some(round) = look_and_tell(view, rules, &memory, number, &Choice::Best)? else { break };
        if carry_out(view, &mut memory, round, |remark| remark).is_none() {
            break;
        }
    }
    Ok(())
}

/// Transforms for one candidate.
fn transform_for<S: Listener>(view: &mut View<'_, S>, rules: &Rules, number: u32) -> Result<(), PassError> {
    let mut memory = Memory::of(view.func(), rules.prices);
    let Some(round) = look_and_tell(view, rules, &memory, 1, &Choice::Number(number))? else { return Ok(()) };
    if round.judged.iter().all(|judged| judged.candidate.number != number) {
        return Err(PassError { message: format!("there is no candidate {number} that is zero often enough") });
    }
    carry_out(view, &mut memory, round, |remark| remark);
    Ok(())
}

/// Transforms for what the oracle keeps.
fn transform_as_answered<S: Listener>(view: &mut View<'_, S>, rules: &Rules) -> Result<(), PassError> {
    let mut memory = Memory::of(view.func(), rules.prices);
    // Where the estimate takes nothing, nothing is run.
    let is_something_taken = look(view, rules, &memory, 1, &Choice::Best).is_some_and(|first| first.plan.is_some());
    let mut answer = match is_something_taken {
        true => oracle::ask(view.module(), view.func(), rules)?,
        false => oracle::Answer::default(),
    };
    for number in 1.. {
        let next = answer.kept.pop_front();
        let choice = next.as_ref().map_or(Choice::Nothing, |(name, _)| Choice::Only(name));
        let Some(round) = look_and_tell(view, rules, &memory, number, &choice)? else { break };
        let Some((_, simulated)) = next else {
            tell_answer(view, rules, &round, &answer);
            break;
        };
        carry_out(view, &mut memory, round, |remark| on_simulated(remark, simulated));
    }
    Ok(())
}

/// One round without a word. Gives what was transformed for.
fn transform<S: Listener>(
    view: &mut View<'_, S>,
    rules: &Rules,
    memory: &mut Memory,
    number: i64,
    choice: &Choice<'_>,
) -> Option<Versioned> {
    let round = look(view, rules, memory, number, choice)?;
    carry_out(view, memory, round, |remark| remark)
}

/// Looks at all candidates and says why they are refused. None where no profile speaks of any.
fn look_and_tell<S: Listener>(
    view: &mut View<'_, S>,
    rules: &Rules,
    memory: &Memory,
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
fn carry_out<S: Listener>(
    view: &mut View<'_, S>,
    memory: &mut Memory,
    mut round: Round,
    with_more: impl FnOnce(Remark) -> Remark,
) -> Option<Versioned> {
    let (chosen, plan) = (round.chosen?, round.plan?);
    let judged = round.judged.swap_remove(chosen);
    let mut rewrite = view.rewrite(|func| with_more(applied(func, &judged, round.number)));
    plan.carry_out(&mut rewrite, &mut memory.zeros);
    rewrite.finish();
    memory.learn(view.func());
    Some(judged.name)
}

/// Looks at all candidates. None where no profile speaks of any.
fn look<S: Listener>(
    view: &mut View<'_, S>,
    rules: &Rules,
    memory: &Memory,
    number: i64,
    choice: &Choice<'_>,
) -> Option<Round> {
    if memory.zeros.is_empty() {
        return None;
    }
    let known = Analyses::of(view);
    let func = view.func();
    let scene = Scene::new(func, known, memory, rules.fast_math);
    let (found, filtered) = candidates(&scene, rules.p_thresh);
    let checked = func.block_order().map(|block| sorted(checked_values(func, &scene.known.values, block)));
    let checked: BTreeSet<Vec<Value>> = checked.filter(|checked| !checked.is_empty()).collect();
    let mut estimator = Estimator::new(&scene, rules.is_divergent);
    let hoisting = rules.hoists.then(|| Hoisting::new(&scene));
    let (mut judged, mut too_large, mut known) = (Vec::new(), Vec::new(), Vec::new());
    let unestimated = |candidate: &Candidate| {
        let inst = scene.known.values.definition(*candidate.values.last()?).inst()?;
        let &Candidate { number, probability, .. } = candidate;
        Some(Unestimated { number, regs: candidate.regs(&scene).to_vec(), probability, inst })
    };
    for candidate in found {
        if checked.contains(&sorted(candidate.values.to_vec())) {
            known.extend(unestimated(&candidate));
            continue;
        }
        let regs: Vec<Reg> = candidate.regs(&scene).to_vec();
        let in_block = estimator.estimate(&candidate);
        let hoist = hoisting.as_ref().and_then(|hoisting| hoisting.hoist(&candidate.values));
        let above = hoist.map(|hoist| Candidate { hoist: Some(hoist), ..candidate.clone() });
        let above = above.and_then(|above| Some((estimator.estimate(&above)?, above)));
        let found = match (in_block, above) {
            (Some(here), Some(above)) if rules.score(&here) >= rules.score(&above.0) => Some((here, candidate.clone())),
            (_, Some(above)) => Some(above),
            (here, None) => here.map(|here| (here, candidate.clone())),
        };
        match found {
            Some((opportunity, candidate)) => {
                let verdict = opportunity.verdict(rules.rule, rules.min_cycles);
                let writer = |&value: &Value| scene.known.values.definition(value).inst();
                let name = candidate.values.iter().filter_map(writer).zip(regs.iter().copied()).collect();
                judged.push(Judged { candidate, name, regs, opportunity, verdict });
            }
            None => too_large.extend(unestimated(&candidate)),
        }
    }
    let chosen = chosen(&judged, rules, choice);
    let plan = chosen.filter(|_| number <= rules.limit).and_then(|chosen| {
        let Judged { candidate, regs, .. } = &judged[chosen];
        // The tables hold the last candidate; what was estimated is estimated again.
        let opportunity = estimator.estimate(candidate)?;
        Some(Plan::new(&estimator, &opportunity, regs.clone(), rules.is_divergent))
    });
    Some(Round { number, filtered, too_large, checked: known, judged, chosen, plan })
}

/// The candidate that is chosen, by its place. The best is the passing one that gains most; of equals the one with the
/// smaller number.
fn chosen(judged: &[Judged], rules: &Rules, choice: &Choice<'_>) -> Option<usize> {
    let place = |is_meant: &dyn Fn(&Judged) -> bool| judged.iter().position(is_meant);
    let is_free = |judged: &Judged| match choice {
        Choice::BestBut(refused) => !refused.contains(&judged.name),
        _ => true,
    };
    match choice {
        Choice::Nothing => None,
        Choice::Only(name) => place(&|judged| judged.name == **name),
        Choice::Number(number) => place(&|judged| {
            let is_possible = matches!(judged.verdict, Ok(()) | Err(Refusal::Gain | Refusal::Threshold));
            judged.candidate.number == *number && is_possible
        }),
        Choice::Best | Choice::BestBut(_) => {
            let passing = judged.iter().enumerate().filter(|(_, judged)| judged.verdict.is_ok() && is_free(judged));
            let scores = passing.map(|(place, judged)| (place, rules.score(&judged.opportunity).1));
            scores.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(place, _)| place)
        }
    }
}

fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_unstable();
    values
}

// --- remarks -----------------------------------------------------------------------------------------------------------

impl Judged {
    /// The figures of the estimate as details of a remark. Times are in cycles for each run by a warp.
    fn on(&self, func: &Function, remark: Remark, round: i64) -> Remark {
        let it = &self.opportunity;
        let remark = remark
            .at(it.last)
            .with("candidate", Fact::Count(u64::from(self.candidate.number)))
            .with("round", Fact::Count(round.unsigned_abs()))
            .with("probability", Fact::Number(it.probability));
        let remark = match self.candidate.joint {
            Some(joint) => remark.with("joint", Fact::Number(joint)),
            None => remark,
        };
        let remark = match &self.candidate.hoist {
            Some(hoist) => remark.with("moved_up", Fact::Count(hoist.insts.len() as u64)),
            None => remark,
        };
        let remark = remark
            .with("t_region", Fact::Number(it.t_region))
            .with("t_special", Fact::Number(it.t_special))
            .with("t_check", Fact::Number(it.t_check))
            .with("t_delta", Fact::Number(it.t_azp() - it.t_region))
            .with("gain", Fact::Number(it.gain()))
            .with("memory_killed", Fact::Count(it.memory_killed as u64))
            .with("blocks", Fact::Count(it.blocks() as u64))
            .with("region", Fact::Blocks(core::iter::once(it.head).chain(it.copied.iter().copied()).collect()));
        let registers = self.regs.iter().map(|&reg| func.regs[reg].name.clone()).collect();
        let remark = remark.with("registers", Fact::Words(registers));
        if it.t_region > 0.0 {
            remark.with("su", Fact::Number(it.speed_up())).with("su_thresh", Fact::Number(it.threshold()))
        } else {
            remark
        }
    }
}

/// Registers in words.
fn named(func: &Function, regs: &[Reg]) -> String {
    let names: Vec<String> = regs.iter().map(|&reg| format!("`{}`", func.regs[reg].name)).collect();
    names.join(" and ")
}

fn applied(func: &Function, judged: &Judged, round: i64) -> Remark {
    let it = &judged.opportunity;
    let (verb, all) = if judged.regs.len() > 1 { ("are", " all") } else { ("is", "") };
    let hoisted = judged.candidate.hoist.as_ref().map(|hoist| {
        let (count, s) = (hoist.insts.len(), if hoist.insts.len() == 1 { "" } else { "s" });
        format!(
            "; for that, {count} instruction{s} move{} up to `{}`",
            if count == 1 { "s" } else { "" },
            func.blocks[it.head].name
        )
    });
    let counted = judged.candidate.joint.map(|joint| format!(" (counted together: {:.0} %)", joint * 100.0));
    let message = format!(
        "{} {verb}{all} zero in {:.0} % of warps{}: without what is not needed then, {:.1} of {:.1} cycles are left, and the check \
         takes {:.1}, so {:.1} cycles are gained{}",
        named(func, &judged.regs),
        it.probability * 100.0,
        counted.unwrap_or_default(),
        it.t_special,
        it.t_region,
        it.t_check,
        it.gain(),
        hoisted.unwrap_or_default()
    );
    judged.on(func, Remark::applied("specialise", it.head, message), round)
}

fn refused(func: &Function, rules: &Rules, judged: &Judged, why: Refusal, round: i64) -> Remark {
    let it = &judged.opportunity;
    let names = named(func, &judged.regs);
    let (rule, message) = match why {
        Refusal::NothingGained => ("nothing", format!("nothing becomes simpler where {names} would be zero")),
        Refusal::Convergent => {
            ("convergent", format!("where lanes part by whether {names} is zero, something would miss the other lanes"))
        }
        Refusal::Gain => (
            "gain",
            format!(
                "specialising for {names} would gain {:.1} cycles of {:.1}; {} are asked for",
                it.gain(),
                it.t_region,
                rules.min_cycles
            ),
        ),
        Refusal::Threshold => (
            "threshold",
            format!(
                "specialising for {names} would leave {:.1} % of the region's time for {} copied block{}; {:.1} % are allowed",
                100.0 * (1.0 - it.speed_up()),
                it.blocks(),
                if it.blocks() == 1 { "" } else { "s" },
                100.0 * it.threshold()
            ),
        ),
    };
    judged.on(func, Remark::missed(rule, it.head, message), round)
}

fn miss_profile<S: Listener>(view: &mut View<'_, S>) {
    view.miss(|func| {
        let entry = func.entry_block().unwrap_or(Block::from_u32(0));
        let message = "there is no `profile zero`: measure one with --profile simulate, or declare it";
        Remark::missed("no-profile", entry, message)
    });
}

/// Says of all that is not transformed why not. What depends on the program alone is said in the first round.
fn tell_refusals<S: Listener>(view: &mut View<'_, S>, rules: &Rules, round: &Round) {
    if round.number == 1 {
        for filtered in &round.filtered {
            view.miss(|func| filtered_out(func, rules, filtered));
        }
        for large in &round.too_large {
            view.miss(|func| too_large(func, large));
        }
    }
    for judged in &round.judged {
        if let Err(why) = judged.verdict {
            view.miss(|func| refused(func, rules, judged, why, round.number));
        }
    }
    if let (Some(chosen), None) = (round.chosen, &round.plan) {
        view.miss(|func| limited(func, &round.judged[chosen], round.number));
    }
}

/// Cycles of the launch as details of a remark.
fn on_simulated(remark: Remark, simulated: oracle::Simulated) -> Remark {
    let remark = remark.with("cycles_before", Fact::Count(simulated.before));
    simulated.after.into_iter().fold(remark, |remark, after| remark.with("cycles_after", Fact::Count(after)))
}

/// Says in the last round of what passes why the oracle has not kept it.
fn tell_answer<S: Listener>(view: &mut View<'_, S>, rules: &Rules, round: &Round, answer: &oracle::Answer) {
    for judged in round.judged.iter().filter(|judged| judged.verdict.is_ok()) {
        let Some(&simulated) = answer.refused.get(&judged.name) else {
            if answer.is_cut_off {
                view.miss(|func| {
                    let names = named(func, &judged.regs);
                    let message = format!("the launch is too long to try what specialising for {names} brings");
                    judged.on(func, Remark::missed("too-long", judged.opportunity.head, message), round.number)
                });
            } else if round.number > rules.limit {
                view.miss(|func| limited(func, judged, round.number));
            }
            continue;
        };
        view.miss(|func| {
            let names = named(func, &judged.regs);
            let message = match simulated.after {
                Some(after) => format!(
                    "specialising for {names} does not make the launch faster: {} cycles become {after}",
                    simulated.before
                ),
                None => format!("the launch fails where {names} is specialised for"),
            };
            let remark = judged.on(func, Remark::missed("oracle", judged.opportunity.head, message), round.number);
            on_simulated(remark, simulated)
        });
    }
}

fn limited(func: &Function, judged: &Judged, round: i64) -> Remark {
    let (names, gain) = (named(func, &judged.regs), judged.opportunity.gain());
    let message = format!("specialising for {names} would gain {gain:.1} cycles, but `xform_limit` is reached");
    judged.on(func, Remark::missed("limit", judged.opportunity.head, message), round)
}

/// The block of an instruction that stands in one.
fn block_of(func: &Function, inst: Inst) -> Block {
    func.inst_block(inst).unwrap_or(Block::from_u32(0))
}

fn too_large(func: &Function, large: &Unestimated) -> Remark {
    let names = named(func, &large.regs);
    let message = format!("what depends on {names} is too large to look at, or the check has no place");
    Remark::missed("too-large", block_of(func, large.inst), message).at(large.inst)
}

fn filtered_out(func: &Function, rules: &Rules, &Filtered { inst, reg, why, .. }: &Filtered) -> Remark {
    let (block, p_thresh) = (block_of(func, inst), rules.p_thresh);
    let name = &func.regs[reg].name;
    let (rule, message) = match why {
        WhyNot::Unlikely(probability) => (
            "unlikely",
            format!(
                "`{name}` is zero in {:.0} % of warps; `p_thresh` asks for {:.0} %",
                probability * 100.0,
                p_thresh * 100.0
            ),
        ),
        WhyNot::Propagator(input) => (
            "propagator",
            format!("`{name}` is zero because `{}` is, which is a candidate itself", func.regs[input].name),
        ),
        WhyNot::NeedsLicence => ("licence", format!("`{name}` is a float, which needs the fast-math licence")),
        WhyNot::Untestable => ("untestable", format!("there is no comparison with zero for `{name}`'s type")),
    };
    Remark::missed(rule, block, message).at(inst).with("register", Fact::Reg(reg))
}

//! Remarks of the pass: the gain of each transformation, and the reason of each refusal.
//!
//! ```text
//! applied specialise   `r` is zero in 60 % of warps: without what is not needed then, 1.0 of …
//! missed  propagator   `c` is zero because `a1` is, which is at least as likely
//! missed  gain         specialising for `k` would gain 3.2 cycles of 40.0; `min_cycles` is 25
//! ```
//!
//! Each remark carries the figures of its estimate, so that the reader can do the sum. A survey
//! uses the same sentences for what the pass has not done yet.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::candidates::{Candidate, WhyNot};
use super::estimator::MOST_BLOCKS;
use super::opportunity::{Refusal, ThresholdRule};
use super::oracle::{Answer, Simulated};
use super::round::{Judged, Round};
use super::rules::Rules;
use super::specialisation::{MOST_CHANGED, MOST_CHANGED_BLOCKS};
use crate::ir::{Block, Function, Reg};
use crate::trace::{Fact, Remark};
use crate::view::View;

impl Judged {
    /// Adds the figures of the estimate as details of a remark. Times are in cycles for each run by
    /// a warp.
    fn add_figures(&self, func: &Function, remark: Remark, round: i64) -> Remark {
        let it = &self.opportunity;
        let remark = remark
            .at(self.candidate.last())
            .with("candidate", Fact::Count(u64::from(self.candidate.number)))
            .with("round", Fact::Count(round.unsigned_abs()))
            .with("probability", Fact::Number(it.probability));
        let remark = match self.candidate.joint {
            Some(joint) => remark.with("joint", Fact::Number(joint)),
            None => remark,
        };
        let remark = match &self.hoist {
            Some(hoist) => remark.with("moved_up", Fact::Count(hoist.insts.len() as u64)),
            None => remark,
        };
        let remark = remark
            .with("t_region", Fact::Number(it.t_region))
            .with("t_special", Fact::Number(it.t_special))
            .with("t_check", Fact::Number(it.t_check))
            .with("t_delta", Fact::Number(it.t_delta()))
            .with("gain", Fact::Number(it.gain()))
            .with("memory_killed", Fact::Count(it.memory_killed as u64))
            .with("blocks", Fact::Count(it.blocks() as u64))
            .with("region", Fact::Blocks(it.blocks_of_region().collect()));
        let registers = self.candidate.regs().iter().map(|&reg| func.regs[reg].name.clone()).collect();
        let remark = remark.with("registers", Fact::Words(registers));
        match it.speed_up() {
            Some(su) => remark.with("su", Fact::Number(su)).with("su_thresh", Fact::Number(it.threshold())),
            None => remark,
        }
    }
}

/// Names in words.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<String>>().join(" and ")
}

/// Registers in words.
fn named(func: &Function, regs: &[Reg]) -> String {
    listed(regs.iter().map(|&reg| func.regs[reg].name.as_str()))
}

/// Verb that agrees with so many names.
pub(super) fn verb(names: usize) -> &'static str {
    if names > 1 { "are" } else { "is" }
}

/// Remark on the gain of specialising.
pub(super) fn applied(func: &Function, judged: &Judged, round: i64) -> Remark {
    let it = &judged.opportunity;
    let regs = judged.candidate.regs();
    let (verb, all) = (verb(regs.len()), if regs.len() > 1 { " all" } else { "" });
    let hoisted = judged.hoist.as_ref().map(|hoist| {
        let (count, s) = (hoist.insts.len(), if hoist.insts.len() == 1 { "" } else { "s" });
        format!(
            "; for that, {count} instruction{s} move{} up to `{}`",
            if count == 1 { "s" } else { "" },
            func.blocks[it.head].name
        )
    });
    let counted = judged.candidate.joint.map(|joint| format!(" (counted together: {:.0} %)", joint * 100.0));
    let message = format!(
        "{} {verb}{all} zero in {:.0} % of warps{}: there {:.1} of {:.1} cycles remain; after the {:.1}-cycle check \
         that {} {:.1} cycles on average{}",
        named(func, &regs),
        it.probability * 100.0,
        counted.unwrap_or_default(),
        it.t_special,
        it.t_region,
        it.t_check,
        if it.gain() < 0.0 { "costs" } else { "saves" },
        it.gain().abs(),
        hoisted.unwrap_or_default()
    );
    judged.add_figures(func, Remark::applied("specialise", it.head, message), round)
}

/// Remark on a candidate that does not pass, with its figures.
pub(super) fn refused(func: &Function, rules: &Rules, judged: &Judged, why: Refusal, round: i64) -> Remark {
    let it = &judged.opportunity;
    let regs = judged.candidate.regs();
    let (names, verb) = (named(func, &regs), verb(regs.len()));
    let (rule, message) = match why {
        Refusal::NothingGained => ("nothing", format!("nothing becomes simpler where {names} would be zero")),
        Refusal::Convergent => (
            "convergent",
            format!("if lanes diverge on whether {names} {verb} zero, a convergent instruction misses the other lanes"),
        ),
        Refusal::NeverRuns => {
            ("never-runs", format!("by the profile, what depends on {names} never runs where {names} {verb} zero"))
        }
        Refusal::Gain => (
            "gain",
            format!(
                "specialising for {names} would {} {:.1} cycles of {:.1}; {}`min_cycles` is {}",
                if it.gain() < 0.0 { "lose" } else { "gain" },
                it.gain().abs(),
                it.t_region,
                if rules.rule == ThresholdRule::Printed { "as printed, the rule takes losses, and " } else { "" },
                rules.min_cycles
            ),
        ),
        Refusal::Threshold => {
            let saved = it.speed_up().unwrap_or(0.0);
            let (blocks, s) = (it.blocks(), if it.blocks() == 1 { "" } else { "s" });
            let threshold = 100.0 * it.threshold();
            let comparison = match rules.rule {
                ThresholdRule::Remaining => format!(
                    "leave {:.1} % of the region's time for {blocks} copied block{s}; {threshold:.1} % are allowed",
                    100.0 * (1.0 - saved)
                ),
                ThresholdRule::Expected => format!(
                    "leave {:.1} % of the region's time, on average over all warps, for {blocks} copied block{s}; \
                     {threshold:.1} % are allowed",
                    100.0 * (1.0 - it.gain() / it.t_region)
                ),
                ThresholdRule::Printed => format!(
                    "save {:.1} % of the region's time with {blocks} copied block{s}; as printed, the rule takes less \
                     than {threshold:.1} %",
                    100.0 * saved
                ),
            };
            ("threshold", format!("specialising for {names} would {comparison}"))
        }
    };
    judged.add_figures(func, Remark::missed(rule, it.head, message), round)
}

/// Adds the remark that no profile declares zeros.
pub(super) fn miss_profile(view: &mut View<'_>) {
    view.miss(|func| {
        let entry = func.entry_block().unwrap_or(Block::from_u32(0));
        let message = "there is no `profile zero`: measure one with --profile simulate, or declare it";
        Remark::missed("no-profile", entry, message)
    });
}

/// Adds a remark for each candidate that is not transformed. A reason that depends on the program
/// alone is given in the first round.
pub(super) fn miss_refused(view: &mut View<'_>, rules: &Rules, round: &Round) {
    if !view.is_traced() {
        return;
    }
    for (candidate, why) in &round.not_estimated {
        if round.number == 1 || why.is_of_estimate() {
            view.miss(|func| not_estimated(func, rules, candidate, *why));
        }
    }
    let is_at_limit = round.chosen().is_some() && round.plan.is_none();
    for judged in &round.judged {
        match judged.verdict {
            Err(why) => view.miss(|func| refused(func, rules, judged, why, round.number)),
            Ok(()) if is_at_limit => view.miss(|func| limited(func, judged, round.number)),
            Ok(()) => {}
        }
    }
}

/// Adds the cycles of the launch as details of a remark.
pub(super) fn add_cycles(remark: Remark, simulated: Simulated) -> Remark {
    let remark = remark.with("cycles_before", Fact::Count(simulated.before));
    simulated.after.into_iter().fold(remark, |remark, after| remark.with("cycles_after", Fact::Count(after)))
}

/// Adds a remark for each candidate that passes in the last round and that the oracle has not kept.
pub(super) fn miss_unhelpful(view: &mut View<'_>, rules: &Rules, round: &Round, answer: &Answer) {
    for judged in round.judged.iter().filter(|judged| judged.verdict.is_ok()) {
        let Some(&simulated) = answer.refused.get(&judged.candidate.writes) else {
            if answer.is_cut_off {
                view.miss(|func| {
                    let names = named(func, &judged.candidate.regs());
                    let message = format!("the launch is too long to try what specialising for {names} brings");
                    judged.add_figures(func, Remark::missed("too-long", judged.opportunity.head, message), round.number)
                });
            } else if round.number > rules.limit {
                view.miss(|func| limited(func, judged, round.number));
            }
            continue;
        };
        view.miss(|func| {
            let names = named(func, &judged.candidate.regs());
            let message = match simulated.after {
                Some(after) => format!(
                    "specialising for {names} does not make the launch faster: {} cycles become {after}",
                    simulated.before
                ),
                None => format!("specialising for {names} makes the launch fail"),
            };
            let remark =
                judged.add_figures(func, Remark::missed("oracle", judged.opportunity.head, message), round.number);
            add_cycles(remark, simulated)
        });
    }
}

/// Remark on a candidate that passes after the last allowed transformation.
pub(super) fn limited(func: &Function, judged: &Judged, round: i64) -> Remark {
    let (names, gain) = (named(func, &judged.candidate.regs()), judged.opportunity.gain());
    let message = format!("specialising for {names} would gain {gain:.1} cycles, but `xform_limit` is reached");
    judged.add_figures(func, Remark::missed("limit", judged.opportunity.head, message), round)
}

/// Remark on a candidate without an estimate.
pub(super) fn not_estimated(func: &Function, rules: &Rules, candidate: &Candidate, why: WhyNot) -> Remark {
    let regs = candidate.regs();
    let (names, verb) = (named(func, &regs), verb(regs.len()));
    let (rule, message) = match why {
        WhyNot::Unlikely => (
            "unlikely",
            format!(
                "{names} {verb} zero in {:.0} % of warps; `p_thresh` is {:.0} %",
                candidate.probability * 100.0,
                rules.p_thresh * 100.0
            ),
        ),
        WhyNot::Propagator(input) => (
            "propagator",
            format!("{names} {verb} zero because `{}` is, which is at least as likely", func.regs[input].name),
        ),
        WhyNot::NeedsLicence => ("licence", format!("{names} {verb} a float, which needs the fast-math licence")),
        WhyNot::Untestable => ("untestable", format!("there is no comparison with zero for the type of {names}")),
        WhyNot::Checked => ("checked", format!("{names} {verb} already checked for zero")),
        WhyNot::NoPlace => ("no-place", format!("one of {names} is overwritten before all of them can be checked")),
        WhyNot::TooManyChanges => (
            "too-large",
            format!(
                "specialising for {names} would change more than {MOST_CHANGED} instructions or \
                 {MOST_CHANGED_BLOCKS} blocks"
            ),
        ),
        WhyNot::TooManyCopies => {
            ("too-large", format!("specialising for {names} would copy more than {MOST_BLOCKS} blocks"))
        }
        WhyNot::OutOfSteps => (
            "out-of-steps",
            format!("{names} {verb} not estimated: the estimates of likelier candidates have taken all steps"),
        ),
    };
    let remark = Remark::missed(rule, candidate.block(func), message).at(candidate.last());
    regs.iter().fold(remark, |remark, &reg| remark.with("register", Fact::Reg(reg)))
}

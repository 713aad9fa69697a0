//! The paths that `pde` goes by, its statements with their verdicts, and how one of them would sink.
//!
//! ```text
//! Statement  x = mul.f32 a, b · n2   sinks
//! Join       n5 enabled   n9 enabled
//! Saves 150 × 1 T[s], costs 100 × 1 T[p?s]: worth it
//! ```
//!
//! Sets, figures and verdicts are those of [`survey`], hence of the pass itself; the way of a statement is told in
//! [`moments`].
//!
//! Source of the terms and sets: Gupta, Berson and Fang 1997.

mod moments;
pub mod survey;
mod surveyor;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use self::survey::{Detail, Join, JoinVerdict, Question, Survey, Surveyed, Times, Weighed, survey};
use crate::compact_sort::CompactSort;
use crate::inspect::{Inspection, Request};
use crate::ir::{Block, Function, Inst, Module};
use crate::pass::support::path_guided::inspect::words::{balance, name, product, together, warp_cycles};
use crate::pass::support::path_guided::inspect::{
    DecisionPoint, Findings, ListedPaths, SetColumn, ShownStatement, StatementRow, Vocabulary, executions, inspection,
    inspector, planned, requested, survey_of_statement,
};
use crate::pass::{InspectedPosition, Inspector};
use crate::text::instruction_text;
use crate::trace::sentence;

/// The inspector of the pass.
pub(super) const INSPECTOR: Option<Inspector> = inspector(inspect);

const VOCABULARY: Vocabulary = Vocabulary {
    statement: "Statement",
    point: "Join",
    fates: ["sinks", "kept"],
    way: "Path of the statement",
    sets: [
        SetColumn { name: "avail", set: "X-APATHS", meaning: "s reaches {} along the path, and can go on from there" },
        SetColumn {
            name: "remov",
            set: "X-RPATHS",
            meaning: "from {} on, the path leads to where its result is unused",
        },
        SetColumn {
            name: "benefit",
            set: "",
            meaning: "the path executes s less often if {}, and those that it needs, are passed",
        },
        SetColumn { name: "cost", set: "", meaning: "the path executes s under the predicate for nothing" },
    ],
    terms: &[
        ("T[s]", "cycles of s"),
        ("T[p?s]", "of s under a predicate that may be false"),
        ("T[p]", "of setting that predicate"),
    ],
};

const NO_PROFILE: &str = "No `profile path` or `profile edge` says how often paths are executed, so nothing sinks \
                          under a predicate. Declare one, or let the simulator measure it: its switch is called \
                          profile.";

fn inspect(position: &InspectedPosition<'_>, request: &Request) -> Option<Inspection> {
    let (module, func) = (position.module, position.function());
    let listed = ListedPaths::new(position, request);
    let warps = (position.surroundings.count_warps)(module, position.func);
    let of = |frequencies: &[(Vec<Block>, u64)], wanted: Option<Inst>| {
        survey(module, position.func, position.settings, Question { wanted, frequencies, warps: warps.as_ref() })
    };
    let planned = planned(position);
    let wanted = requested(request, func);
    let has_statement = |found: &Survey| found.detail.as_ref().is_some_and(|detail| detail.statement.is_some());
    let found = survey_of_statement((wanted, planned), &listed, of, usual, has_statement);
    let is_edited = !listed.edited.is_empty();
    let next =
        if is_edited { found.round.first().map(|&place| found.statements[place].occurrences[0]) } else { planned };
    let report = SinkReport { module, func, found: &found };
    let is_by_choice = position.settings.knobs.choice("cost") != "auto";
    let findings = Findings {
        lead: report.lead(next, position.has_begun(), is_edited),
        statements: report.statements(next),
        shown: found.detail.as_ref().and_then(|detail| report.shown(detail, wanted, is_by_choice)),
        next,
        paths: &found.paths,
        is_estimated: found.estimated.is_some(),
    };
    Some(inspection(request, &VOCABULARY, &listed, func, findings))
}

/// The statement that is shown where nothing is known to come next: one that would sink, or one that was weighed.
fn usual(found: &Survey) -> Option<Inst> {
    let weighed = |surveyed: &&Surveyed| matches!(surveyed.rule, "cost" | "warps" | "no-benefit");
    let sinks = found.round.first().map(|&place| &found.statements[place]);
    sinks.or_else(|| found.statements.iter().find(weighed)).map(|surveyed| surveyed.occurrences[0])
}

/// The findings, in words.
struct SinkReport<'a> {
    module: &'a Module,
    func: &'a Function,
    found: &'a Survey,
}

impl SinkReport<'_> {
    fn name(&self, block: Block) -> String {
        name(self.func, block)
    }

    fn text(&self, inst: Inst) -> String {
        instruction_text(self.module, self.func, inst)
    }

    fn lead(&self, next: Option<Inst>, has_begun: bool, is_edited: bool) -> String {
        if let Some(why) = &self.found.refused {
            return format!("`pde` cannot run: {why}.");
        }
        match next {
            Some(inst) if is_edited => format!("With these frequencies, `{}` would sink first.", self.text(inst)),
            Some(inst) => format!(
                "Next, `{}` sinks to where its result is used: play its path, or step forward.",
                self.text(inst)
            ),
            None if self.found.paths.is_empty() => NO_PROFILE.into(),
            None if is_edited => "With these frequencies, nothing would sink.".into(),
            None if has_begun => "Nothing left to sink. Step back to see what moved and why.".into(),
            None => "Nothing pays here: `pde` changes nothing.".into(),
        }
    }

    fn statements(&self, next: Option<Inst>) -> Vec<StatementRow> {
        let is_next = |surveyed: &Surveyed| next.is_some_and(|next| surveyed.occurrences.contains(&next));
        let rank = |surveyed: &Surveyed| match surveyed.rule {
            _ if is_next(surveyed) => 0,
            _ if surveyed.passes => 1,
            "cost" | "warps" => 2,
            "dead" | "needed" | "infrequent" => 4,
            _ => 3,
        };
        let mut all: Vec<&Surveyed> = self.found.statements.iter().collect();
        all.compact_sort_by_key(|surveyed| rank(surveyed));
        let row = |surveyed: &Surveyed| StatementRow {
            insts: surveyed.occurrences.clone(),
            text: self.text(surveyed.occurrences[0]),
            passes: surveyed.passes,
        };
        all.into_iter().map(row).collect()
    }

    fn shown(&self, detail: &Detail, wanted: Option<Inst>, is_by_choice: bool) -> Option<ShownStatement> {
        let Some(number) = detail.statement else {
            let reason = format!("{}.", detail.why_none.trim_end_matches('.'));
            return wanted.map(|inst| ShownStatement::out_of_question(inst, self.text(inst), reason));
        };
        let surveyed = &self.found.statements[number];
        Some(ShownStatement {
            insts: surveyed.occurrences.clone(),
            text: self.text(surveyed.occurrences[0]),
            passes: surveyed.passes,
            rule: surveyed.rule.into(),
            verdict: sentence(&surveyed.verdict),
            warps: self.warps(surveyed, detail, is_by_choice),
            points: detail.joins.iter().map(|join| self.point(join, detail)).collect(),
            moments: self.moments(surveyed, detail),
        })
    }

    /// The price that warps pay, beside that of paths.
    fn warps(&self, surveyed: &Surveyed, detail: &Detail, is_by_choice: bool) -> String {
        let Some((before, after)) = detail.warp_cycles else { return String::new() };
        let cycles = warp_cycles(before, after);
        let (is_less, is_more) = (after < before - 0.5, after > before + 0.5);
        match (self.found.is_by_warp, surveyed.passes) {
            (true, _) => format!("Decided per warp: {cycles}."),
            (false, false) => String::new(),
            (false, true) => {
                let why = if is_by_choice { "set by `pde.cost`" } else { "no warp profile" };
                let so = match (is_less, is_more) {
                    (true, _) => format!("In this launch the warps gain as well: {cycles}."),
                    (_, true) => format!(
                        "In this launch the warps lose: {cycles}, because a diverged warp runs both sides in turn. \
                         With `pde.cost=warp` the statement would not sink."
                    ),
                    _ => format!("In this launch it makes no difference to the warps: {cycles}."),
                };
                format!("Decided per path ({why}). {so}")
            }
        }
    }

    fn point(&self, join: &Join, detail: &Detail) -> DecisionPoint {
        let (word, passes, verdict) = self.decision(join);
        // The paper's count is shown beside the true one.
        let (verdict, printed) = match (join.printed, join.weighed) {
            (Some(printed), Some(weighed)) if printed.benefit_paths > weighed.benefit_paths => (
                format!(
                    "{verdict} The paper counts a benefit of {}: {} of these executions are last trips of a loop that \
                     need it after the loop, or may.",
                    printed.benefit_paths,
                    printed.benefit_paths - weighed.benefit_paths
                ),
                format!("the paper counts {}", printed.benefit_paths),
            ),
            _ => (verdict, String::new()),
        };
        DecisionPoint {
            block: join.block,
            name: self.func.blocks[join.block].name.clone(),
            word,
            passes,
            verdict,
            line: self.line(join, detail),
            printed,
            sets: join.sets.clone(),
        }
    }

    /// The decision about a join: in a word, whether it is passed, and in a sentence.
    fn decision(&self, join: &Join) -> (&'static str, bool, String) {
        let name = self.name(join.block);
        let with = together(self.func, join.block, &join.together);
        match join.verdict {
            JoinVerdict::Plain => {
                ("passed", true, format!("It reaches {name} on all paths, and passes without a predicate."))
            }
            JoinVerdict::Enabled => ("enabled", true, format!("It passes {name} with a predicate{with}: that pays.")),
            JoinVerdict::EnabledWith(earlier) => (
                "enabled",
                true,
                format!(
                    "It passes {name} with a predicate because the benefit of {} needs that, whatever it brings by \
                     itself.",
                    self.name(earlier)
                ),
            ),
            JoinVerdict::PastOthers => {
                ("passed", true, format!("It reaches {name} on all paths, as it passes other joins with a predicate."))
            }
            JoinVerdict::Cost => ("refused", false, format!("It does not pass {name}{with}: that costs more.")),
            JoinVerdict::Warps => {
                ("refused", false, format!("Paths would gain by passing {name}{with}, warps would not."))
            }
            JoinVerdict::NoBenefit => {
                ("no benefit", false, format!("It does not pass {name}: no frequent path would save it."))
            }
            JoinVerdict::NotReached => ("not reached", false, format!("It does not reach {name}.")),
            JoinVerdict::Ends => (
                "ends",
                false,
                format!("It stops in {name}: an instruction there uses it, blocks it or redefines its register."),
            ),
            JoinVerdict::LoopHead => {
                ("loop", false, format!("{name} is a loop head: nothing passes it with a predicate."))
            }
            JoinVerdict::NoProfile => {
                ("no profile", false, format!("No profile says whether it pays to pass {name} with a predicate."))
            }
        }
    }

    /// `Saves 150 × 1 T[s], costs 100 × 1 T[p?s]: worth it`, the terms in cycles.
    fn line(&self, join: &Join, detail: &Detail) -> String {
        let (weighed, times, by_itself) = match (join.weighed, join.verdict) {
            (Some(weighed), _) => (weighed, join.times, ""),
            (None, JoinVerdict::EnabledWith(_)) => {
                let [benefit_paths, cost_paths] =
                    [&join.sets.benefit, &join.sets.cost].map(|set| executions(&self.found.paths, set));
                let times = Times { predicate: 0.0, ..detail.times };
                let (benefit, cost) = (benefit_paths * times.statement, cost_paths * times.predicated);
                (Weighed { benefit_paths, cost_paths, benefit, cost }, times, "By itself: ")
            }
            (None, _) => return String::new(),
        };
        let Weighed { benefit_paths, cost_paths, benefit, cost } = weighed;
        let (of_s, of_p) =
            if times.predicate > 0.0 { ("(T[s] − T[p])", "(T[p?s] + T[p])") } else { ("T[s]", "T[p?s]") };
        let saved = product(benefit_paths, times.statement - times.predicate, of_s);
        let added = product(cost_paths, times.predicated + times.predicate, of_p);
        balance(by_itself, (saved, benefit), (added, cost))
    }
}

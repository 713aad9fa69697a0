//! The paths that `spec-pre` goes by, what is evaluated twice, and how one evaluation would do.
//!
//! ```text
//! Evaluation  add.u32 x, y · n2 n7   moves
//! Branch      n6 enabled
//! Saves 19 × 1 T, costs 5 × 1 T: worth it
//! ```
//!
//! Sets, figures and verdicts are those of [`survey`], hence of the pass itself; the way of an
//! evaluation is told in [`moments`].

mod moments;
pub mod survey;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use self::survey::{Branch, BranchVerdict, Detail, Question, Survey, Surveyed, Weighed, survey};
use crate::compact_sort::CompactSort;
use crate::inspect::{Inspection, Request};
use crate::ir::{Block, Function, Inst, Module};
use crate::pass::support::path_guided::inspect::words::{balance, name, names, product, together, warp_cycles};
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
    statement: "Evaluation",
    point: "Branch",
    fates: ["moves", "kept"],
    way: "Path of the evaluation",
    sets: [
        SetColumn {
            name: "avail",
            set: "",
            meaning: "backward from {}, the path leads to where the value of e is available",
        },
        SetColumn { name: "antic", set: "", meaning: "an evaluation of e comes up to {} along the path" },
        SetColumn {
            name: "benefit",
            set: "",
            meaning: "the path evaluates e less often if {}, and those that it needs, are passed",
        },
        SetColumn { name: "cost", set: "", meaning: "the path evaluates e for nothing" },
    ],
    terms: &[("T", "cycles of e")],
};

const NO_PROFILE: &str = "No `profile path` or `profile edge` says how often paths are executed, so nothing is \
                          evaluated by speculation. Declare one, or let the simulator measure it: its switch is called \
                          profile.";

const NOTHING: &str = "No other path evaluates it, or an operand is written in between: there is nothing to do.";

fn inspect(position: &InspectedPosition<'_>, request: &Request) -> Option<Inspection> {
    let (module, func) = (position.module, position.function());
    let listed = ListedPaths::new(position, request);
    let of = |frequencies: &[(Vec<Block>, u64)], wanted: Option<Inst>| {
        survey(module, position.func, position.settings, Question { wanted, frequencies })
    };
    let planned = planned(position);
    let wanted = requested(request, func);
    let found = survey_of_statement((wanted, planned), &listed, of, usual, |found| found.detail.is_some());
    let is_edited = !listed.edited.is_empty();
    let first = || found.redundancies.iter().find(|surveyed| surveyed.passes)?.evaluations.first().copied();
    let next = if is_edited { first() } else { planned };
    let report = HoistReport { module, func, found: &found };
    let findings = Findings {
        lead: report.lead(next, position.has_begun(), is_edited),
        statements: report.redundancies(next),
        shown: report.shown(wanted),
        next,
        paths: &found.paths,
        is_estimated: found.estimated.is_some(),
    };
    Some(inspection(request, &VOCABULARY, &listed, func, findings))
}

/// The evaluation that is shown where nothing is known to come next: one that would move, or one
/// that was weighed, or any.
fn usual(found: &Survey) -> Option<Inst> {
    let weighed = |surveyed: &&Surveyed| matches!(surveyed.verdict.rule, "cost" | "warps" | "no-benefit");
    let moves = found.redundancies.iter().find(|surveyed| surveyed.passes);
    let weighed = moves.or_else(|| found.redundancies.iter().find(weighed));
    weighed.or(found.redundancies.first())?.evaluations.first().copied()
}

/// The findings, in words.
struct HoistReport<'a> {
    module: &'a Module,
    func: &'a Function,
    found: &'a Survey,
}

impl HoistReport<'_> {
    fn name(&self, block: Block) -> String {
        name(self.func, block)
    }

    fn text(&self, inst: Inst) -> String {
        instruction_text(self.module, self.func, inst)
    }

    /// The text of an instruction without its result.
    fn expression(&self, inst: Inst) -> String {
        let text = self.text(inst);
        text.split_once(" = ").map_or(text.clone(), |(_, expression)| expression.into())
    }

    fn block_names(&self, insts: &[Inst]) -> String {
        let mut blocks: Vec<Block> = insts.iter().filter_map(|&inst| self.func.inst_block(inst)).collect();
        blocks.dedup();
        names(self.func, &blocks)
    }

    fn lead(&self, next: Option<Inst>, has_begun: bool, is_edited: bool) -> String {
        if let Some(why) = &self.found.refused {
            return format!("`spec-pre` cannot run: {why}.");
        }
        match next {
            Some(inst) if is_edited => {
                format!("With these frequencies, `{}` would be evaluated once first.", self.expression(inst))
            }
            Some(inst) => format!(
                "Next, `{}` is evaluated once instead of twice: play its path, or step forward.",
                self.expression(inst)
            ),
            None if is_edited => "With these frequencies, nothing would be evaluated elsewhere.".into(),
            None if self.found.redundancies.is_empty() && !has_begun => {
                "Nothing is evaluated twice on any path: `spec-pre` changes nothing.".into()
            }
            None if self.found.paths.is_empty() => NO_PROFILE.into(),
            None if has_begun => "Nothing left to gain. Step back to see what moved and why.".into(),
            None => "Nothing pays here: `spec-pre` changes nothing.".into(),
        }
    }

    fn redundancies(&self, next: Option<Inst>) -> Vec<StatementRow> {
        let is_next = |surveyed: &Surveyed| next.is_some_and(|next| surveyed.evaluations.contains(&next));
        let rank = |surveyed: &Surveyed| match surveyed.verdict.rule {
            _ if is_next(surveyed) => 0,
            _ if surveyed.passes => 1,
            "cost" | "warps" => 2,
            _ => 3,
        };
        let mut all: Vec<&Surveyed> =
            self.found.redundancies.iter().filter(|surveyed| !surveyed.evaluations.is_empty()).collect();
        all.compact_sort_by_key(|surveyed| rank(surveyed));
        let row = |surveyed: &Surveyed| StatementRow {
            insts: surveyed.evaluations.clone(),
            text: self.expression(surveyed.evaluations[0]),
            passes: surveyed.passes,
        };
        all.into_iter().map(row).collect()
    }

    fn shown(&self, wanted: Option<Inst>) -> Option<ShownStatement> {
        let Some(detail) = &self.found.detail else {
            return wanted.map(|inst| ShownStatement::out_of_question(inst, self.text(inst), NOTHING.into()));
        };
        let surveyed = &self.found.redundancies[detail.redundancy];
        let warps = match detail.warp_cycles {
            Some((before, after)) if self.found.is_by_warp => {
                format!("Decided per warp: {}.", warp_cycles(before, after))
            }
            _ => String::new(),
        };
        Some(ShownStatement {
            insts: surveyed.evaluations.clone(),
            text: surveyed.evaluations.first().map_or_else(String::new, |&inst| self.expression(inst)),
            passes: surveyed.passes,
            rule: surveyed.verdict.rule.into(),
            verdict: sentence(&surveyed.verdict.message),
            warps,
            points: detail.branches.iter().map(|branch| self.point(branch, detail)).collect(),
            moments: self.moments(surveyed, detail),
        })
    }

    fn point(&self, branch: &Branch, detail: &Detail) -> DecisionPoint {
        let (word, passes, verdict) = self.decision(branch);
        DecisionPoint {
            block: branch.block,
            name: self.func.blocks[branch.block].name.clone(),
            word,
            passes,
            verdict,
            line: self.line(branch, detail),
            printed: String::new(),
            sets: branch.sets.clone(),
        }
    }

    /// The decision about a branch: in a word, whether it is passed, and in a sentence.
    fn decision(&self, branch: &Branch) -> (&'static str, bool, String) {
        let name = self.name(branch.block);
        let with = together(self.func, branch.block, &branch.together);
        match branch.verdict {
            BranchVerdict::Plain => (
                "passed",
                true,
                format!("All paths from {name} use it: evaluated before the branch there, it adds no execution."),
            ),
            BranchVerdict::Enabled => {
                ("enabled", true, format!("It is evaluated ahead of {name} by speculation{with}: that pays."))
            }
            BranchVerdict::EnabledWith(later) => (
                "enabled",
                true,
                format!(
                    "It is evaluated ahead of {name} by speculation because the benefit of {} needs that, whatever it \
                     brings by itself.",
                    self.name(later)
                ),
            ),
            BranchVerdict::Cost => {
                ("refused", false, format!("It is not evaluated ahead of {name}{with}: that costs more."))
            }
            BranchVerdict::Warps => {
                ("refused", false, format!("Paths would gain by an evaluation ahead of {name}{with}, warps would not."))
            }
            BranchVerdict::NoBenefit => {
                ("no benefit", false, format!("Ahead of {name} no frequent path would lose an evaluation."))
            }
            BranchVerdict::NotReached => {
                ("not reached", false, format!("No evaluation comes up to {name}, or none leads on to the value."))
            }
            BranchVerdict::NoSpeculation => {
                ("no profile", false, format!("No profile says whether it pays to evaluate it ahead of {name}."))
            }
        }
    }

    /// `Saves 19 × 1 T, costs 5 × 1 T: worth it`.
    fn line(&self, branch: &Branch, detail: &Detail) -> String {
        let (weighed, by_itself) = match (branch.weighed, branch.verdict) {
            (Some(weighed), _) => (weighed, ""),
            (None, BranchVerdict::EnabledWith(_)) => {
                let [benefit_paths, cost_paths] =
                    [&branch.sets.benefit, &branch.sets.cost].map(|set| executions(&self.found.paths, set));
                let (benefit, cost) = (benefit_paths * detail.cycles, cost_paths * detail.cycles);
                (Weighed { benefit_paths, cost_paths, benefit, cost }, "By itself: ")
            }
            (None, _) => return String::new(),
        };
        let Weighed { benefit_paths, cost_paths, benefit, cost } = weighed;
        let [saved, added] = [benefit_paths, cost_paths].map(|executions| product(executions, detail.cycles, "T"));
        balance(by_itself, (saved, benefit), (added, cost))
    }
}

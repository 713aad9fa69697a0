//! Survey of a program before the pass: executed paths, redundant evaluations with verdicts, and
//! how one of them comes to be evaluated once.
//!
//! ```text
//! paths         freq   at n6:  available  anticipated  benefit  cost
//! n1 n2 n4 n7    10           1          1            1        0       n6 enabled: 19 · T > 5 · T
//! n1 n3 n6 n8     5           0          0            0        1       inserted n3, replaced n7
//! ```
//!
//! Regions, sets, decisions and sentences are those of the pass itself. [`carried_out`] is the
//! program after a rewrite.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::super::benefit::{Decision, Weighing};
use super::super::expressions::{Expression, Repetition};
use super::super::plan::Step;
use super::super::region::{Hoisted, Lanes, Member, Region};
use super::super::remarks::{Refused, repeat};
use super::super::{Elimination, Round};
use crate::ir::{Block, Func, Function, Inst, Module};
use crate::pass::Settings;
use crate::pass::support::path_guided::inspect::points::{WeighedPoint, changed_paths, sets_at};
use crate::pass::support::path_guided::nodes::Node;
use crate::pass::support::path_guided::paths::{change_frequencies, inspected_paths};
use crate::text::instruction_text;
use crate::trace::{NoTrace, Remark};
use crate::view::{Analyses, View};

pub use crate::pass::support::path_guided::inspect::points::{PointSets, Position, Weighed};
pub use crate::pass::support::path_guided::paths::{Estimated, Path, executed_paths};

/// Subject of a survey.
#[derive(Clone, Copy, Default, Debug)]
pub struct Question<'a> {
    /// One of the wanted evaluations; None for those that the pass changes next.
    pub wanted: Option<Inst>,
    /// Frequencies of paths that replace those of the profile.
    pub frequencies: &'a [(Vec<Block>, u64)],
}

/// Findings of the pass in a function.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// The executed paths, the most frequent first.
    pub paths: Vec<Path>,
    /// Quality of the estimate, if paths are estimated.
    pub estimated: Option<Estimated>,
    /// Whether warps pay instead of paths.
    pub is_by_warp: bool,
    /// Redundancies, in the order in which the pass visits them.
    pub redundancies: Vec<Surveyed>,
    /// How the wanted one is evaluated once, or why it is not; None for an evaluation that is never
    /// repeated.
    pub detail: Option<Detail>,
    /// Why the pass cannot run.
    pub refused: Option<String>,
}

/// Evaluations of one expression that have to do with one another, with their verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Surveyed {
    /// Those that may be redundant and those whose values others may read, in the order of the
    /// program.
    pub evaluations: Vec<Inst>,
    /// Whether the pass changes them.
    pub passes: bool,
    /// Remark of the pass, or the first of its refusals, or why there is nothing to do.
    pub verdict: Remark,
}

/// How evaluations come to be one.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Detail {
    /// The index in [`Survey::redundancies`].
    pub redundancy: usize,
    /// T, the cycles of one.
    pub cycles: f64,
    /// Branches ahead of which it could be evaluated, in the order of the decisions.
    pub branches: Vec<Branch>,
    /// New places of evaluation.
    pub inserted: Vec<Position>,
    /// Evaluations that read the value instead.
    pub replaced: Vec<Inst>,
    /// Evaluations whose value is read.
    pub sources: Vec<Inst>,
    /// Cycles of all warps, before and after, where they decide.
    pub warp_cycles: Option<(f64, f64)>,
}

/// A branch in the way of an evaluation.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// The block that ends with it.
    pub block: Block,
    /// Verdict of the branch.
    pub verdict: BranchVerdict,
    /// It and the branches that are enabled with it.
    pub together: Vec<Block>,
    /// The paths at the branch: available are those on which what is hoisted ahead of it goes on,
    /// backward, to where the value is available, and removable those on which an evaluation from
    /// further on is hoisted ahead of it.
    pub sets: PointSets,
    /// The figures, where it was weighed.
    pub weighed: Option<Weighed>,
}

/// Verdict about a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchVerdict {
    /// All ways on need it: no speculation.
    Plain,
    /// Passed by speculation: it pays.
    Enabled,
    /// Passed by speculation, as one further on needs it.
    EnabledWith(Block),
    /// It costs more.
    Cost,
    /// Paths would gain by it, warps would not.
    Warps,
    /// No frequent path would benefit.
    NoBenefit,
    /// Nothing is hoisted to it, or from it to where the value is available.
    NotReached,
    /// Speculation is not wanted, or there is no profile.
    NoSpeculation,
}

/// Surveys a function as it is.
pub fn survey(module: &Module, func: Func, settings: &Settings, question: Question<'_>) -> Survey {
    let mut body = module.funcs[func].clone();
    change_frequencies(&mut body, question.frequencies);
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    match Elimination::of(&mut view, settings) {
        Ok(elimination) => Surveyor { module, func: view.func(), elimination }.survey(question.wanted),
        Err(error) => Survey { refused: Some(error.message), ..Survey::default() },
    }
}

/// The function after the rewrite whose remark is about an instruction; None without such a remark.
pub fn carried_out(module: &Module, func: Func, settings: &Settings, inst: Inst) -> Option<Function> {
    let mut body = module.funcs[func].clone();
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    let mut elimination = Elimination::of(&mut view, settings).ok()?;
    let count = elimination.expressions.all.len();
    let repeats = |&number: &usize| elimination.groups(number).any(|group| group[0].inst == inst);
    if let Some(number) = (0..count).find(repeats) {
        let group = elimination.groups(number).find(|group| group[0].inst == inst).map(<[Repetition]>::to_vec);
        elimination.expressions.all[number].repetitions = group?;
        elimination.replace_repetitions(&mut view, number);
    } else {
        let plan = (0..count).find_map(|number| {
            let regions = elimination.regions(number).ok()?.into_iter();
            let mut plans = regions.filter_map(|region| elimination.plan(number, region, &mut None).0);
            Some((number, plans.find(|plan| plan.first() == inst)?))
        });
        let (number, plan) = plan?;
        elimination.carry_out(&mut view, number, &plan, &mut Round::default());
    }
    view.close();
    Some(body)
}

/// The pass, before it has changed anything.
struct Surveyor<'a> {
    module: &'a Module,
    func: &'a Function,
    elimination: Elimination,
}

impl Surveyor<'_> {
    fn survey(mut self, wanted: Option<Inst>) -> Survey {
        let count = self.elimination.expressions.all.len();
        let mut all: Vec<(Surveyed, Detail)> = (0..count).flat_map(|number| self.repetitions(number)).collect();
        for number in 0..count {
            all.extend(self.regions(number));
        }
        let is_wanted = |(surveyed, _): &(Surveyed, Detail)| match wanted {
            Some(inst) => surveyed.evaluations.contains(&inst),
            None => surveyed.passes,
        };
        let redundancy = all.iter().position(is_wanted);
        let detail = redundancy.map(|redundancy| Detail { redundancy, ..core::mem::take(&mut all[redundancy].1) });
        let redundancies = all.into_iter().map(|(surveyed, _)| surveyed).collect();
        let Elimination { nodes, paths, warps, .. } = &self.elimination;
        let (paths, estimated) = inspected_paths(self.func, nodes, paths.as_ref().map_or(0, |paths| paths.frequent));
        Survey { paths, estimated, is_by_warp: warps.is_some(), redundancies, detail, refused: None }
    }

    fn text(&self, inst: Inst) -> String {
        instruction_text(self.module, self.func, inst)
    }

    fn cycles(&self, number: usize) -> f64 {
        f64::from(self.elimination.machine.issue_cycles(&self.elimination.expressions.all[number].data))
    }

    /// Repetitions of an expression within blocks.
    fn repetitions(&self, number: usize) -> Vec<(Surveyed, Detail)> {
        let of = |group: &[Repetition]| {
            let block = self.elimination.nodes.block(group[0].node)?;
            let replaced: Vec<Inst> = group.iter().map(|repetition| repetition.inst).collect();
            let sources = vec![group[0].earlier];
            let evaluations = sources.iter().chain(&replaced).copied().collect();
            let verdict = repeat(self.module, self.func, block, group);
            let cycles = self.cycles(number);
            let detail = Detail { cycles, replaced, sources, ..Detail::default() };
            Some((Surveyed { evaluations, passes: true, verdict }, detail))
        };
        self.elimination.groups(number).filter_map(of).collect()
    }

    /// Regions in which an expression may be redundant.
    fn regions(&mut self, number: usize) -> Vec<(Surveyed, Detail)> {
        match self.elimination.regions(number) {
            Ok(regions) => regions.into_iter().map(|region| self.region(number, region)).collect(),
            Err(refused) => {
                let verdict = refused.map(|refused| (Vec::from([refused.0]), self.refusal(&refused)));
                let surveyed = |(evaluations, verdict)| Surveyed { evaluations, passes: false, verdict };
                verdict.into_iter().map(|found| (surveyed(found), Detail::default())).collect()
            }
        }
    }

    fn refusal(&self, (inst, why): &(Inst, Refused)) -> Remark {
        why.remark(self.func, &self.text(*inst))
    }

    fn region(&self, number: usize, region: Region) -> (Surveyed, Detail) {
        let evaluations = evaluations(&self.elimination.expressions.all[number], &region);
        let could_speculate = region.could_speculate(&region.hoisted(&region.none())) != 0;
        let mut detail = Detail { cycles: self.cycles(number), ..Detail::default() };
        let mut weighed: Vec<WeighedPoint<Decision>> = Vec::new();
        let mut observe = |step: Step<'_>| match step {
            Step::Branch(weighing) => {
                weighed.retain(|other| other.decision.split != weighing.decision.split);
                weighed.push(record(weighing));
            }
            Step::Decided { region, enabled, always } => {
                let weighed = core::mem::take(&mut weighed);
                let splits = (0..region.members.len()).rev().filter(|&place| region.members[place].split != 0);
                let branch = |place| self.branch(region, place, (enabled, always), &weighed);
                detail.branches = splits.filter_map(branch).collect();
            }
        };
        let (plan, notes) = self.elimination.plan(number, region, &mut Some(&mut observe));
        let nodes = &self.elimination.nodes;
        let verdict = match (&plan, notes.refused.first()) {
            (Some(plan), _) => plan.remark(self.func, nodes, &self.text(plan.first())),
            (None, Some(refused)) => self.refusal(refused),
            (None, None) => self.silence(evaluations.first().copied(), could_speculate),
        };
        if let Some(plan) = &plan {
            let insts = |list: &[(Node, Inst)]| list.iter().map(|&(_, inst)| inst).collect();
            detail.inserted = plan.inserted.iter().filter_map(|&(node, _)| Position::of(nodes, node)).collect();
            (detail.replaced, detail.sources) = (insts(&plan.replaced), insts(&plan.sources));
            detail.warp_cycles = plan.warp_cycles;
        }
        (Surveyed { evaluations, passes: plan.is_some(), verdict }, detail)
    }

    /// Why evaluations stay without a remark of the pass.
    fn silence(&self, first: Option<Inst>, could_speculate: bool) -> Remark {
        let block = first.and_then(|inst| self.func.inst_block(inst)).unwrap_or(Block::from_u32(0));
        let text = first.map(|inst| self.text(inst)).unwrap_or_default();
        let (rule, why) = match (could_speculate, self.elimination.is_speculating, &self.elimination.paths) {
            (false, ..) => ("no-gain", "one evaluation would not do where two are made"),
            (true, false, _) => ("no-speculation", "only by speculation one evaluation would do"),
            (true, true, None) => ("no-profile", "no profile of paths or edges says whether speculation pays"),
            (true, true, Some(_)) => ("no-benefit", "no executed path would lose an evaluation"),
        };
        Remark::missed(rule, block, format!("kept `{text}`: {why}"))
    }

    fn branch(
        &self,
        region: &Region,
        place: usize,
        (enabled, always): (&[Lanes], &Hoisted),
        weighed: &[WeighedPoint<Decision>],
    ) -> Option<Branch> {
        let Elimination { nodes, paths, warps, .. } = &self.elimination;
        let block_of = |place: usize| nodes.block(region.members[place].node);
        let block = block_of(place)?;
        let own = weighed.iter().find(|point| point.decision.split == place);
        let needs = |point: &&WeighedPoint<Decision>| {
            enabled[point.decision.split] != 0 && point.decision.together.contains(&place)
        };
        let is_enabled = enabled[place] != 0;
        let with = weighed.iter().find(needs).filter(|_| is_enabled);
        let verdict = match (own, with) {
            _ if always.exit[place] != 0 => BranchVerdict::Plain,
            (Some(_), _) if is_enabled => BranchVerdict::Enabled,
            (Some(own), _) if own.decision.is_worth_it() && warps.is_some() => BranchVerdict::Warps,
            (Some(own), _) if own.decision.benefit_paths > 0.0 => BranchVerdict::Cost,
            (Some(_), _) => BranchVerdict::NoBenefit,
            (None, Some(with)) => BranchVerdict::EnabledWith(block_of(with.decision.split)?),
            (None, None) if paths.is_none() => BranchVerdict::NoSpeculation,
            (None, None) => BranchVerdict::NotReached,
        };
        let at = (place, region.members[place].node);
        let sets = paths.as_ref().map(|paths| sets_at(paths, at, own, with, None));
        let together = own.map_or(&[][..], |own| &own.decision.together);
        Some(Branch {
            block,
            verdict,
            together: together.iter().filter_map(|&place| block_of(place)).collect(),
            sets: sets.unwrap_or_default(),
            weighed: own.map(|WeighedPoint { decision, .. }| Weighed {
                benefit_paths: decision.benefit_paths,
                cost_paths: decision.cost_paths,
                benefit: decision.benefit,
                cost: decision.cost,
            }),
        })
    }
}

/// Records a weighed branch.
fn record(weighing: &Weighing<'_>) -> WeighedPoint<Decision> {
    let Weighing { decision, paths, executions, rare, sets } = *weighing;
    let of = |&place: &usize| (place, (sets.entry_removable.set(place), sets.exit_anticipated.set(place)));
    WeighedPoint {
        decision: decision.clone(),
        sets: decision.together.iter().map(of).collect(),
        changes: Some(changed_paths(paths, executions, rare)),
    }
}

/// The evaluations that may be redundant in a region, and those whose values others may read.
fn evaluations(expression: &Expression, region: &Region) -> Vec<Inst> {
    let of = |member: &Member| {
        let site = expression.site(member.node)?;
        let first = site.first.filter(|_| member.reached != 0);
        Some([first, site.last.filter(|_| site.first != site.last || first.is_none())])
    };
    region.members.iter().filter_map(of).flatten().flatten().collect()
}

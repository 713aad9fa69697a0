//! The executed paths of a program as it is, what is evaluated twice in it, with verdicts, and how that comes to be
//! evaluated once: for people who look before the pass does anything.
//!
//! ```text
//! paths         freq   x + y ahead of n6:  available  anticipated  benefit  cost     branches  n6   19 · T > 5 · T
//! n1 n2 n4 n7    10                            1           1          1      0                      enabled
//! n1 n3 n6 n8     5                            0           0          0      1       inserted  n3   replaced  n7
//! ```
//!
//! It looks with the pass's own eyes: the same regions, the same sets, the same decisions, the same sentences.
//! Nothing is computed a second way, so that what is told here is what the pass does next; [`carried_out`] is what
//! the program is then.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::FixedBitSet;

use super::benefit::{Decision, Weighing};
use super::expressions::Repetition;
use super::hoisting::{Hoisted, Member, Region};
use super::{Elimination, Heard, repeat};
use crate::ir::{Block, Func, Function, Inst, Module};
use crate::pass::Settings;
use crate::pass::support::path_guided::nodes::Node;
use crate::pass::support::path_guided::paths::{Paths, change_frequencies, told};
use crate::text::instruction_text;
use crate::trace::{NoTrace, Remark};
use crate::view::{Analyses, View};

pub use crate::pass::support::path_guided::paths::{Estimated, Path, executed_paths};

/// Request of a survey.
#[derive(Clone, Copy, Default, Debug)]
pub struct Question<'a> {
    /// One of the evaluations of what is told; none is what the pass does next.
    pub wanted: Option<Inst>,
    /// Frequencies of paths that are other than the profile says.
    pub frequencies: &'a [(Vec<Block>, u64)],
}

/// Findings of the pass in a function.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// The executed paths, the most frequent first.
    pub paths: Vec<Path>,
    /// Are they estimated from edges that were counted, and how well?
    pub estimated: Option<Estimated>,
    /// Do warps pay rather than paths?
    pub is_by_warp: bool,
    /// Redundancies, in the order in which the pass visits them.
    pub redundancies: Vec<Surveyed>,
    /// How the one that was asked for is evaluated once, or why it is not; none for what is never evaluated twice.
    pub detail: Option<Detail>,
    /// Why the pass cannot run.
    pub refused: Option<String>,
}

/// Evaluations of one expression that have to do with one another, with their verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Surveyed {
    /// Those that may be redundant and those whose values others may read, in the order of the program.
    pub evaluations: Vec<Inst>,
    /// Does the pass do something about them?
    pub passes: bool,
    /// Remark of the pass, or the first of its refusals, or why there is nothing to do.
    pub verdict: Remark,
}

/// How evaluations come to be one.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Detail {
    /// Which ones, by their place in [`Survey::redundancies`].
    pub redundancy: usize,
    /// T, the cycles of one.
    pub cycles: f64,
    /// The branches that an evaluation could be brought ahead of, in the order in which they are decided.
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

/// A branch in the way of an evaluation. Sets are of paths, by their places in [`Survey::paths`], in ascending order.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// The block that ends with it.
    pub block: Block,
    /// Verdict of the branch.
    pub verdict: BranchVerdict,
    /// It and the branches that are enabled with it.
    pub together: Vec<Block>,
    /// The paths through it.
    pub on: Vec<usize>,
    /// Paths on which what is hoisted ahead of it goes on, backward, to where the value is available.
    pub available: Vec<usize>,
    /// Paths on which an evaluation from further on is hoisted ahead of it.
    pub anticipated: Vec<usize>,
    /// Paths that lose an evaluation if all that are enabled together are passed.
    pub benefits: Vec<usize>,
    /// Paths that gain one.
    pub costs: Vec<usize>,
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

/// The figures of a branch. Paths are in executions, the others in cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighed {
    /// Executions of frequent paths that lose an evaluation.
    pub benefit_paths: f64,
    /// Executions of paths that gain one.
    pub cost_paths: f64,
    /// The former's cycles.
    pub benefit: f64,
    /// The latter's.
    pub cost: f64,
}

/// Position of an evaluation: at the end of a block, or on a critical edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// A block.
    Block(Block),
    /// A critical edge.
    Edge(Block, Block),
}

/// Events of planning for a region; if that is repeated with less room, the last holds.
pub(super) enum Seen<'a> {
    /// A branch is weighed.
    Branch(&'a Weighing<'a>),
    /// All are decided.
    Decided { region: &'a Region, enabled: &'a [bool], always: &'a Hoisted },
}

/// Surveys a function as it is.
pub fn survey(module: &Module, func: Func, settings: &Settings, question: Question<'_>) -> Survey {
    let mut body = module.funcs[func].clone();
    change_frequencies(&mut body, question.frequencies);
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    match Elimination::of(&mut view, settings) {
        Ok(elimination) => Scene { module, func: view.func(), elimination }.survey(question.wanted),
        Err(error) => Survey { refused: Some(error.message), ..Survey::default() },
    }
}

/// The function as it is when the pass has done what its remark about an instruction says; none if there is no such
/// remark.
pub fn carried_out(module: &Module, func: Func, settings: &Settings, inst: Inst) -> Option<Function> {
    let mut body = module.funcs[func].clone();
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    let mut elimination = Elimination::of(&mut view, settings).ok()?;
    let count = elimination.expressions.all.len();
    let repeats = |&number: &usize| elimination.groups(number).any(|group| group[0].inst == inst);
    if let Some(number) = (0..count).find(repeats) {
        let group = elimination.groups(number).find(|group| group[0].inst == inst).map(<[Repetition]>::to_vec);
        elimination.expressions.repetitions[number] = group?;
        elimination.replace_repetitions(&mut view, number);
    } else {
        let plan = (0..count).find_map(|number| {
            let (plans, _) = elimination.plans(number);
            Some((number, plans.into_iter().find(|plan| plan.first() == inst)?))
        });
        let (number, plan) = plan?;
        elimination.carry_out(&mut view, number, &plan);
    }
    view.close();
    Some(body)
}

/// The pass, before it has done anything.
struct Scene<'a> {
    module: &'a Module,
    func: &'a Function,
    elimination: Elimination,
}

/// Facts about a branch. Members are places in the region.
struct Seat {
    decision: Decision,
    /// Sets of those that are enabled together: paths on which the value is available ahead, and on which an
    /// evaluation is anticipated behind.
    sets: Vec<(usize, FixedBitSet, FixedBitSet)>,
    benefits: FixedBitSet,
    costs: FixedBitSet,
}

impl Seat {
    fn of(weighing: &Weighing<'_>) -> Seat {
        let Weighing { decision, paths, executions: (before, after), rare, .. } = *weighing;
        let (mut benefits, mut costs) = (paths.none(), paths.none());
        for (path, (before, after)) in before.iter().zip(after).enumerate().take(paths.frequent) {
            benefits.set(path, after < before);
            costs.set(path, after > before);
        }
        costs.extend(rare.ones().filter(|&path| path >= paths.frequent));
        let all = weighing.sets();
        let sets = decision
            .together
            .iter()
            .map(|&place| (place, all.entry_removable.set(place), all.exit_anticipated.set(place)));
        Seat { sets: sets.collect(), decision: decision.clone(), benefits, costs }
    }
}

impl Scene<'_> {
    fn survey(mut self, wanted: Option<Inst>) -> Survey {
        let mut redundancies: Vec<Surveyed> = Vec::new();
        let mut detail: Option<Detail> = None;
        let is_told = |surveyed: &Surveyed| match wanted {
            Some(inst) => surveyed.evaluations.contains(&inst),
            None => surveyed.passes,
        };
        let count = self.elimination.expressions.all.len();
        for number in 0..count {
            for (surveyed, mut found) in self.repetitions(number) {
                if detail.is_none() && is_told(&surveyed) {
                    found.redundancy = redundancies.len();
                    detail = Some(found);
                }
                redundancies.push(surveyed);
            }
        }
        for number in 0..count {
            for (surveyed, mut found) in self.regions(number) {
                if detail.is_none() && is_told(&surveyed) {
                    found.redundancy = redundancies.len();
                    detail = Some(found);
                }
                redundancies.push(surveyed);
            }
        }
        let frequent = self.elimination.paths.as_ref().map_or(0, |paths| paths.frequent);
        let (paths, estimated) = told(self.func, &self.elimination.nodes, frequent);
        let is_by_warp = self.elimination.warps.is_some();
        Survey { paths, estimated, is_by_warp, redundancies, detail, refused: None }
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
        let mut heard = Heard::default();
        let regions = self.elimination.regions(number, &mut heard);
        let too_large = heard.refused.iter().map(|(inst, why)| {
            let verdict = why.remark(self.func, &self.text(*inst));
            (Surveyed { evaluations: vec![*inst], passes: false, verdict }, Detail::default())
        });
        too_large.chain(regions.into_iter().map(|region| self.region(number, region))).collect()
    }

    fn region(&self, number: usize, region: Region) -> (Surveyed, Detail) {
        let evaluations = evaluations(&region);
        let could_speculate = region.could_speculate();
        let mut detail = Detail { cycles: self.cycles(number), ..Detail::default() };
        let mut seats: Vec<Seat> = Vec::new();
        let mut heard = Heard::default();
        let plan = self.elimination.plan(number, region, &mut heard, &mut |seen| match seen {
            Seen::Branch(weighing) => {
                // Only what was found last counts.
                seats.retain(|seat| seat.decision.split != weighing.decision.split);
                seats.push(Seat::of(weighing));
            }
            Seen::Decided { region, enabled, always } => {
                let seats = core::mem::take(&mut seats);
                let splits = (0..region.members.len()).rev().filter(|&place| region.members[place].is_split);
                let branch = |place| self.branch(region, place, (enabled, always), &seats);
                detail.branches = splits.filter_map(branch).collect();
            }
        });
        let nodes = &self.elimination.nodes;
        let verdict = match (&plan, heard.refused.first()) {
            (Some(plan), _) => plan.remark(self.func, nodes, &self.text(plan.first())),
            (None, Some((inst, why))) => why.remark(self.func, &self.text(*inst)),
            (None, None) => self.silence(evaluations.first().copied(), could_speculate),
        };
        if let Some(plan) = &plan {
            let insts = |list: &[(Node, Inst)]| list.iter().map(|&(_, inst)| inst).collect();
            detail.inserted = plan.placement.inserted.iter().filter_map(|&node| self.position(node)).collect();
            (detail.replaced, detail.sources) = (insts(&plan.replaced), insts(&plan.sources));
            detail.warp_cycles = plan.warp_cycles;
        }
        (Surveyed { evaluations, passes: plan.is_some(), verdict }, detail)
    }

    /// Why evaluations stay of which the pass says nothing.
    fn silence(&self, first: Option<Inst>, could_speculate: bool) -> Remark {
        let block = first.and_then(|inst| self.func.inst_block(inst)).unwrap_or(Block::from_u32(0));
        let text = first.map(|inst| self.text(inst)).unwrap_or_default();
        let (rule, why) = match (could_speculate, self.elimination.is_speculating, &self.elimination.paths) {
            (false, ..) => ("no-gain", "one evaluation would not do where two are made"),
            (true, false, _) => ("no-speculation", "only by speculation one evaluation would do"),
            (true, true, None) => ("no-profile", "no profile of paths or edges says whether speculation pays"),
            (true, true, Some(_)) => ("no-benefit", "no executed path would lose an evaluation"),
        };
        Remark::missed(rule, block, format!("`{text}` stays: {why}"))
    }

    fn position(&self, node: Node) -> Option<Position> {
        let nodes = &self.elimination.nodes;
        let edge = || nodes.edge(node).map(|(from, to)| Position::Edge(from, to));
        nodes.block(node).map(Position::Block).or_else(edge)
    }

    fn branch(
        &self,
        region: &Region,
        place: usize,
        (enabled, always): (&[bool], &Hoisted),
        seats: &[Seat],
    ) -> Option<Branch> {
        let nodes = &self.elimination.nodes;
        let block_of = |place: usize| nodes.block(region.members[place].node);
        let block = block_of(place)?;
        let own = seats.iter().find(|seat| seat.decision.split == place);
        let is_taken = |seat: &&Seat| enabled[seat.decision.split] && seat.decision.together.contains(&place);
        let with = seats.iter().find(is_taken).filter(|_| enabled[place]);
        let is_by_warp = self.elimination.warps.is_some();
        let verdict = match (own, with) {
            _ if always.exit[place] => BranchVerdict::Plain,
            (Some(_), _) if enabled[place] => BranchVerdict::Enabled,
            (Some(own), _) if own.decision.is_worth_it() && is_by_warp => BranchVerdict::Warps,
            (Some(own), _) if own.decision.benefit_paths > 0.0 => BranchVerdict::Cost,
            (Some(_), _) => BranchVerdict::NoBenefit,
            (None, Some(with)) => BranchVerdict::EnabledWith(block_of(with.decision.split)?),
            (None, None) if self.elimination.paths.is_none() => BranchVerdict::NoSpeculation,
            (None, None) => BranchVerdict::NotReached,
        };
        let none = || self.elimination.paths.as_ref().map(Paths::none).unwrap_or_default();
        let seat = own.or(with);
        let (available, anticipated) = seat
            .and_then(|seat| seat.sets.iter().find(|(at, ..)| *at == place))
            .map_or_else(|| (none(), none()), |(_, available, anticipated)| (available.clone(), anticipated.clone()));
        let on = self.elimination.paths.as_ref().map_or_else(none, |paths| paths.set_on(region.members[place].node));
        let (benefits, costs) = match (own, with) {
            (Some(own), _) => (own.benefits.clone(), own.costs.clone()),
            // Of a branch that another one needs, its sets say what it would bring by itself.
            (None, Some(_)) => {
                let (mut benefits, mut costs) = (available.clone(), on.clone());
                benefits.intersect_with(&anticipated);
                costs.difference_with(&available);
                costs.difference_with(&anticipated);
                (benefits, costs)
            }
            (None, None) => (none(), none()),
        };
        let together = own.map_or(&[][..], |own| &own.decision.together);
        let listed = |set: &FixedBitSet| set.ones().collect();
        Some(Branch {
            block,
            verdict,
            together: together.iter().filter_map(|&place| block_of(place)).collect(),
            on: listed(&on),
            available: listed(&available),
            anticipated: listed(&anticipated),
            benefits: listed(&benefits),
            costs: listed(&costs),
            weighed: own.map(|Seat { decision, .. }| Weighed {
                benefit_paths: decision.benefit_paths,
                cost_paths: decision.cost_paths,
                benefit: decision.benefit,
                cost: decision.cost,
            }),
        })
    }
}

/// The evaluations that may be redundant in a region, and those whose values others may read.
fn evaluations(region: &Region) -> Vec<Inst> {
    let of = |member: &Member| {
        let first = member.first.filter(|_| member.is_reached);
        [first, member.last.filter(|_| member.first != member.last || first.is_none())]
    };
    region.members.iter().flat_map(of).flatten().collect()
}

//! Survey of a program before the pass: executed paths, statements with verdicts, and the way of
//! one of them.
//!
//! ```text
//! paths        freq   x = s at n5:  available  removable  benefit  cost     joins   n5   150 · T[s] > 100 · T[p?s]
//! n1 n2 n5 n7   125                 1          1          1        0                n9   enabled with n5
//! n1 n3 n5 n8    50                 0          0          0        1        flood   n2 ▸ n5 ▸ n8 ▸ n9    lands in n11
//! ```
//!
//! Regions, sets, decisions and sentences are those of the pass itself; the
//! [`surveyor`](super::surveyor) asks for them. [`carried_out`] is the program after the statement
//! has sunk.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::plan::Notes;
use super::super::remarks::applied;
use super::surveyor::with_planner;
use crate::graph::Cfg;
use crate::ir::{Block, Func, Function, Guard, Inst, Module, WarpCounts};
use crate::pass::Settings;
use crate::pass::support::path_guided::nodes::Nodes;
use crate::trace::NoTrace;
use crate::view::{Analyses, View};

pub use super::super::benefit::Times;
pub use super::super::plan::Spot;
pub use crate::pass::support::path_guided::inspect::points::{PointSets, Position, Weighed};
pub use crate::pass::support::path_guided::paths::{Estimated, Path, executed_paths};

/// Subject of a survey.
#[derive(Clone, Copy, Default, Debug)]
pub struct Question<'a> {
    /// An instruction of the statement whose way is wanted; None for the one that sinks next.
    pub wanted: Option<Inst>,
    /// Frequencies of paths that replace those of the profile.
    pub frequencies: &'a [(Vec<Block>, u64)],
    /// Counted executions of warps, to show their cycles when paths pay, too.
    pub warps: Option<&'a WarpCounts>,
}

/// A round of the pass.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// The executed paths, the most frequent first.
    pub paths: Vec<Path>,
    /// Quality of the estimate, if paths are estimated.
    pub estimated: Option<Estimated>,
    /// Whether warps pay instead of paths.
    pub is_by_warp: bool,
    /// Statements that may sink, in the order in which the pass considers them.
    pub statements: Vec<Surveyed>,
    /// Statements that sink in this round, as indices of that list.
    pub round: Vec<usize>,
    /// The way of the wanted statement.
    pub detail: Option<Detail>,
    /// Why the pass cannot run.
    pub refused: Option<String>,
}

/// A statement, with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Surveyed {
    /// Equal instructions, which sink together.
    pub occurrences: Vec<Inst>,
    /// Whether it sinks.
    pub passes: bool,
    /// The rule that decided, as the pass's remarks call it.
    pub rule: &'static str,
    /// A sentence without the final stop.
    pub verdict: String,
}

/// The way of a statement.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Detail {
    /// The index in [`Survey::statements`]; None for an instruction that cannot sink.
    pub statement: Option<usize>,
    /// Why it cannot sink.
    pub why_none: String,
    /// `T[s]`, `T[p?s]` and `T[p]`.
    pub times: Times,
    /// Joins of the region, in the order of the decisions.
    pub joins: Vec<Join>,
    /// Positions at which it is delayed, in the order of the spread.
    pub flood: Vec<Flooded>,
    /// Landings.
    pub landings: Vec<Landed>,
    /// The predicate of partial landings.
    pub predicate: Option<Predicate>,
    /// Cycles of all warps, before and after.
    pub warp_cycles: Option<(f64, f64)>,
}

/// A join on the way of a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// The block.
    pub block: Block,
    /// The decision.
    pub verdict: JoinVerdict,
    /// The join and those that are enabled with it: J(n).
    pub together: Vec<Block>,
    /// The paths at the join: X-APATHS, X-RPATHS, and the changes if all of J(n) are passed.
    pub sets: PointSets,
    /// The figures, if it was weighed.
    pub weighed: Option<Weighed>,
    /// Cycles of one execution, if it was weighed.
    pub times: Times,
    /// The benefit as the paper counts it.
    pub printed: Option<Printed>,
}

/// Benefit of a join if no last trip of a loop needed the statement after the loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Printed {
    /// Executions that frequent paths would lose.
    pub benefit_paths: f64,
    /// Their cycles.
    pub benefit: f64,
}

/// Decision about a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinVerdict {
    /// Passed without a predicate: the statement arrives on all edges.
    Plain,
    /// Passed with a predicate: it pays.
    Enabled,
    /// Passed, as an earlier one needs it.
    EnabledWith(Block),
    /// Passed, since the statement arrives on all edges once it passes others.
    PastOthers,
    /// Refused: it costs more.
    Cost,
    /// Refused: paths would gain, warps would not.
    Warps,
    /// Refused: no frequent path would benefit.
    NoBenefit,
    /// Not reached by the statement.
    NotReached,
    /// End of the way: the block stops the statement, or its result is dead there.
    Ends,
    /// Target of a back edge.
    LoopHead,
    /// Refused without a profile, or without predicates.
    NoProfile,
}

/// A position at which a statement is delayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flooded {
    /// The position.
    pub position: Position,
    /// The wave of its arrival, from 0.
    pub wave: usize,
    /// The instruction, if the statement is in this block.
    pub occurrence: Option<Inst>,
    /// The instruction that stops it.
    pub stop: Option<Inst>,
    /// Whether it arrives on some paths only.
    pub is_partial: bool,
    /// Whether it ends at the entry, because its result is dead there.
    pub is_dead: bool,
}

/// A landing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landed {
    /// The point.
    pub spot: Spot,
    /// Whether the result is needed there; else the statement is dropped.
    pub is_live: bool,
    /// Whether it is under the predicate.
    pub is_partial: bool,
}

/// The predicate of a statement that lands.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
    /// A predicate of the program.
    Known(Guard),
    /// A new predicate, true where the statement was.
    New {
        /// Blocks at whose beginning it becomes false.
        begins: Vec<Block>,
        /// Points at which it becomes false again.
        clears: Vec<Spot>,
    },
}

/// Surveys a function as it is.
pub fn survey(module: &Module, func: Func, settings: &Settings, question: Question<'_>) -> Survey {
    with_planner(module, func, settings, question, |surveyor| surveyor.survey())
        .unwrap_or_else(|refused| Survey { refused: Some(refused), ..Survey::default() })
}

/// The function after the statement of an instruction has sunk; None if it stays.
pub fn carried_out(module: &Module, func: Func, settings: &Settings, inst: Inst) -> Option<Function> {
    let found = with_planner(module, func, settings, Question::default(), |surveyor| {
        let statement = surveyor.statements.iter().find(|statement| statement.contains(inst))?;
        surveyor.plan(statement, &mut Notes::default(), &mut |_| {})
    });
    let plan = found.ok().flatten()?;
    let mut body = module.funcs[func].clone();
    let mut silent = NoTrace;
    let mut view = View::new(module, &mut body, &mut silent, Analyses::default());
    let mut nodes = Nodes::of(&Cfg::compute(&module.funcs[func]), &module.funcs[func]);
    let mut rewrite = view.rewrite(|func| applied(func, &nodes, &plan, ""));
    plan.carry_out(&mut rewrite, &mut nodes);
    rewrite.finish();
    view.close();
    Some(body)
}

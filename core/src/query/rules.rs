//! The rules that answers follow, and the reasons why an expression is not inserted.
//!
//! ```text
//! rules                       a pass's own
//! rules.anywhere()            insertions under divergent branches as well: would they pay?
//! rules.covering(trial)       no insertions: does every path come from an occurrence?
//! rules.in_trial(trial)       with insertions that are only tried out
//! ```
//!
//! Rules are part of each question, so that an answer is found again only by questions that follow
//! the same rules.

use alloc::format;
use alloc::string::String;

use super::edges::InsertionPoint;
use super::forms::Form;
use crate::ir::{Block, Function};

/// The insertions that make answers equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Insertion {
    /// None.
    Never,
    /// Insertions wherever the join is down-safe.
    Anywhere,
    /// Those of them that no divergent branch decides about.
    InRegion,
}

/// The later computations that justify an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DownSafety {
    /// Those of any form that the question has taken, as in the paper.
    Paper,
    /// Those of the inserted form.
    Exact,
}

/// The treatment of a load that might fault where it is inserted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Faulting {
    /// Mark the load as one that does not fault.
    Spec,
    /// Guard the load by its condition.
    Guarded,
    /// Do not insert the load.
    Never,
}

/// The branches that expressions move up across.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Crossing {
    /// None.
    Nothing,
    /// Divergent branches.
    Divergent,
    /// All branches.
    Everything,
}

/// The rules that an answer follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// The insertions that make answers equal.
    pub insertion: Insertion,
    /// The branches that expressions move up across.
    pub crossing: Crossing,
    /// The later computations that justify an insertion.
    pub down_safety: DownSafety,
    /// The treatment of a load that might fault.
    pub faulting: Faulting,
    /// The visits of a block by one inquiry; at the last one definitions are not converted.
    pub visits: u32,
    /// Do answers to speculation questions meet as in lines 7 to 9 of algorithm 2?
    pub meets_partially: bool,
    /// The number of the trial whose insertions count; 0 where answers outlast trials.
    pub trial: u32,
}

impl Rules {
    /// These rules with insertions wherever the join is down-safe.
    pub fn anywhere(self) -> Rules {
        Rules { insertion: Insertion::Anywhere, ..self }
    }

    /// These rules in a trial.
    pub fn in_trial(self, trial: u32) -> Rules {
        Rules { trial, ..self }
    }

    /// These rules without insertions. Down-safety and faults do not matter then.
    pub fn covering(self, trial: u32) -> Rules {
        let (insertion, down_safety, faulting) = (Insertion::Never, DownSafety::Exact, Faulting::Spec);
        Rules { insertion, down_safety, faulting, trial, ..self }
    }
}

/// The reason why a value is not available, and cannot be made so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// No path leads to an occurrence.
    NotThere,
    /// The block where answers met is not down-safe for the form.
    NotDownSafe(Form, Block),
    /// The insertion point of the form depends on that divergent branch.
    Divergent(Form, InsertionPoint, Block),
    /// An operand of the form is unassigned on every path to the insertion point.
    Unassigned(Form, InsertionPoint),
    /// Control enters the function at that block, so that no insertion point precedes it. If the
    /// block is the only entry, nothing but a block for that point is missing.
    NoPlace(Form, Block),
    /// The form may fault at that point, and the rules forbid it.
    MayFault(Form, InsertionPoint),
    /// The budget of steps was used up.
    Budget,
}

impl Refusal {
    /// The reason as a clause; none where nothing could have been inserted.
    pub fn clause(self, func: &Function) -> Option<String> {
        let name = |block: Block| &func.blocks[block].name;
        let clause = match self {
            Refusal::NotThere => return None,
            Refusal::NotDownSafe(_, at) => {
                format!("only some paths to `{0}` have it, and `{0}` is not down-safe", name(at))
            }
            Refusal::Divergent(_, point, branch) => {
                format!(
                    "nothing is inserted {}, where the divergent branch of `{}` decides",
                    point.text(func),
                    name(branch)
                )
            }
            Refusal::Unassigned(_, point) => {
                format!("nothing is inserted {}, where an operand is unassigned", point.text(func))
            }
            Refusal::NoPlace(_, at) => {
                format!("nothing is inserted before `{}`, where control enters the function", name(at))
            }
            Refusal::MayFault(_, point) => format!("nothing is inserted {}, where it might fault", point.text(func)),
            Refusal::Budget => String::from("the budget of questions is used up"),
        };
        Some(clause)
    }

    /// The form that is not inserted.
    pub fn form(self) -> Option<Form> {
        match self {
            Refusal::NotThere | Refusal::Budget => None,
            Refusal::NotDownSafe(form, _)
            | Refusal::Divergent(form, ..)
            | Refusal::Unassigned(form, _)
            | Refusal::NoPlace(form, _)
            | Refusal::MayFault(form, _) => Some(form),
        }
    }
}

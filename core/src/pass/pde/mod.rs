//! Partial dead code elimination: a statement whose result is needed on some paths only sinks to
//! where it is needed, past joins under a predicate if executed paths gain by that.
//!
//! ```text
//! n1: br p, n2, n3                            n1: br p, n2, n3
//! n2: x = div.s32 a, b                        n2: br n4
//!     br n4                                   n3: x = mov.s32 c
//! n3: x = mov.s32 c                               br n4
//!     br n4                            ──▶    n4: br q, n5, n6
//! n4: br q, n5, n6                            n5: @p x = div.s32 a, b
//! n5: y = add.s32 x, 1                            y = add.s32 x, 1
//! n6: x is not needed                         n6: x is not needed
//! ```
//!
//! 1. Collect [`statements`] that could leave their block, on [frequent](FrequentNodes) paths if a
//!    profile tells.
//! 2. For each, find the [`region`] that it could sink to, up to uses, and to nodes where its [live
//!    range](liveness) ends.
//! 3. Weigh each join that it reaches on some paths only ([`benefit`]): frequent paths on which it
//!    is dropped, against paths that execute a predicated version for nothing. Enable those that
//!    pay, with the joins that their benefit needs.
//! 4. With `cost=warp` (the default with a `profile warp`), keep of these the joins that save
//!    cycles of warps: a warp executes both sides of a branch whose lanes part, and the statement
//!    is free only where no lane needs it.
//! 5. Keep the statement where it is if warps would wait for its result for longer than that saves
//!    ([`stalls`]).
//!    Else move it to its landings, under a [`predicate`] where it does not always arrive
//!    ([`apply`]).
//! 6. Repeat in [`rounds`], since what has sunk makes way for others.
//!
//! Sound: a statement moves along control flow only, past nothing that reads or writes its result
//! or writes its operands, and executes at most once for each time that it did. Loads pass what
//! writes [memory](crate::pass::support::path_guided::memory) only if that cannot be what they read, and nothing
//! that orders memory. Critical edges get a block where needed.
//!
//! Cost: O(region · joins · paths / 64) for each statement, and again for each change near it.
//!
//! Limits: regions of 4,096 nodes (remark `too-large`) and 64 joins; [`rounds::MOST_ROUNDS`] rounds
//! for each window of nodes (remark `max-rounds`). Without reaching the latter, a second run of the
//! pass finds nothing more.
//!
//! Source: R. Gupta, D. Berson and J. Z. Fang, Path profile guided partial dead code elimination
//! using predication, 1997; J. Knoop, O. Rüthing and B. Steffen, Partial dead code elimination,
//! 1994.

mod accesses;
mod apply;
mod benefit;
mod inspect;
mod liveness;
mod plan;
mod predicate;
mod region;
mod remarks;
mod rounds;
mod sets;
mod stalls;
mod statements;
mod warps;

use super::{Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::ir::Function;
use crate::machine::Machine;
use crate::pass::support::path_guided::nodes::Nodes;
use crate::pass::support::path_guided::paths::Paths;
use crate::pass::support::path_guided::rules::{self as guided, COST, FP, MACHINE};
use crate::view::View;
pub use inspect::survey;
use rounds::Rounds;
use stalls::Stalls;
use statements::FrequentNodes;

/// See the file's head.
pub struct Pde;

impl Pass for Pde {
    const INFO: PassInfo = PassInfo {
        name: "pde",
        paper: "Gupta, Berson and Fang 1997; Knoop, Rüthing and Steffen 1994",
        summary: "Sinks what is needed on some paths only to where it is, past joins with a predicate where \
               executed paths gain by it.",
        knobs: &[
            Knob {
                name: "predication",
                label: "Predicated sinking",
                kind: KnobKind::Switch { default: true },
                help: "Sink past joins under a predicate; without it no path ever executes more.",
            },
            FP,
            Knob {
                name: "rule",
                label: "Weighing of joins",
                kind: KnobKind::Choice { default: "sound", words: &["sound", "printed"] },
                help: "Weigh a join with all joins that its benefit needs (sound), or by itself (printed), as in \
                       figures 4 and 7.",
            },
            COST,
            MACHINE,
            Knob {
                name: "stalls",
                label: "Waiting for results",
                kind: KnobKind::Choice { default: "count", words: &["count", "ignore"] },
                help: "Count the cycles that warps wait for a result where it lands (count), or issue cycles only, \
                       as in the paper and with rule=printed (ignore).",
            },
            Knob {
                name: "statements",
                label: "Planned statements",
                kind: KnobKind::Choice { default: "frequent", words: &["frequent", "all"] },
                help: "Plan statements on frequent paths, as in the paper, or all; without a profile of paths or \
                       edges, all are planned.",
            },
            Knob {
                name: "window",
                label: "Window size",
                kind: KnobKind::Integer { default: 2048, min: 1, max: 1_000_000_000 },
                help: "Set the number of blocks and critical edges of a window; the last window is finished first.",
            },
        ],
        needs_fast_math: false,
    };

    const INSPECTOR: Option<Inspector> = inspect::INSPECTOR;

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let rules = Rules::of(view.func(), settings)?;
        Rounds::of(view, rules).sink(view);
        Ok(())
    }
}

/// Values of the knobs.
#[derive(Clone)]
struct Rules {
    with_predicates: bool,
    /// The share (0–1) of executions that frequent paths cover.
    share: f64,
    is_printed: bool,
    is_by_warp: bool,
    machine: Machine,
    counts_stalls: bool,
    /// Whether statements on infrequent paths are planned as well.
    plans_all: bool,
    /// Nodes of a window.
    window: usize,
}

impl Rules {
    fn of(func: &Function, settings: &Settings) -> Result<Rules, PassError> {
        let knobs = &settings.knobs;
        let guided::Rules { share, is_by_warp, machine } = guided::Rules::of(func, knobs, Pde::INFO.name)?;
        let (with_predicates, is_printed) = (knobs.switch("predication"), knobs.choice("rule") == "printed");
        let window = usize::try_from(knobs.integer("window")).unwrap_or(usize::MAX).max(1);
        let plans_all = knobs.choice("statements") == "all";
        let counts_stalls = knobs.choice("stalls") == "count" && !is_printed;
        Ok(Rules { with_predicates, share, is_printed, is_by_warp, machine, counts_stalls, plans_all, window })
    }

    /// Prices of waiting, if it is counted.
    fn stalls(&self, view: &mut View<'_>, nodes: &Nodes, has_paths: bool) -> Option<Stalls> {
        self.counts_stalls.then(|| Stalls::of(view, nodes, has_paths, self.is_by_warp, self.machine))
    }

    /// Nodes whose statements are planned, with these paths and executions of each node by warps.
    fn frequent(&self, paths: Option<&Paths>, warps: Option<&[f64]>) -> FrequentNodes {
        if self.plans_all { FrequentNodes::default() } else { FrequentNodes::of(paths, warps) }
    }
}

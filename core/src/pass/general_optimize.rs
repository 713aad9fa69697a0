//! Copy propagation, constant folding, dead code elimination and graph simplification, until none of them finds more.
//!
//! ```text
//! a = mov.u32 2              ret 5
//! b = add.u32 a, 3     ──▶
//! p = setp.lt.u32 b, 9
//! br p, n1, n2
//! n1: ret b
//! n2: …
//! ```
//!
//! Each of the four opens work for the others: a copied constant folds, a folded predicate settles a branch, an
//! unreachable block takes definitions with it, and a register with one definition left can be copied further.
//!
//! 1. A round folds and copies in one walk, removes dead code and simplifies the graph.
//! 2. The pass ends, also inside a round, as soon as each part would find nothing: it has found
//!    nothing since the last change of another part.
//! 3. Variant A goes on until then. Variant B goes on only while a round saves a share of what the
//!    function costs, 0.25 unless told otherwise; a remark says that it stopped before all is found.
//! 4. Both end after `max_rounds`, with a remark.
//!
//! Sound because each part is. Every round but the last makes the program smaller or its operands more constant.
//! Unless a remark says why not, running the pass again finds nothing more.
//!
//! Cost: linear in the function for each round. Simplifications of all rounds share one allowance for comparing lanes.
//!
//! Source: ptxas page, GeneralOptimize.

use alloc::format;

use super::const_fold::Folding;
use super::copy_prop;
use super::dce::Dce;
use super::simplify_cfg::simplify;
use super::{Knob, KnobKind, KnobValues, Pass, PassError, PassInfo, Settings};
use crate::flow::Allowance;
use crate::ir::Function;
use crate::machine::{Machine, OpClass};
use crate::pass::support::available_copies::CopyWalk;
use crate::pass::support::rounds::tell_max_rounds;
use crate::trace::{Fact, Remark};
use crate::view::View;

/// The pass.
pub struct GeneralOptimize;

impl Pass for GeneralOptimize {
    const INFO: PassInfo = PassInfo {
        name: "general-optimize",
        paper: "ptxas page, GeneralOptimize",
        summary: "Runs copy-prop, const-fold, dce and simplify-cfg until none of them finds more.",
        knobs: &[
            Knob {
                name: "variant",
                label: "Stopping rule",
                kind: KnobKind::Choice { default: "A", words: &["A", "B"] },
                help: "Stop after a round without changes (A), or that saves less than the share of cost (B), or \
                       after max_rounds.",
            },
            Knob {
                name: "max_rounds",
                label: "Rounds",
                kind: KnobKind::Integer { default: 100, min: 1, max: 10_000 },
                help: "Maximum rounds of the four passes, in both variants.",
            },
            Knob {
                name: "share",
                label: "Least saving of a round",
                kind: KnobKind::Number { default: 0.25, min: 0.0, max: 1.0 },
                help: "Minimum share of the cost before it that a round of variant B saves, for another round.",
            },
        ],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let max_rounds = settings.knobs.integer("max_rounds");
        let least_share = (settings.knobs.choice("variant") == "B").then(|| settings.knobs.number("share"));
        let allowance = Allowance::of(view.func());
        // Parts in a row that would find nothing if they ran now.
        let mut settled = 0;
        for _ in 0..max_rounds {
            let cost_before = least_share.map(|_| issue_cycles(view.func()));
            for part in [Part::Fold, Part::Remove, Part::Simplify] {
                let before = view.rewrites();
                part.run(view, settings, &allowance)?;
                settled = if view.rewrites() == before { settled + 1 } else { u32::from(part.is_exhaustive()) };
                if settled == PARTS {
                    return Ok(());
                }
            }
            if let (Some(least_share), Some(cost_before)) = (least_share, cost_before) {
                let cost = issue_cycles(view.func());
                let share = cost_before.saturating_sub(cost) as f64 / cost_before.max(1) as f64;
                if share < least_share {
                    tell_small_share(view, share, least_share);
                    return Ok(());
                }
            }
        }
        tell_max_rounds(view, u64::try_from(max_rounds).unwrap_or(0), "each of which changed something");
        Ok(())
    }
}

/// Cost of a function: the cycles in which its instructions are issued, each once, on the default machine.
fn issue_cycles(func: &Function) -> u64 {
    let insts = func.block_order().flat_map(|block| func.block_insts(block));
    insts.map(|inst| u64::from(Machine::default().cost(OpClass::of(func.insts[inst].opcode)).issue.value)).sum()
}

fn tell_small_share(view: &mut View<'_>, share: f64, least: f64) {
    if let Some(entry) = view.func().entry_block() {
        view.miss(|_| {
            let message = format!(
                "stopped: the last round saved {:.1} % of the cost, less than {:.1} %; more may remain",
                100.0 * share,
                100.0 * least
            );
            Remark::missed("small-share", entry, message)
                .with("share", Fact::Number(share))
                .with("least_share", Fact::Number(least))
        });
    }
}

/// Copy propagation and constant folding in one walk: a folded constant goes on to its uses at once, so that a chain of
/// them takes one round, however long it is.
fn propagate_and_fold(view: &mut View<'_>, settings: &Settings) {
    let mut folding = Folding::new(settings);
    CopyWalk::ALL.run(
        view,
        |_, _| Some(()),
        |view, copies, (block, inst), ()| {
            copy_prop::visit(view, copies, block, inst);
            folding.visit(view, copies, block, inst)
        },
    );
    folding.finish_walk(view);
    folding.tell_refusals(view);
}

/// Parts of a round, in order.
#[derive(Clone, Copy)]
enum Part {
    /// Copy propagation and constant folding.
    Fold,
    /// Dead code elimination.
    Remove,
    /// Graph simplification.
    Simplify,
}

/// Number of parts.
const PARTS: u32 = 3;

impl Part {
    fn run(self, view: &mut View<'_>, settings: &Settings, allowance: &Allowance) -> Result<(), PassError> {
        match self {
            Part::Fold => propagate_and_fold(view, settings),
            Part::Remove => {
                let knobs = KnobValues::defaults(Dce::INFO.knobs);
                Dce::run(view, &Settings { knobs, ..settings.clone() })?;
            }
            Part::Simplify => simplify(view, allowance),
        }
        Ok(())
    }

    /// Does it find nothing if it runs again at once?
    fn is_exhaustive(self) -> bool {
        !matches!(self, Part::Fold)
    }
}

//! Partial redundancy elimination and scalar replacement by question propagation, for programs
//! whose branches diverge.
//!
//! ```text
//! n1: i = 0                                n1: i = 0; t2 = A[i]
//!     br n2                                    br n2
//! n2: br p, n3, n4                         n2: br p, n3, n4
//! n3: br n8                                n3: t1 = A[i + 1]; br n8
//! n4: br q, n5, n6                         n4: br q, n5, n6
//! n5: y = A[i + 1]; br n7         ──▶      n5: t1 = A[i + 1]; y = t1; br n7
//! n6: br n7                                n6: t1 = A[i + 1]; br n7
//! n7: br n8                                n7: br n8
//! n8: x = A[i]                             n8: x = t2
//!     i = i + 1                                t2 = t1; i = i + 1
//!     br r, n9, e                              br r, n9, e
//! n9: br n2                                n9: br n2
//! ```
//!
//! 1. Visit each load (for `preqp`, each pure instruction) in reverse postorder, wide vectors
//!    first.
//! 2. Ask whether its value is available before it, perhaps after insertions, perhaps from an
//!    earlier round of a loop ([`crate::query`]). If so, read it from a temporary ([`rewriting`]).
//! 3. Failing that, put a vector together from its elements, if all of them are available.
//! 4. Unless `cost=paper`, insert under divergent branches as well, where that saves more cycles
//!    than it costs ([`cost`]): by a profile, or by estimated frequencies
//!    ([expected counts](crate::profile::expected_warp_counts)).
//! 5. Failing that, move the load up before branches, by a speculation question, unless costs are
//!    compared and that does not pay.
//! 6. Do the same for what was inserted ([`walk`]).
//!
//! | pass | questions about | insertions | moves up across |
//! |---|---|---|---|
//! | `preqp` | pure instructions | where down-safe | – |
//! | `srqp` | loads | where down-safe | – |
//! | `esrqp` | loads | where down-safe and no divergent branch decides | – |
//! | `ssrqp-s` | loads | as `esrqp` | all branches |
//! | `ssrqp` | loads | as `esrqp` | divergent branches |
//!
//! The example is the work of `srqp`. If n2 and n4 diverge, the warp then loads A[i + 1] three
//! times a round; `esrqp` leaves the program alone, and `ssrqp` loads A[i + 1] once, in n2, before
//! both branches.
//!
//! Sound because an answer "available" means that on every path the value has been computed into
//! its temporary, or is by an insertion, with its operands unchanged since. A load on a path that
//! did not have it is marked `.spec`, unless a later load of the same address faults anyway, or its
//! index stays within an array of known size; with `faulting=guarded` it takes the condition of its
//! execution as a guard ([`guarded`]). Which branches diverge changes costs, never results: the
//! static analysis says which may, a `profile warp` which do (`divergence=profile`).
//!
//! Cost: that of the questions, O(instructions) by their budget.
//!
//! Limits: the remark `budget` reports that questions ended early. A second run may still move
//! loads further up, since a move makes blocks above down-safe for loads that were asked about
//! before; as loads only move up, that comes to an end. A kernel that begins with a bounds check
//! has hardly a block where no divergent branch decides; `cdrnd=relative` ignores the branches that
//! the load itself depends on. `visits` above 2 finds what was loaded more than one round ago.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021.

mod copies;
mod cost;
mod front;
mod guarded;
mod inspect;
mod narration;
mod refusals;
mod rewriting;
mod walk;

use alloc::format;
use alloc::vec::Vec;

use super::if_convert::{LANES, resident_warps};
use super::{FAULTING_KNOB, Inspector, Knob, KnobKind, KnobValues, Pass, PassError, PassInfo, Settings};
use crate::compact_sort::CompactSort;
use crate::ir::{Block, WarpCounts};
use crate::machine::Machine;
use crate::query::{
    Crossing, DownSafety, Faulting, Insertion, Interest, QueryEngine, Reach, Region, Rules, Shape, Snapshot,
};
use crate::symbolic::Overflow;
use crate::trace::{Fact, Remark};
use crate::view::View;
use cost::Costs;
use walk::Walk;

const DOWN_SAFETY: Knob = Knob {
    name: "down_safety",
    label: "Justification of insertions",
    kind: KnobKind::Choice { default: "paper", words: &["paper", "exact"] },
    help: "Justify insertions by a later load of any form that the question has taken (paper), or of the inserted \
           form only (exact).",
};
const FAULTING: Knob = Knob {
    name: FAULTING_KNOB,
    label: "Loads that might fault",
    kind: KnobKind::Choice { default: "auto", words: &["auto", "spec", "guarded", "never"] },
    help: "Mark a load that might fault where it is inserted as one that does not (spec), guard it by its \
           condition (guarded), or do not insert it (never); auto: guard it if the result is to be PTX, otherwise \
           mark it.",
};
const OVERFLOW: Knob = Knob {
    name: "overflow",
    label: "Index overflow",
    kind: KnobKind::Choice { default: "assume", words: &["assume", "prove"] },
    help: "Assume that signed 32-bit index arithmetic does not overflow (assume), or convert subscripts only \
           where that is proved (prove).",
};
const CDRND: Knob = Knob {
    name: "cdrnd",
    label: "Branches that forbid insertion",
    kind: KnobKind::Choice { default: "transitive", words: &["transitive", "direct", "relative"] },
    help: "Insert where no divergent branch decides, directly or through other branches (transitive), directly \
           (direct), or apart from branches that decide about the load itself (relative).",
};
const DIVERGENCE: Knob = Knob {
    name: "divergence",
    label: "Divergent branches",
    kind: KnobKind::Choice { default: "static", words: &["static", "profile", "all", "none"] },
    help: "Take branches for divergent that the analysis cannot prove uniform (static), that a `profile warp` \
           counted (profile), all, or none.",
};
const THRESHOLD: Knob = Knob {
    name: "divergence_threshold",
    label: "Least divergence of a branch",
    kind: KnobKind::Number { default: 0.0, min: 0.0, max: 1.0 },
    help: "Minimum share of a branch's executions in which lanes diverge, with divergence=profile.",
};
const VISITS: Knob = Knob {
    name: "visits",
    label: "Visits of a block",
    kind: KnobKind::Integer { default: 2, min: 2, max: 9 },
    help: "Maximum visits of a block by a question: 2 finds loads of the last round of a loop, 3 those of the \
           round before.",
};
const COST: Knob = Knob {
    name: "cost",
    label: "Cost rule",
    kind: KnobKind::Choice { default: "auto", words: &["auto", "paper", "machine"] },
    help: "Follow the paper's rules (paper), or move and insert loads where that saves more cycles than it costs, \
           by the profile of warps (machine), or without one by frequencies estimated from the loops and divergent \
           branches (auto).",
};
const MACHINE: Knob = Knob {
    name: "machine",
    label: "Machine",
    kind: KnobKind::Choice { default: "ampere", words: &["unit", "volta", "turing", "ampere", "hopper"] },
    help: "Compare costs on this machine, unless cost=paper.",
};
const WARPS: Knob = Knob {
    name: "warps",
    label: "Resident warps",
    kind: KnobKind::Integer { default: 0, min: 0, max: 64 },
    help: "Resident warps that fill each other's waiting, unless cost=paper; 0 takes them from the launch or the \
           machine.",
};
const LINES: Knob = Knob {
    name: "partial_speculation",
    label: "Partial speculation",
    kind: KnobKind::Switch { default: false },
    help: "Make differing answers to speculation questions equal by insertions (lines 7 to 9 of algorithm 2).",
};

const PAPER: &str = "Fukuhara and Takimoto 2021, scalar replacement considering branch divergence";

/// The differences between the five passes.
struct Variant {
    knobs: &'static [Knob],
    interest: Interest,
    insertion: Insertion,
    crossing: Crossing,
}

macro_rules! variants {
    ($(
        $(#[$doc:meta])* $pass:ident $name:literal $summary:literal $knobs:expr,
        $interest:ident $insertion:ident $crossing:ident;
    )*) => {
        $($(#[$doc])*
        pub struct $pass;

        impl Pass for $pass {
            const INFO: PassInfo =
                PassInfo { name: $name, paper: PAPER, summary: $summary, knobs: $knobs, needs_fast_math: false };

            const INSPECTOR: Option<Inspector> = Some(inspect::INSPECTOR);

            fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
                let variant = Variant {
                    knobs: $knobs,
                    interest: Interest::$interest,
                    insertion: Insertion::$insertion,
                    crossing: Crossing::$crossing,
                };
                run(view, &settings.knobs, &variant);
                Ok(())
            }
        })*
    };
}

variants! {
    /// Partial redundancy elimination of scalar expressions.
    Preqp "preqp" "Computes a scalar expression once on every path, by questions that travel up to its computations."
        &[], Scalars Anywhere Nothing;
    /// Scalar replacement.
    Srqp "srqp" "Keeps what was loaded, also in the last round of a loop, in a register, wherever branches lead."
        &[DOWN_SAFETY, FAULTING, OVERFLOW, VISITS], Loads Anywhere Nothing;
    /// Scalar replacement that inserts nothing under divergent branches.
    Esrqp "esrqp" "Scalar replacement that inserts loads only where no divergent branch decides."
        &[DOWN_SAFETY, CDRND, DIVERGENCE, THRESHOLD, FAULTING, OVERFLOW, VISITS], Loads InRegion Nothing;
    /// Scalar replacement that moves loads up before all branches.
    SsrqpS "ssrqp-s" "Scalar replacement that moves loads up above branches, whether they diverge or not."
        &[DOWN_SAFETY, CDRND, DIVERGENCE, THRESHOLD, FAULTING, OVERFLOW, VISITS, LINES], Loads InRegion Everything;
    /// Scalar replacement that moves loads up before divergent branches.
    Ssrqp "ssrqp" "Scalar replacement that moves loads up above divergent branches and inserts none under them."
        &[DOWN_SAFETY, CDRND, DIVERGENCE, THRESHOLD, COST, MACHINE, WARPS, FAULTING, OVERFLOW, VISITS, LINES],
        Loads InRegion Divergent;
}

impl Variant {
    /// The choice of a knob; empty if the pass has no such knob.
    fn choice<'k>(&self, values: &'k KnobValues, name: &str) -> &'k str {
        if self.has(name) { values.choice(name) } else { "" }
    }

    /// The integer of a knob of the pass.
    fn integer(&self, values: &KnobValues, name: &str) -> Option<i64> {
        self.has(name).then(|| values.integer(name))
    }

    fn has(&self, name: &str) -> bool {
        self.knobs.iter().any(|knob| knob.name == name)
    }
}

fn run(view: &mut View<'_>, knobs: &KnobValues, variant: &Variant) {
    let is = |name: &str, word: &str| variant.choice(knobs, name) == word;
    let overflow = if is("overflow", "prove") { Overflow::Prove } else { Overflow::Assume };
    let (cfg, dominators, values) = (view.cfg(), view.dominators(), view.values());
    let post_dominators = view.post_dominators();
    let graph = (&cfg, dominators, post_dominators.endless_loop_ends());
    let snapshot = Snapshot::new(view.module(), view.func(), graph, values, overflow, variant.interest);
    if !snapshot.has_occurrences() {
        return;
    }
    let rules = Rules {
        insertion: variant.insertion,
        crossing: variant.crossing,
        down_safety: if is("down_safety", "exact") { DownSafety::Exact } else { DownSafety::Paper },
        faulting: match variant.choice(knobs, FAULTING_KNOB) {
            "guarded" => Faulting::Guarded,
            "never" => Faulting::Never,
            _ => Faulting::Spec,
        },
        visits: variant.integer(knobs, "visits").unwrap_or(2) as u32,
        meets_partially: variant.crossing != Crossing::Nothing && knobs.switch("partial_speculation"),
        trial: 0,
    };
    let reach = match variant.choice(knobs, "cdrnd") {
        "direct" => Reach::Direct,
        "relative" => Reach::Relative,
        _ => Reach::Transitive,
    };
    let divergent = divergent_branches(view, knobs, variant);
    let costs = match variant.choice(knobs, "cost") {
        cost @ ("auto" | "machine") => prices(view, knobs, cost == "auto"),
        _ => None,
    };
    let reads_branches = variant.insertion == Insertion::InRegion || variant.crossing != Crossing::Nothing;
    let shape = reads_branches.then(|| Shape {
        cfg: cfg.clone(),
        post_dominators,
        control_dependence: view.control_dependence(),
    });
    let loops = view.loops();
    let instructions = view.func().insts.len();
    let region = Region::new(shape.clone(), divergent.into_iter(), reach);
    let mut walk = Walk::new(QueryEngine::new(snapshot, rules, region, shape, instructions), rules, costs);
    // Wide vectors first: a load that provides them provides their elements.
    let widths: &[u8] = if walk.engine.snapshot.has_vectors() { &[4, 2, 1] } else { &[1] };
    for (&width, &block) in
        widths.iter().flat_map(|width| cfg.reverse_postorder().iter().map(move |block| (width, block)))
    {
        for inst in walk.engine.snapshot.occurring_in(view.func(), block) {
            if widths.len() > 1 && view.func().insts[inst].opcode.vector != width {
                continue;
            }
            if let Some(occurrence) = walk.engine.snapshot.occurrence_of(inst) {
                let is_alone = walk.engine.snapshot.relatives(occurrence) == 1 && loops.innermost(block).is_none();
                walk.visit(view, occurrence, is_alone);
            }
        }
    }
    walk.ask_guarded_again(view);
}

/// The blocks whose branches diverge, according to the knob.
fn divergent_branches(view: &mut View<'_>, knobs: &KnobValues, variant: &Variant) -> Vec<Block> {
    if variant.insertion == Insertion::Anywhere {
        return Vec::new();
    }
    let mut blocks: Vec<Block> = match variant.choice(knobs, "divergence") {
        "none" => Vec::new(),
        "all" => view.func().block_order().filter(|&block| view.func().successors(block).len() > 1).collect(),
        "profile" => measured_branches(view, knobs.number("divergence_threshold")),
        _ => view.divergence().divergent_branches().collect(),
    };
    blocks.compact_sort();
    blocks
}

/// The blocks at whose branches lanes diverged in more than that share of the profiled executions.
/// Branches without a profile are left to the static analysis. Reports where the two differ.
fn measured_branches(view: &mut View<'_>, threshold: f64) -> Vec<Block> {
    let divergence = view.divergence();
    let counts = WarpCounts::of(view.func());
    if counts.is_empty() {
        report_missing_profile(view, "the static analysis decides which branches diverge");
    }
    let branches: Vec<Block> =
        view.func().block_order().filter(|&block| view.func().successors(block).len() > 1).collect();
    let mut divergent = Vec::new();
    for block in branches {
        let guessed = divergence.is_divergent_branch(block);
        let share = counts.divergence(block);
        let is_divergent = share.map_or(guessed, |share| share > threshold);
        if is_divergent {
            divergent.push(block);
        }
        if let Some(share) = share.filter(|_| is_divergent != guessed) {
            let executions = counts.executions(block).unwrap_or(0);
            view.miss(|func| {
                let (is, seemed) = if guessed { ("uniform", "divergent") } else { ("divergent", "uniform") };
                let message = format!(
                    "treated the branch of `{}` as {is}, statically {seemed}: lanes diverged in {:.1} % of \
                     {executions} executions",
                    func.blocks[block].name,
                    share * 100.0
                );
                Remark::missed("measured", block, message)
                    .with("share", Fact::Number(share))
                    .with("executions", Fact::Count(executions))
            });
        }
    }
    divergent
}

/// Prices of loads by the profile of warps; without one by an estimate, if the caller accepts it.
fn prices(view: &mut View<'_>, knobs: &KnobValues, accepts_estimate: bool) -> Option<Costs> {
    let machine = Machine::from_name(knobs.choice("machine")).unwrap_or_default();
    let launch = view.module().stated_launch_of(&view.func().name);
    let lanes = launch.and_then(|launch| launch.warp).unwrap_or(LANES);
    let warps = match u32::try_from(knobs.integer("warps")) {
        Ok(0) | Err(_) => resident_warps(launch, machine, lanes),
        Ok(warps) => warps,
    };
    let costs = Costs::measured(view.func(), machine, warps);
    if accepts_estimate {
        return Some(costs.unwrap_or_else(|| Costs::expected(view, machine, warps)));
    }
    if costs.is_none() {
        report_missing_profile(view, "moves and insertions follow the rules of the paper");
    }
    costs
}

/// Reports that there is no profile of warps, and its consequence.
fn report_missing_profile(view: &mut View<'_>, consequence: &str) {
    view.miss(|func| {
        let entry = func.entry_block().unwrap_or(Block::from_u32(0));
        Remark::missed("no-profile", entry, format!("no `profile warp`: {consequence}"))
    });
}

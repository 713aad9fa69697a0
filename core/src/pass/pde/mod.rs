//! Partial dead code elimination: a statement whose result is needed on some paths only sinks to where it is needed, past
//! joins with a predicate where executed paths gain by it.
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
//! Each [statement](statements) is looked at in the [region] that it could sink to ([`sinking`]), where a profile says what is
//! executed each one on a [frequent] path. Without a predicate it passes joins that it comes to on all ways, so that no path
//! executes more than before. With a `profile path`, or paths that are
//! [estimated](super::path_guided::estimate) from a `profile edge`, joins that it comes to on some ways only are weighed
//! ([`benefit`]): executed paths on which it is not needed any more, against others on which a predicated version is
//! executed for nothing. Most are not weighed at all, as no path could lose anything past them, or others would pay more
//! whatever else is passed ([`losing`]). What pays is enabled, together with the joins behind that the benefit needs; a
//! [predicate](predicate) tells where the statement is on its way. What lands where its result is not needed is dropped.
//! That is repeated until nothing changes, since what has sunk makes way for others: in large functions window by window, from
//! the last blocks on, so that what sinks finds the way behind it as it stays.
//!
//! On a machine with warps a path is taken by lanes, but an instruction is paid by the warp: where a statement lands on both
//! sides of a branch whose lanes part, the warp executes it twice, and it is free only where no lane needs it. With
//! `cost=warp`, which is the default where a `profile warp` counts executions, a change has to be one that warps execute
//! fewer cycles for; of the joins that would be enabled those are which save cycles of warps.
//!
//! Sound: a statement moves along the ways of control only, past nothing that reads or writes its result or writes its
//! operands, and is executed at most once for each time that it was. Loads pass what writes [memory](memory) only
//! where that cannot be what they read, and nothing that orders memory. Critical edges on which something is put are split.
//!
//! Bounds: regions have at most 4096 nodes and 64 joins that are decided on; at most [`MOST_ROUNDS`](rounds::MOST_ROUNDS) rounds are made
//! for each window of blocks, which the remark `max-rounds` says. Running the pass again finds nothing more, but for that.
//!
//! Source: R. Gupta, D. Berson and J. Z. Fang, Path profile guided partial dead code elimination using predication, 1997;
//! J. Knoop, O. Rüthing and B. Steffen, Partial dead code elimination, 1994.

mod accesses;
mod benefit;
mod course;
mod frequent;
mod inspect;
mod liveness;
mod losing;
mod memory;
mod moves;
mod nearby;
mod plan;
mod predicate;
mod region;
mod rounds;
mod signature;
mod sinking;
mod statements;
mod stretched;
pub mod survey;
mod touching;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::path_guided::paths::Paths;
use super::path_guided::rules::{self as guided, COST, FP, MACHINE};
use super::{Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::ir::{Block, Function};
use crate::machine::Machine;
use crate::trace::{Fact, Remark};
use crate::view::View;
use frequent::Frequent;
use plan::{Favour, Plan, Said, Terms, without_last_trips};
use rounds::Rounds;

/// See the file's head.
pub struct Pde;

impl Pass for Pde {
    const INFO: PassInfo = PassInfo {
        name: "pde",
        paper: "Gupta, Berson and Fang 1997; Knoop, Rüthing and Steffen 1994",
        summary: "Sinks what is needed on some paths only to where it is, past joins with a predicate where executed paths gain by it.",
        knobs: &[
            Knob {
                name: "predication",
                kind: KnobKind::Switch { default: true },
                help: "sink past joins with a predicate; without it no path ever executes more",
            },
            FP,
            Knob {
                name: "rule",
                kind: KnobKind::Choice { default: "sound", words: &["sound", "printed"] },
                help: "sound: a join's cost is that of all joins that its benefit needs; printed: its own alone, as in figures 4 and 7",
            },
            COST,
            MACHINE,
            Knob {
                name: "statements",
                kind: KnobKind::Choice { default: "frequent", words: &["frequent", "all"] },
                help: "which statements are looked at where a profile of paths or edges is: those on frequent paths, as in the paper, or all",
            },
            Knob {
                name: "window",
                kind: KnobKind::Integer { default: 2048, min: 1, max: 1_000_000_000 },
                help: "blocks and critical edges that are worked on together: statements in the last ones sink first, until none does any more",
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
    /// The share (0–1) of executions that are of frequent paths.
    share: f64,
    is_printed: bool,
    is_by_warp: bool,
    machine: Machine,
    /// Is every statement looked at, however rarely it is executed?
    are_all_looked_at: bool,
    /// Nodes of a window.
    window: usize,
}

impl Rules {
    fn of(func: &Function, settings: &Settings) -> Result<Rules, PassError> {
        let knobs = &settings.knobs;
        let guided::Rules { share, is_by_warp, machine } = guided::Rules::of(func, knobs, Pde::INFO.name)?;
        let (with_predicates, is_printed) = (knobs.switch("predication"), knobs.choice("rule") == "printed");
        let window = usize::try_from(knobs.integer("window")).unwrap_or(usize::MAX).max(1);
        let are_all_looked_at = knobs.choice("statements") == "all";
        Ok(Rules { with_predicates, share, is_printed, is_by_warp, machine, are_all_looked_at, window })
    }

    /// The statements that are looked at, where these paths were executed, and each node so often by warps.
    fn frequent(&self, paths: Option<&Paths>, warps: Option<&[f64]>) -> Frequent {
        if self.are_all_looked_at { Frequent::default() } else { Frequent::of(paths, warps) }
    }
}

fn applied(func: &Function, plan: &Plan, text: &str) -> Remark {
    let name = |block: &Block| format!("`{}`", func.blocks[*block].name);
    let names = |blocks: &[Block]| blocks.iter().map(name).collect::<Vec<String>>().join(", ");
    let nothing = Said::default();
    let Said { from, to, dropped } = plan.said.as_deref().unwrap_or(&nothing);
    let lands = match to.as_slice() {
        [] => String::from("is needed nowhere"),
        to => format!("sinks to {}", names(to)),
    };
    let how = match (plan.is_predicated, plan.guard) {
        (false, _) => String::new(),
        (true, Some(guard)) => {
            let not = if guard.negated { "!" } else { "" };
            format!(" under `{not}{}`", func.regs[guard.reg].name)
        }
        (true, None) => String::from(" under a new predicate"),
    };
    let all_dropped = names(dropped);
    let terms = plan.terms.as_deref();
    let paths = match terms.filter(|terms| !terms.joins.is_empty()) {
        None => String::new(),
        Some(Terms { joins, favour, .. }) => {
            let Favour { benefit_paths, cost_paths, benefit, cost, printed_paths, .. } = *favour;
            format!(
                "; past {}, {benefit_paths} executions that lose it save {benefit:.0} cycles, and {cost_paths} that gain it cost \
                 {cost:.0}{}",
                names(joins),
                without_last_trips(benefit_paths, printed_paths)
            )
        }
    };
    let message = format!("`{text}` {lands}{how}, and is dropped on the way to {all_dropped}{paths}");
    let mut remark = Remark::applied("sink", from.first().copied().unwrap_or(Block::from_u32(0)), message)
        .at(plan.occurrences[0])
        .with("from", Fact::Blocks(from.clone()))
        .with("to", Fact::Blocks(to.clone()))
        .with("dropped", Fact::Blocks(dropped.clone()));
    if let Some(Terms { joins, favour, .. }) = terms.filter(|_| plan.is_predicated) {
        remark = remark
            .with("joins", Fact::Blocks(joins.clone()))
            .with("executions_lost", Fact::Number(favour.benefit_paths))
            .with("executions_gained", Fact::Number(favour.cost_paths))
            .with("benefit", Fact::Number(favour.benefit))
            .with("cost", Fact::Number(favour.cost))
            .with("printed_executions_lost", Fact::Number(favour.printed_paths))
            .with("printed_benefit", Fact::Number(favour.printed_benefit));
    }
    if let Some((before, after)) = terms.and_then(|terms| terms.warp_cycles) {
        remark = remark.with("warp_cycles_before", Fact::Number(before)).with("warp_cycles_after", Fact::Number(after));
    }
    remark
}

//! Remarks of the pass: plans that were carried out, and reasons why statements stay.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::benefit::Decision;
use super::plan::{Favour, Plan};
use super::region::MOST_NODES;
use super::rounds::MOST_ROUNDS;
use crate::ir::{Block, Function};
use crate::pass::support::path_guided::nodes::Nodes;
use crate::trace::{Fact, Remark};

/// Why a statement stays, or does not pass a join.
pub(super) enum Refusal {
    /// Passing the join costs more.
    Cost { join: Block, decision: Decision },
    /// Warps would execute more cycles.
    Warps { from: Block, before: f64, after: f64 },
    /// Warps would wait for longer than the executions save.
    Stalls { from: Block, before: f64, after: f64 },
    /// The region is too large.
    TooLarge { from: Block },
}

impl Refusal {
    /// The remark about a statement of that text.
    pub fn remark(&self, func: &Function, text: &str) -> Remark {
        match *self {
            Refusal::Cost { join, ref decision } => {
                let name = &func.blocks[join].name;
                let Decision { benefit_paths, cost_paths, benefit, cost, printed_paths, printed_benefit, .. } =
                    *decision;
                let last_trips = last_trips(benefit_paths, printed_paths);
                let message = format!(
                    "kept `{text}` before `{name}`: passing it would save {benefit_paths} executions \
                     ({benefit:.0} cycles) and add {cost_paths} ({cost:.0} cycles){last_trips}"
                );
                Remark::missed("cost", join, message)
                    .with("benefit", Fact::Number(benefit))
                    .with("cost", Fact::Number(cost))
                    .with("printed_benefit", Fact::Number(printed_benefit))
            }
            Refusal::Warps { from, before, after } => {
                let message = format!(
                    "kept `{text}`: it takes warps {before:.0} cycles, and would take {after:.0} after sinking"
                );
                Remark::missed("warps", from, message)
                    .with("warp_cycles_before", Fact::Number(before))
                    .with("warp_cycles_after", Fact::Number(after))
            }
            Refusal::Stalls { from, before, after } => {
                let message = format!(
                    "kept `{text}`: with the waits for its result it costs {before:.0} cycles, and would cost \
                     {after:.0} after sinking"
                );
                Remark::missed("stalls", from, message)
                    .with("cycles_before", Fact::Number(before))
                    .with("cycles_after", Fact::Number(after))
            }
            Refusal::TooLarge { from } => {
                Remark::missed("too-large", from, format!("kept `{text}`: its region has more than {MOST_NODES} nodes"))
            }
        }
    }
}

/// The paper's count, if last trips of loops need the statement or may.
fn last_trips(paths: f64, printed_paths: f64) -> String {
    if paths == printed_paths {
        return String::new();
    }
    format!("; {printed_paths} would be saved if no last trip of a loop needed the result")
}

/// The remark about a plan for a statement of that text.
pub(super) fn applied(func: &Function, nodes: &Nodes, plan: &Plan, text: &str) -> Remark {
    let name = |block: &Block| format!("`{}`", func.blocks[*block].name);
    let names = |blocks: &[Block]| blocks.iter().map(name).collect::<Vec<String>>().join(", ");
    let from: Vec<Block> = plan.from.iter().filter_map(|&node| nodes.block(node)).collect();
    let Plan { to, dropped, joins, favour, .. } = plan;
    let lands = if to.is_empty() { String::from("is unused on all paths") } else { format!("sinks to {}", names(to)) };
    let how = match (plan.is_predicated, plan.guard) {
        (false, _) => String::new(),
        (true, Some(guard)) => {
            let not = if guard.negated { "!" } else { "" };
            format!(" under `{not}{}`", func.regs[guard.reg].name)
        }
        (true, None) => String::from(" under a new predicate"),
    };
    let Favour { benefit_paths, cost_paths, benefit, cost, printed_paths, printed_benefit } = *favour;
    let paths = if joins.is_empty() {
        String::new()
    } else {
        format!(
            "; passing {} saves {benefit_paths} executions ({benefit:.0} cycles) and adds {cost_paths} ({cost:.0} \
             cycles){}",
            names(joins),
            last_trips(benefit_paths, printed_paths)
        )
    };
    let message = format!("`{text}` {lands}{how}, and is removed on the paths to {}{paths}", names(dropped));
    let mut remark = Remark::applied("sink", from.first().copied().unwrap_or(Block::from_u32(0)), message)
        .at(plan.occurrences[0])
        .with("from", Fact::Blocks(from))
        .with("to", Fact::Blocks(to.clone()))
        .with("dropped", Fact::Blocks(dropped.clone()));
    if plan.is_predicated {
        remark = remark
            .with("joins", Fact::Blocks(joins.clone()))
            .with("executions_lost", Fact::Number(benefit_paths))
            .with("executions_gained", Fact::Number(cost_paths))
            .with("benefit", Fact::Number(benefit))
            .with("cost", Fact::Number(cost))
            .with("printed_executions_lost", Fact::Number(printed_paths))
            .with("printed_benefit", Fact::Number(printed_benefit));
    }
    if let Some((before, after)) = plan.warp_cycles {
        remark = remark.with("warp_cycles_before", Fact::Number(before)).with("warp_cycles_after", Fact::Number(after));
    }
    remark
}

/// The remark about a missing profile.
pub(super) fn no_profile(func: &Function) -> Remark {
    let message = "nothing sinks under a predicate without a `profile path` or `profile edge`: measure one with \
                   --profile simulate, or declare one";
    Remark::missed("no-profile", entry(func), message)
}

/// The remark about statements on no frequent path.
pub(super) fn infrequent(func: &Function, count: usize) -> Remark {
    let message = match count {
        1 => String::from("kept 1 statement that is on no frequent path: `pde.statements=all` plans it as well"),
        _ => format!("kept {count} statements that are on no frequent path: `pde.statements=all` plans them as well"),
    };
    Remark::missed("infrequent", entry(func), message).with("statements", Fact::Count(count as u64))
}

/// The remark about windows that reached the limit of rounds.
pub(super) fn more_rounds(func: &Function) -> Remark {
    Remark::missed("max-rounds", entry(func), format!("stopped after {MOST_ROUNDS} rounds: more statements could sink"))
}

fn entry(func: &Function) -> Block {
    func.entry_block().unwrap_or(Block::from_u32(0))
}

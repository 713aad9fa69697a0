//! Remarks of the pass: plans that were carried out, and reasons why evaluations stay.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::MOST_ROUNDS;
use super::benefit::Decision;
use super::expressions::Repetition;
use super::plan::{Plan, SplitBalance};
use crate::ir::{Block, Function, Inst, Module};
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};

/// Why an evaluation stays, or is not brought ahead of a branch.
pub(super) enum Refused {
    /// Passing the branch costs more.
    Cost { split: Block, decision: Decision },
    /// Warps would execute more.
    Warps { at: Block, before: f64, after: f64 },
    /// The region is too large.
    TooLarge { at: Block },
}

impl Refused {
    /// The remark about an instruction of that text.
    pub fn remark(&self, func: &Function, text: &str) -> Remark {
        match *self {
            Refused::Cost { split, ref decision } => {
                let Decision { benefit_paths, cost_paths, benefit, cost, .. } = *decision;
                let message = format!(
                    "`{text}` is not evaluated ahead of `{}`: {benefit_paths} executions that lose an evaluation \
                     would save {benefit:.0} cycles, and {cost_paths} that gain one cost {cost:.0}",
                    func.blocks[split].name
                );
                let remark = Remark::missed("cost", split, message);
                remark.with("benefit", Fact::Number(benefit)).with("cost", Fact::Number(cost))
            }
            Refused::Warps { at, before, after } => {
                let message =
                    format!("kept `{text}`: warps evaluate it for {before:.0} cycles, and would for {after:.0}");
                Remark::missed("warps", at, message)
                    .with("warp_cycles_before", Fact::Number(before))
                    .with("warp_cycles_after", Fact::Number(after))
            }
            Refused::TooLarge { at } => {
                Remark::missed("too-large", at, format!("kept `{text}`: its region is too large"))
            }
        }
    }
}

impl Plan {
    /// The remark about the first evaluation that is replaced, of that text.
    pub fn remark(&self, func: &Function, nodes: &Nodes, text: &str) -> Remark {
        let blocks =
            |list: &[(Node, Inst)]| -> Vec<Block> { list.iter().filter_map(|&(node, _)| nodes.block(node)).collect() };
        let (to, from) = (blocks(&self.replaced), blocks(&self.sources));
        let name = |block: Block| format!("`{}`", func.blocks[block].name);
        let names = |list: &[Block]| list.iter().copied().map(name).collect::<Vec<String>>().join(", ");
        let place = |&(node, _): &(Node, bool)| match (nodes.edge(node), nodes.block_or_target(node)) {
            (Some((from, to)), _) => format!("the edge from {} to {}", name(from), name(to)),
            (None, block) => name(block),
        };
        let inserted: Vec<String> = self.inserted.iter().map(place).collect();
        let and = if from.is_empty() { "" } else { ", and from " };
        let new = match inserted.len() {
            0 => String::new(),
            _ => format!("{and}{}, where it is evaluated now", inserted.join(", ")),
        };
        let SplitBalance { benefit_paths, cost_paths, benefit, cost } = self.balance;
        let paths = match self.splits.as_slice() {
            [] => String::new(),
            splits => format!(
                "; ahead of {}, {benefit_paths} executions that lose an evaluation save {benefit:.0} cycles, \
                 and {cost_paths} that gain one cost {cost:.0}",
                names(splits)
            ),
        };
        let message = format!("`{text}` in {} has its value from {}{new}{paths}", names(&to), names(&from));
        let insertions = self.inserted.iter().map(|&(node, _)| nodes.block_or_target(node)).collect();
        let mut remark = Remark::applied("replace", to.first().copied().unwrap_or(Block::from_u32(0)), message)
            .at(self.first())
            .with("replaced", Fact::Blocks(to))
            .with("from", Fact::Blocks(from))
            .with("insertions", Fact::Blocks(insertions));
        if !self.splits.is_empty() {
            remark = remark
                .with("splits", Fact::Blocks(self.splits.clone()))
                .with("executions_lost", Fact::Number(benefit_paths))
                .with("executions_gained", Fact::Number(cost_paths))
                .with("benefit", Fact::Number(benefit))
                .with("cost", Fact::Number(cost));
        }
        if let Some((before, after)) = self.warp_cycles {
            remark =
                remark.with("warp_cycles_before", Fact::Number(before)).with("warp_cycles_after", Fact::Number(after));
        }
        remark
    }
}

/// The remark about repetitions in a block that read the earlier value.
pub(super) fn repeat(module: &Module, func: &Function, block: Block, group: &[Repetition]) -> Remark {
    let [text, earlier] = [group[0].inst, group[0].earlier].map(|inst| instruction_text(module, func, inst));
    let message = format!("`{text}` is what `{earlier}` has evaluated in the same block");
    Remark::applied("repeat", block, message).at(group[0].inst).with("replaced", Fact::Count(group.len() as u64))
}

/// The remark that speculation needs a profile.
pub(super) fn no_profile(func: &Function) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    let message = "there is no `profile path` and no `profile edge`, so nothing is evaluated by speculation: \
                   measure them with --profile simulate, or declare one";
    Remark::missed("no-profile", entry, message)
}

/// The remark that the last round found more.
pub(super) fn more_rounds(func: &Function) -> Remark {
    let entry = func.entry_block().unwrap_or(Block::from_u32(0));
    Remark::missed("max-rounds", entry, format!("after {MOST_ROUNDS} rounds more could be gained"))
}

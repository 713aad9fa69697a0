//! Reaching definitions by following every path of single steps.

use proptest::prelude::*;
use std::collections::BTreeSet;
use warpscope_core::flow::{ReachingDefinition, ReachingDefinitions, Values};
use warpscope_core::ir::{Block, Function, Inst, Reg};

use super::random_program::{analysed, programs};

/// The definitions of `reg` that reach the point before `inst`, searched against control.
fn reaching(func: &Function, cfg: &warpscope_core::graph::Cfg, inst: Inst, reg: Reg) -> Vec<ReachingDefinition> {
    let mut found = BTreeSet::new();
    let mut seen: BTreeSet<(Block, Option<Inst>)> = BTreeSet::new();
    // Points to go back from: in a block, before an instruction or (none) at the end.
    let mut stack = vec![(func.inst_block(inst).unwrap(), Some(inst))];
    while let Some((block, before)) = stack.pop() {
        if !seen.insert((block, before)) {
            continue;
        }
        let mut is_stopped = false;
        for inst in func.block_insts(block).rev().skip_while(|&inst| before.is_some_and(|at| at != inst)) {
            if Some(inst) == before {
                continue;
            }
            let data = &func.insts[inst];
            if let Some(index) = data.dsts.iter().position(|&dst| dst == reg) {
                found.insert(ReachingDefinition::Inst { inst, index: index as u32 });
                if data.guard.is_none() {
                    is_stopped = true;
                    break;
                }
            }
        }
        if !is_stopped {
            if cfg.is_entry(block) {
                found.insert(ReachingDefinition::Entry);
            }
            let before = cfg.predecessors(block).iter().filter(|&&block| cfg.is_reachable(block));
            stack.extend(before.map(|&block| (block, None)));
        }
    }
    found.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_reaches_is_what_some_path_brings(program in programs(7)) {
        let (func, cfg, dominators) = analysed(&program);
        let values = Values::compute(&func, &cfg, &dominators);
        let definitions = ReachingDefinitions::new(&values);
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block) {
                for (index, &reg) in func.insts[inst].uses().iter().enumerate() {
                    prop_assert_eq!(definitions.of_use(inst, index), reaching(&func, &cfg, inst, reg));
                }
            }
        }
    }
}

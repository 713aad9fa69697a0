//! Liveness by following every path of single steps.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use std::collections::BTreeSet;
use warpscope_core::flow::Liveness;
use warpscope_core::graph::Cfg;
use warpscope_core::ir::{Block, Function, Inst, Reg};

use super::random_program::{REGS, analysed, programs};

/// Is there a path from before `inst` to a read of `reg` without an unguarded write of it?
fn is_live_before(func: &Function, cfg: &Cfg, inst: Inst, reg: Reg) -> bool {
    let mut seen: BTreeSet<Inst> = BTreeSet::new();
    let mut stack = vec![inst];
    while let Some(inst) = stack.pop() {
        if !seen.insert(inst) {
            continue;
        }
        let data = &func.insts[inst];
        if data.uses().contains(&reg) {
            return true;
        }
        if data.guard.is_none() && data.dsts.contains(&reg) {
            continue;
        }
        match func.layout.next_inst(inst) {
            Some(next) => stack.push(next),
            None => {
                let block: Block = func.inst_block(inst).unwrap();
                stack.extend(cfg.successors(block).iter().filter_map(|&next| func.layout.first_inst(next)));
            }
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_live_is_what_some_path_reads(program in programs(7)) {
        let (func, cfg, _) = analysed(&program);
        let liveness = Liveness::compute(&func, &cfg);
        for &block in cfg.reverse_postorder() {
            let first = func.layout.first_inst(block).unwrap();
            let is_live = |&reg: &Reg| is_live_before(&func, &cfg, first, reg);
            let live: Vec<Reg> = (0..REGS).map(Reg::new).filter(is_live).collect();
            prop_assert_eq!(liveness.live_in(block).collect::<Vec<_>>(), live);
            for reg in (0..REGS).map(Reg::new) {
                let into = |&next: &Block| is_live_before(&func, &cfg, func.layout.first_inst(next).unwrap(), reg);
                prop_assert_eq!(liveness.is_live_out(block, reg), cfg.successors(block).iter().any(into));
            }
            let mut expected_failures = Vec::new();
            liveness.for_each_inst_backward(&func, block, |inst, live| {
                let Some(next) = func.layout.next_inst(inst) else { return };
                for reg in (0..REGS).map(Reg::new) {
                    if live.contains(&reg) != is_live_before(&func, &cfg, next, reg) {
                        expected_failures.push((inst, reg));
                    }
                }
            });
            prop_assert!(expected_failures.is_empty(), "{:?}", expected_failures);
        }
    }
}

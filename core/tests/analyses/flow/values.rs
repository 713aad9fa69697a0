//! Value names against executions: along random walks, a name must stand for what its register holds.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use std::collections::HashMap;
use warpscope_core::flow::{Definition, Liveness, Value, ValueUse, ValueUses, Values};
use warpscope_core::graph::{Edge, IteratedFrontier};
use warpscope_core::ir::{Block, Reg};

use super::random_program::{REGS, analysed, programs};

/// Every write puts a fresh number into its register, so that equal numbers mean the same write.
#[derive(Default)]
struct Run {
    regs: [u32; REGS],
    named: HashMap<Value, u32>,
    writes: u32,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_name_stands_for_what_its_register_holds(
        program in programs(7),
        choices in prop::collection::vec((0usize..6, any::<u32>()), 1..40),
        entry in 0usize..2,
    ) {
        let (func, cfg, dominators) = analysed(&program);
        let values = Values::compute(&func, &cfg, &dominators);
        let mut run = Run::default();
        run.regs[0] = u32::MAX;
        for value in values.iter().filter(|&value| values.definition(value) == Definition::Entry) {
            run.named.insert(value, run.regs[values.reg(value).index()]);
        }
        let mut block = cfg.entries()[entry % cfg.entries().len()];
        let mut along: Option<Edge> = None;
        for (choice, mut guards) in choices {
            let arriving: Vec<(Value, u32)> = values
                .joins(block)
                .map(|join| {
                    let args: Vec<_> = values.join_args(join).iter().filter(|arg| arg.edge.expand() == along).collect();
                    assert_eq!(args.len(), 1);
                    (join, run.named[&args[0].value])
                })
                .collect();
            run.named.extend(arriving);
            for reg in (0..REGS).map(Reg::new) {
                if let Some(value) = values.at_start(block, reg) {
                    prop_assert_eq!(run.named[&value], run.regs[reg.index()], "{:?} at the start of {:?}", reg, block);
                }
            }
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                for reg in (0..REGS).map(Reg::new) {
                    if let Some(value) = values.before(&func, inst, reg) {
                        prop_assert_eq!(run.named[&value], run.regs[reg.index()], "{:?} before {:?}", reg, inst);
                    }
                }
                prop_assert_eq!(values.used(inst).len(), data.uses().len());
                for (&reg, &value) in data.uses().iter().zip(values.used(inst)) {
                    prop_assert_eq!(values.reg(value), reg);
                    prop_assert_eq!(values.before(&func, inst, reg), Some(value));
                    prop_assert_eq!(run.named[&value], run.regs[reg.index()]);
                }
                let holds = data.guard.is_none() || guards & 1 == 1;
                guards >>= 1;
                for (&reg, &value) in data.dsts.iter().zip(values.defined(inst)) {
                    if holds {
                        run.writes += 1;
                        run.regs[reg.index()] = run.writes;
                        run.named.insert(value, run.writes);
                    } else {
                        let Definition::Guarded { old, .. } = values.definition(value) else { panic!() };
                        run.named.insert(value, run.named[&old]);
                    }
                    prop_assert_eq!(values.after(&func, inst, reg), Some(value));
                    prop_assert_eq!(run.named[&value], run.regs[reg.index()]);
                }
            }
            for reg in (0..REGS).map(Reg::new) {
                if let Some(value) = values.at_end(block, reg) {
                    prop_assert_eq!(run.named[&value], run.regs[reg.index()], "{:?} at the end of {:?}", reg, block);
                }
            }
            let outs = cfg.successors(block).len();
            if outs == 0 {
                break;
            }
            along = cfg.out_edge(block, choice % outs);
            block = cfg.target(along.unwrap());
        }
    }

    #[test]
    fn joins_are_placed_where_definitions_meet_that_are_read(program in programs(7)) {
        let (func, cfg, dominators) = analysed(&program);
        let values = Values::compute(&func, &cfg, &dominators);
        let liveness = Liveness::compute(&func, &cfg);
        let mut frontier = IteratedFrontier::walking(&cfg, &dominators);
        let reachable: Vec<Block> = func.block_order().filter(|&block| cfg.is_reachable(block)).collect();
        for reg in (0..REGS).map(Reg::new) {
            // Blocks that write the register, and those that may read what it held before.
            let writes = |block: Block| func.block_insts(block).any(|inst| func.insts[inst].dsts.contains(&reg));
            let reads_first = |block: Block| {
                let touching = func.block_insts(block).find(|&inst| {
                    func.insts[inst].uses().contains(&reg) || func.insts[inst].dsts.contains(&reg)
                });
                touching.is_some_and(|inst| {
                    let data = &func.insts[inst];
                    data.uses().contains(&reg) || data.guard.is_some()
                })
            };
            let writers: Vec<Block> = reachable.iter().copied().filter(|&block| writes(block)).collect();
            let readers: Vec<Block> = reachable.iter().copied().filter(|&block| reads_first(block)).collect();
            let is_above = |block: Block, others: &[Block]| {
                others.iter().any(|&other| dominators.strictly_dominates(block, other))
            };
            let is_below = |block: Block, others: &[Block]| {
                others.iter().any(|&other| dominators.strictly_dominates(other, block))
            };
            let meeting = frontier.of(&[cfg.entries(), &writers].concat());
            let mut expected = if writers.is_empty() {
                Vec::new()
            } else if readers.iter().all(|&reader| is_below(reader, &writers)) {
                let is_scope = |top: &Block| !is_below(*top, &writers) && is_above(*top, &readers);
                let scopes: Vec<Block> = writers.iter().copied().filter(is_scope).collect();
                meeting.iter().copied().filter(|&block| is_below(block, &scopes)).collect()
            } else {
                meeting.clone()
            };
            expected.sort_unstable();
            let has_join = |block: &Block| values.joins(*block).any(|join| values.reg(join) == reg);
            let mut found: Vec<Block> = reachable.iter().copied().filter(has_join).collect();
            found.sort_unstable();
            prop_assert_eq!(&found, &expected, "joins of {:?}", reg);
            for block in meeting {
                let is_needed = !writers.is_empty() && liveness.is_live_in(block, reg);
                prop_assert!(!is_needed || found.contains(&block), "{:?} is live at {:?}", reg, block);
            }
        }
    }

    #[test]
    fn what_a_block_makes_is_what_its_instructions_define(program in programs(7)) {
        let (func, cfg, dominators) = analysed(&program);
        let values = Values::compute(&func, &cfg, &dominators);
        for &block in cfg.reverse_postorder() {
            let defined: Vec<Value> = func.block_insts(block).flat_map(|inst| values.defined(inst)).copied().collect();
            prop_assert_eq!(values.made_in(block).collect::<Vec<_>>(), defined);
        }
    }

    #[test]
    fn uses_are_the_names_turned_round(program in programs(7)) {
        let (func, cfg, dominators) = analysed(&program);
        let values = Values::compute(&func, &cfg, &dominators);
        let uses = ValueUses::compute(&func, &values);
        let mut readers = 0;
        for value in values.iter() {
            for &reader in uses.of(value) {
                readers += 1;
                match reader {
                    ValueUse::Operand { inst, index } => prop_assert_eq!(values.used(inst)[index as usize], value),
                    ValueUse::Old(made) => {
                        let Definition::Guarded { old, .. } = values.definition(made) else { panic!() };
                        prop_assert_eq!(old, value);
                    }
                    ValueUse::Argument(join) => {
                        prop_assert!(values.join_args(join).iter().any(|arg| arg.value == value));
                    }
                }
            }
        }
        let operands: usize =
            func.block_order().flat_map(|block| func.block_insts(block)).map(|inst| values.used(inst).len()).sum();
        let olds = values.iter().filter(|&v| matches!(values.definition(v), Definition::Guarded { .. })).count();
        // A join takes something if an instruction reads what it makes, be it through other joins.
        let insts = func.block_order().flat_map(|block| func.block_insts(block));
        let mut work: Vec<Value> = insts.flat_map(|inst| values.used(inst).to_vec()).collect();
        work.extend(values.iter().filter_map(|value| match values.definition(value) {
            Definition::Guarded { old, .. } => Some(old),
            _ => None,
        }));
        let mut read = vec![false; values.len()];
        let mut args = 0;
        while let Some(value) = work.pop() {
            if !std::mem::replace(&mut read[value.index()], true) {
                args += values.join_args(value).len();
                work.extend(values.join_args(value).iter().map(|arg| arg.value));
            }
        }
        for value in values.iter() {
            prop_assert_eq!(uses.is_read(value), read[value.index()]);
        }
        prop_assert_eq!(readers, operands + olds + args);
    }
}

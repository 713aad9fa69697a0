//! Divergence against a warp: what is called uniform must be the same in all lanes that run together.
//!
//! The warp here is a few lines that know only what matters: a mask, a stack that reconverges at the immediate
//! post-dominator, and registers a lane. Random programs get lane numbers, draws and guards mixed in.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use warpscope_core::flow::{Cause, Divergence, DivergenceInput, Source, Subject, ValueUses, Values};
use warpscope_core::graph::{Cfg, Dominators, Loops, PostDominators};
use warpscope_core::ir::{
    Axis, Block, FuncKind, Function, Guard, InputData, InstData, Op, Opcode, Operand, Reg, Special, Type,
};

use super::random_program::{Program, REGS, programs};

const LANES: usize = 4;

pub struct Analysed {
    pub func: Function,
    pub cfg: Cfg,
    pub post_dominators: PostDominators,
    pub values: Values,
    pub divergence: Divergence,
}

pub fn analyse(func: Function) -> Analysed {
    let cfg = Cfg::compute(&func);
    let dominators = Dominators::compute(&cfg);
    let post_dominators = PostDominators::compute(&cfg);
    let values = Values::compute(&func, &cfg, &dominators);
    let uses = ValueUses::compute(&func, &values);
    let divergence = Divergence::compute(DivergenceInput {
        func: &func,
        cfg: &cfg,
        dominators: &dominators,
        post_dominators: &post_dominators,
        loops: &Loops::compute(&cfg),
        values: &values,
        uses: &uses,
    });
    Analysed { func, cfg, post_dominators, values, divergence }
}

/// A kernel in which some instructions read the lane's number, and some draw from a uniform input.
pub fn kernel(program: &Program, flavours: &[usize]) -> Function {
    let mut func = program.function();
    func.kind = FuncKind::Kernel;
    let input = func.build_input(InputData { name: "u".into(), ty: Type::U32, uniform: true });
    for (inst, &flavour) in func.insts.keys().collect::<Vec<_>>().into_iter().zip(flavours.iter().cycle()) {
        let data = &mut func.insts[inst];
        if data.is_terminator() || data.dsts.is_empty() {
            continue;
        }
        match flavour {
            0 => data.args.push(Operand::Special(Special::Tid(Axis::X))),
            1 => data.args.push(Operand::Special(Special::Ctaid(Axis::X))),
            2 => {
                data.opcode = Opcode::new(Op::In, Type::U32);
                data.args = [Operand::Input(input)].into_iter().collect();
            }
            _ => {}
        }
    }
    func
}

fn mix(a: u32, b: u32) -> u32 {
    (a ^ b.wrapping_mul(0x9E37_79B9)).wrapping_mul(0x85EB_CA6B).rotate_left(13)
}

/// Runs a warp and calls `visit` before each instruction with the active lanes' registers.
fn run(
    analysed: &Analysed,
    seed: u32,
    mut visit: impl FnMut(Block, &InstData, warpscope_core::ir::Inst, &[[u32; REGS]]),
) {
    struct Entry {
        at: Block,
        lanes: Vec<usize>,
        until: Option<Block>,
    }
    let Analysed { func, cfg, post_dominators, .. } = analysed;
    let mut regs = [[0u32; REGS]; LANES];
    regs.iter_mut().for_each(|lane| lane[0] = seed);
    let mut draws = [0u32; LANES];
    let mut stack = vec![Entry {
        at: cfg.entries()[seed as usize % cfg.entries().len()],
        lanes: (0..LANES).collect(),
        until: None,
    }];
    let mut fuel = 300;
    while let Some(top) = stack.last_mut() {
        if top.until == Some(top.at) {
            stack.pop();
            continue;
        }
        let (block, lanes, until) = (top.at, top.lanes.clone(), top.until);
        let mut sides: Vec<(Block, Vec<usize>)> = Vec::new();
        for inst in func.block_insts(block) {
            fuel -= 1;
            if fuel == 0 {
                return;
            }
            let data = &func.insts[inst];
            let active: Vec<_> = lanes.iter().map(|&lane| regs[lane]).collect();
            visit(block, data, inst, &active);
            for &lane in &lanes {
                let before = regs[lane];
                if data.guard.is_some_and(|guard| before[guard.reg.index()] & 1 == 0) {
                    continue;
                }
                if data.is_terminator() {
                    let Some(last) = data.targets().len().checked_sub(1) else { continue };
                    let choice = data.uses().first().map_or(0, |reg| before[reg.index()] as usize >> 3);
                    let target = data.targets()[if last == 0 { 0 } else { choice % (last + 1) }];
                    match sides.iter_mut().find(|side| side.0 == target) {
                        Some(side) => side.1.push(lane),
                        None => sides.push((target, vec![lane])),
                    }
                    continue;
                }
                let mut result = 1;
                for arg in &data.args {
                    result = mix(
                        result,
                        match arg {
                            Operand::Reg(reg) => before[reg.index()],
                            Operand::Special(Special::Tid(_)) => lane as u32 + 77,
                            Operand::Special(_) => 5,
                            Operand::Input(_) => {
                                draws[lane] += 1;
                                mix(seed, draws[lane])
                            }
                            _ => unreachable!(),
                        },
                    );
                }
                for (index, dst) in data.dsts.iter().enumerate() {
                    regs[lane][dst.index()] = result.wrapping_add(index as u32);
                }
            }
        }
        let top = stack.last_mut().unwrap();
        match sides.len() {
            0 => drop(stack.pop()),
            1 => top.at = sides[0].0,
            _ => {
                let meeting = post_dominators.immediate_post_dominator(block);
                match meeting {
                    Some(meeting) => top.at = meeting,
                    None => drop(stack.pop()),
                }
                let _ = until;
                stack.extend(sides.into_iter().rev().map(|(at, lanes)| Entry { at, lanes, until: meeting }));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn what_is_called_uniform_is_the_same_in_all_active_lanes(
        program in programs(8),
        flavours in prop::collection::vec(0usize..12, 12),
        seed in any::<u32>(),
    ) {
        let analysed = analyse(kernel(&program, &flavours));
        let mut failure = None;
        run(&analysed, seed, |block, data, inst, active| {
            for (index, reg) in data.uses().iter().enumerate() {
                let differs = active.iter().any(|lane| lane[reg.index()] != active[0][reg.index()]);
                if differs && !analysed.divergence.is_divergent_use(&analysed.values, inst, index) {
                    failure.get_or_insert((block, inst, *reg));
                }
                if differs && data.is_terminator() && data.targets().iter().any(|&to| to != data.targets()[0]) {
                    assert!(analysed.divergence.is_divergent_branch(block));
                }
            }
        });
        prop_assert!(failure.is_none(), "{:?}", failure);
    }

    #[test]
    fn every_chain_of_causes_ends_at_a_source(
        program in programs(8),
        flavours in prop::collection::vec(0usize..12, 12),
    ) {
        let Analysed { func, values, divergence, .. } = analyse(kernel(&program, &flavours));
        let subjects = values.iter().map(Subject::Value).chain(divergence.divergent_branches().map(Subject::Branch));
        for subject in subjects {
            let chain = divergence.explain(subject);
            if let Some(last) = chain.last() {
                prop_assert!(matches!(last.cause, Cause::Source(_)), "{:?}", chain);
            }
            for link in &chain {
                prop_assert!(link.sentence(&func, &values).contains("is divergent because"));
            }
        }
    }
}

/// Blocks with successors; the instructions are added by the test.
fn shape(lists: &[&[usize]], choice: Reg) -> Function {
    let mut func = Function::new("k", FuncKind::Kernel);
    for reg in ["p", "i", "x"] {
        func.build_reg(reg, Type::U32);
    }
    (0..lists.len()).for_each(|block| {
        func.build_block(format!("b{block}"));
    });
    for (block, list) in lists.iter().enumerate() {
        let mut data = match list.len() {
            0 => InstData::new(Opcode::untyped(Op::Ret), [], []),
            1 => InstData::new(Opcode::untyped(Op::Br), [], []),
            _ => InstData::new(Opcode::untyped(Op::BrIf), [], [Operand::Reg(choice)]),
        };
        data = data.to(list.iter().map(|&target| Block::new(target)));
        func.build_inst(Block::new(block), data);
    }
    func
}

fn put(func: &mut Function, block: usize, dst: Reg, op: Op, args: Vec<Operand>) -> warpscope_core::ir::Inst {
    let inst = func.insts.push(InstData::new(Opcode::new(op, Type::U32), [dst], args));
    let before = func.layout.last_inst(Block::new(block));
    func.insert_inst(inst, Block::new(block), before);
    inst
}

#[test]
fn a_counter_is_uniform_in_its_loop_and_divergent_behind_it() {
    let [p, i, x] = [0, 1, 2].map(Reg::new);
    // b0: i = 0; b1: i = i + 1, p = i < tid, br p, b1, b2; b2: x = i.
    let mut func = shape(&[&[1], &[1, 2], &[]], p);
    put(&mut func, 0, i, Op::Mov, vec![Operand::Const(0)]);
    let step = put(&mut func, 1, i, Op::Add, vec![Operand::Reg(i), Operand::Const(1)]);
    put(&mut func, 1, p, Op::Sub, vec![Operand::Reg(i), Operand::Special(Special::Tid(Axis::X))]);
    let behind = put(&mut func, 2, x, Op::Mov, vec![Operand::Reg(i)]);
    let Analysed { func, values, divergence, .. } = analyse(func);
    let counter = values.defined(step)[0];
    assert!(!divergence.is_divergent(counter));
    assert!(divergence.is_divergent_use(&values, behind, 0));
    let x_value = values.defined(behind)[0];
    assert_eq!(divergence.cause(x_value), Some(Cause::Left(counter, Block::new(1))));
    let chain = divergence.explain(Subject::Value(x_value));
    let sentences: Vec<String> = chain.iter().map(|link| link.sentence(&func, &values)).collect();
    assert_eq!(
        sentences,
        [
            "`x` (in `b2`) is divergent because lanes leave the loop of `i` in different iterations, by the branch of \
             `b1`",
            "the branch of `b1` is divergent because it reads `p`",
            "`p` (in `b1`) is divergent because %tid differs by lane",
        ]
    );
}

/// The guard is uniform where it was computed, so that it is none of the causes.
#[test]
fn a_draw_under_what_lanes_left_behind_has_the_branch_for_its_cause() {
    let [p, i, x] = [0, 1, 2].map(Reg::new);
    // b0: i = 0; b1: i = i + 1, p = i < tid, br p, b1, b2; b2: @i x = in u.
    let mut func = shape(&[&[1], &[1, 2], &[]], p);
    let input = func.build_input(InputData { name: "u".into(), ty: Type::U32, uniform: true });
    put(&mut func, 0, i, Op::Mov, vec![Operand::Const(0)]);
    let step = put(&mut func, 1, i, Op::Add, vec![Operand::Reg(i), Operand::Const(1)]);
    put(&mut func, 1, p, Op::Sub, vec![Operand::Reg(i), Operand::Special(Special::Tid(Axis::X))]);
    let draw = put(&mut func, 2, x, Op::In, vec![Operand::Input(input)]);
    func.insts[draw].guard = Some(Guard { reg: i, negated: false });
    let Analysed { values, divergence, .. } = analyse(func);
    let counter = values.defined(step)[0];
    let drawn = values.defined(draw)[0];
    assert_eq!(divergence.cause(counter), None);
    assert_eq!(divergence.cause(drawn), Some(Cause::Left(counter, Block::new(1))));
    let chain = divergence.explain(Subject::Value(drawn));
    assert!(matches!(chain.last().unwrap().cause, Cause::Source(Source::Special(_))), "{chain:?}");
}

#[test]
fn a_join_behind_a_divergent_branch_is_divergent_and_one_behind_a_uniform_branch_is_not() {
    let [p, _, x] = [0, 1, 2].map(Reg::new);
    for (special, expected) in [(Special::Laneid, true), (Special::Ctaid(Axis::X), false)] {
        let mut func = shape(&[&[1, 2], &[3], &[3], &[]], p);
        put(&mut func, 0, p, Op::Mov, vec![Operand::Special(special)]);
        put(&mut func, 1, x, Op::Mov, vec![Operand::Const(1)]);
        put(&mut func, 2, x, Op::Mov, vec![Operand::Const(2)]);
        let read = put(&mut func, 3, x, Op::Mov, vec![Operand::Reg(x)]);
        let Analysed { values, divergence, .. } = analyse(func);
        assert_eq!(divergence.is_divergent(values.used(read)[0]), expected);
        assert_eq!(divergence.is_divergent_branch(Block::new(0)), expected);
        let reason = divergence.cause(values.used(read)[0]);
        assert_eq!(reason, expected.then_some(Cause::Parted(Block::new(0))));
        assert_eq!(divergence.runs_apart(Block::new(1)), expected.then_some(Block::new(0)));
        let source = divergence.branch_cause(Block::new(0)).map(|_| divergence.explain(Subject::Branch(Block::new(0))));
        if let Some(chain) = source {
            assert_eq!(chain.last().unwrap().cause, Cause::Source(Source::Special(special)));
        }
    }
}

//! Graph analyses on graphs of three kinds, and dataflow on programs over them.

use cranelift_entity::EntityRef;
use warpscope_core::flow::{Divergence, DivergenceInput, Liveness, ValueUses, Values};
use warpscope_core::graph::{Cfg, ControlDependence, Dominators, Loops, PathNumbering, PostDominators};
use warpscope_core::ir::{
    Axis, Block, FuncKind, Function, InstData, Op, Opcode, Operand, ParamType, Reg, Special, Type,
};

use crate::report::{self, Asked};

/// Blocks of a graph, or instructions of a program.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Prints what graph analyses cost a block, and dataflow an instruction.
pub fn measure() {
    for (kind, lists) in [
        ("structured", structured as fn(usize) -> Vec<Vec<Block>>),
        ("deep", deep as fn(usize) -> Vec<Vec<Block>>),
        ("irreducible", irreducible as fn(usize) -> Vec<Vec<Block>>),
    ] {
        for size in SIZES {
            let lists = lists(size);
            let cfg = cfg(&lists);
            let time = |name: &str, asked: Option<Asked>, work: &mut dyn FnMut()| {
                report::time(&format!("{name}, {kind}"), Some(size), "ns/block", size, asked, work);
            };
            time("cfg", None, &mut || drop(self::cfg(&lists)));
            time("dominators", Some(Asked::AtMost(60.0)), &mut || drop(Dominators::compute(&cfg)));
            time("post-dominators", None, &mut || drop(PostDominators::compute(&cfg)));
            let post_dominators = PostDominators::compute(&cfg);
            time("loops", None, &mut || drop(Loops::compute(&cfg)));
            time("control dependence", None, &mut || drop(ControlDependence::compute(&cfg, &post_dominators)));
            time("path numbering", None, &mut || drop(PathNumbering::compute(&cfg)));
        }
    }
    for size in SIZES {
        let func = program(size);
        let count = func.inst_count();
        let cfg = Cfg::compute(&func);
        let dominators = Dominators::compute(&cfg);
        let post_dominators = PostDominators::compute(&cfg);
        let values = Values::compute(&func, &cfg, &dominators);
        let uses = ValueUses::compute(&func, &values);
        let time = |name: &str, work: &mut dyn FnMut()| {
            report::time(name, Some(size), "ns/inst", count, None, work);
        };
        time("value names", &mut || drop(Values::compute(&func, &cfg, &dominators)));
        time("value uses", &mut || drop(ValueUses::compute(&func, &values)));
        time("liveness", &mut || drop(Liveness::compute(&func, &cfg)));
        let input = DivergenceInput {
            func: &func,
            cfg: &cfg,
            dominators: &dominators,
            post_dominators: &post_dominators,
            values: &values,
            uses: &uses,
        };
        time("divergence", &mut || drop(Divergence::compute(input)));
    }
}

fn cfg(lists: &[Vec<Block>]) -> Cfg {
    Cfg::from_successors(lists.len(), &[Block::new(0)], |block| &lists[block.index()])
}

/// Loops around diamonds, one after the other: header, two arms, join that goes round or on.
fn structured(size: usize) -> Vec<Vec<Block>> {
    let target = |at: usize| Block::new(at.min(size - 1));
    (0..size)
        .map(|at| match (at + 1 == size, at % 4) {
            (true, _) => vec![],
            (_, 0) => vec![target(at + 1), target(at + 2)],
            (_, 1) => vec![target(at + 2)],
            (_, 2) => vec![target(at + 1)],
            _ => vec![target(at - 3), target(at + 1)],
        })
        .collect()
}

/// Loops in loops in loops: the second half of the blocks goes back to the first, the last to the first.
fn deep(size: usize) -> Vec<Vec<Block>> {
    (0..size)
        .map(|at| {
            let next = Block::new((at + 1) % size);
            match at {
                _ if at + 1 == size => vec![],
                _ if at < size / 2 => vec![next],
                _ => vec![Block::new(size - 1 - at), next],
            }
        })
        .collect()
}

/// Each block goes to the next, and to one a short random way off in either direction.
fn irreducible(size: usize) -> Vec<Vec<Block>> {
    let mut random = 1u64;
    (0..size)
        .map(|at| {
            if at + 1 == size {
                return vec![];
            }
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let distance = (random >> 33) as usize % 61;
            vec![Block::new(at + 1), Block::new((at + distance).saturating_sub(30).min(size - 1))]
        })
        .collect()
}

/// Ten instructions a block over the structured graph: mostly registers written once, every fourth block a counter that
/// is written again and again, a branch on a comparison that differs by lane in every sixteenth.
fn program(size: usize) -> Function {
    let blocks = (size / 10).max(4);
    let lists = structured(blocks);
    let mut func = Function::new("f", FuncKind::Kernel);
    let argument = func.build_param("n", ParamType::Scalar(Type::U32)).unwrap();
    let counters: Vec<Reg> = (0..blocks.div_ceil(16)).map(|at| func.build_reg(format!("c{at}"), Type::U32)).collect();
    (0..blocks).for_each(|block| {
        func.build_block(format!("b{block}"));
    });
    let mut before = [argument; 3];
    for (at, list) in lists.iter().enumerate() {
        let block = Block::new(at);
        for step in 0..8 {
            let reg = func.build_reg(format!("r{at}_{step}"), Type::U32);
            let args = [Operand::Reg(before[0]), Operand::Reg(before[step % 3])];
            func.build_inst(block, InstData::new(Opcode::new(Op::Add, Type::U32), [reg], args));
            // What follows may only read what dominates it: arms leave nothing behind.
            if at % 4 != 1 && at % 4 != 2 {
                before.rotate_right(1);
                before[0] = reg;
            }
        }
        let counter = counters[at / 16];
        let step = if at % 16 == 0 { Operand::Special(Special::Tid(Axis::X)) } else { Operand::Const(1) };
        let condition = if at % 4 == 3 {
            let args = [Operand::Reg(counter), step];
            func.build_inst(block, InstData::new(Opcode::new(Op::Add, Type::U32), [counter], args));
            counter
        } else {
            let reg = func.build_reg(format!("k{at}"), Type::U32);
            func.build_inst(
                block,
                InstData::new(Opcode::new(Op::Add, Type::U32), [reg], [Operand::Reg(before[0]), step]),
            );
            reg
        };
        let mut data = match list.len() {
            0 => InstData::new(Opcode::untyped(Op::Ret), [], []),
            1 => InstData::new(Opcode::untyped(Op::Br), [], []),
            _ => InstData::new(Opcode::untyped(Op::BrIf), [], [Operand::Reg(condition)]),
        };
        data.targets.extend(list.iter().copied());
        func.build_inst(block, data);
    }
    func
}

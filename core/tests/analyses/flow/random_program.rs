//! Small random functions: random graphs whose blocks read and write a few registers, some under guards, some with two
//! destinations. What the instructions compute does not matter here.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{Block, FuncKind, Function, Guard, InstData, Op, Opcode, Operand, ParamType, Reg, Type};

use crate::graph::random_graph::{Graph, graphs};

/// One instruction: registers written, registers read, guard.
#[derive(Clone, Debug)]
pub struct Step {
    pub writes: Vec<usize>,
    pub reads: Vec<usize>,
    pub guard: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub graph: Graph,
    pub steps: Vec<Vec<Step>>,
    /// The register that each terminator with a choice reads.
    pub choices: Vec<usize>,
}

/// Registers of a program; the first is a parameter.
pub const REGS: usize = 4;

impl Program {
    pub fn function(&self) -> Function {
        let mut func = Function::new("f", FuncKind::Func);
        func.build_param("r0", ParamType::Scalar(Type::U32));
        (1..REGS).for_each(|reg| {
            func.build_reg(format!("r{reg}"), Type::U32);
        });
        (0..self.graph.len()).for_each(|block| {
            func.build_block(format!("b{block}"));
        });
        if self.graph.entries.len() > 1 {
            func.entries = self.graph.entries.iter().map(|&entry| Block::new(entry)).collect();
        }
        for (index, steps) in self.steps.iter().enumerate() {
            let block = Block::new(index);
            for step in steps {
                let operands = step.reads.iter().map(|&reg| Operand::Reg(Reg::new(reg)));
                let dsts = step.writes.iter().map(|&reg| Reg::new(reg));
                let guard = step.guard.map(|reg| Guard { reg: Reg::new(reg), negated: false });
                let data = InstData::new(Opcode::new(Op::Work, Type::U32), dsts, operands).guarded(guard);
                func.build_inst(block, data);
            }
            let targets = self.graph.successors[index].iter().map(|&target| Block::new(target));
            let choice = Operand::Reg(Reg::new(self.choices[index]));
            let terminator = match self.graph.successors[index].len() {
                0 => InstData::new(Opcode::untyped(Op::Ret), [], []),
                1 => InstData::new(Opcode::untyped(Op::Br), [], []),
                2 => InstData::new(Opcode::untyped(Op::BrIf), [], [choice]),
                _ => InstData::new(Opcode::untyped(Op::Switch), [], [choice]),
            };
            func.build_inst(block, terminator.to(targets));
        }
        func
    }
}

pub fn analysed(program: &Program) -> (Function, Cfg, Dominators) {
    let func = program.function();
    let cfg = Cfg::compute(&func);
    let dominators = Dominators::compute(&cfg);
    (func, cfg, dominators)
}

pub fn programs(max_blocks: usize) -> impl Strategy<Value = Program> {
    graphs(max_blocks).prop_flat_map(|graph| {
        let step = (
            prop::collection::vec(0..REGS, 0..=2),
            prop::collection::vec(0..REGS, 0..=2),
            prop::option::weighted(0.3, 0..REGS),
        )
            .prop_map(|(mut writes, reads, guard)| {
                writes.sort_unstable();
                writes.dedup();
                Step { writes, reads, guard }
            });
        let steps = prop::collection::vec(prop::collection::vec(step, 0..4), graph.len());
        let choices = prop::collection::vec(0..REGS, graph.len());
        (Just(graph), steps, choices).prop_map(|(graph, steps, choices)| Program { graph, steps, choices })
    })
}

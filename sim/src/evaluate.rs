//! One operation on constants: the simulator's own arithmetic for passes that fold, so that a folded program computes
//! exactly what the unfolded one would have.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use super::decode::{Kind, Program, TRUE};
use super::lanes::{Active, LaneFile};
use super::together::FrameBase;
use crate::ir::{ArgKind, FuncKind, Function, InstData, Module, Op, Opcode, Operand};
use crate::machine::Machine;

/// Evaluates an opcode with one destination on constants; `None` where it is no pure operation on numbers, or the
/// constants are not what it takes.
pub fn evaluate(opcode: Opcode, args: &[u64]) -> Option<u64> {
    let signature = opcode.signature();
    let [dst] = signature.dsts.get(..signature.required_dsts)? else { return None };
    // Where memory lies is this machine's own affair.
    if !opcode.is_pure() || opcode.op == Op::Isspacep || args.len() != signature.required_args {
        return None;
    }
    // A kernel of this one instruction, decoded as any other.
    let mut func = Function::new("k", FuncKind::Kernel);
    let block = func.build_block("b");
    let result = func.build_reg("r", dst.ty);
    let operands: Option<Vec<Operand>> = args
        .iter()
        .enumerate()
        .map(|(index, &bits)| match signature.arg(index)? {
            ArgKind::Value(ty) | ArgKind::LowBits(ty) => Some(Operand::Const(bits & ty.mask())),
            ArgKind::Predicate => Some(Operand::Const(bits & 1)),
            _ => None,
        })
        .collect();
    func.build_inst(block, InstData::new(opcode, [result], operands?));
    func.build_inst(block, InstData::new(Opcode::untyped(crate::ir::Op::Exit), [], []));
    let mut module = Module::default();
    let kernel = module.funcs.push(func);
    let program = Program::decode(&module, kernel, Machine::Unit).ok()?;
    let func = &program.funcs[0];
    let base = FrameBase(program.constants.len() as u32);
    let size = program.constants.len() + func.frame_size() as usize;
    let mut file = LaneFile::new(program.constants.clone());
    file.resize(size);
    let first_lane = [Active { base: base.0, mask: 1 }];
    file.predicates[base.at(TRUE) as usize] = !0;
    let inst = &program.insts[0];
    match inst.kind {
        Kind::Lanes => (inst.run)(&mut file, &inst.slots, &first_lane),
        Kind::Steps => {
            let steps = &program.steps[inst.side as usize];
            steps.iter().for_each(|step| (step.run)(&mut file, &step.slots, &first_lane));
        }
        _ => return None,
    }
    let result = *func.regs.get(result.index())?;
    Some(base.read(&file, result, 0) & dst.ty.mask())
}

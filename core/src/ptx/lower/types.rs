//! Gives every imported register its type.
//!
//! ```text
//! .reg .b32 %r<4>;                       r1 = ld.global.u32 …     (r1: u32, from its definition)
//! ld.global.u32 %r1, …;             →    r2 = add.s32 r1, 1       (s and u agree)
//! .reg .b32 %r2 used as f32 and u32      reg r2: b32              (declared: use and definition disagree)
//! ```
//!
//! PTX declares registers and lets an instruction read one by any type of its width. The text IR infers the type from
//! the first definition, and a `b` type agrees with every type of its width. So a register keeps the type of its
//! first definition where all other definitions and uses agree with that, and is declared with the `b` type of its
//! width where they do not, or where a load or conversion fills a register wider than its own type.
//!
//! Sound because a `b` type changes no bit. Linear in the instructions.

use super::FuncType;
use crate::ir::{ArgKind, FuncKind, Function, InstData, Op, Operand, ParamType, Reg, Type};
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

/// Uses of one register that determine its type.
#[derive(Clone, Default)]
struct Evidence {
    first: Option<Type>,
    disagrees: bool,
}

/// Settles the types of all registers; until here each has the type that PTX declared.
pub fn settle(func: &mut Function, callees: &[FuncType]) {
    let mut evidence: SecondaryMap<Reg, Evidence> = SecondaryMap::new();
    for param in &func.params {
        if let Some(reg) = param.reg {
            evidence[reg].first = Some(func.reg_types[reg]);
        }
    }
    let order: Vec<_> = func.block_order().flat_map(|block| func.block_insts(block)).collect();
    for &inst in &order {
        for (reg, ty) in definitions(&func.insts[inst]) {
            let width = func.reg_types[reg].bits();
            let known = &mut evidence[reg];
            match known.first {
                None if ty.bits() == width => known.first = Some(ty),
                None => (known.first, known.disagrees) = (Some(func.reg_types[reg]), true),
                Some(first) => known.disagrees |= !ty.agrees_with(first) && ty.bits() == width,
            }
        }
    }
    for &inst in &order {
        for_each_typed_use(func, &func.insts[inst], callees, |reg, ty| {
            let known = &mut evidence[reg];
            let width = func.reg_types[reg].bits();
            known.disagrees |= known.first.is_some_and(|first| ty.bits() == width && !first.agrees_with(ty));
        });
    }
    let params: Vec<Reg> = func.params.iter().filter_map(|param| param.reg).collect();
    for (reg, ty) in func.reg_types.iter_mut() {
        if params.contains(&reg) {
            continue;
        }
        match &evidence[reg] {
            Evidence { first: Some(first), disagrees: false } => *ty = *first,
            _ => {
                *ty = ty.as_bits();
                func.regs[reg].declared = true;
            }
        }
    }
}

/// The registers that an instruction writes, with the type it writes them by.
fn definitions(inst: &InstData) -> impl Iterator<Item = (Reg, Type)> + '_ {
    let packing = match inst.opcode.op {
        Op::Mov if inst.dsts.len() > 1 => inst.opcode.packing_signature(inst.dsts.len(), false),
        _ => None,
    };
    let signature = packing.unwrap_or_else(|| inst.opcode.signature());
    inst.dsts.iter().enumerate().filter_map(move |(index, &reg)| {
        let ty = if inst.opcode.op.is_call() { inst.opcode.ty } else { signature.dsts.get(index)?.ty };
        Some((reg, ty))
    })
}

fn for_each_typed_use(func: &Function, inst: &InstData, callees: &[FuncType], mut visit: impl FnMut(Reg, Type)) {
    let signature = match (inst.opcode.op, inst.args.first()) {
        (Op::Mov, Some(Operand::List(parts))) => inst.opcode.packing_signature(parts.len(), true),
        _ => None,
    };
    let signature = signature.unwrap_or_else(|| inst.opcode.signature());
    for (index, arg) in inst.args.iter().enumerate() {
        let ty = match (inst.opcode.op, signature.arg(index)) {
            (Op::Call | Op::CallTo, _) => {
                let callee = inst.callee().and_then(|callee| callees.get(callee.func.as_u32() as usize));
                match callee.and_then(|callee| callee.params.get(index)) {
                    Some(ParamType::Scalar(ty)) => *ty,
                    _ => Type::B64,
                }
            }
            (Op::Ret, _) => match func.returns {
                Some(ty) if func.kind == FuncKind::Func => ty,
                _ => continue,
            },
            (_, Some(ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Elements(ty, _) | ArgKind::Any(ty))) => ty,
            _ => continue,
        };
        match arg {
            Operand::Reg(reg) => visit(*reg, ty),
            Operand::List(parts) => parts.iter().filter_map(Operand::as_reg).for_each(|reg| visit(reg, ty)),
            _ => {}
        }
    }
}

//! Affine names against evaluation: along a random straight line of integer instructions, every sum must be the number
//! that its value has.

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use warpscope_core::flow::Values;
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{
    Axis, FuncKind, Function, Guard, InstData, Op, Opcode, Operand, ParamType, Reg, Special, Type,
};
use warpscope_core::symbolic::{Affine, AffineNames, Atom, Extension, Overflow};

/// Registers of each of these types.
pub const TYPES: [Type; 5] = [Type::S32, Type::U32, Type::S64, Type::U64, Type::U16];
pub const PER_TYPE: usize = 3;
pub const TID: u32 = 5;

/// One instruction: what it does, its type's place, destination, operands (a register or a constant), guard.
pub type Line = (usize, usize, usize, [Result<usize, i64>; 3], bool);

pub fn lines() -> impl Strategy<Value = Vec<Line>> {
    let constant = prop_oneof![-4i64..9, Just(1 << 20), Just(i64::MAX), Just(-(1 << 31))];
    let operand = prop_oneof![3 => (0..PER_TYPE).prop_map(Ok), 2 => constant.prop_map(Err)];
    let line = (
        0usize..12,
        0..TYPES.len(),
        0..PER_TYPE,
        [operand.clone(), operand.clone(), operand],
        prop::bool::weighted(0.1),
    );
    prop::collection::vec(line, 1..14)
}

pub fn reg_of(ty: usize, index: usize) -> Reg {
    Reg::new(ty * PER_TYPE + index)
}

/// Adds the lines to a function's only block; all registers are parameters.
pub fn build(lines: &[Line]) -> Function {
    let mut func = Function::new("f", FuncKind::Kernel);
    for (ty, scalar) in TYPES.iter().enumerate() {
        (0..PER_TYPE).for_each(|index| {
            func.build_param(format!("r{ty}_{index}"), ParamType::Scalar(*scalar));
        });
    }
    let guard = func.build_reg("p", Type::Pred);
    let block = func.build_block("b");
    for &(op, ty, dst, operands, guarded) in lines {
        let (mut opcode, mut dst_ty) = (Opcode::new(Op::Mov, TYPES[ty]), ty);
        let mut count = 2;
        opcode.op = match op {
            0 => Op::Add,
            1 => Op::Sub,
            2 => Op::Mul,
            3 => Op::Mad,
            4 => Op::Mov,
            5 => Op::Neg,
            6 => Op::Shl,
            7 | 8 if ty < 2 => {
                dst_ty = ty + 2;
                if op == 7 { Op::MulWide } else { Op::MadWide }
            }
            9 => Op::And,
            10 | 11 => {
                dst_ty = (ty + dst) % TYPES.len();
                opcode.ty = TYPES[dst_ty];
                opcode.src_ty = TYPES[ty];
                Op::Cvt
            }
            _ => Op::Add,
        };
        match opcode.op {
            Op::Mad | Op::MadWide => count = 3,
            Op::Mov | Op::Neg | Op::Cvt => count = 1,
            _ => {}
        }
        let args = operands[..count].iter().enumerate().map(|(place, operand)| {
            let own = if opcode.op == Op::MadWide && place == 2 { dst_ty } else { ty };
            match operand {
                // A shift's amount is a small constant.
                _ if opcode.op == Op::Shl && place == 1 => Operand::Const(dst as u64 + 1),
                Err(-4) if TYPES[own].bits() == 32 => Operand::Special(Special::Tid(Axis::X)),
                Err(constant) => Operand::Const(*constant as u64 & TYPES[own].mask()),
                Ok(index) => Operand::Reg(reg_of(own, *index)),
            }
        });
        let guard = guarded.then_some(Guard { reg: guard, negated: false });
        func.build_inst(block, InstData::new(opcode, [reg_of(dst_ty, dst)], args).guarded(guard));
    }
    func.build_inst(block, InstData::new(Opcode::untyped(Op::Ret), [], []));
    func
}

/// Result of an instruction, as the bits of its destination, and whether a signed 32-bit operation overflowed.
pub fn execute(func: &Function, data: &InstData, regs: &[u64]) -> (u64, bool) {
    let ty = data.opcode.ty;
    let source = if data.opcode.op == Op::Cvt { data.opcode.src_ty } else { ty };
    let wide = match data.opcode.op {
        Op::MulWide | Op::MadWide => data.opcode.wide_type(),
        _ => ty,
    };
    let number = |place: usize| {
        let ty = if place == 2 { wide } else { source };
        let bits = match &data.args[place] {
            Operand::Reg(reg) => regs[reg.index()],
            Operand::Const(bits) => *bits,
            Operand::Special(_) => TID.into(),
            _ => unreachable!(),
        };
        i128::from(Extension::of(ty).extend(bits, ty.bits())) & if ty == Type::U64 { u64::MAX.into() } else { -1 }
    };
    let exact = match data.opcode.op {
        Op::Add => number(0) + number(1),
        Op::Sub => number(0) - number(1),
        Op::Mul | Op::MulWide => number(0).wrapping_mul(number(1)),
        Op::Mad | Op::MadWide => number(0).wrapping_mul(number(1)).wrapping_add(number(2)),
        Op::Neg => -number(0),
        Op::Mov | Op::Cvt => number(0),
        Op::Shl => number(0) << number(1),
        Op::And => number(0) & number(1),
        _ => unreachable!(),
    };
    let bits = exact as u64 & wide.mask();
    let _ = func;
    let overflows = wide == Type::S32 && data.opcode.op != Op::Cvt && exact != i128::from(bits as u32 as i32);
    (bits, overflows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_sum_is_the_number_that_its_value_has(
        lines in lines(),
        start in prop::collection::vec(
            prop_oneof![0u64..5, any::<u64>(), Just(u64::MAX), Just(0x7fff_ffff)],
            TYPES.len() * PER_TYPE,
        ),
        guard in any::<bool>(),
    ) {
        let func = build(&lines);
        let cfg = Cfg::compute(&func);
        let values = Values::compute(&func, &cfg, &Dominators::compute(&cfg));
        let mut regs: Vec<u64> =
            start.iter().enumerate().map(|(reg, bits)| bits & TYPES[reg / PER_TYPE].mask()).collect();
        regs.push(guard.into());
        // What each value name was when it was defined.
        let mut numbers = vec![0; values.len()];
        for value in values.iter() {
            numbers[value.index()] = regs[values.reg(value).index()];
        }
        let mut overflowed = false;
        let block = cfg.entries()[0];
        for inst in func.block_insts(block).filter(|&inst| !func.insts[inst].is_terminator()) {
            let data = &func.insts[inst];
            let holds = data.guard.is_none() || guard;
            let reg = data.dsts[0];
            if holds {
                let (bits, overflows) = execute(&func, data, &regs);
                overflowed |= overflows;
                regs[reg.index()] = bits;
            }
            let value = values.defined(inst)[0];
            numbers[value.index()] = regs[reg.index()];
            let bits = func.reg_types[reg].bits();
            for extension in [Extension::Zero, Extension::Sign] {
                for overflow in [Overflow::Prove, Overflow::Assume] {
                    let sum = AffineNames::new(&func, &values, overflow).extended(value, extension);
                    let found = sum.evaluate(|atom| match atom {
                        Atom::Value(value, extension) => {
                            extension.extend(numbers[value.index()], func.reg_types[values.reg(value)].bits())
                        }
                        Atom::Special(_) => TID.into(),
                        Atom::Symbol(_) | Atom::Rounds(..) => unreachable!(),
                    });
                    if overflow == Overflow::Prove || !overflowed {
                        prop_assert_eq!(found, extension.extend(regs[reg.index()], bits), "{:?} is {:?}", inst, sum);
                    }
                }
            }
        }
    }

    #[test]
    fn sums_add_up(
        a in prop::collection::vec(-3i64..4, 5),
        b in prop::collection::vec(-3i64..4, 5),
        factor in -3i64..4,
    ) {
        let specials = [Axis::X, Axis::Y, Axis::Z].map(Special::Tid);
        let build = |coefficients: &[i64]| {
            let terms = specials.iter().zip(coefficients);
            let terms = terms.map(|(&special, &c)| Affine::atom(Atom::Special(special)).times(c));
            terms.fold(Affine::constant(coefficients[4]), |sum, term| sum.plus(&term).unwrap())
        };
        let number = |sum: &Affine| sum.evaluate(|atom| match atom {
            Atom::Special(Special::Tid(axis)) => [3, 1000, 77_777][axis.index()],
            _ => unreachable!(),
        });
        let (a, b) = (build(&a), build(&b));
        prop_assert_eq!(number(&a.plus(&b).unwrap()), number(&a) + number(&b));
        prop_assert_eq!(number(&a.minus(&b).unwrap()), number(&a) - number(&b));
        prop_assert_eq!(number(&a.times(factor)), number(&a) * factor);
        prop_assert_eq!(a.minus(&a), Some(Affine::constant(0)));
        prop_assert!(a.terms().iter().all(|term| term.1 != 0) && a.terms().is_sorted());
    }
}

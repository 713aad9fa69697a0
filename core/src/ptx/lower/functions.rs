//! Approximate functions that the text IR has not: `tanh`, and `ex2` and `tanh` of halves and bfloats.
//!
//! ```text
//! tanh.approx.f32 %f1, %f2;    →   near 0: x·(1 − x²/3 + 2x⁴/15); elsewhere 1 − 2/(2^(2x·log₂e) + 1)
//! ex2.approx.f16 %rs1, %rs2;   →   t1 = cvt.f32.f16 rs2 ; t2 = ex2.approx.f32 t1 ; rs1 = cvt.rn.f16.f32 t2
//! ```
//!
//! Sound as in [`super::expand`], as far as PTX says what these compute: `tanh.approx` may err by
//! 2⁻¹¹ of its result, where what it becomes here errs by less than 2⁻¹⁵; a half has 11 bits, and a
//! bfloat 8.
//!
//! Source: PTX ISA, "tanh", "ex2" and "Half precision floating-point instructions".

use super::body::{Lowered, Lowering};
use crate::ir::{Cmp, Flags, Op, Opcode, Operand, Rounding, Type};
use crate::ptx::syntax::Inst;

/// Up to here the series is taken, whose next term is 17/315·x⁶ of the result: 2⁻¹⁶.
const NEAR_ZERO: f32 = 0.25;

impl<'a> Lowering<'a, '_> {
    /// Lowers an instruction of these kinds; false where it is of no such kind.
    pub(super) fn expand_function(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        let function = match (inst.opcode.text, &inst.modifiers[..]) {
            ("tanh", ["approx", "f32" | "f16" | "f16x2"]) => Lowering::tanh,
            ("tanh", ["approx", "bf16" | "bf16x2"]) => Lowering::tanh,
            ("ex2", ["approx", "f16" | "f16x2"] | ["approx", "ftz", "bf16" | "bf16x2"]) => Lowering::ex2,
            _ => return Ok(false),
        };
        match inst.modifiers.last() {
            Some(&"f32") => {
                let [dst, x] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
                let x = self.value(x, Type::F32)?;
                let dst = self.named(dst, Type::F32)?;
                let result = function(self, x);
                self.copy(dst, Type::F32, result);
            }
            Some(&("f16" | "f16x2")) => {
                self.on_halves(inst, 1, |lowering, args| lowering.of_half(args[0].clone(), function))?;
            }
            _ => self.on_halves(inst, 1, |lowering, args| {
                let wide = lowering.wide_bits(args[0].clone());
                let result = function(lowering, wide);
                lowering.bfloat(result, Rounding::Rn)
            })?,
        }
        Ok(true)
    }

    /// A function of floats of a half, rounded to the nearest half.
    fn of_half(&mut self, half: Operand, function: impl Fn(&mut Self, Operand) -> Operand) -> Operand {
        let wide = self.compute(Opcode::cvt(Type::F32, Type::F16), Type::F32, [half]);
        let result = function(self, wide);
        let opcode = Opcode { rounding: Some(Rounding::Rn), ..Opcode::cvt(Type::F16, Type::F32) };
        self.compute(opcode, Type::B16, [result])
    }

    fn ex2(&mut self, x: Operand) -> Operand {
        self.compute(approximate(Op::Ex2), Type::F32, [x])
    }

    fn tanh(&mut self, x: Operand) -> Operand {
        let ty = Type::F32;
        let number = |value: f32| Operand::Const(value.to_bits().into());
        let [mul, add, fma] =
            [Op::Mul, Op::Add, Op::Fma].map(|op| Opcode { rounding: Some(Rounding::Rn), ..Opcode::new(op, ty) });
        let square = self.compute(mul, ty, [x.clone(), x.clone()]);
        let series = self.compute(fma, ty, [square.clone(), number(2.0 / 15.0), number(-1.0 / 3.0)]);
        let series = self.compute(fma, ty, [series, square, number(1.0)]);
        let near = self.compute(mul, ty, [series, x.clone()]);
        let exponent = self.compute(mul, ty, [x.clone(), number(2.0 * core::f32::consts::LOG2_E)]);
        let power = self.ex2(exponent);
        let sum = self.compute(add, ty, [power, number(1.0)]);
        let inverse = self.compute(approximate(Op::Rcp), ty, [sum]);
        let far = self.compute(fma, ty, [inverse, number(-2.0), number(1.0)]);
        let size = self.compute(Opcode::new(Op::Abs, ty), ty, [x]);
        let is_near = self.compute(Opcode::setp(Cmp::Lt, ty), Type::Pred, [size, number(NEAR_ZERO)]);
        self.compute(Opcode::new(Op::Selp, ty), ty, [near, far, is_near])
    }
}

/// The approximate function of floats.
fn approximate(op: Op) -> Opcode {
    Opcode { flags: Flags::APPROX, ..Opcode::new(op, Type::F32) }
}

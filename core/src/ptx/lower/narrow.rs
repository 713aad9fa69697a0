//! Conversions of PTX to and from floats of 8 and 19 bits, and those that clamp what they give.
//!
//! ```text
//! cvt.rna.tf32.f32 %r1, %f1;               →   t1 = add.u32 f1, 4096 ; t2 = and.b32 t1, 0xffffe000 ; NaN as it is
//! cvt.rn.satfinite.e4m3x2.f32 %rs1, …;     →   of each float the sign, and the nearest of the 127 sizes there are
//! cvt.rn.relu.f16.f32 %rs1, %f1;           →   t1 = cvt.rn.f16.f32 f1, and 0 where that is negative
//! ```
//!
//! A float of 8 bits is rounded in two ways. From its smallest normal number on, half a step is
//! added below the last bit that stays, which carries as rounding does, and the exponent counts
//! from another bias then. Below, a float is added whose last bit is the step of the small numbers:
//! the hardware rounds. Back, the bits are those of a half whose exponent counts from another bias,
//! so it is multiplied by a power of two, which is exact.
//!
//! Sound as in [`super::expand`].
//!
//! Source: PTX ISA, "cvt", "Alternate Floating-Point Data Formats".

use super::body::{Lowered, Lowering};
use super::halves::packed;
use crate::ir::{Cmp, InstData, Op, Opcode, Operand, Rounding, Type};
use crate::ptx::syntax::Inst;

/// A format of 8 bits.
struct Small {
    /// Bits after the point.
    fraction: u32,
    /// Bias of exponents.
    bias: u32,
    /// The bits of the greatest number.
    greatest: u64,
}

/// The format of that name.
fn small(name: &str) -> Option<Small> {
    match name {
        "e4m3x2" => Some(Small { fraction: 3, bias: 7, greatest: 0x7e }),
        "e5m2x2" => Some(Small { fraction: 2, bias: 15, greatest: 0x7b }),
        _ => None,
    }
}

impl<'a> Lowering<'a, '_> {
    /// Lowers a conversion of these kinds; false where it is of no such kind.
    pub(super) fn expand_narrow(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        if inst.opcode.text != "cvt" {
            return Ok(false);
        }
        let [words @ .., to, from] = &inst.modifiers[..] else { return Ok(false) };
        let is_relu = words.contains(&"relu");
        let is_finite = words.contains(&"satfinite");
        let rounding = words.iter().find(|word| !matches!(**word, "relu" | "satfinite")).copied();
        if words.len() > usize::from(is_relu) + usize::from(is_finite) + usize::from(rounding.is_some()) {
            return Ok(false);
        }
        match (small(to), small(from), *to, *from, rounding) {
            (Some(format), _, _, "f32", Some("rn")) if is_finite => {
                let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
                let (a, b) = (self.value(a, Type::F32)?, self.value(b, Type::F32)?);
                self.pack_small(dst, [b, a], &format, is_relu)?;
            }
            (Some(format), _, _, "f16x2", Some("rn")) if is_finite => {
                let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
                let halves = self.split(a)?;
                let wide = halves.map(|half| self.compute(Opcode::cvt(Type::F32, Type::F16), Type::F32, [half]));
                self.pack_small(dst, wide, &format, is_relu)?;
            }
            (_, Some(format), "f16x2", _, Some("rn")) if !is_finite => {
                let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
                let a = self.value(a, Type::B16)?;
                let wide = self.compute(Opcode::cvt(Type::U32, Type::U16), Type::U32, [a]);
                let halves = [0, 8].map(|at| self.half_of_small(&wide, at, &format, is_relu));
                let dst = self.named(dst, Type::B32)?;
                self.emit(packed(dst, halves));
            }
            (_, _, "tf32", "f32", Some("rna" | "rn" | "rz")) => {
                let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
                let a = self.value(a, Type::F32)?;
                let bits = self.tf32(a, rounding.unwrap_or_default(), is_finite, is_relu);
                let dst = self.named(dst, Type::B32)?;
                self.copy(dst, Type::B32, bits);
            }
            (_, _, "f16" | "f16x2" | "bf16" | "bf16x2", "f32", Some("rn" | "rz")) if is_relu || is_finite => {
                self.clamped(inst, to, rounding.unwrap_or_default(), is_relu, is_finite)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Two floats of 8 bits side by side, the low one first.
    fn pack_small(
        &mut self,
        dst: &crate::ptx::syntax::Operand<'a>,
        values: [Operand; 2],
        format: &Small,
        is_relu: bool,
    ) -> Lowered<()> {
        let [low, high] = values.map(|value| {
            let value = if is_relu { self.above_zero_float(value) } else { value };
            self.small_of_float(value, format)
        });
        let high = self.compute(Opcode::new(Op::Shl, Type::B32), Type::B32, [high, Operand::Const(8)]);
        let both = self.compute(Opcode::new(Op::Or, Type::B32), Type::B32, [high, low]);
        let dst = self.named(dst, Type::B16)?;
        self.emit(InstData::new(Opcode::cvt(Type::U16, Type::U32), [dst], [both]));
        Ok(())
    }

    /// The bits of the nearest float of 8 bits, the even one of two; the greatest one for all beyond, and 0x7f for NaN.
    fn small_of_float(&mut self, value: Operand, format: &Small) -> Operand {
        let Small { fraction, bias, greatest } = *format;
        let (u32_, b32) = (Type::U32, Type::B32);
        let number = |op: Op| Opcode::new(op, u32_);
        let bits = self.compute(Opcode::mov(b32), b32, [value.clone()]);
        let size = self.compute(Opcode::new(Op::And, b32), u32_, [bits.clone(), Operand::Const(0x7fff_ffff)]);
        // From the smallest normal number on.
        let kept = 23 - fraction;
        let odd = self.compute(number(Op::Bfe), u32_, [size.clone(), Operand::Const(kept.into()), Operand::Const(1)]);
        let half = self.compute(number(Op::Add), u32_, [size.clone(), Operand::Const((1 << (kept - 1)) - 1)]);
        let rounded = self.compute(number(Op::Add), u32_, [half, odd]);
        let rounded = self.compute(number(Op::Shr), u32_, [rounded, Operand::Const(kept.into())]);
        let normal =
            self.compute(number(Op::Sub), u32_, [rounded, Operand::Const(u64::from((127 - bias) << fraction))]);
        let normal = self.compute(number(Op::Min), u32_, [normal, Operand::Const(greatest)]);
        // Below it: the last bit of this float is the step of the small numbers.
        let magic = u64::from(127 + 23 + 1 - bias - fraction) << 23;
        let sum = Opcode { rounding: Some(Rounding::Rn), ..Opcode::new(Op::Add, Type::F32) };
        let sum = self.compute(sum, Type::F32, [size.clone(), Operand::Const(magic)]);
        let sum = self.compute(Opcode::mov(b32), b32, [sum]);
        let below = self.compute(number(Op::Sub), u32_, [sum, Operand::Const(magic)]);
        let first = u64::from(128 - bias) << 23;
        let is_below = self.compute(Opcode::setp(Cmp::Lt, u32_), Type::Pred, [size.clone(), Operand::Const(first)]);
        let result = self.compute(number(Op::Selp), u32_, [below, normal, is_below]);
        let sign = self.compute(number(Op::Shr), u32_, [bits, Operand::Const(24)]);
        let sign = self.compute(Opcode::new(Op::And, b32), u32_, [sign, Operand::Const(0x80)]);
        let signed = self.compute(Opcode::new(Op::Or, b32), u32_, [result, sign]);
        let is_nan = self.compute(Opcode::setp(Cmp::Gt, u32_), Type::Pred, [size, Operand::Const(0x7f80_0000)]);
        self.compute(number(Op::Selp), u32_, [Operand::Const(0x7f), signed, is_nan])
    }

    /// The half that a float of 8 bits at that bit of a word is.
    fn half_of_small(&mut self, word: &Operand, at: u64, format: &Small, is_relu: bool) -> Operand {
        let (u32_, b32) = (Type::U32, Type::B32);
        let number = |op: Op| Opcode::new(op, u32_);
        let field = |this: &mut Self, at: u64, width: u64| {
            this.compute(number(Op::Bfe), u32_, [word.clone(), Operand::Const(at), Operand::Const(width)])
        };
        let (size, sign) = (field(self, at, 7), field(self, at + 7, 1));
        let shift = 10 - format.fraction;
        let shifted = self.compute(Opcode::new(Op::Shl, b32), b32, [size.clone(), Operand::Const(shift.into())]);
        let mut half = self.compute(Opcode::cvt(Type::U16, u32_), Type::B16, [shifted]);
        if format.bias != 15 {
            let factor = Operand::Const(u64::from(15 + 15 - format.bias) << 10);
            let product = Opcode { rounding: Some(Rounding::Rn), ..Opcode::new(Op::Mul, Type::F16) };
            half = self.compute(product, Type::B16, [half, factor]);
        }
        // The least size that is none: e4m3 has one, e5m2 those beyond its infinity.
        let last = if format.bias == 15 { 0x7c } else { 0x7e };
        let is_nan = self.compute(Opcode::setp(Cmp::Gt, u32_), Type::Pred, [size, Operand::Const(last)]);
        let sign = self.compute(Opcode::new(Op::Shl, b32), b32, [sign, Operand::Const(15)]);
        let sign = self.compute(Opcode::cvt(Type::U16, u32_), Type::B16, [sign]);
        let signed = self.compute(Opcode::new(Op::Or, Type::B16), Type::B16, [half, sign]);
        let choice = Opcode::new(Op::Selp, Type::B16);
        let half = self.compute(choice, Type::B16, [Operand::Const(0x7fff), signed, is_nan]);
        if is_relu { self.above_zero(Type::F16, half) } else { half }
    }

    /// The bits of the float of 19 bits next to a float.
    fn tf32(&mut self, value: Operand, rounding: &str, is_finite: bool, is_relu: bool) -> Operand {
        let (u32_, b32) = (Type::U32, Type::B32);
        let number = |op: Op| Opcode::new(op, u32_);
        let value = if is_relu { self.above_zero_float(value) } else { value };
        let bits = self.compute(Opcode::mov(b32), b32, [value.clone()]);
        let moved = match rounding {
            "rna" => self.compute(number(Op::Add), u32_, [bits.clone(), Operand::Const(0x1000)]),
            "rn" => {
                let odd = self.compute(number(Op::Bfe), u32_, [bits.clone(), Operand::Const(13), Operand::Const(1)]);
                let half = self.compute(number(Op::Add), u32_, [bits.clone(), Operand::Const(0xfff)]);
                self.compute(number(Op::Add), u32_, [half, odd])
            }
            _ => bits.clone(),
        };
        let mut result = self.compute(Opcode::new(Op::And, b32), u32_, [moved, Operand::Const(0xffff_e000)]);
        if is_finite {
            let sign = self.compute(Opcode::new(Op::And, b32), u32_, [bits, Operand::Const(1 << 31)]);
            let size = self.compute(Opcode::new(Op::And, b32), u32_, [result, Operand::Const(0x7fff_ffff)]);
            let size = self.compute(number(Op::Min), u32_, [size, Operand::Const(0x7f7f_e000)]);
            result = self.compute(Opcode::new(Op::Or, b32), u32_, [size, sign]);
        }
        let is_nan = self.compute(Opcode::setp(Cmp::Nan, Type::F32), Type::Pred, [value.clone(), value]);
        self.compute(number(Op::Selp), u32_, [Operand::Const(0x7fff_ffff), result, is_nan])
    }

    /// `cvt.rn.relu.f16.f32 d, a`, `cvt.rn.satfinite.bf16x2.f32 d, a, b` and their like.
    fn clamped(&mut self, inst: &Inst<'a>, to: &str, rounding: &str, is_relu: bool, is_finite: bool) -> Lowered<()> {
        let Some(rounding) = Rounding::from_name(rounding) else {
            return Err(self.unsupported("a conversion of floats is rounded by `.rn` or `.rz` here"));
        };
        let is_half = to.starts_with('f');
        let convert = |this: &mut Self, value: Operand| {
            let mut value = if is_relu { this.above_zero_float(value) } else { value };
            if is_finite {
                // The greatest finite number; NaN stays.
                let greatest = if is_half { 65504_f32.to_bits() } else { 0x7f7f_0000 };
                let both = [greatest, greatest | 1 << 31].map(|bits| Operand::Const(bits.into()));
                let [most, least] = both;
                value = this.extreme_unless_nan(Opcode::new(Op::Min, Type::F32), &[value, most]);
                value = this.extreme_unless_nan(Opcode::new(Op::Max, Type::F32), &[value, least]);
            }
            match is_half {
                true => {
                    let opcode = Opcode { rounding: Some(rounding), ..Opcode::cvt(Type::F16, Type::F32) };
                    this.compute(opcode, Type::B16, [value])
                }
                false => this.bfloat(value, rounding),
            }
        };
        if to.ends_with("x2") {
            let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
            let (a, b) = (self.value(a, Type::F32)?, self.value(b, Type::F32)?);
            let halves = [b, a].map(|value| convert(self, value));
            let dst = self.named(dst, Type::B32)?;
            self.emit(packed(dst, halves));
        } else {
            let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
            let a = self.value(a, Type::F32)?;
            let result = convert(self, a);
            let dst = self.named(dst, Type::B16)?;
            self.copy(dst, Type::B16, result);
        }
        Ok(())
    }

    fn above_zero_float(&mut self, value: Operand) -> Operand {
        self.above_zero(Type::F32, value)
    }
}

//! Operations of PTX on bfloats, which the text IR has not.
//!
//! ```text
//! cvt.f32.bf16 %f1, %rs1;          →   t1 = cvt.u32.u16 rs1 ; t2 = shl.b32 t1, 16 ; f1 = add.f32 t2, -0.0
//! mul.rn.bf16 %rs3, %rs1, %rs2;    →   both as floats, their product, and the bfloat next to that
//! fma.rn.bf16x2 %r4, …;            →   of each half the product and sum, rounded to odd, and the bfloat next to that
//! setp.lt.bf16 %p1, %rs1, %rs2;    →   both as floats, setp.lt.f32
//! ```
//!
//! A bfloat is the high half of a float. A sum, a difference or a product of two bfloats that is
//! rounded to the 24 bits of a float and then to 8 is the same as rounded to 8 at once, since 24 ≥
//! 2·8 + 2. That does not hold for what begins with more bits: products to which something is
//! added, integers and doubles. These are rounded *to odd* first: towards zero, with the last bit
//! set if that is not exact. Then nothing that was not halfway between two bfloats is so, and what
//! is beyond the greatest float stays beyond the greatest bfloat.
//!
//! Sound as in [`super::expand`]. Atomic operations on bfloats in memory are opcodes of the text IR.
//!
//! Source: PTX ISA, the sections on half precision instructions and on `cvt`; S. Figueroa, When is
//! double rounding innocuous? SIGNUM 1995; S. Boldo and G. Melquiond, Emulation of FMA and
//! correctly rounded sums, IEEE TC 2008.

use super::body::{Lowered, Lowering};
use super::halves::{packed, with_type};
use crate::ir::{Cmp, InstData, Op, Opcode, Operand, Rounding, Type};
use crate::ptx::syntax::{Inst, Operand as Source};
use alloc::format;
use smallvec::SmallVec;

impl<'a> Lowering<'a, '_> {
    /// Lowers an instruction of these kinds; false where it is of no such kind.
    pub(super) fn expand_bfloats(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        match (inst.opcode.text, &inst.modifiers[..]) {
            ("add" | "sub" | "mul", ["bf16" | "bf16x2"] | ["rn", "bf16" | "bf16x2"]) => self.bfloat_arithmetic(inst)?,
            ("fma", ["rn", "bf16" | "bf16x2"] | ["rn", "relu", "bf16" | "bf16x2"]) => self.bfloat_multiply_add(inst)?,
            ("neg" | "abs", ["bf16" | "bf16x2"]) => self.bfloat_sign(inst)?,
            ("min" | "max", ["bf16" | "bf16x2"] | ["NaN", "bf16" | "bf16x2"]) => self.bfloat_extreme(inst)?,
            ("setp", [.., "bf16x2"]) => {
                let opcode = self.opcode(&with_type(inst, "f32"))?;
                self.compare_halves(inst, opcode, Self::wide_bits)?;
            }
            ("setp", [.., "bf16"]) => self.compare_bfloats(inst)?,
            ("set", [.., "bf16x2" | "u32" | "s32", "bf16x2"]) => {
                self.compare_to_halves(inst, "f32", Self::wide_bits)?;
            }
            ("set", [.., result, "bf16"]) => self.bfloat_set(inst, result)?,
            ("cvt", [rounding, "bf16x2", "f32"]) => {
                let Some(rounding) = Rounding::from_name(rounding) else { return Ok(false) };
                self.pack_bfloats(inst, rounding)?;
            }
            ("cvt", [rounding @ ("rni" | "rzi" | "rmi" | "rpi"), "bf16", "bf16"]) => {
                self.bfloat_integer(inst, rounding)?;
            }
            ("cvt", ["bf16", "f16"] | ["rn", "bf16", "f16"]) => self.narrow(inst, Type::F16, Rounding::Rn)?,
            ("cvt", [rounding, "bf16", from]) => {
                let from = Type::from_name(from).filter(|&ty| ty != Type::Pred && ty != Type::F16);
                let (Some(rounding), Some(from)) = (Rounding::from_name(rounding), from) else { return Ok(false) };
                self.narrow(inst, from, rounding)?;
            }
            ("cvt", [.., "bf16"]) => self.widen(inst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `add.rn.bf16 d, a, b`, `sub`, `mul`.
    fn bfloat_arithmetic(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let op = match inst.opcode.text {
            "add" => Op::Add,
            "sub" => Op::Sub,
            _ => Op::Mul,
        };
        self.on_halves(inst, 2, |lowering, args| {
            let wide = args.into_iter().map(|arg| lowering.wide_bits(arg)).collect::<Wide>();
            let result = lowering.compute(rounded(op, Rounding::Rn), Type::F32, wide);
            lowering.bfloat(result, Rounding::Rn)
        })
    }

    /// `fma.rn.bf16 d, a, b, c`; with `.relu` 0 where that is negative.
    fn bfloat_multiply_add(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let is_above_zero = inst.modifiers.contains(&"relu");
        self.on_halves(inst, 3, |lowering, args| {
            let wide = args.into_iter().map(|arg| lowering.wide_bits(arg)).collect::<Wide>();
            let mut result = lowering.rounded_to_odd(|lowering, rounding| {
                lowering.compute(rounded(Op::Fma, rounding), Type::F32, wide.iter().cloned())
            });
            if is_above_zero {
                result = lowering.above_zero(Type::F32, result);
            }
            lowering.bfloat(result, Rounding::Rn)
        })
    }

    /// `neg.bf16 d, a`, `abs.bf16`: the sign is a bit.
    fn bfloat_sign(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let (op, mask) = if inst.opcode.text == "neg" { (Op::Xor, 0x8000) } else { (Op::And, 0x7fff) };
        self.on_halves(inst, 1, |lowering, args| {
            let args = args.into_iter().chain([Operand::Const(mask)]);
            lowering.compute(Opcode::new(op, Type::B16), Type::B16, args)
        })
    }

    /// `min.bf16 d, a, b`, `max`; with `.NaN` not a number where one of both is none.
    fn bfloat_extreme(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let opcode = Opcode::new(if inst.opcode.text == "min" { Op::Min } else { Op::Max }, Type::F32);
        let is_strict = inst.modifiers.contains(&"NaN");
        self.on_halves(inst, 2, |lowering, args| {
            let wide = args.into_iter().map(|arg| lowering.wide_bits(arg)).collect::<Wide>();
            let result = match is_strict {
                true => lowering.extreme_unless_nan(opcode, &wide),
                false => lowering.compute(opcode, Type::F32, wide),
            };
            lowering.high_half(result)
        })
    }

    /// `setp.lt.bf16 p[|q], a, b[, c]`.
    fn compare_bfloats(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let opcode = self.opcode(&with_type(inst, "f32"))?;
        let [dst, sources @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let args = self.compared_bfloats(inst, sources, opcode)?;
        let dsts = self.destinations(dst, &opcode.signature())?;
        self.emit(InstData::new(opcode, dsts, args));
        Ok(())
    }

    /// `set.lt.bf16.bf16 d, a, b[, c]`: 1.0, or all ones of an integer, where the comparison holds.
    fn bfloat_set(&mut self, inst: &Inst<'a>, result: &str) -> Lowered<()> {
        let (ty, yes) = match (result, Type::from_name(result)) {
            ("bf16", _) => (Type::B16, 0x3f80),
            (_, Some(ty @ (Type::U16 | Type::S16 | Type::U32 | Type::S32))) => (ty, ty.mask()),
            _ => return Err(self.unsupported(&format!("`.{result}` of `set` is not supported for type `.bf16`"))),
        };
        let mut comparison = with_type(inst, "f32");
        comparison.opcode.text = "setp";
        comparison.modifiers.remove(comparison.modifiers.len() - 2);
        let opcode = self.opcode(&comparison)?;
        let [dst, sources @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let args = self.compared_bfloats(inst, sources, opcode)?;
        let holds = self.compute(opcode, Type::Pred, args);
        let dst = self.named(dst, ty)?;
        self.select(dst, ty, Operand::Const(yes), Operand::Const(0), holds);
        Ok(())
    }

    /// Operands of a comparison of two bfloats.
    fn compared_bfloats(&mut self, inst: &Inst<'a>, sources: &[Source<'a>], opcode: Opcode) -> Lowered<Wide> {
        let [a, b, rest @ ..] = sources else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, Type::B16)?, self.value(b, Type::B16)?);
        let mut args: Wide = [a, b].into_iter().map(|arg| self.wide_bits(arg)).collect();
        match (opcode.combine, rest) {
            (None, []) => {}
            (Some(_), [c]) => args.push(self.predicate(c)?),
            _ => return Err(self.count_error(inst, 2)),
        }
        Ok(args)
    }

    /// `cvt.rni.bf16.bf16 d, a`: a whole number near a bfloat is one, too.
    fn bfloat_integer(&mut self, inst: &Inst<'a>, rounding: &str) -> Lowered<()> {
        let opcode = Opcode { rounding: Rounding::from_name(rounding), ..Opcode::cvt(Type::F32, Type::F32) };
        self.on_halves(inst, 1, |lowering, args| {
            let wide = args.into_iter().map(|arg| lowering.wide_bits(arg)).collect::<Wide>();
            let result = lowering.compute(opcode, Type::F32, wide);
            lowering.high_half(result)
        })
    }

    /// `cvt.f32.bf16 d, a` and others from bfloats. With -0 added each number stays what it is, and
    /// what is none becomes the one NaN.
    fn widen(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let a = self.value(a, Type::B16)?;
        let bits = self.wide_bits(a);
        if inst.modifiers[..] == ["f32", "bf16"] {
            let dst = self.named(dst, Type::F32)?;
            let minus_zero = Operand::Const(1 << 31);
            self.emit(InstData::new(Opcode::new(Op::Add, Type::F32), [dst], [bits, minus_zero]));
            return Ok(());
        }
        let opcode = self.opcode(&with_type(inst, "f32"))?;
        let dsts = self.destinations(dst, &opcode.signature())?;
        self.emit(InstData::new(opcode, dsts, [bits]));
        Ok(())
    }

    /// `cvt.rn.bf16.f32 d, a` and others to bfloats.
    fn narrow(&mut self, inst: &Inst<'a>, from: Type, rounding: Rounding) -> Lowered<()> {
        let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let a = self.value(a, from)?;
        let to_float = |rounding| Opcode { rounding, ..Opcode::cvt(Type::F32, from) };
        let float = match (from, rounding) {
            (Type::F32, _) => a,
            (Type::F16, _) => self.compute(to_float(None), Type::F32, [a]),
            (_, Rounding::Rn) => self.rounded_to_odd(|lowering, rounding| {
                lowering.compute(to_float(Some(rounding)), Type::F32, [a.clone()])
            }),
            // What is rounded towards one side is so in steps as well.
            _ => self.compute(to_float(Some(rounding)), Type::F32, [a]),
        };
        let bfloat = self.bfloat(float, rounding);
        let dst = self.named(dst, Type::B16)?;
        self.copy(dst, Type::B16, bfloat);
        Ok(())
    }

    /// `cvt.rn.bf16x2.f32 d, a, b` and others: the high half of a, the low half of b.
    fn pack_bfloats(&mut self, inst: &Inst<'a>, rounding: Rounding) -> Lowered<()> {
        let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, Type::F32)?, self.value(b, Type::F32)?);
        let [high, low] = [a, b].map(|value| self.bfloat(value, rounding));
        let dst = self.named(dst, Type::B32)?;
        self.emit(packed(dst, [low, high]));
        Ok(())
    }

    /// The bits of the float that a bfloat is.
    pub(super) fn wide_bits(&mut self, bfloat: Operand) -> Operand {
        let low = self.compute(Opcode::cvt(Type::U32, Type::U16), Type::U32, [bfloat]);
        self.compute(Opcode::new(Op::Shl, Type::B32), Type::B32, [low, Operand::Const(16)])
    }

    /// Result of an operation rounded to odd, from the rounding of its float result.
    fn rounded_to_odd(&mut self, operation: impl Fn(&mut Self, Rounding) -> Operand) -> Operand {
        let [near_zero, below, above] =
            [Rounding::Rz, Rounding::Rm, Rounding::Rp].map(|rounding| operation(self, rounding));
        // Not so where there is no number.
        let is_inexact = self.compute(Opcode::setp(Cmp::Ne, Type::F32), Type::Pred, [below, above]);
        let bits = self.compute(Opcode::mov(Type::B32), Type::B32, [near_zero]);
        let odd = self.compute(Opcode::new(Op::Or, Type::B32), Type::B32, [bits.clone(), Operand::Const(1)]);
        self.compute(Opcode::new(Op::Selp, Type::B32), Type::B32, [odd, bits, is_inexact])
    }

    /// The bfloat next to a float, the even one of two, or the next one towards a side. What is
    /// added to the low half carries into the high one just where that is to be further from zero:
    /// half a step less a bit, and that bit where the high half is odd; or a step less a bit.
    pub(super) fn bfloat(&mut self, value: Operand, rounding: Rounding) -> Operand {
        let integer = |op: Op| Opcode::new(op, Type::U32);
        let mut bits = self.compute(Opcode::mov(Type::B32), Type::B32, [value.clone()]);
        match rounding {
            Rounding::Rn => {
                let place = [Operand::Const(16), Operand::Const(1)];
                let odd = self.compute(integer(Op::Bfe), Type::U32, [bits.clone()].into_iter().chain(place));
                let half = self.compute(integer(Op::Add), Type::U32, [bits, Operand::Const(0x7fff)]);
                bits = self.compute(integer(Op::Add), Type::U32, [half, odd]);
            }
            Rounding::Rm | Rounding::Rp => {
                let cmp = if rounding == Rounding::Rm { Cmp::Lt } else { Cmp::Ge };
                let zero = Operand::Const(0);
                let sign = self.compute(Opcode::setp(cmp, Type::S32), Type::Pred, [bits.clone(), zero.clone()]);
                let step = self.compute(integer(Op::Selp), Type::U32, [Operand::Const(0xffff), zero, sign]);
                bits = self.compute(integer(Op::Add), Type::U32, [bits, step]);
            }
            _ => {}
        }
        let high = self.compute(integer(Op::Shr), Type::U32, [bits, Operand::Const(16)]);
        let is_nan = self.compute(Opcode::setp(Cmp::Nan, Type::F32), Type::Pred, [value.clone(), value]);
        let chosen = self.compute(integer(Op::Selp), Type::U32, [Operand::Const(0x7fff), high, is_nan]);
        self.compute(Opcode::cvt(Type::U16, Type::U32), Type::B16, [chosen])
    }

    /// The bfloat that a float is, or the one NaN.
    fn high_half(&mut self, float: Operand) -> Operand {
        let bits = self.compute(Opcode::mov(Type::B32), Type::B32, [float]);
        let high = self.compute(Opcode::new(Op::Shr, Type::U32), Type::U32, [bits, Operand::Const(16)]);
        self.compute(Opcode::cvt(Type::U16, Type::U32), Type::B16, [high])
    }
}

/// Operands that are the bits of floats.
type Wide = SmallVec<[Operand; 3]>;

/// An operation of floats that rounds like that.
fn rounded(op: Op, rounding: Rounding) -> Opcode {
    Opcode { rounding: Some(rounding), ..Opcode::new(op, Type::F32) }
}

//! Operations of PTX on two halves of words, which the text IR has not.
//!
//! ```text
//! fma.rn.f16x2 %r4, %r1, %r2, %r3;   →   {t1, t2} = mov.b32 r1, and so on for r2 and r3
//!                                        t7 = fma.rn.f16 t1, t3, t5
//!                                        t8 = fma.rn.f16 t2, t4, t6
//!                                        r4 = mov.b32 {t7, t8}
//! ```
//!
//! Sound as in [`super::expand`].
//!
//! Source: PTX ISA, the sections on half precision instructions and on `cvt`.

use super::body::{Lowered, Lowering};
use crate::ir::{Cmp, InstData, Op, Opcode, Operand, Reg, Type};
use crate::ptx::syntax::{Inst, Operand as Source, OperandKind};
use alloc::boxed::Box;
use smallvec::{SmallVec, smallvec};

impl<'a> Lowering<'a, '_> {
    /// Lowers an instruction of these kinds; false where it is of no such kind.
    pub(super) fn expand_halves(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        match (inst.opcode.text, &inst.modifiers[..]) {
            ("fma", [.., "relu", "f16" | "f16x2"]) => self.multiply_add_above_zero(inst)?,
            ("min" | "max", [.., "NaN", "f16x2"]) => self.extremes_or_nan(inst)?,
            ("add" | "sub" | "mul" | "fma" | "neg" | "abs" | "min" | "max", [.., "f16x2"]) => {
                let opcode = self.opcode(&with_type(inst, "f16"))?;
                let count = opcode.signature().args.len();
                self.on_halves(inst, count, |lowering, args| lowering.compute(opcode, Type::B16, args))?;
            }
            ("setp", [.., "f16x2"]) => {
                let opcode = self.opcode(&with_type(inst, "f16"))?;
                self.compare_halves(inst, opcode, |_, half| half)?;
            }
            ("set", [.., "f16x2" | "u32" | "s32", "f16x2"]) => self.compare_to_halves(inst, "f16", |_, half| half)?,
            ("cvt", [.., "f16x2", "f32"]) => self.pack_halves(inst)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An operation of so many halves on halves, or on both halves of each word where the type of
    /// the instruction ends in `x2`.
    pub(super) fn on_halves(
        &mut self,
        inst: &Inst<'a>,
        count: usize,
        operation: impl Fn(&mut Self, Halves) -> Operand,
    ) -> Lowered<()> {
        let [dst, sources @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, count)) };
        if sources.len() != count {
            return Err(self.count_error(inst, count));
        }
        if !inst.modifiers.last().is_some_and(|ty| ty.ends_with("x2")) {
            let args = sources.iter().map(|source| self.value(source, Type::B16)).collect::<Lowered<_>>()?;
            let dst = self.named(dst, Type::B16)?;
            let result = operation(self, args);
            self.copy(dst, Type::B16, result);
            return Ok(());
        }
        let dst = self.named(dst, Type::B32)?;
        let [mut low, mut high] = [Halves::new(), Halves::new()];
        for source in sources {
            let [low_half, high_half] = self.split(source)?;
            low.push(low_half);
            high.push(high_half);
        }
        let results = [low, high].map(|args| operation(self, args));
        self.emit(packed(dst, results));
        Ok(())
    }

    /// `fma.rn.relu.f16 d, a, b, c`: 0 where that is negative.
    fn multiply_add_above_zero(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let mut plain = with_type(inst, "f16");
        plain.modifiers.retain(|word| *word != "relu");
        let opcode = self.opcode(&plain)?;
        self.on_halves(inst, 3, |lowering, args| {
            let result = lowering.compute(opcode, Type::B16, args);
            lowering.above_zero(Type::F16, result)
        })
    }

    /// `min.NaN.f16x2 d, a, b`, `max.NaN.f16x2`.
    fn extremes_or_nan(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let mut plain = with_type(inst, "f16");
        plain.modifiers.retain(|word| *word != "NaN");
        let opcode = self.opcode(&plain)?;
        self.on_halves(inst, 2, |lowering, args| lowering.extreme_unless_nan(opcode, &args))
    }

    /// Result of `min` or `max` of two floats, or the one NaN where either is NaN.
    pub(super) fn extreme_unless_nan(&mut self, opcode: Opcode, args: &[Operand]) -> Operand {
        let (ty, bits) = (opcode.ty, opcode.ty.as_bits());
        let is_nan = self.compute(Opcode::setp(Cmp::Nan, ty), Type::Pred, args.iter().cloned());
        let extreme = self.compute(opcode, bits, args.iter().cloned());
        // All ones but for the sign is the one NaN there is.
        self.compute(Opcode::new(Op::Selp, bits), bits, [Operand::Const(ty.mask() >> 1), extreme, is_nan])
    }

    /// A float, or 0 where that is negative.
    pub(super) fn above_zero(&mut self, ty: Type, value: Operand) -> Operand {
        self.extreme_unless_nan(Opcode::new(Op::Max, ty), &[value, Operand::Const(0)])
    }

    /// `setp.lt.f16x2 p|q, a, b[, c]`: p of the low halves, q of the high ones, which are compared
    /// as what `number` makes of them.
    pub(super) fn compare_halves(
        &mut self,
        inst: &Inst<'a>,
        opcode: Opcode,
        number: impl Fn(&mut Self, Operand) -> Operand,
    ) -> Lowered<()> {
        let [dst, sources @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let OperandKind::Pair(p, q) = dst.kind else {
            return Err(self.error("ptx-operands", "expected two predicates to write, as in `p|q`"));
        };
        // Neither may be written before the other has read it.
        let results = self.compared_halves(inst, sources, opcode, number)?;
        for (name, result) in [p, q].into_iter().zip(results).filter(|(name, _)| *name != "_") {
            let dst = self.destination(name, Type::Pred, false)?;
            self.emit(InstData::new(Opcode::mov(Type::Pred), [dst], [result]));
        }
        Ok(())
    }

    /// `set.lt.f16x2.f16x2 d, a, b[, c]`, and to `.u32` and `.s32`: in each half of the result 1.0, or all ones.
    /// What `number` makes of the halves is compared as that type.
    pub(super) fn compare_to_halves(
        &mut self,
        inst: &Inst<'a>,
        compared: &'static str,
        number: impl Fn(&mut Self, Operand) -> Operand,
    ) -> Lowered<()> {
        let mut comparison = with_type(inst, compared);
        comparison.opcode.text = "setp";
        let result = comparison.modifiers.remove(comparison.modifiers.len() - 2);
        let opcode = self.opcode(&comparison)?;
        let [dst, sources @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let results = self.compared_halves(inst, sources, opcode, number)?;
        let yes = Operand::Const(match result {
            "f16x2" => 0x3c00,
            "bf16x2" => 0x3f80,
            _ => 0xffff,
        });
        let choice = Opcode::new(Op::Selp, Type::B16);
        let halves = results.map(|holds| self.compute(choice, Type::B16, [yes.clone(), Operand::Const(0), holds]));
        let dst = self.named(dst, Type::B32)?;
        self.emit(packed(dst, halves));
        Ok(())
    }

    /// Results of a comparison for the low halves of two words, and for the high ones.
    fn compared_halves(
        &mut self,
        inst: &Inst<'a>,
        sources: &[Source<'a>],
        opcode: Opcode,
        number: impl Fn(&mut Self, Operand) -> Operand,
    ) -> Lowered<[Operand; 2]> {
        let [a, b, rest @ ..] = sources else { return Err(self.count_error(inst, 2)) };
        let ([a_low, a_high], [b_low, b_high]) = (self.split(a)?, self.split(b)?);
        let combined = match (opcode.combine, rest) {
            (None, []) => None,
            (Some(_), [c]) => Some(self.predicate(c)?),
            _ => return Err(self.count_error(inst, 2)),
        };
        Ok([[a_low, b_low], [a_high, b_high]].map(|halves| {
            let numbers = halves.map(|half| number(self, half));
            self.compute(opcode, Type::Pred, numbers.into_iter().chain(combined.clone()))
        }))
    }

    /// `cvt.rn.f16x2.f32 d, a, b`: the high half of a, the low half of b.
    fn pack_halves(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let mut scalar = inst.clone();
        if let [.., half, _] = &mut scalar.modifiers[..] {
            *half = "f16";
        }
        let opcode = self.opcode(&scalar)?;
        let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, Type::F32)?, self.value(b, Type::F32)?);
        let dst = self.named(dst, Type::B32)?;
        let results = [b, a].map(|value| self.compute(opcode, Type::B16, [value]));
        self.emit(packed(dst, results));
        Ok(())
    }

    /// The low and the high half of a word.
    pub(super) fn split(&mut self, source: &Source<'a>) -> Lowered<[Operand; 2]> {
        let word = self.value(source, Type::B32)?;
        if let Operand::Const(bits) = word {
            return Ok([bits & 0xffff, bits >> 16 & 0xffff].map(Operand::Const));
        }
        let halves = [self.temporary(Type::B16), self.temporary(Type::B16)];
        self.emit_unguarded(InstData::new(Opcode::mov(Type::B32), halves, [word]));
        Ok(halves.map(Operand::Reg))
    }
}

/// Operands of 16 bits.
pub(super) type Halves = SmallVec<[Operand; 3]>;

/// Returns the instruction with another type.
pub(super) fn with_type<'a>(inst: &Inst<'a>, ty: &'static str) -> Inst<'a> {
    let mut other = inst.clone();
    if let Some(last) = other.modifiers.last_mut() {
        *last = ty;
    }
    other
}

/// A word of two halves.
pub(super) fn packed(dst: Reg, [low, high]: [Operand; 2]) -> InstData {
    InstData::new(Opcode::mov(Type::B32), [dst], [Operand::List(Box::new(smallvec![low, high]))])
}

//! Operations of PTX on two halves of words, and conversions to and from bfloats, which the text IR has not.
//!
//! ```text
//! fma.rn.f16x2 %r4, %r1, %r2, %r3;   →   {t1, t2} = mov.b32 r1, and so on for r2 and r3
//!                                        t7 = fma.rn.f16 t1, t3, t5
//!                                        t8 = fma.rn.f16 t2, t4, t6
//!                                        r4 = mov.b32 {t7, t8}
//! cvt.f32.bf16 %f1, %rs1;            →   t1 = cvt.u32.u16 rs1 ; t2 = shl.b32 t1, 16 ; f1 = add.f32 t2, -0.0
//! ```
//!
//! Sound as in [`super::expand`]. Arithmetic of bfloats, which rounds once to 8 bits, is not supported.
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
            ("add" | "sub" | "mul" | "fma" | "neg" | "abs" | "min" | "max", [.., "f16x2"]) => self.halves(inst)?,
            ("setp", [.., "f16x2"]) => self.compare_halves(inst)?,
            ("cvt", [.., "f16x2", "f32"]) => self.pack_halves(inst)?,
            ("cvt", ["f32", "bf16"]) => self.widen_bfloat(inst)?,
            ("cvt", [rounding @ ("rn" | "rz"), "bf16", "f32"]) => self.narrow_to_bfloat(inst, *rounding == "rn")?,
            ("cvt", [rounding @ ("rn" | "rz"), "bf16x2", "f32"]) => self.pack_bfloats(inst, *rounding == "rn")?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `fma.rn.f16x2 d, a, b, c` and others: the operation of `.f16` on both halves of each word.
    fn halves(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let opcode = self.opcode(&of_one_half(inst))?;
        let [dst, sources @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        if sources.len() != opcode.signature().args.len() {
            return Err(self.count_error(inst, opcode.signature().args.len()));
        }
        let dst = self.named(dst, Type::B32)?;
        let [mut low, mut high]: [SmallVec<[Operand; 3]>; 2] = Default::default();
        for source in sources {
            let [low_half, high_half] = self.split(source)?;
            low.push(low_half);
            high.push(high_half);
        }
        let results = [low, high].map(|args| self.compute(opcode, Type::B16, args));
        self.emit(packed(dst, results));
        Ok(())
    }

    /// `setp.lt.f16x2 p|q, a, b[, c]`: p of the low halves, q of the high ones.
    fn compare_halves(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let opcode = self.opcode(&of_one_half(inst))?;
        let [dst, a, b, rest @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let OperandKind::Pair(p, q) = dst.kind else {
            return Err(self.error("ptx-operands", "expected two predicates to write, as in `p|q`"));
        };
        let (a, b) = (self.split(a)?, self.split(b)?);
        let combined = match (opcode.combine, rest) {
            (None, []) => None,
            (Some(_), [c]) => Some(self.predicate(c)?),
            _ => return Err(self.count_error(inst, 2)),
        };
        // Neither may be written before the other has read it.
        let results: SmallVec<[Operand; 2]> = a
            .into_iter()
            .zip(b)
            .map(|(a, b)| self.compute(opcode, Type::Pred, [a, b].into_iter().chain(combined.clone())))
            .collect();
        for (name, result) in [p, q].into_iter().zip(results).filter(|(name, _)| *name != "_") {
            let dst = self.destination(name, Type::Pred, false)?;
            self.emit(InstData::new(Opcode::mov(Type::Pred), [dst], [result]));
        }
        Ok(())
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

    /// `cvt.f32.bf16 d, a`: a bfloat is the high half of a float. With -0 added each number stays what it is, and what is none
    /// becomes the one NaN.
    fn widen_bfloat(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let a = self.value(a, Type::B16)?;
        let low = self.compute(Opcode::cvt(Type::U32, Type::U16), Type::U32, [a]);
        let bits = self.compute(Opcode::new(Op::Shl, Type::B32), Type::B32, [low, Operand::Const(16)]);
        let dst = self.named(dst, Type::F32)?;
        let minus_zero = Operand::Const(1 << 31);
        self.emit(InstData::new(Opcode::new(Op::Add, Type::F32), [dst], [bits, minus_zero]));
        Ok(())
    }

    /// `cvt.rn.bf16.f32 d, a`, `cvt.rz.bf16.f32`.
    fn narrow_to_bfloat(&mut self, inst: &Inst<'a>, to_nearest: bool) -> Lowered<()> {
        let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let high = self.bfloat(a, to_nearest)?;
        let dst = self.named(dst, Type::B16)?;
        self.emit(InstData::new(Opcode::mov(Type::B16), [dst], [high]));
        Ok(())
    }

    /// `cvt.rn.bf16x2.f32 d, a, b`, `cvt.rz.bf16x2.f32`: the high half of a, the low half of b.
    fn pack_bfloats(&mut self, inst: &Inst<'a>, to_nearest: bool) -> Lowered<()> {
        let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (high, low) = (self.bfloat(a, to_nearest)?, self.bfloat(b, to_nearest)?);
        let dst = self.named(dst, Type::B32)?;
        self.emit(packed(dst, [low, high]));
        Ok(())
    }

    /// The bits of the bfloat next to a float, the even one of two, or of the next one towards zero. Half a step less a bit,
    /// and that bit where the high half is odd, carry into it just where it is to be rounded up.
    fn bfloat(&mut self, source: &Source<'a>, to_nearest: bool) -> Lowered<Operand> {
        let value = self.value(source, Type::F32)?;
        let integer = |op: Op| Opcode::new(op, Type::U32);
        let mut bits = self.compute(Opcode::mov(Type::B32), Type::B32, [value.clone()]);
        if to_nearest {
            let place = [Operand::Const(16), Operand::Const(1)];
            let odd = self.compute(integer(Op::Bfe), Type::U32, [bits.clone()].into_iter().chain(place));
            let half = self.compute(integer(Op::Add), Type::U32, [bits, Operand::Const(0x7fff)]);
            bits = self.compute(integer(Op::Add), Type::U32, [half, odd]);
        }
        let high = self.compute(integer(Op::Shr), Type::U32, [bits, Operand::Const(16)]);
        let is_nan = self.compute(Opcode::setp(Cmp::Nan, Type::F32), Type::Pred, [value.clone(), value]);
        let chosen = self.compute(integer(Op::Selp), Type::U32, [Operand::Const(0x7fff), high, is_nan]);
        Ok(self.compute(Opcode::cvt(Type::U16, Type::U32), Type::B16, [chosen]))
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

/// The same operation on one half of each word.
fn of_one_half<'a>(inst: &Inst<'a>) -> Inst<'a> {
    let mut scalar = inst.clone();
    if let Some(ty) = scalar.modifiers.last_mut() {
        *ty = "f16";
    }
    scalar
}

/// A word of two halves.
pub(super) fn packed(dst: Reg, [low, high]: [Operand; 2]) -> InstData {
    InstData::new(Opcode::mov(Type::B32), [dst], [Operand::List(Box::new(smallvec![low, high]))])
}

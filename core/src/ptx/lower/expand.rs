//! Opcodes of PTX that the text IR has not: each becomes a short sequence, or nothing.
//!
//! ```text
//! bfind.u32 %r2, %r1;     →   t1 = clz.b32 r1
//!                             r2 = sub.s32 31, t1
//! ```
//!
//! Sound because each sequence computes what the PTX ISA defines for every input. Steps into temporaries are
//! unguarded, being pure; the last one, which writes the named register, carries the guard.
//!
//! Source: PTX ISA, the section of each instruction.

use super::body::{Lowered, Lowering};
use super::number_bits;
use crate::ir::{Cmp, Combine, Flags, InstData, Op, Opcode, Operand, Reg, Symbol, Type};
use crate::ptx::syntax::{Inst, Number, Operand as Source, OperandKind};
use alloc::format;
use smallvec::{SmallVec, smallvec};

impl<'a> Lowering<'a, '_> {
    /// Lowers an instruction that has no opcode here; false where it has one.
    pub(super) fn expand(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        if self.expand_narrow(inst)? || self.expand_packed(inst)? {
            return Ok(true);
        }
        let is_of_bfloats = inst.modifiers.iter().any(|word| matches!(*word, "bf16" | "bf16x2"))
            && !matches!(inst.opcode.text, "atom" | "red");
        // A comparison of other numbers only writes a constant.
        let is_set_to_bfloat =
            inst.opcode.text == "set" && matches!(inst.modifiers[..], [.., "bf16", of] if of != "bf16");
        if is_of_bfloats && !is_set_to_bfloat {
            return Ok(self.expand_bfloats(inst)? || self.expand_function(inst)?);
        }
        match inst.opcode.text {
            "prefetch" | "prefetchu" | "pmevent" | "discard" | "applypriority" => {
                self.warn(&format!("`{}` does nothing here", inst.opcode.text));
            }
            "mov" => return self.read_special(inst),
            "createpolicy" => self.policy(inst)?,
            "cp" => self.copy_to_shared(inst)?,
            "fence" => self.fence(inst)?,
            "brkpt" => self.warn("`brkpt` does nothing here"),
            "elect" => self.elect(inst)?,
            "isspacep" => self.isspacep(inst)?,
            "set" if inst.modifiers.last() != Some(&"f16x2") => self.set(inst)?,
            "slct" => self.slct(inst)?,
            "mul24" | "mad24" => self.mul24(inst)?,
            "sad" => self.sad(inst)?,
            "bfind" => self.bfind(inst)?,
            "cnot" => self.cnot(inst)?,
            "bmsk" => self.bmsk(inst)?,
            "szext" => self.szext(inst)?,
            "lop3" => self.lop3(inst)?,
            "dp4a" => self.dp4a(inst)?,
            "dp2a" => self.dp2a(inst)?,
            "cvt" if inst.modifiers.first() == Some(&"pack") => self.pack(inst)?,
            "min" | "max" if matches!(inst.modifiers[..], [.., "NaN", "f16" | "f32"]) => self.extreme_or_nan(inst)?,
            "min" | "max" if matches!(inst.modifiers[..], ["s32", "relu"]) => self.extreme_above_zero(inst)?,
            "testp" => self.testp(inst)?,
            "tex" => self.tex(inst)?,
            "atom" if is_sink(inst.operands.first()) => self.reduce(inst)?,
            "bar" | "barrier" if matches!(inst.modifiers[..], ["cta", ..]) || inst.opcode.text == "barrier" => {
                let mut plain = inst.clone();
                plain.modifiers.retain(|word| *word != "cta");
                plain.opcode.text = "bar";
                let mut opcode = self.opcode(&plain)?;
                if inst.opcode.text == "barrier" && opcode.op.is_block_barrier() && !inst.modifiers.contains(&"aligned")
                {
                    opcode.flags |= Flags::UNALIGNED;
                }
                self.generic(&plain, opcode)?;
            }
            _ => return Ok(self.expand_halves(inst)? || self.expand_function(inst)?),
        }
        Ok(true)
    }

    /// `fence.sc.gpu` orders at least as much as `membar.gl`, and here both order everything.
    fn fence(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let scope = match inst.modifiers.last() {
            Some(&"cta") => Flags::CTA,
            Some(&"gpu") => Flags::GL,
            Some(&"sys") => Flags::SYS,
            _ => return Err(self.unsupported("only fences of scope `.cta`, `.gpu` and `.sys` are supported")),
        };
        let mut opcode = Opcode::untyped(Op::Membar);
        opcode.flags = scope;
        self.emit(InstData::new(opcode, [], []));
        Ok(())
    }

    /// `set.CMP.D.S d, a, b[, c]`: all ones or 1.0 where the comparison holds.
    fn set(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [words @ .., result, compared] = &inst.modifiers[..] else {
            return Err(self.unsupported("`set` needs two types"));
        };
        let is_bfloat = *result == "bf16";
        let result = if is_bfloat { Type::B16 } else { self.type_named(result)? };
        let compared = self.type_named(compared)?;
        let mut opcode = Opcode::new(Op::Setp, compared);
        for word in words {
            match (Cmp::from_name(word), Combine::from_name(word)) {
                (Some(cmp), _) => opcode.cmp = Some(cmp),
                (_, Some(combine)) => opcode.combine = Some(combine),
                _ if *word == "ftz" => opcode.flags |= Flags::FTZ,
                _ => return Err(self.unsupported(&format!("`.{word}` of `set` is not supported"))),
            }
        }
        if opcode.cmp.is_none() {
            return Err(self.unsupported("`set` needs a comparison"));
        }
        let [dst, a, b, rest @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, compared)?, self.value(b, compared)?);
        let holds = match (opcode.combine, rest) {
            (None, []) => self.compute(opcode, Type::Pred, [a, b]),
            (Some(_), [c]) => {
                let c = self.predicate(c)?;
                self.compute(opcode, Type::Pred, [a, b, c])
            }
            _ => return Err(self.count_error(inst, 2)),
        };
        let yes = match result {
            _ if is_bfloat => 0x3F80,
            Type::F16 => 0x3C00,
            Type::F32 | Type::F64 => number_bits(Number::Int(1), result),
            _ => result.mask(),
        };
        let dst = self.named(dst, result)?;
        self.select(dst, result, Operand::Const(yes), Operand::Const(0), holds);
        Ok(())
    }

    /// `slct.D.C d, a, b, c`: a where c ≥ 0, else b (also where c is NaN).
    fn slct(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [.., result, compared] = &inst.modifiers[..] else {
            return Err(self.unsupported("`slct` needs two types"));
        };
        let (result, compared) = (self.type_named(result)?, self.type_named(compared)?);
        let [dst, a, b, c] = &inst.operands[..] else { return Err(self.count_error(inst, 3)) };
        let (a, b, c) = (self.value(a, result)?, self.value(b, result)?, self.value(c, compared)?);
        let mut opcode = Opcode::setp(Cmp::Ge, compared);
        if inst.modifiers.contains(&"ftz") {
            opcode.flags |= Flags::FTZ;
        }
        let holds = self.compute(opcode, Type::Pred, [c, Operand::Const(0)]);
        let dst = self.named(dst, result)?;
        self.select(dst, result, a, b, holds);
        Ok(())
    }

    /// `mul24`, `mad24`: products of the low 24 bits; `.hi` gives bits 47 to 16, to which `.sat` adds within the type.
    fn mul24(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let (high, ty) = match &inst.modifiers[..] {
            ["lo", ty] => (false, self.type_named(ty)?),
            ["hi", ty] | ["hi", "sat", ty] => (true, self.type_named(ty)?),
            _ => return Err(self.unsupported("`mul24` and `mad24` take `.lo` or `.hi`, and a type")),
        };
        if !matches!(ty, Type::S32 | Type::U32) {
            return Err(self.unsupported("24-bit products are of 32-bit types"));
        }
        let [dst, a, b, rest @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.low_24(a, ty)?, self.low_24(b, ty)?);
        let dst = self.named(dst, ty)?;
        match (inst.opcode.text, rest) {
            ("mul24", []) if high => {
                let (opcode, shifted) = self.high_24(ty, a, b);
                self.emit(InstData::new(opcode, [dst], [shifted]));
            }
            ("mad24", [c]) if high => {
                let (opcode, shifted) = self.high_24(ty, a, b);
                let product = self.compute(opcode, ty, [shifted]);
                let c = self.value(c, ty)?;
                let mut sum = Opcode::new(Op::Add, ty);
                if inst.modifiers.contains(&"sat") {
                    if ty != Type::S32 {
                        return Err(self.unsupported("`.sat` of `mad24` is of `.s32`"));
                    }
                    sum.flags |= Flags::SAT;
                }
                self.emit(InstData::new(sum, [dst], [product, c]));
            }
            ("mul24", []) => {
                self.emit(InstData::new(Opcode::new(Op::Mul, ty), [dst], [a, b]));
            }
            ("mad24", [c]) => {
                let c = self.value(c, ty)?;
                self.emit(InstData::new(Opcode::new(Op::Mad, ty), [dst], [a, b, c]));
            }
            _ => return Err(self.count_error(inst, 2)),
        }
        Ok(())
    }

    /// Bits 47 to 16 of a product, in the low bits of a word twice as wide, and what takes them from there.
    fn high_24(&mut self, ty: Type, a: Operand, b: Operand) -> (Opcode, Operand) {
        let wide = if ty.is_signed() { Type::S64 } else { Type::U64 };
        let product = self.compute(Opcode::new(Op::MulWide, ty), wide, [a, b]);
        let shifted = self.compute(Opcode::new(Op::Shr, wide), wide, [product, Operand::Const(16)]);
        (Opcode::cvt(ty, wide), shifted)
    }

    fn low_24(&mut self, source: &Source<'a>, ty: Type) -> Lowered<Operand> {
        let value = self.value(source, ty)?;
        let opcode = Opcode::new(Op::Bfe, ty);
        Ok(self.compute(opcode, ty, [value, Operand::Const(0), Operand::Const(24)]))
    }

    /// `sad.T d, a, b, c`: c + |a - b|, the difference taken in the type's order.
    fn sad(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let ty = self.last_type(inst)?;
        let [dst, a, b, c] = &inst.operands[..] else { return Err(self.count_error(inst, 3)) };
        let (a, b, c) = (self.value(a, ty)?, self.value(b, ty)?, self.value(c, ty)?);
        let larger = self.compute(Opcode::new(Op::Max, ty), ty, [a.clone(), b.clone()]);
        let smaller = self.compute(Opcode::new(Op::Min, ty), ty, [a, b]);
        let distance = self.compute(Opcode::new(Op::Sub, ty), ty, [larger, smaller]);
        let dst = self.named(dst, ty)?;
        self.emit(InstData::new(Opcode::new(Op::Add, ty), [dst], [c, distance]));
        Ok(())
    }

    /// `bfind[.shiftamt].T d, a`: the place of the highest bit that differs from the sign (from 0 for unsigned), or
    /// how far it is from the top; all ones where there is none.
    fn bfind(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let ty = self.last_type(inst)?;
        let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let (bits, top) = (ty.as_bits(), u64::from(ty.bits()) - 1);
        let mut value = self.value(a, ty)?;
        if ty.is_signed() {
            let sign = self.compute(Opcode::new(Op::Shr, ty), ty, [value.clone(), Operand::Const(top)]);
            value = self.compute(Opcode::new(Op::Xor, bits), bits, [value, sign]);
        }
        let zeros = self.compute(Opcode::new(Op::Clz, bits), Type::U32, [value]);
        let dst = self.named(dst, Type::U32)?;
        if inst.modifiers.contains(&"shiftamt") {
            let opcode = Opcode::setp(Cmp::Gt, Type::U32);
            let none = self.compute(opcode, Type::Pred, [zeros.clone(), Operand::Const(top)]);
            self.select(dst, Type::U32, Operand::Const(0xffff_ffff), zeros, none);
        } else {
            self.emit(InstData::new(Opcode::new(Op::Sub, Type::U32), [dst], [Operand::Const(top), zeros]));
        }
        Ok(())
    }

    /// `cnot.T d, a`: 1 where a is 0, else 0.
    fn cnot(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let ty = self.last_type(inst)?;
        let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let a = self.value(a, ty)?;
        let zero = self.compute(Opcode::setp(Cmp::Eq, ty), Type::Pred, [a, Operand::Const(0)]);
        let dst = self.named(dst, ty)?;
        self.select(dst, ty, Operand::Const(1), Operand::Const(0), zero);
        Ok(())
    }

    /// `bmsk.clamp.b32 d, a, b`, `bmsk.wrap.b32`: b ones from bit a on, where both numbers end at
    /// 32 or wrap there. Shifts give 0 from 32 bits on.
    fn bmsk(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let ty = self.last_type(inst)?;
        let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, Type::U32)?, self.value(b, Type::U32)?);
        if ty != Type::B32 {
            return Err(self.unsupported("`bmsk` is of type `.b32`"));
        }
        let [a, b] = match self.wraps(inst)? {
            true => [a, b]
                .map(|number| self.compute(Opcode::new(Op::And, Type::B32), Type::U32, [number, Operand::Const(31)])),
            false => [a, b],
        };
        let end = self.compute(Opcode::new(Op::Shl, ty), ty, [Operand::Const(1), b]);
        let ones = self.compute(Opcode::new(Op::Sub, Type::U32), ty, [end, Operand::Const(1)]);
        let dst = self.named(dst, ty)?;
        self.emit(InstData::new(Opcode::new(Op::Shl, ty), [dst], [ones, a]));
        Ok(())
    }

    /// `szext.clamp.T d, a, b`, `szext.wrap.T`: the low b bits of a, extended by their sign or with
    /// zeros. `bfe` looks at the low 8 bits of a length.
    fn szext(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let ty = self.last_type(inst)?;
        let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, ty)?, self.value(b, Type::U32)?);
        if !matches!(ty, Type::S32 | Type::U32) {
            return Err(self.unsupported("`szext` is of 32-bit integers"));
        }
        let (opcode, end) = match self.wraps(inst)? {
            true => (Opcode::new(Op::And, Type::B32), 31),
            false => (Opcode::new(Op::Min, Type::U32), 32),
        };
        let length = self.compute(opcode, Type::U32, [b, Operand::Const(end)]);
        let dst = self.named(dst, ty)?;
        self.emit(InstData::new(Opcode::new(Op::Bfe, ty), [dst], [a, Operand::Const(0), length]));
        Ok(())
    }

    /// Does a number of bits wrap at 32, or is it 32 at most?
    fn wraps(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        match inst.modifiers.first() {
            Some(&"wrap") => Ok(true),
            Some(&"clamp") => Ok(false),
            _ => Err(self.unsupported(&format!("`{}` needs `.clamp` or `.wrap`", inst.opcode.text))),
        }
    }

    /// `dp4a.T.U d, a, b, c`: c plus the sum of the four products of bytes.
    fn dp4a(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [first, second] = &inst.modifiers[..] else { return Err(self.unsupported("`dp4a` needs two types")) };
        let (first, second) = (self.type_named(first)?, self.type_named(second)?);
        if first.bits() != 32 || second.bits() != 32 || !first.is_integer() || !second.is_integer() {
            return Err(self.unsupported("`dp4a` is of 32-bit integers"));
        }
        let [dst, a, b, c] = &inst.operands[..] else { return Err(self.count_error(inst, 3)) };
        let (a, b, mut sum) = (self.value(a, first)?, self.value(b, second)?, self.value(c, Type::S32)?);
        let dst = self.named(dst, Type::S32)?;
        for byte in 0..4u64 {
            let place = [Operand::Const(8 * byte), Operand::Const(8)];
            let [at, width] = place.clone();
            let x = self.compute(Opcode::new(Op::Bfe, first), first, [a.clone(), at, width]);
            let [at, width] = place;
            let y = self.compute(Opcode::new(Op::Bfe, second), second, [b.clone(), at, width]);
            let opcode = Opcode::new(Op::Mad, Type::S32);
            if byte == 3 {
                self.emit(InstData::new(opcode, [dst], [x, y, sum]));
                break;
            }
            sum = self.compute(opcode, Type::S32, [x, y, sum]);
        }
        Ok(())
    }

    /// `dp2a.lo.T.U d, a, b, c`: c plus the products of both halves of a by the two low bytes of b;
    /// with `.hi`, by the high ones.
    fn dp2a(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [half @ ("lo" | "hi"), first, second] = &inst.modifiers[..] else {
            return Err(self.unsupported("`dp2a` needs `.lo` or `.hi` and two types"));
        };
        let (first, second) = (self.type_named(first)?, self.type_named(second)?);
        if first.bits() != 32 || second.bits() != 32 || !first.is_integer() || !second.is_integer() {
            return Err(self.unsupported("`dp2a` is of 32-bit integers"));
        }
        let [dst, a, b, c] = &inst.operands[..] else { return Err(self.count_error(inst, 3)) };
        let (a, b, c) = (self.value(a, first)?, self.value(b, second)?, self.value(c, Type::S32)?);
        let dst = self.named(dst, Type::S32)?;
        let part = |this: &mut Self, of: &Operand, ty: Type, at: u64, width: u64| {
            this.compute(Opcode::new(Op::Bfe, ty), ty, [of.clone(), Operand::Const(at), Operand::Const(width)])
        };
        let byte = if *half == "hi" { 16 } else { 0 };
        let [low, high] = [0, 1].map(|k| [part(self, &a, first, 16 * k, 16), part(self, &b, second, byte + 8 * k, 8)]);
        let sum = self.compute(Opcode::new(Op::Mad, Type::S32), Type::S32, low.into_iter().chain([c]));
        self.emit(InstData::new(Opcode::new(Op::Mad, Type::S32), [dst], high.into_iter().chain([sum])));
        Ok(())
    }

    /// `cvt.pack.sat.T.s32 d, a, b`: a above b, each the nearest number of 16 bits.
    /// `cvt.pack.sat.T.s32.b32 d, a, b, c` of 8 or fewer: above them the low bits of c.
    fn pack(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let (ty, has_third) = match inst.modifiers[..] {
            ["pack", "sat", ty @ ("s16" | "u16"), "s32"] => (ty, false),
            ["pack", "sat", ty @ ("s8" | "u8"), "s32", "b32"] => (ty, true),
            _ => return Err(self.unsupported("of `cvt.pack` only `.sat` to 8 and 16 bits from `.s32` is supported")),
        };
        let ty = self.type_named(ty)?;
        let width = u64::from(ty.bits());
        let (dst, a, b, c) = match &inst.operands[..] {
            [dst, a, b] if !has_third => (dst, a, b, None),
            [dst, a, b, c] if has_third => (dst, a, b, Some(self.value(c, Type::B32)?)),
            _ => return Err(self.count_error(inst, 2 + usize::from(has_third))),
        };
        let (least, most) =
            if ty.is_signed() { (-1_i64 << (width - 1), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
        let number = |value: i64| Operand::Const(value as u64 & Type::S32.mask());
        let [high, low] = [a, b].map(|source| {
            let value = self.value(source, Type::S32)?;
            let value = self.compute(Opcode::new(Op::Max, Type::S32), Type::S32, [value, number(least)]);
            Ok(self.compute(Opcode::new(Op::Min, Type::S32), Type::S32, [value, number(most)]))
        });
        let (high, low) = (high?, low?);
        let dst = self.named(dst, Type::B32)?;
        let insert = |upper: Operand, lower: Operand, width: u64| {
            [upper, lower, Operand::Const(width), Operand::Const(32 - width)]
        };
        let opcode = Opcode::new(Op::Bfi, Type::B32);
        match c {
            None => self.emit(InstData::new(opcode, [dst], insert(high, low, width))),
            Some(c) => {
                let both = self.compute(opcode, Type::B32, insert(high, low, width));
                self.emit(InstData::new(opcode, [dst], insert(c, both, 2 * width)))
            }
        };
        Ok(())
    }

    /// `min.NaN.T d, a, b`, `max.NaN.T`: not a number where one of both is none.
    fn extreme_or_nan(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let mut plain = inst.clone();
        plain.modifiers.retain(|word| *word != "NaN");
        let opcode = self.opcode(&plain)?;
        let ty = opcode.ty;
        let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let is_nan = self.compute(Opcode::setp(Cmp::Nan, ty), Type::Pred, [a.clone(), b.clone()]);
        let extreme = self.compute(opcode, ty, [a, b]);
        let dst = self.named(dst, ty)?;
        // All ones but for the sign is the one NaN there is.
        self.select(dst, ty, Operand::Const(ty.mask() >> 1), extreme, is_nan);
        Ok(())
    }

    /// `min.s32.relu d, a, b`, `max.s32.relu`: 0 where that is negative.
    fn extreme_above_zero(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let ty = Type::S32;
        let op = if inst.opcode.text == "min" { Op::Min } else { Op::Max };
        let [dst, a, b] = &inst.operands[..] else { return Err(self.count_error(inst, 2)) };
        let (a, b) = (self.value(a, ty)?, self.value(b, ty)?);
        let extreme = self.compute(Opcode::new(op, ty), ty, [a, b]);
        let dst = self.named(dst, ty)?;
        self.emit(InstData::new(Opcode::new(Op::Max, ty), [dst], [extreme, Operand::Const(0)]));
        Ok(())
    }

    /// A policy of the cache is any number, as nobody asks for it.
    fn policy(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        self.warn("`createpolicy` does nothing here");
        let Some(dst) = inst.operands.first() else { return Err(self.count_error(inst, 1)) };
        let dst = self.named(dst, Type::B64)?;
        self.copy(dst, Type::B64, Operand::Const(0));
        Ok(())
    }

    /// `testp.finite`, `.infinite`, `.number`, `.notanumber`, `.normal` (zeros are), `.subnormal`.
    fn testp(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [what, _] = &inst.modifiers[..] else {
            return Err(self.unsupported("`testp` needs a property and a type"));
        };
        let ty = self.last_type(inst)?;
        let (infinity, smallest_normal) = match ty {
            Type::F32 => (f32::INFINITY.to_bits().into(), f32::MIN_POSITIVE.to_bits().into()),
            Type::F64 => (f64::INFINITY.to_bits(), f64::MIN_POSITIVE.to_bits()),
            _ => return Err(self.unsupported("`testp` is of `f32` and `f64`")),
        };
        let [dst, a] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let a = self.value(a, ty)?;
        let OperandKind::Name(dst) = dst.kind else { return Err(self.count_error(inst, 1)) };
        let dst = self.destination(dst, Type::Pred, false)?;
        // A comparison of the value with itself, of its size with a number, or of that together with a predicate.
        let size = |this: &mut Self| this.compute(Opcode::new(Op::Abs, ty), ty, [a.clone()]);
        let both = |cmp: Cmp| Opcode { combine: Some(Combine::And), ..Opcode::setp(cmp, ty) };
        let (opcode, args): (Opcode, SmallVec<[Operand; 3]>) = match *what {
            "number" => (Opcode::setp(Cmp::Num, ty), smallvec![a.clone(), a]),
            "notanumber" => (Opcode::setp(Cmp::Nan, ty), smallvec![a.clone(), a]),
            "finite" => (Opcode::setp(Cmp::Lt, ty), smallvec![size(self), Operand::Const(infinity)]),
            "infinite" => (Opcode::setp(Cmp::Eq, ty), smallvec![size(self), Operand::Const(infinity)]),
            "normal" | "subnormal" => {
                let size = size(self);
                let small = self.compute(
                    Opcode::setp(Cmp::Lt, ty),
                    Type::Pred,
                    [size.clone(), Operand::Const(smallest_normal)],
                );
                let nonzero = [size.clone(), Operand::Const(0), small];
                if *what == "subnormal" {
                    (both(Cmp::Gt), nonzero.into())
                } else {
                    let subnormal = self.compute(both(Cmp::Gt), Type::Pred, nonzero);
                    let Operand::Reg(subnormal) = subnormal else { unreachable!("what is computed is in a register") };
                    (both(Cmp::Lt), smallvec![size, Operand::Const(infinity), Operand::NotReg(subnormal)])
                }
            }
            _ => return Err(self.unsupported(&format!("`testp.{what}` is not supported"))),
        };
        let mut test = InstData::new(opcode, [dst], []);
        test.args = args.into_iter().collect();
        self.emit(test);
        Ok(())
    }

    /// `tex.2d.v4.T.C {…}, [texture, {x, y}]`, `tex.1d`; the texture is in a register or a `.texref` of the module.
    fn tex(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [geometry, "v4", result, coordinate] = &inst.modifiers[..] else {
            return Err(self.unsupported("only `tex.1d.v4` and `tex.2d.v4` are supported"));
        };
        let (op, dimensions) = match *geometry {
            "1d" => (Op::Tex1d, 1),
            "2d" => (Op::Tex2d, 2),
            other => return Err(self.unsupported(&format!("`tex.{other}` is not supported"))),
        };
        let (result, coordinate) = (self.type_named(result)?, self.type_named(coordinate)?);
        if result.bits() != 32 || !matches!(coordinate, Type::F32 | Type::S32) {
            return Err(self.unsupported("textures give 32-bit elements at `f32` or `s32` coordinates"));
        }
        let (Some(first), Some(OperandKind::Texture(texture, sampler, place))) =
            (inst.operands.first(), inst.operands.get(1).map(|operand| &operand.kind))
        else {
            return Err(self.error("ptx-operands", "`tex` takes four registers and `[texture, {x, y}]`"));
        };
        if sampler.is_some() || inst.operands.len() > 2 {
            return Err(self.unsupported("`tex` with a sampler, an offset or a comparison is not supported"));
        }
        if place.len() < dimensions {
            return Err(self.error("ptx-operands", &format!("`tex.{geometry}` takes {dimensions} coordinates")));
        }
        let mut opcode = Opcode::new(op, result);
        opcode.src_ty = coordinate;
        opcode.vector = 4;
        let texture = Source { kind: OperandKind::Name(texture), span: inst.span };
        let texture = self.value(&texture, Type::B64)?;
        let is_texture = match texture {
            Operand::Reg(_) => true,
            Operand::Symbol(Symbol::Global(global)) => self.context.textures.contains(&global),
            _ => false,
        };
        if !is_texture {
            return Err(self.unsupported("a texture is a `.texref` of the module or is in a 64-bit register"));
        }
        let mut data = InstData::new(opcode, self.destinations(first, &opcode.signature())?, [texture]);
        for coordinate_place in &place[..dimensions] {
            data.args.push(self.value(coordinate_place, coordinate)?);
        }
        self.emit(data);
        Ok(())
    }

    /// An atomic whose old value nobody wants is `red`. (An exchange is not: `red` has none.)
    fn reduce(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let mut plain = inst.clone();
        if plain.modifiers.iter().any(|word| matches!(*word, "cas" | "exch")) {
            let opcode = self.opcode(inst)?;
            return self.generic(inst, opcode);
        }
        plain.opcode.text = "red";
        plain.operands.remove(0);
        let opcode = self.opcode(&plain)?;
        self.generic(&plain, opcode)
    }

    pub(super) fn select(&mut self, dst: Reg, ty: Type, yes: Operand, no: Operand, holds: Operand) {
        let mut data = InstData::new(Opcode::new(Op::Selp, ty), [dst], []);
        data.args = smallvec![yes, no, holds];
        self.emit(data);
    }

    pub(super) fn named(&mut self, dst: &Source<'a>, ty: Type) -> Lowered<Reg> {
        match dst.kind {
            OperandKind::Name(name) => self.destination(name, ty, false),
            _ => Err(self.error("ptx-operands", "expected a register to write")),
        }
    }

    fn type_named(&mut self, word: &str) -> Lowered<Type> {
        match Type::from_name(word).filter(|&ty| ty != Type::Pred) {
            Some(ty) => Ok(ty),
            None => Err(self.unsupported(&format!("the type `.{word}` is not supported"))),
        }
    }

    pub(super) fn last_type(&mut self, inst: &Inst<'a>) -> Lowered<Type> {
        self.type_named(inst.modifiers.last().copied().unwrap_or("none"))
    }
}

fn is_sink(operand: Option<&Source<'_>>) -> bool {
    matches!(operand.map(|operand| &operand.kind), Some(OperandKind::Name("_")))
}

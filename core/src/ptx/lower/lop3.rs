//! `lop3`: any function of three bits, bit by bit.
//!
//! ```text
//! lop3.b32 %r4, %r1, %r2, %r3, 0x96;               →   t1 = xor.b32 r1, r2 ; r4 = xor.b32 t1, r3
//! lop3.or.b32 %r4|%p1, %r1, …, 0x80, %p2;          →   … ; p1 = setp.ne.or.b32 r4, 0, p2
//! ```
//!
//! Sound as in [`super::expand`].
//!
//! Source: PTX ISA, "lop3".

use super::body::{Lowered, Lowering};
use crate::ir::{Cmp, Combine, InstData, Op, Opcode, Operand, Type};
use crate::ptx::syntax::{Inst, Number, Operand as Source, OperandKind};
use alloc::format;
use smallvec::smallvec;

impl<'a> Lowering<'a, '_> {
    /// `lop3.b32 d, a, b, c, table`: bit k of the table is the result where (a, b, c) are the bits of k. The function
    /// is split by a: `(a and f1(b, c)) or (not a and f0(b, c))`.
    pub(super) fn lop3(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        if let [combine, "b32"] = inst.modifiers[..] {
            return self.lop3_and_test(inst, combine);
        }
        let [dst, a, b, c, table] = &inst.operands[..] else { return Err(self.count_error(inst, 4)) };
        let (ty, OperandKind::Number(Number::Int(table))) = (Type::B32, &table.kind) else {
            return Err(self.unsupported("the table of `lop3` is a number"));
        };
        let (a, b, c) = (self.value(a, ty)?, self.value(b, ty)?, self.value(c, ty)?);
        let table = *table as u8;
        let dst = self.named(dst, ty)?;
        // By far the most common tables are plain operations.
        let common = match table {
            0x80 => Some((Op::And, Op::And)),
            0xfe => Some((Op::Or, Op::Or)),
            0x96 => Some((Op::Xor, Op::Xor)),
            0xea => Some((Op::And, Op::Or)),
            0x6a => Some((Op::And, Op::Xor)),
            0xa8 => Some((Op::Or, Op::And)),
            0x28 => Some((Op::Xor, Op::And)),
            0xbe => Some((Op::Xor, Op::Or)),
            0x56 => Some((Op::Or, Op::Xor)),
            _ => None,
        };
        let result = match common {
            Some((first, second)) => {
                let inner = self.compute(Opcode::new(first, ty), ty, [a, b]);
                InstData::new(Opcode::new(second, ty), [dst], [inner, c])
            }
            None => {
                let when_set = self.lop2(table >> 4, &b, &c);
                let when_clear = self.lop2(table & 15, &b, &c);
                let set = self.compute(Opcode::new(Op::And, ty), ty, [a.clone(), when_set]);
                let not_a = self.compute(Opcode::new(Op::Not, ty), ty, [a]);
                let clear = self.compute(Opcode::new(Op::And, ty), ty, [not_a, when_clear]);
                InstData::new(Opcode::new(Op::Or, ty), [dst], [set, clear])
            }
        };
        self.emit(result);
        Ok(())
    }

    /// `lop3.or.b32 d|p, a, b, c, table, q`, `lop3.and.b32`: p is whether d is not 0, and q.
    fn lop3_and_test(&mut self, inst: &Inst<'a>, combine: &str) -> Lowered<()> {
        let Some(combine) = Combine::from_name(combine).filter(|combine| *combine != Combine::Xor) else {
            return Err(self.unsupported(&format!("`.{combine}` of `lop3` is not supported")));
        };
        let [dst, operands @ .., q] = &inst.operands[..] else { return Err(self.count_error(inst, 5)) };
        let OperandKind::Pair(word, holds) = dst.kind else {
            return Err(self.error("ptx-operands", "`lop3` with a predicate writes two registers, as in `d|p`"));
        };
        let mut plain = inst.clone();
        plain.modifiers.remove(0);
        plain.operands = core::iter::once(Source { kind: OperandKind::Name(word), span: dst.span })
            .chain(operands.iter().cloned())
            .collect();
        let q = self.predicate(q)?;
        // What it reads may be what it writes: both are taken before.
        let kept = match q {
            Operand::Reg(reg) => self.compute(Opcode::mov(Type::Pred), Type::Pred, [Operand::Reg(reg)]),
            q => q,
        };
        let begun = self.func.insts.len();
        self.lop3(&plain)?;
        let last = crate::ir::Inst::from_u32((self.func.insts.len().max(begun + 1) - 1) as u32);
        let Some(result) = self.func.insts[last].dst() else { return Err(self.count_error(inst, 5)) };
        let holds = self.destination(holds, Type::Pred, false)?;
        let opcode = Opcode { combine: Some(combine), ..Opcode::setp(Cmp::Ne, Type::B32) };
        let mut test = InstData::new(opcode, [holds], []);
        test.args = smallvec![Operand::Reg(result), Operand::Const(0), kept];
        self.emit(test);
        Ok(())
    }

    /// The function of two words whose table has bit k where (b, c) are the bits of k.
    fn lop2(&mut self, table: u8, b: &Operand, c: &Operand) -> Operand {
        let ty = Type::B32;
        let both = |this: &mut Self, op: Op| this.compute(Opcode::new(op, ty), ty, [b.clone(), c.clone()]);
        let not = |this: &mut Self, value: Operand| this.compute(Opcode::new(Op::Not, ty), ty, [value]);
        match table & 15 {
            0b0000 => Operand::Const(0),
            0b1111 => Operand::Const(0xffff_ffff),
            0b1100 => b.clone(),
            0b1010 => c.clone(),
            0b1000 => both(self, Op::And),
            0b1110 => both(self, Op::Or),
            0b0110 => both(self, Op::Xor),
            // b and not c, not b and c: both differ, and the wanted one is set.
            0b0100 => {
                let inverted = not(self, c.clone());
                self.compute(Opcode::new(Op::And, ty), ty, [b.clone(), inverted])
            }
            0b0010 => {
                let inverted = not(self, b.clone());
                self.compute(Opcode::new(Op::And, ty), ty, [inverted, c.clone()])
            }
            inverted => {
                let value = self.lop2(!inverted, b, c);
                not(self, value)
            }
        }
    }
}

//! Operations of PTX on several values at once, which the text IR has one by one.
//!
//! ```text
//! add.rn.f32x2 %rd3, %rd1, %rd2;     →   {t1, t2} = mov.b64 rd1, and so on for rd2
//!                                        t5 = add.rn.f32 t1, t3 ; t6 = add.rn.f32 t2, t4 ; rd3 = mov.b64 {t5, t6}
//! max.f32 %f4, %f1, %f2, %f3;        →   t1 = max.f32 f1, f2 ; f4 = max.f32 t1, f3
//! ld.global.v8.b32 {…}, [%rd1];      →   two loads of four elements
//! red.global.add.f16x2 [%rd1], %r1;  →   two, each of a half
//! red.global.max.v2.f16x2 [%rd1], …; →   one of four halves
//! ```
//!
//! Sound as in [`super::expand`]: vectors of atomic operations are atomic element by element in PTX, too.
//!
//! Source: PTX ISA, "add", "max", "ld", "red" and "atom".

use super::body::{Lowered, Lowering};
use super::halves::packed;
use crate::ir::{InstData, Op, Opcode, Operand, Reg, Type};
use crate::ptx::syntax::{Inst, Operand as Source, OperandKind};
use alloc::boxed::Box;
use alloc::vec::Vec;
use smallvec::SmallVec;

impl<'a> Lowering<'a, '_> {
    /// Lowers an instruction of these kinds; false where it is of no such kind.
    pub(super) fn expand_packed(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        match (inst.opcode.text, &inst.modifiers[..]) {
            ("add" | "sub" | "mul" | "fma", [.., "f32x2"]) => self.on_floats(inst)?,
            ("min" | "max", [.., "f32"]) if inst.operands.len() == 4 => self.three_inputs(inst)?,
            ("ld" | "st", [.., "v8", _]) => self.eight_elements(inst)?,
            ("atom" | "red", words) if words.iter().any(|word| is_vector_width(word)) => self.atomic_vector(inst)?,
            ("atom" | "red", words) if words.iter().any(|word| matches!(*word, "f16x2" | "bf16x2")) => {
                self.atomic_halves(inst)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `fma.rn.f32x2 d, a, b, c` and others: on the low float and the high one.
    fn on_floats(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let opcode = self.opcode(&super::halves::with_type(inst, "f32"))?;
        let count = opcode.signature().args.len();
        let [dst, sources @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, count)) };
        if sources.len() != count {
            return Err(self.count_error(inst, count));
        }
        let [mut low, mut high] = [SmallVec::<[Operand; 3]>::new(), SmallVec::new()];
        for source in sources {
            let value = self.value(source, Type::B64)?;
            if let Operand::Const(bits) = value {
                low.push(Operand::Const(bits & Type::B32.mask()));
                high.push(Operand::Const(bits >> 32));
                continue;
            }
            let floats = [self.temporary(Type::B32), self.temporary(Type::B32)];
            self.emit_unguarded(InstData::new(Opcode::mov(Type::B64), floats, [value]));
            low.push(Operand::Reg(floats[0]));
            high.push(Operand::Reg(floats[1]));
        }
        let results = [low, high].map(|args| self.compute(opcode, Type::F32, args));
        let dst = self.named(dst, Type::B64)?;
        let data = packed(dst, results);
        self.emit(InstData { opcode: Opcode::mov(Type::B64), ..data });
        Ok(())
    }

    /// `max.f32 d, a, b, c`, `min.f32`: of two, and of that and the third.
    fn three_inputs(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [dst, a, b, c] = &inst.operands[..] else { return Err(self.count_error(inst, 3)) };
        let mut plain = inst.clone();
        plain.modifiers.retain(|word| *word != "NaN");
        let is_strict = plain.modifiers.len() != inst.modifiers.len();
        let opcode = self.opcode(&plain)?;
        let [a, b, c] = [a, b, c].map(|source| self.value(source, Type::F32));
        let (a, b, c) = (a?, b?, c?);
        let dst = self.named(dst, Type::F32)?;
        if is_strict {
            let first = self.extreme_unless_nan(opcode, &[a, b]);
            let result = self.extreme_unless_nan(opcode, &[first, c]);
            self.copy(dst, Type::F32, result);
        } else {
            let first = self.compute(opcode, Type::F32, [a, b]);
            self.emit(InstData::new(opcode, [dst], [first, c]));
        }
        Ok(())
    }

    /// `ld.v8.b32 {…}, [a]`, `st.v8.b32 [a], {…}`.
    fn eight_elements(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let is_load = inst.opcode.text == "ld";
        let mut half = inst.clone();
        half.modifiers.iter_mut().filter(|word| **word == "v8").for_each(|word| *word = "v4");
        let ty = self.opcode(&half)?.ty;
        let (address, vector) = match &inst.operands[..] {
            [vector, address] if is_load => (address, vector),
            [address, vector] => (address, vector),
            _ => return Err(self.count_error(inst, 2)),
        };
        let (OperandKind::Address(base, offset), OperandKind::Vector(elements)) = (&address.kind, &vector.kind) else {
            return Err(self.error("ptx-operands", "expected an address in brackets and eight elements in braces"));
        };
        if ty.bits() != 32 || elements.len() != 8 {
            return Err(self.unsupported("vectors of eight have elements of 32 bits"));
        }
        for (index, elements) in elements.chunks(4).enumerate() {
            let offset = offset.wrapping_add(index as i64 * 16);
            let address = Source { kind: OperandKind::Address(*base, offset), span: address.span };
            let vector = Source { kind: OperandKind::Vector(elements.to_vec()), span: vector.span };
            half.operands = if is_load { Vec::from([vector, address]) } else { Vec::from([address, vector]) };
            let opcode = self.opcode(&half)?;
            self.generic(&half, opcode)?;
        }
        Ok(())
    }

    /// `red.add.noftz.f16x2 [a], b`, `atom.add.noftz.bf16x2 d, [a], b`.
    fn atomic_halves(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let opcode = self.opcode(&of_elements(inst))?;
        let (dst, address, value) = match &inst.operands[..] {
            [dst, address, value] if opcode.op == Op::Atom => (Some(dst), address, value),
            [address, value] if opcode.op == Op::Red => (None, address, value),
            _ => return Err(self.count_error(inst, 2)),
        };
        let OperandKind::Address(base, offset) = address.kind else {
            return Err(self.error("ptx-operands", "expected an address in brackets"));
        };
        let halves = self.split(value)?;
        let is_wanted = dst.is_some_and(|dst| !is_sink(dst));
        let mut old = SmallVec::<[Operand; 2]>::new();
        for (index, half) in halves.into_iter().enumerate() {
            let address = self.address(base, offset.wrapping_add(2 * index as i64))?;
            self.check_base(&address, opcode.space)?;
            if is_wanted {
                let before = self.old_element(Type::B16);
                self.emit(InstData::new(opcode, [before], [address, half]));
                old.push(Operand::Reg(before));
            } else {
                self.emit(InstData::new(Opcode { op: Op::Red, ..opcode }, [], [address, half]));
            }
        }
        if let (Some(dst), [low, high]) = (dst.filter(|_| is_wanted), &old[..]) {
            let dst = self.named(dst, Type::B32)?;
            self.emit(packed(dst, [low.clone(), high.clone()]));
        }
        Ok(())
    }

    /// `red.global.v4.f32.add [a], {…}`, `atom.global.v2.f32.add {…}, [a], {…}`, up to four elements at once.
    fn atomic_vector(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let opcode = self.opcode(&of_elements(inst))?;
        let (dsts, address, values) = match &inst.operands[..] {
            [dsts, address, values] if opcode.op == Op::Atom => (Some(dsts), address, values),
            [address, values] if opcode.op == Op::Red => (None, address, values),
            _ => return Err(self.count_error(inst, 2)),
        };
        let (OperandKind::Address(base, offset), OperandKind::Vector(values)) = (&address.kind, &values.kind) else {
            return Err(self.error("ptx-operands", "expected an address in brackets and elements in braces"));
        };
        let dsts = match dsts.map(|dsts| &dsts.kind) {
            Some(OperandKind::Vector(dsts)) if dsts.len() == values.len() => Some(dsts),
            Some(OperandKind::Name("_")) | None => None,
            _ => return Err(self.error("ptx-operands", "expected as many registers to write as there are values")),
        };
        let ty = opcode.ty;
        let is_packed = inst.modifiers.iter().any(|word| word.ends_with("x2"));
        if !is_packed && matches!(values.len(), 2 | 4) && (dsts.is_some() || opcode.op == Op::Red) {
            return self.generic(inst, Opcode { vector: values.len() as u8, ..opcode });
        }
        let mut elements = Vec::new();
        for value in values {
            match is_packed {
                true => elements.extend(self.split(value)?),
                false => elements.push(self.value(value, ty)?),
            }
        }
        if !matches!(elements.len(), 2 | 4 | 8) || elements.len() == 8 && ty.bits() > 16 {
            return Err(self.unsupported("an atomic of a vector has 2 or 4 elements, or 8 halves"));
        }
        let mut old = Vec::new();
        for (index, elements) in elements.chunks(4).enumerate() {
            let bytes = 4 * index as i64 * i64::from(ty.bytes());
            let address = self.address(*base, offset.wrapping_add(bytes))?;
            self.check_base(&address, opcode.space)?;
            let list = Operand::List(Box::new(elements.iter().cloned().collect()));
            let opcode = Opcode { vector: elements.len() as u8, ..opcode };
            if dsts.is_none() {
                self.emit(InstData::new(Opcode { op: Op::Red, ..opcode }, [], [address, list]));
                continue;
            }
            let results: SmallVec<[Reg; 4]> = elements.iter().map(|_| self.old_element(ty)).collect();
            self.emit(InstData::new(opcode, results.iter().copied(), [address, list]));
            old.extend(results.into_iter().map(Operand::Reg));
        }
        // A register to write may be the address or a value of a later element.
        for (index, dst) in dsts.into_iter().flatten().enumerate().filter(|(_, dst)| !is_sink(dst)) {
            match is_packed {
                true => {
                    let dst = self.named(dst, Type::B32)?;
                    self.emit(packed(dst, [old[2 * index].clone(), old[2 * index + 1].clone()]));
                }
                false => {
                    let dst = self.named(dst, ty)?;
                    self.copy(dst, ty, old[index].clone());
                }
            }
        }
        Ok(())
    }

    /// A register for what an element was before. Under a guard it is read all the same.
    fn old_element(&mut self, ty: Type) -> Reg {
        let old = self.temporary(ty);
        if self.guard.is_some() {
            self.emit_unguarded(InstData::new(Opcode::mov(ty.as_bits()), [old], [Operand::Const(0)]));
        }
        old
    }
}

/// The atomic operation on one element of a vector, or on one half of a word.
fn of_elements<'a>(inst: &Inst<'a>) -> Inst<'a> {
    let mut scalar = inst.clone();
    scalar.modifiers.retain(|word| !is_vector_width(word));
    for word in &mut scalar.modifiers {
        *word = word.strip_suffix("x2").unwrap_or(word);
    }
    scalar
}

fn is_vector_width(word: &str) -> bool {
    matches!(word, "v2" | "v4" | "v8")
}

fn is_sink(operand: &Source<'_>) -> bool {
    matches!(operand.kind, OperandKind::Name("_"))
}

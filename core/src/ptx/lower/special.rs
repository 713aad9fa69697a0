//! Questions of a thread to the machine: clocks, which lane leads, where an address lies.
//!
//! ```text
//! mov.u64 %rd1, %clock64;              →   rd1 = read.u64 %clock64
//! elect.sync %r1|%p1, %r2;             →   t1 = vote.sync.ballot true, r2 ; r1 = its lowest bit ; p1 = r1 == %laneid
//! isspacep.shared %p1, %rd1;           →   p1 = isspacep.shared rd1
//! ```
//!
//! Sound as in [`super::expand`]: which lane of those that are there is elected PTX leaves open.
//!
//! Source: PTX ISA, "Special Registers", "elect", "isspacep".

use super::body::{Entity, Lowered, Lowering};
use crate::ir::{Cmp, Flags, InstData, Op, Opcode, Operand, Space, Special, Type};
use crate::ptx::syntax::{Inst, Operand as Source, OperandKind};

impl<'a> Lowering<'a, '_> {
    /// `mov.u64 d, %clock64`, of what each read may give another value; false for every other `mov`.
    pub(super) fn read_special(&mut self, inst: &Inst<'a>) -> Lowered<bool> {
        let [dst, Source { kind: OperandKind::Name(name), .. }] = &inst.operands[..] else { return Ok(false) };
        if !name.starts_with('%') {
            return Ok(false);
        }
        match self.resolve(name)? {
            Entity::Special(special) if special.needs_read() => {
                let ty = self.last_type(inst)?;
                if ty.bits() != special.ty().bits() {
                    return Ok(false);
                }
                let dst = self.named(dst, ty)?;
                let opcode = Opcode::new(Op::Read, special.ty());
                self.emit(InstData::new(opcode, [dst], [Operand::Special(special)]));
                Ok(true)
            }
            Entity::Unknown => self.opaque(inst).map(|()| true),
            _ => Ok(false),
        }
    }

    /// `elect.sync d|p, members`: the lowest of the members that are there.
    pub(super) fn elect(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let [dst, members] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let OperandKind::Pair(number, leads) = dst.kind else {
            return Err(self.error("ptx-operands", "`elect.sync` writes a register and a predicate, as in `r|p`"));
        };
        let members = self.value(members, Type::B32)?;
        let leads = self.destination(leads, Type::Pred, false)?;
        let ballot = Opcode { flags: Flags::SYNC, ..Opcode::untyped(Op::VoteBallot) };
        let yes = self.compute(Opcode::mov(Type::Pred), Type::Pred, [Operand::Const(1)]);
        let present = self.temporary(Type::B32);
        if self.guard.is_some() {
            self.emit_unguarded(InstData::new(Opcode::mov(Type::B32), [present], [Operand::Const(0)]));
        }
        self.emit(InstData::new(ballot, [present], [yes, members]));
        let reversed = self.compute(Opcode::new(Op::Brev, Type::B32), Type::B32, [Operand::Reg(present)]);
        let lowest = self.compute(Opcode::new(Op::Clz, Type::B32), Type::U32, [reversed]);
        if number != "_" {
            let number = self.destination(number, Type::B32, false)?;
            self.copy(number, Type::B32, lowest.clone());
        }
        let args = [lowest, Operand::Special(Special::Laneid)];
        self.emit(InstData::new(Opcode::setp(Cmp::Eq, Type::U32), [leads], args));
        Ok(())
    }

    /// `isspacep.shared p, a`, of any space. `.shared` means `.shared::cta`, and `.param` means `.param::entry`.
    pub(super) fn isspacep(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let word = inst.modifiers.first().copied().unwrap_or_default();
        let opcode = match (word, inst.modifiers.len()) {
            ("shared::cluster", 1) => {
                Opcode { space: Some(Space::Shared), flags: Flags::CLUSTER, ..Opcode::new(Op::Isspacep, Type::Pred) }
            }
            _ if word.contains("::") && !matches!(word, "shared::cta" | "param::entry") => {
                return Err(self.unsupported("this space of `isspacep` is not supported"));
            }
            _ => self.opcode(inst)?,
        };
        let [dst, address] = &inst.operands[..] else { return Err(self.count_error(inst, 1)) };
        let address = self.value(address, Type::B64)?;
        let dst = self.named(dst, Type::Pred)?;
        self.emit(InstData::new(opcode, [dst], [address]));
        Ok(())
    }
}

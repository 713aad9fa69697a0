//! Asynchronous copies from global to shared memory, which are done at once here.
//!
//! ```text
//! @%p1 cp.async.ca.shared.global [%r1], [%rd1], 8;   →   @p1 {t1, t2} = ld.global.v2.b32 [rd1]
//! cp.async.commit_group;                                 @p1 st.shared.v2.b32 [r1], {t1, t2}
//! cp.async.wait_group 0;
//!
//! cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;  →   each word is loaded where %r2 says that it is copied,
//!                                                        and is 0 elsewhere
//! ```
//!
//! Sound, as a copy may be done at any time until a thread has waited for it, and so right where it
//! is asked for. What is told of it by barriers in memory (`mbarrier`), and copies of whole blocks
//! of memory (`cp.async.bulk`), are not supported.
//!
//! Source: PTX ISA, "Non-bulk copy".

use super::body::{Entity, Lowered, Lowering};
use crate::ir::{Cmp, Guard, InstData, Op, Opcode, Operand, Reg, Space, Type};
use crate::ptx::syntax::{Inst, Number, Operand as Source, OperandKind};
use alloc::boxed::Box;
use alloc::format;
use smallvec::SmallVec;

/// Bytes of a word.
const WORD: u64 = 4;

/// How much of a copy comes from global memory; the rest is zeros.
enum Extent {
    /// These first bytes.
    Bytes(u64),
    /// As many first bytes as a register says.
    Counted(Operand),
    /// Nothing where a predicate holds.
    Unless(Reg),
}

impl<'a> Lowering<'a, '_> {
    /// `cp.async.…`, the copy and what orders it.
    pub(super) fn copy_to_shared(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let words: SmallVec<[&str; 6]> =
            inst.modifiers.iter().copied().filter(|word| !word.starts_with("L2::")).collect();
        match words[..] {
            // Every copy has been done where it was asked for.
            ["async", "commit_group" | "wait_all" | "wait_group"] => return Ok(()),
            ["async", "ca" | "cg", "shared" | "shared::cta", "global"] => {}
            _ => {
                let spelled = inst.modifiers.join(".");
                return Err(self.unsupported(&format!(
                    "`cp.{spelled}` is not supported: of asynchronous copies only `cp.async` from global to shared \
                     memory is, with its groups"
                )));
            }
        }
        let [to, from, size, rest @ ..] = &inst.operands[..] else { return Err(self.count_error(inst, 3)) };
        let OperandKind::Number(Number::Int(bytes @ (4 | 8 | 16))) = size.kind else {
            return Err(self.error("ptx-operands", "a copy is of 4, 8 or 16 bytes"));
        };
        let extent = match rest {
            [] => Extent::Bytes(bytes),
            [rest] => self.extent(rest, bytes)?,
            _ => return Err(self.count_error(inst, 3)),
        };
        let (OperandKind::Address(to, to_offset), OperandKind::Address(from, from_offset)) = (&to.kind, &from.kind)
        else {
            return Err(self.error("ptx-operands", "expected two addresses in brackets"));
        };
        self.warn("asynchronous copies complete immediately in the simulator");
        let to = self.address(*to, *to_offset)?;
        self.check_base(&to, Some(Space::Shared))?;
        let address_of_word = |this: &mut Self, word: u64| {
            let address = this.address(*from, from_offset.wrapping_add((WORD * word) as i64))?;
            this.check_base(&address, Some(Space::Global)).map(|()| address)
        };
        let count = bytes / WORD;
        let words = match extent {
            Extent::Bytes(copied) if copied == bytes => {
                let words: SmallVec<[Reg; 4]> = (0..count).map(|_| self.temporary(Type::B32)).collect();
                let address = address_of_word(self, 0)?;
                self.emit(InstData::new(access(Op::Ld, Space::Global, count), words.iter().copied(), [address]));
                words
            }
            extent => {
                let words = (0..count).map(|word| {
                    let address = address_of_word(self, word)?;
                    Ok(self.word(&extent, word, address))
                });
                words.collect::<Lowered<_>>()?
            }
        };
        let value = match words[..] {
            [word] => Operand::Reg(word),
            _ => Operand::List(Box::new(words.into_iter().map(Operand::Reg).collect())),
        };
        self.emit(InstData::new(access(Op::St, Space::Shared, count), [], [to, value]));
        Ok(())
    }

    fn extent(&mut self, source: &Source<'a>, bytes: u64) -> Lowered<Extent> {
        match source.kind {
            OperandKind::Number(Number::Int(copied)) => Ok(Extent::Bytes(copied.min(bytes))),
            OperandKind::Name(name) => match self.resolve(name)? {
                Entity::Reg(reg) if self.func.reg_types[reg] == Type::Pred => Ok(Extent::Unless(reg)),
                _ => self.value(source, Type::U32).map(Extent::Counted),
            },
            _ => Err(self.error("ptx-operands", "expected the number of copied bytes, or a predicate")),
        }
    }

    /// A word of a copy that may not come from global memory as a whole.
    fn word(&mut self, extent: &Extent, word: u64, address: Operand) -> Reg {
        let first = WORD * word;
        let result = self.temporary(Type::B32);
        self.emit_unguarded(InstData::new(Opcode::mov(Type::B32), [result], [Operand::Const(0)]));
        let load = InstData::new(access(Op::Ld, Space::Global, 1), [result], [address]);
        match *extent {
            Extent::Bytes(copied) if copied <= first => {}
            Extent::Bytes(copied) => {
                self.emit(load);
                self.keep_bits(result, Operand::Const(8 * (copied - first).min(WORD)));
            }
            Extent::Unless(reg) => {
                let guard = self.with_guard(Guard { reg, negated: true });
                self.emit_unguarded(load.guarded(Some(guard)));
            }
            Extent::Counted(ref copied) => {
                let number = |op: Op| Opcode::new(op, Type::U32);
                let reaches = self.temporary(Type::Pred);
                let args = [copied.clone(), Operand::Const(first)];
                self.emit_unguarded(InstData::new(Opcode::setp(Cmp::Gt, Type::U32), [reaches], args.clone()));
                let guard = self.with_guard(Guard { reg: reaches, negated: false });
                self.emit_unguarded(load.guarded(Some(guard)));
                // Where it does not reach there are zeros, whatever is kept of them.
                let left = self.compute(number(Op::Sub), Type::U32, args);
                let left = self.compute(number(Op::Min), Type::U32, [left, Operand::Const(WORD)]);
                let bits = self.compute(Opcode::new(Op::Shl, Type::B32), Type::U32, [left, Operand::Const(3)]);
                self.keep_bits(result, bits);
            }
        }
        result
    }

    /// Keeps the low bits of a word.
    fn keep_bits(&mut self, word: Reg, bits: Operand) {
        if bits != Operand::Const(32) {
            let args = [Operand::Reg(word), Operand::Const(0), bits];
            self.emit_unguarded(InstData::new(Opcode::new(Op::Bfe, Type::U32), [word], args));
        }
    }

    /// The statement's guard and that one together.
    fn with_guard(&mut self, guard: Guard) -> Guard {
        let Some(own) = self.guard else { return guard };
        let sides = [own, guard].map(|Guard { reg, negated }| match negated {
            true => self.compute(Opcode::new(Op::Not, Type::Pred), Type::Pred, [Operand::Reg(reg)]),
            false => Operand::Reg(reg),
        });
        let reg = self.temporary(Type::Pred);
        self.emit_unguarded(InstData::new(Opcode::new(Op::And, Type::Pred), [reg], sides));
        Guard { reg, negated: false }
    }
}

/// A plain access to so many words.
fn access(op: Op, space: Space, words: u64) -> Opcode {
    Opcode { space: Some(space), vector: words as u8, ..Opcode::new(op, Type::B32) }
}

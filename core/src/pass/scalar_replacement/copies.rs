//! Instructions that the rewriting inserts: copies between registers, and the computation of a
//! form.
//!
//! ```text
//! form A[%tid + 1]        r = mov.u32 %tid; t = ld A[r + 1]         an address holds no special register
//! ```

use crate::edit::Rewrite;
use crate::ir::{Address, AddressBase, Block, Flags, Function, Guard, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::query::{Form, Forms, Subject};
use crate::symbolic::{Affine, Atom, Extension, RegisterSum, own_extension};
use crate::trace::Place;

use smallvec::SmallVec;

/// Copies registers before an instruction. Returns the first and the last copy.
pub(super) fn copy_before(
    rewrite: &mut Rewrite<'_, '_>,
    before: Inst,
    to: &[Reg],
    from: &[Reg],
    guard: Option<Guard>,
) -> (Inst, Inst) {
    let (mut first, mut last) = (before, before);
    for (index, (&to, &from)) in to.iter().zip(from).enumerate() {
        let copy = copy(rewrite.func(), to, from, guard);
        if let Some(inst) = rewrite.insert_before(before, copy) {
            first = if index == 0 { inst } else { first };
            last = inst;
        }
    }
    (first, last)
}

/// Copies registers after an instruction. Returns the first and the last copy.
pub(super) fn copy_after(
    rewrite: &mut Rewrite<'_, '_>,
    after: Inst,
    to: &[Reg],
    from: &[Reg],
    guard: Option<Guard>,
) -> (Inst, Inst) {
    let (mut first, mut last) = (after, after);
    let Some(block) = rewrite.func().inst_block(after) else { return (first, last) };
    let before = rewrite.func().layout.next_inst(after);
    for (index, (&to, &from)) in to.iter().zip(from).enumerate() {
        let copy = copy(rewrite.func(), to, from, guard);
        let inst = rewrite.insert(Place { block, before }, copy);
        first = if index == 0 { inst } else { first };
        last = inst;
    }
    (first, last)
}

pub(super) fn copy(func: &Function, to: Reg, from: Reg, guard: Option<Guard>) -> InstData {
    InstData::new(Opcode::mov(func.reg_types[to]), [to], [Operand::Reg(from)]).guarded(guard)
}

/// Computes a form into registers at the end of a block.
pub(super) fn compute(
    rewrite: &mut Rewrite<'_, '_>,
    forms: &Forms,
    block: Block,
    form: Form,
    to: &[Reg],
    is_good: bool,
) -> Inst {
    let expression = forms.expression(form);
    let data = match &expression.subject {
        Subject::Load(kind, sum) => {
            let flags = if is_good { kind.opcode.flags } else { kind.opcode.flags | Flags::SPEC };
            let address = match sum.to_address(rewrite.func()) {
                Some(address) => address,
                None => spelled_out(rewrite, block, sum),
            };
            let opcode = Opcode { flags, ..kind.opcode };
            InstData::new(opcode, to.iter().copied(), [Operand::Address(address.into())])
        }
        Subject::Pure(opcode, args) => {
            let args = forms.operands(form).unwrap_or(args);
            InstData::new(*opcode, to.iter().copied(), args.iter().cloned())
        }
    };
    rewrite.append(block, data.guarded(expression.guard))
}

/// The address of a sum, with temporaries for terms that no address holds: special registers,
/// several symbols, narrow registers that are extended against their type.
fn spelled_out(rewrite: &mut Rewrite<'_, '_>, block: Block, sum: &RegisterSum) -> Address {
    let mut rest: RegisterSum = Affine::constant(sum.offset());
    let mut has_symbol = false;
    for &(atom, coefficient) in sum.terms() {
        let plain = match atom {
            Atom::Special(special) => Some((Opcode::mov(Type::U32), Operand::Special(special))),
            Atom::Symbol(symbol) if coefficient != 1 || core::mem::replace(&mut has_symbol, true) => {
                Some((Opcode::mov(Type::B64), Operand::Symbol(symbol)))
            }
            Atom::Value(reg, extension) if own_extension(rewrite.func(), reg) != extension => {
                let bits = rewrite.func().reg_types[reg].bits();
                let (to, from) = match extension {
                    Extension::Sign => (Type::S64, Type::S64.with_bits(bits)),
                    Extension::Zero => (Type::U64, Type::U64.with_bits(bits)),
                };
                from.map(|from| (Opcode { src_ty: from, ..Opcode::new(Op::Cvt, to) }, Operand::Reg(reg)))
            }
            _ => None,
        };
        let atom = match plain {
            None => atom,
            Some((opcode, operand)) => {
                let reg = rewrite.create_temporary(opcode.ty);
                rewrite.append(block, InstData::new(opcode, [reg], [operand]));
                Atom::Value(reg, own_extension(rewrite.func(), reg))
            }
        };
        // Each temporary replaces one term, so that the sum stays as long.
        rest = rest.plus(&Affine::atom(atom).times(coefficient)).unwrap_or(rest);
    }
    let address = rest.to_address(rewrite.func());
    debug_assert!(address.is_some(), "every term is one that an address holds");
    address.unwrap_or(Address { base: AddressBase::Absolute, terms: SmallVec::new(), offset: sum.offset() })
}

//! Decodes loads, stores, atomics and textures with their addresses.

use smallvec::SmallVec;

use super::instruction::{Decoder, Refusal};
use super::layout::SymbolAddress;
use super::{Access, AccessKind, Base, DecodedInst, Extension, Index, Kind, Value, is_wide};
use crate::ir::{Address, AddressBase, Flags, InstData, Op, Operand, Type};

impl Decoder<'_, '_> {
    pub(super) fn access(&mut self, data: &InstData, decoded: &mut DecodedInst) -> Result<(), Refusal> {
        let opcode = data.opcode;
        let ty = opcode.ty;
        let mut access = Access {
            kind: AccessKind::Store,
            space: opcode.space,
            ty,
            elements: if opcode.op.is_texture() { 4 } else { opcode.vector },
            is_of_bfloats: opcode.has(Flags::BF16),
            extension: if ty.is_signed() { Extension::Sign(ty.bits()) } else { Extension::Zero },
            base: Base::None,
            indices: SmallVec::new(),
            offset: 0,
            values: SmallVec::new(),
            operands: SmallVec::new(),
        };
        if opcode.op.is_texture() {
            access.kind = AccessKind::Texture(opcode.src_ty);
            let [texture, coordinates @ ..] = &data.args[..] else { return Err("a texture takes coordinates") };
            let Value::Wide(base) = self.value(texture, Type::B64)? else { return Err("a texture has 64 bits") };
            access.base = Base::Wide(base);
            for coordinate in coordinates {
                access.operands.push(self.value(coordinate, opcode.src_ty)?);
            }
            decoded.kind = Kind::Texture;
        } else {
            let address = data.address().ok_or("the address is missing")?;
            self.address(address, &mut access)?;
            decoded.kind = Kind::Access;
        }
        match opcode.op {
            Op::Ld => access.kind = AccessKind::Load { speculative: opcode.has(Flags::SPEC) },
            Op::Atom | Op::Red => {
                access.kind = AccessKind::Atomic(opcode.atomic.ok_or("the atomic's operation is missing")?);
                let operands = data.args.iter().skip(1).flat_map(|operand| match operand {
                    Operand::List(list) => &list[..],
                    operand => core::slice::from_ref(operand),
                });
                for operand in operands {
                    let value = self.value(operand, ty)?;
                    let wide = matches!(value, Value::Wide(_));
                    if wide != is_wide(ty) || matches!(value, Value::Predicate(..)) {
                        return Err("an operand has another width");
                    }
                    access.operands.push(value);
                }
            }
            _ => {}
        }
        if opcode.op == Op::St {
            let stored = data.args.get(1).ok_or("the value is missing")?;
            let sources: &[Operand] =
                if let Operand::List(list) = stored { list } else { core::slice::from_ref(stored) };
            for operand in sources {
                access.values.push(self.value(operand, ty)?);
            }
        } else {
            for &reg in &data.dsts {
                access.values.push(self.frame.reg(reg));
            }
        }
        let count = access.values.len();
        let may_be_absent = matches!(opcode.op, Op::Red | Op::Atom) && count == 0;
        if count != usize::from(access.elements) && !may_be_absent {
            return Err("the number of elements differs");
        }
        if access.values.iter().any(|value| matches!(value, Value::Predicate(..))) {
            return Err("a predicate cannot be in memory");
        }
        decoded.side = self.builder.program.accesses.len() as u32;
        self.builder.program.accesses.push(access);
        Ok(())
    }

    fn address(&mut self, address: &Address, access: &mut Access) -> Result<(), Refusal> {
        access.offset = address.offset;
        access.base = match address.base {
            AddressBase::Absolute => Base::None,
            AddressBase::Reg(reg) => match self.frame.reg(reg) {
                Value::Wide(slot) => Base::Wide(slot),
                Value::Word(slot) => Base::Word(slot),
                Value::Predicate(..) => return Err("an address cannot be a predicate"),
            },
            AddressBase::Symbol(symbol) => {
                match self.builder.symbols.address(self.frame.func, self.body, symbol).ok_or("no such symbol")? {
                    SymbolAddress::Fixed(fixed) => {
                        access.offset = access.offset.wrapping_add(fixed as i64);
                        Base::None
                    }
                    SymbolAddress::Local(offset) => Base::Wide(self.frame.local(offset, true)),
                }
            }
        };
        for &(reg, scale) in &address.terms {
            let ty = self.body.reg_types[reg];
            access.indices.push(match self.frame.reg(reg) {
                Value::Wide(slot) => Index::Wide(slot, scale),
                Value::Word(slot) if ty.is_signed() => Index::Signed(slot, ty.bits(), scale),
                Value::Word(slot) => Index::Unsigned(slot, ty.bits(), scale),
                Value::Predicate(..) => return Err("an index cannot be a predicate"),
            });
        }
        Ok(())
    }
}

//! Addresses and the memory that they name.

use alloc::format;
use alloc::string::String;

use crate::ir::{Address, AddressBase, Function, Inst, InstData, Op, ParamType, Space, Symbol, Type, TypeClass};
use crate::text::{Part, quoted};

use super::Verifier;

/// Bytes that one lane can move at once.
const WIDEST_ACCESS: u32 = 16;

impl Verifier<'_> {
    pub(super) fn memory(&mut self, func: &Function, inst: Inst, data: &InstData) {
        let opcode = data.opcode;
        if matches!(opcode.op, Op::Ld | Op::St) && u32::from(opcode.vector) * opcode.ty.bytes() > WIDEST_ACCESS {
            let message = format!("`{opcode}` would move more than {WIDEST_ACCESS} bytes a lane");
            self.report(func, inst, Part::Opcode, "wrong-type", message);
        }
        let Some(position) = data.args.iter().position(|arg| arg.as_address().is_some()) else { return };
        let Some(address) = data.args[position].as_address() else { return };
        let part = Part::Operand(position);
        self.address(func, inst, part, address, opcode.space);
        let space = opcode.space.or_else(|| self.base_space(func, address.base));
        if let Some(space) = space
            && space.is_read_only()
            && opcode.op.writes_memory()
        {
            let message = format!("{space} memory is read-only");
            self.report(func, inst, part, "read-only", message);
        }
        if matches!(opcode.op, Op::Atom | Op::Red) && space == Some(Space::Local) {
            let message = String::from("local memory belongs to one thread; atomics go to global or shared memory");
            self.report(func, inst, part, "wrong-space", message);
        }
    }

    fn address(&mut self, func: &Function, inst: Inst, part: Part, address: &Address, space: Option<Space>) {
        match address.base {
            AddressBase::Reg(reg) => {
                let Some(&ty) = func.reg_types.get(reg) else {
                    return self.report(func, inst, part, "unknown-name", format!("there is no register {reg}"));
                };
                // The windows of these spaces begin at 0 and are small.
                let small = matches!(space, Some(Space::Shared | Space::Local | Space::Const | Space::Param));
                if !is_whole(ty) || !(ty.bits() == 64 || (small && ty.bits() == 32)) {
                    let widths = if small { "32 or 64" } else { "64" };
                    let message = format!(
                        "an address is counted from an integer register of {widths} bits; {} has type {ty}",
                        quoted(&func.regs[reg].name)
                    );
                    self.report(func, inst, part, "type-mismatch", message);
                }
            }
            AddressBase::Symbol(symbol) => {
                if !self.symbol_exists(func, symbol) {
                    self.report(func, inst, part, "unknown-name", String::from("there is no such array"));
                }
            }
            AddressBase::Absolute => {}
        }
        if let (Some(space), Some(base)) = (space, self.base_space(func, address.base))
            && space != base
        {
            let message = format!("this is {base} memory, but the opcode names {space}");
            let diagnostic = self.error(func, inst, part, "wrong-space", message);
            self.diagnostics.push(diagnostic.with_hint(format!("write `.{base}`")));
        }
        for &(reg, _) in &address.terms {
            match func.reg_types.get(reg) {
                Some(&ty) if is_whole(ty) => {}
                Some(ty) => {
                    let name = quoted(&func.regs[reg].name);
                    let message = format!("an index is an integer; {name} has type {ty}");
                    self.report(func, inst, part, "type-mismatch", message);
                }
                None => self.report(func, inst, part, "unknown-name", format!("there is no register {reg}")),
            }
        }
    }

    /// The memory that a base lies in, where that is certain: a declared array.
    fn base_space(&self, func: &Function, base: AddressBase) -> Option<Space> {
        match base {
            AddressBase::Symbol(Symbol::Global(id)) => self.module.globals.get(id).map(|global| global.space),
            AddressBase::Symbol(Symbol::Array(id)) => func.arrays.get(id).map(|array| array.space),
            AddressBase::Symbol(Symbol::Param(_)) => Some(Space::Param),
            AddressBase::Reg(_) | AddressBase::Absolute => None,
        }
    }

    fn symbol_exists(&self, func: &Function, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Global(id) => self.module.globals.is_valid(id),
            Symbol::Array(id) => func.arrays.is_valid(id),
            Symbol::Param(index) => {
                func.params.get(index as usize).is_some_and(|param| matches!(param.ty, ParamType::Array(..)))
            }
        }
    }

    /// Is the symbol an array of at least that many elements of that width?
    pub(super) fn has_elements(&self, func: &Function, symbol: Symbol, ty: Type, len: u32) -> bool {
        let found = match symbol {
            Symbol::Global(id) => self.module.globals.get(id).map(|global| (global.ty, Some(global.len))),
            Symbol::Array(id) => func.arrays.get(id).map(|array| (array.ty, array.len)),
            Symbol::Param(index) => match func.params.get(index as usize).map(|param| param.ty) {
                Some(ParamType::Array(ty, len)) => Some((ty, Some(len))),
                _ => None,
            },
        };
        found.is_some_and(|(of, count)| of.agrees_with(ty) && count.is_none_or(|count| count >= len))
    }
}

/// Can it count: no predicate, no float?
fn is_whole(ty: Type) -> bool {
    matches!(ty.class(), TypeClass::Bits | TypeClass::Signed | TypeClass::Unsigned)
}

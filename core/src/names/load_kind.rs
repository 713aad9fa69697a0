//! Kinds of loads: their properties that decide, with the address, about a loaded value.

use crate::alias::AliasClass;
use crate::ir::{Flags, Function, InstData, Op, Opcode, Operand, Type};

/// The properties of a load that decide, with its address, about its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LoadKind {
    /// The load without marks that change no value. Bits that fill their register have no sign.
    pub opcode: Opcode,
    /// Bits of the register, which a narrower type is extended to.
    pub width: u32,
    /// The class of memory that is read.
    pub class: AliasClass,
}

impl LoadKind {
    /// The kind of a load, or of the loads that read just what a store has written. None for other instructions, for
    /// accesses that are made anew each time, and for stores of a part of a register.
    pub fn of_access(func: &Function, data: &InstData, class: AliasClass) -> Option<LoadKind> {
        let opcode = data.opcode;
        if opcode.reads_anew() {
            return None;
        }
        let width = match opcode.op {
            Op::Ld => func.reg_types[*data.dsts.first()?].bits(),
            Op::St => data.args.get(1).map_or(opcode.ty.bits(), |stored| stored_width(func, stored, opcode.ty)),
            _ => return None,
        };
        let is_whole = width == opcode.ty.bits();
        if opcode.op == Op::St && !is_whole {
            return None;
        }
        let ty = if is_whole { opcode.ty.as_bits() } else { opcode.ty };
        let plain = Opcode {
            flags: opcode.flags & Flags::NC,
            vector: opcode.vector,
            ..Opcode::memory(Op::Ld, opcode.space, ty)
        };
        Some(LoadKind { opcode: plain, width, class })
    }

    /// Does nothing write the memory while the kernel runs? The spaces `const` and `param` and
    /// `.nc` promise that.
    pub fn is_never_written(&self) -> bool {
        self.opcode.has(Flags::NC) || self.opcode.space.is_some_and(|space| space.is_read_only())
    }
}

/// Bits of the registers that a store's operand is read from. A constant has those of the store's type.
fn stored_width(func: &Function, stored: &Operand, ty: Type) -> u32 {
    let mut widest = ty.bits();
    stored.for_each_reg(&mut |reg| widest = widest.max(func.reg_types[reg].bits()));
    widest
}

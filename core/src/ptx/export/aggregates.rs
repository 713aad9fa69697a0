//! Aggregates that device functions take and return by value.
//!
//! ```text
//! func f(a: ptr.local)                    .func f(.param .align 4 .b8 a[8])
//!     x = ld.local.u32 [a+4]         →    ld.param.u32 %x, [a+4];
//!
//!     st.local.u32 [s], 1                 st.local.u32 [s], 1;
//!     call f(s)                           .param .align 4 .b8 param0[8];
//!                                         ld.local.b32 %_t1, [s]; st.param.b32 [param0], %_t1; …
//!                                         call.uni f, (param0);
//! ```
//!
//! A function accesses an aggregate by the parameter's name where each use of its pointer is such
//! an access. Otherwise an argument has an address, where PTX has copied it, and a result is a
//! local array that each `ret` copies. A caller copies from and to the local array that it passes
//! here; `ptxas` keeps such an array in registers.
//!
//! Linear in the uses of the pointers and in the bytes of the aggregates.
//!
//! Source: PTX ISA, "Abstracting the ABI" and "mov" (the address of a parameter).

use super::address::place;
use super::function::Writer;
use crate::ir::{AddressBase, Extent, Flags, Function, InstData, Op, Operand, ParamData, Passing, Reg, Type};
use alloc::format;

impl Writer<'_> {
    /// Copies an aggregate from one memory and address to another.
    pub fn copy_aggregate(&mut self, extent: Extent, (from, source): (&str, &str), (to, target): (&str, &str)) {
        let widest = extent.align.clamp(1, 8);
        let mut offset = 0;
        while offset < extent.bytes {
            let mut bytes = widest;
            while bytes > extent.bytes - offset || !offset.is_multiple_of(bytes) {
                bytes /= 2;
            }
            let ty = Type::B64.with_bits(bytes * 8).unwrap_or(Type::B8);
            let piece = self.temporary(if bytes == 1 { Type::B16 } else { ty });
            self.line(&format!("ld.{from}.{ty} {piece}, {};", place(source, offset.into())));
            self.line(&format!("st.{to}.{ty} {}, {piece};", place(target, offset.into())));
            offset += bytes;
        }
    }
}

/// Does the function only read an argument, or only write a result, at offsets that are known?
pub(super) fn is_accessed_by_name(func: &Function, param: &ParamData) -> bool {
    let Some(reg) = param.reg else { return false };
    let access = if matches!(param.passing, Passing::Aggregate(_)) { Op::Ld } else { Op::St };
    let mut insts = func.block_order().flat_map(|block| func.block_insts(block)).map(|inst| &func.insts[inst]);
    insts.all(|inst| {
        let mut uses = 0;
        inst.for_each_use(|used| uses += u32::from(used == reg));
        !inst.dsts.contains(&reg) && (uses == 0 || uses == 1 && is_plain_access(inst, access, reg))
    })
}

/// Is it an ordinary load or store at a constant distance from the register?
fn is_plain_access(inst: &InstData, access: Op, reg: Reg) -> bool {
    let is_at_register = |operand: &Operand| match operand {
        Operand::Address(address) => address.base == AddressBase::Reg(reg) && address.terms.is_empty(),
        _ => false,
    };
    inst.opcode.op == access && inst.opcode.flags == Flags::default() && inst.args.iter().any(is_at_register)
}

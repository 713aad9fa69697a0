//! A filter that tells quickly that nothing on the way here can be what an instruction is.
//!
//! ```text
//! ld.shared   bits 0, 20, 27 and one of 33…63 for its root and type
//! @p add      bits 0, 32 and one of 33…63
//! ```
//!
//! Every instruction has a mask of properties; a block begins with what its immediate dominator ended with, and each
//! instruction adds its mask. Where a bit of an instruction's mask is missing, no instruction above has all its
//! properties. Where none is missing, the table has to be asked: a Bloom filter with one hash.
//!
//! Source: ptxas page, Instruction Class Bitmask; B. Bloom, Space/time trade-offs in hash coding, CACM 1970.

use crate::ir::{InstData, Space, TypeClass};

/// Properties of instructions, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Mask(u64);

impl Mask {
    /// The mask of an instruction.
    pub fn of(data: &InstData) -> Mask {
        let opcode = data.opcode;
        let space = match opcode.space {
            None => 0,
            Some(Space::Shared | Space::Local) => 1 << 20,
            Some(_) => 1 << 21,
        };
        let reads_memory = u64::from(opcode.op.reads_memory()) << 27;
        let is_predicate = u64::from(opcode.ty.class() == TypeClass::Pred) << 29;
        let is_guarded = u64::from(data.guard.is_some()) << 32;
        let root = 33 + (opcode.op as u64 * 7 + opcode.ty as u64) % 31;
        Mask(1 | space | reads_memory | is_predicate | is_guarded | 1 << root)
    }

    /// With the properties of another one.
    pub fn with(self, other: Mask) -> Mask {
        Mask(self.0 | other.0)
    }

    /// May something with these properties be among them?
    pub fn may_hold(self, wanted: Mask) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

//! Events of the value table of a walk over the dominator tree: scopes open and close, registers come to hold numbers.

use alloc::string::String;

use crate::ir::{Block, Inst};

/// One thing that happens to a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableEvent {
    /// The walk comes to a block. Values may be taken from the blocks that lie between `reach`, which dominates it, and
    /// the block itself.
    Opened {
        /// The block.
        block: Block,
        /// The outermost block within reach.
        reach: Block,
    },
    /// From here on a register holds the value of a number.
    Held {
        /// The number.
        number: u32,
        /// Expression that the number stands for, with the numbers of operands as `v5`.
        expression: String,
        /// Its holder.
        holder: Holder,
    },
    /// The walk leaves a block and takes back what has been entered for it.
    Closed {
        /// The block.
        block: Block,
    },
}

/// A register that holds the value of a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The register's name.
    pub name: String,
    /// The block in which it comes to hold it, and whose scope takes it back.
    pub block: Block,
    /// The instruction that writes it; none where control brings it.
    pub inst: Option<Inst>,
}

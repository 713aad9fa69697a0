//! How much of anything a program may have. A text that asks for more is refused with an error at the place, so that
//! no text, wherever it came from, makes the laboratory run out of memory.

/// Bytes of source text.
pub const MAX_SOURCE_BYTES: usize = 16 << 20;
/// Bytes of a name.
pub const MAX_NAME_BYTES: usize = 4096;
/// Bytes of one array, buffer or texture.
pub const MAX_ARRAY_BYTES: u64 = 256 << 20;
/// Bytes of a shared array: what a block has on the largest machine, twice.
pub const MAX_SHARED_BYTES: u64 = 512 << 10;
/// Parameters of a kernel or function.
pub const MAX_PARAMS: usize = 1024;
/// Targets of a `switch` or of a call with several exits.
pub const MAX_TARGETS: usize = 4096;
/// Operands of one instruction.
pub const MAX_OPERANDS: usize = 1024;
/// Index terms of one address.
pub const MAX_ADDRESS_TERMS: usize = 16;
/// Exits of a function.
pub const MAX_EXITS: u32 = 4096;
/// Cycles of one `work`: what the simulator counts for one issue.
pub const MAX_WORK_CYCLES: u64 = 65_535;
/// Blocks of a grid along x.
pub const MAX_GRID_X: u64 = (1 << 31) - 1;
/// Blocks of a grid along y and z.
pub const MAX_GRID_YZ: u64 = 65535;
/// Threads of a block, in all.
pub const MAX_BLOCK_THREADS: u64 = 1024;

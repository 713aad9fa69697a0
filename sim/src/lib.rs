//! The simulator: a multiprocessor of warps that run one launch, with its memory, caches, scheduler and counts.
//!
//! ```text
//! module ── decode ──▶ program ┐
//! launch ── bind ────▶ buffers ┴▶ warps issue in turn ──▶ memory, cycles, counts by instruction, block and launch
//! ```
//!
//! Arithmetic is PTX's, to the bit. Where PTX leaves a choice, or bounds an error and not the bits, this holds:
//!
//! - *Approximate functions.* `sin cos ex2 lg2 rsqrt` of f32 are the double-precision function of the `libm` crate,
//!   rounded once; `rsqrt.f64` is one over the root, each rounded. `div sqrt rcp` are correctly rounded in all their
//!   forms. See [`arith::approx`].
//! - *Sums of products*: `mul` and `add` round each by itself, where an assembler may fuse the two unless they name a
//!   rounding.
//! - *Bit fields*: positions and lengths of `bfe` and `bfi` count modulo 256.
//! - *NaN*: arithmetic, and a `cvt` between float types, yields one NaN of each type: 0x7FFF, 0x7FFFFFFF,
//!   0x7FFFFFFFFFFFFFFF. Moves, memory, calls and the launch's own values keep the bits of any.
//! - *Integer division and remainder* by zero give all ones; the least number by -1 wraps (quotient) or gives 0
//!   (remainder).
//! - *Registers* that no path has assigned are 0, and so are shared and local memory at their start.
//! - *Textures* are loads: the texel whose column and row the coordinates fall into, clamped to the edge, nothing
//!   interpolated. Coordinates count texels.
//! - *Atomics* of one warp happen in lane order, warps in the order in which they issue, unless a
//!   schedule says otherwise.
//! - *Addresses*: nothing is clamped; an access outside its buffer ends the launch, except for `ld.spec`, which gives
//!   0.
//! - *Special registers*: every clock and timer is the cycle at which it is read. There is one
//!   multiprocessor, `%smid` 0, with 32 warps; `%gridid`, `%envreg` and `%reserved_smem_offset` are
//!   0.
//! - *`trap`* ends the launch with an error. An opaque instruction (`ptx "…"`) is refused before the launch.
//! - *Draws* of an `input` depend on seed, input, thread and the number of the draw alone: [`random`].
//!
//! # Execution model
//!
//! Lanes of a warp make progress independently, as on Volta and later ([`Groups`]):
//!
//! - Lanes that part run one side after the other, the true side first, and meet at the immediate post-dominator.
//! - A group of lanes that waits lets the others of its warp run; so does one that spins, after [`Settings::quantum`]
//!   volatile, relaxed, acquiring or atomic accesses, or at a `nanosleep`. Plain loads are no sign of spinning.
//! - When no other group can run, lanes at a meeting point go on without the missing ones.
//! - Votes, shuffles, matches, reductions and `bar.warp.sync` wait for the lanes of their member mask that have not
//!   exited, at any instruction of the same opcode and mask. Without a mask they act over the lanes that are active.
//! - A barrier for all threads waits for the threads that have not exited; one with a count for its count, in whole
//!   warps. Lanes of a warp meet an aligned barrier at one instruction.
//! - [`Scheduling::Stack`] is the model before Volta: lanes that part run to where they meet and
//!   cannot wait for each other.
//!
//! Where a GPU may differ: it may run sides in another order, let lanes meet earlier, later or not at all, and switch
//! between groups at any instruction. [`Settings::schedule`] draws other orders of warps, sides and atomics.
//!
//! Bounds: fuel in warp instructions, [`MEMORY_LIMIT`] bytes of buffers and globals, [`THREAD_LIMIT`] threads,
//! [`CALL_DEPTH_LIMIT`] calls; each with an error that names it.
//!
//! Source: PTX ISA, chapter on instructions; [`warpscope_program::machine`] for costs. `gpu/README.md` compares the
//! memory that a real GPU leaves, form by form and program by program.

#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod access;
pub mod arith;
mod bind;
mod cache;
mod decode;
mod error;
mod evaluate;
mod groups;
pub mod lanes;
mod launches;
mod memory;
mod nearest;
pub mod random;
mod result;
mod run;
mod settings;
mod statistics;
mod together;
mod watch;

use warpscope_program::{graph, ir, machine, text};

pub use bind::{
    Argument, Bound, MEMORY_LIMIT, Pointee, THREAD_LIMIT, bind, derive_draws, derive_texture, has_knob, settled,
};
pub use decode::{CALL_DEPTH_LIMIT, DecodedInst, Kind, Program, Value};
pub use error::{ErrorKind, ErrorPlace, SimError};
pub use evaluate::evaluate;
pub use groups::{Entry, Groups, NOWHERE, Stance};
pub use launches::{launches_for, retyped_launch, settings_of, settle_launches};
pub use nearest::Nearest;
pub use result::{BlockResult, BlockStatistics, BufferDump, InstResult, RunResult};
pub use run::{Progress, Simulation, WarpView};
pub use settings::{DEFAULT_FUEL, DEFAULT_QUANTUM, Knob, Scheduling, Settings, parse_dim, parse_warp};
pub use statistics::{Counts, IdleCause, Statistics};
pub use together::FrameBase;
pub use watch::{Nobody, Watcher};

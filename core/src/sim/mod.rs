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
//! - *NaN* is one value wherever its bits can be seen: 0x7FFF, 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF.
//! - *Integer division and remainder* by zero give all ones; the least number by -1 wraps (quotient) or gives 0
//!   (remainder).
//! - *Registers* that no path has assigned are 0, and so are shared and local memory at their start.
//! - *Textures* are loads: the texel whose column and row the coordinates fall into, clamped to the edge, nothing
//!   interpolated. Coordinates count texels.
//! - *Atomics* of one warp happen in lane order, warps in the order in which they issue.
//! - *Votes, matches and shuffles* see the active lanes that the asking lane's member mask names; nobody waits for
//!   others. A shuffle from anybody else gives the asking lane's own value.
//! - *Barriers* count every thread of the block: one that has ended, or stands at another barrier, never comes, and a
//!   block that can never go on is an error that names the barrier's block.
//! - *Addresses*: nothing is clamped; an access outside its buffer ends the launch, except for `ld.spec`, which gives
//!   0.
//! - *Draws* of an `input` depend on seed, input, thread and the number of the draw alone: [`random`].
//!
//! Bounds: fuel in warp instructions, [`MEMORY_LIMIT`] bytes of buffers and globals, [`THREAD_LIMIT`] threads,
//! [`CALL_DEPTH_LIMIT`] calls; each with an error that names it.
//!
//! Source: PTX ISA, chapter on instructions; [`crate::machine`] for costs. What a real GPU leaves in memory has been
//! compared, form by form and program by program: `gpu/README.md`.

mod access;
pub mod arith;
mod bind;
mod cache;
mod decode;
mod error;
mod evaluate;
pub mod lanes;
mod launches;
mod memory;
pub mod random;
mod reconvergence;
mod result;
mod run;
mod settings;
mod statistics;
mod together;
mod watch;

pub use bind::{Argument, Bound, MEMORY_LIMIT, THREAD_LIMIT, bind, has_knob, settled};
pub use decode::{CALL_DEPTH_LIMIT, DecodedInst, Kind, Program, Value};
pub use error::{ErrorKind, ErrorPlace, SimError};
pub use evaluate::evaluate;
pub use launches::{settings_of, settle_launches};
pub use reconvergence::{Entry, NOWHERE, Reconvergence, SimtStack};
pub use result::{BlockResult, BlockStatistics, BufferDump, InstResult, RunResult};
pub use run::{Progress, Simulation, WarpView};
pub use settings::{DEFAULT_FUEL, Knob, Settings, parse_dim, parse_warp};
pub use statistics::{Counts, IdleCause, Statistics};
pub use together::FrameBase;
pub use watch::{Nobody, Watcher};

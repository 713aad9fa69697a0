//! The simulator.

mod access;
pub mod arith;
mod bind;
mod cache;
mod decode;
mod error;
mod evaluate;
pub mod lanes;
mod memory;
pub mod random;
mod reconvergence;
mod result;
mod run;
mod settings;
mod statistics;
mod together;
mod watch;

pub use bind::{Argument, Bound, MEMORY_LIMIT, THREAD_LIMIT, bind, has_knob};
pub use decode::{CALL_DEPTH_LIMIT, DecodedInst, Kind, Program};
pub use error::{ErrorKind, ErrorPlace, SimError};
pub use evaluate::evaluate;
pub use reconvergence::{Entry, NOWHERE, Reconvergence, SimtStack};
pub use result::{BlockResult, BlockStatistics, BufferDump, InstResult, RunResult};
pub use run::{Progress, Simulation, WarpView};
pub use settings::{DEFAULT_FUEL, Knob, Settings, parse_dim, parse_warp};
pub use statistics::{Counts, IdleCause, Statistics};
pub use together::FrameBase;
pub use watch::{Nobody, Watcher};

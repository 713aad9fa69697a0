//! Data flow through a function: the problems that every pass shares.
//!
//! ```text
//! Joins           where different definitions of a register meet
//! Values          which definition each use sees, joins included: the SSA lens
//!  ├─▶ ValueUses            the other way round
//!  ├─▶ ReachingDefinitions  the set of definitions behind a value
//!  └─▶ Divergence           which values and branches differ between the lanes of a warp, and why
//! LaneGroups      which lanes run together what depends on that
//! Liveness        which registers are read later
//! Dependences     which instructions of a block must stay behind which
//! EndingCalls     calls that lanes may not come back from
//! FloatResults    registers that arithmetic alone computes, whose NaN is canonical
//! vectors         registers that are computed side by side
//! ```

mod dependences;
mod divergence;
mod ending_calls;
mod joins;
mod lane_groups;
mod liveness;
mod nans;
mod reaching;
mod uses;
mod values;
mod vectors;

pub(crate) use dependences::Dependences;
pub use divergence::{Cause, Divergence, DivergenceInput, Explanation, Source, Subject};
pub use ending_calls::{EndingCall, EndingCalls};
pub(crate) use lane_groups::{Allowance, LaneGroups, convergent_blocks};
pub use liveness::Liveness;
pub(crate) use nans::FloatResults;
pub use reaching::{ReachingDefinition, ReachingDefinitions};
pub use uses::{ValueUse, ValueUses};
pub use values::{Definition, JoinArg, Value, ValueNames, Values};
pub(crate) use vectors::{Elements, MOST_ELEMENTS, Seedbeds, VectorInput, vectors};

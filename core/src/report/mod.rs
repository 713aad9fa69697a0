//! Reports of a session or a run, as data that the command line prints with `--json` and the npm package returns.
//!
//! Of `warpscope opt`:
//!
//! ```text
//! { "passes": [ { "name", "changed", "micros", "before": { "blocks", "instructions" }, "after": { … }, "error"?,
//!                 "remarks": [ { "kind": "applied" | "missed", "rule", "at", "message", "facts": { … } } ] } ],
//!   "text": the whole module after the last pass }
//! ```
//!
//! `warpscope sim` prints a [`RunResult`](crate::sim::RunResult), with `"memory": { name:
//! [elements] }` where a dump is asked for, and with
//!
//! ```text
//! "profile": { function: { "edges": [ { "from", "to", "lanes", "warps" } ],
//!              "paths": [ { "blocks": [], "lanes", "warps" } ],
//!              "zeros": [ { "block", "register", "write", "lanes", "warps", "zero_lanes", "zero_warps" } ],
//!              "joint": [ { "writes": [ { "block", "register", "write" } ],
//!                           "lanes", "warps", "zero_lanes", "zero_warps" } ],
//!              "blocks": [ { "block", "executions", "diverged" } ] } }
//! ```
//!
//! where the profile is: `lanes` are executions by threads, `warps` executions by at least one lane of a warp, as are
//! the `executions` of a block; at its end the lanes parted in `diverged` of them. Writes that stand under `joint` are
//! those of a short vector, or of some of its elements; all of them were zero in the `zero_…`.
//!
//! `warpscope inspect` prints what passes show:
//!
//! ```text
//! { "inspections": [ { "pass", "function", "stop": rewrites done, "title", "lead", "aside",
//!                      "choices": [], "notes": [],
//!                      "tables": [ { "name", "columns": [], "rows": [] } ], "trail": [], "legend": [], "marks": [],
//!                      "strands": [], "graphs": [],
//!                      "timeline": { "course", "first", "moments": [] }, "offers": [] } ] }
//! ```
//!
//! where anchors name blocks and instructions by the numbers that a session gives them.
//!
//! Ids become names here, so a report outlives its session. JSON has no infinities and no NaN: they are strings.

mod demands;
mod estimate_runs;
mod estimates;
mod inspect;
mod networks;
mod optimize;
mod simulate;
mod value_events;
mod value_names;

pub use crate::facade::find_kernel;
pub use demands::DemandReport;
pub use estimate_runs::{EstimateError, ExactRuns, count_reuse};
pub use estimates::{EstimateReport, EstimateRequest};
pub use inspect::{COUNTING_FUEL, InspectReport, InspectRequest};
pub use optimize::{FactReport, OptimizeReport, PassReport, RemarkReport};
pub use simulate::{
    BlockReport, DUMP_LIMIT, EdgeReport, Element, JointReport, PathReport, ProfileReport, SimulateReport, Wanted,
    WriteReport, ZeroReport, measure, simulate,
};
pub use value_events::{ValueEventReport, ValueEvents};
pub use value_names::VngReport;

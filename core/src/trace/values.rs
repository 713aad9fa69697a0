//! Events of a value name graph: names are followed backward, compared, and facts and counts spread over their graph.
//!
//! ```text
//! Seed    u: x = ld.s32 [A + i * 4]     its value is followed
//! Name    head → A[i] is A[i + 1]       a name changes along an edge
//! End     head → A[0] ends              nothing above is available
//! Apart   A[x], A[y + 1]                they are not one value
//! Class   A[x], A[y]                    they are one
//! Fact    available at m: may
//! Entry   30 lanes come with the value  ┐
//! Exit    40 lanes need it              │ of the region that a profile leaves uncertain
//! Flow    25 of 30 lanes can pass       │
//! Bound   cmp4: 60 to 95                ┘
//! ```
//!
//! Names and vertices are those of the graph that the events are of; its narration makes them sentences.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, chapters 2 to 4.

use alloc::vec::Vec;

use super::{Event, Topic, Trace};
use crate::ir::{Block, Inst};
use crate::names::Name;

/// Reason why a name is not followed any further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameEnd {
    /// It is a constant.
    Constant,
    /// It is one value alone.
    Value,
    /// The function begins.
    Entry,
    /// The definition of one of its parts cannot be replaced.
    Definition,
    /// Memory that one of its addresses reads may be written.
    Overwritten,
    /// The result has no name: too many terms, operations or levels of memory.
    Language,
    /// The window ends.
    Window,
    /// The function has too many names.
    Limit,
}

/// Question that a fact answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FactKind {
    /// Is the value available?
    Available,
    /// Will a user be reached?
    Anticipated,
}

/// One thing that happens to names and their values.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueEvent {
    /// The value of an instruction is followed.
    Seed {
        /// The instruction.
        inst: Inst,
        /// Its name.
        name: Name,
        /// Whether it could reuse the value; otherwise it only makes it known.
        is_user: bool,
    },
    /// A name is another one before the start of a block, or before an instruction.
    Name {
        /// The block.
        at: Block,
        /// The predecessor along whose edge; the block itself for an instruction.
        from: Block,
        /// The instruction.
        inst: Option<Inst>,
        /// The name.
        name: Name,
        /// The name above.
        above: Name,
    },
    /// A name is not followed any further.
    End {
        /// The block; None for the function's entry.
        at: Option<Block>,
        /// The predecessor along whose edge, where it is one edge.
        from: Option<Block>,
        /// The name.
        name: Name,
        /// The reason.
        end: NameEnd,
    },
    /// Two names are not one value.
    Apart {
        /// The names.
        names: (Name, Name),
        /// The two names above that differ; None if one of the names ends, or both where the function begins.
        because: Option<(Name, Name)>,
    },
    /// Names are one value.
    Class {
        /// At least two.
        names: Vec<Name>,
    },
    /// A fact about a vertex changes.
    Fact {
        /// Number of the vertex.
        vertex: u32,
        /// The question.
        kind: FactKind,
        /// `must`, `may` or `no`.
        answer: &'static str,
    },
    /// An edge leads into the region of a value.
    Entry {
        /// Number of the value.
        value: usize,
        /// The block that lanes come from; None where the name comes from nowhere, or a run begins.
        from: Option<Block>,
        /// Number of the vertex inside.
        vertex: u32,
        /// Lanes.
        count: u64,
        /// Whether they come with the value.
        is_available: bool,
    },
    /// An edge leads out of the region of a value.
    Exit {
        /// Number of the value.
        value: usize,
        /// Number of the vertex inside.
        vertex: u32,
        /// The block that lanes go to; None where they end in a callee.
        to: Option<Block>,
        /// Lanes.
        count: u64,
        /// Whether they need the value.
        is_needed: bool,
    },
    /// Lanes that can pass an edge of a region on their way from entries to exits that need the value.
    Flow {
        /// Number of the value.
        value: usize,
        /// Whether they come with the value.
        is_available: bool,
        /// Number of the vertex that they leave.
        vertex: u32,
        /// The block that they go to.
        to: Block,
        /// Lanes of the flow.
        flow: u64,
        /// Lanes that pass the edge.
        capacity: u64,
    },
    /// An estimator bounds the reuse of a value.
    Bound {
        /// Number of the value.
        value: usize,
        /// Name of the estimator.
        estimator: &'static str,
        /// The lower bound.
        low: u64,
        /// The upper bound.
        high: u64,
    },
}

/// Records an event if the trace wants it.
pub fn record_value_event(trace: &mut dyn Trace, event: impl FnOnce() -> ValueEvent) {
    if trace.wants(Topic::Value) {
        trace.record(Event::Value(event()));
    }
}

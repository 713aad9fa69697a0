//! Events that doors report, and the trace that keeps them.
//!
//! ```text
//! edit     Rewrite(remark, edits)    a change and its reason        ┐
//!          Missed(remark)            a refused opportunity          │──▶ Trace: the journal, or nothing
//! passes   Table(event)              a step of a value table        │
//! query    Question(event)           a step of a question           │
//! vng      Value(event)              a step of a value's name       ┘
//! ```
//!
//! A door asks the trace first whether an event is wanted ([`Trace::wants`]), so that remarks and
//! sentences are built only where somebody keeps them. The question is asked at run time: each pass
//! is compiled once.

mod edit;
mod questions;
mod remark;
mod table;
mod values;

use alloc::vec::Vec;

pub use edit::{Edit, Place, Touched, apply_all, undo_all};
pub use questions::{Answer, Query, QuestionEvent, QuestionId};
pub use remark::{Fact, Remark, RemarkKind, sentence};
pub use table::{Holder, TableEvent};
pub use values::{FactKind, NameEnd, ValueEvent, record_value_event};

/// One thing that a door reports.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A complete rewrite: its reason and what changed.
    Rewrite(Remark, Vec<Edit>),
    /// A refused opportunity.
    Missed(Remark),
    /// A step of a value table.
    Table(TableEvent),
    /// A step of a question.
    Question(QuestionEvent),
    /// A step of a value name graph.
    Value(ValueEvent),
}

/// Kinds of events, which a trace may want or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Refused opportunities.
    Missed,
    /// Steps of value tables.
    Table,
    /// Steps of questions.
    Question,
    /// Steps of value name graphs.
    Value,
}

/// The receiver of events.
pub trait Trace {
    /// Are rewrites kept? If not, nothing else is wanted either.
    fn is_on(&self) -> bool;

    /// Is there still room for an event of that kind? The event follows if so, and is counted as dropped otherwise.
    fn wants(&mut self, topic: Topic) -> bool;

    /// Keeps an event.
    fn record(&mut self, event: Event);
}

/// The trace that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    fn is_on(&self) -> bool {
        false
    }

    fn wants(&mut self, _: Topic) -> bool {
        false
    }

    fn record(&mut self, _: Event) {}
}

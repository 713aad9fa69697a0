//! Knobs, pipelines and runs of passes, and the interface of their inspections.

pub(in crate::pass) mod inspector;
pub(in crate::pass) mod knob;
pub(in crate::pass) mod pipeline;
pub(in crate::pass) mod runner;

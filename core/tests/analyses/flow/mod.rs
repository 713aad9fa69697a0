//! Dataflow problems against their definitions.

mod divergence;
mod divergence_reference;
mod liveness;
pub mod random_program;
mod reaching;
mod values;

//! Graph analyses against their definitions.

mod control_dependence;
mod dominators;
mod frequency;
mod loops;
mod max_flow;
mod orders;
mod path_numbering;
pub mod random_graph;

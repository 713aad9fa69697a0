//! Graph analyses against their definitions.

mod control_dependence;
mod dominators;
mod frequency;
mod loops;
mod orders;
mod path_numbering;
pub mod random_graph;

//! Graph analyses against their definitions.

mod control_dependence;
mod dominators;
mod loops;
mod orders;
mod random_graph;

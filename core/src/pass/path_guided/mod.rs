//! What passes that are guided by path profiles share: the graph in which every critical edge is a place of its own, and the
//! executed paths as sets over it, measured, declared, or estimated from counts of edges.

mod estimate;
pub(super) mod nodes;
pub(super) mod paths;

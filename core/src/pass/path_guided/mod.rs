//! Shared parts of passes that are guided by path profiles: the graph in which every critical edge is a place of its own, the
//! executed paths as sets over it, or what can be said of them where only edges were counted, which nodes change
//! memory, the knobs that they have in common, and how they show themselves.

pub(super) mod ascending;
mod estimate;
pub(super) mod inspect;
pub(super) mod memory;
pub(super) mod nodes;
pub(super) mod path_sets;
pub(super) mod paths;
pub(super) mod rules;
pub(super) mod stretches;

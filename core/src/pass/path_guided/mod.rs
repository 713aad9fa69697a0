//! Parts that passes guided by path profiles share.
//!
//! | room | contents |
//! |---|---|
//! | [`nodes`] | the graph in which every critical edge is a node |
//! | [`paths`], [`estimate`] | executed paths as sets over the nodes, measured or estimated from counted edges |
//! | [`path_sets`] | sets of paths as bit sets, one for each of many places |
//! | [`balance`] | benefit and cost of a change on executed paths |
//! | [`memory`] | the nodes that may change what a load reads |
//! | [`rules`] | knobs |
//! | [`inspect`] | tables, marks and moments of both passes |

pub(super) mod balance;
mod estimate;
pub(super) mod inspect;
pub(super) mod memory;
pub(super) mod nodes;
pub(super) mod path_sets;
pub(super) mod paths;
pub(super) mod rules;

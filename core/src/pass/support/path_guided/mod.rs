//! Parts that passes guided by path profiles share.
//!
//! | room | contents |
//! |---|---|
//! | [`nodes`] | the graph in which every critical edge is a node |
//! | [`paths`], [`estimate`] | executed paths as sets over the nodes, measured or estimated from counted edges |
//! | [`path_sets`] | sets of paths as bit sets, one for each of many places |
//! | [`balance`] | benefit and cost of a change on executed paths |
//! | [`memory`] | the instructions that may change what a load reads |
//! | [`rules`] | knobs |
//! | [`inspect`] | surveyed joins and branches, tables, marks and moments of both passes |

pub(in crate::pass) mod balance;
mod estimate;
pub(in crate::pass) mod inspect;
pub(in crate::pass) mod memory;
pub(in crate::pass) mod nodes;
pub(in crate::pass) mod path_sets;
pub(in crate::pass) mod paths;
pub(in crate::pass) mod rules;

//! Shape of a function: predecessors and successors, dominators, loops, control dependence.
//!
//! Everything here is computed from a [`Cfg`], a compact picture of a function's blocks and edges, and knows nothing
//! of instructions. No algorithm recurses, so the depth of a program is no danger; each file states its bound.
//!
//! ```text
//! Cfg ──▶ Dominators ──▶ frontiers
//!  │  └─▶ PostDominators ──▶ ControlDependence
//!  ├────▶ Loops ──▶ Frequencies
//!  └────▶ PathNumbering
//! ```
//!
//! [`FlowNetwork`] is for itself: networks are built from whatever has capacities.

mod cfg;
mod control_dependence;
mod dominator_tree;
mod dominators;
mod frequency;
mod frontier;
mod loops;
mod max_flow;
mod path_numbering;
mod post_dominators;

pub use cfg::{Cfg, Edge};
pub use control_dependence::ControlDependence;
pub use dominator_tree::DominatorTree;
pub use dominators::Dominators;
pub use frequency::Frequencies;
pub use frontier::{IteratedFrontier, dominance_frontier};
pub use loops::{Loop, LoopData, Loops};
pub use max_flow::{FlowEdge, FlowNetwork, MaxFlow};
pub use path_numbering::{PathNumbering, PathStep};
pub use post_dominators::PostDominators;

//! The laboratory: a no_std library with no input, output, clock, page or threads.
//!
//! ```text
//! ir        what a program is                     edit      the only door through which a function changes
//! text      .wir in and out, diagnostics          value_table  numbers and who holds them, at every moment
//! ptx       PTX in and out                        journal   what happened and why
//! graph     dominators, loops, control dependence view      a function with its analyses, computed when asked
//! machine   what instructions cost                sim       the warp simulator
//! flow      dataflow: liveness, values, divergence profile   how often, and how often zero
//! symbolic  affine names                          equivalence  do two programs leave the same memory
//! alias     which accesses may meet               pass      the passes, and the one list of them
//! verify    the invariants                        link      permalinks
//!                                                 session   program + pipeline + position
//!                                                 report    what a session did, as JSON
//! ```
//!
//! A file imports only from rooms above its own, in the order of this list (down the left column, then the right one).
//!
//! The pipeline: `text::parse` or `ptx` makes a [`ir::Module`]; `verify` checks it; [`session::Session`] runs passes
//! over it into a [`journal::Journal`] and replays any position; `sim` runs what stands there.
#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod ir;

pub mod ptx;
pub mod text;

pub mod graph;

pub mod machine;

pub mod flow;

pub mod symbolic;

pub mod alias;

pub mod verify;

pub mod edit;
pub mod value_table;

pub mod journal;
pub mod view;

pub mod sim;

pub mod profile;

pub mod equivalence;

pub mod pass;

#[cfg(feature = "serde")]
pub mod link;
pub mod session;

#[cfg(feature = "serde")]
pub mod report;

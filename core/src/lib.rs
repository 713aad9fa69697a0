//! The laboratory: a no_std library with no input, output, clock, page or threads.
//!
//! ```text
//! ir        what a program is                     trace     what doors report: events, and the trace that keeps them
//! text      .wir in and out, diagnostics          edit      the only door through which a function changes
//! ptx       PTX in and out                        value_table  numbers and their holders, at every moment
//! graph     dominators, loops, control dependence inspect   what a pass shows, as plain data
//! machine   what instructions cost                journal   what happened and why
//! flow      dataflow: liveness, values, divergence view      a function with its analyses, computed when asked
//! symbolic  affine names                          query     demand-driven question propagation
//! alias     which accesses may meet               sim       the warp simulator
//! verify    the invariants                        derive    launches for kernels that have none
//!                                                 profile   how often, and how often zero
//!                                                 equivalence  do two programs leave the same memory
//!                                                 pass      the passes, and the one list of them
//!                                                 load      a text to a program, alike for page, shell and npm
//!                                                 link      permalinks
//!                                                 session   program + pipeline + position
//!                                                 report    what a session did, as JSON
//! ```
//!
//! A file imports only from rooms above its own, in the order of this list (down the left column, then the right one).
//!
//! The pipeline: [`load::load`] makes a [`ir::Module`] of a text and checks it; [`session::Session`] runs passes
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

pub mod trace;

pub mod edit;
pub mod value_table;

pub mod inspect;
pub mod journal;
pub mod view;

pub mod query;

pub mod sim;

pub mod derive;

pub mod profile;

pub mod equivalence;

pub mod pass;

pub mod load;

#[cfg(feature = "serde")]
pub mod link;
pub mod session;

#[cfg(feature = "serde")]
pub mod report;

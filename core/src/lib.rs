//! The laboratory: a no_std library with no input, output, clock, page or threads.
//!
//! ```text
//! ir        what a program is                     trace     what doors report: events, and the trace that keeps them
//! text      .wir in and out, diagnostics          edit      the only door through which a function changes
//! graph     dominators, loops, control dependence value_table  numbers and their holders, at every moment
//! machine   what instructions cost                inspect   what a pass shows, as plain data
//! sim       the warp simulator                    journal   what happened and why
//! ptx       PTX in and out                        view      a function with its analyses, computed when asked
//! flow      dataflow: liveness, values, divergence query    demand-driven question propagation
//! symbolic  affine names                          derive    launches for kernels that have none
//! alias     which accesses may meet               profile   how often, and how often zero
//! verify    the invariants                        equivalence  do two programs leave the same memory
//!                                                 pass      the passes, and the one list of them
//!                                                 load      a text to a program, alike for page, shell and npm
//!                                                 link      permalinks
//!                                                 session   program + pipeline + position
//!                                                 report    what a session did, as JSON
//! ```
//!
//! A file imports only from rooms above its own, in the order of this list (down the left column, then the right one).
//! `ir`, `text`, `graph` and `machine` are the package `warpscope-program`, `sim` is `warpscope-sim`: packages of their own
//! because the web page needs a fast simulator and small passes, and Cargo sets the level of optimisation by package.
//!
//! The pipeline: [`load::load`] makes a [`ir::Module`] of a text and checks it; [`session::Session`] runs passes
//! over it into a [`journal::Journal`] and replays any position; `sim` runs what stands there.
#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub use warpscope_program::{graph, ir, machine, text};

pub mod ptx;

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

pub use warpscope_sim as sim;

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

//! Path-sensitive value-flow optimisation of GPU programs: text IR and PTX in, passes whose every rewrite has a
//! reason, and a simulator of warps. A no_std library with no input, output, clock or threads.
//!
//! ```
//! use warpscope_core::{Machine, Settings, equivalent, find_kernel, optimize, parse, print, simulate, trace};
//!
//! let source = "kernel k(x: ptr.global) {
//! entry:
//!     i = mov.u32 %tid
//!     a = ld.global.u32 x[i]
//!     b = add.u32 a, 2
//!     c = add.u32 a, 2
//!     d = add.u32 b, c
//!     st.global.u32 x[i], d
//!     ret
//! }";
//! let module = parse(source).map_err(|errors| errors[0].message.clone())?;
//! let kernel = find_kernel(&module, None).map_err(|error| error.message)?;
//! let session = optimize(module.clone(), "gvn-cse,copy-prop,dce")?;
//! println!("{}\n{}", trace(&session).join("\n"), print(session.module()));
//!
//! // The launch is derived from the code; both programs leave the same memory behind.
//! let run = |module| {
//!     simulate(module, kernel, &Settings::default(), Machine::Ampere).map_err(|error| error.message)
//! };
//! assert!(run(session.module())?.cycles <= run(&module)?.cycles);
//! println!("{:?}", equivalent((&module, kernel), (session.module(), kernel)));
//! # Ok::<(), String>(())
//! ```
//!
//! The functions of this page are the library's interface. Passes of your own are written against [`pass`], [`view`],
//! [`edit`] and [`ir`]: see `examples/write_a_pass.rs`. Everything else is the inside of the house, may change from one
//! version to the next, and is left out of these pages:
//!
//! ```text
//! ir        what a program is                     trace     events that doors report, and the trace that keeps them
//! text      .wir in and out, diagnostics          edit      the only door through which a function changes
//! graph     dominators, loops, control dependence value_table  numbers and their holders, at every moment
//! machine   what instructions cost                inspect   what a pass shows, as plain data
//! sim       the warp simulator                    journal   what happened and why
//! ptx       PTX in and out                        view      a function with its analyses, computed when asked
//! flow      dataflow: liveness, values, divergence query    demand-driven question propagation
//! symbolic  affine names                          vng       values under many names, and their reuse
//! alias     which accesses may meet               derive    launches for kernels that have none
//! names     what is computed at a point           profile   how often, and how often zero
//! verify    the invariants                        equivalence  do two programs leave the same memory
//!                                                 pass      the passes, and the one list of them
//!                                                 load      a text to a program, alike for page, shell and npm
//!                                                 link      permalinks
//!                                                 session   program + pipeline + position
//!                                                 facade    seven functions for other programs
//!                                                 report    what a session did, as JSON
//! ```
//!
//! A file imports only from rooms above its own, in the order of this list (down the left column, then the right one).
//! `ir`, `text`, `graph` and `machine` are the package `warpscope-program`, `sim` is `warpscope-sim`: packages of
//! their own because the web page needs a fast simulator and small passes, and Cargo sets the level of optimisation
//! by package.
#![no_std]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod facade;

pub use equivalence::Verdict;
pub use facade::{check, equivalent, find_kernel, inspect, optimize, parse, simulate, trace};
pub use inspect::{Inspection, Request};
pub use machine::Machine;
pub use ptx::export;
pub use session::Session;
pub use sim::{RunResult, Settings, SimError};
pub use text::{Diagnostic, print};

pub use warpscope_program::ir;
#[doc(hidden)]
pub use warpscope_program::{compact_sort, graph, machine, text};
#[doc(hidden)]
pub use warpscope_sim as sim;

#[doc(hidden)]
pub mod ptx;

#[doc(hidden)]
pub mod alias;
#[doc(hidden)]
pub mod flow;
#[doc(hidden)]
pub mod names;
#[doc(hidden)]
pub mod symbolic;
#[doc(hidden)]
pub mod verify;

pub mod edit;
pub mod trace;
#[doc(hidden)]
pub mod value_table;

#[doc(hidden)]
pub mod inspect;
#[doc(hidden)]
pub mod journal;
pub mod view;

#[doc(hidden)]
pub mod derive;
#[doc(hidden)]
pub mod equivalence;
#[doc(hidden)]
pub mod profile;
#[doc(hidden)]
pub mod query;
#[doc(hidden)]
pub mod vng;

pub mod pass;

#[doc(hidden)]
pub mod load;

#[cfg(feature = "serde")]
#[doc(hidden)]
pub mod link;
#[doc(hidden)]
pub mod session;

#[cfg(feature = "serde")]
#[doc(hidden)]
pub mod report;

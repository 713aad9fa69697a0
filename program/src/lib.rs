//! Programs: the part of the laboratory that its passes and its simulator share.
//!
//! ```text
//! compact_sort  sorting in little code
//! ir            the instructions of a program
//! text          .wir in and out, diagnostics
//! graph         dominators, loops, control dependence
//! machine       costs of instructions
//! ```
//!
//! A file imports only from rooms above its own. Users take these rooms from `warpscope-core`, which re-exports them.
#![no_std]
extern crate alloc;

pub mod compact_sort;

pub mod ir;

pub mod text;

pub mod graph;

pub mod machine;

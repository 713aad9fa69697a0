//! The laboratory: a no_std library with no input, output, clock, page or threads.
#![no_std]
extern crate alloc;

pub mod ir;

pub mod graph;

pub mod edit;
#[cfg(feature = "serde")]
pub mod link;

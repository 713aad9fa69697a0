//! Arithmetic of one lane: plain functions from numbers to a number.
//!
//! They are what PTX says, to the bit; where PTX leaves the result to the hardware, they are what this project says
//! (module [`approx`]). Nothing here depends on the target: the same bits come out natively and in WebAssembly, up to
//! the payload of a NaN, which becomes canonical ([`float::CANONICAL_F32`]) when a lane is stored.

pub mod approx;
pub mod convert;
pub mod float;
pub mod fused;
pub mod half;
pub mod integer;

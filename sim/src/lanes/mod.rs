//! Arithmetic of a whole warp: one function for each opcode and type, over the lanes of a mask.
//!
//! ```text
//! r: f32   plane 7    | lane 0 | lane 1 | … | lane 31 |      one register, all lanes side by side
//! x: b64   planes 8–9 |   lane 0    |   lane 1    | … |      twice as wide
//! p: pred  a word, a bit for each lane
//! ```
//!
//! An opcode is decoded once to a [`LaneOp`], a plain function whose loop over lanes holds no decision, so that it
//! becomes SIMD natively and in WebAssembly. Modifiers that few programs use (`.ftz`, `.sat`, operands of another
//! width) are steps of their own before and after it: see [`crate::decode`].

mod convert;
mod float;
mod integer;

mod plane;
mod predicate;
mod select;
mod vector;

pub use integer::shift_by_modifier;
pub use plane::{Active, Lane, LaneFile, LaneOp, Plane, Slots, for_each_lane, place};
pub use predicate::combine;
pub use select::{copy, extend, flush, narrow, pack, saturate, select, unpack};

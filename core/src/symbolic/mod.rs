//! Values and addresses as sums: what they are made of, found by substituting definitions backwards.
//!
//! ```text
//! t = mul.wide.s32 i, 4        t     4*i
//! a = add.s64 x, t             a     x + 4*i
//! ld.global.f32 [a + 8]        address: base x, offset 4*i + 8
//! ```
//!
//! [`Affine`] is such a sum over atoms, values that are not substituted further; [`AffineNames`] finds it, and the
//! [`SymbolicAddress`] of a memory access. A [`RegisterSum`] is one over what registers hold at a point, step by step.
//! [`Bounds`] says which numbers a sum may be at a place.

mod address;
mod affine;
mod bounds;
mod induction;
mod names;
mod range;
mod registers;
mod text;

pub use address::{Base, SymbolicAddress};
pub use affine::{Affine, Atom};
pub use bounds::{Bounds, Site};
pub use induction::Inductions;
pub(crate) use names::is_kept;
pub use names::{AffineNames, KnownSums, Overflow};
pub use range::{Extension, Range};
pub use registers::{RegisterSum, Substituted, own_extension};
pub use text::SumText;

//! Generated programs and the checks that every program has to pass.
//!
//! A [`recipe::Recipe`] is what `proptest` draws and shrinks; [`emit::program`] writes it as `.wir` text.

mod body;
pub mod emit;
pub mod figures;
pub mod hostile;
pub mod laws;
pub mod once;
mod operations;
pub mod paths;
pub mod recipe;
pub mod sample;
pub mod scattered;
pub mod shades;
pub mod small_graphs;
pub mod subscripts;
pub mod sums;
mod warps;
pub mod zeros;

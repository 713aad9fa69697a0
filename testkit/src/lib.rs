//! Generated programs and the checks that every program has to pass.
//!
//! A [`recipe::Recipe`] is what `proptest` draws and shrinks; [`emit::program`] writes it as `.wir` text.

mod body;
pub mod bounded;
pub mod cells;
pub mod emit;
pub mod even_bits;
pub mod expansions;
pub mod figures;
pub mod forms;
pub mod hostile;
pub mod laws;
pub mod modifiers;
pub mod once;
mod operations;
pub mod paths;
pub mod recipe;
pub mod repeats;
pub mod sample;
pub mod scattered;
pub mod shades;
pub mod small_graphs;
pub mod subscripts;
pub mod sums;
pub mod together;
pub mod warps;
pub mod zeros;

/// Tests that a function `is_sound(source, seed)` finds nothing wrong with generated programs of each kind, under a
/// configuration of `proptest` that `config()` gives.
#[macro_export]
macro_rules! generated_programs_are_sound {
    () => {
        proptest! {
            #![proptest_config(config())]

            #[test]
            fn programs_with_branches_and_loops_compute_the_same(recipe in $crate::recipe::recipe(), seed in 0..4u64) {
                is_sound(&$crate::emit::program(&recipe), seed)?;
            }

            #[test]
            fn scattered_programs_compute_the_same(recipe in $crate::scattered::scattered(), seed in 0..4u64) {
                is_sound(&$crate::scattered::program(&recipe), seed)?;
            }

            #[test]
            fn sums_compute_the_same(recipe in $crate::sums::sums(), seed in 0..4u64) {
                is_sound(&$crate::sums::program(&recipe), seed)?;
            }

            #[test]
            fn what_repeats_computes_the_same(recipe in $crate::repeats::repeats(), seed in 0..4u64) {
                is_sound(&$crate::repeats::program(&recipe), seed)?;
            }

            #[test]
            fn shades_compute_the_same(recipe in $crate::shades::shades(), seed in 0..4u64) {
                is_sound(&$crate::shades::program(&recipe), seed)?;
            }

            #[test]
            fn loops_over_memory_compute_the_same(recipe in $crate::subscripts::subscripts(), seed in 0..4u64) {
                is_sound(&$crate::subscripts::program(&recipe), seed)?;
            }
        }
    };
}

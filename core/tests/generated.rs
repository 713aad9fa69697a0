//! What has to hold for every program, on generated ones; see the test kit's `laws`.
//!
//! A failing program is shrunk and printed. `PROPTEST_CASES=1000` looks further than the everyday run.

use proptest::prelude::*;
use warpscope_core::pass::{PASSES, Step};
use warpscope_testkit::recipe::{Recipe, recipe};
use warpscope_testkit::scattered::{self, Scattered, scattered};
use warpscope_testkit::{emit, laws};

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// Checks a law on the program of a recipe; the program is part of the message.
fn holds(recipe: &Recipe, law: impl FnOnce(&str) -> laws::Law) -> Result<(), TestCaseError> {
    let source = emit::program(recipe);
    law(&source).map_err(|broken| TestCaseError::fail(format!("{broken}\nthe program:\n{source}")))
}

/// The same for a program whose registers have few definitions, anywhere.
fn holds_scattered(recipe: &Scattered, law: impl FnOnce(&str) -> laws::Law) -> Result<(), TestCaseError> {
    let source = scattered::program(recipe);
    law(&source).map_err(|broken| TestCaseError::fail(format!("{broken}\nthe program:\n{source}")))
}

/// Every pass by itself, and the four small ones together.
fn pipelines() -> Vec<Vec<Step>> {
    let step = |name: &str| Step::new(name).expect("the list knows its passes");
    PASSES.iter().filter(|pass| !pass.info.needs_fast_math).map(|pass| vec![step(pass.info.name)]).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn printing_and_parsing_again_is_identity(recipe in recipe()) {
        holds(&recipe, |source| laws::print_then_parse_is_identity(source).map(drop))?;
    }

    #[test]
    fn every_step_of_every_pass_is_a_good_program_and_can_be_taken_back(recipe in recipe()) {
        holds(&recipe, |source| {
            let module = laws::well_formed(source)?;
            for steps in pipelines() {
                let session = laws::every_step_is_sound(&module, &steps, false);
                session.map_err(|broken| format!("`{}`: {broken}", steps[0].pass))?;
            }
            Ok(())
        })?;
    }

    #[test]
    fn every_pass_leaves_the_memory_that_was_computed(recipe in recipe()) {
        holds(&recipe, |source| {
            let module = laws::well_formed(source)?;
            pipelines().iter().try_for_each(|steps| {
                let optimised = laws::run_silently(&module, steps, false);
                laws::memory_is_the_same(&module, &optimised, false)
                    .map_err(|broken| format!("`{}`: {broken}", steps[0].pass))
            })
        })?;
    }

    #[test]
    fn a_second_run_of_a_pass_finds_nothing(recipe in recipe()) {
        holds(&recipe, |source| {
            let module = laws::well_formed(source)?;
            pipelines().iter().try_for_each(|steps| laws::a_second_run_finds_nothing(&module, steps, false))
        })?;
    }

    #[test]
    fn scattered_definitions_every_step_is_a_good_program_and_can_be_taken_back(recipe in scattered()) {
        holds_scattered(&recipe, |source| {
            let module = laws::well_formed(source)?;
            pipelines().iter().try_for_each(|steps| {
                let session = laws::every_step_is_sound(&module, steps, false);
                session.map(drop).map_err(|broken| format!("`{}`: {broken}", steps[0].pass))
            })
        })?;
    }

    #[test]
    fn scattered_definitions_every_pass_leaves_the_memory_that_was_computed(recipe in scattered()) {
        holds_scattered(&recipe, |source| {
            let module = laws::well_formed(source)?;
            pipelines().iter().try_for_each(|steps| {
                let optimised = laws::run_silently(&module, steps, false);
                laws::memory_is_the_same(&module, &optimised, false)
                    .map_err(|broken| format!("`{}`: {broken}", steps[0].pass))
            })
        })?;
    }

    #[test]
    fn scattered_definitions_a_second_run_of_a_pass_finds_nothing(recipe in scattered()) {
        holds_scattered(&recipe, |source| {
            let module = laws::well_formed(source)?;
            pipelines().iter().try_for_each(|steps| laws::a_second_run_finds_nothing(&module, steps, false))
        })?;
    }
}

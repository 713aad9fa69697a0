//! Laws for every program, on generated ones; see the test kit's `laws`.
//!
//! A failing program is shrunk and printed. `PROPTEST_CASES=1000` looks further than the everyday run.

use proptest::prelude::*;
use warpscope_core::ir::Module;
use warpscope_core::pass::{PASSES, Step, parse_pipeline};
use warpscope_testkit::modifiers::{self, modifiers};
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::repeats::{self, repeats};
use warpscope_testkit::scattered::{self, scattered};
use warpscope_testkit::sums::{self, sums};
use warpscope_testkit::{emit, laws};

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// Checks a law on a program, which is part of the message.
fn holds(source: &str, law: impl FnOnce(&str) -> laws::Law) -> Result<(), TestCaseError> {
    law(source).map_err(|broken| TestCaseError::fail(format!("{broken}\nthe program:\n{source}")))
}

/// Every pass by itself, and the four small ones together.
fn pipelines() -> Vec<Vec<Step>> {
    let step = |name: &str| Step::new(name).expect("the list knows its passes");
    PASSES.iter().filter(|pass| !pass.info.needs_fast_math).map(|pass| vec![step(pass.info.name)]).collect()
}

/// Checks a law of every pass on a program.
fn holds_for_every_pass(source: &str, mut law: impl FnMut(&Module, &[Step]) -> laws::Law) -> Result<(), TestCaseError> {
    holds(source, |source| {
        let module = laws::well_formed(source)?;
        pipelines()
            .iter()
            .try_for_each(|steps| law(&module, steps).map_err(|broken| format!("`{}`: {broken}", steps[0].pass)))
    })
}

fn every_step_is_sound(module: &Module, steps: &[Step]) -> laws::Law {
    laws::every_step_is_sound(module, steps, false).map(drop)
}

/// Checks that every pass leaves the memory that a program has computed.
fn memory_is_the_same(source: &str) -> Result<(), TestCaseError> {
    let before = laws::well_formed(source).map_err(TestCaseError::fail)?;
    let mut memory = laws::Memory::of(&before, false);
    let mut is_the_same =
        |module: &Module, steps: &[Step]| memory.is_the_same_after(&laws::run_silently(module, steps, false));
    holds_for_every_pass(source, &mut is_the_same)?;
    // What one pass leaves is what another one has to get right.
    let steps = parse_pipeline("@ptxas").expect("the list knows it");
    holds(source, |_| is_the_same(&before, &steps).map_err(|broken| format!("`@ptxas`: {broken}")))
}

fn a_second_run_finds_nothing(module: &Module, steps: &[Step]) -> laws::Law {
    laws::a_second_run_finds_nothing(module, steps, false)
}

fn instruction_count(module: &Module) -> usize {
    let funcs = module.funcs.values();
    funcs.map(|func| func.block_order().map(|block| func.block_insts(block).count()).sum::<usize>()).sum()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn printing_and_parsing_again_is_identity(recipe in recipe()) {
        holds(&emit::program(&recipe), |source| laws::print_then_parse_is_identity(source).map(drop))?;
    }

    #[test]
    fn every_step_of_every_pass_is_a_good_program_and_can_be_taken_back(recipe in recipe()) {
        holds_for_every_pass(&emit::program(&recipe), every_step_is_sound)?;
    }

    #[test]
    fn every_pass_leaves_the_memory_that_was_computed(recipe in recipe()) {
        memory_is_the_same(&emit::program(&recipe))?;
    }

    #[test]
    fn a_second_run_of_a_pass_finds_nothing(recipe in recipe()) {
        holds_for_every_pass(&emit::program(&recipe), a_second_run_finds_nothing)?;
    }

    #[test]
    fn scattered_definitions_every_step_is_a_good_program_and_can_be_taken_back(recipe in scattered()) {
        holds_for_every_pass(&scattered::program(&recipe), every_step_is_sound)?;
    }

    #[test]
    fn scattered_definitions_every_pass_leaves_the_memory_that_was_computed(recipe in scattered()) {
        memory_is_the_same(&scattered::program(&recipe))?;
    }

    #[test]
    fn scattered_definitions_a_second_run_of_a_pass_finds_nothing(recipe in scattered()) {
        holds_for_every_pass(&scattered::program(&recipe), a_second_run_finds_nothing)?;
    }

    #[test]
    fn sums_every_step_is_a_good_program_and_can_be_taken_back(recipe in sums()) {
        holds_for_every_pass(&sums::program(&recipe), every_step_is_sound)?;
    }

    #[test]
    fn sums_every_pass_leaves_the_memory_that_was_computed(recipe in sums()) {
        memory_is_the_same(&sums::program(&recipe))?;
    }

    #[test]
    fn sums_reassociate_leaves_no_more_instructions(recipe in sums()) {
        holds(&sums::program(&recipe), |source| {
            let module = laws::well_formed(source)?;
            let steps = [Step::new("reassociate").expect("the list knows it")];
            let [before, after] = [&module, &laws::run_silently(&module, &steps, false)].map(instruction_count);
            if after > before { Err(format!("{after} instructions, and {before} before")) } else { Ok(()) }
        })?;
    }

    #[test]
    fn sums_a_second_run_of_a_pass_finds_nothing(recipe in sums()) {
        holds_for_every_pass(&sums::program(&recipe), a_second_run_finds_nothing)?;
    }

    #[test]
    fn repeats_every_step_is_a_good_program_and_can_be_taken_back(recipe in repeats()) {
        holds_for_every_pass(&repeats::program(&recipe), every_step_is_sound)?;
    }

    #[test]
    fn repeats_every_pass_leaves_the_memory_that_was_computed(recipe in repeats()) {
        memory_is_the_same(&repeats::program(&recipe))?;
    }

    #[test]
    fn repeats_a_second_run_of_a_pass_finds_nothing(recipe in repeats()) {
        holds_for_every_pass(&repeats::program(&recipe.without_vectors()), a_second_run_finds_nothing)?;
    }

    #[test]
    fn modifiers_every_step_is_a_good_program_and_can_be_taken_back(recipe in modifiers()) {
        holds_for_every_pass(&modifiers::program(&recipe), every_step_is_sound)?;
    }

    #[test]
    fn modifiers_every_pass_leaves_the_memory_that_was_computed(recipe in modifiers()) {
        memory_is_the_same(&modifiers::program(&recipe))?;
    }

    #[test]
    fn modifiers_a_second_run_of_a_pass_finds_nothing(recipe in modifiers()) {
        holds_for_every_pass(&modifiers::program(&recipe), a_second_run_finds_nothing)?;
    }
}

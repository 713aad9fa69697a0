//! Zero specialisation: what it must never do, on generated programs, whatever a profile says, and what the paper's figures
//! show.

use proptest::prelude::*;
use warpscope_core::ir::Module;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::text::print;
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::scattered::{self, scattered};
use warpscope_testkit::shades::{self, shades};
use warpscope_testkit::subscripts::{self, subscripts};
use warpscope_testkit::sums::{self, sums};
use warpscope_testkit::{emit, laws, zeros};

/// With thresholds so low that much is transformed, by a vote and lane by lane.
const VARIANTS: &[&str] = &[
    "azp",
    "azp[min_cycles=0,warps=1]",
    "azp[min_cycles=0,p_thresh=0,warps=1,machine=turing,threshold_rule=expected,xform_limit=20]",
    "azp[min_cycles=0,divergent=true,warps=2,xform_limit=3]",
    "azp[min_cycles=0,threshold_rule=printed,xform_limit=2]",
];

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// The program with a profile that is made up.
fn with_zero_profile(source: &str, seed: u32) -> laws::Law<Module> {
    let mut module = laws::well_formed(source)?;
    zeros::declare(&mut module, seed);
    laws::well_formed(&print(&module))
}

/// Checks everything that has to hold of every variant on a program, for integers and where `fast_math` is given for floats
/// too.
fn is_sound(source: &str, seed: u32, fast_math: bool) -> Result<(), TestCaseError> {
    let fail = |message: String| TestCaseError::fail(format!("{message}\nthe program:\n{source}"));
    let module = with_zero_profile(source, seed).map_err(fail)?;
    let mut memory = laws::Memory::of(&module, fast_math);
    for pipeline in VARIANTS {
        let steps = parse_pipeline(pipeline).expect("a pipeline");
        let session = laws::every_step_is_sound(&module, &steps, fast_math)
            .map_err(|broken| fail(format!("`{pipeline}`: {broken}")))?;
        let outcome = memory.is_the_same_after(session.module());
        outcome.map_err(|broken| fail(format!("`{pipeline}`: {broken}")))?;
        // As printed, the rule takes what loses, and taking that may make something else lose.
        if !pipeline.contains("printed") {
            laws::a_second_run_finds_nothing(&module, &steps, fast_math)
                .map_err(|broken| fail(format!("`{pipeline}`: {broken}")))?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn structured_programs_compute_the_same(recipe in recipe(), seed in any::<u32>()) {
        is_sound(&emit::program(&recipe), seed, false)?;
    }

    #[test]
    fn scattered_definitions_compute_the_same(recipe in scattered(), seed in any::<u32>()) {
        is_sound(&scattered::program(&recipe), seed, false)?;
    }

    #[test]
    fn sums_compute_the_same(recipe in sums(), seed in any::<u32>()) {
        is_sound(&sums::program(&recipe), seed, false)?;
    }

    #[test]
    fn finite_floats_compute_the_same(recipe in shades(), seed in any::<u32>()) {
        is_sound(&shades::program(&recipe), seed, true)?;
    }

    #[test]
    fn integers_among_floats_compute_the_same_without_the_licence(recipe in shades(), seed in any::<u32>()) {
        is_sound(&shades::program(&recipe), seed, false)?;
    }

    #[test]
    fn loops_over_memory_compute_the_same(recipe in subscripts(), seed in any::<u32>()) {
        is_sound(&subscripts::program(&recipe), seed, false)?;
    }
}

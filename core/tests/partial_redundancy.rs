//! Partial redundancy elimination: what it must never do, on generated programs, with profiles that are right, wrong, or
//! missing.

use proptest::prelude::*;
use warpscope_testkit::figures::{figures, saves_what_is_foreseen};
use warpscope_testkit::{generated_programs_are_sound, laws};

/// With and without speculation, by path and by warp.
const VARIANTS: &[&str] =
    &["spec-pre", "spec-pre[speculation=false]", "spec-pre[cost=path]", "spec-pre[cost=path,machine=turing,fp=0.5]"];

fn is_sound(source: &str, seed: u64) -> Result<(), TestCaseError> {
    laws::are_sound_with_profile(VARIANTS, source, seed).map_err(TestCaseError::fail)
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

#[test]
fn figures_save_in_the_simulator_what_is_foreseen() {
    for (name, module) in figures("spec-pre") {
        // Values are copied to where they were evaluated; what follows takes that away.
        let saved = saves_what_is_foreseen(&name, &module, "spec-pre[machine=unit],copy-prop,dce");
        assert!(saved > 0.0, "{name}: something is gained");
    }
}

generated_programs_are_sound!();

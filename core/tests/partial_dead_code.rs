//! Partial dead code elimination: what it must never do, on generated programs, with profiles that are right, wrong, or
//! missing.

use proptest::prelude::*;
use warpscope_core::edit::{Fact, Remark};
use warpscope_core::ir::Module;
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::profile::declare;
use warpscope_core::report::{Wanted, measure, simulate};
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::Settings;
use warpscope_core::text::print;
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::scattered::{self, scattered};
use warpscope_testkit::shades::{self, shades};
use warpscope_testkit::subscripts::{self, subscripts};
use warpscope_testkit::sums::{self, sums};
use warpscope_testkit::{emit, laws};

/// With and without predicates, by path and by warp, and as printed.
const VARIANTS: &[&str] = &[
    "pde",
    "pde[predication=false]",
    "pde[cost=path]",
    "pde[cost=path,machine=turing,fp=0.5]",
    "pde[cost=path,rule=printed]",
];

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// The program with the profile of its own launch, or of one with another seed.
fn profiled(source: &str, seed: u64) -> laws::Law<Module> {
    let mut module = laws::well_formed(source)?;
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let settings = Settings { seed: Some(seed), ..Settings::default() };
    let counted = measure(&module, kernel, &settings, Machine::Ampere, &mut || true);
    if let Ok(counted) = counted {
        declare(&mut module, &counted);
    }
    laws::well_formed(&print(&module))
}

fn is_sound(source: &str, seed: u64) -> Result<(), TestCaseError> {
    let fail = |message: String| TestCaseError::fail(format!("{message}\nthe program:\n{source}"));
    let module = profiled(source, seed).map_err(fail)?;
    let mut memory = laws::Memory::of(&module, false);
    for pipeline in VARIANTS {
        let steps = parse_pipeline(pipeline).expect("a pipeline");
        let told = |broken| fail(format!("`{pipeline}`: {broken}"));
        let session = laws::every_step_is_sound(&module, &steps, false).map_err(told)?;
        memory.is_the_same_after(session.module()).map_err(told)?;
        laws::a_second_run_finds_nothing(&module, &steps, false).map_err(told)?;
    }
    Ok(())
}

/// The examples, with every thread a warp of its own, so that warps go the ways of the paths.
fn figures() -> Vec<(String, Module)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples/pde");
    let mut figures = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the examples") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut module = laws::well_formed(&std::fs::read_to_string(&path).expect("a text")).expect("a program");
        let launch = &mut module.launches[0];
        (launch.grid, launch.block, launch.warp) = (launch.block, [1, 1, 1], Some(8));
        let kernel = module.kernels().next().expect("a kernel");
        let counted = measure(&module, kernel, &Settings::default(), Machine::Unit, &mut || true);
        declare(&mut module, &counted.expect("a run without errors"));
        figures.push((name, module));
    }
    figures.sort_by(|a, b| a.0.cmp(&b.0));
    figures
}

fn cycles(module: &Module) -> f64 {
    let kernel = module.kernels().next().expect("a kernel");
    let run = simulate(module, kernel, &Settings::default(), Machine::Unit, Wanted::default(), &mut || true);
    run.expect("a run without errors").result.cycles as f64
}

#[test]
fn figures_save_in_the_simulator_what_is_foreseen() {
    for (name, module) in figures() {
        let steps = parse_pipeline("pde[machine=unit]").expect("a pipeline");
        let session = Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0);
        let number = |remark: &Remark, name: &str| match remark.facts.iter().find(|(fact, _)| *fact == name) {
            Some((_, Fact::Number(number))) => *number,
            other => panic!("no figure {name} but {other:?}"),
        };
        let applied = session.journal().events().iter().filter(|event| event.is_rewrite()).map(|event| &event.remark);
        let foreseen: f64 =
            applied.map(|remark| number(remark, "warp_cycles_before") - number(remark, "warp_cycles_after")).sum();
        let saved = cycles(&module) - cycles(session.module());
        assert_eq!(saved, foreseen, "{name}");
        assert!(saved > 0.0, "{name}: something is gained");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn programs_with_branches_and_loops_compute_the_same(recipe in recipe(), seed in 0..4u64) {
        is_sound(&emit::program(&recipe), seed)?;
    }

    #[test]
    fn scattered_programs_compute_the_same(recipe in scattered(), seed in 0..4u64) {
        is_sound(&scattered::program(&recipe), seed)?;
    }

    #[test]
    fn sums_compute_the_same(recipe in sums(), seed in 0..4u64) {
        is_sound(&sums::program(&recipe), seed)?;
    }

    #[test]
    fn shades_compute_the_same(recipe in shades(), seed in 0..4u64) {
        is_sound(&shades::program(&recipe), seed)?;
    }

    #[test]
    fn loops_over_memory_compute_the_same(recipe in subscripts(), seed in 0..4u64) {
        is_sound(&subscripts::program(&recipe), seed)?;
    }
}

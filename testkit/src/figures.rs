//! The examples of a paper's figures, and what passes say that they save in them.

use std::fs;
use std::path::Path;

use warpscope_core::ir::Module;
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::profile::declare;
use warpscope_core::report::{Wanted, measure, simulate};
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::Settings;
use warpscope_core::trace::{Fact, Remark};

use crate::laws;

/// The examples of the page in a folder, by name, with every thread a warp of its own, so that
/// warps go the ways of the paths, and with the profile of that run.
pub fn figures(folder: &str) -> Vec<(String, Module)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples").join(folder);
    let mut figures = Vec::new();
    for entry in fs::read_dir(folder).expect("the examples") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut module = laws::well_formed(&fs::read_to_string(&path).expect("a text")).expect("a program");
        let launch = &mut module.launches[0];
        (launch.grid, launch.block, launch.warp) = (launch.block, [1, 1, 1], Some(8));
        let kernel = module.kernels().next().expect("a kernel");
        let counted = measure(&module, kernel, &Settings::default(), Machine::Unit);
        declare(&mut module, &counted.expect("a run without errors"));
        figures.push((name, module));
    }
    figures.sort_by(|a, b| a.0.cmp(&b.0));
    figures
}

/// The cycles that a pipeline saves in the simulator, on the machine where each instruction takes one: as many as its
/// rewrites say of warps.
pub fn saves_what_is_foreseen(name: &str, module: &Module, pipeline: &str) -> f64 {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    let session = Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0);
    let number = |remark: &Remark, name: &str| match remark.facts.iter().find(|(fact, _)| *fact == name) {
        Some((_, Fact::Number(number))) => *number,
        _ => 0.0,
    };
    let applied = session.journal().events().iter().filter(|event| event.is_rewrite()).map(|event| &event.remark);
    let foreseen: f64 =
        applied.map(|remark| number(remark, "warp_cycles_before") - number(remark, "warp_cycles_after")).sum();
    let saved = cycles(module) - cycles(session.module());
    assert_eq!(saved, foreseen, "{name}: {pipeline}");
    saved
}

/// The cycles that a run of the first kernel takes on the machine where each instruction takes one.
pub fn cycles(module: &Module) -> f64 {
    let kernel = module.kernels().next().expect("a kernel");
    let run = simulate(module, kernel, &Settings::default(), Machine::Unit, Wanted::default());
    run.expect("a run without errors").result.cycles as f64
}

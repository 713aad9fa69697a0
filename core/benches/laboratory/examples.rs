//! Every pass and analysis on every program of the page's gallery, recorded as the page runs it: the slowest of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use warpscope_core::ir::{Func, Module};
use warpscope_core::journal::Journal;
use warpscope_core::load::{self, Dialect};
use warpscope_core::pass::{KnobValues, PASSES, Runner, Settings};
use warpscope_core::profile::estimate::{EdgeCounts, Estimator, Weighted, estimate, record_estimates};
use warpscope_core::vng::{Foundation, ValueNameGraph, VngOptions};

use crate::report::{self, Asked};

/// Milliseconds that a person does not notice, for each pass and program.
const MOST: f64 = 5.0;

/// Runs of each; the fastest counts.
const ROUNDS: usize = 3;

/// Measures the passes and analyses that the command line selects.
pub fn measure() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples"), &mut files);
    files.sort();
    for pass in PASSES {
        let settings = Settings { knobs: KnobValues::defaults(pass.info.knobs), fast_math: true };
        print_slowest(pass.info.name, &files, |module, funcs| {
            let mut module = module.clone();
            let mut journal = Journal::new();
            journal.begin_pass(pass.info.name);
            let mut runner = Runner::new(&mut module);
            let taken = funcs.iter().map(|&func| {
                journal.enter(func);
                report::timed(|| runner.run(func, pass, &settings, &mut journal)).0
            });
            taken.sum()
        });
    }
    for analysis in ["vng", "estimate"] {
        print_slowest(analysis, &files, |module, funcs| {
            let taken = funcs.iter().map(|&func| {
                let build = || {
                    let foundation = Foundation::compute(module, &module.funcs[func], VngOptions::default());
                    let mut journal = Journal::of_analysis(analysis, func);
                    let built = ValueNameGraph::build_traced(&foundation, &mut journal);
                    if analysis == "estimate" {
                        let (cfg, graph) = (foundation.cfg(), &built.graph);
                        let calls = foundation.ending_calls();
                        let counts = EdgeCounts::of_edges(cfg, vec![1; cfg.edge_count()], calls);
                        let weighted = Weighted { cfg, graph, facts: &built.facts, counts: &counts };
                        let estimates = estimate(weighted, &Estimator::ALL);
                        record_estimates(weighted, &Estimator::ALL, &estimates, true, &mut journal);
                    }
                    journal.events().len()
                };
                report::timed(build).0
            });
            taken.sum()
        });
    }
}

/// Prints the time of the program that takes longest.
fn print_slowest(name: &str, files: &[PathBuf], run: impl Fn(&Module, &[Func]) -> Duration) {
    let name = format!("examples: {name}, recorded");
    if !report::turn(&name) {
        return;
    }
    let mut slowest = (Duration::ZERO, String::new());
    for file in files {
        let source = fs::read_to_string(file).expect("a program of the gallery");
        let loaded = load::load(&source, Dialect::of(&source));
        let funcs: Vec<Func> = loaded.module.funcs.keys().collect();
        let taken = (0..ROUNDS).map(|_| run(&loaded.module, &funcs)).min().unwrap_or_default();
        let example = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        slowest = slowest.max((taken, example));
    }
    let (taken, example) = slowest;
    let name = format!("{name}, slowest on {example}");
    report::print(&name, None, taken.as_secs_f64() * 1e3, "ms", Some(Asked::AtMost(MOST)));
}

/// Collects the programs in a folder and in those inside it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "wir" || extension == "ptx") {
            files.push(path);
        }
    }
}

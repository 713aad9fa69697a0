//! Every pass on every program of the page's gallery, recorded as the page runs it: the slowest of each pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use warpscope_core::ir::Func;
use warpscope_core::journal::Journal;
use warpscope_core::load::{self, Dialect};
use warpscope_core::pass::{KnobValues, PASSES, Runner, Settings};

use crate::report::{self, Asked};

/// Milliseconds that a person does not notice, for each pass and program.
const MOST: f64 = 5.0;

/// Runs of each; the fastest counts.
const ROUNDS: usize = 3;

/// Measures the passes that the command line selects.
pub fn measure() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples"), &mut files);
    files.sort();
    for pass in PASSES {
        let name = format!("examples: {}, recorded", pass.info.name);
        if !report::turn(&name) {
            continue;
        }
        let settings = Settings { knobs: KnobValues::defaults(pass.info.knobs), fast_math: true };
        let mut slowest = (Duration::ZERO, String::new());
        for file in &files {
            let source = fs::read_to_string(file).expect("a program of the gallery");
            let loaded = load::load(&source, Dialect::of(&source));
            let funcs: Vec<Func> = loaded.module.funcs.keys().collect();
            let run = || {
                let mut module = loaded.module.clone();
                let mut journal = Journal::new();
                journal.begin_pass(pass.info.name);
                let mut runner = Runner::new(&mut module);
                let taken = funcs.iter().map(|&func| {
                    journal.enter(func);
                    report::timed(|| runner.run(func, pass, &settings, &mut journal)).0
                });
                taken.sum::<Duration>()
            };
            let taken = (0..ROUNDS).map(|_| run()).min().unwrap_or_default();
            let example = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            slowest = slowest.max((taken, example));
        }
        let (taken, example) = slowest;
        let name = format!("{name}, slowest on {example}");
        report::print(&name, None, taken.as_secs_f64() * 1e3, "ms", Some(Asked::AtMost(MOST)));
    }
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

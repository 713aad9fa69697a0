//! Measurements on programs of five kinds, at several sizes: reading, checking, printing, and every pass, without a
//! trace and, as the page runs it, with a journal of each change and its reason.
//!
//! A pass starts with its function's graph and dominators known, as it does in a pipeline, where
//! only the first pass and the first one after a change of the graph compute them. Their cost is
//! measured apart, as `graph`: a single pass takes the sum of both.

use std::time::Duration;

use warpscope_core::ir::Func;
use warpscope_core::journal::{Event, Journal};
use warpscope_core::pass::{KnobValue, KnobValues, PASSES, PassEntry, Runner, Settings};
use warpscope_core::trace::{NoTrace, RemarkKind, Trace};
use warpscope_core::{text, verify};
use warpscope_testkit::{paths, warps, zeros};

use crate::inputs::{self, Inputs, PROGRAMS, SIZES};
use crate::report::{self, Asked};

/// Measurements besides the passes.
const TEXT: [&str; 3] = ["parse", "verify", "print"];

/// Instructions of the programs that passes run on.
const PASS_SIZES: [usize; 3] = [1_000, 10_000, 30_000];

/// The exponent with which a pass's time may grow from the smallest to the largest programs.
const MOST_GROWTH: f64 = 1.25;

/// `ssrqp` where the machine model and a profile of warps decide.
const BY_MACHINE: &str = "ssrqp by machine";

/// Measures the passes that the command line selects.
pub fn measure() {
    for work in TEXT {
        for_each_input(work, |name, kind, inputs| {
            let count = inputs.instructions();
            let modules = || inputs.programs.iter().map(|program| &program.module);
            let time = |work: &mut dyn FnMut()| {
                report::time(name, Some(inputs.size), "ns/instruction", count, None, work);
            };
            match work {
                "parse" => {
                    let sources = inputs::sources(kind, inputs.size);
                    time(&mut || sources.iter().for_each(|source| drop(text::parse(source))));
                }
                "verify" => time(&mut || modules().for_each(|module| drop(verify::verify(module)))),
                _ => time(&mut || modules().for_each(|module| drop(text::print(module)))),
            }
        });
    }
    for_each_input("graph", |name, _, inputs| {
        on_copies(name, inputs.size, inputs, |runner, func| report::timed(|| runner.know_graph(func)));
    });
    for pass in PASSES {
        for_each_pass_input(pass.info.name, |name, inputs| {
            run(pass, name, inputs.size, &for_pass(pass, inputs), |_| NoTrace)
        });
        for_each_pass_input(&format!("{} recorded", pass.info.name), |name, inputs| {
            run(pass, name, inputs.size, &for_pass(pass, inputs), journal)
        });
        if matches!(pass.info.name, "pde" | "spec-pre") {
            for_each_pass_input(&format!("{} over 50 paths", pass.info.name), |name, inputs| {
                run(pass, name, inputs.size, &over_paths(inputs, 50), |_| NoTrace)
            });
        }
        if pass.info.name == "pde" {
            by_paths(pass);
        }
        if pass.info.name == "ssrqp" {
            for_each_pass_input(BY_MACHINE, |name, inputs| {
                let mut settings = settings(pass);
                settings.knobs.set("cost", KnobValue::Choice("machine".into()));
                run_set(pass, name, inputs.size, &over_warps(inputs), &settings, |_| NoTrace)
            });
        }
        if pass.info.name == "azp" {
            // With one transformation, small programs take as many rounds as large ones.
            for_each_pass_input("azp once", |name, inputs| {
                let mut settings = settings(pass);
                settings.knobs.set("xform_limit", KnobValue::Integer(1));
                run_set(pass, name, inputs.size, &for_pass(pass, inputs), &settings, |_| NoTrace)
            });
            // Where whatever gains at all is transformed for, large programs take as many rounds as there may be.
            for_each_pass_input("azp for any gain", |name, inputs| {
                let mut settings = settings(pass);
                settings.knobs.set("min_cycles", KnobValue::Number(0.0));
                run_set(pass, name, inputs.size, &for_pass(pass, inputs), &settings, |_| NoTrace)
            });
            for_each_pass_input("azp by the round", |name, inputs| {
                run_by_the_round(pass, name, &for_pass(pass, inputs))
            });
        }
    }
}

/// Measures `pde` at one size of each kind of program, for ever more executed paths: they stand
/// where sizes stand elsewhere.
fn by_paths(pass: &PassEntry) {
    for kind in PROGRAMS {
        let name = format!("pde by paths, {kind}");
        if !report::turn(&name) {
            continue;
        }
        let inputs = Inputs::new(kind, 10_000);
        for paths in [5, 50, 500, 5_000] {
            run(pass, &name, paths, &over_paths(&inputs, paths), |_| NoTrace);
        }
    }
}

/// Runs `azp` with time divided by its rounds, of which there are more the more a program has to
/// transform, up to its limit.
fn run_by_the_round(pass: &PassEntry, name: &str, inputs: &Inputs) -> f64 {
    let settings = settings(pass);
    let instructions_of_rounds = inputs.programs.iter().map(|program| {
        let mut journal = journal(program.func);
        let mut module = program.module.clone();
        Runner::new(&mut module).run(program.func, pass, &settings, &mut journal).1.expect("it is not refused");
        let is_applied = |event: &&Event| event.remark.kind == RemarkKind::Applied;
        // The last one finds nothing, or that the limit is reached.
        let rounds = journal.events().iter().filter(is_applied).count() + 1;
        program.instructions() * rounds
    });
    let (size, count) = (Some(inputs.size), instructions_of_rounds.sum());
    report::time_on_copies(name, size, "ns/instruction/round", count, None, &inputs.programs, |program| {
        let mut runner = Runner::new(&mut program.module);
        runner.know_graph(program.func);
        report::timed(|| runner.run(program.func, pass, &settings, &mut NoTrace))
    })
}

/// Settings of a pass for the measurement.
fn settings(pass: &PassEntry) -> Settings {
    Settings { knobs: KnobValues::defaults(pass.info.knobs), fast_math: true }
}

/// A journal ready for a function's changes.
fn journal(func: Func) -> Journal {
    let mut journal = Journal::new();
    journal.begin_pass("the one measured");
    journal.enter(func);
    journal
}

/// The inputs as a pass needs them: one that goes by zero profiles gets them.
fn for_pass(pass: &PassEntry, inputs: &Inputs) -> Inputs {
    let mut inputs = inputs.clone();
    if pass.info.name == "azp" {
        inputs.programs.iter_mut().for_each(|program| zeros::declare(&mut program.module, 1));
    }
    inputs
}

/// The inputs, each with a profile of how warps branched.
fn over_warps(inputs: &Inputs) -> Inputs {
    let mut inputs = inputs.clone();
    inputs.programs.iter_mut().for_each(|program| warps::declare(&mut program.module, 1));
    inputs
}

/// The inputs, each with a profile of so many executed paths.
fn over_paths(inputs: &Inputs, count: usize) -> Inputs {
    let mut inputs = inputs.clone();
    inputs.programs.iter_mut().for_each(|program| paths::declare(&mut program.module, count, 1));
    inputs
}

/// Calls `visit` with the name, the kind and the inputs of each measurement that the command line selects.
fn for_each_input(work: &str, mut visit: impl FnMut(&str, &str, &Inputs)) {
    for kind in PROGRAMS {
        let name = format!("{work}, {kind}");
        if report::turn(&name) {
            SIZES.into_iter().for_each(|size| visit(&name, kind, &Inputs::new(kind, size)));
        }
    }
}

/// As [`for_each_input`], for a pass: `visit` gives its nanoseconds an instruction, and their growth is measured.
pub fn for_each_pass_input(work: &str, mut visit: impl FnMut(&str, &Inputs) -> f64) {
    for kind in PROGRAMS {
        let name = format!("{work}, {kind}");
        if !report::turn(&name) {
            continue;
        }
        let times = PASS_SIZES.map(|size| visit(&name, &Inputs::new(kind, size)));
        let [smallest, .., largest] = PASS_SIZES.map(|size| size as f64);
        let [fastest, .., slowest] = times;
        let exponent = 1.0 + (slowest / fastest).ln() / (largest / smallest).ln();
        report::print(&format!("{name} grows"), None, exponent, "exponent", Some(Asked::AtMost(MOST_GROWTH)));
    }
}

/// Measures a pass with a trace of that kind. Returns its nanoseconds an instruction.
fn run<T: Trace>(pass: &PassEntry, name: &str, size: usize, inputs: &Inputs, trace: impl Fn(Func) -> T) -> f64 {
    run_set(pass, name, size, inputs, &settings(pass), trace)
}

/// The time of a pass of that name, in nanoseconds an instruction.
pub fn time_of(pass: &str, name: &str, inputs: &Inputs) -> f64 {
    let pass = PASSES.iter().find(|known| known.info.name == pass).expect("the list knows it");
    run(pass, name, inputs.size, inputs, |_| NoTrace)
}

/// Runs a pass with knobs that are set. Returns its nanoseconds an instruction.
fn run_set<T: Trace>(
    pass: &PassEntry,
    name: &str,
    size: usize,
    inputs: &Inputs,
    settings: &Settings,
    trace: impl Fn(Func) -> T,
) -> f64 {
    on_copies(name, size, inputs, |runner, func| {
        runner.know_graph(func);
        let mut trace = trace(func);
        report::timed(|| (runner.run(func, pass, settings, &mut trace), trace))
    })
}

/// Measures work on programs, in nanoseconds an instruction. A pass changes what it is given, so each call gets
/// a fresh copy.
fn on_copies<T>(
    name: &str,
    size: usize,
    inputs: &Inputs,
    mut work: impl FnMut(&mut Runner<'_>, Func) -> (Duration, T),
) -> f64 {
    let count = inputs.instructions();
    report::time_on_copies(name, Some(size), "ns/instruction", count, None, &inputs.programs, |program| {
        work(&mut Runner::new(&mut program.module), program.func)
    })
}

//! What is done to programs of five kinds, at several sizes: reading, checking, printing, and every pass, with nobody
//! listening and, as the page runs it, with a journal that keeps each change and its reason.
//!
//! A pass starts with its function's graph and dominators known, as it does in a pipeline, where only the first pass and
//! the first one after a change of the graph compute them. What that costs is measured apart, as `graph`: a pass that
//! stands alone takes the sum of both.

use std::time::Duration;

use warpscope_core::edit::{RemarkKind, Silent};
use warpscope_core::journal::{Event, Journal};
use warpscope_core::pass::{KnobValues, PASSES, PassEntry, Recorder, Runner, Settings};
use warpscope_core::{text, verify};
use warpscope_testkit::{paths, zeros};

use crate::inputs::{Input, PROGRAMS, SIZES};
use crate::report::{self, Asked};

/// What is measured besides the passes.
const TEXT: [&str; 3] = ["parse", "verify", "print"];

/// Nanoseconds an instruction that are asked of passes.
const ASKED_OF_PASSES: &[(&str, f64)] = &[
    ("copy-prop", 60.0),
    ("dce", 150.0),
    ("gvn-cse", 150.0),
    ("reassociate", 200.0),
    ("srqp", 1000.0),
    ("ssrqp", 1000.0),
    ("pde", 700.0),
    (OVER_PATHS, 700.0),
];

/// `pde` where the same number of paths was executed at every size.
const OVER_PATHS: &str = "pde over 50 paths";

/// Measures all of them that the command line asks for.
pub fn measure() {
    for work in TEXT {
        for_each_input(work, |name, input| {
            let count = input.instructions();
            let time = |work: &mut dyn FnMut()| {
                report::time(name, Some(input.size), "ns/instruction", count, None, work);
            };
            match work {
                "parse" => time(&mut || drop(text::parse(&input.source))),
                "verify" => time(&mut || drop(verify::verify(&input.module))),
                _ => time(&mut || drop(text::print(&input.module))),
            }
        });
    }
    for_each_input("graph", |name, input| {
        on_copies(name, input, None, |runner| report::timed(|| runner.know_graph(input.func)));
    });
    for pass in PASSES {
        for_each_input(pass.info.name, |name, input| run(pass, name, &for_pass(pass, input), || Silent));
        for_each_input(&format!("{} recorded", pass.info.name), |name, input| {
            run(pass, name, &for_pass(pass, input), || {
                let mut journal = Journal::new();
                journal.enter(input.func);
                journal
            });
        });
        if pass.info.name == "pde" {
            for_each_input(OVER_PATHS, |name, input| run(pass, name, &over_paths(input, 50), || Silent));
            by_paths(pass);
        }
        if pass.info.name == "azp" {
            for_each_input("azp by the round", |name, input| run_by_the_round(pass, name, &for_pass(pass, input)));
        }
    }
}

/// Measures `pde` at one size of each kind of program, for ever more executed paths: they stand where sizes stand elsewhere.
fn by_paths(pass: &PassEntry) {
    let settings = Settings { knobs: KnobValues::defaults(pass.info.knobs), fast_math: true };
    for kind in PROGRAMS {
        let name = format!("pde by paths, {kind}");
        if !report::chosen(&name) {
            continue;
        }
        let input = Input::new(kind, 10_000);
        for paths in [5, 50, 500, 5_000] {
            let input = over_paths(&input, paths);
            let count = input.instructions();
            report::time_on_copies(&name, Some(paths), "ns/instruction", count, None, &input.module, |module| {
                let mut runner = Runner::new(module);
                runner.know_graph(input.func);
                report::timed(|| runner.run(input.func, pass, &settings, &mut Silent))
            });
        }
    }
}

/// The same for each round of `azp`, of which there are more the more a program has to transform, up to its limit.
fn run_by_the_round(pass: &PassEntry, name: &str, input: &Input) {
    let settings = Settings { knobs: KnobValues::defaults(pass.info.knobs), fast_math: true };
    let mut journal = Journal::new();
    journal.enter(input.func);
    Runner::new(&mut input.module.clone()).run(input.func, pass, &settings, &mut journal).1.expect("it is not refused");
    let is_applied = |event: &&Event| event.remark.kind == RemarkKind::Applied;
    // The last one finds nothing, or that the limit is reached.
    let rounds = journal.events().iter().filter(is_applied).count() + 1;
    let count = input.instructions() * rounds;
    report::time_on_copies(name, Some(input.size), "ns/instruction/round", count, None, &input.module, |module| {
        let mut runner = Runner::new(module);
        runner.know_graph(input.func);
        report::timed(|| runner.run(input.func, pass, &settings, &mut Silent))
    });
}

/// The input as a pass needs it: one that goes by zero profiles gets one.
fn for_pass(pass: &PassEntry, input: &Input) -> Input {
    let mut input = input.clone();
    if pass.info.name == "azp" {
        zeros::declare(&mut input.module, 1);
    }
    input
}

/// The input with a profile of so many executed paths.
fn over_paths(input: &Input, count: usize) -> Input {
    let mut input = input.clone();
    paths::declare(&mut input.module, count, 1);
    input
}

/// Calls `visit` with the name of the measurement and its input, for those that the command line asks for.
fn for_each_input(work: &str, mut visit: impl FnMut(&str, &Input)) {
    for kind in PROGRAMS {
        let name = format!("{work}, {kind}");
        if report::chosen(&name) {
            SIZES.into_iter().for_each(|size| visit(&name, &Input::new(kind, size)));
        }
    }
}

/// Measures a pass with a listener of that kind. What is asked is asked of passes that nobody listens to.
fn run<S: Recorder>(pass: &PassEntry, name: &str, input: &Input, listener: impl Fn() -> S) {
    let asked = ASKED_OF_PASSES.iter().find(|(pass_name, _)| name.starts_with(&format!("{pass_name}, ")));
    let asked = asked.map(|&(_, nanoseconds)| Asked::AtMost(nanoseconds));
    let settings = Settings { knobs: KnobValues::defaults(pass.info.knobs), fast_math: true };
    on_copies(name, input, asked, |runner| {
        runner.know_graph(input.func);
        let mut listener = listener();
        report::timed(|| (runner.run(input.func, pass, &settings, &mut listener), listener))
    });
}

/// Measures what is done to a program. A pass changes what it is given, so each call gets a fresh copy.
fn on_copies<T>(
    name: &str,
    input: &Input,
    asked: Option<Asked>,
    mut work: impl FnMut(&mut Runner<'_>) -> (Duration, T),
) {
    report::time_on_copies(
        name,
        Some(input.size),
        "ns/instruction",
        input.instructions(),
        asked,
        &input.module,
        |module| work(&mut Runner::new(module)),
    );
}

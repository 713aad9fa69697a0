//! Runs of a launch: the memory at the end, under the documented schedule, eight others, and the
//! pre-Volta model of a warp.
//!
//! The words are settings, as `--set` takes them; `races` says that the result depends on the
//! schedule. A program whose result does not also leaves it after every pass and every pipeline.

use core::fmt::Write;

use libtest_mimic::Failed;
use warpscope_core::derive::complete_launch;
use warpscope_core::ir::Module;
use warpscope_core::machine::Machine;
use warpscope_core::pass::{PASSES, PIPELINES, parse_pipeline};
use warpscope_core::sim::{BufferDump, Progress, Scheduling, Settings, SimError, Simulation};
use warpscope_core::text::print;
use warpscope_testkit::laws::run_silently;

use crate::Golden;

/// Warp instructions that a run may take.
const FUEL: u64 = 1_000_000;

/// Schedules beside the documented one.
const SCHEDULES: u64 = 8;

/// Runs the first launch of a program and tells what it leaves.
pub fn run(golden: &Golden, module: &Module) -> Result<String, Failed> {
    let mut settings = Settings { fuel: FUEL, ..Settings::default() };
    let races = golden.words.iter().any(|word| word == "races");
    for word in golden.words.iter().filter(|word| *word != "races") {
        settings.set(word)?;
    }
    let documented = memory(module, &settings);
    for schedule in 1..=SCHEDULES {
        let found = memory(module, &Settings { schedule, ..settings.clone() });
        match (&documented, &found) {
            _ if races => {}
            (Ok(one), Ok(other)) if one == other => {}
            (Err(one), Err(other)) if one.kind == other.kind => {}
            _ => {
                let [one, other] = [&documented, &found].map(|found| rendered(&golden.source, found));
                return Err(format!("schedule {schedule} differs:\n{other}from the documented one:\n{one}").into());
            }
        }
    }
    if let (Ok(expected), false) = (&documented, races) {
        stays_after_passes(module, &settings, expected)?;
    }
    let mut text = rendered(&golden.source, &documented);
    let stack = memory(module, &Settings { scheduling: Scheduling::Stack, ..settings });
    if stack != documented {
        text += "scheduling=stack:\n";
        text += &rendered(&golden.source, &stack);
    }
    Ok(text)
}

/// Fails on a pass or pipeline that changes what a program leaves in memory under the documented
/// schedule or another one.
fn stays_after_passes(module: &Module, settings: &Settings, expected: &[BufferDump]) -> Result<(), Failed> {
    let pipelines = PIPELINES.iter().map(|pipeline| format!("@{}", pipeline.name));
    for name in PASSES.iter().map(|pass| pass.info.name.to_string()).chain(pipelines) {
        let steps = parse_pipeline(&name).map_err(|error| format!("{name}: {error:?}"))?;
        let after = run_silently(module, &steps, false);
        if print(&after) == print(module) {
            continue;
        }
        for schedule in [settings.schedule, 1] {
            let found = memory(&after, &Settings { schedule, ..settings.clone() });
            if found.as_deref() != Ok(expected) {
                let (found, text) = (rendered(&print(&after), &found), print(&after));
                return Err(format!("after {name}, schedule {schedule}:\n{found}\n{text}").into());
            }
        }
    }
    Ok(())
}

fn memory(module: &Module, settings: &Settings) -> Result<Vec<BufferDump>, SimError> {
    let launch = module.launches.first().expect("a launch");
    let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
    let launch = complete_launch(module, &module.funcs[kernel], launch);
    let mut simulation = Simulation::new(module, kernel, &launch, settings, Machine::Unit)?;
    assert_eq!(simulation.run(u64::MAX)?, Progress::Done);
    Ok(simulation.dump())
}

fn rendered(source: &str, found: &Result<Vec<BufferDump>, SimError>) -> String {
    match found {
        Ok(buffers) => buffers.iter().map(contents).collect(),
        Err(error) => error.diagnostic().render("input", source),
    }
}

/// A buffer's elements, equal ones counted.
fn contents(buffer: &BufferDump) -> String {
    let mut text = format!("{}:", buffer.name);
    let mut rest = buffer.elements.as_slice();
    while let [first, ..] = rest {
        let count = rest.iter().take_while(|element| *element == first).count();
        let _ = write!(text, " {first}");
        if count > 1 {
            let _ = write!(text, "×{count}");
        }
        rest = &rest[count..];
    }
    text + "\n"
}

//! The simulator against references written here: arithmetic opcode by opcode, control flow, memory, what lanes do
//! together, outside values, errors, and time on the machine whose every instruction takes one cycle.

mod arithmetic;
mod comparisons;
mod control;
mod conversions;
mod cost;
mod errors;
mod exact;
mod folding;
mod launch;
mod machines;
mod memory;
mod operands;
mod profile;
mod statistics;
mod together;

use warpscope_core::machine::Machine;
use warpscope_core::sim::{Progress, RunResult, Settings, SimError, Simulation};
use warpscope_core::verify::check;

/// Result of a run: its numbers, and the elements of each buffer by name.
struct Outcome {
    result: RunResult,
    buffers: Vec<(String, Vec<u64>)>,
}

impl Outcome {
    fn buffer(&self, name: &str) -> &[u64] {
        &self.buffers.iter().find(|(known, _)| known == name).expect("a buffer of that name").1
    }
}

/// Runs the program's first launch on the `unit` machine.
fn try_run(source: &str, settings: &[&str]) -> Result<Outcome, SimError> {
    try_run_on(Machine::Unit, source, settings)
}

/// Runs the program's first launch.
fn try_run_on(machine: Machine, source: &str, settings: &[&str]) -> Result<Outcome, SimError> {
    let parsed = check(source);
    let errors: Vec<_> = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{source}");
    let launch = parsed.module.launches.first().expect("a launch");
    let kernel = parsed.module.func_by_name(&launch.kernel).expect("the launch's kernel");
    let mut chosen = Settings { fuel: 1_000_000, ..Settings::default() };
    settings.iter().for_each(|text| chosen.set(text).expect("a setting"));
    let mut run: Simulation = Simulation::new(&parsed.module, kernel, launch, &chosen, machine)?;
    assert_eq!(run.run(u64::MAX)?, Progress::Done);
    let buffers = run.dump().into_iter().map(|buffer| (buffer.name, buffer.elements)).collect();
    Ok(Outcome { result: run.result(), buffers })
}

fn run(source: &str) -> Outcome {
    try_run(source, &[]).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Runs a body of blocks over one warp with `i` the lane and `r` the result, 32 words of it.
fn run_blocks(declarations: &str, blocks: &str) -> Outcome {
    run(&format!(
        "kernel k(r: ptr.global) {{\n{declarations}\nentry:\n    i = mov.u32 %tid\n{blocks}}}\n\
         launch k {{\n    block 32\n    r = buffer u32[32] const 0\n}}\n"
    ))
}

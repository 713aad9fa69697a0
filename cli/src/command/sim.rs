//! `warpscope sim`: a kernel on a simulated multiprocessor.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};
use warpscope_core::ir::Type;
use warpscope_core::sim::{BufferDump, Progress, RunResult, SimError, Simulation};
use warpscope_core::text::Diagnostic;

use super::launch::RunOptions;
use crate::failure::Failure;
use crate::output;
use crate::source::{Input, Source};

/// How long a run may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Warp instructions between two looks at the clock.
const BUDGET: u64 = 1 << 18;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    run: RunOptions,
    /// Everything as one JSON document.
    #[arg(long)]
    json: bool,
    /// The contents of all buffers and globals as well.
    #[arg(long)]
    dump: bool,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    result: RunResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Map<String, Value>>,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let machine = options.run.machine()?;
    let settings = options.run.settings()?;
    let source = options.input.read()?;
    let module = source.load()?;
    let (kernel, launch) = options.run.kernel_and_launch(&module)?;
    let failed = |error: SimError| failure(&source, &error);
    let mut simulation: Simulation = Simulation::new(&module, kernel, &launch, &settings, machine).map_err(failed)?;
    let start = Instant::now();
    while simulation.run(BUDGET).map_err(failed)? == Progress::Running {
        if start.elapsed() > TIME_LIMIT {
            let message = format!("the run takes longer than {} seconds", TIME_LIMIT.as_secs());
            return Err(Failure::Program(format!("{}: error: {message}\n", source.name)));
        }
    }
    let memory = options.dump.then(|| simulation.dump());
    if options.json {
        let memory =
            memory.map(|buffers| buffers.iter().map(|buffer| (buffer.name.clone(), elements(buffer))).collect());
        return output::json(&Report { result: simulation.result(), memory });
    }
    let mut text = table(&simulation.result());
    for buffer in memory.iter().flatten() {
        let _ = writeln!(text, "{}: {}", buffer.name, elements(buffer));
    }
    output::text(&text)
}

/// A failed run, at its place in the source where it has one.
pub fn failure(source: &Source, error: &SimError) -> Failure {
    let span = error.span().unwrap_or_default();
    Failure::Program(source.render(&[Diagnostic::error("run-failed", span, error.to_string())]))
}

fn elements(buffer: &BufferDump) -> Value {
    buffer.elements.iter().map(|&bits| number(buffer.ty, bits)).collect()
}

/// An element as JSON; what JSON has no number for becomes a string.
pub fn number(ty: Type, bits: u64) -> Value {
    match ty {
        Type::F16 => float(f64::from(half::f16::from_bits(bits as u16))),
        Type::F32 => float(f64::from(f32::from_bits(bits as u32))),
        Type::F64 => float(f64::from_bits(bits)),
        _ if ty.is_signed() => {
            let unused = 64 - ty.bits();
            json!((bits << unused).cast_signed() >> unused)
        }
        _ => json!(bits),
    }
}

fn float(value: f64) -> Value {
    if value.is_nan() {
        json!("nan")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "inf" } else { "-inf" })
    } else {
        json!(value)
    }
}

/// The result as people read it: the launch as a whole, then block by block.
fn table(result: &RunResult) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<28}{value:>16}");
    };
    line("kernel", result.kernel.clone());
    line("machine", result.machine.to_string());
    line("seed", result.seed.to_string());
    line("warps", format!("{} x {}", result.warps, result.warp_size));
    line("cycles", result.cycles.to_string());
    line("warp instructions", result.warp_instructions.to_string());
    line("thread instructions", result.thread_instructions.to_string());
    line("SIMT efficiency", format!("{:.1} %", result.simt_efficiency * 100.0));
    line("divergent branches", result.divergent_branches.to_string());
    line("global loads", result.global_loads.to_string());
    line("global load transactions", result.global_load_transactions.to_string());
    line("global stores", result.global_stores.to_string());
    line("global store transactions", result.global_store_transactions.to_string());
    line("sectors a request", format!("{:.2}", result.sectors_per_request));
    line("shared-memory conflicts", result.shared_bank_conflicts.to_string());
    line("first-level hits", result.l1_hits.to_string());
    for (cause, cycles) in &result.idle_cycles {
        line(&format!("idle cycles: {cause}"), cycles.to_string());
    }
    line("result hash", result.result_hash.clone());
    let width = result.blocks.keys().map(String::len).max().unwrap_or(0).max("block".len());
    let _ = writeln!(text, "\n{:<width$}  {:>12}  {:>12}  {:>10}", "block", "issues", "lanes", "efficiency");
    for (label, block) in &result.blocks {
        let possible = block.issues * u64::from(result.warp_size);
        let efficiency = if possible == 0 { 0.0 } else { block.lanes as f64 / possible as f64 * 100.0 };
        let (issues, lanes) = (block.issues, block.lanes);
        let _ = writeln!(text, "{label:<width$}  {issues:>12}  {lanes:>12}  {efficiency:>8.1} %");
    }
    text
}

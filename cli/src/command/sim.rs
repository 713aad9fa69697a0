//! `warpscope sim`: a kernel on a simulated multiprocessor.

use std::fmt::Write;

use warpscope_core::report::{self, ProfileReport, Wanted, WriteReport};
use warpscope_core::sim::RunResult;

use super::run::{RunOptions, reported};
use crate::failure::Failure;
use crate::output;
use crate::source::Input;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    input: Input,
    /// Kernel to run. Default: that of the first launch.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    #[command(flatten)]
    run: RunOptions,
    /// Print everything as one JSON document.
    #[arg(long)]
    json: bool,
    /// Also print the contents of all buffers and globals.
    #[arg(long)]
    dump: bool,
    /// Also print counts of edges and paths, of writes that gave zero, and of warps that diverged.
    #[arg(long)]
    profile: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let machine = options.run.machine()?;
    let source = options.input.read()?;
    let mut program = source.load()?;
    let named = options.kernel.as_ref().map(|name| program.kernel(name)).transpose()?;
    options.run.replace_launches(&mut program.module)?;
    let module = &mut program.module;
    let kernel = match named {
        Some(kernel) => kernel,
        None => report::find_kernel(module, None).map_err(|error| Failure::Program(format!("error: {error}\n")))?,
    };
    let settings = options.run.complete_launches(module, &[kernel])?.remove(0);
    let wanted = Wanted { dump: options.dump, profile: options.profile };
    let found = reported(&source, report::simulate(module, kernel, &settings, machine, wanted))?;
    if options.json {
        return output::json(&found);
    }
    let mut text = table(&found.result);
    for (name, elements) in found.memory.iter().flatten() {
        let elements: Vec<String> = elements.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "\n{name}: [{}]", elements.join(", "));
    }
    for (name, profile) in found.profile.iter().flatten() {
        text.push_str(&profile_table(name, profile));
    }
    output::text(&text)
}

/// A profile in the words of the text IR, each count with both its units.
fn profile_table(function: &str, profile: &ProfileReport) -> String {
    let mut text = format!("\nprofile of {function}\n");
    for edge in &profile.edges {
        let _ = writeln!(
            text,
            "edge  {} -> {}: {} lanes in {} warps",
            edge.from, edge.to, edge.count.lanes, edge.count.warps
        );
    }
    for block in &profile.blocks {
        let _ = writeln!(
            text,
            "warp  {}: diverged in {} of {} executions",
            block.block, block.count.diverged, block.count.executions
        );
    }
    for path in &profile.paths {
        let _ =
            writeln!(text, "path  {}: {} lanes in {} warps", path.blocks.join(" "), path.count.lanes, path.count.warps);
    }
    for zero in &profile.zeros {
        let _ = writeln!(
            text,
            "zero  {}: {} of {} lanes, {} of {} warps",
            write_name(&zero.write),
            zero.zero_lanes,
            zero.count.lanes,
            zero.zero_warps,
            zero.count.warps
        );
    }
    for joint in &profile.joint {
        let writes: Vec<String> = joint.writes.iter().map(write_name).collect();
        let _ = writeln!(
            text,
            "zero  {}: {} of {} lanes, {} of {} warps",
            writes.join(" & "),
            joint.zero_lanes,
            joint.count.lanes,
            joint.zero_warps,
            joint.count.warps
        );
    }
    text
}

/// A write as the text IR names it.
fn write_name(write: &WriteReport) -> String {
    let occurrence = if write.write > 0 { format!("#{}", write.write) } else { String::new() };
    format!("{}.{}{occurrence}", write.block, write.register)
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
    line("sectors per request", format!("{:.2}", result.sectors_per_request));
    line("shared-memory conflicts", result.shared_bank_conflicts.to_string());
    line("first-level hits", result.l1_hits.to_string());
    for (cause, cycles) in &result.idle_cycles {
        line(&format!("idle cycles: {cause}"), cycles.to_string());
    }
    line("result hash", result.result_hash.clone());
    if !result.unreached.is_empty() {
        let _ = writeln!(text, "blocks never reached: {}", result.unreached.join(", "));
    }
    let width = result.blocks.keys().map(String::len).max().unwrap_or(0).max("block".len());
    let _ = writeln!(
        text,
        "\n{:<width$}  {:>12}  {:>12}  {:>10}  {:>12}  {:>10}  {:>10}  {:>10}",
        "block", "issues", "lanes", "efficiency", "cycles", "divergent", "sectors", "conflicts"
    );
    for ((label, block), statistics) in result.blocks.iter().zip(result.block_statistics.values()) {
        let possible = block.issues * u64::from(result.warp_size);
        let efficiency = if possible == 0 { 0.0 } else { block.lanes as f64 / possible as f64 * 100.0 };
        let (issues, lanes, cycles) = (block.issues, block.lanes, statistics.cycles);
        let (divergent, sectors, conflicts) = (statistics.divergent, statistics.sectors, statistics.bank_conflicts);
        let _ = writeln!(
            text,
            "{label:<width$}  {issues:>12}  {lanes:>12}  {efficiency:>8.1} %  {cycles:>12}  {divergent:>10}  \
             {sectors:>10}  {conflicts:>10}"
        );
    }
    text
}

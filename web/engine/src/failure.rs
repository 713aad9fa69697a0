//! The place of a failed run: its line, its issue, and its warp.

use warpscope_core::sim::{ErrorKind, SimError, Simulation};

use crate::message::Failure;
use crate::simulation::Prepared;

/// The failure of a run, with its place.
pub fn failure(prepared: &Prepared, error: &SimError) -> Failure {
    let Prepared { module, lines, simulation, .. } = prepared;
    let code = match error.kind {
        ErrorKind::Program => "program",
        ErrorKind::Launch => "launch",
        ErrorKind::Limit => "limit",
        ErrorKind::Fuel => "endless-loop",
        ErrorKind::OutOfBounds => "out-of-bounds",
        ErrorKind::Misaligned => "misaligned",
        ErrorKind::ReadOnly => "read-only",
        ErrorKind::Barrier => "barrier",
        ErrorKind::Trap => "trap",
    };
    // An instruction that fails has been counted; out of fuel, or where nobody can go on, the next one was not begun.
    let is_begun = error.kind != ErrorKind::Fuel && simulation.next_warp().is_some();
    let place = error.place.as_deref();
    let text = error.to_string();
    Failure {
        code: code.to_owned(),
        place: text.strip_prefix(&error.message).unwrap_or_default().trim_start_matches(", ").to_owned(),
        message: error.message.clone(),
        line: place.map_or(0, |place| lines.of(module, place.func, place.inst)),
        issue: Some(simulation.issued() - u64::from(is_begun)),
        warp: failed_warp(simulation, error),
    }
}

/// The warp of the thread that failed, or the one that was next as the fuel ran out.
fn failed_warp(simulation: &Simulation, error: &SimError) -> Option<u64> {
    if let Some((thread, block)) = error.place.as_deref()?.thread {
        return Some(warp_number(simulation, block, thread));
    }
    let next = simulation.next_warp().filter(|_| error.kind == ErrorKind::Fuel)?;
    let view = simulation.resident_warps().into_iter().find(|view| view.slot == next)?;
    Some(warp_number(simulation, view.block, [0; 3]) + u64::from(view.number))
}

/// A warp's place in the order in which the launch starts warps, from its block and a thread of it.
pub fn warp_number(simulation: &Simulation, block: [u32; 3], thread: [u32; 3]) -> u64 {
    let flat = |[x, y, z]: [u32; 3], [width, height, _]: [u32; 3]| {
        u64::from(x) + u64::from(width) * (u64::from(y) + u64::from(height) * u64::from(z))
    };
    let bound = simulation.bound();
    flat(block, bound.grid) * warps_a_block(simulation) + flat(thread, bound.block) / u64::from(bound.warp)
}

/// Warps of one block of the launch.
pub fn warps_a_block(simulation: &Simulation) -> u64 {
    let bound = simulation.bound();
    u64::from(bound.block_threads().div_ceil(bound.warp))
}

//! Dry runs: a launch in the simulator, and what the search needs to know of its end.

use super::ranges::{PointerPath, Site};
use crate::compact_sort::CompactSort;
use crate::ir::{Binding, Block, Fill, Func, Function, Launch, Module, Op};
use crate::machine::Machine;
use crate::sim::{ErrorKind, Nearest, Progress, Settings, SimError, Simulation};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Bytes that a dry run fills in the time of a warp instruction.
const BYTES_FILLED: u64 = 16;
/// Bytes of the widest access of a lane.
const WIDEST_ACCESS: u64 = 16;
/// Bytes beyond which no buffer grows: an address further away is not a matter of size.
pub(super) const LARGEST: u64 = 1 << 24;
/// Times that a launch grows; then the guess fails.
pub(super) const GROWTHS: usize = 24;
/// Warp instructions of one dry run; a launch that takes longer counts as one that may not end.
pub(super) const FUEL_OF_ONE: u64 = 2_000_000;

/// End of a dry run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Ran,
    OutOfFuel,
    /// An access ended that many bytes after the start of a buffer.
    Beyond(PointerPath, u64),
    /// An access ended that many bytes after the start of shared memory.
    BeyondShared(u64),
    Failed,
    /// The simulator cannot run the kernel under any launch.
    Refused,
}

/// Findings of a dry run.
pub(super) struct Run {
    pub outcome: Outcome,
    /// Warp instructions, and memory filled in the time of some.
    pub cost: u64,
    /// Instruction that failed.
    pub failed: Option<(Site, Block)>,
    /// Bytes from the start of the nearest memory to the address that failed.
    pub distance: u64,
    /// Whether the address is before that memory.
    pub is_before: bool,
    pub reached: BTreeSet<(Func, Block)>,
    /// Conditional branches that were executed, the most frequent first.
    pub branches: Vec<Site>,
}

/// Runs a launch, for `fuel` warp instructions at most.
pub(super) fn dry_run(module: &Module, func: Func, launch: &Launch, fuel: u64) -> Run {
    let settings = Settings { fuel, ..Settings::default() };
    let without_run = |outcome| Run {
        outcome,
        cost: 0,
        failed: None,
        distance: 0,
        is_before: false,
        reached: BTreeSet::new(),
        branches: Vec::new(),
    };
    let mut simulation = match Simulation::new(module, func, launch, &settings, Machine::default()) {
        Ok(simulation) => simulation,
        Err(error) if error.kind == ErrorKind::Program => return without_run(Outcome::Refused),
        Err(_) => return without_run(Outcome::Failed),
    };
    let error = loop {
        match simulation.run(u64::MAX) {
            Ok(Progress::Running) => {}
            Ok(_) => break None,
            Err(error) => break Some(error),
        }
    };
    let filled: usize = simulation.memory().regions.iter().map(|region| region.bytes.len()).sum();
    let cost = simulation.issued() + filled as u64 / BYTES_FILLED;
    let failed = error.as_ref().and_then(|error| error.place.as_ref());
    let failed = failed.map(|place| ((place.func, place.inst), place.block));
    let address = error.as_ref().and_then(|error| error.place.as_ref()?.address);
    let (distance, is_before) = address.map_or((0, false), |address| match simulation.nearest(address) {
        Some(Nearest::Param(_, at) | Nearest::Pointee(_, at)) => (at.unsigned_abs(), at < 0),
        Some(Nearest::Shared(at)) => (at, false),
        None => (address, false),
    });
    let outcome = error.map_or(Outcome::Ran, |error| outcome(&simulation, &error));
    let mut reached = BTreeSet::new();
    let mut branches: Vec<(u64, Site)> = Vec::new();
    let program = simulation.program();
    for (counts, location) in simulation.statistics().insts.iter().zip(&program.locations) {
        if counts.active_issues() > 0 {
            reached.insert((location.func, location.block));
            if module.funcs[location.func].insts[location.inst].opcode.op == Op::BrIf {
                branches.push((counts.active_issues(), (location.func, location.inst)));
            }
        }
    }
    branches.compact_sort_by_key(|&(issues, _)| core::cmp::Reverse(issues));
    let branches = branches.into_iter().map(|(_, branch)| branch).collect();
    Run { outcome, cost, failed, distance, is_before, reached, branches }
}

fn outcome(simulation: &Simulation, error: &SimError) -> Outcome {
    let address = error.place.as_ref().and_then(|place| place.address);
    let beyond = |path, at: i64| match u64::try_from(at) {
        Ok(at) => Outcome::Beyond(path, at + WIDEST_ACCESS),
        Err(_) => Outcome::Failed,
    };
    match (error.kind, address.and_then(|address| simulation.nearest(address))) {
        (ErrorKind::Fuel, _) => Outcome::OutOfFuel,
        (ErrorKind::OutOfBounds, Some(Nearest::Param(index, at))) => beyond((index, Vec::new()), at),
        (ErrorKind::OutOfBounds, Some(Nearest::Pointee(line, at))) => {
            let pointee = &simulation.bound().pointees[line];
            beyond((pointee.param, pointee.path.clone()), at)
        }
        (ErrorKind::OutOfBounds, Some(Nearest::Shared(at))) => Outcome::BeyondShared(at + WIDEST_ACCESS),
        _ => Outcome::Failed,
    }
}

/// Whether shared memory whose size the launch says can reach that far.
pub(super) fn shared_grows(kernel: &Function, end: u64) -> bool {
    let most = u64::from(Machine::default().limits().shared_bytes);
    kernel.arrays.values().any(|array| array.len.is_none()) && end.next_power_of_two() <= most
}

/// Whether the memory that a dry run went beyond could grow, which it then has.
pub(super) fn enlarge(kernel: &Function, launch: &mut Launch, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Beyond((param, path), end) if *end <= LARGEST => {
            let name = &kernel.params[*param].name;
            let is_it = |binding: &&mut Binding| binding.key.is_of(*param, name) && binding.path == *path;
            match launch.bindings.iter_mut().rev().find(is_it) {
                Some(Binding { fill: Fill::Buffer { ty, len, .. }, is_derived: true, .. }) => {
                    *len = end.next_power_of_two().div_ceil(u64::from(ty.bytes())) as u32;
                    true
                }
                _ => false,
            }
        }
        Outcome::BeyondShared(end) if shared_grows(kernel, *end) => {
            launch.shared = Some(end.next_power_of_two() as u32);
            true
        }
        _ => false,
    }
}

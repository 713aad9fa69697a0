//! Cycles that warps wait for a statement's result, where it is and where it lands.
//!
//! ```text
//! n1: x = ld A[i]       wait 33 - 9 cycles, as 9 issue before n5      n5: x = ld A[i]       wait 33 cycles
//!     … 9 cycles …                                            ──▶         y = add x, 1
//! n5: y = add x, 1
//! ```
//!
//! A statement that lands at its use no longer overlaps with what was between. An execution costs its issue cycles
//! and, of the cycles that its use waits for a first-level hit, one share, as resident warps fill each other's waiting.
//! The plan is kept unless that sum grows.
//!
//! 1. Take executions of nodes by warps, if warps pay; else of paths; without a profile the
//!    [expected](expected_warp_counts) ones of nodes.
//! 2. On a path, executions beyond those of before have a false predicate and wait for nothing. Paths
//!    without the statement count nothing here: what they pay is weighed for each join.
//! 3. Before, the rest of the statement's block hides its latency; after, nothing does.
//!
//! Cost: O(landings · paths), or O(landings). Limits: blocks between are not counted as hiding anything; misses of the
//! first-level cache neither.

use alloc::vec::Vec;

use super::plan::{ABORTED, Planner};
use super::region::{Landing, Region};
use super::statements::Statement;
use crate::ir::{Inst, WarpCounts};
use crate::machine::{Machine, OpClass};
use crate::pass::if_convert::{LANES, resident_warps};
use crate::pass::support::path_guided::balance::executions;
use crate::pass::support::path_guided::nodes::{Node, Nodes};
use crate::profile::expected_warp_counts;
use crate::view::View;

/// Resident warps where no launch says: those of a kernel with many registers.
const RESIDENT: u32 = 8;

/// See the file's head.
pub(super) struct Stalls {
    /// Executions of each node by warps; empty where paths count.
    executions: Vec<f64>,
    /// Resident warps.
    warps: f64,
}

impl Stalls {
    /// Executions of nodes, unless paths are counted, and warps of a function.
    pub fn of(view: &mut View<'_>, nodes: &Nodes, has_paths: bool, is_by_warp: bool, machine: Machine) -> Stalls {
        let launch = view.module().stated_launch_of(&view.func().name);
        let lanes = launch.and_then(|launch| launch.warp).unwrap_or(LANES);
        let warps = launch.map_or(RESIDENT, |launch| resident_warps(Some(launch), machine, lanes));
        let executions = match (is_by_warp, has_paths) {
            (true, _) => nodes.executions(&WarpCounts::of(view.func())),
            (false, true) => Vec::new(),
            (false, false) => nodes.executions(&expected_warp_counts(view)),
        };
        Stalls { executions, warps: f64::from(warps.max(1)) }
    }
}

impl Planner<'_> {
    /// Cycles of a statement before and after, waiting included.
    pub fn stall_cycles(
        &self,
        stalls: &Stalls,
        statement: &Statement,
        region: &Region,
        landings: &[Landing],
    ) -> (f64, f64) {
        let issue = self.machine.issue_cycles(&statement.data);
        let latency = self.machine.cost(OpClass::of(statement.data.opcode)).latency.value;
        let cycles = |distance: u32| {
            let wait = latency.saturating_sub(issue.saturating_add(distance));
            f64::from(issue) + f64::from(wait) / stalls.warps
        };
        let moved: Vec<(Node, Inst)> =
            region.moved(landings).map(|(place, inst)| (region.members[place].node, inst)).collect();
        let live: Vec<&Landing> =
            landings.iter().filter(|landing| landing.is_live && !region.stays(landing, landing.place)).collect();
        let before = |inst: Inst| cycles(self.cycles_after(inst, latency));
        let Some(paths) = self.paths.filter(|_| stalls.executions.is_empty()) else {
            let sum_before = moved.iter().map(|&(node, inst)| stalls.executions[node] * before(inst)).sum();
            let sum_after = live.iter().map(|landing| stalls.executions[landing.node] * cycles(0)).sum();
            return (sum_before, sum_after);
        };
        let counts_before = executions(paths, moved.iter().map(|&(node, _)| node));
        let counts_after = executions(paths, live.iter().map(|landing| landing.node));
        let each_before = moved.iter().map(|&(_, inst)| before(inst)).fold(f64::INFINITY, f64::min);
        let mut sums = (0.0, 0.0);
        let counts = counts_before.iter().zip(&counts_after).zip(&paths.frequencies);
        for ((&before, &after), &frequency) in counts.filter(|((before, _), _)| **before > 0) {
            let frequency = frequency as f64;
            sums.0 += frequency * f64::from(before) * each_before;
            sums.1 += frequency
                * (f64::from(after.min(before)) * cycles(0) + f64::from(after.saturating_sub(before)) * ABORTED);
        }
        sums
    }

    /// Issue cycles from an instruction to the end of its block, or the first `most` of them.
    fn cycles_after(&self, inst: Inst, most: u32) -> u32 {
        let mut next = self.func.layout.next_inst(inst);
        let mut cycles = 0u32;
        while let Some(inst) = next.filter(|_| cycles < most) {
            cycles = cycles.saturating_add(self.machine.issue_cycles(&self.func.insts[inst]));
            next = self.func.layout.next_inst(inst);
        }
        cycles
    }
}

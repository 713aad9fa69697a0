//! Costs of a region as it is and as straight-line code, in cycles of the machine model.
//!
//! ```text
//! a warp runs       with the branch    as straight code
//! both sides        c T c F c          S
//! the true side     c T c              S, in which loads of the false side are answered at once
//! the false side    c F c              S, in which loads of the true side are answered at once
//! ```
//!
//! `T` and `F` are the sides' instructions, `S` the straight code with its selects, followed by a
//! branch if the join keeps other predecessors; `c` is a branch, and a side without blocks is
//! nothing.
//!
//! 1. A [`Timeline`] gives the cycles of each line, from where the predicate is ready to where the
//!    join can go on without waiting for a result.
//! 2. Other resident warps use the time in which one waits, so each of `n` warps costs the `n`th
//!    part of it, but never less than it holds the scheduler. The launch gives `n`; without one it
//!    is [`DEFAULT_WARPS`].
//! 3. Warps run both sides where their lanes diverge: never at a uniform branch; in the share that
//!    the launch's [`coherence`](super::coherence) of the deciding draw gives; in that of `w`
//!    independent lanes if a profile gives the share of lanes on each side, but no more than the
//!    form of the predicate allows ([`divergence_share`](super::divergence_share)); without a
//!    profile by the form alone, and if nothing is known of that by the knob `divergence`.
//! 4. The other warps skip a side as a whole, in shares that the profile or the launch gives.
//!    Without either all of them may take one side: the one that favours the branch counts.
//!
//! An access costs no more lanes' sectors in one form than in the other, so those are left out.
//!
//! Cost: linear in the sides, and O(1) for the code around them.
//!
//! Limits: [`SEEN`] instructions before the branch and after the join are visited. Latency is that
//! of a hit in the first-level cache. Shared memory, which may limit the number of resident blocks,
//! is left out.
//!
//! Source of the terms: the execution model of [`crate::sim`], in which warps skip a side that none
//! of their lanes takes, and accesses without active lanes are answered at once.

use alloc::vec::Vec;

use crate::ir::{Function, InstData, Launch};
use crate::machine::Machine;
use crate::profile::DeclaredEdges;

use super::coherence::Coherence;
use super::guards::{Line, StraightCode};
use super::region::Region;
use super::selects::Pairs;
use super::timeline::Timeline;

/// Lanes of a warp without a launch.
pub const LANES: u32 = 32;

/// Resident warps without a launch: half of the most that one of four schedulers can hold.
pub const DEFAULT_WARPS: u32 = 8;

/// More instructions before or after a region are not visited.
const SEEN: usize = 32;

/// Inputs of the costs.
pub struct CostModel {
    /// Source of issue costs and latencies.
    pub machine: Machine,
    /// Share (0–1) of a divergent branch's executions in which lanes diverge, if nothing else is
    /// known.
    pub divergence: f64,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Number of resident warps.
    pub warps: u32,
    /// Frequencies of edges.
    pub edges: DeclaredEdges,
}

/// Decision of a warp's lanes at a branch, as far as the program determines it.
#[derive(Clone, Copy)]
pub struct Decision {
    /// Share (0–1) of the branch's executions in which lanes of a warp diverge, by the form of the
    /// predicate.
    pub divergence_share: f64,
    /// Declarations of the launch.
    pub coherence: Option<Coherence>,
}

/// Shares (0–1) of a branch's executions by the sides that a warp runs.
#[derive(Clone, Copy)]
struct RunShares {
    /// Share of both sides.
    both: f64,
    /// Shares of the true side alone and of the false side alone.
    only: [f64; 2],
}

/// Both costs of a region, in cycles, and the probabilities of its sides.
pub struct Costs {
    /// Expected, with the branch.
    pub before: f64,
    /// Expected, as straight code.
    pub after: f64,
    /// Probability (0–1) that a warp that reaches the branch runs the true side, and the false
    /// side.
    pub probabilities: [f64; 2],
}

impl CostModel {
    /// The costs of a region with that decision at its branch.
    pub fn of(&self, func: &Function, region: &Region, code: &StraightCode, decision: Decision) -> Costs {
        let mut start = Timeline::new(self.machine);
        let head: Vec<_> = func.block_insts(region.head).filter(|&inst| inst != region.branch).collect();
        head[head.len().saturating_sub(SEEN)..].iter().for_each(|&inst| start.issue(&func.insts[inst], true));
        start.wait_for(region.condition.reg);
        let after_join: Vec<_> = func.block_insts(region.join).take(SEEN).map(|inst| &func.insts[inst]).collect();
        let cost = |mut end: Timeline| {
            end.wait_for_uses(after_join.iter().copied());
            end.cost_since(&start, self.warps)
        };
        let jump = InstData::branch(region.join);
        let branch = |runs: [bool; 2]| {
            let mut line = start.clone();
            line.issue(&jump, true);
            for side in (0..2).filter(|&side| runs[side] && !region.sides[side].is_empty()) {
                region.insts(func, side).for_each(|inst| line.issue(&func.insts[inst], true));
                line.issue(&jump, true);
            }
            cost(line)
        };
        let guarded = with_selects(&code.lines);
        let straight = |runs: [bool; 2]| {
            let mut line = start.clone();
            guarded.iter().for_each(|&(ref data, side)| line.issue(data, runs[side]));
            if region.join_is_kept {
                line.issue(&jump, true);
            }
            cost(line)
        };
        let runs = [[true, true], [true, false], [false, true]];
        let (branch, straight) = (runs.map(branch), runs.map(straight));
        let costs = self.possible_shares(region, decision).map(|RunShares { both, only: [on_true, on_false] }| {
            let mean = |costs: [f64; 3]| both * costs[0] + on_true * costs[1] + on_false * costs[2];
            Costs { before: mean(branch), after: mean(straight), probabilities: [both + on_true, both + on_false] }
        });
        let [one, other] = costs;
        if one.before - one.after <= other.before - other.after { one } else { other }
    }

    /// Possible shares; two different ones if the share of lanes on each side is unknown.
    fn possible_shares(&self, region: &Region, decision: Decision) -> [RunShares; 2] {
        let Decision { divergence_share, coherence } = decision;
        let first = |side: usize| region.sides[side].first().copied();
        let profiled = |side: usize| self.edges.probability(region.head, first(side)?);
        let profiled = profiled(0).or_else(|| profiled(1).map(|probability| 1.0 - probability));
        let drawn = coherence.map(|coherence| match coherence.is_true {
            Some(is_true) if region.condition.negated => 1.0 - is_true,
            Some(is_true) => is_true,
            None => 0.5,
        });
        let Some(lane) = profiled.or(drawn) else {
            return [1.0, 0.0].map(|lane| RunShares::of_divergence(divergence_share, lane));
        };
        let lane = lane.clamp(0.0, 1.0);
        let shared = coherence.map_or(0.0, |coherence| coherence.shared);
        let all = |lane: f64| shared * lane + (1.0 - shared) * libm::pow(lane, f64::from(self.lanes));
        let only = [all(lane), all(1.0 - lane)];
        let both = 1.0 - only[0] - only[1];
        let is_bounded = coherence.is_none() && divergence_share < both;
        [if is_bounded { RunShares::of_divergence(divergence_share, lane) } else { RunShares { both, only } }; 2]
    }
}

impl RunShares {
    /// Lanes diverge in a share of the executions; in the others, a share of the warps takes the
    /// true side.
    fn of_divergence(both: f64, on_true: f64) -> RunShares {
        RunShares { both, only: [on_true, 1.0 - on_true].map(|share| (1.0 - both) * share) }
    }
}

/// Warps of a launch that are on the multiprocessor together; as many as there is room for where
/// none is known.
pub fn resident_warps(launch: Option<&Launch>, machine: Machine, lanes: u32) -> u32 {
    let limits = machine.limits();
    let Some(launch) = launch else { return limits.warps };
    let product = |sizes: [u32; 3]| sizes.into_iter().fold(1, u32::saturating_mul);
    let a_block = product(launch.block).div_ceil(lanes).clamp(1, limits.warps);
    a_block * product(launch.grid).min(limits.blocks).clamp(1, limits.warps / a_block)
}

/// The straight code once the copies of both sides to one register have become selects, each
/// instruction with the side that it is from.
fn with_selects(lines: &[Line]) -> Vec<(InstData, usize)> {
    let mut pairs = Pairs::new();
    let mut insts: Vec<Option<(InstData, usize)>> = Vec::new();
    for (place, &Line { ref data, side, .. }) in lines.iter().enumerate() {
        let pair = pairs.visit(place, data);
        insts.push(Some((data.clone(), side)));
        if let Some(pair) = pair {
            let [&first, &second] = pair.places();
            insts[first] = None;
            insts[second] = Some((pair.select(), side));
        }
    }
    insts.into_iter().flatten().collect()
}

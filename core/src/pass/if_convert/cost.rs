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
//!    part of it, but never less than it holds the scheduler. The launch tells `n`; without one it
//!    is [`WARPS`].
//! 3. Warps run both sides where their lanes part: never at a uniform branch; as the launch's
//!    [`coherence`](super::coherence) of the deciding draw says; as often as `w` independent lanes
//!    of which a profile tells the share on each side, but no more often than the form of the
//!    predicate allows ([`parting`](super::parting)); without a profile by the form alone, and if
//!    that tells nothing by the knob `divergence`.
//! 4. The other warps skip a side as a whole, in shares that the profile or the launch tells.
//!    Without either they may all go one way: the way that favours the branch counts.
//!
//! An access costs no more lanes' sectors in one form than in the other, so those are left out.
//! Limits: [`SEEN`] instructions before the branch and after the join are visited. Latency is that
//! of a hit in the first-level cache. Shared memory, which may limit how many blocks are resident,
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

/// Lanes of a warp where no launch says.
pub const LANES: u32 = 32;

/// Resident warps where no launch says: half of what one of four schedulers can hold.
const WARPS: u32 = 8;

/// More instructions before or after a region are not visited.
const SEEN: usize = 32;

/// Inputs of the costs.
pub struct CostModel {
    /// Whose issue costs and latencies.
    pub machine: Machine,
    /// Share (0–1) of a divergent branch's executions in which lanes part, where nothing else tells.
    pub divergence: f64,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Warps that are resident with it, itself included.
    pub warps: u32,
    /// How often control takes an edge.
    pub edges: DeclaredEdges,
}

/// Lanes' decision at a branch, as far as the program tells it.
#[derive(Clone, Copy)]
pub struct Decision {
    /// Share (0–1) of the branch's executions in which lanes of a warp part, by the form of the predicate.
    pub parting: f64,
    /// Declarations of the launch.
    pub coherence: Option<Coherence>,
}

/// Shares (0–1) of a branch's executions.
#[derive(Clone, Copy)]
struct Ways {
    /// A warp runs both sides.
    both: f64,
    /// A warp runs only the true side, or only the false side.
    only: [f64; 2],
}

/// Both costs of a region, in cycles, and what they follow from.
pub struct Costs {
    /// Expected, with the branch.
    pub before: f64,
    /// Expected, as straight code.
    pub after: f64,
    /// Probability (0–1) that a warp that reaches the branch runs the true side, and the false side.
    pub probabilities: [f64; 2],
}

impl CostModel {
    /// The costs of a region whose branch is decided like that. `join_is_kept`: the join keeps other predecessors.
    pub fn of(
        &self,
        func: &Function,
        region: &Region,
        code: &StraightCode,
        decision: Decision,
        join_is_kept: bool,
    ) -> Costs {
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
            if join_is_kept {
                line.issue(&jump, true);
            }
            cost(line)
        };
        let runs = [[true, true], [true, false], [false, true]];
        let (branch, straight) = (runs.map(branch), runs.map(straight));
        let costs = self.possible_ways(region, decision).map(|Ways { both, only: [on_true, on_false] }| {
            let mean = |costs: [f64; 3]| both * costs[0] + on_true * costs[1] + on_false * costs[2];
            Costs { before: mean(branch), after: mean(straight), probabilities: [both + on_true, both + on_false] }
        });
        let [one, other] = costs;
        if one.before - one.after <= other.before - other.after { one } else { other }
    }

    /// Shares of the ways that warps go; two possible ones if nothing tells how many lanes go to a side.
    fn possible_ways(&self, region: &Region, Decision { parting, coherence }: Decision) -> [Ways; 2] {
        let first = |side: usize| region.sides[side].first().copied();
        let profiled = |side: usize| self.edges.probability(region.head, first(side)?);
        let profiled = profiled(0).or_else(|| profiled(1).map(|probability| 1.0 - probability));
        let drawn = coherence.map(|coherence| match coherence.is_true {
            Some(is_true) if region.condition.negated => 1.0 - is_true,
            Some(is_true) => is_true,
            None => 0.5,
        });
        let Some(lane) = profiled.or(drawn) else { return [1.0, 0.0].map(|lane| Ways::parting(parting, lane)) };
        let lane = lane.clamp(0.0, 1.0);
        let shared = coherence.map_or(0.0, |coherence| coherence.shared);
        let all = |lane: f64| shared * lane + (1.0 - shared) * libm::pow(lane, f64::from(self.lanes));
        let only = [all(lane), all(1.0 - lane)];
        let both = 1.0 - only[0] - only[1];
        let is_bounded = coherence.is_none() && parting < both;
        [if is_bounded { Ways::parting(parting, lane) } else { Ways { both, only } }; 2]
    }
}

impl Ways {
    /// Lanes part in a share of the executions; in the others, a share of the warps goes to the true side.
    fn parting(both: f64, on_true: f64) -> Ways {
        Ways { both, only: [on_true, 1.0 - on_true].map(|share| (1.0 - both) * share) }
    }
}

/// Resident warps for the costs.
pub fn warps_of(launch: Option<&Launch>, machine: Machine, lanes: u32) -> u32 {
    if launch.is_some() { resident_warps(launch, machine, lanes) } else { WARPS }
}

/// Warps of a launch that are on the multiprocessor together; as many as there is room for where none is known.
pub fn resident_warps(launch: Option<&Launch>, machine: Machine, lanes: u32) -> u32 {
    let limits = machine.limits();
    let Some(launch) = launch else { return limits.warps };
    let product = |sizes: [u32; 3]| sizes.into_iter().fold(1, u32::saturating_mul);
    let a_block = product(launch.block).div_ceil(lanes).clamp(1, limits.warps);
    a_block * product(launch.grid).min(limits.blocks).clamp(1, limits.warps / a_block)
}

/// The straight code once the copies of both sides to one register have become selects, each instruction with the side
/// that it is from.
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

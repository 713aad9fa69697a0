//! Costs of a region as it is and as straight-line code, in cycles of the machine model.
//!
//! ```text
//! branch      both · (c T c F c) + only true · (c T c) + only false · (c F c)     a side without blocks is nothing
//! straight    S, and c where the join keeps other ways in
//! ```
//!
//! `T` and `F` are the sides' instructions, `S` the straight code with its selects, `c` a branch,
//! and each line costs what its [`Timeline`] tells: from where the predicate is there, to where the
//! join can go on without waiting for a result. Other resident warps use the time in which one
//! waits, so of that each of `n` warps costs the `n`th part, but never less than it holds the
//! scheduler. How many there are, the launch says; where there is none, as many as the machine
//! takes.
//!
//! `P` is the probability that a warp runs the side, which it does where one of its lanes does. Let
//! `q` be the probability that a lane goes to the true side: as declared profiles tell, else one
//! half. Then
//!
//! - a uniform branch:    `P(true) = q`, `P(false) = 1 - q`;
//! - a divergent one:    `P(true) = s q + (1 - s) (1 - (1 - q)^w)`, and `P(false)` with `1 - q` for
//!   `q`: in a share `s` of the executions all lanes decide together, in the others `w` lanes do so
//!   independently. `s` is the coherence that the launch declares of what decides
//!   ([`coherence`](super::coherence)); 0 with a profile alone, since profiles count lanes and do
//!   not tell which of them go together;
//! - a divergent one of which neither tells:    `d + (1 - d) / 2` for both, where lanes part in a share `d`.
//!
//! A warp that comes to the branch runs both sides with probability `P(true) + P(false) - 1`.
//!
//! Bounds: [`SEEN`] instructions before the branch and behind the join are looked at. What a memory
//! access costs beyond a hit in the first-level cache, it costs for the active lanes, so in both
//! forms alike. Shared memory, which may limit how many blocks are resident, is left out.

use alloc::vec::Vec;

use crate::ir::{Function, InstData, Launch};
use crate::machine::Machine;
use crate::profile::DeclaredEdges;

use super::coherence::Coherence;
use super::guards::StraightCode;
use super::region::Region;
use super::selects::Pairs;
use super::timeline::Timeline;

/// Lanes of a warp where no launch says.
pub const LANES: u32 = 32;

/// Instructions that are looked at on either side of a region.
const SEEN: usize = 32;

/// Inputs of the costs.
pub struct CostModel {
    /// Whose issue costs and latencies.
    pub machine: Machine,
    /// Share (0–1) of a divergent branch's executions in which lanes part, where neither profile nor launch tells.
    pub divergence: f64,
    /// Lanes of a warp.
    pub lanes: u32,
    /// Warps that are resident with it, itself included.
    pub warps: u32,
    /// How often control takes an edge.
    pub edges: DeclaredEdges,
}

/// How the lanes of a warp decide a branch.
#[derive(Clone, Copy)]
pub enum Decision {
    /// All alike.
    Uniform,
    /// Perhaps differently, in a share of the executions that the launch may tell.
    Divergent(Option<Coherence>),
}

/// Both costs of a region, in cycles, and what they follow from.
pub struct Costs {
    /// Expected, with the branch.
    pub before: f64,
    /// As straight code.
    pub after: f64,
    /// Probability (0–1) that a warp that comes to the branch runs the true side, and the false side.
    pub probabilities: [f64; 2],
}

impl CostModel {
    /// The costs of a region, whose branch is decided like that. `join_is_kept` says that the join keeps other ways in.
    pub fn of(
        &self,
        func: &Function,
        region: &Region,
        code: &StraightCode,
        decision: Decision,
        join_is_kept: bool,
    ) -> Costs {
        let probabilities = self.probabilities(region, decision);
        let mut start = Timeline::new(self.machine);
        let head: Vec<_> = func.block_insts(region.head).filter(|&inst| inst != region.branch).collect();
        head[head.len().saturating_sub(SEEN)..].iter().for_each(|&inst| start.issue(&func.insts[inst]));
        start.wait_for(region.condition.reg);
        let behind: Vec<_> = func.block_insts(region.join).take(SEEN).map(|inst| &func.insts[inst]).collect();
        let cost = |mut end: Timeline| {
            end.let_go_on(behind.iter().copied());
            end.cost_since(&start, self.warps)
        };
        let jump = InstData::branch(region.join);

        let branch = |sides: &[usize]| {
            let mut line = start.clone();
            line.issue(&jump);
            for &side in sides.iter().filter(|&&side| !region.sides[side].is_empty()) {
                region.insts(func, side).for_each(|inst| line.issue(&func.insts[inst]));
                line.issue(&jump);
            }
            cost(line)
        };
        let [on_true, on_false] = probabilities;
        let both = on_true + on_false - 1.0;
        let before = both * branch(&[0, 1]) + (on_true - both) * branch(&[0]) + (on_false - both) * branch(&[1]);

        let mut line = start.clone();
        with_selects(code.insts(func)).iter().for_each(|data| line.issue(data));
        if join_is_kept {
            line.issue(&jump);
        }
        Costs { before, after: cost(line), probabilities }
    }

    fn probabilities(&self, region: &Region, decision: Decision) -> [f64; 2] {
        let first = |side: usize| region.sides[side].first().copied();
        let profiled = |side: usize| self.edges.probability(region.head, first(side)?);
        let profiled = profiled(0).or_else(|| profiled(1).map(|probability| 1.0 - probability));
        let coherence = if let Decision::Divergent(coherence) = decision { coherence } else { None };
        let drawn = coherence.and_then(|coherence| coherence.is_true);
        let drawn = drawn.map(|is_true| if region.condition.negated { 1.0 - is_true } else { is_true });
        let known = profiled.or(drawn);
        let lane = known.unwrap_or(0.5).clamp(0.0, 1.0);
        let at_least_one = |probability: f64| 1.0 - libm::pow(1.0 - probability, f64::from(self.lanes));
        let shared = coherence.map_or(0.0, |coherence| coherence.shared);
        let warp = |lane: f64| shared * lane + (1.0 - shared) * at_least_one(lane);
        match decision {
            Decision::Uniform => [lane, 1.0 - lane],
            Decision::Divergent(None) if known.is_none() => [self.divergence + (1.0 - self.divergence) * lane; 2],
            Decision::Divergent(_) => [warp(lane), warp(1.0 - lane)],
        }
    }
}

/// Warps of a launch that are on the multiprocessor together; as many as there is room for where none is known.
pub fn resident_warps(launch: Option<&Launch>, machine: Machine, lanes: u32) -> u32 {
    let limits = machine.limits();
    let Some(launch) = launch else { return limits.warps };
    let product = |sizes: [u32; 3]| sizes.into_iter().fold(1, u32::saturating_mul);
    let a_block = product(launch.block).div_ceil(lanes).clamp(1, limits.warps);
    a_block * product(launch.grid).min(limits.blocks).clamp(1, limits.warps / a_block)
}

/// The straight code once the copies of both sides to one register have become selects.
fn with_selects(insts: Vec<InstData>) -> Vec<InstData> {
    let mut pairs = Pairs::new();
    let mut line: Vec<Option<InstData>> = Vec::new();
    for (place, data) in insts.into_iter().enumerate() {
        let pair = pairs.visit(place, &data);
        line.push(Some(data));
        if let Some(pair) = pair {
            let [&first, &second] = pair.places();
            line[first] = None;
            line[second] = Some(pair.select());
        }
    }
    line.into_iter().flatten().collect()
}

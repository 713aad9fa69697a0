//! What a region costs as it is and as straight code, in cycles for which the scheduler is held.
//!
//! ```text
//! branch      c + P(true) · (T + c) + P(false) · (F + c)      no `+ c` and nothing else for a side without blocks
//! straight    T + F + G                                       and c, where the join keeps other ways in
//! ```
//!
//! `T` and `F` are the issue costs of the sides' instructions, `G` of the predicates to be computed, `c` of a branch.
//! `P` is the probability that a warp runs the side, which it does where one of its lanes does. Let `q` be the probability
//! that a lane goes to the true side: as declared profiles tell, else one half. Then
//!
//! - a uniform branch:    `P(true) = q`, `P(false) = 1 - q`;
//! - a divergent one:    `P(true) = s q + (1 - s) (1 - (1 - q)^w)`, and `P(false)` with `1 - q` for `q`: in a share `s` of
//!   the executions all lanes decide together, in the others `w` lanes do so independently. `s` is the coherence that the
//!   launch declares of what decides ([`coherence`](super::coherence)); 0 with a profile alone, since profiles count lanes
//!   and do not tell which of them go together;
//! - a divergent one of which neither tells:    `d + (1 - d) / 2` for both, where lanes part in a share `d`.
//!
//! Bounds: latencies are left out, since other resident warps hide them; a lone warp waits for a guarded division whether
//! any of its lanes wants it or not. What a memory access costs beyond its issue, it costs for the active lanes, so in
//! both forms alike.

use crate::ir::{Function, Module, Op, Opcode};
use crate::machine::{Machine, OpClass};
use crate::profile::DeclaredEdges;

use super::coherence::Coherence;
use super::guards::StraightCode;
use super::region::Region;

/// Lanes of a warp where no launch says.
const LANES: u32 = 32;

/// What costs are computed from.
pub struct CostModel {
    /// Whose issue costs.
    pub machine: Machine,
    /// Share (0–1) of a divergent branch's executions in which lanes part, where neither profile nor launch tells.
    pub divergence: f64,
    /// Lanes of a warp.
    pub lanes: u32,
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
    /// For a function on a machine.
    pub fn new(module: &Module, func: &Function, machine: Machine, divergence: f64) -> CostModel {
        let lanes = module.launch_of(&func.name).and_then(|launch| launch.warp).unwrap_or(LANES);
        CostModel { machine, divergence, lanes, edges: DeclaredEdges::of(func) }
    }

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
        let branch = self.issue(Opcode::untyped(Op::Br));
        let mut before = branch;
        let mut after: f64 = code.computed().map(|opcode| self.issue(opcode)).sum();
        if join_is_kept {
            after += branch;
        }
        for (side, probability) in probabilities.into_iter().enumerate() {
            let cycles: f64 =
                region.insts(func, side).map(|inst| f64::from(self.machine.issue_cycles(&func.insts[inst]))).sum();
            after += cycles;
            if !region.sides[side].is_empty() {
                before += probability * (cycles + branch);
            }
        }
        Costs { before, after, probabilities }
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

    /// Cycles for which an instruction of that opcode holds the scheduler.
    fn issue(&self, opcode: Opcode) -> f64 {
        f64::from(self.machine.cost(OpClass::of(opcode)).issue.value)
    }
}

//! Profiles and runs from which estimates are made.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::estimates::CorrelationReport;
use super::simulate::{measure, watch};
use super::value_names::NoteReport;
use crate::graph::Cfg;
use crate::ir::{Block, Func, Function, Module};
use crate::machine::Machine;
use crate::profile::estimate::{CountsError, Estimate, FlagPlan, ReuseCounter, Weighted};
use crate::profile::{self, Profile};
use crate::sim::{Program, Settings, SimError};
use crate::vng::Vertex;

/// Runs in which reuse is counted exactly.
pub struct ExactRuns<'a> {
    /// The program with the launches of the kernels.
    pub module: &'a Module,
    /// The kernels with what is set over their launches.
    pub kernels: &'a [(Func, Settings)],
    /// The machine model.
    pub machine: Machine,
}

/// Reason why a function has no estimate.
#[derive(Clone, PartialEq, Debug)]
pub enum EstimateError {
    /// The profile has no counts of whole runs; what to do.
    Profile(String),
    /// A run failed.
    Run(SimError),
}

impl ExactRuns<'_> {
    /// Runs the kernels, and lets a copy of the program declare what was counted.
    ///
    /// # Errors
    ///
    /// If a run fails.
    pub fn declare_profile(&self, module: &mut Module) -> Result<(), SimError> {
        let mut measured = Profile::new();
        for (kernel, settings) in self.kernels {
            profile::add(&mut measured, &measure(self.module, *kernel, settings, self.machine)?);
        }
        profile::declare(module, &measured);
        Ok(())
    }

    /// The counters of a function's plan over all runs.
    pub(super) fn count(&self, func: Func, cfg: &Cfg, plan: &FlagPlan) -> Result<Vec<u64>, SimError> {
        let mut sums = vec![0u64; plan.counters];
        for (kernel, settings) in self.kernels {
            let counter = |program: &Program| ReuseCounter::new(self.module, program, &[(func, cfg, plan)]);
            let (counter, simulation) = watch(self.module, *kernel, settings, self.machine, counter)?;
            let counts = counter.counts(simulation.program(), func).unwrap_or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(sums)
    }
}

/// Reuse that was counted in runs.
pub(super) struct ExactCounts {
    /// Lanes that reuse the value at each user.
    pub users: SecondaryMap<Vertex, u64>,
    /// The count by flags at regions.
    pub correlation: CorrelationReport,
    /// The comparison of both.
    pub remark: NoteReport,
}

impl ExactCounts {
    /// The counts of a function, whose definite reuse is that of the edges of these runs.
    pub fn of(
        runs: &ExactRuns<'_>,
        func: Func,
        weighted: Weighted<'_>,
        by_edges: &[Estimate],
    ) -> Result<ExactCounts, EstimateError> {
        let (full, users) = FlagPlan::of_gaps(weighted.cfg, weighted.graph);
        let regions = FlagPlan::of_regions(weighted, by_edges.iter().map(|estimate| &estimate.value));
        let (flags, counters) = (full.flags, full.counters);
        let counts = runs.count(func, weighted.cfg, &full.beside(&regions)).map_err(EstimateError::Run)?;
        let (of_users, of_exits) = counts.split_at(counters);
        let definite = by_edges.iter().map(|estimate| estimate.value.definite);
        let correlation = CorrelationReport {
            count: definite.chain(of_exits.iter().copied()).sum(),
            flags: regions.flags,
            counters: regions.counters,
        };
        let message = format!(
            "correlation profiling counts {} with flags: {}, counters: {}; the full run takes flags: {flags}, \
             counters: {counters}",
            correlation.count, correlation.flags, correlation.counters
        );
        let mut by_user: SecondaryMap<Vertex, u64> = SecondaryMap::new();
        users.into_iter().zip(of_users).for_each(|(user, &count)| by_user[user] = count);
        Ok(ExactCounts { users: by_user, correlation, remark: NoteReport { rule: "correlation", message } })
    }
}

/// The message of a profile without counts of whole runs.
pub(super) fn counts_error(func: &Function, error: &CountsError) -> String {
    let label = |block: &Block| &func.blocks[*block].name;
    let name = &func.name;
    match error {
        CountsError::NoProfile if func.block_order().nth(1).is_none() => format!(
            "`{name}` has one block, which an edge profile does not count: declare `profile path {{ a: 10 }}` and use \
             `estimate.from=paths`"
        ),
        CountsError::NoProfile => format!(
            "`{name}` has no edge profile: declare `profile edge {{ a -> b: 10 }}`, or measure with `--profile \
             simulate`"
        ),
        CountsError::NoPaths => format!(
            "`{name}` has no path profile: declare `profile path {{ a b: 10 }}`, or measure with `--profile simulate`"
        ),
        CountsError::Unbalanced { block, entered, left } => format!(
            "the profile of `{name}` is not one of whole runs: `{}` is entered {entered} times and left {left} times",
            label(block)
        ),
        CountsError::NoAcyclicPath(path) => {
            let labels: Vec<&str> = path.iter().map(|block| label(block).as_str()).collect();
            format!("the path profile of `{name}` has `{}`, which is no acyclic path of it", labels.join(" "))
        }
        CountsError::PathsDisagree { from, to, paths, edge } => format!(
            "the profiles of `{name}` disagree: paths take `{} -> {}` {paths} times, its count is {edge}",
            label(from),
            label(to)
        ),
        CountsError::SeveralWaysOn(block) => format!(
            "the path profile of `{name}` does not say how paths go on from `{}`, which has several ways back: declare \
             an edge profile as well",
            label(block)
        ),
        CountsError::TooManyNodes => format!("the executed paths of `{name}` have more than 2^20 nodes: use edges"),
        CountsError::TooLarge(block) => {
            format!("the profile of `{name}` has counts above 2^56 at `{}`", label(block))
        }
    }
}

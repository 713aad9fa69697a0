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
use crate::ir::{Func, Module};
use crate::machine::Machine;
use crate::profile::estimate::{CountedReuse, Estimate, FlagPlan, ReuseCounter, Weighted};
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
    /// The function has no profile; what to do.
    NoProfile(String),
    /// The profile has no counts of whole runs; what to do.
    Profile(String),
    /// A run failed.
    Run(SimError),
}

impl ExactRuns<'_> {
    /// Runs the kernels, lets a copy of the program declare what was counted, and returns that.
    ///
    /// # Errors
    ///
    /// If a run fails.
    pub fn declare_profile(&self, module: &mut Module) -> Result<Profile, SimError> {
        let mut measured = Profile::new();
        for (kernel, settings) in self.kernels {
            profile::add(&mut measured, &measure(self.module, *kernel, settings, self.machine)?);
        }
        profile::declare(module, &measured);
        Ok(measured)
    }

    /// The counters of a function's plan over all runs.
    pub(super) fn count(&self, func: Func, cfg: &Cfg, plan: &FlagPlan) -> Result<Vec<u64>, SimError> {
        let mut sums = vec![0u64; plan.counters];
        for (kernel, settings) in self.kernels {
            let counted = count_reuse(self.module, (*kernel, settings), self.machine, (func, cfg, plan))?;
            sums.iter_mut().zip(counted.counters).for_each(|(sum, count)| *sum += count);
        }
        Ok(sums)
    }
}

/// Counts of a function with a plan in a run of a kernel.
///
/// # Errors
///
/// If the run fails.
pub fn count_reuse(
    module: &Module,
    (kernel, settings): (Func, &Settings),
    machine: Machine,
    (func, cfg, plan): (Func, &Cfg, &FlagPlan),
) -> Result<CountedReuse, SimError> {
    let counter = |program: &Program| ReuseCounter::new(module, program, &[(func, cfg, plan)]);
    let (counter, simulation) = watch(module, kernel, settings, machine, counter)?;
    Ok(counter.counts(simulation.program(), func).cloned().unwrap_or_default())
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

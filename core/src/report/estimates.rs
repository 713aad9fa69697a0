//! Reports of estimates.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use cranelift_entity::SecondaryMap;
use serde::Serialize;

use super::simulate::watch;
use super::value_names::{Names, NoteReport, notes};
use crate::graph::Cfg;
use crate::ir::{Block, Func, Function, Module};
use crate::machine::Machine;
use crate::pass::AnalysisSettings;
use crate::profile::estimate::{
    CountsError, Crossing, EdgeCounts, Estimate, ExecutedPaths, Interval, MAX_SPLITS, PathGraph, ReuseCounter,
    UserEstimate, Weighted, estimate,
};
use crate::sim::{Program, Settings, SimError};
use crate::vng::{Facts, Foundation, ThreadGraph, ValueNameGraph, Vertex, VertexKind};

/// Report of the estimates of a function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EstimateReport {
    /// The kernel or function.
    pub kernel: String,
    /// Lanes that run it.
    pub runs: u64,
    /// Source of the counts: `declared` or `simulated`.
    pub profile: &'static str,
    /// Counts that are read: `edges` or `paths`.
    pub from: &'static str,
    /// The knobs and their values.
    pub knobs: BTreeMap<&'static str, String>,
    /// Lanes of all users.
    pub users: u64,
    /// Lanes that certainly reuse a value.
    pub definite: u64,
    /// Bounds of each estimator.
    pub bounds: BTreeMap<&'static str, (u64, u64)>,
    /// Intersections of the values' bounds.
    pub best: (u64, u64),
    /// Reuse if every branch is decided by itself.
    pub expected: f64,
    /// Reuse in runs; None without runs.
    pub exact: Option<u64>,
    /// The count of reuse by flags at regions; None without runs.
    pub correlation: Option<CorrelationReport>,
    /// The values.
    pub values: Vec<ValueEstimateReport>,
    /// The users.
    pub instructions: Vec<UserReport>,
    /// Sentences about limits and what was left out.
    pub remarks: Vec<NoteReport>,
}

/// Count of reuse by flags at the entries and exits of regions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CorrelationReport {
    /// The count.
    pub count: u64,
    /// Flags, one for each region and lane.
    pub flags: u64,
    /// Counters.
    pub counters: u64,
}

/// Estimate of a value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValueEstimateReport {
    /// Its number.
    pub id: usize,
    /// The name at its first user.
    pub name: String,
    /// Block and index of its users and generators.
    pub seeds: Vec<(String, u32)>,
    /// Lanes of its users.
    pub users: u64,
    /// Lanes that certainly reuse it.
    pub definite: u64,
    /// The region that an edge profile cannot see into.
    pub region: RegionReport,
    /// Bounds of each estimator.
    pub bounds: BTreeMap<&'static str, (u64, u64)>,
    /// Reuse if every branch is decided by itself.
    pub expected: f64,
    /// Reuse in runs; None without runs.
    pub exact: Option<u64>,
}

/// A region.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RegionReport {
    /// Labels of its blocks.
    pub blocks: Vec<String>,
    /// Number of connected parts.
    pub subregions: usize,
    /// Lanes that splits duplicate with the value, and without it.
    pub duplicated: [u64; 2],
    /// Edges into it.
    pub entries: Vec<EntryReport>,
    /// Edges out of it.
    pub exits: Vec<ExitReport>,
}

/// An edge into a region. `from` is null for nowhere and where a run begins.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EntryReport {
    /// Label of the block before.
    pub from: Option<String>,
    /// Label of the block after.
    pub to: String,
    /// The name after it.
    pub name: String,
    /// Lanes.
    pub count: u64,
    /// Whether the value is available.
    pub available: bool,
}

/// An edge out of a region.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExitReport {
    /// Label of the block before.
    pub from: String,
    /// Label of the block after.
    pub to: String,
    /// The name before it.
    pub name: String,
    /// Lanes.
    pub count: u64,
    /// Whether the value is needed.
    pub needed: bool,
}

/// A user.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct UserReport {
    /// Label of its block.
    pub block: String,
    /// Its place in the block.
    pub index: u32,
    /// Its opcode.
    pub opcode: String,
    /// Its name.
    pub name: String,
    /// Lanes.
    pub executions: u64,
    /// `must`, `may` or `no`.
    pub availability: &'static str,
    /// Bounds of its reuse.
    pub pre: (u64, u64),
    /// Reuse if every branch is decided by itself.
    pub expected: f64,
    /// Reuse in runs; None without runs.
    pub exact: Option<u64>,
}

/// A pair of bounds.
fn pair(interval: Interval) -> (u64, u64) {
    (interval.low, interval.high)
}

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
    /// Lanes that reuse the value at each user of a function.
    fn count(&self, func: Func, cfg: &Cfg, graph: &ThreadGraph) -> Result<SecondaryMap<Vertex, u64>, SimError> {
        let mut sum: SecondaryMap<Vertex, u64> = SecondaryMap::new();
        for (kernel, settings) in self.kernels {
            let counter = |program: &Program| ReuseCounter::new(self.module, program, &[(func, cfg, graph)]);
            let (counter, simulation) = watch(self.module, *kernel, settings, self.machine, counter)?;
            if let Some(counts) = counter.counts(simulation.program(), func) {
                counts.iter().for_each(|(user, count)| sum[user] += count);
            }
        }
        Ok(sum)
    }
}

impl EstimateReport {
    /// The report of a function from the edge profile that it declares, and the exact count of the runs, if they are
    /// given. Then the profile has to be one of these runs.
    ///
    /// # Errors
    ///
    /// If the profile has no counts of whole runs, or if a run fails.
    pub fn new(
        module: &Module,
        id: Func,
        settings: &AnalysisSettings,
        profile: &'static str,
        runs: Option<&ExactRuns<'_>>,
    ) -> Result<EstimateReport, EstimateError> {
        let func = &module.funcs[id];
        let foundation = Foundation::compute(module, func, settings.vng_options());
        let graph = ValueNameGraph::build(&foundation);
        let cfg = foundation.cfg();
        let refused = |error: CountsError| EstimateError::Profile(counts_error(func, &error));
        let paths = match settings.is_from_paths() {
            true => Some(ExecutedPaths::declared(func, cfg).map_err(refused)?),
            false => None,
        };
        let counts = match &paths {
            Some(paths) => paths.edges.clone(),
            None => EdgeCounts::declared(func, cfg).map_err(refused)?,
        };
        let ValueNameGraph { graph: threads, facts, .. } = &graph;
        let exact = match runs {
            Some(runs) => Some(runs.count(id, cfg, threads).map_err(EstimateError::Run)?),
            None => None,
        };
        let exact = exact.as_ref();
        let components = threads.values();
        let mut estimates = estimate(Weighted { cfg, graph: threads, facts, counts: &counts }, settings.estimators());
        if let Some(paths) = &paths {
            let paths = PathGraph::build(paths, cfg, threads).map_err(refused)?;
            estimates = paths.estimate(settings.estimators(), &estimates, &components);
        }
        let names = Names { module, func, foundation: &foundation, graph: &graph };
        let sum = |of: &dyn Fn(&Estimate) -> u64| estimates.iter().map(of).fold(0, u64::saturating_add);
        let bounds = settings.estimators().iter().enumerate().map(|(at, estimator)| {
            let bounds = (sum(&|estimate| estimate.bounds[at].low), sum(&|estimate| estimate.bounds[at].high));
            (estimator.name(), bounds)
        });
        let mut seeds = names.seeds_of_values(&components).into_iter();
        let mut remarks = notes(&graph);
        let many: usize = estimates.iter().map(|estimate| estimate.region.unlimited).sum();
        if many > 0 {
            let message = format!("{many} subregions have more than {MAX_SPLITS} splits; cmp4 is wider for them");
            remarks.push(NoteReport { rule: "splits", message });
        }
        if paths.as_ref().is_some_and(|paths| paths.is_reconstructed) {
            let message = "counts of edges between paths are taken from the paths".to_string();
            remarks.push(NoteReport { rule: "reconstructed-edges", message });
        }
        Ok(EstimateReport {
            kernel: func.name.clone(),
            runs: counts.runs(),
            profile,
            from: if paths.is_some() { "paths" } else { "edges" },
            knobs: settings.values("vng").into_iter().chain(settings.values("estimate")).collect(),
            users: sum(&|estimate| estimate.value.executions),
            definite: sum(&|estimate| estimate.value.definite),
            bounds: bounds.collect(),
            best: (sum(&|estimate| estimate.best.low), sum(&|estimate| estimate.best.high)),
            expected: estimates.iter().map(|estimate| estimate.expected).sum(),
            exact: exact.map(|counts| counts.values().sum()),
            correlation: None,
            values: estimates
                .iter()
                .enumerate()
                .map(|(id, estimate)| {
                    let seeds = seeds.next().unwrap_or_default();
                    ValueEstimateReport {
                        exact: exact.map(|counts| estimate.value.users.iter().map(|&user| counts[user]).sum()),
                        ..names.estimate(id, estimate, settings, seeds)
                    }
                })
                .collect(),
            instructions: names.users(&estimates, exact),
            remarks,
        })
    }
}

/// The message of a profile without counts of whole runs.
fn counts_error(func: &Function, error: &CountsError) -> String {
    let label = |block: &Block| &func.blocks[*block].name;
    let name = &func.name;
    match error {
        CountsError::NoProfile if func.block_order().nth(1).is_none() => format!(
            "`{name}` has one block, which an edge profile does not count: declare `profile path {{ a: 10 }}` and use \
             `estimate.from=paths`"
        ),
        CountsError::NoProfile => format!(
            "`{name}` has no edge profile: declare `profile edge {{ a -> b: 10 }}`, or measure with `--profile simulate`"
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
            "the path profile of `{name}` does not say how paths go on from `{}`, which has several ways back: declare an \
             edge profile as well",
            label(block)
        ),
        CountsError::TooManyNodes => format!("the executed paths of `{name}` have more than 2^20 nodes: use edges"),
        CountsError::TooLarge(block) => {
            format!("the profile of `{name}` has counts above 2^56 at `{}`", label(block))
        }
    }
}

impl Names<'_, '_> {
    fn estimate(
        &self,
        id: usize,
        estimate: &Estimate,
        settings: &AnalysisSettings,
        seeds: Vec<(String, u32)>,
    ) -> ValueEstimateReport {
        let Estimate { value, region, .. } = estimate;
        let mut blocks: Vec<String> = Vec::new();
        for &vertex in &region.vertices {
            let label = self.label(self.graph.graph.vertices[vertex].block);
            if !blocks.contains(&label) {
                blocks.push(label);
            }
        }
        let bounds = settings.estimators().iter().zip(&estimate.bounds);
        ValueEstimateReport {
            id,
            name: value.users.first().map_or_else(String::new, |&user| self.of_user(user)),
            seeds,
            users: value.executions,
            definite: value.definite,
            region: RegionReport {
                blocks,
                subregions: region.subregions,
                duplicated: region.duplicated,
                entries: region.entries.iter().map(|entry| self.entry(entry)).collect(),
                exits: region.exits.iter().map(|exit| self.exit(exit)).collect(),
            },
            bounds: bounds.map(|(estimator, &interval)| (estimator.name(), pair(interval))).collect(),
            expected: estimate.expected,
            exact: None,
        }
    }

    /// The name of a user, over the registers before it.
    fn of_user(&self, user: Vertex) -> String {
        let index = self.graph.graph.seeds.iter().position(|&seed| seed == Some(user));
        let seed = index.map(|index| &self.graph.seeds[index]);
        seed.map_or_else(String::new, |seed| self.at(seed.name, seed.block, Some(seed.inst)))
    }

    fn entry(&self, entry: &Crossing) -> EntryReport {
        let graph = &self.graph.graph;
        let from = entry.outside.map(|vertex| self.label(graph.vertices[vertex].block));
        EntryReport {
            from,
            to: self.label(graph.vertices[entry.inside].block),
            name: self.of_vertex(entry.inside),
            count: entry.count,
            available: entry.is_positive,
        }
    }

    fn exit(&self, exit: &Crossing) -> ExitReport {
        let graph = &self.graph.graph;
        let to = match (exit.outside, exit.flow) {
            (Some(vertex), _) => graph.vertices[vertex].block,
            (None, crate::vng::Flow::Edge(edge)) => self.foundation.cfg().target(edge),
            (None, _) => graph.vertices[exit.inside].block,
        };
        ExitReport {
            from: self.label(graph.vertices[exit.inside].block),
            to: self.label(to),
            name: self.of_vertex(exit.inside),
            count: exit.count,
            needed: exit.is_positive,
        }
    }

    fn users(&self, estimates: &[Estimate], exact: Option<&SecondaryMap<Vertex, u64>>) -> Vec<UserReport> {
        let ValueNameGraph { graph: ThreadGraph { vertices, seeds, .. }, facts: Facts { available, .. }, .. } = self.graph;
        let mut users: SecondaryMap<Vertex, Option<UserEstimate>> = SecondaryMap::new();
        estimates.iter().flat_map(|estimate| &estimate.users).for_each(|user| users[user.vertex] = Some(*user));
        let users = seeds.iter().flatten().filter_map(|&vertex| users[vertex]).map(|user| {
            let data = &vertices[user.vertex];
            let opcode = match data.kind {
                VertexKind::User(inst) => self.func.insts[inst].opcode.to_string(),
                _ => String::new(),
            };
            UserReport {
                block: self.label(data.block),
                index: data.place,
                opcode,
                name: self.of_user(user.vertex),
                executions: user.executions,
                availability: available[user.vertex].word(),
                pre: pair(user.reuse),
                expected: user.expected,
                exact: exact.map(|counts| counts[user.vertex]),
            }
        });
        users.collect()
    }
}

impl Display for EstimateReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let interval = |(low, high): (u64, u64), users: u64| match low == high {
            true => format!("{low} of {users}"),
            false => format!("{low}–{high} of {users}"),
        };
        let exact = |exact: Option<u64>| exact.map_or_else(String::new, |count| format!(", exactly {count}"));
        let best = interval(self.best, self.users);
        writeln!(out, "{}: {best} reused, expected {:.1}{}", self.kernel, self.expected, exact(self.exact))?;
        for value in &self.values {
            let best = value
                .bounds
                .values()
                .fold((value.definite, value.users), |best, &(low, high)| (best.0.max(low), best.1.min(high)));
            let best = interval(best, value.users);
            writeln!(out, "  {:<24} {best}, expected {:.1}{}", value.name, value.expected, exact(value.exact))?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(out, "  {}: {}", remark.rule, remark.message))
    }
}

//! Reports of estimates.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use cranelift_entity::SecondaryMap;
use serde::Serialize;

use super::estimate_runs::{EstimateError, ExactCounts, ExactRuns};
use super::networks::NetworkReport;
use super::value_events::ValueEvents;
use super::value_names::{NoteReport, notes, owned};
use crate::ir::{Block, Func, Module};
use crate::journal::Journal;
use crate::pass::{AnalysisSettings, KnobValue};
use crate::profile::Profile;
use crate::profile::estimate::{
    CountsError, Crossing, EdgeCounts, Endings, Estimate, Estimator, ExecutedPaths, Interval, MAX_SPLITS, PathGraph,
    UserEstimate, Value, Weighted, estimate, exit_block, record_estimates,
};
use crate::vng::{Facts, Foundation, Names, ThreadGraph, ValueNameGraph, Vertex, VertexKind};

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
    pub knobs: BTreeMap<&'static str, KnobValue>,
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
    /// The events, where they were asked for.
    #[serde(skip)]
    pub events: Option<ValueEvents>,
}

/// Count of reuse by flags at the entries and exits of regions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CorrelationReport {
    /// The count, with the definite reuse.
    pub count: u64,
    /// Flags of each lane.
    pub flags: usize,
    /// Counters, one for each exit that needs the value.
    pub counters: usize,
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
    /// The tightest bounds, which the text shows.
    #[serde(skip)]
    pub best: (u64, u64),
    /// Reuse if every branch is decided by itself.
    pub expected: f64,
    /// Reuse in runs; None without runs.
    pub exact: Option<u64>,
    /// The flow networks of CMP4, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<Vec<NetworkReport>>,
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

/// An edge out of a region. `to` is null where lanes end in a callee.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ExitReport {
    /// Label of the block before.
    pub from: String,
    /// Label of the block after.
    pub to: Option<String>,
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

/// Choices of an estimate.
pub struct EstimateRequest<'a> {
    /// Knobs.
    pub settings: &'a AnalysisSettings,
    /// Source of the profile that the program declares: `declared` or `simulated`.
    pub profile: &'static str,
    /// The profile that was measured, if it was: it says more than the program can declare.
    pub measured: Option<&'a Profile>,
    /// Runs to count exactly, from which the profile is.
    pub runs: Option<&'a ExactRuns<'a>>,
    /// Whether flow networks are reported.
    pub has_networks: bool,
    /// Whether events are reported.
    pub has_events: bool,
}

impl EstimateReport {
    /// The report of a function from the profile that it declares.
    ///
    /// # Errors
    ///
    /// If the profile has no counts of whole runs, or if a run fails.
    pub fn new(module: &Module, id: Func, request: &EstimateRequest<'_>) -> Result<EstimateReport, EstimateError> {
        let EstimateRequest { settings, profile, measured, runs, has_networks, has_events } = *request;
        let func = &module.funcs[id];
        let foundation = Foundation::compute(module, func, settings.vng_options());
        let mut journal = has_events.then(|| Journal::of_analysis("estimate", id));
        let graph = match &mut journal {
            Some(journal) => ValueNameGraph::build_traced(&foundation, journal),
            None => ValueNameGraph::build(&foundation),
        };
        let cfg = foundation.cfg();
        let measured = measured.and_then(|profile| profile.get(&id));
        let endings = Endings { calls: foundation.ending_calls(), measured };
        let refused = |error: CountsError| match error {
            CountsError::NoProfile | CountsError::NoPaths => EstimateError::NoProfile(error.message(func)),
            _ => EstimateError::Profile(error.message(func)),
        };
        let paths = match settings.is_from_paths() {
            true => Some(ExecutedPaths::declared(func, cfg, endings).map_err(refused)?),
            false => None,
        };
        let counts = match &paths {
            Some(paths) => paths.edges.clone(),
            None => EdgeCounts::declared(func, cfg, endings).map_err(refused)?,
        };
        let threads = &graph.graph;
        let components = threads.values();
        let weighted = Weighted { cfg, graph: threads, facts: &graph.facts, counts: &counts };
        let estimators = settings.estimators();
        let mut estimates = estimate(weighted, &estimators);
        let exact = match runs {
            Some(runs) => Some(ExactCounts::of(runs, id, weighted, &estimates)?),
            None => None,
        };
        let path_graph = match &paths {
            Some(paths) => Some(PathGraph::build(paths, cfg, threads).map_err(refused)?),
            None => None,
        };
        if let Some(graph) = &path_graph {
            estimates = graph.estimate(&estimators, &estimates, &components);
        }
        if let Some(journal) = &mut journal {
            record_estimates(weighted, &estimators, &estimates, path_graph.is_none(), journal);
        }
        let names = Names::new(module, func, &foundation, &graph);
        let sum = |of: &dyn Fn(&Estimate) -> u64| estimates.iter().map(of).fold(0, u64::saturating_add);
        let bounds = estimators.iter().enumerate().map(|(at, estimator)| {
            let bounds = (sum(&|estimate| estimate.bounds[at].low), sum(&|estimate| estimate.bounds[at].high));
            (estimator.name(), bounds)
        });
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
        remarks.extend(exact.as_ref().map(|exact| exact.remark.clone()));
        let reused = exact.as_ref().map(|exact| &exact.users);
        let seeds = names.seeds_of_values(&components).into_iter();
        let networks = |value: &Value| match &path_graph {
            Some(graph) => names.networks(graph.weighted(), value, &|vertex| graph.original(vertex)),
            None => names.networks(weighted, value, &|vertex| vertex),
        };
        let values = estimates.iter().zip(seeds).enumerate().map(|(id, (estimate, seeds))| ValueEstimateReport {
            exact: reused.map(|counts| estimate.value.users.iter().map(|&user| counts[user]).sum()),
            networks: has_networks.then(|| networks(&estimate.value)),
            ..names.estimate(id, estimate, &estimators, seeds)
        });
        Ok(EstimateReport {
            kernel: func.name.clone(),
            runs: counts.runs(),
            profile,
            from: if paths.is_some() { "paths" } else { "edges" },
            knobs: settings.values("vng").chain(settings.values("estimate")).map(owned).collect(),
            users: sum(&|estimate| estimate.value.executions),
            definite: sum(&|estimate| estimate.value.definite),
            bounds: bounds.collect(),
            best: (sum(&|estimate| estimate.best.low), sum(&|estimate| estimate.best.high)),
            expected: estimates.iter().fold(0.0, |sum, estimate| sum + estimate.expected),
            exact: reused.map(|counts| counts.values().sum()),
            values: values.collect(),
            instructions: names.users(&estimates, reused),
            correlation: exact.map(|exact| exact.correlation),
            remarks,
            events: journal.map(|journal| ValueEvents::narrate(&journal, &names)),
        })
    }
}

impl Names<'_, '_> {
    fn estimate(
        &self,
        id: usize,
        estimate: &Estimate,
        estimators: &[Estimator],
        seeds: Vec<(String, u32)>,
    ) -> ValueEstimateReport {
        let Estimate { value, region, .. } = estimate;
        let mut seen: BTreeSet<Block> = BTreeSet::new();
        let blocks = region.vertices.iter().map(|&vertex| self.graph.graph.vertices[vertex].block);
        let blocks = blocks.filter(|&block| seen.insert(block)).map(|block| self.label(block)).collect();
        let bounds = estimators.iter().zip(&estimate.bounds);
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
            best: pair(estimate.best),
            expected: estimate.expected,
            exact: None,
            networks: None,
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
        ExitReport {
            from: self.label(graph.vertices[exit.inside].block),
            to: exit_block(self.foundation.cfg(), graph, exit).map(|block| self.label(block)),
            name: self.of_vertex(exit.inside),
            count: exit.count,
            needed: exit.is_positive,
        }
    }

    fn users(&self, estimates: &[Estimate], exact: Option<&SecondaryMap<Vertex, u64>>) -> Vec<UserReport> {
        let ValueNameGraph { graph: ThreadGraph { vertices, seeds, .. }, facts: Facts { available, .. }, .. } =
            self.graph;
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
            let best = interval(value.best, value.users);
            writeln!(out, "  {:<24} {best}, expected {:.1}{}", value.name, value.expected, exact(value.exact))?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(out, "  {}: {}", remark.rule, remark.message))
    }
}

//! Analyses that change no program, with their knobs: the list beside that of the passes.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Knob, KnobKind, KnobValue, KnobValues};
use crate::inspect::{Inspection, Request};
use crate::profile::estimate::{self, CountReuse, Estimator};
use crate::symbolic::Overflow;
use crate::vng::inspect::InspectedFunction;
use crate::vng::{self, Kills, Seeds, VngOptions};

/// An analysis.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisInfo {
    /// Its name.
    pub name: &'static str,
    /// Source of the algorithm.
    pub paper: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Settings.
    pub knobs: &'static [Knob],
    /// Analyses whose settings it depends on.
    pub settings: &'static [&'static str],
    /// Whether it needs an edge profile.
    pub needs_edges: bool,
    /// Inspects a function.
    pub inspect: fn(InspectedFunction<'_>, &AnalysisSettings, &Request, CountReuse<'_>) -> Inspection,
}

/// All analyses.
pub const ANALYSES: [AnalysisInfo; 2] = [
    AnalysisInfo {
        name: "vng",
        paper: "Bodík 1999, chapters 2 and 3",
        summary: "Finds computations that recompute a value under the same or another name, and on which paths.",
        knobs: &[
            Knob {
                name: "seeds",
                label: "Followed instructions",
                kind: KnobKind::Choice { default: "loads", words: &["loads", "arithmetic", "branches", "all"] },
                help: "Instructions whose values are followed.",
            },
            Knob {
                name: "window",
                label: "Loop iterations",
                kind: KnobKind::Integer { default: 3, min: 1, max: 8 },
                help: "Traversals across loop iterations that change a name.",
            },
            Knob {
                name: "depth",
                label: "Nesting of operations",
                kind: KnobKind::Integer { default: 2, min: 0, max: 4 },
                help: "Maximum nesting of operations in a name.",
            },
            Knob {
                name: "dereference",
                label: "Levels of memory",
                kind: KnobKind::Integer { default: 1, min: 0, max: 2 },
                help: "Maximum levels of memory in an address.",
            },
            Knob {
                name: "kills",
                label: "End of reuse",
                kind: KnobKind::Choice { default: "analysis", words: &["none", "calls", "analysis", "all"] },
                help: "Instructions that end the reuse of a load.",
            },
            Knob {
                name: "synonyms",
                label: "Merge equal names",
                kind: KnobKind::Switch { default: true },
                help: "Merge names that are one value on every path back.",
            },
            Knob {
                name: "overflow",
                label: "Address overflow",
                kind: KnobKind::Choice { default: "assume", words: &["assume", "prove"] },
                help: "Assume that signed address arithmetic does not overflow, or prove it.",
            },
            Knob {
                name: "budget",
                label: "Vertices of a demand",
                kind: KnobKind::Integer { default: 0, min: 0, max: 1 << 24 },
                help: "Maximum vertices of one demand; 0 for no limit.",
            },
            Knob {
                name: "names",
                label: "Names of a function",
                kind: KnobKind::Integer { default: 1 << 16, min: 1, max: 1 << 24 },
                help: "Maximum names of a function.",
            },
            Knob {
                name: "vertices",
                label: "Vertices of a function",
                kind: KnobKind::Integer { default: 1 << 20, min: 1, max: 1 << 24 },
                help: "Maximum vertices of a function.",
            },
        ],
        settings: &["vng"],
        needs_edges: false,
        inspect: |inspected, settings, request, _| vng::inspect::inspect(inspected, settings.vng_options(), request),
    },
    AnalysisInfo {
        name: "estimate",
        paper: "Bodík 1999, chapter 4",
        summary: "Bounds how often values are recomputed, from counts of edges.",
        knobs: &[
            Knob {
                name: "estimators",
                label: "Estimators",
                kind: KnobKind::List { default: &ESTIMATORS, words: &ESTIMATORS },
                help: "Estimators to compute.",
            },
            Knob {
                name: "from",
                label: "Profile",
                kind: KnobKind::Choice { default: "edges", words: &["edges", "paths"] },
                help: "Use counts of edges, or of acyclic paths.",
            },
        ],
        settings: &["vng", "estimate"],
        needs_edges: true,
        inspect: |inspected, settings, request, count_reuse| {
            estimate::inspect::inspect(
                inspected,
                settings.vng_options(),
                &settings.estimators(),
                settings.is_from_paths(),
                request,
                count_reuse,
            )
        },
    },
];

/// Names of the estimators.
const ESTIMATORS: [&str; 5] = ["pre", "cmp1", "cmp2", "cmp3", "cmp4"];

/// Settings of all analyses.
#[derive(Clone, PartialEq, Debug)]
pub struct AnalysisSettings {
    vng: KnobValues,
    estimate: KnobValues,
}

impl Default for AnalysisSettings {
    fn default() -> AnalysisSettings {
        let [vng, estimate] = ANALYSES.map(|analysis| KnobValues::defaults(analysis.knobs));
        AnalysisSettings { vng, estimate }
    }
}

impl AnalysisSettings {
    /// Sets `analysis.knob=value`, of one of the analyses that are allowed.
    ///
    /// # Errors
    ///
    /// A message if there is no such analysis, knob or value.
    pub fn set(&mut self, allowed: &[&str], setting: &str) -> Result<(), String> {
        let Some(((analysis, knob), value)) =
            setting.split_once('=').and_then(|(left, value)| Some((left.split_once('.')?, value)))
        else {
            return Err(format!("expected `analysis.knob=value`, found `{setting}`"));
        };
        let found = ANALYSES.iter().find(|known| known.name == analysis && allowed.contains(&analysis));
        let Some(info) = found else {
            return Err(format!("no analysis `{analysis}` here; there is {}", allowed.join(", ")));
        };
        let Some(known) = info.knobs.iter().find(|known| known.name == knob) else {
            let names: Vec<&str> = info.knobs.iter().map(|knob| knob.name).collect();
            return Err(format!("`{analysis}` has no knob `{knob}`; it has {}", names.join(", ")));
        };
        let value = known.parse(value)?;
        if analysis == "vng" {
            self.vng.set(knob, value)
        } else {
            self.estimate.set(knob, value)
        }
        Ok(())
    }

    /// Options of the value name graph.
    pub fn vng_options(&self) -> VngOptions {
        let number = |name: &str| self.vng.integer(name) as u32;
        VngOptions {
            seeds: match self.vng.choice("seeds") {
                "arithmetic" => Seeds::Arithmetic,
                "branches" => Seeds::Branches,
                "all" => Seeds::All,
                _ => Seeds::Loads,
            },
            window: number("window"),
            depth: number("depth"),
            dereferences: number("dereference"),
            overflow: if self.vng.choice("overflow") == "prove" { Overflow::Prove } else { Overflow::Assume },
            kills: match self.vng.choice("kills") {
                "none" => Kills::None,
                "calls" => Kills::Calls,
                "all" => Kills::All,
                _ => Kills::Analysis,
            },
            synonyms: self.vng.switch("synonyms"),
            names: number("names") as usize,
            vertices: number("vertices") as usize,
            budget: number("budget") as usize,
        }
    }

    /// The estimators that are computed.
    pub fn estimators(&self) -> Vec<Estimator> {
        let words = self.estimate.list("estimators").iter();
        words.filter_map(|word| Estimator::ALL.into_iter().find(|estimator| estimator.name() == word)).collect()
    }

    /// Are counts of paths read?
    pub fn is_from_paths(&self) -> bool {
        self.estimate.choice("from") == "paths"
    }

    /// The values of an analysis's knobs, by name.
    pub fn values(&self, analysis: &str) -> impl Iterator<Item = (&'static str, &KnobValue)> {
        if analysis == "vng" { self.vng.iter() } else { self.estimate.iter() }
    }
}

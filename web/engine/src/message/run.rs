//! How programs are run on the simulated machine, and what is found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Language;

/// How the simulator runs a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The machine model; empty is the core's default.
    pub machine: String,
    /// Seed of everything random; none is the launch's.
    pub seed: Option<u64>,
    /// Lanes a warp; none is the launch's.
    pub warp: Option<u32>,
    /// Blocks along x, y, z; none is the launch's.
    pub grid: Option<[u32; 3]>,
    /// Threads a block along x, y, z; none is the launch's.
    pub block: Option<[u32; 3]>,
    /// Warp instructions after which a run is stopped; none is the core's default.
    pub fuel: Option<u64>,
    /// Settings of the sliders, as `name.zero`, `name.coherence` or `name.true`.
    pub sets: BTreeMap<String, f64>,
    /// Settings without a slider, in the spelling of the command line's `--set`: `l1` to `off`.
    pub words: BTreeMap<String, String>,
}

impl Settings {
    /// The machine model's name.
    pub fn machine(&self) -> &str {
        if self.machine.is_empty() { "ampere" } else { &self.machine }
    }
}

/// A program and its launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The program.
    pub text: String,
    /// Language that it is written in.
    pub language: Language,
    /// Launches that replace those of the text, if not empty.
    pub launch: String,
    /// The kernel to run.
    pub kernel: String,
}

/// Asks for [`Simulated`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Simulate {
    /// The program before.
    pub before: Program,
    /// And after.
    pub after: Program,
    /// The program after all passes, where that is a third one.
    pub end: Option<Program>,
    /// How.
    pub settings: Settings,
}

/// The runs of two programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// The program before, or why it did not end well.
    pub before: Result<Run, Failure>,
    /// The program after, or why it did not end well.
    pub after: Result<Run, Failure>,
    /// Counts of the program after all passes, or why it did not end well; none where that is the program after.
    pub end: Option<Result<Counts, Failure>>,
}

impl Simulated {
    /// Counts of the source, of the program at the position, and of the program after all passes, as far as they ran.
    pub fn totals(&self) -> [Option<&Counts>; 3] {
        let [before, after] = [&self.before, &self.after].map(|run| run.as_ref().ok().map(|run| &run.total));
        let end = self.end.as_ref().map_or(after, |end| end.as_ref().ok());
        [before, after, end]
    }
}

/// A run that failed, with its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Kind of the failure, in one word.
    pub code: String,
    /// The reason, without the place.
    pub message: String,
    /// Instruction, block and thread, in words; empty without a place.
    pub place: String,
    /// Line of the instruction in the program's text, from 1; 0 without a place.
    pub line: usize,
    /// Instructions issued before it; none if the run never began.
    pub issue: Option<u64>,
    /// The warp that failed, numbered as in [`WarpState`]; none if no single warp is to blame.
    pub warp: Option<u64>,
}

impl Failure {
    /// A launch that never began.
    pub fn at_start(message: String) -> Failure {
        Failure { code: "launch".to_owned(), message, ..Failure::default() }
    }

    /// Reason and place in one sentence.
    pub fn text(&self) -> String {
        if self.place.is_empty() { self.message.clone() } else { format!("{}, {}", self.message, self.place) }
    }
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Counts of the whole launch; its cycles are the launch's time on one multiprocessor.
    pub total: Counts,
    /// Warps of the launch.
    pub warps: u64,
    /// Lanes a warp.
    pub warp_size: u32,
    /// Counts of blocks: the kernel's in text order, then those of functions as `function.block`.
    pub blocks: Vec<BlockRun>,
    /// Counts of instructions, in text order.
    pub insts: Vec<InstRun>,
    /// Heat of each line of the program's text, from 1.
    pub lines: Vec<LineHeat>,
    /// Blocks that no lane reached, named as in `blocks`.
    pub unreached: Vec<String>,
    /// Hash of the memory at the end.
    pub result_hash: String,
}

/// Counts of a launch, of a block, or of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Cycles that the scheduler spent: one for each issue, and those idle before and during it.
    pub cycles: u64,
    /// Issues by warps.
    pub issues: u64,
    /// Active lanes, summed over issues.
    pub lanes: u64,
    /// Evaluations, by warps and by lanes: issues and their active lanes without those of terminators.
    pub evaluations: (u64, u64),
    /// Executions of branches that split their warp.
    pub divergent: u64,
    /// Loads by warps, by space; spaces without any are left out.
    pub loads: Vec<(String, u64)>,
    /// Stores by warps, by space; spaces without any are left out.
    pub stores: Vec<(String, u64)>,
    /// Accesses that asked for sectors.
    pub requests: u64,
    /// 32-byte sectors that they asked for.
    pub sectors: u64,
    /// Sectors that the first-level cache had.
    pub l1_hits: u64,
    /// Extra cycles by shared-memory bank conflicts.
    pub bank_conflicts: u64,
    /// For n from 0: how many issues had n active lanes.
    pub occupancy: Vec<u64>,
    /// Cycles without an issue, by cause; causes without any are left out.
    pub idle: Vec<(String, u64)>,
}

impl Counts {
    /// The share of lanes that were active, 0 to 1; none without an issue.
    pub fn simt_efficiency(&self) -> Option<f64> {
        let lanes = (self.occupancy.len().saturating_sub(1) as u64 * self.issues) as f64;
        (lanes > 0.0).then(|| self.lanes as f64 / lanes)
    }
}

/// Counts of a block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockRun {
    /// The block.
    pub name: String,
    /// Its counts.
    pub counts: Counts,
}

/// Counts of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstRun {
    /// The block, named as in [`Run::blocks`].
    pub block: String,
    /// Its identity in the program that ran.
    pub inst: u32,
    /// Its line in that program's text, from 1; 0 if it was not written.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// Its counts.
    pub counts: Counts,
}

/// How often a line ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineHeat {
    /// The line, from 1.
    pub line: usize,
    /// Issues of its instruction.
    pub issues: u64,
    /// Active lanes, summed over them.
    pub lanes: u64,
}

/// Asks for a [`Moment`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// The program.
    pub program: Program,
    /// How it is run.
    pub settings: Settings,
    /// How many instructions have been issued.
    pub issue: u64,
    /// Number of the warp to follow; none follows the first one that has not ended.
    pub warp: Option<u64>,
}

/// The multiprocessor between two issues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// How many instructions have been issued.
    pub issue: u64,
    /// Whether the launch has ended, or its next instruction fails.
    pub ended: bool,
    /// The cycle.
    pub cycle: u64,
    /// Some of the warps that have started, in the order of their numbers: those around the followed one.
    pub warps: Vec<WarpState>,
    /// How many warps have started.
    pub started: u64,
    /// Number of the warp that issues next.
    pub next: Option<u64>,
    /// Number of the warp that is followed; none if all have ended.
    pub followed: Option<u64>,
    /// The next instruction of every warp that has not ended.
    pub places: Vec<WarpPlace>,
}

/// Next instruction of a warp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarpPlace {
    /// Number of the warp.
    pub warp: u64,
    /// Its block, named as in [`Run::blocks`].
    pub block: String,
    /// Its line, from 1; 0 if no group of the warp can run.
    pub line: usize,
}

/// A warp at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarpState {
    /// Its place in the order in which the launch starts warps, from 0.
    pub number: u64,
    /// Its name: block and warp.
    pub name: String,
    /// Lanes.
    pub size: u32,
    /// Whether all its lanes have ended; the rest is empty then.
    pub is_finished: bool,
    /// Bit per lane: takes part in the next instruction.
    pub active: u32,
    /// Bit per lane: has ended.
    pub ended: u32,
    /// The block of its next instruction.
    pub block: String,
    /// The line of its next instruction, from 1; 0 if it has ended.
    pub line: usize,
    /// The text of its next instruction.
    pub text: String,
    /// Why it does not issue now; empty if it can.
    pub waits: String,
    /// Its groups of lanes and the points where they meet, innermost first.
    pub groups: Vec<LaneGroup>,
}

/// A group of lanes that run together, or a point where groups meet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaneGroup {
    /// The block where they go on.
    pub block: String,
    /// The block where they meet others; empty if nowhere.
    pub meets: String,
    /// Bit per lane.
    pub mask: u32,
    /// State of the group: `runs`, `waits`, `spins`, or `meets` for a meeting point.
    pub state: String,
}

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
    /// What the sliders say, as `name.zero`, `name.coherence` or `name.true`.
    pub sets: BTreeMap<String, f64>,
    /// What is no slider, in the spelling of the command line's `--set`: `l1` to `off`.
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
    /// What it is written in.
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
    /// How.
    pub settings: Settings,
}

/// The runs of two programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// The program before, or why it did not end well.
    pub before: Result<Run, String>,
    /// The program after, or why it did not end well.
    pub after: Result<Run, String>,
}

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Time of the launch on one multiprocessor, in cycles.
    pub cycles: u64,
    /// Instructions issued by warps.
    pub warp_instructions: u64,
    /// Instructions executed by lanes.
    pub thread_instructions: u64,
    /// Share of lanes that were active, 0 to 1.
    pub simt_efficiency: f64,
    /// Executions of branches that split their warp.
    pub divergent_branches: u64,
    /// Global loads issued by warps.
    pub global_loads: u64,
    /// Global stores issued by warps.
    pub global_stores: u64,
    /// 32-byte sectors that global loads asked for.
    pub load_sectors: u64,
    /// 32-byte sectors that global stores wrote.
    pub store_sectors: u64,
    /// Extra cycles by shared-memory bank conflicts.
    pub bank_conflicts: u64,
    /// Warps of the launch.
    pub warps: u64,
    /// Lanes a warp.
    pub warp_size: u32,
    /// For n from 0: how many issues had n active lanes.
    pub occupancy: Vec<u64>,
    /// Cycles without an issue, by cause.
    pub idle: Vec<(String, u64)>,
    /// By block, in text order.
    pub blocks: Vec<BlockHeat>,
    /// By line of the program's text, from 1.
    pub lines: Vec<LineHeat>,
    /// Of the memory at the end.
    pub result_hash: String,
}

/// How often a block ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockHeat {
    /// The block.
    pub name: String,
    /// Issues of its instructions.
    pub issues: u64,
    /// Active lanes, summed over them.
    pub lanes: u64,
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
}

/// The multiprocessor between two issues.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// How many instructions have been issued.
    pub issue: u64,
    /// Whether the launch has ended.
    pub ended: bool,
    /// The cycle.
    pub cycle: u64,
    /// The warps that are resident.
    pub warps: Vec<WarpState>,
    /// The warp that issues next, as an index in `warps`.
    pub next: Option<usize>,
}

/// A warp at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WarpState {
    /// Its name: block and warp.
    pub name: String,
    /// Lanes.
    pub size: u32,
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
    /// The reconvergence stack, innermost first.
    pub stack: Vec<StackEntry>,
}

/// Lanes that run together until they meet others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StackEntry {
    /// The block where they go on.
    pub block: String,
    /// The block where they meet the lanes below them on the stack; empty if nowhere.
    pub meets: String,
    /// Bit per lane.
    pub mask: u32,
}

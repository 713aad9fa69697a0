//! Report of a run: its counts, the memory that it left, and its profile.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;

use crate::derive::launch_under;
use crate::ir::{Block, Func, Function, Module, Type, Write};
use crate::machine::Machine;
use crate::profile::{Collector, Count, FunctionProfile, Profile, WarpCount, ZeroCount};
use crate::sim::{BufferDump, ErrorKind, Program, Progress, RunResult, Settings, SimError, Simulation, Watcher};

/// Report of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SimulateReport {
    /// Counts and the hash of the memory.
    #[serde(flatten)]
    pub result: RunResult,
    /// The elements of each buffer and global at the end, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<BTreeMap<String, Vec<Element>>>,
    /// Profiles by function, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<BTreeMap<String, ProfileReport>>,
}

/// An element of memory.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Element {
    /// An unsigned integer, or bits.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A finite float.
    Float(f64),
    /// `nan`, `inf` or `-inf`.
    Special(&'static str),
}

/// Profile of one function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ProfileReport {
    /// Edges, in no promised order.
    pub edges: Vec<EdgeReport>,
    /// Acyclic paths.
    pub paths: Vec<PathReport>,
    /// Writes, and how many of them gave zero.
    pub zeros: Vec<ZeroReport>,
    /// Writes that the program makes side by side, and how often all of them gave zero.
    pub joint: Vec<JointReport>,
    /// Blocks, and how often warps executed them and parted.
    pub blocks: Vec<BlockReport>,
}

/// How often an edge was taken.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EdgeReport {
    /// The label of its source.
    pub from: String,
    /// The label of its target.
    pub to: String,
    /// How often.
    #[serde(flatten)]
    pub count: Count,
}

/// How often warps executed a block.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BlockReport {
    /// Its label.
    pub block: String,
    /// How often.
    #[serde(flatten)]
    pub count: WarpCount,
}

/// How often a path was taken.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathReport {
    /// Its labels.
    pub blocks: Vec<String>,
    /// How often.
    #[serde(flatten)]
    pub count: Count,
}

/// A write of a register.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WriteReport {
    /// The label of its block.
    pub block: String,
    /// The register.
    pub register: String,
    /// Which of the block's writes of the register, from 0.
    pub write: u32,
}

/// How often several writes gave zero together.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct JointReport {
    /// The writes, in their order.
    pub writes: Vec<WriteReport>,
    /// How often the last ran.
    #[serde(flatten)]
    pub count: Count,
    /// Lanes in which all of them were zero then.
    pub zero_lanes: u64,
    /// Warps in all of whose active lanes they were.
    pub zero_warps: u64,
}

/// How often a write gave zero.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ZeroReport {
    /// The write.
    #[serde(flatten)]
    pub write: WriteReport,
    /// How often it ran.
    #[serde(flatten)]
    pub count: Count,
    /// Lanes that wrote zero.
    pub zero_lanes: u64,
    /// Warps all of whose active lanes wrote zero.
    pub zero_warps: u64,
}

/// Parts of a report besides the counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Wanted {
    /// The memory at the end.
    pub dump: bool,
    /// Requests the profile.
    pub profile: bool,
}

/// Elements of memory that one report shows.
pub const DUMP_LIMIT: u64 = 1 << 22;

/// Runs a kernel to its end, or until its fuel is used up; without a launch one is derived.
///
/// The simulator's loop is instantiated here, in the crate that is always compiled for speed.
pub fn simulate(
    module: &Module,
    kernel: Func,
    settings: &Settings,
    machine: Machine,
    wanted: Wanted,
) -> Result<SimulateReport, SimError> {
    let mut simulation = launch(module, kernel, settings, machine)?;
    let elements_held = simulation.element_count();
    if wanted.dump && elements_held > DUMP_LIMIT {
        let message = format!("at most {DUMP_LIMIT} elements of memory are shown; this launch has {elements_held}");
        return Err(SimError::new(ErrorKind::Limit, message));
    }
    let mut profile = None;
    if wanted.profile {
        let mut collector = Collector::new(module, simulation.program());
        run_to_end(&mut simulation, &mut collector)?;
        let by_name = |(func, profile): (&Func, &FunctionProfile)| {
            let func = &module.funcs[*func];
            (func.name.clone(), ProfileReport::new(func, profile))
        };
        profile = Some(collector.profile().iter().map(by_name).collect());
    } else {
        while simulation.run(u64::MAX)? == Progress::Running {}
    }
    let memory = wanted.dump.then(|| simulation.dump().into_iter().map(elements).collect());
    Ok(SimulateReport { result: simulation.result(), memory, profile })
}

/// Runs a kernel to its end for its profile alone; otherwise as [`simulate`].
pub fn measure(module: &Module, kernel: Func, settings: &Settings, machine: Machine) -> Result<Profile, SimError> {
    let mut simulation = launch(module, kernel, settings, machine)?;
    let mut collector = Collector::new(module, simulation.program());
    run_to_end(&mut simulation, &mut collector)?;
    Ok(collector.profile())
}

/// Runs a kernel to its end for a watcher, which is made for the decoded program; otherwise as [`simulate`].
pub(super) fn watch<W: Watcher>(
    module: &Module,
    kernel: Func,
    settings: &Settings,
    machine: Machine,
    watcher: impl FnOnce(&Program) -> W,
) -> Result<(W, Simulation), SimError> {
    let mut simulation = launch(module, kernel, settings, machine)?;
    let mut watcher = watcher(simulation.program());
    run_to_end(&mut simulation, &mut watcher)?;
    Ok((watcher, simulation))
}

fn launch(module: &Module, kernel: Func, settings: &Settings, machine: Machine) -> Result<Simulation, SimError> {
    let func = &module.funcs[kernel];
    let launch = launch_under(module, func, settings);
    Simulation::new(module, kernel, &launch, settings, machine)
}

fn run_to_end(simulation: &mut Simulation, mut watcher: &mut dyn Watcher) -> Result<(), SimError> {
    while simulation.run_watched(u64::MAX, &mut watcher)? == Progress::Running {}
    Ok(())
}

fn elements(buffer: BufferDump) -> (String, Vec<Element>) {
    let elements = buffer.elements.iter().map(|&bits| Element::new(buffer.ty, bits)).collect();
    (buffer.name, elements)
}

impl Element {
    /// The element of that type with those bits.
    pub fn new(ty: Type, bits: u64) -> Element {
        match ty {
            Type::F64 => Element::float(f64::from_bits(bits)),
            Type::F32 => Element::float(f64::from(f32::from_bits(bits as u32))),
            Type::F16 => Element::float(half::f16::from_bits(bits as u16).to_f64()),
            _ if ty.is_signed() => {
                let unused = 64 - ty.bits();
                Element::Signed((bits << unused).cast_signed() >> unused)
            }
            _ => Element::Unsigned(bits),
        }
    }

    fn float(value: f64) -> Element {
        match value {
            value if value.is_finite() => Element::Float(value),
            value if value.is_nan() => Element::Special("nan"),
            value if value > 0.0 => Element::Special("inf"),
            _ => Element::Special("-inf"),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Unsigned(value) => write!(out, "{value}"),
            Element::Signed(value) => write!(out, "{value}"),
            Element::Float(value) => write!(out, "{value:?}"),
            Element::Special(word) => out.write_str(word),
        }
    }
}

impl ProfileReport {
    fn new(func: &Function, profile: &FunctionProfile) -> ProfileReport {
        let label = |block: Block| func.blocks[block].name.clone();
        let edge =
            |(&(from, to), &count): (&(Block, Block), &Count)| EdgeReport { from: label(from), to: label(to), count };
        let path = |(path, &count): (&Vec<Block>, &Count)| PathReport {
            blocks: path.iter().map(|&block| label(block)).collect(),
            count,
        };
        let named = |write: &Write| WriteReport {
            block: label(write.block),
            register: func.regs[write.reg].name.clone(),
            write: write.occurrence,
        };
        let zero = |(write, count): (&Write, &ZeroCount)| ZeroReport {
            write: named(write),
            count: count.all,
            zero_lanes: count.zero.lanes,
            zero_warps: count.zero.warps,
        };
        let joint = |(writes, count): (&Vec<Write>, &ZeroCount)| JointReport {
            writes: writes.iter().map(named).collect(),
            count: count.all,
            zero_lanes: count.zero.lanes,
            zero_warps: count.zero.warps,
        };
        ProfileReport {
            edges: profile.edges.iter().map(edge).collect(),
            paths: profile.paths.iter().map(path).collect(),
            zeros: profile.zeros.iter().map(zero).collect(),
            joint: profile.joint.iter().map(joint).collect(),
            blocks: profile.blocks.iter().map(|(&block, &count)| BlockReport { block: label(block), count }).collect(),
        }
    }
}

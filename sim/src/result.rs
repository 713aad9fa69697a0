//! Result of a run: counts by launch, block and instruction, and the memory that it left.
//!
//! The field names are those of `warpscope sim --json`. Everything is derived from [`Statistics`]
//! once, at the end. `result_hash` is FNV-1a in 64 bits over the buffers' bytes in parameter order,
//! then the globals'; it knows neither names nor addresses, so two programs that compute the same
//! have the same hash.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::decode::Location;
use super::memory::{Region, RegionKind, read_number};
use super::run::Simulation;
use super::statistics::{Counts, IdleCause};
use crate::ir::{Block, Func, Inst, Space, Type};
use crate::machine::OpClass;

/// The result of a run that came to its end.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RunResult {
    /// The kernel.
    pub kernel: String,
    /// The machine model.
    pub machine: &'static str,
    /// The seed of everything random.
    pub seed: u64,
    /// Lanes a warp.
    pub warp_size: u32,
    /// Warps of the launch.
    pub warps: u64,
    /// Time of the whole launch on one multiprocessor, in cycles.
    pub cycles: u64,
    /// Instructions issued by warps.
    pub warp_instructions: u64,
    /// Instructions executed by lanes: active lanes summed over issues.
    pub thread_instructions: u64,
    /// Share of lanes that were active, 0–1: thread instructions by warp instructions by warp size.
    pub simt_efficiency: f64,
    /// Executions of branches whose lanes parted.
    pub divergent_branches: u64,
    /// 32-byte sectors that global loads asked for.
    pub global_load_transactions: u64,
    /// 32-byte sectors that global stores wrote.
    pub global_store_transactions: u64,
    /// Warp-level global loads with at least one active lane.
    pub global_loads: u64,
    /// Warp-level global stores with at least one active lane.
    pub global_stores: u64,
    /// Results of blocks, by label.
    pub blocks: BTreeMap<String, BlockResult>,
    /// Labels of blocks that no lane reached, in text order, the kernel's first.
    pub unreached: Vec<String>,
    /// All other counts of blocks, by label.
    pub block_statistics: BTreeMap<String, BlockStatistics>,
    /// In text order, the kernel's first.
    pub instructions: Vec<InstResult>,
    /// Hash of the memory at the end, 16 hexadecimal digits.
    pub result_hash: String,
    /// Issues by number of active lanes, from 0 to the warp size.
    pub occupancy: Vec<u64>,
    /// Cycles without an issue, by cause.
    pub idle_cycles: BTreeMap<&'static str, u64>,
    /// Warp-level loads by space.
    pub loads: BTreeMap<&'static str, u64>,
    /// Warp-level stores by space.
    pub stores: BTreeMap<&'static str, u64>,
    /// Sectors of loads by warp-level loads of global memory; 0 without loads.
    pub sectors_per_request: f64,
    /// Passes over the banks of shared memory beyond the first of each part of a warp that is served at once.
    pub shared_bank_conflicts: u64,
    /// Sectors that the first-level cache had.
    pub l1_hits: u64,
}

/// Counts of a block.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BlockResult {
    /// Issues of its instructions.
    pub issues: u64,
    /// Active lanes, summed over them.
    pub lanes: u64,
}

/// Total cost of all instructions of a block.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BlockStatistics {
    /// Cycles that the scheduler spent on them: a cycle for each issue, and those idle before and during it. All blocks
    /// together have the launch's.
    pub cycles: u64,
    /// Cycles among these without an issue, by cause.
    pub idle_cycles: BTreeMap<&'static str, u64>,
    /// Issues by number of active lanes, from 0 to the warp size.
    pub occupancy: Vec<u64>,
    /// Executions of its branch whose lanes parted.
    pub divergent: u64,
    /// Warp-level loads by space.
    pub loads: BTreeMap<&'static str, u64>,
    /// Warp-level stores by space.
    pub stores: BTreeMap<&'static str, u64>,
    /// Sectors that its accesses asked for.
    pub sectors: u64,
    /// Sectors that the first-level cache had.
    pub l1_hits: u64,
    /// Passes over the banks of shared memory beyond the first of each part of a warp that is served at once.
    pub bank_conflicts: u64,
}

/// Counts of an instruction.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct InstResult {
    /// The function.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub func: Func,
    /// The instruction.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub inst: Inst,
    /// The block.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub block_id: Block,
    /// The function's name.
    pub function: String,
    /// The block's label.
    pub block: String,
    /// Its place in the block, from 0.
    pub index: u32,
    /// The opcode as spelled.
    pub opcode: String,
    /// Times issued.
    pub issues: u64,
    /// Active lanes, summed over issues.
    pub lanes: u64,
    /// Cycles that the scheduler spent on it: a cycle for each issue, and those idle before and during it.
    pub cycles: u64,
    /// Cycles among these without an issue, by cause.
    pub idle_cycles: BTreeMap<&'static str, u64>,
    /// Issues by number of active lanes, from 0 to the warp size.
    pub occupancy: Vec<u64>,
    /// For a branch: executions whose lanes parted.
    pub divergent: u64,
    /// For an access: issues with at least one active lane.
    pub requests: u64,
    /// For an access: sectors asked for.
    pub sectors: u64,
    /// For an access: sectors that the first-level cache had.
    pub l1_hits: u64,
    /// For a shared-memory access: passes over the banks beyond the first of each part of a warp
    /// that is served at once.
    pub bank_conflicts: u64,
}

/// The contents of a buffer, element by element.
#[derive(Clone, PartialEq, Debug)]
pub struct BufferDump {
    /// The parameter's or global's name.
    pub name: String,
    /// The element type.
    pub ty: Type,
    /// Bits of each element.
    pub elements: Vec<u64>,
}

impl Simulation {
    /// Returns the result so far; intended for the end of the run.
    pub fn result(&self) -> RunResult {
        let (program, statistics) = (self.program(), self.statistics());
        let warp_size = self.bound().warp;
        let mut instructions: Vec<InstResult> = Vec::with_capacity(program.insts.len());
        let mut parts: BTreeMap<String, Part> = BTreeMap::new();
        let kernel = program.funcs[0].func;
        for func in &program.funcs {
            for (_, label) in program.blocks(func.func) {
                parts.entry(block_key(program.func_name(func.func), label, func.func == kernel)).or_default();
            }
        }
        let (mut index, mut last, mut whole) = (0, None, Part::default());
        for (pc, (counts, location)) in statistics.insts.iter().zip(&program.locations).enumerate() {
            let (function, label) = (program.func_name(location.func), program.label(pc as u32));
            index = if last == Some((location.func, location.block)) { index + 1 } else { 0 };
            last = Some((location.func, location.block));
            whole.add(counts, location);
            parts.entry(block_key(function, label, location.func == kernel)).or_default().add(counts, location);
            instructions.push(InstResult {
                func: location.func,
                inst: location.inst,
                block_id: location.block,
                function: function.to_string(),
                block: label.to_string(),
                index,
                opcode: program.text(pc as u32).0.to_string(),
                issues: counts.issues(),
                lanes: counts.lanes(),
                cycles: counts.cycles(),
                idle_cycles: by_cause(counts),
                occupancy: counts.occupancy[..=warp_size as usize].to_vec(),
                divergent: counts.divergences,
                requests: if location.class.is_memory() { counts.active_issues() } else { 0 },
                sectors: counts.sectors,
                l1_hits: counts.hits,
                bank_conflicts: counts.conflicts,
            });
        }
        let of =
            |map: &BTreeMap<&'static str, Traffic>, space: Space| map.get(space.name()).copied().unwrap_or_default();
        let (loads, stores) = (of(&whole.loads, Space::Global), of(&whole.stores, Space::Global));
        let (warp_instructions, thread_instructions) = (whole.counts.issues(), whole.counts.lanes());
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let (mut blocks, mut block_statistics) = (BTreeMap::new(), BTreeMap::new());
        for (label, part) in parts {
            blocks.insert(label.clone(), BlockResult { issues: part.counts.issues(), lanes: part.counts.lanes() });
            block_statistics.insert(label, part.statistics(warp_size));
        }
        let whole = whole.statistics(warp_size);
        RunResult {
            kernel: program.func_name(kernel).to_string(),
            machine: self.machine().name(),
            seed: self.bound().seed,
            warp_size,
            warps: self.warps_launched(),
            cycles: self.cycle(),
            warp_instructions,
            thread_instructions,
            simt_efficiency: share(thread_instructions, warp_instructions * u64::from(warp_size)),
            divergent_branches: whole.divergent,
            global_load_transactions: loads.sectors,
            global_store_transactions: stores.sectors,
            global_loads: loads.requests,
            global_stores: stores.requests,
            blocks,
            unreached: self.unreached(),
            block_statistics,
            instructions,
            result_hash: format!("{:016x}", self.result_hash()),
            occupancy: whole.occupancy,
            idle_cycles: whole.idle_cycles,
            loads: whole.loads,
            stores: whole.stores,
            sectors_per_request: share(loads.sectors, loads.requests),
            shared_bank_conflicts: whole.bank_conflicts,
            l1_hits: whole.l1_hits,
        }
    }

    /// Labels of the blocks that no lane has reached so far, in text order, the kernel's first.
    pub fn unreached(&self) -> Vec<String> {
        let program = self.program();
        let kernel = program.funcs[0].func;
        let counted = self.statistics().insts.iter().zip(&program.locations).filter(|(counts, _)| counts.lanes() > 0);
        let reached: BTreeSet<(Func, Block)> = counted.map(|(_, location)| (location.func, location.block)).collect();
        let blocks = program.funcs.iter().flat_map(|func| program.blocks(func.func).map(|block| (func.func, block)));
        blocks
            .filter(|(func, (block, _))| !reached.contains(&(*func, *block)))
            .map(|(func, (_, label))| block_key(program.func_name(func), label, func == kernel))
            .collect()
    }

    /// The buffers in parameter order, those behind pointers, then the globals. Textures and
    /// constants cannot change and are left out.
    fn written_regions(&self) -> impl Iterator<Item = &Region> {
        let regions = &self.memory().regions;
        let globals = self.global_regions();
        let (of_module, of_params) = regions.split_at(globals);
        of_params.iter().chain(of_module).filter(|region| region.kind == RegionKind::Global)
    }

    fn global_regions(&self) -> usize {
        let (of_params, of_pointers) = self.bound().memory_counts();
        self.memory().regions.len() - of_params - of_pointers
    }

    /// See the file's head.
    pub fn result_hash(&self) -> u64 {
        let bytes = self.written_regions().flat_map(|region| region.bytes.iter());
        bytes.fold(0xCBF2_9CE4_8422_2325, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3))
    }

    /// Elements of all buffers and globals: what [`Simulation::dump`] gives.
    pub fn element_count(&self) -> u64 {
        self.written_regions().map(|region| region.bytes.len() as u64 / u64::from(region.ty.bytes())).sum()
    }

    /// Number of buffers and globals that [`Simulation::dump`] gives.
    pub fn buffer_count(&self) -> usize {
        self.written_regions().count()
    }

    /// The contents of all buffers and globals. A global that has a parameter's name is called `global name`.
    pub fn dump(&self) -> Vec<BufferDump> {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut dumped = Vec::new();
        for region in self.written_regions() {
            let size = region.ty.bytes() as usize;
            let count = region.bytes.len() / size;
            let is_free = names.insert(&region.name);
            dumped.push(BufferDump {
                name: if is_free { region.name.clone() } else { format!("global {}", region.name) },
                ty: region.ty,
                elements: (0..count).map(|index| read_number(&region.bytes, index * size, size)).collect(),
            });
        }
        dumped
    }
}

/// Counts of some instructions together.
struct Part {
    counts: Counts,
    loads: BTreeMap<&'static str, Traffic>,
    stores: BTreeMap<&'static str, Traffic>,
}

/// Warp-level accesses of one space, and the sectors that they asked for.
#[derive(Clone, Copy, Default)]
struct Traffic {
    requests: u64,
    sectors: u64,
}

impl Default for Part {
    fn default() -> Part {
        Part { counts: Counts::NONE, loads: BTreeMap::new(), stores: BTreeMap::new() }
    }
}

impl Part {
    /// Counts an instruction in. A generic access counts as global, except where it went elsewhere.
    fn add(&mut self, counts: &Counts, location: &Location) {
        self.counts.add(counts);
        let map = match location.class {
            OpClass::LoadGlobal | OpClass::LoadLocal | OpClass::LoadShared | OpClass::LoadConst => &mut self.loads,
            OpClass::Store => &mut self.stores,
            _ => return,
        };
        let mut add = |space: &'static str, requests: u64, sectors: u64| {
            let traffic = map.entry(space).or_default();
            traffic.requests += requests;
            traffic.sectors += sectors;
        };
        let requests = counts.active_issues();
        match location.space {
            Some(space) => add(space.name(), requests, counts.sectors),
            None => {
                add(Space::Global.name(), requests - counts.elsewhere, counts.sectors);
                if counts.elsewhere > 0 {
                    add("generic", counts.elsewhere, 0);
                }
            }
        }
    }

    fn statistics(self, warp_size: u32) -> BlockStatistics {
        let counts = &self.counts;
        let requests = |map: &BTreeMap<&'static str, Traffic>| {
            gather(map.iter().map(|(space, traffic)| (*space, traffic.requests)))
        };
        BlockStatistics {
            cycles: counts.cycles(),
            idle_cycles: by_cause(counts),
            occupancy: counts.occupancy[..=warp_size as usize].to_vec(),
            divergent: counts.divergences,
            loads: requests(&self.loads),
            stores: requests(&self.stores),
            sectors: counts.sectors,
            l1_hits: counts.hits,
            bank_conflicts: counts.conflicts,
        }
    }
}

/// Idle cycles by the cause's name.
fn by_cause(counts: &Counts) -> BTreeMap<&'static str, u64> {
    gather(IdleCause::ALL.iter().map(|&cause| (cause.name(), counts.idle[cause as usize])))
}

/// Labels of the kernel stand as they are, those of functions behind the function's name.
fn block_key(function: &str, label: &str, is_kernel: bool) -> String {
    if is_kernel { label.to_string() } else { format!("{function}.{label}") }
}

/// A map from pairs, one by one: collecting would sort them first, by code that is larger than all of this file's.
fn gather(pairs: impl Iterator<Item = (&'static str, u64)>) -> BTreeMap<&'static str, u64> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

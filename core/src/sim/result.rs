//! What a run found: counts by launch, block and instruction, and the memory that it left.
//!
//! The field names are those of `warpscope sim --json`. Everything is derived from [`Statistics`] once, at the end.
//! `result_hash` is FNV-1a in 64 bits over the buffers' bytes in parameter order, then the globals'; it knows neither names
//! nor addresses, so two programs that compute the same have the same hash.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::memory::{Region, RegionKind, read_number};
use super::reconvergence::Reconvergence;
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
    /// By label.
    pub blocks: BTreeMap<String, BlockResult>,
    /// In text order, the kernel's first.
    pub instructions: Vec<InstResult>,
    /// Of the memory at the end, 16 hexadecimal digits.
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
    /// Passes over the banks of shared memory beyond the first of each request.
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
    /// For a branch: executions whose lanes parted.
    pub divergent: u64,
    /// For an access: sectors asked for.
    pub sectors: u64,
    /// For an access: sectors that the first-level cache had.
    pub l1_hits: u64,
    /// For a shared-memory access: passes over the banks beyond the first of each request.
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

impl<R: Reconvergence> Simulation<R> {
    /// What the run has found so far; meant for its end.
    pub fn result(&self) -> RunResult {
        let (program, statistics) = (self.program(), self.statistics());
        let mut instructions: Vec<InstResult> = Vec::with_capacity(program.insts.len());
        let mut blocks: BTreeMap<String, BlockResult> = BTreeMap::new();
        let kernel = program.funcs[0].func;
        for func in &program.funcs {
            for (_, label) in program.blocks(func.func) {
                blocks.entry(block_key(program.func_name(func.func), label, func.func == kernel)).or_default();
            }
        }
        let (mut index, mut last) = (0, None);
        for (pc, (counts, location)) in statistics.insts.iter().zip(&program.locations).enumerate() {
            let (function, label) = (program.func_name(location.func), program.label(pc as u32));
            index = if last == Some((location.func, location.block)) { index + 1 } else { 0 };
            last = Some((location.func, location.block));
            let block = blocks.entry(block_key(function, label, location.func == kernel)).or_default();
            block.issues += counts.issues;
            block.lanes += counts.lanes;
            instructions.push(InstResult {
                func: location.func,
                inst: location.inst,
                block_id: location.block,
                function: function.to_string(),
                block: label.to_string(),
                index,
                opcode: program.text(pc as u32).0.to_string(),
                issues: counts.issues,
                lanes: counts.lanes,
                divergent: counts.divergences,
                sectors: counts.sectors,
                l1_hits: counts.hits,
                bank_conflicts: counts.conflicts,
            });
        }
        let sum = |value: fn(&Counts) -> u64| statistics.insts.iter().map(value).sum::<u64>();
        let traffic = self.traffic();
        let of =
            |map: &BTreeMap<&'static str, (u64, u64)>, space: Space| map.get(space.name()).copied().unwrap_or((0, 0));
        let (global_loads, global_load_transactions) = of(&traffic.loads, Space::Global);
        let (global_stores, global_store_transactions) = of(&traffic.stores, Space::Global);
        let (warp_instructions, thread_instructions) = (sum(|counts| counts.issues), sum(|counts| counts.lanes));
        let warp_size = self.bound().warp;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
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
            divergent_branches: sum(|counts| counts.divergences),
            global_load_transactions,
            global_store_transactions,
            global_loads,
            global_stores,
            blocks,
            instructions,
            result_hash: format!("{:016x}", self.result_hash()),
            occupancy: statistics.occupancy[..=warp_size as usize].to_vec(),
            idle_cycles: gather(IdleCause::ALL.iter().map(|&cause| (cause.name(), statistics.idle[cause as usize]))),
            loads: gather(traffic.loads.iter().map(|(space, (count, _))| (*space, *count))),
            stores: gather(traffic.stores.iter().map(|(space, (count, _))| (*space, *count))),
            sectors_per_request: share(global_load_transactions, global_loads),
            shared_bank_conflicts: sum(|counts| counts.conflicts),
            l1_hits: sum(|counts| counts.hits),
        }
    }

    /// Requests and sectors by space. A generic access counts as global, except where it went elsewhere.
    fn traffic(&self) -> Traffic {
        let mut traffic = Traffic::default();
        for (counts, location) in self.statistics().insts.iter().zip(&self.program().locations) {
            let maps: &mut [&mut BTreeMap<_, _>] = match location.class {
                OpClass::LoadGlobal | OpClass::LoadLocal | OpClass::LoadShared | OpClass::LoadConst => {
                    &mut [&mut traffic.loads]
                }
                OpClass::Store => &mut [&mut traffic.stores],
                OpClass::Atomic | OpClass::AtomicShared => &mut [&mut traffic.atomics],
                OpClass::Texture => &mut [&mut traffic.textures],
                _ => continue,
            };
            for map in maps {
                let mut add = |space: &'static str, requests: u64, sectors: u64| {
                    let (all_requests, all_sectors) = map.entry(space).or_insert((0, 0));
                    *all_requests += requests;
                    *all_sectors += sectors;
                };
                match location.space {
                    Some(space) => add(space.name(), counts.active_issues, counts.sectors),
                    None => {
                        add(Space::Global.name(), counts.active_issues - counts.elsewhere, counts.sectors);
                        if counts.elsewhere > 0 {
                            add("generic", counts.elsewhere, 0);
                        }
                    }
                }
            }
        }
        traffic
    }

    /// The buffers in parameter order, then the globals. Textures and constants cannot change and are left out.
    fn written_regions(&self) -> impl Iterator<Item = &Region> {
        let regions = &self.memory().regions;
        let globals = self.global_regions();
        let (of_module, of_params) = regions.split_at(globals);
        of_params.iter().chain(of_module).filter(|region| region.kind == RegionKind::Global)
    }

    fn global_regions(&self) -> usize {
        use super::bind::Argument;
        let params = &self.bound().params;
        let bound = params.iter().filter(|param| matches!(param, Argument::Buffer(..) | Argument::Texture(..))).count();
        self.memory().regions.len() - bound
    }

    /// See the file's head.
    pub fn result_hash(&self) -> u64 {
        let bytes = self.written_regions().flat_map(|region| region.bytes.iter());
        bytes.fold(0xCBF2_9CE4_8422_2325, |state, &byte| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3))
    }

    /// The contents of all buffers and globals.
    pub fn dump(&self) -> Vec<BufferDump> {
        let dump = |region: &Region| {
            let size = region.ty.bytes() as usize;
            let count = region.bytes.len() / size;
            BufferDump {
                name: region.name.clone(),
                ty: region.ty,
                elements: (0..count).map(|index| read_number(&region.bytes, index * size, size)).collect(),
            }
        };
        self.written_regions().map(dump).collect()
    }
}

/// Requests and sectors by space.
#[derive(Default)]
struct Traffic {
    loads: BTreeMap<&'static str, (u64, u64)>,
    stores: BTreeMap<&'static str, (u64, u64)>,
    atomics: BTreeMap<&'static str, (u64, u64)>,
    textures: BTreeMap<&'static str, (u64, u64)>,
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

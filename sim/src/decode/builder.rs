//! Lays out the memory of a kernel and of all that it may call, and decodes function by function.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::instruction::Decoder;
use super::layout::{Symbols, array_offsets, local_bytes};
use super::operands::Frame;
use super::timing::KnownClocks;
use super::{DecodedFunc, FuncNames, INST_LIMIT, Location, Program};
use crate::error::{ErrorKind, SimError};
use crate::graph::{Cfg, PostDominators};
use crate::groups::NOWHERE;
use crate::ir::{Block, Func, InputData, Module, ParamType, Space};
use crate::machine::{Machine, OpClass};
use crate::memory::{ordered_globals, region_address};
use warpscope_program::compact_sort::CompactSort;

/// Decodes a kernel and everything that it may call.
pub(super) fn build(module: &Module, kernel: Func, machine: Machine) -> Result<Program, SimError> {
    let funcs = reachable_functions(module, kernel);
    let total: usize = funcs.iter().map(|&func| module.funcs[func].inst_count()).sum();
    if total > INST_LIMIT {
        let message = format!("a program has at most {INST_LIMIT} instructions, not {total}");
        return Err(SimError::new(ErrorKind::Limit, message));
    }
    let mut builder = Builder::new(module, machine, &funcs)?;
    for index in 0..funcs.len() {
        builder.function(index)?;
    }
    builder.program.local_bytes = local_bytes(module, kernel, &funcs)?;
    Ok(builder.program)
}

/// The kernel, then every function that a call may reach, in the order of discovery.
fn reachable_functions(module: &Module, kernel: Func) -> Vec<Func> {
    let mut funcs = vec![kernel];
    let mut next = 0;
    while let Some(&func) = funcs.get(next) {
        next += 1;
        let body = &module.funcs[func];
        for inst in body.block_order().flat_map(|block| body.block_insts(block)) {
            if let Some(callee) = body.insts[inst].callee()
                && !funcs.contains(&callee.func)
                && module.funcs.is_valid(callee.func)
            {
                funcs.push(callee.func);
            }
        }
    }
    funcs
}

/// State of decoding.
pub(super) struct Builder<'a> {
    pub(super) module: &'a Module,
    pub(super) machine: Machine,
    pub(super) funcs: &'a [Func],
    pub(super) symbols: Symbols,
    /// Program counter of each block, by function.
    pub(super) block_pcs: Vec<BTreeMap<Block, u32>>,
    /// Slots of constants, by bits and whether they are 64.
    pub(super) constants: BTreeMap<(u64, bool), u32>,
    /// Counters of draws, by input, and by function where the input is uniform.
    pub(super) counters: BTreeMap<(String, Option<usize>), u32>,
    pub(super) program: Program,
}

impl<'a> Builder<'a> {
    fn new(module: &'a Module, machine: Machine, funcs: &'a [Func]) -> Result<Builder<'a>, SimError> {
        let mut arrays = BTreeMap::new();
        let (mut shared_end, mut has_extern) = (0u32, false);
        for &func in funcs {
            let body = &module.funcs[func];
            let (shared, bytes) = array_offsets(body, Space::Shared);
            for (array, offset) in shared {
                if body.arrays[array].len.is_some() {
                    arrays.insert((func, array), shared_end.saturating_add(offset));
                }
            }
            shared_end = shared_end.saturating_add(bytes);
            arrays.extend(array_offsets(body, Space::Local).0.into_iter().map(|(array, o)| ((func, array), o)));
        }
        for &func in funcs {
            for (array, data) in &module.funcs[func].arrays {
                if data.space == Space::Shared && data.len.is_none() {
                    arrays.insert((func, array), shared_end);
                    has_extern = true;
                }
            }
        }
        if shared_end > machine.limits().shared_bytes {
            let most = machine.limits().shared_bytes;
            let message =
                format!("a block has at most {most} bytes of shared memory on this machine, not {shared_end}");
            return Err(SimError::new(ErrorKind::Limit, message));
        }
        let (mut params, mut param_bytes) = (Vec::new(), 0u32);
        for param in &module.funcs[funcs[0]].params {
            params.push(param_bytes);
            if let ParamType::Array(ty, len) = param.ty {
                param_bytes = param_bytes.saturating_add(len.saturating_mul(ty.bytes()).next_multiple_of(16));
            }
        }
        if param_bytes > 1 << 16 {
            let message = format!("a kernel takes at most 65536 bytes of parameters, not {param_bytes}");
            return Err(SimError::new(ErrorKind::Limit, message));
        }
        let globals = ordered_globals(module).enumerate().map(|(k, (global, _))| (global, region_address(k))).collect();
        let (mut block_pcs, mut pc) = (Vec::new(), 0);
        for &func in funcs {
            let body = &module.funcs[func];
            let mut pcs = BTreeMap::new();
            for block in body.block_order() {
                pcs.insert(block, pc);
                pc += body.block_insts(block).count() as u32;
            }
            block_pcs.push(pcs);
        }
        Ok(Builder {
            module,
            machine,
            funcs,
            symbols: Symbols { globals, arrays, params: params.clone() },
            block_pcs,
            constants: BTreeMap::new(),
            counters: BTreeMap::new(),
            program: Program {
                insts: Vec::new(),
                locations: Vec::new(),
                funcs: Vec::new(),
                constants: Vec::new(),
                timings: Vec::new(),
                calm: Vec::new(),
                leaves_at: Vec::new(),
                meets_at: Vec::new(),
                issue_before: Vec::new(),
                more_clocks: Vec::new(),
                steps: Vec::new(),
                accesses: Vec::new(),
                warp_sites: Vec::new(),
                draws: Vec::new(),
                reads: Vec::new(),
                works: Vec::new(),
                switches: Vec::new(),
                calls: Vec::new(),
                rets: Vec::new(),
                shared_bytes: shared_end,
                has_extern_shared: has_extern,
                param_bytes,
                param_offsets: params,
                counters: 0,
                local_bytes: 0,
                names: Vec::new(),
            },
        })
    }

    fn function(&mut self, index: usize) -> Result<(), SimError> {
        let func = self.funcs[index];
        let body = &self.module.funcs[func];
        let error = |message: &str| SimError::new(ErrorKind::Program, format!("`{}` {message}", body.name));
        let entry_pcs: Option<Vec<u32>> =
            body.entry_blocks().iter().map(|block| self.block_pcs[index].get(block).copied()).collect();
        let entries = entry_pcs.filter(|entries| !entries.is_empty()).ok_or_else(|| error("has no block"))?;
        if let Some(block) = body.block_order().find(|&block| body.terminator(block).is_none()) {
            return Err(error(&format!("has no terminator in block `{}`", body.blocks[block].name)));
        }
        let mut frame = Frame::new(func, body);
        let params =
            frame.params(index == 0).ok_or_else(|| error("takes an array by value, which only a kernel can"))?;
        let post_dominators = PostDominators::compute(&Cfg::compute(body));
        let mut names = FuncNames { func, name: body.name.clone(), blocks: Vec::new(), insts: Vec::new() };
        for block in body.block_order() {
            names.blocks.push((block, body.blocks[block].name.clone()));
            let join = post_dominators
                .immediate_post_dominator(block)
                .and_then(|join| self.block_pcs[index].get(&join).copied())
                .unwrap_or(NOWHERE);
            let mut known = KnownClocks::default();
            for inst in body.block_insts(block) {
                let data = &body.insts[inst];
                names.insts.push((inst, data.opcode.to_string(), body.inst_spans[inst]));
                let class = OpClass::of(data.opcode);
                self.program.locations.push(Location { func, block, inst, class, space: data.opcode.space });
                let mut decoder = Decoder { builder: self, index, body, frame: &mut frame, join, known: &mut known };
                let (decoded, timing) = decoder.inst(data).map_err(|reason| decoder.refuse(block, inst, reason))?;
                self.program.insts.push(decoded);
                self.program.timings.push(timing);
            }
        }
        names.insts.compact_sort_by_key(|(inst, ..)| *inst);
        self.program.names.push(names);
        let local_bytes = array_offsets(body, Space::Local).1;
        self.program.funcs.push(DecodedFunc {
            func,
            entries,
            regs: body.regs.keys().map(|reg| frame.reg(reg)).collect(),
            planes: frame.plane_count(),
            predicates: frame.predicate_count(),
            clocks: frame.clock_count(),
            initial: frame.initial().to_vec(),
            local_bytes,
            params,
        });
        Ok(())
    }

    /// The counter of an input's draws. Functions that declare an input of one name draw from one
    /// sequence, as a launch gives it one line. A uniform one has a sequence in each function: what
    /// is uniform in a kernel must stay so whatever some of its lanes draw in a function that they
    /// call.
    pub(super) fn counter(&mut self, index: usize, input: &InputData) -> u32 {
        let key = (input.name.clone(), input.uniform.then_some(index));
        *self.counters.entry(key).or_insert_with(|| {
            self.program.counters += 1;
            self.program.counters - 1
        })
    }
}

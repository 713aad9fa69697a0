//! Which blocks are on the multiprocessor: they come in the grid's order while there is room for
//! warps and shared memory, and leave with their last warp. A warp begins with a frame for its
//! kernel's registers.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use smallvec::SmallVec;

use super::{BlockSlot, CAUSE_BITS, Frame, Front, Simulation, Warp, unflatten};
use crate::bind::{Argument, Bound, pointer_places};
use crate::decode::{Initial, Program, TRUE, Value};
use crate::groups::Groups;
use crate::ir::{Func, Function, Global, Module, Space, Special, Type};
use crate::lanes::Plane;
use crate::memory::{LOCAL_WINDOW, Memory, RegionKind, ordered_globals, region_address, write_number};
use crate::together::FrameBase;

impl Simulation {
    /// Makes blocks resident while the machine has room.
    pub(super) fn fill(&mut self) {
        let limits = self.machine.limits();
        let warps_a_block = self.bound.block_threads().div_ceil(self.bound.warp) as usize;
        while self.next_block < self.bound.block_count() {
            let resident: Vec<usize> = (0..self.blocks.len()).filter(|&slot| self.blocks[slot].is_some()).collect();
            let free_warps: Vec<usize> =
                (0..self.warps.len()).filter(|&slot| self.warps[slot].is_none()).take(warps_a_block).collect();
            let shared = (resident.len() as u64 + 1) * u64::from(self.resident_shared);
            let has_room = resident.len() < limits.blocks as usize
                && free_warps.len() == warps_a_block
                && (shared <= u64::from(limits.shared_bytes) || resident.is_empty());
            if !has_room {
                return;
            }
            let block = (0..self.blocks.len()).find(|&slot| self.blocks[slot].is_none()).unwrap_or_else(|| {
                self.blocks.push(None);
                self.blocks.len() - 1
            });
            self.start_block(block, &free_warps);
        }
    }

    fn start_block(&mut self, block: usize, slots: &[usize]) {
        let threads = self.bound.block_threads();
        self.blocks[block] =
            Some(BlockSlot { number: self.next_block, warps: slots.len() as u32, barriers: SmallVec::new() });
        self.next_block += 1;
        self.memory.reset_shared(block, self.resident_shared);
        for (number, &slot) in slots.iter().enumerate() {
            let first = number as u32 * self.bound.warp;
            let count = (threads - first).min(self.bound.warp);
            let lanes = if count == 32 { !0 } else { (1 << count) - 1 };
            self.memory.reset_local(slot);
            self.warps[slot] = Some(Warp {
                groups: Groups::start(self.program.funcs[0].entries[0], lanes),
                frames: Vec::new(),
                block,
                number: number as u32,
                lanes,
                alive: lanes,
                draws: vec![[0; 32]; self.program.counters as usize],
                exits: [0; 32],
                spun: 0,
            });
            self.warps_launched += 1;
            if slot >= self.fronts.len() {
                self.fronts.resize(slot + 1, Front::NONE);
                self.last_in_turn = self.order.last_in_turn(slot + 1);
                self.ways.resize(slot + 1, VecDeque::new());
            }
            let kernel = Frame { base: 0, func: 0, call: 0, caller: 0, depth: 0, local: 0, lanes };
            self.push_frame(slot, kernel);
            self.bind_params(slot);
            self.enter(slot);
            let start = self.cycle + self.order.delay(slot);
            self.fronts[slot].wait_until(start << CAUSE_BITS);
        }
    }

    /// Gives a call of a warp zeroed slots with its special registers and local addresses. Returns
    /// the frame's index in the warp, and where its slots begin.
    pub(super) fn push_frame(&mut self, slot: usize, mut call: Frame) -> (u32, u32) {
        let Frame { func, local, .. } = call;
        let size = self.program.funcs[func].frame_size() as usize;
        let base = match self.free_frames[func].pop() {
            Some(base) => {
                let range = base as usize..base as usize + size;
                self.file.planes[range.clone()].fill(Plane::default());
                self.file.predicates[range.clone()].fill(0);
                self.clocks[range].fill(0);
                base
            }
            None => {
                let base = self.file.planes.len();
                self.file.resize(base + size);
                self.clocks.resize(base + size, 0);
                base as u32
            }
        };
        let frame = FrameBase(base);
        let program = self.program.clone();
        self.file.predicates[frame.at(TRUE) as usize] = !0;
        for &(what, plane) in &program.funcs[func].initial {
            for lane in 0..32 {
                let (bits, wide) = match what {
                    Initial::Special(special) => (u64::from(self.special(slot, special, lane as u32)), false),
                    Initial::Local { offset, wide } => (LOCAL_WINDOW + u64::from(local + offset), wide),
                };
                let value = if wide { Value::Wide(plane) } else { Value::Word(plane) };
                frame.write(&mut self.file, value, lane, bits);
            }
        }
        call.base = base;
        let frames = &mut self.warp_mut(slot).frames;
        let free = frames.iter().skip(1).position(|frame| frame.lanes == 0).map(|free| free + 1);
        let index = free.unwrap_or(frames.len());
        if index == frames.len() {
            frames.push(call);
        } else {
            frames[index] = call;
        }
        (index as u32, base)
    }

    /// A special register; of one with 64 bits the low half.
    pub(super) fn special(&self, slot: usize, special: Special, lane: u32) -> u32 {
        let warp = self.warp(slot);
        let block = self.block_number(slot);
        let thread = warp.number * self.bound.warp + lane;
        match special {
            Special::Tid(axis) => unflatten(u64::from(thread), self.bound.block)[axis.index()],
            Special::Ntid(axis) => self.bound.block[axis.index()],
            Special::Ctaid(axis) => unflatten(block, self.bound.grid)[axis.index()],
            Special::Nctaid(axis) => self.bound.grid[axis.index()],
            Special::Laneid => lane,
            Special::Warpid => warp.number,
            Special::Warpsize => self.bound.warp,
            // As many as the largest block has; one multiprocessor, on which nothing is reserved.
            Special::Nwarpid => 32,
            Special::Nsmid => 1,
            Special::Envreg(_) | Special::ReservedSmem(_) | Special::Smid | Special::Gridid => 0,
            // The model has one clock.
            Special::Clock | Special::Clock64 | Special::Globaltimer | Special::GlobaltimerLo => self.cycle as u32,
            Special::ClockHi | Special::GlobaltimerHi => (self.cycle >> 32) as u32,
            Special::LanemaskEq => 1 << lane,
            Special::LanemaskLt => (1 << lane) - 1,
            Special::LanemaskLe => !0 >> (31 - lane),
            Special::LanemaskGe => !0 << lane,
            Special::LanemaskGt => (!0 << lane) & !(1 << lane),
        }
    }

    fn bind_params(&mut self, slot: usize) {
        let base = self.warp(slot).frames[0].base;
        // Regions are globals first, then buffers and textures in parameter order, then what they point to.
        let (of_params, of_pointers) = self.bound.memory_counts();
        let mut region = self.memory.regions.len() - of_params - of_pointers;
        for (param, argument) in self.program.funcs[0].params.iter().zip(&self.bound.params) {
            let bits = match argument {
                Argument::Bits(bits) => *bits,
                Argument::Array(_) => continue,
                Argument::Buffer(..) | Argument::Texture(..) => {
                    region += 1;
                    region_address(region - 1)
                }
            };
            if let Some(value) = param {
                FrameBase(base).fill(&mut self.file, *value, bits);
            }
        }
    }

    /// The last lane of a warp has ended.
    pub(super) fn end_warp(&mut self, slot: usize) {
        self.fronts[slot] = Front::NONE;
        let Some(warp) = self.warps[slot].take() else { return };
        // Frames of calls are free since their last lane ended.
        let kernel = &warp.frames[0];
        self.free_frames[kernel.func].push(kernel.base);
        if self.blocks[warp.block].as_ref().is_some_and(|block| block.warps == 0) {
            self.blocks[warp.block] = None;
            self.fill();
        }
    }
}

/// Device memory of a launch: globals first, then buffers and textures in parameter order; arrays by value in the
/// param window.
pub(super) fn lay_out(module: &Module, kernel: Func, program: &Program, bound: &Bound) -> Memory {
    let mut params = vec![0; program.param_bytes as usize];
    for (argument, &offset) in bound.params.iter().zip(&program.param_offsets) {
        if let Argument::Array(bytes) = argument {
            params[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
        }
    }
    let mut memory = Memory::new(params, program.local_bytes);
    let places: BTreeMap<Global, usize> =
        ordered_globals(module).enumerate().map(|(place, (id, _))| (id, place)).collect();
    for (id, global) in ordered_globals(module) {
        let texture = bound.textures.iter().find(|(texture, _)| *texture == id);
        if let Some((_, Argument::Texture(width, height, bytes))) = texture {
            let kind = RegionKind::Texture { width: *width, height: *height };
            memory.add(global.name.clone(), kind, Type::F32, bytes.clone());
            continue;
        }
        let size = global.ty.bytes() as usize;
        let mut bytes = vec![0; global.len as usize * size];
        for (chunk, bits) in bytes.chunks_mut(size).zip(global.init.iter().flatten()) {
            chunk.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        for address in &global.addresses {
            let value = region_address(places[&address.global]).wrapping_add(address.offset as u64);
            let start = address.element as usize * size;
            bytes[start..start + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        let kind = if global.space == Space::Const { RegionKind::Const } else { RegionKind::Global };
        memory.add(global.name.clone(), kind, global.ty, bytes);
    }
    for (param, argument) in module.funcs[kernel].params.iter().zip(&bound.params) {
        match argument {
            Argument::Buffer(ty, bytes) => memory.add(param.name.clone(), RegionKind::Global, *ty, bytes.clone()),
            Argument::Texture(width, height, bytes) => {
                let kind = RegionKind::Texture { width: *width, height: *height };
                memory.add(param.name.clone(), kind, Type::F32, bytes.clone());
            }
            Argument::Bits(_) | Argument::Array(_) => {}
        }
    }
    add_pointees(&module.funcs[kernel], program, bound, &mut memory);
    memory
}

/// Memory that pointers in other memory point to, and those pointers.
fn add_pointees(kernel: &Function, program: &Program, bound: &Bound, memory: &mut Memory) {
    let first_of_params = memory.regions.len() - bound.memory_counts().0;
    let is_memory = |param: &&Argument| matches!(param, Argument::Buffer(..) | Argument::Texture(..));
    // The regions of each line so far: holders of the pointers of later lines.
    let mut regions: Vec<Range<usize>> = Vec::new();
    for pointee in &bound.pointees {
        let Some((step, parent)) = pointee.path.split_last() else { continue };
        let name = &kernel.params[pointee.param].name;
        let mut contents = pointee.contents.iter();
        let first = memory.regions.len();
        let line = bound.pointees.iter().position(|other| other.param == pointee.param && other.path == parent);
        let holders = match (line, &bound.params[pointee.param]) {
            (Some(line), _) => regions[line].clone(),
            (None, Argument::Array(bytes)) => {
                let window = program.param_offsets[pointee.param] as usize;
                for place in pointer_places(*step, bytes.len()) {
                    let Some(bytes) = contents.next() else { break };
                    let address = region_address(memory.regions.len());
                    write_number(&mut memory.params, window + place, 8, address);
                    memory.add(format!("{name}[{place}]"), RegionKind::Global, pointee.ty, bytes.clone());
                }
                0..0
            }
            (None, _) => {
                let region = first_of_params + bound.params[..pointee.param].iter().filter(is_memory).count();
                region..region + 1
            }
        };
        for holder in holders {
            for place in pointer_places(*step, memory.regions[holder].bytes.len()) {
                let Some(bytes) = contents.next() else { break };
                let (address, name) = (region_address(memory.regions.len()), &memory.regions[holder].name);
                let name = format!("{name}[{place}]");
                write_number(&mut memory.regions[holder].bytes, place, 8, address);
                memory.add(name, RegionKind::Global, pointee.ty, bytes.clone());
            }
        }
        regions.push(first..memory.regions.len());
    }
}

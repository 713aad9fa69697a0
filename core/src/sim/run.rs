//! The multiprocessor: resident blocks and warps, the scheduler, and the execution of one instruction after another.
//!
//! ```text
//! each cycle:  the next warp in turn whose operands are ready issues one instruction for all its active lanes;
//!              its destination's clock says when a reader may issue; if no warp is ready, time jumps to the first that is
//! ```
//!
//! One scheduler issues at most one instruction a cycle over all resident warps, round robin; a warp issues in order. An
//! instruction that issues for several cycles holds the scheduler. Blocks become resident in the grid's order as soon as
//! the machine's limits allow. A run is a function of program, launch, machine and seed alone.
//!
//! Bounds: fuel counts issued warp instructions; calls nest [`CALL_DEPTH_LIMIT`] deep; memory, threads and program size
//! are limited where the launch is bound and the program decoded.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::access::{self, Caches, Place as AccessPlace};
use super::bind::{Argument, Bound, bind, input_stream};
use super::cache::Cache;
use super::decode::{CALL_DEPTH_LIMIT, DecodedInst, Initial, Kind, Program, SHARED_PREDICATES, TRUE, UNGUARDED, Value};
use super::error::{ErrorKind, SimError};
use super::lanes::{LaneFile, Plane, Slots, for_each_lane};
use super::memory::{LOCAL_WINDOW, Memory, RegionKind, region_address};
use super::random::{Place, Stream, hash};
use super::reconvergence::{Entry, Reconvergence, SimtStack};
use super::settings::Settings;
use super::statistics::{IdleCause, Statistics};
use super::together::{self, FrameBase};
use super::watch::{Nobody, Watcher};
use crate::ir::{Func, Launch, Module, Special, Type};
use crate::machine::Machine;

/// Set in the place where the lanes of a caller wait for a callee with several exits; no program counter has it.
const AFTER_CALL: u32 = 1 << 31;

/// Bits of a clock below the cycle: the [`IdleCause`] of whoever sets it.
const CAUSE_BITS: u32 = 2;

/// A call that has not returned, or the kernel itself.
struct Frame {
    /// Start of its slots, in planes, predicates and clocks alike.
    base: u32,
    /// Index into the program's functions.
    func: usize,
    /// The pc of the call; unused for the kernel.
    call: u32,
    /// Offset of its arrays in each lane's local memory.
    local: u32,
    /// Lanes that returned by each exit.
    exits: Vec<u32>,
}

/// A resident warp.
struct Warp<R> {
    stack: R,
    frames: Vec<Frame>,
    /// Index of the resident block.
    block: usize,
    /// Its place in the block.
    number: u32,
    /// Lanes that exist.
    lanes: u32,
    /// Lanes that have not ended.
    alive: u32,
    /// Draws made, by counter and lane.
    draws: Vec<[u32; 32]>,
    /// Waiting at a barrier.
    waits: Option<Waiting>,
}

#[derive(Clone, Copy)]
struct Waiting {
    barrier: u32,
    pc: u32,
}

/// A resident block.
struct BlockSlot {
    /// Its place in the grid, in order.
    number: u64,
    /// Its warps that have not ended.
    warps: u32,
    /// Threads waiting, and threads expected, by barrier.
    barriers: BTreeMap<u32, (u32, u32)>,
    threads: u32,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// There is more to do.
    Running,
    /// Every thread has ended.
    Done,
}

/// A launch that is being run.
pub struct Simulation<R: Reconvergence = SimtStack> {
    program: Program,
    machine: Machine,
    bound: Bound,
    memory: Memory,
    caches: Caches,
    file: LaneFile,
    clocks: Vec<u64>,
    /// Frames given back, by function.
    free_frames: Vec<Vec<u32>>,
    frame_sizes: Vec<u32>,
    warps: Vec<Option<Warp<R>>>,
    /// When each resident warp may issue next, with the cause in the low bits; never, for those that wait or ended.
    ready: Vec<u64>,
    blocks: Vec<Option<BlockSlot>>,
    next_block: u64,
    /// The warp slot after the one that issued last.
    turn: usize,
    cycle: u64,
    issued: u64,
    fuel: u64,
    warps_launched: u64,
    statistics: Statistics,
    resident_shared: u32,
}

const NEVER: u64 = u64::MAX;

impl<R: Reconvergence> Simulation<R> {
    /// Prepares a launch. It has to say something about every parameter: [`crate::ptx::complete_launch`] makes it so.
    pub fn new(
        module: &Module,
        kernel: Func,
        launch: &Launch,
        settings: &Settings,
        machine: Machine,
    ) -> Result<Simulation<R>, SimError> {
        let mut program = Program::decode(module, kernel, machine)?;
        let bound = bind(module, &module.funcs[kernel], launch, settings, machine)?;
        for draw in &mut program.draws {
            draw.values = bound.inputs.iter().find(|(name, _)| *name == draw.name).map(|(_, values)| values.clone());
        }
        let resident_shared = program.shared_bytes.saturating_add(bound.shared);
        if resident_shared > machine.limits().shared_bytes {
            let most = machine.limits().shared_bytes;
            let message = format!("a block has at most {most} bytes of shared memory, not {resident_shared}");
            return Err(SimError::new(ErrorKind::Limit, message));
        }
        let memory = lay_out(module, kernel, &program, &bound);
        let warps_a_block = bound.block_threads().div_ceil(bound.warp);
        let limits = machine.limits();
        let warp_slots = (limits.warps.max(warps_a_block) as usize).min(1 << 12);
        let model = machine.memory();
        let lines = memory.lines(warp_slots as u32);
        let caches = Caches {
            l1: Cache::new(if settings.l1 { model.l1_bytes.value } else { 0 }, lines),
            l2: Cache::new(model.l2_bytes.value, lines),
        };
        let mut file = LaneFile { planes: program.constants.clone(), predicates: vec![0; SHARED_PREDICATES] };
        file.predicates[(TRUE & !super::decode::SHARED) as usize] = !0;
        let shared_slots = file.planes.len().max(SHARED_PREDICATES);
        file.planes.resize(shared_slots, Plane::default());
        file.predicates.resize(shared_slots, 0);
        let frame_sizes: Vec<u32> =
            program.funcs.iter().map(|func| func.planes.max(func.predicates).max(func.clocks)).collect();
        let mut simulation = Simulation {
            statistics: Statistics::new(program.insts.len()),
            free_frames: vec![Vec::new(); program.funcs.len()],
            frame_sizes,
            program,
            machine,
            bound,
            memory,
            caches,
            file,
            clocks: vec![0; shared_slots],
            warps: Vec::new(),
            ready: Vec::new(),
            blocks: Vec::new(),
            next_block: 0,
            turn: 0,
            cycle: 0,
            issued: 0,
            fuel: settings.fuel,
            warps_launched: 0,
            resident_shared,
        };
        simulation.warps.resize_with(warp_slots, || None);
        simulation.ready.resize(warp_slots, NEVER);
        simulation.fill();
        Ok(simulation)
    }

    /// Runs at most `budget` warp instructions, unwatched.
    pub fn run(&mut self, budget: u64) -> Result<Progress, SimError> {
        self.run_watched(budget, &mut Nobody)
    }

    /// Runs at most `budget` warp instructions.
    pub fn run_watched(&mut self, budget: u64, watcher: &mut impl Watcher) -> Result<Progress, SimError> {
        for _ in 0..budget {
            let Some(warp) = self.schedule() else {
                return self.ended_or_stuck();
            };
            if self.issued == self.fuel {
                let pc = self.warp(warp).stack.current().pc;
                let message = format!("the allowance of {} warp instructions is used up", self.fuel);
                return Err(self.program.error_at(pc, ErrorKind::Fuel, message));
            }
            self.issue(warp, watcher)?;
        }
        Ok(if self.schedule_peek() { Progress::Running } else { self.ended_or_stuck()? })
    }

    fn schedule_peek(&self) -> bool {
        self.ready.iter().any(|&ready| ready != NEVER)
    }

    /// Nobody can issue: either all is done, or warps wait at barriers for lanes that will never come.
    fn ended_or_stuck(&self) -> Result<Progress, SimError> {
        let Some((slot, waiting)) =
            self.warps.iter().enumerate().find_map(|(slot, warp)| Some((slot, warp.as_ref()?.waits?)))
        else {
            return Ok(Progress::Done);
        };
        Err(self.barrier_error(slot, waiting.pc))
    }

    fn barrier_error(&self, slot: usize, pc: u32) -> SimError {
        let message = format!(
            "the barrier in block `{}` can never be passed: some threads of the block do not reach it",
            self.program.label(pc)
        );
        let lane = self.warp(slot).lanes.trailing_zeros() as usize;
        self.blame(slot, pc, lane, None, ErrorKind::Barrier, message)
    }

    // --- residence -----------------------------------------------------------------------------------------------------

    /// Makes blocks resident while the machine has room.
    fn fill(&mut self) {
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
            Some(BlockSlot { number: self.next_block, warps: slots.len() as u32, barriers: BTreeMap::new(), threads });
        self.next_block += 1;
        self.memory.reset_shared(block, self.resident_shared);
        for (number, &slot) in slots.iter().enumerate() {
            let first = number as u32 * self.bound.warp;
            let count = (threads - first).min(self.bound.warp);
            let lanes = if count == 32 { !0 } else { (1 << count) - 1 };
            self.memory.reset_local(slot);
            self.warps[slot] = Some(Warp {
                stack: R::start(self.program.funcs[0].entries[0], lanes),
                frames: Vec::new(),
                block,
                number: number as u32,
                lanes,
                alive: lanes,
                draws: vec![[0; 32]; self.program.counters as usize],
                waits: None,
            });
            self.warps_launched += 1;
            self.push_frame(slot, 0, 0, 0);
            self.bind_params(slot);
            self.ready[slot] = self.cycle << CAUSE_BITS;
        }
    }

    /// A zeroed frame with its special registers and local addresses.
    fn push_frame(&mut self, slot: usize, func: usize, call: u32, local: u32) {
        let size = self.frame_sizes[func] as usize;
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
                self.file.planes.resize(base + size, Plane::default());
                self.file.predicates.resize(base + size, 0);
                self.clocks.resize(base + size, 0);
                base as u32
            }
        };
        let frame = FrameBase(base);
        let initial = core::mem::take(&mut self.program.funcs[func].initial);
        for &(what, plane) in &initial {
            for lane in 0..32 {
                let (bits, wide) = match what {
                    Initial::Special(special) => (u64::from(self.special(slot, special, lane as u32)), false),
                    Initial::Local { offset, wide } => (LOCAL_WINDOW + u64::from(local + offset), wide),
                };
                let value = if wide { Value::Wide(plane) } else { Value::Word(plane) };
                frame.write(&mut self.file, value, lane, bits);
            }
        }
        self.program.funcs[func].initial = initial;
        if let Some(warp) = &mut self.warps[slot] {
            warp.frames.push(Frame { base, func, call, local, exits: Vec::new() });
        }
    }

    fn special(&self, slot: usize, special: Special, lane: u32) -> u32 {
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
            Special::LanemaskEq => 1 << lane,
            Special::LanemaskLt => (1 << lane) - 1,
            Special::LanemaskLe => !0 >> (31 - lane),
            Special::LanemaskGe => !0 << lane,
            Special::LanemaskGt => (!0 << lane) & !(1 << lane),
        }
    }

    fn bind_params(&mut self, slot: usize) {
        let base = self.warp(slot).frames[0].base;
        // Regions are globals first, then buffers and textures in parameter order.
        let mut region = self.memory.regions.len()
            - self
                .bound
                .params
                .iter()
                .filter(|param| matches!(param, Argument::Buffer(..) | Argument::Texture(..)))
                .count();
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
                (0..32).for_each(|lane| FrameBase(base).write(&mut self.file, *value, lane, bits));
            }
        }
    }

    // --- scheduling ----------------------------------------------------------------------------------------------------

    fn warp(&self, slot: usize) -> &Warp<R> {
        self.warps[slot].as_ref().expect("a resident warp")
    }

    fn warp_mut(&mut self, slot: usize) -> &mut Warp<R> {
        self.warps[slot].as_mut().expect("a resident warp")
    }

    fn block_number(&self, slot: usize) -> u64 {
        self.blocks[self.warp(slot).block].as_ref().map_or(0, |block| block.number)
    }

    /// The next warp in turn that may issue; time goes on to when the first one may.
    #[inline]
    fn schedule(&mut self) -> Option<usize> {
        let (slot, (then, cause)) = self.next_in_turn()?;
        if then > self.cycle {
            let pc = self.warp(slot).stack.current().pc;
            self.statistics.insts[pc as usize].idle[cause] += then - self.cycle;
            self.cycle = then;
        }
        Some(slot)
    }

    /// The next warp in turn that may issue, the cycle from which it may, and what it waits for until then.
    #[inline]
    fn next_in_turn(&self) -> Option<(usize, (u64, usize))> {
        let limit = (self.cycle << CAUSE_BITS) | ((1 << CAUSE_BITS) - 1);
        let (before, after) = self.ready.split_at(self.turn);
        if let Some(at) = after.iter().position(|&ready| ready <= limit) {
            return Some((self.turn + at, (self.cycle, 0)));
        }
        if let Some(at) = before.iter().position(|&ready| ready <= limit) {
            return Some((at, (self.cycle, 0)));
        }
        let earliest = self.ready.iter().copied().min().unwrap_or(NEVER);
        if earliest == NEVER {
            return None;
        }
        let then = earliest >> CAUSE_BITS;
        let cause = (earliest & ((1 << CAUSE_BITS) - 1)) as usize;
        let limit = (then << CAUSE_BITS) | ((1 << CAUSE_BITS) - 1);
        let slots = self.ready.len();
        let slot = (0..slots).map(|step| (self.turn + step) % slots).find(|&slot| self.ready[slot] <= limit)?;
        Some((slot, (then, cause)))
    }

    /// Sets when a warp may issue its next instruction: when all registers that it names are there.
    #[inline]
    fn set_ready(&mut self, slot: usize) {
        let warp = self.warps[slot].as_ref().expect("a resident warp");
        let (Entry { pc, .. }, frame) = (warp.stack.current(), warp.frames.last().expect("a frame"));
        let inst = &self.program.insts[pc as usize];
        let base = frame.base as usize;
        let mut ready = self.cycle << CAUSE_BITS;
        for wait in inst.waits {
            ready = ready.max(self.clocks[base + wait as usize]);
        }
        let (start, end) = inst.more_waits;
        for &wait in &self.program.more_waits[start as usize..end as usize] {
            ready = ready.max(self.clocks[base + wait as usize]);
        }
        self.ready[slot] = ready;
    }

    // --- execution -----------------------------------------------------------------------------------------------------

    /// Issues a warp's next instruction.
    fn issue(&mut self, slot: usize, watcher: &mut impl Watcher) -> Result<(), SimError> {
        let warp = self.warps[slot].as_ref().expect("a resident warp");
        let Entry { pc, mask: running, .. } = warp.stack.current();
        let base = warp.frames.last().expect("a frame").base;
        let inst = self.program.insts[pc as usize];
        let frame = FrameBase(base);
        let mask = if inst.guard == UNGUARDED {
            running
        } else {
            running & (self.file.predicates[frame.at(inst.guard) as usize] ^ inst.guard_flip)
        };
        let active = mask.count_ones();
        self.statistics.insts[pc as usize].occupancy[active as usize] += 1;
        self.issued += 1;
        self.turn = if slot + 1 == self.warps.len() { 0 } else { slot + 1 };
        watcher.issued(slot, pc, mask);
        let mut busy = u64::from(inst.issue).max(1);
        let mut latency = u64::from(inst.latency);
        let mut cause = IdleCause::Arithmetic;
        match inst.kind {
            Kind::Lanes => {
                if mask != 0 {
                    (inst.run)(&mut self.file, &frame.place(&inst.slots), mask);
                }
                self.finish(slot, pc, &inst, base, busy, latency, cause);
                if mask != 0 {
                    watcher.wrote(&self.program, pc, mask, &self.file, frame);
                }
                return Ok(());
            }
            Kind::Steps => {
                if mask != 0 {
                    for step in &self.program.steps[inst.side as usize] {
                        (step.run)(&mut self.file, &frame.place(&step.slots), mask);
                    }
                }
            }
            Kind::Branch => {
                self.advance(slot, pc, inst.slots.a, watcher);
                return self.after_control(slot, pc, busy, watcher);
            }
            Kind::BranchIf => {
                self.branch(slot, pc, &inst, frame, mask, watcher);
                return self.after_control(slot, pc, busy, watcher);
            }
            Kind::Access | Kind::Texture => {
                if mask != 0 {
                    let cost = self.access(slot, pc, &inst, frame, mask)?;
                    busy += cost.busy;
                    latency = cost.latency.unwrap_or(latency) + cost.busy;
                    let side = &self.program.accesses[inst.side as usize];
                    for value in &side.values {
                        self.clocks[base as usize + value.clock as usize] =
                            (self.cycle + latency) << CAUSE_BITS | IdleCause::Memory as u64;
                    }
                }
                cause = IdleCause::Memory;
            }
            Kind::Warp => {
                if mask != 0 {
                    let site = &self.program.warp_sites[inst.side as usize];
                    together::run(site, &mut self.file, frame, mask, self.bound.warp);
                    if let Some((_, clock)) = site.predicate {
                        self.clocks[(base + clock) as usize] = (self.cycle + latency) << CAUSE_BITS;
                    }
                }
            }
            Kind::Barrier | Kind::Pause => {
                // Whatever follows in the warp waits.
                let passed = (self.cycle + latency) << CAUSE_BITS | IdleCause::Barrier as u64;
                self.finish(slot, pc, &inst, base, busy, latency, cause);
                self.ready[slot] = self.ready[slot].max(passed);
                return if inst.kind == Kind::Barrier { self.barrier(slot, pc, passed, frame, mask) } else { Ok(()) };
            }
            Kind::Draw => self.draw(slot, inst.side, frame, mask),
            Kind::Work => self.work(inst.side, frame, mask),
            Kind::Switch => {
                self.switch(slot, pc, inst.side, frame, mask, watcher);
                return self.after_control(slot, pc, busy, watcher);
            }
            Kind::Call => {
                self.call(slot, pc, inst.side, frame, mask)?;
                return self.after_control(slot, pc, busy, watcher);
            }
            Kind::Ret => {
                self.ret(slot, inst.side, frame, mask);
                return self.after_control(slot, pc, busy, watcher);
            }
            Kind::Exit => {
                let warp = self.warp_mut(slot);
                warp.alive &= !mask;
                warp.stack.exit();
                return self.after_control(slot, pc, busy, watcher);
            }
        }
        self.finish(slot, pc, &inst, base, busy, latency, cause);
        if mask != 0 {
            watcher.wrote(&self.program, pc, mask, &self.file, frame);
        }
        Ok(())
    }

    /// Ends an instruction that goes on to the next: clocks, time, and when the warp may issue again.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn finish(
        &mut self,
        slot: usize,
        pc: u32,
        inst: &DecodedInst,
        base: u32,
        busy: u64,
        latency: u64,
        cause: IdleCause,
    ) {
        let clock = &mut self.clocks[(base + inst.done) as usize];
        *clock = (*clock).max((self.cycle + latency) << CAUSE_BITS | cause as u64);
        self.pass_time(pc, busy);
        let warp = self.warps[slot].as_mut().expect("a resident warp");
        warp.stack.jump(pc + 1);
        self.set_ready(slot);
    }

    /// The scheduler is held for so many cycles.
    #[inline]
    fn pass_time(&mut self, pc: u32, busy: u64) {
        self.cycle += busy;
        if busy > 1 {
            self.statistics.insts[pc as usize].idle[IdleCause::Issue as usize] += busy - 1;
        }
    }

    /// Ends an instruction that changed who runs where.
    fn after_control(&mut self, slot: usize, pc: u32, busy: u64, watcher: &mut impl Watcher) -> Result<(), SimError> {
        self.pass_time(pc, busy);
        self.leave_frames(slot, watcher);
        if self.warp(slot).stack.current().mask == 0 {
            self.end_warp(slot);
        } else {
            self.set_ready(slot);
        }
        Ok(())
    }

    fn advance(&mut self, slot: usize, pc: u32, target: u32, watcher: &mut impl Watcher) {
        let Some(warp) = &mut self.warps[slot] else { return };
        watcher.moved(slot, pc, target, warp.stack.current().mask);
        if warp.stack.jump(target) {
            watcher.reconverged(slot, warp.stack.current());
        }
    }

    fn branch(
        &mut self,
        slot: usize,
        pc: u32,
        inst: &DecodedInst,
        frame: FrameBase,
        mask: u32,
        watcher: &mut impl Watcher,
    ) {
        let condition = self.file.predicates[frame.at(inst.slots.f) as usize] ^ inst.slots.flip;
        let (on_true, on_false) = (mask & condition, mask & !condition);
        let Slots { a, b, c, .. } = inst.slots;
        if on_false == 0 {
            self.advance(slot, pc, a, watcher);
        } else if on_true == 0 {
            self.advance(slot, pc, b, watcher);
        } else {
            self.statistics.insts[pc as usize].divergences += 1;
            self.part(slot, pc, &[(a, on_true), (b, on_false)], c, watcher);
        }
    }

    fn part(&mut self, slot: usize, pc: u32, sides: &[(u32, u32)], join: u32, watcher: &mut impl Watcher) {
        let Some(warp) = &mut self.warps[slot] else { return };
        for &(target, lanes) in sides {
            watcher.moved(slot, pc, target, lanes);
        }
        warp.stack.diverge(sides, join);
        watcher.diverged(slot, sides);
    }

    fn switch(&mut self, slot: usize, pc: u32, side: u32, frame: FrameBase, mask: u32, watcher: &mut impl Watcher) {
        let site = &self.program.switches[side as usize];
        let (targets, join, selector) = (site.targets.clone(), site.join, Value::Word(site.selector));
        let mut lanes_to = vec![0u32; targets.len()];
        for_each_lane(mask, |lane| {
            let index = frame.read(&self.file, selector, lane) as usize;
            lanes_to[index.min(targets.len() - 1)] |= 1 << lane;
        });
        self.go_ways(slot, pc, &targets, &lanes_to, join, watcher);
    }

    /// Lanes go to several targets, first target first.
    fn go_ways(
        &mut self,
        slot: usize,
        pc: u32,
        targets: &[u32],
        lanes_to: &[u32],
        join: u32,
        watcher: &mut impl Watcher,
    ) {
        let mut sides: Vec<(u32, u32)> = Vec::new();
        for (&target, &lanes) in targets.iter().zip(lanes_to).filter(|(_, lanes)| **lanes != 0) {
            match sides.iter_mut().find(|(known, _)| *known == target) {
                Some((_, all)) => *all |= lanes,
                None => sides.push((target, lanes)),
            }
        }
        match sides.as_slice() {
            [] => {}
            &[(target, _)] => self.advance(slot, pc, target, watcher),
            _ => {
                self.statistics.insts[pc as usize].divergences += 1;
                self.part(slot, pc, &sides, join, watcher);
            }
        }
    }

    fn access(
        &mut self,
        slot: usize,
        pc: u32,
        inst: &DecodedInst,
        frame: FrameBase,
        mask: u32,
    ) -> Result<access::Cost, SimError> {
        let model = self.machine.memory();
        let block = self.warp(slot).block;
        let place = AccessPlace { frame, mask, block, warp: slot, model: &model, caches: &mut self.caches };
        let site = &self.program.accesses[inst.side as usize];
        match access::run(site, &mut self.file, &mut self.memory, place) {
            Ok(cost) => {
                let counts = &mut self.statistics.insts[pc as usize];
                counts.sectors += cost.sectors;
                counts.hits += cost.hits;
                counts.conflicts += cost.conflicts;
                counts.elsewhere += u64::from(cost.elsewhere);
                Ok(cost)
            }
            Err(fault) => Err(self.blame(slot, pc, fault.lane, Some(fault.address), fault.kind, fault.message)),
        }
    }

    fn blame(
        &self,
        slot: usize,
        pc: u32,
        lane: usize,
        address: Option<u64>,
        kind: ErrorKind,
        message: String,
    ) -> SimError {
        let mut error = self.program.error_at(pc, kind, message);
        if let Some(place) = &mut error.place {
            let thread = u64::from(self.warp(slot).number * self.bound.warp) + lane as u64;
            place.thread =
                Some((unflatten(thread, self.bound.block), unflatten(self.block_number(slot), self.bound.grid)));
            place.address = address;
        }
        error
    }

    fn draw(&mut self, slot: usize, side: u32, frame: FrameBase, mask: u32) {
        let block = self.block_number(slot);
        let Some(warp) = &mut self.warps[slot] else { return };
        let site = &self.program.draws[side as usize];
        let Some(values) = &site.values else { return };
        let stream = Stream::new(values, site.ty, self.bound.seed, input_stream(&site.name));
        let warps_a_block = u64::from(self.bound.block_threads().div_ceil(self.bound.warp));
        let global_warp = block * warps_a_block + u64::from(warp.number);
        let first = block * u64::from(self.bound.block_threads()) + u64::from(warp.number * self.bound.warp);
        let counter = &mut warp.draws[site.counter as usize];
        let file = &mut self.file;
        for_each_lane(mask, |lane| {
            let count = u64::from(counter[lane]);
            counter[lane] += 1;
            let place = if site.uniform {
                Place { own: [u64::MAX, count], group: [u64::MAX, count], number: count }
            } else {
                Place { own: [first + lane as u64, 2 * count], group: [global_warp, 2 * count + 1], number: count }
            };
            frame.write(file, site.dst, lane, stream.value(place));
        });
    }

    /// `work`: a fixed hash of the operands; as a float it lies in [1, 2).
    fn work(&mut self, side: u32, frame: FrameBase, mask: u32) {
        let site = &self.program.works[side as usize];
        for_each_lane(mask, |lane| {
            let mut words = vec![site.operands.len() as u64];
            let float = site.ty.is_float().then_some(site.ty);
            words.extend(
                site.operands
                    .iter()
                    .map(|&operand| access::canonical(float, frame.read(&self.file, operand, lane) & site.ty.mask())),
            );
            let bits = work_value(site.ty, &words);
            frame.write(&mut self.file, site.dst, lane, bits);
        });
    }

    // --- barriers ------------------------------------------------------------------------------------------------------

    /// A warp arrives. Every lane that it was launched with has to take part: one that has ended or waits elsewhere can
    /// never arrive. `passed` is when all may go on if this warp is the last.
    fn barrier(&mut self, slot: usize, pc: u32, passed: u64, frame: FrameBase, mask: u32) -> Result<(), SimError> {
        if mask == 0 {
            return Ok(());
        }
        if mask != self.warp(slot).lanes {
            return Err(self.barrier_error(slot, pc));
        }
        let site = self.program.warp_sites[self.program.insts[pc as usize].side as usize];
        let lane = mask.trailing_zeros() as usize;
        let number = site.operands[0].map_or(0, |value| frame.read(&self.file, value, lane) as u32);
        let block = self.warp(slot).block;
        let Some(state) = &mut self.blocks[block] else { return Ok(()) };
        let expected = site.operands[1].map_or(state.threads, |value| frame.read(&self.file, value, lane) as u32);
        let arrived = state.barriers.entry(number).or_insert((0, expected));
        arrived.0 += mask.count_ones();
        let complete = arrived.0 >= arrived.1;
        if complete {
            state.barriers.remove(&number);
            for other in 0..self.warps.len() {
                let Some(warp) = &mut self.warps[other] else { continue };
                if warp.block == block && warp.waits.is_some_and(|waiting| waiting.barrier == number) {
                    warp.waits = None;
                    self.set_ready(other);
                    self.ready[other] = self.ready[other].max(passed);
                }
            }
        } else {
            self.warp_mut(slot).waits = Some(Waiting { barrier: number, pc });
            self.ready[slot] = NEVER;
        }
        Ok(())
    }

    // --- calls ---------------------------------------------------------------------------------------------------------

    fn call(&mut self, slot: usize, pc: u32, side: u32, frame: FrameBase, mask: u32) -> Result<(), SimError> {
        if mask == 0 {
            self.warp_mut(slot).stack.jump(pc + 1);
            return Ok(());
        }
        let depth = self.warp(slot).frames.len() as u32;
        if depth > CALL_DEPTH_LIMIT {
            let message = format!("calls nest more than {CALL_DEPTH_LIMIT} deep");
            return Err(self.program.error_at(pc, ErrorKind::Limit, message));
        }
        let caller = self.warp(slot).frames.last().expect("a frame");
        let local = caller.local + self.program.funcs[caller.func].local_bytes;
        let (callee, entry) = {
            let site = &self.program.calls[side as usize];
            (site.callee, site.entry)
        };
        if local + self.program.funcs[callee].local_bytes > self.memory.local_bytes {
            let message =
                format!("a thread has {} bytes of local memory, and this call needs more", self.memory.local_bytes);
            return Err(self.program.error_at(pc, ErrorKind::Limit, message));
        }
        self.push_frame(slot, callee, pc, local);
        let base = self.warp(slot).frames.last().expect("the new frame").base;
        let site = &self.program.calls[side as usize];
        for &(from, to) in &site.arguments {
            for_each_lane(mask, |lane| {
                let bits = frame.read(&self.file, from, lane);
                FrameBase(base).write(&mut self.file, to, lane, bits);
            });
        }
        let exits = site.exits.as_ref().map_or(0, |(targets, _)| targets.len());
        let warp = self.warps[slot].as_mut().expect("a resident warp");
        if let Some(frame) = warp.frames.last_mut() {
            frame.exits = vec![0; exits];
        }
        warp.stack.call(entry, mask, if exits > 0 { pc | AFTER_CALL } else { pc + 1 });
        Ok(())
    }

    /// The running lanes return, or end where there is nobody to return to.
    fn ret(&mut self, slot: usize, side: u32, frame: FrameBase, mask: u32) {
        let site = self.program.rets[side as usize];
        let Some(warp) = &mut self.warps[slot] else { return };
        if warp.frames.len() == 1 {
            warp.alive &= !mask;
            warp.stack.exit();
            return;
        }
        let callee = warp.frames.last_mut().expect("a frame");
        let call = callee.call;
        if let Some(lanes) = callee.exits.get_mut(site.exit as usize) {
            *lanes |= mask;
        }
        let caller = FrameBase(warp.frames[warp.frames.len() - 2].base);
        let call_site = &self.program.calls[self.program.insts[call as usize].side as usize];
        if let (Some((dst, clock)), Some(value)) = (call_site.dst, site.value) {
            for_each_lane(mask, |lane| {
                let bits = frame.read(&self.file, value, lane);
                caller.write(&mut self.file, dst, lane, bits);
            });
            self.clocks[(caller.0 + clock) as usize] = (self.cycle + 1) << CAUSE_BITS;
        }
        warp.stack.ret();
    }

    /// Gives back the frames of calls whose last lane has left, and lets the callers of functions with several exits go
    /// on where each lane returned to.
    fn leave_frames(&mut self, slot: usize, watcher: &mut impl Watcher) {
        loop {
            let warp = self.warps[slot].as_mut().expect("a resident warp");
            let top = warp.stack.current();
            if warp.frames.len() < 2 || (top.mask != 0 && top.depth as usize >= warp.frames.len() - 1) {
                return;
            }
            let Some(left) = warp.frames.pop() else { return };
            self.free_frames[left.func].push(left.base);
            if top.mask != 0 && top.pc == left.call | AFTER_CALL {
                let site = &self.program.calls[self.program.insts[left.call as usize].side as usize];
                if let Some((targets, join)) = site.exits.clone() {
                    let lanes_to: Vec<u32> = left.exits.iter().map(|lanes| lanes & top.mask).collect();
                    self.go_ways(slot, left.call, &targets, &lanes_to, join, watcher);
                }
            }
        }
    }

    fn end_warp(&mut self, slot: usize) {
        self.ready[slot] = NEVER;
        let Some(warp) = self.warps[slot].take() else { return };
        for frame in warp.frames {
            self.free_frames[frame.func].push(frame.base);
        }
        let Some(block) = &mut self.blocks[warp.block] else { return };
        block.warps -= 1;
        if block.warps == 0 {
            self.blocks[warp.block] = None;
            self.fill();
        }
    }

    // --- looking at it -------------------------------------------------------------------------------------------------

    /// The decoded program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The machine model.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The launch as bound.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// The memory as it is now.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// What has been counted.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Warp instructions issued so far.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Warps that have become resident so far.
    pub fn warps_launched(&self) -> u64 {
        self.warps_launched
    }

    /// The resident warps.
    pub fn resident_warps(&self) -> Vec<WarpView> {
        let view = |(slot, warp): (usize, &Option<Warp<R>>)| {
            let warp = warp.as_ref()?;
            let wait = self.ready[slot];
            Some(WarpView {
                slot,
                block: unflatten(self.block_number(slot), self.bound.grid),
                number: warp.number,
                lanes: warp.lanes,
                alive: warp.alive,
                entries: warp.stack.entries(),
                at_barrier: warp.waits.is_some(),
                ready_at: (wait != NEVER).then_some(wait >> CAUSE_BITS),
                waits_for_memory: wait & ((1 << CAUSE_BITS) - 1) == IdleCause::Memory as u64,
            })
        };
        self.warps.iter().enumerate().filter_map(view).collect()
    }

    /// The slot of the warp that issues next, if one can now or later.
    pub fn next_warp(&self) -> Option<usize> {
        self.next_in_turn().map(|(slot, _)| slot)
    }
}

/// A resident warp, for showing.
#[derive(Clone, Debug)]
pub struct WarpView {
    /// Its slot: identity while it is resident.
    pub slot: usize,
    /// Its block's place in the grid.
    pub block: [u32; 3],
    /// Its place in the block.
    pub number: u32,
    /// Lanes that it was launched with.
    pub lanes: u32,
    /// Lanes that have not ended.
    pub alive: u32,
    /// The reconvergence stack, lowest first, the running lanes last.
    pub entries: Vec<Entry>,
    /// Does it wait at a barrier?
    pub at_barrier: bool,
    /// The cycle from which it may issue.
    pub ready_at: Option<u64>,
    /// Is it memory that it waits for?
    pub waits_for_memory: bool,
}

/// What `work` computes from the words of its operands.
fn work_value(ty: Type, words: &[u64]) -> u64 {
    let bits = hash(words);
    match ty {
        Type::F16 => 0x3C00 | bits >> 54,
        Type::F32 => 0x3F80_0000 | bits >> 41,
        Type::F64 => 0x3FF0_0000_0000_0000 | bits >> 12,
        _ => bits & ty.mask(),
    }
}

/// A number in row-major order as three coordinates.
fn unflatten(number: u64, size: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(size[0]), u64::from(size[1]));
    [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
}

/// Device memory of a launch: globals first, then buffers and textures in parameter order; arrays by value in the
/// param window.
fn lay_out(module: &Module, kernel: Func, program: &Program, bound: &Bound) -> Memory {
    let mut params = vec![0; program.param_bytes as usize];
    for (argument, &offset) in bound.params.iter().zip(&program.param_offsets) {
        if let Argument::Array(bytes) = argument {
            params[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
        }
    }
    let mut memory = Memory::new(params, program.local_bytes);
    for global in module.globals.values() {
        let size = global.ty.bytes() as usize;
        let mut bytes = vec![0; global.len as usize * size];
        for (chunk, bits) in bytes.chunks_mut(size).zip(global.init.iter().flatten()) {
            chunk.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        let kind = if global.space == crate::ir::Space::Const { RegionKind::Const } else { RegionKind::Global };
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
    memory
}

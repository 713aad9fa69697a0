//! The multiprocessor: resident blocks and warps, the scheduler, and the execution of one instruction after another.
//!
//! ```text
//! each cycle:  the next warp in turn whose operands are ready issues one instruction for all its active lanes;
//!              its destination's clock says when a reader may issue; if none is ready, time jumps to the first that is
//! ```
//!
//! One scheduler issues at most one instruction a cycle over all resident warps, round robin; a
//! warp issues in order. An instruction that issues for several cycles holds the scheduler. Blocks
//! become resident in the grid's order as soon as the machine's limits allow. A run is a function
//! of program, launch, machine and settings alone.
//!
//! Lanes of a warp that have parted are [groups](super::groups): one of them runs, the others wait
//! their turn, wait at an instruction for lanes that are missing, or wait where they meet. A warp
//! of which no group can run waits for other warps.
//!
//! What an instruction computes and when it issues are separate: as soon as the first of several instructions without
//! an effect beyond their warp issues, all of them do their work, through branches that all lanes take alike, one after
//! the other on registers that are then near; the scheduler afterwards only counts their time. Sound, because nothing
//! outside the warp can tell: memory, barriers, and branches where lanes part or meet wait for their own issue.
//!
//! Bounds: fuel counts issued warp instructions; calls nest [`CALL_DEPTH_LIMIT`](super::CALL_DEPTH_LIMIT) deep; memory,
//! threads and program size are limited where the launch is bound and the program decoded.

mod ahead;
mod barrier;
mod call;
mod control;
mod effect;
mod issue;
mod order;
mod residence;
mod rounds;
mod state;
mod stuck;
mod tally;
mod together;

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::format;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use smallvec::SmallVec;

use super::access::Caches;
use super::bind::{Bound, bind};
use super::cache::Cache;
use super::decode::{Calm, DecodedInst, Program};
use super::error::{ErrorKind, SimError};
use super::groups::Groups;
use super::lanes::LaneFile;
use super::memory::Memory;
use super::settings::{Scheduling, Settings};
use super::statistics::Statistics;
use super::together::FrameBase;
use super::watch::{Nobody, Watcher};
use crate::ir::{Func, Launch, Module};
use crate::machine::Machine;

use barrier::Arrivals;
use order::Order;
use rounds::Turn;
use tally::Tally;

pub use state::WarpView;

/// Set in the place where the lanes of a caller wait for a callee with several exits; no program counter has it.
const AFTER_CALL: u32 = 1 << 31;

/// Bits of a clock below the cycle: the [`IdleCause`](super::IdleCause) of whoever sets it.
const CAUSE_BITS: u32 = 2;

/// No cycle at all.
const NEVER: u64 = u64::MAX;

/// A call that has not returned from all its lanes, or the kernel itself.
struct Frame {
    /// Start of its slots, in planes, predicates and clocks alike.
    base: u32,
    /// Index into the program's functions.
    func: usize,
    /// The pc of the call; unused for the kernel.
    call: u32,
    /// Index of the caller's frame in the warp; unused for the kernel.
    caller: u32,
    /// How many calls deep it is.
    depth: u32,
    /// Offset of its arrays in each lane's local memory.
    local: u32,
    /// Lanes that are in the call; none if the place is free.
    lanes: u32,
}

/// A resident warp.
struct Warp {
    groups: Groups,
    /// Frames of its groups, the kernel's first.
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
    /// Exit by which each lane last returned from a function with several.
    exits: [u32; 32],
    /// Accesses by which the running group may spin, since it began to run.
    spun: u32,
}

/// A resident block.
struct BlockSlot {
    /// Its place in the grid, in order.
    number: u64,
    /// Its warps of which a lane has not ended.
    warps: u32,
    /// The barriers to which somebody has come.
    barriers: SmallVec<[Arrivals; 1]>,
}

/// State of a resident warp that issuing needs, apart from the rest of it, so that those of all
/// warps fit the nearest cache.
#[derive(Clone, Copy)]
struct Front {
    /// When the warp may issue next, with the cause in the low bits; never, if no group of it can run or it has ended.
    ready: u64,
    /// The next instruction to issue. The warp's groups know it when control flow changes.
    pc: u32,
    /// Place where the work done ahead continues: at [`Front::pc`], if none was.
    done_to: u32,
    /// How many branches lie between the two: [`Simulation::ways`] has their targets.
    branches: u32,
    /// Start of the top frame.
    base: u32,
    /// The running lanes.
    running: u32,
    /// Are these all lanes of the warp that have not ended?
    is_whole: bool,
    /// Program counter where they meet others.
    join: u32,
    /// The cycle in which all results so far are there.
    settled: u64,
    /// Run of calm instructions from [`Front::pc`] whose work is done; at least.
    calm: CalmAhead,
}

impl Front {
    /// Front of a slot without a warp.
    const NONE: Front = Front {
        ready: NEVER,
        pc: 0,
        done_to: 0,
        branches: 0,
        base: 0,
        running: 0,
        is_whole: false,
        join: 0,
        settled: 0,
        calm: CalmAhead::NONE,
    };

    /// Is the work of the next instruction still to be done?
    fn is_undone(&self) -> bool {
        self.pc == self.done_to && self.branches == 0
    }

    /// The warp may not issue before `ready` either.
    fn wait_until(&mut self, ready: u64) {
        self.ready = self.ready.max(ready);
    }
}

/// An instruction that a warp issues by itself.
#[derive(Clone, Copy)]
struct Issue<'a> {
    slot: usize,
    pc: u32,
    inst: &'a DecodedInst,
    /// The frame that it names registers of.
    frame: FrameBase,
    /// The lanes that run it.
    mask: u32,
}

/// Instructions that issue one after the other without surprises, branches included.
#[derive(Clone, Copy)]
struct CalmAhead {
    /// How many.
    count: u32,
    /// Is this all whose work is done?
    is_all: bool,
    /// Cycles for which all of them hold the scheduler.
    held: u32,
    /// The last of them.
    last: u32,
    /// The longest latency, in cycles.
    latency: u16,
    /// The longest time for which one of them holds the scheduler, in cycles.
    issue: u16,
}

impl CalmAhead {
    const NONE: CalmAhead = CalmAhead { count: 0, is_all: false, held: 0, last: 0, latency: 0, issue: 1 };

    /// Goes on with what is calm from a place on, up to a limit, and says where that ends.
    fn go_on(&mut self, program: &Program, pc: u32, limit: u32) -> u32 {
        let Calm { end, latency, issue } = program.calm[pc as usize];
        let end = end.min(limit);
        if end > pc {
            self.count += end - pc;
            self.held += program.held_between(pc, end);
            self.last = end - 1;
            (self.latency, self.issue) = (self.latency.max(latency), self.issue.max(issue));
        }
        end
    }

    /// Goes on with a branch.
    fn branch(&mut self, program: &Program, pc: u32) {
        let issue = program.timings[pc as usize].issue;
        self.count += 1;
        self.held += u32::from(issue);
        self.last = pc;
        self.issue = self.issue.max(issue);
    }

    /// Leaves the first of them behind.
    #[inline(always)]
    fn pass(&mut self, issue: u16) {
        if self.count > 0 {
            self.count -= 1;
            self.held -= u32::from(issue);
        }
    }
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
pub struct Simulation {
    program: Rc<Program>,
    machine: Machine,
    bound: Bound,
    memory: Memory,
    caches: Caches,
    file: LaneFile,
    clocks: Vec<u64>,
    /// Frames given back, by function.
    free_frames: Vec<Vec<u32>>,
    warps: Vec<Option<Warp>>,
    /// Fronts of the warp slots, as far as slots have been used.
    fronts: Vec<Front>,
    /// Targets of the branches whose work was done ahead, by warp slot, the next one first.
    ways: Vec<VecDeque<u32>>,
    blocks: Vec<Option<BlockSlot>>,
    next_block: u64,
    /// The warp slot after the one that issued last.
    turn: usize,
    /// The warp slots from this one on are followed by what the order says.
    last_in_turn: usize,
    /// The warps that take part in rounds; empty outside of counting them.
    turns: Vec<Turn>,
    /// The round in which one of these needs a closer look, if all rounds before it are gone, and its place among them.
    looks: BinaryHeap<Reverse<(u64, usize)>>,
    cycle: u64,
    issued: u64,
    fuel: u64,
    scheduling: Scheduling,
    quantum: u32,
    order: Order,
    warps_launched: u64,
    statistics: Statistics,
    /// Counts of work done ahead that the statistics lack; zero outside of a run.
    tally: Tally,
    resident_shared: u32,
    /// The planes of the largest frame.
    frame_planes: u32,
}

impl Simulation {
    /// Prepares a launch. It has to say something about every parameter: `derive::complete_launch` of core makes it so.
    pub fn new(
        module: &Module,
        kernel: Func,
        launch: &Launch,
        settings: &Settings,
        machine: Machine,
    ) -> Result<Simulation, SimError> {
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
        let memory = residence::lay_out(module, kernel, &program, &bound);
        let warps_a_block = bound.block_threads().div_ceil(bound.warp);
        let limits = machine.limits();
        let warp_slots = (limits.warps.max(warps_a_block) as usize).min(1 << 12);
        let model = machine.memory();
        let lines = memory.lines(warp_slots as u32);
        let caches = Caches {
            l1: Cache::new(if settings.l1 { model.l1_bytes.value } else { 0 }, lines),
            l2: Cache::new(model.l2_bytes.value, lines),
        };
        // The constants, and then the frames; predicates and clocks of one frame have the same base as its planes.
        let shared = program.constants.len();
        let file = LaneFile::new(program.constants.clone());
        let mut simulation = Simulation {
            statistics: Statistics::new(program.insts.len()),
            tally: Tally::new(program.insts.len()),
            free_frames: vec![Vec::new(); program.funcs.len()],
            frame_planes: program.funcs.iter().map(|func| func.planes).max().unwrap_or(0).max(1),
            program: Rc::new(program),
            machine,
            bound,
            memory,
            caches,
            file,
            clocks: vec![0; shared],
            warps: Vec::new(),
            fronts: Vec::new(),
            ways: Vec::new(),
            blocks: Vec::new(),
            next_block: 0,
            turn: 0,
            last_in_turn: 0,
            turns: Vec::new(),
            looks: BinaryHeap::new(),
            cycle: 0,
            issued: 0,
            fuel: settings.fuel,
            scheduling: settings.scheduling,
            quantum: settings.quantum,
            order: Order::new(settings.schedule),
            warps_launched: 0,
            resident_shared,
        };
        simulation.warps.resize_with(warp_slots, || None);
        simulation.fill();
        Ok(simulation)
    }

    /// Runs at most `budget` warp instructions, unwatched.
    pub fn run(&mut self, budget: u64) -> Result<Progress, SimError> {
        self.run_watched(budget, &mut Nobody)
    }

    /// Runs at most `budget` warp instructions.
    pub fn run_watched(&mut self, budget: u64, watcher: &mut impl Watcher) -> Result<Progress, SimError> {
        let progress = self.issue_most(budget, watcher);
        self.tally.settle(&self.program, &mut self.statistics);
        progress
    }

    /// Issues at most `budget` warp instructions.
    #[inline(always)]
    fn issue_most(&mut self, budget: u64, watcher: &mut impl Watcher) -> Result<Progress, SimError> {
        let last = self.issued.saturating_add(budget);
        let stop = last.min(self.fuel);
        while self.issued < stop {
            let Some(slot) = self.schedule() else { return self.ended_or_stuck() };
            if slot < self.turn || self.turn == 0 {
                // Nobody after the last one may issue now: the turns begin anew, wherever the last one stands.
                self.turn = 0;
                if self.order.is_round_robin() && self.skip_rounds(stop - self.issued, watcher)? {
                    continue;
                }
            }
            self.issue(slot, watcher)?;
        }
        if self.issued < last
            && let Some((slot, _)) = self.next_in_turn()
        {
            return Err(self.out_of_fuel(slot));
        }
        let anybody_goes_on = self.fronts.iter().any(|front| front.ready != NEVER);
        if anybody_goes_on { Ok(Progress::Running) } else { self.ended_or_stuck() }
    }

    fn warp(&self, slot: usize) -> &Warp {
        self.warps[slot].as_ref().expect("a resident warp")
    }

    fn warp_mut(&mut self, slot: usize) -> &mut Warp {
        self.warps[slot].as_mut().expect("a resident warp")
    }

    /// The frame of a warp's running group.
    fn frame(&self, slot: usize) -> &Frame {
        let warp = self.warp(slot);
        &warp.frames[warp.groups.current().frame as usize]
    }

    fn block_number(&self, slot: usize) -> u64 {
        self.blocks[self.warp(slot).block].as_ref().map_or(0, |block| block.number)
    }
}

/// A number in row-major order as three coordinates.
fn unflatten(number: u64, size: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(size[0]), u64::from(size[1]));
    [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
}

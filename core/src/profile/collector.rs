//! Collects profiles while a launch runs: give a [`Collector`] to [`Simulation::run_watched`](crate::sim::Simulation).

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use super::call_frames::CallFrames;
use super::joint::JointWrites;
use super::{Count, Profile, WarpCount, ZeroCount};
use crate::graph::{Cfg, PathNumbering, PathStep};
use crate::ir::{Block, Func, Inst, Module, Reg, Type, TypeClass, Write};
use crate::sim::lanes::LaneFile;
use crate::sim::{DecodedInst, FrameBase, Kind, Program, Value, Watcher};

/// Effect of an instruction on paths.
#[derive(Clone, Copy)]
enum Effect {
    /// Nothing, or what [`Watcher::moved`] tells.
    None,
    /// Enters a function: its index, and the entry's block.
    Call(usize, Block),
    /// Ends its lanes' paths in its function.
    Return,
    /// Ends its lanes.
    Exit,
}

/// A function's graph and the numbers of its paths.
struct Graph {
    func: Func,
    cfg: Cfg,
    numbering: PathNumbering,
}

/// A function that lanes are in, and the number so far of each lane's path.
struct LanePaths {
    graph: usize,
    numbers: [u64; 32],
}

/// A watcher that collects edge, path and zero-value profiles, and how warps execute blocks and part.
pub struct Collector {
    graphs: Vec<Graph>,
    effects: Vec<Effect>,
    places: Vec<(usize, Block)>,
    /// Instruction of each program counter.
    insts: Vec<Inst>,
    writes: Vec<Vec<(Write, Type)>>,
    /// Joint writes of each program counter.
    joint_writes: Vec<JointSite>,
    kernel_start: u64,
    /// Whether the last instruction of each block is a branch, by program counter.
    ends: Vec<Option<bool>>,
    /// Executions of each program counter.
    executions: Vec<WarpCount>,
    /// End of a block that each warp slot has issued last.
    last_end: Vec<u32>,
    frames: CallFrames<LanePaths>,
    edges: BTreeMap<(usize, Block, Block), Count>,
    paths: BTreeMap<(usize, u64), Count>,
    /// Paths that end in calls, by their numbers so far and program counters.
    ended: BTreeMap<(u64, u32), Count>,
    zeros: BTreeMap<(usize, Write), ZeroCount>,
    joint: Vec<JointCount>,
}

/// Registers that are counted together once an instruction has written them.
#[derive(Default)]
struct JointSite {
    /// Registers that are looked at.
    regs: Vec<(Reg, Type)>,
    /// The places in `regs` of those that are counted together, and the place of their count.
    sets: Vec<(SmallVec<[u8; 4]>, usize)>,
}

/// How often all registers of a set were zero.
struct JointCount {
    graph: usize,
    writes: Vec<Write>,
    count: ZeroCount,
}

impl Collector {
    /// A collector for a decoded program of that module.
    pub fn new(module: &Module, program: &Program) -> Collector {
        let graphs: Vec<Graph> = program
            .funcs
            .iter()
            .map(|decoded| {
                let cfg = Cfg::compute(&module.funcs[decoded.func]);
                Graph { func: decoded.func, numbering: PathNumbering::compute(&cfg), cfg }
            })
            .collect();
        let places: Vec<(usize, Block)> =
            (0..program.insts.len()).map(|pc| (program.func_at(pc as u32), program.locations[pc].block)).collect();
        let effect = |inst: &DecodedInst| match inst.kind {
            Kind::Call => {
                let site = &program.calls[inst.side as usize];
                Effect::Call(site.callee, places[site.entry as usize].1)
            }
            Kind::Ret => Effect::Return,
            Kind::Exit => Effect::Exit,
            _ => Effect::None,
        };
        let effects = program.insts.iter().map(effect).collect();
        let mut occurrences: BTreeMap<(Func, Block, Reg), u32> = BTreeMap::new();
        let mut writes = Vec::with_capacity(places.len());
        for location in &program.locations {
            let body = &module.funcs[location.func];
            let mut here = Vec::new();
            for &reg in &body.insts[location.inst].dsts {
                let next = occurrences.entry((location.func, location.block, reg)).or_default();
                let ty = body.reg_types[reg];
                here.push((Write { block: location.block, reg, occurrence: *next }, ty));
                *next += 1;
            }
            writes.push(here);
        }
        let mut sets: Vec<BTreeMap<Inst, Vec<Vec<Write>>>> =
            graphs.iter().map(|graph| JointWrites::of(&module.funcs[graph.func], &graph.cfg).sets()).collect();
        let mut joint = Vec::new();
        let mut joint_writes = Vec::with_capacity(places.len());
        for (&(graph, _), location) in places.iter().zip(&program.locations) {
            let body = &module.funcs[location.func];
            let mut site = JointSite::default();
            for writes in sets[graph].remove(&location.inst).unwrap_or_default() {
                let place = |write: &Write| {
                    let known = site.regs.iter().position(|&(reg, _)| reg == write.reg);
                    known.unwrap_or_else(|| {
                        site.regs.push((write.reg, body.reg_types[write.reg]));
                        site.regs.len() - 1
                    }) as u8
                };
                site.sets.push((writes.iter().map(place).collect(), joint.len()));
                joint.push(JointCount { graph, writes, count: ZeroCount::default() });
            }
            joint_writes.push(site);
        }
        let end_of = |pc: usize| {
            let location = &program.locations[pc];
            let is_end = module.funcs[location.func].terminator(location.block) == Some(location.inst);
            is_end.then(|| matches!(program.insts[pc].kind, Kind::BranchIf | Kind::Switch))
        };
        let kernel_block = places[program.funcs[0].entries[0] as usize].1;
        let kernel_start = graphs[0].numbering.start(kernel_block).unwrap_or(0);
        Collector {
            graphs,
            effects,
            ends: (0..places.len()).map(end_of).collect(),
            executions: vec![WarpCount::default(); places.len()],
            last_end: Vec::new(),
            places,
            insts: program.locations.iter().map(|location| location.inst).collect(),
            writes,
            joint_writes,
            kernel_start,
            frames: CallFrames::default(),
            edges: BTreeMap::new(),
            paths: BTreeMap::new(),
            ended: BTreeMap::new(),
            zeros: BTreeMap::new(),
            joint,
        }
    }

    /// Returns the collected profile.
    pub fn profile(&self) -> Profile {
        let mut profile = Profile::new();
        for graph in &self.graphs {
            profile.entry(graph.func).or_default();
        }
        for (&(graph, from, to), &count) in &self.edges {
            profile.entry(self.graphs[graph].func).or_default().edges.insert((from, to), count);
        }
        for (&(graph, number), &count) in &self.paths {
            let Graph { func, cfg, numbering } = &self.graphs[graph];
            if let Some(path) = numbering.path(cfg, number) {
                profile.entry(*func).or_default().paths.insert(path, count);
            }
        }
        for (&(number, call), &count) in &self.ended {
            let (graph, block) = self.places[call as usize];
            let Graph { func, cfg, numbering } = &self.graphs[graph];
            // From the block on the number so far is that of the path along the first edges.
            let Some(mut path) = numbering.path(cfg, number) else { continue };
            path.truncate(path.iter().position(|&at| at == block).map_or(path.len(), |at| at + 1));
            let sum = profile.entry(*func).or_default().ended.entry((path, self.insts[call as usize])).or_default();
            *sum += count;
        }
        for (pc, &count) in self.executions.iter().enumerate().filter(|(_, count)| count.executions > 0) {
            let (graph, block) = self.places[pc];
            profile.entry(self.graphs[graph].func).or_default().blocks.insert(block, count);
        }
        for (&(graph, write), &count) in &self.zeros {
            profile.entry(self.graphs[graph].func).or_default().zeros.insert(write, count);
        }
        for JointCount { graph, writes, count } in self.joint.iter().filter(|joint| joint.count.all.warps > 0) {
            profile.entry(self.graphs[*graph].func).or_default().joint.insert(writes.clone(), *count);
        }
        profile
    }

    /// Calls of the lanes of a slot.
    fn frames(&mut self, slot: usize) -> &mut CallFrames<LanePaths> {
        if !self.frames.has_begun(slot) {
            self.frames.begin(slot, LanePaths { graph: 0, numbers: [self.kernel_start; 32] });
        }
        &mut self.frames
    }

    /// The paths of some lanes end; those with one number count as one warp.
    fn complete(&mut self, graph: usize, numbers: &[u64; 32], mask: u32) {
        for (number, group) in groups(numbers, mask) {
            self.paths.entry((graph, number)).or_default().add(group);
        }
    }

    /// Some lanes end: the paths of their callers end in the calls.
    fn complete_callers(&mut self, slot: usize, mask: u32) {
        let (frames, callees) = (self.frames.around(slot, mask), self.frames.around(slot, mask).skip(1));
        for (caller, callee) in frames.zip(callees) {
            for (number, group) in groups(&caller.state.numbers, mask) {
                self.ended.entry((number, callee.call)).or_default().add(group);
            }
        }
    }

    /// Lanes return from the call that they are in, or end.
    fn end(&mut self, slot: usize, mask: u32, is_exit: bool) {
        let &mut LanePaths { graph, numbers } = &mut self.frames(slot).innermost(slot, mask).state;
        if is_exit {
            self.complete_callers(slot, mask);
            self.frames.leave_all(slot, mask);
        }
        if is_exit || !self.frames.leave(slot, mask) {
            // The slot's next warp begins as this one did.
            let start = self.kernel_start;
            let kernel = &mut self.frames.kernel(slot).state.numbers;
            lanes(mask).for_each(|lane| kernel[lane] = start);
        }
        self.complete(graph, &numbers, mask);
    }
}

impl Watcher for Collector {
    fn issued(&mut self, slot: usize, pc: u32, _: u32, mask: u32) {
        if mask != 0 && self.ends[pc as usize].is_some() {
            self.executions[pc as usize].executions += 1;
            if self.last_end.len() <= slot {
                self.last_end.resize(slot + 1, pc);
            }
            self.last_end[slot] = pc;
        }
        match self.effects[pc as usize] {
            _ if mask == 0 => {}
            Effect::None => {}
            Effect::Call(graph, block) => {
                let start = self.graphs[graph].numbering.start(block).unwrap_or(0);
                self.frames(slot).enter(slot, mask, pc, LanePaths { graph, numbers: [start; 32] });
            }
            Effect::Return => self.end(slot, mask, false),
            Effect::Exit => self.end(slot, mask, true),
        }
    }

    fn diverged(&mut self, slot: usize, _: &[(u32, u32)]) {
        // Lanes that come back from a call to several places part as well, at a `ret` of another function.
        if let Some(&pc) = self.last_end.get(slot)
            && self.ends[pc as usize] == Some(true)
        {
            self.executions[pc as usize].diverged += 1;
        }
    }

    fn wrote(&mut self, _: usize, program: &Program, pc: u32, mask: u32, file: &LaneFile, frame: FrameBase) {
        let (graph, _) = self.places[pc as usize];
        for &(write, ty) in &self.writes[pc as usize] {
            let Some(zero) = zero_lanes(program, graph, (write.reg, ty), mask, file, frame) else { continue };
            self.zeros.entry((graph, write)).or_default().add(mask, zero);
        }
        let site = &self.joint_writes[pc as usize];
        if !site.sets.is_empty() {
            let zero_of = |&reg: &(Reg, Type)| zero_lanes(program, graph, reg, mask, file, frame).unwrap_or(0);
            let zeros: SmallVec<[u32; 8]> = site.regs.iter().map(zero_of).collect();
            for (regs, place) in &site.sets {
                let zero = regs.iter().fold(mask, |zero, &reg| zero & zeros[usize::from(reg)]);
                self.joint[*place].count.add(mask, zero);
            }
        }
    }

    fn moved(&mut self, slot: usize, pc: u32, target: u32, mask: u32) {
        let ((graph, from), (_, to)) = (self.places[pc as usize], self.places[target as usize]);
        self.edges.entry((graph, from, to)).or_default().add(mask);
        let Graph { cfg, numbering, .. } = &self.graphs[graph];
        let Some(edge) = cfg.out_edges(from).find(|&edge| cfg.target(edge) == to) else { return };
        let step = numbering.step(edge);
        let numbers = &mut self.frames(slot).innermost(slot, mask).state.numbers;
        let before = *numbers;
        for lane in lanes(mask) {
            let number = &mut numbers[lane];
            *number = match step {
                PathStep::Add(increment) => *number + increment,
                PathStep::Restart(start) => start,
            };
        }
        if matches!(step, PathStep::Restart(_)) {
            self.complete(graph, &before, mask);
        }
    }
}

/// The active lanes in which a register of a function is zero, of either sign, or false. None where it has no place.
fn zero_lanes(
    program: &Program,
    graph: usize,
    (reg, ty): (Reg, Type),
    mask: u32,
    file: &LaneFile,
    frame: FrameBase,
) -> Option<u32> {
    let &value = program.funcs[graph].regs.get(reg.index())?;
    if let Value::Predicate(slot, flip) = value {
        return Some(mask & !(file.predicates[frame.at(slot) as usize] ^ flip));
    }
    let sign = if ty.class() == TypeClass::Float { 1 << (ty.bits() - 1) } else { 0 };
    let is_zero = |lane: &usize| frame.read(file, value, *lane) & ty.mask() & !sign == 0;
    Some(lanes(mask).filter(is_zero).fold(0, |zero, lane| zero | 1 << lane))
}

/// Lanes by their numbers.
fn groups(numbers: &[u64; 32], mask: u32) -> BTreeMap<u64, u32> {
    let mut groups: BTreeMap<u64, u32> = BTreeMap::new();
    for lane in lanes(mask) {
        *groups.entry(numbers[lane]).or_default() |= 1 << lane;
    }
    groups
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

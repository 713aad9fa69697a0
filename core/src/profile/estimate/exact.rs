//! The exact count of reuse along the runs of a launch.
//!
//! 1. Each call of a function has the flags of its [plan](super::FlagPlan), a bit for each lane of a warp.
//! 2. Instructions and moves along edges change and count the flags of the lanes that take part. Those of a call do
//!    when they come back.
//! 3. Flags of the kernel begin anew for lanes that have ended.
//!
//! Cost: O(flags that change) for each instruction and move.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use super::super::call_frames::CallFrames;
use super::flags::{Actions, FlagPlan, Moment};
use crate::graph::Cfg;
use crate::ir::{Block, Func, Inst, Module};
use crate::sim::{DecodedInst, Kind, Program, Watcher};

/// Counts of a function in a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CountedReuse {
    /// Lanes along each edge, by its number; those of parallel edges are counted at the first.
    pub edges: Vec<u64>,
    /// The counters of a plan.
    pub counters: Vec<u64>,
}

/// Counts with a plan in a run of a function of a program. None if there is no run, or none that ends soon.
pub type CountReuse<'a> = &'a dyn Fn(&Module, Func, &Cfg, &FlagPlan) -> Option<CountedReuse>;

/// The plan of a function, by the places of a decoded program.
struct Placed<'g> {
    cfg: &'g Cfg,
    plan: &'g FlagPlan,
}

/// A watcher that counts reuse.
pub struct ReuseCounter<'g> {
    placed: Vec<Option<Placed<'g>>>,
    /// Function and block of each program counter.
    places: Vec<(usize, Block)>,
    /// The actions before and after the instruction of each program counter.
    actions: Vec<[Option<&'g Actions>; 2]>,
    /// The function that each call enters, and the block.
    callees: BTreeMap<u32, (usize, Block)>,
    /// The kernel, and its first block.
    kernel: (usize, Block),
    returns: Vec<Ending>,
    /// Lanes whose flags are set in each call, a mask for each flag.
    frames: CallFrames<Vec<u32>>,
    counts: Vec<CountedReuse>,
}

/// Effect of an instruction on frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    None,
    Return,
    Exit,
}

impl<'g> ReuseCounter<'g> {
    /// A counter for a decoded program with the plans of some of its functions.
    pub fn new(module: &Module, program: &Program, plans: &[(Func, &'g Cfg, &'g FlagPlan)]) -> ReuseCounter<'g> {
        let placed = program.funcs.iter().map(|decoded| {
            let &(_, cfg, plan) = plans.iter().find(|(func, ..)| *func == decoded.func)?;
            Some(Placed { cfg, plan })
        });
        let placed: Vec<Option<Placed<'g>>> = placed.collect();
        let mut indices: BTreeMap<(Func, Inst), u32> = BTreeMap::new();
        for &(func, ..) in plans {
            let body = &module.funcs[func];
            for block in body.block_order() {
                body.block_insts(block).zip(0..).for_each(|(inst, place)| _ = indices.insert((func, inst), place));
            }
        }
        let places = program.locations.iter().enumerate();
        let places: Vec<(usize, Block)> =
            places.map(|(pc, location)| (program.func_at(pc as u32), location.block)).collect();
        let actions = program.locations.iter().zip(&places).map(|(location, &(func, block))| {
            let index = indices.get(&(location.func, location.inst));
            let planned = index.zip(placed[func].as_ref());
            let moments = |&index| [Moment::Before(block, index), Moment::After(block, index)];
            planned.map_or([None; 2], |(index, placed)| moments(index).map(|moment| placed.plan.at(moment)))
        });
        let calls = program.insts.iter().zip(0..).filter(|(inst, _)| inst.kind == Kind::Call);
        let callee = |(inst, pc): (&DecodedInst, u32)| {
            let site = &program.calls[inst.side as usize];
            (pc, (site.callee, places[site.entry as usize].1))
        };
        let callees = calls.map(callee).collect();
        let ending = |kind: &Kind| match kind {
            Kind::Ret => Ending::Return,
            Kind::Exit => Ending::Exit,
            _ => Ending::None,
        };
        let counts = |placed: &Option<Placed<'g>>| {
            let zeros = |Placed { cfg, plan, .. }: &Placed<'g>| CountedReuse {
                edges: vec![0; cfg.edge_count()],
                counters: vec![0; plan.counters],
            };
            placed.as_ref().map(zeros).unwrap_or_default()
        };
        ReuseCounter {
            actions: actions.collect(),
            counts: placed.iter().map(counts).collect(),
            placed,
            places,
            callees,
            kernel: (0, module.funcs[program.funcs[0].func].entry_block().unwrap_or(Block::from_u32(0))),
            returns: program.insts.iter().map(|inst| ending(&inst.kind)).collect(),
            frames: CallFrames::default(),
        }
    }

    /// The counts of a function with a plan.
    pub fn counts(&self, program: &Program, func: Func) -> Option<&CountedReuse> {
        let at = program.funcs.iter().position(|decoded| decoded.func == func)?;
        Some(&self.counts[at])
    }

    /// Sets the flags of some lanes as they are before the first instruction of a function.
    fn begin(&mut self, (func, entry): (usize, Block), mask: u32, flags: &mut [u32]) {
        if let Some(Placed { plan, .. }) = &self.placed[func]
            && let Some(actions) = plan.at(Moment::Entry(entry))
        {
            actions.apply(mask, flags, &mut self.counts[func].counters);
        }
    }

    /// The flags of a call before the first instruction of its function.
    fn flags(&mut self, entered: (usize, Block), lanes: u32) -> Vec<u32> {
        let mut flags = vec![0; self.placed[entered.0].as_ref().map_or(0, |placed| placed.plan.flags)];
        self.begin(entered, lanes, &mut flags);
        flags
    }

    /// Makes sure that a slot has the kernel's flags.
    fn begin_slot(&mut self, slot: usize) {
        if !self.frames.has_begun(slot) {
            let flags = self.flags(self.kernel, !0);
            self.frames.begin(slot, flags);
        }
    }

    /// Carries out the actions before or after an instruction in the call that lanes are in.
    fn apply(&mut self, slot: usize, pc: u32, is_after: bool, mask: u32) {
        let (func, _) = self.places[pc as usize];
        if let Some(actions) = self.actions[pc as usize][usize::from(is_after)].filter(|_| mask != 0) {
            let flags = &mut self.frames.innermost(slot, mask).state;
            actions.apply(mask, flags, &mut self.counts[func].counters);
        }
    }

    /// Lanes return from the call that they are in.
    fn come_back(&mut self, slot: usize, mask: u32) {
        let call = self.frames.innermost(slot, mask).call;
        match self.frames.leave(slot, mask) {
            true => self.apply(slot, call, true, mask),
            false => self.end(slot, mask),
        }
    }

    /// Lanes end: the slot's next warp begins as this one did.
    fn end(&mut self, slot: usize, mask: u32) {
        self.frames.leave_all(slot, mask);
        let mut flags = core::mem::take(&mut self.frames.kernel(slot).state);
        self.begin(self.kernel, mask, &mut flags);
        self.frames.kernel(slot).state = flags;
    }
}

impl Watcher for ReuseCounter<'_> {
    fn issued(&mut self, slot: usize, pc: u32, running: u32, mask: u32) {
        self.begin_slot(slot);
        self.apply(slot, pc, false, running);
        // What a guarded instruction makes known, or may change, is so for lanes that do not execute it too.
        let callee = self.callees.get(&pc).copied();
        self.apply(slot, pc, true, if callee.is_some() { running & !mask } else { running });
        if mask == 0 {
            return;
        }
        if let Some(callee) = callee {
            let flags = self.flags(callee, mask);
            self.frames.enter(slot, mask, pc, flags);
        }
        match self.returns[pc as usize] {
            Ending::None => {}
            Ending::Return => self.come_back(slot, mask),
            Ending::Exit => self.end(slot, mask),
        }
    }

    fn moved(&mut self, slot: usize, pc: u32, target: u32, mask: u32) {
        let ((func, from), (_, to)) = (self.places[pc as usize], self.places[target as usize]);
        self.begin_slot(slot);
        let Some(placed) = &self.placed[func] else { return };
        let edge = placed.cfg.out_edges(from).find(|&edge| placed.cfg.target(edge) == to);
        let Some(edge) = edge else { return };
        self.counts[func].edges[edge.index()] += u64::from(mask.count_ones());
        if let Some(actions) = placed.plan.at(Moment::Edge(edge)) {
            actions.apply(mask, &mut self.frames.innermost(slot, mask).state, &mut self.counts[func].counters);
        }
    }
}

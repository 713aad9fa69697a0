//! What has last written the memory that a load reads.
//!
//! ```text
//!     ld x[i]          state 0: what it was on entry
//!     st x[i + 1], v   state 1
//!     ld x[i]          state 0: the store did not meet it
//!     bar.sync         state 2 of everything that other threads may write
//!     ld x[i]          state 0, after barrier 2
//! ```
//!
//! Memory is treated as a few variables, one for each class of accesses that never meets another one
//! ([`crate::alias::AliasClasses`]), one for barriers and one for calls. Whatever may write one of them defines it anew,
//! and where different definitions meet there is one more: the same names as those of registers. A load's state is the
//! nearest definition above it that its address may meet.
//!
//! Sound because a load with one state has no definition of it on any path from one of its places to the other: a path
//! that passes a definition comes to a place where definitions meet, or to a place dominated by it. What one thread
//! writes to `local` memory, or anybody to `const` and `param`, no barrier changes.
//!
//! Linear in instructions, joins included, apart from [`MAX_STEPS`] definitions looked at for each load.
//!
//! Source: D. Novillo, Memory SSA: a unified approach for sparsely representing memory operations, GCC Summit 2007.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use crate::alias::{Access, AliasAnalysis, AliasClass, AliasClasses, Effect, Moment, Relation};
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::{Block, Function, Inst, Op, Space};

/// Definitions that one load looks past.
const MAX_STEPS: usize = 64;

/// The state of memory that a load reads: equal states, equal memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::pass) struct State {
    /// Of its class.
    pub memory: u32,
    /// Of barriers; 0 for what no other thread writes.
    pub barrier: u32,
    /// Of calls; 0 for what nothing writes.
    pub call: u32,
}

/// The states that all loads read.
#[derive(Default)]
pub(in crate::pass) struct MemoryStates {
    of_load: SecondaryMap<Inst, State>,
    /// By state: the instruction that made it; none on entry and where several meet.
    makers: Vec<Option<Inst>>,
}

impl MemoryStates {
    /// The states of a function's loads.
    pub fn compute(func: &Function, cfg: &Cfg, dominators: &Dominators, alias: AliasAnalysis<'_>) -> MemoryStates {
        let tracks = Tracks::of(func, dominators, alias);
        let mut joins: BTreeMap<Block, Vec<u32>> = BTreeMap::new();
        let mut frontier = IteratedFrontier::new(cfg, dominators);
        for (track, blocks) in tracks.defining_blocks.iter().enumerate() {
            for block in frontier.of(blocks) {
                joins.entry(block).or_default().push(track as u32);
            }
        }
        let mut walk = Walk {
            alias,
            tracks: &tracks,
            now: vec![0; tracks.defining_blocks.len()],
            before: vec![0],
            found: MemoryStates { of_load: SecondaryMap::new(), makers: vec![None] },
        };
        let mut works = tracks.works.iter().peekable();
        let mut undo: Vec<(u32, u32)> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (place, &block) in dominators.preorder().iter().enumerate() {
            while let Some((_, first)) = open.pop_if(|(end, _)| *end <= place) {
                undo.drain(first..).rev().for_each(|(track, state)| walk.now[track as usize] = state);
            }
            open.push((place + dominators.subtree(block).len(), undo.len()));
            for &track in joins.get(&block).into_iter().flatten() {
                walk.define(track, None, &mut undo);
            }
            // Works stand in the order of this walk.
            while let Some(work) = works.next_if(|work| func.inst_block(work.inst) == Some(block)) {
                walk.inst(work, &mut undo);
            }
        }
        walk.found
    }

    /// The state that a load reads.
    pub fn of(&self, load: Inst) -> State {
        self.of_load[load]
    }

    /// The instruction that made a state; none on entry and where several meet.
    pub fn maker(&self, state: u32) -> Option<Inst> {
        self.makers.get(state as usize).copied().flatten()
    }
}

/// What an instruction does to memory.
struct Work {
    inst: Inst,
    /// The access and its class; none for barriers and calls.
    access: Option<(Access, AliasClass)>,
    /// What it may write.
    defines: Option<u32>,
}

/// What is followed: the classes, then barriers, then calls.
struct Tracks {
    /// Of all instructions that have to do with memory, in the order of the walk.
    works: Vec<Work>,
    /// By instruction: one more than its place in `works`.
    work_of: SecondaryMap<Inst, u32>,
    barriers: u32,
    calls: u32,
    defining_blocks: Vec<Vec<Block>>,
    /// By class: does no other thread write it, and does nothing at all?
    is_private: Vec<bool>,
    is_constant: Vec<bool>,
}

impl Tracks {
    fn of(func: &Function, dominators: &Dominators, alias: AliasAnalysis<'_>) -> Tracks {
        let mut effects: Vec<(Block, Inst, Effect)> = Vec::new();
        for &block in dominators.preorder() {
            for inst in func.block_insts(block).filter(|&inst| concerns_memory(func.insts[inst].opcode.op)) {
                effects.push((block, inst, alias.effect(inst)));
            }
        }
        let accesses = effects.iter().filter_map(|(_, inst, effect)| match effect {
            Effect::Access(access) | Effect::Ordered(access) => Some((*inst, access)),
            Effect::None | Effect::Everything => None,
        });
        let classes = AliasClasses::of_accesses(alias, accesses);
        let mut tracks = Tracks {
            works: Vec::with_capacity(effects.len()),
            work_of: SecondaryMap::with_capacity(func.insts.len()),
            barriers: classes.len() as u32,
            calls: classes.len() as u32 + 1,
            defining_blocks: vec![Vec::new(); classes.len() + 2],
            is_private: vec![true; classes.len()],
            is_constant: vec![true; classes.len()],
        };
        for (block, inst, effect) in effects {
            let is_call = func.insts[inst].opcode.op.is_call();
            let (access, defines) = match (effect, classes.of(inst)) {
                (Effect::None, _) => continue,
                (Effect::Access(access) | Effect::Ordered(access), Some(class)) => {
                    let defines = access.writes.then_some(class.as_u32());
                    let (private, constant) = (is_private(access.space), is_constant(access.space));
                    tracks.is_private[class.as_u32() as usize] &= private;
                    tracks.is_constant[class.as_u32() as usize] &= constant;
                    (Some((access, class)), defines)
                }
                (Effect::Everything, _) if !is_call => (None, Some(tracks.barriers)),
                _ => (None, Some(tracks.calls)),
            };
            if let Some(track) = defines
                && tracks.defining_blocks[track as usize].last() != Some(&block)
            {
                tracks.defining_blocks[track as usize].push(block);
            }
            tracks.works.push(Work { inst, access, defines });
            tracks.work_of[inst] = tracks.works.len() as u32;
        }
        tracks
    }

    /// What an instruction does to memory, if anything.
    fn work(&self, inst: Inst) -> Option<&Work> {
        self.works.get(self.work_of[inst].checked_sub(1)? as usize)
    }
}

fn concerns_memory(op: Op) -> bool {
    op.reads_memory() || op.writes_memory() || matches!(op, Op::BarSync | Op::BarWarp | Op::Membar)
}

/// Does no other thread write there?
fn is_private(space: Option<Space>) -> bool {
    matches!(space, Some(Space::Local | Space::Param | Space::Const))
}

/// Does nothing write there?
fn is_constant(space: Option<Space>) -> bool {
    matches!(space, Some(Space::Param | Space::Const))
}

struct Walk<'a> {
    alias: AliasAnalysis<'a>,
    tracks: &'a Tracks,
    /// By track: its state at this place.
    now: Vec<u32>,
    /// By state: the one before it on the way down the tree.
    before: Vec<u32>,
    found: MemoryStates,
}

impl Walk<'_> {
    fn define(&mut self, track: u32, maker: Option<Inst>, undo: &mut Vec<(u32, u32)>) {
        let state = self.before.len() as u32;
        let now = &mut self.now[track as usize];
        undo.push((track, *now));
        self.before.push(*now);
        *now = state;
        self.found.makers.push(maker);
    }

    fn inst(&mut self, work: &Work, undo: &mut Vec<(u32, u32)>) {
        if let Some((access, class)) = &work.access
            && access.reads
            && !access.writes
        {
            self.found.of_load[work.inst] = self.state(access, *class);
        }
        if let Some(track) = work.defines {
            self.define(track, Some(work.inst), undo);
        }
    }

    /// The state that a load at this place reads.
    fn state(&self, access: &Access, class: AliasClass) -> State {
        let class = class.as_u32() as usize;
        let mut memory = self.now[class];
        for _ in 0..MAX_STEPS {
            // Between the definition and the load no name changes its number, since each dominates the next.
            let Some((other, _)) = self.found.maker(memory).and_then(|maker| self.tracks.work(maker)?.access.as_ref())
            else {
                break;
            };
            if self.alias.relation(access, other, Moment::Same) != Relation::No {
                break;
            }
            memory = self.before[memory as usize];
        }
        let (barriers, calls) = (self.tracks.barriers as usize, self.tracks.calls as usize);
        State {
            memory,
            barrier: if self.tracks.is_private[class] { 0 } else { self.now[barriers] },
            call: if self.tracks.is_constant[class] { 0 } else { self.now[calls] },
        }
    }
}

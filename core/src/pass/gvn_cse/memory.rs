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

use crate::alias::{AliasAnalysis, AliasClasses, Effect, Moment, Relation};
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::{Block, Function, Inst, Op, Space};

/// Definitions that one load looks past.
const MAX_STEPS: usize = 64;

/// The state of memory that a load reads: equal states, equal memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct State {
    /// Of its class.
    pub memory: u32,
    /// Of barriers; 0 for what no other thread writes.
    pub barrier: u32,
    /// Of calls; 0 for what nothing writes.
    pub call: u32,
}

/// The states that all loads read.
#[derive(Default)]
pub(super) struct MemoryStates {
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
            func,
            alias,
            tracks: &tracks,
            now: vec![0; tracks.defining_blocks.len()],
            before: vec![0],
            found: MemoryStates { of_load: SecondaryMap::new(), makers: vec![None] },
        };
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
            walk.block(block, &mut undo);
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

/// What is followed: the classes, then barriers, then calls.
struct Tracks {
    classes: AliasClasses,
    defining_blocks: Vec<Vec<Block>>,
    /// By class: does no other thread write it, and does nothing at all?
    is_private: Vec<bool>,
    is_constant: Vec<bool>,
}

impl Tracks {
    fn of(func: &Function, dominators: &Dominators, alias: AliasAnalysis<'_>) -> Tracks {
        let classes = AliasClasses::compute(alias);
        let mut tracks = Tracks {
            defining_blocks: vec![Vec::new(); classes.len() + 2],
            is_private: vec![true; classes.len()],
            is_constant: vec![true; classes.len()],
            classes,
        };
        for &block in dominators.preorder() {
            for inst in func.block_insts(block) {
                if let Some(class) = tracks.classes.of(inst) {
                    let space = alias.access(inst).and_then(|access| access.space);
                    let class = class.as_u32() as usize;
                    tracks.is_private[class] &= matches!(space, Some(Space::Local | Space::Param | Space::Const));
                    tracks.is_constant[class] &= matches!(space, Some(Space::Param | Space::Const));
                }
                if let Some(track) = tracks.defined_by(func, alias, inst)
                    && tracks.defining_blocks[track as usize].last() != Some(&block)
                {
                    tracks.defining_blocks[track as usize].push(block);
                }
            }
        }
        tracks
    }

    fn barriers(&self) -> u32 {
        self.classes.len() as u32
    }

    fn calls(&self) -> u32 {
        self.classes.len() as u32 + 1
    }

    /// What an instruction may write.
    fn defined_by(&self, func: &Function, alias: AliasAnalysis<'_>, inst: Inst) -> Option<u32> {
        let op = func.insts[inst].opcode.op;
        if !op.reads_memory() && !op.writes_memory() && !matches!(op, Op::BarSync | Op::BarWarp | Op::Membar) {
            return None;
        }
        match alias.effect(inst) {
            Effect::None => None,
            Effect::Everything if matches!(op, Op::BarSync | Op::BarWarp | Op::Membar) => Some(self.barriers()),
            Effect::Everything => Some(self.calls()),
            Effect::Access(access) | Effect::Ordered(access) => match self.classes.of(inst) {
                _ if !access.writes => None,
                Some(class) => Some(class.as_u32()),
                None => Some(self.calls()),
            },
        }
    }
}

struct Walk<'a> {
    func: &'a Function,
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

    fn block(&mut self, block: Block, undo: &mut Vec<(u32, u32)>) {
        for inst in self.func.block_insts(block) {
            if self.func.insts[inst].opcode.op == Op::Ld {
                self.found.of_load[inst] = self.state(inst);
            }
            if let Some(track) = self.tracks.defined_by(self.func, self.alias, inst) {
                self.define(track, Some(inst), undo);
            }
        }
    }

    /// The state that a load at this place reads.
    fn state(&self, load: Inst) -> State {
        let call = self.now[self.tracks.calls() as usize];
        let barrier = self.now[self.tracks.barriers() as usize];
        let (Some(class), Some(access)) = (self.tracks.classes.of(load), self.alias.access(load)) else {
            return State { memory: 0, barrier, call };
        };
        let class = class.as_u32() as usize;
        let mut memory = self.now[class];
        for _ in 0..MAX_STEPS {
            // Between the definition and the load no name changes its number, since each dominates the next.
            let Some(maker) = self.found.maker(memory) else { break };
            let Some(other) = self.alias.access(maker) else { break };
            if self.alias.relation(&access, &other, Moment::Same) != Relation::No {
                break;
            }
            memory = self.before[memory as usize];
        }
        State {
            memory,
            barrier: if self.tracks.is_private[class] { 0 } else { barrier },
            call: if self.tracks.is_constant[class] { 0 } else { call },
        }
    }
}

//! Last writers of the memory that a load reads.
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
//! ([`crate::alias::AliasClasses`]), one for barriers and what acquires, and one for calls. Whatever may write one of
//! them defines it anew, and where different definitions meet there is one more: the same names as those of registers. A
//! load's state is the nearest definition above it that its address may meet. That takes addresses, which are costly to
//! write as sums, so it is asked for only where another load has the same opcode and operands and not the same state
//! anyhow.
//!
//! Sound because a load with one state has no definition of it on any path from one of its places to the other: a path
//! that passes a definition comes to a place where definitions meet, or to a place dominated by it. What one thread
//! writes to `local` memory, or anybody to `const` and `param`, no barrier changes.
//!
//! Linear in instructions, joins included, apart from [`MAX_STEPS`] definitions looked at for each load.
//!
//! Source: D. Novillo, Memory SSA: a unified approach for sparsely representing memory operations, GCC Summit 2007.

use alloc::vec;
use alloc::vec::Vec;

use super::outline::MemoryInst;
use crate::alias::{Access, AliasAnalysis, AliasClasses, Moment, Objects, Relation};
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::{Block, Function, Inst, Module, Op, Space};
use crate::symbolic::Base;

/// Definitions that one load looks past.
const MAX_STEPS: usize = 64;

/// Tracks up to which the places where definitions meet are found by a walk for each.
const WALKED_SETS: usize = 3;

/// The state of memory that a load reads: equal states, equal memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::pass) struct State {
    /// Version of its class.
    pub memory: u32,
    /// Version of barriers; 0 for memory that no other thread writes.
    pub barrier: u32,
    /// Version of calls; 0 for memory that is never written.
    pub call: u32,
}

/// The states of memory along a walk over the dominator tree.
pub(super) struct Memory {
    /// Memory operations of all instructions, block by block.
    works: Vec<Work>,
    /// First work of each block, by its place.
    first_work: Vec<u32>,
    /// The next one of the block that is open.
    next: usize,
    /// State of each track at this place of the walk: the classes, then barriers, then calls.
    now: Vec<u32>,
    barriers: usize,
    calls: usize,
    /// Whether each class has no other thread that writes it, and no writer at all.
    is_private: Vec<bool>,
    is_constant: Vec<bool>,
    /// Tracks whose different definitions meet somewhere, place by place, rising at each.
    joins: Vec<u32>,
    /// First join of each block, by its place. Empty if there are none.
    first_join: Vec<u32>,
    /// State before each state on the path down the tree.
    before: Vec<u32>,
    /// Work that made each state; [`NONE`] on entry and where several meet.
    makers: Vec<u32>,
    undo: Vec<(u32, u32)>,
    /// Accesses with their addresses that were asked for; none where nothing is known of one.
    accesses: Vec<Option<Access>>,
    /// Own access of each work, or [`NONE`].
    access_of: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Effect of an instruction on memory.
#[derive(Clone, Copy)]
struct Work {
    inst: Inst,
    /// The class of its access; [`NONE`] for barriers and calls.
    class: u32,
    /// Class that it may write; [`NONE`] for a load.
    defines: u32,
}

/// Properties that loads are compared by before their addresses.
#[derive(Clone, Copy)]
pub(super) struct Load {
    work: u32,
    /// The state of its class, whatever its address is.
    pub state: State,
}

impl Memory {
    /// For the instructions that [`concerns_memory`], the places of their blocks rising.
    pub fn new<'a>(
        (module, func): (&Module, &Function),
        (cfg, dominators): (&'a Cfg, &'a Dominators),
        frontier: Option<IteratedFrontier<'a>>,
        found: &[MemoryInst],
    ) -> Memory {
        let objects = Objects { module, func };
        let space_of = |(space, base): (Option<Space>, Base)| (space.or_else(|| objects.space(base)), base);
        let keys: Vec<_> = found.iter().filter_map(|found| found.access.map(space_of)).collect();
        let (classes, class_count) = AliasClasses::of_objects(objects, &keys);
        let (mut classes, class_count) = (classes.into_iter().zip(keys), class_count as usize);
        let (barriers, calls) = (class_count, class_count + 1);
        let order = dominators.preorder();
        let mut memory = Memory {
            works: Vec::with_capacity(found.len()),
            first_work: vec![0; order.len() + 1],
            next: 0,
            now: vec![0; class_count + 2],
            barriers,
            calls,
            is_private: vec![true; class_count],
            is_constant: vec![true; class_count],
            joins: Vec::new(),
            first_join: Vec::new(),
            before: Vec::with_capacity(found.len() + 1),
            makers: Vec::with_capacity(found.len() + 1),
            undo: Vec::with_capacity(found.len()),
            accesses: Vec::new(),
            access_of: vec![NONE; found.len()],
        };
        memory.before.push(0);
        memory.makers.push(NONE);
        let mut defining: Vec<Vec<Block>> = vec![Vec::new(); class_count + 2];
        for &MemoryInst { inst, op, place, access } in found {
            let class = access.and_then(|_| {
                let (class, (space, _)) = classes.next()?;
                let class = class.as_u32() as usize;
                memory.is_private[class] &= is_private(space);
                memory.is_constant[class] &= is_constant(space);
                Some(class)
            });
            let defines = match class {
                Some(class) => op.writes_memory().then_some(class),
                None => Some(if op.is_call() { calls } else { barriers }),
            };
            if let Some(track) = defines
                && defining[track].last() != Some(&order[place as usize])
            {
                defining[track].push(order[place as usize]);
            }
            memory.first_work[place as usize + 1] += 1;
            let or_none = |number: Option<usize>| number.map_or(NONE, |number| number as u32);
            memory.works.push(Work { inst, class: or_none(class), defines: or_none(defines) });
        }
        for place in 0..order.len() {
            memory.first_work[place + 1] += memory.first_work[place];
        }
        // A few sets are walked for sooner than frontiers are stored.
        let sets = defining.iter().filter(|blocks| !blocks.is_empty()).count();
        let made = if sets <= WALKED_SETS { IteratedFrontier::walking } else { IteratedFrontier::new };
        let mut frontier = frontier.unwrap_or_else(|| made(cfg, dominators));
        let mut joins: Vec<(u32, u32)> = Vec::new();
        for (track, blocks) in defining.iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
            let blocks = frontier.in_any_order(blocks).into_iter();
            joins.extend(blocks.map(|block| (dominators.preorder_number(block), track as u32)));
        }
        memory.set_joins(&joins, order.len());
        memory
    }

    /// Sorts the joins, given by places and tracks, by place; tracks rise already.
    fn set_joins(&mut self, joins: &[(u32, u32)], places: usize) {
        if joins.is_empty() {
            return;
        }
        let mut first = vec![0_u32; places + 1];
        joins.iter().for_each(|&(place, _)| first[place as usize] += 1);
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        self.joins.resize(joins.len(), 0);
        for &(place, track) in joins.iter().rev() {
            first[place as usize] -= 1;
            self.joins[first[place as usize] as usize] = track;
        }
        self.first_join = first;
    }

    /// The walk comes to a block, given by its place.
    pub fn enter(&mut self, place: u32) {
        self.next = self.first_work[place as usize] as usize;
        if self.joins.is_empty() {
            return;
        }
        for index in self.first_join[place as usize]..self.first_join[place as usize + 1] {
            self.define(self.joins[index as usize], NONE);
        }
    }

    /// How much there is to take back.
    pub fn depth(&self) -> usize {
        self.undo.len()
    }

    /// Takes back what has been done since the depth was that.
    pub fn take_back(&mut self, depth: usize) {
        self.undo.drain(depth..).rev().for_each(|(track, state)| self.now[track as usize] = state);
    }

    /// The walk comes to an instruction of the open block. Gives what a plain load is compared by.
    pub fn visit(&mut self, inst: Inst) -> Option<Load> {
        let work = *self.works.get(self.next).filter(|work| work.inst == inst)?;
        let index = self.next as u32;
        self.next += 1;
        if work.defines != NONE {
            self.define(work.defines, index);
            return None;
        }
        Some(Load { work: index, state: self.state(work.class as usize) })
    }

    /// Properties of a load right after the access that was visited last.
    pub fn behind(&self) -> Option<Load> {
        let index = self.next.checked_sub(1)?;
        let class = self.works[index].class;
        (class != NONE).then(|| Load { work: index as u32, state: self.state(class as usize) })
    }

    /// Properties of a load right before the store that was visited last.
    pub fn in_front(&self) -> Option<Load> {
        let mut load = self.behind()?;
        load.state.memory = self.before[load.state.memory as usize];
        Some(load)
    }

    /// The store that was visited last has changed nothing.
    pub fn forget_store(&mut self) {
        if let Some((track, state)) = self.undo.pop() {
            self.now[track as usize] = state;
        }
    }

    fn state(&self, class: usize) -> State {
        State {
            memory: self.now[class],
            barrier: if self.is_private[class] { 0 } else { self.now[self.barriers] },
            call: if self.is_constant[class] { 0 } else { self.now[self.calls] },
        }
    }

    /// The state that a load reads, whose address is one of `alias`. Looks no further than to the state `enough`.
    pub fn refine(&mut self, alias: AliasAnalysis<'_>, load: Load, enough: Option<u32>) -> State {
        let mut memory = load.state.memory;
        for _ in 0..MAX_STEPS {
            // Between the definition and the load no name changes its number, since each dominates the next.
            let maker = self.makers[memory as usize];
            if maker == NONE || enough == Some(memory) {
                break;
            }
            let [own, other] = [load.work, maker].map(|work| self.works[work as usize].inst);
            if alias.have_one_address(own, other) {
                break;
            }
            let [own, other] = [(load.work, own), (maker, other)].map(|(work, inst)| {
                let known = &mut self.access_of[work as usize];
                if *known == NONE {
                    *known = self.accesses.len() as u32;
                    self.accesses.push(alias.access(inst));
                }
                *known as usize
            });
            let (Some(own), Some(other)) = (&self.accesses[own], &self.accesses[other]) else { break };
            if alias.relation(own, other, Moment::Same) != Relation::No {
                break;
            }
            memory = self.before[memory as usize];
        }
        State { memory, ..load.state }
    }

    /// The instruction that made a state; none on entry and where several meet.
    pub fn maker(&self, state: u32) -> Option<Inst> {
        let maker = *self.makers.get(state as usize)?;
        self.works.get(maker as usize).map(|work| work.inst)
    }

    fn define(&mut self, track: u32, maker: u32) {
        let state = self.before.len() as u32;
        let now = &mut self.now[track as usize];
        self.undo.push((track, *now));
        self.before.push(*now);
        *now = state;
        self.makers.push(maker);
    }
}

/// Has an instruction to do with memory that anybody writes?
pub(super) const fn concerns_memory(op: Op) -> bool {
    let reads = op.reads_memory() && !op.is_texture();
    reads || op.writes_memory() || op.orders_memory()
}

/// Does no other thread write there?
fn is_private(space: Option<Space>) -> bool {
    matches!(space, Some(Space::Local | Space::Param | Space::Const))
}

/// Does nothing write there?
fn is_constant(space: Option<Space>) -> bool {
    matches!(space, Some(Space::Param | Space::Const))
}

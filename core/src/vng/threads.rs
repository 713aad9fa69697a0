//! Threads: each name carried backward until it is known, or nothing is known above.
//!
//! ```text
//! head: i = join(0 from entry, i + 1 from next)
//! body: ld A[i + 2]     A[i + 2] ──entry──▶ A[2]                        ends at the entry
//!                                ──next───▶ A[i + 3] ──next──▶ A[i + 4]  one window each
//! ```
//!
//! 1. A name holds from the latest definition of its atoms on, in every block that this dominates.
//!    So it is followed from there, whatever lies between.
//! 2. Where joins of a block are the latest, each edge into it has a name of its own, with the
//!    joins replaced by their arguments. A retreating edge costs one window.
//! 3. Where a load is the latest, the memory that it read takes the place of its value.
//! 4. A name that has become a constant or one value alone is at hand. One that cannot be replaced
//!    ends, and nothing above is available.
//! 5. Names are visited by cost, cheapest first, each once.
//!
//! Cost: O(names · (size + edges into their joins)); blocks that do not change a name cost nothing.
//! Limits: windows, names, and those of the language of names; the thread ends there.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, section 2.3.2.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use crate::flow::{Definition, Value, Values};
use crate::graph::{Cfg, Dominators, Edge};
use crate::ir::{Block, Function, Inst, Op};
use crate::names::{Name, NameTable, Replaced, Replacement};

/// Reason why a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EndReason {
    /// The function begins.
    Entry,
    /// The definition of an atom cannot be replaced.
    Definition(Value),
    /// The result has too many terms, operations or levels of memory.
    Language,
    /// The window ends.
    Window,
    /// The function has too many names.
    Limit,
}

/// Continuation of a name above the latest definition of its atoms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Above {
    /// It is a constant.
    Constant,
    /// It is one value, which its definition makes known.
    Value(Value),
    /// Nothing above is available.
    End(EndReason),
    /// Joins of this block occur: a name for each edge into it, parallel to [`Shape::edges_into`], and at the
    /// function's entry one end more.
    Join(Block, SmallVec<[Result<Name, EndReason>; 2]>),
    /// Before this load of an atom.
    Load(Inst, Name),
}

/// The place of a definition. Of the definitions of one name's atoms each dominates the later ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Latest {
    /// Depth of the block in the dominator tree.
    depth: u32,
    /// The block.
    pub block: Block,
    /// 0 for joins, else one more than the place of the instruction in the block.
    pub place: u32,
}

/// The thread of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Windows that the cheapest way from a seed has passed.
    pub cost: u32,
    /// The latest definition of its atoms, from which on the name holds; None for the function's entry.
    pub latest: Option<Latest>,
    /// The continuation.
    pub above: Above,
}

impl Thread {
    /// Does the name hold before a place of a block?
    pub fn holds_at(&self, shape: Shape<'_>, block: Block, place: u32) -> bool {
        self.latest.is_none_or(|latest| match latest.block == block {
            true => latest.place <= place,
            false => shape.dominators.dominates(latest.block, block),
        })
    }
}

/// The threads of all names.
#[derive(Default)]
pub struct Threads {
    threads: SecondaryMap<Name, Option<Thread>>,
    /// Names that have a thread, in the order of visits.
    placed: Vec<Name>,
}

impl Threads {
    /// The thread of a name; None if the name is not placed.
    pub fn of(&self, name: Name) -> Option<&Thread> {
        self.threads[name].as_ref()
    }

    /// The names that are placed, in the order of visits.
    pub fn names(&self) -> &[Name] {
        &self.placed
    }
}

/// A function with what its threads depend on.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    /// The function.
    pub func: &'a Function,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// Its dominators.
    pub dominators: &'a Dominators,
    /// Its values.
    pub values: &'a Values,
}

impl<'a> Shape<'a> {
    /// The edges into a block from reachable blocks.
    pub fn edges_into(self, block: Block) -> impl Iterator<Item = Edge> + 'a {
        let cfg = self.cfg;
        cfg.in_edges(block).iter().copied().filter(move |&edge| cfg.is_reachable(cfg.source(edge)))
    }
}

/// Limits of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadLimits {
    /// Traversals: at least 1, and one more for each retreating edge that changes a name.
    pub window: u32,
    /// Names.
    pub names: usize,
}

/// Places the threads of names.
pub struct ThreadPlacer<'t, 'a> {
    shape: Shape<'a>,
    table: &'t mut NameTable<'a>,
    limits: ThreadLimits,
    threads: Threads,
    /// Place of each instruction in its block.
    places: SecondaryMap<Inst, u32>,
    /// Names to be visited, by cost; of one cost first come, first served.
    work: Vec<VecDeque<Name>>,
}

impl<'t, 'a> ThreadPlacer<'t, 'a> {
    /// A placer without names.
    pub fn new(shape: Shape<'a>, table: &'t mut NameTable<'a>, limits: ThreadLimits) -> ThreadPlacer<'t, 'a> {
        let mut places = SecondaryMap::new();
        for block in shape.func.block_order() {
            shape.func.block_insts(block).zip(0..).for_each(|(inst, place)| places[inst] = place);
        }
        let work = (0..limits.window.max(1)).map(|_| VecDeque::new()).collect();
        ThreadPlacer { shape, table, limits, threads: Threads::default(), places, work }
    }

    /// Places the threads of these names.
    pub fn place(mut self, seeds: impl Iterator<Item = Name>) -> Threads {
        seeds.for_each(|name| self.work[0].push_back(name));
        for cost in 0..self.work.len() {
            while let Some(name) = self.work[cost].pop_front() {
                let has_room = self.threads.placed.len() < self.limits.names;
                if self.threads.threads[name].is_none() && has_room {
                    let cost = cost as u32;
                    let latest = self.latest(name);
                    let above = self.above(name, latest.map(|(_, value)| value), cost);
                    self.threads.threads[name] = Some(Thread { cost, latest: latest.map(|(place, _)| place), above });
                    self.threads.placed.push(name);
                }
            }
        }
        self.threads
    }

    /// The continuation of a name, whose further names are queued.
    fn above(&mut self, name: Name, latest: Option<Value>, cost: u32) -> Above {
        if self.table.as_constant(name).is_some() {
            return Above::Constant;
        }
        if let Some(value) = self.table.as_value(name) {
            return Above::Value(value);
        }
        let Some(latest) = latest else { return Above::End(EndReason::Entry) };
        match self.shape.values.definition(latest) {
            Definition::Join { block } => self.across_joins(name, block, cost),
            Definition::Inst { inst, .. } if self.shape.func.insts[inst].opcode.op == Op::Ld => {
                let before = self.table.before_load(name, latest).filter(|&before| self.enqueue(before, cost));
                before.map_or(Above::End(EndReason::Definition(latest)), |before| Above::Load(inst, before))
            }
            _ => Above::End(EndReason::Definition(latest)),
        }
    }

    /// The names of a name along the edges into a block, whose joins occur in it.
    fn across_joins(&mut self, name: Name, block: Block, cost: u32) -> Above {
        let Shape { cfg, values, .. } = self.shape;
        let joins: SmallVec<[Value; 4]> = self
            .table
            .values_in(name)
            .iter()
            .copied()
            .filter(|&value| values.definition(value) == Definition::Join { block })
            .collect();
        let along = self.shape.edges_into(block).enumerate().map(|(at, edge)| {
            let cost = cost + u32::from(cfg.is_retreating(edge));
            if cost >= self.limits.window {
                return Err(EndReason::Window);
            }
            let replace = |&join: &Value| Replacement {
                part: Replaced::Value(join),
                by: Replaced::Value(values.join_args(join)[at].value),
            };
            let replacements: SmallVec<[Replacement; 4]> = joins.iter().map(replace).collect();
            let before = self.table.replace(name, &replacements).ok_or(EndReason::Language)?;
            self.enqueue(before, cost).then_some(before).ok_or(EndReason::Limit)
        });
        let mut along: SmallVec<[Result<Name, EndReason>; 2]> = along.collect();
        if cfg.is_entry(block) {
            along.push(Err(EndReason::Entry));
        }
        Above::Join(block, along)
    }

    /// Queues a name, unless there are too many.
    fn enqueue(&mut self, name: Name, cost: u32) -> bool {
        let is_within = self.threads.threads[name].is_some() || self.threads.placed.len() < self.limits.names;
        if is_within {
            self.work[cost as usize].push_back(name);
        }
        is_within
    }

    /// The value in a name that is defined last, and where. None if all are given on entry.
    fn latest(&self, name: Name) -> Option<(Latest, Value)> {
        let Shape { func, dominators, values, .. } = self.shape;
        let place = |value: Value| {
            let block = values.block(func, value)?;
            let place = values.definition(value).inst().map_or(0, |inst| self.places[inst] + 1);
            Some(Latest { depth: dominators.depth(block), block, place })
        };
        let placed = self.table.values_in(name).iter().filter_map(|&value| Some((place(value)?, value)));
        placed.max_by_key(|&(place, _)| place)
    }
}

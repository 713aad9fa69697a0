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
//!    joins replaced by their arguments. A retreating edge costs one window
//!    if joins of its target, of values or of versions, occur.
//! 3. Where a load is the latest, the memory that it read takes the place of its value, in the
//!    version that it has there. Where a store of exactly this memory begins the version, what it
//!    stored takes its place; where joins of versions are the latest, each edge has its version.
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

use super::definitions::{AtomDefinitions, Latest, LatestDefinition};
use super::memory::Memory;
use super::versions::MemoryVersions;
use crate::flow::{Definition, Value, Values};
use crate::graph::{Cfg, Dominators, Edge};
use crate::ir::{Block, Function, Inst, Op};
use crate::names::{MemoryVersion, Name, NameTable, Replaced, Replacement};

/// Reason why a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EndReason {
    /// The function begins.
    Entry,
    /// The definition of an atom cannot be replaced.
    Definition(Value),
    /// An instruction may change memory that the address reads.
    Overwritten(Inst),
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
    /// It is a special register or the address of a symbol, known from the function's entry on.
    Given,
    /// Nothing above is available.
    End(EndReason),
    /// Joins of this block occur, of values or of memory: a name for each edge into it, parallel to
    /// [`Shape::edges_into`], and at the function's entry one end more.
    Join(Block, SmallVec<[Result<Name, EndReason>; 2]>),
    /// Before this load of an atom.
    Load(Inst, Name),
    /// Before this store to memory that the address reads.
    Store(Inst, Name),
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
    /// Blocks at whose start versions of memory are kept.
    pub versions: usize,
}

/// Places the threads of names.
pub struct ThreadPlacer<'t, 'a> {
    shape: Shape<'a>,
    table: &'t mut NameTable<'a>,
    memory: &'t Memory<'a>,
    limits: ThreadLimits,
    threads: Threads,
    definitions: AtomDefinitions<'a>,
    versions: MemoryVersions<'t, 'a>,
    /// Names to be visited, by cost; of one cost first come, first served.
    work: Vec<VecDeque<Name>>,
    /// Names that have been queued.
    is_known: SecondaryMap<Name, bool>,
    known: usize,
}

impl<'t, 'a> ThreadPlacer<'t, 'a> {
    /// A placer without names.
    pub fn new(
        shape: Shape<'a>,
        table: &'t mut NameTable<'a>,
        memory: &'t Memory<'a>,
        limits: ThreadLimits,
    ) -> ThreadPlacer<'t, 'a> {
        ThreadPlacer {
            shape,
            table,
            memory,
            limits,
            threads: Threads::default(),
            definitions: AtomDefinitions::new(shape),
            versions: MemoryVersions::new(shape, memory, limits.versions),
            work: (0..limits.window.max(1)).map(|_| VecDeque::new()).collect(),
            is_known: SecondaryMap::new(),
            known: 0,
        }
    }

    /// Places the threads of these names. Those beyond the limit end where they begin.
    pub fn place(mut self, seeds: impl Iterator<Item = Name>) -> Threads {
        for name in seeds {
            if !self.enqueue(name, 0) && self.threads.threads[name].is_none() {
                let latest = self.definitions.latest(self.table, name).map(|(place, _)| place);
                let above = Above::End(EndReason::Limit);
                self.threads.threads[name] = Some(Thread { cost: 0, latest, above });
                self.threads.placed.push(name);
            }
        }
        for cost in 0..self.work.len() {
            while let Some(name) = self.work[cost].pop_front() {
                if self.threads.threads[name].is_none() {
                    let cost = cost as u32;
                    let latest = self.definitions.latest(self.table, name);
                    let above = self.above(name, latest.map(|(_, definition)| definition), cost);
                    self.threads.threads[name] = Some(Thread { cost, latest: latest.map(|(place, _)| place), above });
                    self.threads.placed.push(name);
                }
            }
        }
        self.threads
    }

    /// The continuation of a name, whose further names are queued.
    fn above(&mut self, name: Name, latest: Option<LatestDefinition>, cost: u32) -> Above {
        if self.table.as_constant(name).is_some() {
            return Above::Constant;
        }
        if let Some(value) = self.table.as_value(name) {
            return Above::Value(value);
        }
        if self.table.is_at_hand(name) {
            return Above::Given;
        }
        match latest {
            None => Above::End(EndReason::Entry),
            Some(LatestDefinition::Joins(block)) => self.across_joins(name, block, cost),
            Some(LatestDefinition::Value(value)) => self.before_load(name, value, cost),
            Some(LatestDefinition::Change(inst)) => self.before_store(name, inst, cost),
        }
    }

    fn before_load(&mut self, name: Name, loaded: Value, cost: u32) -> Above {
        let end = Above::End(EndReason::Definition(loaded));
        let inst = self.shape.values.definition(loaded).inst();
        let Some(inst) = inst.filter(|&inst| self.shape.func.insts[inst].opcode.op == Op::Ld) else { return end };
        let Some(point) = self.definitions.before(inst) else { return end };
        let ThreadPlacer { table, versions, definitions, .. } = self;
        let mut version = |table: &NameTable<'_>, load: Name| versions.before(definitions, table, load, point);
        match table.before_load(name, loaded, &mut version) {
            Some(before) if self.enqueue(before, cost) => Above::Load(inst, before),
            None if !self.versions.is_full() => end,
            _ => Above::End(EndReason::Limit),
        }
    }

    fn before_store(&mut self, name: Name, inst: Inst, cost: u32) -> Above {
        let ThreadPlacer { table, versions, definitions, memory, .. } = self;
        let end = Above::End(EndReason::Overwritten(inst));
        let changed = table.memories_in(name).iter().filter_map(|&memory| {
            let (load, version) = table.as_memory(memory)?;
            (version == MemoryVersion::After(inst)).then_some((memory, load))
        });
        let stored: Option<SmallVec<[(Name, usize); 2]>> =
            changed.map(|(written, load)| Some((written, memory.stored_element(inst, load)?))).collect();
        let (Some(stored), Some(point)) = (stored, definitions.before(inst)) else { return end };
        let mut version = |table: &NameTable<'_>, load: Name| versions.before(definitions, table, load, point);
        match table.before_store(name, inst, &stored, &mut version) {
            Some(before) if self.enqueue(before, cost) => Above::Store(inst, before),
            None if !self.versions.is_full() => Above::End(EndReason::Language),
            _ => Above::End(EndReason::Limit),
        }
    }

    /// The names of a name along the edges into a block, whose joins occur in it.
    fn across_joins(&mut self, name: Name, block: Block, cost: u32) -> Above {
        let Shape { cfg, values, .. } = self.shape;
        let is_join = |&value: &Value| values.definition(value) == Definition::Join { block };
        let joins: SmallVec<[Value; 4]> = self.table.values_in(name).iter().copied().filter(is_join).collect();
        let memory_joins: SmallVec<[(Name, Name); 1]> = self
            .table
            .memories_in(name)
            .iter()
            .filter_map(|&memory| {
                let (load, version) = self.table.as_memory(memory)?;
                (version == MemoryVersion::Join(block)).then_some((memory, load))
            })
            .collect();
        let along = self.shape.edges_into(block).enumerate().map(|(at, edge)| {
            let cost = cost + u32::from(cfg.is_retreating(edge));
            if cost >= self.limits.window {
                return Err(EndReason::Window);
            }
            let ThreadPlacer { table, versions, definitions, .. } = self;
            let point = (cfg.source(edge), u32::MAX);
            let mut version = |table: &NameTable<'_>, load: Name| versions.before(definitions, table, load, point);
            let mut replacements: SmallVec<[Replacement; 4]> = SmallVec::new();
            for &join in &joins {
                let by = Replaced::Value(values.join_args(join)[at].value);
                replacements.push(Replacement { part: Replaced::Value(join), by });
            }
            for &(memory, load) in &memory_joins {
                let along = version(table, load).ok_or(EndReason::Limit)?;
                let by = Replaced::Name(table.memory(load, along));
                replacements.push(Replacement { part: Replaced::Name(memory), by });
            }
            let before = table.replace(name, &replacements, &mut version);
            let before = before.ok_or_else(|| match self.versions.is_full() {
                true => EndReason::Limit,
                false => EndReason::Language,
            })?;
            self.enqueue(before, cost).then_some(before).ok_or(EndReason::Limit)
        });
        let mut along: SmallVec<[Result<Name, EndReason>; 2]> = along.collect();
        if cfg.is_entry(block) {
            along.push(Err(EndReason::Entry));
        }
        Above::Join(block, along)
    }

    /// Queues a name. Returns false if there are too many.
    fn enqueue(&mut self, name: Name, cost: u32) -> bool {
        if !self.is_known[name] {
            if self.known >= self.limits.names {
                return false;
            }
            self.is_known[name] = true;
            self.known += 1;
        }
        self.work[cost as usize].push_back(name);
        true
    }
}

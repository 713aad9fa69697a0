//! The value name graph: which computations recompute a value, and under which names it flows.

mod analysis;
mod class_events;
mod components;
mod definitions;
mod demand;
mod graph;
pub mod inspect;
mod memory;
mod narration;
mod record;
mod seeds;
mod synonyms;
mod text;
mod threads;
mod versions;

pub use analysis::{Fact, Facts, Users, ways_out};
pub use components::Components;
pub use definitions::Latest;
pub use demand::Demand;
pub use graph::{Flow, ThreadEdge, ThreadGraph, Vertex, VertexData, VertexKind};
pub use memory::{Kills, Memory};
pub use narration::{Narrated, Outcome};
pub use seeds::{Role, Seed, Seeds};
pub use synonyms::{Class, Classes};
pub use text::Names;
pub use threads::{Above, EndReason, Shape, Thread, ThreadLimits, Threads};

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use crate::alias::{AliasAnalysis, AliasClasses};
use crate::flow::{EndingCalls, Values};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Inst, Module};
use crate::names::{Name, NameLimits, NameTable};
use crate::symbolic::{AffineNames, KnownSums, Overflow};
use crate::trace::{NoTrace, Trace};
use graph::GraphInput;
use threads::ThreadPlacer;

/// Choices about a value name graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VngOptions {
    /// Which instructions are seeds.
    pub seeds: Seeds,
    /// Traversals across retreating edges that change a name, 1 to 8.
    pub window: u32,
    /// Operations one in the other, 0 to 4.
    pub depth: u32,
    /// Levels of memory inside addresses, 0 to 2.
    pub dereferences: u32,
    /// Whether signed arithmetic of addresses may be taken not to overflow.
    pub overflow: Overflow,
    /// Which instructions kill the values of loads.
    pub kills: Kills,
    /// Whether names that are one value are found.
    pub synonyms: bool,
    /// Names of a function.
    pub names: usize,
    /// Vertices of a function.
    pub vertices: usize,
    /// Vertices that one demand visits; 0 for no limit.
    pub budget: usize,
}

impl Default for VngOptions {
    fn default() -> VngOptions {
        VngOptions {
            seeds: Seeds::Loads,
            window: 3,
            depth: 2,
            dereferences: 1,
            overflow: Overflow::Assume,
            kills: Kills::Analysis,
            synonyms: true,
            names: 1 << 16,
            vertices: 1 << 20,
            budget: 0,
        }
    }
}

/// A function with the analyses that its value name graph depends on.
pub struct Foundation<'m> {
    module: &'m Module,
    func: &'m Function,
    options: VngOptions,
    cfg: Cfg,
    dominators: Dominators,
    values: Values,
    alias_classes: AliasClasses,
    known_sums: KnownSums,
    ending_calls: EndingCalls,
    /// The instructions of each block, in order.
    instructions: SecondaryMap<Block, Vec<Inst>>,
}

impl<'m> Foundation<'m> {
    /// The analyses of a function.
    pub fn compute(module: &'m Module, func: &'m Function, options: VngOptions) -> Foundation<'m> {
        let cfg = Cfg::compute(func);
        let dominators = Dominators::compute(&cfg);
        let values = Values::compute(func, &cfg, &dominators);
        let known_sums = KnownSums::default();
        let sums = AffineNames::new(func, &values, options.overflow).remembering(&known_sums);
        let alias_classes = AliasClasses::compute(AliasAnalysis::new(module, func, &values, sums));
        let mut instructions: SecondaryMap<Block, Vec<Inst>> = SecondaryMap::new();
        func.block_order().for_each(|block| instructions[block] = func.block_insts(block).collect());
        let ending_calls = EndingCalls::compute(module, func);
        Foundation {
            module,
            func,
            options,
            cfg,
            dominators,
            values,
            alias_classes,
            known_sums,
            ending_calls,
            instructions,
        }
    }

    /// The instruction at a place of a block; None after its last one.
    pub fn instruction(&self, block: Block, place: u32) -> Option<Inst> {
        self.instructions[block].get(place as usize).copied()
    }

    /// The function's graph.
    pub fn cfg(&self) -> &Cfg {
        &self.cfg
    }

    /// The calls that lanes may not come back from.
    pub fn ending_calls(&self) -> &EndingCalls {
        &self.ending_calls
    }

    /// The function's values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The shape that threads depend on.
    pub fn shape(&self) -> Shape<'_> {
        let Foundation { func, cfg, dominators, values, .. } = self;
        Shape { func, cfg, dominators, values }
    }

    fn sums(&self) -> AffineNames<'_> {
        AffineNames::new(self.func, &self.values, self.options.overflow).remembering(&self.known_sums)
    }
}

/// The value name graph of a function.
pub struct ValueNameGraph<'a> {
    /// The names.
    pub names: NameTable<'a>,
    /// The seeds, in the order of reachable blocks.
    pub seeds: Vec<Seed>,
    /// Guarded computations that are no seeds.
    pub guarded: usize,
    /// The threads of the seeds' names.
    pub threads: Threads,
    /// Names that are one value.
    pub classes: Classes,
    /// The live vertices.
    pub graph: ThreadGraph,
    /// Facts about them.
    pub facts: Facts,
}

/// Names with their seeds and threads, before synonyms are found.
struct NamedThreads<'a> {
    names: NameTable<'a>,
    seeds: Vec<Seed>,
    guarded: usize,
    memory: Memory<'a>,
    threads: Threads,
}

impl<'a> NamedThreads<'a> {
    /// The threads of all seeds, or of one instruction's.
    fn place(foundation: &'a Foundation<'_>, only: Option<Inst>, trace: &mut dyn Trace) -> NamedThreads<'a> {
        let Foundation { module, func, options, cfg, values, alias_classes, .. } = foundation;
        let limits = NameLimits { depth: options.depth, dereferences: options.dereferences };
        let mut names = NameTable::new(func, values, foundation.sums(), alias_classes, limits);
        let (seeds, guarded) = seeds::collect(func, cfg.reverse_postorder(), values, &mut names, options.seeds);
        record::record_seeds(&seeds, trace);
        let alias = AliasAnalysis::new(module, func, values, foundation.sums());
        let memory = Memory::new(func, alias, alias_classes, &seeds, options.kills);
        let limits = ThreadLimits { window: options.window, names: options.names, versions: options.vertices };
        let roots = seeds.iter().filter(|seed| only.is_none_or(|inst| seed.inst == inst));
        let roots = roots.flat_map(|seed| core::iter::once(seed.name).chain(seed.elements.iter().copied()));
        let threads = ThreadPlacer::new(foundation.shape(), &mut names, &memory, limits).place(roots);
        record::record_threads(foundation.shape(), &threads, trace);
        NamedThreads { names, seeds, guarded, memory, threads }
    }

    /// The inputs of a graph over these threads.
    fn input<'g>(&'g self, foundation: &'a Foundation<'_>, classes: &'g Classes) -> GraphInput<'g, 'a> {
        GraphInput {
            shape: foundation.shape(),
            table: &self.names,
            seeds: &self.seeds,
            threads: &self.threads,
            classes,
            memory: &self.memory,
            ending_calls: &foundation.ending_calls,
            vertices: foundation.options.vertices,
        }
    }

    fn classes(&self, foundation: &Foundation<'_>, trace: &mut dyn Trace) -> Classes {
        let classes = match foundation.options.synonyms {
            true => Classes::find(foundation.shape(), &self.threads, trace),
            false => Classes::single(&self.threads),
        };
        record::record_classes(&classes, trace);
        classes
    }

    fn with_graph(self, classes: Classes, graph: ThreadGraph, facts: Facts) -> ValueNameGraph<'a> {
        let NamedThreads { names, seeds, guarded, threads, .. } = self;
        ValueNameGraph { names, seeds, guarded, threads, classes, graph, facts }
    }
}

/// Answer to one demand.
pub struct DemandAnswer<'a> {
    /// The graph of the vertices that were visited, without facts.
    pub graph: ValueNameGraph<'a>,
    /// Number of the seed.
    pub seed: usize,
    /// Availability before a user; None for a seed that only generates.
    pub availability: Option<Fact>,
    /// Number of vertices that were visited.
    pub visited: usize,
    /// Whether the budget was spent before the search ended.
    pub is_cut: bool,
}

impl<'a> ValueNameGraph<'a> {
    /// The graph of a function.
    pub fn build(foundation: &'a Foundation<'_>) -> ValueNameGraph<'a> {
        ValueNameGraph::build_traced(foundation, &mut NoTrace)
    }

    /// The graph of a function, with an event for each step.
    pub fn build_traced(foundation: &'a Foundation<'_>, trace: &mut dyn Trace) -> ValueNameGraph<'a> {
        let named = NamedThreads::place(foundation, None, trace);
        let classes = named.classes(foundation, trace);
        let graph = ThreadGraph::build(named.input(foundation, &classes));
        let facts = Facts::compute(&foundation.cfg, &graph, trace);
        named.with_graph(classes, graph, facts)
    }

    /// Availability at one seed, on demand. None if the instruction is no seed.
    pub fn demand(foundation: &'a Foundation<'_>, inst: Inst) -> Option<DemandAnswer<'a>> {
        // Members of a class may be names of any seed.
        let only = (!foundation.options.synonyms).then_some(inst);
        let named = NamedThreads::place(foundation, only, &mut NoTrace);
        let seed = named.seeds.iter().position(|seed| seed.inst == inst)?;
        let classes = named.classes(foundation, &mut NoTrace);
        let input = named.input(foundation, &classes);
        let (mut graph, mut availability, mut visited, mut is_cut) = (ThreadGraph::default(), None, 0, false);
        if let Some(mut demand) = Demand::new(input, &named.seeds[seed], foundation.options.budget) {
            availability = Some(demand.availability());
            (visited, is_cut) = (demand.visited(), demand.is_cut());
            graph = demand.into_graph();
        }
        let graph = named.with_graph(classes, graph, Facts::default());
        Some(DemandAnswer { graph, seed, availability, visited, is_cut })
    }

    /// Numbers of names that are placed in a function with windows from 1 to that of the options.
    pub fn placed_names(foundation: &Foundation<'_>) -> Vec<usize> {
        let threads = NamedThreads::place(foundation, None, &mut NoTrace).threads;
        // Names are visited by cost, so that a smaller window has the first ones.
        let costs = threads.names().iter().filter_map(|&name| Some(threads.of(name)?.cost));
        let costs: Vec<u32> = costs.collect();
        (1..=foundation.options.window).map(|window| costs.partition_point(|&cost| cost < window)).collect()
    }

    /// Seeds whose threads end at the limit of names.
    pub fn cut_seeds(&self) -> usize {
        let mut is_cut: SecondaryMap<Name, bool> = SecondaryMap::new();
        // A name is visited before those above it, so that backward most are known at once.
        loop {
            let mut has_changed = false;
            for &name in self.threads.names().iter().rev() {
                let Some(thread) = self.threads.of(name) else { continue };
                let cut = match &thread.above {
                    Above::Join(_, along) => along.iter().any(|above| match above {
                        Ok(above) => is_cut[*above],
                        Err(reason) => *reason == EndReason::Limit,
                    }),
                    Above::Load(_, above) | Above::Store(_, above) => is_cut[*above],
                    above => *above == Above::End(EndReason::Limit),
                };
                has_changed |= cut && !core::mem::replace(&mut is_cut[name], cut);
            }
            if !has_changed {
                return self.seeds.iter().filter(|seed| is_cut[seed.name]).count();
            }
        }
    }

    /// Number of blocks in which or into which a name changes.
    pub fn changed_blocks(&self) -> usize {
        let changed = self.threads.names().iter().filter_map(|&name| {
            let thread = self.threads.of(name)?;
            matches!(thread.above, Above::Join(..) | Above::Load(..) | Above::Store(..)).then_some(thread.latest?.block)
        });
        changed.collect::<BTreeSet<Block>>().len()
    }

    /// The bits of the constant that a seed is on every way.
    pub fn constant(&self, seed: &Seed) -> Option<u64> {
        let members = self.classes.members(self.classes.of(seed.name)?);
        let constant = members.iter().find_map(|&member| self.names.as_constant(member));
        constant.map(|number| number ^ u64::from(seed.is_negated))
    }
}

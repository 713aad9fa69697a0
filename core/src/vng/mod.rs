//! The value name graph: which computations recompute a value, and under which names it flows.

mod analysis;
mod components;
mod graph;
pub mod inspect;
mod memory;
mod seeds;
mod synonyms;
mod text;
mod threads;

pub use analysis::{Fact, Facts, Users, ways_out};
pub use components::Components;
pub use graph::{Flow, ThreadEdge, ThreadGraph, Vertex, VertexData, VertexKind};
pub use memory::{Kills, Memory};
pub use seeds::{Role, Seed, Seeds};
pub use synonyms::{Class, Classes};
pub use text::Names;
pub use threads::{Above, EndReason, Shape, Thread, ThreadLimits, Threads};

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use crate::alias::{AliasAnalysis, AliasClasses};
use crate::flow::Values;
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Module};
use crate::names::{Name, NameLimits, NameTable};
use crate::symbolic::{AffineNames, KnownSums, Overflow};
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
        Foundation { module, func, options, cfg, dominators, values, alias_classes, known_sums }
    }

    /// The function's graph.
    pub fn cfg(&self) -> &Cfg {
        &self.cfg
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
    threads: Threads,
}

impl<'a> NamedThreads<'a> {
    fn place(foundation: &'a Foundation<'_>) -> NamedThreads<'a> {
        let Foundation { func, options, cfg, values, alias_classes, .. } = foundation;
        let limits = NameLimits { depth: options.depth, dereferences: options.dereferences };
        let mut names = NameTable::new(func, values, foundation.sums(), alias_classes, limits);
        let (seeds, guarded) = seeds::collect(func, cfg.reverse_postorder(), values, &mut names, options.seeds);
        let limits = ThreadLimits { window: options.window, names: options.names };
        let roots = seeds.iter().flat_map(|seed| core::iter::once(seed.name).chain(seed.elements.iter().copied()));
        let threads = ThreadPlacer::new(foundation.shape(), &mut names, limits).place(roots);
        NamedThreads { names, seeds, guarded, threads }
    }
}

impl<'a> ValueNameGraph<'a> {
    /// The graph of a function.
    pub fn build(foundation: &'a Foundation<'_>) -> ValueNameGraph<'a> {
        let Foundation { module, func, options, cfg, values, alias_classes, .. } = foundation;
        let shape = foundation.shape();
        let NamedThreads { names, seeds, guarded, threads } = NamedThreads::place(foundation);
        let classes = if options.synonyms { Classes::find(shape, &threads) } else { Classes::single(&threads) };
        let alias = AliasAnalysis::new(module, func, values, foundation.sums());
        let memory = Memory::new(func, alias, alias_classes, &seeds, options.kills);
        let input = GraphInput {
            shape,
            table: &names,
            seeds: &seeds,
            threads: &threads,
            classes: &classes,
            memory: &memory,
            vertices: options.vertices,
        };
        let graph = ThreadGraph::build(input);
        let facts = Facts::compute(cfg, &graph);
        ValueNameGraph { names, seeds, guarded, threads, classes, graph, facts }
    }

    /// Number of names that are placed in a function.
    pub fn placed_names(foundation: &Foundation<'_>) -> usize {
        NamedThreads::place(foundation).threads.names().len()
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
                    Above::Load(_, above) => is_cut[*above],
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
            matches!(thread.above, Above::Join(..) | Above::Load(..)).then_some(thread.latest?.block)
        });
        changed.collect::<BTreeSet<Block>>().len()
    }

    /// The constant that a name is on every way.
    pub fn constant(&self, name: Name) -> Option<u64> {
        let members = self.classes.members(self.classes.of(name)?);
        members.iter().find_map(|&member| self.names.as_constant(member))
    }
}

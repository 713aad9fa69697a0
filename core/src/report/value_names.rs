//! Reports of value name graphs.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};
use serde::Serialize;

use super::simulate::Element;
use crate::ir::{Block, Func, Function, Module, Reg};
use crate::pass::{AnalysisSettings, KnobValue};
use crate::text::instruction_text;
use crate::vng::{Components, Foundation, Names, Role, Seed, ValueNameGraph, Vertex, VertexKind, VngOptions, ways_out};

/// Windows for which names are counted.
const GROWTH: [u32; 4] = [1, 2, 3, 4];

/// Report of the value name graph of a function.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct VngReport {
    /// The kernel or function.
    pub kernel: String,
    /// The knobs and their values.
    pub knobs: BTreeMap<&'static str, KnobValue>,
    /// Registers that the function mentions.
    pub registers: usize,
    /// Reachable blocks.
    pub blocks: usize,
    /// Names that are placed anywhere.
    pub names: usize,
    /// Classes of synonyms.
    pub classes: usize,
    /// Live vertices, generators and kills.
    pub vertices: usize,
    /// Edges along which one class continues as several.
    pub splits: usize,
    /// Whether no edge changes a name and there are no splits.
    pub separable: bool,
    /// Share (0–1) of the blocks in which or into which a name changes.
    pub changed_blocks: f64,
    /// Names for several windows.
    pub growth: Vec<GrowthReport>,
    /// The seeds, in the order of the text.
    pub seeds: Vec<SeedReport>,
    /// The values, by their first vertices.
    pub values: Vec<ValueReport>,
    /// Sentences about limits and what was left out.
    pub remarks: Vec<NoteReport>,
}

/// Number of names for a window.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GrowthReport {
    /// The window.
    pub window: u32,
    /// Names.
    pub names: usize,
    /// Names for each register.
    pub ratio: f64,
}

/// A seed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SeedReport {
    /// Label of its block.
    pub block: String,
    /// Its place among the instructions of the block, from 0.
    pub index: u32,
    /// The instruction.
    pub text: String,
    /// `user` or `generator`.
    pub kind: &'static str,
    /// Its name, over the registers before it.
    pub name: String,
    /// The value that it belongs to; None where nothing uses it.
    pub value: Option<usize>,
    /// Availability before a user: `must`, `may` or `no`.
    pub availability: Option<&'static str>,
    /// Anticipation after it: `must`, `may` or `no`.
    pub anticipated: &'static str,
    /// The constant that it is on every way.
    pub constant: Option<Element>,
}

/// A value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValueReport {
    /// Its number.
    pub id: usize,
    /// Block and index of its seeds.
    pub seeds: Vec<(String, u32)>,
    /// Edges along which it continues under several names.
    pub splits: usize,
    /// Its names, block by block.
    pub names: Vec<NameReport>,
}

/// A name of a value in a block.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NameReport {
    /// Label of the block.
    pub block: String,
    /// The name there.
    pub name: String,
    /// Names before it.
    pub from: Vec<SourceReport>,
}

/// The name that a name has before an edge or a definition.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SourceReport {
    /// Label of the block.
    pub block: String,
    /// The name; None where nothing is available.
    pub name: Option<String>,
}

/// A sentence about a limit or about what was left out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NoteReport {
    /// Its kind.
    pub rule: &'static str,
    /// The sentence.
    pub message: String,
}

/// A knob with its value.
pub(super) fn owned((name, value): (&'static str, &KnobValue)) -> (&'static str, KnobValue) {
    (name, value.clone())
}

/// Names for each window, in a function.
fn growth(module: &Module, func: &Function, options: VngOptions, registers: usize) -> Vec<GrowthReport> {
    let window = GROWTH[GROWTH.len() - 1];
    let foundation = Foundation::compute(module, func, VngOptions { window, ..options });
    let names_of = ValueNameGraph::placed_names(&foundation);
    let count =
        |(window, names): (u32, usize)| GrowthReport { window, names, ratio: names as f64 / registers.max(1) as f64 };
    GROWTH.into_iter().zip(names_of).map(count).collect()
}

/// Registers that a function mentions.
fn registers(func: &Function) -> usize {
    let mut found: BTreeSet<Reg> = BTreeSet::new();
    func.params.iter().filter_map(|param| param.reg).for_each(|reg| _ = found.insert(reg));
    for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
        func.insts[inst].dsts.iter().for_each(|&reg| _ = found.insert(reg));
        func.insts[inst].for_each_use(|reg| _ = found.insert(reg));
    }
    found.len()
}

/// Sentences about limits and what was left out.
pub(super) fn notes(graph: &ValueNameGraph<'_>) -> Vec<NoteReport> {
    let mut notes = Vec::new();
    if graph.guarded > 0 {
        let message = format!("{} guarded computations are neither users nor generators", graph.guarded);
        notes.push(NoteReport { rule: "guarded", message });
    }
    let cut = graph.cut_seeds();
    if cut > 0 {
        let message =
            format!("the threads of {cut} seeds end at a limit of names or of versions; nothing above is available");
        notes.push(NoteReport { rule: "limit", message });
    }
    if graph.classes.is_limited {
        let seeds = graph.seeds.len();
        let message = format!(
            "too many pairs of names to compare: all names are taken for different values, those of {seeds} seeds"
        );
        notes.push(NoteReport { rule: "limit", message });
    }
    if graph.graph.is_limited {
        let users = graph.graph.cut_users();
        let message = format!(
            "the limit of vertices is reached, which cuts {users} users; above the last ones nothing is available"
        );
        notes.push(NoteReport { rule: "limit", message });
    }
    notes
}

/// Number of ways along which a vertex continues under several names.
fn splits_at(foundation: &Foundation<'_>, graph: &ValueNameGraph<'_>, vertex: Vertex) -> usize {
    match graph.graph.vertices[vertex].kind {
        VertexKind::Pass => {
            ways_out(foundation.cfg(), &graph.graph, vertex).iter().filter(|(_, targets)| targets.len() > 1).count()
        }
        _ => 0,
    }
}

impl VngReport {
    /// The report of a function.
    pub fn new(module: &Module, func: Func, settings: &AnalysisSettings) -> VngReport {
        let func = &module.funcs[func];
        let options = settings.vng_options();
        let foundation = Foundation::compute(module, func, options);
        let graph = ValueNameGraph::build(&foundation);
        let names = Names::new(module, func, &foundation, &graph);
        let registers = registers(func);
        let components = graph.graph.values();
        let splits = graph.graph.vertices.keys().map(|vertex| splits_at(&foundation, &graph, vertex)).sum();
        let changed = graph.changed_blocks();
        let blocks = foundation.cfg().reverse_postorder().len();
        VngReport {
            kernel: func.name.clone(),
            knobs: settings.values("vng").map(owned).collect(),
            registers,
            blocks,
            names: graph.threads.names().len(),
            classes: graph.classes.len(),
            vertices: graph.graph.vertices.len(),
            splits,
            separable: splits == 0 && changed == 0,
            changed_blocks: changed as f64 / blocks.max(1) as f64,
            growth: growth(module, func, options, registers),
            seeds: graph.seeds.iter().enumerate().map(|(index, seed)| names.seed(&components, index, seed)).collect(),
            values: names.values(&components),
            remarks: notes(&graph),
        }
    }
}

impl Names<'_, '_> {
    /// The constant that a seed is on every way, as a number of the register that it writes.
    pub(super) fn constant(&self, seed: &Seed) -> Option<Element> {
        let reg = *self.func.insts[seed.inst].dsts.first()?;
        Some(Element::new(self.func.reg_types[reg], self.graph.constant(seed)?))
    }

    fn seed(&self, components: &Components, index: usize, seed: &Seed) -> SeedReport {
        let graph = self.graph;
        let vertex = graph.graph.seeds[index];
        let user = vertex.filter(|_| seed.role == Role::User);
        // Below a generator the value is that of the gap that it leads to.
        let below = vertex.and_then(|vertex| {
            let edge = *graph.graph.vertices[vertex].outgoing.first()?;
            Some(graph.graph.edges[edge as usize].to)
        });
        SeedReport {
            block: self.label(seed.block),
            index: seed.index,
            text: instruction_text(self.module, self.func, seed.inst),
            kind: if seed.role == Role::User { "user" } else { "generator" },
            name: self.at(seed.name, seed.block, Some(seed.inst)),
            value: user.or(below).and_then(|vertex| components.of[vertex]),
            availability: user.map(|user| graph.facts.available[user].word()),
            anticipated: below.map_or("no", |below| graph.facts.anticipated[below].word()),
            constant: self.constant(seed),
        }
    }

    fn values(&self, components: &Components) -> Vec<ValueReport> {
        let graph = &self.graph.graph;
        let mut values: Vec<ValueReport> = (0..components.count)
            .map(|id| ValueReport { id, seeds: Vec::new(), splits: 0, names: Vec::new() })
            .collect();
        for seeds in self.seeds_of_values(components).into_iter().enumerate() {
            values[seeds.0].seeds = seeds.1;
        }
        for (vertex, data) in graph.vertices.iter() {
            let Some(value) = components.of[vertex].filter(|_| data.kind == VertexKind::Pass) else { continue };
            let from = data.incoming.iter().map(|&edge| {
                let edge = &graph.edges[edge as usize];
                let block = match edge.from {
                    Ok(from) => graph.vertices[from].block,
                    Err(_) => edge.flow.block(self.foundation.cfg()),
                };
                let passes = edge.from.ok().filter(|&from| !matches!(graph.vertices[from].kind, VertexKind::Kill(_)));
                SourceReport { block: self.label(block), name: passes.map(|from| self.of_vertex(from)) }
            });
            let from = from.collect();
            values[value].splits += splits_at(self.foundation, self.graph, vertex);
            values[value].names.push(NameReport { block: self.label(data.block), name: self.of_vertex(vertex), from });
        }
        values
    }

    /// Block and index of the seeds of each value.
    pub fn seeds_of_values(&self, components: &Components) -> Vec<Vec<(String, u32)>> {
        let graph = &self.graph.graph;
        let mut seeds: Vec<BTreeSet<(u32, u32)>> = Vec::new();
        seeds.resize_with(components.count, BTreeSet::new);
        let place = |block: Block| self.foundation.cfg().position(block).map_or(0, |place| place as u32);
        let mut add = |value: Option<usize>, block: Block, index: u32| {
            if let Some(value) = value {
                seeds[value].insert((place(block), index));
            }
        };
        for (vertex, data) in graph.vertices.iter() {
            match data.kind {
                VertexKind::User(_) => add(components.of[vertex], data.block, data.place),
                VertexKind::Generator(_) => data
                    .outgoing
                    .iter()
                    .for_each(|&edge| add(components.of[graph.edges[edge as usize].to], data.block, data.place)),
                _ => {}
            }
        }
        let order = self.foundation.cfg().reverse_postorder();
        let named = |places: BTreeSet<(u32, u32)>| {
            places.into_iter().map(|(block, index)| (self.label(order[block as usize]), index)).collect()
        };
        seeds.into_iter().map(named).collect()
    }
}

impl Display for VngReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let VngReport { kernel, names, classes, splits, .. } = self;
        writeln!(out, "{kernel}: {names} names in {classes} classes, {splits} splits")?;
        for seed in &self.seeds {
            let answer = seed.availability.unwrap_or("generates");
            let place = format!("{}.{}", seed.block, seed.index);
            writeln!(out, "  {place:<16} {answer:<10} {:<24} {}", seed.name, seed.text)?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(out, "  {}: {}", remark.rule, remark.message))
    }
}

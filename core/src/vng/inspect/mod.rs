//! Inspection of a value name graph: the values of a function with their instructions, and the threads of one of them.
//!
//! ```text
//! Value          At            Reuse        Instruction
//! A[i]           2 users       ● 1  ○ 1
//!   A[i]         s.1           ○ no         a = ld.global.s32 A[i]
//!   A[j]         m.0           ● must       b = ld.global.s32 A[j]
//! ```
//!
//! Limit: [`MOST_SEEDS`] rows.

mod overlay;
mod steps;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{Components, Foundation, Names, Role, ValueNameGraph, Vertex, VertexKind, VngOptions};
use crate::compact_sort::CompactSort;
use crate::inspect::{
    Anchor, Axis, Cell, Chart, Choice, ChoiceOption, Column, ColumnKind, Inspection, Look, Note, Point, Request, Row,
    Series, SeriesKind, Table,
};
use crate::ir::{Func, Function, Inst, Module};
use crate::journal::Journal;
use crate::text::instruction_text;

pub use overlay::{Overlay, Shading, flow_anchor};
pub use steps::steps;

/// Further seeds are counted, not listed.
const MOST_SEEDS: usize = 300;

/// Windows for which names are counted.
const WINDOWS: [u32; 4] = [1, 2, 3, 4];

/// The key of the choice of a value or of one of its instructions.
pub const VALUE: &str = "value";

/// A function that is inspected, with its program as it was read.
#[derive(Clone, Copy)]
pub struct InspectedFunction<'a> {
    /// The program at a position.
    pub module: &'a Module,
    /// The function.
    pub func: Func,
    /// The program before the first pass.
    pub start: &'a Module,
    /// The text that the program was read from; empty if it is not known.
    pub source: &'a str,
}

/// An inspection of the value name graph of a function.
pub fn inspect(inspected: InspectedFunction<'_>, options: VngOptions, request: &Request) -> Inspection {
    let InspectedFunction { module, func: id, .. } = inspected;
    let func = &module.funcs[id];
    let foundation = Foundation::compute(module, func, options);
    let mut journal = Journal::of_analysis("vng", id);
    let graph = ValueNameGraph::build_traced(&foundation, &mut journal);
    let list = ValueList::new(Names::new(module, func, &foundation, &graph));
    let chosen = list.chosen(request);
    let overlay = Overlay::new(&list, chosen, Shading::default());
    let mut inspection = Inspection {
        lead: list.lead(),
        choices: list.choice(chosen).into_iter().collect(),
        tables: vec![list.table(chosen)],
        charts: vec![growth(module, func, options)],
        notes: list.notes(),
        ..Inspection::default()
    };
    inspection.timeline = Some(steps(&list, &journal, chosen));
    overlay.add_to(&mut inspection);
    inspection
}

/// Names for each window.
fn growth(module: &Module, func: &Function, options: VngOptions) -> Chart {
    let window = WINDOWS[WINDOWS.len() - 1];
    let foundation = Foundation::compute(module, func, VngOptions { window, ..options });
    let counts = ValueNameGraph::placed_names(&foundation).into_iter().enumerate();
    let points = counts.map(|(place, count)| Point::at(place as f64, count as f64)).collect();
    Chart {
        name: "Names by window".into(),
        across: Axis::words("Window", WINDOWS.map(|window| window.to_string())),
        up: Axis::numbers("Names", ""),
        series: vec![Series { name: "names".into(), kind: SeriesKind::Bars, points }],
        marks: Vec::new(),
    }
}

/// A value, or one of its seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The value.
    pub value: usize,
    /// The seed, by its number; None for all of the value.
    pub seed: Option<usize>,
}

/// The values of a graph with their seeds.
pub struct ValueList<'g, 'a> {
    /// The graph, and its names.
    pub names: Names<'g, 'a>,
    /// The value of each vertex.
    pub components: Components,
    /// Seeds by value, in the order of the text.
    pub seeds: Vec<Vec<usize>>,
}

impl<'g, 'a> ValueList<'g, 'a> {
    /// The values of a graph.
    pub fn new(names: Names<'g, 'a>) -> ValueList<'g, 'a> {
        let graph = &names.graph.graph;
        let components = graph.values();
        let mut seeds = vec![Vec::new(); components.count];
        for (seed, vertex) in graph.seeds.iter().enumerate() {
            let Some(vertex) = *vertex else { continue };
            // A generator is a seed of every value that it leads to.
            let below = graph.vertices[vertex].outgoing.iter().map(|&edge| graph.edges[edge as usize].to);
            let mut values: Vec<usize> =
                core::iter::once(vertex).chain(below).filter_map(|vertex| components.of[vertex]).collect();
            values.compact_sort_by_key(|&value| value);
            values.dedup();
            values.into_iter().for_each(|value| seeds[value].push(seed));
        }
        ValueList { names, components, seeds }
    }

    fn inst(&self, seed: usize) -> Inst {
        self.names.graph.seeds[seed].inst
    }

    /// The key of a value among the choices.
    pub fn key(&self, value: usize) -> String {
        self.seeds[value].first().map_or_else(String::new, |&seed| format!("v{}", self.inst(seed).as_u32()))
    }

    /// The key of a seed among the choices.
    pub fn seed_key(&self, seed: usize) -> String {
        self.inst(seed).as_u32().to_string()
    }

    /// The value or seed that a request names; else the first value that is reused on some path, else the first.
    pub fn chosen(&self, request: &Request) -> Option<Chosen> {
        let asked = request.choices.get(VALUE).map_or("", String::as_str);
        let of_value = (0..self.seeds.len()).find(|&value| self.key(value) == asked);
        let of_seed = || {
            let named = |value: usize| {
                let seed = self.seeds[value].iter().copied().find(|&seed| self.seed_key(seed) == asked)?;
                Some(Chosen { value, seed: Some(seed) })
            };
            (0..self.seeds.len()).find_map(named)
        };
        let is_reused =
            |value: &usize| self.seeds[*value].iter().any(|&seed| matches!(self.reuse(seed), "must" | "may"));
        let usual = || (0..self.seeds.len()).find(is_reused).or((!self.seeds.is_empty()).then_some(0));
        of_value.map(|value| Chosen { value, seed: None }).or_else(of_seed).or_else(|| {
            let value = usual()?;
            Some(Chosen { value, seed: None })
        })
    }

    /// The choice of a value or an instruction.
    pub fn choice(&self, chosen: Option<Chosen>) -> Option<Choice> {
        let chosen = chosen?;
        let of_value =
            |value: usize| ChoiceOption { value: self.key(value), label: self.name(value), ..ChoiceOption::default() };
        let of_seed = |&seed: &usize| ChoiceOption {
            value: self.seed_key(seed),
            label: self.seed_name(seed),
            note: self.place(seed),
            anchor: Some(Anchor::Inst(self.inst(seed).as_u32())),
        };
        let options = (0..self.seeds.len())
            .flat_map(|value| core::iter::once(of_value(value)).chain(self.seeds[value].iter().map(of_seed)));
        let all = self.seeds.iter().map(|seeds| 1 + seeds.len()).sum::<usize>();
        Some(Choice {
            key: VALUE.into(),
            label: "Value".into(),
            is_long: true,
            options: options.take(MOST_SEEDS).collect(),
            value: self.chosen_key(chosen),
            left_out: all.saturating_sub(MOST_SEEDS),
            ..Choice::default()
        })
    }

    fn chosen_key(&self, chosen: Chosen) -> String {
        chosen.seed.map_or_else(|| self.key(chosen.value), |seed| self.seed_key(seed))
    }

    /// The name of a value at its first user.
    pub fn name(&self, value: usize) -> String {
        let seeds = &self.seeds[value];
        let user = seeds.iter().find(|&&seed| self.names.graph.seeds[seed].role == Role::User).or(seeds.first());
        user.map_or_else(String::new, |&seed| self.seed_name(seed))
    }

    /// The name of a seed, over the registers before it.
    pub fn seed_name(&self, seed: usize) -> String {
        let seed = &self.names.graph.seeds[seed];
        self.names.at(seed.name, seed.block, Some(seed.inst))
    }

    /// Block and index of a seed: `m.1`.
    pub fn place(&self, seed: usize) -> String {
        let seed = &self.names.graph.seeds[seed];
        format!("{}.{}", self.names.label(seed.block), seed.index)
    }

    /// The vertex of a seed.
    pub fn vertex(&self, seed: usize) -> Option<Vertex> {
        self.names.graph.graph.seeds[seed]
    }

    /// Availability before a user: `must`, `may` or `no`; `generates` for a generator.
    pub fn reuse(&self, seed: usize) -> &'static str {
        let graph = self.names.graph;
        match self.vertex(seed).filter(|_| graph.seeds[seed].role == Role::User) {
            Some(vertex) => graph.facts.available[vertex].word(),
            None => "generates",
        }
    }

    /// A row of a value, with these cells after its name.
    pub fn value_row(&self, value: usize, cells: impl IntoIterator<Item = Cell>, chosen: Option<Chosen>) -> Row {
        Row {
            key: self.key(value),
            cells: core::iter::once(Cell::text(self.name(value))).chain(cells).collect(),
            is_choosable: true,
            is_chosen: chosen == Some(Chosen { value, seed: None }),
            ..Row::default()
        }
    }

    /// A row of one of a value's seeds, with these cells after its name.
    pub fn seed_row(
        &self,
        value: usize,
        seed: usize,
        cells: impl IntoIterator<Item = Cell>,
        chosen: Option<Chosen>,
    ) -> Row {
        Row {
            key: self.seed_key(seed),
            cells: core::iter::once(Cell::text(self.seed_name(seed))).chain(cells).collect(),
            is_choosable: true,
            is_chosen: chosen == Some(Chosen { value, seed: Some(seed) }),
            is_part: true,
            anchor: Some(Anchor::Inst(self.inst(seed).as_u32())),
            ..Row::default()
        }
    }

    /// The cell that says whether a seed reuses its value.
    pub fn reuse_cell(&self, seed: usize) -> Cell {
        let word = self.reuse(seed);
        let (look, sign) = sign(word);
        Cell::text(format!("{sign} {word}")).looking(look)
    }

    /// The text of a seed's instruction.
    pub fn text(&self, seed: usize) -> String {
        instruction_text(self.names.module, self.names.func, self.inst(seed))
    }

    /// A table of rows, as many as are listed.
    pub fn listed(&self, columns: Vec<Column>, rows: Vec<Row>) -> Table {
        let left_out = rows.len().saturating_sub(MOST_SEEDS);
        Table {
            name: "Values".into(),
            columns,
            rows: rows.into_iter().take(MOST_SEEDS).collect(),
            left_out,
            left_out_words: "more, further down in the text".into(),
            empty: "no instruction computes a value that is followed".into(),
            choice: VALUE.into(),
        }
    }

    fn table(&self, chosen: Option<Chosen>) -> Table {
        let columns = vec![
            column("Value", "The name of the value, over the registers before the instruction"),
            column("At", "Block and place of the instruction"),
            column("Reuse", "Whether the value is available there: on all paths, on some, or on none"),
            column("Instruction", ""),
        ];
        let mut rows = Vec::new();
        for (value, seeds) in self.seeds.iter().enumerate() {
            let users = seeds.iter().filter(|&&seed| self.reuse(seed) != "generates").count();
            let count = |word: &str| seeds.iter().filter(|&&seed| self.reuse(seed) == word).count();
            let counts: Vec<String> = ["must", "may", "no"]
                .into_iter()
                .filter(|word| count(word) > 0)
                .map(|word| format!("{} {}", sign(word).1, count(word)))
                .collect();
            let users = if users == 1 { "1 user".into() } else { format!("{users} users") };
            rows.push(self.value_row(value, [users, counts.join("  "), String::new()].map(Cell::text), chosen));
            rows.extend(seeds.iter().map(|&seed| {
                let cells = [Cell::text(self.place(seed)), self.reuse_cell(seed), Cell::text(self.text(seed))];
                self.seed_row(value, seed, cells, chosen)
            }));
        }
        self.listed(columns, rows)
    }

    fn lead(&self) -> String {
        let count = |word: &str| (0..self.names.graph.seeds.len()).filter(|&seed| self.reuse(seed) == word).count();
        let (must, may, no) = (count("must"), count("may"), count("no"));
        match must + may + no {
            0 => "No instruction computes a value that is followed: choose other seeds.".into(),
            all => {
                format!("Of {all} computations {must} reuse their value on all paths, {may} on some, and {no} on none.")
            }
        }
    }

    /// Sentences about what is left out.
    pub fn notes(&self) -> Vec<Note> {
        let graph = self.names.graph;
        let mut notes = Vec::new();
        let mut note = |word: &str, sentence: String| {
            notes.push(Note { word: word.into(), sentence, ..Note::default() });
        };
        if graph.guarded > 0 {
            note("guarded", format!("{} guarded computations are neither users nor generators.", graph.guarded));
        }
        let cut = graph.cut_seeds();
        if cut > 0 {
            note("limit", format!("The threads of {cut} seeds end at the limit of names; nothing above is available."));
        }
        if graph.classes.is_limited || graph.graph.is_limited {
            note("limit", "A limit is reached: some reuse is not found.".into());
        }
        notes
    }
}

/// A column of words.
pub fn column(name: &str, help: &str) -> Column {
    Column { name: name.into(), help: help.into(), kind: ColumnKind::Words, ..Column::default() }
}

/// Look and sign of an availability, or of a generator.
pub fn sign(word: &str) -> (Look, &'static str) {
    match word {
        "must" => (Look::Good, "●"),
        "may" => (Look::Partial, "◐"),
        "no" => (Look::Bad, "○"),
        _ => (Look::Cause, "◆"),
    }
}

/// Whether the value passes a vertex.
fn is_gap(graph: &super::ThreadGraph, vertex: Vertex) -> bool {
    graph.vertices[vertex].kind == VertexKind::Pass
}

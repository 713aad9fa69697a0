//! Inspection of the estimates of a function: bounds of each value's reuse, and the region of one of them.
//!
//! ```text
//! Value     At     Reused            Expected          Bounds of x[i]   PRE   60–145 of 230
//! x[i]             60–95 of 230      78.3                               CMP4  60–95 of 230
//!   x[i]    r3.0   0–15 of 15        7.5               s → g  85        entered counts move the bounds at once
//! ```
//!
//! Counts that a person has entered need not be of whole runs; then it is said at which block they are not.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::network::{self, RegionNetwork};
use super::{
    CountsError, Crossing, EdgeCounts, Endings, Estimate, Estimator, ExecutedPaths, Interval, PathGraph, Weighted,
    estimate, record_estimates,
};
use crate::graph::{Cfg, Edge};
use crate::inspect::{
    Anchor, Axis, Bounds, Cell, Chart, Column, ColumnKind, Entry, Inspection, Look, Network, NetworkEdge, NetworkNode,
    NodeRole, Note, Offer, Point, Request, Row, Series, SeriesKind, Table, number_text,
};
use crate::ir::{Block, Function, Profile};
use crate::journal::Journal;
use crate::profile::{TextProfile, declared_in};
use crate::vng::inspect::{Chosen, InspectedFunction, Overlay, Shading, ValueList, column, flow_anchor, steps};
use crate::vng::{Flow, Foundation, Names, ValueNameGraph, Vertex, VngOptions};

/// Further edges are counted, not listed.
const MOST_EDGES: usize = 300;

/// An inspection of the estimates of a function.
pub fn inspect(
    inspected: InspectedFunction<'_>,
    options: VngOptions,
    estimators: &[Estimator],
    is_from_paths: bool,
    request: &Request,
) -> Inspection {
    let InspectedFunction { module, func: id, start, source } = inspected;
    let start = start.funcs.get(id);
    let func = &module.funcs[id];
    let foundation = Foundation::compute(module, func, options);
    let mut journal = Journal::of_analysis("estimate", id);
    let graph = ValueNameGraph::build_traced(&foundation, &mut journal);
    let endings = Endings { calls: foundation.ending_calls(), measured: None };
    let entered = EnteredCounts::new(func, foundation.cfg(), endings, request);
    let counts = EdgeCounts::of_edges(foundation.cfg(), entered.edges.clone(), foundation.ending_calls());
    let weighted = Weighted { cfg: foundation.cfg(), graph: &graph.graph, facts: &graph.facts, counts: &counts };
    let by_edges = estimate(weighted, estimators);
    let list = ValueList::new(Names { module, func, foundation: &foundation, graph: &graph });
    let by_paths = is_from_paths.then(|| {
        let paths = ExecutedPaths::declared(func, foundation.cfg(), endings)?;
        let graph = PathGraph::build(&paths, foundation.cfg(), &graph.graph)?;
        Ok::<_, CountsError>(graph.estimate(estimators, &by_edges, &list.components))
    });
    let estimates = by_paths.as_ref().and_then(|paths| paths.as_ref().ok()).unwrap_or(&by_edges).as_slice();
    let report = EstimatesView { list: &list, weighted, estimates, estimators };
    let chosen = list.chosen(request);
    let of_chosen = chosen.and_then(|chosen| Some((chosen, estimates.get(chosen.value)?)));
    let mut inspection = Inspection {
        lead: report.lead(&entered),
        choices: list.choice(chosen).into_iter().collect(),
        tables: vec![report.values(chosen)],
        notes: list.notes(),
        ..Inspection::default()
    };
    if let Some((chosen, estimate)) = of_chosen {
        inspection.tables.push(report.bounds(chosen, estimate));
        inspection.charts.push(report.chart(chosen, estimate));
        // Paths have regions of their own, in copies of blocks; those of edges are shown.
        let by_edges = &by_edges[chosen.value];
        inspection.networks.extend(report.networks(by_edges));
        record_estimates(weighted, estimators, estimates, by_paths.is_none(), &mut journal);
        inspection.timeline = Some(steps(&list, &journal, Some(chosen)));
        Overlay::new(&list, Some(chosen), report.region(by_edges)).add_to(&mut inspection);
    }
    inspection.tables.push(entered.table(func, foundation.cfg()));
    inspection.notes.extend(entered.note(func));
    if let Some(Err(error)) = &by_paths {
        let sentence = format!("{}. The bounds are those of edges.", error.message(func));
        inspection.notes.push(Note { word: "no paths".into(), look: Look::Bad, sentence, ..Note::default() });
    }
    inspection.offers.extend(start.and_then(|start| entered.offer(source, start, func, foundation.cfg())));
    inspection
}

struct EstimatesView<'e, 'g, 'a> {
    list: &'e ValueList<'g, 'a>,
    weighted: Weighted<'e>,
    estimates: &'e [Estimate],
    estimators: &'e [Estimator],
}

impl EstimatesView<'_, '_, '_> {
    fn lead(&self, entered: &EnteredCounts) -> String {
        if entered.has_none {
            return "No edge profile says how often computations are repeated. Declare `profile edge`, let the \
                    simulator measure one: its switch is called profile, or enter counts below."
                .into();
        }
        let sum = |of: &dyn Fn(&Estimate) -> u64| self.estimates.iter().map(of).fold(0, u64::saturating_add);
        let (low, high) = (sum(&|estimate| estimate.best.low), sum(&|estimate| estimate.best.high));
        let all = sum(&|estimate| estimate.value.executions);
        let expected: f64 = self.estimates.iter().map(|estimate| estimate.expected).sum();
        let bounds = Bounds::of(low, high, all).text();
        format!("{bounds} executions reuse a value, {} if every branch is decided by itself.", number_text(expected))
    }

    fn values(&self, chosen: Option<Chosen>) -> Table {
        let columns = vec![
            column("Value", "The name of the value, over the registers before the instruction"),
            column("At", "Block and place of the instruction"),
            column("Reuse", "Whether the value is available there: on all paths, on some, or on none"),
            bounds_column(
                "Reused",
                "Executions that reuse the value: the tightest bounds, and a dot at what is expected",
            ),
        ];
        let mut rows = Vec::new();
        for (value, (estimate, seeds)) in self.estimates.iter().zip(&self.list.seeds).enumerate() {
            let bounds = cell_bounds(estimate.best, estimate.value.executions, estimate.expected);
            let count = estimate.value.users.len();
            let count = if count == 1 { "1 user".into() } else { format!("{count} users") };
            let cells = [Cell::text(count), Cell::text(""), Cell::bounds(bounds)];
            rows.push(self.list.value_row(value, cells, chosen));
            for &seed in seeds {
                let vertex = self.list.vertex(seed);
                let user = estimate.users.iter().find(|user| Some(user.vertex) == vertex);
                let reused = user.map_or_else(Cell::none, |user| {
                    Cell::bounds(cell_bounds(user.reuse, user.executions, user.expected))
                });
                let cells = [Cell::text(self.list.place(seed)), self.list.reuse_cell(seed), reused];
                rows.push(Row { help: self.list.text(seed), ..self.list.seed_row(value, seed, cells, chosen) });
            }
        }
        self.list.listed(columns, rows)
    }

    /// The bounds of a value, a row an estimator.
    fn bounds(&self, chosen: Chosen, estimate: &Estimate) -> Table {
        let best = estimate.best;
        let row = |(estimator, &interval): (&Estimator, &Interval)| {
            let bounds = cell_bounds(interval, estimate.value.executions, estimate.expected);
            let bounds = Bounds { best: Some((best.low as f64, best.high as f64)), ..bounds };
            Row {
                key: estimator.name().into(),
                cells: vec![
                    Cell::text(estimator.name().to_uppercase()),
                    Cell::bounds(bounds),
                    Cell::text(meaning(*estimator)),
                ],
                ..Row::default()
            }
        };
        let definite = Row {
            key: "definite".into(),
            cells: vec![
                Cell::text("certain"),
                Cell::bounds(Bounds::of(estimate.value.definite, estimate.value.definite, estimate.value.executions)),
                Cell::text("reuse on all paths"),
            ],
            ..Row::default()
        };
        let columns = vec![
            column("Estimator", ""),
            bounds_column("Reused", "Bounds, between brackets the tightest, a dot at what is expected"),
            column("Counts", "Counts that the estimator reads"),
        ];
        let rows = core::iter::once(definite).chain(self.estimators.iter().zip(&estimate.bounds).map(row));
        Table {
            name: format!("Bounds of {}", self.list.name(chosen.value)),
            columns,
            rows: rows.collect(),
            ..Table::default()
        }
    }

    /// The bounds of a value by estimator.
    fn chart(&self, chosen: Chosen, estimate: &Estimate) -> Chart {
        let names = self.estimators.iter().map(|estimator| estimator.name().to_uppercase());
        let point = |(place, interval): (usize, &Interval)| Point {
            interval: Some((interval.low as f64, interval.high as f64)),
            ..Point::at(place as f64, estimate.expected)
        };
        Chart {
            name: format!("Reuse of {}", self.list.name(chosen.value)),
            across: Axis::words("Estimator", names),
            up: Axis::numbers("Reused", "executions"),
            series: vec![Series {
                name: "expected, between the bounds".into(),
                kind: SeriesKind::Points,
                points: estimate.bounds.iter().enumerate().map(point).collect(),
            }],
            marks: Vec::new(),
        }
    }

    /// The region of a value: its subregions, and the edges over its border with their counts.
    fn region(&self, estimate: &Estimate) -> Shading {
        let mut shading = Shading::default();
        let parts = &estimate.value.subregions;
        for (number, part) in parts.iter().enumerate() {
            let look = if number % 2 == 0 { Look::Plain } else { Look::Partial };
            part.vertices.iter().for_each(|&vertex| shading.looks[vertex] = Some(look));
            let number = if parts.len() > 1 { format!("{}: ", number + 1) } else { String::new() };
            let mut label = |crossing: &Crossing, kind: &str| {
                let sign = if crossing.is_positive { "+" } else { "−" };
                let anchor = flow_anchor(self.weighted.cfg, crossing.flow);
                shading.labels.push((anchor, format!("{number}{kind}{sign} {}", crossing.count)));
            };
            part.entries.iter().for_each(|entry| label(entry, "En"));
            part.exits.iter().for_each(|exit| label(exit, "Ex"));
        }
        shading
    }

    /// The networks of CMP4 through which something flows.
    fn networks(&self, estimate: &Estimate) -> Vec<Network> {
        if !self.estimators.contains(&Estimator::Cmp4) {
            return Vec::new();
        }
        let found = network::networks(self.weighted, &estimate.value);
        let count = estimate.value.subregions.len();
        found
            .iter()
            .filter(|network| network.edges.iter().any(|edge| edge.capacity > 0))
            .map(|network| self.network(network, count))
            .collect()
    }

    fn network(&self, network: &RegionNetwork, subregions: usize) -> Network {
        let kind = if network.with_value { '+' } else { '−' };
        let place = if subregions > 1 { format!(" of subregion {}", network.subregion + 1) } else { String::new() };
        let block = |vertex: Vertex| self.weighted.graph.vertices[vertex].block;
        let node = |node: &network::NetworkNode| {
            let (label, role, anchor) = match *node {
                network::NetworkNode::Source => (format!("En{kind}"), NodeRole::Source, None),
                network::NetworkNode::Sink => ("Ex+".to_string(), NodeRole::Sink, None),
                network::NetworkNode::Gap(vertex) => (self.gap_label(vertex), NodeRole::Plain, Some(block(vertex))),
                network::NetworkNode::Split(vertex) => {
                    (format!("{} split", self.gap_label(vertex)), NodeRole::Plain, Some(block(vertex)))
                }
            };
            let anchor = anchor.map(|block| Anchor::Block(block.as_u32()));
            NetworkNode { label, role, anchor, is_before_cut: false }
        };
        let mut nodes: Vec<NetworkNode> = network.nodes.iter().map(node).collect();
        // Edges without a capacity are no edges.
        let edges: Vec<&network::NetworkEdge> = network.edges.iter().filter(|edge| edge.capacity > 0).collect();
        before_cut(&edges, nodes.len()).into_iter().zip(&mut nodes).for_each(|(is, node)| node.is_before_cut = is);
        let edge = |edge: &&network::NetworkEdge| NetworkEdge {
            from: edge.from,
            to: edge.to,
            capacity: Some(edge.capacity),
            flow: edge.flow,
            is_cut: edge.is_cut,
        };
        let what = if network.with_value { "with the value" } else { "without it" };
        Network {
            name: format!("CMP4{place}: {what}"),
            nodes,
            edges: edges.iter().map(edge).collect(),
            value: network.flow,
        }
    }

    /// The block of a gap, with its name there where the block has several.
    fn gap_label(&self, vertex: Vertex) -> String {
        let data = &self.weighted.graph.vertices[vertex];
        let label = self.list.names.label(data.block);
        if data.place == 0 { label } else { format!("{label}.{}", data.place) }
    }
}

/// Nodes that the source reaches without going over the cut.
fn before_cut(edges: &[&network::NetworkEdge], count: usize) -> Vec<bool> {
    let mut is_before = vec![false; count];
    let mut work = vec![0];
    while let Some(node) = work.pop() {
        if !core::mem::replace(&mut is_before[node], true) {
            work.extend(edges.iter().filter(|edge| edge.from == node && !edge.is_cut).map(|edge| edge.to));
        }
    }
    is_before
}

fn bounds_column(name: &str, help: &str) -> Column {
    Column { kind: ColumnKind::Bounds, unit: "executions".into(), ..column(name, help) }
}

fn cell_bounds(interval: Interval, all: u64, expected: f64) -> Bounds {
    Bounds { expected: Some(expected), ..Bounds::of(interval.low, interval.high, all) }
}

fn meaning(estimator: Estimator) -> &'static str {
    match estimator {
        Estimator::Pre => "paths to each user by itself",
        Estimator::Cmp1 => "entries and exits of the whole region",
        Estimator::Cmp2 => "those of each subregion",
        Estimator::Cmp3 => "entries and the exits that they reach",
        Estimator::Cmp4 => "inner edges",
    }
}

/// Counts of edges: those of the profile, and in their place what a person has entered.
struct EnteredCounts {
    declared: Vec<u64>,
    edges: Vec<u64>,
    /// Whether no edge has a count.
    has_none: bool,
    /// The first block where these are no counts of whole runs.
    error: Option<CountsError>,
}

impl EnteredCounts {
    fn new(func: &Function, cfg: &Cfg, endings: Endings<'_>, request: &Request) -> EnteredCounts {
        let mut declared = vec![0u64; cfg.edge_count()];
        for profile in &func.profiles {
            let Profile::Edge(counts) = profile else { continue };
            for &(from, to, count) in counts {
                if let Some(edge) = cfg.out_edges(from).find(|&edge| cfg.target(edge) == to) {
                    let sum = &mut declared[edge.as_u32() as usize];
                    *sum = sum.saturating_add(count);
                }
            }
        }
        let mut edges = declared.clone();
        for edge in all_edges(cfg) {
            let entered = request.choices.get(&key(cfg, edge)).and_then(|count| count.trim().parse().ok());
            edges[edge.as_u32() as usize] = entered.unwrap_or(edges[edge.as_u32() as usize]);
        }
        let has_none = edges.iter().all(|&count| count == 0);
        let runs = (!has_none).then(|| EdgeCounts::of_runs(cfg, edges.clone(), endings));
        let error = runs.and_then(Result::err);
        EnteredCounts { declared, edges, has_none, error }
    }

    /// The counts as rows, each of which may be changed.
    fn table(&self, func: &Function, cfg: &Cfg) -> Table {
        let name = |block| func.blocks[block].name.as_str();
        let all: Vec<Edge> = all_edges(cfg).collect();
        let row = |&edge: &Edge| {
            let at = edge.as_u32() as usize;
            let (from, to) = (cfg.source(edge), cfg.target(edge));
            let label = format!("{} → {}", name(from), name(to));
            let is_wrong =
                matches!(self.error, Some(CountsError::Unbalanced { block, .. }) if block == from || block == to);
            let count = Cell {
                entry: Some(Entry {
                    key: key(cfg, edge),
                    label: format!("Count of {label}"),
                    default: self.declared[at],
                }),
                ..Cell::number(self.edges[at] as f64, self.edges[at].to_string())
            };
            Row {
                key: key(cfg, edge),
                cells: vec![Cell::text(label), count],
                look: if is_wrong { Look::Bad } else { Look::Plain },
                anchor: Some(flow_anchor(cfg, Flow::Edge(edge))),
                ..Row::default()
            }
        };
        let columns = vec![
            column("Edge", ""),
            Column {
                unit: "lanes".into(),
                kind: ColumnKind::Number,
                ..column("Count", "Lanes along the edge; enter another number to see what it changes")
            },
        ];
        Table {
            name: "Counts".into(),
            columns,
            rows: all.iter().take(MOST_EDGES).map(row).collect(),
            left_out: all.len().saturating_sub(MOST_EDGES),
            left_out_words: "more, further down in the text".into(),
            empty: "the function has one block, which no edge counts".into(),
            choice: String::new(),
        }
    }

    /// The offer to write entered counts into the program.
    fn offer(&self, source: &str, start: &Function, func: &Function, cfg: &Cfg) -> Option<Offer> {
        let edges: Vec<([Block; 2], u64)> = all_edges(cfg)
            .map(|edge| ([cfg.source(edge), cfg.target(edge)], self.edges[edge.as_u32() as usize]))
            .filter(|(_, count)| *count > 0)
            .collect();
        let edges: Vec<(&[Block], u64)> = edges.iter().map(|(ends, count)| (ends.as_slice(), *count)).collect();
        let is_edited = self.edges != self.declared && self.error.is_none();
        let source = is_edited.then(|| declared_in(source, start, func, TextProfile::Edge, &edges)).flatten()?;
        Some(Offer { label: "Write them into the program".into(), source })
    }

    /// A note where the counts are not of whole runs.
    fn note(&self, func: &Function) -> Option<Note> {
        let name = |block| &func.blocks[block].name;
        let sentence = match &self.error {
            Some(CountsError::Unbalanced { block, entered, left }) => format!(
                "These are no counts of whole runs: `{}` is entered {entered} times and left {left} times.",
                name(*block)
            ),
            Some(CountsError::UnknownEnds(block)) => {
                format!("These counts do not say how many lanes end in calls of `{}`.", name(*block))
            }
            Some(CountsError::TooLarge(block)) => format!("The counts at `{}` are above 2^56.", name(*block)),
            _ => return None,
        };
        Some(Note { word: "no profile".into(), look: Look::Bad, sentence, ..Note::default() })
    }
}

/// The edges of a function, one of those between two blocks, in the order of the text.
fn all_edges(cfg: &Cfg) -> impl Iterator<Item = Edge> + '_ {
    let of = move |&block| {
        let edges: Vec<Edge> = cfg.out_edges(block).collect();
        let is_first = |at: usize| !edges[..at].iter().any(|&other| cfg.target(other) == cfg.target(edges[at]));
        (0..edges.len()).filter(|&at| is_first(at)).map(|at| edges[at]).collect::<Vec<Edge>>()
    };
    cfg.reverse_postorder().iter().flat_map(of)
}

/// The key of an edge's count in a request.
fn key(cfg: &Cfg, edge: Edge) -> String {
    format!("count.{}-{}", cfg.source(edge).as_u32(), cfg.target(edge).as_u32())
}

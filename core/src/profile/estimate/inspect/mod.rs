//! Inspection of the estimates of a function: bounds of each value's reuse, and the region of one of them.
//!
//! ```text
//! Value     At     Reused            Expected          Bounds of x[i]   PRE   60–145 of 230
//! x[i]             60–95 of 230      78.3                               CMP4  60–95 of 230
//!   x[i]    r3.0   0–15 of 15        7.5               s → g  85        entered counts move the bounds at once
//! ```
//!
//! Counts that a person has entered need not be of whole runs; then it is said at which block they are not.

mod entered_counts;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::exact::{CountReuse, CountedReuse};
use super::network::{self, RegionNetwork};
use super::{
    CountsError, Crossing, EdgeCounts, Endings, Estimate, Estimator, ExecutedPaths, FlagPlan, Interval, PathGraph,
    Weighted, estimate, record_estimates,
};
use crate::inspect::{
    Anchor, Axis, Bounds, Cell, Chart, Column, ColumnKind, Inspection, Look, Network, NetworkEdge, NetworkNode,
    NodeRole, Note, Point, Request, Row, Series, SeriesKind, Table, number_text,
};
use crate::journal::Journal;
use crate::vng::inspect::{Chosen, InspectedFunction, Overlay, Shading, ValueList, column, flow_anchor, steps};
use crate::vng::{Foundation, Names, ValueNameGraph, Vertex, VngOptions};
use entered_counts::EnteredCounts;

/// An inspection of the estimates of a function.
pub fn inspect(
    inspected: InspectedFunction<'_>,
    options: VngOptions,
    estimators: &[Estimator],
    is_from_paths: bool,
    request: &Request,
    count_reuse: CountReuse<'_>,
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
    let list = ValueList::new(Names::new(module, func, &foundation, &graph));
    let by_paths = is_from_paths.then(|| {
        let paths = ExecutedPaths::declared(func, foundation.cfg(), endings)?;
        let graph = PathGraph::build(&paths, foundation.cfg(), &graph.graph)?;
        Ok::<_, CountsError>(graph.estimate(estimators, &by_edges, &list.components))
    });
    let estimates = by_paths.as_ref().and_then(|paths| paths.as_ref().ok()).unwrap_or(&by_edges).as_slice();
    let exact = match entered.has_none || !entered.are_declared() {
        true => ExactReuse::Unknown,
        false => ExactReuse::count(weighted, &entered, &|plan| count_reuse(module, id, foundation.cfg(), plan)),
    };
    let report = EstimatesView { list: &list, weighted, estimates, estimators, exact };
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
    inspection.notes.extend(entered.note(func).or_else(|| report.exact.note()));
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
    exact: ExactReuse,
}

/// Reuse in the launch's run.
enum ExactReuse {
    /// No run, or none that ends soon.
    Unknown,
    /// The run has other counts of edges than the profile.
    OtherRun,
    /// Lanes that reuse the value at each user.
    Counted(SecondaryMap<Vertex, u64>),
}

impl ExactReuse {
    /// The reuse in a run that has the counts that were entered.
    fn count(
        weighted: Weighted<'_>,
        entered: &EnteredCounts,
        run: &dyn Fn(&FlagPlan) -> Option<CountedReuse>,
    ) -> ExactReuse {
        let (plan, users) = FlagPlan::of_gaps(weighted.cfg, weighted.graph);
        let Some(counted) = run(&plan) else { return ExactReuse::Unknown };
        if counted.edges != entered.edges {
            return ExactReuse::OtherRun;
        }
        let mut counts: SecondaryMap<Vertex, u64> = SecondaryMap::new();
        users.into_iter().zip(counted.counters).for_each(|(user, count)| counts[user] = count);
        ExactReuse::Counted(counts)
    }

    /// Lanes that reuse the value at some users; None if that is not known.
    fn of(&self, users: &[Vertex]) -> Option<u64> {
        match self {
            ExactReuse::Counted(counts) => Some(users.iter().map(|&user| counts[user]).sum()),
            _ => None,
        }
    }

    /// A note where the run is not one of the profile.
    fn note(&self) -> Option<Note> {
        let sentence = "The launch takes other paths than the profile declares, so the exact reuse is not known. \
                        Measure the profile to see it.";
        let is_other = matches!(self, ExactReuse::OtherRun);
        is_other.then(|| Note { word: "other run".into(), sentence: sentence.into(), ..Note::default() })
    }
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
        let users = self.estimates.iter().map(|estimate| self.exact.of(&estimate.value.users));
        let exact: Option<u64> = users.sum();
        let exact = exact.map_or_else(String::new, |count| format!(", exactly {count} in the launch"));
        let expected = number_text(expected);
        format!("{bounds} executions reuse a value, {expected} if every branch is decided by itself{exact}.")
    }

    fn values(&self, chosen: Option<Chosen>) -> Table {
        let columns = vec![
            column("Value", "The name of the value, over the registers before the instruction"),
            column("At", "Block and place of the instruction"),
            column("Reuse", "Whether the value is available there: on all paths, on some, or on none"),
            bounds_column(
                "Reused",
                "Executions that reuse the value: tightest bounds, a dot at the expected, a line at the exact count",
            ),
        ];
        let mut rows = Vec::new();
        for (value, (estimate, seeds)) in self.estimates.iter().zip(&self.list.seeds).enumerate() {
            let exact = self.exact.of(&estimate.value.users);
            let bounds = cell_bounds(estimate.best, estimate.value.executions, estimate.expected, exact);
            let count = estimate.value.users.len();
            let count = if count == 1 { "1 user".into() } else { format!("{count} users") };
            let cells = [Cell::text(count), Cell::text(""), Cell::bounds(bounds)];
            rows.push(self.list.value_row(value, cells, chosen));
            for &seed in seeds {
                let vertex = self.list.vertex(seed);
                let user = estimate.users.iter().find(|user| Some(user.vertex) == vertex);
                let reused = user.map_or_else(Cell::none, |user| {
                    let exact = self.exact.of(&[user.vertex]);
                    Cell::bounds(cell_bounds(user.reuse, user.executions, user.expected, exact))
                });
                let cells = [Cell::text(self.list.place(seed)), self.list.reuse_cell(seed), reused];
                rows.push(Row { help: self.list.text(seed), ..self.list.seed_row(value, seed, cells, chosen) });
            }
        }
        self.list.listed(columns, rows)
    }

    /// The bounds of a value, a row an estimator.
    fn bounds(&self, chosen: Chosen, estimate: &Estimate) -> Table {
        let (best, exact) = (estimate.best, self.exact.of(&estimate.value.users));
        let row = |(estimator, &interval): (&Estimator, &Interval)| {
            let bounds = cell_bounds(interval, estimate.value.executions, estimate.expected, exact);
            let bounds = Bounds { best: Some((best.low as f64, best.high as f64)), ..bounds };
            Row {
                key: estimator.name().into(),
                cells: vec![
                    Cell::text(estimator.name().to_ascii_uppercase()),
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
            bounds_column(
                "Reused",
                "Bounds, between brackets the tightest, a dot at what is expected, a line at the exact count",
            ),
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
        let names = self.estimators.iter().map(|estimator| estimator.name().to_ascii_uppercase());
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

fn cell_bounds(interval: Interval, all: u64, expected: f64, exact: Option<u64>) -> Bounds {
    let exact = exact.map(|count| count as f64);
    Bounds { expected: Some(expected), exact, ..Bounds::of(interval.low, interval.high, all) }
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

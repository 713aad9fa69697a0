//! An inspection as text, for shells.
//!
//! ```text
//! Candidates of azp in kernel figure
//! Next, `azp` transforms for candidate 3, `s0`: step forward.
//!
//! #  Registers  P     T_R    verdict
//! 3  s0         80 %  812.0  gains: …
//! ```

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use super::{Chart, Column, Inspection, Network, Row, Table, Timeline};

impl Display for Inspection {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.lead)?;
        for choice in &self.choices {
            let option = choice.options.iter().find(|option| option.value == choice.value);
            let chosen = option.map_or("none", |option| option.label.as_str());
            writeln!(out, "{} ({}): {chosen}, one of {}", choice.label, choice.key, choice.options.len())?;
            if let Some(result) = &choice.result {
                let aside = if result.aside.is_empty() { String::new() } else { alloc::format!(" ({})", result.aside) };
                writeln!(out, "  {}{aside}", result.sentence)?;
            }
        }
        if !self.trail.is_empty() {
            let names: Vec<&str> = self.trail.iter().map(|node| node.label.as_str()).collect();
            writeln!(out, "in {}", names.join(" › "))?;
        }
        for table in &self.tables {
            writeln!(out)?;
            // One table is what the title says.
            if self.tables.len() > 1 && !table.rows.is_empty() {
                writeln!(out, "{}:", table.name)?;
            }
            print_table(table, out)?;
        }
        for chart in &self.charts {
            print_chart(chart, out)?;
        }
        for network in &self.networks {
            print_network(network, out)?;
        }
        if self.legend.iter().any(|key| key.count > 0) {
            writeln!(out)?;
            for key in self.legend.iter().filter(|key| key.count > 0) {
                writeln!(out, "{:>5} {} {}", key.count, key.sign, key.label)?;
            }
        }
        if let Some(timeline) = &self.timeline {
            print_timeline(timeline, out)?;
        }
        for note in &self.notes {
            let word = if note.word.is_empty() { String::new() } else { alloc::format!("{}: ", note.word) };
            let aside = if note.aside.is_empty() { String::new() } else { alloc::format!(" ({})", note.aside) };
            writeln!(out, "\n{word}{}{aside}", note.sentence)?;
        }
        for offer in &self.offers {
            writeln!(out, "\noffer: {} (`source` in the JSON)", offer.label)?;
        }
        Ok(())
    }
}

/// A line for each moment that is told, with a sign at the one that the inspection is about.
fn print_timeline(timeline: &Timeline, out: &mut Formatter<'_>) -> fmt::Result {
    writeln!(out, "\n{}, {} moments", timeline.name, timeline.course.last)?;
    let happened = timeline.moments.iter().enumerate().map(|(place, moment)| (timeline.first + place + 1, moment));
    for (at, moment) in timeline.start.iter().map(|start| (0, start)).chain(happened) {
        let rule = if moment.rule.is_empty() { String::new() } else { alloc::format!(" ({})", moment.rule) };
        let marker = if at == timeline.at { '>' } else { ' ' };
        writeln!(out, "{marker}{at:>5} {}{rule}: {}", moment.word, moment.sentence)?;
    }
    if let Some(kept) = timeline.cut_after {
        writeln!(out, "only the first {kept} moments are kept")?;
    }
    Ok(())
}

/// A line for each series, and one for each mark.
fn print_chart(chart: &Chart, out: &mut Formatter<'_>) -> fmt::Result {
    let Chart { name, across, up, series, marks } = chart;
    writeln!(out, "\n{name}: {} by {}", up.heading(), across.heading())?;
    for series in series {
        let point = |point: &super::Point| {
            let label = if point.label.is_empty() { String::new() } else { alloc::format!(" ({})", point.label) };
            alloc::format!("{}: {}{label}", across.text(point.x), point.text())
        };
        let points: Vec<String> = series.points.iter().map(point).collect();
        writeln!(out, "  {}  {}", series.name, points.join("; "))?;
    }
    marks.iter().try_for_each(|mark| writeln!(out, "  at {}: {}", across.text(mark.at), mark.label))
}

/// A line for each edge.
fn print_network(network: &Network, out: &mut Formatter<'_>) -> fmt::Result {
    writeln!(out, "\n{}: flow {}", network.name, network.value)?;
    for edge in &network.edges {
        let capacity = edge.capacity.map_or_else(|| String::from("no limit"), |capacity| alloc::format!("{capacity}"));
        let saturated = if edge.is_saturated() { ", saturated" } else { "" };
        let cut = if edge.is_cut { ", in the cut" } else { "" };
        let (from, to) = (network.label(edge.from), network.label(edge.to));
        writeln!(out, "  {from} → {to}: {} of {capacity}{saturated}{cut}", edge.flow)?;
    }
    Ok(())
}

/// The table with its columns below each other, and what was decided about each row in a line after it.
fn print_table(table: &Table, out: &mut Formatter<'_>) -> fmt::Result {
    if table.rows.is_empty() {
        return writeln!(out, "{}: {}", table.name, table.empty);
    }
    let names: Vec<String> = table.columns.iter().map(heading).collect();
    let width = |column: usize| {
        let indent = |row: &Row| if row.is_part && column == 0 { 2 } else { 0 };
        let cells = table.rows.iter().filter_map(|row| Some(row.cells.get(column)?.text.chars().count() + indent(row)));
        cells.chain([names[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let is_number =
        |column: usize| table.rows.iter().any(|row| row.cells.get(column).is_some_and(|cell| cell.value.is_some()));
    let numbers: Vec<bool> = (0..names.len()).map(is_number).collect();
    let mut line = |marker: char, cells: Vec<&str>| {
        let mut text = String::from(marker);
        for (column, cell) in cells.into_iter().enumerate() {
            let width = widths.get(column).copied().unwrap_or(0);
            text += &match numbers.get(column) {
                Some(true) => alloc::format!(" {cell:>width$} "),
                _ => alloc::format!(" {cell:<width$} "),
            };
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(' ', names.iter().map(String::as_str).collect())?;
    for row in &table.rows {
        let mut cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
        let part = cells.first().filter(|_| row.is_part).map(|name| alloc::format!("  {name}"));
        if let (Some(part), Some(name)) = (&part, cells.first_mut()) {
            *name = part;
        }
        line(if row.is_chosen { '>' } else { ' ' }, cells)?;
    }
    for row in &table.rows {
        print_verdict(row, out)?;
    }
    if table.left_out > 0 {
        writeln!(out, "and {} {}", table.left_out, table.left_out_words)?;
    }
    Ok(())
}

fn heading(column: &Column) -> String {
    if column.index.is_empty() { column.name.clone() } else { alloc::format!("{}_{}", column.name, column.index) }
}

fn print_verdict(row: &Row, out: &mut Formatter<'_>) -> fmt::Result {
    let Some(verdict) = &row.verdict else { return Ok(()) };
    let name = row.cells.first().map_or("", |cell| cell.text.as_str());
    writeln!(out, "  {name}: {} — {}", verdict.rule, verdict.sentence)
}

#[cfg(test)]
mod tests {
    use crate::inspect::{
        Axis, AxisMark, Bounds, Cell, Chart, Column, Inspection, Network, NetworkEdge, NetworkNode, Point, Row, Series,
        SeriesKind, Table,
    };
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn prints_bounds_in_one_column() {
        let bounds = Bounds { best: Some((60.0, 95.0)), expected: Some(78.256), ..Bounds::of(60, 145, 230) };
        assert_eq!(bounds.description(), "60–145 of 230, at best 60–95, expected 78.3");
        let row = |name: &str, bounds: Bounds, is_part: bool| Row {
            cells: vec![Cell::text(name), Cell::bounds(bounds)],
            is_part,
            ..Row::default()
        };
        let column = |name: &str| Column { name: name.into(), ..Column::default() };
        let table = Table {
            columns: vec![column("Value"), column("Reused")],
            rows: vec![row("x[i]", bounds, false), row("x[j]", Bounds::of(10, 10, 45), true)],
            ..Table::default()
        };
        assert_eq!(table.scale_end(1), 230.0);
        let text = Inspection { tables: vec![table], ..Inspection::default() }.to_string();
        assert_eq!(text, "\n\n  Value   Reused\n  x[i]    60–145 of 230\n    x[j]  10 of 45\n");
    }

    #[test]
    fn prints_charts_and_networks() {
        let points = vec![
            Point { interval: Some((60.0, 95.0)), ..Point::at(0.0, 78.25) },
            Point { label: "best".into(), ..Point::at(1.0, -0.04) },
        ];
        let chart = Chart {
            name: "Bounds".into(),
            across: Axis::words("Estimator", ["pre", "cmp1"].map(Into::into)),
            up: Axis::numbers("Reused", "lanes"),
            series: vec![Series { name: "x[i]".into(), kind: SeriesKind::Points, points }],
            marks: vec![AxisMark { at: 1.0, label: "now".into() }],
        };
        let node = |label: &str| NetworkNode { label: label.into(), ..NetworkNode::default() };
        let network = Network {
            name: "With the value".into(),
            nodes: vec![node("En+"), node("r1"), node("Ex+")],
            edges: vec![
                NetworkEdge { from: 0, to: 1, capacity: Some(45), flow: 45, is_cut: true },
                NetworkEdge { from: 1, to: 2, capacity: None, flow: 45, is_cut: false },
            ],
            value: 45,
        };
        let text = Inspection { charts: vec![chart], networks: vec![network], ..Inspection::default() }.to_string();
        assert_eq!(
            text,
            "\n\nBounds: Reused (lanes) by Estimator\n  x[i]  pre: 78.2, 60–95; cmp1: 0 (best)\n  at cmp1: now\n\n\
             With the value: flow 45\n  En+ → r1: 45 of 45, saturated, in the cut\n  r1 → Ex+: 45 of no limit\n"
        );
    }
}

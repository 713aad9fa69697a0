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

use super::{Column, Inspection, Row, Table, Timeline};

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

/// The table with its columns below each other, and what was decided about each row in a line after it.
fn print_table(table: &Table, out: &mut Formatter<'_>) -> fmt::Result {
    if table.rows.is_empty() {
        return writeln!(out, "{}: {}", table.name, table.empty);
    }
    let names: Vec<String> = table.columns.iter().map(heading).collect();
    let width = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| Some(row.cells.get(column)?.text.chars().count()));
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
        line(if row.is_chosen { '>' } else { ' ' }, row.cells.iter().map(|cell| cell.text.as_str()).collect())?;
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

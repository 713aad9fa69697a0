//! Tables: columns with their meanings, rows with verdicts, places in the program and what a person may change.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Anchor, Bounds, Look};

/// A table.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Table {
    /// A heading.
    pub name: String,
    /// Columns, that of the rows' names first.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
    /// Rows besides those.
    pub left_out: usize,
    /// Words about the rows that are left out, after their number.
    pub left_out_words: String,
    /// Words in place of the rows if there are none.
    pub empty: String,
    /// The choice that choosing a row makes, by its key; empty if rows cannot be chosen.
    pub choice: String,
}

/// A column.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Column {
    /// Its name, or the letters of its symbol.
    pub name: String,
    /// The index of its symbol; empty if it has none.
    pub index: String,
    /// `cycles`, `blocks`, `probability`; empty if it has none.
    pub unit: String,
    /// The meaning, in a sentence.
    pub help: String,
    /// The kind of its cells.
    pub kind: ColumnKind,
}

/// A kind of cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ColumnKind {
    /// Words.
    #[default]
    Words,
    /// A number.
    Number,
    /// A yes or no, as one character.
    Flag,
    /// Names of blocks, which may be many.
    Path,
    /// Bounds, all on one scale.
    Bounds,
}

/// A row.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Row {
    /// Its value where it is chosen, unique in the table.
    pub key: String,
    /// One cell for each column.
    pub cells: Vec<Cell>,
    /// The look.
    pub look: Look,
    /// Whether it can be chosen.
    pub is_choosable: bool,
    /// Whether it is.
    pub is_chosen: bool,
    /// The decision about it.
    pub verdict: Option<Verdict>,
    /// The part of the program that it is about.
    pub anchor: Option<Anchor>,
    /// The moment of the timeline when it came about.
    pub moment: Option<usize>,
    /// A sentence about it as a whole; empty if there is none.
    pub help: String,
    /// Whether it is a part of the last row before it that is none.
    pub is_part: bool,
    /// Its place among the strands, if it is one of them.
    pub strand: Option<usize>,
}

/// A cell.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cell {
    /// The text for people.
    pub text: String,
    /// The number that the text says, in the unit of the column.
    pub value: Option<f64>,
    /// The look.
    pub look: Look,
    /// More of it; empty if there is no more.
    pub help: String,
    /// A number that a person may enter here.
    pub entry: Option<Entry>,
    /// The bounds that the text says.
    pub bounds: Option<Bounds>,
}

/// A number that a person may enter in a cell.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// Its key in a [`Request`](super::Request).
    pub key: String,
    /// A name for those who do not see the column.
    pub label: String,
    /// The number as long as nobody enters another one.
    pub default: u64,
}

/// A decision.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Verdict {
    /// Whether something is done.
    pub is_good: bool,
    /// The rule that decided.
    pub rule: String,
    /// Why, in a sentence.
    pub sentence: String,
}

impl Table {
    /// Whether its rows are strands.
    pub fn has_strands(&self) -> bool {
        self.rows.iter().any(|row| row.strand.is_some())
    }

    /// The end of the scale of a column of bounds, which begins at zero.
    pub fn scale_end(&self, column: usize) -> f64 {
        let bounds = self.rows.iter().filter_map(|row| row.cells.get(column)?.bounds);
        bounds.map(|bounds| bounds.of.max(bounds.high)).fold(1.0, f64::max)
    }

    /// Whether each row is one line, without a verdict below it.
    pub fn is_compact(&self) -> bool {
        self.rows.iter().all(|row| row.verdict.is_none())
    }
}

impl Cell {
    /// A cell of words.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell of a number, as people read it.
    pub fn number(value: f64, text: impl Into<String>) -> Cell {
        Cell { text: text.into(), value: Some(value), ..Cell::default() }
    }

    /// A cell of bounds.
    pub fn bounds(bounds: Bounds) -> Cell {
        Cell { text: bounds.text(), help: bounds.description(), bounds: Some(bounds), ..Cell::default() }
    }

    /// A cell without a value.
    pub fn none() -> Cell {
        Cell::text("–")
    }

    /// The cell with another look.
    pub fn looking(mut self, look: Look) -> Cell {
        self.look = look;
        self
    }
}

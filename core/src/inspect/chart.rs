//! Charts: numbers over an axis, as points, lines or bars.
//!
//! ```text
//! cycles  12 ┤╲                         a line of two points, a mark at the break-even share and one at that of now
//!          0 ┤──╲───┆──────────
//!        −90 ┤    ╲ ┆╲
//!             0 %  break-even  100 %
//! ```

use alloc::string::String;
use alloc::vec::Vec;

/// A chart.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Chart {
    /// A heading.
    pub name: String,
    /// The axis from left to right.
    pub across: Axis,
    /// The upright axis.
    pub up: Axis,
    /// The numbers, in the order of the legend.
    pub series: Vec<Series>,
    /// Places of the axis from left to right that stand out.
    pub marks: Vec<AxisMark>,
}

/// An axis.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Axis {
    /// The quantity.
    pub name: String,
    /// `cycles`, `%`; empty if it has none.
    pub unit: String,
    /// Words in place of the numbers 0, 1, 2 and so on; empty for numbers.
    pub words: Vec<String>,
}

/// Numbers that belong together.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its drawing.
    pub kind: SeriesKind,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// A way to draw numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SeriesKind {
    /// Dots.
    #[default]
    Points,
    /// Dots joined by lines.
    Line,
    /// Bars from zero.
    Bars,
}

impl SeriesKind {
    /// The name in styles, the same as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            SeriesKind::Points => "points",
            SeriesKind::Line => "line",
            SeriesKind::Bars => "bars",
        }
    }
}

/// A number at a place.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Point {
    /// The place from left to right.
    pub x: f64,
    /// The number.
    pub y: f64,
    /// The least and the greatest number that it may be; None for an exact number.
    pub interval: Option<(f64, f64)>,
    /// A name of the point; empty if it has none.
    pub label: String,
}

/// A place of an axis that stands out.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AxisMark {
    /// The place.
    pub at: f64,
    /// Its meaning, such as `now`.
    pub label: String,
}

impl Axis {
    /// An axis of numbers.
    pub fn numbers(name: &str, unit: &str) -> Axis {
        Axis { name: name.into(), unit: unit.into(), words: Vec::new() }
    }

    /// An axis of words.
    pub fn words(name: &str, words: impl IntoIterator<Item = String>) -> Axis {
        Axis { name: name.into(), unit: String::new(), words: words.into_iter().collect() }
    }

    /// The axis as a heading: `Change (cycles)`.
    pub fn heading(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { alloc::format!("{} ({})", self.name, self.unit) }
    }

    /// A number of the axis as people read it, without its unit.
    pub fn text(&self, value: f64) -> String {
        let word = (value >= 0.0).then(|| self.words.get(value as usize)).flatten();
        word.cloned().unwrap_or_else(|| number_text(value))
    }
}

impl Point {
    /// A point of an exact number.
    pub fn at(x: f64, y: f64) -> Point {
        Point { x, y, ..Point::default() }
    }

    /// The numbers of the point as people read them: `78.3, 60–95`.
    pub fn text(&self) -> String {
        let number = number_text(self.y);
        match self.interval {
            Some((low, high)) => alloc::format!("{number}, {}–{}", number_text(low), number_text(high)),
            None => number,
        }
    }
}

/// A number with at most one decimal place.
pub fn number_text(value: f64) -> String {
    let text = alloc::format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.replace('-', "−") }
}

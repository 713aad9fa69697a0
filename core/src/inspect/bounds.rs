//! Bounds of a count, in a cell of a table.
//!
//! ```text
//! 0 ──────┃═══●══┆═┃──────── 230      bar [60, 95], bracket best, dot expected, line exact; text `60–95 of 230`
//! ```

use alloc::format;
use alloc::string::String;

/// A lower and an upper bound of a count.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bounds {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The count that it is a part of.
    pub of: f64,
    /// The tightest bounds that are known; None if these are.
    pub best: Option<(f64, f64)>,
    /// The expected count.
    pub expected: Option<f64>,
    /// The exact count.
    pub exact: Option<f64>,
}

impl Bounds {
    /// Bounds of a part of a count.
    pub fn of(low: u64, high: u64, all: u64) -> Bounds {
        Bounds { low: low as f64, high: high as f64, of: all as f64, ..Bounds::default() }
    }

    /// The bounds as people read them: `60–95 of 230`.
    pub fn text(&self) -> String {
        let Bounds { low, high, of, .. } = self;
        if low == high { format!("{low} of {of}") } else { format!("{low}–{high} of {of}") }
    }

    /// The bounds with all that is known, for those who do not see them drawn.
    pub fn description(&self) -> String {
        let number = super::number_text;
        let best =
            self.best.map_or_else(String::new, |(low, high)| format!(", at best {}–{}", number(low), number(high)));
        let expected = self.expected.map_or_else(String::new, |count| format!(", expected {}", number(count)));
        let exact = self.exact.map_or_else(String::new, |count| format!(", exactly {}", number(count)));
        format!("{}{best}{expected}{exact}", self.text())
    }
}

//! Lays out the figures of a group of measurements, natively and as WebAssembly, each under its name:
//!
//! ```text
//! dce, straight
//!         1000      31.20      44.05  ns/instruction             <= 150
//!        10000      32.90      45.61  ns/instruction             <= 150
//!                    1.02       1.02  growth exponent            <= 1.15
//! ```
//!
//! Of times taken at several sizes the growth exponent is fitted as well: 1 means that time grows as the program does.
//! What is not ours, as rows of LLVM's passes, is asked nothing.

use std::fmt::Write as _;

/// Headings of the columns.
pub const HEADING: &str = "    size     native       wasm  unit                       asked";

/// No more than linear, with some room for caches that a larger program no longer fits.
const EXPONENT_ASKED: f64 = 1.15;

/// The passes that look for what is best, or at paths, have a little more.
const EXPONENT_ASKED_OF_SEARCHES: f64 = 1.2;

/// Share of the native simulator's rate that is asked of WebAssembly.
const WASM_ASKED: f64 = 0.7;

/// A figure that the benchmark printed.
#[derive(Clone)]
pub struct Measurement {
    name: String,
    size: Option<u32>,
    value: f64,
    unit: String,
    /// `<= 60`, `>= 0.6`, or nothing, `-`.
    asked: String,
}

impl Measurement {
    /// Reads a line of the benchmark: name, size, value, unit and what is asked, with tabs between them.
    pub fn parse(line: &str) -> Option<Measurement> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, size, value, unit, asked] = fields[..] else { return None };
        Some(Measurement {
            name: name.to_owned(),
            size: size.parse().ok(),
            value: value.parse().ok()?,
            unit: unit.to_owned(),
            asked: asked.to_owned(),
        })
    }
}

/// The lines of a group.
pub struct Lines {
    native: Vec<Measurement>,
    wasm: Vec<Measurement>,
}

/// One line.
struct Line {
    size: Option<u32>,
    values: [Option<f64>; 2],
    unit: String,
    asked: String,
}

impl Lines {
    /// The lines of what was measured natively.
    pub fn new(native: Vec<Measurement>) -> Lines {
        Lines { native, wasm: Vec::new() }
    }

    /// Puts beside it what was measured as WebAssembly.
    pub fn beside(&mut self, wasm: Vec<Measurement>) {
        self.wasm = wasm;
    }

    /// The lines as text, under the name of what was measured.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, lines) in self.by_name() {
            text += &format!("\n{name}\n");
            lines.iter().for_each(|line| text += &line.text());
        }
        text
    }

    /// Missed targets, a line each.
    pub fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for (name, lines) in self.by_name() {
            missed.extend(lines.iter().filter(|line| line.is_missed()).map(|line| line.in_words(name)));
        }
        missed
    }

    /// All lines by the name of what was measured, in the order in which it was.
    fn by_name(&self) -> Vec<(&str, Vec<Line>)> {
        let groups = self.native.chunk_by(|one, other| one.name == other.name);
        groups.map(|rows| (rows[0].name.as_str(), self.lines(rows))).collect()
    }

    fn lines(&self, rows: &[Measurement]) -> Vec<Line> {
        let name = &rows[0].name;
        let beside: Vec<Measurement> = self.wasm.iter().filter(|other| other.name == *name).cloned().collect();
        let mut lines = Vec::new();
        for row in rows {
            let wasm = beside.iter().find(|other| other.size == row.size).map(|other| other.value);
            let (unit, asked) = (row.unit.clone(), row.asked.clone());
            lines.push(Line { size: row.size, values: [Some(row.value), wasm], unit, asked });
            if let (true, Some(wasm)) = (name.starts_with("simulator, "), wasm) {
                lines.push(Line::computed([None, Some(wasm / row.value)], "wasm / native", Some((">=", WASM_ASKED))));
            }
        }
        if let Some(native) = exponent(rows) {
            let asked = exponent_asked(name).map(|limit| ("<=", limit));
            lines.push(Line::computed([Some(native), exponent(&beside)], "growth exponent", asked));
        }
        lines
    }
}

impl Line {
    /// A line of what follows from measurements.
    fn computed(values: [Option<f64>; 2], unit: &str, asked: Option<(&str, f64)>) -> Line {
        let asked = asked.map_or_else(|| "-".to_owned(), |(sign, limit)| format!("{sign} {limit}"));
        Line { size: None, values, unit: unit.to_owned(), asked }
    }

    fn is_missed(&self) -> bool {
        self.values.into_iter().flatten().any(|value| misses(value, &self.asked))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let size = self.size.map(|size| size.to_string()).unwrap_or_default();
        let [native, wasm] = self.values.map(or_dash);
        let verdict = match (self.asked.as_str(), self.is_missed()) {
            ("-", _) => String::new(),
            (asked, false) => asked.to_owned(),
            (asked, true) => format!("{asked}  MISSED"),
        };
        let line = format!("{size:>8} {native:>10} {wasm:>10}  {:<26} {verdict}", self.unit);
        writeln!(text, "{}", line.trim_end()).expect("writing to a string does not fail");
        text
    }

    fn in_words(&self, name: &str) -> String {
        let size = self.size.map(|size| format!(" at {size}")).unwrap_or_default();
        let [native, wasm] = self.values.map(or_dash);
        format!("{name}{size}: {native} natively, {wasm} as wasm, {} (asked {})", self.unit, self.asked)
    }
}

fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// The exponent with which time grows, where these are times at several sizes: values are times a thing, so a constant
/// value is exponent 1. The slope of the least-squares line through the logarithms.
fn exponent(rows: &[Measurement]) -> Option<f64> {
    let times = rows.iter().filter(|row| row.value > 0.0 && row.unit.starts_with("ns/"));
    let points: Vec<(f64, f64)> = times.filter_map(|row| Some((f64::from(row.size?).ln(), row.value.ln()))).collect();
    if points.len() < 2 {
        return None;
    }
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    Some(1.0 + covariance / variance)
}

/// Target for the growth of `name`, if there is one.
fn exponent_asked(name: &str) -> Option<f64> {
    let pass = name.split([' ', ',']).next();
    match pass {
        // The sizes are numbers of paths.
        _ if name.starts_with("pde by paths") => None,
        // What it gives is the sum of all lives, and in nests of loops that is more than the program.
        _ if name.starts_with("liveness") => None,
        _ if name.contains("LLVM") => None,
        Some("azp" | "pde") => Some(EXPONENT_ASKED_OF_SEARCHES),
        _ => Some(EXPONENT_ASKED),
    }
}

/// Whether `value` is on the wrong side of what is asked.
fn misses(value: f64, asked: &str) -> bool {
    match asked.split_once(' ') {
        Some(("<=", limit)) => limit.parse().is_ok_and(|limit: f64| value > limit),
        Some((">=", limit)) => limit.parse().is_ok_and(|limit: f64| value < limit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Measurement, exponent, misses};

    fn measured(lines: &[&str]) -> Vec<Measurement> {
        lines.iter().map(|line| Measurement::parse(line).expect("a measurement")).collect()
    }

    #[test]
    fn quadratic_work_has_exponent_two() {
        let rows = ["pass\t1000\t3000\tns/block\t-", "pass\t10000\t30000\tns/block\t-"];
        let exponent = exponent(&measured(&rows)).expect("two points make a line");
        assert!((exponent - 2.0).abs() < 1e-9, "{exponent}");
    }

    #[test]
    fn counts_have_no_exponent() {
        let rows = ["pass leaves\t1000\t1000\tinstructions\t-", "pass leaves\t10000\t10000\tinstructions\t-"];
        assert_eq!(exponent(&measured(&rows)), None);
    }

    #[test]
    fn the_growth_of_what_is_not_ours_is_not_judged() {
        let rows = |name: &str| {
            measured(
                &[1000, 10_000]
                    .map(|size| format!("{name}\t{size}\t{size}\tns/block\t-"))
                    .each_ref()
                    .map(String::as_str),
            )
        };
        assert_eq!(Lines::new(rows("redundancy: gvn-cse")).missed().len(), 1);
        assert_eq!(Lines::new(rows("redundancy: LLVM's gvn")).missed().len(), 0);
    }

    #[test]
    fn both_directions_of_what_is_asked_are_understood() {
        assert!(misses(61.0, "<= 60") && !misses(60.0, "<= 60"));
        assert!(misses(0.59, ">= 0.6") && !misses(0.6, ">= 0.6"));
        assert!(!misses(1.0, "-"));
    }

    #[test]
    fn what_one_build_misses_is_named_with_both_figures() {
        let mut lines = Lines::new(measured(&["dce, deep\t1000\t90\tns/instruction\t<= 150"]));
        assert_eq!(lines.missed(), [""; 0]);
        lines.beside(measured(&["dce, deep\t1000\t180.5\tns/instruction\t<= 150"]));
        assert_eq!(
            lines.missed(),
            ["dce, deep at 1000: 90.00 natively, 180.50 as wasm, ns/instruction (asked <= 150)"]
        );
        assert!(lines.text().contains("<= 150  MISSED"), "{}", lines.text());
    }

    #[test]
    fn the_simulator_as_wasm_is_held_against_the_native_one() {
        let mut lines = Lines::new(measured(&["simulator, collatz\t-\t100\tM steps/s\t-"]));
        lines.beside(measured(&["simulator, collatz\t-\t65\tM steps/s\t-"]));
        assert_eq!(lines.missed(), ["simulator, collatz: - natively, 0.65 as wasm, wasm / native (asked >= 0.7)"]);
    }
}

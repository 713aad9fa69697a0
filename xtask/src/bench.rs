//! Measures speed, natively and as WebAssembly under Node, and prints both side by side.
//!
//! The benchmark is `core/benches/laboratory`, one program for both. Its WebAssembly goes the page's whole way, shrinking
//! included. It prints tab-separated lines: name, size, value, unit, what is asked. Of measurements taken at several
//! sizes the growth exponent is fitted as well, where they are times: 1 means that time grows as the program does. What is
//! not ours, as rows of LLVM's passes, is asked nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{progress, setup, site, tools, workspace};

#[derive(clap::Args)]
pub struct Options {
    /// Only measurements whose name contains this, `copy-prop, deep` for instance.
    filter: Option<String>,
}

/// The target with a clock and standard output; the code is the same as the page's.
const WASI: &str = "wasm32-wasip1";

const BENCHMARK: &str = "laboratory";

/// No more than linear, with some room for caches that a larger program no longer fits.
const EXPONENT_ASKED: f64 = 1.15;

/// Share of the native simulator's rate that is asked of WebAssembly.
const WASM_ASKED: f64 = 0.7;

/// Name and size identify a measurement.
type Key = (String, Option<u32>);

/// What one build measured.
#[derive(Default)]
struct Measurements {
    /// In the order in which they were taken.
    keys: Vec<Key>,
    rows: BTreeMap<Key, Row>,
}

#[derive(Clone)]
struct Row {
    value: f64,
    unit: String,
    asked: String,
}

/// Runs the benchmark in both builds and prints the table.
pub fn bench(options: &Options) -> Result<()> {
    setup::setup()?;
    let filter = options.filter.as_deref();
    let native = progress::step("measure natively", || native(filter))?;
    let wasm = wasm(filter)?;
    print!("{}", table(&native, &wasm));
    Ok(())
}

fn native(filter: Option<&str>) -> Result<Measurements> {
    let mut cargo = tools::cargo();
    cargo.args(["bench", "--quiet", "--locked", "--package", "warpscope-core", "--bench", BENCHMARK, "--"]);
    measure(cargo.args(filter))
}

fn wasm(filter: Option<&str>) -> Result<Measurements> {
    setup::compilation_target(WASI)?;
    let compiled = progress::step("compile the benchmark to WebAssembly", || {
        let messages = tools::read(tools::cargo().args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "warpscope-core",
            "--bench",
            BENCHMARK,
            "--target",
            WASI,
            "--profile",
            "wasm",
            "--message-format",
            "json-render-diagnostics",
        ]))?;
        executable(&messages).context("cargo did not say where it put the benchmark")
    })?;
    let shrunk = workspace::target().join("xtask/laboratory.wasm");
    std::fs::copy(compiled, &shrunk)?;
    progress::step("shrink the benchmark", || site::shrink(&shrunk))?;
    progress::step("measure under Node", || {
        let mut node = tools::node();
        node.args(["--no-warnings", "xtask/src/wasi.mjs"]).arg(&shrunk);
        measure(node.args(filter))
    })
}

/// The file that cargo's messages, one JSON object a line, name as the executable they built.
pub fn executable(messages: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    })
}

/// Runs the benchmark and reads its lines.
fn measure(command: &mut std::process::Command) -> Result<Measurements> {
    let mut measurements = Measurements::default();
    for line in tools::read(command)?.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, size, value, unit, asked] = fields[..] else {
            println!("    {line}");
            continue;
        };
        let key = (name.to_owned(), size.parse().ok());
        let row = Row {
            value: value.parse().with_context(|| format!("no number: {line}"))?,
            unit: unit.to_owned(),
            asked: asked.to_owned(),
        };
        measurements.keys.push(key.clone());
        measurements.rows.insert(key, row);
    }
    Ok(measurements)
}

impl Measurements {
    fn value(&self, key: &Key) -> Option<f64> {
        self.rows.get(key).map(|row| row.value)
    }

    /// The exponent with which the time of `name` grows: values are times a thing, so a constant value is exponent 1.
    /// The slope of the least-squares line through the logarithms.
    fn exponent(&self, name: &str) -> Option<f64> {
        let points: Vec<(f64, f64)> = self
            .rows
            .iter()
            .filter(|((other, _), row)| other == name && row.value > 0.0 && row.unit.starts_with("ns/"))
            .filter_map(|((_, size), row)| Some((f64::from((*size)?).ln(), row.value.ln())))
            .collect();
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
}

fn table(native: &Measurements, wasm: &Measurements) -> String {
    let width = native.keys.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text =
        format!("\n{:<width$} {:>8} {:>10} {:>10}  {:<26} {}\n", "", "size", "native", "wasm", "unit", "asked");
    let mut line = |name: &str, size: &str, values: [Option<f64>; 2], unit: &str, asked: &str| {
        line(&mut text, (name, width), size, values, unit, asked);
    };
    for (index, key) in native.keys.iter().enumerate() {
        let row = &native.rows[key];
        let values = [Some(row.value), wasm.value(key)];
        let size = key.1.map(|size| size.to_string()).unwrap_or_default();
        line(&key.0, &size, values, &row.unit, &row.asked);
        if let (true, Some(wasm)) = (key.0.starts_with("simulator, "), wasm.value(key)) {
            line("", "", [None, Some(wasm / row.value)], "wasm / native", &format!(">= {WASM_ASKED}"));
        }
        let last_of_name = native.keys.get(index + 1).is_none_or(|next| next.0 != key.0);
        if let (true, Some(exponent)) = (last_of_name, native.exponent(&key.0)) {
            let values = [Some(exponent), wasm.exponent(&key.0)];
            let asked = if key.0.contains("LLVM") { "-".to_owned() } else { format!("<= {EXPONENT_ASKED}") };
            line("", "", values, "growth exponent", &asked);
        }
    }
    text
}

fn line(
    text: &mut String,
    (name, width): (&str, usize),
    size: &str,
    values: [Option<f64>; 2],
    unit: &str,
    asked: &str,
) {
    let [native, wasm] = values.map(|value| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}")));
    let missed = values.into_iter().flatten().any(|value| misses(value, asked));
    let verdict = match (asked, missed) {
        ("-", _) => String::new(),
        (asked, false) => asked.to_owned(),
        (asked, true) => format!("{asked}  MISSED"),
    };
    let written = writeln!(text, "{name:<width$} {size:>8} {native:>10} {wasm:>10}  {unit:<26} {verdict}");
    written.expect("writing to a string does not fail");
}

/// Whether `value` is on the wrong side of what is asked: `<= 60`, `>= 0.6`, or nothing, `-`.
fn misses(value: f64, asked: &str) -> bool {
    match asked.split_once(' ') {
        Some(("<=", limit)) => limit.parse().is_ok_and(|limit: f64| value > limit),
        Some((">=", limit)) => limit.parse().is_ok_and(|limit: f64| value < limit),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Measurements, Row, misses, table};

    #[test]
    fn quadratic_work_has_exponent_two() {
        let mut measurements = Measurements::default();
        for size in [1000, 10_000, 100_000] {
            let row = Row { value: f64::from(size) * 3.0, unit: "ns/instruction".to_owned(), asked: "-".to_owned() };
            measurements.rows.insert(("pass".to_owned(), Some(size)), row);
        }
        let exponent = measurements.exponent("pass").expect("three points make a line");
        assert!((exponent - 2.0).abs() < 1e-9, "{exponent}");
    }

    #[test]
    fn counts_have_no_exponent() {
        let mut measurements = Measurements::default();
        for size in [1000, 10_000] {
            let row = Row { value: f64::from(size), unit: "instructions".to_owned(), asked: "-".to_owned() };
            measurements.rows.insert(("pass leaves".to_owned(), Some(size)), row);
        }
        assert_eq!(measurements.exponent("pass leaves"), None);
    }

    #[test]
    fn the_growth_of_what_is_not_ours_is_not_judged() {
        let mut measurements = Measurements::default();
        for name in ["redundancy: gvn-cse", "redundancy: LLVM's gvn"] {
            for size in [1000_u32, 10_000] {
                let row = Row { value: f64::from(size), unit: "ns/instruction".to_owned(), asked: "<= 150".to_owned() };
                let key = (name.to_owned(), Some(size));
                measurements.keys.push(key.clone());
                measurements.rows.insert(key, row);
            }
        }
        let table = table(&measurements, &Measurements::default());
        let growth: Vec<bool> =
            table.lines().filter(|line| line.contains("exponent")).map(|line| line.contains("MISSED")).collect();
        assert_eq!(growth, [true, false], "{table}");
    }

    #[test]
    fn both_directions_of_what_is_asked_are_understood() {
        assert!(misses(61.0, "<= 60") && !misses(60.0, "<= 60"));
        assert!(misses(0.59, ">= 0.6") && !misses(0.6, ">= 0.6"));
        assert!(!misses(1.0, "-"));
    }
}

//! Value name graphs and estimates, each knob as a word: `// test: estimate vng.window=2 exact`; of one instruction
//! with its place: `// test: vng at=body.1`.

use std::fmt::Write;

use libtest_mimic::Failed;
use warpscope_core::derive;
use warpscope_core::ir::{Func, Module};
use warpscope_core::machine::Machine;
use warpscope_core::pass::AnalysisSettings;
use warpscope_core::report::{
    DemandReport, EstimateError, EstimateReport, EstimateRequest, ExactRuns, ValueEvents, VngReport,
};
use warpscope_core::sim::Settings;

use crate::Golden;

/// Begins the word that names one instruction.
const AT: &str = "at=";

/// The names of each function and where its users' values come from; `events` shows the steps in their place.
pub fn names(golden: &Golden, module: &Module) -> Result<String, Failed> {
    let settings = settings(golden, &["vng"])?;
    let mut text = String::new();
    if golden.words.iter().any(|word| word == "events") {
        module.funcs.keys().for_each(|func| text.push_str(&events(&ValueEvents::of_graph(module, func, &settings))));
        return Ok(text);
    }
    let demands: Vec<&str> = golden.words.iter().filter_map(|word| word.strip_prefix(AT)).collect();
    for func in module.funcs.keys() {
        for at in &demands {
            match DemandReport::new(module, func, &settings, at) {
                Ok(report) => _ = write!(text, "{report}"),
                Err(message) => _ = writeln!(text, "error: {message}"),
            }
        }
        if !demands.is_empty() {
            continue;
        }
        let report = VngReport::new(module, func, &settings);
        let growth: Vec<String> = report.growth.iter().map(|growth| growth.names.to_string()).collect();
        let separable = if report.separable { ", separable" } else { "" };
        let _ = writeln!(
            text,
            "{}: {} registers; {} names in {} classes, {} splits{separable}; names for windows 1 to 4: {}",
            report.kernel,
            report.registers,
            report.names,
            report.classes,
            report.splits,
            growth.join(" ")
        );
        for seed in &report.seeds {
            let constant = seed.constant.as_ref().map_or_else(String::new, |constant| format!(" = {constant}"));
            let available = seed.availability.unwrap_or("-");
            let place = format!("{}.{}", seed.block, seed.index);
            let name = &seed.name;
            let _ = writeln!(text, "  {place:<10} {:<9} available {available:<4} {name}{constant}", seed.kind);
        }
        for value in &report.values {
            let _ = writeln!(text, "  value {}", value.id);
            for name in &value.names {
                let from = name
                    .from
                    .iter()
                    .map(|source| format!("{} in {}", source.name.as_deref().unwrap_or("nothing"), source.block));
                let from: Vec<String> = from.collect();
                let _ = writeln!(text, "    {} in {} from {}", name.name, name.block, from.join(", "));
            }
        }
        report.remarks.iter().for_each(|remark| _ = writeln!(text, "  {}: {}", remark.rule, remark.message));
    }
    Ok(text)
}

/// The steps of an analysis, a line each.
fn events(events: &ValueEvents) -> String {
    let mut text = String::new();
    for event in &events.events {
        let _ = writeln!(text, "{} {} ({}): {}", event.seq, event.kind, event.rule, event.why);
    }
    text
}

/// The bounds of each function; `exact` runs its kernels, and takes the counts from there; `network` adds flow
/// networks, and `events` shows the steps in their place.
pub fn estimates(golden: &Golden, module: &Module) -> Result<String, Failed> {
    let settings = settings(golden, &["vng", "estimate"])?;
    let mut module = module.clone();
    let kernels: Vec<(Func, Settings)> = module.kernels().map(|kernel| (kernel, Settings::default())).collect();
    let launched = module.clone();
    let runs = golden.words.iter().any(|word| word == "exact").then(|| {
        let mut launched = launched;
        let ids: Vec<Func> = launched.kernels().collect();
        derive::derive_launches(&mut launched, &ids);
        launched
    });
    let exact = runs.as_ref().map(|module| ExactRuns { module, kernels: &kernels, machine: Machine::default() });
    let measured = exact.as_ref().map(|exact| exact.declare_profile(&mut module)).transpose();
    let measured = measured.map_err(|error| error.to_string())?;
    let has_networks = golden.words.iter().any(|word| word == "network");
    let request = EstimateRequest {
        settings: &settings,
        profile: "declared",
        measured: measured.as_ref(),
        runs: exact.as_ref(),
        has_networks,
        has_events: golden.words.iter().any(|word| word == "events"),
    };
    let mut text = String::new();
    for func in module.funcs.keys() {
        match EstimateReport::new(&module, func, &request) {
            Ok(report) => text.push_str(&report.events.as_ref().map_or_else(|| estimate(&report), events)),
            Err(EstimateError::NoProfile(message) | EstimateError::Profile(message)) => {
                _ = writeln!(text, "error: {message}")
            }
            Err(EstimateError::Run(error)) => return Err(error.to_string().into()),
        }
    }
    Ok(text)
}

fn estimate(report: &EstimateReport) -> String {
    let exact = |exact: Option<u64>| exact.map_or_else(String::new, |count| format!(", exact {count}"));
    let mut text = format!(
        "{}: {} runs, {} users, definite {}, expected {:.4}{}\n",
        report.kernel,
        report.runs,
        report.users,
        report.definite,
        report.expected,
        exact(report.exact)
    );
    let interval = |(low, high): (u64, u64)| format!("{low}–{high}");
    for (name, &bounds) in &report.bounds {
        let _ = writeln!(text, "  {name:<5} {}", interval(bounds));
    }
    let _ = writeln!(text, "  best  {}", interval(report.best));
    for value in &report.values {
        let region = &value.region;
        let _ = writeln!(
            text,
            "  value {} {}: {} users, definite {}, {} subregions, duplicated {} and {}",
            value.id,
            value.name,
            value.users,
            value.definite,
            region.subregions,
            region.duplicated[0],
            region.duplicated[1]
        );
        for entry in &region.entries {
            let sign = if entry.available { '+' } else { '−' };
            let from = entry.from.as_deref().unwrap_or("nowhere");
            let _ = writeln!(text, "    En{sign} {from} -> {} {}: {}", entry.to, entry.name, entry.count);
        }
        for exit in &region.exits {
            let sign = if exit.needed { '+' } else { '−' };
            let to = exit.to.as_deref().unwrap_or("the end");
            let _ = writeln!(text, "    Ex{sign} {} -> {to} {}: {}", exit.from, exit.name, exit.count);
        }
    }
    let networks = report.values.iter().filter_map(|value| Some((value, value.networks.as_ref()?)));
    for (value, network) in networks.flat_map(|(value, networks)| networks.iter().map(move |network| (value, network)))
    {
        let sign = if network.available { '+' } else { '−' };
        let _ =
            writeln!(text, "  network of {}, subregion {}, {sign}: {}", value.name, network.subregion, network.flow);
        let node = |node: usize| {
            let node = &network.nodes[node];
            match &node.block {
                Some(block) => format!("{} {}", block, node.name.as_deref().unwrap_or_default()),
                None => node.kind.to_string(),
            }
        };
        for (place, edge) in network.edges.iter().enumerate() {
            let cut = if network.cut.contains(&place) { ", cut" } else { "" };
            let (from, to) = (node(edge.from), node(edge.to));
            let _ = writeln!(text, "    {from} -> {to}: {} of {}{cut}", edge.flow, edge.capacity);
        }
    }
    for user in &report.instructions {
        let pre = interval(user.pre);
        let place = format!("{}.{}", user.block, user.index);
        let _ = writeln!(
            text,
            "  {place:<10} {:<4} {pre} of {}, expected {:.4}{} {}",
            user.availability,
            user.executions,
            user.expected,
            exact(user.exact),
            user.name
        );
    }
    report.remarks.iter().for_each(|remark| _ = writeln!(text, "  {}: {}", remark.rule, remark.message));
    text
}

fn settings(golden: &Golden, analyses: &[&str]) -> Result<AnalysisSettings, Failed> {
    let mut settings = AnalysisSettings::default();
    let is_knob = |word: &&String| !["exact", "network", "events"].contains(&word.as_str()) && !word.starts_with(AT);
    for word in golden.words.iter().filter(is_knob) {
        settings.set(analyses, word)?;
    }
    Ok(settings)
}

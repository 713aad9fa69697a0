//! Laws for any bytes at all: nothing panics, nothing runs away, and what is accepted is understood.
//!
//! The fuzz targets call these functions, and so do the tests that replay `corpus/`.

use warpscope_core::derive;
use warpscope_core::ir::{Func, Module};
use warpscope_core::machine::Machine;
use warpscope_core::pass::{AnalysisSettings, PASSES, Step};
use warpscope_core::profile::Profile;
use warpscope_core::report::{EstimateReport, EstimateRequest, ExactRuns, VngReport};
use warpscope_core::sim::Settings;
use warpscope_core::text::{Parsed, print};
use warpscope_core::{link, ptx, verify};

use crate::laws;

/// Instructions of a program that is put through the passes; larger ones are only read.
const MOST_INSTRUCTIONS: usize = 2_000;

/// A `.wir` text: errors lie inside it; a good program survives printing and every pass.
pub fn wir(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let parsed = verify::check(source);
    let _ = print(&parsed.module);
    let _ = verify::verify(&parsed.module);
    places_are_inside(source, &parsed);
    if !parsed.has_errors() {
        hold(laws::print_then_parse_is_identity(source).map(drop));
        passes_are_sound(&parsed.module);
    }
}

/// A PTX text: errors lie inside it; what was loaded can be printed, and is a good program unless
/// the verifier says that the PTX itself reads what it never wrote.
pub fn ptx(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let imported = ptx::import(source);
    places_are_inside(source, &imported);
    let mut errors = verify::verify(&imported.module);
    errors.retain(|diagnostic| diagnostic.is_error());
    assert!(errors.iter().all(|error| error.code == "unassigned-read"), "{errors:?}");
    if !errors.is_empty() {
        return;
    }
    hold(laws::print_then_parse_is_identity(&print(&imported.module)).map(drop));
    passes_are_sound(&imported.module);
    let _ = ptx::export(&imported.module);
}

/// A link, or what stands inside one.
pub fn link(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let [first, second] = ["v1.d:", "v2."].map(|version| link::decode(&format!("#{version}{text}")));
    let documents = [link::decode(text), first, second, link::from_json(text)];
    for document in documents.into_iter().flatten() {
        match link::encode(&document) {
            Ok(link) => assert_eq!(link::decode(&link), Ok(document)),
            Err(error) => assert_eq!(error, link::LinkError::TooLarge),
        }
    }
}

/// A `.wir` text: its value name graphs have as many values as they say, and are the same again.
pub fn vng(data: &[u8]) {
    let Some(module) = small_program(data) else { return };
    for knobs in [&[][..], &["vng.seeds=all", "vng.window=4", "vng.depth=4", "vng.dereference=2"], &NARROW] {
        let settings = settings(knobs);
        for func in module.funcs.keys() {
            let report = VngReport::new(&module, func, &settings);
            assert_eq!(report, VngReport::new(&module, func, &settings));
            assert!(report.seeds.iter().all(|seed| seed.value.is_none_or(|value| value < report.values.len())));
        }
    }
}

/// A `.wir` text: its estimates by declared profiles have bounds in order. Those by runs of its kernels hold, and
/// flags at regions count what flags everywhere count.
pub fn estimate(data: &[u8]) {
    let Some(mut module) = small_program(data) else { return };
    estimates_are_in_order(&module, None, None);
    let mut launched = module.clone();
    let kernels: Vec<Func> = launched.kernels().collect();
    derive::derive_launches(&mut launched, &kernels);
    let short = Settings { fuel: MOST_FUEL, ..Settings::default() };
    let kernels: Vec<(Func, Settings)> = kernels.into_iter().map(|kernel| (kernel, short.clone())).collect();
    let runs = ExactRuns { module: &launched, kernels: &kernels, machine: Machine::default() };
    if let Ok(measured) = runs.declare_profile(&mut module) {
        estimates_are_in_order(&module, Some(&measured), Some(&runs));
    }
}

/// Warp instructions of a run.
const MOST_FUEL: u64 = 50_000;

/// Knobs with which analyses reach their limits.
const NARROW: [&str; 4] = ["vng.names=7", "vng.vertices=9", "vng.kills=none", "vng.synonyms=false"];

fn estimates_are_in_order(module: &Module, measured: Option<&Profile>, runs: Option<&ExactRuns<'_>>) {
    for knobs in [&[][..], &["estimate.from=paths"], &["vng.seeds=all", "vng.kills=none"], &NARROW] {
        let settings = settings(knobs);
        let request = EstimateRequest {
            settings: &settings,
            profile: "declared",
            measured,
            runs,
            has_networks: true,
            has_events: true,
        };
        for func in module.funcs.keys() {
            let Ok(report) = EstimateReport::new(module, func, &request) else { continue };
            for (name, &(low, high)) in report.bounds.iter().chain([(&"best", &report.best)]) {
                assert!(low <= high && high <= report.users, "{name}: {low} to {high} of {}", report.users);
                let exact = report.exact.unwrap_or(low);
                assert!(low <= exact && exact <= high, "{name}: {low} to {high}, exactly {exact}");
            }
            assert_eq!(report.exact, report.correlation.map(|correlation| correlation.count));
        }
    }
}

fn settings(knobs: &[&str]) -> AnalysisSettings {
    let mut settings = AnalysisSettings::default();
    for knob in knobs {
        settings.set(&["vng", "estimate"], knob).expect("a knob of the list");
    }
    settings
}

/// A program without errors that is small enough to be analysed.
fn small_program(data: &[u8]) -> Option<Module> {
    let source = std::str::from_utf8(data).ok()?;
    let parsed = verify::check(source);
    let instructions: usize = parsed.module.funcs.values().map(|func| func.inst_count()).sum();
    (!parsed.has_errors() && instructions <= MOST_INSTRUCTIONS).then_some(parsed.module)
}

fn places_are_inside(source: &str, parsed: &Parsed) {
    for diagnostic in &parsed.diagnostics {
        let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
        assert!(start <= end && end <= source.len(), "{diagnostic:?}");
        assert!(!diagnostic.render("input", source).is_empty());
    }
}

fn passes_are_sound(module: &Module) {
    let instructions: usize = module.funcs.values().map(|func| func.inst_count()).sum();
    if instructions > MOST_INSTRUCTIONS {
        return;
    }
    for pass in PASSES {
        let step = Step::new(pass.info.name).expect("the list knows its passes");
        hold(laws::every_step_is_sound(module, &[step], pass.info.needs_fast_math).map(drop));
    }
}

fn hold(law: laws::Law) {
    if let Err(broken) = law {
        panic!("{broken}");
    }
}

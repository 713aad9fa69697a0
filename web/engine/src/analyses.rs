//! The npm package's analyses: value name graphs and estimates, as the command line's `--json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpscope_core::derive;
use warpscope_core::ir::{Func, Module};
use warpscope_core::load::Dialect;
use warpscope_core::pass::AnalysisSettings;
use warpscope_core::report::{EstimateError, EstimateReport, EstimateRequest, ExactRuns, VngReport};
use warpscope_core::sim::{self, Settings};

use crate::api::{Failure, ProfileSource, RUN_OPTIONS, RunOptions, answer, load, plain, refuse_unknown};

/// The value name graphs of a program's functions.
pub fn vng(source: &str, options: &str) -> String {
    answer(options, |options: VngOptions| {
        refuse_unknown(&options.unknown, &[ANALYSIS_OPTIONS])?;
        let analysis = options.analysis;
        let settings = analysis.settings(&["vng"])?;
        let module = load(source, analysis.from)?;
        let funcs = analysis.functions(&module)?;
        let reports = funcs.into_iter().map(|func| VngReport::new(&module, func, &settings)).collect();
        Ok(analysis.documents(reports))
    })
}

/// The estimates of a program's functions. Those whose profile is not one of whole runs are left out, unless all are.
pub fn estimate(source: &str, options: &str) -> String {
    answer(options, |options: EstimateOptions| {
        refuse_unknown(&options.unknown, &[ANALYSIS_OPTIONS, ESTIMATE_OPTIONS, RUN_OPTIONS])?;
        let EstimateOptions { profile, exact, network, analysis, run, .. } = options;
        let settings = analysis.settings(&["vng", "estimate"])?;
        let mut module = load(source, analysis.from)?;
        let funcs = analysis.functions(&module)?;
        let is_simulated = exact || profile == ProfileSource::Simulate;
        let (launched, kernels) = launched(&module, &run)?;
        let runs = ExactRuns { module: &launched, kernels: &kernels, machine: run.machine()? };
        let measured = is_simulated.then(|| runs.declare_profile(&mut module)).transpose();
        let measured = measured.map_err(|error| Failure::new(error.to_string()))?;
        let request = EstimateRequest {
            settings: &settings,
            profile: if is_simulated { "simulated" } else { "declared" },
            measured: measured.as_ref(),
            runs: exact.then_some(&runs),
            has_networks: network,
            has_events: false,
        };
        let (mut reports, mut refusals, mut is_wrong) = (Vec::new(), Vec::new(), false);
        for func in funcs {
            match EstimateReport::new(&module, func, &request) {
                Ok(report) => reports.push(report),
                Err(EstimateError::NoProfile(message)) => refusals.push(message),
                Err(EstimateError::Profile(message)) => {
                    is_wrong = true;
                    refusals.push(message);
                }
                Err(EstimateError::Run(error)) => return Err(Failure::new(error.to_string())),
            }
        }
        if is_wrong || reports.is_empty() && !refusals.is_empty() {
            return Err(Failure::new(refusals.join("\n")));
        }
        Ok(analysis.documents(reports))
    })
}

/// The program with complete launches, and its kernels with the settings over these.
fn launched(module: &Module, run: &RunOptions) -> Result<(Module, Vec<(Func, Settings)>), Failure> {
    let mut launched = module.clone();
    run.replace_launches(&mut launched)?;
    let kernels: Vec<Func> = launched.kernels().collect();
    derive::derive_launches(&mut launched, &kernels);
    let settings = sim::settings_of(&run.settings()?, &launched, &kernels).map_err(Failure::new)?;
    derive::resize_launches(&mut launched, &kernels, &settings);
    Ok((launched, kernels.into_iter().zip(settings).collect()))
}

#[derive(Deserialize)]
struct AnalysisOptions {
    #[serde(default)]
    from: Dialect,
    kernel: Option<String>,
    seeds: Option<String>,
    window: Option<Value>,
    #[serde(default)]
    knobs: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct VngOptions {
    #[serde(flatten)]
    analysis: AnalysisOptions,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct EstimateOptions {
    #[serde(default)]
    profile: ProfileSource,
    #[serde(default)]
    exact: bool,
    #[serde(default)]
    network: bool,
    #[serde(flatten)]
    analysis: AnalysisOptions,
    #[serde(flatten)]
    run: RunOptions,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

const ANALYSIS_OPTIONS: &[&str] = &["from", "kernel", "seeds", "window", "knobs"];
const ESTIMATE_OPTIONS: &[&str] = &["profile", "exact", "network"];

/// Documents as the command line prints them.
#[derive(Serialize)]
#[serde(untagged)]
enum Documents<R> {
    /// The document of a named function.
    One(R),
    /// The documents of all functions.
    List(Vec<R>),
}

impl AnalysisOptions {
    /// The knobs of these analyses.
    fn settings(&self, analyses: &[&str]) -> Result<AnalysisSettings, Failure> {
        let mut settings = AnalysisSettings::default();
        let seeds = self.seeds.iter().map(|seeds| format!("vng.seeds={seeds}"));
        let window = self.window.iter().map(|window| format!("vng.window={}", plain(window)));
        let knobs = self.knobs.iter().map(|(knob, value)| format!("{knob}={}", plain(value)));
        for setting in seeds.chain(window).chain(knobs) {
            settings.set(analyses, &setting).map_err(Failure::new)?;
        }
        Ok(settings)
    }

    /// The function that is named, or all of them.
    fn functions(&self, module: &Module) -> Result<Vec<Func>, Failure> {
        let Some(name) = &self.kernel else { return Ok(module.funcs.keys().collect()) };
        let named = module.func_by_name(name);
        let message = || Failure::new(format!("the program has no kernel or function `{name}`"));
        Ok(Vec::from([named.ok_or_else(message)?]))
    }

    fn documents<R>(&self, mut reports: Vec<R>) -> Documents<R> {
        match self.kernel {
            Some(_) if reports.len() == 1 => Documents::One(reports.remove(0)),
            _ => Documents::List(reports),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{estimate, vng};
    use serde_json::{Value, json};

    const SOURCE: &str = "kernel k(x: ptr.global restrict, o: ptr.global restrict) {
entry:
    i = mov.u32 %tid
    a = ld.global.u32 x[i]
    p = setp.lt.u32 i, 8
    br p, again, done
again:
    b = ld.global.u32 x[i]
    c = add.u32 a, b
    st.global.u32 o[i], c
    br done
done:
    ret
    profile edge {
        entry -> again: 8
        entry -> done: 24
        again -> done: 8
    }
}
launch k {
    block 32
    x = buffer u32[32] iota
    o = buffer u32[32] const 0
}
";

    fn read(answer: &str) -> Value {
        serde_json::from_str(answer).unwrap()
    }

    #[test]
    fn names_come_as_one_document_or_a_list() {
        let all = read(&vng(SOURCE, r#"{"window": 2}"#));
        assert_eq!(all["ok"][0]["knobs"]["window"], json!(2));
        assert_eq!(all["ok"][0]["knobs"]["synonyms"], json!(true));
        let one = read(&vng(SOURCE, r#"{"kernel": "k", "knobs": {"vng.kills": "none"}}"#));
        assert_eq!(one["ok"]["seeds"][1]["availability"], json!("must"));
        let wrong = read(&vng(SOURCE, r#"{"kernels": "k"}"#));
        assert_eq!(wrong["error"]["message"], json!("the options: unknown option `kernels`: did you mean `kernel`?"));
    }

    #[test]
    fn estimates_are_those_of_runs() {
        let declared = read(&estimate(SOURCE, r#"{"kernel": "k", "knobs": {"estimate.estimators": ["cmp2"]}}"#));
        assert_eq!(declared["ok"]["bounds"], json!({"cmp2": [8, 8]}));
        assert_eq!(declared["ok"]["knobs"]["estimators"], json!(["cmp2"]));
        let options = r#"{"kernel": "k", "exact": true, "network": true, "grid": 2}"#;
        let counted = read(&estimate(SOURCE, options));
        assert_eq!(counted["ok"]["profile"], json!("simulated"));
        assert_eq!(counted["ok"]["exact"], json!(16));
        assert_eq!(counted["ok"]["correlation"]["count"], json!(16));
        assert_eq!(counted["ok"]["values"][0]["networks"], json!([]));
        let none = read(&estimate(&SOURCE.replace("profile edge", "profile path").replace(" ->", ""), "{}"));
        let message = none["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("has no edge profile"), "{none}");
    }
}

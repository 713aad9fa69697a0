//! The npm package's functions: a source and options in, the answer out, both as JSON. The answers are those of the
//! command line's `--json`; each is wrapped, `{ "ok": … }` or `{ "error": { "message", "diagnostics" } }`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpscope_core::derive;
use warpscope_core::ir::{Func, FuncKind, Function, Launch, Module};
use warpscope_core::load::{self, Dialect};
use warpscope_core::machine::Machine;
use warpscope_core::pass::{ANALYSES, PASSES, Size, Step, apply_knob, guard_loads, parse_pipeline};
use warpscope_core::profile::{self, Profile};
use warpscope_core::report::{self, InspectReport, InspectRequest, OptimizeReport, Wanted};
use warpscope_core::session::{self, Session};
use warpscope_core::text::{self, LineIndex};
use warpscope_core::{ptx, sim};

use crate::program::{replace_launches, utf16_offset};

/// Reads a program: what is wrong with it, its canonical text and its kernels.
pub fn parse(source: &str, options: &str) -> String {
    answer(options, |options: ParseOptions| {
        let loaded = load::load(source, options.from);
        let kernels = loaded.module.funcs.values().filter(|func| func.kind == FuncKind::Kernel);
        Ok(Parsed {
            diagnostics: describe(&loaded.diagnostics, source),
            kernels: kernels.map(|func| Kernel::new(func, &loaded.module)).collect(),
            text: (!loaded.has_errors()).then(|| text::print(&loaded.module)),
        })
    })
}

/// Runs passes over a program. `clock` gives microseconds for the report.
pub fn optimize(source: &str, options: &str, clock: &mut dyn FnMut() -> u64) -> String {
    answer(options, |options: OptimizeOptions| {
        refuse_unknown(&options.unknown, &[OPTIMIZE_OPTIONS, RUN_OPTIONS])?;
        let (emit, plain_loads) = (options.emit, options.plain_loads);
        let (session, launch) = open(source, options, clock)?;
        let text = match emit {
            Dialect::Wir => text::print(session.module()),
            Dialect::Ptx => emit_ptx(session.module(), plain_loads)?,
        };
        Ok(OptimizeReport { launch, ..OptimizeReport::new(&session, text) })
    })
}

/// Runs passes over a program, and inspects them or the program after them.
pub fn inspect(source: &str, options: &str) -> String {
    answer(options, |options: InspectOptions| {
        let InspectOptions { stop, analysis, choices, optimize } = options;
        refuse_unknown(&optimize.unknown, &[INSPECT_OPTIONS, RUN_OPTIONS])?;
        if let Some(name) = analysis.as_ref().filter(|name| !ANALYSES.iter().any(|analysis| analysis.name == **name)) {
            let names = ANALYSES.map(|analysis| analysis.name).join(", ");
            return Err(Failure::new(format!("no analysis `{name}`; there is {names}")));
        }
        let (kernel, is_measured) = (optimize.kernel.clone(), optimize.profile == ProfileSource::Simulate);
        let choices = choices.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
        let (mut session, _) = open(source, optimize, &mut || 0)?;
        let request = InspectRequest {
            kernel: kernel.as_deref(),
            stop,
            analysis: analysis.as_deref(),
            choices,
            source,
            is_measured,
        };
        Ok(InspectReport::new(&mut session, request))
    })
}

/// Runs the passes. The text of its launches comes with a session whose program is to be printed as PTX.
fn open(
    source: &str,
    options: OptimizeOptions,
    clock: &mut dyn FnMut() -> u64,
) -> Result<(Session, Option<String>), Failure> {
    let mut module = load(source, options.from)?;
    if let Some(name) = &options.kernel
        && module.func_by_name(name).is_none()
    {
        return Err(Failure::new(format!("the program has no kernel or function `{name}`")));
    }
    let mut steps = options.steps()?;
    if options.emit == Dialect::Ptx {
        guard_loads(&mut steps);
    }
    let mut launched = module.clone();
    options.run.replace_launches(&mut launched)?;
    let kernels: Vec<Func> = launched.kernels().collect();
    derive::derive_launches(&mut launched, &kernels);
    let launch = (options.emit == Dialect::Ptx).then(|| text::print_launches(launched.launches.clone()));
    if options.run.launch.is_none() {
        module = launched;
    }
    let launches = tell_of_runs(&mut module, &options)?;
    let options_of_session =
        session::Options { steps, fast_math: options.fast_math, only: options.kernel, launches: Some(launches) };
    let session = Session::open(module, &options_of_session, clock);
    if let Some(error) = session.reports().iter().find_map(|report| report.error.as_ref()) {
        return Err(Failure::new(error.message.clone()));
    }
    Ok((session, launch))
}

/// The program as PTX, unless it says what PTX cannot.
fn emit_ptx(module: &Module, plain_loads: bool) -> Result<String, Failure> {
    let export = ptx::export(module);
    if let Some(error) = export.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        return Err(Failure::new(error.message.clone()));
    }
    if plain_loads || export.plain_loads.is_empty() {
        return Ok(export.text);
    }
    let loads: Vec<String> = export.plain_loads.iter().map(ToString::to_string).collect();
    Err(Failure::new(format!(
        "PTX has no load that must not fault: {}; set the knob `faulting` of the pass that made it to `guarded` or `never`, \
         or `plainLoads: true` to print ordinary loads",
        loads.join("; ")
    )))
}

/// Runs a program's launch.
pub fn simulate(source: &str, options: &str) -> String {
    answer(options, |options: SimulateOptions| {
        refuse_unknown(&options.unknown, &[SIMULATE_OPTIONS, RUN_OPTIONS])?;
        let mut module = load(source, options.from)?;
        options.run.replace_launches(&mut module)?;
        let (settings, machine) = (options.run.settings()?, options.run.machine()?);
        let wanted = Wanted { dump: options.dump, profile: options.profile };
        report::find_kernel(&module, options.kernel.as_deref())
            .and_then(|kernel| report::simulate(&module, kernel, &settings, machine, wanted))
            .map_err(|error| Failure::new(error.to_string()))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParseOptions {
    #[serde(default)]
    from: Dialect,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OptimizeOptions {
    #[serde(default)]
    from: Dialect,
    #[serde(default)]
    passes: Passes,
    kernel: Option<String>,
    #[serde(default)]
    knobs: BTreeMap<String, Value>,
    #[serde(default)]
    fast_math: bool,
    #[serde(default)]
    emit: Dialect,
    #[serde(default)]
    plain_loads: bool,
    #[serde(default)]
    profile: ProfileSource,
    #[serde(flatten)]
    run: RunOptions,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct InspectOptions {
    stop: Option<usize>,
    analysis: Option<String>,
    #[serde(default)]
    choices: BTreeMap<String, Value>,
    #[serde(flatten)]
    optimize: OptimizeOptions,
}

#[derive(Deserialize)]
struct SimulateOptions {
    #[serde(default)]
    from: Dialect,
    kernel: Option<String>,
    #[serde(default)]
    dump: bool,
    #[serde(default)]
    profile: bool,
    #[serde(flatten)]
    run: RunOptions,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// On what a kernel is run, with what; named as on the command line.
#[derive(Deserialize)]
pub(crate) struct RunOptions {
    launch: Option<String>,
    machine: Option<String>,
    seed: Option<Value>,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    grid: Option<Value>,
    block: Option<Value>,
    warp: Option<Value>,
    fuel: Option<Value>,
}

/// The names of the options, for who mistypes one.
pub(crate) const RUN_OPTIONS: &[&str] = &["launch", "machine", "seed", "set", "grid", "block", "warp", "fuel"];
const OPTIMIZE_OPTIONS: &[&str] = &["from", "passes", "kernel", "knobs", "fastMath", "emit", "plainLoads", "profile"];
const INSPECT_OPTIONS: &[&str] =
    &["from", "passes", "kernel", "knobs", "fastMath", "profile", "stop", "analysis", "choices"];
const SIMULATE_OPTIONS: &[&str] = &["from", "kernel", "dump", "profile"];

/// Source of the frequencies for profile-driven passes.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProfileSource {
    /// From the program's `profile` blocks.
    #[default]
    Declared,
    /// Measured by running the kernels first.
    Simulate,
}

/// A pipeline as one text or as a list of its entries.
#[derive(Deserialize)]
#[serde(untagged)]
enum Passes {
    Text(String),
    List(Vec<String>),
}

#[derive(Serialize)]
struct Parsed {
    diagnostics: Vec<Diagnostic>,
    text: Option<String>,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Diagnostic {
    code: &'static str,
    severity: text::Severity,
    line: u32,
    column: u32,
    from: usize,
    to: usize,
    message: String,
    hint: Option<String>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    params: Vec<Param>,
    #[serde(flatten)]
    size: Size,
    launch: bool,
}

#[derive(Serialize)]
struct Param {
    name: String,
    #[serde(rename = "type")]
    ty: String,
}

/// Why there is no answer.
#[derive(Serialize)]
pub(crate) struct Failure {
    message: String,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer<T> {
    Ok(T),
    Error(Failure),
}

impl Default for Passes {
    fn default() -> Passes {
        Passes::List(Vec::new())
    }
}

impl Passes {
    fn text(&self) -> String {
        match self {
            Passes::Text(text) => text.clone(),
            Passes::List(entries) => entries.join(","),
        }
    }
}

impl OptimizeOptions {
    /// The passes with their knobs.
    fn steps(&self) -> Result<Vec<Step>, Failure> {
        let mut steps = parse_pipeline(&self.passes.text()).map_err(|error| {
            let names = || PASSES.iter().map(|pass| pass.info.name).collect::<Vec<_>>().join(", ");
            Failure::new(if error.wants_names {
                format!("{}: there is {}", error.message, names())
            } else {
                error.message
            })
        })?;
        for (knob, value) in &self.knobs {
            apply_knob(&mut steps, &format!("{knob}={}", plain(value))).map_err(|error| Failure::new(error.message))?;
        }
        Ok(steps)
    }

    /// The kernel that is named, or all of them. A function runs through its callers.
    fn kernels(&self, module: &Module) -> Vec<Func> {
        let named = |&kernel: &Func| self.kernel.as_ref().is_some_and(|name| module.funcs[kernel].name == *name);
        module.kernels().find(named).map_or_else(|| module.kernels().collect(), |kernel| vec![kernel])
    }
}

impl RunOptions {
    /// As the command line's options: each is a setting of that name.
    pub(crate) fn settings(&self) -> Result<sim::Settings, Failure> {
        let mut settings = sim::Settings::default();
        let named = [
            ("seed", &self.seed),
            ("grid", &self.grid),
            ("block", &self.block),
            ("warp", &self.warp),
            ("fuel", &self.fuel),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (name, value) in named.chain(self.set.iter().map(|(name, value)| (name.as_str(), value))) {
            settings.set(&format!("{name}={}", plain(value))).map_err(Failure::new)?;
        }
        Ok(settings)
    }

    pub(crate) fn machine(&self) -> Result<Machine, Failure> {
        let Some(name) = &self.machine else { return Ok(Machine::default()) };
        Machine::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Machine::ALL.iter().map(|machine| machine.name()).collect();
            Failure::new(format!("unknown machine `{name}`: there is {}", names.join(", ")))
        })
    }

    /// Lets the program have the launches of the other text, if there is one, in place of its own.
    pub(crate) fn replace_launches(&self, module: &mut Module) -> Result<(), Failure> {
        let Some(launch) = &self.launch else { return Ok(()) };
        // Only read, not verified: its kernels stand in the other text.
        let other = text::parse(launch).into_result().map_err(|found| Failure::mistakes("launch", launch, &found))?;
        let launches = sim::launches_for(module, &other);
        replace_launches(module, launches);
        Ok(())
    }
}

impl Kernel {
    fn new(func: &Function, module: &Module) -> Kernel {
        let params = func.params.iter().map(|param| Param { name: param.name.clone(), ty: param.ty.to_string() });
        Kernel {
            name: func.name.clone(),
            params: params.collect(),
            size: Size::of(module, |other| other.name == func.name),
            launch: module.launches.iter().any(|launch| launch.kernel == func.name),
        }
    }
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), diagnostics: Vec::new() }
    }

    /// Mistakes in a text, told as the command line does.
    fn mistakes(name: &str, source: &str, diagnostics: &[text::Diagnostic]) -> Failure {
        let lines = LineIndex::new(source);
        let rendered = diagnostics.iter().map(|diagnostic| diagnostic.render_with(name, source, &lines));
        Failure { message: rendered.collect(), diagnostics: describe(diagnostics, source) }
    }
}

/// Runs kernels for their profiles, if that is asked for, and lets the program declare them. Gives the launches that passes
/// are told of; the program keeps its own.
fn tell_of_runs(module: &mut Module, options: &OptimizeOptions) -> Result<Vec<Launch>, Failure> {
    let (kernels, machine) = (options.kernels(module), options.run.machine()?);
    let settings = sim::settings_of(&options.run.settings()?, module, &kernels).map_err(Failure::new)?;
    let mut launched = module.clone();
    options.run.replace_launches(&mut launched)?;
    derive::resize_launches(&mut launched, &kernels, &settings);
    let failed = |error: sim::SimError| Failure::new(error.to_string());
    sim::settle_launches(&mut launched, &kernels, &settings).map_err(failed)?;
    if options.profile == ProfileSource::Simulate {
        let mut measured = Profile::new();
        for (&kernel, settings) in kernels.iter().zip(&settings) {
            let counts = report::measure(&launched, kernel, settings, machine).map_err(failed)?;
            profile::add(&mut measured, &counts);
        }
        profile::declare(module, &measured);
    }
    Ok(launched.launches)
}

/// An option of another name would do nothing, and nobody would know why.
pub(crate) fn refuse_unknown(unknown: &BTreeMap<String, Value>, known: &[&[&str]]) -> Result<(), Failure> {
    let Some(name) = unknown.keys().next() else { return Ok(()) };
    let all = || known.iter().copied().flatten().copied();
    let hint = match text::nearest(name, all()) {
        Some(other) => format!("did you mean `{other}`?"),
        None => format!("there is {}", all().collect::<Vec<_>>().join(", ")),
    };
    Err(Failure::new(format!("the options: unknown option `{name}`: {hint}")))
}

/// Reads the options, works, and wraps the result.
pub(crate) fn answer<'a, O: Deserialize<'a>, T: Serialize>(
    options: &'a str,
    work: impl FnOnce(O) -> Result<T, Failure>,
) -> String {
    let options = serde_json::from_str(options).map_err(|error| Failure::new(format!("the options: {error}")));
    let answer = match options.and_then(work) {
        Ok(value) => Answer::Ok(value),
        Err(failure) => Answer::Error(failure),
    };
    // Names and numbers: nothing that JSON cannot write.
    serde_json::to_string(&answer).unwrap_or_default()
}

/// The program, if it can be used.
pub(crate) fn load(source: &str, from: Dialect) -> Result<Module, Failure> {
    let loaded = load::load(source, from);
    if loaded.is_usable { Ok(loaded.module) } else { Err(Failure::mistakes("source", source, &loaded.diagnostics)) }
}

fn describe(diagnostics: &[text::Diagnostic], source: &str) -> Vec<Diagnostic> {
    let lines = LineIndex::new(source);
    let describe = |diagnostic: &text::Diagnostic| {
        let place = lines.position(source, diagnostic.span.start);
        Diagnostic {
            code: diagnostic.code,
            severity: diagnostic.severity,
            line: place.line,
            column: place.column,
            from: utf16_offset(source, diagnostic.span.start),
            to: utf16_offset(source, diagnostic.span.end),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
        }
    };
    diagnostics.iter().map(describe).collect()
}

/// A value as the command line would write it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{inspect, optimize, parse, simulate};
    use serde_json::{Value, json};

    fn ask(answer: &str) -> Value {
        serde_json::from_str(answer).expect("answers are JSON")
    }

    const PROGRAM: &str =
        "kernel k(x: ptr.global) {\nentry:\n    a = add.u32 1, 2\n    st.global.u32 x[0], a\n    ret\n}\n";

    #[test]
    fn a_mistake_has_its_place_in_units_of_javascript() {
        let source = "// 𝄞\nkernel k() {\nentry:\n    a = fam.f32 1.0\n    ret\n}\n";
        let answer = ask(&parse(source, "{}"));
        let diagnostic = &answer["ok"]["diagnostics"][0];
        let from = diagnostic["from"].as_u64().expect("a place") as usize;
        let units: Vec<u16> = source.encode_utf16().collect();
        assert_eq!(String::from_utf16_lossy(&units[from..from + 3]), "fam", "{diagnostic}");
        assert_eq!((&diagnostic["line"], &answer["ok"]["text"]), (&json!(4), &Value::Null));
    }

    #[test]
    fn a_program_is_described_and_optimized() {
        let kernel = &ask(&parse(PROGRAM, "{}"))["ok"]["kernels"][0];
        assert_eq!(kernel["params"], json!([{ "name": "x", "type": "ptr.global" }]));
        assert_eq!((&kernel["blocks"], &kernel["instructions"]), (&json!(1), &json!(3)));
        let answer = ask(&optimize(PROGRAM, r#"{"passes":["const-fold","dce"]}"#, &mut || 0));
        assert_eq!(answer["ok"]["passes"][0]["name"], "const-fold");
        assert!(answer["ok"]["text"].as_str().is_some_and(|text| text.starts_with("kernel k")), "{answer}");
        assert!(answer["ok"].get("launch").is_none(), "{answer}");
    }

    #[test]
    fn an_analysis_is_inspected_in_place_of_passes() {
        let answer = ask(&inspect(PROGRAM, r#"{"analysis":"vng","choices":{"vng.window":2,"vng.seeds":"all"}}"#));
        let inspection = &answer["ok"]["inspections"][0];
        assert_eq!((&inspection["pass"], &inspection["function"]), (&json!("vng"), &json!("k")), "{answer}");
        let choices = inspection["choices"].as_array().cloned().unwrap_or_default();
        assert!(choices.iter().any(|choice| choice["key"] == "vng.window" && choice["value"] == "2"), "{answer}");
        let wrong = ask(&inspect(PROGRAM, r#"{"analysis":"gvn"}"#));
        assert_eq!(wrong["error"]["message"], "no analysis `gvn`; there is vng, estimate");
    }

    #[test]
    fn launches_come_beside_ptx() {
        let launch_beside = |options: &str| {
            let answer = ask(&optimize(PROGRAM, options, &mut || 0));
            answer["ok"]["launch"].as_str().map(str::to_owned).unwrap_or_default()
        };
        let written = launch_beside(r#"{"emit":"ptx"}"#);
        assert!(written.starts_with("launch k derived {\n"), "{written}");
        let other = "launch k {\n    block 32\n    x = buffer u32[32] iota\n}\n";
        let options = json!({ "emit": "ptx", "launch": other });
        assert!(launch_beside(&options.to_string()).contains("block 32\n    x = buffer u32[32] iota\n"));
    }

    #[test]
    fn a_profile_is_given_where_it_is_asked_for() {
        let run = &ask(&simulate(PROGRAM, r#"{"profile":true}"#))["ok"];
        let profile = &run["profile"]["k"];
        assert!(profile["paths"][0]["lanes"].as_u64().is_some_and(|lanes| lanes > 0), "{run}");
        assert!(profile["edges"].is_array() && profile["zeros"].is_array(), "{run}");
        assert!(profile["blocks"][0]["executions"].as_u64().is_some_and(|warps| warps > 0), "{run}");
        assert!(ask(&simulate(PROGRAM, "{}"))["ok"].get("profile").is_none());
    }

    #[test]
    fn a_launch_of_its_own_is_run() {
        let launch = "launch k {\n    grid 1\n    block 32\n    x = buffer u32[4] iota\n}\n";
        let options = json!({ "launch": launch, "dump": true, "seed": 3, "block": [8] });
        let run = &ask(&simulate(PROGRAM, &options.to_string()))["ok"];
        assert_eq!(run["memory"]["x"], json!([3, 1, 2, 3]), "{run}");
        assert_eq!((&run["warps"], &run["seed"], &run["thread_instructions"]), (&json!(1), &json!(3), &json!(24)));
        let failed = ask(&simulate(PROGRAM, r#"{"machine":"abacus"}"#));
        assert!(failed["error"]["message"].is_string(), "{failed}");
    }

    /// A product of which one factor is zero as often as the launch says.
    const SHADE: &str = "kernel shade(x: ptr.global, y: ptr.global) {\nentry:\n    r = ld.global.f32 x[0]\n    \
                         s = ld.global.f32 y[0]\n    q = sqrt.approx.f32 s\n    t = div.approx.f32 q, s\n    \
                         p = mul.f32 r, t\n    st.global.f32 y[1], p\n    ret\n}\n";

    #[test]
    fn a_profile_is_measured_before_the_passes_that_go_by_it() {
        let launch = "launch shade {\n    grid 4\n    block 32\n    x = buffer f32[4] const 0.0\n    \
                      y = buffer f32[4] const 2.0\n}\n";
        let knobs = json!({ "azp.min_cycles": 0 });
        let work = |profile: &str, set: Value| {
            let options = json!({
                "passes": "azp", "fastMath": true, "knobs": knobs, "profile": profile, "launch": launch, "set": set,
            });
            ask(&optimize(SHADE, &options.to_string(), &mut || 0))
        };
        let measured = work("simulate", json!({}));
        let text = measured["ok"]["text"].as_str().unwrap_or_default();
        assert!(text.contains("profile zero") && text.contains("vote.all"), "{measured}");
        assert!(!text.contains("launch shade"), "the program has no launch of its own: {text}");
        let declared = work("declared", json!({}));
        assert_eq!(declared["ok"]["passes"][0]["changed"], false, "{declared}");
        // A knob that nothing has is a mistake.
        let other = work("simulate", json!({ "no_such": 1 }));
        assert!(other["error"]["message"].as_str().is_some_and(|message| message.contains("`no_such`")), "{other}");
    }

    #[test]
    fn wrong_options_are_an_error_and_no_panic() {
        for (options, hint) in [
            ("", "the options"),
            ("[]", "the options"),
            (r#"{"passes":"no-such-pass"}"#, "there is"),
            (r#"{"passes":"gvn-cs"}"#, "did you mean `gvn-cse`?"),
            (r#"{"passess":""}"#, "did you mean `passes`?"),
            (r#"{"knobs":{"dce":1}}"#, "dce"),
            (r#"{"machine":"abacus"}"#, "ampere"),
            (r#"{"profile":"guessed"}"#, "simulate"),
        ] {
            let answer = ask(&optimize(PROGRAM, options, &mut || 0));
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(hint), "{options}: {answer}");
        }
        let answer = ask(&simulate(PROGRAM, r#"{"fuell":3}"#));
        assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains("`fuel`")), "{answer}");
    }
}

//! Pipelines: `copy-prop,general-optimize[variant=B],@ptxas` read, printed and run.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::ir::{Func, Function, Module};
use crate::journal::Journal;
use crate::pass::driver::runner::Runner;
use crate::pass::{FAULTING_KNOB, KnobKind, KnobValues, PASSES, PassEntry, PassError, Settings, find};
use crate::text::nearest;

/// A pipeline with a name, written `@name`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pipeline {
    /// Its name, without the `@`.
    pub name: &'static str,
    /// Summary in a sentence.
    pub summary: &'static str,
    /// Its entries in order.
    pub phases: &'static [Phase],
}

/// One entry of a pipeline with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase {
    /// Its number in the compiler that the pipeline follows, where that numbers its phases.
    pub number: Option<&'static str>,
    /// The pass with its knobs, as [`parse_pipeline`] reads it.
    pub entry: &'static str,
    /// Why it is in the list and switched off; none if it runs.
    pub off: Option<&'static str>,
}

impl Pipeline {
    /// The entries that run, as [`parse_pipeline`] reads them.
    pub fn text(&self) -> String {
        let running: Vec<&str> =
            self.phases.iter().filter(|phase| phase.off.is_none()).map(|phase| phase.entry).collect();
        running.join(",")
    }
}

impl Phase {
    /// The entry as a step, switched off if it says so.
    pub fn step(&self) -> Result<Step, PipelineError> {
        Ok(Step { enabled: self.off.is_none(), phase: self.number, ..parse_step(self.entry)? })
    }
}

const fn unnumbered(entry: &'static str) -> Phase {
    Phase { number: None, entry, off: None }
}

const fn phase(number: &'static str, entry: &'static str) -> Phase {
    Phase { number: Some(number), entry, off: None }
}

/// Pipelines with names.
pub const PIPELINES: &[Pipeline] = &[
    Pipeline {
        name: "basic",
        summary: "The small passes, each once.",
        phases: &[unnumbered("copy-prop"), unnumbered("const-fold"), unnumbered("dce"), unnumbered("simplify-cfg")],
    },
    Pipeline {
        name: "ptxas",
        summary: "The value-redundancy phases of ptxas, in its order and with its numbers.",
        phases: &[
            phase("46", "general-optimize"),
            phase("49", "gvn-cse"),
            phase("50", "reassociate"),
            phase("56", "hoist-common"),
            phase("58", "general-optimize[variant=B]"),
            phase("63", "if-convert"),
            phase("64", "late-commoning"),
            phase("65", "general-optimize"),
            Phase {
                number: Some("82/83"),
                entry: "back-copy-prop",
                off: Some(
                    "off in ptxas unless the back end for an architecture asks for it: it renames what definitions \
                     write, so it must know the registers that may not be renamed",
                ),
            },
        ],
    },
];

/// Steps in one pipeline, named ones expanded.
const MAX_STEPS: usize = 256;

/// One pass with its settings.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The pass's name.
    pub pass: &'static str,
    /// Knobs that were set, as written; all others have their defaults.
    pub knobs: Vec<(String, String)>,
    /// Switched off steps stay in the list and do nothing.
    pub enabled: bool,
    /// Its number in the compiler that the pipeline follows; see [`Phase::number`].
    pub phase: Option<&'static str>,
}

/// A pipeline that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PipelineError {
    /// Error message, with a suggestion where there is one.
    pub message: String,
    /// Whether a pass is unknown and no name is near: whoever tells it can say where the names are.
    pub wants_names: bool,
}

impl PipelineError {
    fn new(message: impl Into<String>) -> PipelineError {
        PipelineError { message: message.into(), wants_names: false }
    }
}

impl Step {
    /// A pass with its defaults.
    pub fn new(pass: &str) -> Result<Step, PipelineError> {
        match find(pass) {
            Some(entry) => Ok(Step { pass: entry.info.name, knobs: Vec::new(), enabled: true, phase: None }),
            None => Err(unknown_pass(pass)),
        }
    }

    /// Sets a knob, checking its name and value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), PipelineError> {
        let info = &self.entry().info;
        let Some(knob) = info.knobs.iter().find(|knob| knob.name == name) else {
            let hint = match nearest(name, info.knobs.iter().map(|knob| knob.name)) {
                Some(other) => format!(": did you mean `{other}`?"),
                None if info.knobs.is_empty() => ": it has none".to_string(),
                None => {
                    let names: Vec<_> = info.knobs.iter().map(|knob| knob.name).collect();
                    format!(": it has {}", names.join(", "))
                }
            };
            return Err(PipelineError::new(format!("`{}` has no knob `{name}`{hint}", self.pass)));
        };
        knob.parse(value).map_err(|message| PipelineError::new(format!("{}: {message}", self.pass)))?;
        self.knobs.retain(|(known, _)| known != name);
        self.knobs.push((name.to_string(), value.to_string()));
        Ok(())
    }

    /// The word for `faulting` with which the pass makes no load that PTX cannot express; none
    /// where it makes none anyway.
    pub fn guarding_word(&self) -> Option<&'static str> {
        let knob = self.entry().info.knobs.iter().find(|knob| knob.name == FAULTING_KNOB)?;
        let KnobKind::Choice { words, .. } = knob.kind else { return None };
        ["guarded", "never"].into_iter().find(|word| words.contains(word))
    }

    /// The values of all its knobs.
    pub fn knob_values(&self) -> KnobValues {
        let knobs = self.entry().info.knobs;
        let mut values = KnobValues::defaults(knobs);
        for (name, text) in &self.knobs {
            if let Some(knob) = knobs.iter().find(|knob| knob.name == name)
                && let Ok(value) = knob.parse(text)
            {
                values.set(knob.name, value);
            }
        }
        values
    }

    /// The pass in the list.
    pub fn entry(&self) -> &'static PassEntry {
        find(self.pass).unwrap_or(&PASSES[0])
    }
}

fn unknown_pass(name: &str) -> PipelineError {
    match nearest(name, PASSES.iter().map(|pass| pass.info.name)) {
        Some(other) => PipelineError::new(format!("unknown pass `{name}`: did you mean `{other}`?")),
        None => PipelineError { wants_names: true, ..PipelineError::new(format!("unknown pass `{name}`")) },
    }
}

/// Reads a pipeline: names and `@pipelines` separated by commas, each with knobs in brackets if wanted. An empty text
/// is the empty pipeline. What a pipeline with a name keeps switched off is a step that is switched off.
pub fn parse_pipeline(text: &str) -> Result<Vec<Step>, PipelineError> {
    let mut steps = Vec::new();
    for entry in split_entries(text)? {
        if let Some(name) = entry.strip_prefix('@') {
            let Some(pipeline) = PIPELINES.iter().find(|known| known.name == name) else {
                let hint = match nearest(name, PIPELINES.iter().map(|known| known.name)) {
                    Some(other) => format!("did you mean `@{other}`?"),
                    None => {
                        let names: Vec<_> = PIPELINES.iter().map(|known| format!("@{}", known.name)).collect();
                        format!("there is {}", names.join(", "))
                    }
                };
                return Err(PipelineError::new(format!("unknown pipeline `@{name}`: {hint}")));
            };
            for phase in pipeline.phases {
                steps.push(phase.step()?);
            }
        } else {
            steps.push(parse_step(entry)?);
        }
        if steps.len() > MAX_STEPS {
            return Err(PipelineError::new(format!("a pipeline has at most {MAX_STEPS} steps")));
        }
    }
    Ok(steps)
}

/// Splits at the commas outside brackets.
fn split_entries(text: &str) -> Result<Vec<&str>, PipelineError> {
    let mut entries = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' if inside => return Err(PipelineError::new("`[` inside brackets")),
            ']' if !inside => return Err(PipelineError::new("`]` without `[`")),
            '[' | ']' => inside = !inside,
            ',' if !inside => {
                entries.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(PipelineError::new("`[` without `]`"));
    }
    entries.push(text[start..].trim());
    if entries.len() == 1 && entries[0].is_empty() {
        entries.clear();
    }
    if entries.iter().any(|entry| entry.is_empty()) {
        return Err(PipelineError::new("an empty entry: two commas follow each other, or one ends the list"));
    }
    Ok(entries)
}

fn parse_step(entry: &str) -> Result<Step, PipelineError> {
    let Some((name, knobs)) = entry.split_once('[') else { return Step::new(entry) };
    let mut step = Step::new(name.trim())?;
    let Some(knobs) = knobs.strip_suffix(']') else {
        return Err(PipelineError::new(format!("expected `,` after the `]` of `{name}`")));
    };
    for setting in knobs.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
        let Some((knob, value)) = setting.split_once('=') else {
            return Err(PipelineError::new(format!("expected `name=value`, found `{setting}`")));
        };
        step.set(knob.trim(), value.trim())?;
    }
    Ok(step)
}

/// Sets `pass.knob=value` in every step of that pass.
pub fn apply_knob(steps: &mut [Step], setting: &str) -> Result<(), PipelineError> {
    let Some(((pass, knob), value)) =
        setting.split_once('=').and_then(|(left, value)| Some((left.split_once('.')?, value)))
    else {
        return Err(PipelineError::new(format!("expected `pass.knob=value`, found `{setting}`")));
    };
    // The names are checked even where the pass is not in the pipeline, so that a slip never goes unnoticed.
    Step::new(pass)?.set(knob, value)?;
    for step in steps.iter_mut().filter(|step| step.pass == pass) {
        step.set(knob, value)?;
    }
    Ok(())
}

/// Sets `faulting` where it is `auto` so that no step makes a load that PTX cannot express: each
/// such load is guarded, or stays where it is.
pub fn guard_loads(steps: &mut [Step]) {
    for step in steps {
        let is_set = step.knobs.iter().any(|(name, value)| name == FAULTING_KNOB && value != "auto");
        if let Some(word) = step.guarding_word().filter(|_| !is_set) {
            step.knobs.retain(|(name, _)| name != FAULTING_KNOB);
            step.knobs.push((FAULTING_KNOB.to_string(), word.to_string()));
        }
    }
}

/// The text of a pipeline, knobs included. Switched off steps are left out.
pub fn print_pipeline(steps: &[Step]) -> String {
    let entries: Vec<String> = steps
        .iter()
        .filter(|step| step.enabled)
        .map(|step| {
            let knobs: Vec<String> = step.knobs.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if knobs.is_empty() { step.pass.to_string() } else { format!("{}[{}]", step.pass, knobs.join(",")) }
        })
        .collect();
    entries.join(",")
}

/// How large a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Size {
    /// Blocks.
    pub blocks: usize,
    /// Instructions, terminators included.
    pub instructions: usize,
}

impl Size {
    /// The size of the functions that `selected` accepts.
    pub fn of(module: &Module, selected: impl Fn(&Function) -> bool) -> Size {
        let funcs = module.funcs.values().filter(|func| selected(func));
        funcs.fold(Size::default(), |size, func| Size {
            blocks: size.blocks + func.block_order().count(),
            instructions: size.instructions + func.inst_count(),
        })
    }
}

/// Result of one step of a pipeline.
#[derive(Clone, PartialEq, Debug)]
pub struct PassReport {
    /// The pass's name.
    pub name: &'static str,
    /// Was the step switched on?
    pub enabled: bool,
    /// Rewrites made.
    pub rewrites: u64,
    /// Time taken, in microseconds of the clock that the caller gave.
    pub micros: u64,
    /// Size before.
    pub before: Size,
    /// Size after.
    pub after: Size,
    /// Why it stopped early, if it did.
    pub error: Option<PassError>,
}

impl PassReport {
    /// Did it change anything?
    pub fn changed(&self) -> bool {
        self.rewrites > 0
    }
}

/// Runs a pipeline over the functions that `selected` accepts, into a journal. `clock` gives microseconds and is only
/// ever subtracted.
pub fn run_pipeline(
    module: &mut Module,
    steps: &[Step],
    fast_math: bool,
    selected: impl Fn(&Function) -> bool,
    journal: &mut Journal,
    clock: &mut dyn FnMut() -> u64,
) -> Vec<PassReport> {
    let mut reports = Vec::with_capacity(steps.len());
    let mut runner = Runner::new(module);
    for step in steps {
        let before = Size::of(runner.module(), &selected);
        let mut report = PassReport {
            name: step.pass,
            enabled: step.enabled,
            rewrites: 0,
            micros: 0,
            before,
            after: before,
            error: None,
        };
        journal.begin_pass(step.pass);
        if step.enabled {
            let entry = step.entry();
            let settings = Settings { knobs: step.knob_values(), fast_math };
            let start = clock();
            let funcs = &runner.module().funcs;
            let funcs: Vec<Func> = funcs.keys().filter(|&func| selected(&funcs[func])).collect();
            for func in funcs {
                journal.enter(func);
                let (rewrites, outcome) = runner.run(func, entry, &settings, journal);
                report.rewrites += rewrites;
                report.error = report.error.or(outcome.err());
            }
            report.micros = clock().saturating_sub(start);
            report.after = Size::of(runner.module(), &selected);
        }
        reports.push(report);
    }
    reports
}

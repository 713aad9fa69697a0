//! Whole programs: the examples and generated ones, each as it is and after pipelines.
//!
//! A program is a text and what is done to it; it becomes a module when its turn comes, so that a
//! list of thousands costs nothing and a worker that takes over in the middle starts there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use warpscope_core::ir::{Launch, Module};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::profile::declare;
use warpscope_core::ptx;
use warpscope_core::report::measure;
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::Settings;
use warpscope_core::text::{self, Severity};
use warpscope_core::verify;
use warpscope_testkit::{emit, modifiers, recipe, repeats, scattered, shades, subscripts, sums, together};

/// Pipelines for programs. `infer-space` comes before those for PTX, as loading PTX runs it.
pub const PIPELINES: [&str; 11] = [
    "",
    "@ptxas",
    "general-optimize",
    "if-convert[always=true]",
    "srqp",
    "esrqp",
    "ssrqp-s",
    "ssrqp",
    "azp",
    "pde",
    "spec-pre",
];

/// Those that decide by what was measured; they get the profile of the program's own launch.
const BY_PROFILE: [&str; 3] = ["azp", "pde", "spec-pre"];

/// A program, before it is read.
pub struct Program {
    /// For tables.
    pub name: String,
    text: Text,
    pipeline: &'static str,
    fast_math: bool,
}

enum Text {
    Wir(String),
    Ptx { program: String, launch: String },
}

impl Program {
    /// Sets whether floats may be treated as real numbers.
    pub fn with_fast_math(self, fast_math: bool) -> Program {
        Program { fast_math, ..self }
    }

    /// Does it come from PTX?
    pub const fn is_ptx(&self) -> bool {
        matches!(self.text, Text::Ptx { .. })
    }

    /// The PTX that it comes from.
    pub fn ptx(&self) -> Option<&str> {
        match &self.text {
            Text::Ptx { program, .. } => Some(program),
            Text::Wir(_) => None,
        }
    }

    /// Module after the pipeline, and its launches.
    pub fn prepared(&self) -> Result<(Module, Vec<Launch>), String> {
        let mut module = match &self.text {
            Text::Wir(source) => {
                let checked = verify::check(source);
                if let Some(error) = checked.diagnostics.iter().find(|one| one.severity == Severity::Error) {
                    return Err(format!("is no program: {}", error.message));
                }
                checked.module
            }
            Text::Ptx { program, launch } => {
                let mut module = ptx::import(program).module;
                module.launches = text::parse(launch).module.launches;
                module
            }
        };
        let launches = module.launches.clone();
        if self.pipeline.is_empty() {
            return Ok((module, launches));
        }
        if self.pipeline.split([',', '[']).any(|name| BY_PROFILE.contains(&name)) {
            let kernel = launches.first().and_then(|launch| module.func_by_name(&launch.kernel)).ok_or("no launch")?;
            let settings = Settings { warp: Some(32), ..Settings::default() };
            let profile = measure(&module, kernel, &settings, Machine::Hopper);
            declare(&mut module, &profile.map_err(|error| format!("in the simulator: {error}"))?);
        }
        let pipeline = if self.is_ptx() { format!("infer-space,{}", self.pipeline) } else { self.pipeline.to_owned() };
        let steps = parse_pipeline(&pipeline).map_err(|error| format!("{error:?}"))?;
        let session =
            Session::open(module, &Options { steps, fast_math: self.fast_math, ..Options::default() }, &mut || 0);
        Ok((session.module().clone(), launches))
    }
}

/// Every example below the folder, after every pipeline.
pub fn examples(folder: &Path) -> Result<Vec<Program>> {
    examples_after(folder, &PIPELINES)
}

/// Every example below the folder, after each of the pipelines.
pub fn examples_after(folder: &Path, pipelines: &[&'static str]) -> Result<Vec<Program>> {
    let mut texts = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("no examples in {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let shown = format!("{}/{name}", folder.file_name().unwrap_or_default().to_string_lossy());
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".wir") && !name.ends_with(".launch.wir") {
                texts.push((shown, Text::Wir(fs::read_to_string(&path)?)));
            } else if let Some(stem) = name.strip_suffix(".ptx") {
                let kernel = stem.split('.').next().unwrap_or(stem);
                let launch = fs::read_to_string(path.with_file_name(format!("{kernel}.launch.wir")))?;
                texts.push((shown, Text::Ptx { program: fs::read_to_string(&path)?, launch }));
            }
        }
    }
    texts.sort_by(|(a, _), (b, _)| a.cmp(b));
    let after = |(name, text): (String, Text)| {
        pipelines.iter().map(|pipeline| Program::new(&name, &text, pipeline)).collect::<Vec<_>>()
    };
    Ok(texts.into_iter().flat_map(after).collect())
}

/// Programs with operations across lanes, each form as it is and after two pipelines.
pub fn together() -> Vec<Program> {
    let of = |(name, source): (String, String)| {
        ["", "@ptxas", "ssrqp"].map(|pipeline| Program::new(&name, &Text::Wir(source.clone()), pipeline))
    };
    together::programs().into_iter().flat_map(of).collect()
}

/// So many generated programs of each kind, always the same ones, as they are and after three of the pipelines, which
/// change from program to program.
pub fn generated(count: usize) -> Vec<Program> {
    let mut runner = TestRunner::deterministic();
    let mut programs = Vec::new();
    for index in 0..count {
        let texts = [
            ("branches and loops", emit::program(&draw(&recipe::recipe(), &mut runner))),
            ("scattered", scattered::program(&draw(&scattered::scattered(), &mut runner))),
            ("sums", sums::program(&draw(&sums::sums(), &mut runner))),
            ("shades", shades::program(&draw(&shades::shades(), &mut runner))),
            ("subscripts", subscripts::program(&draw(&subscripts::subscripts(), &mut runner))),
            ("modifiers", modifiers::program(&draw(&modifiers::modifiers(), &mut runner))),
            ("repeats", repeats::program(&draw(&repeats::repeats(), &mut runner))),
        ];
        for (kind, source) in texts {
            let (name, text) = (format!("{kind} {index}"), Text::Wir(source));
            programs.push(Program::new(&name, &text, ""));
            let others = &PIPELINES[1..];
            for turn in 0..3 {
                programs.push(Program::new(&name, &text, others[(3 * index + turn) % others.len()]));
            }
        }
    }
    programs
}

impl Program {
    /// A text of the IR with its launch.
    pub fn from_text(name: &str, text: &str, pipeline: &'static str) -> Program {
        Program::new(name, &Text::Wir(text.to_owned()), pipeline)
    }

    fn new(name: &str, text: &Text, pipeline: &'static str) -> Program {
        let text = match text {
            Text::Wir(source) => Text::Wir(source.clone()),
            Text::Ptx { program, launch } => Text::Ptx { program: program.clone(), launch: launch.clone() },
        };
        let after = if pipeline.is_empty() { String::new() } else { format!(" after {pipeline}") };
        Program { name: format!("{name}{after}"), text, pipeline, fast_math: false }
    }
}

fn draw<S: Strategy>(strategy: &S, runner: &mut TestRunner) -> S::Value {
    strategy.new_tree(runner).expect("the strategies reject nothing").current()
}

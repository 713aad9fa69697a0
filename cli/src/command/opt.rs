//! `warpscope opt`: passes over a program.

use std::fmt::Write;
use std::fs;
use std::time::Instant;

use clap::ValueEnum;
use warpscope_core::derive;
use warpscope_core::ir::{Func, Launch, Module};
use warpscope_core::pass::{Step, apply_knob, guard_loads, parse_pipeline};
use warpscope_core::profile::{self, Profile};
use warpscope_core::ptx;
use warpscope_core::report::{self, OptimizeReport};
use warpscope_core::session::{self, Session};
use warpscope_core::sim;
use warpscope_core::text::{self, Diagnostic};

use super::run::{RunOptions, reported};
use crate::failure::Failure;
use crate::output;
use crate::source::{Input, Source};

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    work: Work,
    /// Format of the printed program.
    #[arg(long, value_enum, default_value_t = Emit::Wir)]
    emit: Emit,
    /// With `--emit ptx`, print loads that must not fault (`.spec`) as ordinary loads, which may.
    #[arg(long)]
    plain_loads: bool,
    /// Write the launches of the kernels, which PTX cannot express, to this file.
    #[arg(long, value_name = "FILE.wir")]
    launch_out: Option<String>,
    /// Print every rewrite and refusal with its reason to standard error.
    #[arg(long)]
    remarks: bool,
    /// Print everything as one JSON document.
    #[arg(long)]
    json: bool,
}

/// A program and what is to be done to it.
#[derive(clap::Args)]
pub struct Work {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    pipeline: PipelineOptions,
    /// Optimise only this kernel or function. Default: all.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Source of the frequencies for profile-driven passes.
    #[arg(long, value_enum, default_value_t = ProfileSource::Declared)]
    profile: ProfileSource,
    #[command(flatten)]
    run: RunOptions,
    /// Allow passes to treat floats as real numbers.
    #[arg(long)]
    fast_math: bool,
}

/// Which passes, how.
#[derive(clap::Args)]
pub struct PipelineOptions {
    /// Passes and pipelines in order, separated by commas: `copy-prop,general-optimize[max_rounds=3],@basic`.
    #[arg(long, value_name = "LIST")]
    passes: Option<String>,
    /// Set a knob in every entry of that pass.
    #[arg(long, value_name = "PASS.KNOB=VALUE")]
    knob: Vec<String>,
}

impl PipelineOptions {
    /// The passes with their knobs.
    pub fn steps(&self) -> Result<Vec<Step>, Failure> {
        let mut steps = parse_pipeline(self.passes.as_deref().unwrap_or("")).map_err(|error| {
            Failure::usage(match error.wants_names {
                true => error.message + ": `warpscope passes` lists them",
                false => error.message,
            })
        })?;
        for setting in &self.knob {
            apply_knob(&mut steps, setting).map_err(|error| Failure::usage(error.message))?;
        }
        Ok(steps)
    }
}

pub fn run(options: &Options) -> Result<(), Failure> {
    if options.plain_loads && options.emit != Emit::Ptx {
        return Err(Failure::usage("`--plain-loads` requires `--emit ptx`"));
    }
    let bench = options.work.open(options.emit)?;
    let text = match options.emit {
        Emit::Wir => text::print(bench.session.module()),
        Emit::Ptx => emit_ptx(&bench.source, bench.session.module(), options.plain_loads)?,
    };
    if let Some(file) = &options.launch_out {
        fs::write(file, text::print_launches(bench.launches.clone()))
            .map_err(|error| Failure::usage(format!("{file}: {error}")))?;
    }
    if options.remarks && !options.json {
        output::notice(&remarks_text(&bench.session));
    }
    if options.json {
        let launch = (options.emit == Emit::Ptx).then(|| text::print_launches(bench.launches.clone()));
        output::json(&OptimizeReport { launch, ..OptimizeReport::new(&bench.session, text) })?;
    } else {
        output::text(&text)?;
    }
    bench.verdict()
}

/// A program that passes have worked on.
pub struct Bench {
    /// The file.
    pub source: Source,
    /// The session in which the passes ran.
    pub session: Session,
    /// How its kernels are launched, options aside.
    launches: Vec<Launch>,
    /// Has everything been worked on that was asked for?
    complete: Result<(), Failure>,
}

impl Bench {
    /// How the command ends when the results have been printed: badly, if a pass was refused or a kernel left out.
    pub fn verdict(self) -> Result<(), Failure> {
        let refusals: String = self
            .session
            .reports()
            .iter()
            .filter_map(|report| report.error.as_ref())
            .map(|error| format!("{}: error: {}\n", self.source.name, error.message))
            .collect();
        if refusals.is_empty() { self.complete } else { Err(Failure::Program(refusals)) }
    }
}

impl Work {
    /// The only kernel or function that is worked on, if one is named.
    pub fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// Does a run measure the profile?
    pub fn is_measured(&self) -> bool {
        self.profile == ProfileSource::Simulate
    }

    /// Runs the passes over the program, which is to be printed as `emit` says.
    pub fn open(&self, emit: Emit) -> Result<Bench, Failure> {
        let mut steps = self.pipeline.steps()?;
        if emit == Emit::Ptx {
            guard_loads(&mut steps);
        }
        let machine = self.run.machine()?;
        let source = self.input.read()?;
        let mut program = source.load()?;
        let mut complete = program.worked_on_all();
        if let Some(name) = &self.kernel {
            program.function(name)?;
            complete = Ok(());
        }
        let kernels = self.kernels(&program.module);
        let mut launched = program.module.clone();
        self.run.replace_launches(&mut launched)?;
        let every_kernel: Vec<Func> = launched.kernels().collect();
        derive::derive_launches(&mut launched, &every_kernel);
        let launches = launched.launches.clone();
        if self.run.launch.is_none() {
            program.module.clone_from(&launched);
        }
        let settings = self.run.complete_launches(&mut launched, &kernels)?;
        sim::settle_launches(&mut launched, &kernels, &settings).map_err(|error| Failure::usage(error.to_string()))?;
        if self.is_measured() {
            let mut measured = Profile::new();
            for (&kernel, settings) in kernels.iter().zip(&settings) {
                let counts = reported(&source, report::measure(&launched, kernel, settings, machine))?;
                profile::add(&mut measured, &counts);
            }
            profile::declare(&mut program.module, &measured);
        } else if let Some(only) = self.run.given_for_runs_only() {
            output::notice(&format!(
                "warning: `{only}` has no effect: no kernel is run without `--profile simulate`\n"
            ));
        }
        let start = Instant::now();
        let mut clock = || u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let options = session::Options {
            steps,
            fast_math: self.fast_math,
            only: self.kernel.clone(),
            launches: Some(launched.launches),
        };
        let session = Session::open(program.module, &options, &mut clock);
        Ok(Bench { source, session, launches, complete })
    }

    /// The kernel that is named, or all of them. A function runs through its callers.
    fn kernels(&self, module: &Module) -> Vec<Func> {
        let named = |&kernel: &Func| self.kernel.as_ref().is_some_and(|name| module.funcs[kernel].name == *name);
        module.kernels().find(named).map_or_else(|| module.kernels().collect(), |kernel| vec![kernel])
    }
}

/// The program as PTX. What PTX cannot say exactly is told on standard error. Loads that must not fault are refused, or
/// with `plain_loads` told by their lines of the PTX.
fn emit_ptx(source: &Source, module: &Module, plain_loads: bool) -> Result<String, Failure> {
    let export = ptx::export(module);
    let mut report = source.render(&export.diagnostics);
    let name = &source.name;
    for load in &export.plain_loads {
        let _ = match plain_loads {
            true => writeln!(report, "{name}: warning: line {} of the PTX may fault: {load} must not", load.line),
            false => writeln!(report, "{name}: error: {load} must not fault, and PTX has no such load"),
        };
    }
    let is_refused = !plain_loads && !export.plain_loads.is_empty();
    if is_refused {
        report += "  hint: set `faulting=guarded` (`spec-pre`: `never`) for the pass that put it there, or print \
                   ordinary loads with `--plain-loads`\n";
    }
    if is_refused || export.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Failure::Program(report));
    }
    output::notice(&report);
    Ok(export.text)
}

fn remarks_text(session: &Session) -> String {
    let mut text = String::new();
    for (pass, report) in session.reports().iter().enumerate() {
        for event in session.journal().events_of(pass) {
            let func = &session.module().funcs[event.func];
            let remark = &event.remark;
            let (block, kind) = (&func.blocks[remark.block].name, remark.kind.name());
            let _ = writeln!(text, "{}: {kind} {} at {block}: {}", report.name, remark.rule, remark.message);
        }
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileSource {
    /// From the program's `profile` blocks.
    Declared,
    /// Measured by running its kernels first; the options of a run say how.
    Simulate,
}

/// Forms in which a program is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The text IR.
    Wir,
    /// PTX.
    Ptx,
}

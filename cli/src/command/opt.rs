//! `warpscope opt`: passes over a program.

use std::fmt::Write;
use std::time::Instant;

use clap::ValueEnum;
use warpscope_core::ir::Module;
use warpscope_core::pass::{Step, apply_knob, parse_pipeline};
use warpscope_core::ptx::{self, Export};
use warpscope_core::report::OptimizeReport;
use warpscope_core::session::{self, Session};
use warpscope_core::text::{self, Diagnostic};

use crate::failure::Failure;
use crate::output;
use crate::source::{Input, Source};

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    pipeline: PipelineOptions,
    /// Only this kernel or function; all of them if nothing is said.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Where profile-driven passes get their frequencies from.
    #[arg(long, value_enum, default_value_t = ProfileSource::Declared)]
    profile: ProfileSource,
    /// Floats may be treated as real numbers.
    #[arg(long)]
    fast_math: bool,
    /// What to print the program as.
    #[arg(long, value_enum, default_value_t = Emit::Wir)]
    emit: Emit,
    /// Every rewrite and refusal with its reason, on standard error.
    #[arg(long)]
    remarks: bool,
    /// Everything as one JSON document.
    #[arg(long)]
    json: bool,
}

/// Which passes, how.
#[derive(clap::Args)]
pub struct PipelineOptions {
    /// Passes and pipelines in order, separated by commas: `copy-prop,general-optimize[variant=B],@ptxas`.
    #[arg(long, value_name = "LIST")]
    passes: Option<String>,
    /// Sets a knob in every entry of that pass.
    #[arg(long, value_name = "PASS.KNOB=VALUE")]
    knob: Vec<String>,
}

impl PipelineOptions {
    /// The passes with their knobs.
    pub fn steps(&self) -> Result<Vec<Step>, Failure> {
        let mut steps =
            parse_pipeline(self.passes.as_deref().unwrap_or("")).map_err(|error| Failure::usage(error.message))?;
        for setting in &self.knob {
            apply_knob(&mut steps, setting).map_err(|error| Failure::usage(error.message))?;
        }
        Ok(steps)
    }
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let steps = options.pipeline.steps()?;
    let source = options.input.read()?;
    if options.profile == ProfileSource::Simulate {
        return Err(Failure::usage("`--profile simulate` needs the simulator, which this build does not have"));
    }
    let module = source.load()?;
    let session = open_session(module, steps, options.kernel.as_deref(), options.fast_math)?;
    let text = match options.emit {
        Emit::Wir => text::print(session.module()),
        Emit::Ptx => emit_ptx(&source, session.module())?,
    };
    if options.remarks && !options.json {
        output::notice(&remarks_text(&session));
    }
    if options.json {
        output::json(&OptimizeReport::new(&session, text))?;
    } else {
        output::text(&text)?;
    }
    let refusals: String = session
        .reports()
        .iter()
        .filter_map(|report| report.error.as_ref())
        .map(|error| format!("{}: error: {}\n", source.name, error.message))
        .collect();
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Program(refusals)) }
}

/// Runs passes over a program.
pub fn open_session(module: Module, steps: Vec<Step>, only: Option<&str>, fast_math: bool) -> Result<Session, Failure> {
    if let Some(name) = only
        && module.func_by_name(name).is_none()
    {
        return Err(Failure::usage(format!("the program has no kernel or function `{name}`")));
    }
    let start = Instant::now();
    let mut clock = || u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let options = session::Options { steps, fast_math, only: only.map(str::to_string) };
    Ok(Session::open(module, &options, &mut clock))
}

/// The program as PTX. What PTX cannot say exactly is told on standard error, by the line of the PTX.
fn emit_ptx(source: &Source, module: &Module) -> Result<String, Failure> {
    let Export { text, diagnostics } = ptx::export(module);
    let report = source.render(&diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Failure::Program(report));
    }
    output::notice(&report);
    Ok(text)
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
enum ProfileSource {
    /// From the program's `profile` blocks.
    Declared,
    /// Measured by running its launches first.
    Simulate,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The text IR.
    Wir,
    /// PTX.
    Ptx,
}

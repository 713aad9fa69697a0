//! `warpscope link`: the same permalinks that the page writes and reads.

use std::collections::BTreeMap;
use std::fs;

use warpscope_core::link::{self, Document, Position, RunSettings, Stage};

use super::opt::PipelineOptions;
use super::run::{RunOptions, pair};
use crate::failure::Failure;
use crate::output;
use crate::source::{Dialect, Source};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Prints the link of a program, or of a JSON document as `decode` prints it.
    Encode(Box<EncodeOptions>),
    /// Prints what is in a link, as JSON.
    Decode(DecodeOptions),
}

#[derive(clap::Args)]
pub struct EncodeOptions {
    /// A `.wir` or `.ptx` file, a JSON document, or `-` for standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    file: String,
    /// Format of the program. Default: by the file's name.
    #[arg(long, value_enum, value_name = "DIALECT")]
    from: Option<Dialect>,
    #[command(flatten)]
    pipeline: PipelineOptions,
    /// Kernel to run.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    #[command(flatten)]
    run: RunOptions,
    /// Allow passes to assume what IEEE arithmetic does not promise, such as `x * 0 = 0`.
    #[arg(long)]
    fast_math: bool,
    /// Position of the transport: an entry of the pipeline, from 1, and how many of its rewrites are done.
    #[arg(long, value_name = "PASS[.REWRITES]", value_parser = position)]
    position: Option<Position>,
    /// Setting of the page's view.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    view: Vec<(String, String)>,
}

#[derive(clap::Args)]
pub struct DecodeOptions {
    /// Address, or its part from `#` on; standard input if there is none.
    #[arg(value_name = "LINK", default_value = "-")]
    link: String,
}

pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Encode(options) => encode(options),
        Command::Decode(options) => decode(options),
    }
}

fn encode(options: &EncodeOptions) -> Result<(), Failure> {
    let source = Source::read(&options.file, options.from)?;
    // No program begins with a brace.
    let is_document = options.from.is_none() && source.text.trim_start().starts_with('{');
    let mut document = if is_document {
        link::from_json(&source.text).map_err(|error| damaged(&source.name, &error))?
    } else {
        let dialect = match source.dialect {
            Dialect::Wir => link::Dialect::Wir,
            Dialect::Ptx => link::Dialect::Ptx,
        };
        Document { source: source.text, dialect, ..Document::default() }
    };
    add_options(&mut document, options)?;
    let link = link::encode(&document).map_err(|error| damaged(&source.name, &error))?;
    output::text(&(link + "\n"))
}

/// Overrides settings of the document by options of the command line.
fn add_options(document: &mut Document, options: &EncodeOptions) -> Result<(), Failure> {
    let steps = options.pipeline.steps()?;
    if !steps.is_empty() {
        let stage = |step: warpscope_core::pass::Step| Stage {
            pass: step.pass.to_string(),
            knobs: step.knobs.into_iter().collect(),
            off: !step.enabled,
            phase: step.phase.unwrap_or_default().to_string(),
        };
        document.pipeline = steps.into_iter().map(stage).collect();
    }
    let run = &options.run;
    if let Some(file) = &run.launch {
        document.launch = fs::read_to_string(file).map_err(|error| Failure::usage(format!("{file}: {error}")))?;
    }
    // What a link cannot open with is better said now.
    run.machine()?;
    let settings = &mut document.run;
    *settings = RunSettings {
        kernel: options.kernel.clone().or(settings.kernel.take()),
        machine: run.machine.clone().or(settings.machine.take()),
        seed: run.seed.or(settings.seed),
        grid: run.grid.or(settings.grid),
        block: run.block.or(settings.block),
        warp: run.warp.or(settings.warp),
        fuel: run.fuel.or(settings.fuel),
        set: std::mem::take(&mut settings.set),
    };
    settings.set.extend(run.set.iter().cloned());
    document.fast_math |= options.fast_math;
    document.position = options.position.or(document.position);
    document.view.extend(options.view.iter().cloned().collect::<BTreeMap<_, _>>());
    Ok(())
}

fn decode(options: &DecodeOptions) -> Result<(), Failure> {
    let (name, text) = if options.link == "-" {
        let source = Source::read("-", None)?;
        (source.name, source.text)
    } else {
        ("link".to_string(), options.link.clone())
    };
    let document = link::decode(&text).map_err(|error| damaged(&name, &error))?;
    output::json(&document)
}

fn damaged(name: &str, error: &link::LinkError) -> Failure {
    Failure::Program(format!("{name}: error: {error}\n"))
}

fn position(text: &str) -> Result<Position, String> {
    let (pass, event) = text.split_once('.').unwrap_or((text, "0"));
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
    Ok(Position { pass: number(pass)?, event: number(event)? })
}

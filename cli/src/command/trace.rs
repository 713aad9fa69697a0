//! `warpscope trace`: the journal as JSON lines.
//!
//! Every line has the same fields; what an event has not is null.

use serde_json::{Value, json};
use warpscope_core::edit::RemarkKind;
use warpscope_core::session::Session;

use super::opt::{PipelineOptions, open_session};
use crate::failure::Failure;
use crate::output;
use crate::source::Input;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    pipeline: PipelineOptions,
    /// Only this kernel or function; all of them if nothing is said.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Floats may be treated as real numbers.
    #[arg(long)]
    fast_math: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let steps = options.pipeline.steps()?;
    let source = options.input.read()?;
    let session = open_session(source.load()?, steps, options.kernel.as_deref(), options.fast_math)?;
    let mut lines = String::new();
    for (seq, line) in events(&session).enumerate() {
        lines.push_str(&with_sequence_number(line, seq).to_string());
        lines.push('\n');
    }
    output::text(&lines)
}

fn events(session: &Session) -> impl Iterator<Item = Value> {
    session.journal().passes().iter().enumerate().flat_map(move |(index, pass)| {
        session.journal().events_of(index).iter().map(move |event| {
            let func = &session.module().funcs[event.func];
            let remark = &event.remark;
            let kind = match remark.kind {
                RemarkKind::Applied => "rewrite",
                RemarkKind::Missed => "missed",
            };
            json!({
                "seq": null,
                "pass": pass.pass,
                "kind": kind,
                "query": null,
                "root": null,
                "expr": null,
                "from": null,
                "at": func.blocks[remark.block].name,
                "rule": remark.rule,
                "value": remark.message,
            })
        })
    })
}

fn with_sequence_number(mut line: Value, seq: usize) -> Value {
    line["seq"] = json!(seq);
    line
}

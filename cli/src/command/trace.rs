//! `warpscope trace`: the journal as JSON lines.
//!
//! Every line has the same fields; what an event has not is null.

use serde_json::{Value, json};
use warpscope_core::edit::RemarkKind;
use warpscope_core::session::Session;

use super::opt::Work;
use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    work: Work,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = options.work.open()?;
    let mut lines = String::new();
    for (seq, line) in events(&bench.session).enumerate() {
        lines.push_str(&with_sequence_number(line, seq).to_string());
        lines.push('\n');
    }
    output::text(&lines)?;
    bench.verdict()
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

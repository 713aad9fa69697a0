//! `warpscope trace`: the journal as JSON lines.
//!
//! Every line has the same fields; what an event has not is null. A question's lines carry its number and that of the
//! question or inquiry that raised it, so that they can be put together to a tree.

use std::collections::HashMap;

use serde_json::{Value, json};
use warpscope_core::ir::{Block, Function};
use warpscope_core::journal::{Event, Inquiry, MAX_DETAILS};
use warpscope_core::session::Session;
use warpscope_core::trace::{Answer, Query, QuestionEvent, QuestionId, RemarkKind};

use super::opt::{Emit, Work};
use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    work: Work,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let bench = options.work.open(Emit::Wir)?;
    let mut lines = String::new();
    for (seq, line) in events(&bench.session).enumerate() {
        lines.push_str(&with_sequence_number(line, seq).to_string());
        lines.push('\n');
    }
    output::text(&lines)?;
    if !bench.session.journal().has_room() {
        output::notice(&format!(
            "note: the first {MAX_DETAILS} steps of questions and value tables are kept; later ones are left out\n"
        ));
    }
    bench.verdict()
}

fn events(session: &Session) -> impl Iterator<Item = Value> {
    session.journal().passes().iter().enumerate().flat_map(move |(index, pass)| {
        let mut questions = Questions::default();
        session.journal().inquiries(index).into_iter().map(move |moment| match moment {
            Inquiry::Question(func, event) => questions.line(&pass.pass, &session.module().funcs[func], event),
            Inquiry::Event(event) => change(session, &pass.pass, &session.journal().events()[event]),
        })
    })
}

/// A rewrite or a refusal.
fn change(session: &Session, pass: &str, event: &Event) -> Value {
    let func = &session.module().funcs[event.func];
    let remark = &event.remark;
    let kind = match remark.kind {
        RemarkKind::Applied => "rewrite",
        RemarkKind::Missed => "missed",
    };
    json!({
        "seq": null,
        "pass": pass,
        "kind": kind,
        "query": null,
        "root": null,
        "expr": null,
        "from": null,
        "at": func.blocks[remark.block].name,
        "rule": remark.rule,
        "value": remark.message,
    })
}

/// The questions that have been raised, by number: what later events say of them is told in full again.
#[derive(Default)]
struct Questions {
    raised: HashMap<QuestionId, Raised>,
}

#[derive(Clone)]
struct Raised {
    parent: Option<QuestionId>,
    query: Query,
    root: Block,
    expression: String,
    from: Option<Block>,
    at: Block,
}

impl Questions {
    fn line(&mut self, pass: &str, func: &Function, event: &QuestionEvent) -> Value {
        let (id, kind, rule, value) = match event {
            QuestionEvent::Began { id, parent, query, expression, root, .. } => {
                let raised = Raised {
                    parent: *parent,
                    query: *query,
                    root: *root,
                    expression: expression.clone(),
                    from: None,
                    at: *root,
                };
                self.raised.insert(*id, raised);
                (*id, "fact", Some("begins"), Value::Null)
            }
            QuestionEvent::Asked { id, parent, expression, from, mover, at, rule } => {
                let (query, root) =
                    self.raised.get(parent).map_or((Query::Availability, *at), |of| (of.query, of.root));
                let raised = Raised {
                    parent: Some(*parent),
                    query,
                    root,
                    expression: expression.clone(),
                    from: Some(mover.unwrap_or(*from)),
                    at: *at,
                };
                self.raised.insert(*id, raised);
                (*id, "question", *rule, Value::Null)
            }
            QuestionEvent::Converted { id, expression, .. } => {
                let value = json!([expression]);
                (*id, "fact", Some("6"), value)
            }
            QuestionEvent::Answered { id, rule, answer, .. } => {
                (*id, "answer", Some(*rule), answer_value(func, answer))
            }
            QuestionEvent::Noted { id, expression, block, onto } => {
                let places: Vec<&str> =
                    [Some(*block), *onto].iter().flatten().map(|&block| name(func, block)).collect();
                (*id, "fact", Some("insert"), json!([expression, places]))
            }
            QuestionEvent::Ended { id, answer, .. } => (*id, "fact", Some("ends"), answer_value(func, answer)),
        };
        let of = self.raised.get(&id);
        json!({
            "seq": null,
            "pass": pass,
            "kind": kind,
            "query": of.map(|of| of.query.name()),
            "root": of.map(|of| name(func, of.root)),
            "expr": of.map(|of| of.expression.clone()),
            "from": of.and_then(|of| of.from).map(|block| name(func, block)),
            "at": of.map(|of| name(func, of.at)),
            "rule": rule,
            "value": value,
            "id": id,
            "parent": of.and_then(|of| of.parent),
        })
    }
}

fn name(func: &Function, block: Block) -> &str {
    &func.blocks[block].name
}

fn answer_value(func: &Function, answer: &Answer) -> Value {
    match answer {
        Answer::Available { is_available, is_real } => json!([is_available, is_real]),
        Answer::Anticipated(answer) => json!([answer]),
        Answer::Hoistable { can_hoist, blocks } => {
            let names: Vec<&str> = blocks.iter().map(|&block| name(func, block)).collect();
            json!([can_hoist, names])
        }
    }
}

fn with_sequence_number(mut line: Value, seq: usize) -> Value {
    line["seq"] = json!(seq);
    line
}

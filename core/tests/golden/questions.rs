//! `questions` files: `// test: questions PASSES`.
//!
//! What comes out is the journal of the questions as an indented tree, as the paper tells of them:
//! who asks whom, what the question has become, and the answer with the rule that gave it. Rewrites
//! and refusals stand between the inquiries.

use std::collections::HashMap;
use std::fmt::Write;

use libtest_mimic::Failed;
use warpscope_core::ir::{Block, Function};
use warpscope_core::journal::Inquiry;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::session::{Options, Session};
use warpscope_core::text::instruction_text;
use warpscope_core::trace::{Answer, QuestionEvent, QuestionId};

use crate::{Golden, command};

/// Runs the passes of a golden file and tells what was asked.
pub fn run(golden: &Golden) -> Result<String, Failed> {
    let passes = golden.words.first().map_or("", String::as_str);
    let steps = parse_pipeline(passes).map_err(|error| error.message)?;
    let module = command::program(&golden.source)?;
    let session = Session::open(module, &Options { steps, fast_math: false, only: None, launches: None }, &mut || 0);
    let mut told = Told::default();
    for pass in 0..session.journal().passes().len() {
        for moment in session.journal().inquiries(pass) {
            match moment {
                Inquiry::Question(func, event) => told.question(&session, &session.module().funcs[func], event),
                Inquiry::Event(event) => {
                    let remark = &session.journal().events()[event].remark;
                    let _ = writeln!(told.text, "{} {}: {}", remark.kind.name(), remark.rule, remark.message);
                }
            }
        }
    }
    Ok(told.text)
}

#[derive(Default)]
struct Told {
    text: String,
    /// How deep a question stands in the tree, and where it is.
    questions: HashMap<QuestionId, (usize, Block)>,
}

impl Told {
    fn question(&mut self, session: &Session, func: &Function, event: &QuestionEvent) {
        let name = |block: Block| func.blocks[block].name.as_str();
        let depth_of = |id: &QuestionId| self.questions.get(id).map_or(0, |(depth, _)| *depth);
        let (id, depth, line) = match event {
            QuestionEvent::Began { id, parent, query, expression, root, .. } => {
                let depth = parent.as_ref().map_or(0, |parent| depth_of(parent) + 1);
                self.questions.insert(*id, (depth, *root));
                (id, depth, format!("{} `{expression}` at {}", query.name(), name(*root)))
            }
            QuestionEvent::Asked { id, parent, expression, from, mover, at, rule } => {
                let depth = depth_of(parent) + 1;
                self.questions.insert(*id, (depth, *at));
                let what = match mover {
                    Some(mover) => format!("({expression}, {}, {})?", name(*mover), name(*at)),
                    None => format!("{expression}? {} -> {}", name(*from), name(*at)),
                };
                (id, depth, format!("{what}{}", rule.map_or(String::new(), |rule| format!("  by {rule}"))))
            }
            QuestionEvent::Converted { id, expression, inst } => {
                let text = instruction_text(session.module(), func, *inst);
                (id, depth_of(id) + 1, format!("becomes {expression}? above `{text}`"))
            }
            QuestionEvent::Answered { id, rule, answer, .. } => {
                (id, depth_of(id), format!("= {} by {rule}", answer_text(func, answer)))
            }
            QuestionEvent::Noted { id, expression, block, onto } => {
                let edge = onto.map_or(String::new(), |onto| format!(" -> {}", name(onto)));
                (id, depth_of(id) + 1, format!("{expression} is noted for {}{edge}", name(*block)))
            }
            QuestionEvent::Ended { id, answer, .. } => (id, depth_of(id), format!("= {}", answer_text(func, answer))),
        };
        let at = self.questions.get(id).map_or("", |(_, block)| name(*block));
        let place = if line.starts_with('=') { format!("{at} ") } else { String::new() };
        let _ = writeln!(self.text, "{}{place}{line}", "  ".repeat(depth));
    }
}

fn answer_text(func: &Function, answer: &Answer) -> String {
    match answer {
        Answer::Available { is_available, is_real } => format!("({is_available}, {is_real})"),
        Answer::Anticipated(answer) => answer.to_string(),
        Answer::Hoistable { can_hoist, blocks } => {
            let names: Vec<&str> = blocks.iter().map(|&block| func.blocks[block].name.as_str()).collect();
            format!("({can_hoist}, {{{}}})", names.join(", "))
        }
    }
}

//! Report of a pipeline.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use crate::ir::Function;
use crate::journal::Event;
use crate::pass::Size;
use crate::session::Session;
use crate::trace::{Fact, RemarkKind};

/// Report of a pipeline.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OptimizeReport {
    /// Report of each pass; passes that were switched off are left out.
    pub passes: Vec<PassReport>,
    /// The program after the last pass, in the language that was asked for.
    pub text: String,
    /// The text of the program's launches, where the language has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<String>,
}

/// Report of one pass.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PassReport {
    /// The pass.
    pub name: String,
    /// Did it change anything?
    pub changed: bool,
    /// Time taken, in microseconds of the session's clock.
    pub micros: u64,
    /// Size before.
    pub before: Size,
    /// Size after.
    pub after: Size,
    /// Why it stopped early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Rewrites and refusals, in order.
    pub remarks: Vec<RemarkReport>,
}

/// A rewrite or a refusal.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RemarkReport {
    /// Taken or refused.
    pub kind: RemarkKind,
    /// The rule of the pass.
    pub rule: &'static str,
    /// The kernel or function.
    pub function: String,
    /// The label of the block.
    pub at: String,
    /// A sentence.
    pub message: String,
    /// Details by name.
    pub facts: BTreeMap<&'static str, FactReport>,
}

/// A detail of a remark. Registers and blocks are their names.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum FactReport {
    /// Yes or no.
    Flag(bool),
    /// How many.
    Count(u64),
    /// A finite number.
    Number(f64),
    /// A name, or words; also the numbers that JSON has not.
    Text(String),
    /// Several names or words.
    Names(Vec<String>),
}

impl OptimizeReport {
    /// Reports all that a session's pipeline did; `text` is the program at its end as the caller wants it written.
    pub fn new(session: &Session, text: String) -> OptimizeReport {
        let passes = session
            .reports()
            .iter()
            .zip(session.journal().passes())
            .filter(|(report, _)| report.enabled)
            .map(|(report, events)| PassReport {
                name: report.name.to_string(),
                changed: report.changed(),
                micros: report.micros,
                before: report.before,
                after: report.after,
                error: report.error.as_ref().map(|error| error.message.clone()),
                remarks: session.journal().events()[events.start..events.end]
                    .iter()
                    .map(|event| remark(&session.module().funcs[event.func], event))
                    .collect(),
            })
            .collect();
        OptimizeReport { passes, text, launch: None }
    }
}

/// Ids are never reused, so names of what a later pass removed can still be read.
fn remark(func: &Function, event: &Event) -> RemarkReport {
    let remark = &event.remark;
    RemarkReport {
        kind: remark.kind,
        rule: remark.rule,
        function: func.name.clone(),
        at: func.blocks[remark.block].name.clone(),
        message: remark.message.clone(),
        facts: remark.facts.iter().map(|(name, value)| (*name, fact(func, value))).collect(),
    }
}

fn fact(func: &Function, fact: &Fact) -> FactReport {
    match fact {
        Fact::Reg(reg) => FactReport::Text(func.regs[*reg].name.clone()),
        Fact::Block(block) => FactReport::Text(func.blocks[*block].name.clone()),
        Fact::Blocks(blocks) => {
            FactReport::Names(blocks.iter().map(|&block| func.blocks[block].name.clone()).collect())
        }
        Fact::Number(number) if number.is_finite() => FactReport::Number(*number),
        Fact::Number(number) => FactReport::Text(number.to_string()),
        Fact::Count(count) => FactReport::Count(*count),
        Fact::Flag(flag) => FactReport::Flag(*flag),
        Fact::Text(text) => FactReport::Text(text.clone()),
        Fact::Words(words) => FactReport::Names(words.clone()),
    }
}

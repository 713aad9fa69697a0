//! Why something is divergent, link by link down to a source.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Cause, Divergence, Source};
use crate::flow::values::{Definition, Value, Values};
use crate::ir::{Block, Function};

/// Subject of an explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A value.
    Value(Value),
    /// The branch at the end of a block.
    Branch(Block),
}

/// One link: something divergent, and why. The next link explains what the cause names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The divergent value or branch.
    pub subject: Subject,
    /// Why.
    pub cause: Cause,
}

impl Divergence {
    /// The chain of causes from a subject to a source; empty for something uniform. It ends because
    /// a cause was divergent before what it causes.
    pub fn explain(&self, subject: Subject) -> Vec<Explanation> {
        let mut chain: Vec<Explanation> = Vec::new();
        let mut next = Some(subject);
        while let Some(subject) = next {
            let cause = match subject {
                Subject::Value(value) => self.cause(value),
                Subject::Branch(block) => self.branch_cause(block),
            };
            let Some(cause) = cause else { break };
            chain.push(Explanation { subject, cause });
            next = match cause {
                Cause::Source(_) => None,
                Cause::Value(value) | Cause::Guard(value) | Cause::DrawnUnder(value) => Some(Subject::Value(value)),
                Cause::Parted(block) | Cause::Left(_, block) | Cause::DrawnApart(block) => Some(Subject::Branch(block)),
            };
        }
        chain
    }
}

impl Explanation {
    /// The link as a sentence without a full stop: "`p` (in `entry`) is divergent because it reads `i`".
    pub fn sentence(&self, func: &Function, values: &Values) -> String {
        let branch = |block: Block| format!("the branch of `{}`", func.blocks[block].name);
        let name = |value: Value| format!("`{}`", func.regs[values.reg(value)].name);
        let subject = match self.subject {
            Subject::Branch(block) => branch(block),
            Subject::Value(value) => match values.block(func, value) {
                Some(block) => format!("{} (in `{}`)", name(value), func.blocks[block].name),
                None => name(value),
            },
        };
        let is_join = matches!(self.subject,
            Subject::Value(value) if matches!(values.definition(value), Definition::Join { .. }));
        let reason = match self.cause {
            Cause::Source(source) => source_reason(source),
            Cause::Value(value) if is_join => format!("it may be the divergent value of {}", name(value)),
            Cause::Value(value) => format!("it reads {}", name(value)),
            Cause::Guard(value) => format!("it is written only where {} holds", name(value)),
            Cause::Parted(block) => format!("lanes that diverge at {} meet here with different values", branch(block)),
            Cause::Left(value, block) => {
                format!("lanes leave the loop of {} in different iterations, by {}", name(value), branch(block))
            }
            Cause::DrawnApart(block) => {
                format!("lanes that diverge at {} draw different numbers of times from its input", branch(block))
            }
            Cause::DrawnUnder(value) => format!("only lanes where {} holds draw from its input somewhere", name(value)),
        };
        format!("{subject} is divergent because {reason}")
    }
}

fn source_reason(source: Source) -> String {
    match source {
        Source::Special(special) => format!("{special} differs by lane"),
        Source::Argument => "callers may pass a different argument in each lane".into(),
        Source::Call => "a call may return a different value in each lane".into(),
        Source::Input => "each lane draws its own input".into(),
        Source::Atomic => "each lane's atomic sees the result of the lane before it".into(),
        Source::Exchange => "each lane reads another lane's value".into(),
        Source::ThreadMemory => "each thread may read its own memory".into(),
        Source::Volatile => "each lane loads it separately and may see a different value".into(),
        Source::Moment => "lanes may run it at different times, because some may wait while others continue".into(),
        Source::Opaque => "an opaque instruction may give a different value in each lane".into(),
    }
}

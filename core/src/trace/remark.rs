//! The reason of a rewrite, or of a refusal: a sentence, its place, and typed details.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ir::{Block, Inst, Reg};

/// Was an opportunity taken or refused?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum RemarkKind {
    /// The edits that follow were made.
    Applied,
    /// Nothing was changed, and the message says why.
    Missed,
}

impl RemarkKind {
    /// `applied` or `missed`.
    pub const fn name(self) -> &'static str {
        match self {
            RemarkKind::Applied => "applied",
            RemarkKind::Missed => "missed",
        }
    }
}

/// A typed detail of a remark, for views that want more than the sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum Fact {
    /// A register, shown by its name.
    Reg(Reg),
    /// A block, shown by its label.
    Block(Block),
    /// A number; units stand in the fact's name.
    Number(f64),
    /// A count.
    Count(u64),
    /// Yes or no.
    Flag(bool),
    /// Words.
    Text(String),
    /// Several blocks.
    Blocks(Vec<Block>),
    /// Several words in an order that means something.
    Words(Vec<String>),
}

/// The reason of a rewrite, or of a refusal.
#[derive(Clone, PartialEq, Debug)]
pub struct Remark {
    /// Taken or refused.
    pub kind: RemarkKind,
    /// The rule that fired or failed, a kebab-case word of the pass.
    pub rule: &'static str,
    /// The block it is about.
    pub block: Block,
    /// The instruction it is about, where there is one.
    pub inst: Option<Inst>,
    /// A full sentence without the final stop.
    pub message: String,
    /// Details by name.
    pub facts: Vec<(&'static str, Fact)>,
}

impl Remark {
    /// A reason for a change at a block.
    pub fn applied(rule: &'static str, block: Block, message: impl Into<String>) -> Remark {
        Remark { kind: RemarkKind::Applied, rule, block, inst: None, message: message.into(), facts: Vec::new() }
    }

    /// A reason for not changing anything.
    pub fn missed(rule: &'static str, block: Block, message: impl Into<String>) -> Remark {
        Remark { kind: RemarkKind::Missed, ..Remark::applied(rule, block, message) }
    }

    /// The message as a sentence.
    pub fn sentence(&self) -> String {
        sentence(&self.message)
    }

    /// Names the instruction that the remark is about.
    pub fn at(mut self, inst: Inst) -> Remark {
        self.inst = Some(inst);
        self
    }

    /// With a detail.
    pub fn with(mut self, name: &'static str, fact: Fact) -> Remark {
        self.facts.push((name, fact));
        self
    }
}

/// A message as a sentence: with a capital letter, unless it begins with code, and a full stop.
pub fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

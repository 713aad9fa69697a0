//! The sentences about questions that go on, meet and are answered.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Narrator, Raised, asked, is_good, is_real};
use crate::ir::{Block, Inst};
use crate::trace::{Answer, Query};

impl Narrator {
    /// The reason why a question goes on.
    pub(super) fn sending(
        &self,
        query: Query,
        rule: Option<&str>,
        (from, at): (Block, Block),
        text: &str,
        mover: Option<Block>,
    ) -> String {
        let (from, at, text) = (self.name(from), self.name(at), asked(text));
        let mover = mover.map_or("", |mover| self.name(mover));
        match (query, rule) {
            (Query::Availability, None) => format!("`{text}` goes up from `{from}` to `{at}`."),
            (Query::Availability, Some(_)) => {
                format!("`{from}` neither computes nor changes it, so `{text}` goes up to its predecessor `{at}`.")
            }
            (Query::Anticipatability, None) => format!("`{text}` begins in `{at}`."),
            (Query::Anticipatability, Some(_)) => {
                format!("`{from}` neither computes nor changes it, so `{text}` goes down to its successor `{at}`.")
            }
            (Query::Speculation, None) => format!("May it come to `{at}`? The question goes up from `{from}`."),
            (Query::Speculation, Some("4-i")) => format!(
                "`{from}` {} and decides about it, so it may move there; `{at}` is asked whether it may go further.",
                self.diverges()
            ),
            (Query::Speculation, Some("4-ii")) => {
                let diverges = self.diverges();
                format!("`{from}` {diverges}, but decides nothing about `{mover}`; the question goes up to `{at}`.")
            }
            (Query::Speculation, Some("5-i-a")) => format!(
                "The lanes agree in `{from}`, which is down-safe and decides about it; the question goes up to `{at}`."
            ),
            (Query::Speculation, Some("5-i-b")) => {
                format!("The lanes agree in `{from}`, which is down-safe; the question goes up to `{at}`.")
            }
            (Query::Speculation, Some(_)) => {
                format!("Nothing in `{from}` stops it, so the question goes up to `{at}`.")
            }
        }
    }

    /// The property of a branch that expressions move across, as a verb of its block.
    fn diverges(&self) -> &'static str {
        if self.crosses_all { "branches" } else { "diverges" }
    }

    /// The reason of an answer, in a sentence.
    pub(super) fn reason(
        &self,
        of: &Raised,
        rule: &str,
        answer: &Answer,
        (meeting, because): (&str, Option<Inst>),
    ) -> String {
        let at = self.name(of.at);
        let inst = because.map(|inst| format!("`{}`", self.text(inst)));
        let what = inst.clone().unwrap_or_else(|| "something".to_string());
        if rule == "budget" {
            return "The budget of steps is used up.".to_string();
        }
        let known_before = of.answers.is_empty();
        let why = match (of.query, rule) {
            (Query::Availability, "1") => format!("`{at}` is the entry: nothing is computed before it"),
            (Query::Availability, "2") => format!("questions have visited `{at}` as often as they may"),
            (Query::Availability, "3") => {
                format!(
                    "the same question is under way in `{at}`, around a loop: a yes is assumed, from no computation"
                )
            }
            (Query::Availability, "4") => format!("{what} in `{at}` may change its operands or its memory"),
            (Query::Availability, "5") => match inst {
                Some(inst) => format!("`{at}` computes it, {inst}"),
                None => format!("`{at}` computes it"),
            },
            (Query::Anticipatability, "1") => format!("control leaves after `{at}`"),
            (Query::Anticipatability, "endless") => format!("`{at}` ends a loop that nothing leaves"),
            (Query::Anticipatability, "2") => {
                format!("the same question is under way in `{at}`, around a loop: a yes is assumed")
            }
            (Query::Anticipatability, "3") => format!("something in `{at}` may change its operands or its memory"),
            (Query::Anticipatability, "4") => format!("`{at}` computes it"),
            (Query::Anticipatability, "6") => format!("nothing after `{at}` computes it"),
            (Query::Speculation, "1") => format!("`{at}` is the entry"),
            (Query::Speculation, "2") => {
                format!("the same question is under way in `{at}`, around a loop: a yes is assumed")
            }
            (Query::Speculation, "3-i-a") => {
                format!("{what} in `{at}` changes it, and `{at}` {} and decides about it", self.diverges())
            }
            (Query::Speculation, "3-i-b") => {
                format!("{what} in `{at}` changes it, and `{at}` {} but does not decide about it", self.diverges())
            }
            (Query::Speculation, "3-ii") => {
                let branch = if self.crosses_all { "branch" } else { "divergent branch" };
                format!("{what} in `{at}` changes it, and `{at}` has no {branch}")
            }
            (Query::Speculation, "4-i-a") => format!("it can go further up than `{at}`"),
            (Query::Speculation, "4-i-b") => {
                format!("it can move above the branch of `{at}`, but no further")
            }
            (Query::Speculation, "5-ii") => {
                format!("the lanes agree in `{at}`, and it is not needed on every path from there")
            }
            (_, _) if known_before => format!("already answered for `{at}`"),
            (_, _) if of.answers.len() == 1 && of.is_down_safe.is_none() => {
                format!("`{at}` passes on the answer from `{}`", self.name(of.answers[0].block))
            }
            (Query::Availability, _) => {
                let safe = match (of.is_down_safe.as_ref().map(|(is, _)| *is), answer) {
                    (Some(true), Answer::Available { is_available: true, .. }) => {
                        ". It is down-safe, and the missing insertions are noted"
                    }
                    (Some(true), _) => ". It is down-safe",
                    (Some(false), _) => ". It is not down-safe",
                    (None, _) => "",
                };
                format!("at `{at}` the answers from all predecessors are combined: {meeting}{safe}")
            }
            (Query::Anticipatability, _) => {
                format!("at `{at}` the answers from all successors are combined: {meeting}")
            }
            (Query::Speculation, _) => {
                format!("at `{at}` the answers from all predecessors are combined: {meeting}")
            }
        };
        let (first, rest) = why.split_at(why.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}.", first.to_uppercase())
    }

    /// The meeting of answers: all of them have to be true, and one of them real.
    pub(super) fn meeting(&self, of: Option<&Raised>) -> String {
        let Some(of) = of.filter(|of| of.answers.len() > 1 || of.is_down_safe.is_some()) else { return String::new() };
        let good = of.answers.iter().filter(|reply| is_good(&reply.answer)).count();
        let is_computed = of.answers.iter().any(|reply| is_real(&reply.answer));
        let paths = if good == 0 { "not available on any path" } else { "available on some paths" };
        let text = match (of.query, good == of.answers.len()) {
            (Query::Availability, true) if is_computed => "available on all paths",
            (Query::Availability, true) => "assumed on all paths",
            (Query::Availability, false) => paths,
            (Query::Anticipatability, true) => "on all paths",
            (Query::Anticipatability, false) => "not on all paths",
            // An expression that stops here may still have moved up to here.
            (Query::Speculation, true) => "it can move further up",
            (Query::Speculation, false) => "it cannot move further up",
        };
        let safety = match &of.is_down_safe {
            Some((true, _)) => ", down-safe",
            Some((false, _)) => ", not down-safe",
            None => "",
        };
        format!("{text}{safety}")
    }

    /// An answer in words.
    pub(super) fn words(&self, answer: &Answer) -> String {
        let text = match answer {
            Answer::Available { is_available: true, is_real: true } => "available",
            Answer::Available { is_available: true, .. } => "assumed, not computed",
            Answer::Available { .. } => "not available",
            Answer::Anticipated(true) => "computed later",
            Answer::Anticipated(false) => "not computed later",
            Answer::Hoistable { can_hoist: true, blocks } => {
                return format!("can move up, to {}", self.code(blocks));
            }
            Answer::Hoistable { .. } => "cannot move up",
        };
        text.to_string()
    }

    /// An answer as short as a token shows it.
    pub(super) fn short(&self, answer: &Answer) -> String {
        let text = match answer {
            Answer::Hoistable { can_hoist: true, blocks } => return format!("yes, to {}", self.names(blocks)),
            Answer::Available { is_available: true, is_real: true } | Answer::Anticipated(true) => "yes",
            Answer::Available { is_available: true, .. } => "assumed",
            _ => "no",
        };
        text.to_string()
    }

    pub(super) fn code(&self, blocks: &[Block]) -> String {
        blocks.iter().map(|&block| format!("`{}`", self.name(block))).collect::<Vec<_>>().join(", ")
    }

    fn names(&self, blocks: &[Block]) -> String {
        blocks.iter().map(|&block| self.name(block)).collect::<Vec<_>>().join(", ")
    }
}

//! Narration of questions, in sentences beside the number of the rule that fired.
//!
//! The rules are those of J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021: sections
//! 4.1 and 4.2 for availability and anticipatability, 5.2 for speculation.

use std::collections::BTreeMap;

use warpscope_core::ir::{Block, Func, Function, Inst, Module};
use warpscope_core::journal::Journal;
use warpscope_core::text::instruction_text;
use warpscope_core::trace::{Answer, Query, QuestionEvent, QuestionId, RemarkKind};

use crate::message::{self, Event, Verdict, What};

/// Tells one event after the other; what it has told of a question is needed for what follows.
pub struct Narrator {
    /// The program as it was when the next event happened.
    module: Module,
    func: Func,
    raised: BTreeMap<QuestionId, Raised>,
}

/// A question or inquiry that has been raised.
#[derive(Clone)]
struct Raised {
    query: Query,
    parent: Option<QuestionId>,
    text: String,
    at: Block,
    /// Answers that have come back to it.
    answers: Vec<(Block, Answer)>,
    /// Whether its block was found down-safe, if that was asked.
    is_down_safe: Option<bool>,
    /// Number of places noted for insertion.
    noted: usize,
}

impl Narrator {
    /// A narrator who knows of no question yet, about a function of this program.
    pub fn new(module: Module, func: Func) -> Narrator {
        Narrator { module, func, raised: BTreeMap::new() }
    }

    /// Tells what a change is about, and makes it.
    pub fn change(&mut self, journal: &Journal, index: usize) -> Event {
        let remark = &journal.events()[index].remark;
        let what = if remark.kind == RemarkKind::Applied { What::Changed } else { What::Refused };
        let told = self.event(remark.block, remark.rule, format!("{}.", remark.message), what);
        journal.advance(&mut self.module, index..index + 1);
        told
    }

    /// Tells what happened.
    pub fn tell(&mut self, event: &QuestionEvent) -> Event {
        match event {
            QuestionEvent::Began { id, parent, query, expression, root, .. } => {
                self.raise(*id, *parent, *query, expression, *root);
                let (at, text) = (self.name(*root), expression);
                let sentence = match query {
                    Query::Availability => {
                        format!("Is `{text}` available in `{at}`: computed on every way that leads here?")
                    }
                    Query::Anticipatability => {
                        format!("Is `{at}` down-safe: will `{text}` be computed on every way that leads on?")
                    }
                    Query::Speculation => {
                        format!("Can `{text}` move up from `{at}`, in front of a branch that decides about it?")
                    }
                };
                let (id, parent, text) = (*id, *parent, asked(expression));
                self.event(*root, "", sentence, What::Began { id, parent, query: kind(*query), text })
            }
            QuestionEvent::Asked { id, parent, expression, from, mover, at, rule } => {
                let query = self.raised.get(parent).map_or(Query::Availability, |of| of.query);
                let sentence = self.sending(query, *rule, (*from, *at), expression, *mover);
                self.raise(*id, Some(*parent), query, expression, *at);
                let text = match mover {
                    Some(mover) => format!("({expression}, {}, {})?", self.name(*mover), self.name(*at)),
                    None => asked(expression),
                };
                let what = What::Asked { id: *id, parent: *parent, text, from: from.as_u32() };
                self.event(*at, rule.unwrap_or(""), sentence, what)
            }
            QuestionEvent::Converted { id, expression, inst } => {
                let at = self.raised.get_mut(id).map(|of| {
                    of.text.clone_from(expression);
                    of.at
                });
                let block = at.or_else(|| self.func().inst_block(*inst)).unwrap_or(Block::from_u32(0));
                let sentence = format!(
                    "`{}` defines an operand that can be converted. Above it the question is `{}`.",
                    self.text(*inst),
                    asked(expression)
                );
                self.event(block, "6", sentence, What::Converted { id: *id, text: asked(expression) })
            }
            QuestionEvent::Answered { id, rule, answer, because } => self.answered(*id, rule, answer, *because),
            QuestionEvent::Noted { id, expression, block, onto } => {
                if let Some(of) = self.raised.get_mut(id) {
                    of.noted += 1;
                }
                let place = match onto {
                    Some(onto) => format!("the edge from `{}` to `{}`", self.name(*block), self.name(*onto)),
                    None => format!("the end of `{}`", self.name(*block)),
                };
                let sentence =
                    format!("`{expression}` is missing there, and other ways have it: it is noted for {place}.");
                let onto = onto.map(Block::as_u32);
                self.event(*block, "7", sentence, What::Noted { id: *id, text: expression.clone(), onto })
            }
            QuestionEvent::Ended { id, answer } => {
                let of = self.raised.get(id).cloned();
                let meeting = self.meeting(of.as_ref());
                let block = of.as_ref().map_or(Block::from_u32(0), |of| of.at);
                let sentence = self.ending(of.as_ref(), answer);
                if let (Some(of), Answer::Anticipated(is_down_safe)) = (&of, answer)
                    && let Some(parent) = of.parent.and_then(|parent| self.raised.get_mut(&parent))
                {
                    parent.is_down_safe = Some(*is_down_safe);
                }
                self.event(
                    block,
                    "",
                    sentence,
                    What::Ended { id: *id, verdict: verdict(answer), words: self.short(answer), meeting },
                )
            }
        }
    }

    fn raise(&mut self, id: QuestionId, parent: Option<QuestionId>, query: Query, text: &str, at: Block) {
        let (answers, is_down_safe, noted) = (Vec::new(), None, 0);
        self.raised.insert(id, Raised { query, parent, text: text.to_owned(), at, answers, is_down_safe, noted });
    }

    fn answered(&mut self, id: QuestionId, rule: &str, answer: &Answer, because: Option<Inst>) -> Event {
        let of = self.raised.remove(&id);
        let block = of.as_ref().map_or(Block::from_u32(0), |of| of.at);
        if let Some(of) = &of
            && let Some(parent) = of.parent.and_then(|parent| self.raised.get_mut(&parent))
        {
            parent.answers.push((of.at, answer.clone()));
        }
        let meeting = self.meeting(of.as_ref());
        let sentence = match &of {
            Some(of) => {
                format!("{} The answer is {}.", self.reason(of, rule, answer, (&meeting, because)), self.words(answer))
            }
            None => format!("The answer is {}.", self.words(answer)),
        };
        self.event(
            block,
            rule,
            sentence,
            What::Answered { id, verdict: verdict(answer), words: self.short(answer), meeting },
        )
    }

    /// Why a question goes on.
    fn sending(
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
                format!("`{from}` says nothing about it, so `{text}` goes up to `{at}`.")
            }
            (Query::Anticipatability, None) => format!("`{text}` begins in `{at}`."),
            (Query::Anticipatability, Some(_)) => {
                format!("`{from}` says nothing about it, so `{text}` goes down to `{at}`.")
            }
            (Query::Speculation, None) => format!("May it come to `{at}`? The question goes up from `{from}`."),
            (Query::Speculation, Some("4-i")) => format!(
                "`{from}` diverges and decides about it, so it may move there; `{at}` is asked whether it may go further."
            ),
            (Query::Speculation, Some("4-ii")) => {
                format!("`{from}` diverges, but decides nothing about `{mover}`; the question goes up to `{at}`.")
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

    /// Why a question is answered as it is, in a sentence.
    fn reason(&self, of: &Raised, rule: &str, answer: &Answer, (meeting, because): (&str, Option<Inst>)) -> String {
        let at = self.name(of.at);
        let inst = because.map(|inst| format!("`{}`", self.text(inst)));
        let what = inst.clone().unwrap_or_else(|| "something".to_owned());
        if rule == "budget" {
            return "The budget of steps is used up.".to_owned();
        }
        let known_before = of.answers.is_empty();
        let why = match (of.query, rule) {
            (Query::Availability, "1") => format!("control comes in at `{at}`, and nothing has been computed"),
            (Query::Availability, "2") => format!("questions have visited `{at}` as often as they may"),
            (Query::Availability, "3") => {
                format!("this very question is under way in `{at}`; it is taken to be true, though not real")
            }
            (Query::Availability, "4") => format!("{what} in `{at}` may change its operands or its memory"),
            (Query::Availability, "5") => match inst {
                Some(inst) => format!("`{at}` computes it, {inst}"),
                None => format!("`{at}` computes it"),
            },
            (Query::Anticipatability, "1") => format!("control leaves after `{at}`"),
            (Query::Anticipatability, "2") => {
                format!("this very question is under way in `{at}`; it is taken to be true")
            }
            (Query::Anticipatability, "3") => format!("something in `{at}` may change its operands or its memory"),
            (Query::Anticipatability, "4") => format!("`{at}` computes it"),
            (Query::Speculation, "1") => format!("control comes in at `{at}`"),
            (Query::Speculation, "2") => format!("this very question is under way in `{at}`"),
            (Query::Speculation, "3-i-a") => {
                format!(
                    "something in `{at}` changes it, and its branch diverges and decides about it: it can come here"
                )
            }
            (Query::Speculation, "3-i-b") => {
                format!("{what} in `{at}` changes it, and its branch diverges but does not decide about it")
            }
            (Query::Speculation, "3-ii") => format!("{what} in `{at}` changes it, and its branch does not diverge"),
            (Query::Speculation, "4-i-a") => format!("it can go further up than `{at}`"),
            (Query::Speculation, "4-i-b") => {
                format!("it can go no further, but in front of the branch of `{at}` it can")
            }
            (Query::Speculation, "5-ii") => {
                format!("the lanes agree in `{at}`, and it is not wanted on every way that leads on")
            }
            (_, _) if known_before => format!("`{at}` has been asked before"),
            (_, _) if of.answers.len() == 1 && of.is_down_safe.is_none() => {
                format!("`{at}` says what it was told by `{}`", self.name(of.answers[0].0))
            }
            (Query::Availability, _) => {
                let safe = match (of.is_down_safe, answer) {
                    (Some(true), Answer::Available { is_available: true, .. }) => {
                        ". It is down-safe, and what is missing is noted"
                    }
                    (Some(true), _) => ". It is down-safe",
                    (Some(false), _) => ". It is not down-safe",
                    (None, _) => "",
                };
                format!("answers meet in `{at}`, {meeting}{safe}")
            }
            _ => format!("answers meet in `{at}`, {meeting}"),
        };
        let (first, rest) = why.split_at(why.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}.", first.to_uppercase())
    }

    /// How answers meet: all of them have to be true, and one of them real.
    fn meeting(&self, of: Option<&Raised>) -> String {
        let Some(of) = of.filter(|of| of.answers.len() > 1 || of.is_down_safe.is_some()) else { return String::new() };
        let all = of.answers.iter().map(|(_, answer)| if is_good(answer) { "true" } else { "false" });
        let mut text = format!("∏ {}", all.collect::<Vec<_>>().join(" · "));
        // What cannot go further up may still stop where it is, so that this is not yet the answer.
        if of.query == Query::Speculation {
            text.insert_str(0, "further up: ");
        }
        if of.query == Query::Availability {
            let is_real = of.answers.iter().any(|(_, answer)| verdict(answer) == Verdict::Real);
            text.push_str(if is_real { ", ∪ real" } else { ", ∪ not real" });
        }
        match of.is_down_safe {
            Some(true) => text.push_str(", down-safe"),
            Some(false) => text.push_str(", not down-safe"),
            None => {}
        }
        text
    }

    fn ending(&self, of: Option<&Raised>, answer: &Answer) -> String {
        let Some(of) = of else { return format!("The inquiry ends: {}.", self.words(answer)) };
        let (at, text) = (self.name(of.at), &of.text);
        let noted = match of.noted {
            0 => String::new(),
            1 => ", with one insertion".to_owned(),
            more => format!(", with {more} insertions"),
        };
        match answer {
            Answer::Available { is_available: true, .. } => format!("`{text}` is available in `{at}`{noted}."),
            Answer::Available { .. } => format!("`{text}` is not available in `{at}`."),
            Answer::Anticipated(true) => format!("`{at}` is down-safe for `{text}`."),
            Answer::Anticipated(false) => format!("`{at}` is not down-safe for `{text}`."),
            Answer::Hoistable { can_hoist: true, blocks } => {
                format!("`{text}` can move up, to {}.", self.names(blocks))
            }
            Answer::Hoistable { .. } => format!("`{text}` stays in `{at}`."),
        }
    }

    /// An answer, as the paper writes it.
    fn words(&self, answer: &Answer) -> String {
        match answer {
            Answer::Available { is_available, is_real } => format!("({is_available}, {is_real})"),
            Answer::Anticipated(answer) => answer.to_string(),
            Answer::Hoistable { can_hoist, blocks } if blocks.is_empty() => format!("({can_hoist}, ∅)"),
            Answer::Hoistable { can_hoist, blocks } => format!("({can_hoist}, {{{}}})", self.names(blocks)),
        }
    }

    /// An answer in words.
    fn short(&self, answer: &Answer) -> String {
        let text = match answer {
            Answer::Hoistable { can_hoist: true, blocks } => return format!("true, {{{}}}", self.names(blocks)),
            Answer::Available { is_available: true, is_real: true } => "true, real",
            Answer::Available { is_available: true, .. } => "true, not real",
            Answer::Anticipated(true) => "true",
            _ => "false",
        };
        text.to_owned()
    }

    fn names(&self, blocks: &[Block]) -> String {
        blocks.iter().map(|&block| self.name(block)).collect::<Vec<_>>().join(", ")
    }

    fn event(&self, block: Block, rule: &str, sentence: String, what: What) -> Event {
        Event { what, block: block.as_u32(), at: self.name(block).to_owned(), rule: rule.to_owned(), sentence }
    }

    fn func(&self) -> &Function {
        &self.module.funcs[self.func]
    }

    fn text(&self, inst: Inst) -> String {
        instruction_text(&self.module, self.func(), inst)
    }

    fn name(&self, block: Block) -> &str {
        self.func().blocks.get(block).map_or("", |data| &data.name)
    }
}

fn asked(expression: &str) -> String {
    format!("{expression}?")
}

fn kind(query: Query) -> message::Query {
    match query {
        Query::Availability => message::Query::Availability,
        Query::Anticipatability => message::Query::Anticipatability,
        Query::Speculation => message::Query::Speculation,
    }
}

fn is_good(answer: &Answer) -> bool {
    verdict(answer).is_good()
}

fn verdict(answer: &Answer) -> Verdict {
    match answer {
        Answer::Available { is_available: true, is_real: true } => Verdict::Real,
        Answer::Available { is_available: true, .. } => Verdict::Unreal,
        Answer::Anticipated(true) | Answer::Hoistable { can_hoist: true, .. } => Verdict::True,
        _ => Verdict::False,
    }
}

//! A sentence for everything that happens to questions, with the number of the rule that fired, and what tokens do
//! then.
//!
//! ```text
//! Began     inquiry    Is `A[i]` available in `n8`: computed on every path that leads here?   a token appears in n8
//! Asked     question   `A[i]?` goes up from `n8` to `n7`.                                     one more, from n8 to n7
//! Answered  answer  5  `n7` computes it. The answer is (true, true).                          it returns
//! ```
//!
//! Linear in events, apart from logarithms and the answers that meet.
//!
//! The rules are those of J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021:
//! sections 4.1 and 4.2 for availability and anticipatability, 5.2 for speculation.

mod sentences;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::inspect::{Anchor, Look, Moment, TokenKind, TokenStep};
use crate::ir::{Block, Func, Function, Inst, Module};
use crate::journal::Journal;
use crate::text::instruction_text;
use crate::trace::{Answer, Query, QuestionEvent, QuestionId, RemarkKind};

/// The rule of changes that carry out a note.
const INSERT: &str = "insert";

/// Narrator of one event after the other, who needs to know what has been told of a question.
pub(super) struct Narrator {
    /// The program as it was when the next event happened.
    module: Module,
    func: Func,
    raised: BTreeMap<QuestionId, Raised>,
    /// Places that are noted for insertion, in order.
    noted: Vec<Anchor>,
}

/// A question or inquiry that has been raised.
#[derive(Clone)]
struct Raised {
    query: Query,
    parent: Option<QuestionId>,
    text: String,
    at: Block,
    /// Answers that have come back to it, each with its block.
    answers: Vec<(Block, Answer)>,
    /// Whether its block was found down-safe, if that was asked.
    is_down_safe: Option<bool>,
    /// Insertions that were noted.
    noted: usize,
}

impl Narrator {
    /// A narrator who knows of no question yet, about a function of this program.
    pub fn new(module: Module, func: Func) -> Narrator {
        Narrator { module, func, raised: BTreeMap::new(), noted: Vec::new() }
    }

    /// Tells the reason of the event of that index, a change or a refusal, and makes the change.
    pub fn change(&mut self, journal: &Journal, index: usize) -> Option<Moment> {
        let remark = &journal.events().get(index)?.remark;
        let is_change = remark.kind == RemarkKind::Applied;
        let (word, look) = if is_change { ("change", Look::Good) } else { ("refused", Look::Bad) };
        let mut tokens = Vec::new();
        if is_change {
            tokens.push(TokenStep::Clears);
            let is_made = |at: &Anchor| leaves(at, remark.block);
            if let Some(made) = self.noted.iter().position(is_made).filter(|_| remark.rule == INSERT) {
                tokens.push(TokenStep::Erases { at: self.noted.remove(made) });
            }
        }
        let told = self.placed(told(word, remark.block, remark.rule, remark.sentence()));
        journal.advance(&mut self.module, index..index + 1);
        Some(Moment { look, tokens, ..told })
    }

    /// Tells what happened.
    pub fn tell(&mut self, event: &QuestionEvent) -> Moment {
        let told = self.narrate(event);
        self.placed(told)
    }

    /// The moment with the name of its block.
    fn placed(&self, told: Moment) -> Moment {
        let place = match told.focus {
            Some(Anchor::Block(block)) => self.name(Block::from_u32(block)).into(),
            _ => String::new(),
        };
        Moment { place, ..told }
    }

    fn narrate(&mut self, event: &QuestionEvent) -> Moment {
        match event {
            QuestionEvent::Began { id, parent, query, expression, root, .. } => {
                self.began(*id, *parent, *query, expression, *root)
            }
            QuestionEvent::Asked { id, parent, expression, from, mover, at, rule } => {
                let query = self.raised.get(parent).map_or(Query::Availability, |of| of.query);
                let sentence = self.sending(query, *rule, (*from, *at), expression, *mover);
                self.raise(*id, Some(*parent), query, expression, *at);
                let text = match mover {
                    Some(mover) => format!("({expression}, {}, {})?", self.name(*mover), self.name(*at)),
                    None => asked(expression),
                };
                let appears = TokenStep::Appears {
                    id: *id,
                    parent: Some(*parent),
                    kind: kind(query).into(),
                    text,
                    from: Some(from.as_u32()),
                    to: at.as_u32(),
                };
                Moment { tokens: Vec::from([appears]), ..told("question", *at, rule.unwrap_or(""), sentence) }
            }
            QuestionEvent::Converted { id, expression, inst } => {
                let at = self.raised.get_mut(id).map(|of| {
                    of.text.clone_from(expression);
                    of.at
                });
                let block = at.or_else(|| self.func().inst_block(*inst)).unwrap_or(Block::from_u32(0));
                let text = asked(expression);
                let sentence = format!(
                    "`{}` defines an operand that can be converted. Above it the question is `{text}`.",
                    self.text(*inst)
                );
                let tokens = Vec::from([TokenStep::Changes { id: *id, text }]);
                Moment { tokens, ..told("converted", block, "6", sentence) }
            }
            QuestionEvent::Answered { id, rule, answer, because } => self.answered(*id, rule, answer, *because),
            QuestionEvent::Noted { id, expression, block, onto } => self.noted(*id, expression, *block, *onto),
            QuestionEvent::Ended { id, answer } => self.ended(*id, answer),
        }
    }

    fn began(
        &mut self,
        id: QuestionId,
        parent: Option<QuestionId>,
        query: Query,
        expression: &str,
        root: Block,
    ) -> Moment {
        let mut tokens = Vec::new();
        if parent.is_none() {
            tokens.push(TokenStep::Clears);
            tokens.extend(self.erase());
        }
        self.raise(id, parent, query, expression, root);
        let at = self.name(root);
        let sentence = match query {
            Query::Availability => {
                format!("Is `{expression}` available in `{at}`: computed on every path that leads here?")
            }
            Query::Anticipatability => {
                format!("Is `{at}` down-safe: will `{expression}` be computed on every path that leads on?")
            }
            Query::Speculation => {
                format!("Can `{expression}` move up from `{at}`, before a branch that decides about it?")
            }
        };
        let (kind, text) = (kind(query).into(), asked(expression));
        tokens.push(TokenStep::Appears { id, parent, kind, text, from: None, to: root.as_u32() });
        Moment { tokens, ..told("inquiry", root, "", sentence) }
    }

    fn raise(&mut self, id: QuestionId, parent: Option<QuestionId>, query: Query, text: &str, at: Block) {
        let (answers, is_down_safe, noted) = (Vec::new(), None, 0);
        self.raised.insert(id, Raised { query, parent, text: text.into(), at, answers, is_down_safe, noted });
    }

    fn answered(&mut self, id: QuestionId, rule: &str, answer: &Answer, because: Option<Inst>) -> Moment {
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
                format!("{} Answer: {}.", self.reason(of, rule, answer, (&meeting, because)), self.words(answer))
            }
            None => format!("Answer: {}.", self.words(answer)),
        };
        let tokens = self.returning(id, of.as_ref(), answer, meeting);
        Moment { look: look(answer), tokens, ..told("answer", block, rule, sentence) }
    }

    fn noted(&mut self, id: QuestionId, expression: &str, block: Block, onto: Option<Block>) -> Moment {
        if let Some(of) = self.raised.get_mut(&id) {
            of.noted += 1;
        }
        let from = self.name(block);
        let (place, at) = match onto {
            Some(onto) => (
                format!("the edge from `{from}` to `{}`", self.name(onto)),
                Anchor::Edge(block.as_u32(), onto.as_u32()),
            ),
            None => (format!("the end of `{from}`"), Anchor::Block(block.as_u32())),
        };
        let sentence = format!("`{expression}` is missing there, and other paths have it: it is noted for {place}.");
        self.noted.push(at.clone());
        let tokens = Vec::from([TokenStep::Notes { id, text: expression.into(), at }]);
        Moment { tokens, ..told("noted", block, "7", sentence) }
    }

    fn ended(&mut self, id: QuestionId, answer: &Answer) -> Moment {
        let of = self.raised.get(&id).cloned();
        let meeting = self.meeting(of.as_ref());
        let block = of.as_ref().map_or(Block::from_u32(0), |of| of.at);
        let sentence = self.ending(of.as_ref(), answer);
        if let (Some(of), Answer::Anticipated(is_down_safe)) = (&of, answer)
            && let Some(parent) = of.parent.and_then(|parent| self.raised.get_mut(&parent))
        {
            parent.is_down_safe = Some(*is_down_safe);
        }
        let tokens = self.returning(id, of.as_ref(), answer, meeting);
        Moment { look: look(answer), tokens, ..told("result", block, "", sentence) }
    }

    /// The return of a token. Where an inquiry of an instruction fails nothing is inserted.
    fn returning(&mut self, id: QuestionId, of: Option<&Raised>, answer: &Answer, meeting: String) -> Vec<TokenStep> {
        let returns = TokenStep::Returns { id, look: look(answer), words: self.short(answer), meeting };
        let fails = !is_good(answer) && of.is_some_and(|of| of.parent.is_none());
        let mut tokens = Vec::from([returns]);
        if fails {
            tokens.extend(self.erase());
        }
        tokens
    }

    /// Steps that erase all notes.
    fn erase(&mut self) -> impl Iterator<Item = TokenStep> {
        core::mem::take(&mut self.noted).into_iter().map(|at| TokenStep::Erases { at })
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

/// A moment in a block, without looks and tokens.
fn told(word: &str, block: Block, rule: &str, sentence: String) -> Moment {
    let focus = Some(Anchor::Block(block.as_u32()));
    Moment { word: word.into(), rule: rule.into(), sentence, focus, ..Moment::default() }
}

/// Whether a place is the end of a block or an edge from it.
fn leaves(at: &Anchor, block: Block) -> bool {
    match at {
        Anchor::Block(from) | Anchor::Edge(from, _) => *from == block.as_u32(),
        _ => false,
    }
}

fn kind(query: Query) -> &'static str {
    match query {
        Query::Availability => "availability",
        Query::Anticipatability => "anticipatability",
        Query::Speculation => "speculation",
    }
}

/// The kinds of questions.
pub(super) fn kinds() -> Vec<TokenKind> {
    let kind = |query: Query, label: &str, sign: &str| TokenKind {
        key: kind(query).into(),
        label: label.into(),
        sign: sign.into(),
        is_upward: query != Query::Anticipatability,
    };
    Vec::from([
        kind(Query::Availability, "available?", "↑"),
        kind(Query::Anticipatability, "anticipated?", "↓"),
        kind(Query::Speculation, "can it move up?", "⇈"),
    ])
}

fn is_good(answer: &Answer) -> bool {
    look(answer) != Look::Bad
}

fn is_real(answer: &Answer) -> bool {
    matches!(answer, Answer::Available { is_available: true, is_real: true })
}

/// The look of an answer. One that only comes from the question itself, around a loop, holds in part.
fn look(answer: &Answer) -> Look {
    match answer {
        Answer::Available { is_available: true, is_real: false } => Look::Partial,
        Answer::Available { is_available: true, .. }
        | Answer::Anticipated(true)
        | Answer::Hoistable { can_hoist: true, .. } => Look::Good,
        _ => Look::Bad,
    }
}

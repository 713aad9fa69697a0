//! A sentence for everything that happens to questions, with the number of the rule that fired, and what tokens do
//! then.
//!
//! ```text
//! Began     inquiry    Is `A[i]` available in `n8`: computed on every path that leads here?   a token appears in n8
//! Asked     question   `A[i]?` goes up from `n8` to `n7`.                                     one more, from n8 to n7
//! Answered  answer  5  `n7` computes it. Answer: available.                                   it returns
//! ```
//!
//! Linear in events, apart from logarithms and the answers that meet.
//!
//! The rules are those of J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021:
//! sections 4.1 and 4.2 for availability and anticipatability, 5.2 for speculation.

mod causes;
mod rules;
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
use causes::Cause;
pub(super) use rules::texts;

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
    /// The last answer to each question, with its cause.
    known: BTreeMap<Key, (Answer, Cause)>,
    /// Moments that have been told.
    moments: usize,
    /// Whether every branch counts as divergent for speculation questions.
    crosses_all: bool,
}

/// Identity of a question at a block: its kind, block, text, and the block that the expression would move from.
type Key = (&'static str, Block, String, Option<Block>);

/// A question or inquiry that has been raised.
#[derive(Clone)]
struct Raised {
    query: Query,
    parent: Option<QuestionId>,
    text: String,
    at: Block,
    key: Key,
    /// Answers that have come back to it.
    answers: Vec<Reply>,
    /// Whether its block was found down-safe, and why, if that was asked.
    is_down_safe: Option<(bool, Cause)>,
    /// Places of insertions that were noted.
    noted: Vec<String>,
    /// Definitions that changed its text.
    conversions: Vec<String>,
    /// Its first moment.
    began: usize,
}

/// An answer that has come back from a block.
#[derive(Clone)]
struct Reply {
    block: Block,
    answer: Answer,
    cause: Cause,
}

impl Narrator {
    /// A narrator who knows of no question yet, about a function of this program. `crosses_all` says whether every
    /// branch counts as divergent for speculation questions.
    pub fn new(module: Module, func: Func, crosses_all: bool) -> Narrator {
        let (raised, noted, known) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        Narrator { module, func, raised, noted, known, moments: 0, crosses_all }
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
        self.moments += 1;
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
                self.raise(*id, Some(*parent), (query, *at, expression.clone(), *mover));
                let text = match mover {
                    Some(mover) => asked(&format!("{expression} from {}", self.name(*mover))),
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
                let told = told("question", *at, rule.unwrap_or(""), sentence);
                Moment { tokens: Vec::from([appears]), ..citing(query, told) }
            }
            QuestionEvent::Converted { id, expression, inst } => {
                let definition = self.text(*inst);
                let at = self.raised.get_mut(id).map(|of| {
                    of.text.clone_from(expression);
                    of.conversions.push(definition);
                    of.at
                });
                let block = at.or_else(|| self.func().inst_block(*inst)).unwrap_or(Block::from_u32(0));
                let text = asked(expression);
                let sentence = format!(
                    "`{}` defines an operand that can be converted. Above it the question is `{text}`.",
                    self.text(*inst)
                );
                let tokens = Vec::from([TokenStep::Changes { id: *id, text }]);
                Moment { tokens, ..citing(Query::Availability, told("converted", block, "6", sentence)) }
            }
            QuestionEvent::Answered { id, rule, answer, because, refusal } => {
                self.answered(*id, rule, answer, (*because, refusal.as_ref()))
            }
            QuestionEvent::Noted { id, expression, block, onto } => self.noted(*id, expression, *block, *onto),
            QuestionEvent::Ended { id, answer, because, refusal } => {
                self.ended(*id, answer, (*because, refusal.as_ref()))
            }
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
        self.raise(id, parent, (query, root, expression.into(), None));
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

    fn raise(
        &mut self,
        id: QuestionId,
        parent: Option<QuestionId>,
        (query, at, text, mover): (Query, Block, String, Option<Block>),
    ) {
        let raised = Raised {
            query,
            parent,
            at,
            key: (kind(query), at, text.clone(), mover),
            text,
            answers: Vec::new(),
            is_down_safe: None,
            noted: Vec::new(),
            conversions: Vec::new(),
            began: self.moments,
        };
        self.raised.insert(id, raised);
    }

    fn answered(
        &mut self,
        id: QuestionId,
        rule: &str,
        answer: &Answer,
        (because, refusal): (Option<Inst>, Option<&String>),
    ) -> Moment {
        let of = self.raised.remove(&id);
        let block = of.as_ref().map_or(Block::from_u32(0), |of| of.at);
        let meeting = self.meeting(of.as_ref());
        let tokens = self.returning(id, of.as_ref(), answer, meeting.clone());
        let Some(of) = of else {
            let sentence = format!("Answer: {}.", self.words(answer));
            return Moment { look: look(answer), tokens, ..told("answer", block, rule, sentence) };
        };
        let cause = self.cause(&of, rule, answer, (because, refusal));
        let sentence =
            format!("{} Answer: {}.", self.reason(&of, rule, answer, (&meeting, because)), self.words(answer));
        if let Some(parent) = of.parent.and_then(|parent| self.raised.get_mut(&parent)) {
            parent.answers.push(Reply { block, answer: answer.clone(), cause: cause.clone() });
        }
        self.known.insert(of.key, (answer.clone(), cause));
        Moment { look: look(answer), tokens, ..citing(of.query, told("answer", block, rule, sentence)) }
    }

    fn noted(&mut self, id: QuestionId, expression: &str, block: Block, onto: Option<Block>) -> Moment {
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
        if let Some(of) = self.raised.get_mut(&id) {
            of.noted.push(if onto.is_some() { format!("on {place}") } else { format!("at {place}") });
        }
        let tokens = Vec::from([TokenStep::Notes { id, text: expression.into(), at }]);
        Moment { tokens, ..citing(Query::Availability, told("noted", block, "7", sentence)) }
    }

    fn ended(
        &mut self,
        id: QuestionId,
        answer: &Answer,
        (because, refusal): (Option<Inst>, Option<&String>),
    ) -> Moment {
        let of = self.raised.remove(&id);
        let meeting = self.meeting(of.as_ref());
        let tokens = self.returning(id, of.as_ref(), answer, meeting);
        let Some(of) = of else {
            let sentence = format!("The inquiry ends: {}.", self.words(answer));
            return Moment { look: look(answer), tokens, ..told("result", Block::from_u32(0), "", sentence) };
        };
        let cause = self.cause(&of, "", answer, (because, refusal));
        let sentence = self.summary(&of, answer, &cause);
        if let Answer::Anticipated(is_down_safe) = answer
            && let Some(parent) = of.parent.and_then(|parent| self.raised.get_mut(&parent))
        {
            // A second inquiry is about faults.
            parent.is_down_safe.get_or_insert((*is_down_safe, cause));
        }
        Moment { look: look(answer), tokens, ..told("result", of.at, "", sentence) }
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

/// The moment with the text of its rule.
fn citing(query: Query, told: Moment) -> Moment {
    Moment { cites: rules::index(query, &told.rule), ..told }
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

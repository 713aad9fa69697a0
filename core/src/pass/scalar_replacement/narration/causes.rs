//! The fact that decides an answer, passed on from the block where it is to the inquiry.
//!
//! ```text
//! n1: i = 0      no: nothing computes it on the path from the entry `s`, through `i = mov.s32 0`
//! n2: br n5      no, as `n1` says no
//! n5: A[i + 1]   `A[i + 1]` is not available in `n5`, because nothing computes it on the path from …
//! ```
//!
//! 1. An answer that a block gives by itself is decided there: by an instruction, the entry, an exit.
//! 2. A good answer is decided by all blocks that gave it: those that compute the expression, or take it.
//! 3. A bad answer has one reason: the block where answers met is not down-safe; nothing is inserted there; else a
//!    predecessor's bad answer, preferably one that no limit of the search gave.
//! 4. A question that was answered before has the reason that was told then.
//!
//! Everything comes from recorded events. Linear in answers, as a cause keeps [`MOST_FACTS`] facts.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Narrator, Raised, Reply, is_good};
use crate::ir::{Block, Inst};
use crate::trace::{Answer, Query};

/// Facts of a cause; later ones are left out.
const MOST_FACTS: usize = 4;

/// The reason of an answer.
#[derive(Clone, Default)]
pub(super) struct Cause {
    /// The facts that decide a good answer, or the one that decides a bad one.
    facts: Vec<Fact>,
    has_more: bool,
    /// Definitions through which the question has changed on the way from the fact, nearest last.
    conversions: Vec<String>,
    strength: Strength,
}

/// A fact.
#[derive(Clone, PartialEq, Eq)]
enum Fact {
    /// The block computes the expression.
    Computes(Block),
    /// The branch of the block decides about the expression.
    Takes(Block),
    /// The expression is noted for insertion at that place.
    Noted(String),
    /// A clause.
    Other(String),
}

/// The order in which reasons of bad answers are preferred.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// A limit of the search.
    #[default]
    Limit,
    /// A fact of the program.
    Program,
    /// A decision against an insertion.
    Refusal,
}

impl Cause {
    fn of(fact: Fact) -> Cause {
        Cause { facts: Vec::from([fact]), strength: Strength::Program, ..Cause::default() }
    }

    fn clause(clause: String) -> Cause {
        Cause::of(Fact::Other(clause))
    }

    fn limit(clause: String) -> Cause {
        Cause { strength: Strength::Limit, ..Cause::clause(clause) }
    }

    fn refusal(clause: String) -> Cause {
        Cause { strength: Strength::Refusal, ..Cause::clause(clause) }
    }

    /// Adds the facts of another good answer.
    fn join(&mut self, other: &Cause) {
        for fact in other.facts.iter().filter(|fact| !self.facts.contains(fact)).cloned().collect::<Vec<_>>() {
            self.add(fact);
        }
        self.has_more |= other.has_more;
        self.strength = self.strength.max(other.strength);
    }

    fn add(&mut self, fact: Fact) {
        if self.facts.len() < MOST_FACTS { self.facts.push(fact) } else { self.has_more = true }
    }
}

impl Narrator {
    /// The cause of an answer, by its rule and by the answers that it is made of.
    pub(super) fn cause(
        &self,
        of: &Raised,
        rule: &str,
        answer: &Answer,
        (because, refusal): (Option<Inst>, Option<&String>),
    ) -> Cause {
        // The question of an inquiry is asked in the middle of its block.
        let is_asked_at_end = !rule.is_empty() && of.answers.is_empty();
        let known = self.known.get(&of.key).filter(|(known, _)| is_asked_at_end && known == answer);
        if let Some((_, cause)) = known.filter(|_| because.is_none()) {
            return cause.clone();
        }
        let mut cause = match is_good(answer) {
            true => self.cause_of_yes(of, rule),
            false => self.cause_of_no(of, rule, (because, refusal)),
        };
        if !is_good(answer) && cause.strength != Strength::Refusal {
            cause.conversions.extend(of.conversions.iter().cloned());
        }
        cause
    }

    fn cause_of_yes(&self, of: &Raised, rule: &str) -> Cause {
        let mut cause = match (of.query, rule) {
            // Whoever asks itself decides nothing.
            (Query::Availability, "3") | (Query::Anticipatability | Query::Speculation, "2") => Cause::default(),
            (Query::Availability, "5" | "") | (Query::Anticipatability, "4") if of.answers.is_empty() => {
                Cause::of(Fact::Computes(of.at))
            }
            (Query::Speculation, "3-i-a" | "4-i-b") => return Cause::of(Fact::Takes(of.at)),
            _ if of.answers.is_empty() => Cause::limit(format!("`{}` has been asked before", self.name(of.at))),
            _ => Cause::default(),
        };
        let good = of.answers.iter().filter(|reply| is_good(&reply.answer));
        good.for_each(|reply| cause.join(&reply.cause));
        of.noted.iter().for_each(|place| cause.add(Fact::Noted(place.clone())));
        cause
    }

    fn cause_of_no(&self, of: &Raised, rule: &str, (because, refusal): (Option<Inst>, Option<&String>)) -> Cause {
        let at = self.name(of.at);
        if of.answers.is_empty() {
            let what = because.map_or_else(|| "something".to_string(), |inst| format!("`{}`", self.text(inst)));
            return match (of.query, rule) {
                (_, "budget") => Cause::limit("the budget of questions is used up".into()),
                (_, "") if because.is_none() => match refusal {
                    Some(refusal) => Cause::refusal(refusal.clone()),
                    None => Cause::clause(format!("nothing leads to `{at}`")),
                },
                (Query::Availability, "1") => {
                    Cause::clause(format!("nothing computes it on the path from the entry `{at}`"))
                }
                (Query::Availability, "2") => Cause::limit(format!("questions visit `{at}` no more often")),
                (Query::Availability, "4" | "") => Cause::clause(format!("{what} in `{at}` changes it")),
                (Query::Anticipatability, "1") => {
                    Cause::clause(format!("control leaves the function after `{at}` without computing it"))
                }
                (Query::Anticipatability, "3") => Cause::clause(format!("`{at}` may change it before that")),
                (Query::Anticipatability, "6") => Cause::clause(format!("nothing after `{at}` computes it")),
                (Query::Anticipatability, "endless") => {
                    Cause::clause(format!("`{at}` ends a loop that control never leaves"))
                }
                (Query::Speculation, "1") => {
                    Cause::clause(format!("no branch takes it on the path from the entry `{at}`"))
                }
                (Query::Speculation, "3-i-b" | "3-ii" | "") => Cause::clause(format!("{what} in `{at}` changes it")),
                (Query::Speculation, "5-ii") => {
                    let safety = of.is_down_safe.as_ref().map(|(_, cause)| self.clause(cause)).unwrap_or_default();
                    let because = if safety.is_empty() { String::new() } else { format!(": {safety}") };
                    Cause::clause(format!("a path from `{at}` does not need it{because}"))
                }
                _ => Cause::limit(format!("`{at}` has been asked before")),
            };
        }
        if let Some((false, safety)) = &of.is_down_safe
            && of.query == Query::Availability
        {
            let safety = self.clause(safety);
            let because = if safety.is_empty() { String::new() } else { format!(": {safety}") };
            return Cause::refusal(format!("only some paths to `{at}` have it, and it is not down-safe{because}"));
        }
        let bad = of.answers.iter().filter(|reply| !is_good(&reply.answer));
        let strongest = bad.clone().map(|reply| reply.cause.strength).max();
        let first = bad.clone().find(|reply| Some(reply.cause.strength) == strongest);
        match (first, refusal) {
            (Some(Reply { cause, .. }), _) if cause.strength == Strength::Refusal => cause.clone(),
            (_, Some(refusal)) => Cause::refusal(refusal.clone()),
            (Some(Reply { cause, .. }), None) => cause.clone(),
            (None, None) => Cause::clause(format!("on the paths to `{at}` only the question itself says yes")),
        }
    }

    /// The facts as a clause; empty if there is none.
    pub(super) fn clause(&self, cause: &Cause) -> String {
        let (mut computing, mut taking, mut places, mut clauses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for fact in &cause.facts {
            match fact {
                Fact::Computes(at) => computing.push(format!("`{}`", self.name(*at))),
                Fact::Takes(at) => taking.push(format!("`{}`", self.name(*at))),
                Fact::Noted(place) => places.push(place.clone()),
                Fact::Other(clause) => clauses.push(clause.clone()),
            }
        }
        let more = if cause.has_more { "at other places" } else { "" };
        if !places.is_empty() {
            places.extend(Some(more.to_string()).filter(|more| !more.is_empty()));
            clauses.insert(0, format!("it is inserted {}", list(&places)));
        }
        if let [first, ..] = taking.as_slice() {
            let (branches, diverge) = match taking.len() {
                1 => (format!("the branch of {first}"), ["diverges and ", "decides"]),
                _ => (format!("the branches of {}", list(&taking)), ["diverge and ", "decide"]),
            };
            let [diverges, decides] = if self.crosses_all { ["", diverge[1]] } else { diverge };
            clauses.insert(0, format!("{branches} {diverges}{decides} about it"));
        }
        if !computing.is_empty() {
            let computes = if computing.len() == 1 { "computes" } else { "compute" };
            clauses.insert(0, format!("{} {computes} it", list(&computing)));
        }
        let mut through: Vec<String> = Vec::new();
        for text in cause.conversions.iter().rev().map(|text| format!("`{text}`")) {
            if !through.contains(&text) {
                through.push(text);
            }
        }
        let through = if through.is_empty() { String::new() } else { format!(", through {}", list(&through)) };
        format!("{}{through}", list(&clauses))
    }

    /// The sentence with which an inquiry ends: its moments, the answer and its cause.
    pub(super) fn summary(&self, of: &Raised, answer: &Answer, cause: &Cause) -> String {
        let (at, text) = (self.name(of.at), &of.text);
        let count = self.moments - of.began + 1;
        let result = match answer {
            Answer::Available { is_available: true, .. } => format!("`{text}` is available in `{at}`"),
            Answer::Available { .. } => format!("`{text}` is not available in `{at}`"),
            Answer::Anticipated(true) => format!("`{at}` is down-safe for `{text}`"),
            Answer::Anticipated(false) => format!("`{at}` is not down-safe for `{text}`"),
            Answer::Hoistable { can_hoist: true, blocks } => format!("`{text}` can move up, to {}", self.code(blocks)),
            Answer::Hoistable { .. } => format!("`{text}` cannot move up from `{at}`"),
        };
        let clause = self.clause(cause);
        let because = if clause.is_empty() { String::new() } else { format!(", because {clause}") };
        format!("{count} moments: {result}{because}.")
    }
}

/// The items as a list in words.
fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

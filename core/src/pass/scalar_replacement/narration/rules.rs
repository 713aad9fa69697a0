//! The rules that answer questions, each in a few sentences with its section of the paper.
//!
//! ```text
//! (Availability, "5")    The block computes the same expression …    Fukuhara and Takimoto 2021, section 4.2, rule 5
//! ```
//!
//! Rules of this program that the paper does not have say so.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, sections 4.2, 5.1
//! and 5.2.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::inspect::RuleText;
use crate::trace::Query;

/// The sections that state rules.
const SCALAR_REPLACEMENT: &str = "4.2";
const SPECULATION: &str = "5.2";
const NONE: &str = "";

/// Kind of question, name, text, and section; no section for rules that the paper does not have.
type Entry = (Query, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const RULES: &[Entry] = &[
    (Query::Availability, "1",
     "The question has reached the entry of the function. Nothing is computed before it: the answer is no.",
     SCALAR_REPLACEMENT),
    (Query::Availability, "2",
     "An inquiry visits a block a limited number of times: twice in the paper, and so often as `visits` says here. \
      A further visit is answered no, so that every question comes to an end.",
     SCALAR_REPLACEMENT),
    (Query::Availability, "3",
     "The same question is under way at this block, around a loop. Until that one is answered, this one is assumed \
      to be yes. Such a yes comes from no computation, so it alone is no reason to insert anything.",
     SCALAR_REPLACEMENT),
    (Query::Availability, "4",
     "An instruction of the block may change an operand of the expression, or the memory that it reads. A value from \
      above would be stale: the answer is no.",
     SCALAR_REPLACEMENT),
    (Query::Availability, "5",
     "The block computes the same expression, and nothing after that changes it: the answer is yes. The yes is real, \
      as it comes from a computation.",
     SCALAR_REPLACEMENT),
    (Query::Availability, "6",
     "The block defines an operand from its own old value or a constant, as `i = i + 1` does. Above the definition \
      the question is about the same value in terms of the old operand: `A[i + 1]` instead of `A[i]`. So it finds \
      what the last round of a loop has loaded.",
     SCALAR_REPLACEMENT),
    (Query::Availability, "7",
     "The block decides nothing, so all its predecessors are asked, and all have to say yes. Where only some do, at \
      least one of them from a computation, the expression is inserted for the others, if every path onward computes \
      it anyway (the block is down-safe). By section 5.1, nothing is inserted where a divergent branch decides; \
      `srqp` and `preqp` insert there as well.",
     "4.2 and 5.1"),
    (Query::Availability, "budget",
     "All questions of a pass share a budget of steps. When it is used up, they are answered no.",
     NONE),
    (Query::Anticipatability, "1",
     "Control leaves the function after this block, which does not compute the expression: the answer is no.",
     SCALAR_REPLACEMENT),
    (Query::Anticipatability, "2",
     "The same question is under way at this block, around a loop. Until that one is answered, this one is assumed \
      to be yes.",
     SCALAR_REPLACEMENT),
    (Query::Anticipatability, "3",
     "The block may change an operand of the expression, or the memory that it reads, before the expression is \
      computed. A value from above would not be the one computed later: the answer is no.",
     SCALAR_REPLACEMENT),
    (Query::Anticipatability, "4",
     "The block computes the expression, and nothing before that changes it: the answer is yes.",
     SCALAR_REPLACEMENT),
    (Query::Anticipatability, "5",
     "The block decides nothing, so all its successors are asked, and all have to say yes.",
     SCALAR_REPLACEMENT),
    (Query::Anticipatability, "6",
     "Control reaches no computation of the expression after this block, so the answer is no without further \
      questions.",
     NONE),
    (Query::Anticipatability, "endless",
     "The block ends a loop that control never leaves. It may run for ever without computing the expression: the \
      answer is no.",
     NONE),
    (Query::Speculation, "1",
     "The question has reached the entry of the function, and no branch on the way has taken the expression: the \
      answer is no.",
     SPECULATION),
    (Query::Speculation, "2",
     "The same question is under way at this block, around a loop. Until that one is answered, this one is assumed \
      to be yes.",
     SPECULATION),
    (Query::Speculation, "3-i-a",
     "The block changes the expression, which therefore cannot move further up. But its branch diverges and decides \
      whether the expression is computed, so that a warp runs both sides: the expression can move to the end of this \
      block.",
     SPECULATION),
    (Query::Speculation, "3-i-b",
     "The block changes the expression, and its divergent branch does not decide whether the expression is computed. \
      Moving it here would gain nothing: the answer is no.",
     SPECULATION),
    (Query::Speculation, "3-ii",
     "The block changes the expression and has no divergent branch. Moving the expression here would gain nothing: \
      the answer is no.",
     SPECULATION),
    (Query::Speculation, "4-i",
     "The branch of the block diverges and decides whether the expression is computed. A warp runs both sides, so \
      the expression can move to the end of this block, and its predecessors are asked whether it can move further \
      up from here. `ssrqp-s` treats every branch as divergent.",
     SPECULATION),
    (Query::Speculation, "4-i-a",
     "The branch of the block diverges and decides whether the expression is computed, and the expression can move \
      further up: the answer is that of the predecessors.",
     SPECULATION),
    (Query::Speculation, "4-i-b",
     "The branch of the block diverges and decides whether the expression is computed, but the expression cannot \
      move further up: it can move to the end of this block.",
     SPECULATION),
    (Query::Speculation, "4-ii",
     "The branch of the block diverges, but does not decide whether the expression is computed. Moving it here would \
      gain nothing, and it may still pass: the answer is that of the predecessors.",
     SPECULATION),
    (Query::Speculation, "5-i-a",
     "The branch of the block does not diverge, and every path onward computes the expression. The branch decides \
      about the block that the expression comes from, so the predecessors are asked about a move from here.",
     SPECULATION),
    (Query::Speculation, "5-i-b",
     "The branch of the block does not diverge, and every path onward computes the expression, which may pass: the \
      answer is that of the predecessors.",
     SPECULATION),
    (Query::Speculation, "5-ii",
     "The branch of the block does not diverge, and some path onward does not compute the expression. Moving it up \
      would add work to that path: the answer is no.",
     SPECULATION),
    (Query::Speculation, "6",
     "The block decides nothing, so all its predecessors are asked, and all have to say yes.",
     SPECULATION),
    (Query::Speculation, "budget",
     "All questions of a pass share a budget of steps. When it is used up, they are answered no.",
     NONE),
];

/// The index of a rule in [`texts`].
pub(super) fn index(query: Query, name: &str) -> Option<usize> {
    RULES.iter().position(|&(of, known, ..)| (of, known) == (query, name))
}

/// The texts of all rules.
pub(in super::super) fn texts() -> Vec<RuleText> {
    let text = |&(_, name, text, section): &Entry| RuleText {
        name: name.into(),
        text: text.into(),
        source: match section {
            NONE => String::from("Not in the paper: a rule of this program."),
            section => format!("J. Fukuhara and M. Takimoto, JIP 2021, section {section}"),
        },
    };
    RULES.iter().map(text).collect()
}

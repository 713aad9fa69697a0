//! Speculation: can the expression move up before the branch that decides whether it is computed?
//!
//! ```text
//! n1: br p, n2, n3       `(A[i], n2, n1)`: n1 diverges and n2 depends on it, so n1's own predecessors are asked (4-i);
//! n2: x = ld A[i]        they cannot take it, so n1 does (4-i-b): (true, {n1})
//! n3: …
//! ```
//!
//! 1. The question (e, m, n) asks a block n whether e, which would move from m, can move to n's end
//!    or further up.
//! 2. A block that changes an operand or the memory of e takes e at its end if it is a branch to
//!    cross that decides about m (3-i-a), and says no otherwise (3-i-b, 3-ii).
//! 3. A branch to cross that decides about m becomes the new m and asks its predecessors (4-i); if
//!    they say no, e stays here.
//! 4. Across any other branch e goes only where the successors are down-safe (5).
//! 5. All predecessors have to say yes. With `partial_speculation` (lines 7 to 9 of algorithm 2)
//!    insertions in the region replace those that say no, if the block is down-safe.
//! 6. e moves to the blocks where the paths of good answers end.
//!
//! A warp runs both sides of a divergent branch, so that a load before the branch costs no more
//! than one on a side, and serves all that follows. Sound because the pass asks after the move
//! whether the value is available where it was: the rules alone do not cover all paths from the
//! last change of an operand.
//!
//! Cost: one scan for each question at a block, in steps that have a budget.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021,
//! section 5.2 and algorithm 2, of which lines 7 to 9 are not in the prose.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::QueryContext;
use super::edges::InsertionPoint;
use super::forms::Form;
use super::log::QuestionLog;
use super::problem::{Arrival, Join, LocalEffect, Problem, Reply, Time};
use super::propagation::Propagation;
use super::region::Shape;
use super::rules::Rules;
use super::snapshot::ScanEnd;
use crate::ir::{Block, Function};
use crate::trace::Answer;

/// A question asked of a block: can the expression move here or further up?
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpeculationQuestion {
    /// The expression.
    pub form: Form,
    /// The block that it would move from (the paper's m).
    pub mover: Block,
    /// The rules that the answer follows.
    pub rules: Rules,
}

/// The paper's canHoist. Its Node, the set of blocks to move to, is where the paths of the answer
/// end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hoistable {
    /// Can the expression move?
    pub can_hoist: bool,
    /// Does it move to this block, and no further?
    stays: bool,
    /// Has the answer asked about down-safety? Then it holds until the next change.
    expires: bool,
}

impl Hoistable {
    /// It cannot.
    pub const NO: Hoistable = Hoistable { can_hoist: false, stays: false, expires: false };

    /// It moves to the end of this block.
    const HERE: Hoistable = Hoistable { can_hoist: true, stays: true, expires: false };
}

/// Speculation questions and their answers.
pub type Speculations = Propagation<SpeculationQuestion, Hoistable, ()>;

/// See the file's head.
pub struct Speculation<'q, 'm> {
    /// The function, and answers about anticipatability.
    pub context: QueryContext<'q, 'm>,
    /// The dependences of blocks on branches.
    pub shape: &'q Shape,
}

impl Speculation<'_, '_> {
    fn is_down_safe(&mut self, log: &mut QuestionLog<'_>, root: Block, asked: &[Block], form: Form, id: u32) -> bool {
        let only = self.context.snapshot.forms.only(form);
        self.context.is_anticipated(log, (root, asked), only, id)
    }

    /// Does the branch at the end of `branch` decide about what would move from `mover`? About a
    /// block on an edge only the branch of the edge's source does.
    fn is_decided(&self, mover: Block, branch: Block) -> bool {
        let graph = &self.context.snapshot.graph;
        if graph.is_on_edge(mover) { graph.value_block(mover) == branch } else { self.shape.depends(mover, branch) }
    }

    /// Can insertions in the region replace the answers of those who say no?
    fn can_insert(&mut self, log: &mut QuestionLog<'_>, join: Join<SpeculationQuestion>, no: &[Block]) -> bool {
        let QueryContext { snapshot, region, .. } = &self.context;
        let is_in_region = |&from: &Block| match snapshot.graph.insertion_point(from, join.block) {
            InsertionPoint::End(from) => region.kept_out_by(from).is_none(),
            InsertionPoint::Edge(from, _) => region.edge_kept_out_by(from).is_none(),
            InsertionPoint::BeforeEntry(_) => false,
        };
        no.iter().all(is_in_region) && self.is_down_safe(log, join.block, &[join.block], join.forwarded.form, join.id)
    }
}

impl Problem for Speculation<'_, '_> {
    type Question = SpeculationQuestion;
    type Answer = Hoistable;
    type Finding = ();
    const ASSUMPTION: &'static str = "2";

    fn neighbours(&self, block: Block) -> &[Block] {
        self.context.snapshot.graph.predecessors(block)
    }

    fn assumed() -> Hoistable {
        Hoistable { can_hoist: true, ..Hoistable::NO }
    }

    fn is_good(answer: &Hoistable) -> bool {
        answer.can_hoist
    }

    fn is_path_end(answer: &Hoistable) -> bool {
        answer.stays
    }

    fn improve(answer: &mut Hoistable, proved: &Hoistable) {
        // An answer that relied on a question under way relies on all that the question's answer
        // relies on.
        answer.expires |= proved.expires;
    }

    fn time(&self, question: SpeculationQuestion) -> Time {
        Time { inquiry: 0, changes: self.context.snapshot.changes(question.form) }
    }

    fn holds(&self, question: SpeculationQuestion, answer: &Hoistable, time: Time) -> bool {
        // Rewrites change neither the definitions of operands nor the dependences on branches.
        let (now, then) = (self.time(question).changes, time.changes);
        !answer.expires || (now.inserted, now.replaced) == (then.inserted, then.replaced)
    }

    /// Applies the rules in their order, of which the engine has applied the second one.
    fn local_effect(&mut self, log: &mut QuestionLog<'_>, at: Arrival<SpeculationQuestion>) -> LocalEffect<Self> {
        let Arrival { block, question, id } = at;
        let SpeculationQuestion { form, mover, rules } = question;
        let is_branch = self.context.snapshot.graph.is_branch(block);
        let is_crossed = is_branch && self.context.region.is_crossed(rules.crossing, block);
        let depends = is_branch && self.is_decided(mover, block);
        match self.context.snapshot.last_change(log.func, block, form) {
            ScanEnd::Exhausted => return LocalEffect::Answered("budget", Hoistable::NO, None, None),
            ScanEnd::Changed(changed) => {
                let (rule, answer) = match (is_crossed, depends) {
                    (true, true) => ("3-i-a", Hoistable::HERE),
                    (true, false) => ("3-i-b", Hoistable::NO),
                    (false, _) => ("3-ii", Hoistable::NO),
                };
                return LocalEffect::Answered(rule, answer, Some(changed), None);
            }
            _ => {}
        }
        let rule = match (is_branch, is_crossed, depends) {
            (_, true, true) => "4-i",
            (_, true, false) => "4-ii",
            (true, false, _) => {
                let successors: SmallVec<[Block; 4]> = self.context.snapshot.graph.successors(block).into();
                if !self.is_down_safe(log, block, &successors, form, id) {
                    return LocalEffect::Answered("5-ii", Hoistable { expires: true, ..Hoistable::NO }, None, None);
                }
                if depends { "5-i-a" } else { "5-i-b" }
            }
            (false, false, _) => "6",
        };
        let mover = if depends { block } else { mover };
        LocalEffect::Forwarded(rule, SpeculationQuestion { mover, ..question }, None)
    }

    fn meet(
        &mut self,
        log: &mut QuestionLog<'_>,
        join: Join<SpeculationQuestion>,
        replies: &[Reply<Hoistable>],
        _: &mut Option<Box<()>>,
    ) -> (&'static str, Hoistable) {
        let is_entry = self.context.snapshot.graph.is_entry(join.block);
        let no: SmallVec<[Block; 4]> =
            replies.iter().filter(|reply| !reply.answer.can_hoist).map(|reply| reply.block).collect();
        let mut can_hoist = !is_entry && !replies.is_empty() && no.is_empty();
        let mut expires = matches!(join.rule, "5-i-a" | "5-i-b") || replies.iter().any(|reply| reply.answer.expires);
        if !can_hoist && join.forwarded.rules.meets_partially && !is_entry {
            expires = true;
            can_hoist = no.len() < replies.len() && self.can_insert(log, join, &no);
        }
        let answer = Hoistable { can_hoist, stays: false, expires };
        match (join.rule, can_hoist) {
            ("4-i", true) => ("4-i-a", answer),
            ("4-i", false) => ("4-i-b", Hoistable { expires, ..Hoistable::HERE }),
            ("", _) => ("6", answer),
            (_, false) if is_entry && replies.is_empty() => ("1", answer),
            (rule, _) => (rule, answer),
        }
    }

    fn describe(&self, func: &Function, question: SpeculationQuestion) -> (String, Option<Block>) {
        (self.context.snapshot.forms.text(self.context.snapshot.module, func, question.form), Some(question.mover))
    }

    fn event_answer(&self, answer: &Hoistable, ends: &mut dyn FnMut() -> Vec<Block>) -> Answer {
        let blocks = if answer.can_hoist { ends() } else { Vec::new() };
        Answer::Hoistable { can_hoist: answer.can_hoist, blocks }
    }
}

//! Speculation: can the expression be moved up in front of the branch that decides whether it is computed?
//!
//! ```text
//! n1: br p, n2, n3       `(A[i], n2, n1)`: n1 diverges and n2 depends on it, so n1's own predecessors are asked (4-i);
//! n2: x = ld A[i]        they cannot take it, so n1 does (4-i-b): (true, {n1})
//! n3: …
//! ```
//!
//! A warp runs both sides of a branch that its lanes disagree about, so that a load in front of it costs no more than the
//! one on a side, and is there for all that follows. The question (e, m, n) asks n whether e, which would move up from m, can
//! move there or further; m becomes n wherever that would help, at a branch that m is control-dependent on. Across a branch
//! on which all lanes agree an expression goes only where it is down-safe.
//!
//! The rules do not look at all ways from the last change of an operand to the expression: whoever moves something asks
//! afterwards whether it is available where it was ([`super::Inquiries::hoist`]).
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, section 5.2 and
//! algorithm 2, of which lines 7 to 9 are not in the prose.

use alloc::string::String;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::anticipation::Anticipated;
use super::availability::{anticipated, tell_anticipated};
use super::forms::Form;
use super::propagation::{Arrival, Keeps, Local, Meeting, Problem, QuestionLog, RecordId, Time};
use super::region::{Region, Shape};
use super::snapshot::Snapshot;
use super::ways::Spot;
use crate::ir::{Block, Function};
use crate::trace::Answer;

/// Asked of a block: can it come here or further up?
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpeculationQuestion {
    /// Form that would move.
    pub form: Form,
    /// From where (the paper's m).
    pub mover: Block,
}

/// The paper's canHoist. Its Node, to the ends of which blocks, is where the ways end that lead on from the question
/// ([`Propagation::ends`](super::propagation::Propagation::ends)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hoistable {
    /// Can it?
    pub can_hoist: bool,
    /// Does it go no further up, so that the way ends here?
    stays: bool,
    /// Has anybody on the way asked what is down-safe? What is known then was found for how things were.
    expires: bool,
}

impl Hoistable {
    /// It cannot.
    pub const NO: Hoistable = Hoistable { can_hoist: false, stays: false, expires: false };

    /// To the end of the block that is asked.
    const HERE: Hoistable = Hoistable { can_hoist: true, stays: true, expires: false };

    /// As those who listen are told it.
    pub fn told(self, ends: &mut dyn FnMut() -> Vec<Block>) -> Answer {
        Answer::Hoistable { can_hoist: self.can_hoist, blocks: if self.can_hoist { ends() } else { Vec::new() } }
    }
}

/// See the file's head.
pub struct Speculation<'q, 'm> {
    /// Snapshot that questions read.
    pub snapshot: &'q mut Snapshot<'m>,
    /// Rule by which each record's question was sent on.
    pub sent: &'q mut Vec<&'static str>,
    /// Knowledge of anticipatability.
    pub anticipated: &'q mut Anticipated,
    /// Is it for those who listen only?
    pub is_told: bool,
    /// The graph's shape.
    pub shape: &'q Shape,
    /// The branches across which expressions move.
    pub is_crossed: &'q dyn Fn(Block) -> bool,
    /// Region where insertions make no warp run more sides of branches.
    pub region: &'q Region,
    /// Do answers that differ meet as in lines 7 to 9 of algorithm 2?
    pub meets_partially: bool,
    /// No more than so many steps.
    pub budget: u64,
}

impl Speculation<'_, '_> {
    fn is_down_safe(&mut self, log: &mut QuestionLog<'_>, root: Block, asked: &[Block], form: Form, id: u32) -> bool {
        let set = self.snapshot.forms.only(form);
        if self.is_told {
            return tell_anticipated(self.snapshot, self.anticipated, log, (root, asked), set, Some(id));
        }
        anticipated(self.snapshot, self.anticipated, log, (root, asked), set, Some(id))
    }

    fn rule_of(&self, record: Option<RecordId>) -> &'static str {
        record.map_or("6", |record| self.sent[record as usize])
    }
}

impl Problem for Speculation<'_, '_> {
    type Question = SpeculationQuestion;
    type Answer = Hoistable;
    const UNDER_WAY: &'static str = "2";

    fn onward(&self, block: Block) -> &[Block] {
        self.snapshot.ways.up(block)
    }

    fn assumed() -> Hoistable {
        Hoistable { can_hoist: true, ..Hoistable::NO }
    }

    fn is_good(answer: &Hoistable) -> bool {
        answer.can_hoist
    }

    fn decides(&self, answer: &Hoistable) -> bool {
        // All of them have to take it, but for lines 7 to 9.
        !answer.can_hoist && !self.meets_partially
    }

    fn improve(&mut self, answer: &mut Hoistable, proved: &Hoistable) {
        // What leaned on a question under way leans on all that its answer leans on.
        answer.expires |= proved.expires;
    }

    fn holds(&self, question: SpeculationQuestion, answer: &Hoistable, time: Time) -> bool {
        // No insertion changes where an operand changes, nor where lanes part.
        !answer.expires || self.time(question).changes == time.changes
    }

    fn time(&self, question: SpeculationQuestion) -> Time {
        Time { inquiry: 0, changes: self.snapshot.changes(question.form) }
    }

    /// The rules in their order, of which the engine has asked the second one.
    fn arrive(&mut self, log: &mut QuestionLog<'_>, at: Arrival<SpeculationQuestion>) -> Local<Self> {
        let Arrival { block, question: SpeculationQuestion { form, mover }, record, id } = at;
        if self.snapshot.steps > self.budget {
            return Local::Answered("budget", Hoistable::NO, None);
        }
        let is_branch = self.snapshot.ways.is_branch(block);
        let is_crossed = is_branch && (self.is_crossed)(block);
        // What was put on an edge runs if its source's branch says so, and for nothing else.
        let is_decided = |mover: Block| match self.snapshot.ways.is_on_edge(mover) {
            true => self.snapshot.ways.named_as(mover) == block,
            false => self.shape.depends(mover, block),
        };
        let depends = is_branch && is_decided(mover);
        let upward = |depends: bool| SpeculationQuestion { form, mover: if depends { block } else { mover } };
        let (rule, forwarded) = if let Some(place) = self.snapshot.changed_in(log.func, block, form) {
            let because = self.snapshot.told_inst_at(log, block, place);
            return match (is_crossed, depends) {
                (true, true) => Local::Answered("3-i-a", Hoistable::HERE, because),
                (true, false) => Local::Answered("3-i-b", Hoistable::NO, because),
                (false, _) => Local::Answered("3-ii", Hoistable::NO, because),
            };
        } else if is_crossed {
            (if depends { "4-i" } else { "4-ii" }, upward(depends))
        } else if is_branch {
            let successors: SmallVec<[Block; 4]> = self.snapshot.ways.down(block).into();
            if !self.is_down_safe(log, block, &successors, form, id) {
                return Local::Answered("5-ii", Hoistable { expires: true, ..Hoistable::NO }, None);
            }
            (if depends { "5-i-a" } else { "5-i-b" }, upward(depends))
        } else {
            ("6", upward(false))
        };
        if self.sent.len() <= record as usize {
            self.sent.resize(record as usize + 1, "");
        }
        self.sent[record as usize] = rule;
        Local::Forwarded(rule, forwarded)
    }

    fn meet(
        &mut self,
        log: &mut QuestionLog<'_>,
        place: Meeting<SpeculationQuestion>,
        answers: &[(Block, Hoistable)],
    ) -> (&'static str, Hoistable) {
        let rule = self.rule_of(place.record);
        let from_outside = self.snapshot.ways.is_entry(place.block);
        let mut can_hoist = !from_outside && !answers.is_empty() && answers.iter().all(|(_, answer)| answer.can_hoist);
        let mut expires = matches!(rule, "5-i-a" | "5-i-b") || answers.iter().any(|(_, answer)| answer.expires);
        if !can_hoist && self.meets_partially && !from_outside {
            expires = true;
            let without: SmallVec<[Block; 4]> =
                answers.iter().filter(|(_, answer)| !answer.can_hoist).map(|&(from, _)| from).collect();
            // Where others lead on from there as well, whoever moves the expression inserts it on the edge.
            let can_take = |&from: &Block| match self.snapshot.ways.spot(from, place.block) {
                Spot::End(from) => self.region.kept_out_by(from).is_none(),
                Spot::Edge(from, _) => self.region.edge_kept_out_by(from).is_none(),
                Spot::Front(_) => false,
            };
            if without.len() < answers.len()
                && without.iter().all(can_take)
                && self.is_down_safe(log, place.block, &[place.block], place.forwarded.form, place.id)
            {
                // The ways to those who cannot end with them.
                can_hoist = true;
            }
        }
        let all = Hoistable { can_hoist, expires, stays: false };
        let here = Hoistable { expires, ..Hoistable::HERE };
        let no = Hoistable { expires, ..Hoistable::NO };
        match (rule, can_hoist) {
            ("4-i", true) => ("4-i-a", all),
            ("4-i", false) => ("4-i-b", here),
            (_, true) => (rule, all),
            (_, false) if from_outside && answers.is_empty() => ("1", no),
            (_, false) => (rule, no),
        }
    }

    fn describe(&self, func: &Function, question: SpeculationQuestion) -> (String, Option<Block>) {
        (self.snapshot.forms.text(self.snapshot.module, func, question.form), Some(question.mover))
    }

    fn answer(&self, answer: &Hoistable, ends: &mut dyn FnMut() -> Vec<Block>) -> Answer {
        answer.told(ends)
    }

    fn keeps(&self, _: RecordId, answer: &Hoistable) -> Keeps {
        if answer.can_hoist && !answer.stays { Keeps::Ends } else { Keeps::Nothing }
    }
}

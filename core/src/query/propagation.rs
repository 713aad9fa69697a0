//! Question propagation: the engine that answers every kind of question on demand.
//!
//! ```text
//! ask q at n ──▶ does n have an answer that still holds?   that answer
//!                is q under way at n?                       the assumed answer, which the asker then relies on
//!                does n answer by itself?                   the local answer
//!                else ask q' at n's neighbours ──▶          the meet of their answers
//! ```
//!
//! A [`Problem`] says how a block answers by itself, where a question goes from there, and how
//! answers meet. The engine:
//!
//! 1. Walk depth first, neighbours in text order, with an explicit stack: programs may be deeper
//!    than the machine's.
//! 2. Keep one record for each question at each block, with its answer and the time of the answer.
//! 3. A question that returns to a block where it is under way gets the assumed, best answer. The
//!    asker's record notes the earliest such question that it relies on.
//! 4. When an assumed question is answered worse than assumed, forget the good answers since its
//!    beginning that rely on a question under way; they are asked again on demand.
//! 5. When it is answered well, the answers that rely on it are proved, or rely on what it relies
//!    on itself.
//! 6. A good record keeps the records that it asked. A record without a finding whose paths all
//!    lead to one record is skipped, so that following paths visits only findings and joins.
//!
//! Sound because the assumed answers describe the greatest solution: an answer that relies on an
//! assumption is kept only as long as the assumption may be true. Bad answers need no assumption,
//! since a worse answer below never gives a better one above; a problem says how long any answer
//! holds ([`Problem::holds`]).
//!
//! Cost: O(1) hash lookups for each question at a block and each edge that it takes; a question is
//! worked out again only where it was forgotten or its answer no longer holds. A problem counts its
//! own steps and ends its questions at a budget.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021,
//! section 4 and appendix A; as a greatest fixed point on demand, E. Duesterwald and others,
//! Demand-driven computation of interprocedural data flow, POPL 1995.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::hash::Hash;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, entity_impl};
use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

use super::log::QuestionLog;
use super::problem::{Arrival, Join, LocalEffect, Problem, Reply, Time};
use crate::ir::{Block, Inst};
use crate::trace::{QuestionEvent, QuestionId};

/// The outcome of an inquiry.
pub struct Outcome<A, F> {
    /// The meet of the answers to the root's question.
    pub answer: A,
    /// The records that the root asked.
    pub asked: Asked,
    /// The finding of the meet at the root.
    pub finding: Option<Box<F>>,
}

/// One question at one block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordId(u32);
entity_impl!(RecordId);

/// Records that a question asked, in order.
pub type Asked = SmallVec<[RecordId; 2]>;

/// The number of a question apart from its block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Number(u32);
entity_impl!(Number);

struct Record<A, F> {
    block: Block,
    question: Number,
    state: State<A>,
    rule: &'static str,
    /// An earlier question that was under way when this one was answered, and that the answer
    /// relies on.
    relies_on: PackedOption<RecordId>,
    time: Time,
    finding: Option<Box<F>>,
    /// Empty for bad answers and at the ends of paths.
    asked: Asked,
}

enum State<A> {
    UnderWay { depth: u32, is_assumed: bool },
    Answered(A),
}

/// A question that waits for its neighbours.
struct Frame<A, F> {
    /// None for the root of an inquiry.
    record: Option<RecordId>,
    block: Block,
    forwarded: Number,
    rule: &'static str,
    replies: SmallVec<[Reply<A>; 2]>,
    finding: Option<Box<F>>,
    /// The earliest question under way that a reply relies on.
    relies_on: Option<RecordId>,
    /// The length of `provisional` when the question began.
    first_provisional: usize,
    id: QuestionId,
}

/// All questions of one kind that have been asked, with their answers.
pub struct Propagation<Q, A, F> {
    questions: PrimaryMap<Number, Q>,
    numbers: HashMap<Q, Number>,
    records: PrimaryMap<RecordId, Record<A, F>>,
    latest: HashMap<(Block, Number), RecordId>,
    /// Records of this inquiry that relied on a question under way when they were answered, in
    /// order.
    provisional: Vec<RecordId>,
    frames: Vec<Frame<A, F>>,
}

impl<Q, A, F> Default for Propagation<Q, A, F> {
    fn default() -> Self {
        Propagation {
            questions: PrimaryMap::new(),
            numbers: HashMap::new(),
            records: PrimaryMap::new(),
            latest: HashMap::new(),
            provisional: Vec::new(),
            frames: Vec::new(),
        }
    }
}

impl<Q: Copy + Eq + Hash, A: Copy, F> Propagation<Q, A, F> {
    /// Asks the neighbours of a block on its behalf. `id` is the inquiry's number.
    pub fn inquire<P: Problem<Question = Q, Answer = A, Finding = F>>(
        &mut self,
        problem: &mut P,
        log: &mut QuestionLog<'_>,
        (root, neighbours): (Block, &[Block]),
        question: Q,
        id: QuestionId,
    ) -> Outcome<A, F> {
        let forwarded = self.number(question);
        self.push_frame(None, root, forwarded, "", None, id);
        loop {
            let Some(frame) = self.frames.last() else { unreachable!("the root's frame ends the walk") };
            let all = if frame.record.is_none() { neighbours } else { problem.neighbours(frame.block) };
            let question = self.questions[frame.forwarded];
            let is_decided = frame.replies.last().is_some_and(|last| P::decides(question, &last.answer));
            if let Some(&next) = all.get(frame.replies.len()).filter(|_| !is_decided) {
                self.ask(problem, log, next);
                continue;
            }
            let Some(mut frame) = self.frames.pop() else { unreachable!("the frame was read just now") };
            let forwarded = self.questions[frame.forwarded];
            let join = Join { block: frame.block, forwarded, rule: frame.rule, id: frame.id };
            let (rule, answer) = problem.meet(log, join, &frame.replies, &mut frame.finding);
            let Some(record) = frame.record else {
                self.provisional.clear();
                let asked = frame.replies.iter().map(|reply| reply.record).collect();
                return Outcome { answer, asked, finding: frame.finding };
            };
            let (id, relies_on) = (frame.id, self.settle::<P>(record, frame, rule, answer));
            self.answer(problem, log, (id, rule, None), (record, answer, relies_on));
        }
    }

    /// Asks the question of the last frame at a block.
    fn ask<P: Problem<Question = Q, Answer = A, Finding = F>>(
        &mut self,
        problem: &mut P,
        log: &mut QuestionLog<'_>,
        at: Block,
    ) {
        let Some(frame) = self.frames.last() else { return };
        let (number, question) = (frame.forwarded, self.questions[frame.forwarded]);
        let id = log.number();
        log.record(|func| {
            let (expression, mover) = problem.describe(func, question);
            let rule = frame.record.map(|_| frame.rule);
            QuestionEvent::Asked { id, parent: frame.id, expression, from: frame.block, mover, at, rule }
        });
        if let Some(&known) = self.latest.get(&(at, number)) {
            if let State::UnderWay { is_assumed, .. } = &mut self.records[known].state {
                *is_assumed = true;
                self.answer(problem, log, (id, P::ASSUMPTION, None), (known, P::assumed(), Some(known)));
                return;
            }
            let relies_on = self.assumption::<P>(known);
            if let Record { state: State::Answered(answer), rule, time, .. } = self.records[known]
                && problem.holds(question, &answer, time)
            {
                self.answer(problem, log, (id, rule, None), (known, answer, relies_on));
                return;
            }
        }
        let record = self.records.push(Record {
            block: at,
            question: number,
            state: State::UnderWay { depth: self.frames.len() as u32, is_assumed: false },
            rule: "",
            relies_on: None.into(),
            time: problem.time(question),
            finding: None,
            asked: Asked::new(),
        });
        self.latest.insert((at, number), record);
        match problem.local_effect(log, Arrival { block: at, question, id }) {
            LocalEffect::Answered(rule, answer, because, finding) => {
                let known = &mut self.records[record];
                (known.state, known.rule, known.finding) = (State::Answered(answer), rule, finding);
                self.answer(problem, log, (id, rule, because), (record, answer, None));
            }
            LocalEffect::Forwarded(rule, forwarded, finding) => {
                let forwarded = if forwarded == question { number } else { self.number(forwarded) };
                self.push_frame(Some(record), at, forwarded, rule, finding, id);
            }
        }
    }

    fn push_frame(
        &mut self,
        record: Option<RecordId>,
        block: Block,
        forwarded: Number,
        rule: &'static str,
        finding: Option<Box<F>>,
        id: QuestionId,
    ) {
        let (replies, first_provisional) = (SmallVec::new(), self.provisional.len());
        let frame = Frame { record, block, forwarded, rule, replies, finding, relies_on: None, first_provisional, id };
        self.frames.push(frame);
    }

    /// Gives an answer to the question of the last frame.
    fn answer<P: Problem<Question = Q, Answer = A, Finding = F>>(
        &mut self,
        problem: &P,
        log: &mut QuestionLog<'_>,
        (id, rule, because): (QuestionId, &'static str, Option<Inst>),
        (record, answer, relies_on): (RecordId, A, Option<RecordId>),
    ) {
        log.record(|func| {
            let mut ends = || self.path_ends::<P>(&[record]).blocks;
            let refusal = P::refusal(&answer).and_then(|refusal| refusal.clause(func));
            let answer = problem.event_answer(&answer, &mut ends);
            let because = because.filter(|&inst| func.inst_block(inst).is_some());
            QuestionEvent::Answered { id, rule, answer, because, refusal }
        });
        let block = self.records[record].block;
        let earlier = self.frames.last().and_then(|frame| self.earlier(frame.relies_on, relies_on));
        let Some(frame) = self.frames.last_mut() else { return };
        frame.replies.push(Reply { block, answer, record });
        frame.relies_on = earlier;
    }

    /// Notes the answer to a question whose neighbours have answered. Returns the question that the
    /// answer relies on.
    fn settle<P: Problem<Question = Q, Answer = A, Finding = F>>(
        &mut self,
        id: RecordId,
        frame: Frame<A, F>,
        rule: &'static str,
        answer: A,
    ) -> Option<RecordId> {
        let (is_good, first) = (P::is_good(&answer), frame.first_provisional);
        if !is_good && matches!(self.records[id].state, State::UnderWay { is_assumed: true, .. }) {
            for index in first..self.provisional.len() {
                let other = self.provisional[index];
                let key = (self.records[other].block, self.records[other].question);
                if self.assumption::<P>(other).is_some() && self.latest.get(&key) == Some(&other) {
                    self.latest.remove(&key);
                }
            }
            self.provisional.truncate(first);
        }
        let relies_on = frame.relies_on.filter(|&on| is_good && on != id);
        let asked = if is_good && !P::is_path_end(&answer) { self.links(id, &frame) } else { Asked::new() };
        self.provisional.extend(relies_on.map(|_| id));
        let record = &mut self.records[id];
        (record.state, record.rule) = (State::Answered(answer), rule);
        (record.relies_on, record.finding, record.asked) = (relies_on.into(), frame.finding, asked);
        relies_on
    }

    /// The question under way that a record relies on. If there is none any more, the record's
    /// answer is proved, and takes over what the proof added.
    fn assumption<P: Problem<Question = Q, Answer = A, Finding = F>>(&mut self, id: RecordId) -> Option<RecordId> {
        let first = self.records[id].relies_on.expand()?;
        let mut root = first;
        while let Some(next) = self.records[root].relies_on.expand() {
            root = next;
        }
        // Shorten the chain, so that following it again takes one step.
        let mut at = first;
        while at != root {
            let next = core::mem::replace(&mut self.records[at].relies_on, root.into());
            at = next.expand().unwrap_or(root);
        }
        let State::Answered(proved) = self.records[root].state else {
            self.records[id].relies_on = root.into();
            return Some(root);
        };
        let record = &mut self.records[id];
        record.relies_on = None.into();
        if let State::Answered(answer) = &mut record.state {
            P::improve(answer, &proved);
        }
        None
    }

    /// The one of two questions under way that began earlier.
    fn earlier(&self, a: Option<RecordId>, b: Option<RecordId>) -> Option<RecordId> {
        let depth = |id: &RecordId| match self.records[*id].state {
            State::UnderWay { depth, .. } => depth,
            State::Answered(_) => u32::MAX,
        };
        a.into_iter().chain(b).min_by_key(depth)
    }

    fn number(&mut self, question: Q) -> Number {
        let questions = &mut self.questions;
        *self.numbers.entry(question).or_insert_with(|| questions.push(question))
    }

    /// The records that a good answer leads to.
    fn links(&self, id: RecordId, frame: &Frame<A, F>) -> Asked {
        let asked = frame.replies.iter().map(|reply| reply.record);
        if frame.finding.is_some() {
            return asked.collect();
        }
        let ends: Asked = asked.map(|record| self.skip_passages(record)).collect();
        let mut others = ends.iter().filter(|&&end| end != id);
        match others.next() {
            Some(&only) if others.all(|&end| end == only) => smallvec![only],
            _ => ends,
        }
    }

    /// The first record from here on that found something, where paths part, or where they end.
    pub fn skip_passages(&self, mut record: RecordId) -> RecordId {
        while let Record { finding: None, asked, .. } = &self.records[record]
            && let &[next] = asked.as_slice()
            && next != record
        {
            record = next;
        }
        record
    }

    /// The ends of the paths that lead on from these records, in the order of the walk.
    pub fn path_ends<P: Problem<Question = Q, Answer = A, Finding = F>>(&self, from: &[RecordId]) -> PathEnds {
        let mut ends = PathEnds::default();
        let (mut visited, mut is_good_at) = (BTreeSet::new(), BTreeMap::new());
        let mut pending: Vec<RecordId> = from.iter().rev().copied().collect();
        while let Some(record) = pending.pop() {
            ends.visited += 1;
            let record = self.skip_passages(record);
            let Record { block, state: State::Answered(answer), asked, .. } = &self.records[record] else { continue };
            if !visited.insert(record) {
                continue;
            }
            pending.extend(asked.iter().rev().copied());
            if asked.is_empty() {
                let is_new = !is_good_at.contains_key(block);
                ends.blocks.extend(is_new.then_some(*block));
                *is_good_at.entry(*block).or_insert(false) |= P::is_good(answer);
            }
        }
        ends.bad = ends.blocks.iter().copied().filter(|block| !is_good_at[block]).collect();
        ends
    }

    /// The block of a record.
    pub fn block(&self, record: RecordId) -> Block {
        self.records[record].block
    }

    /// The question of a record.
    pub fn question(&self, record: RecordId) -> Q {
        self.questions[self.records[record].question]
    }

    /// The finding of a record, if it has one, and the records that it asked.
    pub fn path(&self, record: RecordId) -> (Option<&F>, &[RecordId]) {
        let Record { finding, asked, .. } = &self.records[record];
        (finding.as_deref(), asked)
    }
}

/// The ends of paths.
#[derive(Default)]
pub struct PathEnds {
    /// Blocks, each once.
    pub blocks: Vec<Block>,
    /// Those of them whose answers were bad, and were made good by the block where they met.
    pub bad: Vec<Block>,
    /// The number of records on the way.
    pub visited: u64,
}

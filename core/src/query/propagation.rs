//! Question propagation: the one engine under all queries.
//!
//! ```text
//! ask q at n ──▶ is it answered there already?          that answer
//!                is it under way there?                 what is assumed, and who leans on it is noted
//!                can n answer by itself?                that answer
//!                else ask q' at n's neighbours ──▶      what their answers amount to
//! ```
//!
//! A [`Problem`] says what a block can answer by itself, where a question goes from there and what answers amount to.
//! The engine keeps answers by block and question, and walks depth first, neighbours in the order of the text, with a stack
//! of its own: programs may be deeper than the machine's.
//!
//! A question that comes back to a block where it is under way is assumed to be answered well, since what is wanted is the
//! greatest solution. Sound because an answer that leans on such an assumption is kept only as long as it may be true: when
//! the assumed question is answered worse, everything that was answered well while it was under way and leans on it (or on
//! one that began before it) is forgotten, and asked again if somebody wants it. What was answered badly stays so, since a
//! worse answer below never gives a better one above.
//!
//! Bounds: each question is worked out once a block, unless it is forgotten or grows stale; a problem counts its own steps.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, section 4 and
//! appendix A; as a greatest fixed point on demand, E. Duesterwald and others, Demand-driven computation of interprocedural
//! data flow, POPL 1995.

use alloc::string::String;
use alloc::vec::Vec;
use core::hash::Hash;

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::ir::{Block, Function, Inst};
use crate::questions::{Answer, QuestionEvent, QuestionId};
use crate::view::Listener;

/// What a block says to a question that comes to it.
pub enum Local<P: Problem> {
    /// It answers by itself, by that rule; because of an instruction, which is looked up only for those who listen.
    Answered(&'static str, P::Answer, Option<Inst>),
    /// It asks its neighbours this, by that rule.
    Forwarded(&'static str, P::Question),
}

/// A kind of question.
pub trait Problem: Sized {
    /// The question, apart from where it is asked.
    type Question: Copy + Eq + Hash;
    /// The answer.
    type Answer: Clone;

    /// Where a question goes from a block.
    fn onward(&self, block: Block) -> SmallVec<[Block; 2]>;
    /// What is assumed of a question that is under way.
    fn assumed() -> Self::Answer;
    /// The rule that says so.
    const UNDER_WAY: &'static str;
    /// Is the answer as good as what was assumed?
    fn is_good(answer: &Self::Answer) -> bool;
    /// Better words for a good answer that leaned on another one, which has proved good like this.
    fn improve(answer: &mut Self::Answer, proved: &Self::Answer);
    /// Does an answer that was given at that time still hold?
    fn holds(&self, question: Self::Question, answer: &Self::Answer, time: Time) -> bool;
    /// Now.
    fn time(&self, question: Self::Question) -> Time;
    /// What a block says to a question.
    fn arrive<S: Listener>(&mut self, teller: &mut Teller<'_, S>, at: Arrival<Self::Question>) -> Local<Self>;
    /// What the neighbours' answers to a forwarded question amount to.
    fn meet<S: Listener>(
        &mut self,
        teller: &mut Teller<'_, S>,
        place: Meeting<Self::Question>,
        answers: &[(Block, Self::Answer)],
    ) -> (&'static str, Self::Answer);
    /// The question as text, and for a speculation question from where the expression would move.
    fn describe(&self, func: &Function, question: Self::Question) -> (String, Option<Block>);
    /// The answer as those who listen are told it.
    fn answer(&self, answer: &Self::Answer) -> Answer;
}

/// When an answer was given: which inquiry it was, and how often what it is about had changed before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    pub inquiry: u32,
    pub change: u32,
}

/// A question that comes to a block.
#[derive(Clone, Copy)]
pub struct Arrival<Q> {
    /// The block.
    pub block: Block,
    /// The question.
    pub question: Q,
    /// What will be its record.
    pub record: RecordId,
    /// The number under which it is told of.
    pub id: QuestionId,
}

/// Where answers meet.
#[derive(Clone, Copy)]
pub struct Meeting<Q> {
    /// The block.
    pub block: Block,
    /// What the neighbours were asked.
    pub forwarded: Q,
    /// The question's record; none for an inquiry.
    pub record: Option<RecordId>,
    /// The number under which it is told of.
    pub id: QuestionId,
}

/// A question at a block that has been asked.
pub type RecordId = u32;

/// All that leans on one question under way, and on nothing that began before it.
struct Cohort {
    /// How deep in the walk that question is; nothing leans on it any more once it is answered.
    depth: Option<usize>,
    /// The cohort that this one has gone over to, as its question leans on something earlier.
    gone_to: Option<CohortId>,
    members: Vec<RecordId>,
}

type CohortId = u32;

struct Record<Q, A> {
    block: Block,
    question: Q,
    /// None while it is under way.
    answer: Option<A>,
    rule: &'static str,
    /// How deep in the walk it is, while it is under way.
    depth: usize,
    /// Whom it asked, in order.
    asked: SmallVec<[(Block, RecordId); 2]>,
    /// Of the earliest question under way that it leans on; while it is under way itself, of those who lean on it, if
    /// anybody does.
    cohort: Option<CohortId>,
    time: Time,
}

/// All questions of one kind that have been asked, with their answers.
pub struct Propagation<Q, A> {
    records: Vec<Record<Q, A>>,
    known: HashMap<(Block, Q), RecordId>,
    /// Answered records that lean on what is under way, or did, in the order of their answers.
    provisional: Vec<RecordId>,
    cohorts: Vec<Cohort>,
}

/// A question that waits for its neighbours.
struct Frame<Q, A> {
    /// None for the inquiry.
    record: Option<RecordId>,
    block: Block,
    forwarded: Q,
    rule: &'static str,
    neighbours: SmallVec<[Block; 2]>,
    answers: SmallVec<[(Block, A); 2]>,
    asked: SmallVec<[(Block, RecordId); 2]>,
    /// Of the earliest question under way that an answer leans on.
    cohort: Option<CohortId>,
    /// `provisional` was so long when it began.
    first_provisional: usize,
    id: QuestionId,
}

/// Tells those who listen, and gives out numbers.
pub struct Teller<'s, S> {
    /// The function that is asked about.
    pub func: &'s Function,
    sink: &'s mut S,
    next: &'s mut QuestionId,
}

impl<'s, S: Listener> Teller<'s, S> {
    pub fn new(func: &'s Function, sink: &'s mut S, next: &'s mut QuestionId) -> Self {
        Teller { func, sink, next }
    }

    /// A number that has not been given out.
    pub fn number(&mut self) -> QuestionId {
        *self.next += 1;
        *self.next
    }

    /// Tells what happened. Not even built with nobody listening.
    pub fn tell(&mut self, event: impl FnOnce(&Function) -> QuestionEvent) {
        if S::LISTENS {
            self.sink.told_of(event(self.func));
        }
    }
}

/// What an inquiry found.
pub struct Finding<A> {
    /// What it amounts to.
    pub answer: A,
    /// Whom the block of the inquiry asked.
    pub asked: SmallVec<[(Block, RecordId); 2]>,
}

impl<Q, A> Default for Propagation<Q, A> {
    fn default() -> Self {
        Propagation { records: Vec::new(), known: HashMap::new(), provisional: Vec::new(), cohorts: Vec::new() }
    }
}

impl<Q: Copy + Eq + Hash, A: Clone> Propagation<Q, A> {
    /// The answer of a record.
    pub fn answer(&self, record: RecordId) -> Option<&A> {
        self.records[record as usize].answer.as_ref()
    }

    /// Whom a record's question was sent on to.
    pub fn asked(&self, record: RecordId) -> &[(Block, RecordId)] {
        &self.records[record as usize].asked
    }

    /// Asks `neighbours` on behalf of a block. `id` is the inquiry's number.
    pub fn inquire<P: Problem<Question = Q, Answer = A>, S: Listener>(
        &mut self,
        problem: &mut P,
        teller: &mut Teller<'_, S>,
        (block, neighbours): (Block, SmallVec<[Block; 2]>),
        question: Q,
        id: QuestionId,
    ) -> Finding<A> {
        let first = Frame {
            record: None,
            block,
            forwarded: question,
            rule: "",
            neighbours,
            answers: SmallVec::new(),
            asked: SmallVec::new(),
            cohort: None,
            first_provisional: 0,
            id,
        };
        self.run(problem, teller, first)
    }

    fn run<P: Problem<Question = Q, Answer = A>, S: Listener>(
        &mut self,
        problem: &mut P,
        teller: &mut Teller<'_, S>,
        first: Frame<Q, A>,
    ) -> Finding<A> {
        let mut stack = alloc::vec![first];
        loop {
            let depth = stack.len() - 1;
            let Some(frame) = stack.last_mut() else { unreachable!("the inquiry's frame ends the walk") };
            let Some(&next) = frame.neighbours.get(frame.answers.len()) else {
                let place =
                    Meeting { block: frame.block, forwarded: frame.forwarded, record: frame.record, id: frame.id };
                let (rule, answer) = problem.meet(teller, place, &frame.answers);
                let Some(frame) = stack.pop() else { unreachable!("it was looked at just now") };
                let Some(record) = frame.record else {
                    // Nothing is under way any more.
                    self.provisional.clear();
                    return Finding { answer, asked: frame.asked };
                };
                self.settle::<P>(record, rule, answer.clone(), &frame, depth);
                teller.tell(|_| QuestionEvent::Answered {
                    id: frame.id,
                    rule,
                    answer: problem.answer(&answer),
                    because: None,
                });
                let cohort = self.records[record as usize].cohort;
                if let Some(parent) = stack.last_mut() {
                    self.take(parent, frame.block, record, answer, cohort);
                }
                continue;
            };
            let (question, from, rule, parent) = (frame.forwarded, frame.block, frame.rule, frame.id);
            let id = teller.number();
            teller.tell(|func| {
                let (expression, mover) = problem.describe(func, question);
                let rule = (!rule.is_empty()).then_some(rule);
                QuestionEvent::Asked { id, parent, expression, from, mover, at: next, rule }
            });
            if let Some((record, answer, rule, cohort)) = self.known_answer(problem, next, question) {
                teller.tell(|_| QuestionEvent::Answered { id, rule, answer: problem.answer(&answer), because: None });
                self.take(frame, next, record, answer, cohort);
                continue;
            }
            let record = self.records.len() as RecordId;
            let time = problem.time(question);
            self.records.push(Record {
                block: next,
                question,
                answer: None,
                rule: "",
                asked: SmallVec::new(),
                depth: depth + 1,
                cohort: None,
                time,
            });
            self.known.insert((next, question), record);
            match problem.arrive(teller, Arrival { block: next, question, record, id }) {
                Local::Answered(rule, answer, because) => {
                    let known = &mut self.records[record as usize];
                    (known.answer, known.rule) = (Some(answer.clone()), rule);
                    teller.tell(|_| QuestionEvent::Answered { id, rule, answer: problem.answer(&answer), because });
                    self.take(frame, next, record, answer, None);
                }
                Local::Forwarded(rule, forwarded) => {
                    let neighbours = problem.onward(next);
                    stack.push(Frame {
                        record: Some(record),
                        block: next,
                        forwarded,
                        rule,
                        neighbours,
                        answers: SmallVec::new(),
                        asked: SmallVec::new(),
                        cohort: None,
                        first_provisional: self.provisional.len(),
                        id,
                    });
                }
            }
        }
    }

    /// What is known already: an answer that still holds, or an assumption about what is under way.
    fn known_answer<P: Problem<Question = Q, Answer = A>>(
        &mut self,
        problem: &P,
        block: Block,
        question: Q,
    ) -> Option<(RecordId, A, &'static str, Option<CohortId>)> {
        let id = *self.known.get(&(block, question))?;
        let record = &mut self.records[id as usize];
        match &record.answer {
            None => {
                let cohorts = &mut self.cohorts;
                let depth = Some(record.depth);
                let cohort = *record.cohort.get_or_insert_with(|| {
                    cohorts.push(Cohort { depth, gone_to: None, members: Vec::new() });
                    cohorts.len() as CohortId - 1
                });
                Some((id, P::assumed(), P::UNDER_WAY, Some(cohort)))
            }
            Some(answer) if problem.holds(question, answer, record.time) => {
                Some((id, answer.clone(), record.rule, record.cohort))
            }
            Some(_) => None,
        }
    }

    /// Takes a neighbour's answer to a question that waits for it.
    fn take(&mut self, frame: &mut Frame<Q, A>, block: Block, record: RecordId, answer: A, cohort: Option<CohortId>) {
        frame.cohort = self.earlier(frame.cohort, cohort);
        frame.answers.push((block, answer));
        frame.asked.push((block, record));
    }

    /// The one of two cohorts whose question began earlier. Those whose questions have been answered do not count.
    fn earlier(&mut self, a: Option<CohortId>, b: Option<CohortId>) -> Option<CohortId> {
        let [a, b] = [a, b].map(|cohort| {
            let cohort = self.find(cohort?);
            Some((self.cohorts[cohort as usize].depth?, cohort))
        });
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b).1),
            (known, None) | (None, known) => known.map(|(_, cohort)| cohort),
        }
    }

    /// Where a cohort has gone to. Ways that have been walked are made short.
    fn find(&mut self, mut cohort: CohortId) -> CohortId {
        while let Some(next) = self.cohorts[cohort as usize].gone_to {
            if let Some(further) = self.cohorts[next as usize].gone_to {
                self.cohorts[cohort as usize].gone_to = Some(further);
            }
            cohort = next;
        }
        cohort
    }

    /// Notes the answer of a question whose neighbours have answered, and what becomes of those who leaned on it.
    fn settle<P: Problem<Question = Q, Answer = A>>(
        &mut self,
        id: RecordId,
        rule: &'static str,
        answer: A,
        frame: &Frame<Q, A>,
        depth: usize,
    ) {
        let own = self.records[id as usize].cohort.take();
        let mut leans_on = None;
        if P::is_good(&answer) {
            // Who leans on nothing earlier than itself is firm now, and so are those who leaned on it.
            leans_on = self.earlier(frame.cohort, None);
            leans_on = leans_on.filter(|&cohort| self.cohorts[cohort as usize].depth != Some(depth));
            match (own, leans_on) {
                (Some(own), Some(earlier)) => self.go_over(own, earlier),
                (Some(own), None) => {
                    self.cohorts[own as usize].depth = None;
                    for member in core::mem::take(&mut self.cohorts[own as usize].members) {
                        if let Some(given) = &mut self.records[member as usize].answer {
                            P::improve(given, &answer);
                        }
                    }
                }
                (None, _) => {}
            }
        } else if let Some(own) = own {
            self.cohorts[own as usize].depth = None;
            for other in self.provisional.split_off(frame.first_provisional) {
                let cohort = self.records[other as usize].cohort;
                if self.earlier(cohort, None).is_some() || cohort.is_some_and(|cohort| self.find(cohort) == own) {
                    let key = (self.records[other as usize].block, self.records[other as usize].question);
                    if self.known.get(&key) == Some(&other) {
                        self.known.remove(&key);
                    }
                }
            }
        }
        if let Some(cohort) = leans_on {
            self.cohorts[cohort as usize].members.push(id);
            self.provisional.push(id);
        }
        let record = &mut self.records[id as usize];
        (record.answer, record.rule, record.cohort) = (Some(answer), rule, leans_on);
        record.asked = frame.asked.clone();
    }

    /// All who lean on one question lean on an earlier one from here on.
    fn go_over(&mut self, from: CohortId, to: CohortId) {
        let mut members = core::mem::take(&mut self.cohorts[from as usize].members);
        let others = &mut self.cohorts[to as usize].members;
        if members.len() > others.len() {
            core::mem::swap(&mut members, others);
        }
        others.append(&mut members);
        self.cohorts[from as usize].gone_to = Some(to);
    }
}

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
//! one that began before it) is forgotten, and asked again if somebody wants it. What was answered badly stays so in that
//! inquiry, since a worse answer below never gives a better one above; how long after it, its problem says.
//!
//! Where one bad answer makes that of all neighbours bad, the others are not asked. Those who listen hear them all the same,
//! since the paper asks them: they are told by an engine of their own, whose steps do not count, so that what is done does
//! not depend on who listens.
//!
//! Bounds: each question is worked out once a block, unless it is forgotten or grows stale; a problem counts its own steps.
//! In a large function a question may come to thousands of blocks: what waits lies on stacks that all share, questions have
//! numbers, and records are small and stand in the order of the walk. Most walks end badly, and of a bad answer nothing is
//! wanted later but the answer: where a walk has come far and nothing good was found behind it, its record goes again, and
//! only a [`Verdict`] stays, which all that were answered like that in one inquiry share.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, section 4 and
//! appendix A; as a greatest fixed point on demand, E. Duesterwald and others, Demand-driven computation of interprocedural
//! data flow, POPL 1995.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::Hash;

use cranelift_entity::SecondaryMap;
use cranelift_entity::entity_impl;
use cranelift_entity::packed_option::PackedOption;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::known::Known;
use super::snapshot::Changes;
use crate::ir::{Block, Function, Inst};
use crate::trace::{Answer, Event, QuestionEvent, QuestionId, Topic, Trace};

/// Local answer of a block to a question that reaches it.
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
    type Answer: Copy + PartialEq;

    /// Blocks to which a question moves on from a block.
    fn onward(&self, block: Block) -> &[Block];
    /// Assumed answer of a question in progress.
    fn assumed() -> Self::Answer;
    /// The rule that says so.
    const UNDER_WAY: &'static str;
    /// Is the answer as good as what was assumed?
    fn is_good(answer: &Self::Answer) -> bool;
    /// Is the answer of one neighbour all that there is to know of those that the question was sent on to? See
    /// [`Propagation::stops_when_decided`].
    fn decides(&self, _: &Self::Answer) -> bool {
        false
    }
    /// Better words for a good answer that leaned on another one, which has proved good like this.
    fn improve(&mut self, _answer: &mut Self::Answer, _proved: &Self::Answer) {}
    /// Does an answer that was given at that time still hold?
    fn holds(&self, question: Self::Question, answer: &Self::Answer, time: Time) -> bool;
    /// Now.
    fn time(&self, question: Self::Question) -> Time;
    /// Local answer of a block to a question.
    fn arrive(&mut self, log: &mut QuestionLog<'_>, at: Arrival<Self::Question>) -> Local<Self>;
    /// Meet of the neighbours' answers to a forwarded question.
    fn meet(
        &mut self,
        log: &mut QuestionLog<'_>,
        place: Meeting<Self::Question>,
        answers: &[(Block, Self::Answer)],
    ) -> (&'static str, Self::Answer);
    /// The question as text, and for a speculation question from where the expression would move.
    fn describe(&self, func: &Function, question: Self::Question) -> (String, Option<Block>);
    /// The answer as those who listen are told it. `ends` are the blocks where the ways end that were found.
    fn answer(&self, answer: &Self::Answer, ends: &mut dyn FnMut() -> Vec<Block>) -> Answer;
    /// Further queries of a record whose answer is good.
    fn keeps(&self, _: RecordId, _: &Self::Answer) -> Keeps {
        Keeps::Nothing
    }
}

/// Links that are kept to the questions that a question was sent on to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeps {
    /// Nothing.
    Nothing,
    /// Ends of the links: the question itself found nothing of its own, so that a walk may go on at once to where
    /// something was found, or where ways part.
    Ends,
    /// Everybody.
    Asked,
}

/// When an answer was given: which inquiry it was, and how often what it is about had changed before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    pub inquiry: u32,
    pub changes: Changes,
}

/// A question that comes to a block.
#[derive(Clone, Copy)]
pub struct Arrival<Q> {
    /// The block.
    pub block: Block,
    /// The question.
    pub question: Q,
    /// Record of the question.
    pub record: RecordId,
    /// The number under which it is told of.
    pub id: QuestionId,
}

/// Meeting of answers.
#[derive(Clone, Copy)]
pub struct Meeting<Q> {
    /// The block.
    pub block: Block,
    /// Question that the neighbours were asked.
    pub forwarded: Q,
    /// The question's record; none for an inquiry.
    pub record: Option<RecordId>,
    /// The number under which it is told of.
    pub id: QuestionId,
}

/// A question at a block that has been asked.
pub type RecordId = u32;

/// A question apart from where it is asked, in the order in which they came up.
pub(super) type Number = u32;

/// All that leans on one question under way, and on nothing that began before it.
struct Cohort {
    /// How deep in the walk that question is; nothing leans on it any more once it is answered.
    depth: Option<u32>,
    /// The cohort that this one has gone over to, as its question leans on something earlier.
    gone_to: PackedOption<CohortId>,
    members: Vec<RecordId>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CohortId(u32);
entity_impl!(CohortId);

/// Long walks leave many records, so they are small.
struct Record<A> {
    block: Block,
    question: Number,
    state: State<A>,
    /// Cohort of the earliest question in progress that it depends on; while it is in progress itself, of those that depend on it, if
    /// anybody does.
    cohort: PackedOption<CohortId>,
    /// An index into the times.
    time: u32,
}

enum State<A> {
    UnderWay {
        /// How deep in the walk.
        depth: u32,
    },
    Answered {
        answer: A,
        /// An index into the rules.
        rule: u8,
        link: Link,
        /// Target of the link.
        to: u32,
    },
}

/// A bad answer, and when it was given.
struct Verdict<A> {
    answer: A,
    /// An index into the rules.
    rule: u8,
    /// An index into the times.
    time: u32,
}

/// Knowledge of the questions that an answered question asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    /// Nothing, as for a bad answer.
    Nothing,
    /// All its ways lead to that record, or round to itself.
    Through,
    /// Their number stands there in the list of those who were asked, and they behind it, in order.
    Several,
}

/// All questions of one kind that have been asked, with their answers.
pub struct Propagation<Q, A> {
    /// Are neighbours left out once the answer of one decides? The answers are those of all neighbours. It is not for those who
    /// listen, as they hear what every neighbour says.
    pub stops_when_decided: bool,
    questions: Vec<Q>,
    numbers: HashMap<Q, Number>,
    records: Vec<Record<A>>,
    known: Known,
    /// Whom records asked.
    asked: Vec<RecordId>,
    rules: Vec<&'static str>,
    /// When something was answered, in order.
    times: Vec<Time>,
    /// The rule that was given last.
    latest_rule: u8,
    verdicts: Vec<Verdict<A>>,
    /// Answered records that lean on what is under way, or did, in the order of their answers.
    provisional: Vec<RecordId>,
    /// Cohorts of this inquiry, and room for more.
    cohorts: Vec<Cohort>,
    /// The first one of this inquiry, and the first one that is not used yet. On what is older nobody leans any more.
    first_cohort: CohortId,
    next_cohort: CohortId,
    /// The walk: questions that wait, and what each has been answered so far, by whom.
    frames: Vec<Frame>,
    answers: Vec<(Block, A)>,
    /// [`NONE`] where a verdict is all that is left.
    answered_by: Vec<RecordId>,
    met: Met,
}

/// Ends of paths.
#[derive(Default)]
pub struct Ends {
    /// Blocks, each once, in the order of the walk.
    pub blocks: Vec<Block>,
    /// Those of them that answered badly, where answers were made the same.
    pub bad: Vec<Block>,
    /// Records that were looked at.
    pub looked_at: u64,
}

/// Records met by a query for ends.
#[derive(Default)]
struct Met {
    /// How often somebody has.
    walk: u32,
    /// The last time, by record and by block.
    records: Vec<u32>,
    blocks: SecondaryMap<Block, u32>,
}

/// A question that waits for its neighbours.
#[derive(Clone, Copy)]
struct Frame {
    /// None for the inquiry.
    record: Option<RecordId>,
    block: Block,
    forwarded: Number,
    /// An index into the rules; nothing for the inquiry.
    rule: u8,
    /// The answers were so many when it began; its own lie above.
    first_answer: u32,
    /// `provisional` was so long when it began.
    first_provisional: u32,
    /// Cohort of the earliest question in progress that an answer depends on.
    cohort: PackedOption<CohortId>,
    /// Place of its entry among the slots.
    place: u32,
    id: QuestionId,
}

/// No record.
pub(super) const NONE: RecordId = RecordId::MAX;

/// From here on, what is known of a question at a block is a verdict, not a record.
const VERDICTS: RecordId = 1 << 31;

/// So many questions wait for one another in a long walk. Of a short one records are kept, as they are few.
const LONG: usize = 32;

/// So many verdicts are compared with a new one: those of one inquiry are few.
const LATEST: usize = 4;

/// The steps of questions about a function: their numbers, and what of them a trace keeps.
pub struct QuestionLog<'s> {
    /// The function that is asked about.
    pub func: &'s Function,
    trace: &'s mut dyn Trace,
    is_traced: bool,
    next: &'s mut QuestionId,
}

impl<'s> QuestionLog<'s> {
    pub fn new(func: &'s Function, trace: &'s mut dyn Trace, next: &'s mut QuestionId) -> Self {
        let is_traced = trace.is_on();
        QuestionLog { func, trace, is_traced, next }
    }

    /// A number that has not been given out.
    pub fn number(&mut self) -> QuestionId {
        *self.next += 1;
        *self.next
    }

    /// Does the trace keep steps of questions?
    #[inline]
    pub fn is_traced(&mut self) -> bool {
        self.is_traced && self.trace.wants(Topic::Question)
    }

    /// Records a step, which is built only if the trace wants it.
    #[inline]
    pub fn record(&mut self, event: impl FnOnce(&Function) -> QuestionEvent) {
        if self.is_traced() {
            self.trace.record(Event::Question(event(self.func)));
        }
    }
}

/// Blocks that were asked, and their records; [`NONE`] of a bad answer of which no more is kept.
pub type Asked = SmallVec<[(Block, RecordId); 2]>;

/// Finding of an inquiry.
pub struct Finding<A> {
    /// Answer of the inquiry.
    pub answer: A,
    /// Whom the block of the inquiry asked. What was answered badly may have no record, and is not to be asked for.
    pub asked: Asked,
}

impl<Q, A> Default for Propagation<Q, A> {
    fn default() -> Self {
        Propagation {
            stops_when_decided: false,
            questions: Vec::new(),
            numbers: HashMap::new(),
            records: Vec::new(),
            known: Known::default(),
            asked: Vec::new(),
            rules: Vec::new(),
            times: Vec::new(),
            latest_rule: 0,
            verdicts: Vec::new(),
            provisional: Vec::new(),
            cohorts: Vec::new(),
            first_cohort: CohortId::from_u32(0),
            next_cohort: CohortId::from_u32(0),
            frames: Vec::new(),
            answers: Vec::new(),
            answered_by: Vec::new(),
            met: Met::default(),
        }
    }
}

impl<Q: Copy + Eq + Hash, A: Copy + PartialEq> Propagation<Q, A> {
    /// With room for so many records, and as many questions.
    pub fn with_room(records: usize) -> Self {
        let known = Known::with_room(records);
        let (questions, numbers) = (Vec::with_capacity(records), HashMap::with_capacity(records));
        Propagation { records: Vec::with_capacity(records), questions, numbers, known, ..Self::default() }
    }

    /// The answer of a record.
    pub fn answer(&self, record: RecordId) -> Option<&A> {
        match &self.records[record as usize].state {
            State::UnderWay { .. } => None,
            State::Answered { answer, .. } => Some(answer),
        }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// The question of a record.
    pub fn question(&self, record: RecordId) -> Q {
        self.questions[self.records[record as usize].question as usize]
    }

    /// Whom a record's question was sent on to, as far as that is kept.
    pub fn asked(&self, record: RecordId) -> impl Iterator<Item = (Block, RecordId)> {
        let range = match self.records[record as usize].state {
            State::Answered { link: Link::Several, to, .. } => {
                let first = to as usize + 1;
                first..first + self.asked[to as usize] as usize
            }
            State::UnderWay { .. } | State::Answered { .. } => 0..0,
        };
        self.asked[range].iter().map(|&record| (self.records[record as usize].block, record))
    }

    /// End of a record that found nothing of its own. Walked paths are shortened.
    pub fn end(&mut self, mut record: RecordId) -> RecordId {
        while let Some(next) = self.through(record) {
            let Some(further) = self.through(next) else { return next };
            if let State::Answered { to, .. } = &mut self.records[record as usize].state {
                *to = further;
            }
            record = further;
        }
        record
    }

    /// Ends of the paths from those who were asked. Requires a kind of questions that keeps them; a question in progress
    /// has no end yet.
    pub fn ends(&mut self, mut pending: Asked, is_good: impl Fn(&A) -> bool) -> Ends {
        self.met.walk += 1;
        self.met.records.resize(self.records.len(), 0);
        let walk = self.met.walk;
        let mut ends = Ends::default();
        pending.reverse();
        while let Some((mut block, record)) = pending.pop() {
            ends.looked_at += 1;
            let mut is_bad = true;
            if record != NONE {
                let record = self.end(record) as usize;
                if core::mem::replace(&mut self.met.records[record], walk) == walk {
                    continue;
                }
                match self.records[record].state {
                    State::UnderWay { .. } => continue,
                    State::Answered { link: Link::Several, .. } => {
                        let first = pending.len();
                        pending.extend(self.asked(record as RecordId));
                        pending[first..].reverse();
                        continue;
                    }
                    State::Answered { ref answer, .. } => {
                        (block, is_bad) = (self.records[record].block, !is_good(answer));
                    }
                }
            }
            if core::mem::replace(&mut self.met.blocks[block], walk) != walk {
                ends.blocks.push(block);
                ends.bad.extend(is_bad.then_some(block));
            } else if !is_bad {
                ends.bad.retain(|&bad| bad != block);
            }
        }
        ends
    }

    /// Those who have answered the question that waits last, from its first answer on.
    fn answered(&self, first: usize) -> Asked {
        self.answers[first..]
            .iter()
            .zip(&self.answered_by[first..])
            .map(|(&(block, _), &record)| (block, record))
            .collect()
    }

    fn through(&self, record: RecordId) -> Option<RecordId> {
        match self.records[record as usize].state {
            State::Answered { link: Link::Through, to, .. } => Some(to),
            _ => None,
        }
    }

    /// Asks `neighbours` on behalf of a block. `id` is the inquiry's number.
    pub fn inquire<P: Problem<Question = Q, Answer = A>>(
        &mut self,
        problem: &mut P,
        log: &mut QuestionLog<'_>,
        (block, neighbours): (Block, &[Block]),
        question: Q,
        id: QuestionId,
    ) -> Finding<A> {
        let forwarded = self.number(question);
        self.frames.push(Frame {
            record: None,
            block,
            forwarded,
            rule: 0,
            first_answer: 0,
            first_provisional: 0,
            cohort: None.into(),
            place: NONE,
            id,
        });
        self.run(problem, log, neighbours)
    }

    fn number(&mut self, question: Q) -> Number {
        let questions = &mut self.questions;
        *self.numbers.entry(question).or_insert_with(|| {
            questions.push(question);
            questions.len() as Number - 1
        })
    }

    fn run<P: Problem<Question = Q, Answer = A>>(
        &mut self,
        problem: &mut P,
        log: &mut QuestionLog<'_>,
        neighbours: &[Block],
    ) -> Finding<A> {
        loop {
            let depth = self.frames.len() as u32;
            let Some(frame) = self.frames.last() else { unreachable!("the inquiry's frame ends the walk") };
            let first_answer = frame.first_answer as usize;
            let waits_for = if frame.record.is_none() { neighbours } else { problem.onward(frame.block) };
            let given = &self.answers[first_answer..];
            let is_decided = self.stops_when_decided && given.last().is_some_and(|(_, answer)| problem.decides(answer));
            let next = if is_decided { None } else { waits_for.get(given.len()) };
            let Some(&next) = next else {
                let forwarded = self.questions[frame.forwarded as usize];
                let place = Meeting { block: frame.block, forwarded, record: frame.record, id: frame.id };
                let (rule, answer) = problem.meet(log, place, &self.answers[first_answer..]);
                let Some(frame) = self.frames.pop() else { unreachable!("it was looked at just now") };
                let Some(record) = frame.record else {
                    // Nothing is under way any more.
                    self.provisional.clear();
                    self.first_cohort = self.next_cohort;
                    let asked = self.answered(0);
                    self.answers.clear();
                    self.answered_by.clear();
                    return Finding { answer, asked };
                };
                let keeps = problem.keeps(record, &answer);
                log.record(|_| {
                    let mut ends = || match keeps {
                        Keeps::Nothing => vec![frame.block],
                        Keeps::Ends | Keeps::Asked => self.ends(self.answered(first_answer), P::is_good).blocks,
                    };
                    let answer = problem.answer(&answer, &mut ends);
                    QuestionEvent::Answered { id: frame.id, rule, answer, because: None }
                });
                let is_kept = if P::is_good(&answer) {
                    self.settle_well(problem, record, (rule, &answer), keeps, (frame, depth));
                    true
                } else {
                    self.settle_badly(record, (rule, &answer), keeps, frame)
                };
                self.answers.truncate(first_answer);
                self.answered_by.truncate(first_answer);
                let cohort = if is_kept { self.records[record as usize].cohort } else { None.into() };
                self.take(frame.block, if is_kept { record } else { NONE }, answer, cohort);
                continue;
            };
            let (number, question) = (frame.forwarded, self.questions[frame.forwarded as usize]);
            let id = log.number();
            log.record(|func| {
                let (expression, mover) = problem.describe(func, question);
                let &Frame { id: parent, block: from, rule, .. } = frame;
                let rule = frame.record.map(|_| self.rules[usize::from(rule)]);
                QuestionEvent::Asked { id, parent, expression, from, mover, at: next, rule }
            });
            let record = self.records.len() as RecordId;
            let place = self.known.place(next, number);
            let known = self.known[place];
            if known != NONE
                && let Some((answer, rule, cohort)) = self.known_answer(problem, known, question)
            {
                let known = if known < VERDICTS { known } else { NONE };
                log.record(|_| {
                    let answer = problem
                        .answer(&answer, &mut || self.ends(SmallVec::from_elem((next, known), 1), P::is_good).blocks);
                    QuestionEvent::Answered { id, rule, answer, because: None }
                });
                self.take(next, known, answer, cohort);
                continue;
            }
            self.known[place] = record;
            let time = self.time(problem.time(question));
            let state = State::UnderWay { depth };
            self.records.push(Record { block: next, question: number, state, cohort: None.into(), time });
            match problem.arrive(log, Arrival { block: next, question, record, id }) {
                Local::Answered(rule, answer, because) => {
                    log.record(|_| {
                        let answer = problem.answer(&answer, &mut || vec![next]);
                        QuestionEvent::Answered { id, rule, answer, because }
                    });
                    let keeps = problem.keeps(record, &answer);
                    let is_good = P::is_good(&answer);
                    let is_kept = is_good || !self.give_up(record, place, (rule, &answer), keeps);
                    if is_kept {
                        let rule = self.rule(rule);
                        let state = State::Answered { answer, rule, link: Link::Nothing, to: 0 };
                        self.records[record as usize].state = state;
                    }
                    self.take(next, if is_kept { record } else { NONE }, answer, None.into());
                }
                Local::Forwarded(rule, forwarded) => {
                    let forwarded = if forwarded == question { number } else { self.number(forwarded) };
                    let rule = self.rule(rule);
                    self.frames.push(Frame {
                        record: Some(record),
                        block: next,
                        forwarded,
                        rule,
                        first_answer: self.answers.len() as u32,
                        first_provisional: self.provisional.len() as u32,
                        cohort: None.into(),
                        place,
                        id,
                    });
                }
            }
        }
    }

    /// Known answer: one that still holds, or an assumption about a question in progress.
    fn known_answer<P: Problem<Question = Q, Answer = A>>(
        &mut self,
        problem: &P,
        known: RecordId,
        question: Q,
    ) -> Option<(A, &'static str, PackedOption<CohortId>)> {
        if let Some(verdict) = known.checked_sub(VERDICTS) {
            let Verdict { answer, rule, time } = &self.verdicts[verdict as usize];
            let holds = problem.holds(question, answer, self.times[*time as usize]);
            return holds.then(|| (*answer, self.rules[usize::from(*rule)], None.into()));
        }
        let record = &mut self.records[known as usize];
        match &record.state {
            &State::UnderWay { depth } => {
                let cohort = match record.cohort.expand() {
                    Some(cohort) => cohort,
                    None => self.new_cohort(known, depth),
                };
                Some((P::assumed(), P::UNDER_WAY, cohort.into()))
            }
            State::Answered { answer, rule, .. }
                if problem.holds(question, answer, self.times[record.time as usize]) =>
            {
                Some((*answer, self.rules[usize::from(*rule)], record.cohort))
            }
            State::Answered { .. } => None,
        }
    }

    /// A cohort of those who lean on a record that is under way.
    fn new_cohort(&mut self, record: RecordId, depth: u32) -> CohortId {
        let cohort = self.next_cohort;
        self.next_cohort = CohortId::from_u32(cohort.as_u32() + 1);
        let place = (cohort.as_u32() - self.first_cohort.as_u32()) as usize;
        match self.cohorts.get_mut(place) {
            Some(known) => {
                known.members.clear();
                (known.depth, known.gone_to) = (Some(depth), None.into());
            }
            None => self.cohorts.push(Cohort { depth: Some(depth), gone_to: None.into(), members: Vec::new() }),
        }
        self.records[record as usize].cohort = cohort.into();
        cohort
    }

    /// One of this inquiry.
    fn cohort(&mut self, cohort: CohortId) -> &mut Cohort {
        &mut self.cohorts[(cohort.as_u32() - self.first_cohort.as_u32()) as usize]
    }

    /// Leaves no more than a verdict of the last record, whose answer is bad, if it found nothing on a long walk. `place` is
    /// where it stands among what is known. Says whether the record is gone.
    fn give_up(&mut self, id: RecordId, place: u32, (rule, answer): (&'static str, &A), keeps: Keeps) -> bool {
        let is_long = self.frames.len() >= LONG;
        if !is_long || id as usize + 1 != self.records.len() || keeps == Keeps::Asked {
            return false;
        }
        let Some(Record { time, .. }) = self.records.pop() else { return false };
        let rule = self.rule(rule);
        let first = self.verdicts.len().saturating_sub(LATEST);
        let is_like = |verdict: &Verdict<A>| verdict.rule == rule && verdict.time == time && verdict.answer == *answer;
        let known = self.verdicts[first..].iter().rposition(is_like).map(|place| first + place);
        let verdict = known.unwrap_or_else(|| {
            self.verdicts.push(Verdict { answer: *answer, rule, time });
            self.verdicts.len() - 1
        });
        self.known[place] = VERDICTS + verdict as RecordId;
        true
    }

    /// The number of a time. All of one inquiry about one thing have the same.
    fn time(&mut self, time: Time) -> u32 {
        if self.times.last() != Some(&time) {
            self.times.push(time);
        }
        self.times.len() as u32 - 1
    }

    /// The number of a rule.
    fn rule(&mut self, rule: &'static str) -> u8 {
        if let Some(&latest) = self.rules.get(usize::from(self.latest_rule))
            && core::ptr::eq(latest, rule)
        {
            return self.latest_rule;
        }
        let known = self.rules.iter().position(|&known| core::ptr::eq(known, rule));
        self.latest_rule = known.unwrap_or_else(|| {
            self.rules.push(rule);
            self.rules.len() - 1
        }) as u8;
        self.latest_rule
    }

    /// The question that waits takes a neighbour's answer.
    fn take(&mut self, block: Block, record: RecordId, answer: A, cohort: PackedOption<CohortId>) {
        self.answers.push((block, answer));
        self.answered_by.push(record);
        let Some(frame) = self.frames.last_mut().filter(|_| cohort.is_some()) else { return };
        // Mostly all answers lean on the same. Whether that has been answered since is asked in the end.
        if frame.cohort.is_none() {
            frame.cohort = cohort;
        } else if frame.cohort != cohort {
            let known = frame.cohort;
            let earlier = self.earlier(known, cohort);
            if let Some(frame) = self.frames.last_mut() {
                frame.cohort = earlier;
            }
        }
    }

    /// The one of two cohorts whose question began earlier. Those whose questions have been answered do not count.
    fn earlier(&mut self, a: PackedOption<CohortId>, b: PackedOption<CohortId>) -> PackedOption<CohortId> {
        let [a, b] = [a, b].map(|cohort| {
            let cohort = self.find(cohort.expand().filter(|&cohort| cohort >= self.first_cohort)?);
            Some((self.cohort(cohort).depth?, cohort))
        });
        match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b).1),
            (known, None) | (None, known) => known.map(|(_, cohort)| cohort),
        }
        .into()
    }

    /// Root of a cohort. Walked paths are shortened.
    fn find(&mut self, mut cohort: CohortId) -> CohortId {
        while let Some(next) = self.cohort(cohort).gone_to.expand() {
            let further = self.cohort(next).gone_to;
            if further.is_some() {
                self.cohort(cohort).gone_to = further;
            }
            cohort = next;
        }
        cohort
    }

    /// Notes the good answer of a question whose neighbours have answered. Who leans on nothing earlier than itself is firm now,
    /// and so are those who leaned on it.
    fn settle_well<P: Problem<Question = Q, Answer = A>>(
        &mut self,
        problem: &mut P,
        id: RecordId,
        (rule, answer): (&'static str, &A),
        keeps: Keeps,
        (frame, depth): (Frame, u32),
    ) {
        let own = self.records[id as usize].cohort.take();
        let mut leans_on = PackedOption::default();
        if let Some(cohort) = self.earlier(frame.cohort, None.into()).expand()
            && self.cohort(cohort).depth != Some(depth - 1)
        {
            leans_on = cohort.into();
        }
        match (own, leans_on.expand()) {
            (Some(own), Some(earlier)) => self.go_over(own, earlier),
            (Some(own), None) => {
                self.cohort(own).depth = None;
                let mut members = core::mem::take(&mut self.cohort(own).members);
                for member in members.drain(..) {
                    if let State::Answered { answer: given, .. } = &mut self.records[member as usize].state {
                        problem.improve(given, answer);
                    }
                }
                // Its room is for others.
                self.cohort(own).members = members;
            }
            (None, _) => {}
        }
        let (link, to) = self.link(id, keeps, frame.first_answer as usize);
        if let Some(cohort) = leans_on.expand() {
            self.cohort(cohort).members.push(id);
            self.provisional.push(id);
        }
        let rule = self.rule(rule);
        let record = &mut self.records[id as usize];
        record.state = State::Answered { answer: *answer, rule, link, to };
        record.cohort = leans_on;
    }

    /// Notes the bad answer of a question whose neighbours have answered: who leaned on it is forgotten. Says whether it has
    /// a record any longer.
    fn settle_badly(&mut self, id: RecordId, (rule, answer): (&'static str, &A), keeps: Keeps, frame: Frame) -> bool {
        if let Some(own) = self.records[id as usize].cohort.take() {
            self.cohort(own).depth = None;
            for index in frame.first_provisional as usize..self.provisional.len() {
                let other = self.provisional[index];
                let &Record { block, question, cohort, .. } = &self.records[other as usize];
                if self.earlier(cohort, None.into()).is_some()
                    || cohort.expand().is_some_and(|cohort| self.find(cohort) == own)
                {
                    let place = self.known.place(block, question);
                    if self.known[place] == other {
                        self.known[place] = NONE;
                    }
                }
            }
            self.provisional.truncate(frame.first_provisional as usize);
        }
        if self.give_up(id, frame.place, (rule, answer), keeps) {
            return false;
        }
        let rule = self.rule(rule);
        let state = State::Answered { answer: *answer, rule, link: Link::Nothing, to: 0 };
        self.records[id as usize].state = state;
        true
    }

    /// Notes whom a record's question was sent on to, who are the last that answered.
    fn link(&mut self, id: RecordId, keeps: Keeps, first: usize) -> (Link, u32) {
        if keeps == Keeps::Nothing {
            return (Link::Nothing, 0);
        }
        for index in first..self.answered_by.len() {
            // Where answers were made the same, some are bad. Nobody asks them for more than their blocks.
            if self.answered_by[index] == NONE {
                let (block, answer) = self.answers[index];
                let state = State::Answered { answer, rule: 0, link: Link::Nothing, to: 0 };
                let question = self.records[id as usize].question;
                self.answered_by[index] = self.records.len() as RecordId;
                self.records.push(Record { block, question, state, cohort: None.into(), time: 0 });
            }
        }
        if keeps == Keeps::Ends {
            let (mut only, mut is_one) = (None, true);
            for index in first..self.answered_by.len() {
                let end = self.end(self.answered_by[index]);
                self.answered_by[index] = end;
                is_one &= end == id || *only.get_or_insert(end) == end;
            }
            if let Some(only) = only.filter(|_| is_one) {
                return (Link::Through, only);
            }
        }
        let begin = self.asked.len() as u32;
        self.asked.push((self.answered_by.len() - first) as RecordId);
        self.asked.extend_from_slice(&self.answered_by[first..]);
        (Link::Several, begin)
    }

    /// All who lean on one question lean on an earlier one from here on.
    fn go_over(&mut self, from: CohortId, to: CohortId) {
        let mut members = core::mem::take(&mut self.cohort(from).members);
        let others = &mut self.cohort(to).members;
        if members.len() > others.len() {
            core::mem::swap(&mut members, others);
        }
        others.append(&mut members);
        self.cohort(from).gone_to = to.into();
    }
}

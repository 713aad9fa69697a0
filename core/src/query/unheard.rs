//! Anticipatability of one pure form, where nobody listens.
//!
//! ```text
//! n3: br p, n4, n5       `x + y?` at n3: n4, n5 and all behind them are asked, as the engine would ask them
//! n4 … n9000             of each block two bits stay: is it known, and is it true
//! ```
//!
//! In a large function most questions whether an expression is anticipated go down to its end and find nothing. The engine
//! ([`super::propagation`]) keeps a record of each, for those who listen, for answers of several kinds and for questions that change on
//! their way. A pure form goes down as it is and the answer is yes or no: so here is the same walk, in the same order, with
//! the same assumptions about what is under way, that keeps no more than the answers.
//!
//! Sound for the engine's reasons: a yes that leans on an assumption is forgotten when the assumption proves false.
//! It looks at the same blocks as the engine, and so takes the same steps.
//!
//! Source: that of the engine.

use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use hashbrown::HashMap;

use super::forms::FormSet;
use super::snapshot::{Changes, DescentEnd, Snapshot};
use crate::ir::{Block, Function};

/// What has been answered, and room for walks.
#[derive(Default)]
pub struct Unheard {
    /// By question and page of blocks: where its answers stand.
    pages: HashMap<(FormSet, u32), u32>,
    answers: Vec<Answers>,
    /// The page that was used last.
    latest: Option<((FormSet, u32), u32)>,
    marks: SecondaryMap<Block, Mark>,
    walk: u32,
    frames: Vec<Frame>,
    cohorts: Vec<Cohort>,
    /// What is true as long as something that is under way is.
    provisional: Vec<Block>,
}

/// The answers of a page of blocks, a bit for each.
#[derive(Clone, Copy, Default)]
struct Answers {
    is_known: u64,
    is_true: u64,
    /// How often they had changed when somebody asked last.
    changes: Changes,
}

impl Answers {
    /// Forgets what holds no longer: what has been inserted may have made something true, what has been replaced something
    /// false.
    fn refresh(&mut self, changes: Changes) {
        if self.changes.inserted != changes.inserted {
            self.is_known &= self.is_true;
        }
        if self.changes.replaced != changes.replaced {
            self.is_known &= !self.is_true;
        }
        self.changes = changes;
    }
}

/// What the last walk that came to a block has found, besides the answer.
#[derive(Clone, Copy, Default)]
struct Mark {
    walk: u32,
    is_under_way: bool,
    /// The frame while it is under way, and then the cohort, or [`NONE`].
    number: u32,
}

/// A block that waits for those behind it.
struct Frame {
    block: Block,
    /// How many have been asked.
    asked: u32,
    is_true: bool,
    /// `provisional` was so long when it began.
    first_provisional: u32,
    /// Of the earliest question under way that an answer leans on.
    leans_on: u32,
    /// Of those who lean on this one.
    own: u32,
}

/// All that leans on one question under way, and on nothing that began before it.
struct Cohort {
    /// The question's frame; [`NONE`] once it is answered, so that nothing leans on it any more.
    frame: u32,
    /// The cohort that this one has gone over to, or [`NONE`].
    gone_to: u32,
}

/// No cohort, or no frame.
const NONE: u32 = u32::MAX;

/// Blocks of a page.
const PAGE: u32 = 64;

/// An answer, and the cohort that it belongs to.
type Answered = (bool, u32);

impl Unheard {
    /// Is a pure form, the only one of the set, anticipated at all of these blocks?
    pub fn inquire(&mut self, snapshot: &mut Snapshot<'_>, func: &Function, asked: &[Block], set: FormSet) -> bool {
        let changes = snapshot.forms.members(set).first().map(|&form| snapshot.changes(form)).unwrap_or_default();
        self.walk += 1;
        self.cohorts.clear();
        self.provisional.clear();
        let mut is_true = !asked.is_empty();
        for &block in asked {
            is_true &= self.ask(snapshot, func, block, (set, changes));
        }
        is_true
    }

    fn ask(
        &mut self,
        snapshot: &mut Snapshot<'_>,
        func: &Function,
        block: Block,
        question: (FormSet, Changes),
    ) -> bool {
        let mut answered = self.arrive(snapshot, func, block, question);
        loop {
            let Some(mut frame) = self.frames.pop() else { return answered.is_some_and(|(is_true, _)| is_true) };
            if let Some((is_true, cohort)) = answered {
                frame.is_true &= is_true;
                if cohort != NONE {
                    frame.leans_on = self.earlier(frame.leans_on, cohort);
                }
            }
            answered = match snapshot.ways.down(frame.block).get(frame.asked as usize) {
                Some(&next) => {
                    frame.asked += 1;
                    self.frames.push(frame);
                    self.arrive(snapshot, func, next, question)
                }
                None => Some(self.settle(&frame, question)),
            };
        }
    }

    /// What a block answers by itself, what is known, or what is assumed. Nothing if it has to ask.
    fn arrive(
        &mut self,
        snapshot: &mut Snapshot<'_>,
        func: &Function,
        block: Block,
        question: (FormSet, Changes),
    ) -> Option<Answered> {
        let mark = self.marks[block];
        let is_marked = mark.walk == self.walk;
        if is_marked && mark.is_under_way {
            return Some((true, self.cohort_of(mark.number)));
        }
        let (answers, bit) = self.answers(block, question);
        if answers.is_known & bit != 0 {
            let is_true = answers.is_true & bit != 0;
            return Some((is_true, if is_marked && is_true { mark.number } else { NONE }));
        }
        let is_true = match snapshot.descend(func, block, question.0) {
            DescentEnd::Same => true,
            DescentEnd::Changed => false,
            DescentEnd::Bottom(_) if snapshot.ways.down(block).is_empty() => false,
            DescentEnd::Bottom(left) => {
                debug_assert!(left == question.0, "a pure form goes down as it is");
                self.marks[block] = Mark { walk: self.walk, is_under_way: true, number: self.frames.len() as u32 };
                self.frames.push(Frame {
                    block,
                    asked: 0,
                    is_true: true,
                    first_provisional: self.provisional.len() as u32,
                    leans_on: NONE,
                    own: NONE,
                });
                return None;
            }
        };
        self.note(block, question, is_true, NONE);
        Some((is_true, NONE))
    }

    /// Notes the answer of a block whose successors have answered, and what becomes of those who leaned on it.
    fn settle(&mut self, frame: &Frame, question: (FormSet, Changes)) -> Answered {
        let depth = self.frames.len() as u32;
        let mut leans_on = NONE;
        if frame.is_true {
            // Who leans on nothing earlier than itself is firm now, and so are those who leaned on it.
            leans_on = self.earlier(frame.leans_on, NONE);
            if leans_on != NONE && self.cohorts[leans_on as usize].frame == depth {
                leans_on = NONE;
            }
            if frame.own != NONE {
                self.cohorts[frame.own as usize] = Cohort { frame: NONE, gone_to: leans_on };
            }
            if leans_on != NONE {
                self.provisional.push(frame.block);
            }
        } else if frame.own != NONE {
            self.cohorts[frame.own as usize].frame = NONE;
            for index in frame.first_provisional as usize..self.provisional.len() {
                let other = self.provisional[index];
                let cohort = self.marks[other].number;
                if self.earlier(cohort, NONE) != NONE || self.find(cohort) == frame.own {
                    let (answers, bit) = self.answers(other, question);
                    answers.is_known &= !bit;
                }
            }
            self.provisional.truncate(frame.first_provisional as usize);
        }
        self.note(frame.block, question, frame.is_true, leans_on);
        (frame.is_true, leans_on)
    }

    fn note(&mut self, block: Block, question: (FormSet, Changes), is_true: bool, cohort: u32) {
        self.marks[block] = Mark { walk: self.walk, is_under_way: false, number: cohort };
        let (answers, bit) = self.answers(block, question);
        answers.is_known |= bit;
        answers.is_true = if is_true { answers.is_true | bit } else { answers.is_true & !bit };
    }

    /// Where a block's answer stands.
    fn answers(&mut self, block: Block, (set, changes): (FormSet, Changes)) -> (&mut Answers, u64) {
        let key = (set, block.as_u32() / PAGE);
        let page = match self.latest {
            Some((latest, page)) if latest == key => page,
            _ => {
                let answers = &mut self.answers;
                let page = *self.pages.entry(key).or_insert_with(|| {
                    answers.push(Answers::default());
                    answers.len() as u32 - 1
                });
                self.latest = Some((key, page));
                page
            }
        };
        let answers = &mut self.answers[page as usize];
        answers.refresh(changes);
        (answers, 1 << (block.as_u32() % PAGE))
    }

    /// The cohort of those who lean on what waits in a frame.
    fn cohort_of(&mut self, frame: u32) -> u32 {
        let own = &mut self.frames[frame as usize].own;
        if *own == NONE {
            *own = self.cohorts.len() as u32;
            self.cohorts.push(Cohort { frame, gone_to: NONE });
        }
        *own
    }

    /// The one of two cohorts whose question began earlier. Those whose questions have been answered do not count.
    fn earlier(&mut self, a: u32, b: u32) -> u32 {
        let [a, b] = [a, b].map(|cohort| {
            let cohort = if cohort == NONE { NONE } else { self.find(cohort) };
            let frame = self.cohorts.get(cohort as usize).map_or(NONE, |cohort| cohort.frame);
            (frame, if frame == NONE { NONE } else { cohort })
        });
        a.min(b).1
    }

    /// Where a cohort has gone to. Ways that have been walked are made short.
    fn find(&mut self, mut cohort: u32) -> u32 {
        loop {
            let next = self.cohorts[cohort as usize].gone_to;
            if next == NONE {
                return cohort;
            }
            let further = self.cohorts[next as usize].gone_to;
            if further != NONE {
                self.cohorts[cohort as usize].gone_to = further;
            }
            cohort = next;
        }
    }
}

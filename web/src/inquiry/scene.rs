//! Scene of questions at a moment: where each one waits, and the answers so far.
//!
//! ```text
//! n8   A[i]?  ─────▶  n3            asked: goes along the edge, and waits at its other end
//! n8   false  ◀─────  n3            answered: comes back along it
//! n8   false, true: ∏ false         where answers meet they stay until the question that they are for is answered
//! ```
//!
//! Questions end in the reverse order of their beginning, so those that are to be seen are a stack: an answer takes away
//! what came back to it.

use warpscope_engine::message::{Event, Query, Questions, Verdict, What};

/// Scene at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene<'a> {
    /// The questions, in the order in which they were raised.
    pub tokens: Vec<Token<'a>>,
    /// Expressions that would be inserted, with their places.
    pub noted: Vec<Noted<'a>>,
    /// Last event.
    pub last: Option<&'a Event>,
}

/// A question or its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Token<'a> {
    /// Its number.
    pub id: u32,
    /// Kind of the question.
    pub query: Query,
    /// Its text.
    pub text: &'a str,
    /// Place of the question.
    pub place: Place,
    /// The answer, once there is one.
    pub verdict: Option<Verdict>,
    /// The answer in words.
    pub words: &'a str,
    /// Last motion, if it happened just now.
    pub motion: Motion,
}

/// Place of a question, by identities of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a block.
    Block(u32),
    /// Between the block that it was asked in and the one that it was asked of.
    Way {
        /// The former.
        from: u32,
        /// The latter.
        to: u32,
    },
}

/// Last motion of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    /// Nothing.
    #[default]
    Rests,
    /// It appeared or went on its way.
    Goes,
    /// Its text changed.
    Changes,
    /// It was answered, and comes back.
    Returns,
}

/// Expression that would be inserted.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted<'a> {
    /// The expression.
    pub text: &'a str,
    /// Place of the insertion.
    pub place: Place,
}

impl<'a> Scene<'a> {
    /// The scene after the first `done` of these events.
    pub fn at(questions: &'a Questions, done: usize) -> Scene<'a> {
        let mut scene = Scene::default();
        for event in questions.happened.iter().take(done) {
            // Only what happened last is seen to move, and that is the last one that is not at rest.
            if let Some(moved) = scene.tokens.iter_mut().rev().find(|token| token.motion != Motion::Rests) {
                moved.motion = Motion::Rests;
            }
            scene.take(event);
        }
        scene
    }

    fn take(&mut self, event: &'a Event) {
        self.last = Some(event);
        match &event.what {
            What::Began { id, parent, query, text } => {
                if parent.is_none() {
                    self.tokens.clear();
                    self.noted.clear();
                }
                self.raise(*id, *query, text, Place::Block(event.block));
            }
            What::Asked { id, parent, text, from } => {
                let query = self.token(*parent).map_or(Query::Availability, |token| token.query);
                let place = match event.block {
                    block if block == *from => Place::Block(block),
                    to => Place::Way { from: *from, to },
                };
                self.raise(*id, query, text, place);
            }
            What::Converted { id, text } => {
                if let Some(token) = self.token(*id) {
                    (token.text, token.motion) = (text, Motion::Changes);
                }
            }
            What::Answered { id, verdict, words, .. } | What::Ended { id, verdict, words, .. } => {
                if let Some(at) = self.tokens.iter().position(|token| token.id == *id) {
                    self.tokens.truncate(at + 1);
                    let token = &mut self.tokens[at];
                    (token.verdict, token.words, token.motion) = (Some(*verdict), words, Motion::Returns);
                    // Where an inquiry fails nothing is inserted.
                    if at == 0 && !verdict.is_good() {
                        self.noted.clear();
                    }
                }
            }
            What::Noted { text, onto, .. } => {
                let place = match onto {
                    Some(to) => Place::Way { from: event.block, to: *to },
                    None => Place::Block(event.block),
                };
                self.noted.push(Noted { text, place });
            }
            What::Changed => {
                self.tokens.clear();
                // An edge is named by the block that it leaves.
                let is_made = |noted: &Noted<'_>| match noted.place {
                    Place::Block(block) | Place::Way { from: block, .. } => block == event.block,
                };
                if let Some(made) = self.noted.iter().position(is_made).filter(|_| event.rule == "insert") {
                    self.noted.remove(made);
                }
            }
            What::Refused => {}
        }
    }

    fn raise(&mut self, id: u32, query: Query, text: &'a str, place: Place) {
        self.tokens.push(Token { id, query, text, place, verdict: None, words: "", motion: Motion::Goes });
    }

    fn token(&mut self, id: u32) -> Option<&mut Token<'a>> {
        self.tokens.iter_mut().rev().find(|token| token.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inquiry::tests::{answered, asked, began, converted, noted, questions};

    fn seen<'a>(scene: &Scene<'a>) -> Vec<(&'a str, Option<Verdict>, Motion)> {
        scene.tokens.iter().map(|token| (token.text, token.verdict, token.motion)).collect()
    }

    #[test]
    fn questions_go_wait_and_come_back() {
        let all = questions(vec![
            began(1, None, "x?", 8),
            asked(2, 1, "x?", (8, 3)),
            converted(2, "y?", 3),
            asked(3, 2, "y?", (3, 1)),
            answered(3, Verdict::Real, 1),
            answered(2, Verdict::Unreal, 3),
        ]);
        let at = |done| Scene::at(&all, done);
        assert!(at(0).tokens.is_empty());
        assert_eq!(seen(&at(2)), [("x?", None, Motion::Rests), ("x?", None, Motion::Goes)]);
        assert_eq!(at(2).tokens[1].place, Place::Way { from: 8, to: 3 });
        assert_eq!(seen(&at(3))[1], ("y?", None, Motion::Changes));
        assert_eq!(seen(&at(5))[2], ("y?", Some(Verdict::Real), Motion::Returns));
        // What came back to a question goes with its answer.
        assert_eq!(seen(&at(6)), [("x?", None, Motion::Rests), ("y?", Some(Verdict::Unreal), Motion::Returns)]);
        assert_eq!(at(100), at(6));
    }

    #[test]
    fn what_was_noted_stays_until_it_is_inserted_or_the_inquiry_fails() {
        let mut events = vec![began(1, None, "x?", 8), asked(2, 1, "x?", (8, 3)), noted(1, "x", 3)];
        let count = |events: &[Event], done| Scene::at(&questions(events.to_vec()), done).noted.len();
        assert_eq!(count(&events, 3), 1);
        events.extend([answered(2, Verdict::False, 3), answered(1, Verdict::Real, 8)]);
        assert_eq!(count(&events, 5), 1);
        events.push(Event { block: 3, rule: "replace".to_owned(), ..Event::default() });
        assert_eq!(count(&events, 6), 1, "another change leaves it");
        events[5].rule = "insert".to_owned();
        assert_eq!(count(&events, 6), 0);
        events[4] = answered(1, Verdict::False, 8);
        assert_eq!(count(&events, 5), 0);
    }

    #[test]
    fn what_was_noted_for_an_edge_goes_when_it_is_inserted_there() {
        let what = What::Noted { id: 1, text: "x".to_owned(), onto: Some(8) };
        let note = Event { what, block: 3, ..Event::default() };
        let made = Event { block: 3, rule: "insert".to_owned(), ..Event::default() };
        let all = questions(vec![began(1, None, "x?", 8), note, answered(1, Verdict::Real, 8), made]);
        assert_eq!(Scene::at(&all, 3).noted[0].place, Place::Way { from: 3, to: 8 });
        assert!(Scene::at(&all, 4).noted.is_empty());
    }

    #[test]
    fn what_is_told_of_an_unknown_question_is_left_out() {
        let all = questions(vec![answered(7, Verdict::Real, 1), converted(7, "y?", 1), asked(9, 7, "z?", (1, 2))]);
        assert_eq!(seen(&Scene::at(&all, 3)), [("z?", None, Motion::Goes)]);
    }
}

//! The scene of tokens at a moment: the place of each, and the answers that have come back.
//!
//! ```text
//! n8   A[i]?  ─────▶  n3            appears: goes along the edge, and waits at its other end
//! n8   false  ◀─────  n3            returns: comes back along it
//! n8   no, yes: on some paths        answers stay where they meet until the token that they are for returns
//! ```
//!
//! Tokens are a stack: one that returns removes those that appeared after it. Linear in the steps up to the moment.

use warpscope_engine::message::inspect::{Anchor, Look, Timeline, TokenStep};

/// The tokens of a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene<'a> {
    /// Tokens, in the order in which they appeared.
    pub tokens: Vec<Token<'a>>,
    /// Notes, in the order in which they were left.
    pub noted: Vec<Noted<'a>>,
    /// The token that returned last, if it did so at this moment, and how the answers met that its answer is made of.
    pub meeting: Option<(u32, &'a str)>,
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub struct Token<'a> {
    /// Its number.
    pub id: u32,
    /// Its kind, by its place among the timeline's.
    pub kind: usize,
    /// Its text.
    pub text: &'a str,
    /// Its place, or the way that it takes.
    pub place: Place,
    /// The look of its answer, once there is one.
    pub answer: Option<Look>,
    /// The answer in words.
    pub words: &'a str,
    /// Its last step, if that is of this moment.
    pub motion: Motion,
}

/// A place of a token, by identities of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a block.
    Block(u32),
    /// Between the block that it left and the one that it came to.
    Way {
        /// The former.
        from: u32,
        /// The latter.
        to: u32,
    },
}

/// The motion of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    /// None.
    #[default]
    Rests,
    /// It appears, or goes on its way.
    Goes,
    /// Its text changes.
    Changes,
    /// It comes back.
    Returns,
}

/// A note.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its place.
    pub at: &'a Anchor,
}

impl<'a> Scene<'a> {
    /// The scene at a moment, as far as the timeline tells of those before it.
    pub fn at(timeline: &'a Timeline, moment: usize) -> Scene<'a> {
        let mut scene = Scene::default();
        for told in timeline.moments.iter().take(moment.saturating_sub(timeline.first)) {
            // Only the last moment's token moves, and that is the last one that is not at rest.
            if let Some(moved) = scene.tokens.iter_mut().rev().find(|token| token.motion != Motion::Rests) {
                moved.motion = Motion::Rests;
            }
            scene.meeting = None;
            told.tokens.iter().for_each(|step| scene.take(step, timeline));
        }
        scene
    }

    fn take(&mut self, step: &'a TokenStep, timeline: &Timeline) {
        match step {
            TokenStep::Appears { id, kind, text, from, to, .. } => {
                let place = match *from {
                    Some(from) if from != *to => Place::Way { from, to: *to },
                    _ => Place::Block(*to),
                };
                let kind = timeline.kinds.iter().position(|known| known.key == *kind).unwrap_or(0);
                let motion = Motion::Goes;
                self.tokens.push(Token { id: *id, kind, text, place, answer: None, words: "", motion });
            }
            TokenStep::Changes { id, text } => {
                if let Some(token) = self.tokens.iter_mut().rev().find(|token| token.id == *id) {
                    (token.text, token.motion) = (text, Motion::Changes);
                }
            }
            TokenStep::Returns { id, look, words, meeting } => {
                if let Some(at) = self.tokens.iter().position(|token| token.id == *id) {
                    self.tokens.truncate(at + 1);
                    let token = &mut self.tokens[at];
                    (token.answer, token.words, token.motion) = (Some(*look), words, Motion::Returns);
                    self.meeting = (!meeting.is_empty()).then_some((*id, meeting));
                }
            }
            TokenStep::Notes { text, at, .. } => self.noted.push(Noted { text, at }),
            TokenStep::Clears => self.tokens.clear(),
            TokenStep::Erases { at } => {
                if let Some(place) = self.noted.iter().position(|noted| noted.at == at) {
                    self.noted.remove(place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tests::{appears, changes, moment, notes, returns, timeline};

    fn seen<'a>(scene: &Scene<'a>) -> Vec<(&'a str, Option<Look>, Motion)> {
        scene.tokens.iter().map(|token| (token.text, token.answer, token.motion)).collect()
    }

    #[test]
    fn tokens_go_wait_and_come_back() {
        let all = timeline(vec![
            appears(1, None, "x?", (None, 8)),
            appears(2, Some(1), "x?", (Some(8), 3)),
            changes(2, "y?", 3),
            appears(3, Some(2), "y?", (Some(3), 1)),
            returns(3, Look::Good, 1),
            returns(2, Look::Partial, 3),
        ]);
        let at = |done| Scene::at(&all, done);
        assert!(at(0).tokens.is_empty());
        assert_eq!(seen(&at(2)), [("x?", None, Motion::Rests), ("x?", None, Motion::Goes)]);
        assert_eq!(at(2).tokens[1].place, Place::Way { from: 8, to: 3 });
        assert_eq!(seen(&at(3))[1], ("y?", None, Motion::Changes));
        assert_eq!(seen(&at(5))[2], ("y?", Some(Look::Good), Motion::Returns));
        // The answer that came back to a token is removed when that one returns.
        assert_eq!(seen(&at(6)), [("x?", None, Motion::Rests), ("y?", Some(Look::Partial), Motion::Returns)]);
        assert_eq!(at(100), at(6));
        let later = Timeline { first: 40, ..all.clone() };
        assert_eq!(Scene::at(&later, 43), at(3), "a timeline may begin later");
    }

    #[test]
    fn notes_stay_until_they_are_erased() {
        let (block, edge) = (Anchor::Block(3), Anchor::Edge(3, 8));
        let erases = |at: &Anchor| moment(3, vec![TokenStep::Clears, TokenStep::Erases { at: at.clone() }]);
        let all = timeline(vec![
            appears(1, None, "x?", (None, 8)),
            notes(1, "x", block.clone()),
            notes(1, "x", edge.clone()),
            erases(&edge),
            erases(&edge),
            erases(&block),
        ]);
        let left: Vec<usize> = (0..=6).map(|done| Scene::at(&all, done).noted.len()).collect();
        assert_eq!(left, [0, 0, 1, 2, 1, 1, 0]);
        assert_eq!(Scene::at(&all, 4).noted[0].at, &block);
        assert!(Scene::at(&all, 4).tokens.is_empty());
    }

    #[test]
    fn steps_of_unknown_tokens_are_left_out() {
        let all =
            timeline(vec![returns(7, Look::Good, 1), changes(7, "y?", 1), appears(9, Some(7), "z?", (Some(1), 2))]);
        assert_eq!(seen(&Scene::at(&all, 3)), [("z?", None, Motion::Goes)]);
    }
}

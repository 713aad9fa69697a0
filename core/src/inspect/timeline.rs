//! Moments, one after the other, and the changes of the pass among them.
//!
//! ```text
//! moments   0 . . . 3 . . 6 . . 9        a moment is how much has happened: at 3 the first change has been made
//! changes         1     2
//! leads to  1 1 1 1 2 2 2 2 2 2          after the last change, the moments still belong to it
//! ```
//!
//! At moment 0 nothing has happened. A timeline of what is still to come may say what is to be seen there, such as the
//! statement where it is: its `start`.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Anchor, Look, Mark};

/// The moments of a pass in a function, as many of them as are told.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timeline {
    /// The name of its controls.
    pub name: String,
    /// All moments, and the changes among them.
    pub course: Course,
    /// The moment that the inspection is about.
    pub at: usize,
    /// The scene at moment 0, before anything has happened; none if there is nothing to see.
    pub start: Option<Moment>,
    /// Moments before the first of `moments`, without the start.
    pub first: usize,
    /// Events in order: `moments[k]` has happened at moment `first + k + 1`.
    pub moments: Vec<Moment>,
    /// Moments that were kept, where more happened.
    pub cut_after: Option<usize>,
    /// Whether going on after the last moment leads to the pass's next change, as these moments are about that one.
    pub leads_to_change: bool,
    /// The kinds of tokens, in the order in which their meanings are listed.
    pub kinds: Vec<TokenKind>,
    /// The texts of the rules that moments cite.
    pub rules: Vec<RuleText>,
}

/// A rule in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RuleText {
    /// The name, as in [`Moment::rule`].
    pub name: String,
    /// The rule in a few sentences, with code between backticks.
    pub text: String,
    /// The work and the section that state it.
    pub source: String,
}

/// A kind of token, with its meaning.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TokenKind {
    /// Its name in [`TokenStep::Appears`].
    pub key: String,
    /// The meaning, without a capital.
    pub label: String,
    /// The sign of its tokens where they are listed.
    pub sign: String,
    /// Whether its tokens go from a block to its predecessors.
    pub is_upward: bool,
}

/// Moments from 0 to the last, and when changes were made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Course {
    /// The last moment.
    pub last: usize,
    /// The moment of each change of the pass.
    pub changes: Vec<usize>,
    /// Changes of the pipeline's entry before those.
    pub changes_before: usize,
}

/// A moment.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Moment {
    /// The event, in a word.
    pub word: String,
    /// Whether it is good news.
    pub look: Look,
    /// The rule that fired, a word, or a number as the paper has it; empty if none did.
    pub rule: String,
    /// The rule's text, by its index in [`Timeline::rules`].
    pub cites: Option<usize>,
    /// The event, in a sentence.
    pub sentence: String,
    /// The place.
    pub focus: Option<Anchor>,
    /// The name of the place when it happened; empty if it has none.
    pub place: String,
    /// Marks that are to be seen from now on. A text of the same look at the same place takes the place of an earlier
    /// moment's.
    pub marks: Vec<Mark>,
    /// Steps of tokens.
    pub tokens: Vec<TokenStep>,
}

/// A step of tokens and their notes.
///
/// Tokens are a stack: a token that returns removes those that appeared after it. Notes stay until they are erased.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum TokenStep {
    /// A token appears, in a block or on its way to one.
    Appears {
        /// Its number.
        id: u32,
        /// The token that it came from.
        parent: Option<u32>,
        /// Its kind, which decides about its shape.
        kind: String,
        /// Its text.
        text: String,
        /// The block that it leaves. None if it begins where it is; the same block if it goes nowhere.
        from: Option<u32>,
        /// The block that it comes to.
        to: u32,
    },
    /// A token's text changes.
    Changes {
        /// Its number.
        id: u32,
        /// Its new text.
        text: String,
    },
    /// A token comes back with an answer.
    Returns {
        /// Its number.
        id: u32,
        /// The look of the answer.
        look: Look,
        /// The answer in words.
        words: String,
        /// The meeting of the answers that it is made of; empty if there were none.
        meeting: String,
    },
    /// A token leaves a note.
    Notes {
        /// Its number.
        id: u32,
        /// The note.
        text: String,
        /// The place.
        at: Anchor,
    },
    /// All tokens are removed.
    Clears,
    /// The first note at a place is removed, since it has been carried out or nothing comes of it.
    Erases {
        /// The place.
        at: Anchor,
    },
}

impl Timeline {
    /// The event of a moment, or the scene at moment 0; none if it is not told.
    pub fn told(&self, moment: usize) -> Option<&Moment> {
        match moment.checked_sub(1) {
            None => self.start.as_ref(),
            Some(before) => self.moments.get(before.checked_sub(self.first)?),
        }
    }

    /// Marks that are to be seen at a moment, each with the moment that adds it.
    pub fn marks_at(&self, moment: usize) -> impl Iterator<Item = (usize, &Mark)> {
        let told = self.moments.iter().enumerate().map(|(place, told)| (self.first + place + 1, told));
        let all = self.start.iter().map(|start| (0, start)).chain(told);
        all.take_while(move |(at, _)| *at <= moment)
            .flat_map(|(at, told)| told.marks.iter().map(move |mark| (at, mark)))
    }
}

impl Course {
    /// Changes of the pipeline's entry that are done where that moment is shown: those up to the one that it leads to.
    pub fn step_of(&self, moment: usize) -> usize {
        match self.changes.len() {
            0 => self.changes_before,
            _ => self.changes_before + self.change_of(moment),
        }
    }

    /// The moments that lead to the k-th change, from 1: after the one before it, up to its own,
    /// and up to the end after the last.
    pub fn moments_of(&self, change: usize) -> core::ops::RangeInclusive<usize> {
        let made = |change: usize| self.changes.get(change).copied();
        let first = change.checked_sub(2).and_then(made).map_or(0, |before| before + 1);
        let last = if change == self.changes.len() { None } else { change.checked_sub(1).and_then(made) };
        first..=last.unwrap_or(self.last)
    }

    /// The moment when the change of that step of the pipeline's entry has been made; none if the pass did not make it.
    pub fn made(&self, step: usize) -> Option<usize> {
        let change = step.checked_sub(self.changes_before)?;
        self.changes.get(change.checked_sub(1)?).copied()
    }

    /// Whether the change that a moment leads to is still to come there.
    pub fn is_ahead(&self, moment: usize) -> bool {
        let made = self.change_of(moment).checked_sub(1).and_then(|index| self.changes.get(index));
        made.is_some_and(|&made| moment < made)
    }

    /// The first of the moments that lead to the same change.
    pub fn beginning_of(&self, moment: usize) -> usize {
        *self.moments_of(self.change_of(moment)).start()
    }

    /// The change that a moment leads to, from 1; 0 if there is none.
    fn change_of(&self, moment: usize) -> usize {
        let done = self.changes.partition_point(|&change| change < moment);
        (done + 1).min(self.changes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Course, Moment, Timeline};
    use crate::inspect::{Anchor, Look, Mark};
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn marks_stay_from_their_moment_on() {
        let moment = |block: u32| Moment {
            marks: vec![Mark { anchor: Anchor::Block(block), look: Look::New, text: String::new() }],
            ..Moment::default()
        };
        let moments = vec![moment(1), moment(2)];
        let timeline = Timeline { start: Some(moment(0)), first: 3, moments, ..Timeline::default() };
        let seen = |at: usize| timeline.marks_at(at).map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!([seen(0), seen(3), seen(4), seen(9)], [vec![0], vec![0], vec![0, 4], vec![0, 4, 5]]);
        let told = [0, 1, 4, 5, 6].map(|at| timeline.told(at).map(|told| told.marks[0].anchor.clone()));
        let at = |block: u32| Some(Anchor::Block(block));
        assert_eq!(told, [at(0), None, at(1), at(2), None]);
    }

    #[test]
    fn each_moment_leads_to_one_change() {
        let course = Course { last: 9, changes: vec![3, 6], changes_before: 10 };
        let steps: Vec<usize> = (0..=9).map(|moment| course.step_of(moment) - 10).collect();
        assert_eq!(steps, [1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
        assert_eq!((course.moments_of(1), course.moments_of(2)), (0..=3, 4..=9));
        assert_eq!(
            (course.made(10), course.made(11), course.made(12), course.made(13)),
            (None, Some(3), Some(6), None)
        );
        let ahead: Vec<usize> = (0..=9).filter(|&moment| course.is_ahead(moment)).collect();
        assert_eq!(ahead, [0, 1, 2, 4, 5]);
        assert_eq!([0, 3, 4, 6, 9].map(|moment| course.beginning_of(moment)), [0, 0, 4, 4, 4]);
    }

    #[test]
    fn without_changes_no_moment_leads_anywhere() {
        let course = Course { last: 4, ..Course::default() };
        assert_eq!((course.step_of(2), course.moments_of(0), course.is_ahead(2)), (0, 0..=4, false));
    }
}

//! Moments, one after the other, and the changes of the pass among them.
//!
//! ```text
//! moments   0 . . . 3 . . 6 . . 9        a moment is how much has happened: at 3 the first change has been made
//! changes         1     2
//! leads to  1 1 1 1 2 2 2 2 2 2          after the last change, the moments still belong to it
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::{Anchor, Look, Mark};

/// The moments of a pass in a function, as many of them as are told.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timeline {
    /// What goes through these moments, as the name of its controls.
    pub name: String,
    /// All moments, and the changes among them.
    pub course: Course,
    /// The moment that the inspection is about.
    pub at: usize,
    /// Moments before the first of `moments`.
    pub first: usize,
    /// What happened, in order: `moments[k]` has happened at moment `first + k + 1`.
    pub moments: Vec<Moment>,
    /// Moments that were kept, where more happened.
    pub cut_after: Option<usize>,
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
    /// What happens, in a word.
    pub word: String,
    /// Whether it is good news.
    pub look: Look,
    /// The rule that fired; empty if none did.
    pub rule: String,
    /// What happens, in a sentence.
    pub sentence: String,
    /// Where.
    pub focus: Option<Anchor>,
    /// Marks that are to be seen from now on.
    pub marks: Vec<Mark>,
    /// What tokens do.
    pub tokens: Vec<TokenStep>,
}

/// What a token does.
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
        /// The block that it leaves; it stays where it is if none.
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
        /// How the answer looks.
        look: Look,
        /// The answer in words.
        words: String,
        /// How the answers met that it is made of; empty if there were none.
        meeting: String,
    },
    /// A token leaves a note.
    Notes {
        /// Its number.
        id: u32,
        /// The note.
        text: String,
        /// Where.
        at: Anchor,
    },
}

impl Course {
    /// How many changes of the pipeline's entry are done where that moment is shown: those up to the one that it leads to.
    pub fn step_of(&self, moment: usize) -> usize {
        match self.changes.len() {
            0 => self.changes_before,
            _ => self.changes_before + self.change_of(moment),
        }
    }

    /// The moments that lead to the k-th change, from 1: after the one before it, up to its own, and up to the end after
    /// the last.
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
    use super::Course;
    use alloc::vec;
    use alloc::vec::Vec;

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

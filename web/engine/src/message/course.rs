//! Moments of a pass and its changes among them: what a walk with a table and a journal of questions have in common.
//!
//! ```text
//! moments   0 . . . 3 . . 6 . . 9        a moment is how much has happened: at 3 the first change has been made
//! changes         1     2
//! leads to  1 1 1 1 2 2 2 2 2 2          after the last change, the moments still belong to it
//! ```

use serde::{Deserialize, Serialize};

/// The moments of one pass in one function, from 0 to the last, and when its changes were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// The last moment.
    pub last: usize,
    /// For each change of the pass the moment when it has been made.
    pub changes: Vec<usize>,
    /// Changes of the pipeline's entry before those.
    pub changes_before: usize,
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
    pub fn moments_of(&self, change: usize) -> std::ops::RangeInclusive<usize> {
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

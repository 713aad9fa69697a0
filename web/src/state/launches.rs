//! Launches go with programs. Whoever undoes the change to another program wants the launch back that the first one had:
//!
//! ```text
//! saxpy + its launch ──an example──▶ stencil + its launch ──undo──▶ saxpy + its launch ──redo──▶ stencil + its launch
//! ```
//!
//! The editor's undo only knows texts, so this remembers which launch stood beside which of them. A text that is merely
//! typed, character by character, keeps the launch that is there.

use std::rc::Rc;

/// Programs that are remembered; the oldest goes first.
const MOST: usize = 24;

/// Which launch stood beside which program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    /// Pairs of program and launch.
    kept: Vec<(Rc<str>, Rc<str>)>,
    /// The program that the present one was typed from.
    origin: Option<Rc<str>>,
}

impl Launches {
    /// Another program has replaced the one before, of which `before` and `launch_before` are the last state.
    pub fn replace(&mut self, (before, launch_before): (&str, &str), (now, launch): (&str, &str)) {
        self.leave(before, launch_before);
        self.keep(now, launch);
        self.origin = Some(now.into());
    }

    /// The launch of `now`, if that is a remembered program and not the one that `before` was typed from.
    pub fn at_undo(&mut self, (before, launch_before): (&str, &str), now: &str) -> Option<String> {
        let found = self.kept.iter().find(|(program, _)| **program == *now)?;
        if self.origin.as_ref() == Some(&found.0) {
            return None;
        }
        let (program, launch) = found.clone();
        self.leave(before, launch_before);
        self.origin = Some(program);
        Some(launch.to_string())
    }

    /// The last state of a program is remembered, and the launch also for the text that it was typed from.
    fn leave(&mut self, before: &str, launch: &str) {
        if let Some(origin) = self.origin.take() {
            self.keep(&origin, launch);
        }
        self.keep(before, launch);
    }

    fn keep(&mut self, program: &str, launch: &str) {
        self.kept.retain(|(kept, _)| **kept != *program);
        self.kept.push((program.into(), launch.into()));
        if self.kept.len() > MOST {
            self.kept.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_and_redo_over_a_change_of_program_bring_its_launch() {
        let mut launches = Launches::default();
        launches.replace(("", ""), ("a", "of a"));
        launches.replace(("a, edited", "of a, edited"), ("b", "of b"));
        let undone = launches.at_undo(("b", "of b"), "a, edited");
        assert_eq!(undone.as_deref(), Some("of a, edited"));
        // Further back in the same program nothing changes.
        assert_eq!(launches.at_undo(("a, edited", "of a, edited"), "a, half"), None);
        let redone = launches.at_undo(("a, edited", "of a, edited"), "b");
        assert_eq!(redone.as_deref(), Some("of b"));
    }

    #[test]
    fn typing_back_to_where_one_began_keeps_an_edited_launch() {
        let mut launches = Launches::default();
        launches.replace(("", ""), ("a", "of a"));
        assert_eq!(launches.at_undo(("a, edited", "edited"), "a"), None);
        launches.replace(("a", "edited"), ("b", ""));
        assert_eq!(launches.at_undo(("b", ""), "a").as_deref(), Some("edited"));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut launches = Launches::default();
        for number in 0..100 {
            launches.replace((&format!("{number}"), ""), (&format!("{}", number + 1), ""));
        }
        assert_eq!(launches.kept.len(), MOST);
    }
}

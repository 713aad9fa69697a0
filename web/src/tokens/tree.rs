//! All tokens as a tree, a row each, in the order in which they appeared.
//!
//! ```text
//! 1   is A[i] available in n8?                yes
//! 2     A[i]?            n3     7             no
//! 3       A[i]?          n2     7             no
//! 9   the change that came of it
//! ```
//!
//! A moment without a step of a token, such as a change, is a row of its own. Linear in moments and open tokens.

use warpscope_engine::message::inspect::{Look, Moment, Timeline, TokenStep};

/// The rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Rows in the order of their moments.
    pub rows: Vec<Row>,
}

/// A token or a moment without one.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its kind.
    pub kind: RowKind,
    /// The number of tokens that it is inside of.
    pub depth: usize,
    /// Its place among those inside of the same token, from 1, and their number.
    pub among: (usize, usize),
    /// Its text, with every text that it had.
    pub text: String,
    /// The name of its block.
    pub place: String,
    /// The moment when it appears, or when the change has been made.
    pub begins: usize,
    /// The moment when it returns.
    pub ends: Option<usize>,
    /// The look of the answer.
    pub answer: Option<Look>,
    /// The answer in words.
    pub words: String,
    /// The rule of the answer or of the change.
    pub rule: String,
    /// The number of notes that were left on its way back.
    pub noted: usize,
}

/// A kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A token of the kind at that place of the timeline's, which begins where it is.
    Root(usize),
    /// One that comes from another one.
    Token(usize),
    /// A moment without a token, such as a change.
    Moment(Look),
}

impl Tree {
    /// The tree of the moments that a timeline tells of.
    pub fn new(timeline: &Timeline) -> Tree {
        let mut tree = Tree::default();
        // Tokens return in the reverse order: those that are under way are a stack, with their rows.
        let mut under_way: Vec<(u32, usize)> = Vec::new();
        for (moment, told) in (timeline.first + 1..).zip(&timeline.moments) {
            let is_told = |step: &&TokenStep| !matches!(step, TokenStep::Clears | TokenStep::Erases { .. });
            if told.tokens.iter().find(is_told).is_none() {
                tree.push(RowKind::Moment(told.look), 0, &told.sentence, (moment, told));
            }
            for step in &told.tokens {
                tree.take(step, &mut under_way, timeline, (moment, told));
            }
        }
        tree.count();
        tree
    }

    fn take(
        &mut self,
        step: &TokenStep,
        under_way: &mut Vec<(u32, usize)>,
        timeline: &Timeline,
        (moment, told): (usize, &Moment),
    ) {
        let row_of = |id: u32| under_way.iter().rev().find(|(open, _)| *open == id).map(|&(_, row)| row);
        match step {
            TokenStep::Appears { id, parent, kind, text, from, .. } => {
                let kind = timeline.kinds.iter().position(|known| known.key == *kind).unwrap_or(0);
                let depth = parent.and_then(row_of).map_or(0, |row| self.rows[row].depth + 1);
                let kind = if from.is_none() { RowKind::Root(kind) } else { RowKind::Token(kind) };
                under_way.push((*id, self.push(kind, depth, text, (moment, told))));
            }
            TokenStep::Changes { id, text } => {
                if let Some(row) = row_of(*id) {
                    self.rows[row].text += &format!(" → {text}");
                }
            }
            TokenStep::Returns { id, look, words, .. } => {
                if let Some(row) = row_of(*id) {
                    let row = &mut self.rows[row];
                    (row.ends, row.answer) = (Some(moment), Some(*look));
                    (row.words, row.rule) = (words.clone(), told.rule.clone());
                }
                if let Some(at) = under_way.iter().rposition(|(open, _)| open == id) {
                    under_way.truncate(at);
                }
            }
            TokenStep::Notes { id, .. } => {
                if let Some(row) = row_of(*id) {
                    self.rows[row].noted += 1;
                }
            }
            TokenStep::Clears => under_way.clear(),
            TokenStep::Erases { .. } => {}
        }
    }

    /// Counts the rows inside of the same token's.
    fn count(&mut self) {
        // The rows that the next one may be beside, by depth.
        let mut beside: Vec<Vec<usize>> = Vec::new();
        for row in 0..self.rows.len() {
            let depth = self.rows[row].depth;
            self.close(&mut beside, depth + 1);
            beside.resize_with(depth + 1, Vec::new);
            beside[depth].push(row);
        }
        self.close(&mut beside, 0);
    }

    /// Numbers the rows of groups that are complete: those from a depth on.
    fn close(&mut self, beside: &mut Vec<Vec<usize>>, depth: usize) {
        for group in beside.drain(depth.min(beside.len())..) {
            let size = group.len();
            for (place, row) in (1..).zip(group) {
                self.rows[row].among = (place, size);
            }
        }
    }

    /// The row that a moment belongs to: the last one that had begun, or the one that returned just then.
    pub fn row_at(&self, moment: usize) -> Option<usize> {
        let begun = self.rows.partition_point(|row| row.begins <= moment);
        let answered = self.rows[..begun].iter().rposition(|row| row.ends == Some(moment));
        answered.or(begun.checked_sub(1))
    }

    fn push(&mut self, kind: RowKind, depth: usize, text: &str, (moment, told): (usize, &Moment)) -> usize {
        self.rows.push(Row {
            kind,
            depth,
            text: text.to_owned(),
            place: told.place.clone(),
            begins: moment,
            ends: None,
            answer: None,
            words: String::new(),
            among: (1, 1),
            rule: told.rule.clone(),
            noted: 0,
        });
        self.rows.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tests::{appears, changes, moment, notes, returns, timeline};
    use warpscope_engine::message::inspect::Anchor;

    #[test]
    fn a_token_is_below_the_one_that_it_came_from() {
        let changed =
            Moment { sentence: "Changed.".to_owned(), look: Look::Good, ..moment(8, vec![TokenStep::Clears]) };
        let tree = Tree::new(&timeline(vec![
            appears(1, None, "x?", (None, 8)),
            appears(2, Some(1), "x?", (Some(8), 3)),
            changes(2, "y?", 3),
            appears(3, Some(2), "y?", (Some(3), 1)),
            returns(3, Look::Bad, 1),
            appears(4, Some(2), "x?", (None, 3)),
            returns(4, Look::Good, 3),
            notes(2, "y", Anchor::Block(1)),
            returns(2, Look::Good, 3),
            returns(1, Look::Good, 8),
            changed,
        ]));
        let rows: Vec<_> =
            tree.rows.iter().map(|row| (row.depth, row.text.as_str(), row.begins, row.ends, row.noted)).collect();
        assert_eq!(
            rows,
            [
                (0, "x?", 1, Some(10), 0),
                (1, "x? → y?", 2, Some(9), 1),
                (2, "y?", 4, Some(5), 0),
                (2, "x?", 6, Some(7), 0),
                (0, "Changed.", 11, None, 0)
            ]
        );
        let kinds: Vec<_> = tree.rows.iter().map(|row| row.kind).collect();
        let (root, token) = (RowKind::Root(0), RowKind::Token(0));
        assert_eq!(kinds, [root, token, token, root, RowKind::Moment(Look::Good)]);
        let among: Vec<_> = tree.rows.iter().map(|row| row.among).collect();
        assert_eq!(among, [(1, 2), (1, 1), (1, 2), (2, 2), (2, 2)]);
        assert_eq!(tree.rows[1].words, "good");
        let at = [0, 1, 3, 5, 6, 8, 9, 10, 11].map(|moment| tree.row_at(moment));
        assert_eq!(at, [None, Some(0), Some(1), Some(2), Some(3), Some(3), Some(1), Some(0), Some(4)]);
    }
}

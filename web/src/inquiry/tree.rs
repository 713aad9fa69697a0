//! All questions as a tree, a row each, in the order in which they were raised.
//!
//! ```text
//! 1   is A[i] available in n8?                (true, true)
//! 2     A[i]?            n3     rule 7        false
//! 3       A[i]?          n2     rule 7        false
//! 9   the change that came of it
//! ```

use warpscope_engine::message::{Event, Query, Questions, Verdict, What};

/// The rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// In the order of their moments.
    pub rows: Vec<Row>,
}

/// A question, an inquiry or a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Kind of the row.
    pub kind: RowKind,
    /// How many questions it is inside of.
    pub depth: usize,
    /// Which one it is of those inside of the same question, from 1, and how many they are.
    pub among: (usize, usize),
    /// Its text, with every text that it had.
    pub text: String,
    /// The block where.
    pub at: String,
    /// The moment when it is raised, or when the change has been made.
    pub begins: usize,
    /// The moment when it is answered.
    pub ends: Option<usize>,
    /// The answer.
    pub verdict: Option<Verdict>,
    /// The answer in words.
    pub words: String,
    /// The rule of the answer or of the change.
    pub rule: String,
    /// How many insertions were noted on its way back.
    pub noted: usize,
}

/// Subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The first question of an instruction, or of a question that needs to know.
    Inquiry(Query),
    /// A question that travels.
    Question(Query),
    /// A change of the program.
    Change,
    /// A change that was refused.
    Refusal,
}

impl Tree {
    /// The tree of these questions.
    pub fn new(questions: &Questions) -> Tree {
        let mut tree = Tree::default();
        // Questions end in the reverse order of their beginning: those that are under way are a stack, with their rows.
        let mut under_way: Vec<(u32, usize)> = Vec::new();
        for (moment, event) in (questions.first + 1..).zip(&questions.happened) {
            let row_of = |id: &u32| under_way.iter().rev().find(|(open, _)| open == id).map(|&(_, row)| row);
            match &event.what {
                What::Began { id, parent, query, text } => {
                    let depth = parent.as_ref().and_then(row_of).map_or(0, |row| tree.rows[row].depth + 1);
                    if parent.is_none() {
                        under_way.clear();
                    }
                    under_way.push((*id, tree.push(RowKind::Inquiry(*query), depth, text, (moment, event))));
                }
                What::Asked { id, parent, text, .. } => {
                    let above = row_of(parent).map(|row| &tree.rows[row]);
                    let query = above.and_then(|above| above.kind.query()).unwrap_or_default();
                    let depth = above.map_or(0, |above| above.depth + 1);
                    under_way.push((*id, tree.push(RowKind::Question(query), depth, text, (moment, event))));
                }
                What::Converted { id, text } => {
                    if let Some(row) = row_of(id).map(|row| &mut tree.rows[row]) {
                        row.text.push_str(" → ");
                        row.text.push_str(text);
                    }
                }
                What::Answered { id, verdict, words, .. } | What::Ended { id, verdict, words, .. } => {
                    if let Some(row) = row_of(id).map(|row| &mut tree.rows[row]) {
                        (row.ends, row.verdict) = (Some(moment), Some(*verdict));
                        row.words.clone_from(words);
                        row.rule.clone_from(&event.rule);
                    }
                    if let Some(at) = under_way.iter().rposition(|(open, _)| open == id) {
                        under_way.truncate(at);
                    }
                }
                What::Noted { id, .. } => {
                    if let Some(row) = row_of(id).map(|row| &mut tree.rows[row]) {
                        row.noted += 1;
                    }
                }
                What::Changed => {
                    tree.push(RowKind::Change, 0, &event.sentence, (moment, event));
                }
                What::Refused => {
                    tree.push(RowKind::Refusal, 0, &event.sentence, (moment, event));
                }
            }
        }
        tree.count();
        tree
    }

    /// Counts the rows inside of the same question.
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

    /// The row that a moment belongs to: the last one that had begun, or the one whose answer came just then.
    pub fn row_at(&self, moment: usize) -> Option<usize> {
        let begun = self.rows.partition_point(|row| row.begins <= moment);
        let answered = self.rows[..begun].iter().rposition(|row| row.ends == Some(moment));
        answered.or(begun.checked_sub(1))
    }

    fn push(&mut self, kind: RowKind, depth: usize, text: &str, (moment, event): (usize, &Event)) -> usize {
        self.rows.push(Row {
            kind,
            depth,
            text: text.to_owned(),
            at: event.at.clone(),
            begins: moment,
            ends: None,
            verdict: None,
            words: String::new(),
            among: (1, 1),
            rule: event.rule.clone(),
            noted: 0,
        });
        self.rows.len() - 1
    }
}

impl RowKind {
    /// Returns the question of the row, if it has one.
    pub fn query(self) -> Option<Query> {
        match self {
            RowKind::Inquiry(query) | RowKind::Question(query) => Some(query),
            RowKind::Change | RowKind::Refusal => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inquiry::tests::{answered, asked, began, converted, noted, questions};

    #[test]
    fn a_question_stands_below_the_one_that_it_came_from() {
        let tree = Tree::new(&questions(vec![
            began(1, None, "x?", 8),
            asked(2, 1, "x?", (8, 3)),
            converted(2, "y?", 3),
            asked(3, 2, "y?", (3, 1)),
            answered(3, Verdict::False, 1),
            began(4, Some(2), "x?", 3),
            answered(4, Verdict::True, 3),
            noted(2, "y", 1),
            answered(2, Verdict::Real, 3),
            answered(1, Verdict::Real, 8),
            Event { sentence: "Changed.".to_owned(), ..Event::default() },
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
        let among: Vec<_> = tree.rows.iter().map(|row| row.among).collect();
        assert_eq!(among, [(1, 2), (1, 1), (1, 2), (2, 2), (2, 2)]);
        assert_eq!(tree.rows[1].words, "Real");
        let at = [0, 1, 3, 5, 6, 8, 9, 10, 11].map(|moment| tree.row_at(moment));
        assert_eq!(at, [None, Some(0), Some(1), Some(2), Some(3), Some(3), Some(1), Some(0), Some(4)]);
    }
}

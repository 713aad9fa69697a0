//! The change that led to a position, on every text and on the graph.
//!
//! ```text
//! the change     source           all passes        graph
//! - a = mul 2    3 a = mul 2 ◂      a = mul 2 ◂     entry ◂
//!   b = add a    4 b = add a        b = add a         b = add a
//! ```
//!
//! A line is current if the change made, altered or removed it. A text that has none of these lines (the source lacks
//! what an earlier pass made) gets the nearest line that it has, so that each pane has a place to show.

use std::collections::BTreeSet;

use crate::message::{DiffLine, Graph};

/// The lines that a change made, altered or removed.
pub struct CurrentChange<'d> {
    /// The texts before and after the change.
    diff: &'d [DiffLine],
    /// Numbers of the lines that are new, in the text after it.
    new_lines: BTreeSet<usize>,
    /// Instructions of the lines that differ.
    insts: BTreeSet<u32>,
}

impl<'d> CurrentChange<'d> {
    /// The change between two texts. None if they are the same.
    pub fn of(diff: &'d [DiffLine]) -> Option<CurrentChange<'d>> {
        let differing: Vec<&DiffLine> = diff.iter().filter(|line| line.differs()).collect();
        (!differing.is_empty()).then(|| CurrentChange {
            diff,
            new_lines: differing.iter().filter_map(|line| line.after).collect(),
            insts: differing.iter().filter_map(|line| line.inst).collect(),
        })
    }

    /// Marks the lines of a comparison of another text with that after the change.
    pub fn mark_diff(&self, lines: &mut [DiffLine]) {
        let is_current = |line: &DiffLine| match line.after {
            Some(number) => self.new_lines.contains(&number),
            None => line.inst.is_some_and(|inst| self.insts.contains(&inst)),
        };
        lines.iter_mut().for_each(|line| line.is_current = is_current(line));
        if lines.iter().any(|line| line.is_current) {
            return;
        }
        let number = self.nearest(|line| line.after);
        if let Some(line) = lines.iter_mut().find(|line| number.is_some() && line.after == number) {
            line.is_current = true;
        }
    }

    /// The lines of the source, from 1, whose instructions are given for each line.
    pub fn source_lines(&self, source: &[Option<u32>]) -> Vec<usize> {
        let line_of = |inst: u32| source.iter().position(|&found| found == Some(inst)).map(|index| index + 1);
        let mut lines: BTreeSet<usize> = self.insts.iter().filter_map(|&inst| line_of(inst)).collect();
        if lines.is_empty() {
            lines.extend(self.nearest(|line| line_of(line.inst?)));
        }
        lines.into_iter().collect()
    }

    /// Marks the blocks of the graph after the change, and their lines.
    pub fn mark_graph(&self, graph: &mut Graph) {
        let removed: BTreeSet<&str> =
            self.diff.iter().filter(|line| line.differs()).map(|line| line.block.as_str()).collect();
        for block in &mut graph.blocks {
            block.lines.iter_mut().for_each(|line| line.is_current = self.new_lines.contains(&line.line));
            block.is_current = removed.contains(block.name.as_str()) || block.lines.iter().any(|line| line.is_current);
        }
        if graph.blocks.iter().any(|block| block.is_current) {
            return;
        }
        let place = self.nearest(|line| graph.blocks.iter().position(|block| block.name == line.block));
        if let Some(index) = place {
            graph.blocks[index].is_current = true;
        }
    }

    /// The place that the line nearest to the first that differs has, those before it first.
    fn nearest<T>(&self, place: impl Fn(&DiffLine) -> Option<T>) -> Option<T> {
        let first = self.diff.iter().position(DiffLine::differs)?;
        let (before, after) = self.diff.split_at(first);
        before.iter().rev().chain(after).find_map(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{GraphBlock, GraphLine};

    /// Lines `(before, after, instruction)` in block `b`.
    fn lines(lines: &[(usize, usize, u32)]) -> Vec<DiffLine> {
        let number = |number: usize| (number > 0).then_some(number);
        let line = |&(before, after, inst): &(usize, usize, u32)| DiffLine {
            before: number(before),
            after: number(after),
            block: "b".to_owned(),
            inst: Some(inst),
            ..DiffLine::default()
        };
        lines.iter().map(line).collect()
    }

    fn current(lines: &[DiffLine]) -> Vec<u32> {
        lines.iter().filter(|line| line.is_current).filter_map(|line| line.inst).collect()
    }

    #[test]
    fn marks_altered_and_removed_lines() {
        // Instruction 2 is altered and 3 removed; an earlier pass removed 9.
        let alone = lines(&[(1, 1, 1), (2, 0, 2), (3, 0, 3), (0, 2, 2), (4, 3, 4)]);
        let change = CurrentChange::of(&alone).expect("a change");
        let mut all = lines(&[(1, 0, 9), (2, 1, 1), (3, 0, 2), (4, 0, 3), (0, 2, 2), (5, 3, 4)]);
        change.mark_diff(&mut all);
        assert_eq!(current(&all), [2, 3, 2]);
        assert_eq!(change.source_lines(&[None, Some(9), Some(1), Some(2), Some(3), Some(4)]), [4, 5]);
        assert!(CurrentChange::of(&lines(&[(1, 1, 1)])).is_none());
    }

    #[test]
    fn shows_the_nearest_line_where_none_is_left() {
        // The change removes 7, which an earlier pass made.
        let alone = lines(&[(1, 1, 1), (2, 0, 7), (3, 2, 2)]);
        let change = CurrentChange::of(&alone).expect("a change");
        let mut all = lines(&[(1, 1, 1), (2, 2, 2)]);
        change.mark_diff(&mut all);
        assert_eq!(current(&all), [1]);
        assert_eq!(change.source_lines(&[Some(2), None]), [1]);
        assert!(change.source_lines(&[None]).is_empty());
        let line = |line: usize| GraphLine { line, ..GraphLine::default() };
        let block = GraphBlock { name: "b".to_owned(), lines: vec![line(1), line(2)], ..GraphBlock::default() };
        let mut graph = Graph { blocks: vec![GraphBlock::default(), block], edges: Vec::new() };
        change.mark_graph(&mut graph);
        assert_eq!(graph.blocks.iter().map(|block| block.is_current).collect::<Vec<_>>(), [false, true]);
        assert!(graph.blocks[1].lines.iter().all(|line| !line.is_current));
    }
}

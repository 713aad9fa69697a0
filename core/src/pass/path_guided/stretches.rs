//! Parts of a graph that control enters in one place, and leaves for one place.
//!
//! ```text
//! 0 ─▶ 1 ─▶ 3 ─▶ 4 ─▶ 5 ─▶ 6        stretches: 0 to 2, 3, 4 and 5, 6
//! └──▶ 2 ──▶┘    └◀───┘
//! ```
//!
//! No edge leads over the first node of a stretch, forward or back, so that all that leave a stretch lead to the first node of
//! the next. What is so of that node, is so wherever control comes to it from in a stretch in which nothing happens: of
//! something that happens in a few places only these have to be looked at, not what lies between.
//!
//! Sound where control begins in one place only: then each stretch is entered through the one before it. Elsewhere, and where
//! edges lead over everything, all is one stretch.
//!
//! Linear, but for ways back: as many times as loops are nested that have an exit from their bodies only.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::nodes::Node;

/// See the file's head.
pub(in crate::pass) struct Stretches {
    /// The first node of each, and the number of all nodes behind the last one.
    first: Vec<u32>,
    /// Stretch of each node.
    of: Vec<u32>,
    /// Whether control reaches the end of its stretch from each node.
    comes_to_end: Vec<bool>,
}

impl Stretches {
    /// Computes the stretches of a graph by the successors of its nodes, in whose order only edges that go back lead to an earlier one.
    pub fn of<'a>(count: usize, entries: &[Node], successors: impl Fn(Node) -> &'a [Node]) -> Stretches {
        // How many edges more, or fewer, lead over a node than over the one before it.
        let mut changes = vec![0i32; count + 2];
        for from in 0..count {
            for &to in successors(from) {
                // Over what lies between; and an edge back also over where it comes from.
                let over = if to <= from { to + 1..from + 1 } else { from + 1..to };
                if over.start < over.end {
                    changes[over.start] += 1;
                    changes[over.end] -= 1;
                }
            }
        }
        let is_whole = entries.len() != 1;
        let (mut first, mut of) = (Vec::new(), Vec::with_capacity(count));
        let mut over = 0;
        for (node, change) in changes.into_iter().take(count).enumerate() {
            over += change;
            if node == 0 || over == 0 && !is_whole {
                first.push(node as u32);
            }
            of.push(first.len() as u32 - 1);
        }
        first.push(count as u32);
        let mut stretches = Stretches { first, of, comes_to_end: vec![false; count] };
        let mut changes = true;
        while core::mem::take(&mut changes) {
            for node in (0..count).rev() {
                let end = stretches.nodes(stretches.stretch(node)).end;
                let comes = successors(node).iter().any(|&next| next == end || stretches.comes_to_end[next]);
                changes |= comes && !core::mem::replace(&mut stretches.comes_to_end[node], true);
            }
        }
        stretches
    }

    /// The stretch that a node is in.
    pub fn stretch(&self, node: Node) -> u32 {
        self.of[node]
    }

    /// The nodes of a stretch.
    pub fn nodes(&self, stretch: u32) -> Range<Node> {
        self.first[stretch as usize] as Node..self.first[stretch as usize + 1] as Node
    }

    /// Does control come from a node to what is behind its stretch?
    pub fn comes_to_end(&self, node: Node) -> bool {
        self.comes_to_end[node]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(successors: &[&[Node]], entries: &[Node]) -> Stretches {
        Stretches::of(successors.len(), entries, |node| successors[node])
    }

    fn firsts(stretches: &Stretches) -> Vec<u32> {
        stretches.first.clone()
    }

    #[test]
    fn begin_where_no_edge_leads_over() {
        // The picture in the file's head.
        let graph = stretches(&[&[1, 2], &[3], &[3], &[4], &[5], &[4, 6], &[]], &[0]);
        assert_eq!(firsts(&graph), [0, 3, 4, 6, 7]);
        assert_eq!((graph.stretch(2), graph.nodes(2)), (0, 4..6));
        assert!((0..6).all(|node| graph.comes_to_end(node)) && !graph.comes_to_end(6));
    }

    #[test]
    fn what_returns_does_not_come_to_the_end() {
        let graph = stretches(&[&[1, 2], &[], &[3], &[]], &[0]);
        assert_eq!(firsts(&graph), [0, 2, 3, 4]);
        assert!(graph.comes_to_end(0) && !graph.comes_to_end(1) && graph.comes_to_end(2));
    }

    #[test]
    fn an_edge_over_all_leaves_one() {
        assert_eq!(firsts(&stretches(&[&[1, 3], &[2], &[3], &[0]], &[0])), [0, 4]);
    }

    #[test]
    fn where_control_begins_in_two_places_all_is_whole() {
        assert_eq!(firsts(&stretches(&[&[1], &[2], &[]], &[0, 1])), [0, 3]);
    }
}

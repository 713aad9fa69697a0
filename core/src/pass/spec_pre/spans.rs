//! Which searches come to their limit, seen before they begin.
//!
//! ```text
//! 3 ─▶ 4 ─▶ 5 ─▶ 6 ─▶ 7      ahead of 3, 4 to 7 are reached, as each has a way from another one of 3 to 6: all of
//! them are
//!      ╰─────────▶╯          found for an expression whose operands none of them writes
//! ```
//!
//! A search goes forward and backward in turn, each as far as it can while the other has not come to its end. Where
//! both go further than the limit, that many nodes are found before either comes to its end, so that the search is
//! refused: then it need not be made. Where the nodes ahead of a node end before that, the search goes on behind the
//! last of them, and so from a loop's header backward to its end.
//!
//! Sound: a search is said to be too long only where it would be refused. Another one is made.
//!
//! Linear in the function, but for one search in a list for each node; for an expression at most [`MOST_NEAR`] nodes
//! are asked.

use alloc::vec;
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::expressions::{Expression, Expressions};
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// Nodes near to where a search begins that are asked how far it goes from there.
const MOST_NEAR: usize = 16;

/// Marker for an unknown span.
const NONE: u32 = u32::MAX;

/// How far a search goes, as long as nothing writes an operand nearby.
pub(super) struct Spans {
    /// So many nodes are too many.
    far: usize,
    /// Last node of each span ahead: all up to that one are found ahead of it if none of them writes an operand.
    end: Vec<u32>,
    /// First node of each span back: that one is found back from it if none from that one on writes an operand.
    begin: Vec<u32>,
    /// Limit of each span back: too many are found back from it if none before it from that one on writes an operand;
    /// [`NONE`] where that is not known.
    back: Vec<u32>,
}

impl Spans {
    /// Computes the spans with more than `most` nodes. `goes_on` says whether a search that comes to a node beside
    /// another one comes to the first one too, as far as the expression does not matter.
    pub fn of(nodes: &Nodes, goes_on: impl Fn(Node, Node) -> bool, most: usize) -> Spans {
        let most_at_once = |node: Node| nodes.successors(node).len().max(nodes.predecessors(node).len());
        // One step finds several, and the last of them may come to the end.
        let far = most + (0..nodes.len()).map(most_at_once).max().unwrap_or(0) + 1;
        let (begin, back) = far_back(nodes, &goes_on, far);
        Spans { far, end: far_ahead(nodes, &goes_on), begin, back }
    }

    /// Does a search for an expression go too far in both directions? Says no where that is not seen near to where it
    /// begins.
    /// `is_open` tells which nodes it comes to.
    pub fn are_too_long(
        &self,
        nodes: &Nodes,
        expressions: &Expressions,
        expression: &Expression,
        is_open: impl Fn(Node) -> bool,
    ) -> bool {
        // What changes memory does not tell where it is next.
        if expression.reads.is_some() {
            return false;
        }
        let goes_on = |node: Node| is_open(node) && !expressions.is_written(expression, node);
        let look_back = |node: Node| {
            let writer = expressions.last_writer(expression, node);
            let is_free_from = |first: u32| first != NONE && writer.is_none_or(|writer| writer < first as Node);
            let begin = self.begin[node];
            let onward = Some(begin as Node).filter(|_| is_free_from(begin));
            Outlook { is_far: is_free_from(self.back[node]), onward }
        };
        let look_ahead = |node: Node| {
            let end = self.end[node] as Node;
            if end == node || !is_open(node + 1) {
                return Outlook { is_far: false, onward: None };
            }
            let writer = expressions.next_writer(expression, node);
            let is_free_to = |last: Node| writer.is_none_or(|writer| writer > last);
            Outlook {
                is_far: node + self.far <= end && is_free_to(node + self.far),
                onward: Some(end).filter(|&end| is_free_to(end)),
            }
        };
        let wanted = expression.sites.iter().filter(|site| site.first.is_some() && is_open(site.node));
        let made = expression.sites.iter().filter(|site| site.last.is_some());
        is_far_from_one(wanted.map(|site| site.node), look_back, |node| nodes.predecessors(node), goes_on)
            && is_far_from_one(made.map(|site| site.node), look_ahead, |node| nodes.successors(node), goes_on)
    }
}

/// View from a node.
struct Outlook {
    /// Does the search go too far from here?
    is_far: bool,
    /// Another node that it comes to, far from here.
    onward: Option<Node>,
}

/// Is one of the first few nodes of a search one from which it goes too far?
fn is_far_from_one<'a>(
    begin: impl Iterator<Item = Node>,
    look: impl Fn(Node) -> Outlook,
    beside: impl Fn(Node) -> &'a [Node],
    goes_on: impl Fn(Node) -> bool,
) -> bool {
    let mut found: SmallVec<[Node; MOST_NEAR]> = begin.take(MOST_NEAR / 2).collect();
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        let Outlook { is_far, onward } = look(node);
        if is_far {
            return true;
        }
        next += 1;
        for &other in onward.iter().chain(beside(node)) {
            if found.len() < MOST_NEAR && !found.contains(&other) && goes_on(other) {
                found.push(other);
            }
        }
    }
    false
}

/// Last node ahead of each one such that every node up to it has a predecessor among the others or the node itself.
fn far_ahead(nodes: &Nodes, goes_on: &impl Fn(Node, Node) -> bool) -> Vec<u32> {
    let count = nodes.len();
    let mut end = vec![0; count];
    // From which all are reached so far.
    let mut open: Vec<Node> = Vec::new();
    for node in 0..=count {
        let is_beside = node > 0 && node < count && goes_on(node, node - 1);
        let before = if is_beside { nodes.predecessors(node) } else { &[] };
        let nearest = before.iter().copied().filter(|&before| before < node).max();
        while let Some(from) = open.pop_if(|from| nearest.is_none_or(|nearest| *from > nearest)) {
            end[from] = node as u32 - 1;
        }
        open.push(node);
    }
    end
}

/// Node to which a search goes back from each one, and one with so many nodes between that are found then. All of those
/// between lead to another one or to it. What leads back only counts where it leads to one of those that lead on, so
/// that the nodes between begin there at the latest.
fn far_back(nodes: &Nodes, goes_on: &impl Fn(Node, Node) -> bool, far: usize) -> (Vec<u32>, Vec<u32>) {
    let count = nodes.len();
    let leads_on = |node: Node| nodes.successors(node).iter().any(|&next| next > node);
    let turns_to = |node: Node| {
        let back = nodes.successors(node).iter().copied().filter(|&next| next < node && leads_on(next));
        back.max().filter(|_| !leads_on(node))
    };
    let mut first = vec![0; count];
    // To which all lead so far.
    let mut open: Vec<Node> = Vec::new();
    for node in (0..count).rev() {
        let is_beside = node + 1 < count && goes_on(node, node + 1);
        if !is_beside || turns_to(node).is_none() {
            let next = if is_beside { nodes.successors(node) } else { &[] };
            let nearest = next.iter().copied().filter(|&next| next > node && leads_on(next)).min();
            while let Some(to) = open.pop_if(|to| nearest.is_none_or(|nearest| *to < nearest)) {
                first[to] = node + 1;
            }
        }
        open.push(node);
    }
    let is_found = |node: Node| first[node] < node && leads_on(first[node]);
    let begin = (0..count).map(|node| if is_found(node) { first[node] as u32 } else { NONE }).collect();
    let mut back = vec![NONE; count];
    // Those so far that lead back only, and to where, without those behind which one leads further.
    let mut turning: Vec<(Node, Node)> = Vec::new();
    for node in 0..count {
        if node >= far {
            let inside = turning.partition_point(|&(from, _)| from + far < node);
            let lowest = turning.get(inside).map_or(node - far, |&(_, to)| to.min(node - far));
            if first[node] <= lowest {
                back[node] = lowest as u32;
            }
        }
        if let Some(to) = turns_to(node) {
            while turning.pop_if(|(_, other)| *other >= to).is_some() {}
            turning.push((node, to));
        }
    }
    (begin, back)
}

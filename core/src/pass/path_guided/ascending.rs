//! A set of nodes that gives the least one first.
//!
//! ```text
//! nodes    3 5 70 4100        summary, a bit for each word that is not empty:  …0011 …0001
//! words    0: 3 5   1: 6   64: 4
//! ```
//!
//! What goes over a part of the graph in the order of its nodes puts in what comes next and takes out the least. A bit for
//! each node, and one for each word of these, so that empty parts cost nothing, and nothing is compared.
//!
//! To take one out looks at one word for 4096 nodes at most; in order from a node on mostly at one.

use alloc::vec;
use alloc::vec::Vec;

use super::nodes::Node;

/// See the file's head.
#[derive(Default)]
pub(in crate::pass) struct Ascending {
    words: Vec<u64>,
    summary: Vec<u64>,
    /// No word of the summary in front of this one has a bit.
    first: usize,
}

const BITS: usize = u64::BITS as usize;

impl Ascending {
    /// None of so many nodes.
    pub fn new(nodes: usize) -> Ascending {
        let words = nodes.div_ceil(BITS);
        Ascending { words: vec![0; words], summary: vec![0; words.div_ceil(BITS)], first: 0 }
    }

    /// Puts a node in.
    pub fn insert(&mut self, node: Node) {
        let word = node / BITS;
        self.words[word] |= 1 << (node % BITS);
        self.summary[word / BITS] |= 1 << (word % BITS);
        self.first = self.first.min(word / BITS);
    }

    /// Takes the least one out.
    pub fn pop(&mut self) -> Option<Node> {
        while *self.summary.get(self.first)? == 0 {
            self.first += 1;
        }
        let words = &mut self.summary[self.first];
        let word = self.first * BITS + words.trailing_zeros() as usize;
        let nodes = &mut self.words[word];
        let node = word * BITS + nodes.trailing_zeros() as usize;
        *nodes &= *nodes - 1;
        if *nodes == 0 {
            *words &= *words - 1;
        }
        Some(node)
    }

    /// Is there none?
    pub fn is_empty(&mut self) -> bool {
        while self.summary.get(self.first).is_some_and(|&word| word == 0) {
            self.first += 1;
        }
        self.first >= self.summary.len()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_least_first_whatever_is_put_in_between() {
        let mut set = Ascending::new(10_000);
        for node in [9_999, 4_096, 70, 63, 64, 70, 0] {
            set.insert(node);
        }
        assert_eq!((set.pop(), set.pop(), set.pop()), (Some(0), Some(63), Some(64)));
        // What goes back comes before what is left.
        set.insert(5);
        set.insert(4_095);
        let rest: Vec<Node> = core::iter::from_fn(|| set.pop()).collect();
        assert_eq!(rest, [5, 70, 4_095, 4_096, 9_999]);
        set.insert(1);
        assert_eq!((set.pop(), set.pop()), (Some(1), None));
    }

    #[test]
    fn nothing_is_in_what_has_no_nodes() {
        assert_eq!(Ascending::new(0).pop(), None);
    }
}

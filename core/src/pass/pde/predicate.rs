//! Where the predicate of a statement comes from that lands on some ways only.
//!
//! ```text
//! 1: br p, 2, 3    2: x = s    …    8: @p x = s        the program has it: behind 1 the statement is on its way
//!                                                      exactly where p is true, and nobody else writes p
//! 2: x = s         ──▶    q = true                     else one is made: false in front of everything, true where
//! 8: uses x               @q x = s; q = false          the statement stood, false again where it has landed
//! ```
//!
//! Sound: q is true exactly while the statement is on its way. It is made false where it lands or is dropped, unless nobody
//! asks for it behind before the statement is met again; that is looked at as liveness is.
//!
//! Bounds: [`MOST_BRANCHES`] branches above where it lands are asked, and for each [`MOST_NODES`] nodes are looked at.
//!
//! Source: Gupta, Berson and Fang 1997, section 2.3, figures 1 and 10.

use alloc::vec::Vec;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::sinking::{Delayed, Landing, Region};
use crate::ir::{Block, Function, Guard, Op, Operand, Reg};
use crate::pass::path_guided::nodes::{Node, Nodes};

/// Branches above a landing that are asked for their predicate.
const MOST_BRANCHES: usize = 8;
/// Nodes for which there is room from the beginning.
const MOSTLY_BETWEEN: usize = 28;
/// Nodes that are looked at for one branch.
const MOST_NODES: usize = 4096;

/// What the predicate is searched in.
pub(super) struct Search<'a> {
    pub func: &'a Function,
    pub nodes: &'a Nodes,
    pub accesses: &'a Accesses,
}

/// Is a statement on its way at some place, on ways that come there?
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    With,
    Without,
}

impl Search<'_> {
    /// A predicate of the program that is true in every partial landing exactly where the statement has come. `always` is
    /// where it is delayed with no join enabled.
    pub fn known(&self, region: &Region, delayed: &Delayed, always: &Delayed, landings: &[Landing]) -> Option<Guard> {
        let partial = |landing: &&Landing| landing.is_live && landing.is_partial;
        let nodes: Vec<Node> =
            landings.iter().filter(partial).map(|landing| region.members[landing.member].node).collect();
        let ways = Ways { nodes: self.nodes, region, delayed, always };
        let mut above = self.nodes.immediate_dominator(*nodes.first()?);
        let mut branches = 0;
        while let Some(branch) = above.filter(|_| branches < MOST_BRANCHES) {
            above = self.nodes.immediate_dominator(branch);
            let Some(block) = self.nodes.block(branch) else { continue };
            branches += 1;
            if !nodes.iter().all(|&node| node != branch && self.nodes.dominates(branch, node)) {
                continue;
            }
            if let Some((reg, negated, [on_true, on_false])) = self.sides(block, branch) {
                let Some(mut between) = ways.between(branch, &nodes) else { continue };
                let mut tells = |with: Node, without: Node| {
                    ways.all_are(branch, with, &nodes, State::With, &mut between)
                        && ways.all_are(branch, without, &nodes, State::Without, &mut between)
                };
                if tells(on_true, on_false) {
                    return Some(Guard { reg, negated });
                }
                if tells(on_false, on_true) {
                    return Some(Guard { reg, negated: !negated });
                }
            }
        }
        None
    }

    /// The predicate of a branch, whether it is negated, and where it goes if that holds and if not.
    fn sides(&self, head: Block, node: Node) -> Option<(Reg, bool, [Node; 2])> {
        let branch = self.func.terminator(head).filter(|&inst| self.func.insts[inst].opcode.op == Op::BrIf)?;
        let data = &self.func.insts[branch];
        let (reg, negated) = match data.args.first()? {
            Operand::Reg(reg) => (*reg, false),
            Operand::NotReg(reg) => (*reg, true),
            _ => return None,
        };
        let &[on_true, on_false] = data.targets() else { return None };
        // Written once and in front of the branch, it is the same wherever the branch was passed last.
        let writer = self.accesses.only_writer(reg)?;
        if on_true == on_false || !self.nodes.dominates(writer, node) {
            return None;
        }
        Some((reg, negated, [self.nodes.between(head, on_true)?, self.nodes.between(head, on_false)?]))
    }
}

/// Nodes between a branch and where it is asked for.
struct Between {
    /// By node and state: the last walk that came there.
    seen: HashMap<u32, [u32; 2]>,
    /// How many have begun.
    walk: u32,
}

impl Between {
    /// Is a node between, and does the walk come to it in that state for the first time?
    fn is_new(&mut self, node: Node, state: State) -> bool {
        let seen = self.seen.get_mut(&(node as u32)).map(|seen| &mut seen[state as usize]);
        seen.is_some_and(|seen| core::mem::replace(seen, self.walk) != self.walk)
    }
}

/// Follows a statement over the graph.
struct Ways<'a> {
    nodes: &'a Nodes,
    region: &'a Region,
    delayed: &'a Delayed,
    always: &'a Delayed,
}

impl Ways<'_> {
    /// The nodes on ways from `head` to some of these nodes, all of which it dominates, that do not pass `head` again. None
    /// where they are too many.
    fn between(&self, head: Node, nodes: &[Node]) -> Option<Between> {
        let mut between = Between { seen: HashMap::with_capacity(MOSTLY_BETWEEN), walk: 0 };
        let mut work: SmallVec<[Node; 16]> = SmallVec::from_slice(nodes);
        while let Some(node) = work.pop() {
            if node != head && between.seen.insert(node as u32, [0; 2]).is_none() {
                work.extend_from_slice(self.nodes.predecessors(node));
            }
            if between.seen.len() > MOST_NODES {
                return None;
            }
        }
        Some(between)
    }

    /// Does the statement come to each of these nodes in that state, on all ways that leave `head` for `side` and stay
    /// `between`?
    fn all_are(&self, head: Node, side: Node, nodes: &[Node], wanted: State, between: &mut Between) -> bool {
        let start = match self.region.member(head) {
            Some(place) if self.delayed.exit[place] => {
                if !self.always.exit[place] {
                    return false;
                }
                State::With
            }
            _ => State::Without,
        };
        between.walk += 1;
        let mut work: SmallVec<[(Node, State); 8]> = SmallVec::new();
        work.push((side, self.entering(start, side)));
        while let Some((node, state)) = work.pop() {
            if !between.is_new(node, state) {
                continue;
            }
            if state != wanted && nodes.contains(&node) {
                return false;
            }
            let behind = self.behind(state, node);
            work.extend(self.nodes.successors(node).iter().map(|&next| (next, self.entering(behind, next))));
        }
        true
    }

    /// The state at the entry of a node to which it goes.
    fn entering(&self, state: State, next: Node) -> State {
        let goes_on = self.region.member(next).is_some_and(|place| self.delayed.entry[place]);
        if goes_on { state } else { State::Without }
    }

    /// The state at the end of a node.
    fn behind(&self, state: State, node: Node) -> State {
        match self.region.member(node) {
            Some(place) if self.region.members[place].occurrence.is_some() => State::With,
            Some(place) if self.delayed.exit[place] => state,
            _ => State::Without,
        }
    }
}

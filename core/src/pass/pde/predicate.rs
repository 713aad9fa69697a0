//! Predicate of a statement that lands on some paths only.
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
//! Whether there can be one is mostly told by the first join that the statement passes, before anything behind it is looked
//! at: what it does there is found wherever the statement lands behind the join.
//!
//! ```text
//! 1: br q, 2, 4    2: br p, 3, 4    3: x = s    4: a join        none: 1 dominates 4 and is nearest to it, and from 2 on the
//!                                                                statement comes to 4 on one way, and not on another
//! ```
//!
//! Sound: let the join be the first in order at which the statement then is on some ways, and the branch one that tells. Some
//! landing behind the join is reached with the statement on its way or not, whichever it was at the join; so the branch
//! dominates the join. Of what lies between the join and its immediate dominator only a join that comes later could be
//! passed, and if there is none the statement is on its way there exactly where it is if it passes none. So there is a way
//! with it and one without it from the immediate dominator on, whatever lies above, and no other branch can tell. The same
//! holds for a loop with the statement in front of it: if what comes round lets it in, it came round without the statement
//! too, behind some join, and no branch above the loop tells one round from another.
//!
//! Bounds: [`MOST_BRANCHES`] branches above where it lands are asked, and for each [`MOST_NODES`] nodes are looked at;
//! [`MOST_IN_FRONT`] nodes in front of a join.
//!
//! Source: Gupta, Berson and Fang 1997, section 2.3, figures 1 and 10.

use alloc::vec;
use alloc::vec::Vec;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::region::{Delayed, Landing, Region};
use crate::ir::{Block, Function, Guard, Op, Operand, Reg};
use crate::pass::path_guided::nodes::{Node, Nodes};

/// Branches above a landing that are asked for their predicate.
const MOST_BRANCHES: usize = 8;
/// Nodes for which there is room from the beginning.
const MOSTLY_BETWEEN: usize = 28;
/// Nodes that are looked at for one branch.
const MOST_NODES: usize = 4096;

/// Inputs of the search.
pub(super) struct Search<'a> {
    pub func: &'a Function,
    pub nodes: &'a Nodes,
    pub accesses: &'a Accesses,
}

/// Nodes that are looked at in front of a join.
const MOST_IN_FRONT: usize = 256;

/// Room for the nodes in front of a join, and from which sides of a branch they are reached. Kept for the next join.
#[derive(Default)]
pub(super) struct Sides {
    /// Sides from which each found node is reached, a bit each, and [`Sides::SEEN`]; else 0.
    of: Vec<u8>,
    between: Vec<Node>,
}

impl Sides {
    const ON_TRUE: u8 = 1;
    const ON_FALSE: u8 = 2;
    const SEEN: u8 = 4;

    /// For that many nodes.
    pub fn new(nodes: &Nodes) -> Sides {
        Sides { of: vec![0; nodes.len()], between: Vec::new() }
    }

    /// Finds what lies between a node and a join that it dominates. Gives whether that is little, and has no join that could
    /// be passed with this one, or behind it.
    fn find(&mut self, nodes: &Nodes, head: Node, join: Node) -> bool {
        let mut next = 0;
        let mut node = join;
        loop {
            for &before in nodes.predecessors(node) {
                if before != head && self.of[before] == 0 {
                    if before >= join && nodes.is_join(before) || self.between.len() == MOST_IN_FRONT {
                        return false;
                    }
                    self.of[before] = Sides::SEEN;
                    self.between.push(before);
                }
            }
            let Some(&following) = self.between.get(next) else { return true };
            (node, next) = (following, next + 1);
        }
    }

    /// Finds from which sides of a branch what has been found is reached.
    fn spread(&mut self, nodes: &Nodes, head: Node, [on_true, on_false]: [Node; 2]) {
        let Sides { of, between } = self;
        // In the order of the nodes only ways back need another look.
        between.sort_unstable();
        let mut changes = true;
        while core::mem::take(&mut changes) {
            for &node in &*between {
                let mut from = of[node];
                from |= if node == on_true { Sides::ON_TRUE } else { 0 };
                from |= if node == on_false { Sides::ON_FALSE } else { 0 };
                for &before in nodes.predecessors(node).iter().filter(|&&before| before != head) {
                    from |= of[before];
                }
                changes |= core::mem::replace(&mut of[node], from) != from;
            }
        }
    }

    fn clear(&mut self) {
        self.between.drain(..).for_each(|node| self.of[node] = 0);
    }
}

/// Is a statement on its way at some place, on ways that come there?
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    With,
    Without,
}

impl Search<'_> {
    /// A predicate of the program that is true in every partial landing exactly where the statement has come. `always` is
    /// where it is delayed with no join enabled. Calls `ask` with each that it looks at: who writes it is part of the answer.
    pub fn known(
        &self,
        region: &Region,
        delayed: &Delayed,
        always: &Delayed,
        landings: &[Landing],
        mut ask: impl FnMut(Reg),
    ) -> Option<Guard> {
        let partial = |landing: &&Landing| landing.is_live && landing.is_partial;
        let nodes: Vec<Node> = landings.iter().filter(partial).map(|landing| landing.node()).collect();
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
            if let Some((reg, negated, [on_true, on_false])) = self.sides(block, branch, &mut ask) {
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

    /// Could [`Search::known`] find one if a join is the first that the statement passes? `comes` tells on which ways to it the
    /// statement comes if it passes none. Calls `ask` with the predicate on which that depends, if it depends on one.
    pub fn may_be_known(
        &self,
        join: Node,
        comes: impl Fn(Node) -> bool,
        sides: &mut Sides,
        ask: impl FnMut(Reg),
    ) -> bool {
        let Some(head) = self.nodes.immediate_dominator(join) else { return false };
        let may_be = !sides.find(self.nodes, head, join)
            || self.nodes.block(head).is_some_and(|block| {
                self.tells_apart(head, join, comes, sides) && self.sides(block, head, ask).is_some()
            });
        sides.clear();
        may_be
    }

    /// Does a statement come to a join on all ways from one side of a branch, and on none from the other?
    fn tells_apart(&self, head: Node, join: Node, comes: impl Fn(Node) -> bool, sides: &mut Sides) -> bool {
        let &[one, other] = self.nodes.successors(head) else { return false };
        sides.spread(self.nodes, head, [one, other]);
        let (mut with, mut without) = (0, 0);
        for &before in self.nodes.predecessors(join) {
            let from = sides.of[before] & !Sides::SEEN;
            if comes(before) {
                with |= from;
            } else {
                without |= from;
            }
        }
        with & without == 0
    }

    /// The predicate of a branch, whether it is negated, and where it goes if that holds and if not.
    fn sides(&self, head: Block, node: Node, mut ask: impl FnMut(Reg)) -> Option<(Reg, bool, [Node; 2])> {
        let branch = self.func.terminator(head).filter(|&inst| self.func.insts[inst].opcode.op == Op::BrIf)?;
        let data = &self.func.insts[branch];
        let (reg, negated) = match data.args.first()? {
            Operand::Reg(reg) => (*reg, false),
            Operand::NotReg(reg) => (*reg, true),
            _ => return None,
        };
        let &[on_true, on_false] = data.targets() else { return None };
        ask(reg);
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
    /// Last walk that reached each node in each state.
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
        let is_behind = |delayed: &Delayed| self.region.is_delayed_behind(self.nodes, head, delayed);
        let start = match is_behind(self.delayed) {
            true if !is_behind(self.always) => return false,
            true => State::With,
            false => State::Without,
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
        let goes_on = self.region.is_delayed_before(self.nodes, next, self.delayed);
        if goes_on { state } else { State::Without }
    }

    /// The state at the end of a node.
    fn behind(&self, state: State, node: Node) -> State {
        match self.region.member(node) {
            Some(place) if self.region.members[place].occurrence.is_some() => State::With,
            _ if self.region.is_delayed_behind(self.nodes, node, self.delayed) => state,
            _ => State::Without,
        }
    }
}

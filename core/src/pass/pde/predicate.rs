//! The predicate of a statement that lands on some paths only.
//!
//! ```text
//! 1: br p, 2, 3    2: x = s    …    8: @p x = s        the program has it: after 1 the statement is on its way exactly
//!                                                      where p is true, and nothing else writes p
//! 2: x = s         ──▶    q = true                     else one is made: false before everything, true where the
//! 8: uses x               @q x = s; q = false          statement was, false again where it has landed
//! ```
//!
//! 1. Take the branches that dominate all partial landings, from the nearest on, whose register is
//!    written once and before the branch.
//! 2. Follow control from each side of the branch to the landings, with the state of the statement:
//!    on its way or not.
//! 3. The register serves if every landing is reached with the statement from one side, and without
//!    it from the other.
//!
//! Sound: a new predicate is true exactly while the statement is on its way. It is set to false
//! where the statement lands or is dropped, unless no landing that may follow asks for it before it
//! is set again.
//!
//! Cost: O(nodes between branch and landings), for at most [`MOST_BRANCHES`] branches with at most
//! [`MOST_NODES`] nodes each; beyond them a new predicate is made.
//!
//! Source: Gupta, Berson and Fang 1997, section 2.3, figures 1 and 10.

use alloc::vec::Vec;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::region::{Delayed, Landing, Landings, Region};
use crate::ir::{Block, Function, Guard, Op, Operand, Reg};
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// Branches further up are not asked.
const MOST_BRANCHES: usize = 8;
/// Branches with more nodes between them and the landings do not serve.
const MOST_NODES: usize = 4096;

/// The program in which a predicate is searched.
pub(super) struct PredicateSearch<'a> {
    pub func: &'a Function,
    pub nodes: &'a Nodes,
    pub accesses: &'a Accesses,
}

/// A statement that sinks: the solution, and the one with no join enabled.
#[derive(Clone, Copy)]
pub(super) struct Sinking<'a> {
    pub region: &'a Region,
    pub delayed: &'a Delayed,
    pub always: &'a Delayed,
    pub landings: &'a [Landing],
}

impl Sinking<'_> {
    /// Nodes where the statement lands under a predicate.
    fn partial(&self) -> impl Iterator<Item = &Landing> + '_ {
        self.landings.iter().filter(|landing| landing.is_live && landing.is_partial)
    }

    /// Whether it lands under a predicate anywhere.
    pub fn needs_predicate(&self) -> bool {
        self.partial().next().is_some()
    }
}

impl PredicateSearch<'_> {
    /// A predicate of the program that is true at every partial landing exactly if the statement
    /// arrives.
    pub fn find(&self, sinking: Sinking<'_>) -> Option<Guard> {
        let targets: Vec<Node> = sinking.partial().map(|landing| landing.node).collect();
        let mut above = self.nodes.immediate_dominator(*targets.first()?);
        let mut branches = 0;
        while let Some(head) = above.filter(|_| branches < MOST_BRANCHES) {
            above = self.nodes.immediate_dominator(head);
            let Some(block) = self.nodes.block(head) else { continue };
            branches += 1;
            if !targets.iter().all(|&node| node != head && self.nodes.dominates(head, node)) {
                continue;
            }
            let Some((reg, negated, [on_true, on_false])) = self.sides(block, head) else { continue };
            let Some(between) = self.between(head, &targets) else { continue };
            let walk = Walk { nodes: self.nodes, sinking, head, targets: &targets, between: &between };
            let separates = |with: Node, without: Node| walk.all_are(with, true) && walk.all_are(without, false);
            if separates(on_true, on_false) {
                return Some(Guard { reg, negated });
            }
            if separates(on_false, on_true) {
                return Some(Guard { reg, negated: !negated });
            }
        }
        None
    }

    /// The register of a branch, whether it is negated, and the nodes for true and false.
    fn sides(&self, head: Block, node: Node) -> Option<(Reg, bool, [Node; 2])> {
        let branch = self.func.terminator(head).filter(|&inst| self.func.insts[inst].opcode.op == Op::BrIf)?;
        let data = &self.func.insts[branch];
        let (reg, negated) = match data.args.first()? {
            Operand::Reg(reg) => (*reg, false),
            Operand::NotReg(reg) => (*reg, true),
            _ => return None,
        };
        let &[on_true, on_false] = data.targets() else { return None };
        // Written once and before the branch, it still has the value with which the branch was last
        // taken.
        let writer = self.accesses.only_writer(reg)?;
        if on_true == on_false || !self.nodes.dominates(writer, node) {
            return None;
        }
        Some((reg, negated, [self.nodes.between(head, on_true)?, self.nodes.between(head, on_false)?]))
    }

    /// Nodes on paths from a dominating node to the targets that do not pass that node again. None
    /// if they are too many.
    fn between(&self, head: Node, targets: &[Node]) -> Option<FixedBitSet> {
        let mut between = FixedBitSet::with_capacity(self.nodes.len());
        let mut count = 0;
        let mut work: SmallVec<[Node; 16]> = SmallVec::from_slice(targets);
        while let Some(node) = work.pop() {
            if node != head && !between.put(node) {
                count += 1;
                work.extend_from_slice(self.nodes.predecessors(node));
            }
        }
        (count <= MOST_NODES).then_some(between)
    }

    /// Landings after which a new predicate may be asked for before the statement is met again.
    /// `landings` contains those that are dropped.
    pub fn cleared(&self, region: &Region, landings: &[Landing]) -> Landings {
        let mut sets = FixedBitSet::with_capacity(self.nodes.len());
        sets.extend(region.moved(landings).map(|(place, _)| region.members[place].node));
        let mut asked = FixedBitSet::with_capacity(self.nodes.len());
        let mut work: Vec<Node> = Vec::new();
        for landing in landings.iter().filter(|landing| landing.is_live && landing.is_partial) {
            if !landing.at_exit || !sets.contains(landing.node) {
                work.push(landing.node);
            }
        }
        while let Some(node) = work.pop() {
            if !asked.put(node) {
                work.extend(self.nodes.predecessors(node).iter().copied().filter(|&before| !sets.contains(before)));
            }
        }
        let is_asked_after = |landing: &&Landing| {
            let is_set_again = !landing.at_exit && sets.contains(landing.node);
            !is_set_again && self.nodes.successors(landing.node).iter().any(|&next| asked.contains(next))
        };
        landings.iter().filter(is_asked_after).copied().collect()
    }
}

/// Follows control from one side of a branch.
struct Walk<'a> {
    nodes: &'a Nodes,
    sinking: Sinking<'a>,
    head: Node,
    targets: &'a [Node],
    between: &'a FixedBitSet,
}

impl Walk<'_> {
    /// Whether all targets are reached with the statement on its way, or all without it.
    fn all_are(&self, side: Node, wanted: bool) -> bool {
        let Sinking { region, delayed, always, .. } = self.sinking;
        let is_after = |delayed: &Delayed| region.member(self.head).is_some_and(|place| delayed.exit[place]);
        // No side tells whether a statement is on its way that may or may not be at the branch.
        let start = is_after(delayed);
        if start && !is_after(always) {
            return false;
        }
        let mut seen: [FixedBitSet; 2] = core::array::from_fn(|_| FixedBitSet::with_capacity(self.nodes.len()));
        let mut work: SmallVec<[(Node, bool); 8]> = SmallVec::new();
        work.push((side, self.at_entry(start, side)));
        while let Some((node, is_with)) = work.pop() {
            if !self.between.contains(node) || seen[usize::from(is_with)].put(node) {
                continue;
            }
            if is_with != wanted && self.targets.contains(&node) {
                return false;
            }
            let after = self.at_exit(is_with, node);
            work.extend(self.nodes.successors(node).iter().map(|&next| (next, self.at_entry(after, next))));
        }
        true
    }

    fn at_entry(&self, is_with: bool, node: Node) -> bool {
        let Sinking { region, delayed, .. } = self.sinking;
        is_with && region.member(node).is_some_and(|place| delayed.entry[place])
    }

    fn at_exit(&self, is_with: bool, node: Node) -> bool {
        let Sinking { region, delayed, .. } = self.sinking;
        region
            .member(node)
            .is_some_and(|place| region.members[place].occurrence.is_some() || is_with && delayed.exit[place])
    }
}

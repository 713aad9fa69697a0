//! Live ranges of registers: the nodes at whose entries a register may be read before it is written
//! in all lanes.
//!
//! ```text
//! n: x = s ─▶ a ─▶ b: reads x     live at a and b: backward from b, up to the node that writes x
//!          └▶ c: x = 0
//! ```
//!
//! 1. The search of a range begins at the nodes that read the register first, and goes backward up
//!    to those that overwrite it, or to the outermost loop around the first write: statements only
//!    ask after a write.
//! 2. A query continues the search until its node is found, nodes nearer to the writes first. If
//!    the search ends without it, the register is dead there.
//! 3. A plan changes the ranges of its registers where its statement is delayed: the result is
//!    dead, and operands are live if it is needed from there on. If liveness may change elsewhere
//!    as well, the plan drops the ranges, and the next query begins anew.
//!
//! Sound because a node from which the search has not gone on is live before and after a plan that
//! leaves it alone, and so the predecessors are that do not overwrite the register.
//!
//! The last look of [`rounds`](super::rounds) compares the ranges with recomputation.
//!
//! Cost: O(nodes in which the register is live) for all queries, and for one that succeeds often
//! only O(nodes up to the next read).

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::accesses::Accesses;
use crate::ir::Reg;
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// Nodes at whose entries a register is live, as far as they have been searched.
pub(super) struct LiveRange {
    reg: Reg,
    /// Nodes before this one are never asked about.
    least: Node,
    /// Live nodes, counted from the least.
    found: FixedBitSet,
    /// Live nodes whose predecessors have not been visited, and some that no longer are live.
    pending: Vec<Node>,
}

impl LiveRange {
    /// The range of a register before its search.
    fn of(nodes: &Nodes, accesses: &Accesses, reg: Reg) -> LiveRange {
        let least = accesses.writers(reg).next().map_or(nodes.len(), |(node, _)| nodes.least_behind(node));
        let reading = accesses.touching(reg).filter(|&(node, touches)| touches.is_read_first && node >= least);
        let mut pending: Vec<Node> = reading.map(|(node, _)| node).collect();
        pending.reverse();
        let mut found = FixedBitSet::new();
        pending.iter().for_each(|node| found.grow_and_insert(node - least));
        LiveRange { reg, least, found, pending }
    }

    /// Whether the register is live at the entry of a node.
    pub fn contains(&mut self, nodes: &Nodes, accesses: &Accesses, node: Node) -> bool {
        let &mut LiveRange { reg, least, ref mut found, ref mut pending } = self;
        let Some(index) = node.checked_sub(least) else { return false };
        let passes = |node: Node| accesses.touches(node, reg).is_none_or(|touches| !touches.is_overwritten);
        while !found.contains(index) {
            let Some(next) = pending.pop() else { return false };
            if !found.contains(next - least) {
                continue;
            }
            for &before in nodes.predecessors(next).iter().rev() {
                if before >= least && !found.contains(before - least) && passes(before) {
                    found.grow_and_insert(before - least);
                    pending.push(before);
                }
            }
        }
        true
    }

    /// Whether it is live at the end of a node.
    pub fn contains_end(&mut self, nodes: &Nodes, accesses: &Accesses, node: Node) -> bool {
        nodes.successors(node).iter().any(|&next| self.contains(nodes, accesses, next))
    }
}

/// See the file's head.
#[derive(Default)]
pub(super) struct Liveness {
    /// Ranges of the registers, if asked for.
    ranges: Vec<Option<LiveRange>>,
}

impl Liveness {
    /// The live range of a register, valid at all nodes that a statement that writes it can reach.
    pub fn range(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> &mut LiveRange {
        if self.ranges.len() < accesses.registers() {
            self.ranges.resize_with(accesses.registers(), || None);
        }
        self.ranges[reg.index()].get_or_insert_with(|| LiveRange::of(nodes, accesses, reg))
    }

    /// Notes that a register is live at the entries of some nodes from now on, or dead, if its
    /// range is known.
    pub fn set(&mut self, reg: Reg, nodes: impl Iterator<Item = Node>, is_live: bool) {
        let Some(Some(LiveRange { least, found, .. })) = self.ranges.get_mut(reg.index()) else { return };
        for index in nodes.filter_map(|node| node.checked_sub(*least)) {
            found.grow(index + 1);
            found.set(index, is_live);
        }
    }

    /// Drops the range of a register.
    pub fn forget(&mut self, reg: Reg) {
        if let Some(range) = self.ranges.get_mut(reg.index()) {
            *range = None;
        }
    }
}

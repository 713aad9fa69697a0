//! Live ranges of registers: the nodes at whose entries a register may be read before it is written
//! in all lanes.
//!
//! ```text
//! n: x = s ─▶ a ─▶ b: reads x     live at a and b: backward from b, up to the node that writes x
//!          └▶ c: x = 0
//! ```
//!
//! 1. The first query about a register fills its range backward, from the nodes that read it first,
//!    up to those that overwrite it. Statements only ask after a write of the register, so the fill
//!    ends at the outermost loop around the first write.
//! 2. Further statements of the register ask the same range.
//! 3. A plan changes the ranges of its registers where its statement is delayed: the result is
//!    dead, and operands are live if it is needed from there on. If liveness may change elsewhere
//!    as well, the plan drops the ranges, and the next query fills them again.
//!
//! The last look of [`rounds`](super::rounds) compares the ranges with recomputation.
//!
//! Cost: O(nodes in which the register is live) for a fill.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::accesses::Accesses;
use crate::ir::Reg;
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// Nodes at whose entries a register is live.
pub(super) struct LiveRange {
    /// The least of the nodes.
    first: Node,
    /// The nodes, counted from the first.
    nodes: FixedBitSet,
}

impl LiveRange {
    /// Whether the register is live at the entry of a node.
    pub fn contains(&self, node: Node) -> bool {
        node.checked_sub(self.first).is_some_and(|index| self.nodes.contains(index))
    }

    /// Whether it is live at the end of a node.
    pub fn contains_end(&self, nodes: &Nodes, node: Node) -> bool {
        nodes.successors(node).iter().any(|&next| self.contains(next))
    }
}

/// See the file's head.
pub(super) struct Liveness {
    /// Ranges of the registers, if filled.
    ranges: Vec<Option<LiveRange>>,
    /// Nodes that a fill has found, or that overwrite the register.
    is_closed: FixedBitSet,
    /// Nodes that a fill has found.
    found: Vec<Node>,
}

impl Liveness {
    /// Liveness without filled ranges.
    pub fn new(nodes: &Nodes) -> Liveness {
        Liveness { ranges: Vec::new(), is_closed: FixedBitSet::with_capacity(nodes.len()), found: Vec::new() }
    }

    /// The live range of a register, valid at all nodes that a statement that writes it can reach.
    pub fn range(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> &LiveRange {
        if self.ranges.len() < accesses.registers() {
            self.ranges.resize_with(accesses.registers(), || None);
        }
        if self.ranges[reg.index()].is_none() {
            self.ranges[reg.index()] = Some(self.fill(nodes, accesses, reg));
        }
        self.ranges[reg.index()].get_or_insert_with(|| LiveRange { first: 0, nodes: FixedBitSet::new() })
    }

    /// Notes that a register is live at the entries of some nodes from now on, or dead, if its
    /// range is filled.
    pub fn set(&mut self, reg: Reg, nodes: impl Iterator<Item = Node>, is_live: bool) {
        let Some(Some(range)) = self.ranges.get_mut(reg.index()) else { return };
        for node in nodes {
            match node.checked_sub(range.first) {
                Some(index) if is_live => range.nodes.grow_and_insert(index),
                Some(index) if index < range.nodes.len() => range.nodes.remove(index),
                None if is_live => return self.forget(reg),
                _ => {}
            }
        }
    }

    /// Drops the range of a register.
    pub fn forget(&mut self, reg: Reg) {
        if let Some(range) = self.ranges.get_mut(reg.index()) {
            *range = None;
        }
    }

    fn fill(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> LiveRange {
        let Liveness { is_closed, found, .. } = self;
        let least = accesses.writers(reg).next().map_or(nodes.len(), |(node, _)| nodes.least_behind(node));
        let closing = || accesses.touching(reg).filter(|(_, it)| it.is_read_first || it.is_overwritten);
        for (node, touches) in closing().filter(|&(node, _)| node >= least) {
            is_closed.insert(node);
            if touches.is_read_first {
                found.push(node);
            }
        }
        let mut next = 0;
        while let Some(&node) = found.get(next) {
            next += 1;
            for &before in nodes.predecessors(node) {
                if before >= least && !is_closed.put(before) {
                    found.push(before);
                }
            }
        }
        let first = found.iter().copied().min().unwrap_or(0);
        let mut range = FixedBitSet::with_capacity(found.iter().max().map_or(0, |last| last - first + 1));
        closing().for_each(|(node, _)| is_closed.set(node, false));
        for node in found.drain(..) {
            is_closed.set(node, false);
            range.insert(node - first);
        }
        LiveRange { first, nodes: range }
    }
}

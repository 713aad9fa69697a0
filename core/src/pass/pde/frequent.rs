//! Statements that are executed frequently: only these are looked at where a profile says what is executed.
//!
//! ```text
//! a: x = s ─▶ b: y = t ─▶ d      a b d  990, a c d  10: s and t stand on a frequent path, which covers 0.99 of all
//!        └──▶ c: z = u ─▶ d      executions; u does not, and stays
//! ```
//!
//! What no frequent path executes gains nothing that counts, and in a large program that is most of it. A statement is one of
//! them if it stands in any node on a frequent path, and then it moves from wherever it stands. Where warps pay, so is one that
//! any warp executes, as what few lanes come to may cost as many warps as all else. An executed node of which no path is known
//! is taken for a frequent one: nobody can say that it is rare.
//!
//! Sound: what stays changes nothing. Of what sinks, cost and benefit are counted on paths, and there it sinks as if the others
//! did, too, but for one case: what nothing executes may read a register inside of a loop, and keep its writer in front of that
//! (one of some 12,000 generated programs executed an instruction more for it).
//!
//! Linear in the nodes.
//!
//! Source: Gupta, Berson and Fang 1997, figure 2, step 1: the statements FS on paths in FP.

use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::accesses::Accesses;
use super::statements::{Occurrence, Statement};
use crate::ir::Reg;
use crate::pass::path_guided::nodes::Node;
use crate::pass::path_guided::paths::Paths;

/// See the file's head.
#[derive(Clone, Default)]
pub(super) struct Frequent {
    /// The nodes; none where all are meant.
    nodes: Option<FixedBitSet>,
}

impl Frequent {
    /// Collects the executed nodes, by the known paths, or by the warp counts of nodes. All where no path is known.
    pub fn of(paths: Option<&Paths>, warps: Option<&[f64]>) -> Frequent {
        let nodes = paths.map(|paths| {
            let mut nodes = paths.frequent_nodes().clone();
            let executed = warps.unwrap_or_default().iter().enumerate().filter(|&(_, &executions)| executions > 0.0);
            nodes.extend(executed.map(|(node, _)| node));
            nodes
        });
        Frequent { nodes }
    }

    /// Are there others?
    pub fn is_all(&self) -> bool {
        self.nodes.is_none()
    }

    /// Is a node one of them?
    pub fn has(&self, node: Node) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.contains(node))
    }

    /// Does a statement stand in any?
    pub fn executes(&self, statement: &Statement) -> bool {
        statement.occurrences.iter().map(Occurrence::node).any(|node| self.has(node))
    }

    /// The registers of which a statement that stands in any could be the last to touch them there. None where all are meant, or
    /// most nodes are, so that it is not worth asking.
    pub fn registers(&self, accesses: &Accesses) -> Option<FixedBitSet> {
        let nodes = self.nodes.as_ref().filter(|nodes| 2 * nodes.count_ones(..) < nodes.len())?;
        let mut registers = FixedBitSet::with_capacity(accesses.registers());
        let written = nodes.ones().flat_map(|node| accesses.written_last(node));
        registers.extend(written.map(|touches| touches.reg()).map(Reg::index));
        Some(registers)
    }
}

//! Cycles that warps spend on a statement.
//!
//! ```text
//! n2: x = s    12 warps, T[s] = 4      before: 48 cycles
//! n5: @p x     12 warps                after:  2 · 48 + 24 for setting p, as the warps pass both n5 and n6
//! n6: @p x     12 warps
//! ```
//!
//! Each execution of a node by a warp pays for all instructions in it, whether a predicate is true
//! or not. A new predicate and the jump of a split edge are paid as well.
//!
//! Cost: O(region).

use alloc::collections::BTreeSet;

use super::benefit::Times;
use super::plan::{Notes, Planner};
use super::predicate::Sinking;
use super::region::{Delayed, Flags, Region};
use crate::ir::{Block, InstData};
use crate::pass::support::path_guided::nodes::Node;

impl Planner<'_> {
    /// Cycles of all warps for the statement as it is.
    pub fn warp_cycles_before(&self, region: &Region, warps: &[f64], times: Times) -> f64 {
        region.occurrences().map(|(place, _)| warps[region.members[place].node] * times.statement).sum()
    }

    /// Cycles of all warps for the statement where it lands. A predicated instruction occupies the
    /// scheduler as long as any other.
    pub fn warp_cycles(
        &self,
        region: &Region,
        enabled: &Flags,
        always: &Delayed,
        warps: &[f64],
        times: Times,
        notes: &mut Notes,
    ) -> f64 {
        let delayed = region.delayed(enabled);
        let landings = region.landings(&delayed, always);
        let live = landings.iter().filter(|landing| landing.is_live);
        let mut sum: f64 = live.clone().map(|landing| warps[landing.node] * times.statement).sum();
        let mut touched: BTreeSet<Node> = live.map(|landing| landing.node).collect();
        let sinking = Sinking { region, delayed: &delayed, always, landings: &landings };
        if self.needs_new_predicate(sinking, notes) {
            let moved = region.moved(&landings).map(|(place, _)| region.members[place].node);
            let cleared = self.predicates().cleared(region, &landings);
            let clears = || cleared.iter().map(|landing| landing.node);
            touched.extend(clears());
            let sets = moved.chain(self.nodes.entries().iter().copied()).chain(clears());
            sum += sets.map(|node| warps[node]).sum::<f64>() * times.predicate;
        }
        // A split edge also takes a jump.
        let jump = f64::from(self.machine.issue_cycles(&InstData::branch(Block::from_u32(0))));
        let mut split = touched.into_iter().filter(|&node| self.nodes.edge(node).is_some()).peekable();
        notes.counts_jumps |= split.peek().is_some();
        sum + split.map(|node| warps[node] * jump).sum::<f64>()
    }
}

//! Looking at a run.

use alloc::vec::Vec;

use super::{CAUSE_BITS, NEVER, Simulation, Warp, unflatten};
use crate::bind::Bound;
use crate::decode::Program;
use crate::groups::Entry;
use crate::machine::Machine;
use crate::memory::Memory;
use crate::statistics::{IdleCause, Statistics};

impl Simulation {
    /// The decoded program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The machine model.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The launch as bound.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// The memory as it is now.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the counts.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Cycles so far.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Warp instructions issued so far.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Warps that have become resident so far.
    pub fn warps_launched(&self) -> u64 {
        self.warps_launched
    }

    /// The resident warps.
    pub fn resident_warps(&self) -> Vec<WarpView> {
        let view = |(slot, warp): (usize, &Option<Warp>)| {
            let warp = warp.as_ref()?;
            let wait = self.fronts[slot].ready;
            let mut entries = warp.groups.entries();
            let runs = warp.groups.current().mask != 0;
            if let Some(running) = entries.last_mut().filter(|_| runs) {
                running.pc = self.fronts[slot].pc;
            }
            Some(WarpView {
                slot,
                block: unflatten(self.block_number(slot), self.bound.grid),
                number: warp.number,
                lanes: warp.lanes,
                alive: warp.alive,
                entries,
                runs,
                ready_at: (wait != NEVER).then_some(wait >> CAUSE_BITS),
                waits_for_memory: wait & ((1 << CAUSE_BITS) - 1) == IdleCause::Memory as u64,
            })
        };
        self.warps.iter().enumerate().filter_map(view).collect()
    }

    /// The slot of the warp that issues next, if one can now or later.
    pub fn next_warp(&self) -> Option<usize> {
        self.next_in_turn().map(|(slot, _)| slot)
    }
}

/// A resident warp, for showing.
#[derive(Clone, Debug)]
pub struct WarpView {
    /// Its slot: identity while it is resident.
    pub slot: usize,
    /// Its block's place in the grid.
    pub block: [u32; 3],
    /// Its place in the block.
    pub number: u32,
    /// Lanes that it was launched with.
    pub lanes: u32,
    /// Lanes that have not ended.
    pub alive: u32,
    /// Groups and the points where they meet, outermost first; the running group last.
    pub entries: Vec<Entry>,
    /// Can one of its groups run? Otherwise all wait for other lanes.
    pub runs: bool,
    /// The cycle from which it may issue.
    pub ready_at: Option<u64>,
    /// Is it memory that it waits for?
    pub waits_for_memory: bool,
}

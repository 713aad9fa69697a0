//! Issue times of a line of code in one warp: in order, once the registers are ready.
//!
//! ```text
//! a = ld.shared.u32 s[i]      issues at 0, ready at 23
//! b = add.u32 i, 1            issues at 1, ready at 5
//! c = add.u32 a, b            issues at 23: it waits for a
//! ```
//!
//! As in the simulator, an instruction also waits for the last writes to the registers that it
//! writes. Limits: a load takes a hit in the first-level cache, and registers that nothing here has
//! written are ready.
//!
//! Cost: O(log n) for each operand.

use alloc::collections::BTreeMap;

use crate::ir::{InstData, Reg};
use crate::machine::{Machine, OpClass};

/// Time in a line of code, and the times when registers are ready.
#[derive(Clone)]
pub struct Timeline {
    machine: Machine,
    /// Time at which the next instruction may issue.
    now: u64,
    /// Cycles for which the scheduler has been held.
    held: u64,
    ready: BTreeMap<Reg, u64>,
}

impl Timeline {
    /// Starts a line at time 0.
    pub fn new(machine: Machine) -> Timeline {
        Timeline { machine, now: 0, held: 0, ready: BTreeMap::new() }
    }

    /// Issues an instruction, in some lanes or in none: a load in no lane has nothing to wait for.
    pub fn issue(&mut self, data: &InstData, is_active: bool) {
        let mut start = self.now;
        data.for_each_use(|reg| start = start.max(self.ready_at(reg)));
        data.dsts.iter().for_each(|&reg| start = start.max(self.ready_at(reg)));
        let held = u64::from(self.machine.issue_cycles(data));
        let class = OpClass::of(data.opcode);
        let is_awaited = is_active || !class.is_memory();
        let latency = if is_awaited { u64::from(self.machine.cost(class).latency.value).max(held) } else { held };
        self.ready.extend(data.dsts.iter().map(|&reg| (reg, start + latency)));
        self.now = start + held;
        self.held += held;
    }

    /// Waits for a register.
    pub fn wait_for(&mut self, reg: Reg) {
        self.now = self.now.max(self.ready_at(reg));
    }

    /// Waits until the instructions after it can run without waiting for what has been written so
    /// far.
    pub fn wait_for_uses<'a>(&mut self, after: impl IntoIterator<Item = &'a InstData>) {
        let (mut end, mut passed) = (self.now, 0);
        for data in after {
            let mut wait = |reg| {
                if let Some(there) = self.ready.remove(&reg) {
                    end = end.max(there.saturating_sub(passed));
                }
            };
            data.for_each_use(&mut wait);
            data.dsts.iter().copied().for_each(wait);
            passed += u64::from(self.machine.issue_cycles(data));
        }
        self.now = end;
    }

    /// Cycles since an earlier moment that this one warp costs, where `warps` take turns: those for
    /// which it holds the scheduler, or its share of the elapsed time if the others cannot fill
    /// that.
    pub fn cost_since(&self, start: &Timeline, warps: u32) -> f64 {
        let (held, passed) = ((self.held - start.held) as f64, (self.now - start.now) as f64);
        held.max(passed / f64::from(warps))
    }

    fn ready_at(&self, reg: Reg) -> u64 {
        self.ready.get(&reg).copied().unwrap_or(0)
    }
}

//! When a warp issues each instruction of a line of code: in order, one after the other, each when
//! its registers are there.
//!
//! ```text
//! a = ld.shared.u32 s[i]      issues at 0, is there at 23
//! b = add.u32 i, 1            issues at 1, is there at 5
//! c = add.u32 a, b            issues at 23: it waits for a
//! ```
//!
//! An instruction also waits for what was written last to the registers that it writes, as in the simulator. Bounds: a
//! load takes what the first-level cache takes, and a register that nothing here has written is there.

use alloc::collections::BTreeMap;

use crate::ir::{InstData, Reg};
use crate::machine::{Machine, OpClass};

/// Time, and when registers are there.
#[derive(Clone)]
pub struct Timeline {
    machine: Machine,
    /// When the next instruction may issue.
    now: u64,
    /// Cycles for which the scheduler has been held.
    held: u64,
    there: BTreeMap<Reg, u64>,
}

impl Timeline {
    /// Before the first instruction.
    pub fn new(machine: Machine) -> Timeline {
        Timeline { machine, now: 0, held: 0, there: BTreeMap::new() }
    }

    /// Issues an instruction, in some lanes or in none: a load in no lane has nothing to wait for.
    pub fn issue(&mut self, data: &InstData, is_active: bool) {
        let mut start = self.now;
        data.for_each_use(|reg| start = start.max(self.is_there(reg)));
        data.dsts.iter().for_each(|&reg| start = start.max(self.is_there(reg)));
        let held = u64::from(self.machine.issue_cycles(data));
        let class = OpClass::of(data.opcode);
        let is_awaited = is_active || !class.is_memory();
        let latency = if is_awaited { u64::from(self.machine.cost(class).latency.value).max(held) } else { held };
        self.there.extend(data.dsts.iter().map(|&reg| (reg, start + latency)));
        self.now = start + held;
        self.held += held;
    }

    /// Waits for a register.
    pub fn wait_for(&mut self, reg: Reg) {
        self.now = self.now.max(self.is_there(reg));
    }

    /// Waits until these instructions can go on without waiting for what has been written so far.
    pub fn let_go_on<'a>(&mut self, behind: impl IntoIterator<Item = &'a InstData>) {
        let (mut end, mut passed) = (self.now, 0);
        for data in behind {
            let mut wait = |reg| {
                if let Some(there) = self.there.remove(&reg) {
                    end = end.max(there.saturating_sub(passed));
                }
            };
            data.for_each_use(&mut wait);
            data.dsts.iter().copied().for_each(wait);
            passed += u64::from(self.machine.issue_cycles(data));
        }
        self.now = end;
    }

    /// Cycles since an earlier moment that this one warp costs, where `warps` take turns: those for which it holds the
    /// scheduler, or its share of the time that passes if the others cannot fill that.
    pub fn cost_since(&self, start: &Timeline, warps: u32) -> f64 {
        let (held, passed) = ((self.held - start.held) as f64, (self.now - start.now) as f64);
        held.max(passed / f64::from(warps))
    }

    fn is_there(&self, reg: Reg) -> u64 {
        self.there.get(&reg).copied().unwrap_or(0)
    }
}

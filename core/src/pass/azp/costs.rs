//! Cycles of one execution of an instruction by a full warp.
//!
//! ```text
//! cycles = issue + (latency - issue) / n        n resident warps fill each other's waiting
//! ```
//!
//! Memory operations are taken to access adjacent elements and to be answered by the device's
//! memory, since no profile says what a cache holds.

use crate::ir::InstData;
use crate::machine::{Machine, OpClass};
use crate::pass::if_convert::LANES;

/// Smallest difference of cycles, or relative one of gains and frequencies, that is not one of
/// rounding.
pub(super) const ROUNDING: f64 = 1e-9;
/// Bytes of a sector of memory.
const SECTOR_BYTES: u32 = 32;

/// The machine whose cycles are counted, and the warps that share them.
#[derive(Clone, Copy)]
pub(super) struct Costs {
    pub machine: Machine,
    /// Resident warps.
    pub warps: u32,
}

impl Costs {
    /// Cycles of one execution by a full warp.
    pub fn cycles(self, data: &InstData) -> f64 {
        let (class, memory) = (OpClass::of(data.opcode), self.machine.memory());
        let mut issue = self.machine.issue_cycles(data);
        let mut latency = self.machine.cost(class).latency.value;
        let is_answered = matches!(class, OpClass::LoadGlobal | OpClass::LoadLocal | OpClass::Texture);
        if is_answered {
            latency = memory.global_latency.value;
        }
        if is_answered || matches!(class, OpClass::Store | OpClass::Atomic) {
            let elements = if class == OpClass::Texture { 4 } else { u32::from(data.opcode.vector) };
            let sectors = (data.opcode.ty.bits() / 8 * elements * LANES).div_ceil(SECTOR_BYTES);
            issue += sectors.saturating_sub(1) * memory.sector_cycles.value;
        }
        self.shared(issue, latency)
    }

    /// Cycles of an instruction whose guard fails in all lanes: it accesses no memory.
    pub fn cycles_without_lanes(self, data: &InstData) -> f64 {
        let class = OpClass::of(data.opcode);
        let issue = self.machine.issue_cycles(data);
        let latency = if class.is_memory() { issue } else { self.machine.cost(class).latency.value };
        self.shared(issue, latency)
    }

    fn shared(self, issue: u32, latency: u32) -> f64 {
        f64::from(issue) + f64::from(latency.saturating_sub(issue)) / f64::from(self.warps.max(1))
    }
}

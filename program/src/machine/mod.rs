//! Machine models: what each class of opcode costs, and how memory answers.
//!
//! ```text
//! issue cost   cycles for which the scheduler starts nothing else
//! latency      cycles from issue until a dependent instruction may issue
//! ```
//!
//! A model is a table of published micro-benchmarks. Where nobody measured an architecture, the figure comes from the
//! nearest one that was measured (data-centre parts count as nearer to each other than to Turing), and says so:
//! [`Source::Filled`]. Costs that no published figure covers at all are [`Source::Estimated`] from the number of
//! machine instructions that the operation becomes. What nobody published of Hopper we have measured:
//! [`Source::Measured`]; what somebody did stays as published, beside our figure in `gpu/README.md`.
//!
//! Bounds: one scheduler, no register-bank conflicts, no instruction cache, no dynamic clock.
//!
//! Sources: Arafa et al., "Low Overhead Instruction Latency Characterization for NVIDIA GPGPUs", HPEC 2019 (Volta and
//! Turing arithmetic); Arafa et al., PPT-GPU (their memory); Abdelkhalik et al., "Demystifying the Nvidia Ampere
//! Architecture through Microbenchmarking and Instruction-level Analysis", 2022 (A100); Luo et al., "Dissecting the
//! NVIDIA Hopper Architecture through Microbenchmarking", 2025 (H800 memory); NVIDIA's CUDA C++ Programming Guide,
//! table of arithmetic throughput (issue costs) and table of compute capabilities (limits); NVIDIA's architecture
//! whitepapers (cache sizes).

mod class;
mod figures;

pub use class::OpClass;

pub use figures::{Cost, CostRow, Figure, Limits, Memory, Source};

use crate::ir::{InstData, Op, Operand};

/// A machine model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Machine {
    /// Every instruction issues in one cycle and answers in the next, memory included: for counting.
    Unit,
    /// V100.
    Volta,
    /// Tesla T4.
    Turing,
    /// A100.
    #[default]
    Ampere,
    /// H100 and H800.
    Hopper,
}

impl Machine {
    /// Every model, oldest first.
    pub const ALL: [Machine; 5] = [Machine::Unit, Machine::Volta, Machine::Turing, Machine::Ampere, Machine::Hopper];

    /// The name that `--machine` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Machine::Unit => "unit",
            Machine::Volta => "volta",
            Machine::Turing => "turing",
            Machine::Ampere => "ampere",
            Machine::Hopper => "hopper",
        }
    }

    /// The model of that name.
    pub fn from_name(name: &str) -> Option<Machine> {
        Machine::ALL.into_iter().find(|machine| machine.name() == name)
    }

    /// One line for a list.
    pub const fn summary(self) -> &'static str {
        match self {
            Machine::Unit => "every instruction, memory accesses included, issues in 1 cycle and has a latency of 1",
            Machine::Volta => "V100 (compute capability 7.0)",
            Machine::Turing => "Tesla T4 (compute capability 7.5)",
            Machine::Ampere => "A100 (compute capability 8.0)",
            Machine::Hopper => "H100, H800 (compute capability 9.0)",
        }
    }

    /// Issue cost and latency of a class.
    pub fn cost(self, class: OpClass) -> Cost {
        figures::cost(self, class)
    }

    /// Cycles for which an instruction holds the scheduler: the issue cost of its class, or what a `work` says. What a
    /// memory access adds for its sectors is not in it.
    pub fn issue_cycles(self, data: &InstData) -> u32 {
        match data.args.first().and_then(Operand::as_const) {
            Some(cycles) if data.opcode.op == Op::Work => u32::try_from(cycles).unwrap_or(u32::MAX),
            _ => self.cost(OpClass::of(data.opcode)).issue.value,
        }
    }

    /// The whole table, one row for each class.
    pub fn table(self) -> impl Iterator<Item = CostRow> {
        OpClass::ALL.iter().map(move |&class| {
            let cost = self.cost(class);
            CostRow { machine: self, class, issue: cost.issue, latency: cost.latency }
        })
    }

    /// The memory behind the load-store unit.
    pub fn memory(self) -> Memory {
        figures::memory(self)
    }

    /// Capacity limits of one multiprocessor.
    pub const fn limits(self) -> Limits {
        figures::limits(self)
    }
}
